"""Generalised α: against a loop in NumPy, its damping, and what it remembers from step to step."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
import sympy as sp

import taut
import taut.kernel.compile as compile_room
from taut.diagnose.symplecticity import Probe
from taut.kernel.compile import workshop
from taut.march import loop, run as run_room
from taut.march.run import one_step
from taut.methods import GeneralizedAlpha, Method

x, y = Q = taut.coordinates("x y")
u, w = taut.velocities(Q)
px, py = taut.momenta(Q)
T = taut.t
PENDULUM = taut.System(Q, mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
START = {"q0": [1, 0], "v0": [0, 1.5]}
BACKENDS = pytest.mark.parametrize("backend", ["fused", "assembled"])


@pytest.fixture(autouse=True)
def chosen(request, monkeypatch):
    """Steps are compiled by the back end that a test names."""
    name = request.node.callspec.params.get("backend") if hasattr(request.node, "callspec") else 0
    if name == "assembled":
        monkeypatch.setattr(compile_room, "FUSED_LIMIT", -1)


def go(system=PENDULUM, method=None, **options):
    given = START | {"duration": 1, "step": 0.01} | options
    return taut.simulate(system, **given, method=method or GeneralizedAlpha())


# ------------------------------------------------------------------- by hand


def driven(form):
    """A pendulum with a moving pivot, masses 1 and 2, friction and a push, as L or as H."""
    energy = {"mass": [1, 2], "potential": 5 * y}
    if form == "hamiltonian":
        energy = {"hamiltonian": px**2 / 2 + py**2 / 4 + 5 * y}
    return taut.System(
        Q,
        constraints=[(x - sp.sin(T) / 3) ** 2 + y**2 - 1],
        forces=[-u / 5, -w / 5 + sp.cos(3 * T)],
        **energy,
    )


@cache
def by_hand(rho, h, steps):
    """The published scheme for `driven` in NumPy, with Newton's matrix written out.

    Rows are (q, v).
    """
    am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 - am + af
    beta = (gamma + 0.5) ** 2 / 4
    mass = np.diag([1.0, 2.0])

    def force(v, t):
        return np.array([-v[0] / 5, -5 - v[1] / 5 + np.cos(3 * t)])

    def arm(q, t):
        return q - [np.sin(t) / 3, 0]

    q, v = np.array([1.0, 0.0]), np.array([1 / 3, 1.0])
    # M v̇ + 2 λ r = F  and  r·v̇ + |ṙ|² = r·s̈,  with the arm r = q − s and s̈ = 0 at t = 0.
    border = np.block([[mass, 2 * arm(q, 0)[:, None]], [arm(q, 0)[None], np.zeros((1, 1))]])
    turn = v - [1 / 3, 0]
    a, lam = np.split(np.linalg.solve(border, [*force(v, 0), -turn @ turn]), [2])
    rate, rows = a, [np.concatenate([q, v])]
    for k in range(steps):
        t, new = (k + 1) * h, rate.copy()
        for _ in range(12):
            a1 = ((1 - af) * new + af * rate - am * a) / (1 - am)
            q1 = q + h * v + h * h * ((0.5 - beta) * a + beta * a1)
            v1 = v + h * ((1 - gamma) * a + gamma * a1)
            r, share = arm(q1, t), (1 - af) / (1 - am)
            left = np.array([*(mass @ new - force(v1, t) + 2 * lam * r), r @ r - 1])
            slope = np.zeros((3, 3))
            slope[:2, :2] = mass + np.eye(2) * (h * gamma / 5 + 2 * lam * h * h * beta) * share
            slope[:2, 2], slope[2, :2] = 2 * r, 2 * r * h * h * beta * share
            change = np.linalg.solve(slope, -left)
            new, lam = new + change[:2], lam + change[2]
        a, rate = ((1 - af) * new + af * rate - am * a) / (1 - am), new
        q, v = q1, v1
        rows.append(np.concatenate([q, v]))
    return np.array(rows)


@BACKENDS
@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 0.9])
def test_it_is_the_published_scheme(backend, form, rho):
    """1000 steps with friction and a moving constraint, to round-off."""
    start = {"q0": [1, 0], "v0": [1 / 3, 1]}
    run = go(driven(form), GeneralizedAlpha(rho), duration=20, step=0.02, **start)
    exact = by_hand(rho, 0.02, 1000)
    assert np.abs(run.q - exact[:, :2]).max() < 1e-12
    # The multiplier, and so the acceleration, is known to ε/h² only.
    assert np.abs(run.v - exact[:, 2:]).max() < 1e-11
    assert np.array_equal(run.p, run.v * [1, 2]) or np.abs(run.p - run.v * [1, 2]).max() < 1e-15


@pytest.mark.parametrize("rho", [0.0, 0.25, 0.5, 0.8])
def test_rho_is_the_spectral_radius_of_a_stiff_spring(rho):
    """q, h v and h² a obey one linear recurrence of three terms; its largest root is ρ."""
    spring = taut.System([x], mass=[1], potential=x**2 / 2)
    run = taut.simulate(
        spring, q0=[1], v0=[1e-3], step=1e3, duration=2e4, method=GeneralizedAlpha(rho)
    )
    q = run.q[:8, 0]
    q = q[: np.count_nonzero(np.abs(q) > 1e-200)]
    last = np.stack([q[2:-1], q[1:-2], q[:-3]], axis=1)
    found = np.linalg.lstsq(last / q[:-3, None], q[3:] / q[:-3], rcond=None)[0]
    roots = np.abs(np.roots([1, *-found]))
    assert roots.max() == pytest.approx(rho, abs=0.02)


def test_the_energy_falls_the_faster_the_smaller_rho():
    ends = [go(method=GeneralizedAlpha(r), duration=50, step=0.02).energy for r in (0, 0.5, 0.8)]
    lost = [e[0] - e[-1] for e in ends]
    assert lost[0] > 4 * lost[1] > 5 * lost[2] > 0
    assert ends[0][-1] < -1  # of −10 … 1.1


def test_rho_of_one_is_weakly_unstable_with_constraints():
    """All roots of the multipliers' recursion lie at −1: the velocity leaves the constraints."""
    worst = [go(method=GeneralizedAlpha(1), duration=d).certificate.max_hidden for d in (1, 2, 4)]
    assert worst[1] > 2 * worst[0]
    assert worst[2] > 2 * worst[1]
    assert go(method=GeneralizedAlpha(0.9), duration=4).certificate.max_hidden < 0.2 * worst[0]


