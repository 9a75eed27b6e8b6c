"""The precise-integration element: the linear part exactly, the rest as kicks.

For L = ½ vᵀM v − V(q) with a constant mass and V = ½ (q − q_e)ᵀK(q − q_e) + U(q), and with
R = −∇U + f = F + K(q − q_e), F being the whole force,

    p̄ = p₀ + h/2 R(q₀, p̄) − G(q₀)ᵀλ,
    (q₁ − q_e, p̂) = exp(h A) (q₀ − q_e, p̄),     A = [0, M⁻¹; −K, 0],     g(q₁, t₁) = 0,
    p₁ = p̂ + h/2 R(q₁, p̂) − G(q₁)ᵀμ,            G(q₁) M⁻¹p₁ + ∂g/∂t = 0.

Symmetric, symplectic, of order 2, and exact where U = f = 0 and nothing is constrained.  Its error
does not depend on the frequencies of K as such, but where h ω is close to a multiple of π the
kicks fall in step with an oscillation: resonances.

The exponential is computed by Zhong's precise integration method: T = exp(h A/2ᴺ) − 1 by four terms
of its series, then N times T ← 2T + T².  Since exp − 1 is what is kept, no digit of the small
increments is lost; exp(h A) − 1 is what the compensated sums of a step need.

Source: Zhong & Williams 1994 (doubling); Zhong & Gao 2006 (named there as the next step);
Hairer, Lubich & Wanner 2006, XIII.2 (resonances of such splittings).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import sympy as sp

from taut.errors import InputError
from taut.methods.base import Method, Step, projected

DOUBLINGS = 20
BLOCKS = ("qq", "qp", "pq", "pp")


@dataclass(frozen=True)
class PreciseElement(Method):
    """Strang splitting into an exact linear flow and kicks, on the constraint manifold.

    Parameters
    ----------
    linear : (n, n) array, or a quadratic expression of the coordinates, optional
        K, or the energy ½ (q − q_e)ᵀK(q − q_e) written for q_e = 0.  Without it K is the second
        derivative of the potential at the equilibrium (of V(q, 0), if it depends on time).
    equilibrium : n numbers, optional
        q_e; without it the origin.
    """

    linear: Any = None
    equilibrium: Any = None

    name: ClassVar[str] = "precise-element"
    order: ClassVar[int] = 2
    symplectic: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    general: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("zhong1994", "zhong2006")

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.linear is not None and not isinstance(self.linear, sp.Expr):
            put(self, "linear", _numbers("linear", self.linear, 2))
        if self.equilibrium is not None:
            put(self, "equilibrium", _numbers("equilibrium", self.equilibrium, 1))

    @property
    def label(self) -> str:
        """Without the numbers."""
        given = [x for x in ("linear", "equilibrium") if getattr(self, x) is not None]
        return f"{self.name} (own {' and '.join(given)})" if given else self.name

    def program(self, step: Step) -> None:
        t, t1, h, q, p = step.t, step.t1, step.h, step.q, step.p
        qq, qp, pq, pp, stiffness = (step.table(name) for name in (*BLOCKS, "stiffness"))
        centre = step.table("centre", cols="1")
        bar, hat = (step.unknown(name, guess=p) for name in ("p_bar", "p_hat"))
        va, vb = (step.unknown(name, guess=step.v) for name in ("va", "vb"))
        lam = step.unknown("lambda", "c")
        dq = step.unknown("shift")
        away = q - centre
        q1 = step.moved(dq)
        impulse = step.push(q, t, lam)
        kick = (0.5 * h) * (step.force(q, va, bar, t) + stiffness @ away)
        step.solve(
            (va, step.link(q, va, bar, t)),
            (bar, bar - p - kick + impulse),
            (dq, dq - qq @ away - qp @ bar),
            (lam, step.g(q1, t1)),
            watch=va,
        )
        swing = pq @ away + pp @ bar
        step.solve((hat, hat - bar - swing), (vb, step.link(q1, vb, hat, t1)), watch=vb)
        last = (0.5 * h) * (step.force(q1, vb, hat, t1) + stiffness @ (q1 - centre))
        dp = (kick - impulse) + swing + last
        correction, v1 = projected(step, q1, step.kicked(dp), t1)
        step.advance(q=dq, p=dp, v=v1, tangent=correction)

    def tables(self, mechanics: Any, parameters: np.ndarray, h: float) -> dict[str, np.ndarray]:
        n = mechanics.n
        if not mechanics.separable(parameters):
            raise InputError(
                f"the {self.name} needs a constant mass",
                expected="L = ½ vᵀM v − V(q, t), or H = ½ pᵀM⁻¹p + V(q, t), with a constant M",
                received="a mass that depends on the state, or terms linear in the velocities",
                remedy="use rattle, time-element or gauss-lobatto-6",
            )
        centre = np.zeros(n) if self.equilibrium is None else np.array(self.equilibrium)
        if centre.shape != (n,):
            raise InputError("equilibrium does not fit", expected=(n,), received=centre.shape)
        stiffness = self._stiffness(mechanics, parameters, centre)
        zero, nothing = np.zeros(n), np.zeros((n, n))
        inverse = np.linalg.inv(mechanics.mass(centre, zero, zero, 0.0, parameters))
        flow = exp_minus_one(np.block([[nothing, inverse], [-stiffness, nothing]]), h)
        parts = flow[:n, :n], flow[:n, n:], flow[n:, :n], flow[n:, n:]
        return dict(zip(BLOCKS, parts, strict=True)) | {"stiffness": stiffness, "centre": centre}

    def _stiffness(self, mechanics: Any, parameters: np.ndarray, centre: np.ndarray) -> np.ndarray:
        if isinstance(self.linear, sp.Expr):
            return _hessian(mechanics.system, self.linear, parameters)
        if self.linear is None:
            return _about(mechanics, parameters, centre)
        given = np.array(self.linear)
        if given.shape != (mechanics.n, mechanics.n) or not np.array_equal(given, given.T):
            raise InputError(
                "linear is no stiffness matrix of this system",
                expected=f"a symmetric matrix of shape ({mechanics.n}, {mechanics.n})",
                received=f"shape {given.shape}",
            )
        return given


def exp_minus_one(a: np.ndarray, h: float) -> np.ndarray:
    """Exp(h a) − 1 by 2ᴺ doubling, to the last digits also where it is small.

    In extended precision where the machine has it, so that one rounding is all that is left.
    """
    n, x = len(a), np.array(h * a, dtype=np.longdouble)
    # As many doublings more as it takes to bring h times the frequency below one.
    speed = np.sqrt(np.abs(h * h * (a @ a)).sum(axis=0).max(initial=0.0))
    doublings = DOUBLINGS + max(0, int(np.ceil(np.log2(max(speed, 1.0)))))
    x = x / 2**doublings
    one = np.eye(n)
    t = x @ (one + x @ (one + x @ (one + x / 4) / 3) / 2)
    for _ in range(doublings):
        t = 2 * t + t @ t
    return np.array(t, dtype=float)


def _about(mechanics: Any, parameters: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Second derivative of the potential at an equilibrium."""
    slope = -mechanics.apply("pull", 0.0, parameters, q=centre)
    found = -mechanics.derivative("pull", "q", 0.0, parameters, q=centre).toarray()
    found = (found + found.T) / 2
    if not np.all(np.isfinite(found)) or np.any(np.abs(slope) > 1e-8 * np.abs(found).max()):
        raise InputError(
            "the potential has no equilibrium there to take the linear part from",
            expected=f"a vanishing gradient at {np.array2string(centre, threshold=6)}",
            received=f"one as large as {np.abs(slope).max():.3g}"
            if np.all(np.isfinite(slope))
            else "none: the potential is not smooth there",
            remedy="give equilibrium=[…], or linear=… (the stiffness) with equilibrium=[…]",
        )
    return found


