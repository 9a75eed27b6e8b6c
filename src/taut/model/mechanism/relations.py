"""Joints with a number of their own (angles that count turns, screws, curves), and drives.

An angle φ or a place s on a curve is a coordinate without inertia.  On the constraints its rate is
known from the other velocities, so inertia μ may be moved to it without changing the motion:

    T′ = T + ½ μ (φ̇² − |ḃ − cos φ u̇ − sin φ ẇ|²),        b = cos φ u + sin φ w  on the constraints,
    T′ = T + ½ μ (|c′(s)|² ṡ² − |Ṗ|²),                       P = c(s)  on the constraints:

both brackets are zero there, so L′ = L on all motions that are allowed, and the equations of motion
are the same.  μ is so small that T′ stays positive definite.  Newton's method follows φ from step
to step, so it counts turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import ModelError, brief, number
from taut.model.mechanism.joints import Joint, Track, numbered, triad
from taut.model.mechanism.library import Piece, Written
from taut.model.mechanism.named import counts
from taut.model.mechanism.parts import Counter, Part, direction, vector
from taut.model.mechanism.record import recorded
from taut.model.mechanism.shapes import GROUND, NUMBER, POINT, Shape, Side, dot, inner, minus
from taut.model.mechanism.words import TURNING, Words
from taut.model.symbols import scalar, t
from taut.portable import product

SHARE = 0.2  # of the inertia that may be moved: far from singular, and from nothing
X, Y, Z = sp.symbols("x y z", real=True)


@public
class Relations(Words):
    """The verbs by which these are added; a part of `Mechanism`."""

    # ---- angles --------------------------------------------------------------------------------

    @recorded
    def angle(self, joint: Any) -> sp.Symbol:
        """The angle of a hinge as a coordinate of its own, which counts turns; its symbol.

        It is zero at the start, and grows as the second part turns about the axis.  (Of a hinge
        with an axis on each part it is zero where the least turn brings them together.)
        """
        held = self._joint(joint, TURNING)
        if not held.angle:
            self._count(held)
        return sp.Symbol(held.angle, real=True)

    def _count(self, joint: Joint) -> None:
        """A new coordinate φ with u_b = cos φ u_a + sin φ w_a, and the inertia that it is lent."""
        a, b = joint.a, joint.b
        values = self.measure(joint, "angle").values
        number_ = self._number(f"angle_{joint.name}", joint.name, _rate(joint))
        indices = [*a.indices, *b.indices, number_.first]
        key = ("angle", a.shape.name, b.shape.name)
        share = SHARE / (_ease(a) + _ease(b))
        lent, row = partial(_lent_to_angle, a, b), partial(_angle_row, a, b)
        joint.pieces.append(Piece("lagrangian", key, lent, indices, [*values, share]))
        joint.pieces.append(Piece("constraint", key, row, indices, values, [joint.counting]))
        object.__setattr__(joint, "angle", number_.name)
        object.__setattr__(joint, "counter", number_)

    def _number(self, name: str, joint: str, rate: float, at: float = 0.0) -> Counter:
        made = Counter(self._new(name), NUMBER, joint=joint)
        made.position, made.velocity = np.array([at, 0.0, 0.0]), np.array([rate, 0.0, 0.0])
        return self._added(made, {})

    @recorded
    def gear(self, first: Any, second: Any, *, ratio: float, name: str = "") -> Joint:
        """Two hinges or sliders that move together: the first does −ratio · what the second does.

        A hinge (also a cylindrical joint, a screw, a wheel) turns, a slider slides.  Two toothed
        wheels with radii r₁, r₂ have ratio r₂/r₁; a belt has −r₂/r₁; a rack that slides by r for
        each radian of its pinion has −r.  It couples motions alone: the torque (or the force along
        the slider) is passed on, and no force at the teeth presses on the bearings.
        """
        found = number("the ratio of a gear", ratio)
        if found == 0:
            raise ModelError("a gear of ratio zero holds nothing", expected="a number ≠ 0")
        pair = [self._joint(x, (*TURNING, "prismatic")) for x in (first, second)]
        if pair[0] is pair[1]:
            raise ModelError("a gear joins a joint to itself", expected="two hinges or sliders")
        name = self._called(name, "joint")
        # What it acts on: the second parts, unless they do not move or are one and the same.
        one = pair[0].b is pair[1].b and pair[0].a.shape.size and pair[1].a.shape.size
        ends = [(x.a, x.at[0]) if one or not x.b.shape.size else (x.b, x.at[1]) for x in pair]
        at = np.array([place for _, place in ends])
        made = self._geared(pair, found, name)
        return self._kept(Joint(name, "gear", ends[0][0], ends[1][0], at, [made]))

    def _geared(self, pair: list[Joint], ratio: float, name: str) -> Piece:
        """The row  s₁ + ratio s₂ = 0  of two angles or slides; a part may be in both."""
        moving: list[list[Part]] = []
        for joint in pair:
            slides = joint.kind == "prismatic"
            moving.append([joint.a, joint.b] if slides else [self.counters[self.angle(joint).name]])
        held = list({id(x): x for group in moving for x in group}.values())
        places: list[list[float]] = [[] for _ in held]
        which = []
        for joint, group in zip(pair, moving, strict=True):
            numbers = tuple(next(k for k, x in enumerate(held) if x is part) for part in group)
            which.append(numbers)
            if len(group) == 2:
                what = f"joint {joint.name}"
                a, b = group
                places[numbers[0]] += [*a.on(joint.at[0], what), *a.along(joint.triad["e"], what)]
                places[numbers[1]] += [*b.on(joint.at[1], what)]
        shapes = tuple(x.shape for x in held)
        return Piece(
            "constraint", ("gear", tuple(x.name for x in shapes), *which),
            partial(_gear_row, shapes, which), [i for x in held for i in x.indices],
            [x for group in places for x in group] + [ratio], [name],
        )  # fmt: skip

    @recorded
    def screw(self, *sides: Any, at: Any, axis: Any, pitch: float) -> Joint:
        """Both turn about a common axis and slide along it by `pitch` for each turn."""
        joint = self._at("cylindrical", sides, at, axis)
        lead = number(f"the pitch of {joint.name}", pitch) / (2 * np.pi)
        object.__setattr__(joint, "kind", "screw")
        self.angle(joint)
        self._rolled(joint, "e", lead)
        return joint

    @recorded
    def rolling(self, *sides: Any, at: Any, axis: Any, along: Any, radius: float) -> Joint:
        """A wheel that rolls along a line of another part (or of the ground) without slipping.

        Parameters
        ----------
        *sides : (name,) part, wheel
        at : (3,) array_like
            The centre of the wheel at the start.
        axis : (3,) array_like
            About which it turns.
        along : (3,) array_like
            The line, at right angles to the axis.  The wheel turns about the axis by (distance
            along it)/radius: with z up, one that rolls along +x turns about +y.
        radius : float
        """
        name, a, b = self._sides("rolling", sides)
        span = number(f"the radius of {name}", radius)
        if not span > 0:
            raise ModelError(f"the radius of {name} is not positive", received=span)
        spin, line = direction(f"the axis of {name}", axis), direction(f"the line of {name}", along)
        if abs(spin @ line) > 1e-9:
            raise ModelError(
                f"the line of {name} is not at right angles to its axis",
                received=f"cosine {spin @ line:.3g}",
            )
        held = triad(spin, line)
        place = vector(f"the place of {name}", at)
        joint = self._joined(name, "track", a, b, np.array([place, place]), [], held, held)
        object.__setattr__(joint, "kind", "rolling")
        self._count(joint)
        self._rolled(joint, "u", span)
        return joint

    def _rolled(self, joint: Joint, line: str, lead: float) -> None:
        """The row  (direction of a)·(P_b − P_a) = lead φ."""
        a, b, what = joint.a, joint.b, f"joint {joint.name}"
        values = [*a.on(joint.at[0], what), *a.along(joint.triad[line], what)]
        values += [*b.on(joint.at[1], what), lead]
        turned = self.counters[joint.angle]
        joint.pieces.append(
            Piece(
                "constraint", ("rolled", a.shape.name, b.shape.name), partial(_rolled_row, a, b),
                [*a.indices, *b.indices, turned.first], values, [f"{joint.name} lead"],
            )
        )  # fmt: skip

    # ---- prescribed motion ---------------------------------------------------------------------

    @recorded
    def drive(self, joint: Any, *, angle: Any = None, slide: Any = None, name: str = "") -> Joint:
        """Make a hinge turn, or a slider move, as a function of `taut.t`."""
        if (angle is None) == (slide is None):
            raise ModelError("a drive moves one thing", expected="angle=… or slide=…")
        kinds = ("revolute", "cylindrical") if slide is None else ("prismatic", "cylindrical")
        held = self._joint(joint, kinds)
        name = self._called(name, "joint")
        motion = _of_time(name, angle if slide is None else slide)
        kind = "angle" if slide is None else "slide"
        measure = self.measure(held, kind)
        a, b = held.a, held.b
        piece = Piece(
            "constraint", ("drive", *measure.key, sp.srepr(motion)),
            partial(_driven_row, kind, a, b, motion),
            [*a.indices, *b.indices], measure.values, [name],
        )  # fmt: skip
        more = held.triad, held.other
        return self._kept(Joint(name, f"driven {kind}", a, b, held.at, [piece], *more))

    @recorded
    def move(self, part: Any, motion: Any, *, at: Any = None, name: str = "") -> Joint:
        """Make a place of a part go where three expressions of `taut.t` say."""
        held = self._mover(part)
        name = self._called(name, "joint")
        if not counts(motion, 3):
            raise ModelError(f"{name} cannot be read", expected="three expressions of t")
        path = tuple(_of_time(name, x) for x in motion)
        place = held.position if at is None else vector(f"the place of {name}", at)
        key = ("move", held.shape.name, sp.srepr(path))
        values = held.on(place, f"joint {name}")
        write = partial(_moved_rows, held, path)
        piece = Piece("constraint", key, write, held.indices, values, numbered(name, 3))
        ground = self.ground
        return self._kept(Joint(name, "moved", ground, held, np.array([place, place]), [piece]))

    def _mover(self, given: Any) -> Part:
        """A part that moves."""
        held = self._part(given)
        if held.shape is GROUND:
            raise ModelError("the ground does not move", expected="another part")
        return held

    # ---- curves and surfaces -------------------------------------------------------------------

    @recorded
    def on_surface(self, part: Any, surface: Any, *, at: Any = None, name: str = "") -> Joint:
        """Keep a place of a part on a surface F(x, y, z) = 0, given as an expression."""
        return self._on(part, [surface], at, name, "surface")

    @recorded
    def on_curve(
        self, part: Any, curve: Any, *, at: Any = None, start: float = 0.0, name: str = ""
    ) -> Joint:
        """Keep a place of a part on a curve.

        Parameters
        ----------
        part : Part or name
        curve : two expressions, or (three expressions, symbol)
            F₁(x, y, z) = F₂(x, y, z) = 0, or the curve (x(s), y(s), z(s)) with its symbol s.
        at : (3,) array_like, optional
            The place; the centre of mass if not given.
        start : float
            Where on the curve it begins, if that is given by s.
        """
        listed = counts(curve, 2)
        if listed and hasattr(curve[0], "__len__") and isinstance(curve[1], sp.Symbol):
            return self._along_curve(part, curve[0], curve[1], at, start, name)
        if not listed:
            raise ModelError(
                "the curve cannot be read",
                expected="two expressions of x, y, z, or ((x(s), y(s), z(s)), s)",
                received=brief(curve),
            )
        return self._on(part, list(curve), at, name, "curve")

    def _on(self, part: Any, given: list[Any], at: Any, name: str, kind: str) -> Joint:
        held = self._mover(part)
        name = self._called(name, "joint")
        rows = [_in_space(name, e) for e in given]
        place = held.position if at is None else vector(f"the place of {name}", at)
        key = (kind, held.shape.name, sp.srepr(rows))
        values = held.on(place, f"joint {name}")
        names, write = numbered(name, len(rows)), partial(_rows_in_space, held, rows)
        piece = Piece("constraint", key, write, held.indices, values, names)
        ground = self.ground
        return self._kept(Joint(name, kind, ground, held, np.array([place, place]), [piece]))

    def _along_curve(self, part, path, symbol, at, start, name) -> Joint:
        held = self._mover(part)
        name = self._called(name, "joint")
        (s,) = inner("s")
        track = tuple(scalar(e, f"the curve of {name}").subs(symbol, s) for e in path)
        if len(track) != 3 or set().union(*(e.free_symbols for e in track)) - {s}:
            raise ModelError(
                f"the curve of {name} cannot be read",
                expected=f"three expressions of {symbol} alone",
                received=brief(path),
            )
        begin = number(f"the start of {name}", start)
        slope = np.array([float(e.diff(s).subs(s, begin)) for e in track])
        if not np.linalg.norm(slope) > 0:
            raise ModelError(f"the curve of {name} has no direction at its start")
        place = held.position if at is None else vector(f"the place of {name}", at)
        moving = held.velocity + np.cross(held.angular_velocity, place - held.position)
        rate = float(product(slope, moving) / product(slope, slope))
        number_ = self._number(f"s_{name}", name, rate, begin)
        values = held.on(place, f"joint {name}")
        arm = 1.0 if held.shape is POINT else 1.0 + float(np.sum((place - held.position) ** 2))
        share = SHARE / (1 / held.mass + _ease(held) * arm)
        indices = [*held.indices, number_.first]
        key = ("along", held.shape.name, sp.srepr(track))
        pieces = [
            Piece("lagrangian", key, partial(_lent_to_curve, held, track, s), indices,
                  [*values, share]),
            Piece("constraint", key, partial(_curve_rows, held, track, s), indices, values,
                  numbered(name, 3)),
        ]  # fmt: skip
        line = Track(number_, track, s)
        ends = np.array([place, place])
        return self._kept(Joint(name, "curve", self.ground, held, ends, pieces, track=line))


# ---- rows and lent inertia --------------------------------------------------------------------


def _ease(part: Part) -> float:
    """A bound of |direction's rate|²/(2 T): what moving inertia to an angle takes from the part."""
    if part.shape in (GROUND, POINT):
        return 0.0
    return 2.0 / min(part.extents[k - 1] for k in part.shape.directors)


