"""Is there a drift?  A slope of block means with an honest confidence interval.

After the first sixteenth of the run, at most 32 block means ȳ_j at times τ_j are fitted by a line.
What counts as noise is what is left after a parabola (a drift that bends is still a drift, and on
a uniform grid the parabola does not change the slope).  This noise is correlated, since the energy
error oscillates slowly; with lag-1 autocorrelation ρ the number of independent values is n (1 −
ρ)/(1 + ρ), which widens the interval (Bartlett 1935; Zwiers & von Storch 1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taut.calls import public

GROUPS = 32
CAUTIOUS = 4.0  # how much wider intervals are than the scatter of what does not depend on others


@public
@dataclass(frozen=True)
class Drift:
    """A slope and how sure one can be of it.

    Attributes
    ----------
    slope, half_width : float
        Per unit of time; 95 % interval slope ± half_width.
    duration : float
    band : float
        Largest minus smallest value.
    turns : int
        How often the block means change their direction by more than a tenth of their range.
    """

    slope: float
    half_width: float
    duration: float
    band: float
    turns: int = 0

    @property
    def relative(self) -> float:
        """Slope × duration / band: the share of the band that is drift."""
        return float(self.slope * self.duration / self.band) if self.band > 0 else 0.0

    @property
    def relative_half_width(self) -> float:
        """The interval of `relative`."""
        return float(self.half_width * self.duration / self.band) if self.band > 0 else 0.0

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero and the drift is over a twentieth of the band."""
        return abs(self.slope) > self.half_width and abs(self.relative) > 0.05


@public
def drift_of(means: np.ndarray, block_time: float, duration: float, band: float) -> Drift:
    """The drift of a quantity from its block means.

    Parameters
    ----------
    means : ndarray, shape (n,)
        Means over consecutive blocks of length `block_time`.
    """
    if len(means) < 6 or band == 0.0:
        return Drift(0.0, np.inf if band else 0.0, duration, band)
    # The start is a special state, often an extreme of the error: its neighbourhood is left out.
    means = means[len(means) // 16 :]
    if not np.all(np.isfinite(means)) or np.abs(means).max() > 1e150:
        return Drift(0.0, np.inf, duration, band)  # blown up: nothing can be said
    groups = np.array_split(means, min(len(means), GROUPS))
    y = np.array([group.mean() for group in groups])
    n = len(y)
    # Centres of the groups; the groups differ by one block in length at most.
    ends = np.cumsum([len(group) for group in groups])
    tau = (ends - np.array([len(group) for group in groups]) / 2) * block_time
    tau = tau - tau.mean()
    slope = float(tau @ (y - y.mean()) / (tau @ tau))
    basis = np.linalg.qr(np.vander(tau / np.abs(tau).max(), 3))[0]
    noise = y - basis @ (basis.T @ y)
    spread = float(noise @ noise)
    turns = _turns(y)
    if spread == 0.0:
        return Drift(slope, 0.0, duration, band, turns)
    rho = float(np.clip(noise[1:] @ noise[:-1] / spread, 0.0, 0.999))
    # With few values ρ is underestimated; the usual first-order correction.
    rho = min(0.999, rho + (1 + 4 * rho) / n)
    freedom = max(n * (1 - rho) / (1 + rho) - 3.0, 1.0)
    error = np.sqrt(spread / freedom / (tau @ tau))
    return Drift(slope, float(_t95(freedom) * error), duration, band, turns)


def _turns(y: np.ndarray) -> int:
    """Changes of direction, each by more than a tenth of the range."""
    least = 0.1 * np.ptp(y)
    turns, direction, extreme = 0, 0, y[0]
    for value in y[1:]:
        if direction * (value - extreme) >= 0 and direction:
            extreme = value  # further on
        elif abs(value - extreme) > least:
            turns += direction != 0
            direction, extreme = (1 if value > extreme else -1), value
    return int(turns)


def pooled(drifts: list[Drift]) -> Drift:
    """The mean drift of many trajectories, in units of the largest band.

    With four or more trajectories the interval comes from their scatter, else from their own.
    Trajectories that begin next to each other are no independent ones: they scatter by much less
    than their own intervals say, and what is common to them does not become smaller in the mean.
    """
    if len(drifts) == 1:
        return drifts[0]
    band, duration = max(d.band for d in drifts), max(d.duration for d in drifts)
    slopes = np.array([d.relative * band / duration for d in drifts])
    if len(drifts) >= 4:
        own = float(np.median([d.relative_half_width for d in drifts])) * band / duration
        scatter = float(_t95(len(drifts) - 1) * slopes.std(ddof=1))
        common = np.sqrt(max(own**2 - (CAUTIOUS * scatter) ** 2, 0.0))
        half = np.hypot(scatter / np.sqrt(len(drifts)), common)
    else:
        half = np.sqrt(sum((d.relative_half_width * band / duration) ** 2 for d in drifts)) / len(
            drifts
        )
    turns = min(d.turns for d in drifts)
    return Drift(float(slopes.mean()), float(half), duration, band, turns)


def _t95(freedom: float) -> float:
    """Two-sided 95 % point of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(max(freedom, 1.0), 0.975))
