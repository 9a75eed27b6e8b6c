"""What a mechanism says: of calls that do not fit, of names from elsewhere, and of itself."""

import copy
import inspect
import re

import numpy as np
import pytest
import sympy as sp

import taut
from taut.calls import CALLED
from taut.errors import ELSEWHERE
from taut.files.schema import VERBS
from taut.model.mechanism.named import MEANT

BAR = {"mass": 1.0, "inertia": (0.1, 0.1, 0.02)}


def made():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", **BAR, at=(0, 0, -0.5))
    m.body("cart", **BAR, at=(1, 0, 0))
    m.revolute("hinge", "ground", "arm", at=(0, 0, 0), axis=(0, 1, 0))
    m.prismatic("rail", "ground", "cart", at=(1, 0, 0), axis=(1, 0, 0))
    return m


def verbs():
    found = inspect.getmembers(taut.Mechanism, inspect.isfunction)
    return [name for name, x in found if hasattr(x, "is_verb")]


class TestCalls:
    @pytest.mark.parametrize("verb", verbs())
    def test_no_call_ends_in_a_raw_error(self, verb):
        m = made()
        calls = [
            ((), {}),
            ((), {"nonsense": 1}),
            ((1,) * 6, {}),
            (("hinge",) * 6, {"name": "x"}),
            (("arm", "cart"), {"nonsense": 1}),
            (("x", "hinge"), {"joint": "hinge", "part": "arm"}),
            (([], {}), {"name": None}),
        ]
        for given, options in calls:
            with pytest.raises(taut.TautError):
                getattr(m, verb)(*given, **options)

    @pytest.mark.parametrize(
        ("call", "said"),
        [
            (lambda m: m.revolute("h", "arm", "cart"), "m.revolute needs at and axis"),
            (lambda m: m.spring("arm", "cart", stifness=1), "did you mean stiffness=…"),
            (lambda m: m.point("p", 1, (0, 0, 0)), r"name the others: mass=1, at=\(0, 0, 0\)"),
            (lambda m: m.point("p", mass=1, at=(0, 0, 0), velocty=1), "did you mean velocity=…"),
            (lambda m: m.body("p", name="q", **BAR, at=(0, 0, 0)), "given name twice"),
            (lambda m: m.push("damper", "slot", damping=1), "no joint called 'slot'"),
            (lambda m: m.push("damper", "rail"), "damper does nothing"),
            (lambda m: m.gear("hinge", "rail"), r"m.gear\(first, second, ratio=…, \[name=…\]\)"),
            (lambda m: m.rod("x", "arm"), "received: 'x', 'arm'; no part is called 'x'"),
            (lambda m: m.rod("x", "arm"), "is the ground, it is said, too: m.ground"),
            (lambda m: m.rod("crat", "arm"), "did you mean 'cart'"),
            (lambda m: m.rod("arm", "crat"), "did you mean 'cart'"),
            (lambda m: m.rod("arm"), "a rod acts between two parts"),
            (lambda m: m.rod("arm", name="x"), "a rod acts between two parts"),
            (lambda m: m.rod("x", "cart", "arm", name="y"), "m.rod is given two names"),
            (lambda m: m.push("y", "rail", damping=1, name="x"), "m.push is given two names"),
            (lambda m: m.rod(m["cart"], m["arm"], "x"), "a name comes first"),
            (lambda m: m.on_curve("ground", (sp.Symbol("x"), sp.Symbol("y"))), "does not move"),
        ],
    )
    def test_what_is_said(self, call, said):
        with pytest.raises(taut.TautError, match=said):
            call(made())

    def test_the_name_may_come_first_or_as_a_keyword(self):
        one, other = made(), made()
        one.spring("s", "arm", "cart", stiffness=1)
        other.spring("arm", "cart", stiffness=1, name="s")
        one.torsion("hinge", stiffness=1, name="t")
        other.torsion("t", "hinge", stiffness=1)
        one.motor("hinge", 3.0, name="m")
        other.motor("m", "hinge", 3.0)
        one.motor("hinge", law=lambda x, rate: -x, name="l")
        other.motor("l", other["hinge"], law=lambda x, rate: -x)
        one.force("arm", (1, 0, 0), name="f")
        other.force("f", "arm", (1, 0, 0))
        assert list(one.forces) == list(other.forces)
        for name, told in one.record.items():
            again = other.record[name]
            assert (told.verb, set(told.arguments)) == (again.verb, set(again.arguments))
        assert other.spring("arm", "ground", stiffness=1, name="").name == "force 8"

    def test_a_wrong_call_leaves_nothing_behind(self):
        m = made()
        before = list(m.record)
        with pytest.raises(taut.InputError):
            m.revolute("second", "arm", "cart", at=(0, 0, 0), axes=(0, 1, 0))
        assert list(m.record) == before
        m.point("later", mass=1, at=(0, 0, 1))
        assert list(m.record) == [*before, "later"]


