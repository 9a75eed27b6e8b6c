"""The function of many steps: no call boundary, no neighbour in a lane, no late failure shows."""

import ctypes
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel.compile import workshop
from taut.kernel.fused import HEAD
from taut.kernel.step_code import NOTES, PAR
from taut.march.charts import best_chart
from taut.methods import Composition, Projected, Rattle, SymplecticEuler, TimeElement
from taut.methods.base import Method, projected

x, y = taut.coordinates("x y")
v = taut.velocities([x, y])
ROD = [x**2 + y**2 - 1]
H = 0.01
OK, CHART = NOTES.index("ok"), NOTES.index("chart")


@dataclass(frozen=True)
class Explicit(Method):
    """Reads the velocity that the step before it found, in its sums or (`late`) in its end only."""

    late: bool = False
    name: ClassVar[str] = "explicit"
    order: ClassVar[int] = 1
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    keeps_constraints: ClassVar[bool] = False
    source: ClassVar[str] = "test"

    def program(self, step):
        dp = step.h * step.force(step.q, step.v, step.p, step.t)
        dq = step.h * (step.p if self.late else step.v)
        _, v1 = projected(step, step.moved(dq), step.kicked(dp), step.t1)
        step.advance(q=dq, p=dp, v=(v1 + 3 * step.v) / 4 if self.late else v1)


def system(kind):
    if kind == "forced":
        return taut.System(
            [x, y], mass=[1, 2], potential=10 * y, constraints=ROD, forces=[-v[0], -v[1]]
        )
    if kind == "moving":
        rod = [x**2 + y**2 - (1 + sp.sin(taut.t) / 10) ** 2]
        return taut.System([x, y], mass=[1, 2], potential=10 * y, constraints=rod)
    if kind == "hamiltonian":
        p = taut.momenta([x, y])
        energy = (p[0] ** 2 + p[1] ** 2 / (1 + x**2)) / 2 + p[0] ** 4 / 20 + 10 * y
        return taut.System([x, y], hamiltonian=energy, constraints=ROD)
    return taut.System([x, y], mass=[1, 2], potential=10 * y, constraints=ROD)


