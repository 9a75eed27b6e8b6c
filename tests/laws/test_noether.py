"""Noether's symmetries: as many as theory says, each with its identity and its law."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import taut
from taut.laws.check import gradient_ranks, points_of
from taut.laws.dynamics import Dynamics
from taut.laws.normal import Normal
from taut.laws.ring import tidy

CASES = runpy.run_path(str(Path(__file__).with_name("cases.py")))["CASES"]
T = taut.t
X, Y = Q = taut.coordinates("x y")
U, V = taut.velocities(Q)
TURNS = (sp.sin(T), sp.cos(T))


def case(name):
    return lambda: CASES[name]()[0]


# How many there are; the three bodies have a rotation of their centre of mass alone, too.
COUNTS = {
    "free 1D": (lambda: taut.System([X], mass=1), {}, 5),
    "free 2D": (case("free"), {}, 8),
    "oscillator": (
        lambda: taut.System(Q, mass=1, potential=(X**2 + Y**2) / 2), {"functions": TURNS}, 8,
    ),
    "oscillator without sines": (case("oscillator"), {}, 2),
    "oscillator with a parameter": (
        case("oscillator"), {"functions": ["sin(omega*t)", "cos(omega*t)"]}, 8,
    ),
    "kepler": (case("kepler"), {}, 4),
    "henon-heiles": (case("henon_heiles"), {}, 1),
    "lane-emden": (lambda: taut.System([X], lagrangian=T**2 * (U**2 / 2 - X**6 / 6)), {}, 1),
    "calogero": (case("calogero"), {}, 5),
    "charged": (case("charged"), {}, 6),
    "spherical pendulum": (case("spherical_pendulum"), {}, 2),
    "double pendulum": (case("double_pendulum"), {}, 2),
    "three bodies": (case("three_bodies"), {"degree": 1}, 7),
}  # fmt: skip


def numbers(symbols, seed=0):
    rng = np.random.default_rng(seed)
    return {s: sp.Float(x, 40) for s, x in zip(symbols, rng.uniform(0.3, 1.7, 99), strict=False)}


def left_side(model, s):
    """SGM (4) as it is printed, with everything on one side, straight from SymPy."""
    q, v, action = model.coordinates, model.velocities, model.spelled(model.energy_function)

    def dot(e):
        return e.diff(T) + sum(e.diff(a) * b for a, b in zip(q, v, strict=True))

    total = action.diff(T) * s.xi0 + dot(s.gauge) + action * dot(s.xi0)
    for a, b, xi in zip(q, v, s.xi, strict=True):
        p = action.diff(b)
        total += action.diff(a) * xi + p * dot(xi) - p * b * dot(s.xi0)
    return total


@pytest.mark.parametrize("name", COUNTS)
def test_there_are_as_many_as_theory_says(name):
    make, given, count = COUNTS[name]
    model = make()
    found = taut.noether(model, **given)
    assert len(found) == count
    v, action = model.velocities, model.spelled(model.energy_function)
    for s in found:
        law = action * s.xi0 + s.gauge
        law += sum(action.diff(w) * (e - w * s.xi0) for w, e in zip(v, s.xi, strict=True))
        at = numbers(sorted(law.free_symbols | left_side(model, s).free_symbols, key=str))
        assert abs((law - s.law.expression).subs(at)) < 1e-25
        assert s.verified == s.law.verified == "normal form"
        if not model.constraints:
            assert abs(left_side(model, s).subs(at)) < 1e-25
        assert taut.conserved(model, proposed=s.law.expression).kind == s.law.kind


@pytest.mark.parametrize("name", [x for x in CASES if CASES[x]()[0].__class__ is taut.System])
def test_their_laws_are_functions_of_those_that_are_known(name):
    """The rank of all gradients together is that of the known laws."""
    model, known, rank = CASES[name]()
    laws = [tidy(model.read(e)) for e in known]
    laws += [model.read(s.law.expression) for s in taut.noether(model, degree=1)]
    d = Dynamics(model)
    assert len(gradient_ranks(d, points_of(Normal(d, laws), 1), laws)) == rank


def test_what_they_are_called():
    spring = taut.System([X], mass=1, potential=X**2 / 2)
    kinds = [s.law.kind for s in taut.noether(spring, functions=TURNS)]
    assert kinds == ["energy", *["point symmetry"] * 4]
    kinds = [s.law.kind for s in taut.noether(taut.System([X], mass=1))]
    assert kinds == ["energy", "momentum", "scaling", "boost", "point symmetry"]


def test_symmetries_on_constraints_are_tangent():
    x, y, z = q = taut.coordinates("x y z")
    ball = taut.System(q, mass=1, constraints=[x**2 + y**2 + z**2 - 1])
    found = taut.noether(ball)
    assert sorted(s.law.kind for s in found) == ["angular momentum"] * 3 + ["energy"]
    for s in found:
        assert sp.expand(sum(a * b for a, b in zip(q, s.xi, strict=True))) == 0


def test_a_constraint_that_moves_takes_time_along():
    """A bead on a circle that moves along x: what is left is x-translation with the circle."""
    moving = taut.System(Q, mass=1, constraints=[(X - T) ** 2 + Y**2 - 1])
    found = taut.noether(moving, degree=1)
    shifts = [s for s in found if s.xi0 == 1 or s.xi0 == -1]
    assert len(shifts) == 1
    (s,) = shifts
    assert (sp.simplify(s.xi[0] / s.xi0), s.xi[1]) == (1, 0)
    taut.conserved(moving, proposed=s.law.expression)


def test_a_singular_lagrangian_has_its_symmetries():
    """L = ½(ẋ − y)²: x → x + ε(t), y → y + ε̇(t), for any ε; here those of an ansatz."""
    x, y, u, v = sp.symbols("x y u v", real=True)
    term = taut.Term("lagrangian", (x, y), [(u - y) ** 2 / 2], [[0, 1]], rates=(u, v))
    found = taut.noether(taut.System.from_terms([x, y], [term]), degree=2)
    pairs = [s.xi for s in found if s.xi0 == 0 and not any(e.has(x, y) for e in s.xi)]
    assert {(sp.expand(a.diff(T) - b)) for a, b in pairs} == {0}
    assert {a for a, _ in pairs} == {sp.Integer(1), T, T**2}
    assert all(s.law.verified == "Noether's identity, normal form" for s in found)


@pytest.mark.parametrize("well", [(X**2 + Y**2) ** 2, 3 * X + T * Y])
def test_a_hamiltonian_has_the_same_symmetries(well):
    px, py = taut.momenta(Q)
    one = taut.noether(taut.System(Q, mass=2, potential=well))
    two = taut.noether(taut.System(Q, hamiltonian=(px**2 + py**2) / 4 + well))
    assert [(s.xi0, s.xi, s.gauge) for s in one] == [(s.xi0, s.xi, s.gauge) for s in two]
    swap = {U: px / 2, V: py / 2}
    for a, b in zip(one, two, strict=True):
        assert sp.expand(a.law.expression.subs(swap) - b.law.expression) == 0
        assert b.law.verified == "normal form"


def test_forces_take_part():
    """A constant force (0, 1) is a potential that nobody wrote down."""
    forced = taut.noether(taut.System(Q, mass=1, forces=[0, 1]))
    free = taut.noether(taut.System(Q, mass=1, potential=-Y))
    assert len(forced) == len(free) > 3
    drag = taut.noether(taut.System(Q, mass=1, forces=[-U, -V]))
    assert {str(s.law.expression) for s in drag} >= {"x + x_dot", "y + y_dot"}
    for s in (*forced, *drag):
        assert s.law.verified == "normal form"


def test_a_table_is_printed():
    text = str(taut.noether(taut.System([X], mass=1), degree=1))
    assert "momentum  ∂x" in text
    assert "5 in all" not in text
    assert "complete in this ansatz: ξ of degree ≤ 1, G of degree ≤ 2 in x, t" in text
    none = taut.noether(taut.System([X], mass=1, potential=T * X**4), degree=1)
    assert str(none).startswith("none;")
    assert none.to_dict()["symmetries"] == []
    (first, *_) = taut.noether(taut.System(Q, mass=1, potential=X**4)).to_dict()["symmetries"]
    assert first["xi0"] == "1"
    assert first["law"]["kind"] == "energy"


# ---- proposals -----------------------------------------------------------------------------------

K = sp.Symbol("k", real=True)
R = sp.sqrt(X**2 + Y**2)


def kepler(**given):
    return taut.System(Q, mass=1, potential=-K / R, parameters=given or ["k"])


def test_a_proposed_symmetry_is_proved():
    turn = taut.noether(kepler(), proposed=(0, [-Y, X], 0))
    assert turn.law.expression == X * V - Y * U
    assert turn.law.kind == "angular momentum"
    boost = taut.noether(taut.System([X], mass=1), proposed=(0, T, -X))
    assert boost.law.expression == T * U - X


def test_the_gauge_is_looked_for():
    """It was taken for 0: of z̈ = −6t² the shift ξ = 1 has G = 2t³ and is a symmetry."""
    falling = {"potential": 6 * T**2 * X}, {"forces": [-6 * T**2]}
    for model in (taut.System([X], mass=1, **given) for given in falling):
        found = taut.noether(model, proposed=(0, 1))
        assert (found.gauge, found.law.expression) == (2 * T**3, U + 2 * T**3)
        assert taut.noether(model, proposed=(0, 1, 2 * T**3)).law.expression == U + 2 * T**3
    high = taut.noether(taut.System([X], mass=1, potential=8 * T**7 * X), proposed=(0, 1))
    assert high.gauge == T**8
    free = taut.System([X], mass=1)
    assert taut.noether(free, proposed=(0, T)).gauge == -X
    assert taut.noether(free, proposed=(T**2, T * X)).gauge == -(X**2) / 2
    spring = taut.System([X], mass=1, potential=X**2 / 2)
    assert taut.noether(spring, proposed=(0, sp.sin(T))).gauge == -X * sp.cos(T)
    charged = taut.System(Q, lagrangian=(U**2 + V**2) / 2 + K * (X * V - Y * U), parameters=["k"])
    assert taut.noether(charged, proposed=(0, [1, 0])).gauge == -K * Y
    moving = taut.System(Q, mass=1, constraints=[Y - T**2])
    assert taut.noether(moving, proposed=(0, [T, 0])).gauge == -X


def test_the_gauge_of_a_symmetry_with_velocities():
    """Every ξ has the G for which I is zero: it is no symmetry for that."""
    p, s = taut.momenta(Q)
    runge = taut.noether(kepler(), proposed=(0, [-Y * V, 2 * X * V - U * Y]))
    axis = V * (X * V - Y * U) - K * X / R
    assert sp.expand(runge.law.expression - axis) == 0
    phase = taut.System(Q, hamiltonian=(p**2 + s**2) / 2 - K / R, parameters=["k"])
    runge = taut.noether(phase, proposed=(0, [-Y * s, 2 * X * s - p * Y]))
    assert sp.expand(runge.law.expression - axis.subs({U: p, V: s})) == 0
    assert taut.noether(kepler(), proposed=(0, [U, V])).law.expression.has(K)
    with pytest.raises(taut.InputError, match="no G was found"):
        taut.noether(kepler(), proposed=(0, [X * U, Y]))
    with pytest.raises(taut.InputError, match="whatever G is"):
        taut.noether(kepler(), proposed=(0, [V, X]))


def test_one_that_is_none_is_refused_with_what_is_left():
    with pytest.raises(taut.InputError, match="Noether's identity") as caught:
        taut.noether(taut.System(Q, mass=1, potential=X * Y), proposed=(0, (1, 0)))
    assert caught.value.received == "-y"
    ring = taut.System(Q, mass=1, constraints=[X**2 + Y**2 - 1])
    with pytest.raises(taut.InputError, match="leaves the constraint g0") as caught:
        taut.noether(ring, proposed=(0, [1, 0], 0))
    assert caught.value.received == "2*x"


def test_proposals_may_depend_on_velocities():
    """Runge and Lenz: ξ = ∂A/∂q̇, ξ₀ = 0."""
    law = V * (X * V - Y * U) - K * X / R
    xi = [law.diff(U), law.diff(V)]
    gauge = law - U * xi[0] - V * xi[1]
    found = taut.noether(kepler(), proposed=(0, xi, gauge))
    assert sp.expand(found.law.expression - law) == 0
    assert found.law.kind == "hidden symmetry"
    with pytest.raises(taut.InputError, match="Noether's identity") as caught:
        taut.noether(kepler(), proposed=(0, xi, gauge + U))
    left = sp.sympify(caught.value.received, locals={"x": X, "y": Y, "k": K})
    at = {X: 0.3, Y: 0.4, K: 2}
    assert left.subs(at) == pytest.approx(-2 * 0.3 / 0.5**3)
    pinned = taut.noether(kepler(k=2), proposed=(0, xi, (gauge).subs(K, 2)))
    assert pinned.condition == "at k = 2"


def test_the_symmetry_of_a_law():
    found = taut.noether(kepler(), law=X * V - Y * U)
    assert (found.xi0, found.xi, found.gauge) == (0, (-Y, X), 0)
    with pytest.raises(taut.InputError, match="not conserved"):
        taut.noether(kepler(), law=X)
    with pytest.raises(taut.InputError, match="symmetry of this law"):
        taut.noether(taut.System(Q, mass=1, forces=[0, 1]), law=U)


def test_nothing_moves():
    with pytest.raises(taut.InputError, match="moves nothing"):
        taut.noether(kepler(), proposed=(0, [0, 0], 0))
    fixed = taut.System([X], mass=1, constraints=[X - 1])
    assert all(s.xi == (0,) for s in taut.noether(fixed))


def test_a_particle_of_special_relativity():
    """Lorentz' group in the plane: three translations, one rotation, two boosts."""
    found = taut.noether(taut.System(Q, lagrangian=-sp.sqrt(1 - U**2 - V**2)), degree=1)
    assert len(found) == 6
    assert {"x ∂t + t ∂x", "y ∂t + t ∂y"} <= {s.field for s in found}


def test_requests_that_make_no_sense():
    flow = taut.Flow([X, Y], [Y, -X])
    with pytest.raises(taut.InputError, match="needs a Lagrangian") as caught:
        taut.noether(flow)
    assert "lie_symmetries" in caught.value.remedy
    with pytest.raises(taut.InputError, match="needs a Lagrangian"):
        taut.noether("kepler")
    with pytest.raises(taut.InputError, match="depends on velocities"):
        taut.noether(kepler(), functions=[U])
    with pytest.raises(taut.ModelError, match="where Abs occurs"):
        taut.noether(kepler(), functions=[sp.Abs(X)])
    with pytest.raises(taut.InputError, match="does not fit"):
        taut.noether(kepler(), proposed=(0, [1]))
    with pytest.raises(taut.InputError, match="no symmetry"):
        taut.noether(kepler(), proposed=X)
    with pytest.raises(taut.InputError, match="too many monomials"):
        taut.noether(kepler(), degree=30)
    with pytest.raises(taut.InputError, match="degree"):
        taut.noether(kepler(), degree=-1)
    with pytest.raises(taut.InputError, match="too large"):
        taut.noether(taut.problems.problem("chain", links=21).system)
