"""Lie algebras and groups as data: structure constants, and maps between vectors and matrices.

Algebras (`so3`, `se2`, `se3`, `abelian`, `algebra` of any structure constants) have brackets and
dual brackets, of arrays and of expressions.  Groups (`SO3`, `SE2`, `SE3`, `translations`) have exp,
log, Cayley's maps, adjoint maps and tangents, of arrays.  Both have products.
"""

from taut.lie.algebras import Algebra
from taut.lie.angles import euler, rotation
from taut.lie.group import Group
from taut.lie.known import abelian, algebra, se2, se3, so3
from taut.lie.motions import SE3
from taut.lie.planar import SE2
from taut.lie.products import product, translations
from taut.lie.rotations import SO3

__all__ = [
    "Algebra", "abelian", "algebra", "se2", "se3", "so3",
    "Group", "SE2", "SE3", "SO3", "translations",
    "product", "euler", "rotation",
]  # fmt: skip
