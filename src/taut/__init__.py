"""taut: mechanics that holds.

You write down a mechanical system; taut simulates it with its constraints met to round-off and
its energy and momenta kept, and hands you a certificate that shows it.

Names are loaded when they are first used, so that ``import taut`` and ``taut --help`` are quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from taut._version import __version__
from taut.errors import (
    ConstraintError,
    ControlError,
    FileError,
    InconsistentStart,
    InputError,
    Interrupted,
    ModelError,
    NoEquilibrium,
    ProgressError,
    StepError,
    TautError,
    ToleranceError,
    Uncontrolled,
    UnknownKey,
    UnknownName,
    UnknownVerb,
    Unsimulated,
    UnstableStep,
)

if TYPE_CHECKING:
    from taut.fields import Beam, Beams, Circle, End, Field, Rectangle, Section, Square, Tube, s
    from taut.files.loading import load
    from taut.files.model import Model
    from taut.files.urdf import urdf
    from taut.laws import (
        Law,
        Laws,
        Symmetries,
        absorbed,
        casimirs,
        conserved,
        hojman,
        lie_symmetries,
        noether,
        poisson_bracket,
        poisson_laws,
        special_values,
    )
    from taut.lie.angles import rotation
    from taut.march.dense import States
    from taut.march.events import Event
    from taut.march.field_trajectory import FieldTrajectory
    from taut.march.modes import Modes, modes
    from taut.march.simulate import simulate
    from taut.march.statics import Equilibrium, equilibrium
    from taut.march.trajectory import Trajectory
    from taut.methods import (
        GGL,
        Adaptive,
        Baumgarte,
        Composition,
        Corrected,
        EnergyMomentum,
        ExplicitRK,
        GaussLobatto,
        GeneralizedAlpha,
        ImplicitTrapezoid,
        LobattoPair,
        Method,
        PreciseElement,
        Projected,
        Rattle,
        SymplecticEuler,
        SymplecticRK,
        TimeElement,
        register,
    )
    from taut.methods.fields import Hamel, Poisson, Scheme, Variational
    from taut.model import (
        Control,
        Drawing,
        Equations,
        Flow,
        Mechanism,
        System,
        Term,
        coordinates,
        momenta,
        t,
        velocities,
    )
    from taut.show.compare import Comparison, compare

# fmt: off
# What each room gives to the front door: the imports above, for the interpreter.
_ROOMS = {
    "taut.fields": (
        "Beam", "Beams", "Circle", "End", "Field", "Rectangle", "Section", "Square", "Tube", "s",
    ),
    "taut.files.loading": ("load",),
    "taut.files.model": ("Model",),
    "taut.files.urdf": ("urdf",),
    "taut.march.field_trajectory": ("FieldTrajectory",),
    "taut.methods.fields": ("Hamel", "Poisson", "Scheme", "Variational"),
    "taut.march.dense": ("States",),
    "taut.march.events": ("Event",),
    "taut.march.modes": ("Modes", "modes"),
    "taut.march.simulate": ("simulate",),
    "taut.march.statics": ("Equilibrium", "equilibrium"),
    "taut.march.trajectory": ("Trajectory",),
    "taut.methods": (
        "Adaptive", "Baumgarte", "Composition", "Corrected", "EnergyMomentum", "ExplicitRK", "GGL",
        "GaussLobatto", "GeneralizedAlpha", "ImplicitTrapezoid", "LobattoPair", "Method",
        "PreciseElement",
        "Projected", "Rattle", "SymplecticEuler", "SymplecticRK", "TimeElement", "register",
    ),
    "taut.show.compare": ("Comparison", "compare"),
    "taut.lie.angles": ("rotation",),
    "taut.laws": (
        "Law", "Laws", "Symmetries", "absorbed", "casimirs", "conserved", "hojman",
        "lie_symmetries", "noether", "poisson_bracket", "poisson_laws", "special_values",
    ),
    "taut.model": (
        "Control", "Drawing", "Equations", "Flow", "Mechanism", "System", "Term", "coordinates",
        "momenta", "t", "velocities",
    ),
}
# fmt: on
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
_OPEN = (
    "diagnose",
    "fields",
    "files",
    "kernel",
    "laws",
    "lie",
    "march",
    "methods",
    "model",
    "papers",
    "problems",
    "show",
)

__all__ = [
    "Adaptive", "Baumgarte", "Beam", "Beams", "Circle", "Comparison", "Composition",
    "ConstraintError", "Control", "ControlError", "Corrected", "Drawing", "End", "EnergyMomentum",
    "Equations", "Equilibrium", "Event", "ExplicitRK", "Field", "FieldTrajectory", "FileError",
    "Flow", "GGL", "GaussLobatto", "GeneralizedAlpha", "Hamel", "ImplicitTrapezoid",
    "InconsistentStart", "InputError", "Interrupted", "Law", "Laws", "LobattoPair", "Mechanism",
    "Method", "Model", "ModelError", "Modes", "NoEquilibrium", "Poisson", "PreciseElement",
    "ProgressError", "Projected", "Rattle", "Rectangle", "Scheme", "Section", "Square", "States",
    "StepError", "Symmetries", "SymplecticEuler", "SymplecticRK", "System", "TautError", "Term",
    "TimeElement", "ToleranceError", "Trajectory", "Tube", "Uncontrolled", "UnknownKey",
    "UnknownName", "UnknownVerb", "Unsimulated", "UnstableStep", "Variational", "__version__",
    "absorbed",
    "casimirs", "compare", "conserved", "coordinates", "equilibrium", "hojman", "lie_symmetries",
    "load", "modes", "momenta", "noether", "poisson_bracket", "poisson_laws", "register",
    "rotation", "s", "simulate", "special_values", "t", "urdf", "velocities",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        globals()[name] = found = getattr(import_module(_HOME[name]), name)
        return found
    if name in _OPEN:
        return import_module(f"taut.{name}")
    raise AttributeError(f"module 'taut' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_OPEN})