def _hessian(system: Any, energy: sp.Expr, parameters: np.ndarray) -> np.ndarray:
    """K of a quadratic expression."""
    values = dict(zip(system.parameters, parameters.tolist(), strict=True))
    energy = system.read(energy).xreplace(system.parameter_symbols(values))
    matrix = sp.hessian(energy, system.coordinates)
    if (
        matrix.free_symbols
        or energy.free_symbols - set(system.coordinates)
        or matrix.is_zero_matrix
    ):
        raise InputError(
            "linear is not quadratic",
            expected="½ qᵀK q with numbers and parameters in K",
            received=str(energy)[:80],
            remedy="the rest of the potential stays in the system; linear takes its quadratic part",
        )
    return np.array(matrix, dtype=float)


def _numbers(what: str, given: Any, dimensions: int) -> tuple:
    """A vector or matrix as tuples, which are part of the method's key."""
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise _odd(what, given) from error
    if array.ndim != dimensions or not np.all(np.isfinite(array)):
        raise _odd(what, given)
    return tuple(map(tuple, array.tolist())) if dimensions == 2 else tuple(array.tolist())


def _odd(what: str, given: Any) -> InputError:
    expected = {"linear": "a matrix or a quadratic expression", "equilibrium": "n numbers"}[what]
    return InputError(f"{what} cannot be used", expected=expected, received=repr(given)[:80])
