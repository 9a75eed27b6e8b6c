"""Putting a mechanism together: a consistent configuration, its freedom, its rest and its modes.

Rough positions are moved as little as possible in the metric of the masses (see `project`).  About
a configuration q at rest, with multipliers λ of its constraints, small motions in the null space N
of G obey

    Nᵀ M N ẍ + Nᵀ D N ẋ + Nᵀ K N x = 0,      K = U_qq − f_q + Σ λᵢ ∂²gᵢ/∂q∂q,      D = −f_v,

with motions e^{st}.  Without dampers and other forces f, K is symmetric and s = ±iω.

Rest itself is U_q + Gᵀλ = 0 with g = 0: Newton's method in x on the constraints, along directions
in which the energy falls, and on from where it would fall further.  Mechanisms with beams, and
large ones, have a road of their own: see `resting`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.errors import InputError, NoEquilibrium
from taut.kernel.compile import workshop
from taut.march.project import (
    DEPENDENT,
    Aim,
    _metric,
    _null_space,
    independent,
    nearest,
    tangent,
)
from taut.march.resting import EVEN, Resting, climbed
from taut.march.settling import lower, settled
from taut.text import Sheet, counted

if TYPE_CHECKING:
    from taut.kernel.evaluate import Mechanics
    from taut.model.mechanism import Mechanism
    from taut.model.system import System

LARGE = 600  # coordinates up to which null spaces are computed
SMALL = 60  # coordinates of a mechanism with beams up to which it may go downhill
ITERATIONS = 200
PROJECTIONS = 20  # iterations of Gauss and Newton
MET, NOISE = 1e-14, 1e-10  # of the coordinates: a change that is rounding; and one that may be
STILL = 1e-12  # of the largest forces that were met
CLOSE = 1e-12  # of the coordinates: a step that changes nothing
SOFT = 1e-9  # of the largest ω²: no stiffness


@dataclass(frozen=True, eq=False, repr=False)
class Assembly(Sheet):
    """A mechanism that fits together.

    Attributes
    ----------
    q, v : ndarray, shape (n,)
        Coordinates and velocities that satisfy all constraints.
    freedom : int
        Degrees of freedom.
    redundant : dict joint → rows
        Joints that hold what others hold already, and how many of their rows are too many.
    moved : dict part → float
        How far the centres of mass were moved.
    stable : bool or None
        Of a rest: whether no small motion grows; None where that was not asked, and for forces
        without a potential.
    """

    mechanism: Mechanism = field(repr=False)
    system: System = field(repr=False)
    q: np.ndarray
    v: np.ndarray
    freedom: int
    redundant: dict[str, int]
    moved: dict[str, float]
    stable: bool | None = None

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Parts that joints or forces connect, the ground first where they hold on to it."""
        return connected(self.mechanism)

    def title(self) -> str:
        """One line."""
        return f"{self.mechanism!r}: {counted(self.freedom, 'degree', 'degrees')} of freedom"

    def rows(self) -> list[tuple[str, str]]:
        """The table."""
        far = max(self.moved, key=lambda name: self.moved[name])
        most = self.moved[far]
        extra = ", ".join(f"{name} ({rows})" for name, rows in self.redundant.items())
        rows = [
            ("coordinates", str(self.system.n)),
            ("constraints", str(self.system.c)),
            ("redundant", extra or "none"),
            ("moved most", f"{far}, by {most:.3g}" if most > 0 else "nothing"),
        ]
        if self.stable is not None:
            rows.append(("balance", "stable" if self.stable else "not stable: a motion grows"))
        groups = self.groups
        if len(groups) > 1:
            rows.append(("not connected", "; ".join(", ".join(group) for group in groups)))
        return rows


def assemble(mechanism: Mechanism, q0: Any = None, v0: Any = None) -> Assembly:
    """A consistent configuration near the one that was given; see `Mechanism.assemble`."""
    system = mechanism.system()
    given_q, given_v = mechanism.start()
    q = given_q if q0 is None else _coordinates("q0", q0, system.n)
    v = given_v if v0 is None else _coordinates("v0", v0, system.n)
    mechanics, par = workshop(system).mechanics, system.values()
    begin = q.copy()
    if system.c:
        q = nearest(mechanics, q, v, 0.0, par)
        v = tangent(mechanics, q, v, 0.0, par)
    keep = independent(mechanics, q, 0.0, par) if system.c else ()
    dropped = [name for i, name in enumerate(system.constraint_names) if i not in keep]
    moved = {
        part.name: float(np.linalg.norm((q - begin)[part.first : part.first + 3]))
        for part in mechanism.parts.values()
    }
    return Assembly(
        mechanism, system, q, v, system.n - len(keep), _owners(mechanism, dropped), moved
    )


