"""`modes`: natural frequencies and shapes of beams, about any equilibrium.

A small motion η about a rest configuration obeys M η̈ + D η̇ + K η = 0, with the inertia of the
nodes, Kelvin–Voigt damping D = Σ damping·BᵀC B/Δs, and the tangent K of all that acts; motions
are e^{st}.  Without damping, and with loads that have a potential, s = ±iω.  Followers and moments
make K unsymmetric: two frequencies may meet and turn into a motion that grows (flutter).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from taut.calls import public
from taut.errors import InputError, brief
from taut.fields.mesh import Mesh
from taut.fields.turning import turn_per_edge, turning
from taut.march.assemble import Assembly
from taut.march.spectrum import Found, damped, general, roots, symmetric
from taut.march.statics.applied import Applied, nothing
from taut.march.statics.balance import Balance, State
from taut.march.statics.graded import Graded
from taut.march.statics.newton import Newton
from taut.march.statics.result import Equilibrium
from taut.march.statics.solve import as_mesh
from taut.march.statics.stability import slowest
from taut.model.mechanism import Mechanism
from taut.model.system import System
from taut.text import Sheet

KINDS = {"bending": (0, 2), "torsion": (1,), "stretch": (4,), "shear": (3, 5)}
SHOWN = 5e-7  # of a number with six digits: what does not show
TOLD = 0.1  # of the slowest motion: what one without stiffness may be instead, by round-off


@public
class SmallMotions(Sheet):
    """Motions e^{st} by their s, of beams or of mechanisms, and by how much s may be off."""

    eigenvalues: np.ndarray
    errors: np.ndarray
    grows: ClassVar[float] = 1e-6  # Re s over |s|: two frequencies that meet have half the digits

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def frequencies(self) -> np.ndarray:
        """ω = |Im s|, in radians per unit of time; zero of motions that do not swing."""
        return np.abs(np.imag(self.eigenvalues))

    @property
    def hertz(self) -> np.ndarray:
        """ω/2π."""
        return self.frequencies / (2 * np.pi)

    @property
    def rates(self) -> np.ndarray:
        """Re s: negative of motions that decay, positive of those that grow."""
        return np.real(self.eigenvalues)

    @property
    def damping_ratios(self) -> np.ndarray:
        """−Re s/|s|: one of motions that creep back, zero of those without stiffness."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.rates, size, out=np.zeros(len(self)), where=size > 0)

    @property
    def growing(self) -> np.ndarray:
        """Which motions grow, beyond what s may be off."""
        return self.rates > np.maximum(self.grows * np.abs(self.eigenvalues), self.errors)

    @property
    def stable(self) -> bool | None:
        """Whether none of these motions grows; None if round-off hides that.

        Motions without stiffness do not grow, if what rounding may give them is less than the
        stiffness of all others.
        """
        if np.any(self.growing):
            return False
        size = np.abs(self.eigenvalues)
        least = TOLD * size[size > 0].min(initial=np.inf)
        told = np.where(size > 0, np.isfinite(self.errors), self.errors <= least)
        return True if np.all(told) else None

    @property
    def verdict(self) -> str:
        """The same in words."""
        return {
            True: "stable",
            False: "not stable: a motion grows",
            None: "whether it is stable is lost in round-off",
        }[self.stable]

    def _beside(self) -> list[list[str]]:
        """A column that says by how much numbers may be off, if digits that are shown are."""
        unsure = self.errors > SHOWN * np.abs(self.eigenvalues)
        if not unsure.any():
            return [[] for _ in range(len(self) + 1)]
        words = [f"{x:.1g}" if np.isfinite(x) else "not verified" for x in self.errors]
        return [["± rad/s"], *([x if off else ""] for x, off in zip(words, unsure, strict=True))]


