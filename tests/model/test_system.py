"""`System`: every form of the energy, its equations, its symbols, and what it refuses."""

import importlib

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import taut
from taut.kernel import native
from taut.kernel.compile import workshop

x, y = taut.coordinates("x y")
u, w = taut.velocities([x, y])
px, py = taut.momenta([x, y])
k = sp.Symbol("k", real=True)
METHODS = ["rattle", "time-element", "projected-symplectic-euler"]


@pytest.fixture
def double_pendulum():
    """One double pendulum with masses 1 and 2 in every form of its energy."""
    q = x1, y1, x2, y2 = taut.coordinates("x1 y1 x2 y2")
    v, p = taut.velocities(q), taut.momenta(q)
    m = [1, 1, 2, 2]
    potential = -10 * y1 - 20 * y2
    kinetic = sum(a * b**2 for a, b in zip(m, v, strict=True)) / 2
    inverse = sum(b**2 / sp.Integer(a) for a, b in zip(m, p, strict=True)) / 2
    shared = {"constraints": [x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1]}
    return {
        "vector": taut.System(q, mass=m, potential=potential, **shared),
        "matrix": taut.System(q, mass=np.diag(m), potential=potential, **shared),
        "sympy matrix": taut.System(q, mass=sp.diag(*m), potential=potential, **shared),
        "kinetic": taut.System(q, kinetic=kinetic, potential=potential, **shared),
        "lagrangian": taut.System(q, lagrangian=kinetic - potential, **shared),
        "hamiltonian": taut.System(q, hamiltonian=inverse + potential, **shared),
    }


@pytest.fixture
def polar():
    """A point on the track r = 1 + φ²/4 in polar coordinates (M depends on q), in every form."""
    q = r, phi = taut.coordinates("r phi")
    (vr, vphi), (pr, pphi) = taut.velocities(q), taut.momenta(q)
    potential = 10 * r * sp.sin(phi) + r**2
    kinetic = (vr**2 + r**2 * vphi**2) / 2
    shared = {"constraints": [r - 1 - phi**2 / 4]}
    return {
        "vector": taut.System(q, mass=[1, r**2], potential=potential, **shared),
        "matrix": taut.System(q, mass=[[1, 0], [0, r**2]], potential=potential, **shared),
        "kinetic": taut.System(q, kinetic=kinetic, potential=potential, **shared),
        "lagrangian": taut.System(q, lagrangian=kinetic - potential, **shared),
        "hamiltonian": taut.System(
            q, hamiltonian=(pr**2 + pphi**2 / r**2) / 2 + potential, **shared
        ),
    }


@pytest.mark.parametrize("method", METHODS)
def test_all_forms_of_a_constant_mass_move_alike(double_pendulum, method):
    start = {"q0": [0.6, 0.8, 0.6, 1.8], "v0": [0.8, -0.6, 1.3, -0.6]}
    runs = {
        name: taut.simulate(s, **start, duration=1, step=0.01, method=method)
        for name, s in double_pendulum.items()
    }
    first = runs.pop("vector")
    for name, run in runs.items():
        for array in ("q", "v", "p", "energy", "multipliers"):
            a, b = getattr(first, array), getattr(run, array)
            np.testing.assert_allclose(b, a, rtol=0, atol=2e-12 * abs(a).max(), err_msg=name)


@pytest.mark.parametrize("method", METHODS)
def test_all_forms_of_a_mass_that_depends_on_q_move_alike(polar, method):
    start = {"q0": [1, 0], "v0": [0, 1]}
    runs = {
        name: taut.simulate(s, **start, duration=1, step=0.01, method=method)
        for name, s in polar.items()
    }
    first = runs.pop("vector")
    for name, run in runs.items():
        for array in ("q", "v", "p", "energy", "multipliers"):
            a, b = getattr(first, array), getattr(run, array)
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * abs(a).max(), err_msg=name)


def test_a_mass_that_depends_on_q_is_the_same_physics(polar):
    """The track in Cartesian coordinates, by Richardson extrapolation of both."""
    arc = sp.atan2(y, x)
    plane = taut.System(
        [x, y],
        mass=[1, 1],
        potential=10 * y + x**2 + y**2,
        constraints=[sp.sqrt(x**2 + y**2) - 1 - arc**2 / 4],
    )

    def place(system, h, **start):
        run = taut.simulate(system, duration=1, step=h, **start)
        return run.q[-1]

    def best(system, **start):
        coarse, fine = (place(system, h, **start) for h in (0.004, 0.002))
        return fine + (fine - coarse) / 3

    r, phi = best(polar["matrix"], q0=[1, 0], v0=[0, 1])
    flat = best(plane, q0=[1, 0], v0=[0, 1])
    np.testing.assert_allclose(flat, [r * np.cos(phi), r * np.sin(phi)], atol=2e-8)


# ---- equations -------------------------------------------------------------------------------