def _rate(joint: Joint) -> float:
    """φ̇ at the start."""
    return float(product(joint.b.angular_velocity - joint.a.angular_velocity, joint.triad["e"]))


def _angle_sides(a: Part, b: Part):
    sides = Side(a.shape, "a"), Side(b.shape, "b")
    u, w, other = sides[0].vector(), sides[0].vector(), sides[1].vector()
    phi, rate = inner("phi", "phi_dot")
    q = [*sides[0].coordinates, *sides[1].coordinates, phi]
    v = [*sides[0].rates, *sides[1].rates, rate]
    return sides, u, w, other, phi, rate, q, v, [*sides[0].constants, *sides[1].constants]


def _angle_row(a: Part, b: Part) -> Written:
    """b·(−sin φ u + cos φ w) = 0."""
    _, u, w, other, phi, _, q, v, constants = _angle_sides(a, b)
    row = -sp.sin(phi) * dot(other, u) + sp.cos(phi) * dot(other, w)
    return q, v, constants, [row]


def _lent_to_angle(a: Part, b: Part) -> Written:
    """½ μ (φ̇² − |ḃ − cos φ u̇ − sin φ ẇ|²)."""
    sides, u, w, other, phi, rate, q, v, constants = _angle_sides(a, b)
    share = sp.Symbol("mu", positive=True)
    moved = sides[1].rate(other)
    turned = [sides[0].rate(x) for x in (u, w)]
    left = [m - sp.cos(phi) * x - sp.sin(phi) * y for m, x, y in zip(moved, *turned, strict=True)]
    lent = share * (rate**2 - sp.Add(*(e**2 for e in left))) / 2
    return q, v, [*constants, share], [lent]


