"""Controllers: Python functions that are asked once per step, and what they say is held."""

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm, solve_discrete_are

import taut

x, y, u, w = taut.coordinates("x y u w")
vx, vy = taut.velocities([x, y])
RING = [x**2 + y**2 - 1]
START = {"q0": [1, 0], "v0": 0}


def pendulum(force, **given):
    return taut.System([x, y], mass=1, potential=y, constraints=RING, forces=[force, 0], **given)


def run_of(model, **given):
    return taut.simulate(model, **{**START, "duration": 2, "step": 0.02, "laws": None, **given})


def brake(t, state):
    return -0.5 * state.v[0]


class Pid:
    """One that remembers."""

    def __init__(self):
        self.sum, self.calls = 0.0, []

    def __call__(self, t, state):
        self.sum += 0.02 * state["x"]
        self.calls.append(t)
        return np.array([-0.3 * self.sum - 0.2 * state["x_dot"]])


class TestHeld:
    def test_a_constant_is_a_parameter_to_the_bit(self):
        held = run_of(pendulum(u, controls={u: lambda t, state: 0.7}))
        fixed = run_of(pendulum(u, parameters={u: 0.7}))
        for name in "qvp":
            assert np.array_equal(getattr(held, name), getattr(fixed, name))
        assert np.array_equal(held.ending.books, fixed.ending.books)
        assert np.array_equal(held.multipliers, fixed.multipliers)
        assert np.all(held.controls["u"] == 0.7)
        assert held.controls["u"].shape == (101, 1)

    def test_first_order_to_the_law_that_is_sampled(self):
        errors = []
        for h in (0.02, 0.01, 0.005):
            sampled = run_of(pendulum(u, controls={u: brake}), step=h)
            law = run_of(pendulum(-0.5 * vx), step=h)
            errors.append(np.abs(sampled.q[-1] - law.q[-1]).max())
        orders = np.log2(np.array(errors[:-1]) / errors[1:])
        np.testing.assert_allclose(orders, 1, atol=0.05)

    def test_asked_when_it_is_due(self):
        pid = Pid()
        run_of(pendulum(u, controls={u: taut.Control(pid, every=7)}), duration=0.5)
        np.testing.assert_allclose(pid.calls, 0.02 * np.arange(0, 25, 7))

    def test_several_at_their_own_pace(self):
        model = taut.System(
            [x, y], mass=1, potential=y, constraints=RING, forces=[u, w],
            controls={u: lambda t, s: t, w: taut.Control(lambda t, s: -t, period=0.06)},
        )  # fmt: skip
        run = run_of(model, duration=0.2)
        np.testing.assert_allclose(run.controls["u"][:-1, 0], run.t[:-1])
        expected = [0, 0, 0, -0.06, -0.06, -0.06, -0.12, -0.12, -0.12, -0.18]
        np.testing.assert_allclose(run.controls["w"][:-1, 0], expected)
        # At the end nobody has been asked yet: what was held up to there.
        assert run.controls["u"][-1, 0] == run.controls["u"][-2, 0]

    def test_one_function_for_two_parameters(self):
        model = taut.System(
            [x, y], mass=1, forces=[u, w], controls={(u, w): lambda t, s: (1.0, 2.0)}
        )
        run = taut.simulate(model, q0=[0, 0], v0=0, duration=1, step=0.1, laws=None)
        np.testing.assert_allclose(run.q[-1], [0.5, 1])
        assert run.controls["u w"].shape == (11, 2)

    def test_reactions_and_expressions_know_what_was_held(self):
        model = pendulum(u, controls={u: lambda t, state: 3.0 if t > 0.99 else 0.0})
        run = run_of(model, duration=1.5, every=3)
        # Along the rod: λ·2 = v² + (force)·r, with r = (x, y).
        pull = np.sum(run.v**2, axis=1) + run.controls["u"][:, 0] * run.q[:, 0] - run.q[:, 1]
        np.testing.assert_allclose(2 * run.multipliers[:, 0], pull, atol=1e-12)
        np.testing.assert_allclose(run.evaluate(u * x), run.controls["u"][:, 0] * run.q[:, 0])


