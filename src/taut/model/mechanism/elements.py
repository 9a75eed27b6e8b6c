"""The strain energy of a beam between two nodes, written in the directors of the nodes.

A node has a frame R (columns: the local axes, the second one tangent) at a place x.  From node a to
node b, with Q = RₐᵀR_b and y = Rₐᵀ(x_b − xₐ),

    k = 2 (Q₃₂ − Q₂₃, Q₁₃ − Q₃₁, Q₂₁ − Q₁₂)/(1 + tr Q),        v = y − ½ k × y + ¼ k (k·y),
    γ = (k, v)/Δs − χ₀,                                        U = ½ Δs γᵀC γ:

Δs χ = (k, v) is the motion whose adjoint Cayley map leads from one frame to the other, as in
`taut.Beam`: both are the same discrete beam.  Q and y are products of directors, so that γ does not
change when everything is moved (it is objective), it is zero in all rigid motions of the reference
shape, and there is no square root in it.  k is singular where the beam turns by half a turn between
two nodes.  γ is the strain at the middle of the piece to second order in Δs, and exact where it is
constant along the piece, up to the factor tan(θ/2)/(θ/2) of Cayley's map, θ = |κ|Δs.

A beam that is damped has the stress C(γ + τ γ̇), as `taut.Beam` has: forces −∂R/∂q̇ of Rayleigh's
function

    R = ½ τ Δs γ̇ᵀC γ̇,        γ̇ = (k̇, v̇)/Δs,
    k̇ = 2 (Q̇₃₂ − Q̇₂₃, …)/(1 + tr Q) − k tr Q̇/(1 + tr Q),
    v̇ = ẏ − ½ (k̇ × y + k × ẏ) + ¼ (k̇ (k·y) + k (k̇·y + k·ẏ)),

which do work −2R and, as R does not change when all is moved, neither push nor turn the beam.

Source: Demoures et al. 2015, Numer. Math. 130, 73 (strains by Cayley's map); Betsch & Steinmann
2002, Comput. Methods Appl. Mech. Engrg. 191, 467 (beams in directors, frame indifference).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import sympy as sp

from taut.model.mechanism.library import Piece, Written
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import PLATE, Side, Vector, cross, dot, minus, scaled
from taut.model.terms import Kind

SIX = range(6)
Six = tuple[sp.Expr, ...]
Frame = tuple[Vector, Vector, Vector]
HALVES = list(combinations_with_replacement(SIX, 2))  # entries of a symmetric matrix


@dataclass(frozen=True)
class Mount:
    """How the frame of a node sits on the part that carries its inertia.

    Attributes
    ----------
    shape : str
        Of the part.
    order : tuple of int
        Which local axis each principal axis is, from 0; empty if they are turned, or if the centre
        of mass is not at the node: then both are said by constants.
    values : tuple of float
        Those constants.
    """

    shape: str
    order: tuple[int, ...]
    values: tuple[float, ...] = ()

    @property
    def key(self) -> tuple:
        return self.shape, self.order

    def seen(self, side: Side) -> tuple[Vector, Frame]:
        """The place and the local axes of the node, in the symbols of its part."""
        if not self.order:
            place = side.place()
            return place, (side.vector(), side.vector(), side.vector())
        d = list(side.directors.values())
        if side.shape is PLATE:
            d.append(cross(d[0], d[1]))
        own = dict(zip(self.order, d, strict=True))
        return side.centre, (own[0], own[1], own[2])


def mounted(part: Part, place: np.ndarray) -> Mount:
    """How the local frame, which is the user's frame of `part`, sits on it; the node is at a place.

    The place is given in space at the start.
    """
    here = np.abs(part.axes) == 1.0
    straight = here.sum() == 3 and np.all(part.axes[here] > 0)
    if straight and np.array_equal(place, part.position):
        return Mount(part.shape.name, tuple(int(np.argmax(x)) for x in here.T))
    what = f"node {part.name}"
    rows = [part.on(place, what), *(part.along(axis, what) for axis in part.rotation.T)]
    return Mount(part.shape.name, (), tuple(float(x) for x in np.concatenate(rows)))


# ---- strains ----------------------------------------------------------------------------------


def turned(first: tuple[Vector, Frame], second: tuple[Vector, Frame]) -> Six:
    """(k, v) = Δs χ from one node to the next."""
    return _turned(*_apart(first, second))[0]


Square = list[list[sp.Expr]]


def _apart(first: tuple[Vector, Frame], second: tuple[Vector, Frame]) -> tuple[Square, Vector]:
    """Q and y."""
    (xa, ea), (xb, eb) = first, second
    away = minus(xb, xa)
    return [[dot(x, y) for y in eb] for x in ea], _vector(dot(x, away) for x in ea)


def _turned(q: Square, y: Vector) -> tuple[Six, sp.Expr, Vector, sp.Expr]:
    """(k, v), and what it is made of: 2/(1 + tr Q), k and k·y."""
    share = 2 / (1 + _trace(q))
    k = scaled(share, _axial(q))
    across, along = cross(k, y), dot(k, y)
    v = [y[i] - across[i] / 2 + k[i] * along / 4 for i in range(3)]
    return (*k, *v), share, k, along


def turning(q: Square, y: Vector, q_dot: Square, y_dot: Vector) -> Six:
    """The rate of (k, v)."""
    _, share, k, along = _turned(q, y)
    slower = share * _trace(q_dot) / 2
    k_dot = minus(scaled(share, _axial(q_dot)), scaled(slower, k))
    across = [a + b for a, b in zip(cross(k_dot, y), cross(k, y_dot), strict=True)]
    more = dot(k_dot, y) + dot(k, y_dot)
    v_dot = [y_dot[i] - across[i] / 2 + (k_dot[i] * along + k[i] * more) / 4 for i in range(3)]
    return (*k_dot, *v_dot)


def _axial(q: Square) -> Vector:
    return q[2][1] - q[1][2], q[0][2] - q[2][0], q[1][0] - q[0][1]


def _trace(q: Square) -> sp.Expr:
    return q[0][0] + q[1][1] + q[2][2]


def _vector(given: Iterable[sp.Expr]) -> Vector:
    x, y, z = given
    return x, y, z


class _Edge:
    """A piece of a beam in local symbols: both sides, their nodes, and constants."""

    def __init__(self, a: Part, b: Part, mounts: tuple[Mount, Mount], full: bool) -> None:
        self.sides = Side(a.shape, "a"), Side(b.shape, "b")
        nodes = [mount.seen(side) for mount, side in zip(mounts, self.sides, strict=True)]
        self.first, self.second = nodes
        self.spacing = sp.Symbol("Delta_s", positive=True)
        self.reference = sp.symbols("chi1:7", real=True)
        places = HALVES if full else [(i, i) for i in SIX]
        symbols = [sp.Symbol(f"C{i + 1}{j + 1}", real=True) for i, j in places]
        self.entries = dict(zip(places, symbols, strict=True))
        own = [x for side in self.sides for x in side.constants]
        self.constants = [*own, self.spacing, *self.reference, *symbols]
        self.q = [x for side in self.sides for x in side.coordinates]
        self.v = [x for side in self.sides for x in side.rates]

    def square(self, strain: Sequence[sp.Expr]) -> sp.Expr:
        """½ Δs xᵀC x."""
        parts = (
            c * strain[i] * strain[j] / (2 if i == j else 1) for (i, j), c in self.entries.items()
        )
        return self.spacing * sp.Add(*parts)

    def elastic(self) -> Written:
        """−½ Δs γᵀC γ."""
        moved = turned(self.first, self.second)
        strain = [x / self.spacing - r for x, r in zip(moved, self.reference, strict=True)]
        return self.q, self.v, self.constants, [-self.square(strain)]

    def viscous(self) -> Written:
        """R = ½ τ Δs γ̇ᵀC γ̇."""
        (xa, ea), (xb, eb) = self.first, self.second
        xa_dot, *ea_dot = (self.sides[0].rate(x) for x in (xa, *ea))
        xb_dot, *eb_dot = (self.sides[1].rate(x) for x in (xb, *eb))
        q, y = _apart(self.first, self.second)
        one, _ = _apart((xa, _frame(ea_dot)), self.second)
        two, y_dot = _apart((xa_dot, ea), (xb_dot, _frame(eb_dot)))
        away = minus(xb, xa)
        q_dot = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(one, two, strict=True)]
        y_dot = _vector(dot(e, away) + w for e, w in zip(ea_dot, y_dot, strict=True))
        rate = [x / self.spacing for x in turning(q, y, q_dot, y_dot)]
        time = sp.Symbol("tau", positive=True)
        return self.q, self.v, [*self.constants, time], [time * self.square(rate)]


def _frame(given: Sequence[Vector]) -> Frame:
    x, y, z = given
    return x, y, z


_WRITTEN: dict[tuple, Written] = {}  # the same in all mechanisms


def _written(
    key: tuple, a: Part, b: Part, mounts: tuple[Mount, Mount], full: bool, dissipates: bool
) -> Written:
    if key not in _WRITTEN:
        edge = _Edge(a, b, mounts, full)
        _WRITTEN[key] = edge.viscous() if dissipates else edge.elastic()
    return _WRITTEN[key]


def pieces(
    a: Part, b: Part, mounts: tuple[Mount, Mount], spacing: float, reference: np.ndarray,
    stiffness: np.ndarray, damping: float,
) -> list[Piece]:  # fmt: skip
    """The strain energy of a beam between the nodes that two parts carry, and what damps it."""
    full = bool(np.count_nonzero(stiffness - np.diag(np.diagonal(stiffness))))
    entries = [stiffness[i, j] for i, j in HALVES] if full else list(np.diagonal(stiffness))
    values = [*mounts[0].values, *mounts[1].values, spacing, *reference, *entries]
    indices = [*a.indices, *b.indices]

    def made(kind: Kind, what: str, values: list[float], dissipates: bool) -> Piece:
        key = (what, mounts[0].key, mounts[1].key, full)
        write = partial(_written, key, a, b, mounts, full, dissipates)
        return Piece(kind, key, write, indices, values, (), dissipates)

    found = [made("lagrangian", "beam", values, False)]
    return [*found, made("force", "damped beam", [*values, damping], True)] if damping else found
