"""Loads that are spread along a beam, as loads on its nodes.

A load f(s) per length acts on the node at s_j with the share that levers between neighbours give,

    F_j = ∫ N_j(s) f(s) ds,

N_j being the hat that is 1 at s_j and falls to 0 at its neighbours.  Since Σ N_j = 1 and
Σ s_j N_j = s, the force and its moment about any place are those of the load itself, wherever it
begins and ends; each F_j is of the second order.  End nodes whose cells are longer than half an
edge get more, as they have more mass.

The integrals are exact for piecewise polynomials: they go by Gauss–Legendre between the places
where f jumps, bends or turns, and for other functions in halves as long as that changes anything.
Where such places move with time, f is sampled at `PIECES` places of each edge: each of them bears
it for as long as it should (see `taut.model.switches`), so that no impulse is lost.

In time, f = Σ φ_k(s) ψ_k(t) if it can be written like this, and ∫ N_j φ_k are numbers.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from taut.fields.loads import Load, s
from taut.model.switches import levels, roots, switches
from taut.model.symbols import t
from taut.portable import product

PIECES = 8  # of an edge, where what acts on it moves
LOOKS = 16  # samples of an edge between which jumps are looked for that no formula tells
USUAL = 5  # points between two jumps, where time cannot be told apart and no polynomial is met
MANY = 30  # the degree up to which halves are compared
ROUNDING, LEFT = 1e-14, 1e-9  # of an integral: what counts, and what may be left at a corner
PLACES = 4 * np.finfo(float).eps  # of a place: what it may be off by
DEPTH = 40  # times that an interval is halved
HALVINGS = 80


@dataclass(frozen=True)
class Spread:
    """What a load does to nodes.

    Attributes
    ----------
    symbols : tuple of Symbol, length K
        Numbers of each share.
    wrench : tuple of Expr
        Moment and force of a share, of t and of these numbers.
    nodes : ndarray of int, shape (R,)
        On which node each share acts.
    rows : ndarray, shape (R, K)
        The numbers.
    """

    symbols: tuple[sp.Symbol, ...]
    wrench: tuple[sp.Expr, ...]
    nodes: np.ndarray
    rows: np.ndarray

    def on(self, node: int) -> list[tuple[sp.Expr, ...]]:
        """The shares that act on a node, as expressions of t."""
        found = []
        for row in self.rows[self.nodes == node]:
            table = {x: sp.Float(float(y)) for x, y in zip(self.symbols, row, strict=True)}
            found.append(tuple(e.xreplace(table) for e in self.wrench))
        return found


def spread(load: Load, places: np.ndarray, weight: np.ndarray) -> Spread:
    """The shares of a load on nodes at `places` of its beam, whose cells have the lengths `weight`.

    Of a load on a single node that node has it all.
    """
    if load.node is not None:
        return Spread((), load.wrench, np.array([load.node]), np.zeros((1, 0)))
    assert load.span is not None
    first, stop = load.span
    nodes, at, cells = np.arange(first, stop), places[first:stop], weight[first:stop]
    if not any(e.has(s) for e in load.wrench):
        share = sp.Symbol("load.share", real=True)
        return Spread((share,), tuple(share * e for e in load.wrench), nodes, cells[:, None])
    half = np.diff(at) / 2
    scale = cells / (np.r_[0.0, half] + np.r_[half, 0.0])
    terms = _separated(load.wrench)
    if terms is None:
        return _sampled(load.wrench, nodes, at, scale)
    names = [sp.Symbol(f"load.share{k}", real=True) for k in range(len(terms))]
    table = dict(zip(terms, names, strict=True))
    wrench = tuple(sp.Add(*(rest * table[part] for part, rest in _factors(e))) for e in load.wrench)
    rows = np.array([scale * _integrals(part, at) for part in terms]).T
    return Spread(tuple(names), wrench, nodes, rows)


# ---- φ(s) ψ(t) -----------------------------------------------------------------------------------


def _factors(e: sp.Expr) -> list[tuple[sp.Expr, sp.Expr]]:
    """(what depends on s, what does not) of each summand."""
    found = []
    for term in sp.Add.make_args(sp.expand_mul(e)):
        rest, part = term.as_independent(s, as_Add=False)
        if term != 0:
            found.append((part, rest))
    return found


def _separated(wrench: Sequence[sp.Expr]) -> list[sp.Expr] | None:
    """All φ_k, or None if some part depends on both s and t."""
    parts = {part: None for e in wrench for part, _ in _factors(e)}
    return None if any(part.has(t) for part in parts) else list(parts)


def _integrals(part: sp.Expr, at: np.ndarray) -> np.ndarray:
    """∫ N_j φ ds for all nodes."""
    found, degree = np.zeros(len(at)), _degree(part)
    looks = _looks(at, _cuts([part], at))
    values = np.abs(_values(part, looks))
    size = np.max(values, initial=0.0, where=np.isfinite(values))
    for left, right, edge in _intervals([part], at):
        if degree == np.inf:
            place, weight = _refined(part, left, right, size)
        else:
            place, weight = _gauss(left, right, degree)
        value = weight * _values(part, place)
        along = (place - at[edge]) / (at[edge + 1] - at[edge])
        lost = np.isnan(value)  # it is the node next to a pole that is named
        found[edge] += product(np.where(lost & (along > 0.5), 0.0, value), 1 - along)
        found[edge + 1] += product(np.where(lost & (along < 0.5), 0.0, value), along)
    return found


def _sampled(wrench: Sequence[sp.Expr], nodes: np.ndarray, at, scale) -> Spread:
    """Shares at places between nodes, where s and t cannot be told apart."""
    place, factor = (sp.Symbol(f"load.{x}", real=True) for x in ("place", "factor"))
    moving = any(x.has(t) for e in wrench for x in switches(e, s, lambda _: True))
    degree = max(_degree(e) for e in wrench)
    rows, where = [], []
    for left, right, edge in _intervals(wrench, at):
        points = _evenly(left, right) if moving else _gauss(left, right, degree)
        for x, w in zip(*points, strict=True):
            along = (x - at[edge]) / (at[edge + 1] - at[edge])
            for node, share in ((edge, 1 - along), (edge + 1, along)):
                rows.append((x, scale[node] * share * w))
                where.append(nodes[node])
    found = [factor * e.xreplace({s: place}) for e in wrench]
    return Spread((place, factor), tuple(found), np.array(where), np.array(rows))


# ---- integrals -----------------------------------------------------------------------------------


@functools.lru_cache(256)
def _function(e: sp.Expr) -> Callable[[np.ndarray], Any]:
    return sp.lambdify(s, e, "numpy")


def _values(e: sp.Expr, places: np.ndarray) -> np.ndarray:
    """An expression of s; NaN where it is not real."""
    with np.errstate(all="ignore"):
        try:
            found = np.asarray(_function(e)(places))
        except ZeroDivisionError:
            return np.full(len(places), np.nan)
    if np.iscomplexobj(found):
        found = np.where(np.imag(found) == 0, np.real(found), np.nan)
    found = np.array(np.broadcast_to(found, places.shape), dtype=float)
    for i in np.flatnonzero(np.isnan(found)):  # imaginary times zero is zero
        value = e.xreplace({s: sp.Float(places[i])}).evalf()
        found[i] = float(value) if value.is_extended_real and value.is_number else np.nan
    return found


def _gauss(left: float, right: float, degree: float) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights that are exact for polynomials one degree higher than that."""
    count = USUAL if degree == np.inf else (int(degree) + 3) // 2
    x, w = np.polynomial.legendre.leggauss(count)
    half = 0.5 * (right - left)
    return left + half * (x + 1), half * w