class TestGoingOn:
    @pytest.mark.parametrize("every", [1, 3])
    def test_to_the_bit(self, every):
        def made():
            return pendulum(u, controls={u: taut.Control(make=Pid, every=every)})

        whole = run_of(made(), duration=1)
        parts = run_of(made(), duration=0.5).continue_(0.22).continue_(0.28)
        assert np.array_equal(whole.q, parts.q)
        assert np.array_equal(whole.controls["u"], parts.controls["u"])
        assert np.array_equal(whole.ending.books, parts.ending.books)

    def test_between_stored_states(self):
        dense = run_of(pendulum(u, controls={u: Pid()}), duration=1)
        thin = run_of(pendulum(u, controls={u: Pid()}), duration=1, every=10)
        rows = [3, 17, 44]
        np.testing.assert_allclose(thin.at(dense.t[rows]).q, dense.q[rows], atol=1e-13)
        assert np.array_equal(thin.controls["u"], dense.controls["u"][::10])

    def test_each_of_a_batch_has_its_own(self):
        model = pendulum(u, controls={u: taut.Control(make=Pid)})
        starts = np.array([[1, 0], [0.6, -0.8], [0, 1]])
        batch = run_of(model, q0=starts, duration=0.6)
        assert batch.controls["u"].shape == (3, 31, 1)
        for i, start in enumerate(starts):
            alone = run_of(model, q0=start, duration=0.6)
            assert np.array_equal(alone.q, batch[i].q)
            assert np.array_equal(alone.controls["u"], batch[i].controls["u"])
        assert np.array_equal(batch.continue_(0.2).q, run_of(model, q0=starts, duration=0.8).q)

    def test_a_controller_of_the_call(self):
        model = pendulum(u, controls={u: None})
        with pytest.raises(taut.InputError, match="nothing sets the control u"):
            run_of(model)
        run = run_of(model, controls={"u": brake})
        assert np.array_equal(run.q, run_of(pendulum(u, controls={u: brake})).q)
        with pytest.raises(taut.UnknownName, match="'w'"):
            run_of(model, controls={"w": brake})

    def test_an_event_ends_it_and_it_goes_on_from_there(self):
        asked = []

        def controller(t, state):
            asked.append(t)
            return 0.1

        model = pendulum(u, controls={u: controller})
        bottom = taut.Event(x, direction="down", terminal=True, name="bottom")
        run = run_of(model, events=[bottom], duration=5)
        (end,) = run.events["bottom"].t
        assert run.t[-1] == end
        assert abs(run.q[-1, 0]) < 1e-12
        more = run.continue_(0.1)
        assert end in asked
        assert more.held.times[0][-5] == end


class TestEnergy:
    def test_work_is_counted_where_controls_jump(self):
        def bang(t, state):
            return 2.0 if state.v[0] < 0 else -2.0

        bands = []
        for h in (0.02, 0.01):
            run = run_of(pendulum(u, controls={u: bang}), step=h, duration=10)
            bands.append(run.certificate.energy.band)
            assert run.certificate.work < -0.5
        assert bands[0] < 2e-3
        assert bands[1] < 0.3 * bands[0]  # of the second order, as without controls

    def test_with_a_constraint_that_moves(self):
        model = taut.System(
            [x, y], mass=1, potential=y, forces=[u, 0],
            constraints=[(x - sp.sin(taut.t)) ** 2 + y**2 - 1],
            controls={u: lambda t, state: 1.0 if int(2 * t) % 2 else -1.0},
        )  # fmt: skip
        bands = []
        for h in (0.02, 0.01):
            run = run_of(model, q0=[0, -1], v0=[1, 0], step=h, duration=4)
            bands.append(run.certificate.energy.band)
        assert bands[0] < 2e-3
        assert bands[1] < 0.3 * bands[0]

    def test_laws_hold_whatever_the_control_is(self):
        free = taut.System([x, y], mass=1, forces=[u, 0], controls={u: brake})
        names = {str(law.expression) for law in taut.conserved(free)}
        assert "y_dot" in names
        assert not any("u" in name for name in names)
        run = taut.simulate(free, q0=[0, 0], v0=[1, 1], duration=1, step=0.1)
        assert all("u" not in law.name for law in run.certificate.watched)
        with pytest.raises(taut.InputError, match="which a controller sets"):
            taut.conserved(free, proposed=vx - u * taut.t)
        with pytest.raises(taut.InputError, match="not conserved"):
            taut.conserved(free, proposed=vx)  # not even though u is 0 without a controller


