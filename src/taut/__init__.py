"""taut: mechanics that holds.

You write down a mechanical system; taut simulates it with its constraints met to round-off and
its energy and momenta kept, and hands you a certificate that shows it.
"""

from taut._version import __version__
from taut.errors import (
    ConstraintError,
    FileError,
    InconsistentStart,
    InputError,
    Interrupted,
    ModelError,
    StepError,
    TautError,
    UnknownName,
)
from taut.march.simulate import simulate
from taut.march.trajectory import Trajectory
from taut.methods import Method, ProjectedEuler, Rattle, SymplecticEuler, TimeElement
from taut.model import Equations, System, Term, coordinates, momenta, t, velocities

__all__ = [
    "ConstraintError", "Equations", "FileError", "InconsistentStart", "InputError", "Interrupted",
    "Method", "ModelError", "ProjectedEuler", "Rattle", "StepError", "SymplecticEuler", "System",
    "TautError", "Term", "TimeElement", "Trajectory", "UnknownName", "__version__", "coordinates",
    "momenta", "simulate", "t", "velocities",
]  # fmt: skip
