"""What a mechanism keeps: its energy, and the momenta of its symmetries, at its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from taut.diagnose.momenta import PROOF, Momentum, momenta_of
from taut.errors import InputError
from taut.kernel.compile import workshop
from taut.model.system import System
from taut.text import Sheet, counted

WHY = (
    "not searched for: the coordinates of bodies are directors bound by constraints, too many for "
    "polynomials of all of them. These are the momenta of all motions of connected parts as one "
    f"rigid body, each tested term by term ({PROOF}); there may be other laws."
)


@dataclass(frozen=True, repr=False)
class Kept(Sheet):
    """Laws of a mechanism that follow from its symmetries.

    Attributes
    ----------
    energy : float or None
        At the start; None where forces or moving joints do work.
    momenta : list of (Momentum, value at the start)
    """

    system: System
    energy: float | None
    momenta: list[tuple[Momentum, float]]

    def title(self) -> str:
        """One line."""
        many = len(self.momenta) + (self.energy is not None)
        return f"{self.system.mechanism!r}: {counted(many, 'law')}"

    def rows(self) -> list[tuple[str, str]]:
        """(law, value at the start)."""
        first = "not kept: forces or moving joints do work"
        if self.energy is not None:
            first = f"{self.energy:.8g} at the start"
        found = [(x.name, f"{value + 0.0:.8g} at the start") for x, value in self.momenta]
        none = [("momenta", "none: joints to the ground, gravity or forces mind every motion")]
        return [("energy", first), *(found or none)]

    def expressions(self) -> list[sp.Expr]:
        """The momenta in the system's symbols."""
        return [x.expression(self.system) for x, _ in self.momenta]

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and strings."""
        return {
            "energy": self.energy,
            "laws": [
                {"name": x.name, "start": value, "expression": str(e), "verified": PROOF}
                for (x, value), e in zip(self.momenta, self.expressions(), strict=True)
            ],
            "complete": WHY,
        }


def kept(system: System) -> Kept:
    """The laws of a mechanism, with their values at its start."""
    q, v = system.mechanism.start()
    values = {name: 0.0 if x is None else x for name, x in system.parameters.items()}
    found = momenta_of(system, values)
    if isinstance(found, InputError):
        raise found
    mechanics, par = workshop(system).mechanics, np.array(list(values.values()))
    p = mechanics.momentum(q, v, 0.0, par)
    energy = float(mechanics.energy(q, v, p, 0.0, par)) if system.conservative else None
    return Kept(system, energy, [(x, float(p @ x.moved(q))) for x in found])
