"""What is seen of a run, as data: moving points, links, beams, and curves against time.

A `Scene` knows nothing of how it is drawn: the page of a report and a film are both made of one.
New kinds of things are new kinds of `Item`, with a painter of the same name in ``viewer.js``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from taut.errors import InputError
from taut.show import style

NUMBERS = 1_500_000  # of all items over all frames: some 6 MB
FRAMES = 120_000
SAMPLES = 12_000  # of all curves in one panel, on a linear axis
CHOICES = 40_000  # of all curves that one can choose from
HIGHS = 1500  # samples of a curve on a logarithmic axis
SINGLE = 1e37  # what single precision can hold
FAST = 0.6  # sizes of the scene that a point moves by in a second of playing
SEEN = (0.1, 2.5)  # of those: what is well seen as it is
GROWN = 100.0  # times its usual size: what has blown up, in a run that failed
BEYOND = 1e9  # and in a run that did not
SHOWN = 20.0  # times its usual size: how much of a blow-up is drawn
TRAILS = {"none": 0.0, "short": 1.2, "long": 8.0, "all": np.inf}  # seconds of playing
MOVING = ("points", "beam", "strand", "bodies")  # kinds of items whose motion sets the pace
FAR = 1000  # sizes of the scene: from there on places are told from its middle


@dataclass(frozen=True)
class Item:
    """One kind of thing to draw.

    Attributes
    ----------
    kind : str
        The painter: "points", "links", "trails", "curve", "strand", "beam", "bodies" or "marks".
    data : dict
        Strings, numbers, lists, and arrays whose first axis is the frame, or has length 1.
    """

    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Panel:
    """Curves against time.

    Attributes
    ----------
    title, label : str
        Heading, and what the vertical axis shows.
    curves : list of (name, values)
        Values at the times `t`.
    log : bool
    note : str
    dashed : tuple of str
        Names of curves that are dashed.
    limits : (float, float), optional
        Of the vertical axis, where the curves go on beyond them.
    """

    title: str
    label: str
    t: np.ndarray
    curves: list[tuple[str, np.ndarray]]
    log: bool = False
    note: str = ""
    dashed: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None

    def reined(self, until: float) -> Panel:
        """The panel, its axis made for what comes up to a time, if the curves go far beyond it."""
        rows = self.t <= until
        values = np.array([y for _, y in self.curves])
        if not values.size or rows.all() or not np.isfinite(values[:, rows]).any():
            return self
        part = values[:, rows]
        low, high = float(np.nanmin(part)), float(np.nanmax(part))
        top = float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))
        if top <= GROWN * max(abs(low), abs(high)):
            return self
        if self.log:
            return replace(self, limits=(max(low, 1e-17), 10 * high), note=f"goes on to {top:.1e}")
        room = 0.07 * (high - low) or 0.1 * abs(low) or 1e-16
        said = f"goes on to {top:.1e}"
        note = f"{self.note}; {said}" if self.note else said
        return replace(self, limits=(low - room, high + room), note=note)


@dataclass(frozen=True)
class Chooser:
    """Panels of which one is seen, whichever a reader chooses by its name.

    Attributes
    ----------
    title : str
        What stands before the name; choosers with the same names follow each other.
    panels : list of (name, Panel)
    """

    title: str
    panels: list[tuple[str, Panel]]

    def reined(self, until: float) -> Chooser:
        """Each of its panels, reined."""
        return replace(self, panels=[(name, panel.reined(until)) for name, panel in self.panels])


@dataclass(frozen=True)
class Scene:
    """What is seen of a run.

    Attributes
    ----------
    t : ndarray, shape (F,)
    items : list of Item
    box : ndarray, shape (2, 3)
        Corners of what is seen.
    up : tuple of float
        Where up is in the picture.
    axes : tuple of str
        Names of the directions; two of them if the scene is planar.
    notes : list of str
        What the viewer ought to know: frames left out, enlarged displacements.
    """

    t: np.ndarray
    items: list[Item]
    box: np.ndarray
    up: tuple[float, float, float]
    axes: tuple[str, ...]
    notes: list[str] = field(default_factory=list)

    @property
    def planar(self) -> bool:
        """Whether it is drawn in a plane."""
        return len(self.axes) == 2

    @property
    def origin(self) -> np.ndarray:
        """Where places are told from: single precision has seven digits, so not from far away."""
        middle = self.box.mean(axis=0)
        return middle if np.abs(middle).max() > FAR * self.size else np.zeros(3)

    @property
    def size(self) -> float:
        """The diagonal of the box."""
        return float(np.linalg.norm(self.box[1] - self.box[0])) or 1.0

    def moved(self) -> np.ndarray:
        """Places of everything that moves, shape (F, P, 3)."""
        found = [i.data["places"] for i in self.items if i.kind in MOVING]
        many = [a for a in found if len(a) == len(self.t)]
        return np.concatenate(many, axis=1) if many else np.zeros((len(self.t), 0, 3))

    @property
    def speed(self) -> float:
        """How much time of the run is played in a second, a round number.

        1 where that can be followed; otherwise so that what moves fastest covers about half of the
        picture in a second.
        """
        span = float(self.t[-1] - self.t[0])
        places = self.moved()
        if span <= 0 or not places.shape[1] or len(self.t) < 2:
            return 1.0
        rows = np.unique(np.linspace(0, len(self.t) - 2, 500).astype(int))
        steps = np.diff(self.t)[rows]
        rates = np.linalg.norm(places[rows + 1] - places[rows], axis=-1).max(axis=1) / steps
        rate = float(np.sqrt(np.mean(rates**2)))
        if SEEN[0] * self.size <= rate <= SEEN[1] * self.size and span > 3:
            return 1.0
        wanted = FAST * self.size / rate if rate > 0 else span / 10
        return rounded(min(wanted, span / 3))


def rounded(x: float) -> float:
    """1, 2 or 5 times a power of ten, not above x (but for what rounding takes)."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(max(k * power for k in (1, 2, 5) if k * power <= x * (1 + 1e-9)))