def test_in_coarse_steps_only_the_stabilised_form_is_to_be_trusted():
    """A swinging pendulum in coarse steps: the published form gains energy, a lot of it."""
    for rho, h, gains in ((0.8, 0.05, False), (0.9, 0.05, True), (0.8, 0.1, True)):
        plain, tangent = (
            go(method=GeneralizedAlpha(rho, s), duration=20, step=h).energy for s in (False, True)
        )
        assert tangent[-1] < tangent[0]
        assert (plain.max() > 100) == gains
    tangent = go(method=GeneralizedAlpha(1, True), duration=200, step=0.05).energy
    assert tangent.max() > 10  # without any damping it only takes longer


# ------------------------------------------------------------------- the velocity


def test_the_velocity_leaves_the_constraints_by_the_square_of_the_step():
    found = [go(step=h, duration=4).certificate for h in (0.02, 0.01)]
    assert all(c.max_g < 1e-15 for c in found)
    assert np.log2(found[0].max_hidden / found[1].max_hidden) == pytest.approx(2, abs=0.1)


@BACKENDS
def test_stabilised_keeps_both_and_the_order(backend):
    system, start = driven("lagrangian"), {"q0": [1, 0], "v0": [1 / 3, 1]}
    method = GeneralizedAlpha(stabilised=True)
    exact = go(system, "gauss-lobatto-8", **start)
    for part in ("q", "v", "p"):
        errors = []
        for h in (0.02, 0.01, 0.005):
            run = go(system, method, step=h, **start)
            assert run.certificate.max_g < 2e-15
            assert run.certificate.max_hidden < 1e-14
            errors.append(np.abs(getattr(run, part)[-1] - getattr(exact, part)[-1]).max())
        assert np.log2(errors[0] / errors[2]) / 2 == pytest.approx(2, abs=0.15)


def test_stabilised_is_the_projection_of_the_published_one():
    """The position needs no projection, so `Projected` does the same."""
    one, two = (go(method=m) for m in (GeneralizedAlpha(0.6, True),
                                       taut.Projected(GeneralizedAlpha(0.6))))  # fmt: skip
    assert np.abs(one.q - two.q).max() < 1e-13
    assert np.abs(one.p - two.p).max() < 1e-12
    assert np.abs(one.q - go(method=GeneralizedAlpha(0.6)).q).max() > 1e-6


