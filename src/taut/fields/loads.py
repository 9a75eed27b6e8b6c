"""Forces and moments on a beam.

A load acts at one node or all along the beam (then per length), and is dead (it keeps its direction
in space) or a follower (it turns with the local frame, in whose components it is given).
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from taut.model.symbols import t

s = sp.Symbol("s", real=True)  # the place along a beam


@dataclass(frozen=True)
class Load:
    """One load.

    Attributes
    ----------
    node : int or None
        Where it acts; ``None`` is all along the beam, per length (see `taut.fields.spread`).
    moment, force : three expressions of t (and of s, if distributed)
    follower : bool
    span : (int, int), optional
        Nodes of the beam, in a mesh, that a distributed load acts along: first, and after the last.
    """

    node: int | None
    moment: tuple[sp.Expr, ...]
    force: tuple[sp.Expr, ...]
    follower: bool
    span: tuple[int, int] | None = None

    @property
    def wrench(self) -> tuple[sp.Expr, ...]:
        """Moment and force."""
        return (*self.moment, *self.force)

    @property
    def steady(self) -> bool:
        """Whether it does not depend on time."""
        return not any(x.has(t) for x in self.wrench)


@dataclass(frozen=True)
class Body:
    """A rigid body that is fixed to a node: its inertia there, shape (6, 6), flattened."""

    node: int
    inertia: tuple[float, ...]