def _gear_row(shapes: Sequence[Shape], which: Sequence[tuple[int, ...]]) -> Written:
    """s₁ + ratio s₂, each a number, or e_a·(P_b − P_a) of two of the sides."""
    sides = [Side(shape, f"side{k}") for k, shape in enumerate(shapes)]
    (ratio,), found = inner("ratio"), []
    for numbers in which:
        if len(numbers) == 1:
            found.append(sides[numbers[0]].coordinates[0])
            continue
        a, b = (sides[k] for k in numbers)
        pa, axis, pb = a.place(), a.vector(), b.place()
        found.append(dot(axis, minus(pb, pa)))
    q, v, constants = (
        [x for side in sides for x in group(side)]
        for group in (lambda s: s.coordinates, lambda s: s.rates, lambda s: s.constants)
    )
    return q, v, [*constants, ratio], [found[0] + ratio * found[1]]


def _rolled_row(a: Part, b: Part) -> Written:
    sides = Side(a.shape, "a"), Side(b.shape, "b")
    pa, line, pb = sides[0].place(), sides[0].vector(), sides[1].place()
    phi, rate, lead = inner("phi", "phi_dot", "lead")
    q = [*sides[0].coordinates, *sides[1].coordinates, phi]
    v = [*sides[0].rates, *sides[1].rates, rate]
    constants = [*sides[0].constants, *sides[1].constants, lead]
    return q, v, constants, [dot(line, minus(pb, pa)) - lead * phi]


