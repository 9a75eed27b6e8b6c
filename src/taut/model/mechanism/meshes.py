"""Triangle meshes that parts are drawn as, from arrays or from STL and OBJ files.

A file may come from anyone: it is read up to a size, and nothing but numbers is taken from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from taut.errors import FileError, InputError, brief, place

LARGEST = 64_000_000  # bytes of a file
TRIANGLES = 200_000  # of a mesh
FORMATS = (".stl", ".obj")
_VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)")


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles.

    Attributes
    ----------
    vertices : ndarray, shape (V, 3)
    faces : ndarray of int, shape (F, 3)
        Numbers of their corners.
    """

    vertices: np.ndarray
    faces: np.ndarray

    def scaled(self, by: Any) -> Mesh:
        """Each direction times a factor."""
        return Mesh(self.vertices * np.asarray(by, dtype=float), self.faces)

    def __repr__(self) -> str:
        return f"<mesh of {len(self.faces)} triangles>"


def mesh(given: Any) -> Mesh:
    """A mesh from a file's name, or from a pair (vertices, faces) of arrays."""
    if isinstance(given, Mesh):
        return given
    if isinstance(given, str | Path):
        return read_mesh(given)
    try:
        vertices, faces = given
        corners, numbers = np.array(vertices, dtype=float), np.array(faces)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            "the mesh cannot be read",
            expected="the name of an STL or OBJ file, or (vertices, faces)",
            received=brief(given),
        ) from error
    return _checked("the mesh", corners, numbers, InputError)


def read_mesh(file: str | Path) -> Mesh:
    """The triangles of an STL (binary or text) or OBJ file."""
    path = place(file)
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise FileError(
            f"{path} is no mesh that can be read", expected=" or ".join(FORMATS), received=kind
        )
    content = _content(path)
    try:
        if kind == ".obj":
            vertices, faces = _obj(content)
        else:
            vertices, faces = _stl(content)
    except (ValueError, IndexError, OverflowError) as error:
        raise FileError(
            f"{path} cannot be read as {kind[1:].upper()}", received=str(error)[:100]
        ) from error
    return _checked(str(path), vertices, faces, FileError)


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise FileError(
                f"there is no file {path}", remedy="check the name; it is relative to this folder"
            )
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read", received=str(error)) from error
    if len(content) > LARGEST:
        raise FileError(
            f"{path} is too large to be drawn",
            expected=f"at most {LARGEST // 1_000_000} MB",
            remedy="make a coarser mesh of it",
        )
    return content


def _stl(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Corners of equal places are one vertex."""
    many = int.from_bytes(content[80:84], "little") if len(content) >= 84 else -1
    if many >= 0 and len(content) == 84 + 50 * many:
        _few(many)
        rows = np.frombuffer(content, dtype=np.dtype("(3,)<f4, (3,3)<f4, <u2"), offset=84)
        corners = rows["f1"].reshape(-1, 3).astype(float)
    else:
        if not content.lstrip()[:5].lower() == b"solid":
            raise ValueError(f"{len(content)} bytes are no whole number of triangles")
        _few(content.count(b"endfacet"))
        corners = np.array(_VERTEX.findall(content), dtype=float).reshape(-1, 3)
        if len(corners) % 3:
            raise ValueError(f"{len(corners)} corners are no whole number of triangles")
    vertices, numbers = np.unique(corners, axis=0, return_inverse=True)
    return vertices, numbers.reshape(-1, 3)


def _obj(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces; polygons are cut into triangles from their first corner."""
    vertices: list[list[bytes]] = []
    faces: list[tuple[int, int, int]] = []
    for line in content.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            vertices.append(words[1:4])
        elif words[0] == b"f":
            ends = [int(word.split(b"/")[0]) for word in words[1:]]
            ends = [end - 1 if end > 0 else len(vertices) + end for end in ends]
            faces += [(ends[0], b, c) for b, c in pairwise(ends[1:])]
            _few(len(faces))
    return np.array(vertices, dtype=float), np.array(faces)


def _few(many: int) -> None:
    if many > TRIANGLES:
        raise ValueError(f"{many} triangles, where {TRIANGLES} at most are drawn")


def _checked(what: str, vertices: np.ndarray, faces: np.ndarray, error: type) -> Mesh:
    if vertices.shape[1:] != (3,) or faces.shape[1:] != (3,) or not len(faces):
        raise error(
            f"{what} has no triangles",
            expected="vertices of shape (V, 3) and faces of shape (F, 3)",
            received=f"shapes {vertices.shape} and {faces.shape}",
        )
    if not np.isfinite(vertices).all() or np.abs(vertices).max() > 1e30:
        raise error(f"{what} has vertices that are not finite")
    if faces.dtype.kind not in "iu" or faces.min() < 0 or faces.max() >= len(vertices):
        raise error(
            f"{what} has faces of vertices that are not there",
            expected=f"whole numbers from 0 to {len(vertices) - 1}",
        )
    if len(faces) > TRIANGLES:
        raise error(f"{what} has {len(faces)} triangles", expected=f"at most {TRIANGLES}")
    return Mesh(vertices, faces.astype(np.int32))