@pytest.fixture
def swing():
    """A spring pendulum on a track, by hand: (system from L, system from H, what is known)."""
    q = r, th = taut.coordinates("r th")
    vr, vt = taut.velocities(q)
    pr, pt = taut.momenta(q)
    m, g, c, l = (sp.Symbol(s, real=True) for s in ("m", "g", "c", "l"))
    ar, at = sp.symbols("r_ddot th_ddot", real=True)
    lam = sp.Symbol("λ", real=True)
    potential = -m * g * r * sp.cos(th) + c * (r - l) ** 2 / 2
    shared = {
        "constraints": [r - l * (1 + th**2 / 10)],
        "forces": {r: -c * vr},
        "parameters": {"m": 1, "g": 10, "c": 3, "l": 1},
    }
    lagrangian = m * (vr**2 + r**2 * vt**2) / 2 - potential
    hamiltonian = pr**2 / (2 * m) + pt**2 / (2 * m * r**2) + potential
    known = {
        "lagrangian": lagrangian,
        "hamiltonian": hamiltonian,
        "momenta": [m * vr, m * r**2 * vt],
        "euler_lagrange": [
            m * ar - m * r * vt**2 - m * g * sp.cos(th) + c * (r - l) + c * vr + lam,
            m * r**2 * at + 2 * m * r * vr * vt + m * g * r * sp.sin(th) - lam * l * th / 5,
        ],
        "canonical": [
            vr - pr / m,
            vt - pt / (m * r**2),
            sp.Symbol("p_r_dot", real=True)
            - (pt**2 / (m * r**3) + m * g * sp.cos(th) - c * (r - l) - c * vr - lam),
            sp.Symbol("p_th_dot", real=True) - (-m * g * r * sp.sin(th) + lam * l * th / 5),
        ],
    }
    return (
        taut.System(q, lagrangian=lagrangian, **shared),
        taut.System(q, hamiltonian=hamiltonian, **shared),
        known,
    )


@pytest.mark.parametrize("given", [0, 1], ids=["from L", "from H"])
def test_equations_are_the_ones_derived_by_hand(swing, given):
    known = swing[2]
    found = swing[given].equations()
    assert sp.expand(found.lagrangian - known["lagrangian"]) == 0
    assert sp.expand(found.hamiltonian - known["hamiltonian"]) == 0
    assert [sp.expand(e.rhs - p) for e, p in zip(found.momenta, known["momenta"], strict=True)] == [
        0
    ] * 2
    for group in ("euler_lagrange", "canonical"):
        equations = getattr(found, group)
        assert len(equations) == len(known[group])
        for equation, zero in zip(equations, known[group], strict=True):
            assert sp.expand(equation.lhs - equation.rhs - zero) == 0
    assert [e.lhs for e in found.constraints] == list(swing[given].constraints)
    assert found.multipliers == (sp.Symbol("λ", real=True),)


def test_explicit_time_enters_the_equations():
    L = taut.t**2 * u**2 / 2 + sp.sin(taut.t) * u
    found = taut.System([x], lagrangian=L).equations()
    a = sp.Symbol("x_ddot", real=True)
    (equation,) = found.euler_lagrange
    known = taut.t**2 * a + 2 * taut.t * u + sp.cos(taut.t)
    assert sp.expand(equation.lhs - equation.rhs - known) == 0
    known = (px - sp.sin(taut.t)) ** 2 / (2 * taut.t**2)
    assert sp.expand(found.hamiltonian - known) == 0


def test_one_multiplier_per_constraint():
    s = taut.System([x, y], mass=[1, 1], constraints=[x, y])
    assert [m.name for m in s.equations().multipliers] == ["λ0", "λ1"]


def test_equations_without_a_closed_transform_say_none():
    s = taut.System([x], lagrangian=u**2 / 2 + u**4 + sp.exp(u))
    found = s.equations()
    assert found.hamiltonian is None
    assert found.canonical == []
    assert len(found.euler_lagrange) == 1
    assert "H =" not in str(found)
    assert "canonical" not in str(found)


def test_equations_render(swing):
    found = swing[0].equations()
    latex = found._repr_latex_()
    assert latex.startswith(r"$\displaystyle \begin{aligned}")
    assert latex.endswith(r"\end{aligned}$")
    assert latex.count("&=") == 2 + 2 + 4 + 1
    assert r"\cos" in latex
    text = str(found)
    assert "Euler–Lagrange:" in text
    assert "canonical:" in text
    assert "constraints:" in text


