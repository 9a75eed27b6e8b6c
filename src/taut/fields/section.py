"""Cross-sections: what a beam's inertia and stiffness per length are made of.

Local axes 1 and 3 lie in the section, 2 is tangent to the beam.  Per length

    inertia    ρ diag(I₁, I₁ + I₃, I₃, A, A, A),
    stiffness  diag(E I₁, G J, E I₃, k₁ G A, E A, k₃ G A),

I₁ = ∫x₃² dA and I₃ = ∫x₁² dA being the second moments about the axes, J the torsion constant and k
the shear factors.  By default k = 1 and J = I₁ + I₃, as in CS (4) and in most benchmarks of
geometrically exact beams; ``shear="cowper"`` and ``torsion="saint-venant"`` are what a
three-dimensional body of that shape has (for a square, J is then 16 % smaller).

Sources: Cowper 1966 (shear factors); Timoshenko & Goodier 1970, §109 (torsion of rectangles).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import InputError, UnknownName, brief, number, word
from taut.text import table

POLAR, EXACT, COWPER = "polar", "saint-venant", "cowper"


def positive(what: str, value: Any) -> float:
    """A number above zero."""
    found = number(what, value, "a number above 0")
    if not found > 0:
        raise InputError(f"{what} is not positive", expected="a number above 0", received=found)
    return found


@public
@dataclass(frozen=True)
class Section(ABC):
    """A cross-section.

    Parameters
    ----------
    shear : float, (float, float) or "cowper"
        Shear factors k₁, k₃.
    torsion : "polar", "saint-venant" or float
        The torsion constant J: I₁ + I₃, that of the shape, or a number.
    """

    shear: Any = 1.0
    torsion: Any = POLAR

    def _check(self, **lengths: Any) -> None:
        for name, value in lengths.items():
            object.__setattr__(
                self, name, positive(f"the section's {name.replace('_', ' ')}", value)
            )
        self.factors(0.3)
        self.twist()

    @property
    @abstractmethod
    def area(self) -> float:
        """A."""

    @property
    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """I₁, I₃."""

    @abstractmethod
    def _cowper(self, poisson: float) -> float: ...

    @abstractmethod
    def _saint_venant(self) -> float: ...

    def twist(self) -> float:
        """The torsion constant J."""
        if isinstance(self.torsion, str):
            if self.torsion not in (POLAR, EXACT):
                raise UnknownName("torsion constant", self.torsion, (POLAR, EXACT))
            return sum(self.moments) if self.torsion == POLAR else self._saint_venant()
        return positive("the torsion constant", self.torsion)

    def factors(self, poisson: float) -> tuple[float, float]:
        """The shear factors k₁, k₃."""
        if isinstance(self.shear, str):
            word("shear factor", self.shear, (COWPER,))
            k = self._cowper(number("Poisson's ratio", poisson))
            return k, k
        try:
            given = np.ravel(np.asarray(self.shear, dtype=object))
        except Exception:  # things of somebody's own raise what they like
            given = np.zeros(0)
        if len(given) not in (1, 2):
            raise InputError(
                "the shear factors cannot be read",
                expected='a number, two numbers or "cowper"',
                received=brief(self.shear),
            )
        k = [positive("a shear factor", x) for x in given]
        return k[0], k[-1]

    def _options(self) -> str:
        """What is not as by default, as it is written in a call."""
        given = (("shear", self.shear, 1.0), ("torsion", self.torsion, POLAR))
        return "".join(f", {name}={x!r}" for name, x, plain in given if repr(x) != repr(plain))

    def _repr_html_(self) -> str:
        rows = [
            ("area A", f"{self.area:.6g}"),
            ("second moments I₁, I₃", "{:.6g}, {:.6g}".format(*self.moments)),
            ("torsion constant J", f"{self.twist():.6g} ({self.torsion})"),
            ("shear factors k₁, k₃", str(self.shear)),
        ]
        return table(rows, repr(self))

    def inertia(self, density: float) -> np.ndarray:
        """Per length, shape (6, 6)."""
        density = positive("the density", density)
        one, three = self.moments
        return density * np.diag([one, one + three, three, self.area, self.area, self.area])

    def stiffness(self, young: float, shear_modulus: float) -> np.ndarray:
        """Per length, shape (6, 6)."""
        young = positive("Young's modulus", young)
        shear_modulus = positive("the shear modulus", shear_modulus)
        one, three = self.moments
        k1, k3 = self.factors(young / (2 * shear_modulus) - 1)
        across, along = shear_modulus * self.area, young * self.area
        return np.diag(
            [
                young * one,
                shear_modulus * self.twist(),
                young * three,
                k1 * across,
                along,
                k3 * across,
            ]
        )


@public
@dataclass(frozen=True, repr=False)
class Rectangle(Section):
    """A rectangle: `width` along axis 1, `height` along axis 3."""

    width: float = 1.0
    height: float = 1.0

    def __init__(self, width: float, height: float, *, shear: Any = 1.0, torsion: Any = POLAR):
        self._set(shear=shear, torsion=torsion)
        self._check(width=width, height=height)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Rectangle({self.width:g}, {self.height:g}{self._options()})"

    @property
    def area(self) -> float:
        return self.width * self.height

    @property
    def moments(self) -> tuple[float, float]:
        return self.width * self.height**3 / 12, self.height * self.width**3 / 12

    def _cowper(self, poisson: float) -> float:
        return 10 * (1 + poisson) / (12 + 11 * poisson)

    def _saint_venant(self) -> float:
        a, b = max(self.width, self.height), min(self.width, self.height)
        series = sum(math.tanh(n * math.pi * a / (2 * b)) / n**5 for n in range(1, 41, 2))
        return a * b**3 * (1 / 3 - 64 / math.pi**5 * (b / a) * series)


@public
class Square(Rectangle):
    """A square."""

    def __init__(self, side: float, *, shear: Any = 1.0, torsion: Any = POLAR):
        super().__init__(side, side, shear=shear, torsion=torsion)

    def __repr__(self) -> str:
        return f"Square({self.width:g}{self._options()})"


@public
@dataclass(frozen=True, repr=False)
class Tube(Section):
    """A ring between two radii."""

    outer: float = 1.0
    inner: float = 0.0

    def __init__(self, outer: float, inner: float, *, shear: Any = 1.0, torsion: Any = POLAR):
        object.__setattr__(self, "shear", shear)
        object.__setattr__(self, "torsion", torsion)
        inside = number("the section's inner radius", inner)
        outside = positive("the section's outer radius", outer)
        if not 0 <= inside < outside:
            raise InputError(
                "a tube needs a wall",
                expected="0 ≤ inner < outer",
                received=f"inner {inside:g}, outer {outside:g}",
            )
        object.__setattr__(self, "inner", inside)
        self._check(outer=outside)

    def __repr__(self) -> str:
        return f"Tube({self.outer:g}, {self.inner:g}{self._options()})"

    @property
    def area(self) -> float:
        return math.pi * (self.outer**2 - self.inner**2)

    @property
    def moments(self) -> tuple[float, float]:
        one = math.pi / 4 * (self.outer**4 - self.inner**4)
        return one, one

    def _cowper(self, poisson: float) -> float:
        m = self.inner / self.outer
        square = (1 + m * m) ** 2
        return (
            6 * (1 + poisson) * square / ((7 + 6 * poisson) * square + (20 + 12 * poisson) * m * m)
        )

    def _saint_venant(self) -> float:
        return sum(self.moments)


@public
class Circle(Tube):
    """A full circle."""

    def __init__(self, radius: float, *, shear: Any = 1.0, torsion: Any = POLAR):
        super().__init__(radius, 0.0, shear=shear, torsion=torsion)

    def __repr__(self) -> str:
        return f"Circle({self.outer:g}{self._options()})"
