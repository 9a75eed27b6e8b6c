"""A conserved quantity, and a set of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Any

import sympy as sp

from taut.calls import public
from taut.model.latex import array, block, excerpt, formula, latex, listed
from taut.text import aligned, counted, tex

WIDTH = 100  # of a line
SHOWN = 24  # laws that a notebook shows


@public
@dataclass(frozen=True)
class Symmetry:
    r"""The symmetry that gives a law by Noether's theorem.

    t → t + ε ξ₀, q → q + ε ξ leave the action unchanged up to a boundary term:

    .. math:: L_t ξ_0 + L_q·ξ + L_{\dot q}·\dot ξ + (L − L_{\dot q}·\dot q)\,\dot ξ_0 = −\dot G,
              \qquad I = L ξ_0 + L_{\dot q}·(ξ − \dot q ξ_0) + G.

    Attributes
    ----------
    xi0 : Expr
    xi : tuple of Expr
    gauge : Expr
        G.
    point : bool
        Whether ξ₀ and ξ depend on t and q alone.
    """

    xi0: sp.Expr
    xi: tuple[sp.Expr, ...]
    gauge: sp.Expr
    point: bool


@public
@dataclass(frozen=True, eq=False)
class Law:
    """A conserved quantity.

    Attributes
    ----------
    expression : Expr
        Of the model's own symbols.
    kind : str
        ``"energy"``, ``"momentum"``, ``"angular momentum"``, …
    degree : int
        In the generators of the ansatz it was found in.
    symmetry : Symmetry or None
        Where the model has a Lagrangian.
    verified : str
        How.
    condition : str
        On parameters or on a level set, under which it holds; empty if there is none.
    """

    expression: sp.Expr
    kind: str
    degree: int
    verified: str
    symmetry: Symmetry | None = None
    condition: str = ""

    @property
    def point(self) -> bool | None:
        """Whether it comes from a point symmetry; None without a Lagrangian."""
        return None if self.symmetry is None else self.symmetry.point

    def latex(self) -> str:
        """For a paper."""
        return latex(self.expression)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        s = self.symmetry
        noether = None
        if s is not None:
            noether = {"xi0": str(s.xi0), "xi": [str(x) for x in s.xi], "gauge": str(s.gauge)}
        return {
            "expression": str(self.expression),
            "kind": self.kind,
            "degree": self.degree,
            "verified": self.verified,
            "condition": self.condition,
            "point": self.point,
            "symmetry": noether,
            "latex": self.latex(),
        }

    def _repr_latex_(self) -> str:
        rows = [(excerpt(self.expression), tex("const"))]
        if self.symmetry is not None:
            s = self.symmetry
            rows += [
                (r"\xi_0,\ \xi", f"{excerpt(s.xi0)},\\ {listed(s.xi)}"),
                ("G", excerpt(s.gauge)),
            ]
        return block(rows, self.kind + (f", {self.condition}" if self.condition else ""))

    def __str__(self) -> str:
        return str(self.expression)

    def __repr__(self) -> str:
        return f"Law({self.kind}: {self.expression})"


@public
class Laws(list):
    """A list of `Law`, with what is known of them together.

    Attributes
    ----------
    rank : int
        How many are functionally independent.
    independent : list of Law
        As many, chosen in order; at almost all states the others are functions of them.
    complete : str
        What the set is complete in: a theorem where there is one.
    bounds : tuple of Counted
        How many laws of each degree in the velocities are known, and can be at most.
    stopped : str
        Beyond what was not looked for laws, and why; empty if the search came to its end.
    """

    stopped: str = ""

    def __init__(
        self,
        laws: Iterable[Law],
        rank: int,
        chosen: Iterable[int],
        complete: str,
        bounds: Iterable[Any] = (),
    ) -> None:
        super().__init__(laws)
        self.rank, self.complete, self.bounds = rank, complete, tuple(bounds)
        self.independent = [self[i] for i in chosen]

    def latex(self) -> str:
        """All of them, one per line, for an ``align`` environment."""
        return " \\\\\n".join(f"I_{{{i}}} &= {x.latex()}" for i, x in enumerate(self, 1))

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "laws": [law.to_dict() for law in self],
            "rank": self.rank,
            "independent": [self.index(law) for law in self.independent],
            "complete": self.complete,
            "bounds": [asdict(x) for x in self.bounds],
        }

    def _proofs(self) -> str:
        """How many are proved by normal form, and how many at random points."""
        formal = sum(x.verified == "normal form" for x in self)
        if formal == len(self):
            return ", proved by normal form"
        return f", {formal} proved by normal form, the rest at random points modulo primes"

    def _count(self) -> str:
        """How many there are."""
        if not self:
            return "no laws"
        return f"{counted(len(self), 'law')}, {self.rank} independent{self._proofs()}"

    def _told(self) -> str:
        return fill(self.complete, WIDTH, break_on_hyphens=False)

    def __str__(self) -> str:
        rows = [(law.kind, str(law.expression), law.condition) for law in self]
        return "\n".join([*(aligned(rows) if rows else []), self._count(), self._told()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        rows = [
            (tex(x.kind), f"I_{{{i}}} = {excerpt(x.expression)}", tex(x.condition))
            for i, x in enumerate(self[:SHOWN], 1)
        ]
        rest = [f"and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        told = [*rest, self._count(), *self._told().splitlines()]
        above = [array(rows)] if rows else []
        return formula(array([(x,) for x in (*above, *map(tex, told))]))
