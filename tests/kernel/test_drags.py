"""Dampers, motors and their like: forces along a direction, of a size that knows velocities."""

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import taut
from taut.kernel.assembled import assemble
from taut.kernel.compile import workshop
from taut.kernel.contributions import Bank
from taut.kernel.evaluate import AtPoints
from taut.kernel.fused import FusedStep
from taut.kernel.newtons import Newton
from taut.kernel.operators import Local, Operators
from taut.methods import Method, method_of
from taut.methods.base import projected

METHODS = ("rattle", "gauss-lobatto-4", "energy-momentum", "composition-4")


def swing(bodies=2, law=lambda s, rate: rate / 2):
    """Bodies in a row, with a damper in each hinge and one across."""
    m = taut.Mechanism(gravity=(0, 0, -10))
    before = m.ground
    for k in range(bodies):
        body = m.body(f"body {k}", mass=1 + k, inertia=(0.1, 0.2, 0.25), at=(k + 0.5, 0, 0))
        m.revolute(f"hinge {k}", before, body, at=(k, 0, 0), axis=(0, 1, 0))
        m.torsion(f"hinge {k}", pull=law)
        before = body
    m.spring(m.ground, before, ends=((0, 0, -1), (bodies, 0, 0)), pull=law, stiffness=3)
    return m


def pair(law=lambda s, rate: rate / 2):
    """Two pendulums with a damper between them."""
    m = taut.Mechanism(gravity=(0, 0, -10))
    for k in range(2):
        point = m.point(f"point {k}", mass=1 + k, at=(k + 0.6, 0, -0.8), velocity=(0, k, 0))
        m.rod(m.ground, point, ends=((k, 0, 0), point.position))
    m.spring("point 0", "point 1", pull=law, stiffness=3)
    return m


def hub(points=8, damping=50.0):
    """A body with dampers to points that are alike."""
    m = taut.Mechanism(gravity=(0, 0, -1))
    body = m.body("hub", mass=1, inertia=(0.4, 0.4, 0.4), at=(0, 0, 0), velocity=(1, 0, 0))
    for k in range(points):
        way = np.array([np.cos(0.7 * k), np.sin(0.7 * k), 0])
        point = m.point(f"point {k}", mass=0.5, at=2 * way)
        m.spring(body, point, ends=(way, 2 * way), stiffness=5, damping=damping)
    return m


def locals_with_forces(system):
    return [x for x in Operators(system).locals if x.term.kind == "force"]


# ---------------------------------------------------------------------------- what is split


def test_a_split_force_is_its_size_times_its_direction(rng):
    system = swing(law=lambda s, rate: rate + sp.sin(s) * rate**3).system()
    found = locals_with_forces(system)
    assert len(found) == 3  # a hinge on the ground, one between bodies, the spring
    for local in found:
        given = [rng.normal(size=x.shape) for x in local.arguments.values()]
        size, *direction = np.array(local.function("split")(*given)).ravel()
        force = np.array(local.function("force")(*given)).ravel()
        assert np.allclose(size * np.array(direction), force, rtol=1e-12, atol=1e-14)
        # The direction does not know how fast anything moves.
        names = list(local.arguments)
        given[names.index("v")] = rng.normal(size=given[names.index("v")].shape)
        other = np.array(local.function("split")(*given)).ravel()
        assert np.array_equal(other[1:], direction)
        assert other[0] != size


def test_what_has_no_common_size_is_not_split():
    x, y = taut.coordinates("x y")
    u, v = taut.velocities([x, y])
    for forces in ([-u, -v], [-u, -u - v], [x, y], [0, 0]):
        system = taut.System([x, y], mass=1, forces=forces)
        assert not any(local.has("split") for local in locals_with_forces(system))
    one = taut.System([x, y], mass=1, forces=[-x * (u + v), 0])
    assert all(local.has("split") for local in locals_with_forces(one))


def test_factors_that_occur_twice_count_twice():
    q = taut.coordinates("x y")
    u = taut.velocities(q)[0]
    twice = sp.Mul(-1, u, u, evaluate=False)
    system = taut.System(q, mass=1, forces=[twice, -u])
    assert not any(local.has("split") for local in locals_with_forces(system))
    run = taut.simulate(
        system, q0=[0, 0], v0=[2, 2], duration=1, step=0.01, method="gauss-lobatto-4"
    )
    assert run.v[-1] == pytest.approx([2 / 3, 2 - np.log(3)], rel=1e-7)


