"""A system is a sum of terms, and a term is one expression mapped over its instances.

A hand-written model is one term of one instance; a chain of 1000 rods is one type of term with
1000 instances.  Kernels are compiled per type, so that the cost of compiling a model does not
depend on how many parts it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import ModelError, brief, flag, listed, text
from taut.model.symbols import free_symbols, name_of, scalar, t

Kind = Literal["lagrangian", "hamiltonian", "flow", "constraint", "force"]
KINDS: tuple[str, ...] = get_args(Kind)


@public
@dataclass(frozen=True, eq=False)
class Term:
    """One type of term with all its instances.

    Parameters
    ----------
    kind : str
        ``"lagrangian"`` (a summand of L; a potential U is −U here), ``"hamiltonian"``,
        ``"flow"`` (ẋ = f, see `taut.Flow`), ``"constraint"`` or ``"force"``.
    coordinates : sequence of Symbol, length k
        The local coordinates the expressions are written in.
    expressions : sequence of Expr
        One for an energy, m for constraints, k for forces and flows (one per local coordinate).
    indices : array_like of int, shape (I, k)
        Which coordinates of the system the local ones are, for each instance.
    rates : sequence of Symbol, length k, optional
        Local velocities (momenta for a Hamiltonian), where they occur.
    constants : sequence of Symbol, optional
        Symbols with a value of their own in each instance.
    values : array_like, shape (I, len(constants)), optional
    names : sequence of str, optional
        Names of the constraints, I·m of them, instance by instance.
    dissipates : bool
        Of a force: its one expression is Rayleigh's function R(q, q̇), and it is −∂R/∂q̇.
    """

    kind: Kind
    coordinates: tuple[sp.Symbol, ...]
    expressions: tuple[sp.Expr, ...]
    indices: np.ndarray
    rates: tuple[sp.Symbol, ...] = ()
    constants: tuple[sp.Symbol, ...] = ()
    values: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    names: tuple[str, ...] = ()
    dissipates: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise ModelError(
                f"a term cannot be of kind {brief(self.kind)}",
                expected="one of " + ", ".join(KINDS),
            )
        where = f"a {self.kind} term"
        for name in ("coordinates", "rates", "constants"):
            symbols = listed(f"the {name} of {where}", getattr(self, name), "a list of symbols")
            _ = [name_of(x) for x in symbols]  # says what is none
            put(self, name, tuple(symbols))
        names = listed(f"the names of {where}", self.names, "a list of names")
        put(self, "names", tuple(text(f"a name of {where}", x) for x in names))
        given = listed(f"the expressions of {where}", self.expressions)
        put(self, "expressions", tuple(scalar(e, where) for e in given))
        put(self, "dissipates", flag("dissipates", self.dissipates))
        put(self, "indices", self._table("indices", np.int64, len(self.coordinates)))
        plain = isinstance(self.values, np.ndarray) and not self.values.size
        if not plain or self.constants:
            values = self._table("values", float, len(self.constants))
        else:
            values = np.zeros((len(self.indices), 0))
        put(self, "values", values)
        self._check()

    def _table(self, name: str, kind: type, columns: int) -> np.ndarray:
        """One of the tables, a row per instance."""
        given = getattr(self, name)
        try:
            table = np.asarray(given)
            table = table[:, None] if table.ndim == columns == 1 else np.atleast_2d(table)
            with np.errstate(invalid="ignore"):
                exact = table.astype(kind)
        except Exception as error:  # things of somebody's own raise what they like
            raise ModelError(
                f"the {name} of a term are not numbers", received=brief(given)
            ) from error
        rows = len(self.indices) if name != "indices" else max(len(table), 1)
        if exact.shape != (rows, columns) or (kind is np.int64 and np.any(exact != table)):
            raise ModelError(
                f"the {name} of a term do not fit it",
                expected=f"shape ({rows if name != 'indices' else 'instances'}, {columns})"
                + (", whole numbers" if kind is np.int64 else ""),
                received=f"shape {table.shape}, {table.dtype}",
            )
        return exact

    def _check(self) -> None:
        k, instances = len(self.coordinates), len(self.indices)
        wanted = {"lagrangian": 1, "hamiltonian": 1, "flow": k, "force": k}.get(self.kind)
        if self.dissipates:
            wanted = 1
            if self.kind != "force" or not self.rates:
                raise ModelError("what dissipates is a force that depends on rates")
        if wanted is not None and len(self.expressions) != wanted:
            raise ModelError(
                f"a {self.kind} term has the wrong number of expressions",
                expected=wanted,
                received=len(self.expressions),
            )
        if self.rates and len(self.rates) != k:
            raise ModelError(
                "a term needs one rate per coordinate", expected=k, received=len(self.rates)
            )
        if self.names and len(self.names) != instances * len(self.expressions):
            raise ModelError(
                "a constraint term needs one name per instance and expression",
                expected=instances * len(self.expressions),
                received=len(self.names),
            )
        ordered = np.sort(self.indices, axis=1)
        if np.any(ordered[:, 1:] == ordered[:, :-1]):
            raise ModelError("an instance of a term uses a coordinate twice")
        if not np.all(np.isfinite(self.values)):
            raise ModelError("the constants of a term are not finite")

    @property
    def forces(self) -> tuple[sp.Expr, ...]:
        """Of a force: one expression per local coordinate."""
        if self.dissipates:
            return tuple(-self.expressions[0].diff(rate) for rate in self.rates)
        return self.expressions

    @property
    def instances(self) -> int:
        """Number of instances."""
        return len(self.indices)

    @cached_property
    def free_symbols(self) -> set[sp.Symbol]:
        """Of all its expressions."""
        return free_symbols(*self.expressions)

    def known_symbols(self) -> set[sp.Symbol]:
        """Symbols an expression of this term may use besides the system's parameters."""
        return {*self.coordinates, *self.rates, *self.constants, t}


def whole(
    kind: Kind,
    coordinates: Sequence[sp.Symbol],
    expressions: Sequence[sp.Expr],
    rates: Sequence[sp.Symbol] = (),
    names: Sequence[str] = (),
) -> Term:
    """The one-instance term of a hand-written model: all coordinates, in order."""
    return Term(
        kind=kind,
        coordinates=tuple(coordinates),
        expressions=tuple(expressions),
        indices=np.arange(len(coordinates))[None, :],
        rates=tuple(rates),
        values=np.zeros((1, 0)),
        names=tuple(names),
    )
