"""Rest: equilibria of beams and frames under loads, and paths of them."""

from taut.march.statics.result import Equilibrium, Path
from taut.march.statics.solve import equilibrium

__all__ = ["Equilibrium", "Path", "equilibrium"]