class TestFailing:
    def test_what_was_computed_is_kept(self):
        broken = [True]

        def controller(t, state):
            if t > 0.49 and broken[0]:
                raise ZeroDivisionError("oh")
            return brake(t, state)

        model = pendulum(u, controls={u: controller})
        with pytest.raises(taut.ControlError, match=r"at t = 0.5 \(step 25\)") as caught:
            run_of(model)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert (caught.value.t, caught.value.index) == (0.5, 25)
        partial = caught.value.partial
        assert partial.t[-1] == 0.5
        broken[0] = False
        assert np.array_equal(partial.continue_(1.5).q, run_of(model).q)

    @pytest.mark.parametrize("said", [np.nan, np.inf, [1, 2], "1", None, 1j, [[1.0]], ["1"]])
    def test_no_number(self, said):
        model = pendulum(u, controls={u: lambda t, state: said if t > 0.05 else 0.0})
        with pytest.raises(taut.ControlError, match=r"returned at t = 0.06 \(step 3\)") as caught:
            run_of(model)
        assert caught.value.partial.t[-1] == 0.06

    def test_at_the_start(self):
        with pytest.raises(taut.ControlError, match="at t = 0 "):
            run_of(pendulum(u, controls={u: lambda t, state: np.nan}))

    def test_interrupted(self):
        def controller(t, state):
            if t > 0.3:
                raise KeyboardInterrupt
            return 0.0

        with pytest.raises(taut.Interrupted) as caught:
            run_of(pendulum(u, controls={u: controller}))
        assert caught.value.partial.t[-1] == pytest.approx(0.32)

    @pytest.mark.parametrize("numbers", [np.float32(0.5), np.array([0.5]), 1, np.int64(1), [0.5]])
    def test_numbers_of_all_kinds(self, numbers):
        run = run_of(pendulum(u, controls={u: lambda t, state: numbers}), duration=0.1)
        assert run.controls["u"][0, 0] == np.ravel(numbers)[0]


class TestRefused:
    def test_models(self):
        with pytest.raises(taut.ModelError, match="lagrangian depends on the control"):
            taut.System([x], mass=1, potential=u * x, controls={u: brake})
        with pytest.raises(taut.ModelError, match="control w does nothing"):
            pendulum(u, controls={u: brake, w: brake})
        with pytest.raises(taut.ModelError, match="u is set twice"):
            pendulum(u, controls={u: brake}, parameters={u: 1.0})
        for wrong in ({"every": 0}, {"every": 1.5}, {"period": -1}, {"every": 2, "period": 1}):
            with pytest.raises(taut.InputError):
                taut.Control(brake, **wrong)
        with pytest.raises(taut.InputError, match="cannot be called"):
            taut.Control(3)

    def test_calls(self):
        model = pendulum(u, controls={u: brake})
        with pytest.raises(taut.InputError, match="set by a control"):
            run_of(model, parameters={"u": 1})
        with pytest.raises(taut.InputError, match="no step can be chosen"):
            run_of(model, step=None, tolerance=1e-3)
        with pytest.raises(taut.InputError, match="steps that vary"):
            run_of(model, method=taut.Adaptive(scale=1 + x**2))
        with pytest.raises(taut.InputError, match="depends on the control"):
            run_of(model, events=[u - 1])
        with pytest.raises(taut.InputError, match="no multiple of the step"):
            run_of(pendulum(u, controls={u: taut.Control(brake, period=0.05)}))


class TestMethods:
    @pytest.mark.parametrize("method", ["gauss-lobatto-4", "generalized-alpha", "time-element"])
    def test_a_constant_is_a_parameter(self, method):
        held = run_of(pendulum(u, controls={u: lambda t, s: 0.7}), method=method, duration=0.4)
        fixed = run_of(pendulum(u, parameters={u: 0.7}), method=method, duration=0.4)
        assert np.array_equal(held.q, fixed.q)


# ---- mechanisms -------------------------------------------------------------------------------


def slider(controller, **spring):
    m = taut.Mechanism()
    block = m.body("block", mass=2.0, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0), velocity=(1, 0, 0))
    m.prismatic("rail", m.ground, block, at=(0, 0, 0), axis=(1, 0, 0))
    m.push("rail", stiffness=8.0)
    m.motor("rail", controller, name="motor")
    return m


def test_sampled_data_system_in_closed_form():
    """ẋ = A x + B u_k between samples: x_{k+1} = e^{A T} x_k + ∫ e^{A s} ds B u_k."""
    period, kp, kd = 0.2, 5.0, 3.0

    def controller(t, state):
        rail = state["rail"]
        return -kp * rail.slide - kd * rail.rate

    whole = expm(period * np.array([[0, 1, 0], [-4.0, 0, 0.5], [0, 0, 0]]))
    z = np.array([0.0, 1.0])
    for _ in range(10):
        z = whole[:2, :2] @ z + whole[:2, 2] * (-kp * z[0] - kd * z[1])
    errors = []
    for h in (0.04, 0.02):
        m = slider(taut.Control(controller, period=period))
        run = taut.simulate(m, duration=2, step=h, laws=None)
        errors.append(abs(run["rail"].slide[-1] - z[0]))
    assert errors[0] < 2e-4
    assert 1.9 < np.log2(errors[0] / errors[1]) < 2.1
    fine = taut.simulate(m, duration=2, step=0.02, laws=None, method="gauss-lobatto-6")
    assert abs(fine["rail"].slide[-1] - z[0]) < 1e-11
    assert abs(fine["rail"].rate[-1] - z[1]) < 1e-11


