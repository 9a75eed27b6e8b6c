"""Calls that do not fit: what they are told, and that all of the front door tells it."""

import inspect
import pickle
import typing
from functools import partial
from types import FunctionType

import pytest

import taut
from taut import laws, lie, problems
from taut.calls import CALLED, SAID, public

x, y = taut.coordinates("x y")


def doors():
    """(name, function or class) of everything that users call."""
    rooms = ((taut, taut.__all__), (lie, lie.__all__), (laws, laws.__all__))
    for room, names in rooms:
        for name in names:
            thing = getattr(room, name)
            if callable(thing) and not (
                isinstance(thing, type) and issubclass(thing, BaseException)
            ):
                yield f"{room.__name__}.{name}", thing
    yield "taut.problems.problem", problems.problem


def methods():
    """(name, method) of all classes there."""
    for name, kind in doors():
        if isinstance(kind, type):
            for verb, held in inspect.getmembers(kind):
                if isinstance(held, FunctionType) and not verb.startswith("_"):
                    yield f"{name}.{verb}", held


def takes_anything(function):
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


@pytest.mark.parametrize(("name", "thing"), dict(doors()).items())
def test_a_wrong_keyword_is_answered(name, thing):
    if inspect.isabstract(thing) or name == "taut.problems.problem" or not hasattr(
        thing if isinstance(thing, FunctionType) else thing.__init__, "__wrapped__"
    ):  # fmt: skip
        return _no_constructor_of_its_own(thing)
    with pytest.raises(taut.TautError) as caught:
        thing(no_such_argument=1)
    if not takes_anything(thing):
        assert "has no argument 'no_such_argument'" in caught.value.what
        assert caught.value.expected.startswith("taut.")
    return None


def _no_constructor_of_its_own(thing):
    plain = not isinstance(thing, FunctionType) and not isinstance(thing.__init__, FunctionType)
    assert plain or inspect.isabstract(thing) or thing is problems.problem


@pytest.mark.parametrize(("name", "method"), dict(methods()).items())
def test_methods_answer_too(name, method):
    """A call without even an object is one that fits no method."""
    inner = inspect.unwrap(method)
    assert method is not inner, f"{name} is not public"
    if not hasattr(method, "is_verb") and not takes_anything(method):
        with pytest.raises(taut.InputError, match="has no argument 'no_such_argument'"):
            method(taut.System([x], mass=1), no_such_argument=1)


@pytest.fixture
def system():
    return taut.System([x, y], mass=1, potential=y, constraints=[x**2 + y**2 - 1])


class TestSimulate:
    @pytest.mark.parametrize(
        ("options", "remedy"),
        [
            ({"dt": 0.1}, "dt is called step here: step=…"),
            ({"t_span": (0, 1)}, "t0=begin, duration=end - begin"),
            ({"t_end": 1}, "t_end is called duration here"),
            ({"tf": 1}, "tf is called duration here"),
            ({"y0": [1, 0]}, "y0 is called q0 here"),
            ({"u0": [1, 0]}, "u0 is called q0 here"),
            ({"rtol": 1e-6}, "rtol is called tolerance here"),
            ({"atol": 1e-6}, "atol is called tolerance here"),
            ({"tol": 1e-6}, "tol is called tolerance here"),
            ({"args": (1,)}, "args is called parameters here"),
            ({"max_step": 0.1}, "max_step is called step here"),
            ({"dense_output": True}, "run.at(t)"),
            ({"t_eval": [0, 1]}, "run.at(t)"),
            ({"n_steps": 10}, "duration=steps*step"),
            ({"nsteps": 10}, "duration=steps*step"),
            ({"duraton": 1}, "did you mean duration=…?"),
            ({"dt": 0.1, "tf": 1}, "step=…; tf is called duration"),
        ],
    )
    def test_words_of_others(self, system, options, remedy):
        with pytest.raises(taut.InputError) as caught:
            taut.simulate(system, q0=[1, 0], v0=0, **options)
        assert remedy in caught.value.remedy
        assert all(repr(x) in caught.value.what for x in options)

    def test_positions(self, system):
        with pytest.raises(taut.InputError) as caught:
            taut.simulate(system, [1, 0], [0, 0], 10)
        assert caught.value.what == "taut.simulate takes 1 without a name, not 4"
        assert caught.value.remedy == ("name the others: q0=[1, 0], v0=[0, 0], duration=10, step=…")
        assert caught.value.expected.startswith("taut.simulate(model, [q0=…]")
        assert "[1, 0], [0, 0], 10" in caught.value.received

    @pytest.mark.parametrize(
        ("given", "options"),
        [
            (([1, 0], [0, 0], 10, 0.01), {}),
            (([1, 0], 0, 10, 0.01), {}),
            (([1, 0], 10, 0.01), {"p0": 0}),
            (([1, 0], 0, 10), {"step": 0.01}),
            ((10, 0.01), {"q0": [1, 0], "v0": 0}),
            (([1, 0], 0, 10, 0.01, "rattle", 5), {}),
            (([1, 0], [0, 0], 10), {"tolerance": 1e-2}),
        ],
    )
    def test_advice_on_positions_is_a_call_that_works(self, system, given, options):
        with pytest.raises(taut.InputError) as caught:
            taut.simulate(system, *given, **options)
        named = eval(f"dict({caught.value.remedy.partition(': ')[2]})")
        assert (named["duration"], named.get("step", 0.01)) == (10, 0.01)
        run = taut.simulate(system, **named | options, laws=None)
        assert run.t[-1] == pytest.approx(10)

    def test_advice_names_what_a_run_needs(self, system):
        flow = taut.Flow([x, y], [y, -x])
        for model, named in ((system, "q0=[1, 0], v0=…, "), (flow, "q0=[1, 0], ")):
            with pytest.raises(taut.InputError) as caught:
                taut.simulate(model, [1, 0])
            assert caught.value.remedy == f"name the others: {named}duration=…, step=…"

    def test_what_is_missing_or_given_twice(self, system):
        with pytest.raises(taut.InputError, match="needs duration"):
            taut.simulate(system, q0=[1, 0])
        with pytest.raises(taut.InputError, match="is given model twice"):
            taut.simulate(system, model=system, duration=1)


