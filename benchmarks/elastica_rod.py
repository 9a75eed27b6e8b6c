"""PyElastica's Cosserat rod on a beam like the paper's: the time of one step.

PyElastica knows circular sections only: the rod has the area of the paper's square, its length,
density and moduli, 100 elements and free ends.  It starts straight, thrown as in the paper, and
bent: the shape without stress is the paper's arc.  `python benchmarks/elastica_rod.py` prints it.
"""

from __future__ import annotations

import time
from importlib.util import find_spec

import numpy as np

from taut.papers.cs_plain import Beam

STEP = 1e-4


def has_elastica():
    """Whether PyElastica is installed."""
    return find_spec("elastica") is not None


class Rod:
    """A free rod, and PositionVerlet, which makes its steps."""

    def __init__(self, elements=100):
        import elastica

        beam = Beam(nodes=elements + 1)
        self.rod = elastica.CosseratRod.straight_rod(
            elements,
            start=np.zeros(3),
            direction=np.array([0.0, 1.0, 0.0]),
            normal=np.array([1.0, 0.0, 0.0]),
            base_length=beam.length,
            base_radius=beam.side / np.sqrt(np.pi),
            density=beam.density,
            youngs_modulus=beam.young,
            shear_modulus=beam.young / (2 * (1 + beam.poisson)),
        )
        self.rod.velocity_collection[0] = np.sin(np.linspace(0, np.pi, elements + 1))
        self.rod.velocity_collection[1] = 1.0
        self.rod.rest_kappa[0] = -1.0
        self.systems = elastica.BaseSystemCollection()
        self.systems.append(self.rod)
        self.systems.finalize()
        self.stepper = elastica.PositionVerlet()
        self.t = 0.0

    def march(self, steps, step=STEP):
        """Seconds that `steps` steps take."""
        began = time.perf_counter()
        for _ in range(steps):
            self.t = self.stepper.step(self.systems, self.t, step)
        return time.perf_counter() - began

    def energy(self):
        """Kinetic and potential energy, of the middle of the step as far as strains go."""
        rod = self.rod
        kinetic = rod.compute_translational_energy() + rod.compute_rotational_energy()
        return float(kinetic), float(rod.compute_bending_energy() + rod.compute_shear_energy())


def seconds(steps=2000, repeats=5):
    """Best wall time of one step, after those in which PyElastica compiles."""
    rod = Rod()
    rod.march(5)
    return min(rod.march(steps) for _ in range(repeats)) / steps


def main():
    if not has_elastica():
        raise SystemExit("PyElastica is not installed: make peers")
    rod = Rod()
    rod.march(1)
    at_first = sum(rod.energy())
    rod.march(1000)
    kinetic, potential = rod.energy()
    print(f"energy {at_first:.3f} J; after 1000 steps {kinetic:.3f} + {potential:.3f} J")
    print(f"PositionVerlet, 100 elements, h = {STEP}: {seconds() * 1e6:.1f} µs per step")


if __name__ == "__main__":
    main()
