"""Laws on level sets, and points of closed loops."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.laws.dynamics import Dynamics
from taut.laws.field import Field, primes
from taut.laws.proof import proved
from taut.laws.ring import Ring
from taut.laws.triangle import triangular

M, G = sp.symbols("M1:4"), sp.symbols("G1:4")
ALONG = sum(a * b for a, b in zip(M, G, strict=True))


def cross(a, b):
    return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]


@pytest.fixture(scope="module")
def top():
    """Goryachev's and Chaplygin's: moments 4, 4, 1."""
    turn = [M[0] / 4, M[1] / 4, M[2]]
    pull = cross(G, [1, 0, 0])
    rates = [a + b for a, b in zip(cross(M, turn), pull, strict=True)]
    return taut.Flow([*M, *G], [*rates, *cross(G, turn)])


def test_a_law_that_holds_on_a_level_set(top):
    assert len(taut.conserved(top, time=0)) == 3
    laws = taut.conserved(top, on=[ALONG], time=0)
    last = laws[-1]
    assert [x.kind for x in laws] == ["integral", "integral", "conditional"]
    assert last.condition == "where G1*M1 + G2*M2 + G3*M3 = 0"
    assert [x.condition for x in laws[:2]] == ["", ""]
    assert all(x.verified == "normal form" for x in laws)
    known = M[2] * (M[0] ** 2 + M[1] ** 2) - 4 * M[0] * G[2]
    assert sp.expand(last.expression - known) == 0
    assert last.condition in str(laws)
    assert str(taut.conserved(top, on=ALONG, time=0)) == str(laws)
    assert str(taut.conserved(top, on=str(ALONG), time=0)) == str(laws)


def test_its_rate_is_a_multiple_of_the_level(top):
    """By division of polynomials: D I = (…)·(γ·M)."""
    law = taut.conserved(top, on=[ALONG], time=0)[-1].expression
    rate = sum(law.diff(x) * e for x, e in zip(top.variables, top.rhs, strict=True))
    quotient, rest = sp.div(sp.expand(rate), ALONG, *M, *G)
    assert rest == 0
    assert quotient != 0


def test_a_proof_needs_the_level(top):
    law = M[2] * (M[0] ** 2 + M[1] ** 2) - 4 * M[0] * G[2]
    for levels, wanted in (([ALONG], True), ([], False)):
        d = Dynamics(top, levels)
        assert proved(d, Ring(d.expressions, [*d.state, taut.t]), law) is wanted


def test_levels_that_do_not_stay_are_refused(top):
    with pytest.raises(taut.InputError, match="does not stay so") as caught:
        taut.conserved(top, on=[M[2]])
    assert "D(M3) = -G2" in str(caught.value)
    with pytest.raises(taut.InputError, match="variables of the state"):
        taut.conserved(top, on=[sp.Integer(3)])


def test_systems_have_level_sets_too():
    x, y, z = q = taut.coordinates("x y z")
    u, v, w = taut.velocities(q)
    sphere = taut.System(q, mass=1, potential=z, constraints=[x**2 + y**2 + z**2 - 1])
    laws = taut.conserved(sphere, on=[x * v - y * u], functions=[1 / x], degree=2, time=0)
    assert [x.kind for x in laws] == ["energy", "conditional"]
    assert sp.simplify(laws[1].expression * x / y).is_number  # in a plane: y/x stays
    with pytest.raises(taut.InputError, match="does not stay so") as caught:
        taut.conserved(sphere, on=[x * v + y * u])
    assert "received" not in str(caught.value)
    with pytest.raises(taut.ModelError, match="linear in the velocities"):
        taut.conserved(sphere, on=[u**2 + v**2 + w**2 + 2 * z])
    free = taut.System(q, mass=1, potential=z**2 * x)
    with pytest.raises(taut.InputError, match=r"y\*z\*\*2"):
        taut.conserved(free, on=[x * v - y * u])


# ---- closed loops --------------------------------------------------------------------------------


def distance(a, b, length):
    return sum((s - t) ** 2 for s, t in zip(a, b, strict=True)) - length**2


def four_bars():
    x1, y1, x2, y2 = q = taut.coordinates("x1 y1 x2 y2")
    rods = [((0, 0), (x1, y1)), ((x1, y1), (x2, y2)), ((x2, y2), (2, 0))]
    return q, [distance(a, b, 1) for a, b in rods]


def five_bars():
    q = taut.coordinates("x1 y1 x2 y2 x3 y3")
    p = [(0, 0), q[:2], q[2:4], q[4:], (3, 0)]
    return q, [distance(p[i], p[i + 1], k) for i, k in enumerate((1, 2, 2, 1))]


def braced():
    """A triangle on two rods: the third point hangs on both of the others."""
    q = taut.coordinates("x1 y1 x2 y2 x3 y3")
    a, b, c = q[:2], q[2:4], q[4:]
    sides = [((0, 0), a, 1), (a, b, 2), (b, (3, 0), 1), (a, c, 1), (b, c, 2)]
    return q, [distance(*x) for x in sides]


LOOPS = {f.__name__: f for f in (four_bars, five_bars, braced)}


@pytest.mark.parametrize("name", LOOPS)
def test_points_of_closed_loops(name):
    q, loop = LOOPS[name]()
    d = Dynamics(taut.System(q, mass=1, potential=q[1], constraints=loop))
    f = Field(primes(1)[0])
    found = d.moving(Ring(d.expressions, [*d.state, taut.t]), f, 30, {}, True)
    for e in d.relations:
        assert not found(e).any()
        assert not found.rate(e).any()
    for x in q:
        assert len(np.unique(found(x))) > 20


@pytest.mark.parametrize("name", LOOPS)
def test_laws_of_closed_loops(name):
    q, loop = LOOPS[name]()
    laws = taut.conserved(taut.System(q, mass=1, potential=q[1], constraints=loop), degree=2)
    assert [x.kind for x in laws] == ["energy"]
    assert (laws[0].verified == "normal form") == (name == "four_bars")


def test_roots_of_numbers_choose_the_prime():
    """√2 … √7 have residues modulo a few primes only, and √a for some a."""
    x, y = q = taut.coordinates("x y")
    a = sp.Symbol("a", positive=True)
    roots = sum(sp.sqrt(k) for k in (2, 3, 5, 7))
    for well in (roots * (x**2 + y**2), sp.sqrt(a) * (x**2 + y**2)):
        model = taut.System(q, mass=1, potential=well, parameters=["a"])
        laws = taut.conserved(model, degree=2, time=0)
        assert [law.kind for law in laws][:2] == ["energy", "angular momentum"]
        assert all(law.verified == "normal form" for law in laws)


def test_triangles_have_one_new_variable_each():
    q, loop = four_bars()
    ladder = triangular(loop, list(q))
    for i, (e, x) in enumerate(ladder):
        later = {y for _, y in ladder[i + 1 :]}
        assert x in e.free_symbols
        assert not e.free_symbols & later
    assert triangular([q[0] + q[1], q[0] + q[1]], list(q[:2])) is None


def test_a_level_may_be_a_square():
    x, y, z = sp.symbols("x y z")
    (law,) = taut.conserved(taut.Flow([x, y, z], [y + z, -x, z]), on=[z**2])
    assert law.expression == x**2 + y**2
    assert "random points" in law.verified
