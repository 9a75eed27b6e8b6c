"""Parts of a mechanism: what they weigh, where they start, and where things are on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from taut import portable
from taut.errors import InputError, ModelError, brief, number
from taut.lie import SO3
from taut.model.mechanism.shapes import BODY, GROUND, PLATE, POINT, ROD, Shape
from taut.portable import asymmetry, norm, product

THIN = 1e-10  # of the largest moment of inertia: an extent below it is none
UNIT = 1e-9  # a quaternion's length may be off by this


@dataclass(eq=False)
class Part:
    """A point mass, a rigid body, or the ground.

    Attributes
    ----------
    name : str
    shape : Shape
    mass : float
    inertia : ndarray, shape (3,)
        Principal moments Jᵢ about the centre of mass.
    axes : ndarray, shape (3, 3)
        Columns: the principal axes in the frame that the user gave the inertia in.
    position, velocity : ndarray, shape (3,)
        Of the centre of mass, at the start.
    rotation : ndarray, shape (3, 3)
        Of the user's frame, at the start; columns are its axes in space.
    angular_velocity : ndarray, shape (3,)
        In space, at the start.
    first : int
        Number of its first coordinate in the mechanism.
    looks : dict
        How it is drawn, as far as the user said.
    """

    name: str
    shape: Shape
    mass: float = 0.0
    inertia: np.ndarray = field(default_factory=lambda: np.zeros(3))
    axes: np.ndarray = field(default_factory=lambda: np.eye(3))
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    angular_velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    first: int = 0
    looks: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        what = "the ground" if self.shape is GROUND else f"{self.shape.name} {self.name!r}"
        return f"<{what}>"

    @property
    def indices(self) -> list[int]:
        """Numbers of its coordinates."""
        return list(range(self.first, self.first + self.shape.size))

    @property
    def directors(self) -> np.ndarray:
        """Columns: principal axes in space at the start."""
        return product(self.rotation, self.axes)

    @property
    def extents(self) -> np.ndarray:
        """Eᵢ = (J₁ + J₂ + J₃)/2 − Jᵢ, as short decimals where the moments are."""
        return np.array(_extents(tuple(self.inertia.tolist())))

    @property
    def masses(self) -> list[float]:
        """What multiplies ½ q̇² of each coordinate."""
        extents = self.extents
        turning = [extents[k - 1] for k in self.shape.directors]
        return [float(x) for x in (*[self.mass] * 3, *np.repeat(turning, 3))]

    # ---- where things are on it ----------------------------------------------------------------

    def on(self, place: Any, what: str) -> np.ndarray:
        """The constants of a place, given in space at the start."""
        what = f"the place of {what}"
        at = vector(what, place)
        away = at - self.position
        if self.shape is POINT:
            if np.abs(away).max() > 1e-9 * max(1.0, float(np.abs(self.position).max())):
                raise ModelError(
                    f"{what} is not where the point {self.name} is",
                    expected=f"{self.position.tolist()}",
                    received=f"{at.tolist()}",
                    remedy="a point has no other places; use a body",
                )
            return np.zeros(0)
        return self._reached(away, what, at)

    def along(self, direction: Any, what: str) -> np.ndarray:
        """The constants of a direction, given in space at the start."""
        if not self.shape.turns:
            raise ModelError(
                f"{what} holds on to a direction of {self.name}, which is a point",
                expected="a body, which has directions",
                remedy=f'm.body("{self.name}", …), or a spherical joint',
            )
        what = f"a direction of {what}"
        found = vector(what, direction)
        return self._reached(found, what, found)

    def _reached(self, away: np.ndarray, what: str, given: np.ndarray) -> np.ndarray:
        if self.shape is GROUND:
            return away
        found = product(self.directors.T, away)
        reach = list(self.shape.reach)
        if self.shape is ROD and np.abs(found[:2]).max() > 1e-9 * (np.abs(found).max() + 1e-300):
            raise ModelError(
                f"{what} is beside the axis of the thin rod {self.name}",
                expected=f"places and directions along its axis, {_told(self.directors[:, 2])} "
                f"from {_told(self.position)}: turning about it has no meaning",
                received=f"{_told(given)} in space",
                remedy="give the rod a moment of inertia about its axis",
            )
        return found[reach]


@dataclass(eq=False)
class Counter(Part):
    """A coordinate of its own that is no part: an angle that counts turns, or s on a curve.

    Attributes
    ----------
    joint : str
        Whose it is.
    """

    joint: str = ""

    def __repr__(self) -> str:
        return f"<coordinate {self.name!r} of joint {self.joint}>"


def starts(parts: Sequence[Part]) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of parts at the start, one part after the other."""
    alike: dict[Shape, list[tuple[Part, int]]] = {}
    size = 0
    for part in parts:
        alike.setdefault(part.shape, []).append((part, size))
        size += part.shape.size
    q, v = np.empty(size), np.empty(size)
    for shape, members in alike.items():
        first = np.array([at for _, at in members])[:, None]
        few, carries = min(shape.size, 3), len(shape.directors)
        centre = first + np.arange(few)
        q[centre] = np.stack([part.position[:few] for part, _ in members])
        v[centre] = np.stack([part.velocity[:few] for part, _ in members])
        axes = np.stack([part.directors for part, _ in members]).transpose(0, 2, 1)
        carried = axes[:, [k - 1 for k in shape.directors]]
        x, y, z = np.stack([part.angular_velocity for part, _ in members]).T[:, :, None]
        a, b, c = carried.transpose(2, 0, 1)
        moving = np.stack([y * c - z * b, z * a - x * c, x * b - y * a], axis=2)
        turning = first + few + np.arange(3 * carries)
        q[turning] = carried.reshape(len(members), -1)
        v[turning] = moving.reshape(len(members), -1)
    return q, v


