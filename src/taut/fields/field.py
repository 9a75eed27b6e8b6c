"""`Field`: a field on a line in Hamel form, for any Lie algebra and any density h(γ, μ, s).

With velocity ζ = h_μ and stress n = h_γ, CS (24), (25) are

    γ̇ = ∂_s ζ + [χ, ζ],        μ̇ = [ζ, μ]* + ∂_s n − [χ, n]*,        χ = γ + χ₀(s),

χ₀ being the reference strain.  On a grid momenta live at nodes and strains on edges, and

    H = Σ_j w_j k(μ_j, s_j) + Σ_e Δs v(γ_e, s_e),        h = k(μ, s) + v(γ, s).

A density that mixes γ and μ is taken at each edge with the momenta of both ends,
H = Σ_e Δs ½(h(γ_e, μ_j, s_e) + h(γ_e, μ_{j+1}, s_e)).  CS (36) is then of first order in time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, ModelError, brief, listed, number, whole
from taut.fields.bracket import DiscreteBracket
from taut.fields.loads import s
from taut.fields.mesh import MOST_NODES
from taut.fields.section import positive
from taut.lie import Algebra
from taut.model.latex import block, excerpt, latex
from taut.model.symbols import Vocabulary, name_of, t

ENDS = ("free", "clamped")
WRITTEN = 3  # dimensions up to which a notebook shows the equations


@public
class Field:
    """A field in Hamel form.

    Parameters
    ----------
    algebra : taut.lie.Algebra
        Of dimension n.
    density : SymPy expression
        The energy per length h(γ, μ, s).
    strain, momentum : sequences of n symbols
        γ and μ.
    length : float
    nodes : int
    reference : sequence of n numbers or expressions of s, optional
        The reference strain χ₀; zero without it.
    ends : (str, str) or "periodic"
        Each "free" (no stress) or "clamped" (no velocity).
    parameters : names or symbols, or a mapping to values, optional
    cells : "half" or "full"
        Whether end nodes have half a cell, or a full one as printed in CS (first order).

    Examples
    --------
    The wave equation:

    >>> import taut
    >>> g, m = taut.coordinates("gamma mu")
    >>> string = taut.Field(
    ...     taut.lie.abelian(1), m**2/2 + g**2/2, strain=[g], momentum=[m], length=1)
    >>> for equation in string.equations():
    ...     print(equation.lhs, "=", equation.rhs)
    Derivative(gamma(s, t), t) = Derivative(mu(s, t), s)
    Derivative(mu(s, t), t) = Derivative(gamma(s, t), s)
    """

    def __init__(
        self,
        algebra: Algebra,
        density: Any,
        *,
        strain: Iterable[Any],
        momentum: Iterable[Any],
        length: float,
        nodes: int = 101,
        reference: Any = None,
        ends: Any = ("free", "free"),
        parameters: Any = None,
        cells: str = "half",
    ) -> None:
        if not isinstance(algebra, Algebra):
            raise InputError(
                "a field needs a Lie algebra",
                expected="taut.lie.so3, se2, se3, abelian(n), or taut.lie.algebra(…)",
                received=brief(algebra),
            )
        self.algebra, self.size = algebra, algebra.dimension
        strain, momentum = _listed("strain", strain), _listed("momentum", momentum)
        for what, given in (("strain", strain), ("momentum", momentum)):
            if len(given) != self.size:
                raise InputError(
                    f"the {what} does not fit the algebra",
                    expected=f"{self.size} symbols",
                    received=len(given),
                )
        valued = parameters if isinstance(parameters, dict) else {}
        if not isinstance(parameters, str | Iterable | None):
            raise InputError(
                "the parameters cannot be read",
                expected="names, symbols, or a mapping to values",
                received=brief(parameters),
            )
        given = (
            parameters.split()
            if isinstance(parameters, str)
            else _listed("parameters", () if parameters is None else parameters)
        )
        names = [sp.Symbol(x if isinstance(x, str) else name_of(x), real=True) for x in given]
        words = Vocabulary(strain, momentum, [s], names)
        self.strain, self.momentum, (self.place,), self.parameters = words.groups
        self.defaults = {str(k): number(f"parameter {k}", v) for k, v in valued.items()}
        self.density = self._read(words, density)
        if self.density.has(t):
            raise ModelError(
                "the density depends on time",
                expected="an expression of strains, momenta, s and parameters",
                received=str(self.density),
            )
        self.kinetic, self.potential, self.mixing = self._split()
        self.length = positive("the length of a field", length)
        if not isinstance(nodes, int | np.integer) or isinstance(nodes, bool) or nodes < 2:
            raise InputError("a field needs nodes", expected="2 or more", received=brief(nodes))
        self.nodes = whole("the number of nodes", nodes, 2, MOST_NODES)
        self.periodic = isinstance(ends, str) and ends == "periodic"
        self.ends = ("free", "free") if self.periodic else self._ends(ends)
        if not isinstance(cells, str) or cells not in ("half", "full"):
            raise InputError("cells are unknown", expected="half or full", received=brief(cells))
        if cells == "full" and self.mixed and not self.periodic:
            raise InputError(
                "densities that mix strains and momenta have half cells at their ends",
                expected='cells="half"',
                remedy="full cells are there for the paper, whose densities do not mix",
            )
        self.cells = cells
        self.reference = self._reference(reference, words)

    def _read(self, words: Vocabulary, density: Any) -> sp.Expr:
        try:
            return words.read(density, "the density")
        except ModelError as error:
            known = (*self.strain, *self.momentum, self.place, *self.parameters)
            raise ModelError(
                error.what.replace("the system", "the field"),
                expected="only " + ", ".join(map(str, known)),
                received=error.received,
                remedy='name it in parameters={"k": 2.0}; fields themselves (φ of γ = ∂φ/∂s) '
                "have no place in a density",
            ) from None

    def _ends(self, given: Any) -> tuple[str, str]:
        expected = 'two of "free" and "clamped", or "periodic"'
        both = listed("the ends", given, expected)
        if len(both) != 2:
            raise InputError("the ends cannot be read", expected=expected, received=brief(given))
        for end in both:
            if not isinstance(end, str) or end not in ENDS:
                raise InputError(
                    "an end cannot be read",
                    expected='"free" or "clamped"; "periodic" for both',
                    received=brief(end),
                )
        return tuple(given)

    def _split(self) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
        """The parts of h = k(μ, s) + v(γ, s) + what mixes them."""
        parts = [sp.S.Zero] * 3
        for term in sp.Add.make_args(sp.expand(self.density)):
            moving, strained = term.has(*self.momentum), term.has(*self.strain)
            parts[2 if moving and strained else 0 if moving else 1] += term
        return parts[0], parts[1], parts[2]

    @property
    def mixed(self) -> bool:
        """Whether h is not a sum of a function of μ and one of γ."""
        return self.mixing != 0

    def _reference(self, given: Any, words: Vocabulary) -> np.ndarray:
        middles, self._varies = self.middles, False
        if given is None:
            return np.zeros((len(middles), self.size))
        entries = _listed("reference strain", given)
        if len(entries) != self.size:
            raise InputError(
                "the reference strain does not fit the algebra",
                expected=f"{self.size} numbers or expressions of s",
                received=len(entries),
            )
        read = [words.read(x, "the reference strain") for x in entries]
        if any(x.has(t) for x in read):
            raise InputError(
                "the reference strain depends on time",
                expected="numbers or expressions of s",
                received=brief(given),
            )
        others = set().union(*(x.free_symbols for x in read)) - {self.place}
        if others:
            raise InputError(
                "the reference strain depends on more than the place",
                expected="numbers or expressions of s",
                received=", ".join(sorted(map(str, others))),
                remedy="put in the value of a parameter",
            )
        self._varies = any(x.has(self.place) for x in read)
        functions = [sp.lambdify(self.place, x) for x in read]
        with np.errstate(all="ignore"):  # what is not finite is said below
            found = np.array([[float(f(x)) for f in functions] for x in middles])
        if not np.all(np.isfinite(found)):
            place = middles[int(np.argwhere(~np.isfinite(found))[0, 0])]
            raise InputError(
                f"the reference strain is not finite at s = {place:g}",
                expected="numbers at the middles of all edges",
                received=brief(given),
            )
        return found

    # ---- the grid ----------------------------------------------------------------------------

    @property
    def spacing(self) -> float:
        """Δs."""
        return self.length / (self.nodes if self.periodic else self.nodes - 1)

    @property
    def places(self) -> np.ndarray:
        """The place s of the nodes."""
        return self.spacing * np.arange(self.nodes)

    @property
    def middles(self) -> np.ndarray:
        """The place s of the edges."""
        many = self.nodes if self.periodic else self.nodes - 1
        return self.spacing * (np.arange(many) + 0.5)

    @property
    def weights(self) -> np.ndarray:
        """Length of the cell of each node."""
        found = np.full(self.nodes, self.spacing)
        if self.cells == "half" and not self.periodic:
            found[[0, -1]] *= 0.5
        return found

    def values(self, given: Any = None) -> np.ndarray:
        """Parameters in order, from defaults and `given`."""
        known = {p.name for p in self.parameters}
        table = dict(self.defaults)
        if given is not None and not isinstance(given, dict):
            raise InputError(
                "the parameters cannot be read",
                expected="a mapping of names to values",
                received=brief(given),
            )
        for name, value in (given or {}).items():
            if str(name) not in known:
                raise InputError(
                    f"the field has no parameter {name}",
                    expected="one of " + ", ".join(sorted(known)) if known else "no parameters",
                )
            table[str(name)] = number(f"parameter {name}", value)
        missing = [p.name for p in self.parameters if p.name not in table]
        if missing:
            raise InputError(
                f"parameters without a value: {', '.join(missing)}",
                expected="a number for each",
                remedy="parameters={…} in the field or in simulate",
            )
        return np.array([table[p.name] for p in self.parameters])

    # ---- its equations -----------------------------------------------------------------------

    def equations(self) -> list[sp.Eq]:
        """CS (24) and (25) in components: γ̇ᵢ = …, then μ̇ᵢ = … ."""
        place = self.place
        gamma = [sp.Function(x.name)(place, t) for x in self.strain]
        mu = [sp.Function(x.name)(place, t) for x in self.momentum]
        along = dict(zip((*self.strain, *self.momentum), (*gamma, *mu), strict=True))
        zeta = [sp.diff(self.density, x).xreplace(along) for x in self.momentum]
        stress = [sp.diff(self.density, x).xreplace(along) for x in self.strain]
        shift = self._uniform_reference()
        chi = [g + c for g, c in zip(gamma, shift, strict=True)]
        turned = self.algebra.bracket(chi, zeta)
        own = self.algebra.dual(zeta, mu)
        pulled = self.algebra.dual(chi, stress)
        first = [
            sp.Eq(sp.Derivative(g, t), sp.diff(z, place) + b, evaluate=False)
            for g, z, b in zip(gamma, zeta, turned, strict=True)
        ]
        second = [
            sp.Eq(sp.Derivative(m, t), o + sp.diff(n, place) - p, evaluate=False)
            for m, o, n, p in zip(mu, own, stress, pulled, strict=True)
        ]
        return first + second

    def _uniform_reference(self) -> list[sp.Expr]:
        """χ₀ as numbers where it is the same everywhere, as functions of s where it is not."""
        if not self._varies:
            return [sp.nsimplify(float(x)) for x in self.reference[0]]
        return [sp.Function(f"chi0_{x.name}")(self.place) for x in self.strain]

    def bracket(
        self, strain: Any = None, momentum: Any = None, *, printed: bool = False
    ) -> DiscreteBracket:
        """The discrete Poisson bracket (33) at a state; see `DiscreteBracket`."""
        return DiscreteBracket(self, strain, momentum, printed)

    def latex(self) -> str:
        """The equations, as LaTeX."""
        lines = [f"{latex(e.lhs)} &= {latex(e.rhs)}" for e in self.equations()]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        ends = "periodic" if self.periodic else f"ends {self.ends[0]} and {self.ends[1]}"
        words = f"Field on {self.algebra.name}, length {self.length:g}, {self.nodes} nodes, {ends}"
        rows = [("h", excerpt(self.density))]
        if self.size <= WRITTEN:
            rows += [(latex(e.lhs), excerpt(e.rhs)) for e in self.equations()]
        return block(rows, words)

    def __repr__(self) -> str:
        ends = "periodic" if self.periodic else f"ends {self.ends[0]} and {self.ends[1]}"
        return f"Field({self.algebra.name}, h = {self.density}, {self.nodes} nodes, {ends})"


def _listed(what: str, given: Any) -> list:
    """A list of what is given for each dimension of the algebra."""
    if isinstance(given, str):
        return given.split()
    return listed(f"the {what}", given, "a list, as long as the algebra has dimensions")
