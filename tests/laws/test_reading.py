"""What people write: floats, names, laws as arguments, momenta; and what is said to them."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.laws.known import laws_of
from taut.laws.ring import exact

x, y = Q = taut.coordinates("x y")
u, v = taut.velocities(Q)
px, py = taut.momenta(Q)


def kinds(laws):
    return [law.kind for law in laws]


@pytest.mark.parametrize("value", [0.1, 1 / 3, -2 / 7, 9.81, 1e-3, 5.0, 123456.5, 2 / 999_983])
def test_floats_are_the_simplest_fractions(value):
    found = exact(value)
    assert float(found) == value
    assert found.q <= 1_000_000
    assert float(exact(2**0.5)) == 2**0.5
    assert exact(2**0.5) ** 2 != 2


def test_what_a_rounding_has_spoiled_stands_for_the_same():
    """3 · 0.1 is no float of 0.3, and the flow of a polynomial in floats had no law."""
    assert exact(3 * 0.1) == sp.Rational(3, 10)
    assert exact(1e-6**3) == sp.Rational(1, 10**18)
    assert exact(1e24) == 10**24
    assert exact(0.123456789012345) == sp.Rational("0.123456789012345")
    assert exact(0.0) == exact(-0.0) == 0
    height = 0.1 * x**3 + 0.7 * y**2 + x * y
    flow = taut.Flow(Q, [height.diff(y), -height.diff(x)])
    assert taut.conserved(flow, time=0).rank == 1


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-6, 86400.0])
def test_laws_are_the_same_in_other_units(unit):
    """Runge's and Lenz' vector was lost with k = 1e-18, a rate of decay with 1e-6."""
    kepler = taut.System(Q, mass=unit, potential=-(unit**4) / sp.sqrt(x**2 + y**2))
    assert kinds(taut.conserved(kepler)).count("hidden symmetry") == 2
    strange = taut.System(Q, mass=1, potential=-1.2345678912345e-29 / sp.sqrt(x**2 + y**2))
    assert kinds(laws_of(strange, {})).count("hidden symmetry") == 2
    drag = taut.System([x], mass=3 * unit, forces=[-u / unit**2])
    assert kinds(taut.conserved(drag)) == ["integral", "decaying"]


def test_a_third_in_floats_is_a_third():
    def heiles(a):
        return taut.System(Q, mass=1, potential=(x**2 + y**2) / 2 + x**2 * y + a * y**3)

    assert len(taut.conserved(heiles(1 / 3))) == len(taut.conserved(heiles(sp.Rational(1, 3)))) == 2


def test_names_count_in_flows_too():
    other = sp.symbols("x y", positive=True)
    flow = taut.Flow(Q, [other[1], -other[0]])
    assert flow.parameters == ()
    assert [law.expression for law in taut.conserved(flow, time=0)] == [x**2 + y**2]
    assert "parameters k" in repr(taut.Flow(Q, [sp.Symbol("k") * y, -x]))
    with pytest.raises(taut.ModelError, match="the rate of x is not an expression"):
        taut.Flow(Q, ["y +", -x])


def test_laws_serve_as_expressions():
    kepler = taut.System(Q, mass=2, potential=-1 / sp.sqrt(x**2 + y**2))
    laws = taut.conserved(kepler)
    start = {"q0": [1, 0], "v0": [0, 0.5], "duration": 1, "step": 0.01}
    run = taut.simulate(kepler, **start, laws=laws, method=taut.Corrected("rk4", laws[1]))
    assert [w.expression for w in run.certificate.watched] == [law.expression for law in laws]
    assert np.ptp(run.evaluate(laws[1])) < 1e-14
    assert len(run.method.laws) == 1
    assert all(len(row[0]) <= 40 for row in run.certificate.rows())


def test_momenta_and_velocities_in_what_is_proposed():
    kepler = taut.System(Q, mass=2, potential=-1 / sp.sqrt(x**2 + y**2))
    law = taut.conserved(kepler, proposed=x * py - y * px)
    assert sp.expand(law.expression - 2 * (x * v - y * u)) == 0
    twin = taut.System(Q, hamiltonian=(px**2 + py**2) / 4 - 1 / sp.sqrt(x**2 + y**2))
    law = taut.conserved(twin, proposed=x * v - y * u)
    assert sp.expand(law.expression - (x * py - y * px) / 2) == 0
    e = sp.Symbol("E")
    (de,) = taut.velocities([e])
    model = taut.System([e], mass=1, potential=e**2 / 2)
    assert taut.conserved(model, proposed="E**2/2 + E_dot**2/2").kind == "energy"
    assert de in taut.conserved(model, proposed="E**2/2 + E_dot**2/2").expression.free_symbols


def test_energy_and_momenta_are_shown_as_they_are_known():
    """Lagrange's top: they are not replaced by shorter combinations."""
    angles = theta, _, _ = taut.coordinates("theta phi psi")
    dt, dp, ds = taut.velocities(angles)
    a, b, k = sp.symbols("a b k")
    top = taut.System(
        angles,
        lagrangian=a * (dt**2 + dp**2 * sp.sin(theta) ** 2) / 2
        + b * (ds + dp * sp.cos(theta)) ** 2 / 2
        - k * sp.cos(theta),
        parameters=["a", "b", "k"],
    )
    laws = taut.conserved(top)
    assert sorted(kinds(laws)) == ["energy", "momentum", "momentum"]
    assert {law.verified for law in laws} == {"normal form"}


