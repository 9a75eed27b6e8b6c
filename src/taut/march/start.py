"""From what the user gives to a consistent start, or to an error that says what is wrong.

A start is consistent if g(q₀, t₀) = 0 and G v₀ + ∂g/∂t = 0.  The nearest consistent state is the
M-orthogonal projection,

    min ½ (q − q₀)ᵀ M (q − q₀)  with  g(q) = 0,      then  v = v₀ − M⁻¹Gᵀ (G M⁻¹ Gᵀ)⁺ (G v₀ + g_t).

Constraints whose gradients depend on those before them are redundant if they keep holding when
the others do; otherwise the configuration is singular, or the constraints contradict each other.

Everything is measured on the scale of its own: coordinates, masses and constraints may have
different units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.errors import ConstraintError, InconsistentStart, InputError
from taut.kernel.evaluate import LARGE, Mechanics, solve
from taut.model.system import balanced

TOLERANCE = 1e-10  # of the scale of each constraint
ROUNDOFF = 4e-16
UNMET = 1e-9
DEPENDENT = 1e-9
SMALLEST = 1e-5  # of the largest coordinate: what a coordinate counts for at least


@dataclass(frozen=True)
class Start:
    """A consistent state and the constraints that determine it.

    Attributes
    ----------
    q, v, p : ndarray, shape (n,) or (B, n)
    keep : tuple of int
        Independent constraints; the others are redundant.
    """

    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    t: float
    keep: tuple[int, ...]
    projected: bool


def prepare(mechanics: Mechanics, q0, v0, p0, t0: float, par: np.ndarray, project: bool) -> Start:
    """Check, project and complete a start, or a batch of them."""
    n = mechanics.n
    q = _array("q0", q0, n)
    if (v0 is None) == (p0 is None):
        raise InputError(
            "the start needs velocities or momenta",
            expected="exactly one of v0=… and p0=…",
            received="both" if v0 is not None else "neither",
            remedy="v0=0 is a start from rest" if v0 is None else None,
        )
    name = "p0" if v0 is None else "v0"
    given = _array(name, p0 if v0 is None else v0, n)
    try:
        q, given = (np.array(x) for x in np.broadcast_arrays(q, given))
    except ValueError as error:
        raise InputError(
            f"q0 and {name} are batches of different length",
            expected=f"as many rows in {name} as in q0, or one",
            received=f"{len(q)} and {len(given)}",
        ) from error
    v = given if v0 is not None else _other(mechanics, "velocity", q, given, t0, par)
    p = given if v0 is None else _other(mechanics, "momentum", q, v, t0, par)
    _check_finite(mechanics, q, v, p, t0, par)
    if q.ndim == 1:
        return _one(mechanics, q, v, p, t0, par, project)
    first = _one(mechanics, q[0], v[0], p[0], t0, par, project, label="[0]")
    return _many(mechanics, q, v, p, t0, par, project, first)


def smallest_sizes(mechanics: Mechanics, q, v, p, t: float, h: float, par) -> np.ndarray:
    """For each row of a batch the smallest size of a coordinate that matters to Newton's method.

    That is 1e−7 of what the start shows: of the largest coordinate, or, at rest in the origin, of
    what the forces would move in a step if there were no constraints.  It is more where constraints
    cannot be evaluated as exactly as that, say a circle of radius 1 through the origin.
    """
    size = np.abs(q).max(axis=1) + h * np.abs(v).max(axis=1)
    for i in np.flatnonzero(size == 0.0):
        pushes = [mechanics.apply("force", s, par, q=q[i], v=v[i], p=p[i]) for s in (t, t + h)]
        inverse = np.linalg.inv(mechanics.mass(q[i], v[i], p[i], t, par))
        size[i] = max(h * h * np.abs(inverse @ f).max() for f in pushes)
    smallest = 1e-7 * np.where((size > 0.0) & (size < np.inf), size, 1.0)
    if mechanics.c == 0:
        return smallest
    rounding = np.finfo(float).eps * mechanics.apply("size", t, par, q=q)
    slopes = np.linalg.norm(_gradients(mechanics, q, t, par), axis=2)
    noise = rounding / np.where(slopes > 0.0, slopes, np.inf)
    return np.maximum(smallest, 1e8 * noise.max(axis=1))


def _array(name: str, value, n: int) -> np.ndarray:
    if value is None:
        raise InputError(
            f"{name} is missing", expected=f"{n} numbers", remedy=f"simulate(…, {name}=[…])"
        )
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} is not an array of numbers", expected=f"{n} numbers", received=str(value)[:80]
        ) from error
    if array.ndim == 0 and name != "q0":
        array = np.full(n, float(array))
    if array.ndim not in (1, 2) or array.shape[-1] != n or array.size == 0:
        raise InputError(
            f"{name} has the wrong shape", expected=f"({n},) or (batch, {n})", received=array.shape
        )
    if not np.all(np.isfinite(array)):
        bad = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InputError(
            f"{name} is not finite",
            expected="finite numbers",
            received=f"{array[tuple(bad)]} at {bad}",
        )
    return array


def _other(mechanics: Mechanics, which: str, q, given, t, par) -> np.ndarray:
    """The momentum (velocity) that belongs to a given velocity (momentum)."""
    find = getattr(mechanics, which)
    if which == ("momentum" if mechanics.form == "lagrangian" else "velocity"):
        return find(q, given, t, par)  # a formula; the other way round an equation is solved
    if q.ndim > 1:
        rows = enumerate(zip(q, given, strict=True))
        return np.array([_solved(mechanics, which, *x, t, par, f"[{i}]") for i, x in rows])
    return _solved(mechanics, which, q, given, t, par, "")


def _solved(mechanics: Mechanics, which: str, q, given, t, par, label: str) -> np.ndarray:
    """One row of `_other` where the Legendre transform has to be inverted."""
    back = "velocity" if which == "momentum" else "momentum"
    zero = np.zeros_like(q)
    _check_mass(mechanics, q, zero, zero, t, par, label)
    try:
        with np.errstate(all="ignore"):
            found = getattr(mechanics, which)(q, given, t, par)
            again = getattr(mechanics, back)(q, found, t, par)
    except (np.linalg.LinAlgError, RuntimeError):
        found, again = zero, np.full_like(given, np.nan)
    if not np.all(np.abs(again - given) <= 1e-6 * np.abs(given).max()):
        raise InputError(
            f"the start{label} has no {which}",
            expected=f"a {back} for which p = ∂L/∂q̇ can be solved for the {which}",
            received=f"{back} {given}",
            remedy=f"check it against the domain of the energy, or give the {which} itself",
        )
    return found


def _check_finite(mechanics: Mechanics, q, v, p, t0, par) -> None:
    """The energy, forces and constraints must be numbers at the start."""
    checks = {
        "energy": lambda: mechanics.energy(q, v, p, t0, par)[..., None],
        "force": lambda: mechanics.apply("force", t0, par, q=q, v=v, p=p),
        "constraint": lambda: mechanics.g(q, t0, par),
        "constraint's gradient": lambda: mechanics.hidden(q, v, t0, par),
    }
    for what, evaluate in checks.items():
        values = evaluate()
        if not np.all(np.isfinite(values)):
            bad = np.argwhere(~np.isfinite(values))[0].tolist()
            label = f"[{bad[0]}]" if q.ndim > 1 else ""
            raise InputError(
                f"the {what} is not finite at the start{label}",
                expected="finite numbers",
                received=f"{values[tuple(bad)]} at index {bad[-1]}",
                remedy="check q0, v0 and the parameters against the domain of the expressions",
            )


def _sizes(x: np.ndarray) -> np.ndarray:
    """|xⱼ|, but not less than a small part of the largest."""
    size = np.abs(x)
    return np.maximum(size, SMALLEST * size.max(axis=-1, keepdims=True))


def _gradients(mechanics: Mechanics, q, t, par) -> np.ndarray:
    """G at one state or at many."""
    if mechanics.n > LARGE:
        one = q.ndim == 1
        rows = [mechanics.jacobian(x, t, par).toarray() for x in np.atleast_2d(q)]
        return rows[0] if one else np.array(rows)
    found = mechanics.derivatives("g", "q", t, par, q=np.atleast_2d(q))
    return found.reshape(*q.shape[:-1], mechanics.c, mechanics.n)


def _scales(mechanics: Mechanics, q, v, t, par) -> tuple[np.ndarray, np.ndarray]:
    """Sizes that g and G v + ∂g/∂t are compared with: Σ |Gᵢⱼ| max |q|, Σ |Gᵢⱼ| max |v| + |∂gᵢ/∂t|.

    The largest coordinate is that of the coordinates a constraint depends on.  The scale of g is at
    least the size of its summands.
    """
    slopes = np.abs(_gradients(mechanics, q, t, par)).sum(axis=-1)
    reach, speed = (
        slopes * np.where(mechanics.involved, _sizes(x)[..., None, :], 0.0).max(axis=-1)
        for x in (q, v)
    )
    if mechanics.system.rheonomic:
        rest = np.zeros_like(v)
        speed += np.abs(mechanics.hidden(q, rest, t, par))
        turning = mechanics.apply("hidden_rate", t, par, q=q, v=rest, a=rest)
        speed += SMALLEST * np.abs(t * turning)  # where a moving constraint comes to rest
    return np.maximum(reach, mechanics.apply("size", t, par, q=q)) + 1e-300, speed + 1e-300


def _one(mechanics, q, v, p, t, par, project: bool, label: str = "") -> Start:
    _check_mass(mechanics, q, v, p, t, par, label)
    if mechanics.c == 0:
        return Start(q, v, p, t, (), False)
    g, hidden = mechanics.g(q, t, par), mechanics.hidden(q, v, t, par)
    g_scale, hidden_scale = _scales(mechanics, q, v, t, par)
    off = np.any(np.abs(g) > TOLERANCE * g_scale)
    if np.any(np.abs(g) > ROUNDOFF * g_scale):
        q1 = nearest(mechanics, q, v, t, par, label)
    else:
        q1 = q
    keep = independent(mechanics, q1, t, par, label)
    slides = np.any(np.abs(hidden) > TOLERANCE * hidden_scale)
    if np.all(np.abs(mechanics.hidden(q1, v, t, par)) <= ROUNDOFF * hidden_scale):
        v1 = v
    else:
        v1 = tangent(mechanics, q1, v, t, par, label)
    if len(keep) < mechanics.c and mechanics.system.rheonomic:
        _check_rates(mechanics, q1, v1, t, par, keep, label)
    if (off or slides) and not project:
        raise _inconsistent(mechanics, g, hidden, q1, v1, label)
    if v1 is not v or q1 is not q:
        p = mechanics.momentum(q1, v1, t, par)
    return Start(q1, v1, p, t, keep, bool(off or slides))


def _many(mechanics, q, v, p, t, par, project: bool, first: Start) -> Start:
    """A batch: every row is checked; rows off by more than round-off are projected one by one."""
    suspect = _unsure_mass(mechanics, q, v, p, t, par)
    if mechanics.c:
        g, hidden = mechanics.g(q, t, par), mechanics.hidden(q, v, t, par)
        g_scale, hidden_scale = _scales(mechanics, q, v, t, par)
        suspect |= np.any(np.abs(g) > ROUNDOFF * g_scale, axis=1)
        suspect |= np.any(np.abs(hidden) > ROUNDOFF * hidden_scale, axis=1)
        suspect |= _unsure_rank(mechanics, q, t, par, first.keep)
    q, v, p, projected = q.copy(), v.copy(), p.copy(), first.projected
    for i in np.flatnonzero(suspect):
        one = _one(mechanics, q[i], v[i], p[i], t, par, project, label=f"[{i}]")
        if one.keep != first.keep:
            raise ConstraintError(
                f"the start[{i}] has other redundant constraints than the start[0]",
                expected="one set of independent constraints for a whole batch",
                remedy="run it alone",
            )
        q[i], v[i], p[i] = one.q, one.v, one.p
        projected = projected or one.projected
    return Start(q, v, p, t, first.keep, projected)


def _unsure_mass(mechanics, q, v, p, t, par) -> np.ndarray:
    """Rows of a batch whose mass matrix may be singular."""
    if mechanics.n > LARGE:
        return np.ones(len(q), dtype=bool)
    by = "a" if mechanics.form == "lagrangian" else "r"
    hessians = mechanics.derivatives("respond", by, t, par, q=q, v=v, p=p)
    finite = np.all(np.isfinite(hessians), axis=(1, 2))
    safe = np.where(finite[:, None, None], hessians, 0.0)
    return ~(np.linalg.cond(balanced(safe)) < 1e12)


def _unsure_rank(mechanics, q, t, par, keep) -> np.ndarray:
    """Rows of a batch at which the kept constraints may lose rank, or the others gain it."""
    if mechanics.n > LARGE or len(keep) < mechanics.c:
        return np.ones(len(q), dtype=bool)
    rows = _gradients(mechanics, q, t, par)
    norms = np.linalg.norm(rows, axis=2, keepdims=True)
    singular = np.linalg.svd(rows / np.where(norms > 0.0, norms, 1.0), compute_uv=False)
    small = norms[..., 0].min(axis=1) <= 1e-6 * norms[..., 0].max(axis=1)
    return small | (singular[:, -1] <= 1e3 * DEPENDENT)


def _check_mass(mechanics, q, v, p, t, par, label: str = "") -> None:
    by = "a" if mechanics.form == "lagrangian" else "r"
    size = np.inf
    if len(q) > LARGE:
        size = _sparse_condition(mechanics.derivative("respond", by, t, par, q=q, v=v, p=p))
    else:
        state = {"q": q[None], "v": v[None], "p": p[None]}
        hessian = mechanics.derivatives("respond", by, t, par, **state)[0]
        if np.all(np.isfinite(hessian)):
            size = np.linalg.cond(balanced(hessian))
    if not size < 1e14:
        raise InputError(
            f"the mass matrix is singular at the start{label}",
            expected=f"{'∂²L/∂q̇∂q̇' if by == 'a' else '∂²H/∂p∂p'} regular",
            received=f"condition number {size:.1e}",
            remedy="start elsewhere, or give every coordinate inertia",
        )


def _sparse_condition(matrix) -> float:
    """‖A‖ ‖A⁻¹ x‖ / ‖x‖ for a random x: enough to recognise a singular matrix."""
    if not np.all(np.isfinite(matrix.data)):
        return np.inf
    from scipy.sparse import diags

    size = np.sqrt(np.maximum(abs(matrix).max(axis=1).toarray().ravel(), 1e-300))
    scaled = diags(1.0 / size) @ matrix @ diags(1.0 / size)
    x = np.random.default_rng(0).standard_normal(matrix.shape[0])
    try:
        return float(abs(scaled).max() * np.abs(solve(scaled, x)).max() / np.abs(x).max())
    except (np.linalg.LinAlgError, RuntimeError):
        return np.inf


def _metric(mechanics, q, v, t, par) -> np.ndarray:
    """T with |T⁻¹ x|² = xᵀM x: coordinates z = T⁻¹ (q − q₀) in which the mass is 1."""
    mass = mechanics.mass(q, v, mechanics.momentum(q, v, t, par), t, par)
    scale = 1.0 / np.sqrt(np.maximum(np.abs(mass).max(axis=1), 1e-300))
    values, vectors = np.linalg.eigh(scale[:, None] * (mass + mass.T) / 2 * scale)
    return scale[:, None] * vectors / np.sqrt(np.abs(values))


class _Aim:
    """The linearised constraints at q in coordinates of unit mass, each row of size 1."""

    def __init__(self, mechanics, q, t, par, metric) -> None:
        rows = _gradients(mechanics, q, t, par) @ metric
        norms = np.linalg.norm(rows, axis=1)
        self.norms = np.where(norms > 0.0, norms, 1.0)
        u, s, vt = np.linalg.svd(rows / self.norms[:, None], full_matrices=True)
        rank = int(np.sum(s > 1e-12 * s.max(initial=1e-300)))
        self.u, self.s, self.range, self.tangent = u[:, :rank], s[:rank], vt[:rank], vt[rank:]

    def step(self, residual: np.ndarray) -> np.ndarray:
        """The smallest change z that removes `residual`."""
        return -self.range.T @ ((self.u.T @ (residual / self.norms)) / self.s)

    def multipliers(self, z: np.ndarray) -> np.ndarray:
        """Λ with z + (G T)ᵀλ as small as can be."""
        return -(self.u @ ((self.range @ z) / self.s)) / self.norms


def nearest(mechanics: Mechanics, q0, v, t, par, label: str = "") -> np.ndarray:
    """The nearest configuration with g = 0 in the mass metric; contradictory constraints raise.

    Newton's method on  z + (G T)ᵀλ = 0, g = 0  in coordinates of unit mass, with a step length that
    makes ½|z|² + μ Σ |gᵢ| fall; where the curvature of the constraints would lead to a saddle it is
    left out.
    """
    metric = _metric(mechanics, q0, v, t, par)
    scale = _scales(mechanics, q0, v, t, par)[0]
    z = np.zeros(len(q0))

    def g(z) -> np.ndarray:
        with np.errstate(all="ignore"):
            return mechanics.g(q0 + metric @ z, t, par)

    weight = 0.0
    for _ in range(100):
        q = q0 + metric @ z
        aim = _Aim(mechanics, q, t, par, metric)
        multipliers, left = aim.multipliers(z), g(z)
        normal = aim.step(left)
        along = _along(mechanics, q, t, par, metric, aim, multipliers, z, normal)
        change = normal + along
        weight = max(weight, 2.0 * np.abs(multipliers * aim.norms).max(initial=0.0) + 1e-3)
        merit = _merit(z, left, weight, aim)
        part = 1.0
        while (
            part > 1e-8 and not _merit(z + part * change, g(z + part * change), weight, aim) < merit
        ):
            part /= 2
        z = z + (part if part > 1e-8 else 1.0) * change
        if np.all(np.abs(metric @ change) <= 1e-13 * _sizes(q)):
            break
    for _ in range(3):  # round-off
        if np.all(np.abs(g(z)) <= ROUNDOFF * scale):
            break
        z = z + _Aim(mechanics, q0 + metric @ z, t, par, metric).step(g(z))
    if not np.all(np.abs(g(z)) <= UNMET * scale):
        raise _contradiction(mechanics, g(z), scale, label)
    return q0 + metric @ z


def _merit(z, g, weight: float, aim: _Aim) -> float:
    value = 0.5 * z @ z + weight * np.abs(g / aim.norms).sum()
    return value if np.isfinite(value) else np.inf


def _along(mechanics, q, t, par, metric, aim: _Aim, multipliers, z, normal) -> np.ndarray:
    """The tangential part of the step towards the nearest point."""
    basis = aim.tangent
    if not len(basis):
        return np.zeros_like(z)
    bend = metric.T @ (mechanics.derivative("push", "q", t, par, q=q, lam=multipliers) @ metric)
    matrix = basis @ (bend @ basis.T) + np.eye(len(basis))
    right = -basis @ (z + normal + bend @ normal)
    try:
        np.linalg.cholesky((matrix + matrix.T) / 2)
    except np.linalg.LinAlgError:
        return -basis.T @ (basis @ z)
    return basis.T @ np.linalg.solve(matrix, right)


def tangent(mechanics: Mechanics, q, v0, t, par, label: str = "") -> np.ndarray:
    """The nearest velocity with G v + ∂g/∂t = 0 in the mass metric."""
    metric = _metric(mechanics, q, v0, t, par)
    aim = _Aim(mechanics, q, t, par, metric)
    v = v0
    for _ in range(2):  # the second pass removes the round-off of the first
        v = v + metric @ aim.step(mechanics.hidden(q, v, t, par))
    # What is left is compared with the velocities that were found: v₀ itself may be zero.
    slopes = np.abs(_gradients(mechanics, q, t, par)).sum(axis=-1)
    hidden, scale = mechanics.hidden(q, v, t, par), _scales(mechanics, q, v0, t, par)[1]
    scale = np.maximum(scale, slopes * max(np.abs(v0).max(), np.abs(v).max()))
    if np.any(np.abs(hidden) > UNMET * scale):
        raise _contradiction(mechanics, hidden, scale, label, "G v + ∂g/∂t")
    return v


def _check_rates(mechanics, q, v, t, par, keep, label: str) -> None:
    """Redundant moving constraints must agree in their accelerations too."""
    zero = np.zeros(mechanics.n)
    bend = mechanics.apply("hidden_rate", t, par, q=q, v=v, a=zero)
    jacobian = _gradients(mechanics, q, t, par)
    a = -np.linalg.lstsq(jacobian[list(keep)], bend[list(keep)], rcond=1e-12)[0]
    left = jacobian @ a + bend
    scale = np.abs(jacobian) @ np.abs(a) + np.abs(bend) + 1e-300
    if np.any(np.abs(left) > UNMET * scale):
        raise _contradiction(mechanics, left, scale, label, "d/dt (G v + ∂g/∂t)")


def independent(mechanics: Mechanics, q, t, par, label: str = "") -> tuple[int, ...]:
    """Numbers of the constraints that determine the others; raises at a singular configuration."""
    size = np.abs(q).max() or 1.0
    rng = np.random.default_rng(0)
    jacobian = _gradients(mechanics, q, t, par)
    typical = np.linalg.norm(jacobian, axis=1)
    if typical.min() <= 1e-6 * typical.max():  # small here, or small everywhere?
        beside = q + 1e-3 * size * rng.standard_normal(len(q))
        typical = np.linalg.norm(_gradients(mechanics, beside, t, par), axis=1)
    keep, dropped = _dependent_rows(jacobian, typical)
    if not dropped:
        return tuple(range(mechanics.c))
    names = mechanics.system.constraint_names
    basis = _null_space(jacobian)
    for _ in range(2):
        # Nearby configurations on the kept constraints: do the dropped ones still hold there?
        there = q + 1e-3 * size * (basis @ rng.standard_normal(basis.shape[1]))
        there = _onto(mechanics, there, t, par, keep)
        off = np.abs(mechanics.g(there, t, par)[dropped])
        near = _gradients(mechanics, there, t, par)
        more = _dependent_rows(near, typical)[1]
        wide = size * np.abs(near).sum(axis=1)[dropped]
        if len(more) < len(dropped) or np.any(off > 1e-11 * wide):
            raise ConstraintError(
                f"the start{label} is a singular configuration: constraints lose rank there",
                expected="independent gradients, or constraints that are redundant everywhere",
                received="dependent only at this configuration: "
                + ", ".join(names[i] for i in dropped),
                remedy="start from a configuration beside it",
            )
    return tuple(keep)


def _onto(mechanics, q, t, par, keep) -> np.ndarray:
    for _ in range(60):
        rows = _gradients(mechanics, q, t, par)[keep]
        norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        g = mechanics.g(q, t, par)[keep] / norms
        change = np.linalg.lstsq(rows / norms[:, None], g, rcond=1e-12)[0]
        q = q - change
        if np.all(np.abs(change) <= ROUNDOFF * np.abs(q).max()):
            break
    return q


def _dependent_rows(jacobian: np.ndarray, typical: np.ndarray) -> tuple[list[int], list[int]]:
    """(independent rows, rows that depend on those before them).

    A row much smaller than it typically is counts as zero.
    """
    sizes = np.linalg.norm(jacobian, axis=1)
    zero = sizes <= DEPENDENT * typical
    scaled = np.where(zero[:, None], 0.0, jacobian / np.where(zero, 1.0, sizes)[:, None])
    keep: list[int] = list(range(len(jacobian)))
    if len(keep) > LARGE and _surely_independent(scaled):
        return keep, []
    while keep:
        triangle = np.abs(np.diag(np.linalg.qr(scaled[keep].T, mode="r")))
        triangle = np.concatenate([triangle, np.zeros(len(keep) - len(triangle))])
        small = np.flatnonzero(triangle <= DEPENDENT)
        if not len(small):
            break
        del keep[small[0]]  # the first dependent row; then look again
    return keep, [i for i in range(len(jacobian)) if i not in keep]


def _surely_independent(scaled: np.ndarray) -> bool:
    """A cheap sufficient test for many constraints: pivots of G Gᵀ far from zero."""
    from scipy.sparse import csc_matrix, csr_matrix
    from scipy.sparse.linalg import splu

    rows = csr_matrix(scaled)
    try:
        factors = splu(csc_matrix(rows @ rows.T), diag_pivot_thresh=0.0)
    except RuntimeError:
        return False
    return bool(np.abs(factors.U.diagonal()).min() > 1e-10)


def _null_space(jacobian: np.ndarray) -> np.ndarray:
    _, s, vt = np.linalg.svd(jacobian)
    rank = int(np.sum(s > DEPENDENT * s.max(initial=1e-300)))
    return vt[rank:].T


def _contradiction(mechanics, left, scale, label: str, what: str = "g") -> ConstraintError:
    names = mechanics.system.constraint_names
    worst = np.flatnonzero(~(np.abs(left) <= UNMET * scale))
    listed = ", ".join(names[i] for i in worst[:6])
    return ConstraintError(
        f"the constraints contradict each other near the start{label}: {listed}",
        expected=f"a state with {what} = 0",
        received="left over: " + ", ".join(f"{names[i]} = {left[i]:.3g}" for i in worst[:6]),
        remedy="remove one of them, or start closer to a state that satisfies all",
    )


def _inconsistent(mechanics, g, hidden, q, v, label: str) -> InconsistentStart:
    names = mechanics.system.constraint_names
    worst = np.argsort(-(np.abs(g) + np.abs(hidden)))[:4]
    listed = "; ".join(
        f"{names[i]}: g = {g[i]:.3g}, G v + ∂g/∂t = {hidden[i]:.3g}" for i in sorted(worst)
    )
    with np.printoptions(precision=6, threshold=12):
        state = f"q = {q}, v = {v}"
    return InconsistentStart(
        f"the start{label} does not satisfy the constraints",
        expected=f"g = 0 and G v + ∂g/∂t = 0 to {TOLERANCE:g} of their scale",
        received=listed,
        remedy=f"project=True takes the nearest consistent state: {state}",
        g=g,
        hidden=hidden,
        q=q,
        v=v,
    )
