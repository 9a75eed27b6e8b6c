"""Partitioned Runge–Kutta methods with multipliers at constraint nodes: SPARK (Jay).

Stages at cᵢ carry velocities Vᵢ ∼ (Qᵢ, Pᵢ) and forces Fᵢ; constraint nodes c̃₀ = 0 … c̃_r = 1 carry
the multipliers Λⱼ and the conditions g = 0:

    Qᵢ = q + h Σ aᵢⱼ Vⱼ,      Pᵢ = p + h Σ âᵢⱼ Fⱼ − h Σ ãᵢⱼ G(Q̃ⱼ)ᵀΛⱼ,
    Q̃ᵢ = q + h Σ āᵢⱼ Vⱼ,      g(Q̃ᵢ) = 0  for i = 1 … r,      q₁ = Q̃_r,
    p₁ = p + h Σ bⱼ Fⱼ − h Σ b̃ⱼ G(Q̃ⱼ)ᵀΛⱼ,      G H_p + ∂g/∂t = 0 at the end.

With âᵢⱼ = bⱼ(1 − aⱼᵢ/bᵢ) and ãᵢⱼ = b̃ⱼ(1 − āⱼᵢ/bᵢ) the step is symplectic on the manifold.  Λ_r
enters p₁ only and is what makes it tangent.

* `GaussLobatto`: s Gauss stages, s + 1 Lobatto nodes; order 2s (Jay 2007).
* `LobattoPair`: stages and nodes are the s Lobatto points, IIIA for q and IIIB for p; order 2s − 2
  (Jay 1996); s = 2 is RATTLE.
* `SymplecticRK`: any symplectic tableau, nodes 0 and 1 only: the three-step composition of CQ,
  order 2.

Source: Jay 1996, SIAM J. Numer. Anal. 33, 368 (IIIA–IIIB); Jay 1998, SIAM J. Sci. Comput. 20, 416
(SPARK); Jay 2007, J. Comput. Appl. Math. 204, 56 (Gauss–Lobatto); CQ 2004.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from taut.calls import public
from taut.errors import InputError, UnknownName, brief
from taut.methods import tableaux
from taut.methods.base import Method, Step, Vector, moment, projected, weighted

MOST = 6  # stages


@dataclass(frozen=True)
class Coefficients:
    """The arrays of the module's head: stages c, a, â, b and nodes c̃, ā, ã, b̃."""

    c: np.ndarray
    a: np.ndarray
    a_hat: np.ndarray
    b: np.ndarray
    node_c: np.ndarray
    node_a: np.ndarray
    a_tilde: np.ndarray
    node_b: np.ndarray


def collocation(stages, nodes) -> Coefficients:
    """Coefficients of the symplectic pair on these stages and constraint nodes."""
    a, node_a = tableaux.integrals(stages, stages), tableaux.integrals(stages, nodes)
    (b,), (node_b,) = tableaux.integrals(stages, [1]), tableaux.integrals(nodes, [1])
    a_hat, a_tilde = tableaux.conjugate(a, b, b), tableaux.conjugate(node_a, b, node_b)
    rows = [[stages], a, a_hat, [b], [nodes], node_a, a_tilde, [node_b]]
    found = [tableaux.rounded(x) for x in rows]
    return Coefficients(*(x[0] if i in (0, 3, 4, 7) else x for i, x in enumerate(found)))


@public
class _Spark(Method):
    """What the three families share: the program."""

    symplectic: ClassVar[bool] = True

    @property
    @abstractmethod
    def coefficients(self) -> Coefficients:
        """Nodes, weights and matrices."""

    @property
    def depth(self) -> int:  # type: ignore[override]
        """Stages that are solved for together."""
        return len(self.coefficients.b)

    def program(self, step: Step) -> None:
        k, h, s = self.coefficients, step.h, len(self.coefficients.b)
        v = step.stages("V", k.c, guess=step.v)
        p = step.stages("P", k.c, guess=step.p)
        impulses = [step.unknown(f"lambda{j}", "c") for j in range(len(k.node_c) - 1)]
        dq = h * weighted(k.b, v)
        q1 = step.moved(dq)

        def place(row) -> Vector:
            if not np.any(row):
                return step.q
            return q1 if np.array_equal(row, k.b) else step.q + h * weighted(row, v)

        times, node_times = ([moment(step, c) for c in x] for x in (k.c, k.node_c))
        stages = [place(row) for row in k.a]
        nodes = [place(row) for row in k.node_a]
        forces = [step.force(*x) for x in zip(stages, v, p, times, strict=True)]
        pushes = [step.push(nodes[j], node_times[j], impulse) for j, impulse in enumerate(impulses)]
        links = [(v[i], step.link(stages[i], v[i], p[i], times[i])) for i in range(s)]
        momenta = []
        for i in range(s):
            rest = p[i] - step.p
            if np.any(k.a_hat[i]):
                rest = rest - h * weighted(k.a_hat[i], forces)
            if np.any(k.a_tilde[i, : len(pushes)]):
                rest = rest + weighted(k.a_tilde[i], pushes)
            momenta.append((p[i], rest))
        held = [
            (impulse, step.g(nodes[j + 1], node_times[j + 1])) for j, impulse in enumerate(impulses)
        ]
        step.solve(*links, *momenta, *held, watch=weighted(k.b, v), each=v)
        dp = h * weighted(k.b, forces) - weighted(k.node_b, pushes)
        correction, v1 = projected(step, q1, step.kicked(dp), step.t1)
        step.advance(q=dq, p=dp, v=v1, tangent=correction)


