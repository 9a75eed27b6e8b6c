"""Paste the schema of model files into its page: ``python docs/schema.py``."""

from __future__ import annotations

from pathlib import Path

from taut.files.telling import markdown

PAGE = Path(__file__).with_name("files.md")
BEGIN, END = "<!-- the schema, by docs/schema.py -->\n\n", "\n<!-- end of the schema -->"


def page() -> str:
    """The page with the schema as it is."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + markdown() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
