"""Paste what the pages' code really prints into the pages: ``python docs/refresh.py [PAGE …]``.

The Python blocks of a page run in order, in one namespace.  A ``text`` block that directly
follows a Python block holds what that block printed, letter by letter; nothing is typed by hand.
Pictures in docs/images that a page's code draws are replaced too.  A translated page is not run:
its blocks are those of its original.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHINESE = ".zh-CN"
EVERY = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in EVERY if CHINESE not in page.name]
TRANSLATIONS = [page for page in EVERY if CHINESE in page.name]
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```(\w*)\n.*?^```\n", re.MULTILINE | re.DOTALL)


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


def original(translation: Path) -> Path:
    """The English page of a translated one."""
    return translation.with_name(translation.name.replace(CHINESE, ""))


def in_step(translation: Path) -> str:
    """The translated page with the code and the output of its original."""
    text = translation.read_text()
    ours = list(FENCED.finditer(text))
    theirs = list(FENCED.finditer(original(translation).read_text()))
    if [block.group(1) for block in ours] != [block.group(1) for block in theirs]:
        raise SystemExit(
            f"{translation.name} should have the blocks of {original(translation).name}, "
            f"{len(theirs)} in its order, but has {len(ours)}; translate what changed around them"
        )
    for block, shown in reversed(list(zip(ours, theirs, strict=True))):
        text = text[: block.start()] + shown.group() + text[block.end() :]
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, help="all of them if none is named")
    wanted = {page.resolve() for page in parser.parse_args().pages} or set(PAGES)
    if strange := wanted - set(PAGES):
        parser.error(f"not a page with code of its own: {', '.join(map(str, strange))}")
    for page in (x for x in PAGES if x in wanted):
        page.write_text(refreshed(page))
        print(f"refreshed {page.relative_to(ROOT)}")
    for page in (x for x in TRANSLATIONS if original(x) in wanted):
        page.write_text(in_step(page))
        print(f"put in step {page.relative_to(ROOT)}")
