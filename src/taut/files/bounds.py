"""What SymPy is asked for while a formula is read, and how much of it.

SymPy computes by itself: 9**9 is a number, (2 x)**9 is 512 x⁹, and |x| needs to know the sign of x.
A `Gate` bounds what it is asked for and looks through what it has made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import sympy as sp

MOST = 4_000  # steps of SymPy for one text, about a tenth of a millisecond each, see `_cost`
POWER = 64  # of a symbol; the kernel multiplies powers up to 100 out
BITS = 2**15  # of the exact numbers that meet in a sum, a product or a power
NUMBER_BITS = 1100  # of one exact number: a little more than doubles reach
CLOSE = 1e-10  # numbers that differ by less, relatively, are not told apart

# All are known to the kernel.  It knows ⌊x⌋ too, but SymPy may compute for ever what ⌊1.7ⁿ⌋ is.
FUNCTIONS = {
    name: getattr(sp, name)
    for name in (
        "sqrt", "exp", "log", "sin", "cos", "tan", "cot", "asin", "acos", "atan", "atan2",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sign",
    )
} | {"abs": sp.Abs, "min": sp.Min, "max": sp.Max}  # fmt: skip
_PARTIAL = (sp.log, sp.asin, sp.acos, sp.acosh, sp.atanh)  # not real for all real numbers
_VALUES: dict[Any, Callable[..., float]] = {
    made: getattr(math, name) for name, made in FUNCTIONS.items() if hasattr(math, name)
} | {
    sp.cot: lambda x: 1 / math.tan(x),
    sp.sign: lambda x: math.copysign(1.0, x) if x else 0.0,
    sp.Abs: abs,
    sp.Min: min,
    sp.Max: max,
    sp.Add: lambda *terms: math.fsum(terms),
    sp.Mul: lambda *factors: math.prod(factors),
    sp.Pow: math.pow,
}


class Refused(Exception):
    """What may not pass."""

    def __init__(self, received: str, expected: str, remedy: str = "") -> None:
        super().__init__(received)
        self.expected, self.remedy = expected, remedy


class Known(NamedTuple):
    """What is kept of an expression.

    Attributes
    ----------
    value : float or None
        Of a number; None if there are symbols in it.
    bits : int
        Of its exact numbers that SymPy would raise to a power with it.
    height : int
        The largest exact number that it may turn into as an exponent.
    size : int
        Nodes and digits that SymPy looks at, some of them many times.
    hard : bool
        Whether it has to look deep: a number such as √2, or what may be complex for real symbols.
    """

    value: float | None = None
    bits: int = 0
    height: int = 1
    size: int = 1
    hard: bool = False


class Gate:
    """Lets expressions pass whose numbers are real, finite and small, and powers likewise.

    Everything is kept once per node, from the leaves up.  SymPy itself must not be asked: it may
    compute for hours whether a difference of roots is zero.

    Parameters
    ----------
    most : int
        Steps of SymPy for all texts together.
    """

    def __init__(self, most: int = MOST) -> None:
        self._known: dict[sp.Basic, Known] = {}
        self._cost, self._most, self._limit = 0, most, min(most, MOST)

    def begin(self) -> None:
        """Another text: it may take `MOST` steps, as far as they are left."""
        self._limit = min(self._most, self._cost + MOST)

    def made(self, kind: Any, arguments: Sequence[sp.Expr]) -> sp.Expr:
        """What SymPy makes of this."""
        if kind is sp.Pow and arguments[0] is sp.E:
            kind, arguments = sp.exp, arguments[1:]
        known = [self.known(x) for x in arguments]
        self._cost += _cost(kind, arguments, known)
        if self._cost > self._limit:
            most, whole = (self._most, "all") if self._limit == self._most > MOST else (MOST, "one")
            expected = f"at most {most} steps of SymPy for {whole}"
            raise Refused("more of them", expected, "write shorter formulas")
        _growth(kind, known)
        if kind in (sp.Min, sp.Max):  # SymPy asks which is larger
            for a, b in combinations(arguments, 2):
                self.known(sp.Add(a, sp.Mul(-1, b)))
        elif kind not in (sp.Add, sp.Mul):
            _value(kind, known)
        made = _folded(kind(*arguments))
        self.known(made)
        return made

    def known(self, node: sp.Basic) -> Known:
        """What is kept of a node, if it and all below it may pass."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._node(node) if node.args else _leaf(node)
        return found

    def _node(self, node: sp.Basic) -> Known:
        kind, below = node.func, [self.known(x) for x in node.args]
        growth, value = _growth(kind, below), _value(kind, below)
        terms = [x.value for x in below if x.value is not None]
        if kind is sp.Add and len(terms) > 1:
            lost = abs(math.fsum(terms)) < CLOSE * math.fsum(map(abs, terms))
        elif value is None or kind in (sp.Add, sp.Mul, sp.Pow, sp.exp):
            lost = False
        else:  # such as the logarithm of a hidden 1
            lost = abs(value) < CLOSE * min(1, *map(abs, terms))
            lost = lost and not all(x.is_Number for x in node.args)
        if lost:
            expected = "numbers that are clearly not zero"
            raise Refused("numbers that cancel each other", expected, "compute the difference")
        return Known(value, *growth, *_size(node, value, below))


