"""`equilibrium`: where a beam, or a frame of beams, is at rest under its loads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError, Interrupted, NoEquilibrium, brief, flag, number, whole
from taut.fields.beam import Beam
from taut.fields.beams import Beams
from taut.fields.ends import real_array
from taut.fields.mesh import Mesh
from taut.march.statics.applied import Applied, applied_at, nothing
from taut.march.statics.balance import Balance, HalfTurn, State
from taut.march.statics.newton import Newton
from taut.march.statics.path import MANY, Stage, Stuck, Way, arc_steps, load_steps
from taut.march.statics.result import Equilibrium, Path
from taut.march.statics.rigid import unloaded, unstoppable
from taut.model.mechanism import Mechanism
from taut.progress import Progress

MOST_STEPS = 1_000_000  # along a path: a matter of hours
TOLERANCE = 1e-9


@public
def equilibrium(
    beam: Beam | Beams | list[Beam] | Mesh | Mechanism,
    *,
    loads_at: float = 0.0,
    steps: int | None = None,
    arc_length: bool = False,
    start: Any = None,
    tolerance: float = TOLERANCE,
    progress: Any = None,
) -> Equilibrium:
    """Find where a beam is at rest.

    All that acts on it (loads, gravity, the motion of held ends) is multiplied by a load factor
    that goes from 0 to 1.

    Parameters
    ----------
    beam : Beam, Beams, a list of beams, or a Mechanism
        A mechanism with `loads_at` alone, as its own ``m.equilibrium()``: all else is for beams.
    loads_at : float
        The time at which loads and moved ends are taken.
    steps : int, optional
        Equal steps of the load factor, all kept in the path.  Without it the whole load is tried at
        once, and in halves where that fails.  With `arc_length`: the most that are made.
    arc_length : bool
        Follow the path of equilibria by its length, through limit points at which loads fall.  It
        ends where the load factor is 1, or after `steps`: see `load_factor`.
    start : Equilibrium or (N, 4, 4) array_like, optional
        Where to begin.  From an equilibrium under other loads the path leads from those loads to
        the new ones; from poses, it leads from no loads.
    tolerance : float
        Newton's method ends with a step below it: radians, or displacement over length.  Its error
        is then about the square of it.
    progress : None, bool or callable(done, total)

    Returns
    -------
    Equilibrium

    Examples
    --------
    A cantilever rolls up to a circle under the moment 2π EI/L:

    >>> import numpy as np, taut
    >>> beam = taut.Beam(1.0, inertia=np.ones(6), stiffness=np.ones(6), ends=("clamped", "free"))
    >>> rest = taut.equilibrium(beam.load(moment=(0, 0, 2 * np.pi)))
    >>> bool(np.linalg.norm(rest.tip) < 2e-3)
    True
    """
    if isinstance(beam, Mechanism):
        if (steps, arc_length, start, tolerance) != (None, False, None, TOLERANCE):
            raise InputError(
                "a mechanism has no path of loads",
                expected="taut.equilibrium(mechanism, loads_at=…) and nothing else",
                remedy="m.equilibrium(q0=…, stable=…) says where to begin, and what will do",
            )
        return beam.equilibrium(time=loads_at)
    mesh = as_mesh(beam)
    time = number("the time of the loads", loads_at)
    most = _count(steps)
    small = number("the tolerance", tolerance)
    if not 0 < small < 1e-2:
        raise InputError(
            "the tolerance cannot be used", expected="0 < tolerance < 0.01", received=small
        )
    balance = Balance(mesh)
    newton = Newton(balance, small)
    state, begin = _start(balance, start)
    end = applied_at(mesh, time)
    free, swings, idle = _free(newton, state, end)
    way = Way(newton, begin, end, idle)
    stages = [way.stage(0.0, newton.still(state))]
    if start is not None and not isinstance(start, Equilibrium):
        stages = [replace(stages[0], falls=None)]  # poses that need not be at rest
    arc_length = flag("arc_length", arc_length)
    total = (most or MANY) if arc_length else 1000
    follow = arc_steps if arc_length else load_steps
    try:
        with (
            np.errstate(all="ignore"),
            Progress(progress, total, f"{mesh.nodes} nodes", "looking for an equilibrium") as bar,
        ):
            follow(way, stages, most, bar)
    except Stuck as error:
        found = _result(way, stages, free)
        raise NoEquilibrium(
            f"no equilibrium was found beyond the load factor {found.load_factor:.6g}",
            load_factor=found.load_factor,
            expected="a path of equilibria up to the load factor 1",
            received=str(error),
            remedy=_remedy(arc_length, str(error), swings),
            partial=found,
        ) from error
    except KeyboardInterrupt as error:
        found = _result(way, stages, free)
        raise Interrupted(
            f"interrupted after the load factor {found.load_factor:.6g}",
            remedy="error.partial is the last equilibrium: give it as start=…",
            partial=found,
        ) from error
    return _result(way, stages, free)


def as_mesh(given: Any) -> Mesh:
    """The mesh of a beam or of several."""
    if isinstance(given, Mesh):
        return given
    if isinstance(given, Beam | Beams):
        return given.mesh()
    if isinstance(given, list | tuple):
        return Beams(given).mesh()
    raise InputError(
        "this is not a beam",
        expected="a taut.Beam, taut.Beams or a taut.Mechanism",
        received=brief(given),
    )


def _count(steps: Any) -> int | None:
    if steps is None:
        return None
    return whole("steps", steps, 1, MOST_STEPS)


def _start(balance: Balance, start: Any) -> tuple[State, Applied]:
    mesh = balance.mesh
    begin = nothing(mesh)
    if start is None:
        return balance.unloaded(), begin
    if isinstance(start, Equilibrium):
        begin = start.applied
        poses = start.poses
        if _alike(mesh, start.mesh):
            return start.state, begin
    else:
        try:
            poses = real_array(start)
        except (TypeError, ValueError):
            poses = np.zeros(0)
    if poses.shape != mesh.pose.shape or begin.dead.shape != (mesh.nodes, 6):
        raise InputError(
            "the start does not fit the beam",
            expected=f"an Equilibrium of it, or poses of shape {mesh.pose.shape}",
            received=f"shape {poses.shape}" if poses.size else brief(start),
        )
    from taut.lie import SE3

    try:
        return balance.at(SE3.check(poses, "a pose of the start").copy()), begin
    except HalfTurn as error:
        raise InputError(
            "neighbours are turned by half a turn against each other in the start",
            received=f"{mesh.where(error.edge)} and {mesh.where(error.edge + 1)}",
            remedy="use more nodes",
        ) from error


def _alike(one: Mesh, other: Mesh) -> bool:
    """Whether strains mean the same stresses in both."""
    names = ("pose", "alive", "spacing", "stiffness", "reference")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _free(newton: Newton, state: State, applied: Applied) -> tuple[str | None, str | None, int]:
    """Rigid motions that nothing determines, and those that loads alone do, in words; how many.

    It is an error if loads drive one that nothing stops.
    """
    if not newton.loose:
        return None, None, 0
    mesh = newton.balance.mesh
    rigid, stiffness, work, scale = newton.loaded(state, applied, newton.freedoms(state.pose))
    loads = newton.balance.loads(state.pose, applied)
    driven = unstoppable(stiffness + rigid.turned(state.pose, loads), work, scale)
    if driven is not None:
        raise NoEquilibrium(
            "the beam can move freely: " + rigid.words(mesh, driven[None]),
            load_factor=0.0,
            expected="ends that are held, or loads that stop what is not",
            received=f"loads that drive a rigid motion; ends {_ends(mesh)}",
            remedy='hold an end: ends=("clamped", "free"), or start closer to the equilibrium',
        )
    idle = unloaded(stiffness, work, scale)
    others = np.linalg.svd(idle)[2][len(idle) :]
    words = [rigid.words(mesh, rows) if len(rows) else None for rows in (idle, others)]
    return words[0], words[1], len(idle)


def _ends(mesh: Mesh) -> str:
    held = {h.node: h.end.kind for h in mesh.holds}
    return ", ".join(
        f"{held.get(node, 'free')} at {mesh.where(node)}"
        for span in mesh.spans
        for node in (span.start, span.stop - 1)
    )


def _remedy(arc_length: bool, why: str, swings: str | None) -> str:
    if swings is not None:
        return f"loads alone stop its {swings}: start closer to the equilibrium, or hold an end"
    if "half a turn" in why:
        return "use more nodes, or smaller loads"
    if arc_length:
        return "give more steps=…, or a finer mesh; error.partial holds the path so far"
    return (
        "follow the path through a limit point with arc_length=True, or give steps=…; "
        "error.partial is the last equilibrium"
    )


def _result(way: Way, stages: list[Stage], free: str | None) -> Equilibrium:
    balance, last = way.newton.balance, stages[-1]
    poses = np.array([stage.solved.state.pose for stage in stages])
    path = Path(
        np.array([stage.load_factor for stage in stages]),
        poses[:, :, :3, 3],
        poses[:, :, :3, :3],
        np.array([balance.energy(stage.solved.state.turns) for stage in stages]),
        np.array([stage.solved.iterations for stage in stages]),
        [x.falls and x.falls.decided(way.idle) for x in stages],
    )
    return Equilibrium(
        balance.mesh,
        last.solved.state,
        way.at(last.load_factor),
        last.load_factor,
        path,
        int(path.iterations.sum()),
        last.solved.precision,
        free,
    )
