"""Measuring a method: what `verify` finds, and how it draws its lines."""

from types import SimpleNamespace

import numpy as np
import pytest

import taut
from taut.diagnose import verification, verify
from taut.diagnose.verification import COUNTS, FLOOR, measured_order, sphere
from taut.methods import CATALOGUE, Baumgarte


def test_rattle_is_what_it_claims():
    row = verify("rattle", drift=False)
    assert row.method is CATALOGUE["rattle"]
    assert (row.order_q, row.order_p) == pytest.approx((2, 2), abs=1e-3)
    assert row.correlation > 0.9999
    assert max(row.max_g, row.max_hidden) < 2e-15
    assert row.reversal < 1e-13
    assert row.defect < 1e-14
    assert 1e-3 < row.band < 1e-1
    assert (row.drift, row.failed) == (None, False)
    assert np.isnan(row.momentum)
    words = str(row)
    assert "2.00, 2.00" in words
    assert "drift" not in words
    assert "failed" not in words


def test_one_that_drifts_is_seen_to_drift():
    row = verify("rk4")
    assert row.drift.significant
    assert row.momentum > 1e-6
    assert "drift of the energy" in str(row)


def test_the_highest_order_is_measured_above_round_off():
    """There are few steps between the coarsest and those whose errors are round-off."""
    found = measured_order(CATALOGUE["composition-10"])
    assert found[:2] == pytest.approx((10, 10), abs=0.6)
    assert found[2] > 0.999


def errors_of(monkeypatch, in_q, in_p):
    """Runs whose errors are these functions of h."""

    def run(method, duration, step, general=None):
        if step > 0.15:
            raise taut.StepError("too long", t=0.0, index=0)
        return SimpleNamespace(q=np.array([[in_q(step)]]), p=np.array([[in_p(step)]]))

    zero = SimpleNamespace(q=np.zeros((1, 1)), p=np.zeros((1, 1)))
    monkeypatch.setattr(verification, "_sphere_run", run)
    monkeypatch.setattr(verification, "_exact", lambda: zero)
    return measured_order(CATALOGUE["rattle"])


def test_slopes_through_the_four_finest_runs(monkeypatch):
    """Also where long steps fail; the correlation is the worse of the two."""
    fine = np.array([1 / n for n in COUNTS[-4:]])
    rough = dict(zip(fine, fine**2 * [1, 1.3, 1, 1.3], strict=True))
    in_q, in_p, worse = errors_of(monkeypatch, lambda h: h**3, lambda h: rough.get(h, 1.0))
    assert in_q == pytest.approx(3, abs=1e-12)
    logs, values = np.log(fine), np.log(list(rough.values()))
    assert in_p == pytest.approx(np.polyfit(logs, values, 1)[0])
    assert worse == pytest.approx(np.corrcoef(logs, values)[0, 1])
    assert worse < 0.99


def test_runs_at_round_off_do_not_count(monkeypatch):
    """From the first run on that is below the floor in q or p."""
    noise = lambda h: h**2 if h > 0.03 else 0.5 * FLOOR  # noqa: E731
    assert errors_of(monkeypatch, noise, lambda h: h)[:2] == pytest.approx((2, 1))
    assert errors_of(monkeypatch, lambda h: h, noise)[:2] == pytest.approx((1, 2))
    assert np.all(np.isnan(errors_of(monkeypatch, lambda h: 0.0, lambda h: h)))


def test_there_and_back_looks_at_momenta_too():
    start = {"duration": 2.0, "step": 0.1, "method": "rk4"}
    out = taut.simulate(sphere(), q0=verification.Q0, v0=verification.V0, **start)
    back = taut.simulate(sphere(), q0=out.q[-1], p0=-out.p[-1], project=True, **start)
    in_q, in_p = np.abs(back.q[-1] - out.q[0]).max(), np.abs(back.p[-1] + out.p[0]).max()
    assert in_p > in_q
    assert verify("rk4", drift=False).reversal == pytest.approx(in_p, rel=1e-12)


def test_a_method_that_fails_is_measured_as_far_as_it_goes():
    assert verify("symplectic-euler", drift=False).failed
    row = verify(Baumgarte(40, 40), drift=False)  # not stable at the steps of the short runs
    assert row.failed
    assert np.isnan(row.reversal)
    assert row.order_q == pytest.approx(4, abs=0.3)
    assert "a run failed" in str(row)