@public
@dataclass(frozen=True, eq=False, repr=False)
class Modes(SmallMotions):
    """Natural motions e^{st}, the slowest first.

    Attributes
    ----------
    eigenvalues : ndarray of complex, shape (count,)
        s, one of each conjugate pair.
    shapes : ndarray, shape (count, N, 6)
        η of the nodes in their frames, with zᴴMz = 1; complex if the motion is not synchronous.
    rigid : int
        How many of them, the first ones, are motions without strain or stiffness.
    about : str
    errors : ndarray, shape (count,)
        By how much eigenvalues may be off: residuals, and what rounding has done to stiffness.
    """

    mesh: Mesh = field(repr=False)
    state: State = field(repr=False)
    eigenvalues: np.ndarray
    shapes: np.ndarray = field(repr=False)
    rigid: int
    about: str
    errors: np.ndarray = field(repr=False)

    @property
    def displacements(self) -> np.ndarray:
        """Of the nodes in space, shape (count, N, 3)."""
        return np.einsum("nij,anj->ani", self.state.pose[:, :3, :3], self.shapes[:, :, 3:])

    @property
    def turn_per_edge(self) -> float:
        """The largest angle between neighbouring nodes of the shape about which they are."""
        return turn_per_edge(self.state.turns)

    @cached_property
    def shares(self) -> dict[str, np.ndarray]:
        """What part of the strain energy is bending, torsion, stretch and shear: each (count,)."""
        balance = Balance(self.mesh)
        left, right = self.shapes[:, balance.edges], self.shapes[:, balance.edges + 1]
        both = np.concatenate([left, right], axis=2)
        strain = np.einsum("eij,aej->aei", self.state.maps, both) / balance.spacing[:, None]
        stress = np.einsum("eij,aej->aei", balance.stiffness, strain)
        parts = np.einsum("e,aei->ai", balance.spacing, np.real(strain.conj() * stress))
        whole = np.abs(parts).sum(axis=1)
        whole[whole == 0] = 1.0
        return {name: parts[:, list(own)].sum(axis=1) / whole for name, own in KINDS.items()}

    @property
    def kinds(self) -> list[str]:
        """What each motion mostly is."""
        names = list(KINDS)
        table = np.array([self.shares[name] for name in names])
        found = [names[i] for i in np.argmax(table, axis=0)]
        return ["rigid"] * self.rigid + found[self.rigid :]

    def to_dict(self) -> dict[str, Any]:
        """The facts, as plain numbers and lists."""
        return {
            "about": self.about,
            "turn_per_edge": self.turn_per_edge,
            "frequencies": self.frequencies.tolist(),
            "hertz": self.hertz.tolist(),
            "rates": self.rates.tolist(),
            "errors": self.errors.tolist(),
            "kinds": self.kinds,
            "rigid": self.rigid,
            "stable": self.stable,
        }

    head: ClassVar[bool] = True

    def title(self) -> str:
        """About what, whether that is stable, and whether there are enough nodes for its turns."""
        told = [f"{name} {value}: {word}" for name, value, word in turning(self.turn_per_edge)]
        return "; ".join([f"Modes about {self.about}: {self.verdict}", *told])

    def rows(self) -> list[list[str]]:
        """The table."""
        plain = not np.any(self.rates)
        beside = self._beside()
        rows = [["mode", "Hz", "rad/s", *([] if plain else ["growth 1/s"]), *beside[0], "kind"]]
        for i, kind in enumerate(self.kinds):
            number = [f"{self.hertz[i]:.6g}", f"{self.frequencies[i]:.6g}"]
            rate = [] if plain else [f"{self.rates[i]:.4g}"]
            rows.append([str(i + 1), *number, *rate, *beside[i + 1], kind])
        return rows


