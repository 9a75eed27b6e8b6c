"""The interactive part of a page: a scene that plays, and curves that follow it.

Everything is in the page itself: it works offline, by double-click and inside a notebook.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from taut.show.scene import TRAILS, Chooser, Panel, Scene, as_json


@cache
def asset(name: str) -> str:
    """A file of ``taut/show/assets``."""
    return files("taut.show").joinpath("assets", name).read_text(encoding="utf-8")


def head() -> str:
    """What the viewer needs in the head of a page."""
    return f"<style>{asset('vendor.min.css')}{asset('viewer.css')}</style>\n"


def view(
    scene: Scene | None,
    panels: Sequence[Panel | Chooser],
    name: str = "view",
    speed: float | None = None,
    trail: float = TRAILS["long"],
) -> str:
    """A viewer, to stand anywhere in the body of a page; `scripts` come after all of them."""
    data = in_script(as_json(scene, panels, speed, trail))
    name = escape(name, quote=True)
    return (
        f'<div class="taut-view" data-source="{name}-data" data-autoplay="yes"></div>\n'
        f'<script type="application/json" id="{name}-data">{data}</script>\n'
    )


def scripts() -> str:
    """The libraries with their licences, and the viewer, for the end of a page."""
    licence = asset("vendor.LICENSE.txt")
    return (
        f"<!--\n{licence}\n-->\n<script>{asset('vendor.min.js')}</script>\n"
        f"<script>{asset('viewer.js')}</script>\n"
    )


def in_script(data: Any) -> str:
    """JSON that can stand in a script: nothing in it ends the script or begins markup."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
