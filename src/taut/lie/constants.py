"""Structure constants as exact data: how they are read, and the identities they must satisfy.

    [eᵢ, eⱼ] = Σₖ cᵢⱼᵏ eₖ

Constants are whole numbers, fractions, SymPy's rationals, or floats.  The first three stay exact,
and antisymmetry and Jacobi's identity must then hold exactly; floats may miss them by round-off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from numbers import Complex, Integral, Rational, Real
from typing import Any

import numpy as np

from taut.errors import InputError, UnknownName, brief

ROUND_OFF = 64 * 2.0**-52  # by which floats may break an identity, relative to the largest

Number = int | Fraction | float
Term = tuple[int, int, int, Number]
Entries = dict[tuple[int, int, int], Number]


def exact(value: Any, place: object) -> Number:
    """A constant as an int, a Fraction, or a float where it is none of them."""
    found: Any = value
    try:
        if isinstance(value, str) or (isinstance(value, Complex) and not isinstance(value, Real)):
            raise TypeError
        if isinstance(value, Rational):
            found = Fraction(int(value.numerator), int(value.denominator))
        else:
            found = float(value)
            if not isfinite(found):
                raise ValueError
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the structure constant {place} is not a finite number",
            expected="whole numbers, fractions, SymPy's rationals or floats",
            received=brief(value),
        ) from error
    return int(found) if found == int(found) else found


def from_array(constants: Any) -> tuple[int, Entries]:
    """The dimension, and the entries of an array (n, n, n) that are not zero."""
    try:
        array = np.array(constants, dtype=object)
    except (TypeError, ValueError):  # no array, or rows of different lengths
        array = np.empty(0, dtype=object)
    if array.ndim != 3 or len(set(array.shape)) != 1 or not array.size:
        raise InputError(
            "structure constants are an array of three indices",
            expected="shape (n, n, n), [eᵢ, eⱼ] = Σₖ c[i, j, k] eₖ; or a mapping of brackets",
            received=f"shape {array.shape}",
            remedy="brackets that are not zero may be given alone: {(0, 1): {2: 1}}",
        )
    read = ((place, exact(c, f"c{list(place)}")) for place, c in np.ndenumerate(array))
    return len(array), {(i, j, k): c for (i, j, k), c in read if c != 0}


def from_mapping(brackets: Mapping[Any, Any], labels: Sequence[str]) -> tuple[int, Entries]:
    """The same from {(i, j): {k: c}}; a bracket that is given fixes its mirror image.

    Indices are numbers, or labels.  Without labels the largest index tells the dimension.
    """
    rows = [(_pair(key), _row(key, row)) for key, row in brackets.items()]
    if labels:
        places: dict[Any, int] = {label: i for i, label in enumerate(labels)}
    else:
        used = [x for pair, row in rows for x in (*pair, *row)]
        named = [x for x in used if not isinstance(x, Integral)]
        if named:
            raise InputError(
                "brackets of elements with names need a list of them",
                expected="the basis, in its order",
                received=repr(named[0])[:80],
                remedy='labels="x y z", say',
            )
        places = {}
        labels = [f"e{i + 1}" for i in range(int(max(used, default=-1)) + 1)]
    places |= {i: i for i in range(len(labels))}

    def place(x: Any) -> int:
        if x not in places:
            raise UnknownName("element of the basis", x, map(str, places))
        return places[x]

    entries: Entries = {}
    given: set[tuple[int, int]] = set()
    for (first, second), row in rows:
        i, j = place(first), place(second)
        if (i, j) in given:
            raise InputError(
                "a bracket is given twice",
                expected="every bracket once, by labels or by numbers",
                received=f"[{first}, {second}] again",
            )
        given.add((i, j))
        for name, c in row.items():
            entries[i, j, place(name)] = exact(c, f"of [{first}, {second}] along {name}")
    for (i, j, k), c in list(entries.items()):
        if (j, i) not in given:
            entries[j, i, k] = -c
    return len(labels), {at: c for at, c in entries.items() if c != 0}


def _pair(key: Any) -> tuple[Any, Any]:
    if isinstance(key, tuple) and len(key) == 2:
        return key
    raise InputError("a bracket has two elements", expected="(i, j)", received=brief(key))


def _row(key: Any, row: Any) -> Mapping[Any, Any]:
    if isinstance(row, Mapping):
        return row
    raise InputError(f"the bracket {key} cannot be read", expected="{k: c, …}", received=brief(row))


def checked(constants: Iterable[Any], labels: Sequence[str]) -> tuple[Term, ...]:
    """The constants that are not zero, in order; antisymmetric to the bit, and Jacobi's."""
    entries: Entries = {}
    for term in constants:
        try:
            i, j, k, c = term
            if not all(0 <= x < len(labels) and x == int(x) for x in (i, j, k)):
                raise ValueError
            if (i, j, k) in entries:
                raise ValueError
        except (TypeError, ValueError) as error:
            raise InputError(
                "a structure constant is given as (i, j, k, c)",
                expected=f"three indices from 0 to {len(labels) - 1}, once, and a number",
                received=brief(term),
            ) from error
        entries[int(i), int(j), int(k)] = exact(c, f"c[{i}, {j}, {k}]")
    scale = float(max(map(abs, entries.values()), default=0))
    upper = dict(_antisymmetric(entries, labels, ROUND_OFF * scale))
    _jacobi(upper, labels, ROUND_OFF * scale**2 * len(labels))
    both = {**upper, **{(j, i, k): -c for (i, j, k), c in upper.items()}}
    return tuple((*at, both[at]) for at in sorted(both) if both[at] != 0)


