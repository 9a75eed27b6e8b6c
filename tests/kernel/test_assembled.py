"""The two back ends are each other's twin; what a system costs does not depend on its instances."""

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
import sympy as sp

import taut
import taut.kernel.assembled as assembled_room
import taut.kernel.compile as compile_room
from taut.errors import InputError, StepError
from taut.kernel import native
from taut.kernel.compile import workshop
from taut.march import loop
from taut.methods import CATALOGUE, ExplicitRK, Method, SymplecticEuler, TimeElement, method_of
from taut.model.terms import Term

T = taut.t
STEP, STEPS = 0.01, 100
x, y, z = taut.coordinates("x y z")
u, v, w = taut.velocities([x, y, z])
px, py, pz = taut.momenta([x, y, z])
SPHERE = x**2 + y**2 + z**2 - 1


# ------------------------------------------------------------------- systems


def constant_mass():
    a, b, c, d = q = taut.coordinates("x1 y1 x2 y2")
    rods = [a**2 + b**2 - 1, (c - a) ** 2 + (d - b) ** 2 - 1]
    system = taut.System(q, mass=[1, 1, 2, 2], potential=10 * b + 20 * d, constraints=rods)
    return system, {"q0": [1, 0, 2, 0], "v0": 0}


def full_mass_matrix():
    mass = [[2, 1, 0], [1, 3, sp.Rational(1, 2)], [0, sp.Rational(1, 2), 1]]
    system = taut.System([x, y, z], mass=mass, potential=x**4 + z, constraints=[SPHERE])
    return system, {"q0": [0.6, 0, -0.8], "v0": [0.8, 1, 0.6]}


def mass_of_q():
    r, theta = taut.coordinates("r theta")
    system = taut.System(
        [r, theta],
        mass=[[1, 0], [0, r**2]],
        potential=-10 * r * sp.cos(theta),
        constraints=[r - 1 - sp.cos(theta) / 5],
    )
    return system, {"q0": [1.2, 0], "v0": [0, 2]}


def gyroscopic():
    energy = (u**2 + v**2 + w**2) / 2 + sp.Rational(3, 2) * (x * v - y * u) + sp.sin(T) * x * u / 10
    system = taut.System([x, y, z], lagrangian=energy - 10 * z, constraints=[SPHERE])
    return system, {"q0": [0.6, 0, -0.8], "v0": [0, 1, 0]}


def fast_lagrangian():
    energy = u**2 / 2 + v**2 / 2 + (u**2 + v**2) ** 2 / 8
    system = taut.System([x, y], lagrangian=energy - 3 * y, constraints=[x**2 + y**2 - 1])
    return system, {"q0": [1, 0], "v0": [0, 0.5]}


def not_separable():
    energy = px**2 / 2 + py**2 * (1 + x**2) / 2 + pz**2 / 2 + px * py * z / 5 + 10 * z
    system = taut.System([x, y, z], hamiltonian=energy, constraints=[SPHERE])
    return system, {"q0": [0.6, 0, -0.8], "v0": [0, 1, 0]}


def one_bound_coordinate():
    """The multiplier touches one velocity, the velocities touch all momenta."""
    q = taut.coordinates("a b c d")
    p = taut.momenta(q)
    energy = sum(s**2 for s in p) + sum(p) ** 2 / 5 + sum(s**2 for s in q) + q[0] * q[1]
    system = taut.System(q, hamiltonian=energy, constraints=[q[2] ** 2 + q[2] - 2])
    return system, {"q0": [1, -1, 1, 0.5], "v0": [1, 0, 0, -1]}


def not_quadratic():
    energy = sp.sqrt(1 + px**2 + py**2) + y + px**4 / 50
    system = taut.System([x, y], hamiltonian=energy, constraints=[x**2 + y**2 - 1])
    return system, {"q0": [1, 0], "v0": [0, 0.5]}


