"""From what the user gives to a consistent start, or to an error that says what is wrong.

A start is consistent if g(q₀, t₀) = 0 and G v₀ + ∂g/∂t = 0; see `project` for the nearest one.
Everything is measured on the scale of its own: coordinates, masses and constraints may have
different units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from taut.errors import ConstraintError, InconsistentStart, InputError, brief
from taut.fields.ends import real_array
from taut.kernel.evaluate import LARGE, Mechanics, Snapshot, solve
from taut.march.project import (
    DEPENDENT,
    ROUNDOFF,
    check_apart,
    check_rates,
    independent,
    nearest,
    owned,
    scales,
    tangent,
    told,
)
from taut.march.project_large import row_norms
from taut.model.system import balanced
from taut.portable import inverse as inverse_of, norm, product

TOLERANCE = 1e-10  # of the scale of each constraint
NOISE = 1e-14  # of the largest: not worth printing
LISTED = 4  # constraints that are named
NEIGHBOURS = 1e-3  # of the lengths around it: what the length of a free coordinate counts as
NOTHING = 1e-12  # of them: no length of its own, but what forces or motions that vanish have left


@dataclass(frozen=True)
class Start:
    """A consistent state and the constraints that determine it.

    Attributes
    ----------
    here : Snapshot
        q, v and p, of shape (n,) or (B, n), at the time of the start.
    keep : tuple of int
        Independent constraints; the others are redundant.
    """

    here: Snapshot
    keep: tuple[int, ...]
    projected: bool


def prepare(
    mechanics: Mechanics, q0, v0, p0, t0: float, par: np.ndarray, project: bool, hidden: bool = True
) -> Start:
    """Check, project and complete a start, or a batch of them.

    Without `hidden` (for a method that does not keep the hidden constraint) momenta that are given
    need not be tangent: a run can start from where another has ended.
    """
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
    here = Snapshot(mechanics, q, v, p, t0, par)
    _check_finite(here)
    loose = not hidden and p0 is not None and not project
    if q.ndim == 1:
        return _one(here, project, loose)
    return _many(here, project, loose, _one(here[0], project, loose, label="[0]"))


def smallest_sizes(here: Snapshot, h: float) -> np.ndarray:
    """For each row of a batch the smallest size of each coordinate that matters to Newton's method.

    Coordinates that occur in one constraint share their length: the largest of them, or, where they
    begin at zero, the radius of curvature of their constraints, or what the forces would move them
    in a step if there were no constraints; and where all that is nothing beside the lengths of what
    they are connected with (a point that is held at zero, forces in balance), a part of these.
    1e−7 of that counts, and more where constraints cannot be evaluated as exactly as that, say a
    circle of radius 1 that touches the origin.
    """
    mechanics, eps = here.mechanics, np.finfo(float).eps
    pairs = np.stack(mechanics.involved_pairs, axis=1)  # constraint, coordinate

    def shared(x: np.ndarray) -> np.ndarray:
        over = _largest(x, pairs[:, ::-1], mechanics.c)
        return np.maximum(x, _largest(over, pairs, mechanics.n))

    steepest, steep = _steepness(here)
    slopes = shared(steepest)
    bends = shared(np.abs(_bends(here)).sum(axis=2))
    curved = (slopes > 1e-300) & (bends > 1e-300)
    radius = np.where(curved, slopes, 0.0) / np.where(curved, bends, 1.0)
    length = np.maximum(shared(np.abs(here.q) + h * np.abs(here.v)), radius)
    if mechanics.n > LARGE:
        length = np.maximum(_connected(length, pairs, mechanics), _neighbouring(length, mechanics))
    nothing = length == 0.0
    for i in np.flatnonzero(np.any(nothing, axis=1)).tolist():
        length[i] = np.where(nothing[i], shared(_pushed(here[i], h)[None])[0], length[i])
    around = around_of(length, mechanics)
    tiny = (length > 0.0) & (length < NOTHING * around)
    length = np.where(tiny, NEIGHBOURS * around, length)
    largest = length.max(axis=1, keepdims=True)
    length = np.where(length > 0.0, length, np.where(largest > 0.0, largest, 1.0))
    length = np.where(np.isfinite(length), length, 1.0)
    if mechanics.c == 0:
        return 1e-7 * length
    noise = eps * here.size / np.where(steep > 0.0, steep, np.inf)
    return np.maximum(1e-7 * length, 1e8 * _largest(noise, pairs, mechanics.n))


def _connected(length: np.ndarray, pairs: np.ndarray, mechanics: Mechanics) -> np.ndarray:
    """The largest length of coordinates that constraints connect: a chain rounds as a whole."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    size = mechanics.n + mechanics.c
    graph = coo_matrix(
        (np.ones(len(pairs)), (pairs[:, 1], mechanics.n + pairs[:, 0])), (size, size)
    )
    count, label = connected_components(graph, directed=False)
    label = label[: mechanics.n]
    found = np.zeros((len(length), count))
    np.maximum.at(found.T, label, length.T)
    return found[:, label]


