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

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from taut.errors import InputError, NoEquilibrium, brief, number
from taut.kernel.compile import workshop
from taut.march.askew import check_met, turned
from taut.march.holding import check_held, connected, listed, no_rest
from taut.march.natural import Assembled, growing, holds, natural
from taut.march.neutral import falls, polished
from taut.march.placed import Placed
from taut.march.project import (
    UNSURE,
    Aim,
    _metric,
    _null_space,
    independent,
    nearest,
    rigid,
    tangent,
)
from taut.march.redundant import owners, told
from taut.march.resting import Resting, climbed
from taut.march.settling import lower, settled
from taut.march.undefined import check_defined
from taut.model.mechanism.laws import jumping, timed
from taut.text import Sheet, counted, percent

if TYPE_CHECKING:
    from taut.kernel.evaluate import Mechanics
    from taut.march.mechanism_modes import MechanismModes
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
BLUR, WAYS = 2.0**-26, 2  # of coordinates: differences of stiffness, more than their rounding
IDLE = 40  # steps that come no nearer, where forces jump
LOCKED, DRIVEN = "joints hold all parts where they are", "all parts move as joints are told to"
FAR = 1e9  # times the coordinates: what goes there goes on for ever


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
    time : float
        At which joints and forces that change with time are taken.
    still : bool
        Whether it is a rest: what changes with time is held as it is.
    """

    mechanism: Mechanism = field(repr=False)
    system: System = field(repr=False)
    q: np.ndarray
    v: np.ndarray
    freedom: int
    redundant: dict[str, int]
    moved: dict[str, float]
    stable: bool | None = None
    time: float = 0.0
    still: bool = False

    def __getitem__(self, name: str) -> Any:
        """A part, beam, joint, frame or force, with the words of a run.

        ``rest["hinge"].force`` is what the joint holds; where forces are not in balance, what it
        holds as the motion begins.

        Examples
        --------
        >>> import taut
        >>> m = taut.Mechanism(gravity=(0, 0, -10))
        >>> bob = m.point("bob", mass=2, at=(1, 0, 0))
        >>> rod = m.rod("rod", m.ground, bob, length=1)
        >>> rest = m.equilibrium()
        >>> print(rest["bob"].position.round(9) + 0.0, rest["rod"].force.round(9) + 0.0)
        [ 0.  0. -1.] [ 0.  0. 20.]
        """
        return self._placed[name]

    @cached_property
    def _placed(self) -> Placed:
        return Placed(self.system, self.q, self.v, self.time, self.still)

    def __getstate__(self) -> dict[str, Any]:
        """What it was made of; what follows from that is found again."""
        return {x.name: getattr(self, x.name) for x in fields(self)}

    def __iter__(self) -> NoReturn:
        raise TypeError("an assembly has parts by name: assembly['bob'].position")

    def modes(self, count: int = 10) -> MechanismModes:
        """Small motions about it; see `Mechanism.modes`."""
        return self.mechanism.modes(at=self, count=count)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Parts that joints or forces connect, the ground first where they hold on to it."""
        return connected(self.mechanism)

    def title(self) -> str:
        """One line."""
        return f"{self.mechanism!r}: {counted(self.freedom, 'degree', 'degrees')} of freedom"

    def rows(self) -> list[tuple[str, str]]:
        """The table."""
        far = max(self.moved, key=lambda name: self.moved[name], default="")
        most = self.moved.get(far, 0.0)
        rows = [
            ("coordinates", str(self.system.n)),
            ("constraints", str(self.system.c)),
            ("redundant", told(self.system, self.redundant)),
            ("moved most", f"{far}, by {most:.3g}" if most > 0 else "nothing"),
        ]
        if not self.freedom:
            driven = any(name in self.mechanism.joints for name in timed(self.mechanism))
            rows.append(("freedom", f"none: {DRIVEN if driven else LOCKED}"))
        elif self.stable is not None:
            rows.append(("balance", "stable" if self.stable else "not stable: a motion grows"))
        changing = timed(self.mechanism)
        if changing:
            many = "changes" if len(changing) == 1 else "change"
            rows.append(("taken at", f"t = {self.time:g}: {listed(changing)} {many} with time"))
        groups = self.groups
        if len(groups) > 1:
            rows.append(("not connected", "; ".join(", ".join(group) for group in groups)))
        return rows