def forced_hamiltonian():
    system = taut.System(
        [x, y],
        hamiltonian=px**2 / 2 + py**2 / 4 + x * py / 5 + 10 * y,
        constraints=[(x - sp.sin(3 * T) / 10) ** 2 + y**2 - 1],
        forces=[-u / 5, sp.cos(2 * T)],
    )
    return system, {"q0": [1, 0], "v0": [0.3, 0.2]}


def forced():
    system = taut.System(
        [x, y],
        mass=[1, 2],
        potential=10 * y,
        constraints=[x**2 + y**2 - 1],
        forces=[-u / 5, sp.cos(2 * T) - v * abs(v) / 10],
    )
    return system, {"q0": [1, 0], "v0": [0, 0.3]}


def moving_constraint():
    moving = (x - sp.sin(3 * T) / 10) ** 2 + y**2 - 1
    system = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[moving])
    return system, {"q0": [1, 0], "v0": [0.3, 0.2]}


def parameters():
    m, g, length = sp.symbols("m g length")
    system = taut.System(
        [x, y],
        mass=[m, m],
        potential=m * g * y,
        constraints=[x**2 + y**2 - length**2],
        parameters={m: 2.0, g: 9.81, length: 1.0},
    )
    return system, {"q0": [2, 0], "v0": [0, 0.3], "parameters": {"m": 3.0, "length": 2.0}}


def constants_of_instances():
    a, b, c, d, p, r, m, g, length = sp.symbols("a b c d p r m g length", real=True)
    pairs = np.arange(8).reshape(4, 2)
    masses = np.array([[1.0, 10.0], [2.0, 9.0], [0.5, 11.0], [3.0, 8.0]])
    lengths = np.array([[1.0], [0.5], [2.0], [1.5]])
    system = taut.System.from_terms(
        sp.symbols("q0:8"),
        [
            Term("lagrangian", (a, b), [m * (p**2 + r**2) / 2 - m * g * b], pairs,
                 rates=(p, r), constants=(m, g), values=masses),
            Term("constraint", (a, b), [a**2 + b**2 - length**2], pairs[:1],
                 constants=(length,), values=lengths[:1]),
            Term("constraint", (a, b, c, d), [(a - c) ** 2 + (b - d) ** 2 - length**2],
                 np.hstack([pairs[:-1], pairs[1:]]), constants=(length,), values=lengths[1:]),
            Term("force", (a, b), [-p / 10, -r / 10], pairs[2:], (p, r)),
        ],
    )  # fmt: skip
    q0 = np.zeros(8)
    q0[::2] = np.cumsum(lengths)
    return system, {"q0": q0, "v0": 0}


def redundant():
    twice = [z + x / 2, SPHERE, 2 * z + x, 3 * SPHERE]
    system = taut.System([x, y, z], mass=[1, 2, 3], potential=10 * z, constraints=twice)
    return system, {"q0": [0, 1, 0], "v0": [1, 0, -0.5]}


def no_constraints():
    system = taut.System([x, y], mass=[1, 1], potential=-1 / sp.sqrt(x**2 + y**2))
    return system, {"q0": [1, 0], "v0": [0, 0.9]}


def no_constraints_forced():
    mass = [[1 + x**2, x * y / 3], [x * y / 3, 1]]
    system = taut.System([x, y], mass=mass, potential=x**2 + y**2, forces=[sp.sin(T) - u / 10, 0])
    return system, {"q0": [1, 0], "v0": [0, 0.9]}


def no_force():
    return taut.System([x, y], mass=[1, 2]), {"q0": [0, 1], "v0": [1, -2]}