def rows_of(many: int, each: int) -> np.ndarray:
    """Which of `many` states are frames, where each one takes `each` numbers: first and last are.

    Evenly spaced, so that what is left out is the same everywhere.
    """
    limit = max(2, min(FRAMES, NUMBERS // max(each, 1)))
    stride = -(-(many - 1) // (limit - 1)) if many > 1 else 1
    return np.unique(np.append(np.arange(0, many, max(stride, 1)), many - 1))


def banded(t: np.ndarray, y: np.ndarray, points: int = SAMPLES) -> tuple[np.ndarray, np.ndarray]:
    """Some of the samples of several curves, among them the extremes of each at their own times.

    Parameters
    ----------
    t : ndarray, shape (N,)
    y : ndarray, shape (curves, N)
    points : int

    Returns
    -------
    t, y : ndarray, shapes (≤ points,), (curves, ≤ points)
        Of each of equal intervals the lowest and the highest state of every curve; first and last.
    """
    if len(t) <= points:
        return t, y
    bands = max((points - 2) // (2 * len(y)), 1)
    edges = np.linspace(0, len(t), bands + 1).astype(int)
    width = int(np.diff(edges).max())
    index = np.minimum(edges[:-1, None] + np.arange(width), edges[1:, None] - 1)
    chosen = [np.array([0, len(t) - 1])]
    for curve in y:
        part = curve[index]
        for worst, find in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            at = find(np.where(np.isnan(part), worst, part), axis=1)
            chosen.append(index[np.arange(bands), at])
    rows = np.unique(np.concatenate(chosen))
    return t[rows], y[:, rows]


def between(values: np.ndarray, at: tuple[int, float]) -> np.ndarray:
    """Values of frames, shape (F, …) or (1, …), at a frame and a share of the way to the next."""
    if len(values) == 1:
        return values[0]
    frame, share = at
    if share == 0.0:
        return values[frame]
    return (1 - share) * values[frame] + share * values[frame + 1]


def settled(size: np.ndarray, reach: float, failed: bool) -> int:
    """How many of the first states are finite and come before a blow-up.

    A run that failed has blown up where it has gone a hundred times as far as ever in its first
    half; any other one only if it goes beyond all measure by the end.

    Parameters
    ----------
    size : ndarray, shape (N,)
        How far each state has gone from the first.
    reach : float
        The size of what moves, at the start.
    failed : bool
    """
    bad = np.flatnonzero(~np.isfinite(size))
    many = int(bad[0]) if len(bad) else len(size)
    usual = max(reach, float(np.max(size[: (many + 1) // 2], initial=0.0)))
    largest = float(np.max(size[:many], initial=0.0))
    if usual == 0.0 or not largest > (GROWN if failed else BEYOND) * usual:
        return many
    if reach == 0.0 and not failed:  # what began at rest may well move
        return many
    begun = float(
        np.max(size[: min(max(many // 50, 8), many)])
    )  # before it grew, as far as one can tell
    usual = max(reach, min(begun, 1e4 * reach)) if reach > 0 else begun or usual
    gone = np.flatnonzero(size[:many] > SHOWN * usual)
    return max(int(gone[0]), 1) if len(gone) else many  # a few states may be all growth


def told(t: np.ndarray, finite: int, shown: int, frames: int) -> list[str]:
    """What to say about states that are not drawn.

    Parameters
    ----------
    t : ndarray, shape (N,)
    finite, shown, frames : int
        How many states are finite, how many of them have not blown up, how many are drawn.
    """
    notes = []
    if shown < finite:
        notes.append(f"drawn to t = {t[shown - 1]:.6g}; after it the run blows up")
    elif finite < len(t):
        notes.append(f"drawn to t = {t[finite - 1]:.6g}; the states after it are not finite")
    if frames < shown:
        notes.append(f"{frames} of {shown} stored states are drawn")
    return notes


def box_of(places: list[np.ndarray]) -> np.ndarray:
    """Corners of the smallest box around all places that are finite."""
    flat = [a.reshape(-1, 3) for a in places]
    fine = [a[np.isfinite(a).all(axis=1)] for a in flat]
    ends = [corner for a in fine if len(a) for corner in (a.min(axis=0), a.max(axis=0))]
    if not ends:
        raise InputError("there is nothing to draw: no place in the drawing is finite")
    return np.array([np.min(ends, axis=0), np.max(ends, axis=0)])


# ---- as JSON ----------------------------------------------------------------------------------


def packed(array: np.ndarray, kind: str = "f4") -> dict[str, Any]:
    """An array as JSON: type, shape, and little-endian bytes in base 64."""
    array = np.ascontiguousarray(array, dtype=f"<{kind}")
    return {
        "dtype": kind,
        "shape": list(array.shape),
        "bytes": b64encode(array.tobytes()).decode("ascii"),
    }


def as_json(
    scene: Scene | None,
    panels: Sequence[Panel | Chooser],
    speed: float | None = None,
    trail: float = TRAILS["long"],
) -> dict[str, Any]:
    """All that the page needs, as what JSON knows."""
    found: dict[str, Any] = {"panels": [_shown(panel) for panel in panels], "scene": None}
    if scene is not None:
        found["scene"] = {
            "t": packed(scene.t, "f8"),
            "items": [_item(item, scene.origin[: len(scene.axes)]) for item in scene.items],
            "box": (scene.box - scene.origin).tolist(),
            "up": list(scene.up),
            "axes": list(scene.axes),
            "speed": speed or scene.speed,
            "trail": trail if np.isfinite(trail) else None,
        }
    return found


def _item(item: Item, origin: np.ndarray) -> dict[str, Any]:
    """An item with its arrays packed; places in a plane have two components."""
    kinds = {np.dtype("uint8"): "u1", np.dtype("int16"): "i2", np.dtype("int32"): "i4"}
    data = {**item.data}
    if "places" in data:
        data["places"] = data["places"][..., : len(origin)] - origin
    return {"kind": item.kind} | {
        name: packed(x, kinds.get(x.dtype, "f4")) if isinstance(x, np.ndarray) else x
        for name, x in data.items()
    }


def _shown(panel: Panel | Chooser) -> dict[str, Any]:
    """A panel, or those of a chooser, which share the room of a few."""
    if isinstance(panel, Panel):
        return _panel(panel)
    points = max(CHOICES // len(panel.panels), 600)
    choices = [{"choice": name, **_panel(x, points)} for name, x in panel.panels]
    return {"title": panel.title, "choices": choices}


def _panel(panel: Panel, points: int = SAMPLES) -> dict[str, Any]:
    values = np.array([y for _, y in panel.curves], dtype=float).reshape(-1, len(panel.t))
    if panel.log:  # where the lowest values mean nothing
        highs = [style.highest(panel.t, row, HIGHS) for row in values]
        t, y = highs[0][0], np.array([row for _, row in highs])
    else:
        t, y = banded(panel.t, values, min(points, SAMPLES))
    kind = "f4" if np.nanmax(np.abs(y), initial=0.0) < SINGLE else "f8"
    return {
        "title": panel.title,
        "label": panel.label,
        "names": [name for name, _ in panel.curves],
        "log": panel.log,
        "note": panel.note,
        "dashed": [name in panel.dashed for name, _ in panel.curves],
        "limits": panel.limits and list(panel.limits),
        "t": packed(t, "f8"),
        "y": packed(y, kind),
    }
