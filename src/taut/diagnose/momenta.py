"""Momenta of a mechanism: what its symmetries keep, found without a search.

A motion of a group of connected parts as one rigid body, ξ(q) = b + n × r for places and n × d for
directors (and φ → φ + a for angles that are coordinates), keeps J = p·ξ(q) if all terms allow it:

    ℓ_q·ξ + ℓ_v·ξ̇ = 0,      f·ξ = 0,      G ξ = C g  with a constant matrix C

(Noether's theorem; the rows of a joint may turn into each other).  All of these are linear in
(n, b, a), so that the momenta of a group are a null space, helical ones among them.  The conditions
are evaluated term by term at random places of rigid parts, at random times and controls, at rest
and moving, near and far; each is measured against the size of its own summands.  That shows it for
joints, springs and bodies.  What users write may do something at one place alone: `symmetry` tells
exactly what it allows, and only that is looked at.  A run asks once more at its own states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from taut.diagnose.symmetry import allowed, written_by_users
from taut.errors import InputError
from taut.kernel.compile import workshop
from taut.lie import SO3
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import NUMBER
from taut.model.system import System

STATES = 24  # random ones
FARS = (0.01, 0.1, 1.0, 10.0, 100.0)  # times the size of the mechanism
SAME = 1e-9  # of the size of its summands: a rate that is zero
MOST = 2000  # coordinates
ANGLES = 12  # coordinates of their own in a group, up to which they are turned as well
PROOF = f"no term changes, at {STATES} random states and at those of the run"
HOLDS = 1e-7  # of the size of its summands: a rate that is zero at a state of a run
AXES = "xyz"


@dataclass(frozen=True)
class Momentum:
    """A conserved momentum of some parts.

    Attributes
    ----------
    name : str
    group : int
        The first of its parts, by number.
    turn, shift : ndarray, shape (3,)
        n and b: it belongs to the motion b + n × r.
    angles : dict coordinate → float
        By how much angles that are coordinates grow.
    parts : tuple of Part
    """

    name: str
    group: int
    turn: np.ndarray
    shift: np.ndarray
    angles: dict[int, float]
    parts: tuple[Part, ...]

    def moved(self, q: np.ndarray) -> np.ndarray:
        """ξ at states (…, n)."""
        found = np.zeros_like(q)
        for part in self.parts:
            span = slice(part.first, part.first + part.shape.size)
            found[..., span] = _moved(part, q[..., span], self.turn, self.shift)
        for column, rate in self.angles.items():
            found[..., column] = rate
        return found

    def expression(self, system: System) -> sp.Expr:
        """J in the system's symbols."""
        q, p = system.coordinates, system.momenta
        turn, shift = ([_plain(x) for x in v] for v in (self.turn, self.shift))
        found = [_plain(rate) * p[i] for i, rate in self.angles.items()]
        for part in self.parts:
            for k in range(part.shape.size // 3):
                at = part.first + 3 * k
                for i in range(3):
                    j, m = (i + 1) % 3, (i + 2) % 3
                    found.append((turn[j] * q[at + m] - turn[m] * q[at + j]) * p[at + i])
                    if k == 0:
                        found.append(shift[i] * p[at + i])
        return sp.expand(sp.Add(*found))


def momenta_of(system: System, values: dict[str, float]) -> list[Momentum] | InputError:
    """All momenta that the motions of connected parts as one keep."""
    if system.n > MOST:
        return InputError(f"there are more than {MOST} coordinates")
    names = sorted(values.items())
    slot = _slot(f"{system.named_key} {names}")
    if not slot:
        slot.append(list(_Search(system, values).found()))
    return slot[0]


@lru_cache(maxsize=64)
def _slot(key: str) -> list[Any]:
    return []


def holding(
    momenta: list[Momentum], system: System, t: np.ndarray, par: np.ndarray, q: np.ndarray,
    v: np.ndarray,
) -> list[Momentum]:  # fmt: skip
    """Those of which no term changes at given states, with parameters for each: (k,), (k, …)."""
    search = _Search(system, None)
    search.t, search.par, search.q, search.v = t, par, q, v
    home, left = search._homes(), []
    for law in momenta:
        rows = search._rows(home, law.group, list(law.angles), seen=False)
        vector = np.concatenate([law.turn, law.shift, list(law.angles.values())])
        vector = np.linalg.solve(search._plainly(len(law.angles)), vector)
        size = float(np.abs(vector).max())
        if rows is not None and np.abs(rows @ vector).max(initial=0.0) <= HOLDS * size:
            left.append(law)
    return left


class _Search:
    """Rates of all terms under all motions, at random states."""

    def __init__(self, system: System, values: dict[str, float] | None) -> None:
        self.system, self.mechanics = system, workshop(system).mechanics
        self.parts = system.mechanism.carriers
        self.owner = np.repeat(np.arange(len(self.parts)), [x.shape.size for x in self.parts])
        self.written = list(written_by_users(system.mechanism))
        places = np.array([x.position for x in self._solid] or [np.zeros(3)])
        self.centre = places.mean(axis=0)
        # How far things are from each other, and not from the origin.
        wide = [np.sqrt(x.inertia.max() / x.mass) for x in self._solid if x.mass > 0.0]
        self.size = max(float(np.abs(places - self.centre).max()), *wide, 0.0)
        self.size = self.size or float(np.abs(places).max()) or 1.0
        if values is None:  # states are given
            return
        random = np.random.default_rng(7)
        self.par = np.array(
            [
                random.normal(size=STATES) if x in system.controlled else np.full(STATES, values[x])
                for x in system.parameters
            ]
        ).reshape(-1, STATES).T  # fmt: skip
        self.t = random.normal(size=STATES)
        self.q, self.v = self._states(random)

    def _states(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Parts anywhere, as rigid as they are; every other state is at rest."""
        q, v = np.zeros((2, STATES, self.system.n))
        far = self.size * np.resize(FARS, STATES)[:, None]
        moving = (np.arange(STATES) % 2)[:, None]
        for part in self.parts:
            span = slice(part.first, part.first + part.shape.size)
            wide = min(part.shape.size, 3)
            places, speeds = random.normal(size=(2, STATES, wide))
            own = [1.0 * places if part.shape is NUMBER else self.centre + far * places]
            rates = [moving * speeds * (1.0 if part.shape is NUMBER else self.size)]
            turned = SO3.exp(3 * random.normal(size=(STATES, 3)))
            spin = moving * random.normal(size=(STATES, 3))
            for k in part.shape.directors:
                own.append(turned[:, :, k - 1])
                rates.append(np.cross(spin, own[-1]))
            q[:, span], v[:, span] = np.concatenate(own, axis=1), np.concatenate(rates, axis=1)
        return q, v

    # ---- groups ------------------------------------------------------------------------------

    def found(self) -> Iterator[Momentum]:
        """Group by group."""
        home = self._homes()
        groups = [np.flatnonzero(home == x).tolist() for x in np.unique(home)]
        for group in groups:
            yield from self._of_group(group, home, len(groups) > 1)

    def _homes(self) -> np.ndarray:
        """For each part the first one of those that terms connect it with."""
        home = np.arange(len(self.parts))
        for term in self.system.terms:
            for row in self.owner[term.indices].tolist():
                together = np.isin(home, home[row])
                home[together] = home[together].min()
        return home

    def _of_group(self, group: list[int], home: np.ndarray, several: bool) -> Iterator[Momentum]:
        parts = tuple(self.parts[i] for i in group if self.parts[i].shape is not NUMBER)
        numbers = [self.parts[i].first for i in group if self.parts[i].shape is NUMBER]
        numbers = numbers if len(numbers) <= ANGLES else []
        rows = self._rows(home, group[0], numbers)
        owners = [self.parts[i] for i in self.owner]
        mine = [x for x in self.written if home[self.owner[x.piece.indices[0]]] == group[0]]
        within = allowed(mine, owners, numbers) if mine else np.eye(6 + len(numbers))
        if rows is None or not len(within):
            return
        for vector in _null_space(rows, within, self._plainly(len(numbers))):
            turn, shift, rest = vector[:3], vector[3:6], vector[6:]
            angles = {i: float(x) for i, x in zip(numbers, rest, strict=True) if x}
            name = _name(turn, shift) + (_whose(parts) if several else "")
            yield Momentum(name, group[0], turn, shift, angles, parts)

    # ---- rates -------------------------------------------------------------------------------

    def _motions(self, numbers: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
        """(ξ, ξ̇) of all motions at all states: turns about the centre by 1/size, shifts, angles."""
        found = []
        for vector in self._plainly(0).T:
            turn, shift = vector[:3], vector[3:]
            whole = Momentum("", 0, turn, shift, {}, tuple(self._solid))
            found.append((whole.moved(self.q), whole.moved(self.v) - whole.moved(0 * self.v)))
        for i in numbers:
            along = np.zeros_like(self.q)
            along[:, i] = 1.0
            found.append((along, 0 * along))
        return found

    def _plainly(self, numbers: int) -> np.ndarray:
        """(n, b, a) of these motions, as columns: turns about the origin are in its place."""
        found = np.eye(6 + numbers)
        found[:3, :3] /= self.size
        found[3:6, :3] = -np.cross(np.eye(3) / self.size, self.centre).T
        return found

    @property
    def _solid(self) -> list[Part]:
        return [x for x in self.parts if x.shape is not NUMBER]

    def _rows(
        self, home: np.ndarray, first: int, numbers: list[int], seen: bool = True
    ) -> np.ndarray | None:
        """Linear conditions on (n, b, a); with `seen`, None if a term was never seen to act.

        Of what users write that is known without seeing it.
        """
        m, motions = self.mechanics, self._motions(numbers)
        known = {(x.piece.kind, tuple(x.piece.write()[3])) for x in self.written}
        found = [np.zeros((0, len(motions)))]
        for number, local in enumerate(m.locals):
            mine = home[self.owner[local.term.indices[:, 0]]] == first
            if not mine.any():
                continue
            bound = local.term.kind == "constraint"
            rates, sizes = (self._bound if bound else self._free)(number, motions)
            rates, sizes = rates[:, :, mine], sizes[:, mine, None]
            idle = np.any(sizes.max(axis=0) == 0)
            if seen and idle and (local.term.kind, local.term.expressions) not in known:
                return None
            scale = np.where(sizes > 0, sizes, 1.0)
            found.append((rates / scale).reshape(len(motions), -1).T)
        return np.concatenate(found)

    def _value(self, number: int, operator: str, **given: np.ndarray) -> np.ndarray:
        """Of a term, shape (states, instances, results)."""
        m = self.mechanics
        local, rows = m.locals[number], m._rows[number]
        function = m._function(number, operator)
        return m._mapped(function, local, rows, given, self.t, self.par, len(self.t))

    def _free(self, number: int, motions: list) -> tuple[np.ndarray, np.ndarray]:
        """Energies and forces: ℓ_q·ξ + ℓ_v·ξ̇, or f·ξ."""
        local = self.mechanics.locals[number]
        state = {"q": self.q, "v": self.v}
        pull, index = self._value(number, "force", **state), local.term.indices
        momentum = -self._value(number, "link", **state) if local.has("link") else 0 * pull
        rates, sizes = [], np.zeros(pull.shape[:2])
        for xi, rate in motions:
            parts = np.concatenate([pull * xi[:, index], momentum * rate[:, index]], axis=2)
            rates.append(parts.sum(axis=2)[..., None])
            sizes = np.maximum(sizes, np.abs(parts).sum(axis=2))
        return np.array(rates), sizes

    def _bound(self, number: int, motions: list) -> tuple[np.ndarray, np.ndarray]:
        """Constraints: what of G ξ is no combination of the rows g."""
        still = self._value(number, "hidden", q=self.q, v=0 * self.v)
        sizes = self._value(number, "size", q=self.q).max(axis=2)
        g = np.moveaxis(self._value(number, "g", q=self.q), 1, 0)  # instance, state, row
        u, s, _ = np.linalg.svd(g, full_matrices=False)
        u = u * (s > SAME * sizes.max(axis=0)[:, None])[:, None, :]
        rates = []
        for xi, _ in motions:
            change = np.moveaxis(self._value(number, "hidden", q=self.q, v=xi) - still, 1, 0)
            left = change - u @ (np.swapaxes(u, 1, 2) @ change)
            rates.append(np.moveaxis(left, 0, 1))
        return np.array(rates), sizes


def _moved(part: Part, q: np.ndarray, turn: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Of one part: b + n × r, and n × d."""
    vectors = q.reshape(*q.shape[:-1], -1, 3)
    moved = np.cross(turn, vectors)
    moved[..., 0, :] += shift
    return moved.reshape(q.shape)


def _null_space(rows: np.ndarray, within: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Motions that no condition forbids, among those `within` a space.

    As plain as can be: rows of a reduced echelon form.
    """
    within = np.linalg.qr(np.linalg.solve(plain, within.T))[0].T
    inside = rows @ within.T
    enough = np.concatenate([inside, np.zeros((inside.shape[1], inside.shape[1]))])
    _, sizes, vectors = np.linalg.svd(enough, full_matrices=False)
    rank = int(np.sum(sizes > SAME * np.sqrt(len(rows))))
    left = vectors[rank:] @ within @ plain.T
    done = 0
    for column in range(left.shape[1]):
        if done == len(left):
            break
        best = done + int(np.argmax(np.abs(left[done:, column])))
        if abs(left[best, column]) < 1e-6:
            continue
        left[[done, best]] = left[[best, done]]
        left[done] /= left[done, column]
        others = [i for i in range(len(left)) if i != done]
        left[others] -= left[others, column, None] * left[done]
        done += 1
    left[np.abs(left) < 1e-9 * np.abs(left).max(axis=1, keepdims=True, initial=0.0)] = 0.0
    near = np.round(left)
    return np.where(np.abs(left - near) < 1e-12, near, left)


def _plain(x: float) -> sp.Expr:
    return sp.Integer(int(x)) if x == int(x) else sp.Float(x)


def _name(turn: np.ndarray, shift: np.ndarray) -> str:
    """What a momentum is called."""
    if not turn.any():
        return f"momentum {_along(shift)}" if shift.any() else "momentum of an angle"
    square = float(turn @ turn)
    at, pitch = np.cross(turn, shift) / square, float(turn @ shift) / square
    place = (
        "" if np.abs(at).max() < 1e-12 else " about (" + ", ".join(f"{x + 0.0:g}" for x in at) + ")"
    )
    helix = "" if abs(pitch) < 1e-12 else f" with {pitch:g} per radian"
    return f"angular momentum {_along(turn)}{place}{helix}"


def _along(direction: np.ndarray) -> str:
    if np.count_nonzero(direction) == 1:
        return AXES[int(np.argmax(np.abs(direction)))]
    return "(" + ", ".join(f"{x:.4g}" for x in direction) + ")"


def _whose(parts: tuple[Part, ...]) -> str:
    first = parts[0].name
    return f" of {first}" + (f" … {parts[-1].name}" if len(parts) > 1 else "")


__all__ = ["PROOF", "Momentum", "holding", "momenta_of"]