MAKE = [
    constant_mass, full_mass_matrix, mass_of_q, gyroscopic, fast_lagrangian, not_separable,
    one_bound_coordinate, not_quadratic, forced_hamiltonian, forced, moving_constraint, parameters,
    constants_of_instances, redundant, no_constraints, no_constraints_forced, no_force,
]  # fmt: skip
# Other numbers in the program of rk4, dop853 and projected-rk4, which stand for them.
SAME = ("dopri5", "projected-dop853")
METHODS = {n: m for n, m in CATALOGUE.items() if not m.tabled and not m.charted and n not in SAME}
# Every system meets the first two, and of each kind of program one member in turn; those that take
# long to compile, dop853 and ggl, come round less often.
ALWAYS = ("rattle", "time-element")
KINDS = [
    ("gauss-lobatto-4", "lobatto-4", "symplectic-rk", "time-element-4"),
    ("energy-momentum", "energy-momentum-hidden"),
    ("symplectic-euler", "projected-symplectic-euler", "composition-4"),
    ("rk4", "projected-rk4", "baumgarte", "rk4", "baumgarte", "projected-rk4", "rk4", "dop853"),
    ("implicit-trapezoid", "ggl", *("generalized-alpha", "implicit-trapezoid") * 3),
]
# More stages or sub-steps of what a smaller member of the family is tried with.
LARGER = ("lobatto-6", "gauss-lobatto-6", "gauss-lobatto-8", "time-element-6",
          "composition-6", "composition-8", "composition-10")  # fmt: skip
VARIED = (mass_of_q, gyroscopic, not_separable, forced_hamiltonian, redundant)
PAIRS = [(f, x) for k, f in enumerate(MAKE) for x in (*ALWAYS, *(y[k % len(y)] for y in KINDS))]
PAIRS += [(VARIED[k % len(VARIED)], x) for k, x in enumerate(LARGER)]
QUADRATURES = {q: TimeElement(quadrature=q) for q in ("midpoint", "simpson", "gauss2")}


@pytest.fixture
def kernels(monkeypatch):
    """IR text of the kernels made from now on, with no workshop to find them in."""
    return recorded_kernels(monkeypatch)


def recorded_kernels(patch):
    compile_room._workshop.cache_clear()
    made, real = [], assembled_room.loop_code

    def recorded(*arguments):
        made.append(real(*arguments))
        return made[-1]

    patch.setattr(assembled_room, "loop_code", recorded)
    return made


