"""Methods by name: looked up here, entered by `catalogue`, and by users for their own."""

from __future__ import annotations

from taut.calls import public
from taut.cite import found
from taut.errors import InputError, UnknownName, brief
from taut.methods.base import Method
from taut.methods.elsewhere import SYSTEMS, meant

CATALOGUE: dict[str, Method] = {}
AUTO = "rattle"
FAMILIES = {  # that have more orders than the catalogue has names
    "gauss-lobatto-": "taut.GaussLobatto(stages=1 … 6), of order 2 stages",
    "lobatto-": "taut.LobattoPair(stages=2 … 6), of order 2 stages − 2",
    "composition-": 'taut.Composition("rattle", order=4, 6, 8 or 10)',
}


@public
def register(name: str, method: Method) -> None:
    """Make a method known by a name, wherever names of methods are taken.

    Examples
    --------
    >>> import taut
    >>> taut.register("suzuki", taut.Composition("rattle", order=4, scheme="45"))
    """
    plain = isinstance(name, str) and name == name.strip() and name.isprintable()
    if not plain or name in ("", "auto"):
        raise InputError("that cannot be a method's name", expected="a word", received=brief(name))
    if not isinstance(method, Method):
        raise _no_method(method)
    found(method.cited)  # a reference that is not known is said here, not after the run
    taken = CATALOGUE.get(name, method)
    anew = type(taken).__qualname__ == type(method).__qualname__ and type(taken) is not type(method)
    if taken != method and not anew:  # a class that is defined again, in a notebook say, may
        raise InputError(
            f"the name {name!r} is taken",
            expected="a name of its own for every method",
            received=method.key,
            remedy="choose another name",
        )
    CATALOGUE[name] = method


def method_of(given: str | Method) -> Method:
    """The method that a name or a method object stands for."""
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        name = AUTO if given == "auto" else given
        if name in CATALOGUE:
            return CATALOGUE[name]
        family = FAMILIES.get(given.rstrip("0123456789"))
        remedy = meant(given, SYSTEMS) if family is None else f"other orders are {family}"
        raise UnknownName("method", given, [*CATALOGUE, "auto"], remedy)
    raise _no_method(given)


def _no_method(given: object) -> InputError:
    return InputError(
        "method is neither a name nor a method",
        expected="one of " + ", ".join([*CATALOGUE, "auto"]) + ", or a method object",
        received=brief(given),
        remedy=f"make one of the class: {given.__name__}(…)" if isinstance(given, type) else None,
    )