def _neighbouring(length: np.ndarray, mechanics: Mechanics) -> np.ndarray:
    """A part of the largest length of coordinates that terms connect, and no constraints.

    The forces on such a coordinate may be large and cancel each other, and what rounding leaves of
    them is no size of its own: think of a body at rest at zero between two springs.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = mechanics.n
    free = np.ones(n, dtype=bool)
    free[mechanics.involved_pairs[1]] = False
    first, other = [], []
    for local in mechanics.locals:
        table = local.term.indices
        leader = table[np.arange(len(table)), np.argmax(free[table], axis=1)]
        first.append(np.repeat(leader, table.shape[1]))
        other.append(table.ravel())
    i, j = np.concatenate(first), np.concatenate(other)
    both = free[i] & free[j]
    graph = coo_matrix((np.ones(both.sum()), (i[both], j[both])), (n, n))
    count, label = connected_components(graph, directed=False)
    found = np.zeros((len(length), count))
    np.maximum.at(found.T, label, length.T)
    return np.where(free, NEIGHBOURS * found[:, label], 0.0)


def around_of(length: np.ndarray, mechanics: Mechanics) -> np.ndarray:
    """The largest length of all that terms connect a coordinate with, shape (B, n)."""
    label = mechanics.connected
    found = np.zeros((len(length), label.max(initial=-1) + 1))
    np.maximum.at(found.T, label, length.T)
    return found[:, label]


def _steepness(here: Snapshot) -> tuple[np.ndarray, np.ndarray]:
    """For each row the largest slope along each coordinate, and the length of each gradient."""
    if here.mechanics.n > LARGE:
        found = [here[i].jacobian() for i in range(len(here.q))]
        largest = [abs(x).max(axis=0).toarray().ravel() if x.shape[0] else 0 for x in found]
        wide = np.zeros((len(here.q), here.mechanics.n)) + np.array(largest).reshape(len(found), -1)
        return wide, np.array([row_norms(x) for x in found])
    slopes = np.abs(here.gradients).max(axis=1, initial=0.0)
    return slopes, norm(here.gradients)


def _largest(x: np.ndarray, pairs: np.ndarray, size: int) -> np.ndarray:
    """For each row y with yⱼ = max xᵢ over the pairs (i, j)."""
    found = np.zeros((len(x), size))
    if len(pairs) > len(x):
        np.maximum.at(found.T, pairs[:, 1], x.T[pairs[:, 0]])
        return found
    for i, j in pairs:
        np.maximum(found[:, j], x[:, i], out=found[:, j])
    return found


def _pushed(here: Snapshot, h: float) -> np.ndarray:
    """How far the forces would move the coordinates in a step from rest, now or a step later."""
    mechanics, q, v, p, par = here.mechanics, here.q, here.v, here.p, here.par
    if mechanics.system.first_order:  # without forces, and without masses
        return np.zeros_like(q)
    pushes = [mechanics.apply("force", s, par, q=q, v=v, p=p) for s in (here.t, here.t + h)]
    if mechanics.n > LARGE:
        return h * h * np.abs([_response(here, f) for f in pushes]).max(axis=0)
    inverse = inverse_of(mechanics.mass(q, v, p, here.t, par))
    moved = np.abs([product(inverse, f) for f in pushes])
    # What is left of forces that cancel is round-off, and no size of anything.
    noise = 1e-12 * np.array([product(np.abs(inverse), np.abs(f)) for f in pushes])
    return h * h * np.where(moved > noise, moved, 0.0).max(axis=0)


def _response(here: Snapshot, force: np.ndarray) -> np.ndarray:
    """M⁻¹ f at one state of a large system."""
    matrix = here.sparse_hessian()  # −M, or −M⁻¹
    return solve(matrix, force) if here.mechanics.form == "lagrangian" else matrix @ force


def _bends(here: Snapshot) -> np.ndarray:
    """Second derivatives of the constraints, summed with weights that make cancelling unlikely."""
    mechanics, t, par = here.mechanics, here.t, here.par
    if mechanics.c == 0:
        return np.zeros((len(here.q), mechanics.n, 0))
    weights = np.random.default_rng(0).uniform(1, 2, mechanics.c)
    if mechanics.n > LARGE:
        found = [mechanics.derivative("push", "q", t, par, q=q, lam=weights) for q in here.q]
        return np.array([abs(matrix).sum(axis=1) for matrix in found]).reshape(len(here.q), -1, 1)
    spread = np.broadcast_to(weights, (len(here.q), mechanics.c))
    return mechanics.derivatives("push", "q", t, par, q=here.q, lam=spread)


def _array(name: str, value, n: int) -> np.ndarray:
    if value is None:
        raise InputError(
            f"{name} is missing", expected=f"{n} numbers", remedy=f"simulate(…, {name}=[…])"
        )
    try:
        array = real_array(value)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} is not an array of numbers",
            expected=f"{n} numbers",
            received=brief(value),
            remedy="list them in the order of the system's coordinates",
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
    _check_mass(Snapshot(mechanics, q, zero, zero, t, par), label)
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


def _check_finite(here: Snapshot) -> None:
    """The energy, forces and constraints must be numbers at the start."""
    checks = {
        "energy": lambda: here.energy[..., None],
        "force": lambda: here.force,
        "constraint": lambda: here.g,
        "constraint's gradient": lambda: here.hidden,
    }
    for what, evaluate in checks.items():
        values = evaluate()
        if not np.all(np.isfinite(values)):
            bad = np.argwhere(~np.isfinite(values))[0].tolist()
            _check_mechanism(here[bad[0]] if here.q.ndim > 1 else here)
            label = f"[{bad[0]}]" if here.q.ndim > 1 else ""
            raise InputError(
                f"the {what} is not finite at the start{label}",
                expected="finite numbers",
                received=f"{values[tuple(bad)]}{_whose(here, what, bad[-1])}",
                remedy="check q0, v0 and the parameters against the domain of the expressions",
            )


def _whose(here: Snapshot, what: str, number: int) -> str:
    """The coordinate or constraint of a number."""
    if what == "energy":
        return ""
    system = here.mechanics.system
    names = [x.name for x in system.coordinates] if what == "force" else system.constraint_names
    return f" of {names[number]}"


def _check_mechanism(here: Snapshot) -> None:
    """Of a mechanism, the forces and joints by their names."""
    mechanism = here.mechanics.system.mechanism
    if mechanism is not None:
        from taut.march.undefined import check_defined

        check_defined(mechanism, here.q, here.v, float(np.asarray(here.t)))


def _one(here: Snapshot, project: bool, loose: bool, label: str = "") -> Start:
    mechanics, q, v, t, par = here.mechanics, here.q, here.v, here.t, here.par
    _check_mass(here, label)
    if mechanics.c == 0:
        return Start(here, (), False)
    g_scale, hidden_scale = scales(here)
    off = np.any(np.abs(here.g) > TOLERANCE * g_scale)
    if np.any(np.abs(here.g) > ROUNDOFF * g_scale):
        q1 = nearest(mechanics, q, v, t, par, label)
    else:
        q1 = q
    keep = independent(mechanics, q1, t, par, label)
    check_apart(mechanics, q1, v, t, par, keep, label)
    slides = not loose and np.any(np.abs(here.hidden) > TOLERANCE * hidden_scale)
    if loose or np.all(np.abs(mechanics.hidden(q1, v, t, par)) <= ROUNDOFF * hidden_scale):
        v1 = v
    else:
        v1 = tangent(mechanics, q1, v, t, par, label)
    if len(keep) < mechanics.c and mechanics.system.rheonomic:
        check_rates(mechanics, q1, v1, t, par, keep, label)
    if (off or slides) and not project:
        raise _inconsistent(here, (g_scale, hidden_scale), q1, v1, loose, label)
    if v1 is not v or q1 is not q:
        here = replace(here, q=q1, v=v1, p=mechanics.momentum(q1, v1, t, par))
    return Start(here, keep, bool(off or slides))


def _many(here: Snapshot, project: bool, loose: bool, first: Start) -> Start:
    """A batch: every row is checked; rows off by more than round-off are projected one by one."""
    suspect = _unsure_mass(here)
    if here.mechanics.c:
        g_scale, hidden_scale = scales(here)
        suspect |= np.any(np.abs(here.g) > ROUNDOFF * g_scale, axis=1)
        suspect |= np.any(np.abs(here.hidden) > ROUNDOFF * hidden_scale, axis=1)
        if here.mechanics.n <= LARGE:
            suspect |= _unsure_rank(here.gradients, first.keep)
    if not suspect.any():
        return Start(here, first.keep, first.projected)
    q, v, p, projected = here.q.copy(), here.v.copy(), here.p.copy(), first.projected
    for i in np.flatnonzero(suspect).tolist():
        one = _one(here[i], project, loose, label=f"[{i}]")
        if one.keep != first.keep:
            raise ConstraintError(
                f"the start[{i}] has other redundant constraints than the start[0]",
                expected="one set of independent constraints for a whole batch",
                remedy="run it alone",
            )
        q[i], v[i], p[i] = one.here.q, one.here.v, one.here.p
        projected = projected or one.projected
    return Start(replace(here, q=q, v=v, p=p), first.keep, projected)


def _unsure_mass(here: Snapshot) -> np.ndarray:
    """Rows of a batch whose mass matrix may be singular; the first one has been looked at."""
    if here.mechanics.n > LARGE:
        return np.ones(len(here.q), dtype=bool)
    if here.mechanics.constant_mass:
        return np.zeros(len(here.q), dtype=bool)
    finite = np.all(np.isfinite(here.hessian), axis=(1, 2))
    safe = np.where(finite[:, None, None], here.hessian, 0.0)
    return ~(np.linalg.cond(balanced(safe)) < 1e12)


def _unsure_rank(gradients: np.ndarray, keep) -> np.ndarray:
    """Rows of a batch at which the kept constraints may lose rank, or the others gain it."""
    count, c, _ = gradients.shape
    if len(keep) < c:
        return np.ones(count, dtype=bool)
    norms = np.linalg.norm(gradients, axis=2, keepdims=True)
    small = norms[..., 0].min(axis=1) <= 1e-6 * norms[..., 0].max(axis=1)
    unit = gradients / np.where(norms > 0.0, norms, 1.0)
    # The smallest of c eigenvalues with sum c is at least their product over e: by that most rows
    # are sure, and only the others get their singular values computed.
    unsure = ~(np.linalg.det(unit @ np.swapaxes(unit, 1, 2)) > 1e-8)
    singular = np.linalg.svd(unit[unsure], compute_uv=False)
    unsure[unsure] = singular[:, -1] <= 1e3 * DEPENDENT
    return small | unsure


def _check_mass(here: Snapshot, label: str = "") -> None:
    if here.mechanics.system.first_order:
        return
    size = np.inf
    if len(here.q) > LARGE:
        size = _sparse_condition(here.sparse_hessian())
    elif np.all(np.isfinite(here.hessian)):
        size = np.linalg.cond(balanced(here.hessian))
    if not size < 1e14:
        lagrangian = here.mechanics.form == "lagrangian"
        raise InputError(
            f"the mass matrix is singular at the start{label}",
            expected=f"{'∂²L/∂q̇∂q̇' if lagrangian else '∂²H/∂p∂p'} regular",
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


def _inconsistent(here: Snapshot, sizes, q, v, loose: bool, label: str) -> InconsistentStart:
    with np.printoptions(precision=6, threshold=12, linewidth=10_000):
        state = f"q = {_without_noise(q)}, v = {_without_noise(v)}"
    return InconsistentStart(
        f"the start{label} does not satisfy the constraints",
        expected=f"g = 0 and G v + ∂g/∂t = 0 to {TOLERANCE:g} of their scale",
        received=_broken(here, sizes, loose),
        remedy=f"project=True takes the nearest consistent state: {state}",
        g=here.g,
        hidden=here.hidden,
        q=q,
        v=v,
    )


def _without_noise(x: np.ndarray) -> np.ndarray:
    """Zero where rounding left something of it."""
    return np.where(np.abs(x) <= NOISE * np.abs(x).max(initial=0.0), 0.0, x)


def _broken(here: Snapshot, sizes, loose: bool) -> str:
    """The constraints that are broken, the worst first; of a joint its worst rows."""
    shares = [
        np.abs(x) / np.maximum(size, 1e-300)
        for x, size in zip((here.g, here.hidden), sizes, strict=True)
    ]
    kinds = [("g", here.g, shares[0]), ("G v + ∂g/∂t", here.hidden, shares[1])][: 1 if loose else 2]
    off = np.max([share for _, _, share in kinds], axis=0)
    owners = owned(here.mechanics.system, np.flatnonzero(off > TOLERANCE).tolist())
    ranked = sorted(owners.items(), key=lambda x: -off[x[1]].max())
    listed = []
    for name, rows in ranked[:LISTED]:
        said = (
            told(here.mechanics.system, rows, values, what)
            for what, values, share in kinds
            if share[rows].max() > TOLERANCE
        )
        listed.append(f"{name}: {', '.join(said)}")
    more = len(ranked) - LISTED
    return "; ".join([*listed, *([f"and {more} more"] if more > 0 else [])])
