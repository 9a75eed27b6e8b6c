"""Laws on the certificate: found by themselves, once, when asked for; and what breaks is said."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.laws import known
from taut.march import trajectory

x, y, z = Q = taut.coordinates("x y z")
u, v, w = taut.velocities(Q)
START = {"q0": [0, 0.6, -0.8], "v0": [0.5, 0, 0], "duration": 20, "step": 0.02}


def spherical(**changes):
    given = {"mass": 1, "potential": z, "constraints": [x**2 + y**2 + z**2 - 1]}
    return taut.System(Q, **given | changes)


def rows_of(run):
    return {name: (value, word) for name, value, word in run.certificate.rows()}


def test_laws_are_found_proved_and_followed():
    run = taut.simulate(spherical(), **START)
    (spin,) = run.certificate.watched
    assert sp.expand(spin.expression**2 - (x * v - y * u) ** 2) == 0
    assert abs(spin.first) == pytest.approx(0.3)
    assert spin.largest_change < 1e-15
    assert spin.proof == "normal form"
    assert rows_of(run)[spin.name][1] == "round-off"
    facts = run.certificate.to_dict()["laws"][spin.name]
    assert facts["proof"] == "normal form"
    assert facts["expression"] == str(spin.expression)


def test_a_method_that_breaks_a_law_is_seen():
    run = taut.simulate(spherical(), **START | {"duration": 200}, method="rk4")
    (spin,) = run.certificate.watched
    assert spin.largest_change > 1e-10
    assert rows_of(run)[spin.name][1] == "drifts"


def test_the_search_waits_until_it_is_asked_for_and_is_made_once(monkeypatch):
    calls = []
    found = known.searched
    monkeypatch.setattr(known, "searched", lambda *a, **k: calls.append(a) or found(*a, **k))
    model = spherical(potential=z + sp.Rational(1, 7) * z**2)
    run = taut.simulate(model, **START)
    assert not calls
    assert run.certificate.max_g < 1e-15
    assert not calls
    assert len(run.certificate.watched) == 1
    again = taut.simulate(spherical(potential=z + sp.Rational(1, 7) * z**2), **START)
    assert len(again.certificate.watched) == 1
    assert len(calls) == 1
    none = taut.simulate(spherical(potential=3 * z), **START, laws=None)
    assert none.certificate.watched == []
    assert len(calls) == 1


def test_a_law_that_the_model_does_not_have_is_a_mistake_in_the_model():
    """A potential tilted by mistake: the angular momentum is lost, and it says so."""
    tilted = spherical(potential=z + x * y / 50)
    laws = {"spin": x * v - y * u, "energy": (u**2 + v**2 + w**2) / 2 + z + x * y / 50}
    rows = rows_of(taut.simulate(tilted, **START, laws=laws))
    assert rows["spin"][1].startswith("the model does not keep it: D(I) = ")
    assert rows["spin"][1].endswith("D(I) = -x**2/50 + y**2/50")
    assert "does not keep" not in rows["energy"][1]
    right = rows_of(taut.simulate(spherical(), **START, laws={"spin": x * v - y * u}))
    assert right["spin"][1] == "round-off"


def test_a_law_at_the_parameters_of_the_run():
    k = sp.Symbol("k")
    model = taut.System(Q, mass=1, potential=(x**2 + k * y**2) / 2, parameters={"k": 1})
    start = START | {"v0": [0.5, 0.1, 0]}
    law = {"spin": x * v - y * u}
    assert rows_of(taut.simulate(model, **start, laws=law))["spin"][1] == "round-off"
    other = taut.simulate(model, **start, laws=law, parameters={"k": 2})
    assert "does not keep" in rows_of(other)["spin"][1]


def test_what_is_too_large_is_said():
    chain = taut.problems.problem("chain", links=30).simulate(duration=0.1)
    value = rows_of(chain)["laws"][0]
    assert value.startswith("not looked for beyond ")  # how far it comes is a matter of time
    assert ": degree 2 takes 7503 functions" in value


def test_a_mechanism_says_where_the_search_ended():
    """A symmetric top keeps its spin, too, which is no momentum of a motion in space."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    top = m.body("top", mass=1, inertia=(2, 2, 1), at=(0, 0.3, 0.4), angular_velocity=(0, 3, 4))
    m.spherical("tip", m.ground, top, at=(0, 0, 0))
    rows = rows_of(taut.simulate(m, duration=0.1, step=0.01))
    assert rows["angular momentum z"][1] == "round-off"
    assert rows["laws"][0] == "not looked for beyond momenta: taut.conserved(m)"
    for i in range(3):  # more than the search takes
        m.body(f"other {i}", mass=1, inertia=(2, 2, 1), at=(i + 1, 0, 0))
    rows = rows_of(taut.simulate(m, duration=0.1, step=0.01))
    assert rows["laws"][0] == "not looked for beyond momenta"
    assert "laws" not in rows_of(taut.simulate(m, duration=0.1, step=0.01, laws=None))


