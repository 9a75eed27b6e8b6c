"""Workshops: who shares what has been compiled, and who does not."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel import compile as compile_room, native
from taut.kernel.compile import CompiledMap, Workshop, workshop
from taut.march.trajectory import apply_map
from taut.methods import Rattle, TimeElement
from taut.model.terms import Term
from taut.problems import problem


def pendulum(names="x y", constraint="rod", mass=1, length=1):
    x, y = taut.coordinates(names)
    rod = {constraint: x**2 + y**2 - length**2}
    return taut.System([x, y], mass=[mass, mass], potential=10 * y, constraints=rod)


def of_terms(names, constraint):
    """The names of the coordinates do not occur in the equations of terms."""
    a, b, u, w = sp.symbols("a b u w", real=True)
    terms = [
        Term("lagrangian", (a, b), [(u**2 + w**2) / 2 - 10 * b], [[0, 1]], rates=(u, w)),
        Term("constraint", (a, b), [a**2 + b**2 - 1], [[0, 1]], names=(constraint,)),
    ]
    return taut.System.from_terms(sp.symbols(names), terms)


def test_equal_systems_share_a_workshop():
    assert workshop(pendulum()) is workshop(pendulum())
    assert workshop(pendulum()) is not workshop(pendulum(length=2))
    assert workshop(of_terms("x y", "rod")) is workshop(of_terms("x y", "rod"))


def test_names_are_not_shared():
    """A run and its messages speak of the system that was given, not of its double."""
    for one, two in (
        (pendulum(constraint="rod"), pendulum(constraint="string")),
        (of_terms("x y", "rod"), of_terms("x y", "string")),
        (of_terms("x y", "rod"), of_terms("p q", "rod")),
    ):
        runs = [taut.simulate(s, q0=[1, 0], v0=0, duration=0.02, step=0.01) for s in (one, two)]
        for system, run in zip((one, two), runs, strict=True):
            assert run.system.constraint_names == system.constraint_names
            assert run.system.coordinates == system.coordinates
            assert run.evaluate(system.coordinates[0]).tolist() == run.q[:, 0].tolist()
        with pytest.raises(taut.InconsistentStart, match=two.constraint_names[0]):
            taut.simulate(two, q0=[1.1, 0], v0=0, duration=0.02, step=0.01)


def test_a_step_is_made_once(monkeypatch):
    shop = Workshop(pendulum())
    first = shop.step(Rattle(), keep=(0,))
    monkeypatch.setattr(native, "_compile", None)
    assert shop.step(Rattle(), keep=(0,)) is first
    monkeypatch.undo()
    others = [
        shop.step(TimeElement(), keep=(0,)),
        shop.step(TimeElement(quadrature="midpoint"), keep=(0,)),
        shop.step(Rattle(), keep=()),
        shop.step(Rattle(), keep=(0,), lanes=4),
        shop.step(Rattle(), keep=(0,), backend="assembled"),
    ]
    assert len({first, *others}) == 6


def test_how_steps_are_made_is_found_out_once(monkeypatch):
    """Rows of a loop that are chosen anew ask for it at each turn; it takes a tenth of a second."""
    shop = Workshop(problem("bennett").system)
    asked, real = [], Workshop._pulled
    monkeypatch.setattr(Workshop, "_pulled", lambda *x: (asked.append(x), real(*x))[1])
    assert {shop.unrolled(method) for method in (Rattle(), Rattle())} == {False}
    assert len(asked) == 1
    assert not shop.unrolled(taut.methods.SymplecticEuler())
    assert len(asked) == 2


def test_short_runs_are_made_with_a_draft_and_many_steps_with_better_code(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUT_CACHE_DIR", str(tmp_path))
    efforts, real = [], native._compile
    monkeypatch.setattr(native, "_compile", lambda *x: (efforts.append(x[1:]), real(*x))[1])
    shop, of = Workshop(pendulum()), {"keep": (0,)}
    draft = shop.step(Rattle(), steps=compile_room.MANY // 2, **of)
    assert draft.draft
    assert efforts == [(0,)]
    assert shop.step(Rattle(), **of) is draft
    for file in tmp_path.glob("*.o"):
        file.unlink()
    better = shop.step(Rattle(), steps=compile_room.MANY // 2, **of)
    assert not better.draft
    assert efforts == [(0,), ()]
    assert shop.step(Rattle(), **of) is better
    assert not better.thorough.draft
    assert draft.thorough is better.thorough
    del efforts[:]
    assert Workshop(pendulum()).step(Rattle(), **of).draft  # which finds what is better
    assert efforts == []


def test_a_run_counts_its_steps_and_trajectories():
    system, of = pendulum(), {"q0": [1, 0], "v0": 0, "step": 1e-3, "laws": None}
    workshop(system)._steps.clear()
    workshop(system)._asked.clear()
    for steps, draft in ((8000, True), (8000, True), (8000, False), (10, False)):
        taut.simulate(system, duration=steps * 1e-3, every=1000, **of)
        assert workshop(system).step(Rattle(), keep=(0,)).draft is draft
    starts = np.tile([1.0, 0.0], (64, 1))
    wide = native.lanes()
    for steps, draft in ((1000, True), (2000, False)):
        taut.simulate(system, duration=steps * 1e-3, every=1000, **of | {"q0": starts})
        assert workshop(system).step(Rattle(), keep=(0,), lanes=wide).draft is draft


def test_charts_that_change_and_steps_that_vary_count_once():
    system = pendulum(length=3)
    shop = workshop(system)
    of = {"q0": [3, 0], "v0": 0, "duration": 60, "step": 0.01, "laws": None}
    run = taut.simulate(system, method=TimeElement(form="independent"), **of)
    assert run.certificate.charts > 10
    assert sum(shop._asked.values()) == 6000
    assert all(x.draft for x in shop._steps.values())
    shop._asked.clear()
    method = taut.Adaptive("rattle", scale=4 + system.coordinates[1])
    taut.simulate(system, method=method, **of)
    assert sum(shop._asked.values()) == 6000
    taut.simulate(system, method=TimeElement(form="independent"), **of | {"duration": 210})
    assert sum(not x.draft for x in shop._steps.values()) > 1  # the charts that came later, too


def test_threads_make_a_step_once(monkeypatch):
    made, real = [], Workshop._fused
    monkeypatch.setattr(Workshop, "_fused", lambda *x: (made.append(x), real(*x))[1])
    shop = Workshop(pendulum(length=4))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: shop.step(Rattle(), keep=(0,)), range(4)))
    assert len(made) == 1
    assert len(set(found)) == 1


@pytest.mark.parametrize("method", ["rattle", "lobatto-4", "composition-4", "ggl"])
@pytest.mark.parametrize("many", [1, 5])
def test_a_draft_has_the_same_bits(method, many, monkeypatch, tmp_path):
    """Also where there are functions, forces and constraints that move."""
    x, y = taut.coordinates("x y")
    (vx,) = taut.velocities([x])
    length = 1 + sp.cos(taut.t) / 10
    system = taut.System(
        [x, y], mass=[1, 2], potential=10 * y + sp.exp(sp.sin(x)) + 4**x, forces={x: -vx / 10},
        constraints=[x**2 + y**2 - length**2],
    )  # fmt: skip
    angles, runs = np.linspace(0, 3, many), []
    starts = 1.1 * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    for least in (0, 1 << 60):
        monkeypatch.setattr(compile_room, "MANY", least)
        monkeypatch.setenv("TAUT_CACHE_DIR", str(tmp_path / str(least)))
        workshop(system)._steps.clear()
        runs.append(taut.simulate(system, q0=starts, v0=0, duration=3, step=0.01, method=method))
        assert {x.draft for x in workshop(system)._steps.values()} == {least > 0}
    assert not {x.name for x in (tmp_path / "0").glob("*.o")} & {
        x.name for x in (tmp_path / str(1 << 60)).glob("*.o")
    }
    for one, two in zip(*[(x.q, x.p, x.v, x.certificate.max_g) for x in runs], strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("keep", [(0,), ()])
def test_the_state_has_the_announced_length(keep):
    shop = Workshop(pendulum())
    q, v = np.array([0.6, 0.8]), np.array([0.8, -0.6])
    for backend in ("fused", "assembled"):
        step = shop.step(Rattle(), keep=keep, backend=backend)
        # q, p, v, two compensations, the carried momentum, the last move, the floor of each
        # coordinate; then what Newton remembers.
        assert step.slots == 8 * 2 + len(step.first_memory(q, v, v))


def test_compiled_multipliers_are_the_numeric_ones(rng):
    system = pendulum(mass=3)
    shop, none = workshop(system), np.zeros(0)
    angle = rng.uniform(0, 6, 20)
    q = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    v = rng.uniform(-2, 2, (20, 1)) * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    rows = np.hstack([q, v, 3 * v, np.zeros((20, 1))])
    got = apply_map(shop.multipliers((0,)), rows)
    # g = |q|² − 1, so 2λ = m v² − 10 y along the rod of length 1.
    wanted = (3 * np.sum(v**2, axis=1) - 10 * q[:, 1]) / 2
    assert np.allclose(got[:, 0], wanted, rtol=1e-13, atol=1e-13)
    numeric = [
        shop.mechanics.accelerations(a, b, 3 * b, 0.0, none)[1] for a, b in zip(q, v, strict=True)
    ]
    assert np.allclose(got, numeric, rtol=1e-12, atol=1e-12)


def test_a_map_of_nothing():
    import casadi as ca

    x = ca.SX.sym("x", 2)
    empty = CompiledMap(ca.Function("f", [x], [ca.SX(0, 1)]))
    assert apply_map(empty, np.ones((3, 2))).shape == (3, 0)
