"""Through singular configurations, on the branch that the motion is on."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import taut
from taut.kernel.compile import workshop
from taut.march import passage, run as run_room
from taut.march.follow import Way

FAR, PULL = 0.7, 2.0  # of the two feet; the pull down on the first point


def parallelogram(pull=PULL, **more):
    """Two points on parallel rods, with a rod between them: twice a turn all lie in one line.

    Gravity acts on the first point alone, so that the rod between them is under load, and its
    force grows beyond bounds as the rods come into line with it.
    """
    x, y, u, w = q = taut.coordinates("x y u w")
    rods = [x**2 + y**2 - 1, (u - FAR) ** 2 + w**2 - 1, (u - x) ** 2 + (w - y) ** 2 - FAR**2]
    return taut.System(q, mass=[1, 1, 3, 3], potential=pull * y, constraints=rods, **more)


def bars():
    """Two four-bar mechanisms in a row, of five uniform bars in the plane."""
    n, half = 5, sp.Rational(1, 2)
    q = taut.coordinates(" ".join(f"x{i} y{i} a{i}" for i in range(n)))
    part = [q[3 * i : 3 * i + 3] for i in range(n)]

    def end(i, side):
        x, y, a = part[i]
        if i < 3:
            return x + side * half * sp.sin(a), y + side * half * sp.cos(a)
        return x + side * half * sp.cos(a), y - side * half * sp.sin(a)

    rows = [e for i in range(3) for e in (end(i, -1)[0] - i, end(i, -1)[1])]
    for j in (0, 1):
        for side, i in ((-1, j), (1, j + 1)):
            rows += [a - b for a, b in zip(end(i, 1), end(3 + j, side), strict=True)]
    potential = sum(sp.Float(9.81) * y for _, y, _ in part)
    mass = [1, 1, sp.Rational(1, 12)] * n
    return taut.System(q, mass=mass, potential=potential, constraints=rows)


STARTS = {
    "parallelogram": ([0, 1, FAR, 1], [3.0, 0, 3.0, 0]),
    "bars": (
        [0, 0.5, 0, 1, 0.5, 0, 2, 0.5, 0, 0.5, 1, 0, 1.5, 1, 0],
        [0.5, 0, 1] * 3 + [1, 0, 0] * 2,
    ),
}


SYSTEMS = {"parallelogram": parallelogram, "bars": bars}


def made(name, step, duration=4.0, system=None, **more):
    system = SYSTEMS[name]() if system is None else system
    q0, v0 = STARTS[name]
    return taut.simulate(
        system, q0=q0, v0=v0, duration=duration, step=step, laws=None, progress=False, **more
    )


def angle(name, t, pull=lambda _: 1.0):
    """The angle of all rods, from the vertical; the pull may change with time."""
    factor, rate = (PULL / 4, 3.0) if name == "parallelogram" else (9.81 * 3.5 / 3, 1.0)
    found = solve_ivp(
        lambda s, y: [y[1], pull(s) * factor * np.sin(y[0])], (0, t[-1]), [0, rate],
        method="DOP853", rtol=1e-13, atol=1e-13, t_eval=t,
    )  # fmt: skip
    return found.y[0]


def bent(states):
    """By how much the rods of a parallelogram are not parallel, at the worst."""
    q = states.q
    return float(np.abs(q[..., :2] - q[..., 2:] + [FAR, 0]).max())


def error(name, run):
    """How far the rods are from where they should be, at the worst."""
    sine = np.sin(angle(name, run.t))
    if name == "parallelogram":
        places = [run.q[:, 0], run.q[:, 2] - FAR]
    else:
        places = [np.sin(run.q[:, i]) for i in (2, 5, 8)]
    return max(float(np.abs(x - sine).max()) for x in places)


def met(run):
    """To round-off, and for velocities to what is left of it beside a singular configuration."""
    kept = not run.method.keeps_hidden or np.abs(run.hidden).max() < 1e-8
    return kept and np.abs(run.constraints).max() < 2e-14


@pytest.mark.parametrize("name", ["parallelogram", "bars"])
def test_steps_of_any_size_stay_on_the_branch(name):
    """The error is that of a method of order two, however the steps hit singular places."""
    steps = 0.011 * (1 + 0.1 * np.random.default_rng(3).random(12))
    runs = [made(name, h) for h in steps]
    sizes = np.array([error(name, run) / h**2 for run, h in zip(runs, steps, strict=True)])
    assert all(met(run) for run in runs)
    assert sizes.max() < 1.5 * sizes.min()


@pytest.mark.parametrize(
    ("method", "order", "h"),
    [("gauss-lobatto-4", 4, 0.04), ("composition-4", 4, 0.02), ("energy-momentum", 2, 0.01),
     ("time-element", 2, 0.01)],
)  # fmt: skip
def test_order_of_other_methods(method, order, h):
    runs = [made("bars", x, duration=2.0, method=method) for x in (h, h / 2)]
    errors = [error("bars", run) for run in runs]
    assert all(met(run) for run in runs)
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.5


@pytest.fixture(scope="module")
def hit():
    """A step size with which the 50th state is the singular configuration itself."""

    def height(h):
        return made("parallelogram", h, duration=50 * h, every=50).q[-1, 1]

    return brentq(height, 0.0095, 0.0115, xtol=1e-16, rtol=1e-15)


class TestOnTheVerySpot:
    def test_it_is_one(self, hit):
        run = made("parallelogram", hit, duration=50 * hit)
        assert abs(run.q[-1, 1]) < 1e-9
        rows = np.array([[2, 0, 0, 0], [0, 0, 2, 0], [-2 * FAR, 0, 2 * FAR, 0]])  # G, of rank 2
        assert np.linalg.matrix_rank(rows) == 2

    def test_the_motion_goes_on(self, hit):
        run = made("parallelogram", hit, duration=100 * hit)
        beside = made("parallelogram", hit * 1.001, duration=100 * hit * 1.001)
        assert met(run)
        assert run.t[50] == 50 * hit
        assert error("parallelogram", run) == pytest.approx(
            error("parallelogram", beside), rel=0.05
        )
        assert np.ptp(run.energy) == pytest.approx(np.ptp(beside.energy), rel=0.05)

    def test_in_parts_it_is_the_same(self, hit):
        whole = made("parallelogram", hit, duration=80 * hit)
        parts = made("parallelogram", hit, duration=30 * hit).continue_(50 * hit)
        assert np.array_equal(whole.q, parts.q)
        assert np.array_equal(whole.p, parts.p)

    def test_thinned_it_is_the_same(self, hit):
        whole = made("parallelogram", hit, duration=80 * hit)
        for every in (7, 50):
            thin = made("parallelogram", hit, duration=80 * hit, every=every)
            assert np.array_equal(thin.q[1], whole.q[every])
            assert np.array_equal(thin.q[-1], whole.q[-1])

    def test_as_the_last_step(self, hit):
        run = made("parallelogram", hit, duration=50 * hit)
        assert met(run)
        assert run.t[-1] == pytest.approx(50 * hit, rel=1e-15)

    def test_in_a_batch(self, hit):
        q0, v0 = STARTS["parallelogram"]
        run = taut.simulate(
            parallelogram(), q0=[q0] * 3, v0=np.outer([1, 0.999, 1.001], v0), duration=80 * hit,
            step=hit, laws=None, progress=False,
        )  # fmt: skip
        alone = made("parallelogram", hit, duration=80 * hit)
        assert np.array_equal(run[0].q, alone.q)
        assert met(run)


class TestCoarse:
    """Steps of up to a radian: on the branch, or an error."""

    @pytest.mark.parametrize("limit", [40, -1], ids=["fused", "assembled"])
    def test_no_branch_is_changed_silently(self, monkeypatch, limit):
        monkeypatch.setattr("taut.kernel.compile.FUSED_LIMIT", limit)
        told, ended = [], 0
        for h in np.linspace(0.1, 0.34, 25):
            try:
                run = made("parallelogram", h, duration=40 * h)
                ended += 1
            except taut.StepError as caught:
                told.append(caught)
                run = caught.partial
            assert bent(run) < 1e-9
        for caught in told:
            assert "singular configuration" in str(caught)
            assert "smaller step" in caught.remedy
        assert ended >= 5

    @pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-4", "composition-4"])
    def test_a_third_of_a_radian_is_short_enough(self, method):
        run = made("parallelogram", 0.11, duration=4.4, method=method)
        assert bent(run) < 1e-9
        assert error("parallelogram", run) < 0.3

    def test_a_branch_that_nobody_is_sure_of_is_not_taken(self, monkeypatch):
        """As if nothing were near enough to its guess."""
        monkeypatch.setattr("taut.march.follow.SAME", 0.0)
        with pytest.raises(taut.StepError, match="singular configuration") as caught:
            made("parallelogram", 0.011)
        partial = caught.value.partial
        assert 0.4 < partial.t[-1] < 0.6  # of the first passage
        assert bent(partial) < 1e-12

    def test_steps_that_turn_are_looked_at(self, monkeypatch):
        """Where pivots do not tell: beside singular configurations, and only there."""
        monkeypatch.setattr("taut.kernel.compile.FUSED_LIMIT", -1)
        cared = []
        monkeypatch.setattr(
            "taut.march.rescue.passed",
            lambda run, group, **more: (
                passage.passed(run, group, **more) and not cared.append(group.state[1, 0])
            ),
        )
        made("parallelogram", 0.03)
        assert not cared
        made("parallelogram", 0.12, duration=4.8)
        assert cared

    def test_what_lies_on_another_branch_is_not_followed(self, monkeypatch):
        """As if Newton's method had found the rods crossed, past the line that they form."""
        step = workshop(parallelogram()).step(taut.Rattle(), keep=(0, 1, 2), backend="assembled")
        turned = np.radians(80)
        x, y = np.sin(turned), np.cos(turned)
        q, v = np.array([x, y, FAR + x, y]), 3 * np.array([y, -x, y, -x])
        p, none = np.array([1, 1, 3, 3]) * v, np.zeros(4)
        head = np.concatenate([q, p, v, none, p, none, 0.1 * v, np.full(4, 1e-7)])
        assert Way(step, np.zeros(0), head, 0.0).to(0.1) is not None
        real = run_room.trial

        def crossed(step, inner, t, h, par):
            end = real(step, inner, t, h, par)
            if end is not None and end[1] < 0:  # past the line: the second point goes back
                end[3] = -end[3]
            return end

        monkeypatch.setattr(run_room, "trial", crossed)
        assert Way(step, np.zeros(0), head, 0.0).to(0.1) is None


