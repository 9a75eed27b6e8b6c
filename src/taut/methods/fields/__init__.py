"""Schemes for fields and beams, by name."""

from __future__ import annotations

from taut.errors import InputError, UnknownName, brief
from taut.methods.elsewhere import BEAMS, meant
from taut.methods.fields.base import Scheme
from taut.methods.fields.hamel import Hamel
from taut.methods.fields.implicit import EnergyMomentumBeam
from taut.methods.fields.poisson import Poisson
from taut.methods.fields.variational import Variational

SCHEMES: dict[str, Scheme] = {
    x.name: x for x in (Poisson(), Hamel(), Variational(), EnergyMomentumBeam())
}


def scheme_of(given: str | Scheme, *, beam: bool) -> Scheme:
    """The scheme that a name or an object stands for."""
    fitting = {name: x for name, x in SCHEMES.items() if beam or not x.posed}
    if isinstance(given, str) and given == "auto":
        return SCHEMES["variational" if beam else "poisson"]
    if isinstance(given, str):
        if given not in fitting:
            kind = "method for beams" if beam else "method for fields"
            raise UnknownName(kind, given, fitting, meant(given, BEAMS) if beam else None)
        return fitting[given]
    if not isinstance(given, Scheme):
        raise InputError(
            "method is neither a name nor a scheme for fields",
            expected="one of " + ", ".join([*fitting, "auto"]),
            received=brief(given),
        )
    if given.posed and not beam:
        raise InputError(
            f"{given.name} reads strains from poses, which a field does not have",
            expected="one of " + ", ".join(fitting),
        )
    return given