class TestArgumentsElsewhere:
    @pytest.mark.parametrize(
        ("verb", "options", "said"),
        [
            (
                "body",
                {"mass": 1, "inertia": (1, 1, 1), "position": (0, 0, 0)},
                "position is called at",
            ),
            (
                "body",
                {**BAR, "at": (0, 0, 0), "omega": (0, 0, 1)},
                "omega is called angular_velocity",
            ),
            ("point", {"mass": 1, "pos": (0, 0, 0)}, "pos is called at"),
            ("spring", {"k": 3}, "k is called stiffness"),
            ("revolute", {"at": (0, 0, 0), "direction": (0, 0, 1)}, "direction is called axis"),
            ("planar", {"at": (0, 0, 0), "direction": (0, 0, 1)}, "direction is called normal"),
        ],
    )
    def test_they_are_told_by_their_own_names(self, verb, options, said):
        m = made()
        sides = ("arm", "cart") if verb in ("spring", "revolute", "planar") else ("new",)
        with pytest.raises(taut.InputError, match=f"{said} here") as caught:
            getattr(m, verb)(*sides, **options)
        assert "has no argument" in caught.value.what

    def test_none_of_them_is_an_argument_that_would_do(self):
        """Where a verb takes one, it is its own."""
        for verb in verbs():
            names = set(inspect.signature(getattr(taut.Mechanism, verb)).parameters)
            for word, meant in CALLED.items():
                assert not (word in names and set(meant) & names), (verb, word)

    def test_looks_are_looks(self):
        with pytest.raises(taut.UnknownName, match="did you mean 'colour'"):
            made().body("b", **BAR, at=(0, 0, 0), color="red")


@pytest.mark.parametrize("nothing", [(0, 0, 0), np.zeros((3, 3))])
def test_a_body_without_inertia_is_a_point(nothing):
    with pytest.raises(taut.ModelError, match=r"the inertia of body b is zero\n") as caught:
        made().body("b", mass=1, inertia=nothing, at=(0, 0, 0))
    assert "m.point(…)" in caught.value.remedy
    assert "thin rod has (J, J, 0)" in caught.value.remedy


