"""Rest and modes of mechanisms with beams, and of large ones, with sparse matrices.

In the directions B of `tangents`, forces and stiffness at a configuration are

    r = Bᵀ(U_q − f),        K = Bᵀ(∂(U_q − f)/∂q + Σ λᵢ ∂²gᵢ/∂q∂q) B,        M_B = BᵀM B.

A beam is a narrow, bent valley of its energy: what goes downhill follows it in many small steps.
Newton's method goes straight through the walls, if the loads come on little by little,

    r(q) = (1 − s) r₀,        s from 0 to 1,

where r₀, forces and torques in space on the parts, holds the mechanism where it begins: if that is
without stress, the loads are multiplied by s.  (Crisfield 1991, Non-linear Finite Element Analysis
of Solids and Structures, ch. 9.)
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.errors import TautError
from taut.march.natural import Assembled, growing, holds, natural
from taut.march.project import nearest
from taut.march.spectrum import Found, symmetric
from taut.march.tangents import Tangents

if TYPE_CHECKING:
    from taut.kernel.evaluate import Mechanics
    from taut.model.mechanism import Mechanism

ITERATIONS = 12  # of Newton's method for one part of the load
SMALLEST = 1e-3  # part of the load
TURN = 0.7  # by which a part turns in an iteration at most
ROUNDED = 4e-16  # of coordinates: what this does to forces cannot be balanced
SLIGHT = 1e-7  # of the coordinates: a last step, once forces are balanced but for rounding
STILL = 1e-12  # of the largest forces that were met
MET = 1e-14  # by constraints of a configuration that is as good as can be
CLOSE = 1e-13  # of the coordinates: a step that changes nothing
SOFT = 1e-9  # of the largest stiffness: none
SLOWEST = 20  # motions that are looked at where forces have no potential
NODES = 5  # of the integral of work


class Resting:
    """A mechanism at rest and at one time, somewhere."""

    def __init__(
        self, mechanism: Mechanism, mechanics: Mechanics, par: np.ndarray, t: float = 0.0
    ) -> None:
        self.mechanism, self.mechanics, self.par, self.t = mechanism, mechanics, par, t
        self.rest = np.zeros(mechanics.n)
        self.still = {"v": self.rest, "p": self.rest}
        self.reached = 0.0  # part of the loads

    def energy(self, q: np.ndarray) -> float:
        """U."""
        return float(self.mechanics.whole(q, self.rest, self.rest, self.t, self.par))

    def climbed(self, q: np.ndarray, there: np.ndarray) -> float:
        """What it takes to go from one configuration to another."""
        if self.mechanics.system.forced:
            return climbed(self.forces, q, there)
        return self.energy(there) - self.energy(q)

    def forces(self, q: np.ndarray) -> np.ndarray:
        """U_q − f."""
        return -self.mechanics.apply("force", self.t, self.par, q=q, v=self.rest, p=self.rest)

    def tangents(self, q: np.ndarray) -> Tangents:
        return Tangents(self.mechanism, q, self.mechanics.jacobian(q, self.t, self.par))

    def stiffness(self, q: np.ndarray, held: np.ndarray | float = 0.0) -> tuple[Any, np.ndarray]:
        """∂(U_q − f)/∂q + Σ λᵢ ∂²gᵢ/∂q∂q, and U_q − f + Gᵀλ, with forces `held` on coordinates."""
        m, t, par = self.mechanics, self.t, self.par
        found, left = -m.derivative("force", "q", t, par, q=q, **self.still), self.forces(q)
        if m.c:
            multipliers = self.multipliers(q, held)
            found = found + m.derivative("push", "q", t, par, q=q, lam=multipliers)
            left = left + m.push(q, t, multipliers, par)
        return found, left

    def multipliers(self, q: np.ndarray, held: np.ndarray | float) -> np.ndarray:
        """λ with M a + Gᵀλ = −(U_q − f − held), G a = 0."""
        from taut.kernel.saddle import Saddle

        saddle = Saddle(self.mechanics, q, self.rest, self.rest, self.t, self.par)
        pull = held - self.forces(q)
        return saddle.least(saddle.solve(pull, np.zeros(self.mechanics.c))[1])

    def onto(self, q: np.ndarray) -> np.ndarray | None:
        """The nearest configuration that the joints allow; None if there is none."""
        if np.all(np.abs(self.mechanics.g(q, self.t, self.par)) <= MET):
            return q
        try:
            return nearest(self.mechanics, q, self.rest, self.t, self.par)
        except TautError:
            return None

    # ---- rest ----------------------------------------------------------------------------------

    def balance(self, q: np.ndarray) -> np.ndarray | None:
        """Where all forces are in balance, if loads that come on little by little lead there."""
        first, begun = q, self.forces(q)
        done, part = 0.0, 1.0
        while done < 1.0:
            part = min(part, 1.0 - done)
            there = self.newton(q, (1.0 - done - part) * begun, first)
            if there is None:
                part /= 4
                if part < SMALLEST:
                    return None
                continue
            q, done, part = there, done + part, 2 * part
            self.reached = done
        return q

    def newton(self, q: np.ndarray, load: np.ndarray, first: np.ndarray) -> np.ndarray | None:
        """Newton's method for r(q) = `load`, which acts at `first`; None without convergence."""
        largest = 1e-300
        for _ in range(ITERATIONS):
            here = self.tangents(q)
            basis, pull, held = here.basis, self.forces(q), here.carried(load, first)
            left = basis.T @ (pull - held)
            largest = max(largest, float(np.linalg.norm(abs(basis).T @ (abs(pull) + abs(held)))))
            stiff, rest = self.stiffness(q, held)
            noise = ROUNDED * float(np.linalg.norm(abs(basis).T @ (abs(stiff) @ np.abs(q))))
            still = np.linalg.norm(left) <= max(STILL * largest, noise)
            turns = here.allowed.T @ here.turned(rest) @ here.allowed
            x = self._solved(basis.T @ stiff @ basis + turns, left, basis, q)
            turn, far = here.longest(x), np.abs(basis @ x).max(initial=0.0)
            if still and not far <= SLIGHT * np.abs(q).max():
                return q
            if not np.isfinite(turn) or not np.all(np.isfinite(x)):
                return None
            step = x * min(1.0, TURN / max(turn, 1e-300))
            there = self.onto(here.moved(step))
            if there is None:
                return None
            if still or np.abs(there - q).max() <= CLOSE * np.abs(q).max():
                return there
            q = there
        return None

    def _solved(self, matrix: Any, left: np.ndarray, basis: Any, q: np.ndarray) -> np.ndarray:
        """−K⁻¹r; with a little of M added to K where something can move without any force."""
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        with suppress(RuntimeError):
            x = -splu(csc_matrix(matrix)).solve(left)
            if np.all(np.isfinite(x)) and np.abs(matrix @ x + left).max() <= np.abs(left).max():
                return x
        mass = csc_matrix(basis.T @ self.mass(q) @ basis)
        share = SOFT * float(np.max(np.abs(matrix.diagonal()) / mass.diagonal()))
        try:
            return -splu(csc_matrix(matrix + share * mass)).solve(left)
        except RuntimeError:
            return np.full(len(left), np.nan)

    def steady(self, q: np.ndarray) -> bool | None:
        """Whether no small motion grows; None if round-off hides that.

        Where K is not symmetric, or forces drive what they should damp, by the slowest motions.
        """
        here = self.pencil(q)
        if not here.mass.shape[0]:
            return True
        if not here.has_potential or holds(Assembled(here.drag, here.mass).even()) is False:
            return not np.any(growing(natural(here, SLOWEST)))
        return holds(here.even())

    def low(self, q: np.ndarray) -> bool | None:
        """Whether the energy falls nowhere; None if round-off hides that."""
        return holds(self.pencil(q).even())

    def lowest(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """The lowest eigenvalue of K in the metric of masses, and its x; zero if it is none."""
        here = self.pencil(q).even()
        found = symmetric(here, 1, here.typical, np.zeros((0, here.mass.shape[0])))
        value = 0.0 if abs(found.values[0]) <= found.errors[0] else float(found.values[0])
        return value, found.vectors[:, 0]

    # ---- modes ---------------------------------------------------------------------------------

    def pencil(self, q: np.ndarray) -> Assembled:
        """K, M_B and D, sparse."""
        basis = self.tangents(q).basis
        k, size = self.stiffness(q)[0], abs(basis)
        return Assembled(
            basis.T @ k @ basis,
            basis.T @ self.mass(q) @ basis,
            self.drag(q),
            size.T @ abs(k) @ size,
        )

    def drag(self, q: np.ndarray) -> Any:
        """D = −f_v, sparse."""
        from scipy.sparse import csc_matrix

        basis = self.tangents(q).basis
        slope = self.mechanics.derivative("force", "v", self.t, self.par, q=q, **self.still)
        return csc_matrix(basis.T @ -slope @ basis)

    def mass(self, q: np.ndarray) -> Any:
        """M, sparse."""
        by = self.mechanics.inertia
        state = {"q": q, "v": self.rest, "p": self.rest}
        return -self.mechanics.derivative("respond", by, self.t, self.par, **state)

    def modes(self, q: np.ndarray, count: int) -> Found:
        """S of the slowest motions, with changes of the coordinates."""
        found = natural(self.pencil(q), count)
        return Found(found.values, self.tangents(q).basis @ found.vectors, found.errors)


def climbed(forces: Callable[[np.ndarray], np.ndarray], q: np.ndarray, there: np.ndarray) -> float:
    """∫(U_q − f)·dq along the straight way: the work of motors is no part of U."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    move = there - q
    return float(
        sum(b / 2 * forces(q + (1 + a) / 2 * move) @ move for a, b in zip(x, w, strict=True))
    )
