"""What rigid bodies are drawn as: what was said of them, or the solid that their inertia says.

A body of which nothing is said is the solid of uniform density that has its principal moments: a
box with sides √(12 Eᵢ/m), Eᵢ = (J₁ + J₂ + J₃)/2 − Jᵢ; a cylinder with radius 2 √(E₁/m) and height
√(12 E₃/m) where E₁ = E₂; a ball with radius √(5 E/m) where all are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taut.lie import SO3
from taut.model.mechanism.looks import Look
from taut.model.mechanism.meshes import Mesh
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import PLATE, ROD

ALIKE = 1e-6  # of the largest extent: two that differ by less are equal
THIN = 0.02  # of the largest side of a body: what it is drawn as thick at least


@dataclass(frozen=True)
class Drawn:
    """A shape as it is drawn, in the frame of a part's principal axes about its centre of mass.

    Attributes
    ----------
    look : str
        "box", "cylinder", "ball" or "mesh".
    size : (float, float, float)
    offset : ndarray, shape (3,)
    spin : ndarray, shape (4,)
        Quaternion (w, x, y, z).
    colour : str or None
    mesh : Mesh or None
    """

    look: str
    size: tuple[float, float, float]
    offset: np.ndarray = field(default_factory=lambda: np.zeros(3))
    spin: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    colour: str | None = None
    mesh: Mesh | None = None

    @property
    def radius(self) -> float:
        """How far it goes from its own middle."""
        if self.mesh is not None:
            return float(np.linalg.norm(self.mesh.vertices, axis=1).max())
        return 0.5 * max(self.size)

    @property
    def reach(self) -> float:
        """How far it goes from the centre of mass."""
        return float(np.linalg.norm(self.offset)) + self.radius


def shapes_of(part: Part) -> list[Drawn]:
    """All that a part is drawn as."""
    given = part.looks.get("shapes")
    if given:
        return [_placed(part, look) for look in given]
    look, size = shape_of(part)
    return [Drawn(look, size, colour=part.looks.get("colour"))]


def _placed(part: Part, look: Look) -> Drawn:
    frame = rod_frame(part.directors[:, 2]) if part.shape is ROD else part.directors
    spin = SO3._quaternion(frame.T @ look.rotation)
    colour = look.colour or part.looks.get("colour")
    x, y, z = (float(s) for s in look.size)
    return Drawn(look.kind, (x, y, z), frame.T @ (look.at - part.position), spin, colour, look.mesh)


def rod_frame(axis: np.ndarray) -> np.ndarray:
    """Axes of a thin rod, which knows but one of them, shape (…, 3, 3)."""
    axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    least = np.argmin(np.abs(axis), axis=-1)
    other = np.eye(3)[least]
    first = np.cross(other, axis)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, np.cross(axis, first), axis], axis=-1)


def shape_of(part: Part) -> tuple[str, tuple[float, float, float]]:
    """The solid that a body is drawn as, and its extents along its principal axes."""
    given = part.looks.get("look")
    size = part.looks.get("size")
    if given is not None or size is not None:
        return given or "box", _given_size(part, size)
    per_mass = np.maximum(part.extents, 0.0) / part.mass
    sides = np.sqrt(12 * per_mass)
    least = THIN * float(sides.max())
    if part.shape is ROD:
        return "cylinder", (least, least, float(sides[2]))
    if part.shape is PLATE:
        return "box", (float(sides[0]), float(sides[1]), least)
    close = np.abs(per_mass[:, None] - per_mass[None]) <= ALIKE * per_mass.max()
    if close.all():
        ball = 2 * float(np.sqrt(5 * per_mass[0]))
        return "ball", (ball, ball, ball)
    if close[0, 1]:
        width = 4 * float(np.sqrt(per_mass[0]))
        return "cylinder", (width, width, float(sides[2]))
    return "box", (float(sides[0]), float(sides[1]), float(sides[2]))


def _given_size(part: Part, size: Any) -> tuple[float, float, float]:
    found = np.sqrt(12 * np.maximum(part.extents, 0.0) / part.mass) if size is None else size
    x, y, z = (float(e) for e in np.broadcast_to(np.asarray(found, dtype=float), (3,)))
    return x, y, z


def as_data(shapes: list[list[Drawn]]) -> dict[str, Any]:
    """Shapes of several bodies as data of an `Item`; meshes that are used twice are there once.

    Returns
    -------
    dict
        ``owners``, ``looks``, ``sizes`` of every shape; if any has them, ``offsets``, ``spins``,
        ``colours``; and with meshes ``vertices`` (1, V, 3), ``faces`` (1, F, 3), and ``meshes``:
        for each shape the first and last row of its vertices and of its faces, or None.
    """
    flat = [(k, shape) for k, own in enumerate(shapes) for shape in own]
    data: dict[str, Any] = {
        "owners": [k for k, _ in flat],
        "looks": [shape.look for _, shape in flat],
        "sizes": [list(shape.size) for _, shape in flat],
    }
    if any(np.any(s.offset) or s.spin[0] != 1 or s.colour for _, s in flat):
        data["offsets"] = [[float(x) for x in shape.offset] for _, shape in flat]
        data["spins"] = [[float(x) for x in shape.spin] for _, shape in flat]
        data["colours"] = [shape.colour for _, shape in flat]
    return data | _meshes([shape.mesh for _, shape in flat])


def _meshes(found: list[Mesh | None]) -> dict[str, Any]:
    different = {id(mesh): mesh for mesh in found if mesh is not None}
    if not different:
        return {}
    rows, v, f = {}, 0, 0
    for key, mesh in different.items():
        rows[key] = [v, v + len(mesh.vertices), f, f + len(mesh.faces)]
        v, f = rows[key][1], rows[key][3]
    return {
        "meshes": [None if mesh is None else rows[id(mesh)] for mesh in found],
        "vertices": np.concatenate([m.vertices for m in different.values()])[None],
        "faces": np.concatenate([m.faces for m in different.values()])[None].astype(np.int32),
    }
