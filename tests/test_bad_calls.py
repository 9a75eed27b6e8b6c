"""Bad calls are answered: see `bad_calls.py`, which makes them."""

import inspect
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import taut

PROGRAM = Path(__file__).with_name("bad_calls.py")


@pytest.fixture(scope="module")
def bad_calls():
    """The program as a module."""
    spec = spec_from_file_location("bad_calls", PROGRAM)
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def trials(seed, count, *names):
    """What the program says about so many bad values for every parameter."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(seed), str(count), *names],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("seed", [1, 2])
def test_bad_calls_are_answered(seed):
    """With a result or a `TautError`, whatever stands in the place of an argument."""
    *wrong, calls = trials(seed, 2)
    assert wrong == []
    assert int(calls.removesuffix(" calls")) > 700


def test_what_is_no_answer_is_found(bad_calls):
    """The watch of the trials sees raw errors, errors without a word, and ends of the program."""

    def raises(error):
        def call():
            raise error

        return bad_calls.outcome(call, (), {})

    assert raises(taut.InputError("what it is")) == ""
    assert raises(taut.InputError("")) == "an error without a word"
    assert raises(TypeError("raw")).startswith("TypeError at test_bad_calls.py")
    assert raises(SystemExit(3)).startswith("SystemExit")
    assert raises(KeyboardInterrupt()).startswith("KeyboardInterrupt")
    assert bad_calls.outcome(lambda a, b: None, (1,), {"b": 2}) == ""


def test_nothing_is_left_out(bad_calls):
    """Of all that the front door has there is a sound call, and an object of each class."""
    known, made = bad_calls.examples(), bad_calls.objects().values()
    for thing in bad_calls.rooms():
        if not inspect.isclass(thing):
            assert thing in known, f"a sound call of {thing.__name__} is missing in examples()"
        elif not issubclass(thing, BaseException) and not inspect.isabstract(thing):
            here = thing in known or any(isinstance(x, thing) for x in made)
            assert here, f"something of class {thing.__name__} is missing in objects()"


def test_sound_calls_are_sound(bad_calls, tmp_path, monkeypatch):
    """Otherwise no argument but the first would ever be looked at."""
    monkeypatch.chdir(tmp_path)
    bad_calls.run().save("run.zarr")
    for function, sound in bad_calls.examples().items():
        if function in (taut.urdf, taut.lie.product):
            continue  # a robot's library may be missing; what is to be multiplied has no name
        try:
            function(**sound)
        except taut.TautError as error:
            pytest.fail(f"{function.__name__}: {error}")
