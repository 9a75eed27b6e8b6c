"""What a method does, measured: one row of the verification table.

    >>> from taut.diagnose import verify
    >>> row = verify("rattle", drift=False)
    >>> round(row.order_q)
    2

Four systems:

* order, constraints, symplecticity, reversal: a point with a mass matrix that depends on q, on the
  unit sphere, in a transcendental potential.  The reference is Gauss–Lobatto of order 12, which
  agrees with the Lagrangian in two angles, integrated by other means, to 3e−13 (the tests).
* energy band: the same point, 20 units of time at step 0.1;
* drift and momentum: a spherical pendulum near its lowest point, 10⁵ steps of 0.1;
* cost: ZG's double pendulum at step 0.01.

Methods for systems of a special form (constant mass) get one of that form in each place.

The order is the slope through the four finest runs whose errors are above round-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
import sympy as sp

from taut.calls import public
from taut.diagnose.drift import Drift
from taut.errors import StepError
from taut.march.simulate import simulate
from taut.march.trajectory import Trajectory
from taut.methods.base import Method
from taut.methods.registry import method_of
from taut.methods.spark import GaussLobatto
from taut.model import System, coordinates
from taut.text import Sheet

FLOOR = 3e-14  # errors below count as round-off
COUNTS = (4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256)
Q0, V0 = (0.6, 0.0, 0.8), (0.0, 1.0, 0.0)


@public
@dataclass(frozen=True, repr=False)
class Verified(Sheet):
    """One row: claims first, then what was measured.

    Attributes
    ----------
    order_q, order_p, correlation : float
        Slopes of the errors at t = 1 in log–log, and the worse correlation of the two.
    max_g, max_hidden : float
        Largest |g| and |G q̇|, 20 units of time at step 0.1.
    band : float
        max − min of the energy there.
    drift : Drift or None
        Of the energy over 10⁵ steps.
    momentum : float
        Largest change of the angular momentum there.
    reversal : float
        How far there and back, 20 steps of 0.1 each way, ends from the start; NaN if it fails.
    defect : float or None
        The symplecticity defect at step 0.1.
    cost : float
        Nanoseconds per step of a double pendulum.
    failed : bool
        Whether one of the longer runs could not be finished.
    """

    method: Method
    order_q: float
    order_p: float
    correlation: float
    max_g: float
    max_hidden: float
    band: float
    drift: Drift | None
    momentum: float
    reversal: float
    defect: float | None
    cost: float
    failed: bool

    def title(self) -> str:
        """The method."""
        return self.method.label

    def rows(self) -> list[tuple[str, str, str]]:
        """(what, claimed, measured)."""
        m, drift = self.method, self.drift
        kept = {True: "round-off", False: "not kept"}
        rows = [
            ("", "claimed", "measured"),
            ("order in q and p", f"{m.order}", f"{self.order_q:.2f}, {self.order_p:.2f}"),
            ("constraints", kept[m.keeps_constraints], f"max |g| {self.max_g:.1e}"),
            ("hidden constraints", kept[m.keeps_constraints and m.keeps_hidden],
             f"max |G q̇| {self.max_hidden:.1e}"),
            ("energy", "round-off" if m.keeps_energy else "", f"band {self.band:.1e}"),
            ("symplectic", "yes" if m.symplectic else "no",
             "" if self.defect is None else f"defect {self.defect:.1e}"),
            ("symmetric", "yes" if m.symmetric else "no", f"there and back {self.reversal:.1e}"),
        ]  # fmt: skip
        if drift is not None:
            rows.append(("drift of the energy", "", f"{drift.relative:+.3f} of its band"))
            rows.append(("angular momentum", "", f"change {self.momentum:.1e}"))
        rows.append(("cost", "", f"{self.cost:.0f} ns per step{', a run failed' * self.failed}"))
        return rows


@cache
def sphere() -> System:
    """A point on the unit sphere with a mass that depends on q."""
    x, y, z = q = coordinates("x y z")
    sides = [x**2 + y**2 + z**2 - 1]
    mass = [[2 + x**2, x * y / 4, 0], [x * y / 4, 1 + y**2, sp.sin(z) / 3], [0, sp.sin(z) / 3, 1.5]]
    return System(q, mass=mass, potential=z + sp.cos(x), constraints=sides)


@cache
def _pendulum() -> System:
    x, y, z = q = coordinates("x y z")
    return System(q, mass=[1, 1, 1], potential=z, constraints=[x**2 + y**2 + z**2 - 1])


@cache
def _double() -> System:
    x1, y1, x2, y2 = q = coordinates("x1 y1 x2 y2")
    rods = [x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1]
    weight = -10 * y1 - 20 * y2
    return System(q, mass=[1, 1, 2, 2], potential=weight, constraints=rods)


@cache
def _exact() -> Trajectory:
    return _sphere_run(GaussLobatto(6), 1.0, 1 / 32)


def _sphere_run(method: Method, duration: float, step: float) -> Trajectory:
    return simulate(sphere(), q0=Q0, v0=V0, duration=duration, step=step, method=method, laws=None)


def _as_far_as_it_goes(make) -> Trajectory:
    """A run, or what there was of it when it failed."""
    try:
        return make()
    except StepError as error:
        return cast(Trajectory, error.partial)


@public
def verify(method: str | Method, drift: bool = True) -> Verified:
    """Measure a method; with ``drift=False`` without the long run."""
    m = method_of(method)
    order_q, order_p, correlation = measured_order(m)
    run = _as_far_as_it_goes(lambda: _sphere_run(m, 20.0, 0.1))
    facts = run.certificate
    long = _long(m) if drift else None
    return Verified(
        method=m,
        order_q=order_q,
        order_p=order_p,
        correlation=correlation,
        max_g=facts.max_g,
        max_hidden=facts.max_hidden,
        band=facts.energy.band,
        drift=None if long is None else long.certificate.energy,
        momentum=np.nan if long is None else long.certificate.watched[0].largest_change,
        reversal=_reversal(m),
        defect=facts.symplecticity,
        cost=_cost(m),
        failed=facts.failures > 0 or (long is not None and long.certificate.failures > 0),
    )


def measured_order(method: Method) -> tuple[float, float, float]:
    """(order in q, order in p, the worse correlation)."""
    exact, steps, errors = _exact(), [], []
    for count in COUNTS:
        try:
            run = _sphere_run(method, 1.0, 1.0 / count)
        except StepError:
            continue
        found = [np.abs(getattr(run, x)[-1] - getattr(exact, x)[-1]).max() for x in "qp"]
        if min(found) < FLOOR:
            break
        steps.append(1.0 / count)
        errors.append(found)
    if len(steps) < 4:
        return np.nan, np.nan, np.nan
    logs, values = np.log(steps[-4:]), np.log(np.array(errors[-4:]))
    in_q, in_p = (float(np.polyfit(logs, y, 1)[0]) for y in values.T)
    return in_q, in_p, float(min(np.corrcoef(logs, y)[0, 1] for y in values.T))


def _long(method: Method) -> Trajectory:
    """10⁵ steps of a spherical pendulum."""
    system = _pendulum()
    x, y, _ = system.coordinates
    px, py, _ = system.momenta
    return _as_far_as_it_goes(
        lambda: simulate(
            system, q0=(0.0, np.sin(0.1), -np.cos(0.1)), v0=(0.06, 0.0, 0.0), duration=1e4,
            step=0.1, method=method, every=100, laws={"L": x * py - y * px},
        )
    )  # fmt: skip


def _reversal(method: Method) -> float:
    out = _as_far_as_it_goes(lambda: _sphere_run(method, 2.0, 0.1))
    if out.certificate.failures:
        return np.nan
    back = _as_far_as_it_goes(
        lambda: simulate(
            sphere(), q0=out.q[-1], p0=-out.p[-1], duration=2.0, step=0.1,
            method=method, laws=None, project=True,
        )
    )  # fmt: skip
    return float(max(np.abs(back.q[-1] - out.q[0]).max(), np.abs(back.p[-1] + out.p[0]).max()))


def _cost(method: Method) -> float:
    a = np.sqrt(0.5)
    start = {"q0": [a, a, 0, 2 * a], "v0": 0, "step": 0.01, "method": method, "laws": None}
    runs = [
        _as_far_as_it_goes(lambda: simulate(_double(), **start, duration=500, every=10**5))
        for _ in range(5)
    ]
    return 1e9 * min(run.wall_time / run.certificate.steps for run in runs)


__all__ = ["Verified", "measured_order", "verify"]
