"""What methods are called in other programs, and which of taut's does their work."""

from __future__ import annotations

import re

_EXPLICIT = ("dopri5", "Dormand and Prince's method of order 5, with steps of one size")
_EIGHTH = ("dop853", "Dormand and Prince's method of order 8, with steps of one size")
_STIFF = ("gauss-lobatto-4", "implicit, for forces that are stiff")
_VERLET = ("rattle", "velocity Verlet, with constraints")
_ALPHA = ("generalized-alpha", "the family of Newmark's and Hilber, Hughes and Taylor's methods")
_FIRST = ("symplectic-euler", "Euler's method that keeps areas; the explicit one gains energy")
_FOURTH = ("rk4", "Kutta's method of order 4")
_COMPOSED = ("composition-4", "symplectic, of order 4, made of steps of RATTLE")
_GAUSS = ("gauss-lobatto-4", "Gauss' method, with constraints")
_MIDDLE = ("taut.GaussLobatto(1)", "the implicit midpoint rule, with constraints")
_TRAPEZOID = ("implicit-trapezoid", "the trapezoidal rule, with constraints")

# Letters and digits only, in small ones.
SYSTEMS = {
    "rk45": _EXPLICIT, "ode45": _EXPLICIT, "dormandprince": _EXPLICIT, "dp5": _EXPLICIT,
    "tsit5": _EXPLICIT, "rkf45": _EXPLICIT, "rkdp": _EXPLICIT, "fehlberg": _EXPLICIT,
    "dop853": _EIGHTH, "dopri8": _EIGHTH, "vern7": _EIGHTH, "vern8": _EIGHTH, "vern9": _EIGHTH,
    "ode113": _EIGHTH, "ode89": _EIGHTH, "ode78": _EIGHTH, "ias15": _EIGHTH,
    "rk23": _FOURTH, "ode23": _FOURTH, "rk": _FOURTH, "rungekutta": _FOURTH,
    "rungekutta4": _FOURTH, "adams": _EIGHTH,
    "radau": _STIFF, "radau5": _STIFF, "radauiia": _STIFF, "bdf": _STIFF, "lsoda": _STIFF,
    "lsodar": _STIFF, "vode": _STIFF, "cvode": _STIFF, "ida": _STIFF, "idas": _STIFF,
    "dassl": _STIFF, "daspk": _STIFF, "ode15s": _STIFF, "ode15i": _STIFF, "ode23t": _STIFF,
    "ode23s": _STIFF, "rodas": _STIFF, "rodas5": _STIFF, "rosenbrock": _STIFF,
    "backwardeuler": _STIFF, "impliciteuler": _STIFF, "implicitfast": _STIFF,
    "verlet": _VERLET, "velocityverlet": _VERLET, "stormerverlet": _VERLET,
    "störmerverlet": _VERLET, "leapfrog": _VERLET, "shake": _VERLET, "mshake": _VERLET,
    "newtonstormerverlet": _VERLET, "strang": _VERLET, "centraldifference": _VERLET,
    "newmark": _ALPHA, "newmarkbeta": _ALPHA, "hht": _ALPHA, "hhtalpha": _ALPHA, "hhti3": _ALPHA,
    "wbz": _ALPHA, "bathe": _ALPHA, "alpha": _ALPHA, "generalisedalpha": _ALPHA,
    "chunghulbert": _ALPHA,
    "euler": _FIRST, "expliciteuler": _FIRST, "forwardeuler": _FIRST, "semiimpliciteuler": _FIRST,
    "eulercromer": _FIRST, "implicitsymplecticeuler": _FIRST,
    "yoshida": _COMPOSED, "yoshida4": _COMPOSED, "forestruth": _COMPOSED, "mclachlan": _COMPOSED,
    "suzuki": _COMPOSED, "saba": _COMPOSED, "whfast": _COMPOSED,
    "gauss": _GAUSS, "gausslegendre": _GAUSS, "gl4": _GAUSS, "collocation": _GAUSS,
    "midpoint": _MIDDLE, "implicitmidpoint": _MIDDLE,
    "trapezoid": _TRAPEZOID, "trapezoidal": _TRAPEZOID, "cranknicolson": _TRAPEZOID,
    "variational": ("time-element", "variational: the action of a step is approximated"),
    "galerkin": ("time-element", "variational: the action of a step is approximated"),
}  # fmt: skip

_FAST = ("variational", "explicit, below its limit of stability")
_SLOW = ("implicit", "without a limit of stability; it keeps the energy")
BEAMS = {
    **dict.fromkeys((name for name, (ours, _) in SYSTEMS.items()
                     if ours in ("gauss-lobatto-4", "generalized-alpha", "implicit-trapezoid",
                                 "taut.GaussLobatto(1)")), _SLOW),
    **dict.fromkeys((name for name, (ours, _) in SYSTEMS.items()
                     if ours in ("dopri5", "dop853", "rk4", "rattle", "symplectic-euler",
                                 "composition-4")), _FAST),
    "rattle": _FAST, "rk4": _FAST, "dopri5": _FAST, "energymomentum": _SLOW,
    "gausslobatto4": _SLOW, "generalizedalpha": _SLOW, "implicittrapezoid": _SLOW,
}  # fmt: skip


def meant(given: str, table: dict[str, tuple[str, str]]) -> str | None:
    """What to take for a name of another program; None if nothing is known of it."""
    plain = re.sub(r"[\W_]+", "", given).lower()
    if plain not in table:
        return None
    ours, what = table[plain]
    return f"take {ours}: {what}"
