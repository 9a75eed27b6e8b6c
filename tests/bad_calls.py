"""Everything in the front door is called with arguments that nobody means.

    python tests/bad_calls.py SEED COUNT [NAME …]

For every parameter of every public function, constructor and method, COUNT bad values are drawn and
put in its place, the others being sound.  Allowed are a result and a `TautError`.  Anything else is
printed, one line each.  A call that does not come back within a minute ends the program with
its traceback.

What is called is found by signatures: of something new, `examples` must tell a sound call, and
`objects` an object if it has methods (`tests/test_bad_calls.py` says so).
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import faulthandler
import fractions
import inspect
import io
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import matplotlib as mpl
import numpy as np
import sympy as sp

import taut
from taut import laws, lie, papers, problems

PATIENCE = 60  # seconds, on a machine that is busy with other things
x, y = taut.coordinates("x y")
u = sp.Symbol("u", real=True)

# Interfaces between taut's own rooms, whose arguments are taut's.
INNER = {
    "program", "decay", "begin", "edge", "node", "march", "start_momentum", "tables", "fitted",
    "begun", "notes", "invariants_of", "mesh", "of", "values", "steps", "factors",
    "known_symbols", "shown", "spelled",
}  # fmt: skip


# ---- what is sound ----------------------------------------------------------------------------


@cache
def pendulum() -> taut.System:
    return taut.System([x, y], mass=1, potential=10 * y, constraints=[x**2 + y**2 - 1])


@cache
def spring() -> taut.System:
    return taut.System([x], mass=1, potential="k*x**2/2", parameters={"k": 1.0})


@cache
def flow() -> taut.Flow:
    return taut.Flow([x, y], [y, -x])


@cache
def mechanism() -> taut.Mechanism:
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", mass=1, inertia=(1, 1, 0.1), at=(0, 0, -0.5))
    m.revolute("hinge", "ground", "arm", at=(0, 0, 0), axis=(0, 1, 0))
    return m


def beam() -> taut.Beam:
    return taut.Beam(**BEAM, nodes=5, ends=("clamped", "free"))


@cache
def run(model: Any = None, batch: bool = False) -> Any:
    model = pendulum() if model is None else model
    start = {"q0": [[1, 0], [0, 1]] if batch else [1, 0], "v0": 0}
    start = start if isinstance(model, taut.System) else {}
    return taut.simulate(model, duration=0.2, step=0.1, laws=None, **start)


@cache
def beam_run() -> taut.FieldTrajectory:
    return taut.simulate(beam(), duration=0.001)


BEAM = {"length": 1.0, "section": taut.Circle(0.01), "density": 1e3, "young": 1e9, "poisson": 0.3}
RUN = {"duration": 0.2, "step": 0.1}
TERM = {
    "kind": "lagrangian", "coordinates": (x,), "expressions": [u**2 / 2],
    "indices": [[0], [1]], "rates": (u,),
}  # fmt: skip
SIX = sp.symbols("a b c d e f", real=True)


def examples() -> dict[Any, dict[str, Any]]:
    """A sound call of each function and class that needs arguments."""
    symmetries = {"degree": 1}
    return {
        taut.simulate: {"model": pendulum(), "q0": [1, 0], "v0": 0, **RUN, "laws": None},
        taut.System: {"coordinates": [x, y], "mass": [1, 1], "potential": y},
        taut.System.from_terms: {"coordinates": ["a", "b"], "terms": [taut.Term(**TERM)]},
        taut.Flow: {"variables": [x, y], "rhs": [y, -x]},
        taut.Mechanism: {},
        taut.Term: TERM,
        taut.Drawing: {"points": {"a": (x, y), "o": (0, 0)}, "links": [("o", "a")]},
        taut.Control: {"function": lambda t, state: 0.0},
        taut.Event: {"expression": x},
        taut.coordinates: {"names": "x y"},
        taut.velocities: {"coordinates": [x]},
        taut.momenta: {"coordinates": [x]},
        taut.rotation: {"angles": [1, 2, 3]},
        taut.register: {"name": "a name of the tests", "method": taut.Rattle()},
        taut.load: {"path": "run.zarr"},
        taut.urdf: {"path": "robot.urdf"},
        taut.Model: {"model": pendulum(), "q0": [1, 0], "v0": 0, **RUN},
        taut.compare: {"runs": [run(), run()]},
        taut.conserved: {"model": spring(), **symmetries},
        taut.noether: {"system": spring(), **symmetries},
        taut.lie_symmetries: {"model": spring(), **symmetries},
        taut.hojman: {"model": flow(), **symmetries},
        taut.casimirs: {"variables": [x, y], "bracket": [[0, x], [-x, 0]]},
        taut.absorbed: {"variables": [x, y], "bracket": [[0, x], [-x, 0]], "extra": [0, 0]},
        taut.poisson_bracket: {"a": x**2 + y**2, "b": x**2 + y**2, "model": flow(),
                               "bracket": [[0, 1], [-1, 0]]},
        taut.poisson_laws: {"model": flow(), "laws": [x**2 + y**2], "bracket": [[0, 1], [-1, 0]]},
        taut.special_values: {"model": spring(), **symmetries},
        laws.darboux: {"model": flow()},
        laws.multiplier: {"model": flow()},
        laws.checked: {"model": flow(), "expression": x**2 + y**2},
        taut.equilibrium: {"beam": beam()},
        taut.modes: {"beam": beam()},
        taut.Beam: {**BEAM, "nodes": 5},
        taut.Beams: {"beams": [beam()]},
        taut.End: {"kind": "free"},
        taut.Circle: {"radius": 1.0},
        taut.Square: {"side": 1.0},
        taut.Rectangle: {"width": 1.0, "height": 1.0},
        taut.Tube: {"outer": 1.0, "inner": 0.5},
        taut.Field: {
            "algebra": lie.so3, "density": sum(e**2 for e in SIX) / 2, "strain": SIX[:3],
            "momentum": SIX[3:], "length": 1.0, "nodes": 5,
        },
        taut.Adaptive: {"base": "rattle", "scale": x},
        taut.Corrected: {"base": "rk4"},
        taut.Projected: {"base": "rk4"},
        taut.Composition: {}, taut.Baumgarte: {}, taut.EnergyMomentum: {}, taut.ExplicitRK: {},
        taut.GGL: {}, taut.GaussLobatto: {}, taut.GeneralizedAlpha: {}, taut.Hamel: {},
        taut.ImplicitTrapezoid: {}, taut.LobattoPair: {}, taut.Poisson: {},
        taut.PreciseElement: {}, taut.Rattle: {}, taut.SymplecticEuler: {}, taut.SymplecticRK: {},
        taut.TimeElement: {}, taut.Variational: {},
        lie.euler: {"rotations": np.eye(3)},
        lie.algebra: {"constants": {(0, 1): {2: 1}}},
        lie.abelian: {"n": 2},
        lie.translations: {"n": 2},
        lie.product: {"factors": lie.so3},
        problems.problem: {"name": "pendulum"},
        problems.sizes: {"name": "chain"},
        papers.paper: {"name": "zg"},
    }  # fmt: skip


def objects() -> dict[str, Any]:
    """Something of each class that has methods."""
    found = taut.conserved(spring())
    return {
        "system": pendulum(), "system of a mechanism": mechanism().system(), "flow": flow(),
        "run": run(), "run of a mechanism": run(mechanism()), "batch": run(batch=True),
        "run of a beam": beam_run(), "beam": beam(), "beams": taut.Beams([beam()]),
        "field": taut.Field(**examples()[taut.Field]), "comparison": taut.compare([run(), run()]),
        "certificate": run().certificate, "certificate of a beam": beam_run().certificate,
        "laws": found, "law": found[0],
        "law of a bracket": taut.poisson_bracket(found[0], found[0], spring()),
        "symmetries": taut.lie_symmetries(flow(), degree=1),
        "equilibrium": taut.equilibrium(beam()), "modes": taut.modes(beam(), 3),
        "so3": lie.so3, "SO3": lie.SO3, "SE2": lie.SE2, "SE3": lie.SE3,
        "translations": lie.translations(2), "product": lie.product(lie.SO3, lie.translations(2)),
        "model": taut.Model(pendulum(), q0=[1, 0], v0=0, **RUN),
        "equations": pendulum().equations(),
        "drawing": taut.Drawing({"a": (x, y)}), "section": taut.Rectangle(0.1, 0.2),
        "tube": taut.Tube(0.2, 0.1), "circle": taut.Circle(0.1), "square": taut.Square(0.1),
        "control": taut.Control(lambda t, state: 0.0), "term": taut.Term(**TERM),
        "problem": problems.problem("pendulum"), "animation": run().animate(),
        "states": run().at([0.1]),
        **{kind.__name__: kind(**given) for kind, given in examples().items()
           if isinstance(kind, type) and issubclass(kind, taut.Method | taut.Scheme)},
    }  # fmt: skip


SOUND = {
    "path": "page.html", "t": 0.1, "duration": 0.2, "expression": x, "expressions": [x],
    "system": pendulum(), "mass": 1.0, "young": 1e9, "shear_modulus": 1e9, "density": 1e3,
    "poisson": 0.3, "at": 0.5, "names": "x",
}  # fmt: skip


def rooms() -> list[Any]:
    """What has a name of its own in pages: all of the front door, and functions behind it."""
    found = [getattr(taut, name) for name in taut.__all__]
    inner = (getattr(room, name) for room in (lie, laws) for name in room.__all__)
    found += [x for x in inner if isinstance(x, FunctionType)]
    return [*dict.fromkeys(x for x in found if callable(x))]


def callables() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """(name, function, a sound call) of everything."""
    for function, sound in examples().items():
        yield function.__qualname__, function, sound
    for name, thing in objects().items():
        for verb, held in inspect.getmembers(type(thing)):
            if isinstance(held, FunctionType) and verb not in INNER and not verb.startswith("_"):
                bound = getattr(thing, verb)
                needed = [p.name for p in parameters(bound) if p.default is p.empty and named(p)]
                yield f"{name}.{verb}", bound, {key: SOUND.get(key, [1, 0, 0]) for key in needed}


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def named(p: inspect.Parameter) -> bool:
    return p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)


# ---- what is not ------------------------------------------------------------------------------

PICTURED = ("of", "when", "fps", "speed", "seconds", "span", "title", "shapes", "axes", "points",
            "down", "trail", "magnify", "members", "nonsense")  # fmt: skip


ENDS = (".html", ".zarr", ".toml", ".urdf", ".png", ".gif")


def fails(*_: Any, **__: Any) -> Any:
    """What a class of somebody's own may do wherever it is asked for something."""
    raise RuntimeError("not yet")


