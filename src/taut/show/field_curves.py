"""Panels of fields and beams over time: energies, momenta, strain and momentum by place."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from taut.diagnose.field_certificate import momentum_changes
from taut.errors import InputError, UnknownName
from taut.march.field_trajectory import FieldTrajectory
from taut.show import style
from taut.show.errors import around_zero, draw_books, draw_decades, draw_drift, over_time
from taut.show.panels import Panel
from taut.show.shapes import TIME
from taut.show.words import symbol

FEW = 8  # stored states: fewer are drawn as curves, not as an image
COMPONENTS = 3  # of strain and momentum that are shown
ROWS = 600  # states in an image
SIGNED = "RdBu_r"
MOMENTA = {"linear": style.BLUE, "angular": style.ORANGE, "total": style.BLUE}


def draw_energies(axes: Axes, run: FieldTrajectory, points: int = 5000) -> None:
    """Kinetic energy, that of the strains, and their sum."""
    for name, label, colour in (
        ("kinetic", "kinetic", style.BLUE),
        ("potential", "strain", style.ORANGE),
        ("energy", "total", style.INK),
    ):
        t, y = style.envelope(run.t, getattr(run, name), points)
        axes.plot(t, y, color=colour, lw=0.8, label=label, **style.marks(len(run.t)))
    around_zero(axes, "$K,\\ V,\\ E$", [run.energy])
    over_time(axes, run)
    style.title(axes, "energy")
    style.key(axes)


def draw_error(axes: Axes, view: Any) -> None:
    """E − E₀, with the line of the measured drift."""
    run = view.run
    error = run.energy - run.energy[0]
    axes.plot(
        *style.envelope(run.t, error, view.points), color=style.BLUE, lw=0.7,
        label="energy error", **style.marks(len(run.t)),
    )  # fmt: skip
    conserved = not run.certificate.gross_work
    note = draw_drift(axes, run.t, error, run.certificate.energy) if conserved else ""
    around_zero(axes, "$E - E_0$", [error])
    over_time(axes, run)
    style.title(axes, "energy error" if conserved else "energy, not conserved", note)


def no_work(view: Any) -> InputError | None:
    """Where nothing does work, the balance is the energy error."""
    if view.run.certificate.gross_work:
        return None
    return InputError(
        "no load does work on this",
        expected="a run with loads, gravity or damping",
        remedy='run.plot("energy")',
    )


def draw_balance(axes: Axes, view: Any) -> None:
    """E − E₀ − work."""
    draw_books(axes, [view.run.books], view.run)


def no_momenta(view: Any) -> InputError | None:
    """Momenta that can be added up over a field."""
    run = view.run
    if run.mesh is not None or not run.model.algebra.terms():
        return None
    return InputError(
        "the momenta of this field cannot be added up",
        expected="beams, or a field on an abelian algebra",
        remedy='run.plot("momentum")',
    )


def draw_momenta(axes: Axes, view: Any) -> None:
    """How far momenta in space are from their start."""
    run = view.run
    draw_decades(
        axes,
        [
            (run.t, change, {"color": MOMENTA[name], "label": name})
            for name, change in momentum_changes(run).items()
        ],
    )
    low, high = axes.get_ylim()
    axes.set_ylim(low, max(high, 1e-13))
    over_time(axes, run)
    axes.set_ylabel(r"$|\Delta P|,\ |\Delta L|$" if run.mesh is not None else r"$|\Delta P|$")
    style.title(axes, "momenta in space" if run.mesh is not None else "momentum")
    style.key(axes)


# ---- strain and momentum by place -------------------------------------------------------------


def components(what: str, view: Any) -> list[Panel]:
    """One panel for each component that `of` names, or for those that change most."""
    chosen = _largest(view.run) if view.of is None else _wished(view)
    return [Panel(partial(_draw_component, what, k), timed=_many) for k in chosen]


def pairs(view: Any) -> list[Panel]:
    """Strain beside momentum, component by component."""
    sides = [components(what, view) for what in ("strain", "momentum")]
    return [panel for pair in zip(*sides, strict=True) for panel in pair]


def _many(view: Any) -> bool:
    return len(view.run.t) >= FEW


def _symbols(run: FieldTrajectory, what: str) -> list[sp.Symbol]:
    if run.mesh is None:
        return list(getattr(run.model, what))
    letter = "gamma" if what == "strain" else "mu"
    return [sp.Symbol(f"{letter}{k}") for k in range(1, 7)]


def _wished(view: Any) -> list[int]:
    given = view.of if isinstance(view.of, list | tuple) else [view.of]
    names: dict[str, int] = {}
    for what in ("strain", "momentum"):
        names |= {s.name: k for k, s in enumerate(_symbols(view.run, what))}
    for one in given:
        if str(one) not in names:
            raise UnknownName("component", str(one), names)
    return [names[str(one)] for one in given]


def _largest(run: FieldTrajectory) -> list[int]:
    """The components that change most, in their order."""
    many = run.momentum.shape[2]
    if many <= COMPONENTS:
        return list(range(many))
    sizes = []
    for values in (run.strain, run.momentum):
        extent = _extent(values.reshape(-1, many))
        sizes.append(extent / max(float(extent.max()), 1e-300))
    return sorted(np.argsort(-np.maximum(*sizes), kind="stable")[:COMPONENTS].tolist())


def _extent(values: np.ndarray) -> np.ndarray:
    return np.nanmax(values, axis=0) - np.nanmin(values, axis=0)


def _draw_component(what: str, k: int, axes: Axes, view: Any) -> None:
    run = view.run
    places, alive = _places(run, what)
    values = getattr(run, what)[:, alive, k]
    if _many(view):
        _draw_image(axes, run, values, places)
    else:
        _draw_curves(axes, run, values, places)
    style.title(axes, f"{what} {symbol(_symbols(run, what)[k])}")


def _places(run: FieldTrajectory, what: str) -> tuple[np.ndarray, Any]:
    """Where nodes or edges are along the field, or along beams one after the other."""
    if run.mesh is None:
        return (run.model.middles if what == "strain" else run.model.places), slice(None)
    mesh, begin, places = run.mesh, 0.0, []
    for span in mesh.spans:
        places.append(begin + mesh.s[span])
        begin = float(places[-1][-1])
    along = np.concatenate(places)
    if what == "momentum":
        return along, slice(None)
    return (0.5 * (along[1:] + along[:-1]))[mesh.alive], mesh.alive


def _draw_image(axes: Axes, run: FieldTrajectory, values: np.ndarray, places: np.ndarray) -> None:
    """Values over time and place."""
    rows = np.unique(np.linspace(0, len(run.t) - 1, min(len(run.t), ROWS)).round().astype(int))
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    largest = max(abs(low), abs(high)) or 1e-16
    # White is zero; what has one sign everywhere has a scale without it.
    norm, colours = Normalize(-largest, largest), SIGNED
    if low * high > 0 and high > low:
        norm, colours = Normalize(low, high), TIME
    image = axes.pcolormesh(
        _edges(run.t[rows]), _edges(places), values[rows].T, cmap=colours, norm=norm,
        rasterized=True, shading="flat",
    )  # fmt: skip
    axes.set_xlabel("$t$")
    axes.set_ylabel("$s$")
    bar: Any = axes.figure.colorbar(image, ax=axes, pad=0.02, aspect=14)
    bar.outline.set_visible(False)
    style.powers(bar.ax, "", largest)
    bar.ax.yaxis.set_major_locator(style.ticks(4, symmetric=colours == SIGNED))


def _edges(x: np.ndarray) -> np.ndarray:
    """Borders of cells around points."""
    inner = np.array([0.5 * (a + b) for a, b in pairwise(x)])
    return np.concatenate([[x[0] - (inner[0] - x[0])], inner, [x[-1] + (x[-1] - inner[-1])]])


def _draw_curves(axes: Axes, run: FieldTrajectory, values: np.ndarray, places: np.ndarray) -> None:
    begin, end = float(run.t[0]), float(run.t[-1])
    norm = Normalize(begin, end if end > begin else begin + run.step)
    for t, row in zip(run.t, values, strict=True):
        axes.plot(places, row, color=TIME(norm(t)), lw=0.9, label=f"$t$ = {t:.3g}")
    style.powers(axes, "", float(np.nanmax(np.abs(values), initial=0.0)))
    axes.set_xlabel("$s$")
    axes.set_xlim(float(places.min()), float(places.max()))
