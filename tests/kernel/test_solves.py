"""Groups and rounds: the same steps as the fused back end's, and few types."""

import numpy as np
import pytest
import sympy as sp

import taut
import taut.kernel.compile as compile_room
import taut.kernel.groups as groups_room
import taut.kernel.outer as outer_room
from taut.kernel.compile import workshop
from taut.methods import method_of
from taut.model.terms import Term

STEP = 0.01


def points(n, moving=False):
    """Points of mass 1 in space, joined by rods; the first hangs on a hook."""
    q = sp.symbols("x y z a b c", real=True)
    r = sp.symbols("u v w", real=True)
    index = np.arange(3 * n).reshape(n, 3)
    hook = q[0] - sp.sin(taut.t) / 10 if moving else q[0]
    terms = [
        Term("lagrangian", q[:3], [sum(s**2 for s in r) / 2 - 10 * q[2]], index, rates=r),
        Term("constraint", q[:3], [hook**2 + q[1] ** 2 + q[2] ** 2 - 1], index[:1]),
        Term(
            "constraint",
            q,
            [sum((q[i] - q[i + 3]) ** 2 for i in range(3)) - 1],
            np.hstack([index[:-1], index[1:]]),
        ),
    ]
    angle = 0.3 * np.sin(np.arange(n))
    rods = np.stack([np.cos(angle) * 0.8, np.full(n, 0.6), np.sin(angle) * 0.8], 1)
    v0 = np.zeros((n, 3))
    v0[:, 0] = 0.1 if moving else 0.0
    start = {"q0": np.cumsum(rods, 0).ravel(), "v0": v0.ravel()}
    return taut.System.from_terms(sp.symbols(f"q0:{3 * n}"), terms), start


def bodies(n, springs=False):
    """Rigid bodies in director coordinates (r, d₁, d₂, d₃), joined by ball joints."""
    names = [f"{a}{i}" for a in "rdef" for i in range(3)]
    x, v, y, w = (sp.symbols([k + s for s in names], real=True) for k in ("", "v", "o", "w"))
    index = np.arange(12 * n).reshape(n, 12)
    mass = [1] * 3 + [sp.Rational(1, 10)] * 3 + [sp.Rational(1, 20)] * 3 + [sp.Rational(1, 30)] * 3
    energy = sum(m * s**2 / 2 for m, s in zip(mass, v, strict=True)) - 10 * x[2]
    (r, d, e, f), (s, g, *_) = ([sp.Matrix(z[3 * k : 3 * k + 3]) for k in range(4)] for z in (x, y))
    frame = [d.dot(d) - 1, e.dot(e) - 1, f.dot(f) - 1, d.dot(e), d.dot(f), e.dot(f)]
    pairs = np.hstack([index[:-1], index[1:]])
    terms = [
        Term("lagrangian", x, [energy], index, rates=v),
        Term("constraint", x, frame, index),
        Term("constraint", x, list(r - d / 2), index[:1]),
        Term("constraint", (*x, *y), list(r + d / 2 - s + g / 2), pairs),
    ]
    if springs:
        stretch = (e - sp.Matrix(y[6:9])).dot(e - sp.Matrix(y[6:9]))
        terms.append(Term("lagrangian", (*x, *y), [-3 * stretch], pairs))
        drag = [-(a - b) / 5 for a, b in zip(v[6:9], w[6:9], strict=True)]
        forces = [0] * 6 + drag + [0] * 9 + [-a for a in drag] + [0] * 3
        terms.append(Term("force", (*x, *y), forces, pairs, (*v, *w)))
    angle = 0.3 * np.sin(np.arange(n))
    rods = np.stack([np.cos(angle), 0 * angle, np.sin(angle)], 1)
    ends = np.vstack([np.zeros(3), np.cumsum(rods, 0)])
    q0 = np.zeros((n, 12))
    q0[:, :3], q0[:, 3:6], q0[:, 7] = (ends[1:] + ends[:-1]) / 2, rods, 1.0
    q0[:, 9:] = np.cross(rods, [0.0, 1.0, 0.0])
    return taut.System.from_terms(sp.symbols(f"q0:{12 * n}"), terms), {"q0": q0.ravel(), "v0": 0}


