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

from taut.errors import InputError
from taut.fields.mesh import Mesh
from taut.march.assemble import Assembly
from taut.march.spectrum import damped, general, symmetric
from taut.march.statics.applied import Applied, nothing
from taut.march.statics.balance import Balance, State
from taut.march.statics.newton import Newton
from taut.march.statics.result import Equilibrium
from taut.march.statics.solve import as_mesh
from taut.march.statics.stability import slowest
from taut.model.mechanism import Mechanism
from taut.model.system import System
from taut.text import Sheet

KINDS = {"bending": (0, 2), "torsion": (1,), "stretch": (4,), "shear": (3, 5)}
GROWS = 1e-6  # Re s over |s| of a motion that grows


class SmallMotions(Sheet):
    """Motions e^{st} by their s, of beams or of mechanisms."""

    eigenvalues: np.ndarray

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
    """

    mesh: Mesh = field(repr=False)
    state: State = field(repr=False)
    eigenvalues: np.ndarray
    shapes: np.ndarray = field(repr=False)
    rigid: int
    about: str

    @property
    def displacements(self) -> np.ndarray:
        """Of the nodes in space, shape (count, N, 3)."""
        return np.einsum("nij,anj->ani", self.state.pose[:, :3, :3], self.shapes[:, :, 3:])

    @property
    def stable(self) -> bool:
        """Whether none of these motions grows (of those that were asked for)."""
        return not np.any(self.rates > GROWS * np.maximum(np.abs(self.eigenvalues), 1e-300))

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
            "frequencies": self.frequencies.tolist(),
            "hertz": self.hertz.tolist(),
            "rates": self.rates.tolist(),
            "kinds": self.kinds,
            "rigid": self.rigid,
            "stable": self.stable,
        }

    head: ClassVar[bool] = True

    def title(self) -> str:
        """About what, and whether that is stable."""
        verdict = "stable" if self.stable else "not stable: a motion grows"
        return f"Modes about {self.about}: {verdict}"

    def rows(self) -> list[list[str]]:
        """The table."""
        plain = not np.any(self.rates)
        rows = [["mode", "Hz", "rad/s", *([] if plain else ["growth 1/s"]), "kind"]]
        for i, kind in enumerate(self.kinds):
            number = [f"{self.hertz[i]:.6g}", f"{self.frequencies[i]:.6g}"]
            rows.append([str(i + 1), *number, *([] if plain else [f"{self.rates[i]:.4g}"]), kind])
        return rows


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
        raise InputError("this is no number of modes", expected="1 or more", received=repr(count))
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
        state = Balance(mesh).at(mesh.pose)
        applied, about, quiet = nothing(mesh), "the reference shape", True
    return _solved(mesh, state, applied, about, quiet, int(count))


def _solved(
    mesh: Mesh, state: State, applied: Applied, about: str, quiet: bool, count: int
) -> Modes:
    from scipy.sparse import csc_matrix, diags

    balance = Balance(mesh)
    newton = Newton(balance, 1.0)
    freedoms = newton.freedoms(state.pose)
    n = freedoms.count
    if n == 0:
        raise InputError(
            "nothing can move: there are no modes",
            expected="a node that is not held",
            remedy="free a node",
        )
    shape = (n, n)
    matrix = balance.tangent(state, applied, freedoms)
    values, rows, columns = freedoms.of_nodes(balance.heavy)
    mass = csc_matrix((values, (rows, columns)), shape=shape)
    even = diags(1 / np.sqrt(mass.diagonal()))  # so that units of angles and lengths do not matter
    matrix, mass = csc_matrix(even @ matrix @ even), csc_matrix(even @ mass @ even)
    unit, gauge = slowest(mesh), newton.gauge(state, applied, freedoms)
    idle = len(gauge)  # eigenvalues that are zero: their motions are known
    if mesh.damping[balance.edges].any():
        values, rows, columns = freedoms.of_edges(balance.damping(state))
        slow = even @ csc_matrix((values, (rows, columns)), shape=shape) @ even
        found, z = damped(matrix, slow, mass, count, unit, idle)
    elif quiet:
        squares, z = symmetric(csc_matrix((matrix + matrix.T) / 2), mass, max(count, idle), unit)
        found = np.where(squares < 0, 1, 1j) * np.sqrt(np.abs(squares))
    else:
        found, z = general(matrix, mass, max(count, idle), unit)
    order = np.argsort(np.abs(found), kind="stable")[idle:]
    found, z = np.append(np.zeros(idle), found[order])[:count], z[:, order]
    z = turned(z / np.sqrt(np.real(np.einsum("ia,ia->a", z.conj(), mass @ z))))
    gauge = gauge / even.diagonal()
    still = np.linalg.solve(np.linalg.cholesky(gauge @ (mass @ gauge.T)), gauge)
    z = even @ np.hstack([still.T, z])[:, :count]
    shapes = np.array([freedoms.nodal(column) for column in z.T])
    return Modes(mesh, state, found, shapes, min(idle, count), about)


def turned(z: np.ndarray) -> np.ndarray:
    """Shapes with a largest entry that is real and positive; real ones as real numbers."""
    largest = z[np.argmax(np.abs(z), axis=0), np.arange(z.shape[1])]
    z = z * (np.abs(largest) / largest)
    if np.iscomplexobj(z) and np.abs(np.imag(z)).max(initial=0) <= 1e-9 * np.abs(z).max(initial=0):
        return np.real(z)
    return z