def test_kernels_of_few_instances_are_translated_quickly(monkeypatch):
    """The ends of a chain; the motion is the same to the bit."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    before = m.ground
    for k in range(90):
        part = m.point(f"p{k}", mass=1.0, at=(k + 1.0, 0, 0))
        m.rod(before, part)
        before = part
    efforts, real, found = [], assembled_room.made_pass, []

    def noted(*arguments):
        efforts[-1].append((len(arguments[1]), arguments[-1]))
        return real(*arguments)

    monkeypatch.setattr(assembled_room, "made_pass", noted)
    for seldom in (assembled_room.SELDOM, 10**9):
        monkeypatch.setattr(assembled_room, "SELDOM", seldom)
        compile_room._workshop.cache_clear()
        efforts.append([])
        found.append(taut.simulate(m, duration=0.02, step=1e-3, method="rattle", laws=None))
    assert {effort for count, effort in efforts[0] if count == 1} == {0}
    assert {effort for count, effort in efforts[0] if count > 10} == {1}
    assert {effort for _, effort in efforts[1]} == {1}
    np.testing.assert_array_equal(found[0].q, found[1].q)
    np.testing.assert_array_equal(found[0].energy, found[1].energy)


# ------------------------------------------------------------------- twins


def run(system, start, method, steps=STEPS, step=STEP, **options):
    return taut.simulate(
        system, duration=steps * step, step=step, method=method, laws=None, **(start | options)
    )


def books(trajectory):
    return dict(zip(loop.BOOKS, trajectory.ending.books[0], strict=False))


def twins(backend, system, start, method, **options):
    found = []
    for name in ("fused", "assembled"):
        backend(name)
        found.append(run(system, start, method, **options))
    return found


def agree(one, two, tolerance=1e-12):
    """Trajectories equal to round-off, relative to the size of each kind of vector.

    Without the hidden constraint, what rounding leaves of g is a normal velocity of that over h.
    """
    tolerance *= 1 if one.method.keeps_hidden else 10
    for name in ("q", "v", "p"):
        a, b = getattr(one, name), getattr(two, name)
        assert np.abs(a - b).max() <= tolerance * np.abs(a).max(), name  # a NaN fails, too


def notes_agree(one, two, tolerance=1e-11):
    a, b = books(one), books(two)
    assert a["steps"] == b["steps"] == STEPS
    kinetic = np.abs(one.v * one.p).sum(axis=-1).max()  # the energy itself may be zero
    scale = np.abs(one.energy).max() + a["gross_work"] + kinetic
    for name in ("energy0", "error_min", "error_max", "work", "power", "gross_work"):
        assert abs(a[name] - b[name]) <= tolerance * (scale + abs(a["power"])), name
    assert (a["work"] != 0.0) == (not one.system.conservative)
    for name in ("max_g", "max_hidden"):
        size = {"max_g": np.abs(one.q).max() ** 2, "max_hidden": np.abs(one.v).max()}[name]
        kept = name == "max_g" or one.method.keeps_hidden
        if one.method.keeps_constraints and kept:
            assert max(a[name], b[name]) <= 1e-13 * size, name
        else:
            assert abs(a[name] - b[name]) <= 1e-11 * size, name
    # The fused back end eliminates more, so the loops differ; not by much.
    assert (a["iterations"] == 0) == (b["iterations"] == 0)
    parts = len(one.method.substeps)
    # A matrix that is kept takes more iterations than one made anew; and where one iteration is
    # known to be enough, the assembled back end makes no second one, in each of the solves.
    kept = workshop(one.system).program(one.method, one.keep, one.ending.charts[0]).simplified
    more = b["iterations"] - a["iterations"]
    assert more <= (6 if kept else 2.2) * STEPS * parts
    assert more >= -max(6 * STEPS * parts if kept else 0, a["iterations"] / 2)
    assert abs(a["most_iterations"] - b["most_iterations"]) <= (15 if kept else 3)


def test_every_method_and_every_system_has_a_twin():
    """Guards the choice of pairs."""
    assert {x for _, x in PAIRS} == METHODS.keys()
    assert {f for f, _ in PAIRS} == set(MAKE)
    assert len(set(PAIRS)) == len(PAIRS)


@pytest.mark.parametrize(
    ("make", "method"), PAIRS, ids=lambda x: x if isinstance(x, str) else x.__name__
)
def test_twins(make, method, backend):
    if make is fast_lagrangian and CATALOGUE[method].keeps_energy:
        with pytest.raises(InputError, match="discrete gradient"):
            run(*make(), method)
        return
    one, two = twins(backend, *make(), method)
    assert np.abs(one.q[-1] - one.q[0]).max() > 0.05  # something moved
    agree(one, two)
    notes_agree(one, two)


@pytest.mark.parametrize("quadrature", QUADRATURES)
@pytest.mark.parametrize(
    "make", [mass_of_q, not_separable, forced_hamiltonian, no_constraints], ids=lambda f: f.__name__
)
def test_twins_with_every_quadrature(make, quadrature, backend):
    one, two = twins(backend, *make(), QUADRATURES[quadrature])
    agree(one, two)
    notes_agree(one, two)


def test_the_back_ends_are_two(backend, kernels):
    """Guards the tests above: the fixture really chooses."""
    system, start = mass_of_q()
    backend("fused")
    run(system, start, "rattle", steps=3)
    assert not kernels
    backend("assembled")
    run(system, start, "rattle", steps=3)
    assert kernels
    names = {key[4]: step.context for key, step in workshop(system)._steps.items()}
    assert set(names) == {"fused", "assembled"}
    assert names["fused"] == 0 != names["assembled"]


@pytest.mark.parametrize("make", [forced, not_separable], ids=lambda make: make.__name__)
def test_multipliers_and_energy_of_both(make, backend):
    one, two = twins(backend, *make(), "rattle")
    backend("fused")
    compiled = one.multipliers, one.energy
    backend("assembled")
    for a, b in zip(compiled, (two.multipliers, two.energy), strict=True):
        assert np.abs(a - b).max() <= 1e-10 * np.abs(a).max()


def test_a_shorter_last_step(backend):
    system, start = forced()
    one, two = twins(backend, system, start, "rattle", steps=10.4)
    assert len(one) == len(two) == 12
    agree(one, two)


@pytest.mark.parametrize("name", ["fused", "assembled"])
def test_sums_are_compensated(name, backend):
    """A free flight of 10⁴ steps ends where it should, to the last place; plain sums do not."""
    backend(name)
    system, _ = no_force()
    start, count, h = {"q0": [0.1, 1000.0], "v0": [1 / 3, -0.7]}, 10_000, 0.1
    end = run(system, start, "rattle", steps=count, step=h, every=count)
    plain = np.array(start["q0"])
    for _ in range(count):
        plain = plain + h * np.array(start["v0"])
    for k in range(2):
        exact = Fraction(start["q0"][k]) + count * (Fraction(h) * Fraction(start["v0"][k]))
        # h·v is rounded once, and its error is the same in every step: that is not a sum's fault.
        slack = Fraction(count) * Fraction(np.spacing(abs(h * start["v0"][k]))) / 2
        assert abs(Fraction(end.q[-1, k]) - exact) <= slack + Fraction(
            np.spacing(abs(end.q[-1, k]))
        )
        assert abs(Fraction(plain[k]) - exact) > 4 * slack


def test_a_batch_is_its_members(backend):
    system, start = mass_of_q()
    backend("assembled")
    q0, v0 = np.tile(start["q0"], (3, 1)), np.array([[0, 2.0], [0, 1.0], [0, -1.5]])
    batch = run(system, {"q0": q0, "v0": v0}, "rattle", steps=20)
    for k in range(3):
        alone = run(system, {"q0": q0[k], "v0": v0[k]}, "rattle", steps=20)
        assert np.array_equal(batch.q[k], alone.q)
        assert np.array_equal(batch.p[k], alone.p)


@pytest.mark.parametrize("method", METHODS)
def test_continued_is_one_long_run(method, backend):
    """Bit for bit, and whatever the chunks and what is stored."""
    system, start = gyroscopic()
    backend("assembled")
    long = run(system, start, method, steps=60)
    joined = run(system, start, method, steps=23).continue_(37 * STEP)
    sparse = run(system, start, method, steps=60, every=7)
    for name in ("q", "v", "p"):
        assert np.array_equal(getattr(long, name), getattr(joined, name))
        assert np.array_equal(getattr(long, name)[[*range(0, 60, 7), 60]], getattr(sparse, name))
    a, b = books(long), books(joined)
    assert a == b


def test_two_systems_do_not_disturb_each_other(backend):
    """All runs share one loop; their banks are their own."""
    backend("assembled")
    (one, first), (two, second) = mass_of_q(), forced_hamiltonian()
    wanted = run(one, first, "rattle", steps=40)
    half = run(one, first, "rattle", steps=20)
    run(two, second, "rattle", steps=40)
    rest = half.continue_(20 * STEP)
    assert np.array_equal(rest.q, wanted.q)
    assert np.array_equal(rest.p, wanted.p)


def test_parameters_do_not_recompile(backend, monkeypatch):
    backend("assembled")
    system, start = parameters()
    run(system, start, "rattle")
    monkeypatch.setattr(native, "_compile", None)
    monkeypatch.setattr(assembled_room, "loop_code", None)
    other = run(system, start, "rattle", parameters={"m": 1.0, "length": 2.0, "g": 20.0})
    monkeypatch.undo()
    backend("fused")
    agree(other, run(system, start, "rattle", parameters={"m": 1.0, "length": 2.0, "g": 20.0}))


# ------------------------------------------------------------------- failures


def edge_of_the_world():
    """The force ceases to exist at x = 0, which the pendulum reaches after half a second."""
    system = taut.System(
        [x, y], mass=[1, 1], potential=2 * sp.sqrt(x) + 10 * y, constraints=[x**2 + y**2 - 1]
    )
    return system, {"q0": [1, 0], "v0": 0}


def free_edge_of_the_world():
    return taut.System([x], mass=[1], potential=2 * sp.sqrt(x)), {"q0": [1], "v0": 0}


@pytest.mark.parametrize(
    "method",
    ["rattle", "time-element", "symplectic-euler", "composition-6", "generalized-alpha"],
)
@pytest.mark.parametrize(
    "make", [edge_of_the_world, free_edge_of_the_world], ids=lambda make: make.__name__
)
@pytest.mark.parametrize("name", ["fused", "assembled"])
def test_a_failed_step_leaves_the_state_before_it(name, make, method, backend):
    """No NaN gets into a trajectory, also where a step needs no Newton iteration."""
    backend(name)
    system, start = make()
    with pytest.raises(StepError) as caught:
        run(system, start, method, steps=400)
    partial, index = caught.value.partial, caught.value.index
    assert 30 < index < 150
    assert len(partial) == index + 1
    good = run(system, start, method, steps=index)
    for vector in ("q", "v", "p"):
        assert np.array_equal(getattr(partial, vector), getattr(good, vector))
        assert np.all(np.isfinite(getattr(partial, vector)))


def test_both_fail_at_the_same_step(backend):
    found = []
    for name in ("fused", "assembled"):
        backend(name)
        with pytest.raises(StepError) as caught:
            run(*edge_of_the_world(), "rattle", steps=400)
        found.append(caught.value)
    assert found[0].index == found[1].index
    agree(found[0].partial, found[1].partial)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("method", ["rattle", "composition-6", "generalized-alpha"])
def test_lanes_fail_alone(method, backend):
    """In a batch, the member that leaves the domain does not take the others with it."""
    backend("fused")
    system, _ = free_edge_of_the_world()
    v0 = np.array([[0.0], [4.0], [5.0], [6.0]])
    with pytest.raises(StepError, match=r"\[0\]") as caught:
        run(system, {"q0": np.ones((4, 1)), "v0": v0}, method, steps=200)
    for k in range(1, 4):
        alone = run(system, {"q0": [1.0], "v0": v0[k]}, method, steps=200)
        assert np.array_equal(caught.value.partial.q[k], alone.q)


# ------------------------------------------------------------------- methods nobody has yet


@dataclass(frozen=True)
class KickDrift(Method):
    """p₁ = p₀ + h F(q₀), q₁ = q₀ + h H_p(q₀, p₁): the sum of the kick stands before any solve."""

    name: ClassVar[str] = "kick-drift"
    order: ClassVar[int] = 1
    symplectic: ClassVar[bool] = True
    symmetric: ClassVar[bool] = False
    keeps_constraints: ClassVar[bool] = False
    source: ClassVar[str] = "test"

    def program(self, step):
        dp = step.h * step.force(step.q, step.v, step.p, step.t)
        p1 = step.kicked(dp)
        drift = step.unknown("drift", guess=step.v)
        step.solve((drift, step.link(step.q, drift, p1, step.t)), watch=drift)
        dq = step.h * drift
        q1 = step.moved(dq)
        v1 = step.unknown("v1", guess=step.v)
        step.solve((v1, step.link(q1, v1, p1, step.t1)), watch=v1)
        step.advance(q=dq, p=dp, v=v1)


@dataclass(frozen=True)
class Nested(KickDrift):
    """An operator of an operator, which only the fused back end can do."""

    def program(self, step):
        dp = step.h * step.force(step.q, step.v, step.p, step.t)
        v1 = step.unknown("v1", guess=step.v)
        p1 = step.unknown("p1", guess=step.p)
        there = step.force(step.q, step.v, step.p + dp, step.t)
        step.solve(
            (p1, p1 - step.p - step.h * there), (v1, step.link(step.q, v1, p1, step.t)), watch=v1
        )
        step.advance(q=step.h * v1, p=p1 - step.p, v=v1)


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_a_sum_before_any_solve(form, backend):
    if form == "lagrangian":
        system = taut.System([x, y], mass=[[2 + x**2, 0], [0, 1]], potential=x**2 + x * y**2)
    else:
        energy = px**2 / (2 + x**2) / 2 + py**2 / 2 + x**2 + x * y**2
        system = taut.System([x, y], hamiltonian=energy)
    agree(*twins(backend, system, {"q0": [1, 0.5], "v0": [0, 1]}, KickDrift()))


def test_an_operator_of_an_operator_is_explained(backend):
    system = taut.System([x], hamiltonian=px**2 / 2 + px * x + x**2)
    backend("fused")
    run(system, {"q0": [1], "v0": [0]}, Nested(), steps=2)
    backend("assembled")
    with pytest.raises(InputError, match="cannot be assembled") as caught:
        run(system, {"q0": [1], "v0": [0]}, Nested(), steps=2)
    assert "unknown of its own" in caught.value.remedy


# ------------------------------------------------------------------- a chain of n rods


def chain(n, moving=False):
    """A planar chain of unit rods, as one type of body and one of rod, hung up at one end."""
    a, b, c, d, p, r = sp.symbols("a b c d p r", real=True)
    pairs = np.arange(2 * n).reshape(n, 2)
    hook = a - sp.sin(T) / 10 if moving else a
    terms = [
        Term("lagrangian", (a, b), [(p**2 + r**2) / 2 - 10 * b], pairs, rates=(p, r)),
        Term("constraint", (a, b), [hook**2 + b**2 - 1], pairs[:1]),
        Term("constraint", (a, b, c, d), [(a - c) ** 2 + (b - d) ** 2 - 1],
             np.hstack([pairs[:-1], pairs[1:]])),
    ]  # fmt: skip
    q0 = np.zeros(2 * n)
    q0[::2] = np.arange(1, n + 1)
    v0 = np.zeros(2 * n)
    if moving:
        v0[::2] = 0.1
    return taut.System.from_terms(sp.symbols(f"q0:{2 * n}"), terms), {"q0": q0, "v0": v0}


def program(system, method):
    return workshop(system).step(method_of(method), keep=tuple(range(system.c))).program


def work(machine):
    """Numbers moved by gather and scatter, and multiplications of one factorisation, per step."""
    passes = [p for s in machine.before_sum for p in (*s.passes, *s.back)]
    moved = sum(p.gather.size + p.target.size for p in passes)
    flops = 0
    for pattern in (s.pattern for s in machine.before_sum if s.pattern is not None):
        above = pattern.start[1:] - pattern.diagonal
        for k, d in enumerate(pattern.diagonal):
            flops += int(above[pattern.column[pattern.start[k] : d]].sum())
    return moved, flops


FEW, MANY = 75, 225  # rods


@cache
def assembled_chain(n, method, moving=False):
    """The machine of a chain, and the texts of its kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_room, "FUSED_LIMIT", -1)
        texts = recorded_kernels(patch)
        machine = program(chain(n, moving)[0], method).machine
    return machine, set(texts)


