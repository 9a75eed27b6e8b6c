"""The tree of errors: as it is drawn, as it is, and what its messages say."""

import inspect

import numpy as np
import pytest

import taut
from taut import errors


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
