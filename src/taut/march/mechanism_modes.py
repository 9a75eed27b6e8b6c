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

from taut.errors import InputError, brief, number
from taut.kernel.compile import workshop
from taut.march.assemble import Assembly, _apart, _coordinates, _Energy, rest
from taut.march.modes import SmallMotions, turned
from taut.march.natural import GROWS, natural
from taut.march.project import widths
from taut.march.resting import Resting

if TYPE_CHECKING:
    from taut.model.mechanism import Mechanism

REST = 1e-6  # of the forces that are met: what may be left over where a mechanism rests
FITS = 1e-9  # of what a constraint changes by over the size of the coordinates


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
    errors : ndarray, shape (count,)
        By how much eigenvalues may be off: residuals, and what rounding has done to stiffness.
    """

    mechanism: Mechanism = field(repr=False)
    eigenvalues: np.ndarray
    shapes: np.ndarray = field(repr=False)
    errors: np.ndarray = field(repr=False)
    head: ClassVar[bool] = True
    grows: ClassVar[float] = GROWS

    @property
    def squares(self) -> np.ndarray:
        """−Re s²; where nothing damps ω², negative of motions that grow."""
        return -np.real(self.eigenvalues**2)

    def title(self) -> str:
        """One line."""
        if not len(self.eigenvalues):
            return "Modes of a mechanism: none, since no freedom is left"
        return f"Modes of a mechanism: {self.verdict}"

    def rows(self) -> list[list[str]]:
        """The table."""
        if not len(self.eigenvalues):
            return []
        damped = bool(np.any(self.rates < 0))
        beside, more = self._beside(), ["decay 1/s", "ratio"] if damped else []
        rows = [["mode", "Hz", "rad/s", *more, *beside[0], ""]]
        for k, s in enumerate(self.eigenvalues):
            row = [str(k + 1), f"{self.hertz[k]:.6g}", f"{self.frequencies[k]:.6g}"]
            if damped:
                row += [f"{0.0 - s.real:.6g}", f"{self.damping_ratios[k]:.4g}"]
            word = "grows" if self.growing[k] else ""
            if s == 0:
                word = "no stiffness" + (" beyond round-off" if self.errors[k] else "")
            rows.append([*row, *beside[k + 1], word])
        return rows


def _check_rest(energy: _Energy, q: np.ndarray) -> None:
    """Refuse a place where parts do not fit, or that they would leave by themselves."""
    m, force = energy.mechanics, -energy.slope(q)
    size, left = np.abs(force).max(initial=0.0), force
    if m.c:
        wide = widths(m, q, energy.t, energy.par)
        off = ~(np.abs(m.g(q, energy.t, energy.par)) <= FITS * wide)
        if off.any():
            raise InputError(
                "the parts do not fit together there",
                expected="coordinates on all constraints",
                received=f"{m.system.constraint_names[int(np.argmax(off))]} does not hold",
                remedy="at=m.equilibrium(q0=…)",
            )
        held = m.gradients(q, energy.t, energy.par).T @ energy.multipliers(q)
        left, size = force - held, max(size, np.abs(held).max(initial=0.0))
    # What is left of springs that rest is rounding of their lengths.
    stiff = np.abs(energy.bend(q, energy.multipliers(q))).max(initial=0.0)
    size = max(size, stiff * np.abs(q).max(initial=0.0))
    if not np.all(np.abs(left) <= REST * size):
        raise InputError(
            "there is no rest there, so small motions about it are none",
            expected="a place where all forces are in balance",
            received=f"{np.abs(left).max() / size:.1e} of the forces is left over",
            remedy="at=m.equilibrium(), or at=m.equilibrium(q0=…, stable=False) near to it",
        )


def mechanism_modes(
    mechanism: Mechanism, at: Any = None, count: int = 10, time: float | None = None
) -> MechanismModes:
    """Natural motions about a rest; see `Mechanism.modes`."""
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
        raise InputError("this is no number of modes", expected="1 or more", received=brief(count))
    found = rest(mechanism, time=0.0 if time is None else time) if at is None else at
    q = _coordinates("at", found, mechanism.size)
    own = found.time if isinstance(found, Assembly) else 0.0
    t = own if time is None else number("the time", time)
    system = mechanism.system()
    mechanics, par = workshop(system).mechanics, system.values()
    if _apart(mechanism, system):
        found = Resting(mechanism, mechanics, par, t).modes(q, count)
        return MechanismModes(system.mechanism, found.values, turned(found.vectors).T, found.errors)
    energy = _Energy(mechanics, par, t)
    _check_rest(energy, q)
    directions = energy.free(q)
    found = natural(energy.pencil(q, directions), count)
    shapes = turned(directions @ found.vectors).T
    return MechanismModes(system.mechanism, found.values, shapes, found.errors)
