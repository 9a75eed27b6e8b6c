"""Small drawings for notebooks, made at once: curves in boxes, as one embedded SVG image."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

WIDTH, HEIGHT, HEAD, GAP = 210, 150, 20, 18  # pixels: of a box, of the line above it, between two
POINTS = 400  # of a curve
BLUE, INK, FAINT = "#0072B2", "#222222", "#8A8A8A"
# Where the axes of space point on the page.
OBLIQUE = np.array([[0.87, -0.87, 0.0], [0.35, 0.35, 1.0]])


@dataclass(frozen=True)
class Box:
    """Curves in a box.

    Attributes
    ----------
    curves : sequence of ndarray, shape (k, 2)
    title, note : str
        Above it, on the left and, in grey, on the right.
    equal : bool
        Whether both axes have one scale; ends of curves are marked then.
    fade : bool
        Whether the first curves are paler than the last.
    """

    curves: Sequence[np.ndarray]
    title: str
    note: str = ""
    equal: bool = False
    fade: bool = False

    def drawn(self, left: float) -> str:
        """Its SVG, from `left` pixels on."""
        curves = [x[np.isfinite(x).all(axis=1)] for x in self.curves]
        curves = [x[:: len(x) // POINTS + 1] for x in curves if len(x)]
        low = np.min([x.min(axis=0) for x in curves], axis=0)
        size = np.max([x.max(axis=0) for x in curves], axis=0) - low
        scale = np.array([WIDTH, HEIGHT]) / np.where(size > 0, size, 1.0)
        if self.equal:
            room = scale[size > 0]
            scale = np.full(2, room.min() if len(room) else 1.0)
        start = np.array([left, HEAD]) + (np.array([WIDTH, HEIGHT]) - size * scale) / 2
        parts = [_words(left, self.title, "start", INK),
                 _words(left + WIDTH, self.note, "end", FAINT)]  # fmt: skip
        for k, curve in enumerate(curves):
            at = (curve - low) * scale
            at[:, 1] = size[1] * scale[1] - at[:, 1]
            strength = 0.25 + 0.75 * (k + 1) / len(curves) if self.fade else 1.0
            parts.append(_curve(at + start, strength))
            if self.equal and not self.fade:
                parts.append(_dot(*(at + start)[-1]))
        return "".join(parts)


def _words(x: float, text: str, anchor: str, colour: str) -> str:
    look = f'font-family="sans-serif" font-size="11" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="12" {look}>{escape(text)}</text>' if text else ""


def _curve(at: np.ndarray, opacity: float) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    look = f'fill="none" stroke="{BLUE}" stroke-opacity="{opacity:.2f}" stroke-width="1"'
    return f'<polyline points="{points}" {look}/>'


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{INK}"/>'


def sketch(boxes: Sequence[Box], words: str) -> str:
    """Boxes side by side, as an HTML image; empty without a finite curve."""
    boxes = [x for x in boxes if any(np.isfinite(c).all(axis=1).any() for c in x.curves)]
    if not boxes:
        return ""
    wide, high = len(boxes) * (WIDTH + GAP), HEAD + HEIGHT + 4
    inside = "".join(box.drawn(i * (WIDTH + GAP) + 4) for i, box in enumerate(boxes))
    head = f'xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
    back = f'<rect width="{wide}" height="{high}" fill="white"/>'
    data = b64encode(f"<svg {head}>{back}{inside}</svg>".encode()).decode("ascii")
    return f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{data}">'


def flattened(places: np.ndarray) -> np.ndarray:
    """Places in space, shape (…, 3), on the page: those in a plane of two axes, or obliquely."""
    extent = np.ptp(places.reshape(-1, 3), axis=0)
    flat = np.flatnonzero(extent <= 1e-9 * extent.max())
    if len(flat):
        return places[..., [k for k in range(3) if k != flat[0]]]
    return places @ OBLIQUE.T


def beside(left: str, right: str) -> str:
    """Two parts of a page, one below the other where there is no room."""
    if not right:
        return left
    layout = "display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start"
    return f'<div style="{layout}"><div>{left}</div><div>{right}</div></div>'
