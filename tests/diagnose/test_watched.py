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
    assert value.startswith("not looked for: the model is too large")


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