def cart_pole(controller):
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    cart = m.body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0))
    lean = taut.lie.SO3.exp(np.array([0, 0.2, 0]))
    pole = m.body("pole", mass=0.2, inertia=(0.02, 0.02, 0.0005), at=lean @ [0, 0, 0.5],
                  rotation=lean)  # fmt: skip
    m.prismatic("rail", m.ground, cart, at=(0, 0, 0), axis=(1, 0, 0))
    m.revolute("pivot", cart, pole, at=(0, 0, 0), axis=(0, 1, 0))
    m.motor("rail", controller, name="motor", every=4)
    return m


def test_discrete_lqr_balances_a_pole():
    """(M + m) ẍ + m l θ̈ = u,  m l ẍ + (J + m l²) θ̈ = m g l θ, sampled every 20 ms."""
    mass = np.array([[2.2, 0.1], [0.1, 0.02 + 0.05]])
    forces = np.array([[0, 0, 1], [0, 0.2 * 9.81 * 0.5, 0]])
    a = np.zeros((5, 5))
    a[:2, 2:4] = np.eye(2)
    a[2:4, [0, 1, 4]] = np.linalg.solve(mass, forces)
    whole = expm(0.02 * a)
    a, b = whole[:4, :4], whole[:4, 4:]
    p = solve_discrete_are(a, b, np.diag([1.0, 10, 0.1, 0.1]), np.eye(1))
    gain = np.linalg.solve(1 + b.T @ p @ b, b.T @ p @ a)[0]

    def lqr(t, state):
        rail, pivot = state["rail"], state["pivot"]
        return -gain @ [rail.slide, 0.2 + pivot.angle, rail.rate, pivot.rate]

    run = taut.simulate(cart_pole(lqr), duration=14, step=0.005, laws=None)
    assert np.abs(run["pivot"].angle[-1] + 0.2) < 1e-3
    assert np.abs(run["rail"].slide[-1]) < 2e-2
    assert np.all(np.diff(run.controls["motor"][:801, 0].reshape(-1)[:800].reshape(-1, 4)) == 0)
    fallen = taut.simulate(cart_pole(lambda t, s: 0.0), duration=2, step=0.005, laws=None)
    assert np.abs(fallen["pivot"].angle).max() > 1


