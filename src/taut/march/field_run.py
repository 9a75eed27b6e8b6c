"""A run of a field or a beam: numbers laid out, loads compiled, chunks marched, states kept."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from taut.errors import Interrupted, ProgressError, StepError, TautError
from taut.fields.mesh import Mesh
from taut.interrupts import Forced, between_states
from taut.kernel.strand import SEEN, Strand
from taut.kernel.sweep_code import MARGIN
from taut.lie import SO3
from taut.march import field_loop as loop
from taut.march.field_loads import Aims, Loads
from taut.march.loop import BLOCK_LENGTH, BOOKS, OK, SHORTEST, SIZE
from taut.march.plan import Plan, roomy
from taut.methods.fields.base import Scheme
from taut.progress import Progress

CHUNK = 0.1  # seconds between looks at the keyboard and the progress bar
TWO_BEAMS = 8  # numbers of a joint
TINY = 1e-6  # a strain that round-off alone does not reach


class FieldRun:
    """Marches a strand.

    Parameters
    ----------
    mesh : Mesh or None
        Where the strand is made of beams.
    going_on : bool
        Whether an earlier run is continued: its ends have moved since they started.
    """

    def __init__(
        self,
        strand: Strand,
        scheme: Scheme,
        plan: Plan,
        mesh: Mesh | None,
        *,
        going_on: bool = False,
    ) -> None:
        self.strand, self.scheme, self.plan, self.mesh = strand, scheme, plan, mesh
        begin = time.perf_counter()
        names = ("begin", "shown", "node", "pull", "edge")
        self.calls = {stage: strand.calls(scheme, stage) for stage in names}
        self.loads = Loads(strand, mesh)
        self.aims = Aims(strand, mesh, None if going_on else plan.t0)
        self.compile_time = time.perf_counter() - begin
        rows = strand.layout.rows
        kept = [x for x in loop.STORED if x in rows]
        self.kept = {name: rows[name] for name in kept}
        self.layout = np.array([rows[x] for x in kept], dtype=np.int64)
        self.joints, self.turns = _joints(strand, mesh)
        self.halo = _halo(strand)
        self.energies = np.zeros(1)
        self.books = np.zeros(SIZE)
        self.books[BLOCK_LENGTH], self.books[OK] = SHORTEST, 1.0

    @property
    def carried(self) -> list[np.ndarray]:
        """What a run that goes on needs besides rows, books and energies."""
        return []

    # ---- stages ------------------------------------------------------------------------------

    def _swept(self, stage: str, t: float | None = None, k: int = 0) -> np.ndarray:
        """One stage by itself, at a time and before a step; what it counted."""
        strand, sums = self.strand, np.zeros(4)
        failed = loop.swept(
            self.calls[stage],
            strand.origin,
            strand.stride,
            strand.par.ctypes.data,
            sums.ctypes.data,
        )
        if failed >= 0:
            raise self._unsolved(int(failed), self.plan.t0 if t is None else t, k, None)
        return sums

    def begin(self, momentum: np.ndarray, h: float, t: float, k: int = 0) -> None:
        """Take the momenta before step k, the strains and the poses being set."""
        strand = self.strand
        strand.give("step", np.array([h]))
        self._pulled()
        self._loaded(t, 0.0, 0.5 * h, k)
        strand.give("mu", momentum)
        if self.aims.apply(strand, t - h) < 0:
            self.aims.start(strand, h)
            self._aimed(t + h, k)
        else:  # where they were then cannot be said: their velocity is that of the first step
            self._aimed(t + h, k)
            self.aims.start(strand, -h)
        loop.gathered(strand.rows, self.joints, self.turns, MARGIN)
        self._swept("begin", t, k)

    def _pulled(self) -> None:
        self.energies[0] = self._swept("pull")[0]
        loop.copied(self.strand.rows, self.halo[1])

    def _loaded(self, t: float, before: float, after: float, k: int = 0) -> None:
        """Enter what acts at t for so long before it and after it."""
        bad = self.loads.apply(self.strand, t, t - before, t + after)
        if bad >= 0:
            raise self._bad_load(bad, t, k, None)

    def _aimed(self, t: float, k: int = 0) -> None:
        bad = self.aims.apply(self.strand, t)
        if bad >= 0:
            raise self._bad_aim(bad, t, k)

    def opened(self) -> None:
        """Open the books with the energy at the start."""
        sums = self._swept("shown")
        self.books[BOOKS.index("energy0")] = sums[0] + self.energies[0]
        self.books[loop.LEAST] = self._least(sums[0])

    def _least(self, kinetic: float) -> float:
        """An energy that a run may gain or lose though it has none at the start.

        Of beams that of round-off in their strains, generously; the energy of a field need not be
        positive: its parts, and what its stress at the start does over a strain of one.
        """
        if (mesh := self.mesh) is not None:
            stiff = np.einsum("eii->e", mesh.stiffness) * np.where(mesh.alive, mesh.spacing, 0.0)
            return 0.5 * TINY**2 * float(stiff.sum())
        pull = np.abs(self.strand.view("left")).sum() / self.strand.view("per_length")[0]
        return float(abs(kinetic) + abs(self.energies[0]) + pull)

    # ---- marching ----------------------------------------------------------------------------

    def march(self, progress: Any) -> tuple[np.ndarray, np.ndarray, float, BaseException | None]:
        """(numbers of stored states, the states, wall time, what ended it early)."""
        plan, strand = self.plan, self.strand
        whole = plan.last - (1 if plan.short else 0)
        height = int(sum(size for _, size in self.layout))
        with roomy(plan, height * strand.count):
            grid = np.arange(-(-plan.first // plan.every) * plan.every, plan.last, plan.every)
            numbers = np.append(grid, plan.last)
            store = np.empty((len(numbers), height, strand.count))
        k, row, error, h = plan.first, 0, None, plan.step
        size = max(1, int(0.2 * CHUNK / (self.cost * strand.count)))
        with Progress(progress, plan.last - plan.first, "field") as bar:
            self._compiled(store, bar)
            bar.say("simulating")
            begin = time.perf_counter()
            with between_states(self._stop):
                try:
                    while k < whole and error is None and not self.stopping:
                        ask = min(size, whole - k)
                        start = time.perf_counter()
                        made, row, code, place = self._advance(store, row, plan.t0, h, k, ask)
                        took = time.perf_counter() - start
                        k += made
                        bar.add(made)
                        if code != loop.DONE:
                            error = self._failed(code, place, k)
                        size = max(1, int(size * min(8.0, CHUNK / max(took, 1e-6))))
                    if error is None and plan.short and not self.stopping:
                        row, error = self._shorter(store, row, whole)
                        k = plan.last if error is None else k
                        bar.add(k - whole)
                except Forced:
                    raise
                except (KeyboardInterrupt, ProgressError, StepError) as reason:
                    error = reason
        if error is None and k < plan.last:
            error = KeyboardInterrupt()
        if error is None or isinstance(error, KeyboardInterrupt | ProgressError):
            try:
                row = self._last(store, row, k)
                numbers[row - 1] = k
            except StepError as reason:
                error = reason
        wall = time.perf_counter() - begin
        return numbers[:row].copy(), store[:row], wall, error

    loop: Any = loop.march
    lag = 0.0  # of a step: when its loads are taken
    cost = 5e-8  # seconds per node and step, at most: for the first chunk
    patience = 5.0  # seconds that compiling the loop takes, about

    def _compiled(self, store: np.ndarray, bar: Progress) -> None:
        """Compile the loop, or fetch it from the disk."""
        if not self.loop.signatures:
            bar.say("compiling, once", 0.0 if _on_disk(self.loop) else self.patience)
        start = time.perf_counter()
        try:
            self._advance(store, 0, self.plan.t0, self.plan.step, self.plan.first, 0)
        except KeyboardInterrupt as error:
            raise Interrupted(
                "interrupted while compiling: nothing had been computed",
                remedy="compiling takes a while the first time only; then it comes from the disk",
            ) from error
        self.compile_time += time.perf_counter() - start

    stopping = False

    def _stop(self) -> None:
        """No more chunks: what is under way is finished, so that all states are whole."""
        self.stopping = True

    def _advance(self, store, row, t0, h, k, count):
        strand = self.strand
        stages = (self.calls["shown"], self.calls["node"], self.calls["edge"])
        return loop.march(
            (strand.rows, strand.origin, strand.par, strand.count),
            stages,
            (self.joints, self.turns, *self.halo),
            self.loads.given,
            self.aims.given,
            self.books,
            self.energies,
            store,
            self.layout,
            row,
            (t0, h, k, count, self.plan.every),
            MARGIN,
        )

    def _shown(self, t: float, k: int) -> np.ndarray:
        """Show the state before step k; its kinetic energy and the power of what acts."""
        loop.gathered(self.strand.rows, self.joints, self.turns, MARGIN)
        return self._swept("shown", t, k)

    def _shorter(self, store: np.ndarray, row: int, k: int) -> tuple[int, BaseException | None]:
        """The last step, number k, by a fresh start with a smaller one; the next row."""
        plan, strand = self.plan, self.strand
        t = plan.t0 + k * plan.step
        self._loaded(t, 0.5 * plan.step if k else 0.0, 0.0, k)
        self._aimed(t + plan.step, k)
        self._shown(t, k)
        self.begin(strand.view(SEEN).T.copy(), plan.end_step, t, k)
        kept = k % plan.every == 0
        where = store[row:] if kept else np.empty((1, *store.shape[1:]))
        _, _, code, place = self._advance(where, 0, t, plan.end_step, 0, 1)
        return row + kept, None if code == loop.DONE else self._failed(code, place, k)

    def _after(self, k: int) -> float:
        """The length of step k."""
        plan = self.plan
        return plan.end_step if plan.short and k == plan.last - 1 else plan.step

    def _last(self, store: np.ndarray, row: int, k: int) -> int:
        """Keep the last state and enter its energy into a copy of the books."""
        plan, strand = self.plan, self.strand
        t = float(plan.times(np.array([k]))[0])
        self._loaded(t, 0.5 * self._after(k - 1) if k else 0.0, 0.0, k)
        self._aimed(t + (plan.end_step if k == plan.last else plan.step), k)
        sums = self._shown(t, k)
        self.final = self.books.copy()
        loop.noted(self.final, sums[0] + self.energies[0], sums[1], plan.step)
        loop.stored(strand.rows, MARGIN, strand.count, self.layout, store[row])
        return row + 1

    # ---- what goes wrong ---------------------------------------------------------------------

    def _failed(self, code: int, place: int, k: int) -> StepError:
        t = self.plan.t0 + k * self.plan.step
        if code == loop.BAD_LOAD:
            return self._bad_load(place, t + self.lag * self._after(k), k, None)
        if code == loop.BAD_AIM:
            return self._bad_aim(place, t + self._after(k), k)
        if code == loop.UNSOLVED:
            return self._unsolved(place, t, k, None)
        return StepError(
            f"the energy has blown up at t = {t:g} (step {k})",
            expected="an energy that stays near what there was and what loads have brought",
            received=f"method {self.scheme.name}, step {self.plan.step:g}",
            remedy="use a smaller step: run.certificate names the limit of stability"
            + (
                "; or the density is not convex in the strain, whose waves then grow by themselves"
                if self.mesh is None
                else ""
            ),
            t=t,
            index=k,
        )

    def _where(self, place: int) -> str:
        return f"node {place}" if self.mesh is None else self.mesh.where(place)

    def _unsolved(self, place: int, t: float, k: int, partial: Any) -> StepError:
        return StepError(
            f"no step could be made at t = {t:g} (step {k}), {self._where(place)}",
            expected="a state near the one before",
            received=f"method {self.scheme.name}, step {self.plan.step:g}",
            remedy="use a smaller step: it turns too far, or the run has blown up",
            t=t,
            index=k,
            partial=partial,
        )

    def _bad_aim(self, which: int, t: float, k: int) -> StepError:
        return StepError(
            f"an end is moved to nowhere at t = {t:g}, {self._where(self.aims.nodes[which])}",
            expected="numbers at all times of the run",
            received=f"step {k}",
            remedy="look at position=… and rotation=… of that taut.End",
            t=t,
            index=k,
        )

    def _bad_load(self, which: int, t: float, k: int, partial: Any) -> StepError:
        node = int(self.loads.nodes[which])
        return StepError(
            f"a load is not finite at t = {t:g}, {self._where(node)}",
            expected="numbers at all times of the run",
            received=f"step {k}",
            remedy="look at beam.load(…) there; taut.t is the time",
            t=t,
            index=k,
            partial=partial,
        )


def _on_disk(loop: Any) -> bool:
    """Whether Numba has compiled a loop before, as far as can be seen."""
    cache = getattr(getattr(loop, "_cache", None), "_cache_file", None)
    return Path(getattr(cache, "_index_path", "")).is_file()


def explained(error: BaseException, partial: Any) -> BaseException:
    """The error a user sees, with what there is of the run."""
    if isinstance(error, KeyboardInterrupt):
        what = f"interrupted at t = {partial.t[-1]:g}"
        found = Interrupted(
            what,
            remedy="error.partial holds the run so far; error.partial.continue_(…) goes on",
            partial=replace(partial, ended_early=what),
        )
        found.__cause__ = error.__cause__
        return found
    what = error.what if isinstance(error, TautError) else str(error)
    error.partial = replace(partial, ended_early=what)  # type: ignore[attr-defined]
    return error


def _joints(strand: Strand, mesh: Mesh | None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the joints, as the loop reads them."""
    found = [] if mesh is None else list(mesh.joints)
    joints, turns = np.zeros((len(found), TWO_BEAMS), dtype=np.int64), np.zeros((len(found), 13))
    rows = strand.layout.rows
    for i, joint in enumerate(found):
        names = ("left", "right", "joint", "zeta", "turn", "place")
        joints[i] = [joint.leader, joint.follower, *(rows[x][0] for x in names)]
        turn = joint.motion[:3, :3]
        turns[i, :9], turns[i, 9:] = turn.ravel(), SO3.quaternion(turn)
    return joints, turns


def _halo(strand: Strand) -> tuple[np.ndarray, np.ndarray]:
    """Copies after nodes, and after edges: (first row, rows, from, to)."""
    found: dict[bool, list] = {True: [], False: []}
    for name, source, target in strand.halo:
        at, size = strand.layout.rows[name]
        of_nodes = name in ("zeta", "mu", SEEN)
        found[of_nodes].append((at, size, MARGIN + source, MARGIN + target))
    nodes, edges = (np.array(x, dtype=np.int64).reshape(-1, 4) for x in found.values())
    return nodes, edges
