"""The stabilised index-2 equations of Gear, Gupta and Leimkuhler, by Radau IIA.

Both constraints are required, and a second multiplier η makes room for the first of them:

    q̇ = v + w,      M w = −G(q)ᵀη,      g(q, t) = 0,
    ṗ = F(q, v, p) − G(q)ᵀλ,  v ∼ (q, p),      G v + ∂g/∂t = 0.

From g = 0 follows G q̇ + ∂g/∂t = 0, hence G M⁻¹Gᵀη = 0: on every exact solution η = 0, so no other
equation needs a term in η, and the motion is that of the index-3 equations.  The original takes
M q̇ = M v − Gᵀη; q̇ = v − Gᵀη is also in use, but adds a force to a velocity: with M⁻¹ the step does
not depend on the units of the coordinates, and w is the M-orthogonal correction.

Radau IIA with s stages is applied to it,

    Qᵢ = q + h Σ aᵢⱼ (Vⱼ + Wⱼ),      Pᵢ = p + h Σ aᵢⱼ (Fⱼ − G(Qⱼ)ᵀΛⱼ),

with all constraints at all stages.  It is stiffly accurate (the last stage is the result), so the
result meets both; order 2s − 1 in q and p.  L-stable: it damps, and the energy falls.

Source: Gear, Leimkuhler & Gupta 1985, J. Comput. Appl. Math. 12, 77; Hairer, Lubich & Roche 1989,
LNM 1409, theorem 5.9 and VII.4 of Hairer & Wanner 1996 (order for index 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from taut.calls import public
from taut.methods import tableaux
from taut.methods.base import Method, Step, moment, weighted
from taut.methods.spark import checked_stages


@public
@dataclass(frozen=True)
class GGL(Method):
    """Gear–Gupta–Leimkuhler with Radau IIA: order 2s − 1 for s = 1 … 6.

    Parameters
    ----------
    stages : int
        1 is implicit Euler.
    """

    stages: int = 3

    name: ClassVar[str] = "ggl"
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("gear1985", "hairer1989", "hairer1996, VII.4")

    def __post_init__(self) -> None:
        checked_stages(self.stages, 1)

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 * self.stages - 1

    @property
    def depth(self) -> int:  # type: ignore[override]
        return 2 * self.stages  # each stage has a velocity and a correction

    @cached_property
    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """(c, A) of Radau IIA; b is the last row of A."""
        nodes = tableaux.radau_nodes(self.stages)
        return tableaux.rounded([nodes])[0], tableaux.rounded(tableaux.integrals(nodes, nodes))

    def program(self, step: Step) -> None:
        (c, a), h, s = self.coefficients, step.h, self.stages
        v = step.stages("V", c, guess=step.v)
        p = step.stages("P", c, guess=step.p)
        w, r = ([step.unknown(f"{x}{i}") for i in range(s)] for x in "WR")
        lam, eta = ([step.unknown(f"{x}{i}", "c") for i in range(s)] for x in ("lambda", "eta"))
        moves = [v[j] + w[j] for j in range(s)]
        times = [moment(step, x) for x in c]
        dq = h * weighted(a[-1], moves)
        q1 = step.moved(dq)
        q = [step.q + h * weighted(row, moves) for row in a[:-1]] + [q1]
        pulls = [step.force(*x) for x in zip(q, v, p, times, strict=True)]
        pushes = [step.push(*x) for x in zip(q, times, lam, strict=True)]
        kicks = [pull - push for pull, push in zip(pulls, pushes, strict=True)]
        stages = range(s)
        step.solve(
            *((r[i], r[i] + step.push(q[i], times[i], eta[i])) for i in stages),
            *((w[i], step.respond(q[i], v[i], p[i], w[i], r[i], times[i])) for i in stages),
            *((v[i], step.link(q[i], v[i], p[i], times[i])) for i in stages),
            *((p[i], p[i] - step.p - h * weighted(a[i], kicks)) for i in stages),
            *((lam[i], step.hidden(q[i], v[i], times[i])) for i in stages),
            *((eta[i], step.g(q[i], times[i])) for i in stages),
            watch=weighted(a[-1], moves),
            each=moves,
        )
        step.advance(q=dq, p=h * weighted(a[-1], kicks), v=v[-1])