class TestBetween:
    """States between the stored ones, and events, go through with the same care."""

    @pytest.mark.parametrize("limit", [40, -1], ids=["fused", "assembled"])
    @pytest.mark.parametrize("every", [1, 7])
    def test_at(self, monkeypatch, limit, every):
        monkeypatch.setattr("taut.kernel.compile.FUSED_LIMIT", limit)
        run = made("parallelogram", 0.04, duration=0.8, every=every)
        found = run.at(np.linspace(0.3, 0.7, 41))
        assert bent(found) < 1e-9
        sine = np.sin(angle("parallelogram", np.append(0.0, found.t))[1:])
        assert np.abs(found.q[:, 0] - sine).max() < 2 * error("parallelogram", run)

    def test_events_at_the_singular_places_themselves(self):
        run = made("parallelogram", 0.03, duration=4.0, events={"in line": "y"})
        t = run.events["in line"].t
        assert len(t) == 4
        assert bent(run.events["in line"]) < 1e-9
        cosine = np.cos(angle("parallelogram", np.append(0.0, t))[1:])
        assert np.abs(cosine).max() < 0.03

    def test_a_terminal_event_in_a_careful_step(self):
        last = taut.Event("y + 1/50", terminal=True)  # in the step that goes through y = 0
        run = made("parallelogram", 0.04, duration=4.0, events=last)
        assert run.q[-1, 1] == pytest.approx(-0.02, abs=1e-12)
        assert 0.4 < run.t[-1] < 0.7
        assert bent(run) < 1e-9


