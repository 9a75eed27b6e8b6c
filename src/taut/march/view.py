"""What all views of a run share: an answer to what they do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taut.errors import UnknownVerb

MEANT = {
    "omega": "angular_velocity", "angular_rate": "angular_velocity", "spin": "angular_momentum",
    "speed": "rate", "angular_speed": "rate", "rpm": "rate", "moment": "torque",
    "reaction": "force", "reactions": "force", "tension": "force", "displacement": "slide",
    "elongation": "extension", "pos": "position", "vel": "velocity", "r": "position",
    "x": "position", "v": "velocity", "R": "rotation", "attitude": "rotation", "q": "quaternion",
}  # fmt: skip


class View:
    """A part, joint, frame or force along a run, or in a state."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            if hasattr(type(self), name):  # a property that failed inside: say how
                return object.__getattribute__(self, name)
            known = {x for x in dir(self) if not x.startswith("_")}
            meant = MEANT.get(name)
            remedy = f"did you mean {meant!r}?" if meant in known else None
            viewed = next((x.name for x in self.__dict__.values() if hasattr(x, "name")), "this")
            raise UnknownVerb(f"attribute of {viewed}", name, known, remedy)
