"""The gallery: every example is run, and shows its picture, what it prints and its source."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
ENTRY = re.compile(r"^\* \[([^\]]+)\]\(\.\./examples/(\w+)\.py\).*\n", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """An example: its title, the two parts of its docstring, its source and what it printed."""

    name: str
    title: str
    claim: str
    text: str
    source: str
    printed: str

    @property
    def page(self) -> str:
        """Its own page."""
        parts = (
            f"# {self.title}\n",
            f"{self.claim}.\n",
            self.text,
            f"![{self.title}](../pictures/{self.name}.png)\n",
            f'<p><a href="../reports/{self.name}.html">▶ Play it</a>: the run\'s report.</p>\n',
            f"`examples/{self.name}.py`:\n",
            f"```python\n{self.source}```\n",
            f"It prints\n\n```text\n{self.printed}```\n",
        )
        return "\n".join(parts)

    @property
    def card(self) -> str:
        """What the gallery shows of it: the picture, which leads to the page, title and claim."""
        page = f"gallery/{self.name}.md"
        picture = f"![{self.title}](pictures/{self.name}.png)"
        return f"* [{picture}]({page})\n  **[{self.title}]({page})** {self.claim}.\n"


def run(title: str, name: str, picture: Path, report: Path) -> Example:
    """Run an example as a user would, with the name of its picture, and report on its run."""
    path = EXAMPLES / f"{name}.py"
    source = path.read_text()
    module = ast.parse(source)
    claim, _, text = (ast.get_docstring(module) or "").partition("\n\n")
    code = source.split('"""\n', 1)[1].lstrip()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), _called(path, str(picture)):
        names = runpy.run_path(str(path), run_name="__main__")
    names["run"].report(report, title=title)
    claim = " ".join(claim.split()).rstrip(".").removeprefix(f"{title}: ")
    claim, text = claim[0].upper() + claim[1:], text.replace("``", "`") + "\n"
    return Example(name, title, claim, text, code, printed.getvalue())


@contextlib.contextmanager
def _called(path: Path, *arguments: str) -> Iterator[None]:
    """The command line and the path of ``python example.py ARGUMENTS``."""
    before = sys.argv, sys.path
    sys.argv, sys.path = [str(path), *arguments], [str(path.parent), *sys.path]
    try:
        yield
    finally:
        sys.argv, sys.path = before


def into(folder: Path) -> None:
    """Pictures, a page for each example, and the gallery with its list turned into pictures."""
    (folder / "pictures").mkdir()
    (folder / "gallery").mkdir()
    page = folder / "gallery.md"
    text = page.read_text()
    cards, tree = [], []
    for title, name in ENTRY.findall(text):
        print(f"  running examples/{name}.py", flush=True)
        places = folder / "pictures" / f"{name}.png", folder / "reports" / f"{name}.html"
        example = run(title, name, *places)
        (folder / "gallery" / f"{name}.md").write_text(example.page)
        cards.append(example.card)
        tree.append(f"{title} <gallery/{name}>\n")
    before, after = ENTRY.split(text)[0], ENTRY.split(text)[-1]
    shown = f'<div class="gallery">\n\n{"".join(cards)}\n</div>\n'
    hidden = f"\n```{{toctree}}\n:hidden:\n\n{''.join(tree)}```\n"
    page.write_text(before + shown + after + hidden)
