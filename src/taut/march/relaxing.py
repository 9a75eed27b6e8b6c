"""Rest by letting a mechanism come to rest: it moves, and is slowed down.

A chain that is laid out level is far from where it hangs, and whatever goes downhill unrolls it
link by link.  Its own motion does not: with a drag −α M v steps of RATTLE lead to where all forces
are in balance, a thousand of them in less than a second.  α is twice the frequency of the motion
that is under way,

    α = 2 √(vᵀK v / vᵀM v),

so that what moves slowest is damped just enough (Underwood 1983, in Computational Methods for
Transient Analysis, ch. 5: adaptive dynamic relaxation).  Once the rest is near, Newton's method on

    (K + δM) x + Gᵀμ = −(U_q − f + Gᵀλ),      G x = 0

ends it; a small δ holds what no force holds, as the spin of a link about its own axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.errors import StepError, TautError
from taut.march.resting import STILL, Resting
from taut.march.simulate import simulate
from taut.model.mechanism.shapes import GROUND
from taut.model.system import System
from taut.model.terms import Term

MANY = 20  # parts from which on going downhill unrolls them one by one
PARTS = 200  # of the way, between which it is looked at
FAR = 100.0  # times the size that it has at first: it runs away
STEPS = 100  # of a part
FINE = 0.1  # of the time in which forces move a part by the distance to the next one
NEAR = 0.2  # of the forces: left where Newton's method is tried
FALLS = 0.7  # by which what is left falls before it is tried again
SLOWEST, FASTEST = 1e-3, 2.0  # drags, in units of that time
SHORTEST = 1e-4  # of the first step
ITERATIONS = 15
SPIN = 1e-9  # δ, of the largest stiffness over mass


def relaxed(here: Resting, q: np.ndarray) -> np.ndarray | None:
    """A rest that the mechanism comes to from q; None if it does not."""
    system, (drag, n) = here.mechanics.system, ("slowing", here.mechanics.n)
    slowed = _slowed(system, drag)
    time = _time(here, q)
    step, alpha, v = FINE * time, 1 / time, np.zeros(n)
    first, tried, size = step, NEAR / FALLS, FAR * float(np.abs(q).max())
    for _ in range(PARTS):
        given = {"q0": q, "v0": v, "step": step, "duration": STEPS * step, "laws": None}
        given |= {"parameters": {drag: alpha}, "t0": here.t, "project": True, "progress": False}
        failed = False
        try:
            run: Any = simulate(slowed, method="rattle", every=STEPS, **given)
        except StepError as error:
            run, failed = error.partial, True
        except TautError:
            return None
        q, v = run.q[-1], run.v[-1]
        if failed:  # from where it is, from rest, and more slowly
            v, step, alpha = np.zeros(n), step / 2, max(alpha, 1 / time)
            if step < SHORTEST * first:
                return None
            continue
        stiff, left = here.stiffness(q)
        rest = float(np.linalg.norm(left) / np.linalg.norm(here.forces(q)))
        if not np.isfinite(rest) or not np.abs(q).max() <= size:
            return None
        if rest <= FALLS * tried:
            tried = rest
            there = _ended(here, q)
            if there is not None:
                return there
        moving = float(v @ (here.mass(q) @ v))
        square = abs(float(v @ (stiff @ v))) / max(moving, 1e-300)
        alpha = float(np.clip(2 * np.sqrt(square), SLOWEST / time, FASTEST / time))
    return None


def _slowed(system: System, drag: str) -> System:
    """The same with forces −α ∂L/∂v."""
    import sympy as sp

    alpha = sp.Symbol(drag, real=True)
    terms = list(system.terms)
    for x in system.terms:
        if x.kind == "lagrangian" and x.rates:
            forces = [-alpha * x.expressions[0].diff(v) for v in x.rates]
            if any(forces):
                terms.append(
                    Term("force", x.coordinates, tuple(forces), x.indices, x.rates, x.constants,
                         x.values)
                )  # fmt: skip
    parameters = {**system.parameters, drag: 1.0}
    return System.from_terms(system.coordinates, terms, parameters=parameters)


def _time(here: Resting, q: np.ndarray) -> float:
    """In which what moves first has moved by the distance of its neighbour."""
    m = here.mechanics
    moved = m.accelerations(q, here.rest, here.rest, here.t, here.par)[0]
    fast = max(float(np.abs(moved).max()), 1e-300)
    apart = []
    for joint in here.mechanism.joints.values():
        places = [
            q[x.first : x.first + 3] if x.shape.size >= 3 else x.position
            for x in (joint.a, joint.b)
            if x.shape is not GROUND
        ]
        if len(places) == 2:
            apart.append(float(np.linalg.norm(places[0] - places[1])))
    near = min((x for x in apart if x > 0), default=float(np.abs(q).max()) or 1.0)
    return float(np.sqrt(near / fast))


def _ended(here: Resting, q: np.ndarray) -> np.ndarray | None:
    """Newton's method from near a rest; None if it does not converge."""
    from scipy.sparse import bmat, csc_matrix, identity
    from scipy.sparse.linalg import splu

    m, before = here.mechanics, np.inf
    for _ in range(ITERATIONS):
        stiff, left = here.stiffness(q)
        rest = float(np.linalg.norm(left) / np.linalg.norm(here.forces(q)))
        if rest <= STILL:
            return q
        if not rest < 2 * before:
            return None
        before = rest
        mass = csc_matrix(here.mass(q))
        stiffest = float(np.abs(stiff.diagonal()).max())
        spin = SPIN * stiffest / float(mass.diagonal().max())
        slopes = m.jacobian(q, here.t, here.par)
        matrix = bmat([[stiff + spin * mass, slopes.T],
                       [slopes, -1e-14 / max(stiffest, 1e-300) * identity(m.c)]])  # fmt: skip
        try:
            x = splu(csc_matrix(matrix)).solve(np.concatenate([-left, np.zeros(m.c)]))[: m.n]
        except RuntimeError:
            return None
        there = here.onto(q + x) if np.all(np.isfinite(x)) else None
        if there is None:
            return None
        q = there
    return None
