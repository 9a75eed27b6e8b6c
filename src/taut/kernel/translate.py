"""SymPy → CasADi: the expressions of a model as scalars of an SX graph.

A translation is three walks, none of them recursive, over a *tape*: the unique nodes of all
expressions, every node after its arguments.

1. Node by node, each by the rule for its class (`_RULES`).  Operations are hash-consed, so equal
   subexpressions, powers of one base (x², x³, x⁻²) and products that differ by a number only
   (x y, −2 x y) are one piece of graph.
2. For expressions with a `Piecewise` only, top-down: where is a node needed?  A branch is needed
   where its condition is the first that holds.
3. The nodes that may be singular where they are not needed (log, √, division, …) again, with
   arguments that are harmless there: u → [c ? u : 0] + s·[not c].

The last step is for derivatives.  OP_IF_ELSE_ZERO(c, y) is ``c ? y : 0``, a true selection, but
its derivative is the product c·dy, and 0·NaN is NaN.  CasADi hides that by moving the condition
outwards (c·y → c ? y : 0) as long as only one condition is involved; in the reverse mode, a node
shared by two branches shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from heapq import heappop, heappush
from typing import Any

import casadi as ca
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import BooleanFalse, BooleanTrue

from taut.errors import ModelError

__all__ = ["to_casadi"]

SX = ca.SX

_LONGEST_FOLD = 8  # terms added one after the other; more are added in a tree of such runs
_LARGEST_POWER = 100  # integer powers up to here are products (CasADi itself would insist)
_SAFE_POWER = 16  # x¹⁶ does not overflow for any |x| < 1e19
_TINY = 2.0**-1022


def to_casadi(expressions: Sequence[sp.Expr], symbols: Mapping[sp.Basic, ca.SX]) -> list[ca.SX]:
    """Translate expressions into scalars of one CasADi graph.

    Parameters
    ----------
    expressions : sequence of Expr
        Real and scalar.  They are taken as they stand: nothing is simplified or expanded.
    symbols : mapping of Symbol, f(t) or Derivative to SX
        What each variable becomes.  A node found here is not looked into, so ``x(t)`` and
        ``x(t).diff(t)`` may both be keys.

    Returns
    -------
    list of SX
        One scalar per expression; common subexpressions are shared among all of them.

    Raises
    ------
    ModelError
        For an unknown symbol, an unknown function, or a constant that is not a finite real number.

    Notes
    -----
    Every number is the double nearest to it.  x/y is one division, xⁿ a product (n ≤ 100) and
    x^(k/2) a product with √x; there is no `pow` in these.  For x^(3/2), x^(5/2), … the root is
    √(x + 2⁻¹⁰²²): the same double wherever the power does not underflow, and with the derivative 0
    at x = 0, where that of x·√x is 0·∞.  A `Piecewise` is NaN where no branch applies, and so are
    its derivatives; a branch that does not apply leaves no NaN behind, neither in the value nor in
    derivatives of any order and mode.
    """
    tape = _Tape()
    known = {tape.add(key): value for key, value in symbols.items()}
    roots = [tape.add(_scalar(expression)) for expression in expressions]
    translation = _Translation(tape, known, roots)
    return [translation.value(root) for root in roots]


def _scalar(expression: Any) -> sp.Expr:
    with suppress(sp.SympifyError):
        expression = sp.sympify(expression, strict=True)
    if not isinstance(expression, sp.Expr) or expression.is_Matrix:
        raise ModelError(
            "an expression of the model is not a scalar SymPy expression",
            received=f"{expression!r} of type {type(expression).__name__}",
            remedy="give scalars; the elements of a matrix one by one",
        )
    return expression


# ------------------------------------------------------------------------------- the tape


class _Tape:
    """Unique nodes of expressions, every node after its arguments.

    Nodes are told apart by class and by the positions of their arguments, so neither the hash nor
    the equality of a deep SymPy tree (both recursive) is ever asked for.
    """

    def __init__(self) -> None:
        self.nodes: list[sp.Basic] = []
        self.args: list[tuple[int, ...]] = []
        self._index: dict[tuple, int] = {}
        self._seen: dict[int, tuple[int, sp.Basic]] = {}  # by id; holds the node, so ids stay valid

    def add(self, root: sp.Basic) -> int:
        """Position of an expression; its nodes are appended unless they are there."""
        seen = self._seen
        stack: list[tuple[sp.Basic, tuple | None]] = [(root, None)]
        while stack:
            node, args = stack.pop()
            if id(node) in seen:
                continue
            if args is None:
                stack.append((node, node.args))
                stack.extend((arg, None) for arg in reversed(node.args))
                continue
            places = tuple(seen[id(arg)][0] for arg in args)
            index = self._index.setdefault((type(node), places or node), len(self.nodes))
            if index == len(self.nodes):
                self.nodes.append(node)
                self.args.append(places)
            seen[id(node)] = (index, node)
        return seen[id(root)][0]


# ------------------------------------------------------------------------------ the graph


class _Graph:
    """Hash-consed SX operations: the same operation on the same operands is one object.

    `SX.unary` and `SX.binary` do what the operators do, in a tenth of the time.
    """

    def __init__(self) -> None:
        self._made: dict[tuple, tuple] = {}  # holds the operands, so their ids stay valid
        self._constants: dict[float, SX] = {}
        self._inverses: dict[int, SX] = {}
        self.zero, self.one = self.constant(0.0), self.constant(1.0)

    def __call__(self, op: int, *args: SX) -> SX:
        key = (op, *map(id, args))
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = (SX.unary if len(args) == 1 else SX.binary)(op, *args), args
        return made[0]

    def constant(self, value: float) -> SX:
        if value not in self._constants:
            self._constants[value] = SX(value)
        return self._constants[value]

    def fold(self, op: int, values: Sequence[SX]) -> SX:
        """Combine values by an associative operation, in order."""
        while len(values) > 1:
            starts = range(0, len(values), _LONGEST_FOLD)
            runs = (values[i : i + _LONGEST_FOLD] for i in starts)
            values = [reduce(lambda a, b: self(op, a, b), run) for run in runs]
        return values[0]

    def product(self, values: Sequence[SX]) -> SX:
        return self.fold(ca.OP_MUL, values) if values else self.one

    def power(self, base: SX, n: int) -> SX:
        """baseⁿ for n ≥ 1, by squaring."""
        if n == 1:
            return base
        square = self(ca.OP_SQ, self.power(base, n // 2))
        return self(ca.OP_MUL, square, base) if n % 2 else square

    def inverse(self, value: SX) -> SX:
        """1/value, remembered so that `_mul` can divide instead."""
        result = self(ca.OP_DIV, self.one, value)
        self._inverses[id(result)] = value
        return result

    def denominator(self, value: SX) -> SX | None:
        """What value is one over, if it was made so."""
        return self._inverses.get(id(value))

    def select(self, condition: SX, value: SX) -> SX:
        """Value where the condition holds, else 0."""
        return self(ca.OP_IF_ELSE_ZERO, condition, value)

    def guard(self, condition: SX, value: SX, harmless: float) -> SX:
        """Value where the condition holds, else a harmless number."""
        if value.is_constant():
            return value
        kept = self.select(condition, value)
        if harmless == 0.0:
            return kept
        other = self(ca.OP_MUL, self.constant(harmless), self(ca.OP_NOT, condition))
        return self(ca.OP_ADD, kept, other)

    def selectors(self, conditions: Iterable[SX]) -> tuple[list[SX], SX | None]:
        """Is a condition the first that holds, for each; does none hold (None: one always does)."""
        first: list[SX] = []
        none_yet: SX | None = None
        for condition in conditions:
            if condition.is_one():
                return [*first, self.one if none_yet is None else none_yet], None
            fails = self(ca.OP_NOT, condition)
            if none_yet is None:
                first.append(condition)
                none_yet = fails
            else:
                first.append(self(ca.OP_AND, none_yet, condition))
                none_yet = self(ca.OP_AND, none_yet, fails)
        return first, none_yet


# ------------------------------------------------------------------------ the translation


_Claim = tuple[int, int, int]  # (p, k, n): in branch k of the Piecewise at p, if it is needed, n
_EVERYWHERE: _Claim = (-1, 0, 0)


class _Needs:
    """Sets of places where a value is needed, as unions of claims; by number, 0 is everywhere."""

    def __init__(self, graph: _Graph) -> None:
        self._graph = graph
        self._claims: list[frozenset[_Claim]] = [frozenset({_EVERYWHERE})]
        self._numbers = {self._claims[0]: 0}
        self.conditions = [graph.one]
        self.selectors: dict[int, list[SX]] = {}  # of the branches of each Piecewise

    def union(self, claims: set[_Claim]) -> int:
        """Number of a union of claims."""
        while not claims & self._claims[0]:
            number = self._numbers.get(frozenset(claims))
            if number is not None:
                return number
            complete = next((c for c in sorted(claims) if self._complete(c, claims)), None)
            if complete is None:
                return self._new(frozenset(claims))
            # what is needed in all branches is needed wherever the Piecewise is
            p, _, need = complete
            claims = {c for c in claims if (c[0], c[2]) != (p, need)} | self._claims[need]
        return 0

    def claims(self, number: int) -> frozenset[_Claim]:
        return self._claims[number]

    def _complete(self, claim: _Claim, claims: set[_Claim]) -> bool:
        p, k, need = claim
        return k == 0 and all((p, j, need) in claims for j in range(len(self.selectors[p])))

    def _new(self, claims: frozenset[_Claim]) -> int:
        g, places = self._graph, []
        for p, k, need in sorted(claims):
            place = self.selectors[p][k]
            places.append(g(ca.OP_AND, self.conditions[need], place) if need else place)
        self._numbers[claims] = len(self._claims)
        self._claims.append(claims)
        self.conditions.append(g.fold(ca.OP_OR, places))
        return self._numbers[claims]


class _Translation:
    """The values of the nodes of a tape, plain and (where that matters) guarded."""

    def __init__(self, tape: _Tape, known: Mapping[int, SX], roots: Iterable[int]) -> None:
        self.tape = tape
        self.graph = _Graph()
        self.plain: dict[int, Any] = dict(known)
        self.needs = _Needs(self.graph)
        self.rules = self._find_rules(roots, known)
        self.singular = set()  # nodes that may be singular, or have such a node among their values
        self.guarded = set()  # nodes with a Piecewise below that has a singular branch
        for i in sorted(self.rules):
            self._translate(i)

    def value(self, root: int) -> SX:
        return self._guard(root) if root in self.guarded else self.plain[root]

    def _find_rules(self, roots: Iterable[int], known: Mapping[int, SX]) -> dict[int, _Rule]:
        """A rule for every node that is reached without passing through a known one."""
        rules, stack = {}, list(roots)
        while stack:
            i = stack.pop()
            if i in rules or i in known:
                continue
            node = self.tape.nodes[i]
            rule = next((_RULES[c] for c in type(node).__mro__ if c in _RULES), None)
            if rule is None:
                raise _unknown(node, [self.tape.nodes[k] for k in known])
            rules[i] = rule
            stack.extend(reversed(self.tape.args[i]))
        return rules

    def _translate(self, i: int) -> None:
        node, rule = self.tape.nodes[i], self.rules[i]
        try:
            value = rule.build(self.graph, node, *(self.plain[a] for a in self.tape.args[i]))
        except OverflowError:
            value = self.graph.constant(math.inf)
        if isinstance(value, SX) and value.is_constant() and not math.isfinite(float(value)):
            raise ModelError(
                f"{_show(node)} is a constant, but not a finite real number in double precision",
                remedy="check its domain and size, or choose other units",
            )
        self.plain[i] = value
        operands = self._operands(i)
        if rule.harmless(node) or not self.singular.isdisjoint(operands):
            self.singular.add(i)
        if not self.guarded.isdisjoint(operands):
            self.guarded.add(i)
        if isinstance(node, sp.Piecewise) and i in self.singular:
            self.guarded.add(i)
            conditions = (self.plain[a][1] for a in self.tape.args[i])
            self.needs.selectors[i], _ = self.graph.selectors(conditions)

    def _operands(self, i: int) -> tuple[int, ...]:
        """Arguments through which derivatives pass: all but the conditions."""
        args = self.tape.args[i]
        return args[:1] if isinstance(self.tape.nodes[i], ExprCondPair) else args

    def _guard(self, root: int) -> SX:
        """The value of a root with its singular nodes kept harmless where they are not needed."""
        g, nodes, values = self.graph, self.tape.nodes, {}
        needs = self._needs_below(root)
        for i in sorted(needs):
            args = [values.get(a, self.plain[a]) for a in self._operands(i)]
            if isinstance(nodes[i], ExprCondPair):
                args.append(self.plain[i][1])
            elif needs[i]:
                condition = self.needs.conditions[needs[i]]
                for k, harmless in enumerate(self.rules[i].harmless(nodes[i])):
                    if harmless is not None:
                        args[k] = g.guard(condition, args[k], harmless)
            values[i] = self.rules[i].build(g, nodes[i], *args)
        return values[root]

    def _needs_below(self, root: int) -> dict[int, int]:
        """Where the singular nodes below a root, and those above them, are needed."""
        needs: dict[int, int] = {}
        claims: dict[int, set[_Claim]] = {root: {_EVERYWHERE}}
        queue = [-root]
        while queue:  # from the last node to the first: a node after all that use it
            i = -heappop(queue)
            needs[i] = need = self.needs.union(claims.pop(i))
            operands = self._operands(i)
            if isinstance(self.tape.nodes[i], sp.Piecewise):
                branches = range(len(self.needs.selectors[i]))  # those that can be reached
                below = [(a, {(i, k, need)}) for k, a in zip(branches, operands, strict=False)]
            else:
                below = [(a, self.needs.claims(need)) for a in operands]
            for a, claim in below:
                if a not in self.singular:
                    continue
                if a not in claims:
                    claims[a] = set()
                    heappush(queue, -a)
                claims[a] |= claim
        return needs


# -------------------------------------------------------------------------------- the rules


@dataclass(frozen=True)
class _Rule:
    """How a class of nodes is translated.

    Attributes
    ----------
    build : callable
        (graph, node, *values of the arguments) → value.
    harmless : callable
        node → for each argument a number with which value and derivatives are finite whatever the
        others are, or None if it need not be touched; nothing if they are finite everywhere.
    """

    build: Callable[..., Any]
    harmless: Callable[[sp.Basic], tuple[float | None, ...]] = lambda node: ()


_RULES: dict[type, _Rule] = {}


def _rule(*classes: type, harmless: Callable[[sp.Basic], tuple] | tuple = ()) -> Callable:
    """Register a builder for some classes."""
    at = harmless if callable(harmless) else lambda node: harmless

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        _RULES.update(dict.fromkeys(classes, _Rule(build, at)))
        return build

    return register


@_rule(sp.Rational, sp.Float, sp.core.numbers.NumberSymbol)
def _number(g: _Graph, node: sp.Expr) -> SX:
    return g.constant(_nearest_double(node))


@_rule(BooleanTrue)
def _true(g: _Graph, node: sp.Basic) -> SX:
    return g.one


@_rule(BooleanFalse)
def _false(g: _Graph, node: sp.Basic) -> SX:
    return g.zero


@_rule(sp.Add)
def _add(g: _Graph, node: sp.Add, *terms: SX) -> SX:
    return g.fold(ca.OP_ADD, terms)  # CasADi turns a + (−b) into a − b


@_rule(sp.Mul)
def _mul(g: _Graph, node: sp.Mul, *factors: SX) -> SX:
    """±(product of numerators · coefficient) / (product of denominators)."""
    numerators, denominators, coefficients, negative = [], [], [], False
    for factor, value in zip(node.args, factors, strict=True):
        below = g.denominator(value)
        if below is not None:
            denominators.append(below)
        elif factor.is_Number:
            negative ^= bool(factor.is_negative)
            coefficients.append(g.constant(abs(_nearest_double(factor))))
        else:
            numerators.append(value)
    result = g.product([*numerators, *coefficients])
    if denominators:
        result = g(ca.OP_DIV, result, g.product(denominators))
    return g(ca.OP_NEG, result) if negative else result


def _harmless_in_power(node: sp.Pow) -> tuple[float | None, ...]:
    base, exponent = node.args
    if exponent.is_Integer and 0 <= exponent <= _SAFE_POWER:
        return ()
    return (None, 0.0) if base.is_Number or base.is_NumberSymbol else (1.0, None)


@_rule(sp.Pow, harmless=_harmless_in_power)
def _pow(g: _Graph, node: sp.Pow, base: SX, exponent: SX) -> SX:
    if node.base is sp.E:
        return g(ca.OP_EXP, exponent)
    halves = _halves(node.exp)
    if halves is None or abs(halves) > 2 * _LARGEST_POWER:
        return g(ca.OP_POW, base, exponent)
    whole, half = divmod(abs(halves), 2)
    factors = [g.power(base, whole)] if whole else []
    if half:
        smooth = whole and halves > 0
        radicand = g(ca.OP_ADD, base, g.constant(_TINY)) if smooth else base
        factors.append(g(ca.OP_SQRT, radicand))
    result = g.product(factors)
    return g.inverse(result) if halves < 0 else result


@_rule(ExprCondPair)
def _pair(g: _Graph, node: ExprCondPair, value: SX, condition: SX) -> tuple[SX, SX]:
    return value, condition


@_rule(sp.Piecewise)
def _piecewise(g: _Graph, node: sp.Piecewise, *pairs: tuple[SX, SX]) -> SX:
    values, conditions = zip(*pairs, strict=True)
    selectors, otherwise = g.selectors(conditions)
    terms = [g.select(s, v) for s, v in zip(selectors, values, strict=False)]
    if otherwise is not None:
        # Times what the branches depend on, so that the derivatives are NaN as well.
        variables = ca.symvar(ca.vertcat(*values))
        undefined = g(ca.OP_MUL, g.constant(math.nan), g.fold(ca.OP_ADD, variables or [g.one]))
        terms.append(g.select(otherwise, undefined))
    return g.fold(ca.OP_ADD, terms)


@_rule(sp.ITE)
def _ite(g: _Graph, node: sp.ITE, condition: SX, a: SX, b: SX) -> SX:
    """The condition that SymPy makes of a relation between a Piecewise and something else."""
    otherwise = g(ca.OP_AND, g(ca.OP_NOT, condition), b)
    return g(ca.OP_OR, g(ca.OP_AND, condition, a), otherwise)


@_rule(sp.Mod, harmless=(None, 1.0))
def _mod(g: _Graph, node: sp.Mod, a: SX, b: SX) -> SX:
    """The remainder a − b ⌊a/b⌋: that of C, which is exact, moved by b if the sign is not b's."""
    rest = g(ca.OP_FMOD, a, b)
    if b.is_constant():
        order = (rest, g.zero) if float(b) > 0 else (g.zero, rest)
        other_sign = g(ca.OP_LT, *order)
    else:
        signs = (g(ca.OP_LT, value, g.zero) for value in (rest, b))
        other_sign = g(ca.OP_AND, g(ca.OP_NE, rest, g.zero), g(ca.OP_NE, *signs))
    return g(ca.OP_ADD, rest, g.select(other_sign, b))


