"""What rigid bodies are drawn as: what was said of them, or the solid that their inertia says.

A body of which nothing is said is the solid of uniform density that has its principal moments: a
box with sides √(12 Eᵢ/m), Eᵢ = (J₁ + J₂ + J₃)/2 − Jᵢ; a cylinder with radius 2 √(E₁/m) and height
√(12 E₃/m) where E₁ = E₂; a ball with radius √(5 E/m) where all are equal.  If the centre of another
part that is no larger lies in it, it is clear: one sees through it.  What holds it from outside, or
inside of what is clear, is linked to its centre by a thin bar.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from taut.lie import SO3
from taut.model.mechanism import Mechanism
from taut.model.mechanism.forces import Acting
from taut.model.mechanism.looks import Look
from taut.model.mechanism.meshes import Mesh
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import PLATE, ROD

ALIKE = 1e-6  # of the largest extent: two that differ by less are equal
THIN = 0.02  # of the largest side of a body: what it is drawn as thick at least
BAR = 0.05  # of its length: how thick a bar to a joint is
NEAR = 1.05  # times the size of a body: a joint that is not farther is on it
HOLDING = ("spherical", "revolute", "universal", "cylindrical", "prismatic", "fixed", "screw")


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
    clear : bool
        Whether one sees through it.
    """

    look: str
    size: tuple[float, float, float]
    offset: np.ndarray = field(default_factory=lambda: np.zeros(3))
    spin: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    colour: str | None = None
    mesh: Mesh | None = None
    clear: bool = False

    def holds(self, places: np.ndarray) -> np.ndarray:
        """Whether places of the part lie in a solid about its centre of mass, shape (…,)."""
        away = 2 * np.abs(places) / np.array(self.size)
        if self.look == "ball":
            return np.linalg.norm(away, axis=-1) <= 1
        if self.look == "cylinder":
            return (np.linalg.norm(away[..., :2], axis=-1) <= 1) & (away[..., 2] <= 1)
        return away.max(axis=-1) <= 1

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


def all_shapes(mechanism: Mechanism, solids: list[Part]) -> list[list[Drawn]]:
    """All that each of some bodies is drawn as, beside the other parts at the start."""
    found = [shapes_of(part) for part in solids]
    reaches = {x.name: max(s.reach for s in own) for x, own in zip(solids, found, strict=True)}
    others = [x for x in mechanism.parts.values() if "beam" not in x.looks]
    places = np.array([x.position for x in others])
    sizes = np.array([reaches.get(x.name, 0.0) for x in others])
    held: dict[str, list[np.ndarray]] = {}
    for part, at in grips(mechanism):
        held.setdefault(part.name, []).append(at)
    for k, part in enumerate(solids):
        if {"shapes", "look", "size"} & part.looks.keys():  # as the user said
            continue
        (solid,) = found[k]
        smaller = (sizes <= solid.reach) & np.array([x is not part for x in others])
        inside = solid.holds((places[smaller] - part.position) @ _frame(part))
        solid = replace(solid, clear=bool(inside.any()))
        found[k] = [solid, *_bars(part, solid, held.get(part.name, []))]
    return found


def _bars(part: Part, solid: Drawn, held: list[np.ndarray]) -> list[Drawn]:
    """From the centre of a body to what holds it, where that is not in a solid that hides it."""
    places = (np.reshape(held, (-1, 3)) - part.position) @ _frame(part)
    bars = []
    for place in {tuple(np.round(x, 12)): x for x in places}.values():
        length = float(np.linalg.norm(place))
        if length > THIN * solid.reach and (solid.clear or not solid.holds(place / NEAR)):
            wide = BAR * length
            spin = SO3._quaternion(rod_frame(place))
            bars.append(Drawn("cylinder", (wide, wide, length), place / 2, spin, solid.colour))
    return bars


def grips(mechanism: Mechanism) -> Iterator[tuple[Part, np.ndarray]]:
    """Places on which joints, rods and springs hold parts, in space at the start."""
    for joint in mechanism.joints.values():
        if joint.kind in (*HOLDING, "rod"):
            yield from zip((joint.a, joint.b), joint.at, strict=True)
    for force in mechanism.forces.values():
        if isinstance(force, Acting) and force.ends is not None:
            yield from zip((force.measure.a, force.measure.b), force.ends, strict=True)


def _frame(part: Part) -> np.ndarray:
    """Axes of a part as it is drawn, at the start."""
    return rod_frame(part.directors[:, 2]) if part.shape is ROD else part.directors


def _placed(part: Part, look: Look) -> Drawn:
    frame = _frame(part)
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
        ``colours``; ``clear`` if one is; and with meshes ``vertices`` (1, V, 3), ``faces``
        (1, F, 3), and ``meshes``: for each shape the first and last row of its vertices and of its
        faces, or None.
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
    if any(shape.clear for _, shape in flat):
        data["clear"] = [shape.clear for _, shape in flat]
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
