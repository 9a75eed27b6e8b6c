"""Solve stages: which unknowns are eliminated group by group, and what is left.

One Newton iteration is three rows of passes and a sparse factorisation (A x = r, unknowns −= x):

    forward    terms add to r and A of the outer unknowns; groups evaluate their own rows, eliminate
               themselves (`condense`) and add their Schur complements
    sparse LU  of the outer matrix
    backward   groups find their x; all unknowns move, and the largest move is measured

Unknowns of groups that feel each other directly (an implicit method with springs between bodies)
are outer unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from taut.kernel import guesses
from taut.kernel.arithmetic import larger_of, over, plus, size_of, times
from taut.kernel.condense import LAST, Elimination, eliminated, elimination_order
from taut.kernel.contributions import SX, Contribution, LocalVectors, Places
from taut.kernel.frames import FrameElimination, frame_of
from taut.kernel.groups import GroupType
from taut.kernel.machine import Stage
from taut.kernel.outer import Outer, neighbours
from taut.kernel.passes import Pass
from taut.kernel.plan import SolvePlan

if TYPE_CHECKING:
    from taut.kernel.assembled import Layout

WIDEST = 64  # unknowns of a group
KINKS = {
    ca.OP_FABS, ca.OP_FMIN, ca.OP_FMAX, ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FMOD,
    ca.OP_COPYSIGN, ca.OP_IF_ELSE_ZERO, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE,
}  # fmt: skip
FELT = 1e-290  # makes a measure of a NaN in any coordinate


class SolveStage:
    """Builds one stage; see the module's head."""

    def __init__(self, layout: Layout, plan: SolvePlan) -> None:
        self.layout, self.plan = layout, plan
        for u in plan.unknowns:
            layout.place(u.name(), layout.spaces[u.name()])
        self.names = [u.name() for u in plan.unknowns]
        self.spaces = [layout.spaces[name] for name in self.names]
        self.sizes = [layout.sizes[space] for space in self.spaces]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int)
        self.total = int(self.starts[-1])
        h, own = layout.step.h, len(self.sizes)
        self.watch = [_coefficients(x, plan.unknowns, h) for x in plan.watch]
        slow = not any(any(x[:own]) for x in self.watch)
        found = (
            layout.contribution(k, plan.residuals, plan.unknowns, self.starts, slow=slow)
            for k in range(len(layout.kinds))
        )
        # Whole, as derivatives of the step need them; and as an iteration begins.
        self.whole: list[Contribution] = [x for x in found if x is not None]
        self.linear = all(x.linear for x in self.whole)
        watched = all(any(x) for x in self.watch)
        assert self.linear or watched, "an iteration that nobody watches"
        self.parts = [replace(x, outputs=self.begun(x.outputs, x.vectors)) for x in self.whole]
        firm = set().union(*(x.firm for x in self.parts))
        self.rank = [
            2 if space == "c" else int(j not in firm) for j, space in enumerate(self.spaces)
        ]

    def begun(self, values: SX, vectors: LocalVectors) -> SX:
        """What a linear stage begins with: its unknowns are zero, and nobody has to read them."""
        made = [vectors.made[key] for name in self.names if (key := f"v:{name}") in vectors.made]
        if not self.linear or not made:
            return values
        unknowns = ca.vertcat(*made)
        return ca.substitute(values, unknowns, SX.zeros(unknowns.numel()))

    def built(self, memory: int) -> tuple[Stage, int]:
        """The stage and the length of what it remembers."""
        types = self._types()
        inside = self._labels(types)[: self.total] >= 0
        helpers = self._split(np.append(inside, False))
        # After the unknowns comes the number of those that are dropped, then helpers.
        last = self.total + 1 + helpers
        self.rest = np.append(np.flatnonzero(~inside), np.arange(self.total + 1, last))
        self.number = np.full(last, len(self.rest))
        self.number[self.rest] = np.arange(len(self.rest))
        self.inside = np.append(inside, np.zeros(1 + helpers, dtype=bool))
        groups = [_Group(self, x) for x in types]
        self.outer = self._outer(self._entries(groups))
        self._reserve()
        forward = [p for part in self.parts for p in self._term_passes(part)]
        forward += [x.forward() for x in groups]
        backward = [x.backward() for x in groups] + self._moves()
        rounds, back = self.outer.passes(self)
        stage = Stage(
            kind="solve",
            passes=[*forward, *rounds],
            back=[*back, *backward],
            contributions=self.whole,
            zeroed=(self.right, self.cleared),
            size=self.total,
            unknowns=[self.layout.bank[name] for name in self.names],
            sizes=self.sizes,
            batches=self.outer.batches,
            pattern=self.outer.pattern,
            places=(self.outer_right, self.outer_matrix, self.outer_lost),
            bad=self.bad,
            measure=self.measure,
            memory=memory,
            linear=self.linear,
            curved=any(part.curved for part in self.parts),
            kinked=any(_kinked(part.function) for part in self.parts),
        )
        return stage, 0 if self.linear else guesses.room(self.total)

    # ---- what is eliminated in groups --------------------------------------------------------

    def _types(self) -> list[GroupType]:
        """The types whose groups do not feel each other directly."""
        types = [x for x in self.layout.types if self._width(x) <= WIDEST]
        label = self._labels(types)
        owner = np.append(np.repeat(np.arange(len(types)), [x.count for x in types]), -1)
        moves = np.append(np.repeat([x == "q" for x in self.spaces], self.sizes), False)
        touching: set[int] = set()
        for part in self.parts:
            cols = np.where(part.cols < 0, self.total, part.cols)
            i, j = label[part.rows], label[cols]
            both = moves[part.rows] & moves[cols] & (i != j)
            touching |= set(owner[np.concatenate([i[both], j[both]])].tolist())
        return [x for k, x in enumerate(types) if k not in touching]

    def _split(self, inside: np.ndarray) -> int:
        """Give helpers to terms of outer unknowns that make many of them feel each other."""
        helpers = 0
        for k, part in enumerate(self.parts):
            cols = np.where(part.cols < 0, self.total, part.cols)
            if np.any(inside[part.rows]) or np.any(inside[cols]):
                continue
            first = self.total + 1 + helpers
            plan = self.plan
            found = self.layout.split(part, plan.residuals, plan.unknowns, self.starts, first)
            if found is not None:
                self.parts[k], made = found
                helpers += made
        return helpers

    def _width(self, group: GroupType) -> int:
        widths = {"q": group.own.shape[1], "c": group.private.shape[1]}
        return sum(widths[space] for space in self.spaces)

    def _labels(self, types: list[GroupType]) -> np.ndarray:
        """The number of the group of each unknown, −1 for outer ones (and for none)."""
        label, at = np.full(self.total + 1, -1), 0
        for group in types:
            for j, space in enumerate(self.spaces):
                table = group.own if space == "q" else group.private
                label[self.starts[j] + table] = at + np.arange(group.count)[:, None]
            at += group.count
        return label

    # ---- the outer matrix --------------------------------------------------------------------

    def _outer(self, entries: list[tuple[np.ndarray, np.ndarray]]) -> Outer:
        """How the outer matrix is solved; stages with the same neighbours do it in the same way."""
        known = self.rest[self.rest < self.total]
        late = np.append(
            np.repeat(self.rank, self.sizes)[known], np.full(len(self.rest) - len(known), 2)
        )
        pairs, known = neighbours(entries, len(late)), self.layout.outers
        key = pairs.tobytes(), late.tobytes()
        if key not in known:
            known[key] = Outer(pairs, late)
        return known[key]

    def _entries(self, groups: list[_Group]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Where terms and groups add to the outer matrix."""
        found = []
        for part in self.parts:
            used = self._used(part) & (part.cols >= 0)
            found.append((self.number[part.rows[used]], self.number[part.cols[used]]))
        for group in groups:
            for i, j in group.elimination.schur:
                found.append((group.outside(i), group.outside(j)))
        return found

    def _used(self, part: Contribution) -> np.ndarray:
        """Which outputs of a part go to outer unknowns; the others belong to groups."""
        cols = np.where(part.cols < 0, self.total, part.cols)
        known = (part.rows != self.total) & ((part.cols < 0) | (cols != self.total))
        return known & ~self.inside[part.rows] & ~self.inside[cols]

    def _reserve(self) -> None:
        outer, reserve = self.outer, self.layout.reserve
        self.cleared = 2 * outer.size + outer.slots + 4
        self.right = reserve(self.cleared)
        self.lost = self.right + outer.size
        self.matrix = self.lost + outer.size
        self.bad = self.matrix + outer.slots
        self.measure = self.bad + 1
        self.outer_right = self.right + outer.begin
        self.outer_lost = self.lost + outer.begin
        self.outer_matrix = self.matrix + outer.first_slot

    def right_at(self, unknowns: np.ndarray) -> np.ndarray:
        """Addresses of the right side, and later of the solution, of outer unknowns."""
        return self.right + self.outer.place[self.number[unknowns]]

    # ---- passes ------------------------------------------------------------------------------

    def _term_passes(self, part: Contribution) -> list[Pass]:
        """What a kind of term adds to outer unknowns: values alone where no entry is asked for."""
        used, is_value = self._used(part), part.cols[0] < 0
        used = used & [not x.is_zero() for x in ca.vertsplit(part.outputs)]
        entries = (used & (part.cols >= 0)).any(axis=1)
        values = (used & (part.cols < 0)).any(axis=1) & ~entries
        found = []
        for which in (entries, values):
            columns = np.flatnonzero(used[which].any(axis=0))
            if len(columns):
                found.append(self._term_pass(part, np.flatnonzero(which), columns, used, is_value))
        return found

    def _term_pass(self, part: Contribution, which, columns, used, is_value) -> Pass:
        here = np.ix_(which, columns)
        rows, cols = part.rows[here], part.cols[here]
        safe = np.where(used[here], rows, self.rest[0] if len(self.rest) else 0)
        slots = self.outer.slot(self.number[safe], self.number[np.where(cols < 0, 0, cols)])
        address = np.where(is_value[columns], self.right_at(safe), self.matrix + slots)
        target = np.where(used[here], address, self.layout.trash)
        function, gather = part.selected(columns)
        return self.layout.passed(function, gather[which], target, "a" * len(columns))

    def _moves(self) -> list[Pass]:
        """What moves the unknowns that are in no group, and measures the coordinates' moves."""
        layout, found = self.layout, []
        spaces = {"q": layout.n, "c": layout.c}
        for space, size in spaces.items():
            numbers = [j for j, x in enumerate(self.spaces) if x == space]
            if not numbers or not size:
                continue
            outside = [~self.inside[self.starts[j] + np.arange(size)] for j in numbers]
            which = np.flatnonzero(outside[0])
            if not len(which):
                continue
            vectors = LocalVectors(layout.spaces, {"q": 1, "c": 1})
            x = {}
            for j in numbers:
                at = self.right_at(self.starts[j] + which)[:, None]
                x[j] = vectors.placed(f"x{j}", at)
            none = np.zeros((len(which), 0), np.int64)
            places = Places(
                *((which[:, None], none) if space == "q" else (none, which[:, None])), []
            )
            outputs = [-x[j] for j in numbers]
            target = [layout.bank[self.names[j]] + which for j in numbers]
            found.append(self.moved(places, vectors, outputs, target, [x] if space == "q" else []))
        return found

    def moved(
        self, places: Places, vectors, outputs: list, target: list, moves: list[dict]
    ) -> Pass:
        """The pass that adds `outputs` to unknowns and measures the moves x of coordinates."""
        layout, hows = self.layout, ("=" if self.linear else "a") * len(outputs)
        if moves and not self.linear:
            outputs = [*outputs, *self._measured(vectors, moves)]
            at = np.full(len(places.coordinates), self.measure)
            target = [*target, at, at + 1]
            hows += "nm"
        function, gather = layout.inputs(places, vectors, ca.vertcat(*outputs))
        return layout.passed(function, gather, np.stack(target, axis=1), hows)

    def _measured(self, vectors, moves: list[dict[int, SX]]) -> tuple[SX, SX]:
        """Max h·|Δ| / (|q| + |move| + floor) and max h·|Δ| / floor over coordinates.

        Of each coordinate that velocity counts which changes most.
        """
        h = ca.fabs(vectors.scalar("h"))
        q, move, floor = (vectors.get(name) for name in ("q", "move", "floor"))
        totals, felt = [], SX(0)
        for x in moves:
            most = SX(0)
            for watch in self.watch:
                total = SX(0)
                for j, value in x.items():
                    weight = plus(watch[j], times(h, watch[len(self.sizes) + j]))
                    total = plus(total, times(weight, value))
                changed = times(h, size_of(total))
                felt, most = plus(felt, changed), larger_of(most, changed)
            totals.append(most)
        floors = [floor[i] for i in range(len(totals))]
        sizes = [plus(plus(size_of(q[i]), size_of(move[i])), x) for i, x in enumerate(floors)]
        return _largest_ratio(totals, sizes) + FELT * felt, _largest_ratio(totals, floors)


def _largest_ratio(above: list[SX], below: list[SX]) -> SX:
    """The largest of some ratios, three with one division, which costs as much as ten products."""
    largest = SX(0)
    for k in range(0, len(above), 3):
        (a, *more), (b, *others) = above[k : k + 3], below[k : k + 3]
        for c, d in zip(more, others, strict=True):
            a, b = larger_of(times(a, d), times(c, b)), times(b, d)
        largest = larger_of(largest, over(a, b))
    return largest


@dataclass
class _Unknown:
    """A local unknown of a group: which vector, and which component there."""

    vector: int
    slot: int


class _Group:
    """The kernels of one type of groups in one stage."""

    def __init__(self, stage: SolveStage, group: GroupType) -> None:
        self.stage, self.type, layout = stage, group, stage.layout
        own, private = group.own.shape[1], group.private.shape[1]
        outer = group.outer.shape[1]
        self.coordinates = np.hstack([group.own, group.foreign])
        self.rows = np.hstack([group.private, group.outer])
        sizes = {"q": self.coordinates.shape[1], "c": self.rows.shape[1]}
        self.vectors = LocalVectors(layout.spaces, sizes)
        held = {"q": own, "c": private}
        self.unknowns = [
            _Unknown(j, k) for j, space in enumerate(stage.spaces) for k in range(held[space])
        ]
        self.inner = len(self.unknowns)
        self.unknowns += [
            _Unknown(j, private + k)
            for j, space in enumerate(stage.spaces)
            if space == "c"
            for k in range(outer)
        ]
        self.elimination = self._eliminated()
        self.kept: dict[tuple, int] = {}

    def outside(self, local: int) -> np.ndarray:
        """Numbers of an outer unknown of each group among the outer unknowns."""
        stage, u = self.stage, self.unknowns[local]
        return stage.number[stage.starts[u.vector] + self.rows[:, u.slot]]

    def _eliminated(self) -> Elimination | FrameElimination:
        stage, layout, vectors = self.stage, self.stage.layout, self.vectors
        values = [
            layout.group_value(self.type, e, space, vectors)
            for e, space in zip(stage.plan.residuals, stage.spaces, strict=True)
        ]
        residual = ca.vertcat(*(values[u.vector][u.slot] for u in self.unknowns))
        z = ca.vertcat(*(vectors.get(stage.names[u.vector])[u.slot] for u in self.unknowns))
        jacobian = ca.jacobian(residual, z)
        residual = stage.begun(residual, vectors)
        matrix = {}
        for i, j in zip(*jacobian.sparsity().get_triplet(), strict=True):
            # Entries among outer unknowns are added by their terms.
            if i < self.inner or j < self.inner:
                matrix[i, j] = jacobian[i, j]
        for k in range(self.inner):
            matrix.setdefault((k, k), SX(0))
        right = {k: residual[k] for k in range(self.inner)}
        moves = [k for k in range(self.inner) if stage.spaces[self.unknowns[k].vector] == "q"]
        frame = frame_of(matrix, moves, [k for k in range(self.inner) if k not in moves])
        if frame is not None:
            return FrameElimination(frame, matrix, right, list(self._outer_numbers()))
        late = [stage.rank[u.vector] for u in self.unknowns[: self.inner]]
        late += [LAST] * (len(self.unknowns) - self.inner)
        order = elimination_order(len(self.unknowns), list(matrix), np.array(late))
        return eliminated(matrix, right, order)

    @property
    def _places(self) -> Places:
        members = self.type.members
        kinds, instances = [m.kind for m in members], [m.instances for m in members]
        return Places(self.coordinates, self.rows, kinds, instances)

    def forward(self) -> Pass:
        """Evaluate, eliminate, add to the outer system, and keep what `backward` needs."""
        stage, layout, e = self.stage, self.stage.layout, self.elimination
        kept = e.kept()
        self.kept = {key: i for i, key in enumerate(kept)}
        self.base = layout.reserve(len(kept) * self.type.count)
        outputs, target = list(kept.values()), [self._kept_at(i) for i in range(len(kept))]
        hows = "=" * len(kept)
        sides = {k: stage.right + stage.outer.place[self.outside(k)] for k in self._outer_numbers()}
        for (i, j), value in e.schur.items():
            outputs.append(value)
            target.append(stage.matrix + stage.outer.slot(self.outside(i), self.outside(j)))
        for i, value in e.rest.items():
            outputs.append(value)
            target.append(sides[i])
        for i, value in e.lost.items():
            outputs.append(value)
            target.append(sides[i] - stage.right + stage.lost)
        hows += "a" * (len(outputs) - len(kept)) + "m"
        outputs.append(e.bad)
        target.append(np.full(self.type.count, stage.bad))
        function, gather = layout.inputs(self._places, self.vectors, ca.vertcat(*outputs))
        return layout.passed(function, gather, np.stack(target, axis=1), hows)

    def _outer_numbers(self) -> range:
        return range(self.inner, len(self.unknowns))

    def _kept_at(self, number: int) -> np.ndarray:
        return self.base + number * self.type.count + np.arange(self.type.count)

    def backward(self) -> Pass:
        """The solution from that of the outer unknowns; move the unknowns."""
        stage, layout, e, vectors = self.stage, self.stage.layout, self.elimination, self.vectors
        addresses = np.stack([self._kept_at(i) for i in range(len(self.kept))], axis=1)
        numbers = vectors.placed("kept", addresses)
        outer = list(self._outer_numbers())
        outside: dict[int, SX] = {}
        if outer:
            sides = np.stack([stage.right + stage.outer.place[self.outside(k)] for k in outer], 1)
            outside = dict(zip(outer, ca.vertsplit(vectors.placed("outside", sides)), strict=True))
        x = e.found({key: numbers[i] for key, i in self.kept.items()}, outside)
        outputs, target = [], []
        moves: list[dict[int, SX]] = [{} for _ in range(self.type.own.shape[1])]
        for k, u in enumerate(self.unknowns[: self.inner]):
            table = self.coordinates if stage.spaces[u.vector] == "q" else self.rows
            outputs.append(-x[k])
            target.append(layout.bank[stage.names[u.vector]] + table[:, u.slot])
            if stage.spaces[u.vector] == "q":
                moves[u.slot][u.vector] = x[k]
        return stage.moved(self._places, vectors, outputs, target, moves)


def _kinked(function: ca.Function) -> bool:
    """Whether a function has kinks or jumps: there Newton's moves need not fall quadratically."""
    return any(function.instruction_id(k) in KINKS for k in range(function.n_instructions()))


def _coefficients(watch: SX, unknowns: list[SX], h: SX) -> list[float]:
    """Watch = Σ (cⱼ + h dⱼ) · unknownⱼ: first all c, then all d."""
    slopes = ca.vertcat(*(ca.jacobian(watch, u) for u in unknowns))
    parts = ca.substitute(slopes, h, SX(0)), ca.jacobian(slopes, h)
    return [float(x) if x.is_constant() else 0.0 for e in parts for x in ca.vertsplit(e)]
