"""The work of forces: what it is, to which order it is summed, and what it is said to be off by."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel.compile import Workshop
from taut.kernel.work import START, WORK, tell_work, worked
from taut.march.loop import BOOKS

t = taut.t
x, y = taut.coordinates("x y")
vx, vy = taut.velocities([x, y])
P, R = sp.Piecewise, sp.Rational
AT = tuple(range(len(WORK)))
METHODS = (
    "rattle", "gauss-lobatto-4", "lobatto-4", "composition-4", "time-element-4", "precise-element",
    "energy-momentum", "implicit-trapezoid", "projected-rk4", "baumgarte", "symplectic-euler",
)  # fmt: skip


def summed(powers, h, *, switched=False, jumps=(), paced=False):
    """Notes and balances' hints after all steps; `powers` of both sides of the ends of steps."""
    notes = np.zeros(len(WORK))
    notes[WORK.index("power")], notes[WORK.index("since")] = powers[0][1], START
    by_code, function, hints = notes.copy(), worked(switched, paced), []
    for k, (before, after) in enumerate(powers[1:], 1):
        *notes, off, wait, second = np.array(
            function(notes, [before, after, float(k in jumps)], h)
        ).ravel()
        hints.append((off, bool(wait), bool(second)))
        if not paced:
            found = tell_work.py_func(by_code, AT, before, after, k not in jumps, h)
            assert found == pytest.approx(hints[-1], rel=1e-9, abs=1e-16)
            assert by_code == pytest.approx(notes, rel=1e-9, abs=1e-16)
    return dict(zip(WORK, notes, strict=True)), hints


def sampled(function, h, count):
    values = function(h * np.arange(count + 1))
    return np.stack([values, values], axis=1)


def test_cubics_are_exact_and_the_start_waits():
    for count, degree in ((1, 1), (2, 3), (3, 3), (7, 3)):
        notes, hints = summed(sampled(lambda s, d=degree: s**d, 0.1, count), 0.1)
        exact = (0.1 * count) ** (degree + 1) / (degree + 1)
        assert notes["work"] == pytest.approx(exact, rel=1e-13)
        assert [wait for _, wait, _ in hints] == [True] + [False] * (count - 1)
    _, hints = summed(sampled(np.square, 0.1, 2), 0.1)
    off = hints[1][0]  # of W₁, which is known when W₂ is
    assert off == pytest.approx(0.05 * 0.1**2 - 0.1**3 / 3, rel=1e-12)


@pytest.mark.parametrize("h", [0.1, 0.05])
@pytest.mark.parametrize(
    "power",
    [
        np.sin, np.exp, lambda s: np.cos(3 * s) ** 2, lambda s: np.abs(s - 1.03),
        lambda s: np.abs(np.sin(2.7 * s)),
    ],
    ids=["sin", "exp", "cos²", "one bend", "bends"],
)  # fmt: skip
def test_what_it_is_off_by_is_known(power, h):
    """All along the run; of bends the size only, as one falls on either side."""
    count = round(4 / h)
    fine = np.linspace(0, 4, 400_001)
    value = power(fine)
    exact = np.r_[0, np.cumsum(0.5 * np.diff(fine) * (value[1:] + value[:-1]))]
    ends = np.arange(2, count + 1, 3)
    work = [summed(sampled(power, h, k), h)[0]["work"] for k in ends]
    errors = np.abs(work - exact[(ends * h * 1e5).round().astype(int)])
    told = summed(sampled(power, h, count), h)[0]["sum_error"]
    assert 0.4 * errors.max() < told < 5 * errors.max()


