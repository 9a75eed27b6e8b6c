"""A scene as a film: .mp4, .webm or .mov by ffmpeg, .gif without it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import ceil
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import numpy as np
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from mpl_toolkits.mplot3d import proj3d
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from taut.errors import FileError, InputError
from taut.progress import Progress
from taut.show import style
from taut.show.scene import TRAILS, Item, Scene, between
from taut.show.solid import STEEL, Bodies, Solid, shades
from taut.show.words import plain

FILMS = (".mp4", ".webm", ".mov", ".gif")
LONGEST = 20.0  # seconds, if nothing is said
MOST = 20_000  # pictures
SIZE, DPI = (7.2, 5.4), 120
CODECS = {".mp4": "libx264", ".mov": "libx264", ".webm": "libvpx-vp9"}
COILS = 9


def film(
    scene: Scene,
    file: Path,
    pace: float,
    fps: int,
    *,
    title: str | None = None,
    trail: float = TRAILS["long"],
    longest: float | None = None,
    progress: Any = None,
) -> Path:
    """Draw a scene picture by picture into a file.

    Parameters
    ----------
    scene : Scene
    file : Path
    pace : float
        Time of the run per second.
    fps : int
        A .gif counts in hundredths of a second, so its pictures come as fast as that allows.
    title : str, optional
    trail : float
        Seconds of the film that trails last.
    longest : float, optional
        Seconds after which the film ends, 20 if not given.
    progress : None, bool or callable(done, total)
    """
    rate = 100 / max(round(100 / fps), 2) if file.suffix.lower() == ".gif" else fps
    writer = _writer(file, rate)
    times = _times(scene, pace, rate, longest or LONGEST)
    with style.styled():
        figure, update = painted(scene, title, pace, trail)
        FigureCanvasAgg(figure)
        try:
            with (
                writer.saving(figure, str(file), DPI),
                Progress(progress, len(times), file.name, "drawing") as bar,
            ):
                for time in times:
                    update(float(time))
                    writer.grab_frame()
                    bar.add(1)
        except (OSError, CalledProcessError) as error:
            said = error.strerror if isinstance(error, OSError) else "ffmpeg failed"
            raise FileError(
                f"{file} cannot be written",
                received=said or str(error),
                remedy="choose another place",
            ) from error
    return file


def _writer(file: Path, fps: float) -> AbstractMovieWriter:
    kind = file.suffix.lower()
    if kind == ".gif":
        # Milliseconds are cut to whole ones: a hair slower, so that none is lost to rounding.
        return PillowWriter(fps=fps * (1 - 1e-9))  # type: ignore[arg-type]
    if not FFMpegWriter.isAvailable():
        raise FileError(
            f"a {kind} film needs the program ffmpeg, which was not found",
            remedy="install it (apt install ffmpeg, brew install ffmpeg), or write .gif or .html",
        )
    extra = ["-pix_fmt", "yuv420p", "-crf", "20"]
    return FFMpegWriter(fps=int(fps), codec=CODECS[kind], extra_args=extra)


def _times(scene: Scene, pace: float, fps: float, longest: float) -> np.ndarray:
    first, last = float(scene.t[0]), float(scene.t[-1])
    seconds = min((last - first) / pace, longest)
    many = max(1, ceil(seconds * fps - 1e-9))
    if many > MOST:
        raise InputError(
            f"the film would have {many} pictures",
            expected=f"at most {MOST}",
            remedy="raise the speed, lower fps, or give span=(first, last)",
        )
    return first + pace * np.arange(many) / fps


def painted(
    scene: Scene, title: str | None = None, pace: float = 1.0, trail: float = TRAILS["long"]
) -> tuple[style.Picture, Callable[[float], None]]:
    """A figure, and a function that puts it at a time."""
    figure = style.Picture(figsize=SIZE)
    stage = _Stage(scene, figure, pace, trail)
    if title:
        figure.suptitle(plain(title), x=0.03, y=0.97, ha="left", fontsize=10)
    clock = figure.text(0.03, 0.03, "", fontsize=9, color=style.FAINT)
    said = "; ".join(scene.notes)
    figure.text(0.97, 0.03, plain(said, 110), fontsize=8, color=style.FAINT, ha="right")

    def update(time: float) -> None:
        stage.put(time)
        clock.set_text(f"t = {time:.6g}")

    update(float(scene.t[0]))
    return figure, update


class _Stage:
    """Axes with everything that moves in them."""

    def __init__(self, scene: Scene, figure: style.Picture, pace: float, trail: float) -> None:
        self.scene, self.figure = scene, figure
        self.tail = trail * pace  # time of the run
        self.barred = False  # whether there is a bar that says what colours mean
        self.basis = _basis(scene)
        space = not scene.planar
        self.axes: Any = figure.add_axes((0, 0, 1, 1), projection="3d" if space else None)
        self.axes.set_axis_off()
        self._frame()
        self.sources: dict[Any, np.ndarray] = {}
        self.moves = [move for item in scene.items for move in getattr(self, f"_{item.kind}")(item)]

    def _frame(self) -> None:
        corners = np.array(list(product(*self.scene.box.T))) @ self.basis.T
        low, high = corners.min(axis=0), corners.max(axis=0)
        middle, half = (low + high) / 2, 0.56 * (high - low)
        half = np.maximum(half, 0.12 * self.scene.size)
        if self.scene.planar:
            tall = max(half[1], half[0] * SIZE[1] / SIZE[0])
            wide = tall * SIZE[0] / SIZE[1]
            self.axes.set_xlim(middle[0] - wide, middle[0] + wide)
            self.axes.set_ylim(middle[1] - tall, middle[1] + tall)
            return
        for letter, a, b in zip("xyz", middle - half, middle + half, strict=True):
            getattr(self.axes, f"set_{letter}lim")(a, b)
        self.axes.view_init(elev=18, azim=-60)
        self.axes.set_box_aspect(tuple(half), zoom=1.0)
        self.axes.set_box_aspect(tuple(half), zoom=_zoom(self.axes, corners))
        for x in np.linspace(middle[0] - half[0], middle[0] + half[0], 7):
            self._floor([x, x], [middle[1] - half[1], middle[1] + half[1]], middle[2] - half[2])
        for y in np.linspace(middle[1] - half[1], middle[1] + half[1], 7):
            self._floor([middle[0] - half[0], middle[0] + half[0]], [y, y], middle[2] - half[2])

    def _floor(self, x: list[float], y: list[float], z: float) -> None:
        self.axes.plot(x, y, [z, z], color=style.PALE, lw=0.5, zorder=0, clip_on=False)

    # ---- one function for each kind of item, as in viewer.js -----------------------------------

    def _points(self, item: Item) -> list[Callable]:
        places = item.data["places"] @ self.basis.T
        self.sources[item.data["member"]] = places
        made = []
        for moves, mark in ((True, "o"), (False, "s")):
            chosen = np.flatnonzero(np.array(item.data["moving"]) == moves)
            if len(chosen):
                size = 8 if len(chosen) <= 10 else 3
                look = {"marker": mark, "ms": size if moves else 6, "ls": "none", "zorder": 4}
                made.append(self._line(places, chosen, color=self._ink(item, moves), **look))
        return made

    def _ink(self, item: Item, moves: bool) -> str:
        member = item.data["member"]
        if not moves:
            return STEEL
        return style.INK if member is None else style.COLOURS[member % len(style.COLOURS)]

    def _line(self, places: np.ndarray, chosen: np.ndarray, **look: Any) -> Callable:
        line = self._new(**look)
        return lambda at: self._set(line, between(places, at)[chosen])

    def _new(self, **look: Any) -> Any:
        empty = [[]] * (2 if self.scene.planar else 3)
        return self.axes.plot(*empty, clip_on=False, **look)[0]

    def _set(self, line: Any, places: np.ndarray) -> None:
        if self.scene.planar:
            line.set_data(places[:, 0], places[:, 1])
        else:
            line.set_data_3d(*places.T)

    def _source(self, item: Item) -> np.ndarray:
        """Places of its own, or those of the points."""
        if "places" in item.data:
            return item.data["places"] @ self.basis.T
        return self.sources[item.data["member"]]

    def _bodies(self, item: Item) -> list[Callable]:
        solids = Bodies(item, self.basis)
        made = Poly3DCollection(solids.faces((0, 0.0))[0], linewidths=0.2, clip_on=False)
        self.axes.add_collection3d(made, autolim=False)

        def move(at: tuple[int, float]) -> None:
            faces, colours = solids.faces(at)
            made.set_verts(faces)
            made.set_facecolor(colours)
            made.set_edgecolor(colours)

        return [move]

    def _marks(self, item: Item) -> list[Callable]:
        places = item.data["places"] @ self.basis.T
        made = []
        for grounded, mark in ((False, "o"), (True, "s")):
            chosen = np.flatnonzero(np.array(item.data["grounded"]) == grounded)
            if len(chosen):
                ink = STEEL if grounded else style.INK
                look = {"marker": mark, "ms": 5 if grounded else 3.5, "ls": "none", "zorder": 5}
                made.append(self._line(places, chosen, color=ink, **look))
        return made

    def _links(self, item: Item) -> list[Callable]:
        places, look = self._source(item), item.data["look"]
        line = self._new(color=STEEL, lw={"rod": 3.0, "spring": 1.3, "line": 1.2}[look], zorder=3)
        radius = 0.018 * self.scene.size
        gap = np.full((1, 3), np.nan)

        def move(at: tuple[int, float]) -> None:
            here = between(places, at)
            pieces = [
                x
                for i, j in item.data["pairs"]
                for x in (_piece(here[i], here[j], look, radius), gap)
            ]
            self._set(line, np.vstack(pieces))

        return [move]

    def _trails(self, item: Item) -> list[Callable]:
        places = self._source(item)
        member, t = item.data["member"], self.scene.t
        made: list[Callable] = []
        for k, point in enumerate(item.data["points"] if self.tail > 0 else []):
            own = item.data["inks"][k] if "inks" in item.data else k if member is None else member
            ink = style.COLOURS[own % len(style.COLOURS)]
            line = self._new(color=ink, lw=1.0, alpha=0.6, zorder=2)

            def move(at: tuple[int, float], line: Any = line, point: int = point) -> None:
                now = float(t[at[0]])
                first = int(np.searchsorted(t, now - self.tail))
                tail = places[first : at[0] + 1, point]
                self._set(line, np.vstack([tail, between(places, at)[[point]]]))

            made.append(move)
        return made

    def _curve(self, item: Item) -> list[Callable]:
        self._set(
            self._new(color="#c3c9d0", lw=1.2, zorder=1), item.data["places"][0] @ self.basis.T
        )
        return []

    def _beam(self, item: Item) -> list[Callable]:
        solid = Solid(item, self.basis)
        if item.data["top"] > 0 and not self.barred:
            self.barred = True
            _bar(self.figure, item.data["top"])
        made = Poly3DCollection(solid.faces((0, 0.0))[0], linewidths=0.2, clip_on=False)
        self.axes.add_collection3d(made, autolim=False)

        def move(at: tuple[int, float]) -> None:
            faces, colours = solid.faces(at)
            made.set_verts(faces)
            made.set_facecolor(colours)
            made.set_edgecolor(colours)

        return [move]

    def _strand(self, item: Item) -> list[Callable]:
        places = item.data["places"] @ self.basis.T
        ink = style.COLOURS[item.data["colour"] % len(style.COLOURS)]
        return [self._line(places, np.arange(places.shape[1]), color=ink, lw=1.6, zorder=3)]

    def put(self, time: float) -> None:
        """Everything at a time."""
        t = self.scene.t
        frame = int(np.clip(np.searchsorted(t, time, side="right") - 1, 0, len(t) - 1))
        last = frame + 1 >= len(t)
        share = 0.0 if last else float((time - t[frame]) / (t[frame + 1] - t[frame]))
        for move in self.moves:
            move((frame, min(max(share, 0.0), 1.0)))


def _zoom(axes: Any, corners: np.ndarray) -> float:
    """So that all corners are seen, and as large as can be."""
    x, y, _ = proj3d.proj_transform(*corners.T, axes.get_proj())
    seen = axes.transData.transform(np.column_stack([x, y]))
    whole = axes.figure.bbox
    half = np.array([whole.width, whole.height]) / 2
    return float(min(1.6, 0.92 * np.min(half / np.abs(seen - half).max(axis=0))))


def _bar(figure: style.Picture, top: float) -> None:
    """What the colours of beams mean."""
    axes: Any = figure.add_axes((0.74, 0.945, 0.16, 0.015), zorder=5)
    axes.imshow(shades(np.arange(256))[None], aspect="auto", extent=(0, 1, 0, 1))
    axes.set_axis_off()
    look = {"fontsize": 8, "color": style.FAINT, "va": "center"}
    figure.text(0.735, 0.952, "bending 0", ha="right", **look)
    figure.text(0.905, 0.952, f"{top:.3g}", ha="left", **look)


def _basis(scene: Scene) -> np.ndarray:
    """Rows: right, (away,) up.  The same directions as those of viewer.js."""
    up = np.array(scene.up) / np.linalg.norm(scene.up)
    right = np.array([0.0, 1.0, 0.0] if abs(up[0]) > 0.9 else [1.0, 0.0, 0.0])
    right -= (up @ right) * up
    right /= np.linalg.norm(right)
    if scene.planar:
        return np.array([right, up, np.cross(right, up)])
    return np.array([right, np.cross(up, right), up])


def _piece(a: np.ndarray, b: np.ndarray, look: str, radius: float) -> np.ndarray:
    """A straight line, or a spring, between two places."""
    if look != "spring":
        return np.array([a, b])
    s = np.linspace(0, 1, 16 * COILS + 1)
    inner = np.clip((s - 0.08) / 0.84, 0, 1)
    along = b - a
    side = np.cross(
        along, [0.0, 0.0, 1.0] if abs(along[2]) < np.linalg.norm(along) else [1.0, 0, 0]
    )
    side /= np.linalg.norm(side) or 1.0
    return a + s[:, None] * along + radius * np.sin(2 * np.pi * COILS * inner)[:, None] * side