# ------------------------------------------------------------------- what is remembered


@dataclass(frozen=True)
class Echo(Method):
    """Δq = h² a, and a doubles: what is remembered can be read off the positions."""

    asks: bool = True
    hands: str | None = "a"

    name: ClassVar[str] = "echo"
    order: ClassVar[int] = 1
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    def program(self, step):
        a = step.remember("a") if self.asks else step.v
        dq = step.h * (step.h * a)
        step.moved(dq)
        v1 = step.unknown("v1", guess=step.v)
        step.solve((v1, step.link(step.q, v1, step.p, step.t)), watch=v1)
        handed = None if self.hands is None else {self.hands: 2.0 * a}
        step.advance(q=dq, p=0 * step.p, v=v1, remember=handed)


@BACKENDS
def test_it_begins_with_the_acceleration(backend):
    """Of a particle in a constant field: q₀ + h² a (2ᵏ − 1) after k steps, to the bit."""
    field = taut.System(Q, mass=[2, 4], potential=-8 * x + 16 * y)
    run = go(field, Echo(), q0=[0, 0], v0=0, step=0.5, duration=5)
    grown = 0.25 * (2.0 ** np.arange(11) - 1)
    assert np.array_equal(run.q, np.outer(grown, [4.0, -4.0]))


@BACKENDS
@pytest.mark.parametrize(("asks", "hands"), [(True, None), (True, "b"), (False, "a")])
def test_what_is_remembered_must_be_handed_on(backend, asks, hands):
    with pytest.raises(taut.InputError, match="must hand on what it remembers"):
        go(method=Echo(asks, hands))


@BACKENDS
@pytest.mark.parametrize("stabilised", [False, True])
def test_going_on_and_thinning_change_no_bit(backend, stabilised):
    method = GeneralizedAlpha(0.7, stabilised)
    long = go(method=method)
    joined = go(method=method, duration=0.37).continue_(0.63)
    thin = go(method=method, every=7)
    for name in ("q", "v", "p"):
        assert np.array_equal(getattr(long, name), getattr(joined, name))
        assert np.array_equal(getattr(long, name)[[*range(0, 99, 7), 100]], getattr(thin, name))
    assert np.array_equal(long.ending.states[0], joined.ending.states[0])


@pytest.mark.usefixtures("width")
def test_lanes_compute_the_same_bits_as_single_runs():
    angles = np.random.default_rng(3).uniform(0, 6, 11)
    q0 = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    system = taut.System(
        Q, mass=[[2 + x**2, x * y / 4], [x * y / 4, 1 + y**2]], potential=3 * y + sp.cos(x),
        constraints=[x**2 + y**2 - 1],
    )  # fmt: skip
    v0 = q0[:, ::-1] * [-1, 1]
    batch = go(system, q0=q0, v0=v0)
    for i in range(11):
        alone = go(system, q0=q0[i], v0=v0[i])
        for name in ("q", "v", "p"):
            assert np.array_equal(getattr(batch, name)[i], getattr(alone, name))
        assert np.array_equal(batch.ending.states[i], alone.ending.states[0])


@BACKENDS
def test_a_rescued_step_forgets_nothing(backend, monkeypatch):
    """Newton's guesses are made anew, what the method remembers is not."""
    usual, real, failed = go(), run_room.Group.advance, []

    def advance(group, plan, count, watch=None):
        if group.done >= 40 and not failed:
            failed.append(group.done)
            group.code, group.books[0, loop.FAILED_AT] = loop.FAILED, group.done
        else:
            real(group, plan, count, watch)

    monkeypatch.setattr(run_room.Group, "advance", advance)
    again = go()
    assert failed
    assert failed[0] < 100
    assert np.abs(again.q - usual.q).max() < 1e-14
    assert np.abs(again.v - usual.v).max() < 1e-12


