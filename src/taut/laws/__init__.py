"""Conserved quantities: found, proved, watched, and held to."""

from taut.laws.bracket import PoissonLaw, poisson_bracket, poisson_laws
from taut.laws.check import checked
from taut.laws.darboux import darboux
from taut.laws.find import conserved
from taut.laws.hojman import HojmanLaw, hojman, multiplier
from taut.laws.law import Law, Laws, Symmetry
from taut.laws.lie import lie_symmetries
from taut.laws.noether import noether
from taut.laws.poisson import absorbed, casimirs
from taut.laws.special import Special, Specials, special_values
from taut.laws.symmetries import LieSymmetry, NoetherSymmetry, Symmetries

__all__ = [
    "HojmanLaw", "Law", "Laws", "LieSymmetry", "NoetherSymmetry", "PoissonLaw", "Special",
    "Specials", "Symmetries", "Symmetry", "absorbed", "casimirs", "checked", "conserved", "darboux",
    "hojman", "lie_symmetries", "multiplier", "noether", "poisson_bracket", "poisson_laws",
    "special_values",
]  # fmt: skip
