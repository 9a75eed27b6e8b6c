"""The words of a mechanism: symbols of coordinates, angles and slides, and expressions of them."""

from __future__ import annotations

from typing import Any

import sympy as sp

from taut.calls import public
from taut.errors import UnknownName
from taut.model.mechanism.forces import Measure
from taut.model.mechanism.named import Named
from taut.model.symbols import scalar, t

TURNING = ("revolute", "cylindrical", "screw", "rolling")
SLIDING = ("prismatic", "cylindrical")
DOT = "_dot"  # what the name of a rate ends in


@public
class Words(Named):
    """How expressions of a user are read; a part of `Mechanism`."""

    def symbols(self, part: Any) -> Any:
        """The symbols of a part's coordinates and of their rates, for laws of your own.

        Of a joint: its angle (or slide) and rate; of a cylindrical one, both, one after the other.
        Of a counter: its symbol, and that of its rate.

        Examples
        --------
        >>> import taut
        >>> m = taut.Mechanism()
        >>> a = m.point("a", mass=1, at=(1, 0, 0))
        >>> (x, y, z), (u, v, w) = m.symbols(a)
        >>> m.force(a, (-0.1 * u, 0, 0), name="drag")
        <force 'drag' on a>
        """
        joint = part if isinstance(part, str) else getattr(part, "name", None)
        if joint in self.joints:
            kinds = motions(self.joints[joint].kind)
            return tuple(sp.Symbol(x, real=True) for k in kinds for x in joint_words(k, joint))
        if joint in self.counters:
            return tuple(sp.Symbol(x, real=True) for x in (joint, joint + DOT))
        held = self._part(part)
        names = held.shape.names(held.name)
        q = tuple(sp.Symbol(name, real=True) for name in names)
        return q, tuple(sp.Symbol(name + DOT, real=True) for name in names)

    def _read(self, given: Any, name: str, *own: sp.Symbol) -> sp.Expr:
        """An expression in the symbols of the mechanism, known by their names."""
        read = self.in_coordinates(scalar(given, f"force {name}"))
        known = {s.name: s for s in (t, *own)}
        table = {}
        for symbol in read.free_symbols:
            word = symbol.name
            if word in known:
                table[symbol] = known[word]
            elif word in self.numbers or word.removesuffix(DOT) in self.numbers:
                table[symbol] = sp.Symbol(word, real=True)
            else:
                numbers = [*self.numbers, *(x + DOT for x in self.numbers)]
                joints = [(kind, x) for x in self.joints.values() for kind in motions(x.kind)]
                measured = [word for kind, x in joints for word in joint_words(kind, x.name)]
                words = {*known, *numbers, *measured}
                raise UnknownName("coordinate", word, words, where=f"in {name}")
        return read.xreplace(table)

    def in_coordinates(self, read: sp.Expr) -> sp.Expr:
        """Angles and slides of joints written out, but for those that are coordinates."""
        names = {s.name: s for s in read.free_symbols}
        if not any(x.startswith(MEASURED) for x in names):  # and no joint needs to be asked
            return read
        table = {}
        for joint in self.joints.values():
            for kind in motions(joint.kind):
                words = joint_words(kind, joint.name)
                if words[0] in self.counters or not names.keys() & set(words):
                    continue
                found = self._written_out(self.measure(joint, kind))
                table |= {names[x]: e for x, e in zip(words, found, strict=True) if x in names}
        return read.subs(table, simultaneous=True) if table else read

    def _written_out(self, measure: Measure) -> tuple[sp.Expr, sp.Expr]:
        """A measure and its rate in the symbols of the mechanism."""
        a, b, s = measure.sides()
        q, v = [*a.coordinates, *b.coordinates], [*a.rates, *b.rates]
        rate = sp.Add(*(s.diff(x) * y for x, y in zip(q, v, strict=True)))
        moving = [self.symbols(x) for x in (measure.a, measure.b) if x is not self.ground]
        table: dict[Any, Any] = dict(zip(q, [x for group, _ in moving for x in group], strict=True))
        table |= dict(zip(v, [x for _, group in moving for x in group], strict=True))
        constants = [*a.constants, *b.constants]
        table |= {x: sp.Float(y) for x, y in zip(constants, measure.values, strict=True)}
        return s.xreplace(table), rate.xreplace(table)

    def _used(self, expressions: Any) -> list[tuple[sp.Symbol, int, sp.Symbol]]:
        """Coordinates that expressions depend on, or on whose rates: symbol, number, rate."""
        free = {s.name for e in expressions for s in e.free_symbols}
        names = {x if x in self.numbers else x.removesuffix(DOT) for x in free} & set(self.numbers)
        return [
            (sp.Symbol(x, real=True), self.numbers[x], sp.Symbol(x + DOT, real=True))
            for x in sorted(names, key=self.numbers.__getitem__)
        ]


def motions(kind: str) -> tuple[str, ...]:
    """What can be measured of a joint of this kind."""
    found = (("angle", TURNING), ("slide", SLIDING))
    return tuple(what for what, kinds in found if kind in kinds)


MEASURED = ("angle_", "slide_")  # how the words begin


def joint_words(kind: str, joint: str) -> tuple[str, str]:
    """Names of the symbols of an angle or a slide, and of its rate."""
    return f"{kind}_{joint}", f"{kind}_{joint}{DOT}"
