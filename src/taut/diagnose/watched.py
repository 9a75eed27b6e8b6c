"""Quantities that a certificate follows: the laws of the system, or what a user asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from taut.diagnose.drift import Drift, drift_of
from taut.errors import InputError, TautError
from taut.march.trajectory import Trajectory
from taut.model.system import System

EPS = np.finfo(float).eps
WIDE = 32  # characters of an expression that is its own name
BLOCKS = 128
SOME = 24  # states of a run at which symmetries are looked at again


@dataclass(frozen=True)
class Watched:
    """A quantity followed along the stored states.

    Attributes
    ----------
    name : str
    expression : Expr
    first, largest_change : float
    drift : Drift
    proof : str
        How it is known that the motion keeps it; empty if it does not.
    broken : str
        If the motion does not keep it: its rate, or why it could not be told.
    size : float
        Of its summands, where it is known: what rounding is measured by.
    worst : int
        Of a batch: the trajectory with the largest change, whose values these are.
    """

    name: str
    expression: Any
    first: float
    largest_change: float
    drift: Drift
    proof: str = ""
    broken: str = ""
    size: float = 0.0
    worst: int = 0


def watched(run: Trajectory) -> tuple[list[Watched], str]:
    """What is followed, and why laws were not looked for, if they were not."""
    if run.laws is None:
        return [], ""
    if isinstance(run.laws, str):
        return _found(run)
    values = run.evaluate_all(list(run.laws.values()))
    given = zip(run.laws.items(), values, strict=True)
    return [_follow(run, name, e, x, *_proof(run, e)) for (name, e), x in given], ""


def held(run: Trajectory) -> float | None:
    """The largest change of a law that the method holds, relative to the size of its terms.

    None where the method holds none.
    """
    laws = getattr(run.method, "laws", None)
    if not laws:
        return None
    worst = 0.0
    for values, law in zip(run.evaluate_all(list(laws)), laws, strict=True):
        parts = run.evaluate_all(list(sp.Add.make_args(law)))
        sizes = np.asarray(sum(np.abs(x) for x in parts))
        size = float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
        change = float(np.max(np.abs(values - values[..., :1])))  # a NaN is not lost
        worst = max(worst, change / max(size, 1e-300)) if change == change else np.inf
    return worst


def _found(run: Trajectory) -> tuple[list[Watched], str]:
    """Every law that the search finds but the energy, which the certificate has already."""
    from taut.laws.known import laws_of

    if by_symmetry(run.system):
        return _momenta(run)
    laws = laws_of(run.system, run.parameters)
    if isinstance(laws, TautError):
        return [], str(laws).splitlines()[0]
    chosen = [law for law in laws if law.kind != "energy"]
    values = run.evaluate_all([law.expression for law in chosen])
    names = _names([(law.kind, str(law.expression)) for law in chosen])
    rows = zip(names, chosen, values, strict=True)
    return [_follow(run, name, law.expression, x, law.verified) for name, law, x in rows], ""


def by_symmetry(system: System) -> bool:
    """Whether laws are those of symmetries: of mechanisms, but for a few points alone."""
    from taut.laws.check import LARGEST

    if system.mechanism is None:
        return False
    points = all(x.shape.name in ("point", "number") for x in system.mechanism.parts.values())
    return not (points and system.n <= LARGEST)


def _momenta(run: Trajectory) -> tuple[list[Watched], str]:
    """Of a mechanism those momenta that its symmetries keep."""
    from taut.diagnose.momenta import PROOF, holding, momenta_of

    laws = momenta_of(run.system, run.parameters)
    if isinstance(laws, TautError):
        return [], str(laws).splitlines()[0]
    laws = holding(laws, run.system, *_some(run))
    found = []
    for law in laws:
        parts = run.p * law.moved(run.q)
        size = float(np.nanmax(np.abs(parts).sum(axis=-1), initial=0.0))
        made = _follow(run, law.name, law.expression(run.system), parts.sum(axis=-1), PROOF)
        found.append(replace(made, size=size))
    return found, ""


def _some(run: Trajectory) -> tuple[np.ndarray, ...]:
    """Times, parameters, coordinates and velocities at some states of all trajectories of a run."""
    chosen = np.unique(np.linspace(0, len(run.t) - 1, SOME).round().astype(int))
    whole = [x.reshape(-1, *x.shape[-2:])[:, chosen] for x in (run.q, run.v)]
    q, v = (x.reshape(-1, x.shape[-1]) for x in whole)
    finite = np.all(np.isfinite(q) & np.isfinite(v), axis=1)
    t = np.tile(run.t[chosen], len(q) // len(chosen))
    par = np.broadcast_to(run._par, (len(q), len(run._par)))
    return t[finite], par[finite], q[finite], v[finite]


def _names(laws: list[tuple[str, str]]) -> Iterator[str]:
    """Short expressions by themselves, long ones by their kind."""
    kinds = [kind for kind, text in laws if len(text) > WIDE]
    seen: dict[str, int] = {}
    for kind, text in laws:
        if len(text) <= WIDE:
            yield text
            continue
        seen[kind] = seen.get(kind, 0) + 1
        yield f"{kind} {seen[kind]}" if kinds.count(kind) > 1 else kind


def _proof(run: Trajectory, expression: Any) -> tuple[str, str]:
    """(how it is known to be conserved, or what its rate is)."""
    from taut.laws.check import checked

    system = run.system
    model = system if system.flow is None else system.flow
    try:
        return checked(model, expression, run.parameters).verified, ""
    except InputError as error:
        return "", str(error.received or str(error).splitlines()[0])
    except TautError:
        return "not checked", ""


def _follow(run: Trajectory, name: str, expression, values, proof="", broken="") -> Watched:
    values = np.atleast_2d(values)
    change = values - values[:, :1]
    worst = int(np.argmax(np.abs(change).max(axis=1)))
    y = change[worst]
    blocks = np.array_split(y, min(len(y), BLOCKS))
    means = np.array([b.mean() for b in blocks])
    duration = float(run.t[-1] - run.t[0])
    band = float(y.max() - y.min())
    if band <= 8 * EPS * abs(values[worst, 0]):
        band = 0.0
    drift = drift_of(means, duration / len(means), duration, band)
    first, largest = float(values[worst, 0]), float(np.abs(change).max())
    return Watched(str(name), expression, first, largest, drift, proof, broken, worst=worst)
