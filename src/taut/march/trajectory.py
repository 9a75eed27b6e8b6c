"""`Trajectory`: the immutable record of a run, with its provenance.

States are stored; everything that follows from them (energy, constraints, multipliers, reactions)
is computed when asked for.  The certificate and the pictures live in rooms further up and are
looked up by name when they are asked for, so that nothing here depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.calls import Names, public
from taut.cite import Citations, cite
from taut.errors import InputError, UnknownKey, brief, listed
from taut.kernel.compile import workshop
from taut.march.kept import poorly_kept
from taut.march.loop import FAILED_AT, STEPS, evaluate

if TYPE_CHECKING:
    from taut.march.dense import States
    from taut.march.held import Held
    from taut.methods.base import Method
    from taut.model.system import System

# Views that rooms further up offer on a trajectory: attribute → "module:function".
COMPILED = 4000  # states from which on it pays to compile what is evaluated at them
TOGETHER, MODEST = 64, 150  # states that are solved together, of systems with so many coordinates
VIEWS = {
    "certificate": "taut.diagnose.certificate:certify",
    "plot": "taut.show.plots:plot",
    "report": "taut.show.report:report",
    "animate": "taut.show.animation:animate",
    "card": "taut.show.card:card",
}


@dataclass(frozen=True)
class Ending:
    """What a run needs to go on bit by bit: inner states and books of every trajectory.

    `steps` counts those of each trajectory on the grid of times; they differ only where a batch was
    stopped half-way.  `short` says that the last step, of the trajectories that have made it, was
    `end_step` long and leaves the grid.  `setbacks` are steps that needed Newton's exact matrix.
    `keeps` are the constraints that each keeps, with the times from which on, `looks` the steps
    before which that is asked again (see `taut.march.kept`).
    """

    states: list[np.ndarray]
    books: np.ndarray
    charts: list[tuple[int, ...] | None]
    steps: np.ndarray
    short: bool
    end_step: float
    setbacks: list[int]
    keeps: list[list[tuple[float, tuple[int, ...]]]]
    looks: list[int]


@public
@dataclass(frozen=True, eq=False)
class Trajectory:
    """A run: times, states and what they imply.

    Attributes
    ----------
    t : ndarray, shape (N,)
    q, v, p : ndarray, shape (N, n); (B, N, n) for a batch
    system, method : what was run and how
    step, t0 : float
    parameters : dict
    events : dict
        For each event by name the states at which it happened.
    wall_time, compile_time : float
        Seconds of marching, and of what came before it; of a member of a batch its share of the
        marching, by its steps.
    interrupted : bool
        Whether it was stopped by Ctrl-C.
    held : Held
        All samples of its controllers, if it had any; ``controls`` shows them at stored states.
    """

    system: System
    method: Method
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    t0: float
    step: float
    every: int
    parameters: dict[str, float]
    keep: tuple[int, ...]
    projected: bool
    wall_time: float
    compile_time: float
    laws: Any
    ending: Ending = field(repr=False)
    events: dict[str, States] = field(default_factory=lambda: Names("event"))
    watch: Any = field(default=None, repr=False)
    tolerance: float | None = None
    interrupted: bool = False
    held: Held | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What it was made of; what follows from that is found again where it is asked for."""
        return {x.name: getattr(self, x.name) for x in fields(self)}

    # ---- what follows from the states --------------------------------------------------------

    @property
    def controls(self) -> dict[str, np.ndarray]:
        """For each control by name what was held from each stored state on, shape (N, k)."""
        if self.held is None:
            return {}
        found, at = self._held_rows, 0
        spans = {}
        for channel in self.held.channels:
            spans[channel.name] = found[..., at : at + len(channel.parameters)]
            at += len(channel.parameters)
        return spans

    def held_values(self) -> dict[str, np.ndarray]:
        """The same for each parameter that is controlled, shape (N,)."""
        names = [] if self.held is None else self.held.names
        return {name: self._held_rows[..., i] for i, name in enumerate(names)}

    @cached_property
    def _held_rows(self) -> np.ndarray:
        """Of all controlled parameters."""
        assert self.held is not None
        slack = 1e-9 * self.step
        rows = [self.held.at(self.t, slack, i) for i in range(len(self.held.times))]
        return rows[0] if self.batch is None else np.array(rows)

    @property
    def _par(self) -> np.ndarray:
        """Parameters; zero for those that are controlled."""
        return np.array([self.parameters.get(name, 0.0) for name in self.system.parameters])

    @property
    def _pars(self) -> np.ndarray:
        """Parameters at every stored state of every trajectory, one row each, or one for all."""
        if self.held is None:
            return self._par
        flat = self._held_rows.reshape(-1, self._held_rows.shape[-1])
        return self._with(flat)

    def _with(self, held: np.ndarray) -> np.ndarray:
        """Parameters with held values, one row each."""
        assert self.held is not None
        order = list(self.system.parameters)
        rows = np.tile(self._par, (len(held), 1))
        rows[:, [order.index(name) for name in self.held.names]] = held
        return rows

    def _par_at(self, t: float) -> np.ndarray:
        """Parameters that were held from a time on."""
        if self.held is None:
            return self._par
        return self._with(self.held.at(np.array([t]), 1e-9 * self.step))[0]

    def _kept_at(self, t: float, member: int = 0) -> tuple[int, ...]:
        """The constraints that were kept in the step that ended at a time."""
        slack = 1e-9 * self.step
        kept = [keep for begun, keep in self.ending.keeps[member] if begun < t - slack]
        return kept[-1] if kept else self.keep

    @property
    def failed_at(self) -> tuple[int, float] | None:
        """The number and the time of the first step that could not be made, if there is one."""
        failed = self.ending.books[:, FAILED_AT]
        if not np.any(failed >= 0):
            return None
        index = int(failed[failed >= 0].min())
        varying = self.method.pace is not None
        return index, float(self.t[-1]) if varying else self.t0 + index * self.step

    @property
    def ended_early(self) -> str:
        """What ended the run before its duration; empty if nothing did."""
        stopped = self._interruption if self.interrupted else ""
        if self.failed_at is None:
            return stopped
        index, t = self.failed_at
        failed = np.flatnonzero(self.ending.books[:, FAILED_AT] >= 0)
        more = f" and {len(failed) - 8} more" if len(failed) > 8 else ""
        many = "" if self.batch is None else f" for trajectories {failed[:8].tolist()}{more}"
        found = f"no step could be made at t = {t:g} (step {index}){many}"
        return f"{found}; {stopped}" if stopped else found

    @property
    def _interruption(self) -> str:
        """How far trajectories had come when they were interrupted: of a batch some not at all."""
        begun = self.ending.books[:, STEPS] > 0
        if not begun.any():
            return "interrupted before the first step"
        reached = [f"{t:g}" for t in np.unique(self._reached[begun])]
        if begun.all() and len(reached) == 1:
            return f"interrupted at t = {reached[0]}"
        span = " … ".join(dict.fromkeys((reached[0], reached[-1])))
        if begun.all():
            return f"interrupted: {len(begun)} trajectories at t = {span}"
        left = len(begun) - begun.sum()
        return f"interrupted: {left} of {len(begun)} trajectories not begun, others at t = {span}"

    @property
    def _reached(self) -> np.ndarray:
        """The time to which the steps of each trajectory lead, whether that state is stored."""
        if self.method.pace is not None:
            return self.t[-1:]
        steps = self.ending.steps
        times = self.t0 + steps * self.step
        if not self.ending.short:
            return times
        return np.where(steps == steps.max(), times - self.step + self.ending.end_step, times)

    @cached_property
    def _mechanics(self):
        return workshop(self.system).mechanics

    def _along(self, evaluate_rows) -> np.ndarray:
        """Evaluate something at every stored state of every trajectory."""
        n = self.system.n
        flat = [x.reshape(-1, n) for x in (self.q, self.v, self.p)]
        times = np.tile(self.t, len(flat[0]) // len(self.t))
        values = np.asarray(evaluate_rows(*flat, times))
        return values.reshape(*self.q.shape[:-1], *values.shape[1:])

    @cached_property
    def _observed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(g, G q̇ + ∂g/∂t, energy), by the same compiled operations that monitored the steps."""
        c, shop = self.system.c, workshop(self.system)
        if not shop.small:
            m, par = self._mechanics, self._par
            return (
                self._along(lambda q, v, p, t: m.g(q, t, par)),
                self._along(lambda q, v, p, t: m.hidden(q, v, t, par)),
                self._along(lambda q, v, p, t: m.energy(q, v, p, t, par)),
            )
        found = self._along(lambda *state: apply_map(shop.observed(), self._rows(*state)))
        return found[..., :c], found[..., c : 2 * c], found[..., 2 * c]

    def _rows(self, q, v, p, t) -> np.ndarray:
        """States with the time and the parameters, as compiled maps read them."""
        par = self._pars
        spread = np.broadcast_to(par, (len(q), par.shape[-1]))
        return np.ascontiguousarray(np.hstack([q, v, p, t[:, None], spread]))

    @property
    def energy(self) -> np.ndarray:
        """Energy v·L_v − L (or H), shape (N,)."""
        return self._observed[2]

    @property
    def constraints(self) -> np.ndarray:
        """g(q, t), shape (N, c)."""
        return self._observed[0]

    @property
    def hidden(self) -> np.ndarray:
        """G q̇ + ∂g/∂t, shape (N, c)."""
        return self._observed[1]

    @cached_property
    def multipliers(self) -> np.ndarray:
        """λ(t) in ṗ = −H_q + f − Gᵀλ from the acceleration-level equations, shape (N, c).

        Redundant constraints share the load: λ is then the one of least norm.
        """
        return self._along(self._multipliers)

    def _multipliers(self, q, v, p, t) -> np.ndarray:
        c, par = self.system.c, self._pars
        if c == 0:
            return np.zeros((len(q), 0))
        shop = workshop(self.system)
        if not shop.small or len(self.keep) < c:
            return self._multipliers_of_many(
                q, v, p, t, np.broadcast_to(par, (len(q), par.shape[-1]))
            )
        return apply_map(shop.multipliers(self.keep), self._rows(q, v, p, t))

    def _multipliers_of_many(self, q, v, p, t, par) -> np.ndarray:
        """The same for systems that are not unrolled or have a choice, some states at a time."""
        m, found = self._mechanics, []
        for begin in range(0, len(q), TOGETHER):
            part = tuple(x[begin : begin + TOGETHER] for x in (q, v, p, t, par))
            if self.system.n <= MODEST and np.all(np.isfinite(part[0])):
                try:
                    own = m.multipliers(*part, keep=self.keep)
                    poor = poorly_kept(m, part[0], part[3], part[4], self.keep)
                    for i in np.flatnonzero(poor):
                        own[i] = m.accelerations(*(x[i] for x in part))[1]
                    found.append(own)
                    continue
                except np.linalg.LinAlgError:  # beside a singular configuration
                    pass
            never = np.full(self.system.c, np.nan)  # states that were not reached have none
            found.append(
                np.array(
                    [
                        m.accelerations(*x)[1] if np.all(np.isfinite(x[0])) else never
                        for x in zip(*part, strict=True)
                    ]
                )
            )
        return np.concatenate(found)

    @cached_property
    def reactions(self) -> np.ndarray:
        """Constraint forces −Gᵀλ on the coordinates, shape (N, n)."""
        flat = self.multipliers.reshape(self.q.size // self.system.n, self.system.c)
        return self._along(lambda q, v, p, t: -self._mechanics.push(q, t, flat, self._par))

    def evaluate(self, expression: Any) -> np.ndarray:
        """Any SymPy expression of coordinates, velocities, momenta, t and parameters, shape (N,).

        Examples
        --------
        >>> import taut
        >>> x, y = taut.coordinates("x y")
        >>> free = taut.System([x, y], mass=[1, 1], potential=0)
        >>> run = taut.simulate(free, q0=[1, 0], v0=[0, 1], duration=1, step=0.5)
        >>> px, py = free.momenta
        >>> run.evaluate(x*py - y*px)
        array([1., 1., 1.])
        """
        if self.held is not None:
            return self._compiled([expression])[0]
        values = expression_values(self.system, expression, self.parameters)
        return self._along(values)

    def evaluate_all(self, expressions: list[Any]) -> list[np.ndarray]:
        """`evaluate` for several expressions: compiled, where there are many states."""
        expressions = listed("the expressions", expressions)
        if self.q.size // self.system.n < COMPILED or not expressions:
            return [self.evaluate(e) for e in expressions]
        return self._compiled(expressions)

    def _compiled(self, expressions: list[Any]) -> list[np.ndarray]:
        made = workshop(self.system).expressions(tuple(self.system.read(e) for e in expressions))
        found = self._along(lambda *state: apply_map(made, self._rows(*state)))
        return [found[..., i] for i in range(len(expressions))]

    def at(self, t: Any) -> States:
        """States at any times of the run: t, q, v, p, on the manifold as the stored ones are.

        They are made by shortened steps of the run's own method, so they are as accurate as it is.

        Examples
        --------
        >>> import taut
        >>> x, y = taut.coordinates("x y")
        >>> pendulum = taut.System([x, y], mass=[1, 1], potential=y, constraints=[x**2 + y**2 - 1])
        >>> run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=1, step=0.1)
        >>> x, y = run.at(0.25).q
        >>> bool(abs(x**2 + y**2 - 1) < 1e-15)
        True
        """
        from taut.march.dense import states_at

        return states_at(self, t)

    # ---- views from further up ---------------------------------------------------------------

    @cached_property
    def certificate(self) -> Any:
        """What was measured on this run; prints as a table, ``.to_dict()`` for tests."""
        return _view("certificate")(self)

    def plot(self, *panels: str, **options: Any) -> Any:
        """A Matplotlib figure: an overview, or the panels that are named.

        ``run.plot()`` shows where the run went and what it kept, ``run.plot("path", "phase")``
        these two panels.

        Parameters
        ----------
        *panels : str
            "path": the points of the drawing, or those named x, y[, z] or x1, y1[, z1] …, and what
            links them at the end;
            "coordinates": over time, or the expressions of `of`;
            "joints": of a mechanism, angles and slides of joints since the start;
            "controls": what controllers said;
            "energy": H − H₀ and the line of the measured drift;
            "balance": E − E₀ − work, where forces act or constraints move;
            "laws": what conserved quantities change by, against the size of their terms;
            "constraints": |g| and |G q̇ + ∂g/∂t|;
            "multipliers": λ; of a mechanism the forces in its joints;
            "phase": a coordinate against its momentum, or what `of` names;
            "section": states at which `when` crosses zero.
        axes : matplotlib.axes.Axes, optional
            Draw the one panel that is named into these, with your own settings, and return them.
        of : expression, or a sequence of them
            Of "phase" a coordinate, or two or three expressions; of "section" two; of "coordinates"
            any.  Coordinates, velocities, momenta, t and parameters may occur.
        when : expression, `taut.Event` or name of an event
            Of "section": upwards through zero, unless an event says otherwise.
        down : "auto", "x", "y", "z" or None
            The axis of "path" that points down on paper; "auto" takes the one along which a
            uniform force such as gravity pulls, None turns nothing round.
        title : str
            The heading of the figure; the method and its step if not given.
        members : int or sequence of int
            How many trajectories of a batch are drawn (default 6), or which.
        points : int
            Samples per curve (default 5000); longer runs keep their extremes.

        Returns
        -------
        matplotlib.figure.Figure, or the axes that were given
        """
        return _view("plot")(self, *panels, **options)

    def report(self, path: str | Path, *, title: str | None = None, members: Any = 6) -> Path:
        """Write a page with the certificate, an animation, curves and the model: one HTML file.

        ``members`` says how many trajectories of a batch are shown, or which.
        """
        return _view("report")(self, path, title=title, members=members)

    def animate(self, path: str | Path | None = None, **options: Any) -> Any:
        """An animation that shows itself in a notebook, or a file: .html, .mp4, .gif, .webm.

        Options: ``speed`` (time of the run per second), ``seconds`` and ``fps`` of a film, ``span``
        (first and last time), ``trail`` ("none", "short", "long", "all", or seconds), ``members``
        (of a batch: how many, or which); see `taut.show.animation.animate`.
        """
        return _view("animate")(self, path, **options)

    # ---- going on, and keeping ---------------------------------------------------------------

    def cite(self) -> Citations:
        """The references of what this run used: prints as a list, ``.bibtex()`` for a paper."""
        return cite(self)

    def continue_(self, duration: float, *, progress: Any = None) -> Trajectory:
        """Go on from the last state; bit-identical to one long run."""
        from taut.march.simulate import continued

        return continued(self, duration, progress)

    def to_xarray(self) -> Any:
        """All arrays as an `xarray.Dataset` with named coordinates."""
        from taut.march.storage import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path) -> Path:
        """Write the run to a Zarr store, in place of one of that name; ``taut.load`` reads it."""
        from taut.march.storage import save

        return save(self, path)

    def __len__(self) -> int:
        """Number of stored states; of a batch, the number of its members."""
        return len(self.t) if self.batch is None else self.batch

    @property
    def batch(self) -> int | None:
        """Number of trajectories in a batch, ``None`` for a single run."""
        return self.q.shape[0] if self.q.ndim == 3 else None

    def __getitem__(self, index: Any) -> Any:
        """One trajectory of a batch by its number; a part, joint or force by its name."""
        from dataclasses import replace

        if isinstance(index, str):
            from taut.march.parts import view

            return view(self, index)
        if self.batch is None:
            raise InputError("a single run has no members", remedy="slice its arrays: run.q[i]")
        if not isinstance(index, int | np.integer):
            raise InputError(
                "a member of a batch has a whole number",
                received=brief(index),
                remedy="slice its arrays: run.q[1:3]",
            )
        if not -self.batch <= index < self.batch:
            where = f"in a batch of {self.batch}"
            raise UnknownKey("trajectory", index, map(str, range(self.batch)), where=where)
        index = int(index)
        end = Ending(
            [self.ending.states[index]],
            self.ending.books[[index]],
            [self.ending.charts[index]],
            self.ending.steps[[index]],
            self.ending.short and bool(self.ending.steps[index] == self.ending.steps.max()),
            self.ending.end_step,
            [self.ending.setbacks[index]],
            [self.ending.keeps[index]],
            [self.ending.looks[index]],
        )
        held = None if self.held is None else self.held.member(index)
        own = {x: getattr(self, x)[index] for x in "qvp"}
        steps = self.ending.books[:, STEPS]
        share = float(steps[index] / steps.sum()) if steps.sum() else 1.0 / self.batch
        return replace(self, **own, ending=end, held=held, wall_time=share * self.wall_time)

    def _repr_html_(self) -> str:
        return _view("card")(self)

    def __repr__(self) -> str:
        many = f"{self.batch} trajectories, " if self.batch else ""
        return (
            f"Trajectory: {many}{len(self.t)} states, t = {self.t[0]:g} … {self.t[-1]:g}, "
            f"{self.method.label}, step {self.step:g}"
            + (f"; {self.ended_early}" if self.ended_early else "")
        )


def expression_values(system: System, expression: Any, parameters: dict[str, float]):
    """A function (q, v, p, t) → values of `expression` at many states."""
    import casadi as ca

    from taut.kernel.operators import translated

    q, v, p = (ca.SX.sym(name, system.n) for name in "qvp")
    t = ca.SX.sym("t")
    given = ca.SX([parameters[name] for name in system.parameters])
    function = ca.Function("law", [q, v, p, t], translated(system, [expression], q, v, p, t, given))
    return lambda q, v, p, t: np.array(function(q.T, v.T, p.T, t[None, :])).ravel()


def apply_map(compiled, rows: np.ndarray) -> np.ndarray:
    """A `CompiledMap` at every row."""
    source, target = np.zeros(max(rows.shape[1], 1)), np.zeros(max(compiled.outputs, 1))
    results = np.zeros((len(rows), compiled.outputs))
    evaluate(
        compiled.address, source, target, source.ctypes.data, target.ctypes.data, rows, results
    )
    return results


def _view(name: str) -> Any:
    module, function = VIEWS[name].split(":")
    return getattr(import_module(module), function)
