"""What rounding can do to constraints, row by row, at states spread over a run.

A constraint g is a sum whose terms are rounded, of coordinates that are: ε times

    Σ |summands of g| + |G| |q|

is what may be left of it.  Likewise ε (|G| |v| + |∂(G v)/∂q| |q|) of G v + ∂g/∂t.  But velocities
themselves are what is left of others: v = M⁻¹(p − Gᵀμ) with an impulse μ ≈ h λ, which moves light
parts fast before it is taken away, and each summand is rounded at its own size:

    |G| M⁻¹ |G|ᵀ h |λ|

comes on top (a body whose moments of inertia are 1e−8 of what its joints carry has velocities to
eight digits).  Rows that follow from the kept ones, G_drop = B G_keep, are met as well as those
are: to |B| times what rounding does to them.

A row is judged by the largest coordinate that it depends on, and by the largest velocity, one that
impulses make included, of all that constraints connect it with: what is zero has been found
together with others that are not (a bar that hangs at rest and carries a bob that swings).  Of what
forces connect it with a small part counts, as for Newton's method: a point that is held at zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from taut.kernel.evaluate import Mechanics, Snapshot
from taut.march.kept import watched
from taut.march.start import NEIGHBOURS, around_of
from taut.march.trajectory import Trajectory

SAMPLES = 32


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


def _at(run: Trajectory, member: int, q, v, p, t) -> tuple[_Rows, _Rows]:
    """All rows of g and of the hidden constraints at one state."""
    m, par = run._mechanics, run._par_at(float(t)) if run.batch is None else run._par
    slopes = abs(m.jacobian(q, t, par))
    bends = abs(m.derivative("hidden", "q", t, par, q=q, v=v))
    terms, steep = m.apply("size", t, par, q=q), np.asarray(slopes.sum(axis=1)).ravel()
    bent = np.asarray(bends.sum(axis=1)).ravel()
    keep = run._kept_at(float(t), member)
    removed = _removed(run, slopes, keep, q, v, p, float(t), par)
    fast, taken = np.abs(v) + removed, slopes @ removed
    place = np.maximum(_largest(m, q), NEIGHBOURS * _largest(m, around_of(abs(q)[None], m)[0]))
    speed = np.maximum(_fastest(m, fast), NEIGHBOURS * _largest(m, around_of(fast[None], m)[0]))
    sizes = [
        terms + slopes @ abs(q),
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


def _removed(run: Trajectory, slopes, keep, q, v, p, t: float, par) -> np.ndarray:
    """The velocities M⁻¹|G|ᵀ h|λ| that impulses of a step make."""
    if run.system.first_order:
        return np.zeros_like(q)
    multipliers = run._mechanics.accelerations(q, v, p, t, par)[1]
    if watched(run._mechanics, keep):  # those of least norm are spread over all rows
        rows, own = run._mechanics.gradients(q, t, par), list(keep)
        alone = np.linalg.lstsq(rows[own].T, rows.T @ multipliers, rcond=None)[0]
        multipliers = np.zeros_like(multipliers)
        multipliers[own] = alone
    diagonal = np.abs(Snapshot(run._mechanics, q, v, p, t, par).sparse_hessian().diagonal())
    if run._mechanics.form == "lagrangian":
        diagonal = 1.0 / np.where(diagonal > 0.0, diagonal, np.inf)
    found = diagonal * (slopes.T @ np.abs(run.step * multipliers))
    return np.nan_to_num(found, posinf=0.0)
