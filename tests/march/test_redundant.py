"""One wording of what is redundant: in assemblies, checks, certificates and reports."""

import re

import numpy as np

import taut
from taut.files.check import checked
from taut.march.redundant import owners, told

BAR = {"mass": 1.0, "inertia": (0.084, 0.084, 0.002)}


def loop():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("crank", **BAR, at=(0, 0, 0.5))
    m.body("rocker", **BAR, at=(1, 0, 0.5))
    m.body("coupler", mass=1.0, inertia=(0.002, 0.084, 0.084), at=(0.5, 0, 1))
    axis = (0, 1, 0)
    m.revolute("a", "ground", "crank", at=(0, 0, 0), axis=axis)
    m.revolute("b", "ground", "rocker", at=(1, 0, 0), axis=axis)
    m.revolute("c", "crank", "coupler", at=(0, 0, 1), axis=axis)
    m.revolute("d", "coupler", "rocker", at=(1, 0, 1), axis=axis)
    return m


def test_the_same_words_everywhere(tmp_path):
    m = loop()
    words = "d (3 of 5)"
    assert f"redundant    {words}\n" in str(m.assemble())
    assert re.search(rf"redundant +{re.escape(words)}\n", str(checked(taut.Model(m))))
    run = taut.simulate(m, duration=0.02, step=0.01, laws=None)
    assert re.search(
        rf"redundant +{re.escape(words)} +least-norm multipliers", str(run.certificate)
    )
    assert run.certificate.redundant == ("d 2", "d 4", "d 5")  # across the plane
    page = run.report(tmp_path / "loop.html").read_text(encoding="utf-8")
    assert f"redundant: {words}" in page
    assert "redundant (3 of 5)" in page


def test_constraints_without_joints_are_known_by_their_names():
    x, y = taut.coordinates("x y")
    system = taut.System([x, y], mass=1, constraints={"line": x - 1, "again": 2 * x - 2})
    extra = owners(system, (0,))
    assert extra == {"again": 1}
    assert told(system, extra) == "again"
    run = taut.simulate(system, q0=[1, 0], v0=[0, 1], duration=0.1, step=0.01)
    assert re.search(r"redundant +again +least-norm", str(run.certificate))


def test_of_many_a_few_are_named():
    system = loop().system()
    assert told(system, {}) == "none"
    assert told(system, dict.fromkeys("abcd", 1), 2) == "a (1 of 5), b (1 of 5) and 2 more"
    assert np.sum(list(owners(system, range(system.c - 3)).values())) == 3
