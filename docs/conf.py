"""Sphinx' settings for the pages that `docs/make_site.py` puts together."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import taut

HERE = Path(__file__).parent

project = "taut"
author = "the taut authors"
copyright = author
version = release = taut.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
root_doc = "index"
language = "en"
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True}
python_maximum_signature_line_length = 88
add_module_names = False
default_role = "code"
# Types in docstrings are words of English ("array_like", "sequence of Expr"): no links.
nitpick_ignore_regex = [("py:class", ".*")]

html_theme = "furo"
html_title = "taut"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # would be fetched, which a browser refuses to a file
html_show_sphinx = False
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {
        "color-brand-primary": "#00578a",
        "color-brand-content": "#00578a",
        "font-stack": "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif",
        "font-stack--monospace": "'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cb8e6",
        "color-brand-content": "#6cb8e6",
    },
}
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_selector = "div.highlight-python pre, div.highlight-pycon pre, div.highlight-sh pre"

# MathJax comes with the site: one file that draws its letters as outlines and loads nothing else.
mathjax_path = "mathjax.js"
mathjax3_config = {
    "options": {"enableMenu": False},
    "svg": {"fontCache": "global"},
    "tex": {"tags": "none"},
}

SECTION = re.compile(r"^## (.+)\n((?:.*\n(?!## ))*.*)", re.MULTILINE)
ENTRY = re.compile(r"^\* \[([^\]]+)\]\(([\w/]+)\.md\)", re.MULTILINE)


def sidebar(app: Any, docname: str, source: list[str]) -> None:
    """The lists of the first page become the sidebar: sections are captions."""
    if docname != root_doc:
        return
    for heading, text in SECTION.findall(source[0]):
        if pages := [f"{title} <{page}>" for title, page in ENTRY.findall(text)]:
            tree = "\n".join(["", "```{toctree}", ":hidden:", f":caption: {heading}", "", *pages])
            source[0] += f"{tree}\n```\n"


def plain_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """In docstrings |g| is an absolute value, which reStructuredText would take for a name."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`.*?`)", line)
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[i] = "".join(parts)


def made_by_taut(app: Any, what: str, name: str, thing: Any, *rest: Any) -> tuple | None:
    """A class that documents attributes and no parameters is not made by hand: no signature."""
    text = thing.__doc__ or ""
    made = what == "class" and "Attributes\n" in text and "Parameters\n" not in text
    return ("", None) if made else None


def with_mathjax(app: Any, failure: Exception | None) -> None:
    """Copy the one file that is used out of the package that brings MathJax."""
    package = find_spec("sphinx-mathjax-offline")
    if failure is None and package is not None and package.submodule_search_locations:
        home = Path(package.submodule_search_locations[0])
        shutil.copy(home / "static/mathjax/tex-svg.js", app.outdir / "_static" / mathjax_path)


def setup(app: Any) -> dict[str, bool]:
    """Connect them."""
    app.connect("source-read", sidebar)
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-process-signature", made_by_taut)
    app.connect("build-finished", with_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
