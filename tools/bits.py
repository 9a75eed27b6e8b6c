"""Does a change leave bits and compiled code as they were?  ``python tools/bits.py REVISION``.

Both trees, this one as it stands and that of the revision, run the same cases: every problem with
every method, continued runs, batches, fields and beams of each scheme.  What is compared is a
digest of all numbers of a run, those of its certificate, and the names of the files that were
compiled for it, which are hashes of the code.  A change of the house leaves all three alone; where
one differs, it is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STEPS = 12
TIMES = ("wall_time", "compile_time", "steps_per_second")
PLAIN = ("pendulum", "double-pendulum", "cq-triple", "car-axis", "kepler-sphere")  # with laws


# ---- what is run ---------------------------------------------------------------------------------


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, how to make the run) of everything there is."""
    import taut
    from taut.methods import CATALOGUE
    from taut.problems import names, problem

    for name in names():
        given = problem(name)
        start: dict[str, Any] = {"duration": STEPS * given.step, "step": given.step, "laws": None}
        for method in CATALOGUE:
            yield f"{name} {method}", lambda p=given, m=method, s=start: p.simulate(method=m, **s)
        yield f"{name} auto", lambda p=given, s=start: p.simulate(**s)
        yield f"{name} continued", lambda p=given, s=start: _continued(p, s)
        yield f"{name} batch", lambda p=given, s=start: _batch(p, s)
    for name in PLAIN:
        given = problem(name)
        yield f"{name} laws", lambda p=given: p.simulate(duration=100 * p.step)
    yield from _others(taut)


def _continued(given: Any, start: dict[str, Any]) -> Any:
    begun = given.simulate(**{**start, "duration": 5 * given.step})
    return begun.continue_((STEPS - 5) * given.step)


def _batch(given: Any, start: dict[str, Any]) -> Any:
    import numpy as np

    import taut

    return taut.simulate(
        given.system, q0=np.tile(given.q0, (3, 1)), v0=np.tile(given.v0, (3, 1)), t0=given.t0,
        parameters=given.parameters, project=given.project, **start,
    )  # fmt: skip