def cloth(n, m):
    """An n × m net of points and rods, slack in neither direction, held at two corners."""
    q = sp.symbols("x y z a b c", real=True)
    r = sp.symbols("u v w", real=True)
    index = np.arange(3 * n * m).reshape(n, m, 3)
    rods = [
        np.concatenate([index[1:], index[:-1]], 2),
        np.concatenate([index[:, 1:], index[:, :-1]], 2),
    ]
    terms = [
        Term("lagrangian", q[:3], [sum(s**2 for s in r) / 2 - 10 * q[2]], index.reshape(-1, 3),
             rates=r),
        Term("constraint", q, [sum((q[i] - q[i + 3]) ** 2 for i in range(3)) - 1],
             np.concatenate([x.reshape(-1, 6) for x in rods])),
    ]  # fmt: skip
    q0 = np.zeros((n, m, 3))
    q0[..., 0], q0[..., 1] = np.arange(n)[:, None], np.arange(m)
    v0 = np.zeros((n, m, 3))
    v0[..., 2] = np.sin(np.arange(n))[:, None] + np.cos(np.arange(m))
    return taut.System.from_terms(sp.symbols(f"q0:{3 * n * m}"), terms), {
        "q0": q0.ravel(),
        "v0": v0.ravel(),
    }


@pytest.fixture
def small_types(monkeypatch, afresh):
    """Groups and rounds in systems that are small enough for both back ends."""
    afresh("small")
    monkeypatch.setattr(compile_room, "STAGED_LIMIT", 10**9)
    monkeypatch.setattr(groups_room, "FEWEST", 2)
    monkeypatch.setattr(outer_room, "FEWEST", 2)


def run(system, start, method, steps):
    given = {"duration": steps * STEP, "step": STEP, "method": method, "laws": None}
    return taut.simulate(system, **given, **start)


def twins(backend, system, start, method, steps=30):
    found = []
    for name in ("fused", "assembled"):
        backend(name)
        found.append(run(system, start, method, steps))
    one, two = found
    for name in ("q", "v", "p"):
        a, b = getattr(one, name), getattr(two, name)
        assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max(), name
    return two


CASES = {
    "points": lambda: points(9),
    "moving": lambda: points(7, moving=True),
    "bodies": lambda: bodies(4),
    "springs": lambda: bodies(3, springs=True),
    "cloth": lambda: cloth(3, 3),
}


@pytest.mark.parametrize("case", CASES)
def test_twins(case, backend, small_types):
    twins(backend, *CASES[case](), "rattle")


@pytest.mark.parametrize("method", ["time-element", "gauss-lobatto-4", "composition-4", "midpoint"])
@pytest.mark.parametrize("case", ["points", "moving"])
def test_methods(case, method, backend, small_types):
    chosen = taut.SymplecticRK("midpoint") if method == "midpoint" else method
    twins(backend, *CASES[case](), chosen)


def test_continued_is_one_long_run(backend, small_types):
    backend("assembled")
    system, start = bodies(4)
    long, short = run(system, start, "rattle", 30), run(system, start, "rattle", 11)
    joined = short.continue_(19 * STEP)
    for name in ("q", "v", "p"):
        assert np.array_equal(getattr(long, name), getattr(joined, name))


def ring(n):
    """Points of mass 1 joined by rods of length 1 to a closed ring, which turns and is shaken."""
    q, r = sp.symbols("x y z a b c", real=True), sp.symbols("u v w", real=True)
    index = np.arange(3 * n).reshape(n, 3)
    energy = sum(s**2 for s in r) / 2
    rods = [sum((q[i] - q[i + 3]) ** 2 for i in range(3)) - 1]
    pairs = np.hstack([index, np.roll(index, -1, axis=0)])
    terms = [
        Term("lagrangian", q[:3], [energy], index, rates=r),
        Term("constraint", q, rods, pairs),
    ]
    turn = 2 * np.pi * np.arange(n) / n
    radius = 0.5 / np.sin(np.pi / n)
    q0 = radius * np.stack([np.cos(turn), np.sin(turn), 0 * turn], 1)
    v0 = np.stack([-np.sin(turn), np.cos(turn), np.sin(2 * turn)], 1)
    return taut.System.from_terms(sp.symbols(f"q0:{3 * n}"), terms), {
        "q0": q0.ravel(),
        "v0": v0.ravel(),
    }


LONG = {"points": lambda: points(43), "bodies": lambda: bodies(31), "ring": lambda: ring(36),
        "cloth": lambda: cloth(7, 5)}  # fmt: skip