def test_lagrangians_that_are_not_quadratic_have_no_bound():
    fast = taut.System(Q, lagrangian=-sp.sqrt(1 - u**2 - v**2) - (x**2 + y**2) / 2)
    laws = taut.conserved(fast)
    assert kinds(laws) == ["energy", "angular momentum"]
    assert laws.complete.startswith("complete in this ansatz")


@pytest.mark.parametrize("what", ["helix", "torus", "hoop"])
def test_constraints_with_roots_and_sines(what):
    x, y, z = q = taut.coordinates("x y z")
    t = taut.t
    given, start, wanted = {
        "helix": ([x - sp.cos(z), y - sp.sin(z)], ([1, 0, 0], [0, 1, 1]), 2),
        "torus": ([(sp.sqrt(x**2 + y**2) - 2) ** 2 + z**2 - 1], ([3, 0, 0], [0, 1, 0.5]), 2),
        "hoop": (
            [x**2 + y**2 + z**2 - 1, x * sp.sin(t) - y * sp.cos(t)],
            ([0.6, 0, -0.8], [0.4, 0.6, 0.3]),
            1,
        ),
    }[what]
    model = taut.System(q, mass=1, potential=z, constraints=given)
    laws = taut.conserved(model)
    assert len(laws) == wanted
    run = taut.simulate(model, q0=start[0], v0=start[1], duration=2, step=1e-3, method="rattle")
    for law in laws:
        assert np.ptp(run.evaluate(law)) < 1e-5
    assert len(str(run.certificate).splitlines()) > 5


def test_certificates_know_the_values_of_a_run():
    """At a = 1/3 there is a second law; for other values there is none."""
    well = (x**2 + y**2) / 2 + x**2 * y + sp.Symbol("a") * y**3
    model = taut.System(Q, mass=1, potential=well, parameters={"a": 1 / 3})
    start = {"q0": [0.1, 0.2], "v0": 0, "duration": 1, "step": 0.01}
    assert len(taut.simulate(model, **start).certificate.watched) == 1
    assert taut.simulate(model, **start, parameters={"a": 0.4}).certificate.watched == []
    assert kinds(laws_of(model, {"a": 1 / 3})) == ["energy", "hidden symmetry"]


def test_latex_of_all_of_them():
    x1, x2 = q = taut.coordinates("x1 x2")
    laws = taut.conserved(taut.System(q, mass=1, potential=(x1 - x2) ** 2), time=0)
    text = laws.latex()
    assert r"\dot{x}_{1}" in text
    assert text.count("&=") == len(laws)
    assert text.count(r"\\") == len(laws) - 1


def test_one_function_or_number_will_do():
    swing = taut.System([x], mass=1, potential=x**2 / 2)
    assert len(taut.conserved(swing, functions=sp.sin(taut.t), degree=2)) >= 2
    k = sp.Symbol("k")
    model = taut.System(Q, mass=1, potential=x**2 + k * y**2, parameters=["k"])
    found = taut.special_values(model, {"k": 1}, degree=2)
    assert found.tried == 1
    assert "angular momentum" in kinds(found[0].laws)


def test_corrections_that_correct_nothing_say_so():
    flow = taut.Flow(Q, [y, -x - y + x * y**3])
    run = taut.simulate(flow, q0=[1, 0], duration=1, step=0.1, method=taut.Corrected("rk4"))
    assert "no law and no constraint to correct" in str(run.certificate)
    with pytest.raises(taut.InputError, match="cannot be corrected again"):
        taut.Corrected(taut.Corrected("rk4"))