def test_jumps_begin_anew_and_lone_steps_count():
    """Power of 1 + s³ until a jump within the step from 0.5 to 0.6, of −2 s³ from there on."""
    h, count = 0.1, 12
    s = h * np.arange(count + 1)
    powers = np.stack([1 + s**3, 1 + s**3], axis=1)
    powers[5, 1], powers[6, 0] = 0.3, 0.2  # the mean force of the step
    powers[6, 1], powers[7:] = -2 * s[6] ** 3, (-2 * s[7:] ** 3)[:, None]
    notes, _ = summed(powers, h, switched=True, jumps=(5, 6))
    exact = 0.5 + 0.5**4 / 4 + 0.025 - 0.5 * (s[-1] ** 4 - 0.6**4)
    assert notes["work"] == pytest.approx(exact, rel=1e-13)
    assert notes["rough"] == 0
    assert notes["sum_error"] > 1e-5  # as W₁ of the step after it
    rough, _ = summed(powers, h, switched=True, jumps=(5, 6, 7, 8))
    assert rough["rough"] == 2


def test_steps_of_any_length_are_all_rough():
    notes, _ = summed(sampled(np.cos, 0.1, 10), 0.1, paced=True)
    assert notes["work"] == pytest.approx(np.sin(1), rel=1e-3)
    assert notes["rough"] == 10


# ---- runs ----------------------------------------------------------------------------------------


def run_of(system, **settings):
    given = {"q0": [0], "v0": 0, "step": 0.01, "duration": 0.08, "laws": None} | settings
    return taut.simulate(system, **given)


@pytest.mark.parametrize("unrolled", [True, False], ids=["fused", "assembled"])
@pytest.mark.parametrize("method", METHODS)
def test_impulses_of_what_is_switched(monkeypatch, method, unrolled):
    """At a grid time, between two, twice within a step, by stairs; work is that of the motion."""
    monkeypatch.setattr(Workshop, "unrolled", lambda self, method: unrolled)
    on = P((2, t >= R(2, 100)), (0, True)) + sp.Heaviside(t - 0.0334) - sp.floor(100 * t / 5)
    on += P((30, sp.Abs(t - 0.0665) < 0.0015), (0, True))
    for system in (
        taut.System([x], mass=[1], forces=[on]),
        taut.System([x], mass=[1], potential=-on * x),
    ):
        run = run_of(system, method=method)
        assert run.v[-1, 0] == pytest.approx(2 * 0.06 + 0.0466 + 0.09 - 0.03, abs=1e-14)
        if method != "symplectic-euler":  # whose kinetic energy is not that of its momenta's path
            assert run.certificate.energy.band < 1e-15
            assert run.certificate.work == pytest.approx(0.5 * run.v[-1, 0] ** 2, rel=1e-12)


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
@pytest.mark.parametrize("load", [sp.cos(2 * t), P((3, t < 2), (0, True))], ids=["cos", "off"])
def test_work_knows_no_origin_and_no_zero(load, form):
    """A dead load that is a potential: moved, turned, and with another zero."""
    found = []
    for shift, turn, zero in ((0, 0, 0), (10**6, 0, 0), (0, 0.7, 0), (10**6, 0.7, 10**4)):
        c, s = np.cos(turn), np.sin(turn)
        a, b = c * (x - shift) + s * (y - shift), c * (y - shift) - s * (x - shift)
        potential = 5 * b**2 - load * (a + b / 2) + zero * (1 + sp.sin(t))
        p, q = sp.symbols("p q", real=True)
        forms = {
            "lagrangian": {"mass": [1, 1], "potential": potential},
            "hamiltonian": {"momenta": [p, q], "hamiltonian": (p**2 + q**2) / 2 + potential},
        }
        start = {"q0": np.array([[c, -s], [s, c]]) @ [0.3, 0.2] + shift, "v0": [c, s]}
        run = run_of(taut.System([x, y], **forms[form]), duration=5, **start)
        rows = {row[0]: row[1:] for row in run.certificate.rows()}
        found.append((run.certificate, rows["energy − work"], zero))
    first, row, _ = found[0]
    for facts, other, zero in found[1:]:
        assert other == row
        assert facts.work == pytest.approx(first.work, rel=1e-8)
        assert facts.gross_work == pytest.approx(first.gross_work, rel=1e-8)
        assert facts.energy0 - zero == pytest.approx(first.energy0, rel=1e-8)