def _evenly(left: float, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights of what moves, for which no place is better than another."""
    step = (right - left) / PIECES
    return left + step * (np.arange(PIECES) + 0.5), np.full(PIECES, step)


def _degree(e: sp.Expr) -> float:
    """In s, of the pieces of an expression; infinite where they are no polynomials."""
    if not e.has(s):
        return 0
    if e == s:
        return 1
    if isinstance(e, sp.Add | sp.Max | sp.Min | sp.Abs):
        return max(map(_degree, e.args))
    if isinstance(e, sp.Mul):
        return sum(map(_degree, e.args))
    if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp > 0:
        return int(e.exp) * _degree(e.base)
    if isinstance(e, sp.Piecewise):
        return max(_degree(branch) for branch, _ in e.args)
    return 0 if isinstance(e, sp.sign | sp.Heaviside | sp.floor | sp.ceiling) else np.inf


def _refined(e: sp.Expr, left: float, right: float, usual: float) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights for any function: intervals are halved as long as that changes anything.

    Nothing is known of poles: weights are NaN where what is left at last is no small part of
    `usual`, the size of the function.
    """
    found, rest = [], [(left, right, 0)]
    while rest:
        a, b, depth = rest.pop()
        m = 0.5 * (a + b)
        whole, *halves = (_gauss(x, y, MANY) for x, y in ((a, b), (a, m), (m, b)))
        one, *two = (w * _values(e, x) for x, w in (whole, *halves))
        change, size = abs(one.sum() - sum(x.sum() for x in two)), np.abs(one).sum()
        # Beside a pole what rounds places is no small part of an interval, and halves nothing.
        rounding = max(ROUNDING, PLACES * max(abs(a), abs(b)) / (b - a))
        if depth < DEPTH and change > rounding * max(size, usual * (b - a)):
            rest += [(m, b, depth + 1), (a, m, depth + 1)]
        elif depth < DEPTH or size < LEFT * usual * (right - left):
            found += halves
        else:
            found.append((whole[0], np.full_like(whole[0], np.nan)))
    return np.concatenate([x for x, _ in found]), np.concatenate([w for _, w in found])


def _intervals(expressions: Sequence[sp.Expr], at: np.ndarray):
    """(left, right, edge) of the parts of all edges between which nothing jumps or bends."""
    cuts = _cuts(expressions, at)
    for edge, (left, right) in enumerate(itertools.pairwise(at)):
        inside = cuts[(cuts > left) & (cuts < right)]
        ends = np.r_[left, inside, right]
        for a, b in itertools.pairwise(ends):
            yield a, b, edge


def _cuts(expressions: Sequence[sp.Expr], at: np.ndarray) -> np.ndarray:
    """Places where an expression of s may jump, bend or turn.

    What no formula tells is looked for between samples.  What is narrow is found by its turning
    points, between which it is monotonic.
    """
    jumps = {x: None for e in expressions for x in switches(e, s, lambda _: False)}
    found, rest = np.zeros(0), []
    for jump in sorted(jumps, key=sp.default_sort_key):
        if isinstance(jump, sp.floor):
            rest.append(jump)
            continue
        for level in levels(jump):
            zeros = roots(level, s)
            found = np.r_[found, [] if zeros is None else zeros]
            rest += [level] if zeros is None else []
    smooth = [e for e in expressions if e.free_symbols == {s} and _degree(e) == np.inf]
    for level in (*rest, *smooth):
        slope = sp.diff(level, s)
        if not slope.has(sp.DiracDelta, sp.Derivative, sp.Subs):
            found = np.r_[found, _changes(slope, _looks(at, found))]
    for level in rest:
        found = np.r_[found, _changes(level, _looks(at, found))]
    return np.unique(found)


def _looks(at: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Places at which a function shows what it does."""
    grid = np.linspace(at[0], at[-1], LOOKS * (len(at) - 1) + 1)
    return np.union1d(grid, cuts[(cuts > at[0]) & (cuts < at[-1])])


def _changes(level: sp.Expr, looks: np.ndarray) -> list[float]:
    """Where an expression changes its sign, or `floor` jumps, by halving."""

    def side(x: np.ndarray) -> np.ndarray:
        values = _values(level, x)
        return values if isinstance(level, sp.floor) else np.sign(values)

    sides = side(looks)
    which = np.flatnonzero((sides[1:] != sides[:-1]) & ~np.isnan(sides[1:] + sides[:-1]))
    low, high, before = looks[which], looks[which + 1], sides[which]
    for _ in range(HALVINGS if len(which) else 0):
        middle = 0.5 * (low + high)
        same = side(middle) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return list(high)
