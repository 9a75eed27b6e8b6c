"""Paste what the pages' code really prints into the pages: ``python docs/refresh.py``.

The Python blocks of a page run in order, in one namespace.  A ``text`` block that directly
follows a Python block holds what that block printed, letter by letter; nothing is typed by hand.
Pictures in docs/images that a page's code draws are replaced too.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def outputs(text: str, name: str, pictures: Path | None = None) -> list[tuple[re.Match, str]]:
    """Every Python block of a page with what it printed; runs in an empty folder.

    What it draws under the name of a picture that is in `pictures` replaces that one.
    """
    names: dict = {}
    found = []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in BLOCKS.finditer(text):
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block.group(1), name, "exec"), names)
                found.append((block, printed.getvalue()))
            for drawn in Path(folder).glob("*.png"):
                if pictures is not None and (pictures / drawn.name).exists():
                    shutil.copy(drawn, pictures / drawn.name)
        finally:
            os.chdir(before)
    return found


def refreshed(page: Path) -> str:
    """The page with its output blocks replaced by what was printed."""
    text = page.read_text()
    for block, printed in reversed(outputs(text, page.name, ROOT / "docs" / "images")):
        if block.group(2) is not None:
            text = text[: block.start(2)] + printed + text[block.end(2) :]
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page))
        print(f"refreshed {page.relative_to(ROOT)}")
