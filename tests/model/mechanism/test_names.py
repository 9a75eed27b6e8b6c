"""What parts and forces are called changes nothing: no symbol of a term has a name of a user's."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.model.mechanism.shapes import INNER


def coupled(one, two, control="drive"):
    """Two sliders, a hinge and a point; each force depends on parts that it does not act on."""
    m = taut.Mechanism(gravity=(0, 0, -1))
    body = {"mass": 1, "inertia": (1, 1.2, 0.7)}
    m.body(one, **body, at=(2, 0, 0), velocity=(1, 0, 0))
    m.body(two, **body, at=(5, 0, 0), angular_velocity=(0, 0.3, 0))
    m.point("end", mass=0.5, at=(1, 1, 1), velocity=(0.1, 0.2, 0.3))
    m.prismatic("rail", m.ground, one, at=(2, 0, 0), axis=(1, 0, 0))
    m.revolute("hinge", m.ground, two, at=(5, 0, 0), axis=(0, 1, 0))
    (x, y, z), (vx, *_) = m.symbols("end")
    first, rate = m.symbols(one)[0], m.symbols(one)[1]
    second = m.symbols(two)[0]
    angle = m.symbols("hinge")[0]
    m.motor("rail", 3 * (second[3] - x) + angle, name="moved")
    m.motor("hinge", first[0] / 5 - rate[0] / 9, name="turned")
    m.spring("tied", one, "end", stiffness=2, length=1, pull=lambda s, r: r * s / 4)
    m.force("end", (second[3] * vx, first[0] / 7, -z / 3), name="blown")
    m.torque(two, (0, first[0] / 8, 0), name="wound")
    m.potential("well", second[5] * y / 3 + first[0] * z / 11)
    m.motor("hinge", lambda t, state: np.cos(t), name=control)
    return m


def run_of(m):
    found = taut.simulate(m, duration=0.5, step=0.01, laws=None)
    return np.concatenate([found.q, found.v], axis=1)


@pytest.fixture(scope="module")
def plain():
    return run_of(coupled("front", "rear"))


@pytest.mark.parametrize(
    "names", [("a", "b"), ("b", "a"), ("b", "rear"), ("front", "b"), ("a", "x")]
)
def test_of_parts(names, plain):
    np.testing.assert_allclose(run_of(coupled(*names)), plain, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["m", "E1", "k", "s0", "c", "mu", "phi", "F", "s", "X0_0_a"])
def test_of_controls(name, plain):
    np.testing.assert_allclose(run_of(coupled("a", "b", name)), plain, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["rate", "length", "t", "x_b", "d1x_a_dot", "x_end_dot"])
def test_of_controls_that_are_taken(name):
    with pytest.raises(taut.ModelError, match=f"a controller cannot be called {name}"):
        coupled("a", "b", name).system()


def test_no_symbol_of_a_term_can_be_a_users():
    m = coupled("a", "b")
    m.angle("hinge")
    m.rod("held", "end", m.ground)
    for term in m.system().terms:
        users = {x.name for x in (*term.coordinates, *term.rates) if not x.name.endswith(INNER)}
        assert all(x.name.endswith(INNER) for x in term.constants)
        own = {x for x in term.free_symbols if INNER in x.name}
        assert {x.name for x in term.free_symbols - own} <= users | {"t", "drive"}
    with pytest.raises(taut.ModelError, match="no name"):
        m.point("b__", mass=1, at=(0, 0, 0))


def test_the_forces_that_are_shown_have_the_names_of_parts():
    m = taut.Mechanism()
    for name, at in (("b", 2), ("q", 5)):
        m.point(name, mass=1, at=(at, 0, 0))
    m.force("q", (3 * m.symbols("b")[0][0], 0, 0), name="pull")
    x = sp.Symbol("x_b", real=True)
    assert m.system().forces[3].xreplace({}).has(x)
