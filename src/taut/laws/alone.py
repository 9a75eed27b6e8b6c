"""Laws of symmetries alone, where a search is not possible."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping

import numpy as np
import sympy as sp

from taut.errors import InputError, ModelError, TautError
from taut.laws.affine import Affine, AffineSymmetry
from taut.laws.budget import Budget, Spent, limited
from taut.laws.check import NORMAL_FORM, controls_of
from taut.laws.dynamics import Moving
from taut.laws.field import WORD, Field, downwards
from taut.laws.law import Law, Laws
from taut.laws.ring import Ring
from taut.model import System, t

BUDGET = (4.0, 3.0)  # seconds' worth of work for momenta and boosts, and by the clock
OTHERS = 2.0  # seconds' worth of work for all other symmetries
TOGETHER = 2.0  # seconds by the clock that these may take with all that was done before
BY_POINTS = "Noether's identity at 48 random points modulo two primes near 2³¹"
MOST = 400  # coordinates
PLAIN = "translations, rotations of bodies and boosts"
WHAT = "laws of translations, rotations, boosts and scalings that are affine in q"


def laws_of_symmetries(
    system: System,
    fixed: Mapping[sp.Symbol, sp.Expr] | None = None,
    why: str = "",
    took: float = 0.0,
) -> Laws | InputError:
    """Those of affine symmetries, and why there was no search; or why these are not known.

    Momenta and boosts come first.  The others have what is left of the time, of which `took`
    seconds are over.
    """
    if system.first_order:
        return InputError(why)
    if system.n > MOST:
        return InputError(f"{why}; symmetries are looked for up to {MOST} coordinates")
    begun, limit = clock.thread_time(), Budget(*BUDGET)
    try:
        with limited(limit):
            affine = Affine(system, fixed)
            plain = affine.plain()
    except Spent as error:
        return InputError(f"{why}; of the search for symmetries {error}")
    except TautError as error:
        return InputError(f"{why}; for symmetries: {str(error).splitlines()[0]}")
    left = TOGETHER - took - (clock.thread_time() - begun)
    others, ended = [], ""
    try:
        with limited(Budget(OTHERS, left)):
            others = affine.others()
    except Spent as error:
        over = f"{TOGETHER:g} s were over" if error.timed else str(error)
        ended = f"of the search for other symmetries {over}"
    except TautError as error:
        ended = f"for other symmetries: {str(error).splitlines()[0]}"
    return _listed(system, affine, plain, others, why, ended)


def _listed(
    system: System, affine: Affine, plain: list[AffineSymmetry], others: list[AffineSymmetry],
    why: str, ended: str,
) -> Laws:  # fmt: skip
    """Momenta, and of the others those that are no functions of what comes before them."""
    names = controls_of(system)
    kept = [x for x in (*plain, *others) if not names & {s.name for s in x.expression.free_symbols}]
    first = set(independent(affine, [x.expression for x in kept]))
    kept = [x for i, x in enumerate(kept) if i in first or x in plain]
    laws = [
        Law(x.expression, x.kind, 2, NORMAL_FORM if x.formal else BY_POINTS, x.symmetry)
        for x in kept
    ]
    chosen = independent(affine, [x.expression for x in laws])
    missed = f", but for {affine.missed} whose numbers could not be told" if affine.missed else ""
    limits = f" (rotations {affine.limits})" if affine.limits and not ended else ""
    what = f"laws of {PLAIN}" if ended else WHAT
    why = f"{why}; {ended}" if ended else why
    made = Laws(
        laws, len(chosen), chosen, f"{what}{limits}{missed}; not looked for beyond these: {why}"
    )
    made.stopped = f"beyond {PLAIN if ended else 'symmetries'}: {why}"
    return made


def independent(affine: Affine, expressions: list[sp.Expr]) -> list[int]:
    """Numbers of independent laws, by gradients modulo a prime; at least as many are.

    Of a law with roots only what depends on velocities is looked at, by its slopes in these: that
    shows that it is no function of the others wherever they do.
    """
    rates = set(affine.rates_of)
    plain: list[int] = []
    rows, slopes = [], []
    for i, e in enumerate(expressions):
        moving = sp.Add(*(x for x in sp.Add.make_args(e) if x.free_symbols & rates))
        rooted = any(not x.exp.is_Integer for x in e.atoms(sp.Pow))
        whole = None if rooted else _gradient(affine, e, affine.state)
        part = _gradient(affine, moving, affine.rates_of)
        if part is None:
            continue
        rows.append((i, whole, part))
    f = Field(next(downwards(12)))
    first = [(i, whole) for i, whole, _ in rows if whole is not None]
    if first:
        pivots = f.pivots(np.ascontiguousarray(np.array([x for _, x in first]).T))
        plain = [first[k][0] for k in pivots]
    slopes = [part for i, whole, part in rows if whole is not None]
    for i, whole, part in rows:
        if whole is None:
            pivots = f.pivots(np.ascontiguousarray(np.array([*slopes, part]).T))
            if len(slopes) in pivots:
                plain.append(i)
                slopes.append(part)
    return sorted(plain)


def _gradient(affine: Affine, e: sp.Expr, variables: list[sp.Symbol]) -> np.ndarray | None:
    """At one random point, the same for all laws; None if it has roots, or is not analytic."""
    if any(not x.exp.is_Integer for x in e.atoms(sp.Pow)):
        return None
    f = Field(next(downwards(12)), 12)
    n = len(variables)
    known = [*affine.state, *affine.parameters, t]
    given = {
        x: np.full(n, value, dtype=WORD)
        for x, value in zip(known, f.random(len(known)), strict=True)
    }
    try:
        point = Ring([e], known).sample(f, given)
    except ModelError:  # |x| and the like have no values modulo a prime
        return None
    units = dict(zip(variables, np.eye(n, dtype=WORD), strict=True))
    return Moving(point, units).rate(e)