def _driven_row(kind: str, a: Part, b: Part, motion: sp.Expr) -> Written:
    sides = Side(a.shape, "a"), Side(b.shape, "b")
    q = [*sides[0].coordinates, *sides[1].coordinates]
    v = [*sides[0].rates, *sides[1].rates]
    if kind == "angle":
        u, w, other = sides[0].vector(), sides[0].vector(), sides[1].vector()
        row = -sp.sin(motion) * dot(other, u) + sp.cos(motion) * dot(other, w)
    else:
        pa, axis, pb = sides[0].place(), sides[0].vector(), sides[1].place()
        row = dot(axis, minus(pb, pa)) - motion
    return q, v, [*sides[0].constants, *sides[1].constants], [row]


def _moved_rows(part: Part, path: tuple[sp.Expr, ...]) -> Written:
    side = Side(part.shape, "a")
    rows = minus(side.place(), path)
    return side.coordinates, side.rates, side.constants, rows


def _rows_in_space(part: Part, given: list[sp.Expr]) -> Written:
    side = Side(part.shape, "a")
    table = dict(zip((X, Y, Z), side.place(), strict=True))
    rows = [e.subs(table, simultaneous=True) for e in given]
    return side.coordinates, side.rates, side.constants, rows


def _curve_rows(part: Part, track: tuple[sp.Expr, ...], s: sp.Symbol) -> Written:
    side = Side(part.shape, "a")
    rows = minus(side.place(), track)
    (rate,) = inner("s_dot")
    return [*side.coordinates, s], [*side.rates, rate], side.constants, rows


