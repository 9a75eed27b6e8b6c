"""What rounding can do to constraints, row by row, at states spread over a run.

A constraint g is a sum whose terms are rounded, of coordinates that are: ε times

    Σ |summands of g| + |G| |q|

is what may be left of it.  Likewise ε (|G| |v| + |∂(G v)/∂q| |q|) of G v + ∂g/∂t.  But velocities
themselves are what is left of others: v = M⁻¹(p − Gᵀμ) with an impulse μ ≈ h λ, which moves light
parts fast before it is taken away, and each summand is rounded at its own size:

    |G| M⁻¹ |G|ᵀ h |λ|

comes on top (a body whose moments of inertia are 1e−8 of what its joints carry has velocities to
eight digits), and so does what a full mass matrix takes from others.  Rows that follow from the
kept ones, G_drop = B G_keep, are met as well as those are: to |B| times what rounding does to them.

What rests at the origin has no coordinates: the lengths that forces make in a step count as such,
h² M⁻¹ (Σ |F| + |G|ᵀ |λ|), see `taut.march.kicks`.

A row is judged by the largest coordinate that it depends on, and by the largest velocity, one that
impulses make included, of all that constraints connect it with: what is zero has been found
together with others that are not (a bar that hangs at rest and carries a bob that swings).  Of what
forces connect it with a small part counts, as for Newton's method: a point that is held at zero.

Digits are lost where coordinates are large beside what their constraints are about: of a rod,
|x₁ − x₂| = L, that is L, wherever it is.  The loss is Σ |G_i q_i| over the same with the lengths
that count in place of |q_i|: the radius of curvature of the constraint; if it is not curved, what
coordinates differ by that it knows by their difference only, G_i = −G_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from taut.kernel.evaluate import Mechanics, Snapshot
from taut.march.kept import watched
from taut.march.kicks import kicks, lengths, responses
from taut.march.start import NEIGHBOURS, around_of
from taut.march.trajectory import Trajectory

SAMPLES = 32
EPS = np.finfo(float).eps
SAME = 1e-9  # slopes that are opposite


@dataclass(frozen=True)
class Rounding:
    """At each of a few states: the largest size of a row, the largest row, and the worst ratio."""

    size: np.ndarray
    left: np.ndarray
    worst: np.ndarray

    @classmethod
    def of(cls, found: list[_Rows]) -> Rounding:
        """From all rows at each state."""
        with np.errstate(all="ignore"):  # a run that blows up
            sizes = [np.nanmax(x.size) for x in found]
            left = [np.nanmax(x.left) for x in found]
            worst = [np.nanmax(x.left / np.maximum(x.reach, 1e-300)) for x in found]
        return cls(*(np.nan_to_num(np.array(x, dtype=float)) for x in (sizes, left, worst)))

    @property
    def share(self) -> float:
        """What part of its size the largest row is where that is large: 1 in a blow-up."""
        large = self.size >= 1e-3 * self.size.max()
        return float(np.max(self.left[large] / np.maximum(self.size[large], 1e-300)))


def rounding(run: Trajectory) -> tuple[Rounding, Rounding]:
    """Of g, and of G v + ∂g/∂t."""
    flat = [x.reshape(-1, run.system.n) for x in (run.q, run.v, run.p)]
    times = np.tile(run.t, len(flat[0]) // len(run.t))
    good = np.flatnonzero(np.all(np.isfinite(flat[0]), axis=1))
    rows = good[np.unique(np.linspace(0, len(good) - 1, SAMPLES).astype(int))]
    members = (rows // len(run.t)).tolist()
    states = zip(members, *(x[rows] for x in (*flat, times)), strict=True)
    with np.errstate(all="ignore"):  # a run that blows up
        found = [_at(run, *state) for state in states]
    return Rounding.of([x for x, _ in found]), Rounding.of([x for _, x in found])


class _Rows(NamedTuple):
    """Sizes of rows, the same by their largest coordinates, and what they are."""

    size: np.ndarray
    reach: np.ndarray
    left: np.ndarray


def blur(run: Trajectory) -> float:
    """By what factor coordinates are known worse than by their own size, at the least on the way.

    They are known as `taut.march.kicks.lengths` are, too, of which what rests at the origin has
    more than coordinates.
    """
    n, h = run.system.n, abs(run.step)
    q, v, p = (x.reshape(-1, n) for x in (run.q, run.v, run.p))
    times = np.tile(run.t, len(q) // len(run.t))
    found = np.inf
    for i in np.unique(np.linspace(0, len(q) - 1, SAMPLES).astype(int)).tolist():
        t = float(times[i])
        par = run._par_at(t) if run.batch is None else run._par
        keep = run._kept_at(t, i // len(run.t))
        size = np.max(np.abs(q[i]) + h * np.abs(v[i]), initial=0.0)
        known = size + np.max(lengths(run._mechanics, q[i], v[i], p[i], t, par, keep, h))
        if np.isfinite(known) and known > 0.0:
            found = min(found, known / max(size, EPS * known))
    return found


def loss(run: Trajectory) -> float:
    """By what factor constraints are less exact than they would be near the origin."""
    q = run.q.reshape(-1, run.system.n)
    t = np.tile(run.t, len(q) // len(run.t))
    good = np.flatnonzero(np.isfinite(q).all(axis=1))
    far = good[[0, int(np.argmax(np.abs(q[good]).max(axis=1))), -1]]
    rows = [_reaches(run, q[i], float(t[i])) for i in np.unique(far).tolist()]
    if not run.system.c:
        return 1.0
    whole, length = np.max(rows, axis=0)  # a difference may be small for a moment
    lost = whole / np.where(length > SAME * whole, length, np.inf)  # pinned points have no length
    return max(1.0, float(lost.max()))


def _reaches(run: Trajectory, q: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Of each constraint Σ |G_i q_i|, and what that would be near the origin."""
    m, par = run._mechanics, run._par_at(t) if run.batch is None else run._par
    slopes = m.jacobian(q, t, par).tocsr()
    # ∂(G v)/∂q for v of ones, each size by itself, without what constraints that move add to it.
    probes = np.ones(m.n), np.zeros(m.n)
    bent, led = (m.derivative("hidden", "q", t, par, q=q, v=v) for v in probes)
    bends = np.asarray(abs(bent - led).max(axis=1).todense())
    whole, length = np.zeros(m.c), np.zeros(m.c)
    for row, bend in enumerate(bends.ravel().tolist()):
        own = slice(*slopes.indptr[row : row + 2])
        g, x = slopes.data[own], q[slopes.indices[own]]
        steep, whole[row] = float(np.abs(g).max(initial=0.0)), float(np.abs(g * x).sum())
        length[row] = steep * steep / bend if bend > 0.0 else _apart(g, x)
    return whole, length