def test_constructors_and_methods(system):
    with pytest.raises(taut.InputError, match=r"taut\.System has no argument 'nonholonomic'") as e:
        taut.System([x], mass=1, nonholonomic=[x])
    assert "g(q, t) = 0" in e.value.remedy
    with pytest.raises(taut.InputError) as caught:
        taut.System([x, y], 1, y)
    assert caught.value.remedy == "name the others: mass=1, potential=y"
    with pytest.raises(taut.InputError, match="did you mean degree"):
        taut.TimeElement(dgree=2)
    with pytest.raises(taut.InputError, match=r"taut\.System\.from_terms needs coordinates and"):
        taut.System.from_terms()
    run = taut.simulate(system, q0=[1, 0], v0=0, duration=0.2, step=0.1, laws=None)
    with pytest.raises(taut.InputError, match=r"run\.save needs path"):
        run.save()
    with pytest.raises(taut.InputError, match=r"run\.save has no argument 'filename'") as caught:
        run.save(filename="a.zarr")
    assert caught.value.remedy == "filename is called path here: path=…"
    with pytest.raises(taut.InputError, match=r"taut\.Mechanism takes 1 without a name"):
        taut.Mechanism(1, 2)


def test_of_constraints_on_velocities_the_advice_is_that_of_constraints():
    u, _ = taut.velocities([x, y])
    for given in ([x * u], [y * u]):
        with pytest.raises(taut.ModelError) as known:
            taut.System([x, y], mass=1, constraints=given)
        for word in ("nonholonomic", "velocity_constraints"):
            with pytest.raises(taut.InputError, match=f"has no argument '{word}'") as caught:
                taut.System([x, y], mass=1, **{word: given})
            assert caught.value.remedy == known.value.remedy
    with pytest.raises(taut.InputError) as caught:
        taut.System([x, y], nonholonomic=[x * u])
    assert "g(q, t) = 0" in caught.value.remedy


def test_errors_from_inside_stay_what_they_are():
    @public
    def broken(a):
        return a + None

    @public
    def asks(a):
        return broken(a, 2)

    with pytest.raises(TypeError, match="unsupported operand"):
        broken(1)
    with pytest.raises(taut.InputError, match=r"broken takes 1 without a name, not 2"):
        asks(1)


def test_functions_and_classes_are_what_was_written():
    for _, thing in doors():
        assert pickle.loads(pickle.dumps(thing)) is thing
    signature = inspect.signature(taut.simulate)
    assert list(signature.parameters)[:3] == ["model", "q0", "v0"]
    assert taut.simulate.__doc__.startswith("Simulate a model")
    assert typing.get_type_hints(taut.coordinates)["names"] is str
    assert inspect.signature(taut.TimeElement).parameters["degree"].default == 1
    again = pickle.loads(pickle.dumps(partial(taut.simulate, duration=1)))
    assert again.func is taut.simulate
    assert taut.GaussLobatto(3) == pickle.loads(pickle.dumps(taut.GaussLobatto(3)))


def test_no_word_of_others_is_an_argument_that_would_do():
    """Where a function takes one, it is its own; and each leads to something that there is."""
    functions = [thing for _, thing in doors() if isinstance(thing, FunctionType)]
    functions += [thing.__init__ for _, thing in doors() if isinstance(thing, type)
                  and isinstance(thing.__init__, FunctionType)]  # fmt: skip
    functions += [method for _, method in methods()]
    known = [set(inspect.signature(f).parameters) for f in functions]
    for word, meant in CALLED.items():
        assert any(set(meant) & names for names in known), word
    for word, (by, _) in SAID.items():
        assert any(by in names and word not in names for names in known), word
