"""Drawings: what may be drawn, and what is refused."""

from __future__ import annotations

import pytest
import sympy as sp

import taut
from taut.model.drawing import Link

x, y, k = taut.coordinates("x y k")


def system(drawing) -> taut.System:
    return taut.System([x, y], mass=[1, 1], potential=k * y, parameters={"k": 1}, drawing=drawing)


class TestRead:
    def test_points_and_links(self):
        drawing = taut.Drawing(
            {"a": (x, y), "b": (0, k)}, [("a", "b"), ("b", "a", "spring")], trails=["a"], down="y"
        )
        assert repr(drawing) == "Drawing: 2 points in the plane, 2 links"
        assert drawing.links == (Link("a", "b", "rod"), Link("b", "a", "spring"))
        assert system(drawing).drawing.points == {"a": (x, y), "b": (0, k)}

    def test_symbols_are_the_systems_own(self):
        """Whatever assumptions a user's symbols have, those of the system are meant."""
        made = system(taut.Drawing({"a": (sp.Symbol("x"), 2 * sp.Symbol("y", positive=True))}))
        assert made.drawing.points == {"a": (x, 2 * y)}

    def test_dynamicsymbols(self):
        from sympy.physics.mechanics import dynamicsymbols

        angle = dynamicsymbols("theta")
        made = taut.System(
            [angle], mass=1, potential=-sp.cos(angle),
            drawing=taut.Drawing({"bob": (sp.sin(angle), -sp.cos(angle))}),
        )  # fmt: skip
        theta = made.coordinates[0]
        assert made.drawing.points["bob"] == (sp.sin(theta), -sp.cos(theta))

    def test_curves_know_parameters(self):
        s = sp.Symbol("s")
        circle = ((sp.Symbol("k") * sp.cos(s), sp.sin(s)), (s, 0, 6.28))
        made = system(taut.Drawing({"a": (x, y)}, curves=[circle]))
        (curve,) = made.drawing.curves
        assert curve.places == (k * sp.cos(s), sp.sin(s))
        assert (curve.first, curve.last) == (0.0, 6.28)

    def test_a_flow_has_one_too(self):
        drawing = taut.Drawing({"here": (x, y)})
        flow = taut.Flow([x, y], [y, -x], drawing=drawing)
        assert flow.system.drawing.points == {"here": (x, y)}

    def test_equal_models_share_code_whatever_they_look_like(self):
        assert system(taut.Drawing({"a": (x, y)})).key == system(None).key


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: taut.Drawing({}), "needs points"),
        (lambda: taut.Drawing([(x, y)]), "needs points"),
        (lambda: taut.Drawing({1: (x, y)}), "needs a name"),
        (lambda: taut.Drawing({"a": (x,)}), "do not fit each other"),
        (lambda: taut.Drawing({"a": (x, y), "b": (x, y, 0)}), "do not fit each other"),
        (lambda: taut.Drawing({"a": x}), "point a cannot be read"),
        (lambda: taut.Drawing({"a": (x, "nonsense(")}), "not an expression"),
        (lambda: taut.Drawing({"a": (x, float("nan"))}), "not finite"),
        (lambda: taut.Drawing({"a": (x, y)}, [("a", "b")]), "no point called 'b'"),
        (lambda: taut.Drawing({"a": (x, y)}, ["a"]), "a link cannot be read"),
        (lambda: taut.Drawing({"a": (x, y)}, "aa"), "links cannot be read"),
        (lambda: taut.Drawing({"a": (x, y)}, [("a", "a", "rope")]), "no look of a link"),
        (lambda: taut.Drawing({"a": (x, y)}, trails=["c"]), "no point called 'c'"),
        (lambda: taut.Drawing({"a": (x, y)}, down="z"), "down is not an axis"),
        (lambda: taut.Drawing({"a": (x, y)}, curves=[(x, y)]), "a curve cannot be read"),
        (lambda: taut.Drawing({"a": (x, y)}, curves=[((x,), (x, 0, 1))]), "does not fit"),
        (
            lambda: taut.Drawing({"a": (x, y)}, curves=[((x, y), (x, 0, float("inf")))]),
            "ends of a curve are not finite",
        ),
        (lambda: system({"a": (x, y)}), "drawing= is no drawing"),
        (lambda: system(taut.Drawing({"a": (x, sp.Symbol("w"))})), "point a of the drawing"),
        (
            lambda: system(
                taut.Drawing({"a": (x, y)}, curves=[((sp.Symbol("w"), y), (y, 0, 1))])
            ),
            "a curve of the drawing contains w",
        ),
        (lambda: taut.Flow([x], [-x], drawing=taut.Drawing({"a": (x, y)})), "point a"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(build, words):
    with pytest.raises(taut.TautError, match=words):
        build()
