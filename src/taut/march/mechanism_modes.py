"""Small motions of a mechanism about a rest: frequencies, decay and shapes.

In directions x that the constraints allow, orthonormal in the metric of the masses (see
`assemble`), a motion x e^{st} obeys

    (s² + s D + K) x = 0.

Where nothing damps and K is symmetric, s² are minus its eigenvalues.  Otherwise s and (x, s x) are
those of the matrix [[0, 1], [−K, −D]].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from taut.errors import InputError, number
from taut.kernel.compile import workshop
from taut.march.assemble import Assembly, _apart, _coordinates, _Energy, rest
from taut.march.modes import SmallMotions, turned
from taut.march.resting import EVEN, GROWS, Resting, roots as roots_of

if TYPE_CHECKING:
    from taut.model.mechanism import Mechanism

SOFT = 1e-9  # of the largest ω²: no stiffness
IDLE = 1e-6  # of the largest |s|: a root that is zero, twice perhaps


@dataclass(frozen=True, eq=False, repr=False)
class MechanismModes(SmallMotions):
    """Small motions e^{st} of a mechanism about a rest, the slowest first.

    Attributes
    ----------
    eigenvalues : ndarray of complex, shape (count,)
        s, one of each conjugate pair; of a motion that creeps back without swinging both are real,
        and each is a mode.
    shapes : ndarray, shape (count, n)
        Changes of the coordinates, with xᴴMx = 1; complex where parts do not move in step.
    """

    mechanism: Mechanism = field(repr=False)
    eigenvalues: np.ndarray
    shapes: np.ndarray = field(repr=False)
    head: ClassVar[bool] = True

    @property
    def squares(self) -> np.ndarray:
        """−Re s²; where nothing damps ω², negative of motions that grow."""
        return -np.real(self.eigenvalues**2)

    @property
    def stable(self) -> bool:
        """Whether no motion grows."""
        return not np.any(self.rates > GROWS * np.abs(self.eigenvalues).max(initial=0.0))

    def title(self) -> str:
        """One line."""
        return f"Modes of a mechanism: {'stable' if self.stable else 'not stable: a motion grows'}"

    def rows(self) -> list[list[str]]:
        """The table."""
        damped = bool(np.any(self.rates < 0))
        rows = [["mode", "Hz", "rad/s", *(["decay 1/s", "ratio"] if damped else []), ""]]
        for k, s in enumerate(self.eigenvalues):
            row = [str(k + 1), f"{self.hertz[k]:.6g}", f"{self.frequencies[k]:.6g}"]
            if damped:
                row += [f"{0.0 - s.real:.6g}", f"{self.damping_ratios[k]:.4g}"]
            rows.append([*row, self._word(s)])
        return rows

    def _word(self, s: complex) -> str:
        if s == 0:
            return "no stiffness"
        return "grows" if s.real > GROWS * abs(s) else ""


def mechanism_modes(
    mechanism: Mechanism, at: Any = None, count: int = 10, time: float | None = None
) -> MechanismModes:
    """Natural motions about a rest; see `Mechanism.modes`."""
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
        raise InputError("this is no number of modes", expected="1 or more", received=repr(count))
    found = rest(mechanism, time=0.0 if time is None else time) if at is None else at
    q = _coordinates("at", found, mechanism.size)
    own = found.time if isinstance(found, Assembly) else 0.0
    t = own if time is None else number("the time", time)
    system = mechanism.system()
    mechanics, par = workshop(system).mechanics, system.values()
    if _apart(mechanism, system):
        found, shapes = Resting(mechanism, mechanics, par, t).modes(q, count)
        return MechanismModes(system.mechanism, found, turned(shapes).T)
    energy = _Energy(mechanics, par, t)
    directions = energy.free(q)
    stiff = directions.T @ energy.bend(q, energy.multipliers(q)) @ directions
    drag = directions.T @ energy.drag(q) @ directions
    if np.abs(stiff - stiff.T).max(initial=0) <= EVEN * np.abs(stiff).max(initial=0):
        stiff = (stiff + stiff.T) / 2
    swings = not np.any(drag) and np.array_equal(stiff, stiff.T)
    roots, x = _swinging(stiff) if swings else _damped(stiff, drag)
    grows = np.real(roots) > GROWS * np.abs(roots).max(initial=0)
    order = np.lexsort((np.abs(roots), ~grows))[:count]
    return MechanismModes(system.mechanism, roots[order], (directions @ x[:, order]).T)


def _swinging(stiff: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Without damping: s = iω, or the positive root of a motion that grows."""
    squares, x = np.linalg.eigh(stiff)
    squares = np.where(np.abs(squares) <= SOFT * np.abs(squares).max(initial=1e-300), 0.0, squares)
    return roots_of(squares), x


def _damped(stiff: np.ndarray, drag: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One root of each conjugate pair, and all real ones; of zero as many as there are motions."""
    n = len(stiff)
    roots, z = np.linalg.eig(np.block([[np.zeros((n, n)), np.eye(n)], [-stiff, -drag]]))
    x, largest = z[:n], np.abs(roots).max()
    idle = np.abs(roots) <= IDLE * largest
    roots = np.where(np.abs(np.imag(roots)) <= EVEN * largest, np.real(roots), roots)
    kept = np.flatnonzero(~idle & (np.imag(roots) >= 0))
    x = turned(x[:, kept] / np.linalg.norm(x[:, kept], axis=0))
    _, sizes, rows = np.linalg.svd(stiff)
    still = rows[sizes <= SOFT * max(float(sizes[0]), largest**2)]
    roots = np.concatenate([np.zeros(len(still)), roots[kept]])
    return roots, np.hstack([still.T, x])
