"""The motion of one angle θ that goes round and round, by quadrature.

With the inertia J(θ) and the potential U(θ), both of period 2π, and an energy E above all of U,

    ½ J θ̇² + U = E,      t(θ) = ∫ √(J/(2 (E − U))) dθ.

The integrand is analytic and periodic, so the trapezoidal rule in a few hundred places gives all
its Fourier coefficients to round-off (Trefethen & Weideman 2014); they are integrated one by one,
and Newton's method finds θ for a t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PLACES = 256
ITERATIONS = 12


class Turning:
    """θ(t) of one degree of freedom.

    Parameters
    ----------
    inertia, potential : θ → value, vectorised
    start, rate : float
        θ and θ̇ > 0 at t = 0.
    """

    def __init__(
        self,
        inertia: Callable[[Any], np.ndarray],
        potential: Callable[[Any], np.ndarray],
        start: float,
        rate: float,
    ) -> None:
        self.inertia, self.potential = inertia, potential
        self.energy = float(potential(start) + inertia(start) * rate**2 / 2)
        found = np.fft.rfft(self.slowness(2 * np.pi * np.arange(PLACES) / PLACES)) / PLACES
        self.orders = np.arange(1, PLACES // 2)
        self.period = 2 * np.pi * float(found[0].real)
        self.series = 2 * found[1 : PLACES // 2] / (1j * self.orders)
        self.first = float(self.time(np.asarray(start)))

    def slowness(self, theta: np.ndarray) -> np.ndarray:
        """dt/dθ."""
        return np.sqrt(self.inertia(theta) / (2 * (self.energy - self.potential(theta))))

    def time(self, theta: np.ndarray) -> np.ndarray:
        """When it is at θ, but for a constant."""
        waves = np.exp(1j * theta[..., None] * self.orders)
        return self.period * theta / (2 * np.pi) + (waves @ self.series).real

    def angle(self, t: Any) -> np.ndarray:
        """θ at t, whole turns left out."""
        t = np.asarray(t, dtype=float)
        wanted = np.remainder(t, self.period) + self.first
        theta = 2 * np.pi * wanted / self.period
        for _ in range(ITERATIONS):
            theta = theta - (self.time(theta) - wanted) / self.slowness(theta)
        return theta