class TestViews:
    @pytest.fixture(scope="class")
    @staticmethod
    def seen():
        """A mechanism of a body, a plate and a rod, and what a controller saw of it."""
        found = []
        m = taut.Mechanism(gravity=(0, 0, -9.81))
        arm = m.body("arm", mass=1, inertia=(0.2, 0.3, 0.4), at=(1, 0, 0))
        plate = m.body("plate", mass=1, inertia=(0.1, 0.2, 0.3), at=(2, 0, 0))
        rod = m.body("rod", mass=1, inertia=(0.1, 0.1, 0), at=(3, 0, 0.5))
        m.revolute("shoulder", m.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
        m.revolute("elbow", arm, plate, at=(1.5, 0, 0), axis=(1, 1, 0))
        m.cylindrical("sleeve", plate, rod, at=(3, 0, 0), axis=(0, 0, 1))

        def controller(t, state):
            parts = [
                (s.position, s.velocity, s.angular_velocity)
                for s in (state["arm"], state["plate"], state["rod"])
            ]
            turned = [
                (s.rotation, s.quaternion, s.kinetic_energy, s.angular_momentum)
                for s in (state["arm"], state["plate"])
            ]
            joints = [(s.angle, s.rate) for s in (state["shoulder"], state["elbow"])]
            found.append((parts, turned, joints, state["sleeve"].slide, state.k, state.member))
            return (0.0, 1.0, np.sin(t))

        m.force(rod, controller, name="wind")
        run = taut.simulate(m, duration=0.5, step=0.01, laws=None)
        return run, found

    def test_agree_with_those_of_the_run(self, seen):
        run, found = seen
        for k in (0, 20, 49):
            parts, turned, joints, slide, number, member = found[k]
            assert (number, member) == (k, 0)
            for name, values in zip(("arm", "plate", "rod"), parts, strict=True):
                own = run[name]
                same = (own.position[k], own.velocity[k], own.angular_velocity[k])
                for a, b in zip(values, same, strict=True):
                    np.testing.assert_allclose(a, b, atol=1e-13)
            for name, values in zip(("arm", "plate"), turned, strict=True):
                own = run[name]
                same = [own.rotation[k], own.quaternion[k], own.kinetic_energy[k]]
                for a, b in zip(values, [*same, own.angular_momentum[k]], strict=True):
                    np.testing.assert_allclose(a, b, atol=1e-13)
            for name, (angle, rate) in zip(("shoulder", "elbow"), joints, strict=True):
                assert angle == pytest.approx(run[name].angle[k], abs=1e-13)
                assert rate == pytest.approx(run[name].rate[k], abs=1e-13)
            assert slide == pytest.approx(run["sleeve"].slide[k], abs=1e-13)

    def test_rates_are_slopes(self, seen):
        run, _ = seen
        for name in ("shoulder", "elbow"):
            slope = np.gradient(run[name].angle, run.t)[1:-1]
            np.testing.assert_allclose(run[name].rate[1:-1], slope, atol=2e-2)

    def test_what_was_said(self, seen):
        run, _ = seen
        np.testing.assert_allclose(run.controls["wind"][:-1, 2], np.sin(run.t[:-1]))
        assert run.controls["wind"].shape == (51, 3)

    def test_reactions_are_not_known_yet(self):
        m = slider(lambda t, state: state["rail"].force[0])
        with pytest.raises(taut.ControlError, match="reactions are not known") as caught:
            taut.simulate(m, duration=1, step=0.1)
        assert isinstance(caught.value.__cause__, taut.InputError)

    def test_a_frame(self):
        seen = []

        def controller(t, state):
            seen.append(state["tip"].position.copy())
            return 1.0

        m = slider(controller)
        m.frame("tip", "block", at=(1, 2, 3))
        run = taut.simulate(m, duration=0.3, step=0.1, laws=None)
        np.testing.assert_allclose(seen, run["tip"].position[:-1], atol=1e-14)

    def test_unknown_names(self):
        m = slider(lambda t, state: state["rial"].slide)
        with pytest.raises(taut.ControlError) as caught:
            taut.simulate(m, duration=1, step=0.1)
        told = caught.value.received
        assert "no part, joint, force, frame or coordinate called 'rial'" in told
        assert "did you mean 'rail'?" in told
        m = slider(lambda t, state: {}["x" * 999])
        with pytest.raises(taut.ControlError) as caught:
            taut.simulate(m, duration=1, step=0.1)
        assert len(caught.value.received) == 300
        assert caught.value.received.endswith("…")


def test_large_systems_are_controlled_too():
    """Seven bodies in a row: steps of the assembled kind, a constant force, a follower too."""

    def chain(force):
        m = taut.Mechanism(gravity=(0, 0, -9.81))
        last = m.ground
        for k in range(7):
            body = m.body(f"b{k}", mass=1, inertia=(0.1, 0.1, 0.05), at=(0.5 + k, 0, 0))
            m.spherical(last, body, at=(k, 0, 0))
            last = body
        m.force(last, force, follower=True, name="thrust")
        return m

    held, fixed = (
        taut.simulate(chain(f), duration=0.1, step=0.005, laws=None)
        for f in (lambda t, state: np.array([0.0, 5.0, 1.0]), (0.0, 5.0, 1.0))
    )
    np.testing.assert_allclose(held.q, fixed.q, atol=1e-13)
    np.testing.assert_allclose(held.multipliers, fixed.multipliers, atol=1e-9)
    assert held.certificate.work == pytest.approx(fixed.certificate.work, rel=1e-12)
    assert held.certificate.energy.band < 1e-3


def test_kept_and_shown(tmp_path):
    run = taut.simulate(slider(lambda t, s: np.sin(t)), duration=1, step=0.1, laws=None)
    data = taut.load(run.save(tmp_path / "run.zarr"))
    assert list(data.control.values) == ["motor"]
    assert np.array_equal(data.controls.values, run.controls["motor"])
    page = run.report(tmp_path / "run.html").read_text()
    assert "controls" in page
    assert len(run.plot("controls").axes) == 1
    with pytest.raises(taut.InputError, match="no controls"):
        taut.simulate(pendulum(0), **START, duration=0.1, step=0.01, laws=None).plot("controls")


def test_gains_that_no_sampled_loop_can_hold():
    m = slider(lambda t, state: -1e6 * state["rail"].slide)
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(m, duration=100, step=0.1, v0=1, project=True)
    assert "or controllers with smaller gains" in caught.value.remedy
