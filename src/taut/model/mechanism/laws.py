"""What the laws of a mechanism depend on: which change with time, and which jump."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import sympy as sp

from taut.model.mechanism.forces import LENGTH, RATE, Acting, Force, Load
from taut.model.symbols import t

if TYPE_CHECKING:
    from taut.model.mechanism.joints import Joint
    from taut.model.mechanism.named import Named

MOVED = ("driven angle", "driven slide", "moved", "surface", "curve")  # joints that users write
JUMPS = (sp.sign, sp.Heaviside, sp.floor, sp.ceiling, sp.Mod, sp.Piecewise)
BENT = (*JUMPS, sp.Abs)  # energies whose slope may jump


def timed(mechanism: Named) -> list[str]:
    """Joints and forces that change with time, by name."""
    groups = (mechanism.joints, mechanism.forces)
    return [
        name
        for group in groups
        for name, held in group.items()
        if any(t in e.free_symbols for e in _written(held))
    ]


def jumping(mechanism: Named) -> dict[str, str]:
    """Forces that may jump where coordinates do not, and the functions by which they do."""
    found: dict[str, str] = {}
    for name, force in mechanism.forces.items():
        for energy, law in _laws(force):
            atoms = [x for x in law.atoms(sp.Function, sp.Piecewise) if _jumps(x, energy)]
            if atoms:
                words = {LENGTH: sp.Symbol(force.measure.kind)} if isinstance(force, Acting) else {}
                told = [str(x.xreplace(words)) for x in atoms]
                found[name] = min(told, key=lambda word: (len(word), word))
    return found


def _jumps(atom: Any, energy: bool) -> bool:
    """Whether it does with the coordinates: friction is a function of rates, which rest."""
    here = {s for s in atom.free_symbols if s not in (t, RATE) and not s.name.endswith("_dot")}
    return isinstance(atom, BENT if energy else JUMPS) and bool(here)


def _written(held: Joint | Force) -> Iterator[sp.Expr]:
    """The expressions that something is made of."""
    if isinstance(kind := getattr(held, "kind", None), str):
        pieces = held.pieces if kind in MOVED else []
        yield from (e for piece in pieces for e in piece.write()[3])
    else:
        yield from (e for _, e in _laws(held))  # type: ignore[arg-type]


def _laws(force: Force) -> Iterator[tuple[bool, sp.Expr]]:
    """Energies (True) and forces of a law."""
    if isinstance(force, Load):
        yield from ((False, sp.sympify(e)) for e in force.given)
        return
    if force.energy is not None:
        yield True, force.energy
    if isinstance(force, Acting) and force.pull is not None:
        yield False, sp.sympify(force.pull)
