"""`run.animate()`: a run that plays, in a notebook, as a page or as a film."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError, brief, listed, number, text
from taut.march.field_trajectory import FieldTrajectory
from taut.march.trajectory import Trajectory
from taut.progress import check_wish
from taut.show import viewer
from taut.show.film import FILMS, film
from taut.show.report import scene_of, writable, written
from taut.show.scene import TRAILS, Scene

PAGES = (".html", ".htm")
HEIGHT = 520  # pixels of the frame in a notebook


@public
def animate(
    run: Trajectory | FieldTrajectory,
    path: str | Path | None = None,
    *,
    span: tuple[float, float] | None = None,
    speed: float | None = None,
    seconds: float | None = None,
    fps: int = 30,
    title: str | None = None,
    trail: str | float = "long",
    progress: Any = None,
    **options: Any,
) -> Animation:
    """Animate a run.

    Parameters
    ----------
    run : Trajectory or FieldTrajectory
    path : path, optional
        Where to write it: a page (.html) or a film (.mp4, .webm, .mov; .gif).  Films but .gif need
        the program ffmpeg.
    span : (float, float), optional
        First and last time that are shown.
    speed : float, optional
        Time of the run that passes in a second; chosen from how fast things move if not given.
    seconds : float, optional
        How long a film lasts, instead of a speed; 20 at most if neither is given.
    fps : int
        Pictures per second of a film.
    title : str, optional
    trail : "none", "short", "long", "all" or float
        How long trails are; a number is seconds of playing.  On a page it can be changed.
    progress : None, bool or callable(done, total)
        While a film is drawn.
    members : int or sequence of int
        Of a batch: how many trajectories are drawn, or which.
    magnify : "auto" or float
        Of beams: how many times as large displacements are drawn.

    Returns
    -------
    Animation
        Shows itself in a notebook; ``.save(path)`` writes it.
    """
    if path is not None:
        writable(path, (*PAGES, *FILMS))
    heading = None if title is None else text("the title", title)
    made = Animation(_scene(run, span, options), speed, seconds, _rate(fps), heading, _trail(trail))
    if path is not None:
        made.save(path, progress=progress)
    return made


def _scene(run: Trajectory | FieldTrajectory, span: Any, options: dict[str, Any]) -> Scene:
    known = ("magnify",) if isinstance(run, FieldTrajectory) else ("members",)
    for name in options:
        if name not in known:
            raise InputError(
                f"an animation of this run has no option {name!r}",
                expected=", ".join(("span", "speed", "seconds", "fps", "title", "trail", *known)),
            )
    if span is not None:
        run = _between(run, span)
    return scene_of(run, **options)


def _between(run: Any, span: Any) -> Any:
    """The part of a run between two times."""
    try:
        first, last = (number("a time of the span", x) for x in listed("the span", span))
    except (TypeError, ValueError) as error:
        raise InputError(
            "the span cannot be read", expected="(first time, last time)", received=brief(span)
        ) from error
    if first > last:
        raise InputError(
            "the span ends before it begins",
            expected="(first time, last time)",
            received=f"{first:g} … {last:g}",
        )
    rows = np.flatnonzero((run.t >= first) & (run.t <= last))
    if not len(rows):
        raise InputError(
            "there is no stored state in the span",
            expected=f"times between {run.t[0]:g} and {run.t[-1]:g}",
            received=f"{first:g} … {last:g}",
        )
    part = slice(rows[0], rows[-1] + 1)
    if isinstance(run, FieldTrajectory):
        names = ("t", "momentum", "strain", "_places", "_turns")
        arrays = {name: getattr(run, name) for name in names}
        return replace(run, **{k: None if a is None else a[part] for k, a in arrays.items()})
    states = {name: getattr(run, name)[..., part, :] for name in "qvp"}
    return replace(run, t=run.t[part], **states)


def _rate(fps: Any) -> int:
    if not isinstance(fps, int | np.integer) or isinstance(fps, bool) or not 1 <= fps <= 120:
        raise InputError("fps cannot be used", expected="1 … 120", received=brief(fps))
    return int(fps)


def _trail(trail: Any) -> float:
    """Seconds of playing that trails last."""
    if isinstance(trail, str) and trail in TRAILS:
        return TRAILS[trail]
    real = isinstance(trail, float | int | np.number) and not isinstance(trail, bool)
    if not real or not 0 <= trail < 1e300:  # type: ignore[operator]
        raise InputError(
            "the trail cannot be used",
            expected=", ".join(map(repr, TRAILS)) + ", or seconds ≥ 0",
            received=brief(trail),
        )
    return float(trail)


@dataclass(frozen=True)
class Animation:
    """A run that plays.

    Attributes
    ----------
    scene : Scene
    speed, seconds : float or None
    fps : int
    title : str or None
    trail : float
        Seconds of playing.
    """

    scene: Scene = field(repr=False)
    speed: float | None = None
    seconds: float | None = None
    fps: int = 30
    title: str | None = None
    trail: float = TRAILS["long"]

    def __post_init__(self) -> None:
        for name in ("speed", "seconds"):
            value = getattr(self, name)
            if value is not None and number(f"the {name}", value) <= 0:
                raise InputError(
                    f"the {name} of an animation is not positive",
                    expected=f"{name} > 0",
                    received=value,
                )
        if self.speed is not None and self.seconds is not None:
            raise InputError("speed and seconds are given", expected="one of them")

    @property
    def pace(self) -> float:
        """Time of the run that passes in a second."""
        span = float(self.scene.t[-1] - self.scene.t[0])
        if self.seconds is not None and span > 0:
            return span / self.seconds
        return self.speed or self.scene.speed

    def html(self) -> str:
        """A page of its own."""
        name = escape(self.title or "animation")
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.scene.notes)
        heading = f"<h1>{name}</h1>" if self.title else ""
        view = viewer.view(self.scene, [], speed=self.pace, trail=self.trail)
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{name}</title>\n{viewer.head()}<style>{CSS}</style></head><body>\n"
            f"{heading}{view}{notes}{viewer.scripts()}</body></html>\n"
        )

    def _repr_html_(self) -> str:
        page = escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" style="width:100%;height:{HEIGHT}px;border:0" '
            'title="animation of the run"></iframe>'
        )

    def save(self, path: str | Path, *, progress: Any = None) -> Path:
        """Write a page (.html) or a film (.mp4, .webm, .mov, .gif)."""
        file = writable(path, (*PAGES, *FILMS))
        check_wish(progress)
        if file.suffix.lower() in PAGES:
            return written(self.html(), file)
        return film(
            self.scene, file, self.pace, self.fps,
            title=self.title, progress=progress, trail=self.trail,
            longest=np.inf if self.speed is not None else self.seconds,
        )  # fmt: skip


CSS = """
body { margin: 8px; font: 13px/1.4 system-ui, sans-serif; color: #222; background: #fff; }
h1 { font-size: 1rem; margin: 0 0 .4rem; } p { color: #6b6b70; margin: .3rem 0; }
.taut-view .stage { height: calc(100vh - 76px); max-height: none; min-height: 240px; }
"""
