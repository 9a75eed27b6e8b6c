"""Quantities that a certificate follows: the laws of the system, or what a user asks for.

A quantity I is known to the rounding of what it is made from, not of its value, which may be zero:
to a few ε times

    Σ |summands of I| + Σ |z ∂I/∂z|        over all z of (q, v, p),

the largest over states of the run.  That has the units of I.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from taut.diagnose.drift import Drift, drift_of
from taut.errors import InputError, TautError
from taut.kernel.operators import Operators, translated
from taut.march.trajectory import Trajectory
from taut.model.system import System

SX = ca.SX
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
        Of what it is made from: what rounding is measured by.
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
    """What is followed, and what was not looked for, and why."""
    if run.laws is None:
        return [], ""
    if isinstance(run.laws, str):
        return _found(run)
    values = run.evaluate_all(list(run.laws.values()))
    given = zip(run.laws.items(), values, _sizes(run, list(run.laws.values())), strict=True)
    return [_follow(run, name, e, x, size, *_proof(run, e)) for (name, e), x, size in given], ""


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
        return [], f"not looked for: {str(laws).splitlines()[0]}"
    chosen = [law for law in laws if law.kind != "energy"]
    values = run.evaluate_all([law.expression for law in chosen])
    names = _names([(law.kind, str(law.expression)) for law in chosen])
    rows = zip(names, chosen, values, _sizes(run, [x.expression for x in chosen]), strict=True)
    why = f"not looked for {laws.stopped}" if laws.stopped else ""
    return [_follow(run, name, x.expression, y, size, x.verified) for name, x, y, size in rows], why


def _sizes(run: Trajectory, expressions: list[Any]) -> list[float]:
    """Of what expressions are made from, the largest over some states of all trajectories."""
    if not expressions:
        return []
    ops, t = Operators(run.system), SX.sym("t")
    q, v, p = z = [SX.sym(name, ops.n) for name in "qvp"]
    read = [run.system.read(e) for e in expressions]
    summands = [sp.Add.make_args(e) for e in read]
    ends = np.cumsum([0, *(len(x) for x in summands)]).tolist()
    every = translated(run.system, list(chain(*summands)), q, v, p, t, ops.par)
    whole = ca.vertcat(*translated(run.system, read, q, v, p, t, ops.par))
    sums = ca.vertcat(*(ca.sum1(ca.fabs(ca.vertcat(*every[i:j]))) for i, j in pairwise(ends)))
    sizes = sums + ca.fabs(ca.jacobian(whole, ca.vertcat(*z))) @ ca.fabs(ca.vertcat(*z))
    function = ca.Function("sizes", [*z, t, ops.par], [ca.densify(sizes)])
    times, par, *state = _some(run)
    found = np.array(function(*(x.T for x in state), times[None], par.T))
    return np.max(found, axis=1, initial=0.0, where=np.isfinite(found)).tolist()


def by_symmetry(system: System) -> bool:
    """Whether laws are those of symmetries: of mechanisms, but for a few points alone."""
    from taut.laws.check import LARGEST

    if system.mechanism is None:
        return False
    points = all(x.shape.name == "point" for x in system.mechanism.parts.values())
    return not (points and system.n <= LARGEST)


def _momenta(run: Trajectory) -> tuple[list[Watched], str]:
    """Of a mechanism those momenta that its symmetries keep."""
    from taut.diagnose.momenta import PROOF, holding, momenta_of
    from taut.laws.check import LARGEST

    laws = momenta_of(run.system, run.parameters)
    if isinstance(laws, TautError):
        return [], f"not looked for: {str(laws).splitlines()[0]}"
    laws = holding(laws, run.system, *_some(run)[:4])
    found = []
    for law in laws:
        parts = run.p * law.moved(run.q)
        size = float(np.nanmax(np.abs(parts).sum(axis=-1), initial=0.0))
        expression, values = law.expression(run.system), parts.sum(axis=-1)
        found.append(_follow(run, law.name, expression, values, size, PROOF))
    search = ": taut.conserved(m)" if run.system.n <= LARGEST else ""
    return found, f"not looked for beyond momenta{search}"


def _some(run: Trajectory) -> tuple[np.ndarray, ...]:
    """Times, parameters, q, v and p at some states of all trajectories of a run."""
    n, members = run.system.n, run.q.size // (len(run.t) * run.system.n)
    chosen = np.unique(np.linspace(0, len(run.t) - 1, SOME).round().astype(int))
    rows = (len(run.t) * np.arange(members)[:, None] + chosen).ravel()
    q, v, p = (x.reshape(-1, n)[rows] for x in (run.q, run.v, run.p))
    t = np.tile(run.t[chosen], members)
    par = np.broadcast_to(run._pars, (members * len(run.t), len(run._par)))[rows]
    finite = np.all(np.isfinite(q) & np.isfinite(v), axis=1)
    return t[finite], par[finite], q[finite], v[finite], p[finite]


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


def _follow(
    run: Trajectory, name: str, expression, values, size: float, proof="", broken=""
) -> Watched:
    values = np.atleast_2d(values)
    with np.errstate(all="ignore"):  # a law may be infinite, or no number, and is said to be
        change = values - values[:, :1]
        worst = int(np.argmax(np.abs(change).max(axis=1)))
        y = change[worst]
        means = np.array([b.mean() for b in np.array_split(y, min(len(y), BLOCKS))])
        band = float(y.max() - y.min())
    duration = float(run.t[-1] - run.t[0])
    size = max(size, abs(float(values[worst, 0])))
    if band <= 8 * EPS * size:
        band = 0.0
    drift = drift_of(means, duration / len(means), duration, band)
    first, largest = float(values[worst, 0]), float(np.abs(change).max())
    return Watched(str(name), expression, first, largest, drift, proof, broken, size, worst)
