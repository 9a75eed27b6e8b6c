"""`simulate`: a model and a start become a trajectory; `continued` goes on from its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from taut.calls import public
from taut.errors import (
    ConstraintError,
    ControlError,
    InputError,
    Interrupted,
    ProgressError,
    StepError,
    brief,
    flag,
    listed,
)
from taut.fields.beam import Beam
from taut.fields.beams import Beams
from taut.fields.field import Field
from taut.interrupts import interruptible
from taut.kernel.collecting import uncollected
from taut.kernel.compile import workshop
from taut.kernel.evaluate import Snapshot
from taut.march import loop
from taut.march.askew import turned
from taut.march.beam_steps import beyond, step_for
from taut.march.controlled import ControlledRun
from taut.march.dense import States
from taut.march.events import Watch, located, watched
from taut.march.fields import simulate_field
from taut.march.paced import PacedRun
from taut.march.plan import Plan, roomy
from taut.march.project import owned, widths
from taut.march.run import Run
from taut.march.start import prepare
from taut.march.trajectory import Trajectory
from taut.march.tuned import tuned
from taut.methods.base import Method
from taut.methods.catalogue import method_of
from taut.methods.fields.base import Scheme
from taut.model.controls import Channel, chosen as chosen_controls
from taut.model.flow import Flow
from taut.model.mechanism import Mechanism
from taut.model.system import System
from taut.progress import waiting

COPIES = 2  # of all states at the end of a run: the store, and what the trajectory holds
FLOWS = "gauss-lobatto-4"  # "auto" for flows: Gauss' method keeps quadratic integrals


@interruptible("interrupted before the first step: nothing had been computed")
@public
def simulate(
    model: System | Mechanism | Flow | Field | Beam | Beams,
    *,
    q0: Any = None,
    v0: Any = None,
    p0: Any = None,
    strain0: Any = None,
    momentum0: Any = None,
    t0: float = 0.0,
    duration: float,
    step: float | None = None,
    tolerance: float | None = None,
    method: str | Method | Scheme = "auto",
    every: int = 1,
    parameters: Mapping[Any, float] | None = None,
    project: bool = False,
    controls: Mapping[Any, Any] | None = None,
    laws: Any = "auto",
    events: Any = (),
    progress: Any = None,
) -> Any:
    """Simulate a model and return its certified trajectory.

    Parameters
    ----------
    model : System, Mechanism, Flow, Field, Beam or Beams
        A flow starts from ``q0`` alone, and ``run.q`` are its variables.  A mechanism starts as it
        was put together, unless ``q0`` or ``v0`` say otherwise.
    q0 : array_like, shape (n,) or (B, n)
        Start; two dimensions run a batch.
    v0, p0 : array_like, shape (n,) or (B, n), or one number
        Exactly one of them; ``v0=0`` starts from rest.
    strain0, momentum0 : array_like, shapes (edges, n) and (nodes, n), or (n,)
        Start of a field or a beam: strains relative to the reference shape, and momenta per length;
        zero without them.  A beam may be given ``v0`` (velocities, in local frames) instead of
        momenta.
    t0, duration, step : float
        ``duration/step`` steps are taken (a last shorter one if that is not a whole number).
        Fields and beams (also mechanisms with beams, for explicit methods) may leave the step out:
        half the limit of stability is taken.
    tolerance : float
        Instead of a step: the relative error of energy and position that trial runs choose the step
        for.
    method : str or Method
        A name from the catalogue, or a method object.  ``"auto"`` is RATTLE for a given step (for
        a flow Gauss' method of order 4); for a
        tolerance, whichever of RATTLE and its compositions (with forces: the Gauss–Lobatto
        methods) needs the least work.
    every : int
        Keep every k-th state (the start and the last state always).
    parameters : mapping, optional
        Values for the system's parameters in this run.
    project : bool
        Take the nearest consistent state if the start breaks the constraints.
    controls : mapping name → function ``controller(t, state)`` or `Control`, optional
        For the controls of the model, instead of those that it has: functions that are asked once
        per step, and whose values hold for the step.
    laws : "auto", None, or SymPy expressions of q, v, p, t (a list, or a mapping name → expression)
        Quantities the certificate watches besides the energy.
    events : expressions or `Event` objects, or a mapping name → expression or `Event`, optional
        Zero crossings to be located; ``run.events`` holds the states, a terminal one ends the run.
    progress : bool or callable, optional
        A bar on long runs in a terminal by default, before it a line that says that something is
        being compiled; ``callable(done, total)`` to be told: one that fails ends the run with a
        `ProgressError`, and the trajectory so far is in ``error.partial``.

    Returns
    -------
    Trajectory
        Of a field or a beam a `FieldTrajectory`.

    Examples
    --------
    >>> import taut
    >>> x, y = taut.coordinates("x y")
    >>> pendulum = taut.System([x, y], mass=[1, 1], potential=10*y, constraints=[x**2 + y**2 - 1])
    >>> run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=10, step=0.01)
    >>> bool(abs(run.constraints).max() < 1e-15)
    True
    """
    project = flag("project", project)
    if isinstance(model, Field | Beam | Beams):
        plain = events is None or (isinstance(events, tuple) and not events)
        unknown = {"q0": q0, "p0": p0, "tolerance": tolerance, "events": None if plain else events}
        unknown["controls"] = controls
        unknown["laws"] = None if isinstance(laws, str) and laws == "auto" else laws
        for name, value in unknown.items():
            if value is not None:
                raise InputError(
                    f"fields and beams take no {name}",
                    expected="strain0, momentum0 (or v0), t0, duration, step, method, every",
                    received=f"{name}=…",
                )
        return simulate_field(
            model, strain0=strain0, momentum0=momentum0, v0=v0, t0=t0, duration=duration, step=step,
            method=cast("str | Scheme", method), every=every, parameters=parameters,
            project=project, progress=progress,
        )  # fmt: skip
    if strain0 is not None or momentum0 is not None:
        raise InputError(
            "strains and momenta per length are for fields and beams",
            expected="q0 and v0 or p0",
            received="strain0" if strain0 is not None else "momentum0",
        )
    if isinstance(method, Scheme):
        raise InputError(
            f"{method.name} is a method for fields and beams",
            expected="a method for systems, such as taut.Rattle()",
            received=brief(method),
        )
    if isinstance(model, Flow):
        if v0 is not None or p0 is not None:
            raise InputError(
                "a flow has no velocities or momenta to start with",
                expected="q0=… alone",
                received="v0" if v0 is not None else "p0",
            )
        model, p0 = model.system, 0.0
        if method == "auto" and tolerance is None:
            method = FLOWS
    if isinstance(model, Mechanism):
        begins, v_begins = model.start()
        if project and q0 is None:
            begins, v_begins = turned(model, begins, v_begins)
        q0 = begins if q0 is None else q0
        v0 = v_begins if v0 is None and p0 is None else v0
        if tolerance is None:
            step = step_for(model, method_of(method), step, duration)
        model = model.system()
    if not isinstance(model, System):
        raise InputError(
            "there is nothing to simulate",
            expected="a taut.System, Mechanism, Flow, Field, Beam or Beams",
            received=type(model).__name__,
            remedy="several beams are one model: taut.Beams([…])"
            if isinstance(model, list | tuple)
            else None,
        )
    chosen = method_of(method)
    if (step is None) == (tolerance is None):
        raise InputError(
            "there is no step" if step is None else "a step and a tolerance are one too many",
            expected="step=…, or tolerance=… to have it chosen",
            received=f"step={brief(step)}, tolerance={brief(tolerance)}",
        )
    plan = Plan.of(t0, duration, duration if step is None else step, every)
    values = model.values(parameters)
    named = dict(zip(model.parameters, values.tolist(), strict=True))
    named = {name: x for name, x in named.items() if name not in model.controlled}
    channels = chosen_controls(model.controls, controls)
    chosen = chosen.fitted(model, named)
    method = method if isinstance(method, str) else chosen
    followed = _watched(model, laws)
    shop = workshop(model)
    begin = time.perf_counter()
    wait = f"compiling {chosen.label} for {model.n} coordinates, {model.c} constraints"
    with waiting(progress, wait), uncollected():
        start = prepare(
            shop.mechanics, q0, v0, p0, plan.t0, values, project, hidden=chosen.keeps_hidden
        )
        chosen = chosen.begun(shop.mechanics, values, start.here.q)
    if tolerance is not None and channels:
        raise InputError(
            "no step can be chosen for a run with controls",
            expected="step=…: controllers are asked in steps, and trial runs would ask them too",
            received=f"tolerance={brief(tolerance)}",
        )
    if tolerance is not None:
        settings = {"q0": q0, "v0": v0, "p0": p0, "t0": t0, "parameters": parameters}
        again = partial(simulate, model, **settings, project=project)
        ending = [e for e in watched(model, events) if e.terminal]
        trial = partial(_tried, again, laws=None, progress=False, events=ending)
        whole = partial(
            again, duration=duration, every=every, laws=laws, events=events, progress=progress
        )
        return tuned(trial, whole, start.here, method, float(duration), tolerance)
    # How many steps of varying size there will be is not known; their store grows on the way.
    size = COPIES * 3 * start.here.rows().q.size if chosen.pace is None else 0
    with roomy(plan, size), waiting(progress, wait), uncollected():
        run = _kind(chosen, channels)(model, shop, chosen, plan, values, start.keep)
        if isinstance(run, ControlledRun):
            run.controlled_by(channels)
        run.begin(start)
        run.watch = _watch(model, events, start.here, values)
        if run.watch is not None:
            run.groups[0].advance(run.plan, 0, run.watch)  # compiles that loop, outside the clock
    compile_time = time.perf_counter() - begin
    with roomy(plan, size):
        wall, error = run.march(progress)
        compile_time += run.compiling
        trajectory = run.trajectory(named, start.projected, wall, compile_time, followed)
    if run.watch is not None:
        trajectory = located(trajectory, run.watch, run.ended)
    if error is not None:
        raise _explained(error, trajectory, run)
    _check_dropped(trajectory)
    return trajectory


def _tried(simulated: Callable[..., Trajectory], **given: Any) -> Trajectory:
    """A trial run; of one that is interrupted nothing is of use to who has asked for another."""
    try:
        return simulated(**given)
    except Interrupted as error:
        raise Interrupted(
            "interrupted while the step was chosen: nothing of the run had been computed"
        ) from error


def _kind(method: Method, channels: Sequence[Channel]) -> type[Run]:
    if channels:
        return ControlledRun
    return Run if method.pace is None else PacedRun


def _watch(model: System, events: Any, here: Snapshot, values: np.ndarray) -> Watch | None:
    """The events of a call, with their signs at the start."""
    found = watched(model, events)
    if not found:
        return None
    if here.q.ndim > 1:
        raise InputError(
            "events are not watched in a batch",
            expected="one trajectory",
            received=f"{len(here.q)} of them",
            remedy="simulate them one by one",
        )
    for event in found:
        names = {s.name for s in event.expression.free_symbols} & model.controlled
        if names:
            raise InputError(
                f"the event {event.label} depends on the control {', '.join(sorted(names))}",
                expected="an expression of the state: controls jump from step to step",
            )
    watch = Watch(model, found, np.zeros(len(found)))
    rows = here.rows()
    watch.begin(States(np.array([here.t]), rows.q, rows.v, rows.p), values)
    return watch


def _check_dropped(run: Trajectory) -> None:
    """Constraints left out as redundant at the start must hold along the whole run."""
    system = run.system
    kept = (set(keep) for member in run.ending.keeps for _, keep in member)
    always = set(run.keep).intersection(*kept)
    dropped = sorted(set(range(system.c)) - always)
    if not dropped or not run.method.keeps_constraints:
        return
    g = np.abs(run.constraints[..., dropped])
    mechanics, states = workshop(system).mechanics, run.q.reshape(-1, system.n)
    size = mechanics.apply("size", np.tile(run.t, run.batch or 1), run._par, q=states)
    size = size.reshape(*run.q.shape[:-1], system.c)[..., dropped]
    # A product of a coordinate that is zero has no size of its own, but a slope.
    wide = widths(mechanics, states[0], float(run.t[0]), run._par)
    broken = np.argwhere(~(g <= 1e-9 * np.maximum(size, wide[dropped]) + 1e-300))
    if not len(broken):
        return
    row, which = int(broken[0][-2]), dropped[int(broken[0][-1])]
    raise ConstraintError(
        f"constraint {next(iter(owned(system, [which])))} does not hold at t = {run.t[row]:g}",
        expected="a constraint that follows from the others, as it did at the start",
        received=f"g = {run.constraints[tuple(broken[0][:-1])][which]:.3g}",
        remedy="the constraints contradict each other there, or differ too little to be told apart "
        "at the start; error.partial holds the run",
        partial=run,
    )


@interruptible("interrupted before the next step", lambda run, *_, **__: run)
def continued(run: Trajectory, duration: float, progress: Any = None) -> Trajectory:
    """`run` and what comes after it for `duration`, as one trajectory."""
    ending = run.ending
    if np.any(ending.books[:, loop.FAILED_AT] >= 0):
        raise InputError(
            "a run that failed cannot go on",
            expected="a run that was completed or interrupted",
            remedy="simulate from its last state with a smaller step"
            + ("" if run.batch is None else "; the others go on alone: run[i].continue_(…)"),
        )
    short = isinstance(duration, float | int) and 0 < duration < run.step * (1 - 1e-9)
    if short and run.method.pace is None:
        raise InputError(
            "the run cannot go on for less than a step",
            expected=f"duration ≥ step = {run.step:g}",
            received=duration,
            remedy="go on for at least one step, or simulate from its last state with another",
        )
    if ending.short and np.ptp(ending.steps):  # some of a batch have not come to the short step
        last = int(ending.steps.max())
        plan = Plan(run.t0, run.step, ending.end_step, int(ending.steps.min()), last, run.every)
        run = _went_on(run, plan, ending.steps, plan.rows_up_to(plan.first, run.t), progress)
        ending = run.ending
    if run.method.pace is not None:
        begin = float(run.t[-1])
        if short:
            plan = Plan(begin, run.step, float(duration), 0, 1, run.every)
        else:
            plan = Plan.of(begin, duration, run.step, run.every)
        return _went_on(run, plan, ending.steps, len(run.t), progress)
    # After a shortened last step the grid of times starts anew at the last state.
    steps = np.zeros_like(ending.steps) if ending.short else ending.steps
    t0 = float(run.t[-1]) if ending.short else run.t0
    plan = Plan.of(t0, duration, run.step, run.every, first=int(steps.max()))
    plan = replace(plan, first=int(steps.min()))  # those that are behind catch up
    # The last state of the first part is kept only if one long run would have kept it.
    joint = len(run.t) if ending.short else plan.rows_up_to(plan.first, run.t)
    joined = _went_on(run, plan, steps, joint, progress)
    _check_dropped(joined)
    return joined


def _went_on(run: Trajectory, plan: Plan, steps: np.ndarray, joint: int, progress) -> Trajectory:
    """`run` up to row `joint`, and `plan` after that."""
    channels = () if run.held is None else run.held.channels
    size = COPIES * 3 * run.system.n * (run.batch or 1) if run.method.pace is None else 0
    with roomy(plan, size):
        work = _kind(run.method, channels)(
            run.system, workshop(run.system), run.method, plan, run._par, run.keep
        )
        if isinstance(work, ControlledRun):
            work.controlled_by(list(channels), run.held)
        work.resume(run, steps, joint)
        if run.watch is not None:
            work.watch = Watch(
                run.system, run.watch.events, run.watch.signs.copy(), run.watch.heights.copy()
            )
    with roomy(plan, size):
        wall, error = work.march(progress)
        more = work.trajectory(
            run.parameters, run.projected, run.wall_time + wall, run.compile_time, run.laws
        )
        joined = replace(
            more,
            tolerance=run.tolerance,
            t0=run.t0 if run.method.pace is not None else more.t0,
            t=np.concatenate([run.t[:joint], more.t]),
            **{
                name: np.concatenate(
                    [getattr(run, name)[..., :joint, :], getattr(more, name)], axis=-2
                )
                for name in ("q", "v", "p")
            },
        )
    if work.watch is not None:
        joined = located(joined, work.watch, work.ended)
        events = {
            name: States(
                *(
                    np.concatenate([getattr(old, x), getattr(joined.events[name], x)])
                    for x in "tqvp"
                )
            )
            for name, old in run.events.items()
        }
        joined = replace(joined, events=events)
    if error is not None:
        raise _explained(error, joined, work)
    return joined


def _explained(error: BaseException, partial: Trajectory, run: Run) -> BaseException:
    """The error a user sees, with the partial trajectory."""
    if isinstance(error, KeyboardInterrupt):
        partial = replace(partial, interrupted=True)
        found = Interrupted(
            partial.ended_early,
            remedy="error.partial holds the trajectory so far; error.partial.continue_(…) goes on",
            partial=partial,
        )
        found.__cause__ = error.__cause__
        return found
    if isinstance(error, ControlError | ProgressError):
        error.partial = replace(partial, interrupted=isinstance(error, ProgressError))
        return error
    assert partial.failed_at is not None
    index, t = partial.failed_at
    away = ", or a scale that stays away from zero" if run.method.pace is not None else ""
    expected = "a finite state near the one before, and Newton to find it"
    if run.unsure:
        expected = (
            "a step short enough to follow the motion past a singular configuration, where "
            "constraints nearly depend on each other and several branches meet"
        )
    shorter, mechanism = "use a smaller step", partial.system.mechanism
    limit = None if mechanism is None else beyond(mechanism, run.method, run.plan.step)
    if limit is not None:
        shorter += f", below {limit:.3g}: stiff springs and beams allow no more (m.stable_step()), "
        shorter += 'or an implicit method such as "gauss-lobatto-4"'
    elif partial.held is not None:
        shorter += ", or controllers with smaller gains: what they say is held for a step"
    return StepError(
        partial.ended_early,
        expected=expected,
        received=f"method {run.method.label}, step {run.plan.step:g}",
        remedy=f"{shorter}{away}; error.partial holds the trajectory up to here",
        t=t,
        index=index,
        partial=partial,
    )


def _watched(model: System, laws: Any) -> Any:
    """Laws as given, or a mapping name → expression in the system's symbols."""
    if laws is None or (isinstance(laws, str) and laws == "auto"):
        return laws
    if isinstance(laws, str) or not isinstance(laws, Mapping | Iterable):
        raise InputError(
            "laws cannot be watched",
            expected='"auto", None, a list of expressions or a mapping name → expression',
            received=brief(laws),
        )
    named = laws if isinstance(laws, Mapping) else {str(e): e for e in listed("laws", laws)}
    return {str(name): model.read(e) for name, e in named.items()}


__all__ = ["continued", "simulate"]