def _others(taut: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Flows, controls, events, tolerances, fields and beams."""
    import numpy as np

    x, y = taut.coordinates("x y")
    disc = taut.System([x, y], mass=[1, 2], potential=9.81 * y, constraints=[x**2 + y**2 - 1],
                       forces=[-0.1 * w for w in taut.velocities([x, y])])  # fmt: skip
    begin = {"q0": [0.6, -0.8], "v0": 0, "duration": 0.5, "step": 0.01}
    yield "damped", lambda: taut.simulate(disc, **begin)
    yield "events", lambda: taut.simulate(disc, events={"lowest": x}, **begin)
    aim = {k: v for k, v in begin.items() if k != "step"}
    yield "tolerance", lambda: taut.simulate(disc, tolerance=1e-6, **aim)
    turn = taut.Flow([x, y], [y, -sp_sin(x)])
    yield "flow", lambda: taut.simulate(turn, q0=[0.5, 0], duration=1, step=0.02)
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", mass=1, inertia=(0.1, 0.1, 0.01), at=(0, 0, -0.5))
    m.revolute("hinge", m.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    m.motor("motor", "hinge", lambda t, state: 0.2 * np.sin(t))
    yield "motor", lambda: taut.simulate(m, duration=0.3, step=0.01)
    for scheme in ("poisson", "hamel", "variational", "implicit"):
        for damping in (0.0, 0.01):
            for ends in (("free", "free"), ("clamped", "free")):
                case = scheme, damping, ends
                yield f"beam {case}", lambda c=case: _beam(taut, *c)
    g, p = taut.coordinates("gamma mu")
    for name, extra in (("string", 0), ("mixed string", 0.3 * p * g)):
        density = p**2 / 2 + g**2 / 2 + g**4 / 4 + extra
        string = taut.Field(
            taut.lie.abelian(1), density, strain=[g], momentum=[p], length=1, nodes=33
        )
        pluck = np.exp(-200 * (string.middles - 0.3) ** 2)[:, None]
        for scheme in ("poisson", "hamel"):
            yield (
                f"{name} {scheme}",
                lambda f=string, p=pluck, s=scheme: taut.simulate(
                    f, strain0=p, duration=0.1, step=0.01, method=s
                ),
            )


def _beam(taut: Any, scheme: str, damping: float, ends: tuple[str, str]) -> Any:
    beam = taut.Beam(length=1, section=taut.Square(0.05), density=1000, young=1e7, poisson=0.3,
                     nodes=9, ends=ends, damping=damping)  # fmt: skip
    beam.load(at="tip", force=(0, 0, 2 * sp_sin(3 * taut.t)))
    run = taut.simulate(beam, duration=2e-3, step=1e-4, method=scheme)
    return run.continue_(1e-3)


def sp_sin(x: Any) -> Any:
    """A sine of expressions."""
    import sympy as sp

    return sp.sin(x)


# ---- what is kept of it --------------------------------------------------------------------------


def digest(*values: Any) -> str:
    """Of numbers, to the bit."""
    import numpy as np

    made = hashlib.sha256()
    for x in values:
        made.update(np.ascontiguousarray(x, dtype=float).tobytes())
    return made.hexdigest()[:16]


def numbers(run: Any) -> Iterator[Any]:
    """All that a run is made of."""
    names = ("t", "q", "v", "p", "multipliers", "positions", "frames", "strain", "momentum")
    for name in (*names, "energy"):
        found = getattr(run, name, None)
        if found is not None:
            yield found


def facts(run: Any) -> str:
    """What the certificate says, but for times."""
    said = {k: v for k, v in run.certificate.to_dict().items() if k not in TIMES}
    said["words"] = [row for row in run.certificate.rows() if "s per" not in str(row)]
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def told(make: Callable[[], Any], cache: Path) -> dict[str, Any]:
    """Digests of one case, whose compiled code goes into this directory."""
    os.environ["TAUT_CACHE_DIR"] = str(cache)
    try:
        run = make()
        found = {"numbers": digest(*numbers(run)), "facts": facts(run)}
    except Exception as error:  # what is refused is refused in the same words
        found = {"refused": f"{type(error).__name__}: {error}"}
    found["code"] = digest([hash_of(x) for x in sorted(p.name for p in cache.rglob("*.o"))])
    return found


def hash_of(name: str) -> float:
    """A name as a number."""
    return float(int(hashlib.sha256(name.encode()).hexdigest()[:12], 16))


def record(pattern: str) -> None:
    """Lines (name, digests) of all cases."""
    warnings.simplefilter("ignore")
    for name, make in cases():
        if pattern in name:
            with tempfile.TemporaryDirectory() as cache:
                print(json.dumps([name, told(make, Path(cache))]), flush=True)


# ---- both trees ----------------------------------------------------------------------------------


def made_by(tree: Path, pattern: str) -> subprocess.Popen[str]:
    """A process that records what a tree does."""
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).resolve()), "--record", "--only", pattern]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def compared(revision: str, pattern: str) -> int:
    """How many cases differ."""
    with tempfile.TemporaryDirectory() as place:
        other = Path(place) / "tree"
        git = ["git", "-C", str(ROOT)]
        subprocess.run(
            [*git, "worktree", "add", "-q", "--detach", str(other), revision], check=True
        )
        try:
            processes = [made_by(tree, pattern) for tree in (other, ROOT)]
            lines = [process.stdout for process in processes]
            many = differing = 0
            for pair in zip(*(x for x in lines if x is not None), strict=True):
                (name, old), (same, new) = map(json.loads, pair)
                assert name == same, (name, same)
                many += 1
                changed = [key for key in {*old, *new} if old.get(key) != new.get(key)]
                differing += bool(changed)
                for key in sorted(changed):
                    print(f"{name}: {key}: {old.get(key)} -> {new.get(key)}", flush=True)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(other)], check=True)
    print(f"{many} cases, {differing} of them differ from {revision}")
    return differing


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("revision", nargs="?", default="HEAD", help="what to compare with")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--record", action="store_true", help="print digests of this tree alone")
    given = parser.parse_args()
    if given.record:
        record(given.only)
    else:
        sys.exit(bool(compared(given.revision, given.only)))
