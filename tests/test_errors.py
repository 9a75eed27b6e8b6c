"""The tree of errors: as it is drawn, as it is, and what its messages say."""

import copy
import inspect
import pickle
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest
import sympy as sp

import taut
from taut import errors
from taut.fields.ends import real_array


@pytest.fixture(scope="module")
def drawn():
    """Child → parent, read off the drawing in the docstring."""
    tree, stack = {}, []
    for line in errors.__doc__.splitlines():
        stem = line.lstrip("│├└─ ")
        name = stem.split()[0] if stem else ""
        if name == "TautError":
            stack = [(0, name)]
        elif stack and line[:1] in "├└│" and line:
            depth = len(line) - len(stem)
            while stack[-1][0] >= depth:
                stack.pop()
            tree[name] = stack[-1][1]
            stack.append((depth, name))
        elif stack:
            break
    return tree


@pytest.fixture(scope="module")
def real():
    """Child → parent among the classes of the module."""
    classes = [
        c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == "taut.errors"
    ]
    raised = [c for c in classes if not issubclass(c, Warning)]
    return {c.__name__: c.__bases__[0].__name__ for c in raised if c is not errors.TautError}


def test_the_tree_is_as_drawn(drawn, real):
    assert len(drawn) >= 8
    assert drawn == real


def test_all_errors_are_at_the_front_door(real):
    for name in ["TautError", *real]:
        assert name in taut.__all__
        assert getattr(taut, name) is getattr(errors, name)


def test_a_message_says_what_was_expected_received_and_what_to_do():
    error = taut.InputError(
        "it broke", expected="a cup", received="a jug", remedy="pour", partial=7
    )
    assert str(error).splitlines() == [
        "it broke",
        "  expected: a cup",
        "  received: a jug",
        "  remedy:   pour",
    ]
    assert (error.what, error.expected, error.received) == ("it broke", "a cup", "a jug")
    assert (error.remedy, error.partial) == ("pour", 7)


def test_a_message_leaves_out_what_is_not_known():
    assert str(taut.ModelError("it broke", received=0)) == "it broke\n  received: 0"
    assert taut.ModelError("it broke").partial is None


def test_an_unknown_name_is_shown_with_the_known_ones():
    error = taut.UnknownName("method", "ratle", ["rattle", "euler"])
    assert isinstance(error, taut.InputError)
    assert error.expected == "one of euler, rattle"
    assert error.received == "'ratle'"
    assert error.remedy == "did you mean 'rattle'?"


def test_of_many_names_the_nearest_are_shown_and_how_many_there_are():
    known = [f"d{k}{axis}_body" for k in range(20) for axis in "xyz"] + ["x_arm", "y_arm", "rod"]
    error = taut.UnknownName("coordinate", "x_amr", known, where="in drag")
    assert error.what == "there is no coordinate called 'x_amr' in drag"
    shown = error.expected.removeprefix("one of ").split(", ")
    assert shown[0] == "x_arm"
    assert "y_arm" in shown[:3]
    assert shown[-1] == "… (63 in all)"
    assert len(shown) == 9
    assert taut.UnknownName("verb", "link", known).expected.startswith("one of rod, ")
    few = taut.UnknownName("coordinate", "x_amr", known[-30:])
    assert few.expected == "one of " + ", ".join(sorted(known[-30:]))


def test_no_suggestion_where_nothing_is_close():
    assert taut.UnknownName("method", "zzz", ["rattle"]).remedy is None


def test_errors_carry_what_they_promise():
    g, hidden, q, v = (np.full(2, x) for x in (1.0, 2.0, 3.0, 4.0))
    start = taut.InconsistentStart("off", g=g, hidden=hidden, q=q, v=v, remedy="project")
    assert start.g is g
    assert start.hidden is hidden
    assert start.q is q
    assert start.v is v
    assert "remedy:   project" in str(start)
    step = taut.StepError("stuck", t=0.5, index=7, expected="a root", partial="so far")
    assert (step.t, step.index, step.partial) == (0.5, 7, "so far")
    assert "expected: a root" in str(step)


def test_interrupted_is_a_keyboard_interrupt_too():
    with pytest.raises(KeyboardInterrupt):
        raise taut.Interrupted("stopped", partial=1)
    assert issubclass(taut.Interrupted, taut.TautError)


