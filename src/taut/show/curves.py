"""Panels over time: coordinates, controls, energy, its balance, laws, constraints, multipliers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import sympy as sp
from matplotlib.axes import Axes

from taut.errors import InputError
from taut.kernel.compile import workshop
from taut.march.trajectory import Trajectory
from taut.show import style
from taut.show.errors import (
    around_zero,
    draw_books,
    draw_decades,
    draw_drift,
    draw_errors,
    over_time,
)
from taut.show.joint_forces import PEAK, USUAL, efforts_in, held_in, motions_in
from taut.show.view import View, thinned
from taut.show.words import formula, plain

SERIES = 6  # curves of one trajectory in one panel
JOINTS = 8  # whose forces are looked at
SAMPLES = 2000  # states from which the size of a law's terms is taken
ROUND_OFF = 1e-12  # of the size of a law: its changes are shown by their size alone
COSTLY = 5000  # states at which multipliers are found that cost a solve in Python each


# ---- coordinates ------------------------------------------------------------------------------


def draw_coordinates(axes: Axes, view: View) -> None:
    """Coordinates, or the expressions of `of`, over time; of a batch the first that moves."""
    system, wished = view.run.system, view.chosen()
    shown = wished or list(system.coordinates)
    if len(view.runs) > 1:
        shown = shown[:1] if wished else [system.coordinates[view.moving()[0]]]
    many, shown = len(wished or system.coordinates), shown[:SERIES]
    drawn = []
    for k, run in enumerate(view.runs):
        for i, values in enumerate(run.evaluate_all(shown)):
            look = style.look(k if len(view.runs) > 1 else i)
            name = formula(system, shown[i]) if k == 0 else f"_{k}"
            points = view.share(len(view.runs) * len(shown))
            style.draw(axes, run.t, values, points, label=name, **look)
            drawn.append(values)
    style.calm(axes, *_range(drawn))
    plainly = set(shown) <= set(system.coordinates)
    style.title(
        axes,
        "coordinates" if plainly else "values",
        f"{len(shown)} of {many}" if len(shown) < many else "",
    )
    over_time(axes, view.runs[0])
    axes.yaxis.set_major_locator(style.ticks(5))
    if len(shown) > 1:
        _key(axes, bool(axes.get_title(loc="right")))
    else:
        axes.set_ylabel(formula(system, shown[0]))


def no_motions(view: View) -> InputError | None:
    """Some joint must turn or slide."""
    if view.run.system.mechanism is not None and motions_in(thinned(view.runs[0], 2)):
        return None
    return InputError(
        "the run has no joints that turn or slide",
        expected="a mechanism with hinges or sliders",
        remedy='run.plot("coordinates", of=…)',
    )


def draw_motions(axes: Axes, view: View) -> None:
    """Angles and slides of joints since the start: those that move most, of a batch the first."""
    every = [motions_in(run) for run in view.runs]
    axes.set_ylabel("since the start")
    _draw_named(axes, view, "angles and slides", every, len(every[0]))


def no_forces(view: View) -> InputError | None:
    """Something must push or pull."""
    return _no_efforts(view, False, "forces", "springs, ropes, dampers or motors between places")


def no_torques(view: View) -> InputError | None:
    """Something must turn a hinge."""
    return _no_efforts(view, True, "torques", "springs, dampers or motors in hinges")


def _no_efforts(view: View, turning: bool, what: str, of: str) -> InputError | None:
    if view.run.system.mechanism is not None and _acting(view, turning)[0]:
        return None
    return InputError(
        f"the run has no {what} to draw",
        expected=f"a mechanism with {of}, which do something",
        remedy='run.plot("multipliers") draws forces in joints',
    )


def _acting(view: View, turning: bool) -> tuple[list[str], int]:
    """Names of the forces of the first trajectory in which any acts, and how many there are."""
    for run in view.runs:
        found, left_out = efforts_in(run, turning)
        if found:
            return [name for name, _ in found], len(found) + left_out
    return [], 0


def draw_forces(axes: Axes, view: View) -> None:
    """Forces of springs, ropes, dampers and motors: the largest, of a batch the first."""
    _draw_efforts(axes, view, False, "springs, dampers, motors", "force")


def draw_torques(axes: Axes, view: View) -> None:
    """Torques in hinges: the largest, of a batch the first."""
    _draw_efforts(axes, view, True, "torques in hinges", "torque")


def _draw_efforts(axes: Axes, view: View, turning: bool, title: str, label: str) -> None:
    names, many = _acting(view, turning)
    axes.set_ylabel(label)
    shown = names[: SERIES if len(view.runs) == 1 else 1]
    found = [dict(efforts_in(run, turning, shown)[0]) for run in view.runs]
    _draw_named(axes, view, title, [[(x, one[x]) for x in shown] for one in found], many)


def _draw_named(axes: Axes, view: View, title: str, every: list[list[Any]], many: int) -> None:
    """Curves by name: the first of each run, or of several runs that of the first name."""
    runs, drawn = view.runs, []
    names = [name for name, _ in every[0][: SERIES if len(runs) == 1 else 1]]
    for k, run in enumerate(runs):
        found = dict(every[k])
        for i, name in enumerate(names):
            label = plain(name) if k == 0 else "_"
            look = {**style.look(k if len(runs) > 1 else i), "label": label}
            style.draw(axes, run.t, found[name], view.share(len(runs) * len(names)), **look)
            drawn.append(found[name])
    style.calm(axes, *_range(drawn))
    over_time(axes, runs[0])
    axes.yaxis.set_major_locator(style.ticks(5))
    note = f"{len(names)} of {many}" if len(names) < many else ""
    style.title(axes, title, note)
    _key(axes, bool(note))


def no_controls(view: View) -> InputError | None:
    """Some controller must have been asked."""
    if view.run.held is not None:
        return None
    return InputError(
        "the run has no controls",
        expected="a model with controls, or a mechanism with a controller",
        remedy='run.plot("coordinates")',
    )


def draw_controls(axes: Axes, view: View) -> None:
    """What controllers said, as it was held."""
    curves = [
        (name, run.t, values) for run in view.runs for name, values in run.held_values().items()
    ]
    shown, drawn = curves[:SERIES], []
    for i, (name, t, values) in enumerate(shown):
        axes.plot(t, values, **style.look(i), drawstyle="steps-post", lw=0.9, label=plain(name))
        drawn.append(values)
    style.calm(axes, *_range(drawn))
    over_time(axes, view.runs[0])
    note = f"{len(shown)} of {len(curves)}" if len(shown) < len(curves) else ""
    style.title(axes, "controls", note)
    if len(shown) > 1:
        _key(axes, bool(note))
    else:
        axes.set_ylabel(plain(shown[0][0]))


def _range(values: list[np.ndarray]) -> tuple[float, float]:
    every = np.concatenate(values)
    return float(np.nanmin(every)), float(np.nanmax(every))


def _key(axes: Axes, remark: bool) -> None:
    """In the line of the heading; under it where a remark stands there, or names are long."""
    if remark or not style.fits_beside(axes):
        style.key_above(axes)
    else:
        style.key(axes)


# ---- energy -----------------------------------------------------------------------------------


def no_energy(view: View) -> InputError | None:
    """A flow has none."""
    if not view.run.system.first_order:
        return None
    return InputError(
        "a first-order system has no energy",
        remedy='run.plot("laws") shows what it keeps',
    )


def draw_energy(axes: Axes, view: View) -> None:
    """H − H₀, with the line of the measured drift."""
    conserved, runs = view.run.system.conservative, view.runs
    note, begun = "", len(axes.lines)
    for k, run in enumerate(runs):
        error = run.energy - run.energy[0]
        look = {**style.look(k), "lw": 0.7, "label": "energy error"}
        style.draw(axes, run.t, error, view.share(len(runs)), **look)
        if conserved and len(runs) == 1:
            note = draw_drift(axes, run.t, error, run.certificate.energy)
    if len(runs) > 1:
        style.widest_behind(axes.lines[begun:])
    style.title(axes, "energy error" if conserved else "energy, not conserved", note)
    around_zero(axes, "$H - H_0$", [line.get_ydata() for line in axes.lines[begun:]])
    over_time(axes, runs[0])


def no_work(view: View) -> InputError | None:
    """Where nothing does work, the balance is the energy error."""
    system = view.run.system
    if system.first_order or system.conservative:
        return InputError(
            "nothing does work on this system",
            expected="forces, moving constraints, or an energy that depends on time",
            remedy=f'run.plot("{"laws" if system.first_order else "energy"}")',
        )
    return None


def draw_balance(axes: Axes, view: View) -> None:
    """E − E₀ − work."""
    draw_books(axes, [run.ending.books[0] for run in view.runs], view.runs[0])


# ---- laws -------------------------------------------------------------------------------------


def no_laws(view: View) -> InputError | None:
    """Some law must be watched."""
    if view.run.certificate.watched:
        return None
    return InputError(
        "no laws are watched in this run",
        expected="laws that the search finds, beside the energy, or laws={name: expression}",
        received="laws=None" if view.run.laws is None else "none were found",
        remedy='give some to taut.simulate, or run.plot("coordinates", of=expression)',
    )


def law_changes(run: Trajectory, laws: list[Any]) -> list[np.ndarray]:
    """(I − I₀) / size of its terms, of each law, shape (N,)."""
    found = []
    few = thinned(run, SAMPLES)
    for law, values in zip(laws, run.evaluate_all([x.expression for x in laws]), strict=True):
        parts = few.evaluate_all(list(sp.Add.make_args(few.system.read(law.expression))))
        sizes = np.asarray(sum(np.abs(x) for x in parts))
        size = float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
        found.append((values - values[..., :1]) / (size or 1.0))
    return found


def draw_laws(axes: Axes, view: View) -> None:
    """What the watched laws change by, against the size of their terms."""
    laws, runs = view.run.certificate.watched, view.runs
    shown = laws[:SERIES]
    curves = []
    for k, run in enumerate(runs):
        for i, change in enumerate(law_changes(run, shown)):
            label = _law_name(view.run, shown[i]) if k == 0 else "_"
            look = style.look(i if len(runs) == 1 else k)
            curves.append((run.t, change, {**look, "label": label}))
    small, large = r"$(I - I_0)\,/\,\Vert I\Vert$", r"$|I - I_0|\,/\,\Vert I\Vert$"
    points = view.share(len(curves))
    draw_errors(axes, curves, label=small, size=large, points=points, round_off=ROUND_OFF)
    left_out = f"{len(shown)} of {len(laws)}" if len(shown) < len(laws) else ""
    style.title(axes, "conserved quantities", left_out)
    if len(runs) == 1 or len(shown) == 1:
        style.key_above(axes)
    over_time(axes, runs[0])


def _law_name(run: Trajectory, law: Any) -> str:
    if run.system.mechanism is not None:
        return plain(law.name)
    text = formula(run.system, law.expression)
    return text if text.startswith("$") and len(text) <= 60 else plain(law.name)


# ---- constraints ------------------------------------------------------------------------------


def no_constraints(view: View) -> InputError | None:
    """There must be some."""
    if view.run.system.c:
        return None
    return InputError(
        "the system has no constraints",
        expected="a System with constraints=[…]",
        remedy='run.plot("energy") or run.plot("laws")',
    )


def draw_constraints(axes: Axes, view: View) -> None:
    """The largest |g| and |G q̇ + ∂g/∂t|."""
    hidden = r"$|G\dot q + g_t|$" if view.run.system.rheonomic else r"$|G\dot q|$"
    curves = []
    for name, label, colour in (
        ("constraints", "$|g|$", style.BLUE),
        ("hidden", hidden, style.ORANGE),
    ):
        each = [np.abs(getattr(run, name)).max(axis=-1) for run in view.runs]
        curves.append((view.runs[0].t, np.fmax.reduce(each), {"color": colour, "label": label}))
    draw_decades(axes, curves)
    axes.set_ylabel("residual")
    over_time(axes, view.runs[0])
    style.title(axes, "constraints")
    style.key(axes)


def no_multipliers(view: View) -> InputError | None:
    """There must be constraints, and of a mechanism joints: what keeps bodies rigid is no force."""
    mechanism = view.run.system.mechanism
    if mechanism is None or not view.run.system.c or mechanism.joints:
        return no_constraints(view)
    return InputError(
        "the mechanism has no joints",
        expected="joints, whose forces are drawn",
        remedy='run.plot("energy") or run.plot("laws")',
    )


def draw_multipliers(axes: Axes, view: View) -> None:
    """λ(t); of many the largest, of a batch the first; of a mechanism forces in its joints."""
    if view.run.system.mechanism is not None:
        draw_joints(axes, view)
        return
    c, runs = view.run.system.c, view.runs
    found = [_with_multipliers(run) for run in runs]
    sizes = np.nanmax(np.abs(found[0].multipliers), axis=0)
    shown = _largest(sizes, len(runs))
    drawn = []
    for k, run in enumerate(found):
        for i, column in enumerate(shown):
            label = _multiplier(view.run, column) if k == 0 else "_"
            values = run.multipliers[:, column]
            look = {**style.look(k if len(runs) > 1 else i), "lw": 0.8, "label": label}
            style.draw(axes, run.t, values, view.share(len(runs) * len(shown)), **look)
            drawn.append(values)
    around_zero(axes, r"$\lambda$", drawn)
    style.calm(axes, *_range(drawn))
    over_time(axes, runs[0])
    note = _of_many(len(shown), c)
    style.title(axes, "multipliers", note)
    if len(shown) > 1:
        _key(axes, bool(note))
    elif c > 1:
        axes.set_ylabel(axes.get_ylabel().replace(r"$\lambda$", _multiplier(view.run, shown[0])))


def draw_joints(axes: Axes, view: View) -> None:
    """How large forces in joints are: of many joints the largest, of a batch that of each."""
    runs, drawn = view.runs, []
    t, joints, left_out = held_in(runs[0], JOINTS)
    joints = [x for x in joints if x.force.any()]  # and no torque of a gear
    shown = _largest(np.array([np.nanmax(x.size) for x in joints]), len(runs))
    names = [joints[k].name for k in shown]
    for k, run in enumerate(runs):
        t, found, _ = (t, joints, 0) if k == 0 else held_in(run, JOINTS)
        for i, joint in enumerate(x for x in found if x.name in names):
            label = plain(joint.name) if k == 0 else "_"
            look = {**style.look(k if len(runs) > 1 else i), "lw": 0.8, "label": label}
            style.draw(axes, t, joint.size, view.share(len(runs) * len(shown)), **look)
            drawn.append(joint.size)
    if not drawn:  # gears alone, say
        axes.plot(runs[0].t[[0, -1]], [0.0, 0.0], lw=0.8)
        drawn.append(np.zeros(1))
    top = max(float(np.nanmax(x)) for x in drawn)
    usual = max(float(np.nanquantile(x, USUAL)) for x in drawn)
    peaks = top > PEAK * usual > 0
    around_zero(axes, "$|F|$", [np.array([3 * usual if peaks else top])])
    if top > 0:
        axes.set_ylim(0, 3 * usual if peaks else 1.05 * top)
    over_time(axes, runs[0])
    note = _of_many(len(shown), len(joints) + left_out)
    said = f"peaks to {style.number(top)}" if peaks else ""
    style.title(axes, "forces in joints", "; ".join(filter(None, (note, said))))
    if names:
        _key(axes, bool(note or said))


def _largest(sizes: np.ndarray, trajectories: int) -> list[int]:
    """Which of many are drawn, in their own order."""
    most = SERIES if trajectories == 1 else 1
    return sorted(np.argsort(-sizes, kind="stable")[:most].tolist())


def _of_many(shown: int, many: int) -> str:
    return f"the largest {shown} of {many}" if shown < many else ""


def _with_multipliers(run: Trajectory) -> Trajectory:
    """The run, or some states of it where each costs a solve."""
    cheap = len(run.keep) == run.system.c and workshop(run.system).small
    return run if cheap else thinned(run, COSTLY)


def _multiplier(run: Trajectory, column: int) -> str:
    name = run.system.constraint_names[column]
    number = re.fullmatch(r"g(\d+)", name)
    return rf"$\lambda_{{{number[1]}}}$" if number else rf"$\lambda$ {plain(name)}"
