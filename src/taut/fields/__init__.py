"""What moves and bends: fields in Hamel form, beams, sections, ends, loads."""

from taut.fields.beam import Beam
from taut.fields.beams import Beams
from taut.fields.ends import End
from taut.fields.field import Field
from taut.fields.loads import s
from taut.fields.section import Circle, Rectangle, Section, Square, Tube

__all__ = [
    "Beam",
    "Beams",
    "Circle",
    "End",
    "Field",
    "Rectangle",
    "Section",
    "Square",
    "Tube",
    "s",
]
