"""Conserved quantities: found, proved, watched, and held to."""

from taut.laws.find import conserved
from taut.laws.law import Law, Laws, Symmetry
from taut.laws.special import Special, Specials, special_values

__all__ = ["Law", "Laws", "Special", "Specials", "Symmetry", "conserved", "special_values"]