@pytest.mark.parametrize(
    ("moving", "method"),
    [*((False, x) for x in METHODS), *((True, x) for x in (*ALWAYS, *(x[0] for x in KINDS)))],
)
def test_compiling_does_not_depend_on_the_number_of_rods(method, moving):
    texts = [assembled_chain(n, method, moving)[1] for n in (FEW, MANY)]
    assert len(texts[0]) > 5
    # The last rounds of an elimination, with few in each, may have addresses in other rows.
    small, large = (sum(map(len, x)) for x in texts)
    assert abs(len(texts[1]) - len(texts[0])) <= 10
    assert large <= 1.5 * small


@pytest.mark.parametrize("method", METHODS)
def test_work_grows_in_proportion(method):
    small, large = (assembled_chain(n, method)[0] for n in (FEW, MANY))
    (moved, flops), (more_moved, more_flops) = work(small), work(large)
    assert 2 * moved <= more_moved <= 3.6 * moved
    assert (
        more_flops <= 9 * flops
    )  # of what groups and rounds leave: next to nothing of a short one
    for a, b in zip(small.before_sum, large.before_sum, strict=True):
        if a.pattern is not None:
            # A short chain may be eliminated in rounds where a long one is not.
            assert b.pattern.slots <= 4.8 * a.pattern.slots
    assert len(large.ints) <= 3.45 * len(small.ints)
    assert len(large.floats) <= 3.45 * len(small.floats)


