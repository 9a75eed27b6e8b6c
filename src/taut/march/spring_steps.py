"""The longest step that springs of a mechanism allow an explicit method.

A spring of stiffness kᵢ on a measure sᵢ pulls with the wrench wᵢ = ∂sᵢ/∂(moved, turned) of each
part that it holds on to.  If parts were free, the squares of their frequencies would be the
eigenvalues of

    Bᵢⱼ = √(kᵢ kⱼ) Σ wᵢᵀ diag(1/m, J⁻¹) wⱼ,        the sum over parts,

and h < 2/ω_max.  Joints only slow motions down, so that it is a safe limit; it is that of the
start, with kᵢ = U″(sᵢ) there.  A spring that pulls with F = U′(s) is stiff across its line, too, by
F/s; and what it pulls at an arm a turns back, by at most |F| |a|.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from taut.model.mechanism.forces import LENGTH, Acting, Measure
from taut.model.symbols import t

if TYPE_CHECKING:
    from taut.model.mechanism import Mechanism
    from taut.model.mechanism.parts import Part

LARGE = 500  # springs beyond which the largest sum of a row is taken for the largest eigenvalue
Wrench = tuple["Part", np.ndarray, np.ndarray]


def spring_step(mechanism: Mechanism) -> float:
    """2/ω_max of the springs at the start; infinite without any."""
    springs = [x for x in mechanism.forces.values() if isinstance(x, Acting) and x.energy]
    loads = [(k, wrenches) for x in springs for k, wrenches in _pulled(x) if k > 0]
    if not loads:
        return math.inf
    by_part: dict[int, list[tuple[int, np.ndarray]]] = {}
    for i, (k, wrenches) in enumerate(loads):
        for part, force, torque in wrenches:
            row = math.sqrt(k) * np.concatenate(
                [force / math.sqrt(part.mass), _eased(part, torque)]
            )
            by_part.setdefault(part.first, []).append((i, row))
    matrix = np.zeros((len(loads), len(loads)))
    for rows in by_part.values():
        which, table = [i for i, _ in rows], np.array([row for _, row in rows])
        matrix[np.ix_(which, which)] += table @ table.T
    if len(loads) > LARGE:
        square = float(np.abs(matrix).sum(axis=1).max())
    else:
        square = float(np.linalg.eigvalsh(matrix)[-1])
    return 2 / math.sqrt(square) if square > 0 else math.inf


def _pulled(force: Acting) -> list[tuple[float, list[Wrench]]]:
    """Stiffnesses of a spring at the start, and how what they hold grows with its parts."""
    value, wrenches = _grows(force.measure, force.ends)
    assert force.energy is not None
    known = dict(zip(force.constants, force.values, strict=True))
    pull, bend = (
        _number(force.energy.diff(LENGTH, k).subs({**known, LENGTH: value, t: 0})) for k in (1, 2)
    )
    found = [(bend, wrenches)]
    if force.measure.kind != "length" or not pull or not value > 0:
        return found
    line = wrenches[0][1]
    for across in np.linalg.svd(line[None])[2][1:] if pull > 0 else ():
        found.append((pull / value, _along(force.measure, force.ends, across)))
    for part, place in zip(
        (force.measure.a, force.measure.b), _places(force.measure, force.ends), strict=True
    ):
        arm = float(np.linalg.norm(place - part.position)) if part.shape.directors else 0.0
        for axis in np.eye(3):
            found.append((abs(pull) * arm, [(part, np.zeros(3), axis)]))
    return found


def _number(e: sp.Expr) -> float:
    found = float(sp.re(e.doit().evalf())) if e.is_number else 0.0
    return found if math.isfinite(found) else 0.0


def _grows(measure: Measure, ends: np.ndarray | None) -> tuple[float, list[Wrench]]:
    """The measure at the start, and the wrench on each part that moves."""
    a, b, joint = measure.a, measure.b, measure.joint
    if measure.kind == "angle":
        assert joint is not None
        turned = ((a, -joint.triad["e"]), (b, joint.other["e"]))
        return 0.0, [(part, np.zeros(3), axis) for part, axis in turned if part.shape.size]
    if joint is not None:
        return 0.0, _along(measure, joint.at, joint.triad["e"], joint.other["e"])
    places = _places(measure, ends)
    line = places[1] - places[0]
    value = float(np.linalg.norm(line))
    return value, _along(measure, ends, line / value if value > 0 else line)


def _places(measure: Measure, ends: np.ndarray | None) -> Any:
    """Where it holds on to both parts."""
    return (measure.a.position, measure.b.position) if ends is None else ends


def _along(
    measure: Measure, ends: np.ndarray | None, line: np.ndarray, other: np.ndarray | None = None
) -> list[Wrench]:
    """Wrenches of a pull along a line between both places, on the parts that move.

    Where parts lie askew, the line of the second part is another one.
    """
    sides, found = (measure.a, measure.b), []
    lines = (-line, line if other is None else other)
    for part, place, pull in zip(sides, _places(measure, ends), lines, strict=True):
        if part.shape.size:
            found.append((part, pull, np.cross(place - part.position, pull)))
    return found


def _eased(part: Part, torque: np.ndarray) -> np.ndarray:
    """J^(−1/2) of a torque, along the principal axes; what has no moment takes no torque."""
    moments = part.inertia
    root = np.sqrt(np.where(moments > 0, moments, np.inf))
    return (part.directors.T @ torque) / root
