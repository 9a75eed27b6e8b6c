"""Masses as matrices of expressions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from taut.portable import asymmetry

# More than floats have, so that what cancels inside of an expression is not taken for rounding.
DIGITS = 30
POINTS = 3  # at which expressions are compared that are not the same when multiplied out


def uneven(mass: sp.Matrix, parameters: Mapping[str, float | None]) -> tuple[int, int] | None:
    """Where a mass is not symmetric: entries that are written differently are compared as numbers.

    Numbers in them may be rounded, and expressions equal without looking so: sin 2x, 2 sin x cos x.
    """
    rng = np.random.default_rng(0)
    for i in range(mass.rows):
        for j in range(i):
            if mass[i, j] == mass[j, i] or sp.expand(mass[i, j] - mass[j, i]) == 0:
                continue
            both = mass.extract([i, j], [i, j])
            symbols = sorted(both.free_symbols, key=lambda s: s.name)
            for _ in range(POINTS if symbols else 1):
                drawn = [parameters.get(s.name) or rng.uniform(0.4, 1.6) for s in symbols]
                there = dict(zip(symbols, drawn, strict=True))
                values = [e.evalf(DIGITS, subs=there) for e in both]
                if not all(x.is_Float or x.is_Integer for x in values):
                    return j, i  # outside the domain: nothing speaks for it
                if asymmetry(np.array(values, dtype=float).reshape(2, 2)) is not None:
                    return j, i
    return None
