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
from taut.march.limits import definite
from taut.march.project import nearest
from taut.march.spectrum import damped, general, symmetric
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
GROWING = 1e-13  # of it: what rounding may take for a motion that grows
GROWS = 1e-9  # Re s over the largest |s|
SLOWEST = 20  # motions that are looked at where forces have no potential
NODES = 5  # of the integral of work
EVEN = 1e-10  # of the largest stiffness: what is not symmetric


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
        return float(self.mechanics.energy(q, self.rest, self.rest, self.t, self.par))

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

    def steady(self, q: np.ndarray) -> bool:
        """Whether no small motion grows: K, and a little of M, are positive definite.

        Where K is not symmetric, or forces drive what they should damp, by the slowest motions.
        """
        k, m = self.matrices(q)
        if not k.shape[0]:
            return True
        if not self.has_potential(k) or not _positive(self.drag(q), m):
            found = self.modes(q, SLOWEST)[0]
            return not np.any(np.real(found) > GROWS * np.abs(found).max())
        return _positive(k, m)

    def low(self, q: np.ndarray) -> bool:
        """Whether the energy falls nowhere: K, and a little of M, are positive definite."""
        return _positive(*self.matrices(q))

    def has_potential(self, k: Any) -> bool:
        """Whether all forces have a potential: whether their stiffness is symmetric."""
        return np.abs((k - k.T).data).max(initial=0.0) <= EVEN * np.abs(k.diagonal()).max()

    def lowest(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """The lowest eigenvalue of K in the metric of masses, and its x; zero if it is none."""
        k, m, scale = self._scaled(q)
        fastest = float(np.abs(k.diagonal()).max())
        squares, z = symmetric(even(k), m, 1, 1e-9 * max(fastest, 1e-300))
        found = 0.0 if abs(squares[0]) <= GROWING * fastest else float(squares[0])
        return found, scale @ z[:, 0]

    def _scaled(self, q: np.ndarray) -> tuple[Any, Any, Any]:
        """K and M_B with ones on the diagonal of M_B, and how x is scaled for that."""
        from scipy.sparse import csc_matrix, diags

        k, m = self.matrices(q)
        scale = diags(1 / np.sqrt(m.diagonal()))
        return csc_matrix(scale @ k @ scale), csc_matrix(scale @ m @ scale), scale

    # ---- modes ---------------------------------------------------------------------------------

    def matrices(self, q: np.ndarray) -> tuple[Any, Any]:
        """K and M_B, sparse."""
        from scipy.sparse import csc_matrix

        basis = self.tangents(q).basis
        k = csc_matrix(basis.T @ self.stiffness(q)[0] @ basis)
        return k, csc_matrix(basis.T @ self.mass(q) @ basis)

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

    def modes(self, q: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(s, changes of the coordinates) of the slowest motions, shapes (k,), (n, k)."""
        if not self.tangents(q).basis.shape[1]:
            return np.zeros(0), np.zeros((self.mechanics.n, 0))
        k, m, scale = self._scaled(q)
        d = scale @ self.drag(q) @ scale
        fastest = float(np.abs(k.diagonal()).max())
        unit = 1e-9 * max(fastest, 1e-300)
        squares, z = symmetric(even(k), m, count, unit)
        still = np.abs(squares) <= 1e-13 * fastest
        squares = np.where(still, 0.0, squares)
        drags = np.abs(d.data).max(initial=0.0)
        if drags > 0:
            held = z[:, still].T @ (d @ z[:, still])
            once = int(np.linalg.matrix_rank(held, tol=SOFT * drags)) if held.size else 0
            idle = int(still.sum()) - once
            s, z = damped(k, d, m, count, unit, idle, once)
            s[: idle + once] = 0.0
        elif not self.has_potential(k):
            s, z = general(k, m, count, unit)
        else:
            s = roots(squares)
        grows = np.real(s) > GROWS * np.abs(s).max(initial=0.0)
        order = np.lexsort((np.abs(s), ~grows))
        s, z = s[order], z[:, order]
        z = z / np.sqrt(np.real(np.einsum("ia,ia->a", z.conj(), m @ z)))
        return s, self.tangents(q).basis @ (scale @ z)


def climbed(forces: Callable[[np.ndarray], np.ndarray], q: np.ndarray, there: np.ndarray) -> float:
    """∫(U_q − f)·dq along the straight way: the work of motors is no part of U."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    move = there - q
    return float(
        sum(b / 2 * forces(q + (1 + a) / 2 * move) @ move for a, b in zip(x, w, strict=True))
    )


def _positive(k: Any, m: Any) -> bool:
    """Whether a matrix, and a little of M, is positive definite; one of zeros is."""
    if not np.abs(k.data).max(initial=0.0):
        return True
    slow = GROWING * float(np.max(np.abs(k.diagonal()) / m.diagonal()))
    triplets = [(x.data, x.row, x.col) for x in (-even(k).tocoo(), m.tocoo())]
    return definite(k.shape[0], *triplets)(slow)


def roots(squares: np.ndarray) -> np.ndarray:
    """The s of ω² = −s²: iω, or the positive one of a motion that grows."""
    return np.where(squares < 0, 1, 1j) * np.sqrt(np.abs(squares))


def even(k: Any) -> Any:
    """The symmetric part."""
    return ((k + k.T) / 2).tocsc()
