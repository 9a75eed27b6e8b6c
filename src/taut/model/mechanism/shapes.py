"""The four shapes of parts: which coordinates each has, and what can be written in them.

A part has the place r of its centre of mass and some *directors*, its principal axes dᵢ as vectors
in space.  Every place and every direction fixed to the part is linear in these:

    P = r + Σ Xᵢ dᵢ,      T = ½ m |ṙ|² + ½ Σ Eᵢ |ḋᵢ|²,      Eᵢ = ∫ Xᵢ² dm = (J₁ + J₂ + J₃)/2 − Jᵢ,

with a constant, diagonal mass and no singular angles (Betsch & Steinmann 2001).  Directors stay
orthonormal by constraints.  A part without extent along an axis has no inertia Eᵢ there, so it does
not carry that director:

| shape | directors  | constraints | of what                                               |
|-------|------------|-------------|-------------------------------------------------------|
| point | none       | 0           | a point mass                                          |
| rod   | d₃         | 1           | E₁ = E₂ = 0; turning about its axis has no meaning    |
| plate | d₁, d₂     | 3           | E₃ = 0; d₃ = d₁ × d₂                                  |
| body  | d₁, d₂, d₃ | 6           | everything else                                       |

The ground has no coordinates: its places and directions are numbers.  A *number* is a coordinate of
its own: an angle that counts turns, or a place on a curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

Vector = tuple[sp.Expr, sp.Expr, sp.Expr]
AXES = "xyz"

# Names of symbols that belong to one term alone end in this, and names of parts do not.
INNER = "__"


def inner(*names: str) -> tuple[sp.Symbol, ...]:
    """Symbols of a term's own."""
    return tuple(sp.Symbol(name + INNER, real=True) for name in names)


