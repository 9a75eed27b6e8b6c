"""Write the page of sources from the two files of references: ``python docs/sources.py``."""

from __future__ import annotations

from pathlib import Path

from taut.cite import Reference, entries

HERE = Path(__file__).resolve().parent
PAGE = HERE / "theory" / "sources.md"
FILES = (HERE.parent / "src" / "taut" / "references.bib", PAGE.with_suffix(".bib"))
PAPERS = {"zhong2006": "ZG", "cq2004": "CQ", "shang2008": "SGM", "chen2025": "CS"}
SOFTWARE = ("taut", "numpy", "scipy", "sympy", "casadi", "numba", "llvm")
HEAD = """# Sources

This page is written by `python docs/sources.py` from `src/taut/references.bib`, which
[`run.cite()`](../cite.md) reads, too, and from what else the pages on theory cite. Short names are
those of the pages and docstrings. **ZG**, **CQ**, **SGM** and **CS** are the four papers that taut
reproduces ([the papers](../papers.md)).

"""


def line(reference: Reference) -> str:
    """One item: the short name in bold, then the work."""
    name = reference.short
    if reference.key in PAPERS and not name.startswith(PAPERS[reference.key]):
        name = f"{PAPERS[reference.key]}, {name}"
    text = str(reference)
    if doi := reference.fields.get("doi"):
        text = text.removesuffix(f"doi:{doi}") + f"[doi:{doi}](https://doi.org/{doi})"
    return f"* **{name}**: {text}\n"


def page() -> str:
    """The whole page, the four papers first, then by name and year."""
    listed = [one for path in FILES for one in entries(path.read_text("utf-8"))]
    listed = [one for one in listed if one.key not in SOFTWARE]
    listed.sort(key=lambda one: (one.key not in PAPERS, one.short.lower()))
    return HEAD + "".join(map(line, listed))


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.name}")