@_rule(sp.Heaviside)
def _heaviside(g: _Graph, node: sp.Heaviside, x: SX, at_zero: SX) -> SX:
    return g(ca.OP_ADD, g(ca.OP_LT, g.zero, x), g.select(g(ca.OP_EQ, x, g.zero), at_zero))


@_rule(sp.log, harmless=lambda node: (1.0, 2.0)[: len(node.args)])
def _log(g: _Graph, node: sp.log, x: SX, base: SX | None = None) -> SX:
    logarithm = g(ca.OP_LOG, x)
    return logarithm if base is None else g(ca.OP_DIV, logarithm, g(ca.OP_LOG, base))


@_rule(sp.cot, harmless=(1.0,))
def _cot(g: _Graph, node: sp.cot, x: SX) -> SX:
    return g(ca.OP_DIV, g(ca.OP_COS, x), g(ca.OP_SIN, x))


@_rule(sp.acot)
def _acot(g: _Graph, node: sp.acot, x: SX) -> SX:
    """In (−π/2, π/2], acot 0 = π/2, as in SymPy: the angle of (s x, s), s = ±1 the sign of x."""
    sign = g(ca.OP_SUB, g(ca.OP_TWICE, g(ca.OP_LE, g.zero, x)), g.one)
    return g(ca.OP_ATAN2, sign, g(ca.OP_MUL, sign, x))


