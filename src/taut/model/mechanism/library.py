"""Types of terms with their instances: each is written down once, however many parts there are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from taut.model.mechanism.shapes import INNER
from taut.model.symbols import free_symbols
from taut.model.terms import Kind, Term

Written = tuple[Sequence[sp.Symbol], Sequence[sp.Symbol], Sequence[sp.Symbol], Sequence[sp.Expr]]


@dataclass
class Entry:
    """A type of term: its local symbols and expressions, and what its instances are."""

    kind: Kind
    coordinates: tuple[sp.Symbol, ...]
    rates: tuple[sp.Symbol, ...]
    constants: tuple[sp.Symbol, ...]
    expressions: tuple[sp.Expr, ...]
    dissipates: bool
    indices: list[Sequence[int]] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def term(self) -> Term:
        """With all its instances."""
        used = free_symbols(*self.expressions)
        return Term(
            kind=self.kind,
            coordinates=self.coordinates,
            expressions=self.expressions,
            indices=np.array(self.indices, dtype=np.int64).reshape(len(self.indices), -1),
            rates=self.rates if used & set(self.rates) or self.kind == "force" else (),
            constants=self.constants,
            values=np.array(self.values, dtype=float).reshape(len(self.indices), -1),
            names=tuple(self.names),
            dissipates=self.dissipates,
        )


@dataclass(frozen=True, eq=False)
class Piece:
    """One instance of a type.

    Attributes
    ----------
    kind : str
        Of the term.
    key : hashable
        Of the type.
    write : () → (coordinates, rates, constants, expressions)
        Called for the first instance of a type.
    indices : sequence of int
        Which coordinates of the mechanism the local ones are.
    values : array_like
        Of the constants.
    names : sequence of str
        Of the constraints.
    dissipates : bool
        Of a force that is given by Rayleigh's function.
    """

    kind: Kind
    key: Hashable
    write: Callable[[], Written]
    indices: Sequence[Any]
    values: Any
    names: Sequence[str] = ()
    dissipates: bool = False


class Library:
    """Types by key, in the order in which they first occur."""

    def __init__(self) -> None:
        self.entries: dict[Hashable, Entry] = {}

    def add(self, *pieces: Piece) -> None:
        """More instances; a type is written down when its first one comes."""
        for piece in pieces:
            entry = self._entry(piece)
            entry.indices.append(piece.indices)
            entry.values.append(piece.values)
            entry.names += piece.names

    def add_all(self, piece: Piece) -> None:
        """Many instances at once: tables of indices and values with a row for each."""
        entry = self._entry(piece)
        entry.indices += piece.indices
        entry.values += piece.values
        entry.names += piece.names

    def _entry(self, piece: Piece) -> Entry:
        key = (piece.kind, piece.key)
        if key not in self.entries:
            q, v, constants, rows = map(tuple, piece.write())
            # A control may be called m or mu, too.
            own = {x: _renamed(x) for x in constants}
            rows = tuple(e.xreplace(own) for e in rows)
            self.entries[key] = Entry(piece.kind, q, v, tuple(own.values()), rows, piece.dissipates)
        return self.entries[key]

    def terms(self) -> list[Term]:
        """All of them."""
        return [entry.term() for entry in self.entries.values()]


def _renamed(constant: sp.Symbol) -> sp.Symbol:
    """The same under a name that nothing of a user has."""
    if constant.name.endswith(INNER):
        return constant
    return sp.Symbol(constant.name + INNER, **constant._assumptions_orig)
