"""From what the user gives to a consistent start, or to an error that says what is wrong.

A start is consistent if g(q₀, t₀) = 0 and G v₀ + ∂g/∂t = 0.  The nearest consistent state is the
M-orthogonal projection,

    min ½ (q − q₀)ᵀ M (q − q₀)  with  g(q) = 0,        then  v = v₀ − M⁻¹Gᵀ (G M⁻¹ Gᵀ)⁺ (G v₀ + g_t).

Constraints whose gradients depend on those before them are redundant if they keep holding when
the others do; otherwise the configuration is singular, or the constraints contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import qr
from scipy.sparse.linalg import splu

from taut.errors import ConstraintError, InconsistentStart, InputError
from taut.kernel.evaluate import Mechanics, solve

TOLERANCE = 1e-10  # of the scale of each constraint
DEPENDENT = 1e-9
LARGE = 60  # coordinates or constraints from which sparse linear algebra is used


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
    given = _array("v0", v0, n) if v0 is not None else _array("p0", p0, n)
    q, given = (np.array(x) for x in np.broadcast_arrays(q, given))
    v = given if v0 is not None else mechanics.velocity(q, given, t0, par)
    _check_finite(mechanics, q, v, t0, par)
    if q.ndim == 1:
        return _one(mechanics, q, v, given if v0 is None else None, t0, par, project)
    first = _one(
        mechanics, q[0], v[0], None if v0 is not None else given[0], t0, par, project, label="[0]"
    )
    return _many(mechanics, q, v, None if v0 is not None else given, t0, par, project, first.keep)


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


def _check_finite(mechanics: Mechanics, q, v, t0, par) -> None:
    """The energy, forces and constraints must be numbers at the start."""
    p = mechanics.momentum(q, v, t0, par)
    checks = {
        "energy": lambda: mechanics.energy(q, v, p, t0, par)[..., None],
        "force": lambda: mechanics.apply("force", t0, par, q=q, v=v, p=p),
        "constraint": lambda: mechanics.g(q, t0, par),
    }
    for what, evaluate in checks.items():
        values = evaluate()
        if not np.all(np.isfinite(values)):
            bad = np.argwhere(~np.isfinite(values))[0].tolist()
            raise InputError(
                f"the {what} is not finite at the start",
                expected="finite numbers",
                received=f"{values[tuple(bad)]} at index {bad}",
                remedy="check q0, v0 and the parameters against the domain of the expressions",
            )


def _residuals(mechanics: Mechanics, q, v, t, par):
    """(g, its scale, hidden, its scale), for one state or many."""
    g, hidden = mechanics.g(q, t, par), mechanics.hidden(q, v, t, par)
    g_scale, hidden_scale = _scales(mechanics, q, v, t, par)
    return g, g_scale, hidden, hidden_scale


def _scales(mechanics: Mechanics, q, v, t, par):
    """Sizes that g and G v + ∂g/∂t are compared with; in a batch, G is that of the first row."""
    row = abs(mechanics.jacobian(q if q.ndim == 1 else q[0], t, par)).sum(axis=1)
    weight = np.asarray(row).ravel()
    reach, speed = (np.abs(x).max(axis=-1, keepdims=True) for x in (q, v))
    moving = np.abs(mechanics.hidden(q, np.zeros_like(v), t, par))
    return weight * reach + 1e-300, weight * speed + moving + 1e-300


def _one(mechanics, q, v, p, t, par, project: bool, label: str = "") -> Start:
    n, c = mechanics.n, mechanics.c
    _check_mass(mechanics, q, v, t, par)
    if c == 0:
        momentum = p if p is not None else mechanics.momentum(q, v, t, par)
        return Start(q, v, momentum, t, (), False)
    g, g_scale, hidden, hidden_scale = _residuals(mechanics, q, v, t, par)
    off = np.any(np.abs(g) > TOLERANCE * g_scale)
    if np.any(np.abs(g) > 4e-16 * g_scale):
        q1 = nearest(mechanics, q, v, t, par)
    else:
        q1 = q
    keep = independent(mechanics, q1, t, par)
    slides = np.any(np.abs(hidden) > TOLERANCE * hidden_scale)
    if np.all(np.abs(mechanics.hidden(q1, v, t, par)) <= 4e-16 * hidden_scale):
        v1 = v
    else:
        v1 = tangent(mechanics, q1, v, t, par)
    if (off or slides) and not project:
        raise _inconsistent(mechanics, g, hidden, q1, v1, label)
    if p is not None and v1 is v and q1 is q:
        momentum = p
    else:
        momentum = mechanics.momentum(q1, v1, t, par)
    return Start(q1, v1, momentum, t, keep, bool(off or slides))


def _many(mechanics, q, v, p, t, par, project: bool, keep) -> Start:
    """A batch: every row is checked; rows off by more than round-off are projected one by one."""
    if mechanics.c == 0:
        return Start(q, v, p if p is not None else mechanics.momentum(q, v, t, par), t, (), False)
    q, v = q.copy(), v.copy()
    g, g_scale, hidden, hidden_scale = _residuals(mechanics, q, v, t, par)
    rough = np.any(np.abs(g) > 4e-16 * g_scale, axis=1) | np.any(
        np.abs(hidden) > 4e-16 * hidden_scale, axis=1
    )
    momentum = p.copy() if p is not None else mechanics.momentum(q, v, t, par)
    for i in np.flatnonzero(rough):
        one = _one(mechanics, q[i], v[i], None, t, par, project, label=f"[{i}]")
        q[i], v[i], momentum[i] = one.q, one.v, one.p
    return Start(q, v, momentum, t, keep, bool(rough.any()))


def _check_mass(mechanics, q, v, t, par) -> None:
    p = mechanics.momentum(q, v, t, par) if mechanics.form == "hamiltonian" else np.zeros_like(q)
    name = "a" if mechanics.form == "lagrangian" else "r"
    hessian = mechanics.derivative("respond", name, t, par, q=q, v=v, p=p)
    try:
        size = np.linalg.cond(hessian.toarray()) if len(q) <= LARGE else _sparse_condition(hessian)
    except (np.linalg.LinAlgError, RuntimeError):
        size = np.inf
    if not size < 1e14:
        raise InputError(
            "the mass matrix is singular at the start",
            expected="∂²L/∂q̇∂q̇ regular",
            received=f"condition number {size:.1e}",
            remedy="start elsewhere, or give every coordinate inertia",
        )


def _sparse_condition(matrix) -> float:
    """‖A‖ ‖A⁻¹ x‖ / ‖x‖ for a random x: enough to recognise a singular matrix."""
    x = np.random.default_rng(0).standard_normal(matrix.shape[0])
    return float(abs(matrix).max() * np.abs(solve(matrix, x)).max() / np.abs(x).max())


def nearest(mechanics: Mechanics, q0, v, t, par) -> np.ndarray:
    """The nearest configuration with g = 0 in the mass metric; contradictory constraints raise."""
    p = mechanics.momentum(q0, v, t, par)
    inverse = np.linalg.inv(mechanics.mass(q0, v, p, t, par))
    q = q0.copy()
    scale = _scales(mechanics, q0, v, t, par)[0]
    for k in range(200):
        g, jacobian = mechanics.g(q, t, par), mechanics.jacobian(q, t, par).toarray()
        response = inverse @ jacobian.T
        # The first iterations aim at the nearest point, the last ones only at g = 0.
        back = jacobian @ (q0 - q) if k < 60 else 0.0
        base = q0 if k < 60 else q
        multipliers = np.linalg.lstsq(jacobian @ response, g + back, rcond=1e-12)[0]
        new = base - response @ multipliers
        if not np.all(np.isfinite(new)):
            break
        moved, q = np.abs(new - q).max(), new
        small = np.abs(mechanics.g(q, t, par)) <= 4e-16 * scale
        if moved <= 1e-12 * np.abs(q).max() and (np.all(small) or k >= 62):
            break
    g = mechanics.g(q, t, par)
    if not np.all(np.abs(g) <= 1e-9 * scale):
        raise _contradiction(mechanics, g, scale)
    return q


def tangent(mechanics: Mechanics, q, v0, t, par) -> np.ndarray:
    """The nearest velocity with G v + ∂g/∂t = 0 in the mass metric."""
    p = mechanics.momentum(q, v0, t, par)
    jacobian = mechanics.jacobian(q, t, par).toarray()
    response = np.linalg.solve(mechanics.mass(q, v0, p, t, par), jacobian.T)
    v = v0
    for _ in range(2):  # the second pass removes the round-off of the first
        hidden = mechanics.hidden(q, v, t, par)
        v = v - response @ np.linalg.lstsq(jacobian @ response, hidden, rcond=1e-12)[0]
    return v


def independent(mechanics: Mechanics, q, t, par) -> tuple[int, ...]:
    """Numbers of the constraints that determine the others; raises at a singular configuration."""
    jacobian = mechanics.jacobian(q, t, par).toarray()
    keep, dropped = _dependent_rows(jacobian)
    if not dropped:
        return tuple(range(mechanics.c))
    names = mechanics.system.constraint_names
    rng = np.random.default_rng(0)
    basis = _null_space(jacobian)
    for _ in range(2):
        # Nearby configurations on the kept constraints: do the dropped ones still hold there?
        size = 1e-3 * max(np.abs(q).max(), 1e-3)
        there = q + size * basis @ rng.standard_normal(basis.shape[1]) if basis.shape[1] else q
        there = _onto(mechanics, there, t, par, keep)
        off = mechanics.g(there, t, par)[dropped]
        near = mechanics.jacobian(there, t, par).toarray()
        more = _dependent_rows(near)[1]
        if len(more) < len(dropped) or np.any(np.abs(off) > 1e-8 * size * np.abs(near).max()):
            raise ConstraintError(
                "the start is a singular configuration: constraints lose rank there",
                expected="gradients of independent constraints, or constraints redundant everywhere",
                received="dependent only at this configuration: "
                + ", ".join(names[i] for i in dropped),
                remedy="start from a configuration beside it",
            )
    return tuple(keep)


def _onto(mechanics, q, t, par, keep) -> np.ndarray:
    for _ in range(10):
        g = mechanics.g(q, t, par)[keep]
        jacobian = mechanics.jacobian(q, t, par).toarray()[keep]
        q = q - np.linalg.lstsq(jacobian, g, rcond=1e-12)[0]
    return q


def _dependent_rows(jacobian: np.ndarray) -> tuple[list[int], list[int]]:
    """(independent rows, rows that depend on those before them)."""
    sizes = np.linalg.norm(jacobian, axis=1)
    top = sizes.max(initial=0.0)
    scaled = jacobian / np.where(sizes > DEPENDENT * top, sizes, 1.0)[:, None]
    keep: list[int] = list(range(len(jacobian)))
    if len(keep) > LARGE and _surely_independent(scaled):
        return keep, []
    while keep:
        triangle = np.abs(np.diag(qr(scaled[keep].T, mode="r")[0]))
        triangle = np.concatenate([triangle, np.zeros(len(keep) - len(triangle))])
        small = np.flatnonzero(triangle <= DEPENDENT)
        if not len(small):
            break
        del keep[small[0]]  # the first dependent row; then look again
    return keep, [i for i in range(len(jacobian)) if i not in keep]


def _surely_independent(scaled: np.ndarray) -> bool:
    """A cheap sufficient test for many constraints: pivots of G Gᵀ far from zero."""
    rows = sparse.csr_matrix(scaled)
    try:
        factors = splu(sparse.csc_matrix(rows @ rows.T), diag_pivot_thresh=0.0)
    except RuntimeError:
        return False
    return bool(np.abs(factors.U.diagonal()).min() > 1e-10)


def _null_space(jacobian: np.ndarray) -> np.ndarray:
    _, s, vt = np.linalg.svd(jacobian)
    rank = int(np.sum(s > DEPENDENT * s.max(initial=1e-300)))
    return vt[rank:].T


def _contradiction(mechanics, g, scale) -> ConstraintError:
    names = mechanics.system.constraint_names
    worst = np.flatnonzero(np.abs(g) > 1e-9 * scale)
    return ConstraintError(
        "the constraints contradict each other near the start",
        expected="a configuration with g = 0",
        received="left over: " + ", ".join(f"{names[i]} = {g[i]:.3g}" for i in worst[:6]),
        remedy="remove one of them, or start closer to a configuration that satisfies all",
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
