"""Everything that takes part in the work-precision benchmark, behind one interface.

A solver has a name, settings from coarse to fine, and three verbs: `prepare` (compile; returns the
seconds it took), `run` (the wall time of the motion alone, and where it ended) and `energy_error`
(max |H − H₀| over a run, not timed).
"""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec

import angles
import numpy as np
from report import long_runs
from scipy.integrate import ode, solve_ivp

SAMPLES = 20  # per second, where heyoka's energy is looked at
UNROLLED = 7  # links up to which heyoka's own equations compile in seconds


class Failed(Exception):
    """A solver that did not get to the end."""


class Taut:
    """A method of taut's catalogue, in Cartesian coordinates; a setting is the steps in 10 s."""

    family = "taut"

    def __init__(self, chain, method, settings):
        self.name, self.problem, self.settings = method, chain.taut_problem(), settings
        self.last = None

    @staticmethod
    def says(setting):
        return f"h = {10 / setting:.4g}"

    def prepare(self, setting):
        with long_runs():
            return self._simulate(100_000, 2e-4).compile_time  # two steps that cannot fail

    def run(self, setting, seconds):
        self.last = self._simulate(setting, seconds)
        return self.last.wall_time, self.last.q[-1]

    def energy_error(self, setting, seconds):
        """Of the run before, whose books cover every step."""
        from taut.march import loop

        books = dict(zip(loop.BOOKS, self.last.ending.books[0], strict=False))
        return max(-books["error_min"], books["error_max"])

    def iterations(self):
        """Newton iterations per step of the last run."""
        return self.last.certificate.iterations

    def _simulate(self, setting, seconds):
        from taut.errors import TautError

        count = round(seconds / 10 * setting)
        try:
            return self.problem.simulate(
                duration=seconds, step=10 / setting, every=count, method=self.name, laws=None
            )
        except TautError as error:
            raise Failed from error


class Heyoka:
    """heyoka's Taylor method in angles; a setting is its tolerance, which decides on the order."""

    family = "heyoka"

    def __init__(self, chain, equations, settings, **options):
        self.chain, self.settings, self.options = chain, settings, options
        self.name = f"heyoka, {equations}"
        self._equations = getattr(angles, f"heyoka_{equations}")
        self._ready = {}

    @staticmethod
    def says(setting):
        return f"tolerance {setting:.0e}"

    def prepare(self, setting):
        import heyoka

        began = time.perf_counter()
        system = self._equations(self.chain)
        self._ready[setting] = heyoka.taylor_adaptive(
            system, self.chain.start, tol=setting, **self.options
        )
        return time.perf_counter() - began

    def run(self, setting, seconds):
        ready = self._at_the_start(setting)
        began = time.perf_counter()
        ready.propagate_until(seconds)
        return time.perf_counter() - began, self.chain.places(ready.state)

    def iterations(self):
        return None

    def energy_error(self, setting, seconds):
        grid = np.linspace(0, seconds, round(seconds * SAMPLES) + 1)
        return _change(self.chain, self._at_the_start(setting).propagate_grid(grid)[-1])

    def _at_the_start(self, setting):
        ready = self._ready[setting]
        ready.time, ready.state[:] = 0.0, self.chain.start
        return ready


class SolveIvp:
    """A solver of SciPy's `solve_ivp` in angles; a setting is its tolerance."""

    family = "SciPy"

    def __init__(self, chain, method, rates, settings):
        self.chain, self.method, self.settings = chain, method, settings
        self._make, self.rates = rates, None
        self.name = f"SciPy {method}, {WRITTEN[rates]}"

    says = staticmethod(Heyoka.says)

    def prepare(self, setting):
        if self.rates is not None:
            return 0.0
        began = time.perf_counter()
        self.rates = self._make(self.chain)
        return time.perf_counter() - began

    def run(self, setting, seconds):
        began = time.perf_counter()
        self.last = solve_ivp(
            self.rates, (0, seconds), self.chain.start,
            method=self.method, rtol=setting, atol=setting,
        )  # fmt: skip
        wall = time.perf_counter() - began
        if not self.last.success:
            raise Failed
        return wall, self.chain.places(self.last.y[:, -1])

    def iterations(self):
        return None

    def energy_error(self, setting, seconds):
        """Of the run before, at the solver's own steps."""
        return _change(self.chain, self.last.y.T)


class Ode(SolveIvp):
    """A solver of SciPy's `ode`, whose loop over the steps is compiled."""

    def run(self, setting, seconds):
        ready = self._ready(setting)
        with warnings.catch_warnings(action="error"):  # a solver that gives up only warns
            try:
                began = time.perf_counter()
                end = ready.integrate(seconds)
                wall = time.perf_counter() - began
            except UserWarning as warning:
                raise Failed from warning
        return wall, self.chain.places(end)

    def energy_error(self, setting, seconds):
        """On the grid that heyoka is looked at."""
        ready = self._ready(setting)
        grid = np.linspace(0, seconds, round(seconds * SAMPLES) + 1)[1:]
        states = [self.chain.start, *(ready.integrate(t) for t in grid)]
        return _change(self.chain, np.array(states))

    def _ready(self, setting):
        ready = ode(self.rates)
        ready.set_integrator(self.method.lower(), rtol=setting, atol=setting, nsteps=10**9)
        return ready.set_initial_value(self.chain.start, 0.0)


WRITTEN = {angles.by_mass_matrix: "NumPy", angles.by_tensions: "compiled"}


def _change(chain, states):
    energy = chain.energy(states)
    return float(np.abs(energy - energy[0]).max())


def tolerances(first, last, by=1.0):
    """10^−first … 10^−last, from coarse to fine."""
    return [float(f"{10.0**-k:.0e}") for k in np.arange(first, last + by / 2, by)]


def has_heyoka():
    """Whether heyoka is installed."""
    return find_spec("heyoka") is not None


def heyokas(chain, everyone):
    """heyoka at its best, and as its documentation shows it as long as that compiles in seconds."""
    if not has_heyoka():
        return []
    found = [Heyoka(chain, "tensions", tolerances(4, 15), fast_math=True)]
    if chain.links <= UNROLLED:
        choice = tolerances(4, 15) if everyone else tolerances(6.5, 8.5)
        found.append(Heyoka(chain, "lagrangian", choice))
    return found


def reference(chain, seconds):
    """Positions after `seconds`, and how far two roads to them are apart.

    The roads are the mass matrix with DOP853, and heyoka's own equations in 80 bits; without heyoka
    the tensions with DOP853.
    """
    near = {"method": "DOP853", "rtol": 3e-14, "atol": 1e-15}

    def by(rates):
        return chain.places(solve_ivp(rates, (0, seconds), chain.start, **near).y[:, -1])

    checked = by(angles.by_mass_matrix(chain))
    if has_heyoka():
        import heyoka

        wide = np.longdouble
        ready = heyoka.taylor_adaptive(
            angles.heyoka_lagrangian(chain), chain.start.astype(wide),
            fp_type=wide, compact_mode=True,
        )  # fmt: skip
        ready.propagate_until(wide(seconds))
        found = chain.places(ready.state).astype(float)
    else:
        found = by(angles.by_tensions(chain))
    return found, float(np.abs(found - checked).max())