@lru_cache(maxsize=1024)
def _extents(inertia: tuple[float, ...]) -> tuple[float, ...]:
    moments = np.array(inertia)
    half = float(moments.sum()) / 2
    digits = 15 - int(np.floor(np.log10(half))) if half > 0 else 0
    return tuple(np.round(half - moments, digits).tolist())


def ground() -> Part:
    """What does not move."""
    return Part("ground", GROUND)


def point(name: str, mass: Any, at: Any, velocity: Any) -> Part:
    """A point mass."""
    where = f"point {name}"
    return Part(
        name, POINT, weight(where, mass),
        position=vector(f"the place of {where}", at),
        velocity=vector(f"the velocity of {where}", velocity),
    )  # fmt: skip


def body(
    name: str,
    mass: Any,
    inertia: Any,
    at: Any,
    rotation: Any,
    velocity: Any,
    spin: Any,
    body_spin: Any = None,
) -> Part:
    """A rigid body; thin rods and plates are recognised by their inertia."""
    where = f"body {name}"
    turned = rotation_of(where, rotation)
    omega = vector(f"the angular velocity of {where}", spin)
    if body_spin is not None:
        if omega.any():
            raise ModelError(
                f"two angular velocities of {where}",
                expected="angular_velocity in space, or body_angular_velocity in its own axes",
            )
        omega = product(turned, vector(f"the angular velocity of {where}", body_spin))
    moments, axes = principal(where, inertia)
    shape, moments, axes = _shaped(moments, axes)
    return Part(
        name, shape, weight(where, mass), moments, axes,
        vector(f"the place of {where}", at), vector(f"the velocity of {where}", velocity),
        turned, omega,
    )  # fmt: skip


def _shaped(moments: np.ndarray, axes: np.ndarray) -> tuple[Shape, np.ndarray, np.ndarray]:
    """The shape, with axes in an order in which a rod lies along the third, a plate across it."""
    extents = moments.sum() / 2 - moments
    thin = extents <= THIN * moments.max()
    if thin.sum() == 0:
        return BODY, moments, axes
    if thin.sum() == 3:
        raise ModelError("a body without extent is a point", remedy="m.point(…)")
    special = int(np.flatnonzero(~thin)[0]) if thin.sum() == 2 else int(np.flatnonzero(thin)[0])
    order = [(special + 1) % 3, (special + 2) % 3, special]
    return ROD if thin.sum() == 2 else PLATE, moments[order], axes[:, order]


def _told(given: np.ndarray) -> str:
    """Three numbers in a message, without what rounding leaves of zeros."""
    small = 1e-12 * float(np.abs(given).max())
    return f"({', '.join(f'{x:.6g}' for x in np.where(np.abs(given) <= small, 0.0, given))})"


