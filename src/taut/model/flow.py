"""`Flow`: a first-order system ẋ = f(x, t), such as Euler's equations of a rigid body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import sympy as sp

from taut.calls import public
from taut.errors import ModelError, listed
from taut.model.drawing import Drawing
from taut.model.shown import flow_latex
from taut.model.symbols import scalar, t
from taut.model.system import System
from taut.model.terms import whole


@public
class Flow:
    r"""A system of first order, ẋ = f(x, t).

    Parameters
    ----------
    variables : sequence of Symbol
    rhs : sequence of Expr, or mapping variable → Expr
        f; every other symbol in it is a parameter, but for ``taut.t``.
    drawing : Drawing, optional
        How it looks in plots, reports and animations; see `taut.Drawing`.

    Examples
    --------
    >>> import sympy as sp, taut
    >>> x, y = sp.symbols("x y")
    >>> taut.Flow([x, y], [y, -x])
    Flow: 2 variables
    """

    def __init__(
        self,
        variables: Sequence[sp.Symbol],
        rhs: Sequence[Any] | Mapping,
        *,
        drawing: Drawing | None = None,
    ) -> None:
        self.variables = tuple(
            scalar(x, "a variable of a flow") for x in listed("variables", variables)
        )
        for x in self.variables:
            if not isinstance(x, sp.Symbol):
                raise ModelError("a variable of a flow is not a symbol", received=str(x))
        if len(set(self.variables)) < len(self.variables) or not self.variables:
            raise ModelError(
                "the variables of a flow must differ", received=", ".join(map(str, self.variables))
            )
        if isinstance(rhs, Mapping):
            missing = [str(x) for x in self.variables if x not in rhs]
            extra = [str(x) for x in rhs if x not in self.variables]
            if missing or extra:
                raise ModelError(
                    "right-hand sides do not fit the variables",
                    expected="one for each variable",
                    received=f"none for {missing}, and some for {extra}",
                )
            rhs = [rhs[x] for x in self.variables]
        rhs = listed("the right-hand sides", rhs)
        if len(rhs) != len(self.variables):
            raise ModelError(
                "right-hand sides do not fit the variables",
                expected=f"{len(self.variables)} expressions",
                received=len(rhs),
            )
        # A name is one symbol, however its assumptions were written.
        own = {s.name: s for s in (*self.variables, t)}
        if len(own) <= len(self.variables):
            raise ModelError(
                "the variables of a flow must have different names, and none of them t",
                received=", ".join(map(str, self.variables)),
            )
        given = [scalar(x, f"the rate of {v}") for x, v in zip(rhs, self.variables, strict=True)]
        self.rhs = tuple(
            e.xreplace({s: own[s.name] for s in e.free_symbols if s.name in own}) for e in given
        )
        times = [s for e in given for s in e.free_symbols if s.name == t.name and s != t]
        # How the flow spells time, where that is not as it is spelled here.
        self.foreign: dict[sp.Symbol, sp.Basic] = {t: times[0]} if times else {}
        self.drawing = drawing
        if drawing is not None:
            _ = self.system  # a drawing that does not fit is refused here, where it was given

    @cached_property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """Every symbol that is neither a variable nor time, by name."""
        free = set().union(*(e.free_symbols for e in self.rhs)) - {*self.variables, t}
        return tuple(sorted(free, key=lambda s: s.name))

    @cached_property
    def system(self) -> System:
        """What is simulated: x as coordinates, ẋ as velocities, and p·f at p = 0 as the energy."""
        made = System.from_terms(
            self.variables,
            [whole("flow", self.variables, self.rhs)],
            parameters=[s.name for s in self.parameters],
            drawing=self.drawing,
        )
        made.flow = self
        return made

    @property
    def _symbols(self) -> tuple[sp.Symbol, ...]:
        return (*self.variables, *self.parameters, t)

    def read(self, expression: Any) -> sp.Expr:
        """An expression in the flow's own symbols, whatever their assumptions."""
        expression = getattr(expression, "expression", expression)
        own = {s.name: s for s in self._symbols}
        e = scalar(expression, "the expression", known=own)
        stray = sorted(s.name for s in e.free_symbols if s.name not in own)
        if stray:
            raise ModelError(
                f"the expression contains {', '.join(stray)}, which the flow does not know",
                expected="its variables, parameters and t",
                received=str(e)[:120],
            )
        return e.xreplace({s: own[s.name] for s in e.free_symbols})

    def spelled(self, expression: sp.Expr) -> sp.Expr:
        """An expression in the symbols that the flow was written in: `read` the other way."""
        return expression.xreplace(self.foreign)

    def _repr_latex_(self) -> str:
        return flow_latex(self)

    def __repr__(self) -> str:
        count = f"Flow: {len(self.variables)} variable{'s'[: len(self.variables) > 1]}"
        names = ", ".join(s.name for s in self.parameters)
        return f"{count}, parameters {names}" if names else count
