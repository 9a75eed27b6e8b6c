"""Rest: equilibria of beams and frames under loads, and paths of them."""

from taut.march.statics.solve import equilibrium
from taut.march.statics.result import Equilibrium, Path

__all__ = ["Equilibrium", "Path", "equilibrium"]