def _apart(slopes: np.ndarray, x: np.ndarray) -> float:
    """Σ |G_i q_i|, of coordinates that count by their difference that of the difference."""
    found, left = 0.0, list(np.lexsort((x, np.abs(slopes))))
    while left:
        i = left.pop()
        other = [j for j in left if abs(slopes[i] + slopes[j]) <= SAME * abs(slopes[i])]
        near = min(other, key=lambda j: abs(x[i] - x[j]), default=None)
        if near is None:
            found += float(abs(slopes[i] * x[i]))
        else:
            left.remove(near)
            found += float(abs(slopes[i] * (x[i] - x[near])))
    return found


def _at(run: Trajectory, member: int, q, v, p, t) -> tuple[_Rows, _Rows]:
    """All rows of g and of the hidden constraints at one state."""
    m, par = run._mechanics, run._par_at(float(t)) if run.batch is None else run._par
    slopes = abs(m.jacobian(q, t, par))
    bends = abs(m.derivative("hidden", "q", t, par, q=q, v=v))
    terms, steep = m.apply("size", t, par, q=q), np.asarray(slopes.sum(axis=1)).ravel()
    bent = np.asarray(bends.sum(axis=1)).ravel()
    keep = run._kept_at(float(t), member)
    pushed = kicks(m, q, v, p, float(t), par, keep, run.step)
    removed = pushed + _shared(run, q, v, p, float(t), par)
    fast, taken, far = np.abs(v) + removed, slopes @ removed, np.abs(q) + abs(run.step) * pushed
    place = np.maximum(_largest(m, far), NEIGHBOURS * _largest(m, around_of(far[None], m)[0]))
    speed = np.maximum(_fastest(m, fast), NEIGHBOURS * _largest(m, around_of(fast[None], m)[0]))
    sizes = [
        terms + slopes @ far,
        terms + steep * place,
        slopes @ abs(v) + bends @ abs(q) + taken,
        steep * speed + bent * place + taken,
    ]
    if watched(m, keep):
        rows, own = m.gradients(q, t, par), list(keep)
        spread = np.abs(np.linalg.lstsq(rows[own].T, rows.T, rcond=None)[0]).T  # |B|
        sizes = [np.maximum(x, spread @ x[own]) for x in sizes]
    g, hidden = np.abs(m.g(q, t, par)), np.abs(m.hidden(q, v, t, par))
    return _Rows(sizes[0], sizes[1], g), _Rows(sizes[2], sizes[3], hidden)


def _largest(mechanics: Mechanics, x: np.ndarray) -> np.ndarray:
    """For each row the largest of the coordinates that it depends on."""
    rows, columns = mechanics.involved_pairs
    found = np.zeros(mechanics.c)
    np.maximum.at(found, rows, np.abs(x)[columns])
    return found


def _fastest(mechanics: Mechanics, v: np.ndarray) -> np.ndarray:
    """For each row the largest of the velocities that constraints connect it with."""
    rows, columns = mechanics.involved_pairs
    c, n = mechanics.c, mechanics.n
    pairs = sp.coo_array((np.ones(len(rows)), (rows, columns + c)), shape=(c + n, c + n))
    groups = connected_components(pairs, directed=False)[1]
    found = np.zeros(c + n)
    np.maximum.at(found, groups[c:], v)
    return found[groups[:c]]


def _shared(run: Trajectory, q, v, p, t: float, par) -> np.ndarray:
    """The velocities that others take part in: of a full mass matrix, light ones by heavy ones."""
    if run.system.first_order:
        return np.zeros_like(q)
    m = run._mechanics
    hessian = abs(Snapshot(m, q, v, p, t, par).sparse_hessian())
    full = hessian - sp.diags(hessian.diagonal())
    found = full @ np.abs(p)
    if m.form == "lagrangian":
        found = responses(m, q, v, p, t, par) * (full @ np.abs(v))
    return np.nan_to_num(found, posinf=0.0)