# What errors of some kinds are made of, beside a sentence.
MADE_OF = {
    "kind": "method", "name": "ratle", "known": ["rattle", "euler"], "t": 0.5, "index": 7,
    "load_factor": 0.25, "g": np.ones(2), "hidden": np.ones(1), "q": np.ones(3), "v": np.ones(3),
    "file": "model.toml", "line": 3, "error": 0.1,
}  # fmt: skip


def kinds():
    """All errors of the whole library."""
    for room in walk_packages(taut.__path__, "taut."):
        if not room.name.endswith("__main__"):
            import_module(room.name)
    found = [errors.TautError]
    for kind in found:
        found += [x for x in kind.__subclasses__() if x not in found]
    return [x for x in found if x.__module__.startswith("taut.")]


def made(kind):
    wanted = list(inspect.signature(kind).parameters.values())
    wanted = [x for x in wanted if x.default is x.empty and x.kind is not x.VAR_KEYWORD]
    given = {x.name: "it broke" if x.name == "what" else MADE_OF[x.name] for x in wanted}
    text = {} if "known" in given else {"expected": "a cup", "received": 3, "remedy": "pour"}
    return kind(**given, **text)


def alike(a, b):
    assert type(a) is type(b)
    assert str(a) == str(b)
    assert a.args == b.args
    assert a.__dict__.keys() == b.__dict__.keys()
    for key, x in a.__dict__.items():
        np.testing.assert_array_equal(x, b.__dict__[key])


def pickled(error):
    return pickle.loads(pickle.dumps(error))


@pytest.mark.parametrize("of", [copy.copy, copy.deepcopy, pickled])
def test_every_error_can_be_copied_and_pickled(of):
    found = kinds()
    assert len(found) >= 16
    for kind in found:
        error = made(kind)
        error.partial = np.arange(3.0)
        error.__cause__ = ValueError("deeper")
        again = of(error)
        assert again is not error
        alike(again, error)
        assert str(again.__cause__) == "deeper"


def test_a_verb_that_does_not_exist_comes_out_of_a_pickle():
    with pytest.raises(taut.UnknownVerb) as caught:
        taut.Mechanism().hing  # noqa: B018
    alike(pickled(caught.value), caught.value)


def test_what_cannot_be_pickled_does_not_keep_an_error_from_it():
    class Own(Exception):
        def __init__(self, a, b):
            super().__init__(a)

    error = taut.StepError("stuck", t=0.5, index=7, received=Own, partial=lambda: 0)
    error.__cause__ = Own(1, 2)
    again = pickled(error)
    assert (str(again), again.t, again.index) == (str(error), 0.5, 7)
    assert again.partial is None
    assert again.__cause__ is None
    assert again.received == str(Own)
    assert copy.copy(error).partial is error.partial