def test_compiled_and_interpreted_values_agree(monkeypatch):
    run = taut.simulate(spherical(), **START)
    expressions = [x * v - y * u, sp.exp(z) * taut.t, u**2]
    slow = run.evaluate_all(expressions)
    monkeypatch.setattr(trajectory, "COMPILED", 1)
    fast = run.evaluate_all(expressions)
    for a, b in zip(slow, fast, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-16)
    batch = taut.simulate(spherical(), **START | {"v0": np.array([[0.5, 0, 0], [0.2, 0, 0]])})
    assert batch.evaluate_all(expressions)[0].shape == (2, len(batch.t))
    (spin,) = batch.certificate.watched
    assert spin.largest_change < 1e-15


def test_long_expressions_are_named_by_their_kind():
    kepler = taut.System(Q, mass=1, potential=-1 / sp.sqrt(x**2 + y**2 + z**2))
    run = taut.simulate(kepler, q0=[1, 0, 0], v0=[0, 1.1, 0.2], duration=10, step=0.01)
    names = [w.name for w in run.certificate.watched]
    assert [n for n in names if n.startswith("hidden symmetry")] == [
        f"hidden symmetry {i}" for i in (1, 2, 3)
    ]
    assert len(names) == len(set(names)) == 6


def test_a_law_that_is_zero_is_known_to_the_rounding_of_its_summands():
    """It was 'not kept' or 'drifts': 0 ± 3.6e-15, made of summands that are 16."""
    track = taut.problems.problem("circular-track").simulate(duration=2)
    law, *_ = track.certificate.watched
    assert 0 < abs(law.first) < law.largest_change < 1e-14
    assert 4 < law.size < 100
    assert rows_of(track)[law.name][1] == "round-off"
    turned = START | {"q0": [0.48, 0.36, -0.8], "v0": [0.64, 0.48, 0.6]}
    for unit in (1.0, 1e-9, 1e9):
        length = {"q0": unit * np.array(turned["q0"]), "v0": unit * np.array(turned["v0"])}
        model = spherical(constraints=[x**2 + y**2 + z**2 - unit**2], potential=unit * z)
        run = taut.simulate(model, **turned | length, laws={"spin": x * v - y * u})
        (spin,) = run.certificate.watched
        assert 0 < spin.largest_change < 1e-14 * unit**2
        assert spin.size == pytest.approx(1.4 * unit**2, rel=0.2)
        assert rows_of(run)["spin"][1] == "round-off"


def test_a_law_that_was_zero_and_is_lost():
    """An ellipse that turns by half: the component of its axis that was zero."""
    kepler = taut.System([x, y], mass=1, potential=-1 / sp.sqrt(x**2 + y**2))
    axis = {"across": -u * (x * v - y * u) - y / sp.sqrt(x**2 + y**2)}
    words = []
    for step in (0.1, 1e-3):
        start = {"q0": [0.4, 0], "v0": [0, 2], "duration": 400, "step": step}
        words.append(rows_of(taut.simulate(kepler, **start, laws=axis, every=10))["across"][1])
    assert words == ["not kept", "drifts"]


def pair_of(first, second):
    """Two masses in a plane that attract each other."""
    a, b, c, d = taut.coordinates("a b c d")
    potential = -sp.Rational(1, 10**6) / sp.sqrt((a - c) ** 2 + (b - d) ** 2)
    return taut.System([a, b, c, d], mass=[first, first, second, second], potential=potential)


@pytest.mark.parametrize(
    "masses", [(0.001, 0.002), (0.5, 0.25), (sp.Rational(1, 3), 1), (3, 6)], ids=str
)
def test_momenta_have_the_size_that_mechanics_gives_them(masses):
    """Of any masses: p = Σ m v, L = Σ m (x v_y − y v_x), and the boost of mass."""
    q, v = np.array([1, 0.3, -0.7, 0.2]), np.array([0.4, 1, 0.3, -0.5])
    run = taut.simulate(pair_of(*masses), q0=q, v0=v, duration=0.1, step=0.01)
    m1, m2 = map(float, masses)
    spin = m1 * (q[0] * v[1] - q[1] * v[0]) + m2 * (q[2] * v[3] - q[3] * v[2])
    moved = m1 * v[:2] + m2 * v[2:]
    centre = m1 * q[:2] + m2 * q[2:]
    wanted = sorted(map(abs, [*moved, *centre, spin]))
    laws = taut.conserved(pair_of(*masses), degree=2)
    named = [x for x in laws if x.kind in ("momentum", "angular momentum", "boost")]
    first = [abs(float(run.evaluate(x.expression)[0])) for x in named]
    assert sorted(first) == pytest.approx(wanted, rel=1e-12)
    known = [abs(x.first) for x in run.certificate.watched]
    assert all(np.isclose(known, x, rtol=1e-12).any() for x in wanted)
    for law in named:  # Noether's formula still holds for the symmetry that is shown
        slopes = [law.expression.diff(s) for s in run.system.velocities]
        weights = [sp.nsimplify(x) for x in (masses[0], masses[0], masses[1], masses[1])]
        assert [
            sp.expand(a - w * b) for a, w, b in zip(slopes, weights, law.symmetry.xi, strict=True)
        ] == [0] * 4


def test_a_law_that_is_infinite_is_no_number_and_no_warning():
    """sinh(v/ε) decays under a friction −2 tanh(v/ε), from what is beyond all numbers."""
    slides = taut.System([x], mass=1, forces=[-2 * sp.tanh(u / 1e-3)])
    run = taut.simulate(slides, q0=[0], v0=1, duration=1, step=0.01, method="rattle")
    assert "not a number" in str(run.certificate)
