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

Source: Demoures et al. 2015, Numer. Math. 130, 73 (strains by Cayley's map); Betsch & Steinmann
2002, Comput. Methods Appl. Mech. Engrg. 191, 467 (beams in directors, frame indifference).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import sympy as sp

from taut.model.mechanism.library import Piece, Written
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import PLATE, Side, Vector, cross, dot, minus, scaled

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
    (xa, ea), (xb, eb) = first, second
    q = [[dot(x, y) for y in eb] for x in ea]
    away = minus(xb, xa)
    y = (dot(ea[0], away), dot(ea[1], away), dot(ea[2], away))
    share = 2 / (1 + q[0][0] + q[1][1] + q[2][2])
    k = scaled(share, (q[2][1] - q[1][2], q[0][2] - q[2][0], q[1][0] - q[0][1]))
    across, along = cross(k, y), dot(k, y)
    v = [y[i] - across[i] / 2 + k[i] * along / 4 for i in range(3)]
    return (*k, *v)


def _local(a: Part, b: Part, mounts: tuple[Mount, Mount]):
    """Both sides in local symbols, Δs, and the strains γ, with their constants."""
    sides = Side(a.shape, "a"), Side(b.shape, "b")
    nodes = [mount.seen(side) for mount, side in zip(mounts, sides, strict=True)]
    spacing = sp.Symbol("Delta_s", positive=True)
    reference = sp.symbols("chi1:7", real=True)
    moved = turned(nodes[0], nodes[1])
    strain = tuple(x / spacing - r for x, r in zip(moved, reference, strict=True))
    constants = [*sides[0].constants, *sides[1].constants, spacing, *reference]
    return sides, spacing, strain, constants


def _stiffness(full: bool) -> tuple[list[sp.Symbol], dict[tuple[int, int], sp.Symbol]]:
    """Symbols of the entries of C, all of its upper half or those on its diagonal."""
    places = HALVES if full else [(i, i) for i in SIX]
    symbols = [sp.Symbol(f"C{i + 1}{j + 1}", real=True) for i, j in places]
    return symbols, dict(zip(places, symbols, strict=True))


def _elastic(a: Part, b: Part, mounts: tuple[Mount, Mount], full: bool) -> Written:
    """−½ Δs γᵀC γ."""
    sides, spacing, strain, constants = _local(a, b, mounts)
    symbols, entries = _stiffness(full)
    parts = (c * strain[i] * strain[j] / (2 if i == j else 1) for (i, j), c in entries.items())
    q = [*sides[0].coordinates, *sides[1].coordinates]
    v = [*sides[0].rates, *sides[1].rates]
    return q, v, [*constants, *symbols], [-spacing * sp.Add(*parts)]


_WRITTEN: dict[tuple, Written] = {}  # the same in all mechanisms


def piece(
    a: Part, b: Part, mounts: tuple[Mount, Mount], spacing: float, reference: np.ndarray,
    stiffness: np.ndarray,
) -> Piece:  # fmt: skip
    """The strain energy of a beam between the nodes that two parts carry."""
    full = bool(np.count_nonzero(stiffness - np.diag(np.diagonal(stiffness))))
    entries = [stiffness[i, j] for i, j in HALVES] if full else list(np.diagonal(stiffness))
    key = ("beam", mounts[0].key, mounts[1].key, full)
    values = [*mounts[0].values, *mounts[1].values, spacing, *reference, *entries]

    def write() -> Written:
        if key not in _WRITTEN:
            _WRITTEN[key] = _elastic(a, b, mounts, full)
        return _WRITTEN[key]

    return Piece("lagrangian", key, write, [*a.indices, *b.indices], values)