def connected(mechanism: Mechanism) -> tuple[tuple[str, ...], ...]:
    """Groups of parts that joints or forces connect; what holds on to the ground is one group."""
    names = ["ground", *mechanism.parts]
    leader = {name: name for name in names}

    def lead(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for pieces in _touched(mechanism):
        first, *rest = pieces
        for name in rest:
            leader[lead(name)] = lead(first)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(lead(name), []).append(name)
    return tuple(tuple(group) for group in groups.values() if group != ["ground"])


def _touched(mechanism: Mechanism) -> list[list[str]]:
    """Names of the parts that each beam, joint and force holds on to."""
    owner = {i: part.name for part in mechanism.parts.values() for i in part.indices}
    found = []
    held_by = (mechanism.beams, mechanism.joints, mechanism.forces)
    for held in (x for group in held_by for x in group.values()):
        sides = getattr(held, "measure", held)
        ends = (getattr(sides, "a", None), getattr(sides, "b", None))
        inside = sorted({owner[i] for piece in held.pieces for i in piece.indices})
        found.append([*(["ground"] if mechanism.ground in ends else []), *inside])
    return [names for names in found if names]


def _owners(mechanism: Mechanism, rows: list[str]) -> dict[str, int]:
    """Joints (or parts) by the names of their rows, with the number of these."""
    owner = {row: joint.name for joint in mechanism.joints.values() for row in joint.rows}
    found: dict[str, int] = {}
    for row in rows:
        name = owner.get(row, row)
        found[name] = found.get(name, 0) + 1
    return found


def _coordinates(name: str, given: Any, n: int) -> np.ndarray:
    found = np.array(given, dtype=float)
    if found.shape != (n,) or not np.all(np.isfinite(found)):
        raise InputError(f"{name} cannot be used", expected=f"{n} finite numbers")
    return found


# ---- rest -------------------------------------------------------------------------------------


class _Energy:
    """The potential energy of a mechanism and its derivatives, at rest and at one time."""

    def __init__(self, mechanics: Mechanics, par: np.ndarray, t: float) -> None:
        self.mechanics, self.par, self.t = mechanics, par, t
        self.rest = np.zeros(mechanics.n)

    def value(self, q: np.ndarray) -> float:
        return float(self.mechanics.energy(q, self.rest, self.rest, self.t, self.par))

    def climbed(self, q: np.ndarray, there: np.ndarray) -> float:
        """What it takes to go from one configuration to another."""
        if self.mechanics.system.forced:
            return climbed(self.slope, q, there)
        return self.value(there) - self.value(q)

    def slope(self, q: np.ndarray) -> np.ndarray:
        """U_q: minus the force."""
        return -self.mechanics.apply("force", self.t, self.par, q=q, v=self.rest, p=self.rest)

    def bend(self, q: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """K = U_qq − f_q + Σ λᵢ ∂²gᵢ/∂q∂q; symmetric but for forces that have no potential."""
        m, t, par = self.mechanics, self.t, self.par
        found = -_dense(m.derivative("force", "q", t, par, q=q, v=self.rest, p=self.rest))
        if m.c:
            found = found + _dense(m.derivative("push", "q", t, par, q=q, lam=multipliers))
        return found

    def drag(self, q: np.ndarray) -> np.ndarray:
        """D = −f_v."""
        m, t, par = self.mechanics, self.t, self.par
        return -_dense(m.derivative("force", "v", t, par, q=q, v=self.rest, p=self.rest))

    def multipliers(self, q: np.ndarray) -> np.ndarray:
        """λ that leaves least of U_q + Gᵀλ."""
        if not self.mechanics.c:
            return np.zeros(0)
        gradients = self.mechanics.gradients(q, self.t, self.par)
        return -np.linalg.lstsq(gradients.T, self.slope(q), rcond=1e-12)[0]

    def metric(self, q: np.ndarray) -> np.ndarray:
        """Columns: all directions, orthonormal in the metric of masses."""
        return _metric(self.mechanics, q, self.rest, self.t, self.par)

    def free(self, q: np.ndarray) -> np.ndarray:
        """Columns: directions that the constraints allow, orthonormal in the metric of masses."""
        metric = self.metric(q)
        if not self.mechanics.c:
            return metric
        return metric @ _null_space(self.mechanics.gradients(q, self.t, self.par) @ metric)


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.todense() if hasattr(matrix, "todense") else matrix)


def rest(mechanism: Mechanism, q0: Any = None, stable: bool = True) -> Assembly:
    """Where a mechanism is at rest; see `Mechanism.equilibrium`."""
    begun = assemble(mechanism, q0, np.zeros(mechanism.size))
    system = begun.system
    if _apart(mechanism, system):
        q, steady = _balanced(mechanism, system, begun.q, stable)
    else:
        q, steady = _lowest(_energy(system), begun.q, stable)
    v = np.zeros(system.n)
    return Assembly(
        mechanism, system, q, v, begun.freedom, begun.redundant,
        {
            part.name: float(np.linalg.norm((q - begun.q)[part.first : part.first + 3]))
            for part in mechanism.parts.values()
        },
        steady,
    )  # fmt: skip


def _energy(system: System) -> _Energy:
    _check_size(system)
    return _Energy(workshop(system).mechanics, system.values(), 0.0)


def _apart(mechanism: Mechanism, system: System) -> bool:
    """Whether a mechanism is computed with sparse matrices."""
    return bool(mechanism.beams) or system.n > LARGE


def _balanced(
    mechanism: Mechanism, system: System, q: np.ndarray, stable: bool
) -> tuple[np.ndarray, bool | None]:
    """Rest by loads that come on little by little, and whether it is stable.

    Where that leads nowhere, small mechanisms go downhill: along the bent valley of a beam it takes
    too long.
    """
    found = Resting(mechanism, workshop(system).mechanics, system.values())
    there = found.balance(q)
    if there is None and system.n <= SMALL:
        return _lowest(_energy(system), q, stable)
    if there is None:
        raise NoEquilibrium(
            "no rest was found",
            load_factor=found.reached,
            expected="a configuration in which all forces are in balance",
            received=f"balance up to {found.reached:.3g} of the forces at the start",
            remedy="begin nearer to it with q0=…, or let it come to rest: simulate it with dampers",
        )
    if stable and not found.low(there) and found.has_potential(found.matrices(there)[0]):
        further = settled(found, there)
        there = there if further is None else further
    return there, found.steady(there)


def _lowest(energy: _Energy, q: np.ndarray, stable: bool) -> tuple[np.ndarray, bool | None]:
    """Rest by going downhill, on from where it is not stable, and whether it is."""
    largest = 1e-300
    for _ in range(ITERATIONS):
        directions = energy.free(q)
        slope = directions.T @ energy.slope(q)
        # What joints carry counts, too: they leave of it what rounding does to it.
        largest = max(
            largest, float(np.linalg.norm(abs(energy.metric(q)).T @ abs(energy.slope(q))))
        )
        still = bool(np.linalg.norm(slope) <= STILL * largest)
        matrix = directions.T @ energy.bend(q, energy.multipliers(q)) @ directions
        skew = np.abs(matrix - matrix.T).max(initial=0.0)
        even = bool(skew <= EVEN * np.abs(matrix).max(initial=0.0))
        there = q if still else _downhill(energy, q, directions, matrix, slope)
        near, q = np.abs(there - q).max() <= CLOSE * np.abs(q).max(), there
        if still or (near and np.linalg.norm(slope) <= SOFT * largest):  # as rounding lets it come
            low = _low(matrix) if even else None
            aside = None if low or not (stable and even) else _aside(energy, q, directions, matrix)
            if aside is None:
                drag = directions.T @ energy.drag(q) @ directions
                return q, low and not _driven(matrix, drag)
            q = aside
    raise NoEquilibrium(
        "no rest was found",
        load_factor=1.0,
        expected="a configuration in which all forces are in balance",
        received=f"{np.linalg.norm(slope):.2g} left of {largest:.2g}",
        remedy="begin nearer to it with q0=…; without something that holds it, nothing rests",
    )


def _low(matrix: np.ndarray) -> bool:
    """Whether the energy falls nowhere."""
    values = np.linalg.eigvalsh(matrix)
    return bool(np.all(values >= -SOFT * np.abs(values).max(initial=0.0)))


def _driven(matrix: np.ndarray, drag: np.ndarray) -> bool:
    """Whether forces that depend on velocities make a motion grow: ẍ + D ẋ + K x = 0."""
    values = np.linalg.eigvalsh((drag + drag.T) / 2)
    if not values.size or values[0] >= -SOFT * np.abs(values).max():
        return False
    n = len(matrix)
    s = np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-matrix, -drag]]))
    return bool(np.any(s.real > SOFT * np.abs(s).max()))


