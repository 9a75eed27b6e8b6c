"""What moves: systems as symbolic sums of terms, with no step size anywhere."""

from taut.model.controls import Control
from taut.model.drawing import Drawing
from taut.model.equations import Equations
from taut.model.flow import Flow
from taut.model.mechanism import Mechanism
from taut.model.symbols import coordinates, momenta, t, velocities
from taut.model.system import System
from taut.model.terms import Term

__all__ = [
    "Control",
    "Drawing",
    "Equations",
    "Flow",
    "Mechanism",
    "System",
    "Term",
    "coordinates",
    "momenta",
    "t",
    "velocities",
]