def test_a_step_that_fails_hands_its_run_over_in_a_pickle():
    m = taut.Mechanism()
    m.body("arm", mass=1, inertia=(0.1, 0.1, 0.1), at=(0.5, 0, 0))
    m.revolute("hinge", m.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    m.motor("hinge", lambda t, state: 1.0 if t < 0.05 else np.nan, name="motor")
    with pytest.raises(taut.ControlError) as caught:
        taut.simulate(m, duration=0.1, step=0.01, laws=None)
    again = pickled(caught.value)
    assert str(again) == str(caught.value)
    assert again.partial is None  # a lambda is in it


def test_a_warning_of_a_file_can_be_pickled():
    told = taut.Unsimulated("robot.urdf", ["limit of elbow"])
    for again in (pickled(told), copy.copy(told)):
        assert (str(again), again.notes) == (str(told), told.notes)


class TestWhatIsGiven:
    """The checks at the door."""

    @pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), np.array(2), sp.S(2)])
    def test_numbers(self, value):
        assert errors.number("a", value) == 2.0
        assert type(errors.number("a", value)) is float

    @pytest.mark.parametrize(
        "value",
        [True, np.True_, "2", b"2", 2 + 0j, np.complex128(2), np.ones(1), [2], None, sp.I, sp.true,
         np.datetime64("2020-01-01"), np.array("2")],
    )  # fmt: skip
    def test_what_is_none(self, value):
        with pytest.raises(taut.InputError, match="a is not a number"):
            errors.number("a", value)

    @pytest.mark.parametrize("value", [10**400, np.nan, np.inf, sp.oo])
    def test_what_is_not_finite(self, value):
        with pytest.raises(taut.InputError, match="a is not finite"):
            errors.number("a", value)

    def test_whole_numbers(self):
        assert errors.whole("a", np.int64(3), 1, 5) == 3
        for value in (0, 6, 2.0, "3", True, 10**400, None, np.ones(1, dtype=int)):
            with pytest.raises(taut.InputError, match="a is not a number that counts") as caught:
                errors.whole("a", value, 1, 5)
            assert caught.value.expected == "a whole number, 1 … 5"

    def test_flags(self):
        assert errors.flag("a", np.True_) is True
        for value in (0, 1, "True", None, np.ones(2), sp.true):
            with pytest.raises(taut.InputError, match="neither True nor False"):
                errors.flag("a", value)

    def test_words_and_texts(self):
        assert errors.word("end", "free", ("free", "held")) == "free"
        for value in ("fre", 1, None, [], np.array(["free"]), {}):
            with pytest.raises(taut.UnknownName):
                errors.word("end", value, ("free", "held"))
        with pytest.raises(taut.InputError, match="a is no text"):
            errors.text("a", b"text")

    def test_lists(self):
        assert errors.listed("a", (x for x in "ab")) == ["a", "b"]
        for value in ("ab", b"ab", {1, 2}, frozenset("ab"), 3, None, np.array(1.0)):
            with pytest.raises(taut.InputError, match="a cannot be read"):
                errors.listed("a", value)

    def test_what_fails_when_it_is_looked_at(self):
        """Somebody's own classes raise whatever they like."""

        class Failing:
            def fails(self, *_, **__):
                raise RuntimeError("not yet")

            __float__ = __index__ = __iter__ = __array__ = fails

        for ask in (errors.number, errors.listed, lambda *x: errors.whole(*x, 1, 2)):
            with pytest.raises(taut.InputError):
                ask("a", Failing())
        with pytest.raises(TypeError):
            real_array(Failing())

    def test_paths(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        assert errors.place("~/a.html") == tmp_path / "a.html"
        assert errors.place(tmp_path) == tmp_path
        for value in (None, 3, b"a", ["a"], "a\0b", "\ud800", "~no_such_user/a"):
            with pytest.raises(taut.FileError, match="this is no path of a file"):
                errors.place(value)

    def test_what_cannot_be_shown(self):
        class Silent:
            def __repr__(self):
                raise RuntimeError("no word")

        assert errors.brief(Silent()) == "a Silent"
        assert errors.brief(10**5000) == "a int"
        assert errors.brief("a\n  b") == r"'a\n b'"
        assert len(errors.brief("x" * 1000)) == 80

    def test_what_is_long_is_cut_between_words(self):
        x = taut.coordinates("x")[0]
        hill = taut.System([x], mass=[1], potential=x**2)
        assert errors.brief(hill, 40) == "System: 1 coordinate, 0 constraints,…"
        with pytest.raises(errors.InputError) as refused:
            taut.simulate(hill, q0=[1], v0=0, duration=1, step=0.1, typo=1)
        assert "constraints,…, q0=…" in refused.value.received
        assert errors.brief("a short one") == "'a short one'"
        assert errors.brief("of many many words", 12) == "'of many…"


def test_what_is_looked_up_in_brackets():
    """A KeyError, an IndexError, and an error of taut's that names what there is."""
    x, y = taut.coordinates("x y")
    model = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    given = {"v0": 0, "step": 0.1, "duration": 0.2}
    run = taut.simulate(model, q0=[1, 0], **given, events={"low": x})
    batch = taut.simulate(model, q0=[[1, 0], [0, 1]], **given)
    machine = taut.Mechanism()
    machine.point("ball", mass=1, at=(0, 0, 0))
    asked = [(machine.parts, "bal", "ball"), (machine.joints, "hinge", "there are none"),
             (run.events, "hi", "low"), (run, "ball", "Mechanism"), (batch, 5, "0, 1")]  # fmt: skip
    for things, name, told in asked:
        for kind in (KeyError, IndexError, taut.UnknownKey):
            with pytest.raises(kind) as caught:
                things[name]
        assert told in str(caught.value)
        assert "\n" in str(caught.value)
    assert machine.parts.get("bal") is None
    again = pickle.loads(pickle.dumps(copy.deepcopy(run.events)))
    with pytest.raises(taut.UnknownKey, match="there is no event called 'hi'"):
        again["hi"]