@_rule(sp.re, sp.conjugate, sp.UnevaluatedExpr)
def _itself(g: _Graph, node: sp.Basic, x: SX) -> SX:
    return x  # all variables are real


@_rule(sp.im)
def _nothing(g: _Graph, node: sp.im, x: SX) -> SX:
    return g.zero


def _register(rules: Mapping[type, tuple], build: Callable[[int], Callable[..., Any]]) -> None:
    for cls, (op, *harmless) in rules.items():
        _rule(cls, harmless=tuple(harmless))(build(op))


# function: operation, harmless arguments
_register(
    {
        sp.exp: (ca.OP_EXP, 0.0),
        sp.sin: (ca.OP_SIN,),
        sp.cos: (ca.OP_COS,),
        sp.tan: (ca.OP_TAN,),
        sp.asin: (ca.OP_ASIN, 0.0),
        sp.acos: (ca.OP_ACOS, 0.0),
        sp.atan: (ca.OP_ATAN,),
        sp.atan2: (ca.OP_ATAN2, None, 1.0),
        sp.sinh: (ca.OP_SINH, 0.0),
        sp.cosh: (ca.OP_COSH, 0.0),
        sp.tanh: (ca.OP_TANH,),
        sp.asinh: (ca.OP_ASINH,),
        sp.acosh: (ca.OP_ACOSH, 2.0),
        sp.atanh: (ca.OP_ATANH, 0.0),
        sp.erf: (ca.OP_ERF,),
        sp.Abs: (ca.OP_FABS,),
        sp.sign: (ca.OP_SIGN,),
        sp.floor: (ca.OP_FLOOR,),
        sp.ceiling: (ca.OP_CEIL,),
        sp.Not: (ca.OP_NOT,),
        sp.Lt: (ca.OP_LT,),
        sp.Le: (ca.OP_LE,),
        sp.Eq: (ca.OP_EQ,),
        sp.Ne: (ca.OP_NE,),
    },
    lambda op: lambda g, node, *args: g(op, *args),
)
# relation: operation on the exchanged sides
_register(
    {sp.Gt: (ca.OP_LT,), sp.Ge: (ca.OP_LE,)},
    lambda op: lambda g, node, a, b: g(op, b, a),
)
# function of any number of arguments: associative operation
_register(
    {sp.Min: (ca.OP_FMIN,), sp.Max: (ca.OP_FMAX,), sp.And: (ca.OP_AND,), sp.Or: (ca.OP_OR,)},
    lambda op: lambda g, node, *args: g.fold(op, args),
)
# 1/f(x): operation f, harmless argument
_register(
    {
        sp.sec: (ca.OP_COS,),  # no double is a zero of the cosine
        sp.csc: (ca.OP_SIN, 1.0),
        sp.sech: (ca.OP_COSH, 0.0),
        sp.csch: (ca.OP_SINH, 1.0),
        sp.coth: (ca.OP_TANH, 1.0),
    },
    lambda op: lambda g, node, x: g.inverse(g(op, x)),
)
# f(1/x): operation f, harmless argument
_register(
    {
        sp.asec: (ca.OP_ACOS, 2.0),
        sp.acsc: (ca.OP_ASIN, 2.0),
        sp.acoth: (ca.OP_ATANH, 2.0),
        sp.asech: (ca.OP_ACOSH, 0.5),
        sp.acsch: (ca.OP_ASINH, 1.0),
    },
    lambda op: lambda g, node, x: g(op, g.inverse(x)),
)