def _aside(energy, q, directions, matrix) -> np.ndarray | None:
    """A little along the motion that grows fastest, to the side on which the energy falls more.

    Where both are alike, to that on which its largest entry grows; None if it falls on neither.
    """
    motion = directions @ np.linalg.eigh((matrix + matrix.T) / 2)[1][:, 0]
    motion *= (float(np.abs(q).max()) or 1.0) / motion[np.argmax(np.abs(motion))]
    return lower(lambda part: _onto(energy, q + part * motion), energy.climbed, q)


def _downhill(energy, q, directions, matrix, slope) -> np.ndarray:
    """A step along which the energy falls: Newton's, with every stiffness taken as positive.

    Where all are, and what it leaves of the forces is less by half, the energy is not asked: by
    then rounding hides what is won.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    least = 1e-6 * max(float(np.abs(values).max()), 1e-300)
    definite = bool(np.all(values >= least))
    if definite:
        step = -np.linalg.solve(matrix, slope)
    else:
        step = -vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), least))
    longest = 0.3 * max(float(np.linalg.norm(_metric_length(energy, q))), 1e-300)
    step *= min(1.0, longest / max(float(np.linalg.norm(step)), 1e-300))
    whole, fall = _onto(energy, q + directions @ step), float(slope @ step)
    if definite and whole is not None:
        left = energy.free(whole).T @ energy.slope(whole)
        if np.linalg.norm(left) <= np.linalg.norm(slope) / 2:
            return whole
    there, part = whole, 1.0
    while part > 1e-10:
        if there is not None and energy.climbed(q, there) <= 1e-4 * part * fall:
            return there
        part /= 2
        there = _onto(energy, q + part * (directions @ step))
    return q if whole is None else whole  # as good as rounding lets it be


def _metric_length(energy: _Energy, q: np.ndarray) -> np.ndarray:
    """The configuration in coordinates of unit mass."""
    return np.linalg.solve(energy.metric(q), q)


def _onto(energy: _Energy, q: np.ndarray) -> np.ndarray | None:
    """A configuration nearby that the joints allow, by Gauss and Newton; None if it is too far."""
    m, t, par = energy.mechanics, energy.t, energy.par
    if not m.c:
        return q
    q = _rigid(m.system, q)
    metric, before = energy.metric(q), np.inf
    for _ in range(PROJECTIONS):
        change = metric @ Aim(m, q, t, par, metric, DEPENDENT).step(m.g(q, t, par))
        size, q = float(np.abs(change).max()), q + change
        if not size < before:
            return None
        if size <= MET * np.abs(q).max():
            return q
        before = max(size, NOISE * np.abs(q).max())
    return None


def _rigid(system: System, q: np.ndarray) -> np.ndarray:
    """The same with directors that are orthonormal again: those that turned far are long."""
    found = q.copy()
    parts = system.mechanism.parts.values() if system.mechanism is not None else ()
    for part in (x for x in parts if x.shape.directors):
        here = slice(part.first + 3, part.first + part.shape.size)
        u, _, vt = np.linalg.svd(found[here].reshape(-1, 3), full_matrices=False)
        found[here] = (u @ vt).ravel()
    return found


def _check_size(system: System) -> None:
    if system.n > LARGE:
        raise InputError(
            "the mechanism is too large for this",
            expected=f"at most {LARGE} coordinates",
            received=system.n,
            remedy="let it come to rest: simulate it with dampers",
        )