def assemble(mechanism: Mechanism, q0: Any = None, v0: Any = None, time: float = 0.0) -> Assembly:
    """A consistent configuration near the one that was given; see `Mechanism.assemble`."""
    system = mechanism.system()
    given_q, given_v = mechanism.start()
    q = given_q if q0 is None else _coordinates("q0", q0, system.n)
    v = given_v if v0 is None else _coordinates("v0", v0, system.n, "v")
    t = number("the time", time)
    mechanics, par = workshop(system).mechanics, system.values()
    begin = q.copy()
    if q0 is None:
        q, rates = turned(mechanism, q, v)
        v = rates if v0 is None else v
    if system.c:
        q = nearest(mechanics, q, v, t, par)
        v = tangent(mechanics, q, v, t, par)
        check_met(mechanism, q)
    keep = independent(mechanics, q, t, par) if system.c else ()
    moved = _moved(mechanism, begin, q)
    kept = system.mechanism  # as it is now
    return Assembly(kept, system, q, v, system.n - len(keep), owners(system, keep), moved, time=t)


def _moved(mechanism: Mechanism, before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    """How far the centres of parts have gone."""
    found, size = {}, 1e-12 * max(1.0, float(np.abs(before).max(initial=0.0)))
    for part in mechanism.parts.values():
        here = slice(part.first, part.first + 3)
        gone = float(np.linalg.norm(after[here] - before[here]))
        found[part.name] = gone if gone > size else 0.0
    return found


def _coordinates(name: str, given: Any, n: int, letter: str = "q") -> np.ndarray:
    """Numbers that were given, or those of an assembly."""
    values = getattr(given, letter) if isinstance(given, Assembly) else given
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != (n,) or not np.all(np.isfinite(found)):
        many = f"{len(values)} coordinates" if isinstance(given, Assembly) else brief(given)
        raise InputError(
            f"{name} cannot be used",
            expected=f"{n} finite numbers, or what m.assemble() or m.equilibrium() returned",
            received=many,
        )
    return found


# ---- rest -------------------------------------------------------------------------------------


class _Energy:
    """The potential energy of a mechanism and its derivatives, at rest and at one time."""

    def __init__(self, mechanics: Mechanics, par: np.ndarray, t: float) -> None:
        self.mechanics, self.par, self.t = mechanics, par, t
        self.rest = np.zeros(mechanics.n)

    def value(self, q: np.ndarray) -> float:
        return float(self.mechanics.whole(q, self.rest, self.rest, self.t, self.par))

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

    def pencil(self, q: np.ndarray, directions: np.ndarray) -> Assembled:
        """K and D in such directions, in which M is one.

        K is known as far as q is: stiffness across a spring is its force over its length, in which
        k (1 − l₀/l) has cancelled.
        """
        stiff, size = self.bend(q, self.multipliers(q)), abs(directions)
        far, parts = BLUR * float(np.abs(q).max()), abs(stiff)
        for way in np.random.default_rng(0).choice([-1.0, 1.0], (WAYS, len(q))):
            beside = q + far * way
            off = self.bend(beside, self.multipliers(beside)) - stiff
            parts = np.maximum(parts, abs(np.nan_to_num(off)) / BLUR)
        return Assembled(
            directions.T @ stiff @ directions,
            np.eye(directions.shape[1]),
            directions.T @ self.drag(q) @ directions,
            size.T @ parts @ size,
        )

    def multipliers(self, q: np.ndarray) -> np.ndarray:
        """λ that leaves least of U_q + Gᵀλ."""
        if not self.mechanics.c:
            return np.zeros(0)
        gradients = self.mechanics.gradients(q, self.t, self.par)
        return -np.linalg.lstsq(gradients.T, self.slope(q), rcond=1e-12)[0]

    def metric(self, q: np.ndarray) -> np.ndarray:
        """Columns: all directions, orthonormal in the metric of masses."""
        return _metric(self.mechanics, q, self.rest, self.t, self.par)

    def onto(self, q: np.ndarray) -> np.ndarray | None:
        """A configuration nearby that the joints allow, or None."""
        return _onto(self, q)

    def free(self, q: np.ndarray) -> np.ndarray:
        """Columns: directions that the constraints allow, orthonormal in the metric of masses."""
        metric = self.metric(q)
        if not self.mechanics.c:
            return metric
        return metric @ _null_space(self.mechanics.gradients(q, self.t, self.par) @ metric)


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.todense() if hasattr(matrix, "todense") else matrix)


