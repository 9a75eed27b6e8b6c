"""Whether a model fits together, told without running it."""

import pytest

import taut
from taut.errors import InconsistentStart
from taut.files.check import checked

x, y = taut.coordinates("x y")
CIRCLE = taut.System(
    [x, y], mass=1, constraints={"a": x**2 + y**2 - 1, "b": 3 * x**2 + 3 * y**2 - 3}
)


def test_freedom_and_redundant_constraints():
    found = checked(taut.Model(CIRCLE, q0=[1, 0], v0=[0, 2], duration=1, step=0.1))
    assert found.freedom == 1
    assert len(found.redundant) == 1
    text = str(found)
    assert "1 degree" in text
    assert "consistent: max |g| 0.0e+00" in text
    assert "for 1 in steps of 0.1, method auto" in text


def test_a_start_off_the_constraints_is_refused_or_projected():
    with pytest.raises(InconsistentStart):
        checked(taut.Model(CIRCLE, q0=[1.1, 0], v0=0))
    assert "projected" in str(checked(taut.Model(CIRCLE, q0=[1.1, 0], v0=0, project=True)))
    assert "none" in str(checked(taut.Model(CIRCLE)))


def test_redundant_joints_by_name():
    m = taut.Mechanism()
    a = m.point("a", mass=1, at=(1, 0, 0))
    m.rod("one", m.ground, a)
    m.rod("two", m.ground, a)
    found = checked(taut.Model(m, duration=1, tolerance=1e-6, method=taut.GaussLobatto(2)))
    assert (found.freedom, found.redundant) == (2, {"two": 1})
    assert "to a tolerance of 1e-06, method gauss-lobatto" in str(found)


def test_flows_have_neither():
    flow = taut.Flow([x, y], [y, -x])
    assert "redundant" not in str(checked(taut.Model(flow, q0=[1, 0])))
    assert "given" in str(checked(taut.Model(flow, q0=[1, 0])))


def test_beams():
    """By their nodes and ends; a start that a held end forbids is refused."""
    beam = taut.Beam(
        1, taut.Circle(0.1), density=1, young=1, poisson=0, nodes=4, ends=("clamped", "hinged")
    )
    found = checked(taut.Model(beam, duration=1, step=0.1, method="implicit"))
    assert found.freedom == 4 * 6 - 6 - 5
    assert "consistent" in str(found)
    assert "redundant" not in str(found)
    with pytest.raises(taut.InputError, match="moves at the start"):
        checked(taut.Model(beam, v0=[0, 0, 0, 1, 0, 0]))
    assert checked(taut.Model(beam, v0=[0, 0, 0, 1, 0, 0], project=True)).freedom == 13


HANGING = """
[points.a]
mass = "m"
at = ["L", 0, 0]
[joints.rod]
kind = "rod"
between = ["ground", "a"]
"""
IN_PLANE = """
[system]
coordinates = ["x", "y"]
mass = ["m", "m"]
constraints = ["x**2 + y**2 - L**2"]
[start]
q = ["L", 0]
v = 0
"""


@pytest.mark.parametrize("body", [HANGING, IN_PLANE])
def test_parameters_that_nothing_depends_on(body, tmp_path):
    file = tmp_path / "model.toml"
    file.write_text(f'[parameters]\nm = 2\nhalf = 0.5\nL = "2*half"\nstifness = 3\n{body}\n')
    model = taut.load(file)
    assert model.unused == ("stifness",)
    assert "not used   parameters stifness" in str(checked(model))
    file.write_text(file.read_text().replace("stifness = 3\n", ""))
    assert "not used" not in str(checked(taut.load(file)))
    assert "not used" not in str(checked(taut.load(file, L=1.0)))