def test_operators_of_a_stage_are_evaluated_once(backend):
    """Each stage uses the slopes of all before it: they are kept, not computed once more."""
    backend("assembled")
    counts = []
    for stages in (6, 12):
        a = np.tril(np.full((stages, stages), 1 / stages), -1)
        made = program(chain(30)[0], ExplicitRK((a, [1 / stages] * stages))).machine
        parts = [part for stage in made.before_sum for part in stage.contributions]
        counts.append(sum(part.function.n_instructions() for part in parts))
    assert counts[1] < 2.4 * counts[0]


def test_a_long_chain_is_as_good_as_a_short_one():
    """300 rods: constraints at round-off of their scale, energy error of order h²."""
    system, start = chain(300)
    bands = []
    for step in (0.02, 0.01):
        found = run(system, start, "rattle", steps=round(1 / step), step=step)
        notes = books(found)
        assert notes["max_g"] <= 8 * np.spacing(300.0)  # coordinates go up to 300
        assert notes["max_hidden"] <= 1e-12 * np.abs(found.v).max()
        assert notes["iterations"] <= 3.5 * len(found)
        assert notes["most_iterations"] <= 6
        bands.append(notes["error_max"] - notes["error_min"])
    assert np.abs(found.q[-1] - found.q[0]).max() > 1.0
    kinetic = 0.5 * np.sum(found.v[-1] ** 2)
    assert bands[1] <= 1e-4 * kinetic
    assert 3.5 <= bands[0] / bands[1] <= 4.5


