"""Newton with a matrix that is kept: guesses, when it gives up, and what happens then."""

import casadi as ca
import numpy as np
import pytest

import taut
from taut.kernel.compile import workshop
from taut.kernel.fused import DEEP, HISTORY, _extrapolated
from taut.march import run as marching
from taut.methods import tableaux

ZG = taut.problems.problem("zg-double")
SEVERAL = ["gauss-lobatto-4", "gauss-lobatto-6", "lobatto-6", "time-element-6", "ggl"]
FINE, COARSE = 0.01, 0.1  # steps that the kept matrix can make all, and not


def compiled(name, problem=ZG):
    run = problem.simulate(step=FINE, duration=FINE, method=name)
    return workshop(run.system).step(run.method, keep=run.keep)


# ---- guesses -----------------------------------------------------------------------------------


def memory_of(function, nodes, steps):
    """Values at the stages of the steps before now, the last first."""
    return np.concatenate([[function(c - k) for c in nodes] for k in range(1, steps + 1)])


def guessed(nodes, memory, back):
    z, history = ca.SX.sym("z", len(nodes)), ca.SX.sym("m", HISTORY * len(nodes))
    families = [([z[i] for i in range(len(nodes))], np.array(nodes))]
    function = ca.Function("f", [history], [_extrapolated(z, history, families, back)])
    return np.array(function(memory)).ravel()


@pytest.mark.parametrize("back", [1, 2])
@pytest.mark.parametrize("stages", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["gauss", "lobatto"])
def test_polynomials_are_guessed_exactly(kind, stages, back):
    nodes = tableaux.rounded([getattr(tableaux, f"{kind}_nodes")(stages)])[0]
    known = stages * back if stages <= DEEP else stages
    if kind == "lobatto" and back == 2 and stages <= DEEP:
        known -= 1  # where two steps meet
    for degree, exact in ((known - 1, True), (known, False)):
        memory = memory_of(lambda t, d=degree: t**d, nodes, HISTORY)
        error = np.abs(guessed(nodes, memory, back) - nodes**degree).max()
        assert (error < 1e-8) == exact, degree


def test_before_the_third_step_the_methods_own_guess_is_not_taken_for_a_step():
    nodes = tableaux.rounded([tableaux.gauss_nodes(3)])[0]
    first = memory_of(lambda t: 5 + t**2, nodes, 1)
    made = guessed(nodes, np.concatenate([first, np.full(3, 7.0), np.full(3, 7.0)]), 2)
    assert made == pytest.approx(5 + nodes**2, rel=1e-12)


def test_what_never_moves_is_guessed_to_stay():
    nodes = tableaux.rounded([tableaux.gauss_nodes(4)])[0]
    assert guessed(nodes, np.full(12, 0.3), 2) == pytest.approx(0.3, abs=1e-12)


# ---- the matrix --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEVERAL)
def test_several_stages_keep_their_matrix(name):
    step = compiled(name)
    assert step.simplified
    assert not step.thorough.simplified
    assert step.thorough.slots == step.slots
    for newton in step.program.newtons:
        assert newton.simplified == ca.depends_on(newton.change, newton.start)


@pytest.mark.parametrize(
    "name", ["rattle", "time-element", "energy-momentum-hidden", "implicit-trapezoid"]
)
def test_one_stage_does_not(name):
    assert not compiled(name).simplified


def test_nor_does_what_bends_with_the_velocities():
    """An energy that is not quadratic in them."""
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    energy = (u**2 + v**2) / 2 + u**4 / 4
    system = taut.System(q, lagrangian=energy - y, constraints=[x**2 + y**2 - 1])
    run = taut.simulate(
        system, q0=[0, -1], v0=[1, 0], step=0.01, duration=0.1, method="gauss-lobatto-4"
    )
    assert not workshop(run.system).step(run.method, keep=run.keep).simplified


@pytest.mark.parametrize("name", SEVERAL)
def test_it_finds_what_the_exact_matrix_finds(name, monkeypatch):
    one = ZG.simulate(step=FINE, duration=1, method=name)
    assert one.ending.setbacks == [0]
    thorough = compiled(name).thorough
    monkeypatch.setattr(workshop(one.system), "step", lambda *a, **k: thorough)
    two = ZG.simulate(step=FINE, duration=1, method=name)
    assert np.abs(one.q - two.q).max() < 1e-12
    assert not np.array_equal(one.q, two.q)  # they are two


# ---- setbacks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gauss-lobatto-4", "gauss-lobatto-6", "gauss-lobatto-8"])
def test_steps_it_cannot_make_are_made_with_the_exact_matrix(name, monkeypatch):
    one = ZG.simulate(step=COARSE, duration=3, method=name)
    (setbacks,) = one.ending.setbacks
    assert 0 < setbacks < 30
    assert one.certificate.max_g < 1e-14
    thorough = compiled(name).thorough
    monkeypatch.setattr(workshop(one.system), "step", lambda *a, **k: thorough)
    two = ZG.simulate(step=COARSE, duration=3, method=name)
    assert np.abs(one.q - two.q).max() < 1e-9


def test_after_too_many_setbacks_it_is_given_up(monkeypatch):
    monkeypatch.setattr(marching, "PATIENCE", 2)
    run = ZG.simulate(step=COARSE, duration=3, method="gauss-lobatto-6")
    assert run.ending.setbacks == [marching.GIVEN_UP]
    further = run.continue_(duration=1)
    assert further.ending.setbacks == [marching.GIVEN_UP]


@pytest.mark.parametrize("patience", [2, 1000])
@pytest.mark.parametrize("cut", [7, 14])
def test_a_run_in_two_parts_is_the_same_to_the_bit(monkeypatch, patience, cut):
    monkeypatch.setattr(marching, "PATIENCE", patience)
    whole = ZG.simulate(step=COARSE, duration=3, method="gauss-lobatto-6")
    part = ZG.simulate(step=COARSE, duration=cut * COARSE, method="gauss-lobatto-6")
    both = part.continue_(duration=3 - cut * COARSE)
    assert both.ending.setbacks == whole.ending.setbacks != [0]
    assert np.array_equal(both.q, whole.q)
    assert both.certificate.max_g == whole.certificate.max_g


def test_the_lanes_of_a_batch_help_each_other():
    """One lane that cannot go on does not fail: all make that step with the exact matrix."""
    v0 = np.outer([1.0, 0.9, 0.5, 0.0], ZG.v0)
    given = {"step": COARSE, "duration": 3, "method": "gauss-lobatto-6"}
    batch = taut.simulate(ZG.system, q0=np.tile(ZG.q0, (4, 1)), v0=v0, **given)
    alone = np.array([taut.simulate(ZG.system, q0=ZG.q0, v0=v, **given).q for v in v0])
    assert min(batch.ending.setbacks) > 0
    assert np.abs(batch.q - alone).max() < 1e-9


def test_between_coarse_steps_and_at_events():
    run = ZG.simulate(step=COARSE, duration=3, method="gauss-lobatto-6", every=10, events=["x1"])
    assert run.ending.setbacks[0] > 0
    every = ZG.simulate(step=COARSE, duration=3, method="gauss-lobatto-6")
    assert np.abs(run.at(every.t).q - every.q).max() < 1e-8
    assert np.abs(run.events["x1"].q[:, 0]).max() < 1e-12