def failing(*names: str) -> Any:
    """Something that fails when it is looked at in these ways."""
    return type("Failing", (), dict.fromkeys(names, fails))()


def pool() -> dict[str, Any]:
    """Bad values by name; of a function what it returns, so that each call has its own."""
    loop: list[Any] = []
    loop.append(loop)
    huge = 10**400
    masked = np.ma.array([1, 2], mask=[True, False])
    plain = {
        "None": None, "''": "", "b''": b"", "b'ab'": b"ab", "object()": object(), "nan": np.nan,
        "inf": np.inf, "-inf": -np.inf, "10**400": huge, "-10**400": -huge,
        "-1": -1, "0": 0, "2**63": 2**63, "2.0**64": 2.0**64, "1.5": 1.5, "True": True,
        "False": False, "1 + 2j": 1 + 2j, "complex128": np.complex128(1j), "[]": [], "()": (),
        "{}": {}, "empty": np.zeros(0), "ones(3, 3, 3)": np.ones((3, 3, 3)), "ones(2)": np.ones(2),
        "ones(2, 2)": np.ones((2, 2)), "ones(1)": np.ones(1), "ragged": [[1, 2], [3]],
        "objects": np.array([None, object()], dtype=object), "texts": np.array(["a", "b"]),
        "flags": np.array([True, False]), "nans": np.array([np.nan, 1.0]), "'1'": "1",
        "'abc'": "abc", "{1, 2}": {1, 2}, "frozenset": frozenset("ab"), "{'a': 1}": {"a": 1},
        "{1: 2}": {1: 2}, "{None: None}": {None: None}, "range": range(3), "system": pendulum(),
        "mechanism": mechanism(), "beam": beam(), "run": run(), "run of a beam": beam_run(),
        "x < y": x < y, "Eq": sp.Eq(x, 1), "true": sp.true, "And": sp.And(x < 1, y < 1),
        "Matrix": sp.Matrix([1, 2]), "zoo": sp.zoo, "sympy nan": sp.nan, "oo": sp.oo, "I": sp.I,
        "symbol": sp.Symbol("z"), "Integer(10)**400": sp.Integer(10) ** 400, "loop": loop,
        "long": "x" * 100_000, "NUL": "a\0b", "class": int, "method's class": taut.Rattle,
        "module": taut, "float32": np.float32(1), "0-d": np.array(1.0), "int64": np.int64(-3),
        "date": np.datetime64("2020-01-01"), "timedelta": datetime.timedelta(1),
        "1/3": fractions.Fraction(1, 3), "NaN": decimal.Decimal("NaN"), "...": ...,
        "slice": slice(None), "NotImplemented": NotImplemented, "lone surrogate": "\ud800",
        "pairs": ((1, 2), (3, 4)), "['a', 'b']": ["a", "b"], "[None]": [None], "[1, 'a']": [1, "a"],
        "['x', 'y', 'z']": ["x", "y", "z"], "masked": masked, "code": "__import__('os').abort()",
        "array": failing("__array__"), "float": failing("__float__", "__index__"),
        "iter": failing("__iter__"), "silent": failing("__repr__", "__str__"),
        "'x:2000000'": "x:2000000", "'1/0'": "1/0", "'((('": "(" * 300, "'lambda: 1'": "lambda: 1",
    }  # fmt: skip
    heads = (
        "/proc/none/a",
        "a.txt/b",
        "a\0b",
        "x" * 5000,
        "\ud800",
        "folder",
        "~no_such_user/a",
        "file",
    )
    paths = [f"{head}{end}" for end in ENDS for head in heads]
    paths.remove("file.gif")  # a film could be drawn there, and takes long
    return plain | {"generator": lambda: iter(range(3))} | {f"path {p[:20]!r}": p for p in paths}


