"""Motions that the expressions of users allow, exactly.

Whether a term of a joint or a spring allows a motion can be seen anywhere.  A potential that a user
writes may have a narrow bump at one place, which no random state is likely to meet.  Its change
under a motion is an expression again, and linear in the motion,

    Σ x_k (ℓ_q·ξ_k + ℓ_v·ξ̇_k) = 0,      Σ x_k f·ξ_k = 0,      Σ x_k G ξ_k = C g,

so that the x that it allows are a null space modulo a prime, at random points of the numbers modulo
that prime (see `taut.laws.ring`): an exponential is there as large as any other number, and what is
not zero everywhere is zero at a random point once in 2³⁰ times.  Forces and torques do the work
F·(b + n × P) and T·n.  Of functions that the ring does not know, such as max, each argument has to
stay what it is.  What cannot be shown is not allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from taut.errors import ModelError
from taut.laws.field import Field, combined, primes, rational
from taut.laws.ring import Ring, exact, tidy
from taut.model.mechanism import Mechanism
from taut.model.mechanism.forces import Load, Potential
from taut.model.mechanism.joints import Joint
from taut.model.mechanism.library import Piece
from taut.model.mechanism.parts import Part
from taut.model.mechanism.shapes import NUMBER, Side, cross
from taut.model.symbols import t

WRITTEN = ("surface", "curve", "moved")  # joints that users write
PRIMES = 6
MORE = 8  # points beyond those that are needed
DRAWN = 12  # times as many are drawn: there are no roots at some of them
FEW = 24  # loads of one law up to which each is looked at with its own numbers
SMALL = 1000  # numerators and denominators that need no second prime


@dataclass
class Own:
    """A term in which an expression of coordinates or of time is a user's."""

    of: Potential | Load | Joint
    piece: Piece
    numbers: dict[str, int]  # of the coordinates of the mechanism


def written_by_users(mechanism: Mechanism) -> Iterator[Own]:
    """All of them."""
    for force in mechanism.forces.values():
        plain = isinstance(force, Load) and all(e.is_number for e in force.given)
        if isinstance(force, Potential | Load) and not plain:
            yield from (Own(force, x, mechanism.numbers) for x in force.pieces)
    for joint in mechanism.joints.values():
        if joint.kind in WRITTEN:
            yield from (Own(joint, x, mechanism.numbers) for x in joint.pieces)


@dataclass
class _Condition:
    """Expressions by motion that are zero, or (for constraints) a combination of others."""

    changes: list[sp.Expr]
    rows: list[sp.Expr]


def allowed(terms: Iterable[Own], owners: Sequence[Part], numbers: list[int]) -> np.ndarray:
    """A basis, shape (k, 6 + numbers), of the motions (n, b, a) that all terms allow.

    Parameters
    ----------
    terms : iterable of Own
    owners : sequence of Part
        The part of each coordinate.
    numbers : list of int
        Coordinates that are angles, and may be turned.
    """
    terms, count = list(terms), 6 + len(numbers)
    many = Counter(x.piece.key for x in terms)
    conditions: list[_Condition] = []
    seen = set()
    for term in terms:
        alike = many[term.piece.key] > FEW
        if not (alike and term.piece.key in seen):
            seen.add(term.piece.key)
            found = _conditions(term, owners, numbers, alike)
            if found is None:
                return np.zeros((0, count))
            conditions += found
    residues, moduli = [], []
    made: list[Fractions | None] = []
    before: list[Fractions | None] = []
    for p in primes(PRIMES):
        found = _basis(Field(p), conditions, count)
        if found is None or (residues and found.shape != residues[0].shape):
            return np.zeros((0, count))
        residues.append(found)
        moduli.append(p)
        before, made = made, [_rational(row, moduli) for row in np.stack(residues, axis=-1)]
        if None not in made and (made == before or _small(made)):
            before = made
            break
    # What is still another number with another prime, such as π, is no fraction.
    kept = [row for row, old in zip(made, before, strict=True) if row is not None and row == old]
    return np.array([[a / b for a, b in row] for row in kept]).reshape(len(kept), count)


Fractions = list[tuple[int, int]]


def _rational(row: np.ndarray, moduli: list[int]) -> Fractions | None:
    """Numbers by their residues, shape (count, primes); None if they are none."""
    found = [rational(*combined([int(x) for x in residues], moduli)) for residues in row]
    return None if None in found else found  # type: ignore[return-value]


def _small(rows: list[Fractions | None]) -> bool:
    return all(max(abs(a), b) < SMALL for row in rows if row is not None for a, b in row)


def _basis(field: Field, conditions: list[_Condition], count: int) -> np.ndarray | None:
    """Motions that all conditions allow modulo a prime, in a reduced echelon form."""
    basis = np.eye(count, dtype=np.uint64)
    for condition in conditions:
        if not len(basis):
            break
        values = _values(field, [*condition.changes, *condition.rows])
        if values is None:
            return None
        changes, rows = values[:count], values[count:]
        matrix = np.vstack([field.dot(basis, changes), rows]).T
        weights = field.null_space(np.ascontiguousarray(matrix))[:, : len(basis)]
        basis = field.dot(np.ascontiguousarray(weights), basis)
        basis = basis[np.any(basis != 0, axis=1)]
        basis = field.reduced(basis)[0] if len(basis) else basis
    return basis


