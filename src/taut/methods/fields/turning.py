"""An edge that turns between two times: forces that keep energy and momenta, and their slopes.

The equations are those of `implicit`, over dual numbers; this is what they come to at one edge.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from taut.methods.fields.dual import Matrix, Vector, cross, dot, hat, rotation, tangent, turned

ONE = np.eye(3)


class Turning:
    """The motion of an edge in one step.

    Parameters
    ----------
    a : Vector
        Half vector of the edge before the step, a = Δs χ/2.
    b : (Vector, Vector)
        Half vectors of the motions of both ends.

    Attributes
    ----------
    c : Dual
        Its real part is not positive where the ends are turned against each other by half a turn.
    change : Vector
        a' − a, without cancellation.
    """

    def __init__(self, a: Vector, b: tuple[Vector, Vector]) -> None:
        self.a, self.b = a, b
        self.beta = turned(-a, b[0])
        q = b[1] - self.beta - cross(self.beta, b[1])
        along = dot(a, q)
        self.c = 1 + dot(self.beta, b[1]) - along
        self.s = self.c.inverse()
        self.change = self.s * (q + cross(a, q) + along * a)
        self.e = 0.5 * (self.beta + b[1])
        self.half = (0.5 * (1 + dot(a, a))) * self.s

    def forces(self, n: Vector) -> tuple[Vector, Vector]:
        """On both ends, with the stress n."""
        y = self._pull(n)
        far = turned(self.a, y)
        return 0.5 * (far - cross(self.b[0], far)), -0.5 * (y - cross(self.b[1], y))

    def _sides(self, n: Vector) -> tuple[Vector, Vector, Vector]:
        """The terms n + f⁻¹n before the step, and U_j n and f⁻¹U_i n after it."""
        first, second = self.b
        return n + turned(-self.a, n), turned(second, n), turned(-self.a, turned(first, n))

    def _pull(self, n: Vector) -> Vector:
        """The vector y that both forces are made of."""
        before, one, two = self._sides(n)
        after = one + two
        return self.half * (before + after + cross(self.e, before - after))

    # ---- slopes ------------------------------------------------------------------------------

    @cached_property
    def strains(self) -> tuple[Matrix, Matrix]:
        """∂a'/∂b of both ends."""
        after = self.a + self.change
        first, second = self.b
        return (
            -(1 + dot(first, first)).inverse() * (tangent(-after) @ (ONE - hat(first))),
            (1 + dot(second, second)).inverse() * (tangent(after) @ (ONE - hat(second))),
        )

    def by_stress(self) -> Matrix:
        """∂y/∂n."""
        back = rotation(-self.a)
        before, after = ONE + back, rotation(self.b[1]) + back @ rotation(self.b[0])
        return self.half * (before + after + hat(self.e) @ (before - after))

    def by_ends(self, n: Vector) -> tuple[Matrix, Matrix]:
        """∂y/∂b of both ends, at fixed n."""
        a, (first, second), beta = self.a, self.b, self.beta
        before, one, two = self._sides(n)
        y, back = self._pull(n), rotation(-a)
        late = ONE - hat(self.e)
        around = hat(before - one - two)

        def by(part: Vector, b: Vector, seen: Matrix | None, opening: Vector) -> Matrix:
            spread = (2 * (1 + dot(b, b)).inverse()) * (ONE + hat(b))  # δU U⁻¹ = spread δb
            spread = spread if seen is None else seen @ spread
            link = ONE if seen is None else seen
            found = late @ (hat(part) @ spread) + 0.5 * (around @ link)
            return -(self.half * found) - np.outer(y, self.s * opening)

        there = turned(a, second)
        return (
            by(two, first, back, there + a - cross(a, there)),
            by(one, second, None, beta - a + cross(a, beta)),
        )

    def on_ends(self) -> tuple[Matrix, Matrix]:
        """The matrices that make forces of y."""
        first, second = self.b
        return 0.5 * ((ONE - hat(first)) @ rotation(self.a)), -0.5 * (ONE - hat(second))

    def turning(self, n: Vector) -> tuple[Matrix, Matrix]:
        """Slopes of the forces by b of their own ends, at fixed y."""
        y = self._pull(n)
        return 0.5 * hat(turned(self.a, y)), -0.5 * hat(y)
