"""A conserved quantity, and a set of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Any

import sympy as sp

from taut.text import aligned

WIDTH = 100  # of a line
DOT = "_dot"  # how names of velocities end


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
        dotted = {
            s: _dotted(s.name.removesuffix(DOT))
            for s in self.expression.free_symbols
            if s.name.endswith(DOT)
        }
        return sp.latex(self.expression, symbol_names=dotted)

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
        return f"${self.latex()}$"

    def __str__(self) -> str:
        return str(self.expression)

    def __repr__(self) -> str:
        return f"Law({self.kind}: {self.expression})"


def _dotted(name: str) -> str:
    """A velocity: the dot is over the letter, not over its index."""
    letter, _, index = sp.latex(sp.Symbol(name)).partition("_")
    return rf"\dot{{{letter}}}" + (f"_{index}" if index else "")


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
    """

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

    def __str__(self) -> str:
        told = fill(self.complete, WIDTH, break_on_hyphens=False)
        if not self:
            return f"no laws\n{told}"
        rows = [(law.kind, str(law.expression), law.condition) for law in self]
        count = f"{len(self)} law{'s'[: len(self) > 1]}, {self.rank} independent{self._proofs()}"
        return "\n".join([*aligned(rows), count, told])
