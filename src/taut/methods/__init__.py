"""How it moves: one file per family of methods, and the catalogue."""

from taut.methods.adaptive import Adaptive
from taut.methods.base import Method
from taut.methods.baumgarte import Baumgarte
from taut.methods.catalogue import AUTO, CATALOGUE, method_of, register
from taut.methods.composition import Composition
from taut.methods.corrected import Corrected
from taut.methods.energy_momentum import EnergyMomentum
from taut.methods.euler import SymplecticEuler
from taut.methods.explicit_rk import ExplicitRK
from taut.methods.generalized_alpha import GeneralizedAlpha
from taut.methods.ggl import GGL
from taut.methods.precise import PreciseElement
from taut.methods.projection import Projected
from taut.methods.rattle import Rattle
from taut.methods.spark import GaussLobatto, LobattoPair, SymplecticRK
from taut.methods.time_element import TimeElement
from taut.methods.trapezoid import ImplicitTrapezoid

__all__ = [
    "AUTO",
    "Adaptive",
    "CATALOGUE",
    "Composition",
    "Corrected",
    "Baumgarte",
    "ExplicitRK",
    "GGL",
    "EnergyMomentum",
    "GaussLobatto",
    "GeneralizedAlpha",
    "ImplicitTrapezoid",
    "LobattoPair",
    "Method",
    "Projected",
    "PreciseElement",
    "Rattle",
    "SymplecticEuler",
    "SymplecticRK",
    "TimeElement",
    "method_of",
    "register",
]
