"""The discrete reduced Poisson bracket of CS, (33), with its sign at node 0 corrected.

With derivatives defined by δf = Σ_e Δs⟨f_γ, δγ_e⟩ + Σ_j w_j⟨f_μ, δμ_j⟩ and the discrete covariant
derivative of a velocity, (Dζ)_e = (ζ_{j+1} − ζ_j)/Δs + [χ_e, (ζ_j + ζ_{j+1})/2],

    {f, g} = Σ_e Δs (⟨f_γ, D g_μ⟩ − ⟨g_γ, D f_μ⟩) + Σ_j w_j ⟨μ_j, [g_μ, f_μ]⟩.

It is antisymmetric for any algebra, and ż = {z, H} are (34), (35).  As printed, (33) has the sign
of the 1/Δs term of node 0 wrong, and is not (CS's appendix has it right).  Jacobi's identity holds
in the limit Δs → 0 only: brackets of averages are not averages of brackets.  So do its Casimirs,
unless the algebra is abelian: the invariants of

    M = Σ_j w_j Ad(G_j⁻¹)ᵀ μ_j,        G_j = cay(Δs χ_½) ⋯ cay(Δs χ_{j−½}),

the total momentum seen from node 0, where both ends are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.errors import InputError, brief
from taut.fields.ends import real_array
from taut.lie import se2, se3, so3

if TYPE_CHECKING:
    from taut.fields.field import Field

ZERO = 1e-10  # of the largest singular value


@dataclass(frozen=True)
class Casimir:
    """A function that commutes with everything, in the continuum.

    Attributes
    ----------
    name : str
    value : float
    defect : float
        |J ∇C| against |J| |∇C|: round-off if it is one of the discrete bracket too.
    """

    name: str
    value: float
    defect: float


class DiscreteBracket:
    """The bracket at a state of a field.

    Parameters
    ----------
    field : Field
    strain, momentum : array_like, shapes (edges, n) and (nodes, n)
    printed : bool
        With the sign at node 0 as in (33).

    Examples
    --------
    >>> import taut
    >>> g, m = taut.coordinates("gamma mu")
    >>> string = taut.Field(
    ...     taut.lie.abelian(1), m**2/2 + g**2/2, strain=[g], momentum=[m], length=1, nodes=5)
    >>> bracket = string.bracket()
    >>> bracket.corank, [c.name for c in bracket.casimirs()]
    (1, ['M1'])
    """

    def __init__(
        self, field: Field, strain: Any = None, momentum: Any = None, printed: bool = False
    ) -> None:
        self.field, self.printed = field, printed
        self.strain = _shaped("strain", strain, (len(field.middles), field.size))
        self.momentum = _shaped("momentum", momentum, (field.nodes, field.size))
        if printed and (field.periodic or field.ends != ("free", "free")):
            raise InputError("(33) is printed for free ends", expected='ends=("free", "free")')

    # ---- the bracket itself ------------------------------------------------------------------

    def along(self, velocity: np.ndarray, chi: np.ndarray | None = None) -> np.ndarray:
        """(Dζ)_e, shape (…, edges, n)."""
        field = self.field
        chi = field.reference + self.strain if chi is None else chi
        after = np.roll(velocity, -1, axis=-2) if field.periodic else velocity[..., 1:, :]
        before = velocity if field.periodic else velocity[..., :-1, :]
        return (after - before) / field.spacing + field.algebra.bracket(chi, 0.5 * (before + after))

    def of(self, f: tuple[Any, Any], g: tuple[Any, Any]) -> float:
        """{f, g} of two functions, given by their derivatives (f_γ, f_μ)."""
        read = (
            (_shaped("f_γ", x, self.strain.shape), _shaped("f_μ", y, self.momentum.shape))
            for x, y in (f, g)
        )
        return float(self._of(*read))

    def _of(self, f: Sequence[np.ndarray], g: Sequence[np.ndarray]) -> np.ndarray:
        """{f, g}, of many where arrays have more axes."""
        (f_gamma, f_mu), (g_gamma, g_mu) = ((x, self._held(y)) for x, y in (f, g))
        field, ds, whole = self.field, self.field.spacing, (-2, -1)
        strained = np.sum(f_gamma * self.along(g_mu), axis=whole)
        strained = strained - np.sum(g_gamma * self.along(f_mu), axis=whole)
        if self.printed:  # −⟨g_γ½/Δs, f_μ0⟩ where +⟨g_γ½/Δs, f_μ0⟩ is right
            strained = strained - 2 * np.sum(g_gamma[..., 0, :] * f_mu[..., 0, :], axis=-1) / ds
        own = np.sum(self.momentum * field.algebra.bracket(g_mu, f_mu), axis=-1)
        return ds * strained + own @ field.weights

    def _held(self, velocity: np.ndarray) -> np.ndarray:
        """Without what clamped ends do not feel."""
        free = np.ones((self.field.nodes, 1))
        for end, node in zip(self.field.ends, (0, -1), strict=True):
            if end == "clamped":
                free[node] = 0.0
        return free * velocity

    @cached_property
    def matrix(self) -> np.ndarray:
        """J with {f, g} = ∇fᵀ J ∇g in partial derivatives by (γ, μ), place by place."""
        edges, size = len(self.strain), self.field.size
        many = self.strain.size + self.momentum.size
        scale = np.repeat(
            np.concatenate([np.full(edges, self.field.spacing), self.field.weights]), size
        )
        gamma, mu = np.split(np.diag(1 / scale).reshape(many, -1, size), [edges], axis=1)
        return np.array([self._of(f, (gamma, mu)) for f in zip(gamma, mu, strict=True)])

    @property
    def antisymmetry(self) -> float:
        """|J + Jᵀ| against |J|."""
        return float(np.abs(self.matrix + self.matrix.T).max() / np.abs(self.matrix).max())

    @cached_property
    def corank(self) -> int:
        """How many independent directions commute with everything at this state."""
        values = np.linalg.svd(self.matrix, compute_uv=False)
        held = sum(end == "clamped" for end in self.field.ends) * self.field.size
        return int(np.sum(values < ZERO * values[0])) - held

    @cached_property
    def jacobi(self) -> float:
        """The largest cyclic sum of J ∂J, against |J|²/(Δs + …): zero for a Poisson bracket."""
        matrix, many = self.matrix, len(self.matrix)
        slopes = np.empty((many, many, many))  # ∂J/∂z_l, exact since J is affine in z
        state = np.concatenate([self.strain.ravel(), self.momentum.ravel()])
        for l in range(many):
            moved = state.copy()
            moved[l] += 1.0
            strain, momentum = np.split(moved, [self.strain.size])
            other = DiscreteBracket(
                self.field,
                strain.reshape(self.strain.shape),
                momentum.reshape(self.momentum.shape),
                self.printed,
            )
            slopes[l] = other.matrix - matrix
        cyclic = np.einsum("lij,lk->ijk", slopes, matrix)
        cyclic = cyclic + cyclic.transpose(1, 2, 0) + cyclic.transpose(2, 0, 1)
        size = np.abs(slopes).max() * np.abs(matrix).max()
        return float(np.abs(cyclic).max() / size) if size else 0.0

    # ---- Casimirs ----------------------------------------------------------------------------

    def total(self, strain: np.ndarray, momentum: np.ndarray) -> np.ndarray:
        """M, the momentum of all nodes seen from node 0, shape (n,)."""
        field, n = self.field, self.field.size
        chi = field.reference + strain
        found, back = np.zeros(n), np.eye(n)
        for j in range(field.nodes):
            found = found + field.weights[j] * (back.T @ momentum[j])
            if j < field.nodes - 1:
                a = 0.5 * field.spacing * np.asarray(field.algebra.ad(chi[j]), dtype=float)
                back = np.linalg.solve(np.eye(n) + a, (np.eye(n) - a) @ back)
        return found

    def casimirs(self) -> list[Casimir]:
        """Those of the total momentum, with how far the discrete bracket has them.

        For so(3) |M|², for se(2) and se(3) |P|² (and P·L), for an abelian algebra M itself.  With a
        clamped end the total momentum is not one.
        """
        field = self.field
        if field.ends != ("free", "free") or field.periodic:
            return []
        found = []
        for name, function in _invariants(field).items():
            gradient = self._gradient(function)
            size = np.abs(self.matrix).max() * np.abs(gradient).max()
            defect = float(np.abs(self.matrix @ gradient).max() / size) if size else 0.0
            found.append(
                Casimir(name, float(function(self.total(self.strain, self.momentum))), defect)
            )
        return found

    def _gradient(self, function) -> np.ndarray:
        """∇C by central differences of fourth order."""
        state = np.concatenate([self.strain.ravel(), self.momentum.ravel()])

        def value(z: np.ndarray) -> float:
            strain, momentum = np.split(z, [self.strain.size])
            whole = self.total(
                strain.reshape(self.strain.shape), momentum.reshape(self.momentum.shape)
            )
            return float(function(whole))

        found = np.empty(len(state))
        for i in range(len(state)):
            step = 1e-3 * max(1.0, abs(state[i]))
            shifts = [value(state + k * step * np.eye(len(state))[i]) for k in (-2, -1, 1, 2)]
            found[i] = (shifts[0] - 8 * shifts[1] + 8 * shifts[2] - shifts[3]) / (12 * step)
        return found


def _invariants(field: Field) -> dict[str, Any]:
    """Coadjoint invariants of the algebras that are known."""
    terms = field.algebra.terms()
    if not terms:
        return {f"M{i + 1}": (lambda m, i=i: m[i]) for i in range(field.size)}
    known = (
        (so3, {"|M|²": lambda m: m @ m}),
        (se2, {"|P|²": lambda m: m[1] ** 2 + m[2] ** 2}),
        (se3, {"|P|²": lambda m: m[3:] @ m[3:], "P·L": lambda m: m[3:] @ m[:3]}),
    )
    return next((found for algebra, found in known if algebra.terms() == terms), {})


def _shaped(what: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    if given is None:
        return np.zeros(shape)
    try:
        found = real_array(given)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the {what} cannot be read", expected=f"shape {shape}", received=brief(given)
        ) from error
    if found.shape == shape[1:]:
        found = np.broadcast_to(found, shape).copy()
    if found.shape != shape or not np.all(np.isfinite(found)):
        raise InputError(
            f"the {what} does not fit the field",
            expected=f"finite numbers of shape {shape}",
            received=f"shape {found.shape}",
        )
    return found