class TestControllers:
    """What they hold is what the same number as a parameter does, step by step."""

    def asked(self, controller, **more):
        force = sp.Symbol("F", real=True)
        return parallelogram(forces=[force, 0, 0, 0], controls={force: controller})

    def test_beside_singular_places(self, monkeypatch):
        force = sp.Symbol("F", real=True)
        plain = parallelogram(forces=[force, 0, 0, 0], parameters={force: 0.5})
        cared, found = [], []
        monkeypatch.setattr(
            "taut.march.rescue.passed",
            lambda *x, **y: passage.passed(*x, **y) and not cared.append(x),
        )
        for system in (plain, self.asked(lambda t, state: 0.5)):
            found.append(made("parallelogram", 0.0123, 2.0, system))
            assert len(cared) >= 2
            cared.clear()
        np.testing.assert_allclose(found[0].q, found[1].q, rtol=0, atol=1e-12)

    def test_on_the_very_spot(self, hit):
        """They are asked before every step once, and see the state at its time."""
        seen = []

        def controller(t, state):
            seen.append((t, state.q.copy()))
            return 0.0

        run = made("parallelogram", hit, 80 * hit, self.asked(controller))
        whole = made("parallelogram", hit, 80 * hit)
        np.testing.assert_allclose(run.q, whole.q, rtol=0, atol=1e-12)
        assert [t for t, _ in seen] == run.t[:-1].tolist() == run.held.times[0].tolist()
        np.testing.assert_array_equal([q for _, q in seen], run.q[:-1])
        assert abs(seen[50][1][1]) < 1e-9

    def test_what_is_said_on_the_very_spot_holds_from_then_on(self, hit):
        """A push that begins there, against one that begins there by the clock."""
        run = made("parallelogram", hit, 80 * hit, self.asked(lambda t, _: 0.5 * (t > 49.5 * hit)))
        assert np.unique(run.controls["F"][:50]).tolist() == [0.0]
        assert np.unique(run.controls["F"][50:]).tolist() == [0.5]
        turned = np.arctan2(run.q[50, 0], run.q[50, 1])
        rate = np.hypot(*run.v[50, :2])
        (end,) = solve_ivp(
            lambda _, y: [y[1], (PULL * np.sin(y[0]) + 0.5 * np.cos(y[0])) / 4],
            (0, 30 * hit), [turned, rate], rtol=1e-11, atol=1e-11, t_eval=[30 * hit],
        ).y[0]  # fmt: skip
        assert run.q[-1, 0] == pytest.approx(np.sin(end), abs=3 * hit**2)

    def test_one_that_fails_on_the_very_spot(self, hit):
        def controller(t, state):
            if t > 49.5 * hit:
                raise RuntimeError("no")
            return 0.0

        with pytest.raises(taut.ControlError) as caught:
            made("parallelogram", hit, 80 * hit, self.asked(controller))
        partial = caught.value.partial
        assert len(partial.t) == 51
        np.testing.assert_array_equal(partial.q, made("parallelogram", hit, 80 * hit).q[:51])


