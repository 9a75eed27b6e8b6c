"""ZG's time element, of any degree: discretise the action, constrain the stations.

On one element q is a polynomial of degree k in time and passes through k + 1 Lobatto points
q⁰ = q₀, q¹ … qᵏ = q₁, the stations of the constraints.  Its velocity is of degree k − 1 and
given by its values w₁ … w_k at the k Gauss points; mⱼ are their Lagrange polynomials.  Then

    Vᵢ = Σ mⱼ(cᵢ) wⱼ,   Qᵢ = q₀ + h Σ aᵢⱼ wⱼ,   qᵛ = q₀ + h Σ āᵥⱼ wⱼ,   q₁ = q₀ + h Σ βⱼ wⱼ

with the integrals aᵢⱼ, āᵥⱼ, βⱼ of mⱼ from 0 to cᵢ, to the station ν and to 1.  The action is a
quadrature (b, c) with r points, S = h Σ bᵢ L(Qᵢ, Vᵢ, t + cᵢh), and Pᵢ = L_v, Fᵢ = L_q + f at its
points (f by the discrete Lagrange–d'Alembert principle).  To be stationary against all changes
of the wⱼ, with g(qᵛ) = 0 for ν = 1 … k and multipliers λ₀ … λ_{k−1}, is

    Σᵢ bᵢ mⱼ(cᵢ) Pᵢ = βⱼ p₀ + h Σᵢ bᵢ (βⱼ − aᵢⱼ) Fᵢ − Σᵥ (βⱼ − āᵥⱼ) G(qᵛ)ᵀλᵥ,      j = 1 … k,
    p₁ = p₀ + h Σ bᵢ Fᵢ − Σᵥ G(qᵛ)ᵀλᵥ.

For k = 1, with V = (q₁ − q₀)/h, this is ZG's element: multipliers (form B) and independent (form A)

    p₀ = −∂S/∂q₀ + G(q₀)ᵀλ,  g(q₁) = 0;  p₁ = ∂S/∂q₁,
    N(q₀)ᵀ(p₀ + ∂S/∂q₀) = 0,  g(q₁) = 0;  π₁ = N(q₁)ᵀ ∂S/∂q₁,

where N = ∂q/∂u spans the null space of G in the chart of independent coordinates u.  Always the
state handed on is the tangent momentum: G M⁻¹ p₁ + ∂g/∂t = 0.

Source: Zhong & Gao 2006 (ZG), section 2; the index of λ is shifted as in the digest's item 5.
Degrees above one: Marsden & West 2001, section 2.2.6; orders: Ober-Blöbaum & Saake 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import mpmath as mp
import numpy as np

from taut.calls import public
from taut.errors import InputError, brief, word
from taut.methods import tableaux
from taut.methods.base import Method, Step, Vector, moment, projected, weighted

HIGHEST, MOST = 6, 8  # degree, points
# The quadratures: family and number of points.
QUADRATURES = {
    "trapezoid": ("lobatto", 2),
    "midpoint": ("gauss", 1),
    "simpson": ("lobatto", 3),
    **{f"gauss{r}": ("gauss", r) for r in range(1, MOST + 1)},
    **{f"lobatto{r}": ("lobatto", r) for r in range(2, MOST + 1)},
}


@dataclass(frozen=True)
class Coefficients:
    """The numbers of the module's head; rows belong to the points or stations."""

    c: np.ndarray  # points
    b: np.ndarray
    inner: np.ndarray  # where the wⱼ belong
    rate: np.ndarray  # mⱼ(cᵢ)
    place: np.ndarray  # aᵢⱼ
    paired: np.ndarray  # bᵢ mⱼ(cᵢ)
    pulled: np.ndarray  # bᵢ (βⱼ − aᵢⱼ)
    whole: np.ndarray  # βⱼ
    station: np.ndarray
    station_place: np.ndarray  # āᵥⱼ
    pushed: np.ndarray  # βⱼ − āᵥⱼ

    @classmethod
    def of(cls, degree: int, family: str, points: int) -> Coefficients:
        """All of them, computed with 60 digits and rounded once."""
        inner, stations = tableaux.gauss_nodes(degree), tableaux.lobatto_nodes(degree + 1)
        c = {"gauss": tableaux.gauss_nodes, "lobatto": tableaux.lobatto_nodes}[family](points)
        (b,), (whole,) = tableaux.integrals(c, [1]), tableaux.integrals(inner, [1])
        rate, place = tableaux.values(inner, c), tableaux.integrals(inner, c)
        at = tableaux.integrals(inner, stations)
        with mp.workdps(tableaux.DIGITS):
            paired = [[w * m for m in row] for w, row in zip(b, rate, strict=True)]
            pulled = [[w * x for x in _to_go(whole, row)] for w, row in zip(b, place, strict=True)]
            pushed = [_to_go(whole, row) for row in at]
        rows = ([c], [b], [inner], rate, place, paired, pulled, [whole], [stations], at, pushed)
        found = [tableaux.rounded(x) for x in rows]
        return cls(*(x[0] if i in (0, 1, 2, 7, 8) else x for i, x in enumerate(found)))