class TestNamesElsewhere:
    def test_attributes(self):
        m = made()
        with pytest.raises(taut.UnknownVerb, match="did you mean 'revolute'") as caught:
            m.hinge("h", "arm", "cart", at=(0, 0, 0), axis=(0, 1, 0))
        assert isinstance(caught.value, AttributeError)
        assert isinstance(caught.value, taut.TautError)
        assert not hasattr(m, "weld")
        with pytest.raises(taut.UnknownVerb, match="did you mean 'spherical'"):
            m.sphericl  # noqa: B018
        assert list(copy.deepcopy(m).joints) == ["hinge", "rail"]

    @pytest.mark.parametrize(
        ("word", "remedy"),
        [
            ("part", 'm["name"] is one, m.parts are all'), ("joint", "m.joints are all"),
            ("bodies", "m.parts"), ("constraint", "m.on_surface"), ("load", "m.force"),
            ("simulate", "taut.simulate(m, duration"), ("position", 'run["name"].position'),
            ("partz", "did you mean 'parts'?"), ("joins", "did you mean 'joints'?"),
        ],
    )  # fmt: skip
    def test_what_is_close_to_a_word_of_another_meaning(self, word, remedy):
        with pytest.raises(taut.UnknownVerb) as caught:
            getattr(made(), word)
        assert remedy in caught.value.remedy
        assert caught.value.expected.endswith("in all)")

    def test_what_is_meant_is_no_verb_and_leads_to_verbs(self):
        known = {*dir(taut.Mechanism), *vars(taut.Mechanism())}
        assert not known & MEANT.keys()
        for text in MEANT.values():
            assert set(re.findall(r"\bm\.(\w+)", text)) <= known

    def test_an_unknown_coordinate_is_shown_with_those_that_are_like_it(self):
        m = made()
        m.body("third", mass=1, inertia=(1, 1, 1), at=(0, 0, 9))
        with pytest.raises(taut.UnknownName) as caught:
            m.force("arm", (sp.Symbol("angel_hinge"), 0, 0), name="drag")
        assert caught.value.what == "there is no coordinate called 'angel_hinge' in drag"
        assert caught.value.expected.startswith("one of angle_hinge, angle_hinge_dot, ")
        assert caught.value.remedy == "did you mean 'angle_hinge'?"

    def test_they_lead_to_what_there_is(self):
        """And none of them is a word of ours for the same kind of thing."""
        known = {*verbs(), "ball"}
        assert set(ELSEWHERE.values()) <= known
        kinds = {kind for section in VERBS.values() for kind in section}
        assert not kinds & set(ELSEWHERE)

    @pytest.mark.parametrize("name", ["pin", "Hinge", "ball", "u-joint", "weld", "slider"])
    def test_kinds(self, name):
        with pytest.raises(taut.UnknownName, match=f"did you mean '{ELSEWHERE_OF[name]}'"):
            raise taut.UnknownName("kind", name, VERBS["joints"])


ELSEWHERE_OF = {
    "pin": "revolute", "Hinge": "revolute", "ball": "spherical", "u-joint": "universal",
    "weld": "fixed", "slider": "prismatic",
}  # fmt: skip


class TestThinRods:
    """A rod along one of its own axes, turned in space: what is said is in space."""

    @pytest.mark.parametrize("along", range(3))
    def test_axes_are_those_of_space(self, along):
        m = taut.Mechanism()
        inertia, turn = np.ones(3), taut.rotation((0.4, 0.3, 0.2), "zxz")
        inertia[along] = 0
        m.body("rod", mass=1, inertia=inertia, at=(0.5, 0.25, 0), rotation=turn)
        given = "(0, 0.6, 0.8)"
        with pytest.raises(taut.ModelError) as caught:
            m.revolute("h", "ground", "rod", at=(0.5, 0.25, 0), axis=(0, 0.6, 0.8))
        assert "a direction of joint h is beside the axis of the thin rod rod" in str(caught.value)
        assert caught.value.received == f"{given} in space"
        axis = ", ".join(f"{x:.6g}" for x in turn[:, along])
        assert f"({axis})" in str(caught.value.expected)
        with pytest.raises(taut.ModelError) as caught:
            m.spherical("s", "ground", "rod", at=(0, 0.5, 0.25))
        assert "the place of joint s is beside the axis" in str(caught.value)
        assert caught.value.received == "(0, 0.5, 0.25) in space"


