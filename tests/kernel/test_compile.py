"""Workshops: who shares what has been compiled, and who does not."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.kernel import native
from taut.kernel.compile import CompiledMap, Workshop, workshop
from taut.march.trajectory import apply_map
from taut.methods import Rattle, TimeElement
from taut.model.terms import Term


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
