"""A step followed along its size: the solution on the branch that the motion is on.

The end q₁(σ) of a step depends smoothly on its size σ; at σ = 0 it is the state q₀ itself.  Where
constraints become dependent at a configuration q*, several branches of g = 0 meet, and Newton's
method may find any of them.  So a step of size h is followed from σ = 0 on: from the solutions for
smaller sizes the next one is extrapolated and solved for.  With the mean velocity
v̄(σ) = (q₁(σ) − q₀)/σ, v̄(0) = v₀, the guess is off by e = σ |v̄ guessed − v̄ found|.  What was found
counts only if

    e ≤ SAME · (way since the last solution)    and    e ≤ SAME · d.

The first says that the way has no kink: one branch goes on straight, and those that differ by more
than an angle of about SAME are told apart.  The second says that the guess lies in the same sheet
as what was found: d is a bound of the distance to the next singular configuration,

    d = σ_min(G(q₁)) / L,      L = |ΔG| / |Δq| on the way,

since within d no rows of G can become dependent if L bounds their change.  Otherwise the next size
is nearer to the last.  A branch that cannot be followed by 1/1024 of a step is not followed at all.

Coordinates are measured by their lengths (1e7 times the floors, see `taut.march.start`), rows of G
by their sizes at q₀.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, identity
from scipy.sparse.linalg import splu

from taut.kernel.compile import CompiledStep, workshop
from taut.kernel.fused import HEAD

SAME = 0.1
BEGIN, LEAST = 0.25, 1 / 1024  # of the step: the first size, and by how much to go on at least
START = 1 / 64  # of the step: so short a first part may turn, since a motion may begin at rest
LONGER, SHORTER = 1.6, 0.45  # what the next part of the way is to the last
THROUGH = 4  # solutions that guesses are extrapolated from
FLOORS = 1e7  # lengths in units of floors
DENSE = 200  # coordinates up to which singular values are computed
ROUNDS = 8  # of inverse iteration, where they are not

Rows = np.ndarray | csr_matrix


class Followed(NamedTuple):
    """The inner states of a step: where the compiled one finds its branch, and where it ends."""

    begin: np.ndarray
    end: np.ndarray


class Way:
    """The solutions of a compiled step from a state, along its size, with given parameters."""

    def __init__(self, step: CompiledStep, par: np.ndarray, head: np.ndarray, t: float) -> None:
        n = step.system.n
        self.step, self.par, self.head, self.t = step, par, head, t
        self.q, p, self.v = np.split(head[: 3 * n], 3)
        self.sheet = Sheet(step, par, head, t)
        memory = step.first_memory(self.q, p, self.v)
        self.memory = slice(HEAD * n, HEAD * n + len(memory))
        self.found = [(0.0, [self.v, *step.program.newest(memory)])]

    def to(self, h: float, close: float = 0.0) -> Followed | None:
        """On to size h, or back and on; None if nobody can be sure of the branch.

        Nor if it ends as `close` as that to a singular configuration.
        """
        self.found = [x for x in self.found if x[0] < h]
        size = self.found[-1][0]
        part = BEGIN * h if size == 0.0 else h - size
        least = LEAST * (h - size)
        while part >= least:
            size = self.found[-1][0]
            # What would be left for one more is not left over.
            target = h if h - size < 1.2 * part else size + part
            made = self._solved(size, target, h, close)
            if made is None:
                part = SHORTER * (target - size)
            elif target == h:
                return made if made.end.size else None
            else:
                part = LONGER * (target - size)
        return None

    def _solved(self, size: float, target: float, h: float, close: float) -> Followed | None:
        """One size further; without an end if that is no use, None if it may be another branch."""
        from taut.march.run import trial

        n, sheet = len(self.q), self.sheet
        mean, *unknowns = _extrapolated(self.found[-THROUGH:], target)
        begin = np.concatenate([self.head, self.step.program.remembering([unknowns])])
        end = trial(self.step, begin, self.t, target, self.par)
        if end is None:
            return None
        found = (end[:n] - self.q) / target
        off = target * sheet.length(found - mean)
        room = sheet.room(end[:n], self.t + target)
        speed = max(sheet.length(found), sheet.length(self.v))
        begins = size == 0.0 and target <= START * h
        if not begins and off > SAME * (target - size) * speed:
            return None
        if target == h and room <= close:
            return Followed(begin, np.zeros(0))  # nothing that is nearer to it helps
        if off > SAME * room:
            return None
        own = [found, *self.step.program.newest(end[self.memory])]
        self.found.append((target, own))
        sheet.move(end[:n])
        return Followed(begin, end)


class Sheet:
    """Distances from singular configurations, on the way of a step."""

    def __init__(self, step: CompiledStep, par: np.ndarray, head: np.ndarray, t: float) -> None:
        n = step.system.n
        self.mechanics, self.par, self.keep = workshop(step.system).mechanics, par, step.keep
        floors = head[(HEAD - 1) * n : HEAD * n]
        self.lengths = np.where(floors > 0.0, FLOORS * floors, 1.0)
        self.scale = np.ones(len(self.keep))
        first = self._rows(head[:n], t)
        squares = first**2 if isinstance(first, np.ndarray) else first.power(2)
        sizes = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        self.scale = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
        self.q, self.rows = head[:n].copy(), self._rows(head[:n], t)
        self.bend, self.next = 0.0, self.rows

    def _rows(self, q: np.ndarray, t: float) -> Rows:
        if len(q) <= DENSE:
            found = self.mechanics.gradients(q, t, self.par)[list(self.keep)]
            return self.scale[:, None] * found * self.lengths
        found = csr_matrix(self.mechanics.jacobian(q, t, self.par))[list(self.keep)]
        return csr_matrix(diags(self.scale) @ found @ diags(self.lengths))

    def length(self, x: np.ndarray) -> float:
        """The largest component, in lengths of its coordinate."""
        return float(np.max(np.abs(x) / self.lengths))

    def room(self, q: np.ndarray, t: float) -> float:
        """The distance of a place from the nearest singular configuration, as the way bends."""
        self.next, moved = self._rows(q, t), self.length(q - self.q)
        self.bend = max(self.bend, _size(self.next - self.rows) / moved if moved > 0.0 else 0.0)
        return self._room(self.next)

    @property
    def room_here(self) -> float:
        """The same of the place where the way begins."""
        return self._room(self.rows)

    def _room(self, rows: Rows) -> float:
        return least_singular(rows) / self.bend if self.bend > 0.0 else np.inf

    def move(self, q: np.ndarray) -> None:
        """From now on the way goes on from the place that was asked for last."""
        self.q, self.rows = q.copy(), self.next


def _size(matrix: Rows) -> float:
    """A bound of the spectral norm: √(‖A‖₁ ‖A‖∞)."""
    size = abs(matrix)
    return float(np.sqrt(size.sum(axis=0).max() * size.sum(axis=1).max()))


def least_singular(rows: Rows) -> float:
    """The least singular value of the rows; of many of them by inverse iteration."""
    if isinstance(rows, np.ndarray):
        return float(np.linalg.svd(rows, compute_uv=False)[-1])
    gram = (rows @ rows.T).tocsc()
    size = float(gram.diagonal().max())
    solver = splu(gram + 1e-15 * size * identity(gram.shape[0], format="csc"))
    x = np.random.default_rng(0).standard_normal(gram.shape[0])
    value = size
    for _ in range(ROUNDS):
        x = x / np.linalg.norm(x)
        y = solver.solve(x)
        value, x = 1.0 / max(float(x @ y), 1e-300), y
    return float(np.sqrt(abs(value)))


def _extrapolated(way: list[tuple[float, list[np.ndarray]]], target: float) -> list[np.ndarray]:
    """The next value of the polynomials through what was found on the way."""
    sizes = [size for size, _ in way]
    weights = [
        np.prod([(target - y) / (x - y) for j, y in enumerate(sizes) if j != i])
        for i, x in enumerate(sizes)
    ]
    return [
        sum((w * x[k] for w, (_, x) in zip(weights, way, strict=True)), np.zeros(()))
        for k in range(len(way[0][1]))
    ]