def rest(mechanism: Mechanism, q0: Any = None, stable: bool = True, time: float = 0.0) -> Assembly:
    """Where a mechanism is at rest; see `Mechanism.equilibrium`."""
    check_held(mechanism)
    begun = assemble(mechanism, q0, np.zeros(mechanism.size), time)
    system = begun.system
    with np.errstate(all="ignore"):  # what runs away is said
        try:
            if _apart(mechanism, system):
                q, steady = _balanced(mechanism, system, begun.q, stable, begun.time)
            else:
                q, steady = _lowest(_energy(system, begun.time), begun.q, stable)
        except NoEquilibrium:
            check_defined(mechanism, begun.q, begun.v, begun.time)
            found = _moved_to_rest(mechanism, system, begun)
            if found is None:
                raise
            q, steady = found
    v = np.zeros(system.n)
    return Assembly(
        system.mechanism, system, q, v, begun.freedom, begun.redundant,
        _moved(mechanism, begun.q, q), steady, begun.time, True,
    )  # fmt: skip


def _energy(system: System, t: float) -> _Energy:
    _check_size(system)
    return _Energy(workshop(system).mechanics, system.values(), t)


def _apart(mechanism: Mechanism, system: System) -> bool:
    """Whether a mechanism is computed with sparse matrices."""
    return bool(mechanism.beams) or system.n > LARGE


def _balanced(
    mechanism: Mechanism, system: System, q: np.ndarray, stable: bool, t: float
) -> tuple[np.ndarray, bool | None]:
    """Rest by loads that come on little by little, and whether it is stable.

    Where that leads nowhere, small mechanisms go downhill: along the bent valley of a beam it takes
    too long.
    """
    found = Resting(mechanism, workshop(system).mechanics, system.values(), t)
    there = found.balance(q)
    if there is None and system.n <= SMALL:
        return _lowest(_energy(system, t), q, stable)
    if there is None:
        received = f"balance up to {found.reached:.3g} of the forces at the start"
        raise no_rest(mechanism, received, found.reached)
    if stable and found.low(there) is False and found.pencil(there).has_potential:
        further = settled(found, there)
        there = there if further is None else further
    return there, found.steady(there)


def _moved_to_rest(
    mechanism: Mechanism, system: System, begun: Assembly
) -> tuple[np.ndarray, bool | None] | None:
    """Rest of many parts by letting them come to it, and whether it is stable."""
    from taut.march.relaxing import MANY, relaxed

    if len(mechanism.parts) <= MANY or mechanism.beams or jumping(mechanism):
        return None
    here = Resting(mechanism, workshop(system).mechanics, system.values(), begun.time)
    there = relaxed(here, begun.q)
    return None if there is None else (there, here.steady(there))


def _lowest(energy: _Energy, q: np.ndarray, stable: bool) -> tuple[np.ndarray, bool | None]:
    """Rest by going downhill, on from where it is not stable, and whether it is."""
    largest, mechanism = 1e-300, energy.mechanics.system.mechanism
    bound, jumps = FAR * max(1.0, float(np.abs(q).max())), bool(jumping(mechanism))
    least, idle, left, pulled = np.inf, 0, 0.0, np.zeros_like(q)
    for _ in range(ITERATIONS):
        directions = energy.free(q)
        slope = directions.T @ energy.slope(q)
        # What joints carry counts, too: they leave of it what rounding does to it.
        largest = max(
            largest, float(np.linalg.norm(abs(energy.metric(q)).T @ abs(energy.slope(q))))
        )
        left, pulled = float(np.linalg.norm(slope)), -directions @ slope
        still = left <= STILL * largest
        matrix = directions.T @ energy.bend(q, energy.multipliers(q)) @ directions
        if not np.isfinite(left + np.sum(np.abs(matrix))):
            raise no_rest(mechanism, "forces that are not finite on the way", 1.0)
        here = energy.pencil(q, directions)
        even = here.has_potential
        there, fell = (q, True) if still else _downhill(energy, q, directions, matrix, slope)
        moved = np.abs(there - q).max()
        near, q = moved <= CLOSE * np.abs(q).max(), there
        if still or (near and left <= SOFT * largest):  # as rounding lets it come
            low = None
            if even:  # what is left of forces is in K
                q = polished(energy, q)
                here = energy.pencil(q, directions := energy.free(q))
                low = holds(here.even())
            low = low and not falls(energy, q, directions, here)
            lost = low is False and stable
            aside = _aside(energy, q, directions, matrix) if lost else None
            if aside is None:
                return q, low and not _driven(here)
            q = aside
            least = np.inf
        elif moved == 0.0:
            break
        least, idle = (left, 0) if left < 0.9 * least else (least, idle + 1)
        if (jumps and (not fell or idle > IDLE)) or not np.abs(q).max() < bound:
            break
    part = f"forces of which {percent(left / largest)} % are not balanced where the search ended"
    raise no_rest(mechanism, part, 1.0, pulled)


