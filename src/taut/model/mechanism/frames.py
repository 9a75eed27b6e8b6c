"""Frames: places with axes on a part, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import ModelError
from taut.model.mechanism.looks import look
from taut.model.mechanism.named import Named
from taut.model.mechanism.parts import Part, rotation_of, vector
from taut.model.mechanism.record import recorded
from taut.model.mechanism.shapes import POINT, ROD


@dataclass(frozen=True, eq=False)
class Frame:
    """A place with axes that is fixed to a part.

    Attributes
    ----------
    name : str
    part : Part
    at, rotation : ndarray, shapes (3,), (3, 3)
        Where it is and how its axes (columns) point, in space at the start.
    """

    name: str
    part: Part
    at: np.ndarray
    rotation: np.ndarray

    def __repr__(self) -> str:
        return f"<frame {self.name!r} of {self.part.name}>"


@public
class Marked(Named):
    """The verbs by which frames and looks are added; a part of `Mechanism`."""

    @recorded
    def frame(self, name: str, part: Any, *, at: Any, rotation: Any = None) -> Frame:
        """A place with axes on a part, which a run then knows by its name: ``run["tool"]``.

        Parameters
        ----------
        name : str
        part : Part or name
        at : (3,) array_like
            In space at the start.
        rotation : (3, 3) or (4,) array_like, optional
            Of its axes in space at the start; a matrix or a unit quaternion.  The part's own axes
            if not given.
        """
        held = self._part(part)
        if held.shape in (POINT, ROD):
            raise ModelError(
                f"{held.name} is a {held.shape.name}: it carries no frame",
                expected="a body, or the ground",
            )
        own = isinstance(name, str) and name == held.name  # a part may have a frame of its name
        if own and name in self.frames:
            raise ModelError(f"there is a frame {name!r} already", remedy="choose another name")
        turned = held.rotation if rotation is None else rotation_of(f"frame {name}", rotation)
        place = vector(f"the place of frame {name}", at)
        name = name if own else self._new(name)
        self.frames[name] = made = Frame(name, held, place, turned)
        return made

    @recorded
    def look(
        self,
        part: Any,
        kind: str,
        *,
        size: Any = None,
        at: Any = None,
        rotation: Any = None,
        colour: Any = None,
        mesh: Any = None,
    ) -> None:
        """Draw a part (or the ground) as a shape; each call adds one.

        Parameters
        ----------
        part : Part or name
        kind : str
            "box", "cylinder" (along its third axis), "ball" or "mesh".
        size : float or (3,) array_like
            Extents along the axes of the shape.
        at, rotation : array_like, optional
            Its middle and its axes, in space at the start; the part's own if not given.
        colour : str or three numbers, optional
        mesh : str, or (vertices, faces), optional
            An STL or OBJ file, or arrays of shapes (V, 3) and (F, 3).
        """
        held = self._part(part)
        made = look(held, kind, size, at, rotation, colour, mesh)
        held.looks.setdefault("shapes", []).append(made)
