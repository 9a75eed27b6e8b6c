"""What acts on a mesh at one time: loads, gravity, and where held ends are moved to.

Everything is an array in which a load factor is linear, so that a path of loads leads from one
`Applied` to another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import InputError
from taut.fields.mesh import Mesh
from taut.fields.spread import Spread, spread
from taut.lie import SO3
from taut.model.symbols import t


@dataclass(frozen=True)
class Applied:
    """Loads as numbers.

    Attributes
    ----------
    dead, follower : ndarray, shape (N, 6)
        Moments and forces on nodes, in space and in local frames.
    gravity : ndarray, shape (3,)
    moved : ndarray, shape (holds, 6)
        Rotation vector and displacement, in space, of each held end.
    """

    dead: np.ndarray
    follower: np.ndarray
    gravity: np.ndarray
    moved: np.ndarray

    def towards(self, other: Applied, factor: float) -> Applied:
        """What acts between this one, at the factor 0, and another, at 1; or beyond them."""
        parts = ("dead", "follower", "gravity", "moved")
        mine, its = ([getattr(x, name) for name in parts] for x in (self, other))
        return Applied(*((1 - factor) * a + factor * b for a, b in zip(mine, its, strict=True)))

    def poses(self, mesh: Mesh) -> np.ndarray:
        """Where the held nodes are, shape (holds, 4, 4), if what is free there did not move."""
        found = mesh.pose[[h.node for h in mesh.holds]]
        found[:, :3, :3] = SO3.exp(self.moved[:, :3]) @ found[:, :3, :3]
        found[:, :3, 3] += self.moved[:, 3:]
        return found


def nothing(mesh: Mesh) -> Applied:
    """No loads, no gravity, ends where they start."""
    n = mesh.nodes
    return Applied(np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(3), np.zeros((len(mesh.holds), 6)))


def applied_at(mesh: Mesh, time: float) -> Applied:
    """What acts at a time."""
    found, led = nothing(mesh), [joint.follower for joint in mesh.joints]
    for load in mesh.loads:
        onto = found.follower if load.follower else found.dead
        shares = spread(load, mesh.s, mesh.weight)
        # The mesh has put what acts on followers on their leaders.
        mine = ~np.isin(shares.nodes, led)
        nodes, rows = shares.nodes[mine], shares.rows[mine]
        np.add.at(onto, nodes, _numbers(mesh, replace(shares, nodes=nodes, rows=rows), time))
    for k, hold in enumerate(mesh.holds):
        given = (hold.end.rotation, hold.end.position)
        for part, what, entries in zip((0, 3), ("rotation", "position"), given, strict=True):
            if entries is not None:
                row = [float(values_of(x, None, time)[0]) for x in entries]
                _check(mesh, f"the {what} of an end", np.array([row]), [hold.node], time)
                found.moved[k, part : part + 3] = row
    found.gravity[:] = mesh.gravity
    return found


def _numbers(mesh: Mesh, shares: Spread, time: float) -> np.ndarray:
    """Moments and forces of shares, shape (shares, 6)."""
    found = np.stack([values_of(x, shares, time) for x in shares.wrench], axis=1)
    for what, part in (("moment", found[:, :3]), ("force", found[:, 3:])):
        _check(mesh, f"a {what}", part, shares.nodes, time)
    return found


def values_of(expression: sp.Expr, shares: Spread | None, time: float | np.ndarray) -> np.ndarray:
    """An expression of t and of the numbers of shares, at all of them; NaN where it is not real.

    At one share, or at none, at several times.
    """
    rows = np.zeros((1, 0)) if shares is None else shares.rows
    size = np.broadcast_shapes((len(rows),), np.shape(time))
    if expression.is_Number:
        return np.full(size, float(expression))
    function = sp.lambdify((t, *(shares.symbols if shares else ())), expression, "numpy")
    with np.errstate(all="ignore"):
        try:
            found = np.asarray(function(time, *rows.T))
        except ZeroDivisionError:  # of Python's own numbers
            return np.full(size, np.nan)
    if np.iscomplexobj(found):
        found = np.where(np.imag(found) == 0, np.real(found), np.nan)
    return np.broadcast_to(found.astype(float), size)


def _check(mesh: Mesh, what: str, rows: np.ndarray, nodes: Any, time: float) -> None:
    bad = np.flatnonzero(~np.all(np.isfinite(rows), axis=1))
    if len(bad):
        raise InputError(
            f"{what} is not a number at {mesh.where(int(nodes[bad[0]]))}, t = {time:g}",
            expected="finite numbers",
            received="(" + ", ".join(f"{x:g}" for x in rows[bad[0]]) + ")",
            remedy="look at its expression there, or choose another time: loads_at=…",
        )
