"""What links of a URDF look like: boxes, cylinders, spheres, and meshes that lie beside the file.

A file from anyone may name any mesh.  One is opened only if it is an STL or OBJ file in the folder
of the URDF or the one above it, in a folder above it that has the name of the package, or in a
package that the caller gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from taut.errors import InputError, TautError
from taut.files.urdf_tree import Placed
from taut.model.mechanism import Mechanism
from taut.model.mechanism.meshes import Mesh, read_mesh
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import ROD

PACKAGE, FILE = "package://", "file://"


class Painter:
    """Gives parts their looks.

    Parameters
    ----------
    path : Path
        The URDF file.
    packages : mapping
        Name → folder.
    materials : iterable
        Those of the robot, which links may refer to by name.

    Attributes
    ----------
    notes : list of str
        What is not drawn.
    """

    def __init__(
        self, path: Path, packages: Mapping[str, str | Path], materials: Iterable[Any]
    ) -> None:
        self.folder = path.resolve().parent
        self.packages = {name: Path(folder).resolve() for name, folder in packages.items()}
        self.materials = {material.name: material for material in materials}
        self.notes: list[str] = []
        self._plain: set[str] = set()  # materials that are not there
        self._meshes: dict[str, Mesh | None] = {}

    def paint(self, made: Mechanism, part: Part, place: Placed) -> None:
        """Give a part the looks of one of its links."""
        if part.shape is ROD:  # it does not say how it turns about itself
            return
        for visual in place.link.visuals:
            pose = place.pose @ (np.eye(4) if visual.origin is None else visual.origin)
            where = {"at": pose[:3, 3], "rotation": pose[:3, :3]}
            try:
                self._add(made, part, visual, where)
            except TautError as error:
                self.notes.append(f"a look of link {place.link.name} is not drawn: {error.what}")

    def _add(self, made: Mechanism, part: Part, visual: Any, where: dict[str, Any]) -> None:
        colour = self._colour(visual.material)
        geometry = visual.geometry
        if geometry.box is not None:
            made.look(part, "box", size=geometry.box.size, colour=colour, **where)
        elif geometry.cylinder is not None:
            width, length = 2 * geometry.cylinder.radius, geometry.cylinder.length
            made.look(part, "cylinder", size=(width, width, length), colour=colour, **where)
        elif geometry.sphere is not None:
            made.look(part, "ball", size=2 * geometry.sphere.radius, colour=colour, **where)
        elif geometry.mesh is not None:
            mesh = self._mesh(geometry.mesh.filename)
            if mesh is not None:
                scale = 1.0 if geometry.mesh.scale is None else geometry.mesh.scale
                if not np.all(scale):
                    raise InputError(f"the scale of the mesh {geometry.mesh.filename} is zero")
                made.look(part, "mesh", mesh=mesh.scaled(scale), colour=colour, **where)

    def _colour(self, material: Any) -> Any:
        """Red, green and blue of a material, its own or the one of its name."""
        if material is None:
            return None
        found = material if material.color is not None else self.materials.get(material.name)
        if found is None or found.color is None:
            if found is None and material.name and material.name not in self._plain:
                self._plain.add(material.name)
                self.notes.append(f"the material {material.name} is not in the file")
            return None
        shades = np.asarray(found.color.rgba[:3], dtype=float)
        if shades.min() < 0 or shades.max() > 1:
            told = " ".join(f"{x:g}" for x in shades)
            self.notes.append(f"the colour {told} is not shown: it is not between 0 and 1")
            return None
        return tuple(map(float, shades))

    def _mesh(self, name: str) -> Mesh | None:
        """A mesh, read once; None, and a note, if it cannot be drawn."""
        if name not in self._meshes:
            self._meshes[name] = None
            try:
                file = self._place(name)
                self._meshes[name] = None if file is None else read_mesh(file)
                if file is None:
                    self.notes.append(
                        f"the mesh {name} is not drawn: it is not beside the file, nor in a package"
                    )
            except TautError as error:
                self.notes.append(f"the mesh {name} is not drawn: {error.what}")
        return self._meshes[name]

    def _place(self, name: str) -> Path | None:
        """Where a mesh is, if it is where it may be."""
        if "\0" in name:
            return None
        if name.startswith(PACKAGE):
            package, _, rest = name[len(PACKAGE) :].partition("/")
            roots = [self.packages[package]] if package in self.packages else []
            roots += [folder for folder in self._above() if folder.name == package]
        else:
            rest = name.removeprefix(FILE)
            roots = [self.folder, self.folder.parent]
        for root in roots:
            file = ((self.folder if not name.startswith(PACKAGE) else root) / rest).resolve()
            if file.is_relative_to(root) and file.is_file():
                return file
        return None

    def _above(self) -> list[Path]:
        return [self.folder, *self.folder.parents]
