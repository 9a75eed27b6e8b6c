"""Copies of mechanisms, and what a system keeps of the one that it was made of."""

import copy
import pickle
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import sympy as sp

import taut
from taut.model.mechanism.parts import Part

BOX = {"mass": 1.0, "inertia": (0.5, 0.9, 1.0)}


def everything():
    """One of each kind of thing that holds on to another."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", **BOX, at=(0.5, 0, 0))
    m.body("hand", **BOX, at=(1.5, 0, 0))
    m.point("bead", mass=0.1, at=(1, 0, 2))
    s = sp.Symbol("s")
    m.beam(
        "rod", length=0.5, section=taut.Square(0.03), density=1100, young=2e7, poisson=0.45,
        nodes=3, at=(0, 3, 0), frame=(1, 0, 0),
    )  # fmt: skip
    m.fixed("clamp", m.ground, "rod root", at=(0, 3, 0))
    m.revolute("shoulder", m.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    m.revolute("elbow", "arm", "hand", at=(1, 0, 0), axis=(0, 1, 0))
    m.angle("elbow")
    m.on_curve("bead", ((sp.cos(s), sp.sin(s), 2), s), name="wire")
    m.torsion("coil", "shoulder", stiffness=2.0)
    m.motor("motor", "shoulder", 0.3 * taut.t)
    m.spring("spring", "hand", "bead", stiffness=5.0)
    m.force("hand", (0, 0.1, 0), name="wind")
    m.potential(m.symbols("bead")[0][2] ** 2, name="well")
    m.frame("tool", "hand", at=(2, 0, 0))
    m.look("arm", "ball", size=0.2)
    m.look(m.ground, "box", size=1.0)
    m.body("cart", **BOX, at=(0, 6, 0))
    m.prismatic("rail", m.ground, "cart", at=(0, 6, 0), axis=(1, 0, 0))
    m.drive("rail", slide=sp.sin(taut.t), name="crank")
    m.body("ball", **BOX, at=(0, 9, 0))
    m.move("ball", (taut.t, 9, 0), name="carrier")
    m.point("mite", mass=1, at=(0, 12, 0))
    m.on_surface("mite", sp.Symbol("z"), name="floor")
    m.body("wheel", **BOX, at=(0, 15, 1))
    m.rolling("road", m.ground, "wheel", at=(0, 15, 1), axis=(0, 1, 0), along=(1, 0, 0), radius=1)
    return m


def changed(m):
    """All that can be done to it by a verb that changes what is there already."""
    m.angle("shoulder")
    m.look("arm", "box", size=0.5)
    m.look("ground", "ball", size=0.5)
    m.body("foot", **BOX, at=(0, -1, 0))
    m.revolute("ankle", "arm", "foot", at=(0, -0.5, 0), axis=(0, 1, 0))
    m.gear("ankle", "elbow", ratio=2)
    m.force("foot", (1, 0, 0), name="kick")
    m.frame("toe", "foot", at=(0, -2, 0))
    m.notes.append("changed")
    m.gravity[0] = 1.0
    return m


def within(given, seen=None):
    """All parts that something holds on to."""
    seen = {} if seen is None else seen
    if id(given) in seen:
        return seen
    if isinstance(given, Part):
        seen[id(given)] = given
    elif is_dataclass(given):
        for x in fields(given):
            within(getattr(given, x.name), seen)
    elif isinstance(given, dict | list | tuple):
        for x in given.values() if isinstance(given, dict) else given:
            within(x, seen)
    return seen


def told(m):
    """What a mechanism says of itself, to the last number."""
    groups = (m.parts, m.joints, m.forces, m.frames, m.beams, m.ends, m.record, m.numbers)
    shapes = {name: len(x.looks.get("shapes", [])) for name, x in m.parts.items()}
    terms = [(str(x.expressions), x.indices.tolist(), x.names) for x in m.system().terms]
    return (
        [list(x) for x in groups], list(m.notes), m.gravity.tolist(), m.size, shapes,
        len(m.ground.looks["shapes"]), terms, np.array(m.start()).tolist(),
        {x.name: (x.angle, x.rows, x.lent) for x in m.joints.values()},
    )  # fmt: skip


def pickled(given):
    return pickle.loads(pickle.dumps(given))


COPIES = [taut.Mechanism.copy, copy.copy, copy.deepcopy, pickled]


@pytest.mark.parametrize("of", COPIES)
def test_what_is_done_to_one_is_not_done_to_the_other(of):
    m = everything()
    before, twin = told(m), of(m)
    assert told(twin) == before
    changed(twin)
    assert told(m) == before
    other = of(m)
    changed(m)
    assert told(m) == told(twin)
    assert told(other) == before


@pytest.mark.parametrize("of", COPIES)
def test_a_copy_holds_on_to_its_own_parts(of):
    m = everything()
    twin = of(m)
    own = {id(x) for x in (twin.ground, *twin.carriers)}
    for group in ("joints", "forces", "frames", "beams", "ends"):
        held = within(getattr(twin, group))
        assert held
        assert held.keys() <= own
    for name in ("coil", "motor"):
        assert twin.forces[name].measure.joint is twin.joints["shoulder"]


def test_a_system_keeps_what_it_was_made_of():
    m = everything()
    system, before = m.system(), told(m)
    changed(m)
    assert told(system.mechanism.copy()) == before
    assert system.mechanism["shoulder"].counter is None


def test_what_a_system_was_made_of_is_not_changed_itself():
    kept = everything().system().mechanism
    with pytest.raises(taut.ModelError, match=r"m.angle would change what a system was made of"):
        kept.angle("shoulder")
    kept.copy().angle("shoulder")
    problem = taut.problems.problem("bennett")
    with pytest.raises(taut.ModelError, match=r"remedy: +m = system.mechanism.copy\(\)"):
        problem.mechanism.point("more", mass=1, at=(0, 0, 0))


def test_a_run_of_a_mechanism_comes_out_of_a_pickle():
    run = taut.simulate(everything(), duration=0.0002, step=0.0001, laws=None, project=True)
    again = pickled(run)
    for name in ("arm", "shoulder", "coil", "rod", "tool"):
        a, b = run[name], again[name]
        words = [x for x in ("position", "angle", "rotation", "force", "strain") if hasattr(a, x)]
        assert words
        for word in words:
            np.testing.assert_array_equal(getattr(b, word), getattr(a, word))


def test_a_run_comes_out_of_a_pickle_whatever_was_asked_of_it(tmp_path):
    m = taut.Mechanism(gravity=(0, 0, -10))
    m.body("bar", mass=1, inertia=(0.1, 0.1, 0.01), at=(0.3, 0, -0.4))
    m.revolute("hinge", m.ground, "bar", at=(0, 0, 0), axis=(0, 1, 0))
    events = {"below": m.symbols("bar")[0][0]}
    run = taut.simulate(m, duration=1, step=0.01, laws=None, events=events)
    run.report(tmp_path / "page.html")
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.q, run.q)
    assert np.array_equal(again.events["below"].t, run.events["below"].t)
    assert len(run.events["below"].t) > 0
    assert str(again.certificate) == str(run.certificate)
    further, same = (x.at(0.333) for x in (run, again))
    assert np.array_equal(further.q, same.q)


def test_numbers_of_a_copy_are_its_own():
    m = taut.Mechanism(gravity=(0, 0, -10))
    m.point("bead", mass=1, at=(1, 2, 3))
    m.copy()["bead"].position[0] = 77
    assert m["bead"].position[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        m.system().mechanism.gravity[2] = 0