@BACKENDS
def test_a_failed_step_leaves_what_was_remembered_before_it(backend):
    """The force ceases to exist at x = 0, where the energy is found out a step late."""
    system = taut.System([x], mass=[1], potential=2 * sp.sqrt(x))
    with pytest.raises(taut.StepError) as caught:
        go(system, q0=[1], v0=0, duration=4)
    partial, index = caught.value.partial, caught.value.index
    assert 30 < index < 200
    good = go(system, q0=[1], v0=0, duration=0.01 * index)
    assert np.array_equal(partial.q, good.q)
    assert np.array_equal(partial.ending.states[0], good.ending.states[0])


@BACKENDS
def test_from_a_terminal_event_it_goes_on_with_the_acceleration_there(backend):
    run = go(duration=2, events=taut.Event(x, terminal=True))
    assert abs(run.q[-1, 0]) < 1e-14
    assert run.t[-1] < 1
    a, _ = workshop(run.system).mechanics.accelerations(
        run.q[-1], run.v[-1], run.p[-1], run.t[-1], np.zeros(0)
    )
    assert np.array_equal(run.ending.states[0][-4:], [*a, *a])
    exact = go(method="gauss-lobatto-8", duration=2).at(run.t[-1] + 0.5)
    assert np.abs(run.continue_(0.5).q[-1] - exact.q).max() < 1e-3


@BACKENDS
def test_between_stored_states_it_is_of_second_order(backend):
    """Each of them is a start of its own: not the run's own states, but as accurate."""
    t = np.linspace(0.013, 0.987, 23)
    exact = go(method="gauss-lobatto-8").at(t).q
    errors, gaps = [], []
    for h in (0.01, 0.005):
        full, thin = go(step=h), go(step=h, every=5)
        errors.append(np.abs(thin.at(t).q - exact).max())
        gaps.append(np.abs(thin.at(full.t).q - full.q).max())
        assert np.abs(thin.at(full.t[:5]).q - full.q[:5]).max() < 1e-14  # the run's own start
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.25)
    assert np.log2(gaps[0] / gaps[1]) > 1.7
    assert 0 < gaps[0] < errors[0]


@BACKENDS
@pytest.mark.parametrize("stabilised", [False, True])
def test_the_derivative_is_that_of_a_first_step(backend, stabilised):
    """With v and v̇ that follow from q and p, against differences of whole steps."""
    system = taut.System(
        Q, mass=[[2 + x**2, x * y / 4], [x * y / 4, 1 + y**2]], potential=3 * y + sp.cos(x),
        constraints=[x**2 + 2 * y**2 - 1],
    )  # fmt: skip
    h, none, method = 0.1, np.zeros(0), GeneralizedAlpha(stabilised=stabilised)
    run = go(system, method, step=h, v0=[0, 0.7])
    probe, shop = Probe(run), workshop(system)
    q, v, p = run.q[3], run.v[3], run.p[3]
    step = shop.step(method, keep=(0,))

    def end(u):
        velocity = shop.mechanics.velocity(u[:2], u[2:], 0.0, none)
        q1, _, p1, _ = one_step(step, u[:2], velocity, u[2:], 0.0, h, none)
        return np.concatenate([q1, p1])

    at, size, basis = np.concatenate([q, p]), 1e-5, np.eye(4)
    (found,) = probe._pushed(q, v, p, 0.0, h, [basis], [np.asarray])[3]
    wanted = np.stack([(end(at + size * e) - end(at - size * e)) / (2 * size) for e in basis], 1)
    assert np.abs(found - wanted).max() < 1e-7
    assert np.abs(found - basis).max() > 0.1
    assert 1e-5 < run.certificate.symplecticity < 0.1


@pytest.mark.parametrize("rho", [-0.1, 1.01, np.nan, np.inf, "stiff", None])
def test_what_is_no_spectral_radius(rho):
    with pytest.raises(taut.InputError, match="rho is"):
        GeneralizedAlpha(rho)


def test_claims_and_labels():
    assert GeneralizedAlpha(1).key == "generalized-alpha(rho=1.0, stabilised=False)"
    assert GeneralizedAlpha().label == "generalized-alpha (0.8)"
    assert GeneralizedAlpha(0.5, True).label == "generalized-alpha (0.5, stabilised)"
    assert GeneralizedAlpha(stabilised=True).keeps_hidden
    assert not GeneralizedAlpha().keeps_hidden
    for refused in (taut.Composition, taut.Adaptive):
        with pytest.raises(taut.InputError):
            refused(GeneralizedAlpha(), **({"order": 4} if refused is taut.Composition else {}))
