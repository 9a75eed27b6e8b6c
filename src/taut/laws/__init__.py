"""Conserved quantities: found, proved, watched, and held to."""

from taut.laws.find import conserved
from taut.laws.law import Law, Laws, Symmetry

__all__ = ["Law", "Laws", "Symmetry", "conserved"]