@dataclass(frozen=True)
class Shape:
    """A kind of part.

    Attributes
    ----------
    name : str
    directors : tuple of int
        Which of 1, 2, 3 it carries.
    """

    name: str
    directors: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of coordinates."""
        if self.name in ("ground", "number"):
            return int(self.name == "number")
        return 3 + 3 * len(self.directors)

    @property
    def turns(self) -> bool:
        """Whether directions can be fixed to it."""
        return bool(self.directors) or self.name == "ground"

    def names(self, part: str) -> list[str]:
        """Names of the coordinates of a part of this shape."""
        if self.name in ("ground", "number"):
            return [part] * self.size
        centre = [f"{axis}_{part}" for axis in AXES]
        return centre + [f"d{k}{axis}_{part}" for k in self.directors for axis in AXES]

    @property
    def reach(self) -> tuple[int, ...]:
        """Which numbers of (X₁, X₂, X₃) say where a place on it is."""
        if self.name == "point":
            return ()
        return (2,) if self.name == "rod" else (0, 1, 2)

    def __reduce__(self) -> str:
        return self.name.upper()  # there is one of each, in pickles and copies, too


GROUND = Shape("ground")
NUMBER = Shape("number")  # an angle that counts turns, or a place on a curve
POINT = Shape("point")
ROD = Shape("rod", (3,))
PLATE = Shape("plate", (1, 2))
BODY = Shape("body", (1, 2, 3))


class Side:
    """One of the parts that a joint or a force holds on to, in local symbols.

    `place` and `vector` declare the constants that say where on the part, in the order of the
    calls; an instance has a value for each.

    Parameters
    ----------
    shape : Shape
    tag : str
        Keeps the symbols of two sides apart; what `INNER` adds, from those of any part.
    """

    def __init__(self, shape: Shape, tag: str) -> None:
        self.shape, self.tag = shape, tag + INNER
        names = shape.names(self.tag)
        self.coordinates = tuple(sp.Symbol(name, real=True) for name in names)
        self.rates = tuple(sp.Symbol(f"{name}_dot", real=True) for name in names)
        self.constants: list[sp.Symbol] = []

    def place(self) -> Vector:
        """A place fixed to the part."""
        given = self._declared("X", self.shape.reach)
        if self.shape is GROUND:
            return _vector(given)
        return _sum(_vector(self.coordinates[:3]), self._along(given))

    def vector(self) -> Vector:
        """A direction fixed to the part."""
        given = self._declared("u", self.shape.reach)
        return _vector(given) if self.shape is GROUND else self._along(given)

    def rate(self, vector: Vector) -> Vector:
        """The time derivative of a place or a direction of this part."""
        moved = [
            sp.Add(*(e.diff(q) * v for q, v in zip(self.coordinates, self.rates, strict=True)))
            for e in vector
        ]
        return _vector(moved)

    @cached_property
    def directors(self) -> dict[int, Vector]:
        """The directors that the part carries."""
        found = {}
        for k, number in enumerate(self.shape.directors):
            found[number] = _vector(self.coordinates[3 + 3 * k : 6 + 3 * k])
        return found

    @property
    def centre(self) -> Vector:
        """The centre of mass."""
        return _vector(self.coordinates[:3])

    def pushed(self, force: Vector, place: Vector) -> list[sp.Expr]:
        """The generalised force of a force at a place of this part: (∂P/∂q)ᵀ F."""
        return [
            sp.Add(*(p.diff(q) * f for p, f in zip(place, force, strict=True)))
            for q in self.coordinates
        ]

    def turned(self, torque: Vector) -> list[sp.Expr]:
        """The generalised force of a torque τ: what makes Σ fᵢ·(δθ × dᵢ) = τ·δθ.

        With three directors fᵢ = ½ τ × dᵢ; with d₁ and d₂ alone f₁ = −τ₂ d₃ + ½ τ₃ d₂ and
        f₂ = τ₁ d₃ − ½ τ₃ d₁; with d₃ alone τ × d₃, as a torque about the axis does nothing.
        """
        d = self.directors
        none = [sp.Integer(0)] * 3
        if self.shape is ROD:
            return [*none, *cross(torque, d[3])]
        if self.shape is PLATE:
            third = cross(d[1], d[2])
            t1, t2, t3 = (dot(torque, x) for x in (d[1], d[2], third))
            first = _sum(scaled(-t2, third), scaled(t3 / 2, d[2]))
            second = _sum(scaled(t1, third), scaled(-t3 / 2, d[1]))
            return [*none, *first, *second]
        return [*none, *(e / 2 for k in (1, 2, 3) for e in cross(torque, d[k]))]

    def _declared(self, letter: str, which: Sequence[int]) -> list[sp.Symbol]:
        number = len(self.constants)
        made = [sp.Symbol(f"{letter}{number}_{k}_{self.tag}", real=True) for k in which]
        self.constants += made
        return made

    def _along(self, given: Sequence[sp.Symbol]) -> Vector:
        """Σ Xᵢ dᵢ."""
        axes = dict(self.directors)
        if self.shape is PLATE:
            axes[3] = cross(axes[1], axes[2])
        numbers = [k + 1 for k in self.shape.reach]
        parts = [scaled(x, axes[k]) for x, k in zip(given, numbers, strict=True)]
        return _sum(*parts) if parts else _vector([sp.Integer(0)] * 3)


# ---- vectors ----------------------------------------------------------------------------------


def _vector(given: Sequence[sp.Expr]) -> Vector:
    x, y, z = given
    return x, y, z


def _sum(*vectors: Vector) -> Vector:
    return _vector([sp.Add(*parts) for parts in zip(*vectors, strict=True)])


def minus(a: Vector, b: Vector) -> Vector:
    """The difference a − b."""
    return _vector([x - y for x, y in zip(a, b, strict=True)])


def scaled(factor: sp.Expr, a: Vector) -> Vector:
    """A multiple of a."""
    return _vector([factor * x for x in a])


def dot(a: Vector, b: Vector) -> sp.Expr:
    """The product a·b."""
    return sp.Add(*(x * y for x, y in zip(a, b, strict=True)))


def cross(a: Vector, b: Vector) -> Vector:
    """The product a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )
