"""Through singular configurations, on the branch that the motion is on."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import taut
from taut.march import passage

FAR, PULL = 0.7, 2.0  # of the two feet; the pull down on the first point


def parallelogram(mass=(1.0, 3.0)):
    """Two points on parallel rods, with a rod between them: twice a turn all lie in one line.

    Gravity acts on the first point alone, so that the rod between them is under load, and its
    force grows beyond bounds as the rods come into line with it.
    """
    x, y, u, w = q = taut.coordinates("x y u w")
    rods = [x**2 + y**2 - 1, (u - FAR) ** 2 + w**2 - 1, (u - x) ** 2 + (w - y) ** 2 - FAR**2]
    return taut.System(q, mass=np.repeat(mass, 2), potential=PULL * y, constraints=rods)


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


def made(name, step, duration=4.0, **more):
    system = {"parallelogram": parallelogram, "bars": bars}[name]()
    q0, v0 = STARTS[name]
    return taut.simulate(
        system, q0=q0, v0=v0, duration=duration, step=step, laws=None, progress=False, **more
    )


def angle(name, t):
    """The angle of all rods, from the vertical."""
    factor, rate = (PULL / 4, 3.0) if name == "parallelogram" else (9.81 * 3.5 / 3, 1.0)
    found = solve_ivp(
        lambda _, y: [y[1], factor * np.sin(y[0])], (0, t[-1]), [0, rate],
        method="DOP853", rtol=1e-13, atol=1e-13, t_eval=t,
    )  # fmt: skip
    return found.y[0]


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


def test_controllers_are_heard_beside_singular_places():
    """What a controller holds is what the same number as a parameter does, step by step."""
    x, y, u, w = q = taut.coordinates("x y u w")
    force = sp.Symbol("F", real=True)
    rods = [x**2 + y**2 - 1, (u - FAR) ** 2 + w**2 - 1, (u - x) ** 2 + (w - y) ** 2 - FAR**2]
    given = {"mass": [1, 1, 3, 3], "potential": PULL * y, "constraints": rods}
    forces = [force, 0, 0, 0]
    plain = taut.System(q, **given, forces=forces, parameters={force: 0.5})
    asked = taut.System(q, **given, forces=forces, controls={force: lambda t, state: 0.5})
    q0, v0 = STARTS["parallelogram"]
    settings = {"q0": q0, "v0": v0, "duration": 2.0, "step": 0.0123, "laws": None}
    with_care = []
    for system in (plain, asked):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "taut.march.run.passed",
                lambda *x, **y: passage.passed(*x, **y) and not with_care.append(x),
            )
            run = taut.simulate(system, **settings, progress=False)
        with_care.append(run.q)
    first, second = (x for x in with_care if isinstance(x, np.ndarray))
    assert len(with_care) >= 4
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)


def test_without_care_it_fails(monkeypatch):
    """What is tested here does happen."""
    monkeypatch.setattr("taut.march.run.passed", lambda *_, **__: False)
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
