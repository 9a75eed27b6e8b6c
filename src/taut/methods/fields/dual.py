"""Dual numbers x + εy with ε² = 0, and vectors of them: motions as rotations over dual numbers.

A velocity or strain (k, v) stands for k + εv.  A momentum or force (Π, P) stands for P + εΠ, so
that its pairing with a velocity, Π·k + P·v, is the dual part of their scalar product, and the
transpose of a dual matrix is its transpose.  Every formula for rotations then holds for motions
(Kotelnikov's principle of transference).

Entries may be anything that adds and multiplies.  Vectors and matrices are NumPy arrays of `Dual`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Six = Any  # something with six entries
Vector = np.ndarray  # of 3 dual numbers
Matrix = np.ndarray  # of 3 × 3


class Dual:
    """x + εy."""

    __slots__ = ("x", "y")

    def __init__(self, x: Any, y: Any = 0) -> None:
        self.x, self.y = x, y

    def __neg__(self) -> Dual:
        return Dual(-self.x, -self.y)

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.x + other.x, self.y + other.y)
        return Dual(self.x + other, self.y)

    def __sub__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.x - other.x, self.y - other.y)
        return Dual(self.x - other, self.y)

    def __rsub__(self, other: Any) -> Dual:
        return Dual(other - self.x, -self.y)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            return Dual(self.x * other.x, self.x * other.y + self.y * other.x)
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy multiplies every entry
        return Dual(self.x * other, self.y * other)

    def inverse(self) -> Dual:
        """1/(x + εy) = 1/x − εy/x²."""
        one = 1 / self.x
        return Dual(one, -(self.y * one) * one)

    __radd__, __rmul__ = __add__, __mul__


def motion(xi: Six) -> Vector:
    """The vector k + εv of a velocity or strain (k, v)."""
    return np.array([Dual(xi[i], xi[i + 3]) for i in range(3)])


def load(m: Six) -> Vector:
    """P + εΠ of a momentum or force (Π, P)."""
    return np.array([Dual(m[i + 3], m[i]) for i in range(3)])


def dot(a: Vector, b: Vector) -> Dual:
    """The scalar product a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """The vector a × b."""
    return np.array([a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)])


def hat(a: Vector) -> Matrix:
    """The matrix of x ↦ a × x."""
    none = Dual(0)
    return np.array([[none, -a[2], a[1]], [a[2], none, -a[0]], [-a[1], a[0], none]])


def turned(a: Vector, x: Vector) -> Vector:
    """R x of the rotation with the half vector a: x + 2(a × x + a × (a × x))/(1 + a·a)."""
    once = cross(a, x)
    return x + (2 * (1 + dot(a, a)).inverse()) * (once + cross(a, once))


def rotation(a: Vector) -> Matrix:
    """The same as a matrix."""
    return np.array([turned(a, e) for e in np.eye(3)]).T


def tangent(a: Vector) -> Matrix:
    """M(a) = 1 + a× + a aᵀ: the half vector a of R changes by M(a) δ/2 where R⁻¹δR = δ×."""
    return np.eye(3) + hat(a) + np.outer(a, a)
