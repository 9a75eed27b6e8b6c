"""Every method by name.  A new method is one file and one line here."""

from __future__ import annotations

from taut.errors import InputError, UnknownName
from taut.methods.base import Method
from taut.methods.euler import ProjectedEuler, SymplecticEuler
from taut.methods.rattle import Rattle
from taut.methods.spark import GaussLobatto, LobattoPair, SymplecticRK
from taut.methods.time_element import TimeElement

CATALOGUE: dict[str, Method] = {
    "rattle": Rattle(),
    "time-element": TimeElement(),
    "time-element-independent": TimeElement(form="independent"),
    "symplectic-rk": SymplecticRK(),
    "gauss-lobatto-4": GaussLobatto(2),
    "gauss-lobatto-6": GaussLobatto(3),
    "gauss-lobatto-8": GaussLobatto(4),
    "lobatto-4": LobattoPair(3),
    "lobatto-6": LobattoPair(4),
    "symplectic-euler": SymplecticEuler(),
    "projected-symplectic-euler": ProjectedEuler(),
}
AUTO = "rattle"


def method_of(given: str | Method) -> Method:
    """The method that a name or a method object stands for."""
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        name = AUTO if given == "auto" else given
        if name in CATALOGUE:
            return CATALOGUE[name]
        raise UnknownName("method", given, [*CATALOGUE, "auto"])
    raise InputError(
        "method is neither a name nor a method",
        expected="one of " + ", ".join([*CATALOGUE, "auto"]) + ", or a method object",
        received=repr(given),
        remedy=f"make one of the class: {given.__name__}(…)" if isinstance(given, type) else None,
    )
