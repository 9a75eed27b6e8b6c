"""One run of each paper: what the demo shows."""

from __future__ import annotations

from collections.abc import Callable

from taut.march.field_trajectory import FieldTrajectory
from taut.march.trajectory import Trajectory

Run = Trajectory | FieldTrajectory


def zg() -> Trajectory:
    """ZG's planar double pendulum by their time element."""
    from taut.problems import problem

    return problem("zg-double").simulate(method="time-element")


def cq() -> Trajectory:
    """CQ's triple pendulum by their composition of symplectic Runge–Kutta methods."""
    from taut.papers.cq_study import SYMPLECTIC
    from taut.problems import problem

    return problem("cq-triple").simulate(method=SYMPLECTIC)


def sgm() -> Trajectory:
    """SGM's rigid body by RK4, held to both of its integrals after every step."""
    from taut.papers import sgm_study as study

    laws = dict(zip(("|x|²", "E"), study.integrals(), strict=True))
    both = list(study.ways().values())[-1]
    return study.simulated(both, study.STEP, 200.0, laws=laws)


def cs() -> FieldTrajectory:
    """CS's beam, bent to an arc and thrown, by their Poisson integrator."""
    from taut.papers import cs_study as study

    return study.simulated(duration=2.0, every=40)


FLAGSHIPS: dict[str, tuple[str, Callable[[], Run]]] = {
    "zg": ("ZG: planar double pendulum, time element", zg),
    "cq": ("CQ: planar triple pendulum, symplectic Runge–Kutta", cq),
    "sgm": ("SGM: rigid body, RK4 corrected to both integrals", sgm),
    "cs": ("CS: thrown beam, Poisson integrator", cs),
}
