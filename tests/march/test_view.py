"""What views of a run do not have."""

import copy
import pickle

import pytest

import taut
from taut.march.parts import JointView


@pytest.fixture(scope="module")
def run():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.rod(m.ground, m.point("bob", mass=1, at=(1, 0, 0)), length=1, name="rod")
    m.body("box", mass=1, inertia=(1, 1, 1), at=(0, 0, 0))
    m.revolute(m.ground, "box", at=(0, 0, 0), axis=(1, 0, 0), name="hinge")
    m.spring("bob", "box", stiffness=1, length=1, name="spring")
    m.frame("tip", "box", at=(0, 0, 1))
    return taut.simulate(m, duration=0.1, step=0.01, laws=None)


@pytest.mark.parametrize(
    ("name", "asked", "meant"),
    [
        ("bob", "positon", "position"), ("box", "omega", "angular_velocity"),
        ("hinge", "angel", "angle"), ("hinge", "speed", "rate"), ("rod", "reaction", "force"),
        ("spring", "lenght", "length"), ("tip", "vel", "velocity"),
    ],
)  # fmt: skip
def test_what_was_meant(run, name, asked, meant):
    with pytest.raises(taut.TautError) as caught:
        getattr(run[name], asked)
    assert caught.value.what == f"there is no attribute of {name} called {asked!r}"
    assert caught.value.remedy == f"did you mean {meant!r}?"
    assert isinstance(caught.value, AttributeError)


def test_what_others_ask_for(run):
    view = run["bob"]
    assert not hasattr(view, "omega_dot")
    assert not hasattr(view, "_repr_png_")
    assert (copy.deepcopy(view).position == view.position).all()
    assert (pickle.loads(pickle.dumps(view)).position == view.position).all()


def test_what_fails_inside_is_not_hidden(run, monkeypatch):
    def broken(self, part):
        return part.nothing

    monkeypatch.setattr(JointView, "_wrench", broken)
    with pytest.raises(AttributeError, match="nothing"):
        run["rod"].force  # noqa: B018


def test_a_controller_is_told_the_same():
    m = taut.Mechanism()
    m.body("block", mass=1, inertia=(1, 1, 1), at=(0, 0, 0))
    m.prismatic(m.ground, "block", at=(0, 0, 0), axis=(1, 0, 0), name="rail")
    m.motor("rail", lambda t, state: -state["rail"].speed)
    with pytest.raises(taut.ControlError, match="did you mean 'rate'"):
        taut.simulate(m, duration=1, step=0.1)