def _values(field: Field, expressions: list[sp.Expr]) -> np.ndarray | None:
    """Values at enough random points, shape (expressions, points)."""
    symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    ring = Ring(expressions, symbols)
    need = len(expressions) + MORE
    size = DRAWN * need * 2 ** len(ring.roots)
    unit = sp.Symbol("unit")  # so that there are points where no symbol is left
    point = ring.sample(field, {s: field.random(size) for s in (*symbols, unit)})
    found = np.array([point(e) for e in expressions])
    good = np.flatnonzero(point.good)[:need]
    return found[:, good] if len(good) == need else None


# ---- conditions ---------------------------------------------------------------------------------


def _conditions(
    term: Own, owners: Sequence[Part], numbers: list[int], alike: bool
) -> list[_Condition] | None:
    """What a term asks for; None where that is not known."""
    if isinstance(term.of, Load):
        changes = _pushed(term.of, term.numbers, alike)
        changes += [sp.Integer(0)] * len(numbers)
        return [_Condition(changes, [])] if all(map(_fits, changes)) else None
    piece = term.piece
    q, v, constants, rows = (list(x) for x in piece.write())
    table: dict[sp.Basic, sp.Basic] = {}
    for i, x, rate in zip(piece.indices, q, v, strict=True):
        table |= {x: _place(i), rate: _rate(i)}
    if not alike:
        table |= {c: exact(float(x)) for c, x in zip(constants, piece.values, strict=True)}
    rows = [tidy(e.xreplace(table)) for e in rows]
    motions = [_moved(piece.indices, owners, numbers, k) for k in range(6 + len(numbers))]
    if piece.kind == "lagrangian":
        parts = [x for e in rows for x in _parts(e)]
        return [_Condition([_along(e, x) for x in motions], []) for e in parts]
    if not all(map(_fits, rows)):
        return None
    return [_Condition([_along(e, x) for x in motions], rows) for e in rows]


def _pushed(load: Load, numbers: dict[str, int], alike: bool) -> list[sp.Expr]:
    """What a load does in the six motions: F·(n × P + b), or T·n."""
    side = Side(load.part.shape, "a")
    place = None if load.torque else side.place()
    given = list(load.given)
    if load.follower:
        axes = [side.vector() for _ in range(3)]
        given = [sp.Add(*(f * e[c] for f, e in zip(given, axes, strict=True))) for c in range(3)]
    table: dict[sp.Basic, sp.Basic] = {}
    for i, x in zip(load.part.indices, side.coordinates, strict=True):
        table[x] = _place(i)
    for symbol in set().union(*(e.free_symbols for e in load.given)):
        if symbol.name in numbers:
            table[symbol] = _place(numbers[symbol.name])
        elif symbol.name.removesuffix("_dot") in numbers:
            table[symbol] = _rate(numbers[symbol.name.removesuffix("_dot")])
    if not alike:
        values = [*zip(side.constants, load.values, strict=True), *load.own]
        table |= {c: exact(float(x)) for c, x in values}
    x, y, z = (tidy(e.xreplace(table)) for e in given)
    if place is None:
        return [x, y, z, *[sp.Integer(0)] * 3]
    px, py, pz = (e.xreplace(table) for e in place)
    return [*cross((px, py, pz), (x, y, z)), x, y, z]


def _place(i: int) -> sp.Symbol:
    return sp.Symbol(f"q{i}", real=True)


def _rate(i: int) -> sp.Symbol:
    return sp.Symbol(f"v{i}", real=True)


def _moved(
    indices: Sequence[int], owners: Sequence[Part], numbers: list[int], k: int
) -> dict[sp.Symbol, sp.Expr]:
    """ξ_k and ξ̇_k by coordinate and rate: turned about an axis, shifted, or an angle that grows."""
    found: dict[sp.Symbol, sp.Expr] = {}
    for i in map(int, indices):
        part = owners[i]
        if part.shape is NUMBER:
            found[_place(i)] = sp.Integer(int(k >= 6 and numbers[k - 6] == i))
            continue
        vector, c = divmod(i - part.first, 3)
        first = part.first + 3 * vector
        if k < 3:  # (e × x)_c
            for name in (_place, _rate):
                signs = {(k + 1) % 3: -1, (k + 2) % 3: 1}
                other = next(m for m in range(3) if m not in (k, c)) if c != k else 0
                found[name(i)] = signs[c] * name(first + other) if c != k else sp.Integer(0)
        elif k < 6:
            found[_place(i)] = sp.Integer(int(vector == 0 and c == k - 3))
    return found


def _along(e: sp.Expr, motion: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
    """The change of an expression under a motion."""
    return sp.Add(*(e.diff(s) * x for s, x in motion.items() if x != 0))


def _parts(e: sp.Basic) -> list[sp.Expr]:
    """Expressions that the ring knows, and of which this one is made."""
    if isinstance(e, sp.Expr) and _fits(e):
        return [e]
    return [x for argument in e.args for x in _parts(argument)]


def _fits(e: sp.Expr) -> bool:
    try:
        Ring([e], {*e.free_symbols, t})
    except ModelError:
        return False
    return True
