"""Constraints that are kept where others follow from them: chosen anew on the way."""

import numpy as np
import pytest

import taut
from taut import problems
from taut.kernel.compile import workshop
from taut.march import kept, rescue
from taut.problems.bennett import mechanism


@pytest.fixture(scope="module")
def ring():
    """Bennett's linkage: three of its equations follow from the others, at every angle."""
    return problems.problem("bennett")


@pytest.fixture(scope="module")
def turn(ring):
    """A whole turn, in which the rows that are kept at the start become dependent twice."""
    return ring.simulate(duration=0.75, step=0.005, method="rattle", laws=None)


def values(ring, q, keep):
    rows = workshop(ring.system).mechanics.gradients(q, 0.0, ring.system.values())
    return np.linalg.svd(rows[list(keep)], compute_uv=False), np.linalg.svd(rows, compute_uv=False)


def test_rows_that_are_kept_at_the_start_become_dependent_though_others_do_not(ring, turn):
    least = [values(ring, q, turn.keep) for q in turn.q]
    assert min(own[-1] for own, _ in least) < 5e-3
    assert min(every[len(turn.keep) - 1] for _, every in least) > 0.25


def test_all_constraints_are_met_all_the_way(turn):
    kept = [keep for _, keep in turn.ending.keeps[0]]
    assert len(set(kept)) > 1
    assert {len(keep) for keep in kept} == {len(turn.keep)}
    assert np.abs(turn.constraints).max() < 2e-14
    assert np.abs(turn.hidden).max() < 2e-12


def test_in_parts_it_is_the_same(ring, turn):
    for first in (0.225, 0.315, 0.6):
        parts = ring.simulate(duration=first, step=0.005, method="rattle", laws=None)
        parts = parts.continue_(0.75 - first)
        for name in ("q", "v", "p"):
            assert np.array_equal(getattr(parts, name), getattr(turn, name))


def test_in_a_batch_it_is_the_same(ring, turn):
    run = taut.simulate(
        ring.system, q0=[ring.q0] * 2, v0=np.outer([1, 1.01], ring.v0), duration=0.75, step=0.005,
        method="rattle", laws=None, project=True,
    )  # fmt: skip
    assert np.array_equal(run[0].q, turn.q)
    again = run[0].continue_(0.1)
    assert np.array_equal(again.q[: len(turn.t)], turn.q)


def test_states_between_the_stored_ones(ring, turn):
    """Also where the rows that were kept at the start are dependent."""
    t = np.array([0.2071, 0.2334, 0.3012, 0.595, 0.6])
    found = turn.at(t)
    q, _ = ring.exact(t)
    assert np.abs(found.q - q).max() < 2 * np.abs(turn.q - ring.exact(turn.t)[0]).max()
    thin = ring.simulate(duration=0.75, step=0.005, method="rattle", laws=None, every=10)
    np.testing.assert_allclose(thin.at(t).q, found.q, rtol=0, atol=1e-11)


def test_multipliers_are_those_of_least_norm_and_move_the_bars(ring, turn):
    """M a + ∂U/∂q = −Gᵀλ with accelerations of the closed form."""
    m, par = workshop(ring.system).mechanics, ring.system.values()
    masses = np.concatenate([part.masses for part in ring.mechanism.parts.values()])
    stencil = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60e-3
    worst = 0.0
    for t in (0.1, 0.2334, 0.595):
        state = turn.at(t)
        q, v = ring.exact(t)
        run = taut.simulate(
            ring.system, q0=q, v0=v, duration=2e-5, step=1e-5, laws=None, project=True
        )
        acceleration = stencil @ ring.exact(t + 1e-3 * np.arange(-3, 4))[1]
        rows = m.gradients(q, t, par)
        push = m.apply("force", t, par, q=q, v=v, p=masses * v) - masses * acceleration
        expected = np.linalg.lstsq(rows.T, push, rcond=1e-10)[0]
        np.testing.assert_allclose(
            run.multipliers[0], expected, rtol=0, atol=1e-6 * abs(expected).max()
        )
        worst = max(worst, np.abs(state.q - q).max())
    assert worst < 1e-2


def test_multipliers_along_a_run_are_continuous(turn):
    """Rows that are nearly dependent would give numbers of any size."""
    size = np.linalg.norm(turn.multipliers, axis=1)
    assert np.abs(np.diff(size)).max() < 0.2 * size.max()


def test_what_is_chosen(ring):
    m, par = workshop(ring.system).mechanics, ring.system.values()
    keep = tuple(range(35))
    q = ring.exact(0.0)[0]
    assert kept.chosen(m, q, 0.0, par, keep) == keep
    there = ring.exact(0.2334)[0]
    other = kept.chosen(m, there, 0.0, par, keep)
    own, every = values(ring, there, other)
    assert own[-1] > 0.1 * every[34]
    assert kept.chosen(m, there, 0.0, par, other) == other
    blank = np.full_like(q, np.nan)  # a state that was never reached
    assert kept.chosen(m, blank, 0.0, par, keep) == keep


def test_from_rest_it_is_looked_again_soon_enough():
    """At rest nothing turns, and any forecast would be too long."""
    m = mechanism()
    m.torsion("hinge 1", pull=lambda s, rate: -3.1)
    run = taut.simulate(m, v0=0, duration=256 * 0.016, step=0.016, method="rattle", laws=None)
    assert run.certificate.max_hidden < 1e-10


def test_at_rest_nothing_turns(monkeypatch):
    """What rounding leaves of velocities has any direction: no step is made with care."""
    m, careful = mechanism(), []
    monkeypatch.setattr(rescue, "_turned", lambda *_: careful.append(1))
    rest = m.equilibrium()
    run = taut.simulate(m, q0=rest.q, v0=0, duration=0.1, step=1e-3, method="rattle", laws=None)
    assert len(run.t) == 101
    assert not careful