def _driven(here: Assembled) -> bool:
    """Whether forces that depend on velocities make a motion grow: ẍ + D ẋ + K x = 0."""
    if holds(Assembled(here.drag, here.mass).even()) is not False:
        return False
    return bool(np.any(growing(natural(here, here.mass.shape[0]))))


def _aside(energy, q, directions, matrix) -> np.ndarray | None:
    """A little along the motion that grows fastest, to the side on which the energy falls more.

    Where both are alike, to that on which its largest entry grows; None if it falls on neither.
    """
    motion = directions @ np.linalg.eigh((matrix + matrix.T) / 2)[1][:, 0]
    motion *= (float(np.abs(q).max()) or 1.0) / motion[np.argmax(np.abs(motion))]
    return lower(lambda part: _onto(energy, q + part * motion), energy.climbed, q)


def _downhill(energy, q, directions, matrix, slope) -> tuple[np.ndarray, bool]:
    """A step along which the energy falls: Newton's, with every stiffness taken as positive.

    With it, whether one was found.

    Where all are, and what it leaves of the forces is less by half, the energy is not asked: by
    then rounding hides what is won.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    least = 1e-6 * max(float(np.abs(values).max()), 1e-300)
    definite = bool(np.all(values >= least))
    whole = q if q.any() else np.full_like(q, _reach(energy))  # all that moves is at the origin
    longest = 0.3 * float(np.linalg.norm(_metric_length(energy, whole)))
    if definite:
        step = -np.linalg.solve(matrix, slope)
    else:
        # Without any stiffness (a pendulum that is held level) it would be infinitely long.
        least = max(least, 1e-3 * float(np.linalg.norm(slope)) / longest)
        step = -vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), least))
    step *= min(1.0, longest / max(float(np.linalg.norm(step)), 1e-300))
    whole, fall = _onto(energy, q + directions @ step), float(slope @ step)
    if definite and whole is not None:
        left = energy.free(whole).T @ energy.slope(whole)
        if np.linalg.norm(left) <= np.linalg.norm(slope) / 2:
            return whole, True
    there, part = whole, 1.0
    while part > 1e-10:
        if there is not None and energy.climbed(q, there) <= 1e-4 * part * fall:
            return there, True
        part /= 2
        there = _onto(energy, q + part * (directions @ step))
    return (q if whole is None else whole), False  # as good as rounding lets it be


def _reach(energy: _Energy) -> float:
    """How far from the origin joints and springs hold on to something."""
    mechanism = energy.mechanics.system.mechanism
    held = [x.at for x in mechanism.joints.values()]
    held += [x.ends for x in mechanism.forces.values() if getattr(x, "ends", None) is not None]
    return max((float(np.abs(x).max(initial=0.0)) for x in held), default=0.0) or 1.0


def _metric_length(energy: _Energy, q: np.ndarray) -> np.ndarray:
    """The configuration in coordinates of unit mass."""
    return np.linalg.solve(energy.metric(q), q)


def _onto(energy: _Energy, q: np.ndarray) -> np.ndarray | None:
    """A configuration nearby that the joints allow, by Gauss and Newton; None if it is too far."""
    m, t, par = energy.mechanics, energy.t, energy.par
    if not m.c:
        return q
    q = rigid(m.system, q)
    metric, before = energy.metric(q), np.inf
    for _ in range(PROJECTIONS):
        change = metric @ Aim(m, q, t, par, metric, UNSURE).step(m.g(q, t, par))
        size, q = float(np.abs(change).max()), q + change
        if not size < before:
            return None
        if size <= MET * np.abs(q).max():
            return q
        before = max(size, NOISE * np.abs(q).max())
    return None


def _check_size(system: System) -> None:
    if system.n > LARGE:
        raise InputError(
            "the mechanism is too large for this",
            expected=f"at most {LARGE} coordinates",
            received=system.n,
            remedy="let it come to rest: simulate it with dampers",
        )