class TestCounts:
    def test_what_was_made(self):
        m = made()
        m.point("p", mass=1, at=(0, 0, 1))
        m.rod("string", "ground", "p")
        m.angle("hinge")
        beam = taut.Beam(1, taut.Circle(0.1), density=1, young=1e5, poisson=0.3, nodes=4)
        beam.load(at="all", force=(0, 0, 1))
        m.beam("rod", beam)
        m.spring("arm", "cart", stiffness=1)
        assert repr(m) == "Mechanism: 1 point, 2 bodies, 1 beam, 3 joints, 1 force"
        assert repr(taut.Mechanism()) == "Mechanism: no parts, 0 joints, 0 forces"
        title = "Mechanism: 2 bodies, 2 joints, 0 forces: 2 degrees of freedom"
        assert made().assemble().title() == title


class TestStarts:
    def test_only_what_is_off_is_said(self):
        m = made()
        m["arm"].velocity[0] = 0.3
        with pytest.raises(taut.InconsistentStart) as caught:
            taut.simulate(m, duration=1, step=0.01)
        assert caught.value.received == "revolute joint hinge: G v + ∂g/∂t = -0.3"
        m["arm"].velocity[0], m["cart"].position[2] = 0.0, 0.1
        with pytest.raises(taut.InconsistentStart) as caught:
            taut.simulate(m, duration=1, step=0.01)
        assert caught.value.received == "prismatic joint rail: g = 0.1"

    def test_the_nearest_state_is_said_without_noise(self):
        m = taut.Mechanism()
        m.body("arm", **BAR, at=(0.1, 0, -0.5), velocity=(0.3, 0, 0))
        m.revolute("hinge", "ground", "arm", at=(0, 0, 0), axis=(0, 1, 0))
        m["arm"].position[1] = 0.01
        with pytest.raises(taut.InconsistentStart) as caught:
            taut.simulate(m, duration=1, step=0.01)
        near = np.concatenate([caught.value.q, caught.value.v])
        assert np.any((near != 0) & (np.abs(near) < 1e-15))  # there is some
        assert "e-" not in str(caught.value.remedy)

    def test_drives_without_a_name_are_known_by_their_parts(self):
        m = made()
        m.drive("hinge", angle=taut.t)
        m.drive("hinge", angle=2 * taut.t + 1)
        with pytest.raises(taut.ConstraintError) as caught:
            m.assemble()
        first, second = (f"driven angle joint {k} of ground and arm" for k in (3, 4))
        assert caught.value.what.endswith(f": {first}, {second}")
        assert "rigid" not in str(caught.value)


def test_laws_modes_and_equilibria_take_a_mechanism():
    m = taut.Mechanism(gravity=(0, 0, -10))
    m.point("bob", mass=1, at=(0.6, 0, -0.8))
    m.rod("string", "ground", "bob")
    system = m.system()
    assert str(taut.conserved(m)) == str(taut.conserved(system))
    assert str(taut.noether(m)) == str(taut.noether(system))
    assert str(taut.lie_symmetries(m)) == str(taut.lie_symmetries(system))
    x, y = sp.symbols("x_bob y_bob", real=True)
    u, v = sp.symbols("x_bob_dot y_bob_dot", real=True)
    assert taut.conserved(m, proposed=x * v - y * u).kind == "angular momentum"
    for call in (taut.hojman, taut.special_values):
        with pytest.raises(taut.InputError) as direct:
            call(m)
        with pytest.raises(taut.InputError) as by_system:
            call(system)
        assert str(direct.value) == str(by_system.value)
    rest = taut.equilibrium(m)
    np.testing.assert_allclose(rest.q, (0, 0, -1), atol=1e-9)
    with pytest.raises(taut.InputError, match="no path of loads"):
        taut.equilibrium(m, steps=3)
    np.testing.assert_allclose(taut.modes(m, count=2).frequencies, np.sqrt(10))
    for call in (taut.conserved, taut.noether, taut.modes, taut.equilibrium):
        with pytest.raises(taut.InputError, match="Mechanism"):
            call("nothing")