def test_split_force_adds_up(rng):
    """F = f + D σ, whatever else acts."""
    system = swing().system()
    ops, n = Operators(system), system.n
    q, v, p = (rng.normal(size=n) for _ in range(3))
    rest, sizes, directions = (
        np.array(taut.kernel.operators.ca.DM(x)) for x in ops.split_force(q, v, p, 0.0)
    )
    whole = np.array(taut.kernel.operators.ca.DM(ops.force(q, v, p, 0.0)))
    assert sizes.shape == (3, 1)
    assert np.allclose(rest + directions @ sizes, whole, rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------ back ends


@pytest.mark.parametrize("law", [lambda s, r: r / 2, lambda s, r: r**3 + sp.sin(s) * r])
@pytest.mark.parametrize("method", METHODS)
def test_twins(method, law, backend):
    both(backend, pair(law), method)


def test_twins_of_bodies(backend):
    both(backend, swing(law=lambda s, rate: rate**3 + sp.sin(s) * rate), "rattle")


def both(backend, m, method):
    """By both back ends the same run."""
    ends = []
    for name in ("fused", "assembled"):
        backend(name)
        run = taut.simulate(m, duration=0.5, step=0.01, method=method, laws=None)
        ends.append(np.concatenate([run.q[-1], run.v[-1], [run.certificate.work]]))
    assert np.allclose(*ends, rtol=1e-11, atol=1e-11)


def test_newton_has_the_sizes_instead_of_the_velocities():
    """Of a damper that is not linear; linear ones are eliminated like everything affine."""
    system = pair(law=lambda s, rate: rate**3).system()
    program = workshop(system).program(method_of("rattle"), tuple(range(system.c)))
    (newton,) = (x for x in program.nodes if isinstance(x, Newton))
    assert newton.unknowns.numel() == system.c + 1
    system = pair().system()
    program = workshop(system).program(method_of("rattle"), tuple(range(system.c)))
    (newton,) = (x for x in program.nodes if isinstance(x, Newton))
    assert newton.unknowns.numel() == system.c


def test_sizes_belong_to_the_solve_that_they_need(backend):
    """Of a method with two solves and both forces written down before the first."""
    q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    system = taut.System(q, mass=1, forces=[-((u - v) ** 3), (u - v) ** 3])
    for name in ("fused", "assembled"):
        backend(name)
        given = {"q0": [0, 0], "v0": [2, 0], "duration": 1, "step": 0.01, "method": Halves()}
        end = taut.simulate(system, **given).v[-1]
        assert end == pytest.approx([1.24374007, 0.75625993], rel=1e-8)
        assert end[0] - end[1] == pytest.approx((1 / 4 + 4) ** -0.5, rel=1e-2)  # u̇ = −2u³


@dataclass(frozen=True)
class Halves(Method):
    """Two half steps of implicit Euler in the velocities."""

    name: ClassVar[str] = "halves"
    order: ClassVar[int] = 1
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ()

    def program(self, step):
        t, h, q, p = step.t, step.h, step.q, step.p
        one, two = (step.unknown(name, guess=step.v) for name in ("one", "two"))
        kick = [0.5 * h * step.force(q, v, p, t) for v in (one, two)]
        step.solve((one, step.link(q, one, p + kick[0], t)), watch=one)
        step.solve((two, step.link(q, two, p + kick[0] + kick[1], t)), watch=two)
        dq, dp = h * two, kick[0] + kick[1]
        tangent, v1 = projected(step, step.moved(dq), step.kicked(dp), step.t1)
        step.advance(q=dq, p=dp, v=v1, tangent=tangent)


def test_more_dampers_than_coordinates_are_no_unknowns():
    m = taut.Mechanism()
    for k in range(6):
        m.point(f"point {k}", mass=1, at=(np.cos(k), np.sin(k), k**2 / 20))
    for a, b in itertools.combinations(range(6), 2):
        for _ in range(2):
            m.spring(f"point {a}", f"point {b}", pull=lambda s, rate: rate**3)
    system = m.system()
    (newton,) = workshop(system).program(method_of("rattle"), ()).nodes
    assert newton.unknowns.numel() == system.n < len(m.forces)


def test_directions_that_are_unknown_have_no_helpers(backend):
    """Their slopes belong to the matrix, which would else not be Newton's."""
    backend("assembled")
    system = pair().system()
    for name, helpers in (("rattle", 1), ("gauss-lobatto-4", 0)):
        stage = assemble(system, method_of(name), keep=[0, 1]).machine.stages[0]
        assert len(stage.pattern.order) == stage.size + helpers


def test_forces_where_all_is_known_have_no_unknowns():
    system = swing().system()
    step = FusedStep(system, Operators(system))
    step.force(step.q, step.v, step.p, step.t)
    assert not step.drags
    assert not step.guesses


def test_helpers_keep_apart_what_dampers_connect(backend, monkeypatch):
    backend("assembled")
    system = swing(bodies=4).system()

    def operations():
        program = assemble(system, method_of("rattle"), keep=list(range(system.c)))
        return [x.pattern.operations for x in program.machine.stages if x.pattern]

    helped = operations()
    monkeypatch.setattr(Bank, "split", lambda *_: None)
    plain = operations()
    assert 3 * helped[0] < plain[0]
    assert helped[1:] == plain[1:]  # velocities of the projection feel no dampers


def test_many_parts_that_are_damped_by_one():
    """Of groups that are alike the matrix has all entries, also those to a part like no other."""
    m = hub()
    run = taut.simulate(m, duration=1, step=0.02, method="rattle", laws=None)
    assert run.certificate.iterations < 4


def test_what_groups_feel_is_felt_by_both_back_ends(backend):
    both(backend, hub(points=5), "rattle")


def test_accelerations_are_found_only_where_constraints_move(backend):
    """They give the multipliers, which work on what is moved, and on nothing else."""
    backend("assembled")
    for system, solves in ((pair().system(), 2), (carried().system(), 3)):
        program = assemble(system, method_of("rattle"), keep=list(range(system.c)))
        assert sum(x.kind == "solve" for x in program.machine.stages) == solves


def carried():
    """A pair with one pendulum on a path."""
    m = pair()
    m.point("hand", mass=1, at=(3, 0, 0))
    m.move("hand", (3 + sp.sin(taut.t), 0, 0))
    return m


def test_which_methods_feel_forces_in_their_solves():
    shop = workshop(pair().system())
    felt = {name: shop._pulled(method_of(name)) for name in METHODS}
    assert felt == {
        "rattle": False, "gauss-lobatto-4": True, "energy-momentum": True, "composition-4": False,
    }  # fmt: skip
    assert shop._elimination(True) > shop._elimination(False)


# ------------------------------------------------------------------------------ points


def test_arguments_of_an_earlier_call_are_forgotten(rng):
    """Each set of given arguments has a buffer of its own."""
    system = swing().system()
    local: Local = next(x for x in Operators(system).locals if x.has("push"))
    function = AtPoints(local.function("push"))
    given = [rng.normal(size=(20, x.numel())) for x in local.arguments.values()]
    at = list(local.arguments).index("lam")
    assert np.any(function(given, 20))
    without = [None if k == at else x for k, x in enumerate(given)]
    assert not np.any(function(without, 20))


@pytest.mark.parametrize("points", [1, 2, 8, 9, 17, 129, 200])
def test_any_number_of_points(points, rng):
    system = swing().system()
    local: Local = next(x for x in Operators(system).locals if x.has("push"))
    function = AtPoints(local.function("push"))
    given = [rng.normal(size=(points, x.numel())) for x in local.arguments.values()]
    found = function(given, points)
    assert len(found) == points
    for k in (0, points // 2, points - 1):
        alone = local.function("push")(*(x[k] for x in given))
        assert np.allclose(found[k], np.array(alone).ravel(), rtol=1e-13, atol=1e-15)


def test_gradients_for_those_who_ask_often(rng):
    system = swing(bodies=6).system()
    mechanics = workshop(system).mechanics
    q = rng.normal(size=system.n)
    found = mechanics.gradients_again(q, 0.3, np.zeros(0))
    assert np.allclose(found, mechanics.gradients(q, 0.3, np.zeros(0)), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("power", [sp.Rational(1, 4), sp.Rational(1, 2), sp.Rational(3, 4)])
@pytest.mark.parametrize("method", ["rattle", "gauss-lobatto-4", "implicit-trapezoid", "ggl"])
def test_drag_of_the_air_begins_at_rest(power, method):
    """−c |v|ᵏ v is smooth at v = 0, where the derivative of the root alone is none."""
    x, y = q = taut.coordinates("x y")
    v = taut.velocities(q)
    drag = [-0.3 * (v[0] ** 2 + v[1] ** 2) ** power * s for s in v]
    falling = taut.System(q, mass=[1, 1], potential=10 * y - 2 * x, forces=drag)

    def rate(_, z):
        return [*z[2:], *(np.array([2, -10]) - 0.3 * (z[2:] @ z[2:]) ** float(power) * z[2:])]

    run = taut.simulate(
        falling, q0=[0, 0], v0=[0, 0], duration=1, step=0.01, method=method, laws=None
    )
    want = solve_ivp(rate, (0, 1), [0] * 4, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose([*run.q[-1], *run.v[-1]], want, atol=3e-4)
    still = taut.System(q, mass=[1, 1], forces=drag)
    rests = taut.simulate(
        still, q0=[1, 2], v0=[0, 0], duration=0.1, step=0.01, method=method, laws=None
    )
    assert (rests.q == [1, 2]).all()