# ---------------------------------------------------------------------------------- numbers


def _nearest_double(number: sp.Expr) -> float:
    """The double nearest to a Rational, a Float of any precision, or a constant such as π."""
    if number.is_Rational:
        return int(number.p) / int(number.q)  # Python rounds the quotient of integers correctly
    if not number.is_Float:
        number = number.evalf(60)
    sign, mantissa, exponent, bits = number._mpf_
    if exponent + bits < -1100:
        return 0.0
    if exponent + bits > 1100:
        raise OverflowError
    numerator = int(mantissa) << max(exponent, 0)
    return (-1 if sign else 1) * (numerator / (1 << max(-exponent, 0)))


def _halves(exponent: sp.Expr) -> int | None:
    """Twice the exponent, if that is a whole number."""
    if exponent.is_Float:
        exponent = sp.Rational(*_nearest_double(exponent).as_integer_ratio())
    if exponent.is_Rational and exponent.q <= 2:
        return int(2 * exponent)
    return None


# ----------------------------------------------------------------------------------- errors


def _show(node: sp.Basic, largest: int = 40) -> str:
    """The node as text, or its class alone if it is large (SymPy's printers are recursive)."""
    stack, size = [node], 0
    while stack:
        size += 1
        if size > largest:
            return f"{type(node).__name__}(…)"
        stack.extend(stack.pop().args)
    return str(node)