# ---- what is given ----------------------------------------------------------------------------


def vector(what: str, given: Any) -> np.ndarray:
    """Three finite numbers."""
    try:
        found = np.array(given, dtype=float)
    except Exception as error:  # things of somebody's own raise what they like
        raise InputError(
            f"{what} cannot be read", expected="three numbers", received=brief(given)
        ) from error
    if found.shape != (3,) or not np.all(np.isfinite(found)):
        raise InputError(
            f"{what} cannot be used", expected="three finite numbers", received=brief(given)
        )
    return found


def direction(what: str, given: Any) -> np.ndarray:
    """A vector of length one along what is given."""
    found = vector(what, given)
    largest = float(np.abs(found).max())
    if largest == 0:
        raise InputError(f"{what} has no direction", expected="a vector that is not zero")
    if largest <= 1 and abs(float(norm(found)) - 1) <= 4 * np.finfo(float).eps:
        return found  # as it is, so that what is written to a file comes back
    found = found / largest  # whose squares neither vanish nor overflow
    return found / float(norm(found))


def weight(where: str, given: Any) -> float:
    """A positive mass."""
    found = number(f"the mass of {where}", given)
    if not found > 0:
        raise ModelError(
            f"the mass of {where} is not positive",
            expected="a positive number",
            received=found,
            remedy="what has no mass is a place on something else, or on m.ground",
        )
    return found


def principal(where: str, given: Any) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments of inertia and their axes, (3,) and (3, 3); physical ones only."""
    what = f"the inertia of {where}"
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{what} cannot be read",
            expected="three principal moments, or a 3 × 3 matrix",
            received=brief(given),
        ) from error
    if found.shape not in ((3,), (3, 3)) or not np.all(np.isfinite(found)):
        raise InputError(
            f"{what} cannot be used",
            expected="three finite principal moments, or a 3 × 3 matrix",
            received=brief(given),
        )
    axes = np.eye(3)
    if found.ndim == 2:
        if asymmetry(found) is not None:
            raise ModelError(f"{what} is not symmetric", received=found.tolist())
        if np.count_nonzero(found - np.diag(np.diagonal(found))):
            found, axes = portable.principal((found + found.T) / 2)
        else:
            found = np.diagonal(found).copy()
    largest = float(found.max())
    extents = found.sum() / 2 - found
    if not found.any():
        raise ModelError(
            f"{what} is zero",
            expected="three moments of which two at least are positive",
            received=f"principal moments {found.tolist()}",
            remedy="m.point(…) is a mass without extent; a thin rod has (J, J, 0), a plate "
            "J₁ + J₂ = J₃",
        )
    if not largest > 0 or extents.min() < -1e-9 * largest or found.min() < -1e-12 * largest:
        raise ModelError(
            f"{what} is not that of a body",
            expected="J₁ + J₂ ≥ J₃ for each, and none negative",
            received=f"principal moments {found.tolist()}",
            remedy="check the order and the signs: moments are about the centre of mass",
        )
    return found, axes


def rotation_of(where: str, given: Any) -> np.ndarray:
    """A rotation matrix from one, from a unit quaternion (w, x, y, z), or from nothing."""
    if given is None:
        return np.eye(3)
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the rotation of {where} cannot be read",
            expected="a 3 × 3 rotation, or a quaternion (w, x, y, z)",
            received=brief(given),
        ) from error
    if found.shape == (4,):
        length = float(norm(found))
        if not abs(length - 1) <= UNIT:
            raise ModelError(
                f"the quaternion of {where} is no rotation",
                expected="w² + x² + y² + z² = 1",
                received=f"length {length:.6g}",
                remedy="divide it by its length",
            )
        return SO3.from_quaternion(found)
    if found.shape != (3, 3):
        raise InputError(
            f"the rotation of {where} has the wrong shape",
            expected="a 3 × 3 rotation, or a quaternion (w, x, y, z)",
            received=f"shape {found.shape}",
            remedy='taut.rotation((α, β, γ), "zxz") makes one of angles',
        )
    SO3.check(found, f"the rotation of {where}")
    return found