@public
@dataclass(frozen=True)
class GaussLobatto(_Spark):
    """Gauss stages with constraints at Lobatto nodes: order 2s for s = 1 … 6.

    Parameters
    ----------
    stages : int
    """

    stages: int = 2

    name: ClassVar[str] = "gauss-lobatto"
    told_by_order: ClassVar[str] = "stages"
    symmetric: ClassVar[bool] = True
    references: ClassVar[tuple[str, ...]] = ("jay1998", "jay2007")

    def __post_init__(self) -> None:
        checked_stages(self.stages, 1)

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 * self.stages

    @cached_property
    def coefficients(self) -> Coefficients:  # type: ignore[override]
        s = self.stages
        return collocation(tableaux.gauss_nodes(s), tableaux.lobatto_nodes(s + 1))


@public
@dataclass(frozen=True)
class LobattoPair(_Spark):
    """Lobatto IIIA–IIIB: order 2s − 2 for s = 2 … 6; s = 2 is RATTLE.

    Parameters
    ----------
    stages : int
    """

    stages: int = 3

    name: ClassVar[str] = "lobatto"
    told_by_order: ClassVar[str] = "stages"
    symmetric: ClassVar[bool] = True
    references: ClassVar[tuple[str, ...]] = ("jay1996",)

    def __post_init__(self) -> None:
        checked_stages(self.stages, 2)

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 * self.stages - 2

    @cached_property
    def coefficients(self) -> Coefficients:  # type: ignore[override]
        nodes = tableaux.lobatto_nodes(self.stages)
        return collocation(nodes, nodes)


@public
@dataclass(frozen=True)
class SymplecticRK(_Spark):
    """CQ's three-step composition with a symplectic Runge–Kutta method in the middle: order 2.

    Parameters
    ----------
    tableau : "midpoint", "gauss2" … "gauss6", or (A, b)
        An A and b of your own must be symplectic: bᵢaᵢⱼ + bⱼaⱼᵢ = bᵢbⱼ.
    """

    tableau: Any = "midpoint"

    name: ClassVar[str] = "symplectic-rk"
    order: ClassVar[int] = 2
    references: ClassVar[tuple[str, ...]] = ("cq2004",)

    def __post_init__(self) -> None:
        a, b = self._arrays
        defect = tableaux.symplectic_defect(a, b)
        if defect > 1e-14 or abs(b.sum() - 1) > 1e-14:
            raise InputError(
                "the tableau is not symplectic" if defect > 1e-14 else "the weights do not add up",
                expected="bᵢaᵢⱼ + bⱼaⱼᵢ = bᵢbⱼ and Σ bᵢ = 1",
                received=f"a defect of {defect:.2g}, Σ bᵢ = {b.sum():.16g}",
                remedy="gauss2 and midpoint are; explicit methods never are",
            )
        kept = self.tableau if isinstance(self.tableau, str) else (_frozen(a), tuple(b.tolist()))
        object.__setattr__(self, "tableau", kept)  # hashable, and part of the method's key

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.tableau, str):
            known = {"midpoint": 1} | {f"gauss{s}": s for s in range(1, MOST + 1)}
            if self.tableau not in known:
                raise UnknownName("tableau", self.tableau, known)
            nodes = tableaux.gauss_nodes(known[self.tableau])
            a = tableaux.rounded(tableaux.integrals(nodes, nodes))
            return a, tableaux.rounded(tableaux.integrals(nodes, [1]))[0]
        try:
            a, b = (np.array(x, dtype=float) for x in self.tableau)
        except (TypeError, ValueError) as error:
            raise _misshapen(self.tableau) from error
        if b.ndim != 1 or a.shape != (len(b), len(b)) or not np.all(np.isfinite([*a, b])):
            raise _misshapen(self.tableau)
        return a, b

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        a, b = self._arrays
        return bool(np.abs(a + a[::-1, ::-1] - b).max() < 1e-14)

    @cached_property
    def coefficients(self) -> Coefficients:  # type: ignore[override]
        a, b = self._arrays
        ends, halves = np.array([0.0, 1.0]), np.array([0.5, 0.5])
        pushed = np.stack([np.full(len(b), 0.5), np.zeros(len(b))], axis=1)
        node_a = np.stack([np.zeros(len(b)), b])
        return Coefficients(a.sum(axis=1), a, a, b, ends, node_a, pushed, halves)


def _frozen(a: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in a.tolist())


def _misshapen(given: Any) -> InputError:
    return InputError(
        "that is no tableau",
        expected="a name, or (A, b) with A of shape (s, s) and b of length s",
        received=brief(given),
    )


def checked_stages(stages: Any, least: int) -> None:
    """Refuse a number of stages that there are no coefficients for."""
    if isinstance(stages, bool) or not isinstance(stages, int) or not least <= stages <= MOST:
        raise InputError(
            "stages is out of range",
            expected=f"a whole number from {least} to {MOST}",
            received=brief(stages),
        )
