"""The geometry of a start: the nearest consistent state, and constraints that depend on others.

The nearest consistent state is the M-orthogonal projection,

    min ½ (q − q₀)ᵀ M (q − q₀)  with  g(q) = 0,      then  v = v₀ − M⁻¹Gᵀ (G M⁻¹ Gᵀ)⁺ (G v₀ + g_t).

Constraints whose gradients depend on those before them are redundant if they keep holding when
the others do; otherwise the configuration is singular, or the constraints contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from taut.errors import ConstraintError
from taut.kernel.evaluate import LARGE, Mechanics, Snapshot
from taut.kernel.saddle import Saddle
from taut.kernel.singular import svd
from taut.march import project_large as large
from taut.portable import complement, norm, product, solve

if TYPE_CHECKING:
    from taut.model.system import System

ROUNDOFF = 4e-16
UNMET = 1e-9
# On the constraints rows that depend on others do so but for rounding, and rows that meet at 1e−8
# are two.  Off them, on the way to the nearest state, dependent rows look independent, by a part of
# what they are off: dividing by that leads astray, and what is nearly dependent is left alone.
DEPENDENT = 1e-9  # of a unit row, or of the largest singular value, on the constraints
UNSURE = 1e-7  # the same off them
# A step solves with G M⁻¹Gᵀ, where an angle is squared: at the root of rounding nothing is left.
CLOSE = 2e-8  # of a unit row in coordinates of unit mass
PULLS = 1e-3  # of a unit row: what another one counts for in it at least
LOOSE = 0.1  # singular values that are surely no rounding
NOISE = 1e-13  # of what is to fall: less says nothing
FLAT = 1e-3  # of the slopes all around: a constraint that may have none where it holds
LEVEL = 1e-7  # of these slopes: one that rounding leaves
AROUND = 8  # places at which that is looked at, and around each of them as many
LISTED = 6  # constraints that are named
# What is near enough to have about the same gradients, in radians; it is looked for in so many
# quarters, down to 10⁻¹² of the coordinates.
TURNED, FARTHEST = 0.1, 20
STILL = 1e-20  # of the lengths, per unit of time: no speed at all, whatever the unit
SMALLEST = 1e-5  # of the largest coordinate: what a coordinate counts for at least


def _sizes(x: np.ndarray) -> np.ndarray:
    """|xⱼ|, but not less than a small part of the largest."""
    size = np.abs(x)
    return np.maximum(size, SMALLEST * size.max(axis=-1, keepdims=True))


def scales(here: Snapshot) -> tuple[np.ndarray, np.ndarray]:
    """Sizes that g and G v + ∂g/∂t are compared with: Σ |Gᵢⱼ| max |q|, Σ |Gᵢⱼ| max |v| + |∂gᵢ/∂t|.

    The largest coordinate is that of the coordinates a constraint depends on.  The scale of g is at
    least the size of its summands.
    """
    mechanics, v, t, par = here.mechanics, here.v, here.t, here.par
    if mechanics.n > LARGE and here.q.ndim > 1:
        each = [scales(here[i]) for i in range(len(here.q))]
        return np.array([x for x, _ in each]), np.array([x for _, x in each])
    if mechanics.n > LARGE:
        slopes = large.slopes(here)
        reach, speed = (slopes * large.involved_largest(mechanics, _sizes(x)) for x in (here.q, v))
    else:
        slopes = np.abs(here.gradients).sum(axis=-1)
        reach, speed = (
            slopes * np.where(mechanics.involved, _sizes(x)[..., None, :], 0.0).max(axis=-1)
            for x in (here.q, v)
        )
    if mechanics.system.rheonomic:
        rest = np.zeros_like(v)
        speed += np.abs(mechanics.hidden(here.q, rest, t, par))
        turning = mechanics.apply("hidden_rate", t, par, q=here.q, v=rest, a=rest)
        speed += SMALLEST * np.abs(t * turning)  # where a moving constraint comes to rest
    reach = np.maximum(reach, here.size)
    return reach + 1e-300, np.maximum(speed, STILL * reach) + 1e-300


def _metric(mechanics, q, v, t, par) -> np.ndarray:
    """T with |T⁻¹ x|² = xᵀM x: coordinates z = T⁻¹ (q − q₀) in which the mass is 1."""
    mass = mechanics.mass(q, v, mechanics.momentum(q, v, t, par), t, par)
    scale = 1.0 / np.sqrt(np.maximum(np.abs(mass).max(axis=1), 1e-300))
    vectors, values, _ = svd(scale[:, None] * (mass + mass.T) / 2 * scale)
    return scale[:, None] * vectors / np.sqrt(values)


class Aim:
    """The linearised constraints at q in coordinates of unit mass, each row of size 1."""

    def __init__(self, mechanics, q, t, par, metric, least: float = 1e-12) -> None:
        rows = product(mechanics.gradients(q, t, par), metric)
        norms = norm(rows)
        self.norms = np.where(norms > 0.0, norms, 1.0)
        u, s, vt = svd(rows / self.norms[:, None])
        rank = int(np.sum(s > least * s.max(initial=1e-300)))
        self.u, self.s, self.range = u[:, :rank], s[:rank], vt[:rank]
        self.tangent = complement(self.range)

    def step(self, residual: np.ndarray) -> np.ndarray:
        """The smallest change z that removes `residual`."""
        return -product(self.range.T, product(self.u.T, residual / self.norms) / self.s)

    def multipliers(self, z: np.ndarray, residual: np.ndarray, size: float) -> np.ndarray:
        """Λ with z + (G T)ᵀλ as small as can be.

        As long as constraints are off by a part of the `size` of the configuration, rows that
        depend on others look independent, by as much: such ones pull at nothing.
        """
        off = min(np.abs(residual / self.norms).max(initial=0.0) / size, LOOSE)
        pulls = np.where(self.s > off, product(self.range, z) / self.s, 0.0)
        return -product(self.u, pulls) / self.norms


def nearest(mechanics: Mechanics, q0, v, t, par, label: str = "") -> np.ndarray:
    """The nearest configuration with g = 0 in the mass metric; contradictory constraints raise.

    Newton's method on  z + (G T)ᵀλ = 0, g = 0  in coordinates of unit mass, with a step length that
    makes ½|z|² + μ Σ |gᵢ| fall; where the curvature of the constraints would lead to a saddle it is
    left out.
    """
    scale = scales(Snapshot(mechanics, q0, v, v, t, par))[0]
    if mechanics.n > LARGE:
        found = _nearest_of_large(mechanics, q0, v, t, par, scale)
        left = mechanics.g(found, t, par)
        if not np.all(np.abs(left) <= UNMET * scale):
            raise _apart(mechanics, found, t, par, scale, label)
        return found
    metric = _metric(mechanics, q0, v, t, par)
    z, size = np.zeros(len(q0)), float(norm(solve(metric, q0))) or 1.0

    def g(z) -> np.ndarray:
        with np.errstate(all="ignore"):
            return mechanics.g(q0 + product(metric, z), t, par)

    weight = 0.0
    for _ in range(100):
        q = q0 + product(metric, z)
        aim, left = Aim(mechanics, q, t, par, metric, UNSURE), g(z)
        multipliers, normal = aim.multipliers(z, left, size), aim.step(left)
        along = _along(mechanics, q, t, par, metric, aim, multipliers, z, normal)
        change = normal + along
        pulls = aim.norms * np.array([multipliers, aim.multipliers(z + normal, left, size)])
        weight = max(weight, 2.0 * np.abs(pulls).max(initial=0.0) + 1e-3)
        most = (1.0 + NOISE) * _merit(z, left, weight, aim)
        part = 1.0
        while (
            part > 1e-8 and not _merit(z + part * change, g(z + part * change), weight, aim) <= most
        ):
            part /= 2
        z = z + (part if part > 1e-8 else 1.0) * change
        if np.all(np.abs(product(metric, change)) <= 1e-13 * _sizes(q)):
            break
    for _ in range(3):  # round-off
        if np.all(np.abs(g(z)) <= ROUNDOFF * scale):
            break
        z = z + Aim(mechanics, q0 + product(metric, z), t, par, metric, DEPENDENT).step(g(z))
    if not np.all(np.abs(g(z)) <= UNMET * scale):
        raise _apart(mechanics, q0 + product(metric, z), t, par, scale, label)
    return q0 + product(metric, z)


def _apart(mechanics, q, t, par, scale, label: str) -> ConstraintError:
    """What does not meet there: of bodies that were stretched to meet, their joints."""
    left = mechanics.g(q, t, par)
    whole = mechanics.g(rigid(mechanics.system, q), t, par)
    met = np.all(np.abs(whole) <= UNMET * scale) or not np.all(np.isfinite(whole))
    return _contradiction(mechanics, left if met else whole, scale, label)


def rigid(system: System, q: np.ndarray) -> np.ndarray:
    """The same with directors that are orthonormal again: those that turned far are long."""
    found = q.copy()
    parts = system.mechanism.parts.values() if system.mechanism is not None else ()
    for part in (x for x in parts if x.shape.directors):
        here = slice(part.first + 3, part.first + part.shape.size)
        u, _, vt = np.linalg.svd(found[here].reshape(-1, 3), full_matrices=False)
        found[here] = (u @ vt).ravel()
    return found


def _nearest_of_large(mechanics, q0, v, t, par, scale) -> np.ndarray:
    try:
        return large.nearest(
            mechanics, q0, v, t, par, lambda g: np.all(np.abs(g) <= ROUNDOFF * scale)
        )
    except RuntimeError:  # a singular matrix
        return q0


def _merit(z, g, weight: float, aim: Aim) -> float:
    value = 0.5 * product(z, z) + weight * np.abs(g / aim.norms).sum()
    return value if np.isfinite(value) else np.inf


def _along(mechanics, q, t, par, metric, aim: Aim, multipliers, z, normal) -> np.ndarray:
    """The tangential part of the step towards the nearest point."""
    basis = aim.tangent
    if not len(basis):
        return np.zeros_like(z)
    push = mechanics.derivative("push", "q", t, par, q=q, lam=multipliers)
    bend = product(metric.T, push @ metric)  # of a sparse matrix, which is no matter of BLAS
    matrix = product(basis, bend, basis.T) + np.eye(len(basis))
    right = -product(basis, z + normal + product(bend, normal))
    try:
        np.linalg.cholesky((matrix + matrix.T) / 2)
    except np.linalg.LinAlgError:
        return -product(basis.T, product(basis, z))
    return product(basis.T, solve(matrix, right))


def tangent(mechanics: Mechanics, q, v0, t, par, label: str = "") -> np.ndarray:
    """The nearest velocity with G v + ∂g/∂t = 0 in the mass metric."""
    # What is left is compared with the velocities that were found: v₀ itself may be zero.
    if mechanics.n > LARGE:
        v = large.tangent(mechanics, q, v0, t, par)
        slopes = large.slopes(Snapshot(mechanics, q, v, v, t, par))
    else:
        metric = _metric(mechanics, q, v0, t, par)
        aim = Aim(mechanics, q, t, par, metric)
        v = v0
        for _ in range(2):  # the second pass removes the round-off of the first
            v = v + product(metric, aim.step(mechanics.hidden(q, v, t, par)))
        slopes = np.abs(mechanics.gradients(q, t, par)).sum(axis=-1)
    hidden = mechanics.hidden(q, v, t, par)
    scale = scales(Snapshot(mechanics, q, v0, v0, t, par))[1]
    scale = np.maximum(scale, slopes * max(np.abs(v0).max(), np.abs(v).max()))
    if np.any(np.abs(hidden) > UNMET * scale):
        raise _contradiction(mechanics, hidden, scale, label, "G v + ∂g/∂t")
    return v


def check_rates(mechanics, q, v, t, par, keep, label: str) -> None:
    """Redundant moving constraints must agree in their accelerations too."""
    zero = np.zeros(mechanics.n)
    bend = mechanics.apply("hidden_rate", t, par, q=q, v=v, a=zero)
    if mechanics.n > LARGE:
        jacobian = mechanics.jacobian(q, t, par)
        momentum = mechanics.momentum(q, v, t, par)
        a = Saddle(mechanics, q, v, momentum, t, par).solve(zero, -bend)[0]
    else:
        jacobian = mechanics.gradients(q, t, par)
        a = -np.linalg.lstsq(jacobian[list(keep)], bend[list(keep)], rcond=1e-12)[0]
    left = jacobian @ a + bend
    scale = np.abs(jacobian) @ np.abs(a) + np.abs(bend) + 1e-300
    # Rows whose own terms are rounding: what others are.
    fast = np.abs(v).max() ** 2 / (np.abs(q).max() or 1.0)
    steep = np.asarray(np.abs(jacobian).sum(axis=1)).ravel()
    scale = scale + steep * (np.abs(a).max(initial=0.0) + fast)
    if np.any(np.abs(left) > UNMET * scale):
        raise _contradiction(mechanics, left, scale, label, "d/dt (G v + ∂g/∂t)")


def independent(mechanics: Mechanics, q, t, par, label: str = "") -> tuple[int, ...]:
    """Numbers of the constraints that determine the others; raises at a singular configuration."""
    rng = np.random.default_rng(0)
    slopes = mechanics.jacobian if mechanics.n > LARGE else mechanics.gradients
    jacobian = slopes(q, t, par)
    typical = _lengths(jacobian)
    flat = _without_slope(mechanics, q, t, par, typical) if mechanics.n <= LARGE else []
    size = _reach(slopes, q, t, par, jacobian)
    if typical.min() <= 1e-6 * typical.max():  # small here, or small everywhere?
        beside = q + 1e-3 * size * rng.standard_normal(len(q))
        typical = _lengths(slopes(beside, t, par))
    keep, dropped = _dependent_rows(jacobian, typical)
    if set(flat).intersection(keep):
        raise _slopeless(mechanics, flat)
    if not dropped:
        return tuple(range(mechanics.c))
    basis = None if mechanics.n > LARGE else _null_space(cast(np.ndarray, jacobian))
    for _ in range(2):
        # Nearby configurations on the kept constraints: do the dropped ones still hold there?
        if basis is None:
            there = large.beside(mechanics, q, t, par, 1e-3 * size, rng)
        else:
            there = q + 1e-3 * size * (basis @ rng.standard_normal(basis.shape[1]))
            there = _onto(mechanics, there, t, par, keep)
        off = np.abs(mechanics.g(there, t, par)[dropped])
        more = _dependent_rows(slopes(there, t, par), typical)[1]
        wide = widths(mechanics, there, t, par)[dropped]
        if len(more) < len(dropped) or np.any(off > 1e-11 * wide):
            if flat:
                raise _slopeless(mechanics, flat)
            if len(more) == len(dropped):  # there as here, and yet they do not follow
                raise _close(mechanics.system, jacobian, dropped[0], keep, label)
            raise ConstraintError(
                f"the start{label} is a singular configuration: constraints lose rank there",
                expected="independent gradients, or constraints that are redundant everywhere",
                received="dependent only at this configuration: "
                + ", ".join(owned(mechanics.system, dropped)),
                remedy="start from a configuration beside it",
            )
    return tuple(keep)


def check_apart(mechanics: Mechanics, q, v, t, par, keep, label: str = "") -> None:
    """Refuse constraints that are one to a step, unless it is so only near this configuration."""
    if mechanics.n > LARGE or len(keep) < 2:
        return
    system, kept = mechanics.system, list(keep)
    rows = mechanics.gradients(q, t, par)[kept]
    metric = _metric(mechanics, q, v, t, par)
    found = _one_to_a_step(rows, metric)
    if not found:
        return
    rng = np.random.default_rng(0)
    size = _reach(mechanics.gradients, q, t, par, mechanics.gradients(q, t, par))
    basis = _null_space(rows)
    for _ in range(2):
        there = q + 1e-3 * size * (basis @ rng.standard_normal(basis.shape[1]))
        there = _onto(mechanics, there, t, par, kept)
        if not _one_to_a_step(
            mechanics.gradients(there, t, par)[kept], _metric(mechanics, there, v, t, par)
        ):
            return
    others = [i for k, i in enumerate(kept) if k != found[0]]
    raise _close(system, mechanics.gradients(q, t, par), kept[found[0]], others, label, metric)


def _one_to_a_step(rows: np.ndarray, metric: np.ndarray) -> list[int]:
    """Rows that others leave no angle but one that is lost when it is squared."""
    rows = product(rows, metric)
    return _dependent_rows(rows, np.linalg.norm(rows, axis=1), CLOSE)[1]


def _angle(rows: Any, row: int, others: list[int]) -> tuple[float, list[int]]:
    """Between a row and the span of others, and those of them that it is made of."""
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]
    parts = np.linalg.lstsq(rows[others].T, rows[row], rcond=None)[0]
    left = np.linalg.norm(rows[row] - rows[others].T @ parts)
    return float(left), [i for i, x in zip(others, parts, strict=True) if abs(x) > PULLS]


def _close(
    system: System,
    slopes: Any,
    row: int,
    others: list[int],
    label: str,
    metric: np.ndarray | None = None,
) -> ConstraintError:
    """Of constraints that are nearly one everywhere: which, and at what angle they meet."""
    plain, of = _angle(slopes, row, others)
    angle, of = (plain, of) if metric is None else _angle(product(slopes, metric), row, others)
    names = ", ".join(owned(system, sorted([*of, row])))
    heavy = metric is not None and plain > UNSURE
    return ConstraintError(
        f"constraints nearly depend on each other{' at the start' + label if label else ''}: "
        f"{names}",
        expected=f"gradients at an angle of more than {CLOSE:.0e}, seen by the masses",
        received=f"an angle of {angle:.1e}"
        + (f", but of {plain:.1e} without the masses" if heavy else ", not only here"),
        remedy="masses (or units of coordinates) that differ less"
        if heavy
        else "drop one of them, or state them apart: instead of the last what it says beyond "
        "the others, with a slope of its own",
    )


def _without_slope(mechanics: Mechanics, q, t, par, sizes: np.ndarray) -> list[int]:
    """Constraints such as f² = 0, whose gradient is zero wherever they hold.

    From all around Newton's method leads to places without a slope, or (of |f|, whose slope jumps)
    to places that have values of one sign around them.  Far from the origin all slopes around are
    large beside that of a short rod: a slope that is more than rounding must be lost there.
    """
    ways = np.random.default_rng(1).standard_normal((AROUND, len(q)))

    def beside(length: float) -> tuple[np.ndarray, np.ndarray]:
        around = q + 1e-3 * (length or 1.0) * ways
        return around, np.array([mechanics.gradients(x, t, par) for x in around])

    far, flat = np.abs(q).max(), []
    slopes = beside(far)[1]
    low = sizes <= FLAT * np.linalg.norm(slopes, axis=2).min(axis=0)
    for i in np.flatnonzero(low).tolist():
        # As far as its own coordinates say: others may be much larger.
        own = np.abs(q[np.any(slopes[:, i] != 0.0, axis=0)]).max(initial=0.0)
        if not own and sizes[i] > 0.0:
            continue  # at zero nothing is rounding, and any slope is one
        around, there = beside(own or far)
        steep = np.linalg.norm(there[:, i], axis=1)
        if sizes[i] > FLAT * steep.min():
            continue
        on = [_onto(mechanics, x, t, par, [i]) for x in around]
        left = np.array([np.linalg.norm(mechanics.gradients(x, t, par)[i]) for x in on])
        near = (x + FLAT * (around - q) for x in on)
        values = np.array([[mechanics.g(y, t, par)[i] for y in places] for places in near])
        sides = np.abs(np.sign(values).sum(axis=1)) == AROUND
        none = sizes[i] <= LEVEL * steep.min()
        lost = left <= FLAT * (steep if none else sizes[i])
        if np.all(lost | (sides & none)):
            flat.append(i)
    return flat


def _slopeless(mechanics: Mechanics, rows: list[int]) -> ConstraintError:
    names = ", ".join(owned(mechanics.system, rows))
    return ConstraintError(
        f"wherever {names} holds, it has no slope",
        expected="g that passes through zero with a slope",
        remedy="f = 0 instead of f² = 0 or |f| = 0; of a sum of squares each one by itself",
    )


def _reach(slopes, q, t, par, jacobian) -> float:
    """A length, a thousandth of which turns no gradient by much: of the system, from anywhere."""
    size, lengths = float(np.abs(q).max() or 1.0), _lengths(jacobian)
    way = np.random.default_rng(1).standard_normal(len(q))
    steep = lengths > 1e-6 * lengths.max(initial=0.0)
    for _ in range(FARTHEST):
        there = slopes(q + 1e-3 * size * way, t, par)
        turn = _lengths(there - jacobian)[steep] / np.maximum(_lengths(there), lengths)[steep]
        if turn.max(initial=0.0) <= TURNED:
            break
        size /= 4.0
    return size


def widths(mechanics: Mechanics, q, t, par) -> np.ndarray:
    """What each constraint would change by if all coordinates were as large as the largest."""
    slopes = mechanics.jacobian if mechanics.n > LARGE else mechanics.gradients
    return np.abs(q).max() * np.asarray(abs(slopes(q, t, par)).sum(axis=1)).ravel()


def _onto(mechanics, q, t, par, keep) -> np.ndarray:
    for _ in range(60):
        rows = mechanics.gradients(q, t, par)[keep]
        norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        g = mechanics.g(q, t, par)[keep] / norms
        change = np.linalg.lstsq(rows / norms[:, None], g, rcond=1e-12)[0]
        q = q - change
        if np.all(np.abs(change) <= ROUNDOFF * np.abs(q).max()):
            break
    return q


def _lengths(jacobian: Any) -> np.ndarray:
    if isinstance(jacobian, np.ndarray):
        return np.linalg.norm(jacobian, axis=1)
    return large.row_norms(jacobian)


def _dependent_rows(
    jacobian: Any, typical: np.ndarray, below: float = DEPENDENT
) -> tuple[list[int], list[int]]:
    """(independent rows, rows that depend on those before them).

    A row much smaller than it typically is counts as zero.
    """
    if not isinstance(jacobian, np.ndarray):
        lost = large.dependent(jacobian, typical, below)
        return sorted(set(range(len(typical))) - set(lost)), lost
    sizes = np.linalg.norm(jacobian, axis=1)
    zero = sizes <= below * typical
    scaled = np.where(zero[:, None], 0.0, jacobian / np.where(zero, 1.0, sizes)[:, None])
    keep: list[int] = list(range(len(jacobian)))
    while keep:
        triangle = np.abs(np.diag(np.linalg.qr(scaled[keep].T, mode="r")))
        triangle = np.concatenate([triangle, np.zeros(len(keep) - len(triangle))])
        small = np.flatnonzero(triangle <= below)
        if not len(small):
            break
        del keep[small[0]]  # the first dependent row; then look again
    return keep, [i for i in range(len(jacobian)) if i not in keep]


def _null_space(jacobian: np.ndarray) -> np.ndarray:
    _, s, vt = np.linalg.svd(jacobian)
    rank = int(np.sum(s > DEPENDENT * s.max(initial=1e-300)))
    return vt[rank:].T


def owned(system: System, rows: Iterable[int]) -> dict[str, list[int]]:
    """Rows by what they belong to: joints of a mechanism, or themselves."""
    joints = () if system.mechanism is None else system.mechanism.joints.values()
    owner = {row: joint.title for joint in joints for row in joint.rows}
    found: dict[str, list[int]] = {}
    for i in rows:
        name = system.constraint_names[i]
        found.setdefault(owner.get(name, name), []).append(i)
    return found


def told(system: System, rows: list[int], values: np.ndarray, what: str) -> str:
    """By how much rows are off; of a rod |Δ|² = l² + 2 l g, its length."""
    rod = _rods(system).get(rows[0]) if len(rows) == 1 and what == "g" else None
    square = 0.0 if rod is None else rod * (rod + 2 * values[rows[0]])
    if rod is None or not square >= 0:
        return f"{what} = {largest(values[rows]):.3g}"
    return f"length {np.sqrt(square):.6g} instead of {rod:.6g}"


def _rods(system: System) -> dict[int, float]:
    """Lengths of rods by the numbers of their constraints."""
    joints = () if system.mechanism is None else system.mechanism.joints.values()
    number = {name: i for i, name in enumerate(system.constraint_names)}
    rods = (x for x in joints if x.kind == "rod")
    return {number[x.rows[0]]: float(x.pieces[0].values[-1]) for x in rods}


def largest(values: np.ndarray) -> float:
    """That of the largest size."""
    return float(values[np.argmax(np.abs(values))])


def _contradiction(mechanics, left, scale, label: str, what: str = "g") -> ConstraintError:
    system, worst = mechanics.system, np.flatnonzero(~(np.abs(left) <= UNMET * scale))
    owners = owned(system, worst)
    if system.mechanism is not None:  # directors alone can always be orthonormal
        joints = {joint.title for joint in system.mechanism.joints.values()}
        owners = {name: rows for name, rows in owners.items() if name in joints} or owners
    shown = dict(list(owners.items())[:LISTED])
    over = (f"{name}: {told(system, rows, left, what)}" for name, rows in shown.items())
    many = mechanics.c > 1
    listed = ", ".join(shown)
    return ConstraintError(
        f"the constraints contradict each other near the start{label}: {listed}"
        if many
        else f"constraint {listed} cannot be met near the start{label}",
        expected=f"a state with {what} = 0",
        received="left over: " + ", ".join(over),
        remedy="remove one of them, or start closer to a state that satisfies all"
        if many
        else "start closer to a state that satisfies it; its gradient may vanish here, or another "
        "constraint may stand against it",
    )
