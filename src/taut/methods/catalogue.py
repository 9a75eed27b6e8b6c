"""Every method by name.  A new method is one file and one line here."""

from __future__ import annotations

from taut.methods.base import Method
from taut.methods.baumgarte import Baumgarte
from taut.methods.composition import Composition
from taut.methods.energy_momentum import EnergyMomentum
from taut.methods.euler import SymplecticEuler
from taut.methods.explicit_rk import ExplicitRK
from taut.methods.generalized_alpha import GeneralizedAlpha
from taut.methods.ggl import GGL
from taut.methods.precise import PreciseElement
from taut.methods.projection import Projected
from taut.methods.rattle import Rattle
from taut.methods.registry import AUTO, CATALOGUE, method_of, register
from taut.methods.spark import GaussLobatto, LobattoPair, SymplecticRK
from taut.methods.time_element import TimeElement
from taut.methods.trapezoid import ImplicitTrapezoid

METHODS: dict[str, Method] = {
    "rattle": (rattle := Rattle()),
    "time-element": TimeElement(),
    "time-element-4": TimeElement(degree=2),
    "time-element-6": TimeElement(degree=3),
    "time-element-independent": TimeElement(form="independent"),
    "precise-element": PreciseElement(),
    "symplectic-rk": SymplecticRK(),
    "gauss-lobatto-4": GaussLobatto(2),
    "gauss-lobatto-6": GaussLobatto(3),
    "gauss-lobatto-8": GaussLobatto(4),
    "lobatto-4": LobattoPair(3),
    "lobatto-6": LobattoPair(4),
    "composition-4": Composition(rattle, order=4),
    "composition-6": Composition(rattle, order=6),
    "composition-8": Composition(rattle, order=8),
    "composition-10": Composition(rattle, order=10),
    "energy-momentum": EnergyMomentum(),
    "energy-momentum-hidden": EnergyMomentum(hidden=True),
    "symplectic-euler": SymplecticEuler(),
    "projected-symplectic-euler": Projected(SymplecticEuler()),
    "rk4": ExplicitRK("rk4"),
    "dopri5": ExplicitRK("dopri5"),
    "dop853": ExplicitRK("dop853"),
    "projected-rk4": Projected(ExplicitRK("rk4")),
    "projected-dop853": Projected(ExplicitRK("dop853")),
    "baumgarte": Baumgarte(),
    "ggl": GGL(),
    "implicit-trapezoid": ImplicitTrapezoid(),
    "generalized-alpha": GeneralizedAlpha(),
}
for name, method in METHODS.items():
    register(name, method)

__all__ = ["AUTO", "CATALOGUE", "method_of", "register"]