def _antisymmetric(
    entries: Entries, labels: Sequence[str], tolerance: float
) -> Iterator[tuple[Any, Number]]:
    """The entries with i < j, if the others are minus these."""
    for (i, j, k), c in entries.items():
        mirror = entries.get((j, i, k), 0)
        if _misses(c + mirror, tolerance):
            other = f", c[{j}, {i}, {k}] = {mirror}" if i != j else ", which must be 0"
            raise InputError(
                "these structure constants are not antisymmetric",
                expected="c[i, j, k] = −c[j, i, k]",
                received=f"c[{i}, {j}, {k}] = {c}{other}",
                remedy=f"[{labels[i]}, {labels[j]}] = −[{labels[j]}, {labels[i]}]; "
                "a mapping of brackets needs only one of the two",
            )
        if i < j:
            yield (i, j, k), c


def _misses(zero: Number, tolerance: float) -> bool:
    """Whether a number is not zero; only floats are tolerated."""
    return abs(zero) > (tolerance if isinstance(zero, float) else 0)


def _jacobi(upper: Entries, labels: Sequence[str], tolerance: float) -> None:
    """[[eᵢ, eⱼ], eₖ] + [[eⱼ, eₖ], eᵢ] + [[eₖ, eᵢ], eⱼ] = 0 for i < j < k.

    The sum changes its sign with every exchange of two indices; so every product of two
    constants belongs to one triple in order, with the sign of the permutation that makes it so.
    """
    after: dict[int, list[tuple[int, int, Number]]] = {}
    for (i, j, k), c in upper.items():
        after.setdefault(i, []).append((j, k, c))
        after.setdefault(j, []).append((i, k, -c))
    total: dict[tuple[int, int, int, int], Number] = {}
    for (i, j, along), c in upper.items():
        for k, m, d in after.get(along, ()):
            if k in (i, j):
                continue
            triple = (i, j, k) if k > j else (i, k, j) if k > i else (k, i, j)
            part = -c * d if i < k < j else c * d
            total[(*triple, m)] = total.get((*triple, m), 0) + part
    wrong = {at: value for at, value in total.items() if _misses(value, tolerance)}
    if wrong:
        (i, j, k, m), value = max(wrong.items(), key=lambda found: abs(found[1]))
        a, b, c = labels[i], labels[j], labels[k]
        raise InputError(
            f"these structure constants break Jacobi's identity for {a}, {b}, {c}",
            expected=f"[[{a}, {b}], {c}] + [[{b}, {c}], {a}] + [[{c}, {a}], {b}] = 0",
            received=f"{value} {labels[m]}" + (f" (and {len(wrong) - 1} more)" * (len(wrong) > 1)),
            remedy="check the brackets of these three; a bracket that is left out is zero",
        )