def test_simplify_is_never_called(monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("simplify was called")

    monkeypatch.setattr(sp, "simplify", forbidden)
    monkeypatch.setattr(importlib.import_module("sympy.simplify.simplify"), "simplify", forbidden)
    monkeypatch.setattr(sp.Basic, "simplify", forbidden)
    mass = [[2 + sp.cos(x), sp.sin(x - y)], [sp.sin(x - y), 3 + sp.sin(y) ** 2 + sp.cos(y) ** 2]]
    s = taut.System([x, y], mass=mass, potential=sp.cos(x), constraints=[sp.sin(x) - y])
    s.equations().latex()
    taut.System([x, y], hamiltonian=px**2 + py**2 + sp.cos(x) * px * py).equations().latex()
    taut.simulate(s, q0=[0, 0], v0=[1, 1], duration=0.1, step=0.01)


# ---- symbols ---------------------------------------------------------------------------------


def test_dynamicsymbols_and_their_derivatives():
    a, b = dynamicsymbols("a b")
    t = dynamicsymbols._t
    L = (a.diff(t) ** 2 + b.diff() ** 2) / 2 - 10 * b + a * a.diff(t) * sp.cos(t)
    s = taut.System([a, b], lagrangian=L, constraints=[a**2 + b**2 - 1], forces={b: -b.diff(t)})
    assert [q.name for q in s.coordinates] == ["a", "b"]
    A, B = s.coordinates
    vA, vB = s.velocities
    plain = taut.System(
        [A, B],
        lagrangian=(vA**2 + vB**2) / 2 - 10 * B + A * vA * sp.cos(taut.t),
        constraints=[A**2 + B**2 - 1],
        forces={B: -vB},
    )
    assert s.energy_function == plain.energy_function
    assert s.forces == plain.forces
    assert s.key == plain.key
    one, two = (taut.simulate(m, q0=[1, 0], v0=0, duration=1, step=0.01) for m in (s, plain))
    assert np.array_equal(one.q, two.q)


def test_dynamicsymbols_as_velocities():
    a, speed = dynamicsymbols("a speed")
    s = taut.System([a], velocities=[speed], lagrangian=speed**2 / 2 - a**2 + a.diff() * a)
    (A,), (V,) = s.coordinates, s.velocities
    assert s.energy_function == V**2 / 2 - A**2 + V * A
    s = taut.System([a], velocities=[a.diff()], lagrangian=a.diff() ** 2 / 2)
    assert s.velocities[0].name == "a_dot"


def test_accelerations_are_refused():
    a = dynamicsymbols("a")
    with pytest.raises(taut.ModelError, match="Derivative"):
        taut.System([a], mass=[1], forces=[a.diff(dynamicsymbols._t, 2)])


def test_symbols_are_known_by_their_names():
    """Whatever assumptions a symbol was made with, and whether t is ours or not."""
    X, Y = sp.symbols("x y", positive=True)
    T = sp.Symbol("t")
    s = taut.System(
        [x, sp.Symbol("y")],
        mass=[1, 1 + X**2],
        potential=10 * Y + sp.sin(T) * sp.Symbol("x", integer=True),
        constraints=["x**2 + y**2 - 1"],
    )
    assert s.energy_function == u**2 / 2 + (1 + x**2) * w**2 / 2 - 10 * y - sp.sin(taut.t) * x
    assert s.constraints == (x**2 + y**2 - 1,)
    assert not s.autonomous
    assert not s.rheonomic
    assert taut.System([x, y], mass=[1, 1], constraints=[x - sp.cos(T) * y]).rheonomic


def test_names_of_velocities_and_momenta():
    speed, push = sp.symbols("speed push")
    s = taut.System([x], velocities=[speed], momenta=[push], kinetic=speed**2 / 2)
    assert (s.velocities[0].name, s.momenta[0].name) == ("speed", "push")
    h = taut.System([x], momenta=[push], hamiltonian=push**2 / 2 + x**2)
    assert h.energy_function == s.momenta[0] ** 2 / 2 + x**2
    assert [v.name for v in taut.velocities([x, y])] == ["x_dot", "y_dot"]
    assert [v.name for v in taut.momenta([x, y])] == ["p_x", "p_y"]


def test_read_gives_expressions_in_our_symbols():
    s = taut.System([x], mass=[1])
    assert s.read(sp.Symbol("x") ** 2) == x**2
    with pytest.raises(taut.ModelError, match="contains q, which"):
        s.read(sp.Symbol("q"))


def test_repr_counts():
    assert (
        repr(taut.System([x], mass=[1]))
        == "System: 1 coordinate, 0 constraints, 1 degree of freedom"
    )


# ---- parameters ------------------------------------------------------------------------------


@pytest.fixture
def oscillator():
    m = sp.Symbol("m")
    return taut.System([x], mass=[m], potential=k * x**2 / 2, parameters={m: 2, "k": None})


def test_parameters_have_defaults_and_overrides(oscillator):
    assert oscillator.parameters == {"m": 2.0, "k": None}
    assert oscillator.values({"k": 8}).tolist() == [2, 8]
    assert oscillator.values({k: 8, sp.Symbol("m"): 3}).tolist() == [3, 8]
    settings = {"q0": [1], "v0": [0], "duration": 1, "step": 0.001}
    for values, rate in (({"k": 8}, 2.0), ({"k": 27, "m": 3}, 3.0)):
        run = taut.simulate(oscillator, parameters=values, **settings)
        np.testing.assert_allclose(run.q[:, 0], np.cos(rate * run.t), atol=2e-6)
        assert run.parameters == {"m": 2.0} | {n: float(v) for n, v in values.items()}


def test_parameters_as_a_list_have_no_defaults():
    s = taut.System([x], mass=["m"], parameters=["m"])
    assert s.parameters == {"m": None}


def test_a_missing_parameter_is_named(oscillator):
    with pytest.raises(taut.InputError, match="no value for the parameter k") as caught:
        taut.simulate(oscillator, q0=[1], v0=[0], duration=1, step=0.1)
    assert "parameters={'k'" in caught.value.remedy


def test_a_system_without_parameters_says_so():
    free = taut.System([x, y], mass=[1, 1])
    with pytest.raises(taut.UnknownName, match="no parameter: there are none"):
        free.values({"k": 1})


def test_an_unknown_parameter_lists_the_known_ones(oscillator):
    with pytest.raises(taut.UnknownName, match="one of k, m"):
        oscillator.values({"kk": 1})


@pytest.mark.parametrize("value", [np.nan, np.inf, "heavy", 1j, None, [1]])
def test_bad_parameter_values(oscillator, value):
    with pytest.raises(taut.InputError, match="parameter k"):
        oscillator.values({"k": value})


@pytest.mark.parametrize("given", [[1, 2], 3, "k"])
def test_parameters_of_a_run_are_a_mapping(oscillator, given):
    with pytest.raises(taut.InputError, match="parameters is not a mapping"):
        oscillator.values(given)


def test_new_values_do_not_recompile(oscillator, monkeypatch):
    settings = {"q0": [1], "v0": [0], "duration": 0.1, "step": 0.01}
    taut.simulate(oscillator, parameters={"k": 8}, **settings)
    shop = workshop(oscillator)
    steps = dict(shop._steps)
    assert len(steps) == 1

    def forbidden(*_, **__):
        raise AssertionError("something was compiled")

    monkeypatch.setattr(native, "object_code", forbidden)
    run = taut.simulate(oscillator, parameters={"k": 9, "m": 1}, **settings)
    assert shop._steps == steps
    assert abs(run.q[-1, 0] - np.cos(0.3)) < 1e-4
    with pytest.raises(AssertionError, match="compiled"):
        taut.simulate(oscillator, parameters={"k": 8}, method="time-element", **settings)


def test_equal_systems_share_what_is_compiled():
    one, two = (taut.System([x], mass=[3], potential=x**4) for _ in range(2))
    other = taut.System([x], mass=[3], potential=x**4 + x)
    assert one.key == two.key != other.key
    assert workshop(one) is workshop(two)


# ---- constraints and forces ------------------------------------------------------------------


def test_constraints_have_names():
    s = taut.System([x, y], mass=[1, 1], constraints={"rod": x**2 + y**2 - 1, "wall": y})
    assert s.constraint_names == ("rod", "wall")
    assert taut.System([x, y], mass=[1, 1], constraints=[x, y]).constraint_names == ("g0", "g1")
    assert taut.System([x, y], mass=[1, 1], constraints=sp.Matrix([x, y])).c == 2


def test_an_equation_is_a_constraint():
    s = taut.System([x, y], mass=[1, 1], constraints={"rod": sp.Eq(x**2 + y**2, 1)})
    assert s.constraints == (x**2 + y**2 - 1,)


def test_one_mass_for_all_coordinates():
    m = sp.Symbol("m")
    for mass in (3, m, "m"):
        s = taut.System([x, y], mass=mass, parameters={"m": 3})
        assert s.energy_function.subs(sp.Symbol("m", real=True), 3) == sp.expand(
            3 * (u**2 + w**2) / 2
        )


def test_forces_by_coordinate_or_by_place():
    for forces in ({y: -w}, {"y": -w}, [0, -w], sp.Matrix([0, -w]), (0, "-y_dot")):
        s = taut.System([x, y], mass=[1, 1], forces=forces)
        assert s.forces == (0, -w)
        assert s.forced
        assert not s.conservative


# ---- what is refused -------------------------------------------------------------------------

BAD = {
    "coordinates in a string": (dict(coordinates="x y"), "coordinates must be a list"),
    "one bare coordinate": (dict(coordinates=x), "coordinates must be a list"),
    "no coordinates": (dict(coordinates=[], mass=[]), "at least one coordinate"),
    "a number as coordinate": (dict(coordinates=[x, 3]), "3 cannot stand for"),
    "an expression as coordinate": (dict(coordinates=[x, x * y]), "x\\*y cannot stand for"),
    "an object as coordinate": (dict(coordinates=[x, object()]), "cannot stand for"),
    "a coordinate twice": (dict(coordinates=[x, x]), "'x' is used twice"),
    "a coordinate named t": (dict(coordinates=[x, sp.Symbol("t")]), "'t' is used twice"),
    "a parameter named t": (dict(parameters={"t": 1}), "'t' is used twice"),
    "a parameter named as a coordinate": (dict(parameters={"x": 1}), "'x' is used twice"),
    "a parameter named as a velocity": (dict(parameters={"x_dot": 1}), "'x_dot' is used twice"),
    "a parameter twice": (dict(parameters={k: 1, "k": 2}), "'k' is used twice"),
    "velocities named as coordinates": (dict(velocities=[x, y]), "'x' is used twice"),
    "too few velocities": (dict(velocities=[u]), "velocities do not fit"),
    "too many momenta": (dict(momenta=[px, py, k]), "momenta do not fit"),
    "parameters in a string": (dict(parameters="k m"), "parameters must be a list"),
    "a number as parameters": (dict(parameters=3), "parameters must be a list"),
    "a parameter that is NaN": (dict(parameters={"k": np.nan}), "parameter k is not finite"),
    "no energy": (dict(mass=None), "exactly one form"),
    "two energies": (dict(kinetic=u**2), "exactly one form"),
    "potential beside a Lagrangian": (
        dict(mass=None, lagrangian=u**2 + w**2, potential=x), "potential= is given beside"),
    "potential beside a Hamiltonian": (
        dict(mass=None, hamiltonian=px**2 + py**2, potential=x), "potential= is given beside"),
    "mass 0": (dict(mass=0), "singular"),
    "mass of three axes": (dict(mass=np.ones((2, 2, 2))), "mass does not fit"),
    "mass too short": (dict(mass=[1]), "mass does not fit"),
    "mass too wide": (dict(mass=np.ones((2, 3))), "mass does not fit"),
    "ragged mass": (dict(mass=[[1, 0], [1]]), "mass is not a scalar"),
    "asymmetric mass": (dict(mass=[[2, 1], [0, 2]]), "mass is not symmetric"),
    "asymmetric mass of q": (dict(mass=[[2, x], [y, 2]]), "mass is not symmetric"),
    "mass with velocities": (dict(mass=[1 + u**2, 1]), "mass may not depend on x_dot"),
    "negative mass": (dict(mass=[1, -1]), "negative along y"),
    "negative number": (dict(mass=-2), "negative along x, y"),
    "indefinite mass": (dict(mass=[[1, 2], [2, 1]]), "negative along x, y"),
    "mass of q with a negative entry": (dict(mass=[[-1, x], [x, 2]]), "negative along x"),
    "singular mass": (dict(mass=[1, 0]), "singular"),
    "singular mass matrix": (dict(mass=[[1, 2], [2, 4]]), "singular"),
    "singular mass with a parameter": (
        dict(mass=[[k, 2 * k], [2 * k, 4 * k]], parameters=["k"]), "singular"),
    "mass of q, singular everywhere": (dict(mass=[[x**2, x * y], [x * y, y**2]]), "singular"),
    "singular kinetic energy": (dict(mass=None, kinetic=(u + w) ** 2), "along x, y"),
    "singular Lagrangian": (dict(mass=None, lagrangian=u**2 + w - x), "along y"),
    "singular Hamiltonian": (dict(mass=None, hamiltonian=px**2 + py), "along y"),
    "velocity in the potential": (dict(potential=x * u), "potential may not depend on x_dot"),
    "momentum in the potential": (dict(potential=px), "potential may not depend on p_x"),
    "momentum in a Lagrangian": (
        dict(mass=None, lagrangian=u**2 + w**2 + px), "lagrangian may not depend on p_x"),
    "velocity in a Hamiltonian": (
        dict(mass=None, hamiltonian=px**2 + py**2 + u), "hamiltonian may not depend on x_dot"),
    "unknown symbol": (dict(potential=k * x + sp.Symbol("h")), "potential contains h, k, which"),
    "unknown function": (dict(potential=sp.Function("f")(x)), "contains f\\(x\\)"),
    "unknown symbol in a constraint": (dict(constraints=[x - k]), "constraint g0 contains k"),
    "unknown symbol in a force": (dict(forces=[0, k]), "force on y contains k"),
    "NaN": (dict(potential=np.nan), "potential is not finite"),
    "NaN inside": (dict(potential=sp.Add(x, sp.nan, evaluate=False)), "potential is not finite"),
    "inf": (dict(potential=np.inf), "potential is not finite"),
    "oo inside": (dict(potential=sp.oo * x), "potential is not finite"),
    "zoo": (dict(potential=sp.zoo), "potential is not finite"),
    "too large for a float": (dict(potential=sp.Integer(10) ** 400 * x), "potential is not finite"),
    "NaN in the mass": (dict(mass=[1, np.nan]), "mass is not finite"),
    "inf in a constraint": (dict(constraints=[x - sp.oo]), "constraint g0 is not finite"),
    "NaN in a force": (dict(forces=[np.nan, 0]), "force on x is not finite"),
    "complex potential": (dict(potential=1j * x), "potential is complex"),
    "complex mass": (dict(mass=[1, 1j]), "mass is complex"),
    "complex constant": (dict(potential=sp.sqrt(-2)), "potential is complex"),
    "not an expression": (dict(potential="x +* y"), "potential is not an expression"),
    "an empty string": (dict(potential=""), "potential is not an expression"),
    "two words": (dict(potential="x y"), "potential is not an expression"),
    "a function as potential": (dict(potential="lambda: x"), "potential is not"),
    "an object as potential": (dict(potential=object()), "potential is not an expression"),
    "None as potential": (dict(potential=None), "potential is not"),
    "a list as potential": (dict(potential=[x]), "potential is not a scalar"),
    "a matrix as potential": (dict(potential=sp.Matrix([x])), "potential is not a scalar"),
    "a truth value as potential": (dict(potential=True), "potential is not a scalar"),
    "a relation as potential": (dict(potential=x > 0), "potential is not a scalar"),
    "a relation as constraint": (dict(constraints=[x > 0]), "g0 is not a scalar"),
    "velocity in a constraint": (dict(constraints=[x * u]), "g0 depends on velocities"),
    "momentum in a constraint": (dict(constraints={"rod": px}), "rod depends on velocities"),
    "constraint without coordinates": (dict(constraints=[taut.t - 1]), "g0 depends on no coord"),
    "constraint that is a number": (dict(constraints=[x, 3]), "g1 depends on no coord"),
    "one bare constraint": (dict(constraints=x), "constraints must be a list"),
    "constraints in a string": (dict(constraints="x"), "constraints must be a list"),
    "None as constraints": (dict(constraints=None), "constraints must be a list"),
    "constraints of one name": (dict(constraints={1: x, "1": y}), "share the name 1"),
    "too few forces": (dict(forces=[1]), "forces do not fit"),
    "too many forces": (dict(forces=[1, 2, 3]), "forces do not fit"),
    "one bare force": (dict(forces=x), "forces must be a list"),
    "a number as forces": (dict(forces=3), "forces must be a list"),
    "momentum in a force": (dict(forces=[px, 0]), "may not depend on p_x"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_bad_systems_are_refused(change, message):
    given = {"coordinates": [x, y], "mass": [1, 1]} | change
    with pytest.raises(taut.TautError, match=message) as caught:
        taut.System(given.pop("coordinates"), **given)
    assert isinstance(caught.value, taut.ModelError | taut.InputError)


def test_a_force_on_an_unknown_coordinate_lists_the_known_ones():
    with pytest.raises(taut.UnknownName, match="one of x, y"):
        taut.System([x, y], mass=[1, 1], forces={"z": 1})


def test_an_unknown_symbol_lists_the_known_ones():
    with pytest.raises(taut.ModelError) as caught:
        taut.System([x], mass=[1], potential=k * x, parameters={"m": 1})
    assert caught.value.expected == "only m, p_x, t, x, x_dot"
    assert caught.value.received == "k*x"
    assert "parameters=" in caught.value.remedy


@pytest.mark.parametrize("names", ["", 3, None])
def test_coordinates_need_names(names):
    with pytest.raises(taut.ModelError, match="no names"):
        taut.coordinates(names)


@pytest.mark.parametrize(
    "mass", [[2e30, 1e3], [1e-15, 1e15], [[1e20, 1.0], [1.0, 1e-18]], [1e-200, 1e-200]]
)
def test_masses_may_differ_by_any_factor(mass):
    assert taut.System([x, y], mass=mass).n == 2


def test_a_mass_may_be_singular_at_some_points():
    assert taut.System([x], mass=[x**2]).n == 1
    assert taut.System([x, y], mass=[sp.log(x - 100), 1]).n == 2  # outside the domain: no verdict


def test_a_symmetric_mass_may_be_written_in_two_ways():
    mass = [[3, x * (x + 1)], [x**2 + x, 3]]
    assert taut.System([x, y], mass=mass).n == 2


@pytest.mark.parametrize(
    "mass",
    [
        [[2, 0.1 + 0.2], [0.3, 1]],
        [[2, (0.1 + 0.2) * sp.cos(x)], [0.3 * sp.cos(x), 1]],
        [[3, sp.sin(2 * x)], [2 * sp.sin(x) * sp.cos(x), 3]],
        [[1e9, 5 + 1e-14], [5, 1e-7]],  # rounding of √(Mᵢᵢ Mⱼⱼ)
    ],
    ids=["numbers", "expressions", "angles", "units"],
)
def test_a_mass_may_be_rounded_or_written_otherwise(mass):
    assert taut.System([x, y], mass=mass).n == 2


def test_a_mass_is_symmetric_up_to_the_rounding_of_its_own_entries(rng):
    """Sums in another order, in any units."""
    names = taut.coordinates("a b c d e f")
    for _ in range(10):
        factors = rng.standard_normal((8, 6)) * 10.0 ** rng.uniform(-4, 5, 6)
        mass = np.array([[sum(rng.permutation(a * b)) for a in factors.T] for b in factors.T])
        assert not np.array_equal(mass, mass.T)
        kinetic = taut.System(names, mass=mass).terms[0].expressions[0]
        assert sp.Poly(kinetic, *taut.velocities(names)).coeff_monomial(
            taut.velocities(names)[0] ** 2
        ) == pytest.approx(mass[0, 0] / 2)


@pytest.mark.parametrize(
    ("mass", "where"),
    [
        ([[2, 0.3 + 1e-8], [0.3, 1]], r"\(0, 1\)"),
        ([[1e9, 1e-5], [2e-5, 1]], "mass is not symmetric"),  # small beside 1e9, and wrong
        ([[3, sp.sin(2 * x)], [sp.sin(x) * sp.cos(x), 3]], "mass is not symmetric"),
        ([[3, sp.log(x - 100)], [sp.log(x - 101), 3]], "mass is not symmetric"),  # no numbers
        ([[1e9, 10.1], [10.1, 1e-7]], "negative along x, y"),
    ],
)
def test_a_mass_that_is_wrong_in_small_entries(mass, where):
    with pytest.raises(taut.ModelError, match=where):
        taut.System([x, y], mass=mass)


# ---- terms -----------------------------------------------------------------------------------


@pytest.fixture
def chain_terms():
    """A planar chain of three rods with masses 1, 2, 3."""
    a, b, c, d, m = sp.symbols("a b c d m", real=True)
    va, vb = sp.symbols("va vb", real=True)
    pairs = np.arange(6).reshape(3, 2)
    body = taut.Term(
        "lagrangian", (a, b), [m * (va**2 + vb**2) / 2 - m * sp.Symbol("g") * b], pairs,
        rates=(va, vb), constants=(m,), values=[1, 2, 3],
    )  # fmt: skip
    first = taut.Term("constraint", (a, b), [a**2 + b**2 - 1], pairs[:1], names=["hook"])
    rods = taut.Term(
        "constraint", (a, b, c, d), [(c - a) ** 2 + (d - b) ** 2 - 1],
        np.hstack([pairs[:-1], pairs[1:]]),
    )  # fmt: skip
    drag = taut.Term("force", (a,), [-va * sp.sin(sp.Symbol("t")) ** 2], [0, 2, 4], rates=(va,))
    return [body, first, rods, drag]


def test_terms_equal_the_system_written_by_hand(chain_terms):
    q = taut.coordinates("q0:6")
    v = taut.velocities(q)
    g = sp.Symbol("g", real=True)
    by_terms = taut.System.from_terms(q, chain_terms, parameters={"g": 10})
    m = [1, 1, 2, 2, 3, 3]
    by_hand = taut.System(
        q,
        mass=m,
        potential=g * (q[1] + 2 * q[3] + 3 * q[5]),
        constraints=[
            q[0] ** 2 + q[1] ** 2 - 1,
            (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 1,
            (q[4] - q[2]) ** 2 + (q[5] - q[3]) ** 2 - 1,
        ],
        forces={s: -s_dot * sp.sin(taut.t) ** 2 for s, s_dot in zip(q[::2], v[::2], strict=True)},
        parameters={"g": 10},
    )
    assert by_terms.constraint_names == ("hook", "g1", "g2")
    assert sp.expand(sp.nsimplify(by_terms.energy_function - by_hand.energy_function)) == 0
    assert [
        sp.expand(a - b) for a, b in zip(by_terms.constraints, by_hand.constraints, strict=True)
    ] == [0] * 3
    assert [sp.expand(a - b) for a, b in zip(by_terms.forces, by_hand.forces, strict=True)] == [
        0
    ] * 6
    start = {"q0": [1, 0, 2, 0, 3, 0], "v0": 0, "duration": 1, "step": 0.01}
    one, two = (taut.simulate(s, **start) for s in (by_terms, by_hand))
    np.testing.assert_allclose(one.q, two.q, atol=1e-11)
    np.testing.assert_allclose(one.multipliers, two.multipliers, atol=1e-8)
    np.testing.assert_allclose(one.energy, two.energy, atol=1e-10)


TERM = {
    "kind": "lagrangian",
    "coordinates": (x,),
    "expressions": [u**2],
    "indices": [[0]],
    "rates": (u,),
}
BAD_TERMS = {
    "kind": (dict(kind="energy"), "cannot be of kind 'energy'"),
    "columns": (dict(indices=[[0, 1]]), "indices of a term do not fit"),
    "half an index": (dict(indices=[[0.5]]), "whole numbers"),
    "NaN as index": (dict(indices=[[np.nan]]), "whole numbers"),
    "letters as indices": (dict(indices=[["a"]]), "not numbers"),
    "no instance": (dict(indices=np.zeros((0, 1), int)), "do not fit"),
    "two energies": (dict(expressions=[u**2, x]), "wrong number of expressions"),
    "too few forces": (
        dict(kind="force", coordinates=(x, y), rates=(), indices=[[0, 1]], expressions=[x]),
        "wrong number of expressions"),
    "too many rates": (dict(rates=(u, w)), "one rate per coordinate"),
    "a coordinate twice": (
        dict(coordinates=(x, y), rates=(u, w), indices=[[0, 0]]), "uses a coordinate twice"),
    "values without constants": (dict(values=[[1.0]]), "values of a term do not fit"),
    "too few values": (dict(constants=(k,), indices=[[0], [1]], values=[[1.0]]), "do not fit"),
    "NaN as value": (dict(constants=(k,), values=[[np.nan]]), "not finite"),
    "names": (
        dict(kind="constraint", rates=(), expressions=[x], names=["a", "b"]), "one name per"),
    "NaN": (dict(expressions=[sp.nan * x]), "not finite"),
    "not an expression": (dict(expressions=["x +* y"]), "not an expression"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD_TERMS.values(), ids=BAD_TERMS)
def test_bad_terms_are_refused(change, message):
    with pytest.raises(taut.ModelError, match=message):
        taut.Term(**(TERM | change))


def test_bad_sums_of_terms_are_refused():
    good = taut.Term(**TERM)
    bound = taut.Term("constraint", (x,), [x], [[0]])
    cases = {
        "Lagrangian or Hamiltonian": [bound],
        "and not both": [good, taut.Term("hamiltonian", (x,), [u**2], [[0]], rates=(u,))],
        "outside the coordinates": [taut.Term(**(TERM | {"indices": [[2]]}))],
        "contains h, which": [taut.Term(**(TERM | {"expressions": [u**2 + sp.Symbol("h") * x]}))],
        "depends on velocities": [good, taut.Term("constraint", (x,), [x * u], [[0]], rates=(u,))],
        "share the name rod": [
            good, *(taut.Term("constraint", (x,), [x - i], [[i]], names=["rod"]) for i in (0, 1)),
        ],
    }  # fmt: skip
    for message, terms in cases.items():
        with pytest.raises(taut.ModelError, match=message):
            taut.System.from_terms([x, y], terms)


def test_one_constant_per_instance_may_be_a_plain_list():
    term = taut.Term(**(TERM | {"constants": (k,), "indices": [0, 1], "values": [3, 4]}))
    assert term.instances == 2
    assert term.values.tolist() == [[3], [4]]


def test_time_and_parameters_in_terms_are_those_of_the_system():
    """Also where they were written with symbols of other assumptions."""
    swing = u**2 * (2 + sp.sin(sp.Symbol("t"))) - sp.Symbol("k") * x**2
    term = taut.Term(**(TERM | {"expressions": [swing]}))
    s = taut.System.from_terms([x], [term], parameters={"k": 2})
    assert s.energy_function.free_symbols == {x, u, taut.t, k}
    assert not s.autonomous
    (equation,) = s.equations().euler_lagrange
    assert equation.lhs.has(sp.cos(taut.t))


def test_one_mass_for_all_and_constraints_as_equations():
    """mass=2 is [2, 2]; Eq(lhs, rhs) is lhs − rhs."""
    one = taut.System([x, y], mass=2, constraints=[sp.Eq(x**2 + y**2, 1)])
    other = taut.System([x, y], mass=[2, 2], constraints=[x**2 + y**2 - 1])
    assert one.energy_function == other.energy_function
    assert one.constraints == other.constraints


def test_coordinates_of_the_same_name_are_refused():
    with pytest.raises(taut.TautError, match="not all different"):
        taut.coordinates("x y x")


# ---- constraints on velocities -------------------------------------------------------------------


class TestRates:
    """What is said of a constraint that depends on rates can be done."""

    def said(self, expr, names="x y a"):
        with pytest.raises(taut.ModelError) as caught:
            taut.System(taut.coordinates(names), mass=1, constraints=[expr])
        return caught.value.remedy

    def test_of_a_rate_the_constraint_is_said(self):
        (x, y, a), (u, v, w) = taut.coordinates("x y a"), taut.velocities(taut.coordinates("x y a"))
        assert self.said(2 * x * u + sp.cos(y) * v - taut.t).startswith(
            "constraints=[-t**2/2 + x**2 + sin(y) - value]"
        )
        assert self.said(u * y + v * x + sp.sin(a) * w).startswith("constraints=[x*y - cos(a) - va")

    def test_of_a_blade_the_force_that_is_said_holds_it(self):
        """On a slope: x = g sin²(t)/2, y = g (t − sin 2t/2)/2, to 1/c."""
        q = taut.coordinates("x y a")
        x, _, a = q
        u, v, _ = taut.velocities(q)
        remedy = self.said(u * sp.sin(a) - v * sp.cos(a))
        listed = remedy.partition("forces=")[2].partition("] ")[0] + "]"
        off = []
        for size in (1e2, 1e3):
            names = {s.name: s for s in (*q, u, v)} | {"c": size, "sin": sp.sin, "cos": sp.cos}
            forces = eval(listed, {}, names)
            s = taut.System(q, mass=[1, 1, 0.5], potential=-4 * x, forces=forces)
            run = taut.simulate(s, q0=[0, 0, 0], v0=[0, 0, 1], duration=3, step=0.001, laws=None)
            gone = 2 * np.sin(run.t) ** 2, 2 * (run.t - np.sin(2 * run.t) / 2)
            off.append(np.abs(run.q[:, :2].T - gone).max())
        assert off[0] < 0.5
        assert off[1] == pytest.approx(off[0] / 10, rel=0.1)

    @pytest.mark.parametrize(
        ("expr", "found"),
        [
            ("(x*v - y*u)/(x**2 + y**2)", "atan2(y, x)"),
            ("x*v - y*u", "atan2(y, x)"),
            ("u*exp(y) + v", "x - exp(-y)"),
            ("a*(y*a*u + x*a*v + x*y*w)", "a*x*y"),
            ("u - x*sin(t)", "x*exp(cos(t))"),
            ("(x*u + y*v + a*w)/sqrt(x**2 + y**2 + a**2)", "sqrt(a**2 + x**2 + y**2)"),
        ],
    )
    def test_a_form_that_is_a_rate_times_a_factor_has_its_constraint(self, expr, found):
        q = taut.coordinates("x y a")
        names = dict(zip("xyauvw", (*q, *taut.velocities(q)), strict=True)) | {"t": taut.t}
        form, g = (sp.sympify(e, locals=names) for e in (expr, found))
        remedy = self.said(form)
        assert remedy.startswith(f"constraints=[{found} - value], whose rate it is")
        rate = sum(g.diff(s) * v for s, v in zip(q, taut.velocities(q), strict=True))
        rate += g.diff(taut.t)
        factor = remedy.partition("is times ")[2].partition(", with")[0] or "1"
        assert sp.simplify(rate - sp.sympify(factor, locals=names) * form) == 0

    def test_in_two_variables_no_form_is_called_unholonomic(self):
        """For it is none, though no factor may be found."""
        (x, y, _), (u, v, w) = taut.coordinates("x y a"), taut.velocities(taut.coordinates("x y a"))
        remedy = self.said(u * sp.sin(x * y) + v * (x + y**3))
        assert "times a factor it is the rate of a g(q, t), as any in two variables" in remedy
        assert "slopes along (sin(x*y), x + y**3) by (x, y); resisted by forces=[" in remedy
        steep = sp.sin(x * y)  # in three: times a factor nobody guesses, and none at all
        level = self.said((u * sp.sin(x + y * y) + v * sp.exp(x)) * 3 + 0 * w)
        assert "as any in two variables" in level
        assert "nor is it times any factor" in self.said(u * steep + v + x * w)

    def test_of_more_variables_frobenius_decides(self):
        (x, y, a), (u, v, w) = taut.coordinates("x y a"), taut.velocities(taut.coordinates("x y a"))
        odd = sp.sin(x * y) * sp.exp(a * x) + y**2 + 3
        along = odd * (x * u + sp.cos(y) * v + (1 + a**2) * w)
        assert self.said(along).startswith("constraints=[")
        plane = [sp.sin(x * y), x + y**3]
        remedy = self.said(sp.exp(a) * (plane[0] * u + plane[1] * v))
        assert "it is the rate of a g(q, t), for ω ∧ dω = 0" in remedy
        for form in (u - a * v, w + x * v - y * u, sp.sin(taut.t) * u - sp.cos(taut.t) * v):
            assert "no rate of a g(q, t), nor is it times any factor" in self.said(form)
        # A number of a user's is rounded: 0.1 and 0.3/3 are the same slope.
        g = self.said(0.1 * y * u + (0.3 / 3) * x * v)
        assert g.startswith("constraints=[x*y/10 - value], whose rate it is, ")

    def test_of_what_is_not_linear_the_force_that_is_said_holds_it(self):
        """Speed 1 on a slope: the direction falls by tan(φ/2) = tan(φ₀/2) exp(−4t), to 1/c."""
        q = taut.coordinates("x y c")
        x = q[0]
        u, v, _ = taut.velocities(q)
        remedy = self.said(u**2 + v**2 - 1, "x y c")
        listed = remedy.partition("forces=")[2].partition("] ")[0] + "]"
        off = []
        for size in (1e2, 1e3):
            forces = eval(listed, {}, {s.name: s for s in (u, v)} | {"c0": size})
            s = taut.System(q, mass=1, potential=-4 * x, forces=forces)
            run = taut.simulate(s, q0=[0, 0, 0], v0=[0, 1, 0], duration=1, step=2e-4, laws=None)
            angle = 2 * np.arctan(np.exp(-4 * run.t))
            exact = np.stack([np.cos(angle), np.sin(angle)])
            off.append(np.abs(run.v[:, :2].T - exact).max())
        assert off[0] < 0.1
        assert off[1] == pytest.approx(off[0] / 10, rel=0.2)

    def test_squares_have_no_slope_where_they_hold(self):
        x, u = taut.coordinates("x y a")[0], taut.velocities(taut.coordinates("x y a"))
        assert self.said((u[0] + x * u[1]) ** 2).startswith("write x*y_dot + x_dot, which vanishes")

    def test_momenta_are_written_by_velocities(self):
        p = taut.momenta(taut.coordinates("x y a"))
        assert self.said(p[1]).startswith(f"write {p[1]} as ∂L/∂y_dot; ")

    def test_of_long_ones_it_is_said_how_the_force_is_made(self):
        q = taut.coordinates("x y a")
        v = taut.velocities(q)
        f = v[0] + sum(sp.sin(k * q[1] + q[2]) * v[1] for k in range(60))
        remedy = self.said(f)
        listed = remedy.partition("forces=")[2].partition("] ")[0] + "]"
        forces = eval(listed, {"c": 10, "f": f, "v": v})
        assert taut.System(q, mass=1, forces=forces).forced


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1, 1e6])
def test_what_saturates_has_a_mass_in_every_unit_of_momentum(unit):
    """√(1 + p²) bends by 1/p³ where p is large, as numbers about one are in a small unit."""
    x, _ = q = taut.coordinates("x y")
    px, py = taut.momenta(q)
    taut.System(q, hamiltonian=sp.sqrt(1 + (px**2 + py**2) / unit**2) + x**2)
    with pytest.raises(taut.ModelError, match="mass matrix is singular"):
        taut.System(q, hamiltonian=sp.sqrt(px**2 + py**2) / unit + x**2)  # what has no rest mass
