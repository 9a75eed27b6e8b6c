"""Symmetries as they are given out: vector fields, what follows from them, and lists of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import sympy as sp

from taut.calls import public
from taut.errors import InputError, brief
from taut.laws.law import SHOWN, WIDTH, Law
from taut.model import t
from taut.model.latex import array, block, excerpt, formula, latex
from taut.text import aligned, tex


@public
@dataclass(frozen=True, eq=False)
class NoetherSymmetry:
    r"""A symmetry of the action, and its law.

    Attributes
    ----------
    xi0 : Expr
        t → t + ε ξ₀.
    xi : tuple of Expr
        q → q + ε ξ.
    gauge : Expr
        G; the action changes by −ε ∫ dG.
    law : Law
        :math:`I = L ξ_0 + L_{\dot q}·(ξ − \dot q ξ_0) + G`.
    verified : str
        How the identity was proved.
    condition : str
        On the parameters, under which it holds; empty if there is none.
    """

    coordinates: tuple[sp.Symbol, ...]
    xi0: sp.Expr
    xi: tuple[sp.Expr, ...]
    gauge: sp.Expr
    law: Law
    verified: str
    condition: str = ""

    @property
    def field(self) -> str:
        """As a differential operator, for people."""
        return operator(("t", *map(str, self.coordinates)), (self.xi0, *self.xi))

    def row(self) -> tuple[str, ...]:
        """For a table."""
        return (self.law.kind, self.field, str(self.gauge), str(self.law.expression))

    def row_latex(self) -> tuple[str, ...]:
        """For a table in LaTeX."""
        field = operator_latex((t, *self.coordinates), (self.xi0, *self.xi))
        return (tex(self.law.kind), field, excerpt(self.gauge), excerpt(self.law.expression))

    def _repr_latex_(self) -> str:
        _, field, gauge, law = self.row_latex()
        return block([("X", field), ("G", gauge), (law, tex("const"))], self.law.kind)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "xi0": str(self.xi0),
            "xi": [str(e) for e in self.xi],
            "gauge": str(self.gauge),
            "law": self.law.to_dict(),
            "verified": self.verified,
            "condition": self.condition,
        }

    def __str__(self) -> str:
        return f"{self.field}, G = {self.gauge}: {self.law.expression}"


@public
@dataclass(frozen=True, eq=False)
class LieSymmetry:
    r"""A symmetry of the equations of motion.

    Attributes
    ----------
    xi0 : Expr
    xi : tuple of Expr
    eta : tuple of Expr
        :math:`η = ξ − \dot q ξ_0`, the same symmetry at fixed time.
    verified, condition : str
    """

    coordinates: tuple[sp.Symbol, ...]
    xi0: sp.Expr
    xi: tuple[sp.Expr, ...]
    eta: tuple[sp.Expr, ...]
    verified: str
    condition: str = ""

    @property
    def field(self) -> str:
        """As a differential operator, for people."""
        return operator(("t", *map(str, self.coordinates)), (self.xi0, *self.xi))

    def row(self) -> tuple[str, ...]:
        """For a table."""
        return (self.field,)

    def row_latex(self) -> tuple[str, ...]:
        """For a table in LaTeX."""
        return (operator_latex((t, *self.coordinates), (self.xi0, *self.xi)),)

    def _repr_latex_(self) -> str:
        return block([("X", self.row_latex()[0])])

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "xi0": str(self.xi0),
            "xi": [str(e) for e in self.xi],
            "eta": [str(e) for e in self.eta],
            "verified": self.verified,
            "condition": self.condition,
        }

    def __str__(self) -> str:
        return self.field


@public
class Symmetries(list):
    """A list of symmetries that prints as a table.

    Attributes
    ----------
    head : tuple of str
        Names of the columns.
    complete : str
        What was searched.
    """

    def __init__(self, found: Iterable[Any], head: Sequence[str], complete: str) -> None:
        super().__init__(found)
        self.head, self.complete = tuple(head), complete

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"symmetries": [x.to_dict() for x in self], "complete": self.complete}

    def __str__(self) -> str:
        if not self:
            return f"none; {self.complete}"
        lines = aligned([self.head, *(x.row() for x in self)], head=True)
        return "\n".join(lines) + f"\n{len(self)} in all; {self.complete}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        if not self:
            return formula(tex(str(self)))
        rows = [x.row_latex() for x in self[:SHOWN]]
        rest = [f"and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        told = [*rest, *wrap(f"{len(self)} in all; {self.complete}", WIDTH)]
        return formula(array([(array(rows, self.head),), *((tex(x),) for x in told)]))


def operator(names: Sequence[str], parts: Sequence[sp.Expr]) -> str:
    """Σ part ∂name."""
    words = []
    for name, e in zip(names, parts, strict=True):
        if e == 0:
            continue
        if e == 1 or e == -1:
            word = f"∂{name}" if e == 1 else f"-∂{name}"
        else:
            word = f"({e}) ∂{name}" if e.is_Add else f"{e} ∂{name}"
        words.append(word)
    return " + ".join(words).replace("+ -", "- ") or "0"


def operator_latex(symbols: Sequence[sp.Symbol], parts: Sequence[sp.Expr]) -> str:
    """Σ part ∂symbol, as a formula."""
    words = []
    for symbol, e in zip(symbols, parts, strict=True):
        if e != 0:
            factor = {1: "", -1: "-"}.get(e)
            if factor is None:
                factor = rf"\left({excerpt(e)}\right)" if e.is_Add else excerpt(e)
            words.append(rf"{factor}\,\partial_{{{latex(symbol)}}}")
    return " + ".join(words).replace("+ -", "- ") or "0"


def parted(given: Any, count: int, more: int) -> list[Any]:
    """(ξ₀, ξ, …) with ξ of the right length, as one list; `more` entries may be left out."""
    given = list(given) if isinstance(given, list | tuple) else [given]
    if not 2 <= len(given) <= 2 + more:
        raise InputError(
            "this is no symmetry",
            expected="(xi0, xi)" if not more else "(xi0, xi, G)",
            received=brief(tuple(given), 120),
        )
    xi = given[1]
    single = not isinstance(xi, list | tuple | sp.MatrixBase)
    xi = [xi] if single else list(xi)
    if len(xi) != count:
        raise InputError(
            "ξ does not fit the coordinates", expected=f"{count} expressions", received=len(xi)
        )
    return [given[0], *xi, *given[2:], *[0] * (2 + more - len(given))]


__all__ = ["LieSymmetry", "NoetherSymmetry", "Symmetries"]