@pytest.mark.parametrize("case", LONG)
def test_strands_and_rounds_are_the_sparse_factorisation(case, monkeypatch, afresh):
    system, start = LONG[case]()
    batches = program(system).machine.before_sum[0].batches
    assert [x.strand for x in batches][:1] == ([] if case == "cloth" else [True])
    one = run(system, start, "rattle", 20)
    afresh()
    monkeypatch.setattr(outer_room.Outer, "_strand", lambda self: False)
    monkeypatch.setattr(outer_room, "FEWEST", 10**9)
    assert not program(system).machine.before_sum[0].batches
    two = run(system, start, "rattle", 20)
    for name in ("q", "v", "p"):
        a, b = getattr(one, name), getattr(two, name)
        assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max(), name


def program(system):
    keep = tuple(range(system.c))
    return workshop(system).step(method_of("rattle"), keep=keep, backend="assembled").program


@pytest.mark.parametrize("make", [points, bodies])
def test_a_chain_has_one_type_and_little_is_left(make):
    left = []
    for n in (40, 160):
        made = program(make(n)[0]).machine
        stage = made.before_sum[0]
        assert stage.size >= 4 * n
        left.append(len(stage.pattern.order))
    assert left[1] <= left[0] + 30


def test_tables_of_a_chain_do_not_grow_with_it():
    """Blocks of neighbours lie in a few runs, and what does not fit into them is little."""
    found = []
    for n in (162, 322):
        passes = [x for s in program(bodies(n)[0]).machine.stages for x in (*s.passes, *s.back)]
        copies = sum(len(x.before) + len(x.added) + len(x.stored) for x in passes)
        found.append((max(x.runs for x in passes), sum(len(x.table) for x in passes), copies))
    assert found[0] == found[1]


def test_unknowns_that_feel_each_other_are_left_to_the_sparse_matrix(backend, small_types):
    """Springs between bodies, at the unknown end of an implicit step."""
    twins(backend, *bodies(3, springs=True), taut.SymplecticRK("midpoint"), steps=10)


def test_a_long_chain_from_a_start_that_is_off():
    system, start = points(120)
    rng = np.random.default_rng(0)
    q0 = start["q0"] + 1e-4 * rng.standard_normal(system.n)
    v0 = 0.1 * rng.standard_normal(system.n)
    given = {"duration": 0.1, "step": STEP, "laws": None, "method": "rattle"}
    found = taut.simulate(system, q0=q0, v0=v0, project=True, **given)
    assert np.abs(found.constraints).max() <= 1e-12
    assert np.abs(found.hidden).max() <= 1e-12
    assert np.abs(found.q[0] - q0).max() <= 1e-2
    # What moved it is a combination of gradients: the nearest point.
    mechanics, par = workshop(system).mechanics, np.zeros(0)
    gradients = mechanics.gradients(found.q[0], 0.0, par)
    off = found.q[0] - q0
    rest = off - gradients.T @ np.linalg.lstsq(gradients.T, off, rcond=None)[0]
    assert np.abs(rest).max() <= 1e-6 * np.abs(off).max()


def test_multipliers_of_a_long_chain():
    system, start = points(60)
    found = run(system, start, "rattle", 3)
    mechanics, par = workshop(system).mechanics, np.zeros(0)
    for i in range(len(found)):
        q, v, p, t = found.q[i], found.v[i], found.p[i], found.t[i]
        a, lam = mechanics.accelerations(q, v, p, t, par)
        g = mechanics.gradients(q, t, par)
        bend = mechanics.apply("hidden_rate", t, par, q=q, v=v, a=np.zeros_like(q))
        force = mechanics.apply("force", t, par, q=q, v=v, p=p)
        assert np.abs(g @ a + bend).max() <= 1e-10
        assert np.abs(a - force + g.T @ lam).max() <= 1e-10 * np.abs(lam).max()


def test_a_constraint_given_twice_in_a_large_system():
    system, start = points(30)
    rod = system.terms[-1]
    twice = taut.System.from_terms(system.coordinates, [*system.terms, rod])
    one, two = (run(x, start, "rattle", 5) for x in (system, twice))
    assert len(two.keep) == system.c
    assert np.abs(one.q - two.q).max() <= 1e-11
    # Of least norm: both of a pair pull alike, with half the force.
    lam = two.multipliers[-1]
    assert np.abs(lam[1:30] - lam[30:]).max() <= 1e-6 * np.abs(lam).max()