def _unknown(node: sp.Basic, known: Sequence[sp.Basic]) -> ModelError:
    """The error for a node that has no rule."""
    text = _show(node)
    names = sorted(map(_show, known))
    listed = ", ".join(names[:30]) + (", …" if len(names) > 30 else "")
    if isinstance(node, sp.Derivative):
        return ModelError(
            f"the derivative {text} is not a variable of the model",
            expected=f"one of {listed}",
            remedy="carry it out with .doit(), or give the model a velocity for it",
        )
    if isinstance(node, AppliedUndef) or getattr(node, "is_symbol", False):
        if text in names:
            remedy = "use the same object: one of this name is known, with other assumptions"
        else:
            remedy = "make it a coordinate or a parameter, or substitute its value"
        return ModelError(
            f"the symbol {text} is unknown", expected=f"one of {listed}", remedy=remedy
        )
    if node in (sp.I, sp.zoo, sp.nan, sp.oo, -sp.oo):
        return ModelError(
            f"{text} in an expression of the model",
            expected="finite real numbers",
            remedy="find where the expression becomes complex, infinite or undefined",
        )
    return ModelError(
        f"{text} ({type(node).__name__}) cannot be translated",
        expected="arithmetic, Piecewise and the elementary functions",
        remedy="carry it out with .doit(), or rewrite it in elementary functions",
    )