@public
def modes(beam: Any, count: int = 10) -> Modes:
    """Natural frequencies and shapes.

    Parameters
    ----------
    beam : Beam, Beams, Equilibrium, or Mechanism
        Of beams: about their reference shape, without loads and gravity.  About a loaded shape:
        give ``taut.equilibrium(beam)``, and all that acts counts.  Of a mechanism (or its
        ``m.system()``) as its own ``m.modes()``: about a rest; of ``m.equilibrium()``, or of
        ``m.assemble()``, about that.
    count : int
        How many, the slowest first; rigid motions of free beams are among them.

    Returns
    -------
    Modes

    Examples
    --------
    >>> import numpy as np, taut
    >>> beam = taut.Beam(1, taut.Square(0.01), density=1000, young=1e7, poisson=0.3)
    >>> found = taut.modes(beam, count=8)
    >>> found.rigid, found.kinds[6]
    (6, 'bending')
    """
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
        raise InputError("this is no number of modes", expected="1 or more", received=brief(count))
    if isinstance(beam, System) and beam.mechanism is not None:
        beam = beam.mechanism
    if isinstance(beam, Mechanism | Assembly):
        found: Any = beam.modes(count=int(count))  # a `MechanismModes`
        return found
    if isinstance(beam, Equilibrium):
        mesh, state, applied, about = beam.mesh, beam.state, beam.applied, "an equilibrium"
        quiet = beam.conservative
    else:
        mesh = as_mesh(beam)
        state = Balance(mesh).unloaded()
        applied, about, quiet = nothing(mesh), "the reference shape", True
    return _solved(mesh, state, applied, about, quiet, int(count))


def _solved(
    mesh: Mesh, state: State, applied: Applied, about: str, quiet: bool, count: int
) -> Modes:
    balance = Balance(mesh)
    newton = Newton(balance, 1.0)
    freedoms = newton.freedoms(state.pose)
    if not freedoms.count:
        raise InputError(
            "nothing can move: there are no modes",
            expected="a node that is not held",
            remedy="free a node",
        )
    graded = Graded(balance, state, applied, freedoms, quiet)
    mass, unit = graded.mass, slowest(mesh)
    gauge = newton.gauge(state, applied, freedoms)
    gauge = np.linalg.solve(np.linalg.cholesky(gauge @ (mass @ gauge.T)), gauge)
    idle = len(gauge)  # eigenvalues that are zero: their motions are known
    if mesh.damping[balance.edges].any():
        known = gauge if quiet else gauge[:0]
        found = damped(graded, count, unit, known, idle - len(known))
        rest = found.taken(slice(idle - len(known), None))
    elif quiet:
        rest = roots(symmetric(graded, count, unit, gauge)) if count > idle else _none(graded)
    else:
        found = general(graded, max(count, idle), unit)
        rest = found.taken(np.argsort(np.abs(found.values), kind="stable")[idle:])
    rest = rest.taken(np.argsort(np.abs(rest.values), kind="stable"))
    z = rest.vectors / np.sqrt(
        np.real(np.einsum("ia,ia->a", rest.vectors.conj(), mass @ rest.vectors))
    )
    values = np.append(np.zeros(idle), rest.values)[:count]
    errors = np.append(np.zeros(idle), rest.errors)[:count]
    z = np.hstack([gauge.T, turned(z)])[:, :count]
    shapes = np.array([freedoms.nodal(column) for column in z.T])
    return Modes(mesh, state, values, shapes, min(idle, count), about, errors)


def _none(graded: Graded) -> Found:
    return Found(np.zeros(0), np.zeros((graded.mass.shape[0], 0)), np.zeros(0))


def turned(z: np.ndarray) -> np.ndarray:
    """Shapes with a largest entry that is real and positive; real ones as real numbers."""
    if not z.shape[1]:
        return z
    largest = z[np.argmax(np.abs(z), axis=0), np.arange(z.shape[1])]
    z = z * (np.abs(largest) / largest)
    if np.iscomplexobj(z) and np.abs(np.imag(z)).max(initial=0) <= 1e-9 * np.abs(z).max(initial=0):
        return np.real(z)
    return z