def test_a_chain_is_the_same_chain_by_hand(backend):
    """Terms, assembled = one expression, fused."""
    n = 5
    system, start = chain(n)
    q = taut.coordinates(f"q0:{2 * n}")
    points = [(0, 0), *zip(q[::2], q[1::2], strict=True)]
    rods = [(a - c) ** 2 + (b - d) ** 2 - 1 for (a, b), (c, d) in itertools.pairwise(points)]
    by_hand = taut.System(q, mass=[1] * (2 * n), potential=10 * sum(q[1::2]), constraints=rods)
    backend("assembled")
    one = run(system, start, "time-element")
    backend("fused")
    agree(one, run(by_hand, start, "time-element"))


def test_a_small_part_of_a_large_system_moves_alone(backend):
    """Rods that are not connected do not feel each other: row by row the same numbers."""
    a, b, p, r = sp.symbols("a b p r", real=True)

    def pendulums(count):
        pairs = np.arange(2 * count).reshape(count, 2)
        terms = [
            Term("lagrangian", (a, b), [(p**2 + r**2) / 2 - 10 * b], pairs, rates=(p, r)),
            Term("constraint", (a, b), [a**2 + b**2 - 1], pairs),
        ]
        start = {"q0": np.tile([1.0, 0.0], count), "v0": 0}
        return taut.System.from_terms(sp.symbols(f"q0:{2 * count}"), terms), start

    backend("assembled")
    one, many = (run(*pendulums(count), "rattle", steps=50) for count in (1, 7))
    for k in range(7):
        assert np.abs(many.q[:, 2 * k : 2 * k + 2] - one.q).max() <= 1e-14


# ------------------------------------------------------------------- what large systems cannot do


def test_independent_coordinates_of_a_large_system():
    system, start = chain(30)
    with pytest.raises(InputError, match="independent coordinates") as caught:
        run(system, start, "time-element-independent", steps=2)
    assert 'form="multipliers"' in caught.value.remedy


def test_large_systems_are_assembled_of_themselves(kernels):
    system, start = chain(30)
    assert not workshop(system).small
    run(system, start, SymplecticEuler(), steps=2)
    assert kernels