def _folded(made: sp.Expr) -> sp.Expr:
    """2.5·√2 x as 3.54 x: of a product with both, SymPy 1.14 looks for roots for ever."""
    if not (made.is_Mul and made.args[0].is_Float):
        return made
    number, rest = float(made.args[0]), []
    for factor in made.args[1:]:
        if factor.is_Pow and factor.base.is_Rational and factor.exp.is_Rational:
            number *= float(factor.base) ** float(factor.exp)
        else:
            rest.append(factor)
    return made if len(rest) == len(made.args) - 1 else sp.Mul(sp.Float(number), *rest)


def _leaf(node: sp.Basic) -> Known:
    if isinstance(node, sp.Symbol):
        return Known()
    if isinstance(node, sp.Rational):
        p, q = int(node.p), int(node.q)
        bits = max(abs(p), q).bit_length()
        if bits > NUMBER_BITS:
            raise Refused("a number of too many digits", "shorter ones", "write 1e6 for 10**6")
        value = _number(lambda: p / q, vanishes=p == 0)
        return Known(value, bits if bits > 1 else 0, _low(max(abs(p), q)), 1 + bits // 4)
    if isinstance(node, sp.Float) or node in (sp.pi, sp.E):
        return Known(_number(lambda: float(node), vanishes=bool(node.is_zero)))
    if node is sp.I:
        raise Refused("a complex number", "real numbers")
    raise Refused(str(node)[:40], "finite real numbers")


def _growth(kind: Any, known: Sequence[Known]) -> tuple[int, int]:
    """Bits and height of what is made of these, refused if they are too many."""
    if kind not in _VALUES:
        raise Refused(f"{kind.__name__}, which SymPy makes of it", "only " + ", ".join(FUNCTIONS))
    bits, height = sum(x.bits for x in known), max(x.height for x in known)
    if kind is sp.Mul:
        height = math.prod(x.height for x in known)
    elif kind is sp.Pow:
        base, exponent = known
        if base.value is None and abs(exponent.value or 0) > POWER:
            raise Refused("a large power", f"powers from -{POWER} to {POWER}")
        times = exponent.height
        if exponent.value is not None:
            times = _low(math.ceil(abs(exponent.value)))
        bits = base.bits * times + exponent.bits
        height = base.height ** min(times, 20)
    elif kind is sp.exp:
        bits += height  # exp(n log 7) is 7ⁿ
    elif kind is sp.log:
        height = max(bits, 1)
    if bits > BITS:
        raise Refused("exact numbers that grow too large", "smaller ones", "write 1e6 for 10**6")
    if kind is sp.Add:  # powers of sums are not carried out
        return 0, _low(sum(x.height for x in known))
    if kind in (sp.Mul, sp.Pow, sp.exp, sp.log, sp.Abs, sp.Min, sp.Max):
        return bits, _low(height)
    return 0, 1


def _low(height: int) -> int:
    """Heights above are not told apart: even a power of 2 is too large with them."""
    return min(height, 2 * BITS)


def _value(kind: Any, known: Sequence[Known]) -> float | None:
    """The double that a number is; complex and infinite ones are refused."""
    values = [x.value for x in known if x.value is not None]
    if len(values) < len(known):
        return None
    if kind is sp.Pow and values[0] == 0 > values[1]:
        raise Refused("a division by zero", "finite numbers")
    nonzero = kind is sp.exp or (kind in (sp.Mul, sp.Pow) and values[0] != 0)
    return _number(lambda: _VALUES[kind](*values), vanishes=not nonzero)


def _number(compute: Callable[[], float], vanishes: bool) -> float:
    """A finite double, and 0 only if the number vanishes."""
    try:
        value = compute()
    except OverflowError:
        value = math.inf
    except (ValueError, ZeroDivisionError):
        raise Refused("a complex or infinite number", "finite real numbers") from None
    if not math.isfinite(value) or (value == 0 and not vanishes):
        size = "small" if value == 0 else "large"
        raise Refused(f"a number that is too {size}", "numbers that doubles hold")
    return value


def _size(node: sp.Basic, value: float | None, below: Sequence[Known]) -> tuple[int, bool]:
    """Size and hardness of a node."""
    kind, size = node.func, 1 + sum(x.size for x in below)
    parts = zip(node.args, below, strict=True)
    deep = [(x, y) for x, y in parts if y.hard and (y.value is None or value is not None)]
    if deep and kind is sp.Mul:  # SymPy multiplies complex sums out
        size += math.prod(y.size for x, y in deep if x.is_Add)
    elif deep and kind is not sp.Add:  # and asks a function about each of its parts
        size *= 3
    partial = kind in _PARTIAL or (kind is sp.Pow and not node.exp.is_Integer)
    return min(size, 9 * MOST), value is not None or partial or bool(deep)


def _cost(kind: Any, arguments: Sequence[sp.Expr], known: Sequence[Known]) -> int:
    """How many steps SymPy takes, as measured: it looks through all that it is given."""
    size, count = sum(x.size for x in known), len(known)
    if kind is sp.Add:
        return count - 1 + size // 16
    if kind is sp.Mul:
        return count + size // 4
    weight = {sp.Pow: 1, sp.Abs: 8, sp.sign: 8, sp.Min: 15, sp.Max: 15}.get(kind, 5)
    if kind is sp.Pow and arguments[0].is_Pow and not arguments[0].exp.is_number:
        weight = 20  # (xʸ)ᶻ is not always x^(y z)
    return weight * size * max(count - 1, 1)