def folder() -> None:
    """What the paths lead to: files that are something else, broken stores, folders."""
    os.chdir(tempfile.mkdtemp())
    for end in ENDS:
        Path(f"file{end}").write_bytes(b"\xff\xfe\x00 [[[ <robot")
        Path(f"folder{end}").mkdir()
    Path("folder.zarr/.zgroup").write_text("{")
    Path("a.txt").write_text("a file, and no folder")
    run().save("run.zarr")


# ---- calling ----------------------------------------------------------------------------------


def outcome(function: Callable[..., Any], args: tuple, options: dict[str, Any]) -> str:
    """What came of a call that may not come: empty if it was answered as it should be."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.__stderr__)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            function(*args, **options)
    except taut.TautError as error:
        return "" if error.what else "an error without a word"
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if f"{os.sep}taut{os.sep}" in f.filename] or frames
        where = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
        return f"{type(error).__name__} at {where}: {str(error)[:100]!r}"
    finally:
        faulthandler.cancel_dump_traceback_later()
    return ""


def trials(seed: int, count: int, names: list[str]) -> Iterator[str]:
    """What went wrong, and at last how many calls there were."""
    draw, bad, calls = random.Random(seed), pool(), 0
    for name, function, sound in callables():
        if names and not any(part in name for part in names):
            continue
        for p in parameters(function):
            for what in draw.sample(sorted(bad), min(count, len(bad))):
                value, args, options = bad[what], (), dict(sound)
                value = value() if isinstance(value, FunctionType) else value
                if p.kind is p.VAR_POSITIONAL:
                    options.pop(p.name, None)
                    args = (value,)
                else:
                    several = p.kind is p.VAR_KEYWORD
                    options[draw.choice(PICTURED) if several else p.name] = value
                calls += 1
                found = outcome(function, args, options)
                if found:
                    yield f"{name}({p.name} = {what}): {found}"
    yield f"{calls} calls"


def main(seed: str = "0", count: str = "3", *names: str) -> None:
    faulthandler.enable()
    mpl.use("Agg")
    warnings.simplefilter("ignore")
    folder()
    for line in trials(int(seed), int(count), list(names)):
        print(line.encode("utf-8", "backslashreplace").decode(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