class Stepper:
    """A compiled step with a state of its own: `lanes` starts on the rod."""

    def __init__(self, model, method, lanes=1, angles=None, threshold=-1.0, backend="auto"):
        shop = workshop(model)
        angles = np.linspace(-1, 0.5, lanes) if angles is None else np.asarray(angles, float)
        q = np.stack([np.cos(angles), np.sin(angles)])
        v = 2 * np.stack([-np.sin(angles), np.cos(angles)])
        none = np.zeros(0)
        p = np.stack(
            [shop.mechanics.momentum(*row, 0.0, none) for row in zip(q.T, v.T, strict=True)]
        ).T
        chart = best_chart(shop.mechanics, q[:, 0], 0.0, none, (0,)) if method.charted else None
        self.step = shop.step(method, keep=(0,), lanes=lanes, chart=chart, backend=backend)
        floor = np.full((2, lanes), 1e-7)
        memory = self.step.first_memory(q, p, v)
        memory = memory if memory.ndim == 2 else memory[:, None]
        self.state = np.concatenate([q, p, v, 0 * q, p, 0 * q, H * v, floor, memory])
        assert self.state.shape == (self.step.slots, lanes)
        self.notes = np.zeros((len(NOTES), lanes))
        self.par = np.zeros(len(PAR))
        self.par[PAR.index("threshold")] = threshold
        pointer = ctypes.POINTER(ctypes.c_double)
        whole = ctypes.c_int64
        kinds = (ctypes.c_void_p, pointer, pointer, pointer, whole, pointer, whole, whole)
        prototype = ctypes.CFUNCTYPE(whole, *kinds)
        self._call, self._pointer = prototype(self.step.address), pointer

    def __call__(self, k, count, until=1, every=1):
        """Up to `count` steps from number `k`; how many were made."""
        self.par[:3] = 0.0, k, H
        arrays = [a.ctypes.data_as(self._pointer) for a in (self.state, self.par, self.notes)]
        # A guard after the last row: what is not to be stored is not written.
        self.rows = np.full((max(0, count - until) // every + 2, 6, self.state.shape[1]), 7.25)
        store = self.rows.ctypes.data_as(self._pointer)
        return self._call(self.step.context, *arrays, count, store, until, every)


METHODS = [
    Rattle(), TimeElement(), TimeElement("independent"), TimeElement(quadrature="gauss2"),
    SymplecticEuler(), Projected(SymplecticEuler()), Explicit(), Explicit(late=True),
    Composition(), Composition(TimeElement("independent")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "lanes"),  # charts belong to single trajectories
    [(m, lanes) for m in METHODS for lanes in (1, 4) if lanes == 1 or not m.charted],
    ids=lambda x: getattr(x, "label", x),
)
@pytest.mark.parametrize("kind", ["plain", "forced", "moving", "hamiltonian"])
def test_calls_add_up(kind, method, lanes):
    """Steps made in one call, one by one, and in between: the same state and notes."""
    one, two, three = (Stepper(system(kind), method, lanes) for _ in range(3))
    assert one(0, 12) == 12
    assert [two(k, 1) for k in range(12)] == [1] * 12
    assert (three(0, 5), three(5, 7)) == (5, 7)
    for other in (two, three):
        np.testing.assert_array_equal(one.state, other.state)
        np.testing.assert_array_equal(one.notes, other.notes)
    assert np.all(one.notes[OK] == 1)
    assert np.all(np.any(one.state[:2] != Stepper(system(kind), method, lanes).state[:2], axis=0))


@pytest.mark.parametrize(("lanes", "backend"), [(1, "fused"), (4, "fused"), (1, "assembled")])
@pytest.mark.parametrize(("until", "every"), [(1, 1), (2, 3), (7, 5), (12, 40), (13, 1)])
def test_states_are_stored_at_their_turns(lanes, backend, until, every):
    one, two = (Stepper(system("plain"), Rattle(), lanes, backend=backend) for _ in range(2))
    assert one(0, 12, until, every) == 12
    stored = []
    for k in range(12):
        two(k, 1)
        if k + 1 >= until and (k + 1 - until) % every == 0:
            stored.append(two.state[:6].copy())
    np.testing.assert_array_equal(one.rows[: len(stored)], np.reshape(stored, (-1, 6, lanes)))
    assert np.all(one.rows[len(stored) :] == 7.25)


@pytest.mark.parametrize("late", [False, True])
def test_a_method_may_use_the_velocity(late):
    """Against the same method written in NumPy."""
    free = taut.System([x, y], mass=[1, 1], potential=(x**2 + 2 * y**2) / 2, forces=[-v[0], -v[1]])
    run = taut.simulate(free, q0=[1, 0.5], v0=[0.2, 1], duration=0.2, step=H, method=Explicit(late))
    q, w = np.array([1, 0.5]), np.array([0.2, 1.0])
    p = w.copy()
    for k in range(20):
        moved = q + H * (p if late else w)
        p = p + H * (-np.array([1, 2]) * q - w)
        q, w = moved, (p + 3 * w) / 4 if late else p.copy()
        np.testing.assert_allclose(run.q[k + 1], q, rtol=1e-14)
        np.testing.assert_allclose(run.v[k + 1], w, rtol=1e-13)


# ---- an energy that is not finite, found after the next Newton solve -------------------------


@pytest.fixture
def half_plane():
    """A particle that crosses x = 0, where the force is finite again and the energy is not."""
    return taut.System([x, y], mass=[1, 1], potential=1e-4 * sp.log(x) + y**2)


@pytest.mark.parametrize("every", [1, 3, 1000])
def test_a_late_failure_leaves_the_state_before_it(half_plane, every):
    settings = {"q0": [1, 1], "v0": [-0.13, 0.2], "step": H, "every": every}
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(half_plane, duration=20, **settings)
    partial, index = caught.value.partial, caught.value.index
    assert 740 < index < 800
    assert 0 < partial.q[-1, 0] < 0.13 * H * 1.1
    good = taut.simulate(half_plane, duration=index * H, **settings)
    for name in ("t", "q", "v", "p"):
        np.testing.assert_array_equal(getattr(partial, name), getattr(good, name))
    assert partial.certificate.steps == good.certificate.steps == index
    assert partial.ending.books[:, :8].tolist() == good.ending.books[:, :8].tolist()


def test_a_late_failure_at_the_first_step(half_plane):
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(half_plane, q0=[1e-3, 0], v0=[-1, 0], duration=1, step=H)
    assert caught.value.index == 0
    assert caught.value.partial.q.tolist() == [[1e-3, 0]]


def test_a_late_failure_in_one_lane(half_plane):
    q0 = np.array([[1.0, 1], [2, 1], [3, 1], [0.001, 1], [1.5, 0], [1, 1]])
    settings = {"v0": [-0.13, 0.2], "duration": 10, "step": H}
    with pytest.raises(taut.StepError, match=r"trajectories \[0, 3, 5\]") as caught:
        taut.simulate(half_plane, q0=q0, **settings)
    batch = caught.value.partial
    for i in (1, 2, 4):
        run = taut.simulate(half_plane, q0=q0[i], **settings)
        np.testing.assert_array_equal(batch[i].q, run.q)
        np.testing.assert_array_equal(batch[i].v, run.v)
    for i in (0, 3):
        with pytest.raises(taut.StepError) as alone:
            taut.simulate(half_plane, q0=q0[i], **settings)
        rows = alone.value.index + 1
        np.testing.assert_array_equal(batch.q[i, :rows], alone.value.partial.q)
        assert np.all(np.isnan(batch.q[i, rows:]))


def test_lanes_stop_together_before_a_step_that_one_cannot_make():
    """A lane that Newton cannot serve says so; its neighbours are where it is."""
    four = Stepper(system("plain"), Rattle(), 4)
    four.state[4 * 2 + 1, 2] = 1e6  # a momentum too large for the rod
    before = four.state.copy()
    assert four(0, 10) == 0
    assert four.notes[OK].tolist() == [1, 1, 0, 1]
    np.testing.assert_array_equal(four.state, before)


def test_a_chart_is_left_as_soon_as_its_condition_is_below_the_threshold():
    swing = Stepper(system("plain"), TimeElement("independent"), angles=[-0.5], threshold=0.7)
    made = swing(0, 1000)
    assert 0 < made < 1000
    assert swing.notes[CHART, 0] < 0.7
    again = Stepper(system("plain"), TimeElement("independent"), angles=[-0.5], threshold=-1.0)
    assert again(0, made) == made
    np.testing.assert_array_equal(swing.state, again.state)
    np.testing.assert_array_equal(swing.notes, again.notes)
    shorter = Stepper(system("plain"), TimeElement("independent"), angles=[-0.5], threshold=0.7)
    assert shorter(0, made - 1) == made - 1
    assert shorter.notes[CHART, 0] >= 0.7


@pytest.mark.parametrize("backend", ["fused", "assembled"])
def test_the_last_move_is_carried(backend):
    one = Stepper(system("plain"), Rattle(), backend=backend)
    q = one.state[:2].copy()
    one(0, 1)
    np.testing.assert_allclose(one.state[6 * 2 : 7 * 2], one.state[:2] - q, rtol=1e-12)


@pytest.mark.parametrize("backend", ["fused", "assembled"])
@pytest.mark.parametrize("part", [6, 7], ids=["move", "floor"])
def test_newton_is_measured_against_each_size(part, backend):
    """The larger a coordinate counts, the sooner Newton stops."""
    trips = []
    for size in (1.0, 1e14):
        one = Stepper(system("plain"), Rattle(), backend=backend)
        one.state[HEAD * 2 :] = 0  # a bad guess
        one.state[part * 2 : (part + 1) * 2] = size
        one(0, 1)
        trips.append(one.notes[NOTES.index("iterations"), 0])
    assert trips[1] < trips[0]