def _to_go(whole, passed) -> list:
    return [end - here for end, here in zip(whole, passed, strict=True)]


@public
@dataclass(frozen=True)
class TimeElement(Method):
    """Time element of Zhong & Gao, linear or of higher degree.

    Parameters
    ----------
    form : "multipliers" or "independent"
        Multipliers at the stations (n + c unknowns), or n − c independent coordinates with
        automatic charts (degree 1 only).  Both give the same trajectory.
    quadrature : "lobatto", "gauss", or with the number of points "lobatto4", "gauss3" …
        How the action of an element is integrated.  Without a number: degree + 1 Lobatto points,
        or as many Gauss points as the degree.  "trapezoid", "midpoint" and "simpson" are
        "lobatto2", "gauss1" and "lobatto3".
    start : "exact" or "paper"
        p₀ = L_v(q₀, v₀), or ZG's p₀ = −∂S₁/∂q₀ with (q₁ − q₀)/h taken as v₀, which makes the whole
        run first order (degree 1 only).
    degree : int, 1 … 6
        Of q as a polynomial of time within a step.
    """

    form: str = "multipliers"
    quadrature: str = "lobatto"
    start: str = "exact"
    degree: int = 1

    name: ClassVar[str] = "time-element"
    symplectic: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        k = self.degree
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= HIGHEST:
            expected = f"a whole number from 1 to {HIGHEST}"
            raise InputError("degree is out of range", expected=expected, received=brief(k))
        for option, known in (
            ("form", ("multipliers", "independent")),
            ("quadrature", ("gauss", "lobatto", *QUADRATURES)),
            ("start", ("exact", "paper")),
        ):
            word(f"TimeElement {option}", getattr(self, option), known)
        if self.rule[1] < k:
            raise InputError(
                f"{self.quadrature} has too few points for an element of degree {k}",
                expected=f"at least {k}, or some velocities would have no kinetic energy",
                received=self.rule[1],
                remedy='quadrature="gauss" and "lobatto" take as many as they need',
            )
        for option, plain in (("form", "multipliers"), ("start", "exact")):
            if k > 1 and getattr(self, option) != plain:
                raise InputError(
                    f"{option}={getattr(self, option)!r} is for elements of degree 1",
                    expected=f"degree=1, or {option}={plain!r}",
                    received=f"degree={k}",
                    remedy="both forms give the same trajectory" if option == "form" else None,
                )

    @property
    def rule(self) -> tuple[str, int]:
        """The quadrature's family and its number of points."""
        own = {"gauss": ("gauss", self.degree), "lobatto": ("lobatto", self.degree + 1)}
        return (own | QUADRATURES)[self.quadrature]

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        higher = ("marsden2001, 2.2.6", "oberblobaum2015") if self.degree > 1 else ()
        return ("zhong2006", *higher)

    @property
    def order(self) -> int:  # type: ignore[override]
        """That of the polynomial or that of the quadrature, whichever is lower."""
        family, points = self.rule
        return min(2 * self.degree, 2 * points if family == "gauss" else 2 * points - 2)

    @property
    def told_by_order(self) -> str:  # type: ignore[override]
        """The degree of an element of higher degree, where the quadrature does not matter."""
        return "degree" if self.degree > 1 and self.quadrature == "lobatto" else ""

    @property
    def charted(self) -> bool:  # type: ignore[override]
        """Whether the step is written in a chart that may have to be changed."""
        return self.form == "independent"

    @property
    def depth(self) -> int:  # type: ignore[override]
        """Velocities that are solved for together."""
        return self.degree

    @cached_property
    def coefficients(self) -> Coefficients:
        return Coefficients.of(self.degree, *self.rule)

    def program(self, step: Step) -> None:
        x, h, q, p = self.coefficients, step.h, step.q, step.p
        w = step.stages("w", x.inner, guess=step.v)
        moves = [h * rate for rate in w]
        dq = weighted(x.whole, moves)
        q1 = step.moved(dq)

        def place(c: float, row) -> Vector:
            return q if c == 0 else q1 if c == 1 else q + weighted(row, moves)

        momenta, links, forces = step.stages("P", x.c, guess=p), [], []
        for i, c in enumerate(x.c):
            here = place(c, x.place[i]), weighted(x.rate[i], w)
            links.append((momenta[i], step.link(*here, momenta[i], moment(step, c))))
            forces.append(step.force(*here, momenta[i], moment(step, c)))
        rests = [-float(b) * p for b in x.whole]
        for j, i in np.ndindex(self.degree, len(x.c)):
            rests[j] += _part(h, x.paired[i, j], momenta[i], x.pulled[i, j], forces[i])
        if self.form == "independent":
            self._independent(step, links, momenta, forces, w[0], dq, q1, rests[0])
            return
        stations = [place(*at) for at in zip(x.station, x.station_place, strict=True)]
        times = [moment(step, c) for c in x.station]
        lam = [step.unknown(f"lambda{v}", "c") for v in range(self.degree)]
        pushes = [step.push(*at) for at in zip(stations, times, lam, strict=False)]
        still = [(w[j], rest + weighted(x.pushed[:, j], pushes)) for j, rest in enumerate(rests)]
        held = [(lam[v], step.g(stations[v + 1], times[v + 1])) for v in range(self.degree)]
        step.solve(*links, *still, *held, watch=weighted(x.whole, w), each=w)
        pull = sum((float(b) * h) * force for b, force in zip(x.b, forces, strict=True))
        dp = pull - weighted(np.ones(self.degree), pushes)
        correction, v1 = projected(step, q1, step.kicked(dp), step.t1)
        step.advance(q=dq, p=dp, v=v1, tangent=correction)

    def _independent(self, step: Step, links, momenta, forces, v, dq, q1, before) -> None:
        x, t, t1, q = self.coefficients, step.t, step.t1, step.q
        after = 0 * step.p  # ∂S/∂q₁
        for b, c, momentum, force in zip(x.b.tolist(), x.c.tolist(), momenta, forces, strict=True):
            after += b * momentum + (c * b * step.h) * force if c else b * momentum
        free, bound = step.split(v)
        start, end = step.null_space(q, t), step.null_space(q1, t1)
        step.solve(*links, (bound, step.g(q1, t1)), (free, start.T @ before), watch=v)
        # Tangent momentum with the same pairing: N₁ᵀ p₁ = π₁, link(v₁, p₁), G v₁ + g_t = 0.
        v1, p1 = step.unknown("v1", guess=step.v), step.unknown("p1", guess=step.p)
        free1, bound1 = step.split(v1)
        step.solve(
            (p1, step.link(q1, v1, p1, t1)),
            (bound1, step.hidden(q1, v1, t1)),
            (free1, end.T @ (p1 - after)),
            watch=v1,
        )
        step.advance(q=dq, p=p1 - step.p, v=v1)

    def start_momentum(self, step: Step, v: Vector) -> Vector | None:
        if self.start == "exact":
            return None
        # p₀ = −∂S/∂q₀ at V = v₀ for the trapezoid: L_v − (h/2) L_q.
        weight = float(self.coefficients.pulled.sum())
        return -weight * step.h * step.force(step.q, v, step.p, step.t)


def _part(h, b, momentum: Vector, w, force: Vector) -> Vector:
    """B P − h w F without the zeros."""
    if w == 0:
        return float(b) * momentum
    push = (float(w) * h) * force
    return float(b) * momentum - push if b else -push