@pytest.mark.parametrize("when", [0.0823, 0.0842, 0.0892])
def test_a_shorter_last_step_knows_what_jumps_within_it(when):
    """And nothing of what jumps after it."""
    system = taut.System([x], mass=[1], forces=[P((2, t > when), (0, True))])
    run = run_of(system, q0=np.zeros((3, 1)), v0=[[1], [2], [3]], duration=0.0857)
    gained = 0.5 * (run.v[:, -1, 0] ** 2 - [1, 4, 9])
    work = run.ending.books[:, BOOKS.index("work")]
    assert work == pytest.approx(gained, abs=1e-15)
    assert run.certificate.energy.band < 1e-14


def test_a_batch_has_work_of_its_own():
    system = taut.System(
        [x], mass=[1], potential=2 * x**2 - x * sp.Heaviside(t - 1.003), forces=[-vx / 9]
    )
    starts = np.array([[0.0], [0.5], [2.0]])
    batch = run_of(system, q0=starts, duration=3)
    alone = [run_of(system, q0=q, duration=3) for q in starts]
    for k, run in enumerate(alone):
        assert np.array_equal(batch.ending.books[k], run.ending.books[0])


def test_controllers_that_speak_at_every_step():
    """Nothing is known about the error of a sum of steps that stand alone, and that is said."""
    u = sp.Symbol("u")
    for every, known in ((1, False), (20, True)):
        brake = taut.Control(lambda now, state: -float(state.v[0]), every=every)
        pushed = taut.System([x], mass=[1], potential=x**2, forces=[u], controls={u: brake})
        run = run_of(pushed, q0=[1], duration=1, method="gauss-lobatto-6")
        facts = run.certificate
        assert (facts.to_dict()["work_sum_error"] is not None) == known
        assert ("the work is summed to order 2" in str(facts)) == (not known)


K, TURNS = 400, sp.cos(300 * t)
WAYS = {
    "factored": K * (1 + TURNS / 5) * x**2 / 2,
    "expanded": K * x**2 / 2 + K * TURNS * x**2 / 10,
    "nested": K * x * (2 * x * (1 + TURNS / 2) - x * (1 + TURNS * (1 - R(1, 5)))) / 2,
    "half the angle": K * (R(4, 5) + 2 * sp.cos(150 * t) ** 2 / 5) * x**2 / 2,
}


@pytest.mark.parametrize("unrolled", [True, False], ids=["fused", "assembled"])
@pytest.mark.parametrize("form", ["lagrangian", "one product", "hamiltonian"])
def test_energy_and_work_know_no_spelling(monkeypatch, form, unrolled):
    """What of a potential is steady, and what is a force, whichever way it is written."""
    monkeypatch.setattr(Workshop, "unrolled", lambda self, method: unrolled)
    found = []
    for potential in WAYS.values():
        p = sp.Symbol("p", real=True)
        given = {
            "lagrangian": {"lagrangian": vx**2 / 2 - potential},
            "one product": {"lagrangian": sp.Mul(R(1, 2), vx**2 - 2 * potential, evaluate=False)},
            "hamiltonian": {"momenta": [p], "hamiltonian": p**2 / 2 + potential},
        }[form]
        run = run_of(taut.System([x], **given), q0=[0.5], step=0.001, duration=0.5)
        facts = run.certificate
        found.append((facts.energy0, facts.work, facts.gross_work, facts.energy.band))
    assert found[0][0] == pytest.approx(K * 0.5**2 / 2, rel=1e-14)
    for other in found[1:]:
        assert other[:3] == pytest.approx(found[0][:3], rel=1e-9)
        assert other[3] == pytest.approx(found[0][3], rel=1e-6, abs=1e-11)