def test_across_at_its_own_time():
    """Where the pull changes with time, too."""
    t = taut.t
    pull = PULL * (1 + sp.sin(5 * t))
    system = parallelogram(pull)

    def height(h):
        return made("parallelogram", h, 50 * h, system, every=50).q[-1, 1]

    h = brentq(height, 0.0095, 0.0115, xtol=1e-16, rtol=1e-15)
    off = []
    for size in (h, 1.001 * h):
        run = made("parallelogram", size, 100 * size, system)
        sine = np.sin(angle("parallelogram", run.t, lambda s: 1 + np.sin(5 * s)))
        off.append(np.abs(run.q[:, 0] - sine).max())
        assert met(run)
    assert off[0] == pytest.approx(off[1], rel=0.02)


def test_without_care_it_fails(monkeypatch):
    """What is tested here does happen."""
    monkeypatch.setattr("taut.march.rescue.passed", lambda *_, **__: False)
    with pytest.raises(taut.StepError):
        made("bars", 0.004)


def test_the_state_between_is_of_order_four(hit, monkeypatch):
    """Further from the singular place it is less exact, and only there."""
    usual = made("parallelogram", hit, duration=60 * hit)
    off = []
    for past in (2e-3, 4e-3):
        monkeypatch.setattr(passage, "PAST", past)
        run = made("parallelogram", hit, duration=60 * hit)
        assert np.array_equal(run.q[:50], usual.q[:50])
        off.append(np.abs(run.q[50] - usual.q[50]).max())
    assert 12 < off[1] / off[0] < 20


def test_what_blows_up_still_does():
    """Care is for singular places."""
    x, y = taut.coordinates("x y")
    system = taut.System([x, y], mass=[1, 1], potential=-(y**4), constraints=[x - y / 3])
    with pytest.raises(taut.StepError):
        taut.simulate(system, q0=[1, 3], v0=0, duration=10, step=0.1, laws=None)
