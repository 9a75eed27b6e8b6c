"""Build the site: ``python docs/make_site.py [FOLDER]``, or ``make docs``.

The pages are plain Markdown and stay as they are.  They are put together with what is made by
running: the examples' pictures and the API reference; then Sphinx makes HTML of them, strictly:
every warning is an error.  Nothing of the result is loaded from the network.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Pages that lie elsewhere in the repository, and where they are in the site.
OUTSIDE = {
    "NOTATION.md": "notation.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
EXAMPLE = re.compile(r"\]\(\.\./examples/(\w+)\.py\)")


def moved(text: str, depth: int) -> str:
    """Links of a page to what lies outside docs/, as they are in the site."""
    up = "../" * depth
    for name, page in OUTSIDE.items():
        text = text.replace(f"]({up}../{name}", f"]({up}{page}")
    return text


def put_together(folder: Path) -> None:
    """All pages and pictures in one folder, as Sphinx will read them."""
    for path in sorted(HERE.rglob("*.md")):
        place = path.relative_to(HERE)
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(moved(path.read_text(), len(place.parts) - 1))
    for name, page in OUTSIDE.items():
        (folder / page).write_text((ROOT / name).read_text().replace("](docs/", "]("))
    shutil.copytree(HERE / "images", folder / "images")
    for script in ("gallery.py", "reference.py"):
        runpy.run_path(str(HERE / script))["into"](folder)
    for path in folder.glob("*.md"):
        path.write_text(EXAMPLE.sub(r"](gallery/\1.md)", path.read_text()))


def build(out: Path) -> Path:
    """Make the site in `out`, beside the pages that it was made of; its first page."""
    pages = out.with_name(f"{out.name}-pages")
    for folder in (out, pages):
        shutil.rmtree(folder, ignore_errors=True)
    pages.mkdir(parents=True)
    put_together(pages)
    subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "--builder", "html", "--quiet"),
            *("--fail-on-warning", "--conf-dir", str(HERE), "--jobs", "auto"),
            *("--doctree-dir", str(pages / ".doctrees"), str(pages), str(out)),
        ],
        check=True,
    )
    return out / "index.html"


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "out" / "docs")
    try:
        print(f"the site: {build(target.resolve())}")
    except subprocess.CalledProcessError:
        sys.exit("the site was not built: see the warnings above")
