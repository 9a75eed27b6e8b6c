"""Reference problems: one file each, one skeleton for all, and this catalogue.

A problem is built when it is asked for by name; importing the catalogue builds nothing.

>>> from taut import problems
>>> run = problems.problem("double-pendulum").simulate(duration=1)
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from taut.calls import public
from taut.errors import word

if TYPE_CHECKING:
    from taut.problems.base import Fact, Problem

# name → "module:function" in this room
PROBLEMS: dict[str, str] = {
    "pendulum": "pendulum:pendulum",
    "period-2-pendulum": "period_2_pendulum:period_2_pendulum",
    "spherical-pendulum": "spherical_pendulum:spherical_pendulum",
    "double-pendulum": "double_pendulum:double_pendulum",
    "car-axis": "car_axis:car_axis",
    "circular-track": "circular_track:circular_track",
    "zg-pendulum": "zg_pendulum:zg_pendulum",
    "zg-spherical": "zg_spherical:zg_spherical",
    "zg-spherical-printed": "zg_spherical:zg_spherical_printed",
    "zg-double": "zg_double:zg_double",
    "zg-spatial": "zg_spatial:zg_spatial",
    "zg-spatial-printed": "zg_spatial:zg_spatial_printed",
    "cq-triple": "cq_triple:cq_triple",
    "kepler-sphere": "kepler_sphere:kepler_sphere",
    "fpu": "fpu:fpu",
    "chain": "chain:chain",
    "iftomm-a01": "iftomm_a01:iftomm_a01",
    "iftomm-a02": "iftomm_a02:iftomm_a02",
    "fekete": "fekete:fekete",
    "gni-rigid-body": "gni_rigid_body:gni_rigid_body",
    "dzhanibekov": "dzhanibekov:dzhanibekov",
    "spatial-four-bar": "spatial_four_bar:spatial_four_bar",
    "bennett": "bennett:bennett",
    "cloth": "cloth:cloth",
    "body-chain": "body_chain:body_chain",
    "six-axis-arm": "six_axis_arm:six_axis_arm",
}


def names() -> list[str]:
    """The names of all problems."""
    return list(PROBLEMS)


@public
def sizes(name: str) -> dict[str, float]:
    """What a problem is built from and may be given other numbers of: links, points, windows.

    Examples
    --------
    >>> from taut import problems
    >>> problems.sizes("fekete")
    {'points': 20}
    """
    return {key: given.default for key, given in signature(_builder(name)).parameters.items()}


def _builder(name: str) -> Any:
    module, function = PROBLEMS[word("problem", name, PROBLEMS)].split(":")
    return getattr(import_module(f"{__name__}.{module}"), function)


@public
def problem(name: str, **parameters: float) -> Problem:
    """The problem of this name.

    Parameters
    ----------
    name : str
        One of `names`.
    **parameters : float
        Other values for the system's parameters.  They change the motion: the problem then comes
        without the facts and the closed form of its source.  What a problem is built from, such as
        the number of ``links`` of ``chain``, is given here too.

    Examples
    --------
    >>> from taut import problems
    >>> problems.problem("pendulum").title
    'Planar pendulum from the horizontal'
    >>> problems.problem("pendulum", g=1.62).parameters
    {'g': 1.62}
    """
    parts = {key: parameters.pop(key) for key in sizes(name) if key in parameters}
    found: Problem = _builder(name)(**parts)
    return found.changed(**parameters) if parameters else found


def __getattr__(name: str) -> Any:
    if name in ("Fact", "Problem"):
        return getattr(import_module(f"{__name__}.base"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["PROBLEMS", "Fact", "Problem", "names", "problem", "sizes"]
