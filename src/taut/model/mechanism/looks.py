"""How parts are drawn where that is said: boxes, cylinders, balls and meshes fixed to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.errors import InputError, UnknownName, brief
from taut.model.mechanism.meshes import Mesh, mesh as mesh_of
from taut.model.mechanism.parts import Part, rotation_of, vector
from taut.model.mechanism.shapes import POINT

KINDS = ("box", "cylinder", "ball", "mesh")
WORDS = ("look", "size", "mesh", "colour")


@dataclass(frozen=True, eq=False)
class Look:
    """A shape fixed to a part.

    Attributes
    ----------
    kind : str
        "box", "cylinder" (along its third axis), "ball" or "mesh".
    size : ndarray, shape (3,)
        Its extents along its own axes; of a mesh 1, 1, 1.
    at, rotation : ndarray, shapes (3,), (3, 3)
        Where its middle (a mesh's origin) and its axes are, in space at the start.
    colour : str or None
        ``"#rrggbb"``; the part's own colour if None.
    mesh : Mesh or None
    """

    kind: str
    size: np.ndarray
    at: np.ndarray
    rotation: np.ndarray
    colour: str | None = None
    mesh: Mesh | None = None

    @property
    def corners(self) -> np.ndarray:
        """Of the box around it, in its own axes from its own origin, shape (2, 3)."""
        if self.mesh is not None:
            return np.array([self.mesh.vertices.min(axis=0), self.mesh.vertices.max(axis=0)])
        return np.array([-0.5 * self.size, 0.5 * self.size])


def look(
    part: Part,
    kind: Any,
    size: Any = None,
    at: Any = None,
    rotation: Any = None,
    colour: Any = None,
    mesh: Any = None,
) -> Look:
    """A shape fixed to a part, from what a user says."""
    what = f"the look of {part.name}"
    if part.shape is POINT:
        raise InputError(f"{part.name} is a point, which has no other look", expected="a body")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnknownName("look", kind, KINDS)
    if (kind == "mesh") != (mesh is not None) or (kind == "mesh") == (size is not None):
        raise InputError(
            f"{what} is not complete", expected='size=…, or mesh=… for the look "mesh"'
        )
    return Look(
        kind,
        np.ones(3) if size is None else extents(f"the size of {what[4:]}", size),
        part.position if at is None else vector(f"the place of {what[4:]}", at),
        part.rotation if rotation is None else rotation_of(what, rotation),
        None if colour is None else hexadecimal(part.name, colour),
        None if mesh is None else mesh_of(mesh),
    )


def read(part: Part, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said with a body: a look by its inertia, a size, a mesh, a colour."""
    for word in given:
        if word not in WORDS:
            raise UnknownName("look or argument of a body", word, WORDS)
    found: dict[str, Any] = {}
    if given.get("colour") is not None:
        found["colour"] = hexadecimal(part.name, given["colour"])
    if given.get("mesh") is not None:
        if given.get("look") is not None or given.get("size") is not None:
            raise InputError(f"{part.name} has a mesh and another look", expected="one of them")
        found["shapes"] = [look(part, "mesh", mesh=given["mesh"], colour=given.get("colour"))]
        return found
    if given.get("look") is not None:
        if not isinstance(given["look"], str) or given["look"] not in KINDS[:3]:
            raise UnknownName("look", given["look"], KINDS[:3], "mesh=… gives a mesh")
        found["look"] = given["look"]
    if given.get("size") is not None:
        found["size"] = extents(f"the size of {part.name}", given["size"])
        if not np.array_equal(part.axes, np.eye(3)):
            # Its principal axes are not its own, in which it is drawn.
            own = look(
                part, found.pop("look", "box"), found.pop("size"), colour=given.get("colour")
            )
            found |= {"shapes": [own], "named": True}
    return found


def extents(what: str, given: Any) -> np.ndarray:
    """Three positive numbers, or one for all."""
    try:
        found = np.broadcast_to(np.asarray(given, dtype=float), (3,)).copy()
    except (TypeError, ValueError, OverflowError):
        found = np.full(3, np.nan)
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError(
            f"{what} cannot be used", expected="one or three positive numbers",
            received=brief(given),
        )  # fmt: skip
    return found


def hexadecimal(what: str, given: Any) -> str:
    """A colour as "#rrggbb", from a name that Matplotlib knows or from numbers in 0 … 1."""
    from matplotlib.colors import to_hex

    try:
        return to_hex(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the colour of {what} is none",
            expected='"#rrggbb", a name such as "orange", or three numbers from 0 to 1',
            received=brief(given),
        ) from error
