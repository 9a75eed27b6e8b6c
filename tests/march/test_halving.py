"""Errors of single steps: against DOP853 on the same steps, on ordinary and on strange motions."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import taut
from taut.march.halving import halved, parts_of

x, y = Q = taut.coordinates("x y")
OSCILLATOR = taut.System([x], mass=[1], potential=x**2 / 2)
WELL = x**2 + y**2 + x**2 * y / 2 + x**4 + sp.cos(x + y)
BENT = taut.System(Q, mass=[1, 3], potential=WELL)
SWAPPED = taut.System(Q, hamiltonian=sp.prod(taut.momenta(Q)) + x * y)


def run_of(system, h, steps=200, q0=(1, 0), v0=(0, 1), **options):
    n = system.n
    return taut.simulate(
        system, q0=q0[:n], v0=v0[:n], step=h, duration=steps * h, laws=None, **options
    )


def swing(h, method="rattle", steps=200):
    return halved(run_of(OSCILLATOR, h, steps, v0=(0,), method=method))


def test_parts_end_together_and_are_in_golden_ratios():
    for k, lengths in enumerate(parts_of()):
        assert len(lengths) == 2**k
        assert sum(lengths) == pytest.approx(1, rel=1e-15)
    ends = np.cumsum(parts_of()[-1])[:-1]
    whole = np.outer(ends, np.arange(1, 20)) % 1
    assert np.minimum(whole, 1 - whole).min() > 1e-3  # none is a simple fraction of a step


@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-4", "rk4", "symplectic-euler"])
@pytest.mark.parametrize("h", [0.02, 0.2])
def test_the_error_is_that_of_the_worst_step(method, h):
    """‖v(h) − v‖/s of all steps, v by DOP853 from the same states."""
    run, mass = run_of(BENT, h, 80, method=method), np.array([1.0, 3.0])
    force = sp.lambdify(Q, [-sp.diff(WELL, s) for s in Q])
    mean = run.v.mean(axis=0)
    usual, worst = np.sqrt((mass * (run.v - mean) ** 2).mean(axis=0)), 0.0
    for k in range(len(run) - 1):
        found = solve_ivp(
            lambda t, z: [*z[2:], *np.array(force(*z[:2])) / mass], (0, h),
            [*run.q[k], *run.v[k]], method="DOP853", rtol=1e-12, atol=1e-13,
            t_eval=np.linspace(0, h, 9),
        ).y[2:].T  # fmt: skip
        fast = np.fmax(np.abs(np.sqrt(mass) * (found - mean)).max(axis=0), usual)
        gap = np.sqrt(mass) * np.abs(run.v[k + 1] - found[-1]) / np.fmax(fast, 0.03 * fast.max())
        worst = max(worst, gap.max())
    assert 0.5 * worst < halved(run).error < 1.5 * worst


def test_turns_and_errors_of_a_vibration():
    for h in (0.05, 0.2):
        found = swing(h)
        assert h < found.turn < 1.6 * h
        assert 0.05 * h**3 < found.error < 0.2 * h**3


@pytest.mark.parametrize(
    ("method", "h"), [("gauss-lobatto-4", 3), ("energy-momentum", 5), ("rattle", 1)]
)
def test_steps_that_are_too_large_are_found_out(method, h):
    assert swing(h, method).error > 0.05


@pytest.mark.parametrize("method", ["gauss-lobatto-8", "implicit-trapezoid", "energy-momentum"])
def test_steps_of_fourteen_periods_are_found_out(method):
    """The phase of each step by itself is as good as zero."""
    assert swing(28 * np.pi, method).error > 0.5


def test_a_method_that_is_exact_has_no_error():
    for h in (0.1, 3, 28 * np.pi):
        assert swing(h, "precise-element").error < 1e-12
    softer = taut.System([x], mass=[1], potential=x**2 / 2 + x**4 / 20)
    assert halved(run_of(softer, 1.0, 8, v0=(0,), method="precise-element")).error > 5e-3


def test_momenta_of_other_coordinates_have_a_mass():
    """H = p₁p₂ + xy has no entry on the diagonal of its masses."""
    assert halved(run_of(SWAPPED, 1.2)).error > 0.05
    assert 0 < halved(run_of(SWAPPED, 0.05)).error < 1e-4


def test_what_is_stiff_but_at_rest_is_no_error():
    stiff = taut.System(Q, mass=[1, 1], potential=x**2 / 2 + 5e7 * y**2)
    assert halved(run_of(stiff, 0.05, v0=(0, 0), method="implicit-trapezoid")).error < 1e-4
    moved = run_of(stiff, 0.05, q0=(1, 1e-4), v0=(0, 0), method="implicit-trapezoid")
    assert halved(moved).error > 0.5


def test_what_is_small_beside_a_travel_is_held_against_it():
    """A pair on a stiff spring that flies by, and trembles by 10⁻⁷ or by 10⁻² of its speed."""
    pair = taut.System(Q, mass=[1, 1], potential=5e5 * (x - y) ** 2)
    settings = {"q0": (0, 0), "method": "implicit-trapezoid"}
    assert halved(run_of(pair, 0.05, v0=(1, 1), **settings)).error < 1e-12
    assert halved(run_of(pair, 0.05, v0=(1, 1 + 1e-7), **settings)).error < 1e-3
    assert halved(run_of(pair, 0.05, v0=(1, 1.01), **settings)).error > 0.5


def test_turns_of_short_runs_say_nothing():
    short, long = swing(0.1, steps=3), swing(0.1, steps=200)
    assert not short.turned
    assert long.turned
    assert short.error < 5e-3
    fall = halved(run_of(taut.System(Q, mass=[1, 1], potential=10 * y), 0.1, 1))
    assert fall.error < 1e-12
    assert not fall.turned


@pytest.mark.parametrize("wave", [sp.cos, sp.sin])
def test_forces_that_are_back_where_they_were_are_found_out(wave):
    """A force of 100 Hz, sampled every 0.01 s: a constant, or nothing at all."""
    driven = taut.System([x], mass=[1], potential=x**2 / 2, forces=[wave(200 * sp.pi * taut.t)])
    coarse = halved(run_of(driven, 0.01, 300, q0=(0,), v0=(0,)))
    fine = halved(run_of(driven, 0.0005, 300, q0=(0,), v0=(0,)))
    assert max(coarse.forcing, coarse.error) > 0.1
    assert fine.forcing == 0
    assert fine.error < 5e-3


@pytest.mark.parametrize("light", [1e-9, 1.0])
def test_a_step_that_ended_elsewhere_is_found_out(light):
    """A light crank that is thrown to the other side of its rod, in one of many steps."""
    linkage = taut.System(Q, mass=[1, light], constraints=[x**2 + y**2 - 4], potential=x**2 / 2)
    run = run_of(linkage, 0.01, q0=(0, 2), v0=(1, 0))
    assert not halved(run).astray
    run.q[78:, 1] *= -1
    run.v[78:, 1] *= -1
    found = halved(run)
    assert found.astray
    assert found.t == run.t[77]
    assert run.certificate.resolved is False


@pytest.mark.parametrize("tremble", [1e-3, 1e-6, 1e-10])
def test_what_trembles_unresolved_is_not_astray(tremble):
    """A light part on a stiff spring: steps that are made again solve the same equations."""
    stiff = taut.System(Q, mass=[1, 1e-6], potential=x**2 / 2 + (y - x / 10) ** 2 * 1e4)
    for method in ("implicit-trapezoid", "gauss-lobatto-4", "generalized-alpha"):
        run = run_of(stiff, 0.05, q0=(1, 0.1 + tremble), v0=(0, 0), method=method)
        assert not halved(run).astray


@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-4", "precise-element"])
def test_a_last_step_that_is_shorter_is_made_again_as_short_as_it_was(method):
    for h, duration in ((0.5, 4.1), (0.3, 2.11)):
        run = taut.simulate(
            OSCILLATOR, q0=[1], v0=0, step=h, duration=duration, method=method, laws=None
        )
        assert run.ending.short
        assert not halved(run).astray


def test_nothing_moves():
    run = run_of(OSCILLATOR, 0.1, q0=(0,), v0=(0,))
    assert halved(run).still
    assert not swing(0.1).still


def test_the_worst_of_a_batch_counts():
    stretch = np.linspace(0.1, 3, 40)[:, None]
    quartic = taut.System([x], mass=[1], potential=x**4 / 4)
    run = taut.simulate(quartic, q0=stretch, v0=0 * stretch, step=0.1, duration=10, laws=None)
    assert halved(run).error == pytest.approx(halved(run[39]).error)
    assert halved(run).error > 20 * halved(run[5]).error


def test_steps_of_varying_size_are_made_again_at_their_own():
    kepler = taut.System(Q, mass=[1, 1], potential=-1 / sp.sqrt(x**2 + y**2))
    method = taut.Adaptive("rattle", scale=(x**2 + y**2) ** sp.Rational(3, 4))
    settings = {"q0": [1, 0], "v0": [0, 0.3], "duration": 8, "laws": None, "method": method}
    fine, coarse = (halved(taut.simulate(kepler, **settings, step=h)) for h in (0.05, 0.5))
    assert fine.error < 1e-3
    assert coarse.error > 0.02
    assert halved(taut.simulate(kepler, **settings, step=0.05, every=3)) is None


# ---- between stored states -------------------------------------------------------------------

ORBIT = taut.System(Q, mass=[1, 1], potential=-1 / sp.sqrt(x**2 + y**2))


@pytest.mark.parametrize("speed", [0.02, 0.5])
def test_what_is_seen_does_not_depend_on_what_was_stored(speed):
    """A comet turns within a few steps, which are hardly among those that are stored."""
    settings = {"q0": [1, 0], "v0": [0, speed], "step": 2e-3, "duration": 60, "laws": None}
    all_steps, some = (taut.simulate(ORBIT, **settings, every=k) for k in (1, 1500))
    one, two = halved(all_steps), halved(some)
    assert one.looked == 1
    assert 0 < two.looked <= 1
    assert two.error == pytest.approx(one.error, rel=0.5)


def test_how_much_was_looked_at_is_known():
    run = taut.simulate(ORBIT, q0=[1, 0], v0=[0, 1], step=1e-3, duration=100, every=50, laws=None)
    found = halved(run)
    assert found.looked == pytest.approx(16 * 50 / 1e5, rel=0.02)
    assert "of 0.8 % of the steps" in str(run.certificate)