def _lent_to_curve(part: Part, track: tuple[sp.Expr, ...], s: sp.Symbol) -> Written:
    """½ μ (|c′|² ṡ² − |Ṗ|²)."""
    side = Side(part.shape, "a")
    (rate,), share = inner("s_dot"), sp.Symbol("mu", positive=True)
    moved = side.rate(side.place())
    steep = sp.Add(*(e.diff(s) ** 2 for e in track))
    lent = share * (steep * rate**2 - sp.Add(*(e**2 for e in moved))) / 2
    return [*side.coordinates, s], [*side.rates, rate], [*side.constants, share], [lent]


def _of_time(name: str, given: Any) -> sp.Expr:
    found = scalar(given, f"the motion of {name}")
    stray = {x for x in found.free_symbols if getattr(x, "name", "") != t.name}
    if stray:
        raise ModelError(
            f"the motion of {name} depends on {', '.join(sorted(map(str, stray)))}",
            expected="an expression of taut.t alone",
        )
    return found.xreplace({x: t for x in found.free_symbols})


def _in_space(name: str, given: Any) -> sp.Expr:
    found = scalar(given, f"the equation of {name}")
    own = {s.name: s for s in (X, Y, Z)} | {t.name: t}
    stray = sorted({getattr(x, "name", str(x)) for x in found.free_symbols} - set(own))
    if stray or not {x.name for x in found.free_symbols} - {t.name}:
        raise ModelError(
            f"the equation of {name} cannot be used",
            expected="an expression of x, y, z (and t)",
            received=str(found)[:80],
        )
    return found.xreplace({x: own[x.name] for x in found.free_symbols})
