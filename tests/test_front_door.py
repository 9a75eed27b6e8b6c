"""What a user types: the names and shapes of the contract, the examples, and what is loaded."""

import ast
import doctest
import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import taut

MODULES = ["taut", *(m.name for m in pkgutil.walk_packages(taut.__path__, "taut."))]
HEAVY = ("matplotlib", "xarray", "rich", "zarr")


@pytest.fixture
def python():
    """Run a program in a fresh interpreter; what it prints."""

    def run(program):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_everything_listed_is_there():
    assert len(set(taut.__all__)) == len(taut.__all__)
    for name in taut.__all__:
        assert getattr(taut, name) is not None


def test_star_import_gives_exactly_the_list():
    space: dict = {}
    exec("from taut import *", space)
    assert set(space) - {"__builtins__"} == set(taut.__all__)


def test_everything_there_is_listed():
    """What type checkers see, what the interpreter finds and what is listed are the same."""
    tree = ast.parse(Path(taut.__file__).read_text())
    seen = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("taut")
        for alias in node.names
    }
    assert seen == set(taut.__all__)
    assert set(taut._HOME) <= seen
    assert set(taut.__all__) <= set(dir(taut))


def test_rooms_are_open():
    for room in taut._OPEN:
        assert getattr(taut, room) is import_module(f"taut.{room}")


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'sytem'"):
        taut.sytem  # noqa: B018


def test_signature_of_system():
    found = inspect.signature(taut.System).parameters
    assert list(found) == [
        "coordinates", "velocities", "momenta", "mass", "kinetic", "potential", "lagrangian",
        "hamiltonian", "constraints", "forces", "parameters", "controls", "drawing",
    ]  # fmt: skip
    defaults = {name: p.default for name, p in found.items()}
    empty = dict.fromkeys(["potential"], 0) | {"constraints": (), "coordinates": inspect._empty}
    assert defaults == dict.fromkeys(found, None) | empty
    kinds = [p.kind for p in found.values()]
    assert (
        kinds == [inspect.Parameter.POSITIONAL_OR_KEYWORD] + [inspect.Parameter.KEYWORD_ONLY] * 12
    )


def test_signature_of_simulate():
    signature = inspect.signature(taut.simulate)
    found = {
        name: p.default for name, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY
    }
    assert list(signature.parameters) == ["model", *found]
    assert found == {
        "q0": None, "v0": None, "p0": None, "strain0": None, "momentum0": None, "t0": 0.0,
        "duration": inspect._empty, "step": None, "tolerance": None, "method": "auto", "every": 1,
        "parameters": None,
        "project": False, "controls": None,
        "laws": "auto", "events": (), "progress": None,
    }  # fmt: skip
    assert list(found)[:3] == ["q0", "v0", "p0"]


def test_signatures_of_rest():
    found = inspect.signature(taut.equilibrium)
    assert list(found.parameters) == [
        "beam", "loads_at", "steps", "arc_length", "start", "tolerance", "progress",
    ]  # fmt: skip
    defaults = {name: p.default for name, p in found.parameters.items()}
    assert defaults == {
        "beam": inspect._empty, "loads_at": 0.0, "steps": None, "arc_length": False, "start": None,
        "tolerance": 1e-9, "progress": None,
    }  # fmt: skip
    kinds = [p.kind for p in found.parameters.values()]
    assert kinds[1:] == [inspect.Parameter.KEYWORD_ONLY] * 6
    assert str(found.return_annotation) == "Equilibrium"
    assert str(inspect.signature(taut.modes)) == "(beam: 'Any', count: 'int' = 10) -> 'Modes'"


def test_a_trajectory_has_what_the_contract_names():
    x, y = taut.coordinates("x y")
    pendulum = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])
    run = taut.simulate(pendulum, q0=[1, 0], v0=[0, 0], duration=0.5, step=0.01)
    shapes = {
        name: getattr(run, name).shape
        for name in (
            "t",
            "q",
            "v",
            "p",
            "multipliers",
            "energy",
            "constraints",
            "hidden",
            "reactions",
        )
    }
    assert shapes == {
        "t": (51,), "q": (51, 2), "v": (51, 2), "p": (51, 2), "multipliers": (51, 1),
        "energy": (51,), "constraints": (51, 1), "hidden": (51, 1), "reactions": (51, 2),
    }  # fmt: skip
    assert isinstance(run, taut.Trajectory)
    for name in ("certificate", "to_xarray", "save", "plot", "continue_"):
        assert hasattr(run, name)


@pytest.mark.usefixtures("catalogue_as_it_was")
@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    having = [
        test.name for name in MODULES for test in finder.find(import_module(name)) if test.examples
    ]
    for name in ("System", "System.from_terms", "simulate", "coordinates", "load"):
        assert any(found.endswith(f".{name}") for found in having), name


def test_import_is_light(python):
    program = f"""
import sys, taut
taut.System, taut.simulate, taut.TimeElement
print([m for m in {HEAVY} if m in sys.modules])
"""
    assert python(program) == "[]\n"


def test_a_run_loads_neither_pictures_nor_stores(python):
    program = f"""
import sys, taut
x, y = taut.coordinates("x y")
s = taut.System([x, y], mass=[1, 1], potential=10*y, constraints=[x**2 + y**2 - 1])
run = taut.simulate(s, q0=[1, 0], v0=0, duration=0.1, step=0.01)
run.energy, run.multipliers, str(run.certificate)
print([m for m in {HEAVY} if m in sys.modules])
"""
    assert python(program) == "[]\n"
