"""The precise-integration element: the linear part exactly, the rest as kicks.

About a state (c, p_c), at rest there, H is quadratic but for a remainder R:

    H = H(c) + ∂V·(q − c) + ½ zᵀS z + R(q, p),    z = (q − c, p − p_c),    S = ∂²H(c, p_c),

S with the stiffness K, the mass at c and, where L has terms linear in the velocities, what is
gyroscopic.  R and the forces f act as kicks, the rest exactly (⊕ adds to (q, p); t, h as usual):

    (q̄, p̄) = (q₀, p₀) ⊕ h/2 (R_p, −R_q + f)(q₀, p̄) ⊖ (0, G(q₀)ᵀλ),
    (q̂, p̂) = (c, p_c) + exp(h A) (q̄ − c, p̄ − p_c) + ∫₀ʰ exp(s A) ds b,
    (q₁, p₁) = (q̂, p̂) ⊕ h/2 (R_p, −R_q + f)(q₁, p̂) ⊖ (0, G(q₁)ᵀμ),

A = J S and b = −(0, ∂V(c)), with g(q₁, t₁) = 0 by λ and G v₁ + ∂g/∂t = 0 by μ.  For a constant mass
R_p vanishes, and positions are not kicked.

Symplectic Euler, an exact flow and the adjoint of the first: symmetric, symplectic, of order 2, and
exact where R = f = 0 and nothing is constrained, so in uniform gravity and magnetic fields.  Its
error does not depend on the frequencies of S as such, but where h ω is close to a multiple of π
the kicks fall in step with an oscillation: resonances.

The exponential is computed by Zhong's precise integration method: T = exp(h A/2ᴺ) − 1 by four terms
of its series, then N times T ← 2T + T².  Since exp − 1 is what is kept, no digit of the small
increments is lost; exp(h A) − 1 is what the compensated sums of a step need.  ∫ exp(s A) ds b is a
column of the same exponential, of A with b beside it.

Source: Zhong & Williams 1994 (doubling); Zhong & Gao 2006 (named there as the next step);
Hairer, Lubich & Wanner 2006, XIII.2 (resonances of such splittings).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, brief
from taut.methods.base import Method, Step, projected
from taut.portable import inverse as inverse_of, product

DOUBLINGS = 20
START = "start"
BLOCKS = ("qq", "qp", "pq", "pp")
# A linear part leaves nothing to the kicks at its own state, and is of use as far as it is most of
# what pulls there.
NEAR = 0.5  # of what the linear part adds: what the kicks are left with at the start, at most
ROUNDING = 1e-12  # of all that pulls: no kick


@public
@dataclass(frozen=True)
class PreciseElement(Method):
    """Strang splitting into an exact linear flow and kicks, on the constraint manifold.

    Parameters
    ----------
    linear : (n, n) array, or a quadratic expression of the coordinates, optional
        K, or the energy ½ (q − c)ᵀK(q − c) written for c = 0.  Without it K is the second
        derivative of the potential at c (at t = 0, if it depends on time).
    about : n numbers or "start", optional
        The state c that the linear part is taken about, which need be no equilibrium.  Without it
        the origin, if the run starts near it: if the linear part that was taken there is most of
        what has changed in the forces at the start.  Otherwise, or where the potential is not
        smooth at the origin, it is the start.  A stiffness that is given belongs to the origin.
    """

    linear: Any = None
    about: Any = None

    name: ClassVar[str] = "precise-element"
    order: ClassVar[int] = 2
    symplectic: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    references: ClassVar[tuple[str, ...]] = ("zhong1994", "zhong2006")

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.linear is not None and not isinstance(self.linear, sp.Expr):
            put(self, "linear", _numbers("linear", self.linear, 2))
        if self.about is not None and not (isinstance(self.about, str) and self.about == START):
            put(self, "about", _numbers("about", self.about, 1))

    @property
    def label(self) -> str:
        """Without the numbers."""
        changed = ["own linear part"] if self.linear is not None else []
        if self.about is not None:
            changed.append("about the start" if self.about == START else "about a state")
        return f"{self.name} ({', '.join(changed)})" if changed else self.name

    def begun(self, mechanics: Any, parameters: np.ndarray, q: np.ndarray) -> Method:
        given = self.about not in (None, START)
        if given or mechanics.system.first_order:  # which is refused when the tables are made
            return self
        if self.about is None and self._serves(mechanics, parameters, q):
            return self
        if q.ndim > 1:
            raise InputError(
                f"the {self.name} is linear about one state, and a batch has many starts",
                expected="about=[…], a state where the potential is smooth",
                received="the start"
                if self.about == START
                else "starts far from the origin, or an origin where it is not",
                remedy="give about=[…], for example the first of the starts",
            )
        return replace(self, about=tuple(q.tolist()))

    def _serves(self, mechanics: Any, parameters: np.ndarray, q: np.ndarray) -> bool:
        """Whether the linear part at the origin says something of what starts at q."""
        origin = np.zeros(mechanics.n)
        if not _smooth(mechanics, parameters, origin):
            return False
        starts = np.atleast_2d(q)
        return self.linear is not None or all(_near(mechanics, parameters, x) for x in starts)

    def program(self, step: Step) -> None:
        t, t1, h, q, p = step.t, step.t1, step.h, step.q, step.p
        linear = _Linear(step)
        bar, hat = (step.unknown(name, guess=p) for name in ("p_bar", "p_hat"))
        va, vb = (step.unknown(name, guess=step.v) for name in ("va", "vb"))
        lam = step.unknown("lambda", "c")
        dq = step.unknown("shift")
        q1 = step.moved(dq)
        impulse = step.push(q, t, lam)
        kick = (0.5 * h) * (step.force(q, va, bar, t) + linear.slope(q, bar))
        first, last = linear.drift(q, va, bar), linear.drift(q1, vb, hat)
        shift, swing = linear.flow(q, first, bar)
        velocities = (va, step.link(q, va, bar, t)), (vb, step.link(q1, vb, hat, t1))
        kicked = (bar, bar - p - kick + impulse)
        if step.separable:
            step.solve(velocities[0], kicked, (dq, dq - shift), (lam, step.g(q1, t1)), watch=va)
            step.solve((hat, hat - bar - swing), velocities[1], watch=vb)
        else:
            step.solve(
                velocities[0], kicked, (hat, hat - bar - swing), velocities[1],
                (dq, dq - first - shift - last), (lam, step.g(q1, t1)), watch=vb,
            )  # fmt: skip
        after = (0.5 * h) * (step.force(q1, vb, hat, t1) + linear.slope(q1, hat))
        dp = (kick - impulse) + swing + after
        correction, v1 = projected(step, q1, step.kicked(dp), t1)
        step.advance(q=dq, p=dp, v=v1, tangent=correction)

    def tables(self, mechanics: Any, parameters: np.ndarray, h: float) -> dict[str, np.ndarray]:
        n = mechanics.n
        if mechanics.system.first_order:
            raise InputError(
                f"the {self.name} is for mechanics", expected="a Lagrangian or a Hamiltonian",
                received="a flow", remedy="use gauss-lobatto-4",
            )  # fmt: skip
        centre = np.zeros(n) if self.about is None else np.array(self.about)
        if centre.shape != (n,):
            raise InputError("about does not fit", expected=(n,), received=centre.shape)
        slope, stiffness, cross, inverse, momentum = _quadratic(mechanics, parameters, centre)
        if self.linear is not None:
            stiffness = self._given(mechanics, parameters)
            slope = np.where(np.isfinite(slope), slope, 0.0)
        if not all(np.all(np.isfinite(x)) for x in (slope, stiffness, cross, inverse, momentum)):
            raise InputError(
                "there is no linear part to take at this state",
                expected=f"derivatives at {np.array2string(centre, threshold=6)}",
                received="none: the energy is not smooth there",
                remedy="give about=[…], a state where it is smooth, or about='start'",
            )
        flow = np.zeros((2 * n + 1, 2 * n + 1))
        flow[:n, :n], flow[:n, n:-1] = cross, inverse
        flow[n:-1, :n], flow[n:-1, n:-1], flow[n:-1, -1] = -stiffness, -cross.T, -slope
        flow = exp_minus_one(flow, h)[:-1]
        parts = flow[:n, :n], flow[:n, n:-1], flow[n:, :n], flow[n:, n:-1]
        return dict(zip(BLOCKS, parts, strict=True)) | {
            "stiffness": stiffness, "cross": cross, "cross_t": cross.T, "inverse": inverse,
            "centre": centre, "momentum": momentum, "slope": slope,
            "fall_q": flow[:n, -1], "fall_p": flow[n:, -1],
        }  # fmt: skip

    def _given(self, mechanics: Any, parameters: np.ndarray) -> np.ndarray:
        """K as it was given."""
        if isinstance(self.linear, sp.Expr):
            return _hessian(mechanics.system, self.linear, parameters)
        given = np.array(self.linear)
        if given.shape != (mechanics.n, mechanics.n) or not np.array_equal(given, given.T):
            raise InputError(
                "linear is no stiffness matrix of this system",
                expected=f"a symmetric matrix of shape ({mechanics.n}, {mechanics.n})",
                received=f"shape {given.shape}",
            )
        return given


class _Linear:
    """The linear part in the language of steps: its rates, and what its flow adds in a step."""

    def __init__(self, step: Step) -> None:
        self.separable, self.half = step.separable, 0.5 * step.h
        self.qq, self.qp, self.pq, self.pp, self.stiffness = (
            step.table(name) for name in (*BLOCKS, "stiffness")
        )
        vectors = ("centre", "momentum", "slope", "fall_q", "fall_p")
        self.centre, self.momentum, self.constant, self.fall_q, self.fall_p = (
            step.table(name, cols="1") for name in vectors
        )
        if not self.separable:
            names = ("cross", "cross_t", "inverse")
            self.cross, self.cross_t, self.inverse = (step.table(name) for name in names)

    def slope(self, q: Any, p: Any) -> Any:
        """∂H/∂q of the linear part."""
        found = self.constant + self.stiffness @ (q - self.centre)
        return found if self.separable else found + self.cross_t @ (p - self.momentum)

    def drift(self, q: Any, v: Any, p: Any) -> Any:
        """h/2 (v − ∂H/∂p of the linear part), which vanishes for a constant mass."""
        if self.separable:
            return None
        rest = self.cross @ (q - self.centre) + self.inverse @ (p - self.momentum)
        return self.half * (v - rest)

    def flow(self, q: Any, drift: Any, p: Any) -> tuple[Any, Any]:
        """What is added to q + drift and to p."""
        x = (q - self.centre) if self.separable else (q - self.centre) + drift
        y = p - self.momentum
        return self.qq @ x + self.qp @ y + self.fall_q, self.pq @ x + self.pp @ y + self.fall_p


def exp_minus_one(a: np.ndarray, h: float) -> np.ndarray:
    """Exp(h a) − 1 by 2ᴺ doubling, to the last digits also where it is small.

    In extended precision where the machine has it, so that one rounding is all that is left.
    """
    n, x = len(a), np.array(h * a, dtype=np.longdouble)
    # As many doublings more as it takes to bring h times the frequency below one.
    speed = np.sqrt(np.abs(h * h * product(a, a)).sum(axis=0).max(initial=0.0))
    doublings = DOUBLINGS + max(0, int(np.ceil(np.log2(max(speed, 1.0)))))
    x = x / 2**doublings
    one = np.eye(n)
    t = product(x, one + product(x, one + product(x, one + x / 4) / 3) / 2)
    for _ in range(doublings):
        t = 2 * t + product(t, t)
    return np.array(t, dtype=float)


def _quadratic(mechanics: Any, parameters: np.ndarray, centre: np.ndarray) -> tuple:
    """∂V, K, ∂²H/∂p∂q, ∂²H/∂p² and p_c at a state at rest, without forces.

    From L with v = 0:  dv = M⁻¹(dp − L_vq dq), so that H_pp = M⁻¹, H_pq = −M⁻¹L_vq and
    H_qq = −L_qq + L_qv M⁻¹L_vq.  From H at the p where v = H_p vanishes.
    """
    zero = np.zeros(mechanics.n)
    momentum = mechanics.momentum(centre, zero, 0.0, parameters)
    state: dict[str, np.ndarray] = {"q": centre, "v": zero, "p": momentum}

    def d(operator: str, by: str) -> np.ndarray:
        return mechanics.derivative(operator, by, 0.0, parameters, **state).toarray()

    slope, stiffness = -mechanics.apply("pull", 0.0, parameters, **state), -d("pull", "q")
    if mechanics.form == "lagrangian":
        inverse = inverse_of(mechanics.mass(centre, zero, momentum, 0.0, parameters))
        mixed = -d("link", "q")
        cross = -product(inverse, mixed)
        stiffness = stiffness + product(mixed.T, inverse, mixed)
    else:
        inverse, cross = -d("link", "p"), -d("link", "q")
    return slope, (stiffness + stiffness.T) / 2, cross, (inverse + inverse.T) / 2, momentum


def _near(mechanics: Any, parameters: np.ndarray, start: np.ndarray) -> bool:
    """Whether kicks are the smaller part of what pulls at a start, and not at the origin.

    Forces are compared as accelerations, by the mass at the origin.  With L this is at rest, with H
    at the momentum of rest at the origin, as the second derivatives are.
    """
    origin, zero = np.zeros(mechanics.n), np.zeros(mechanics.n)
    inverse, momentum = _quadratic(mechanics, parameters, origin)[3:]

    def slope(q: np.ndarray) -> np.ndarray:
        return -mechanics.apply("pull", 0.0, parameters, q=q, v=zero, p=momentum)

    def size(force: np.ndarray) -> float:
        return float(np.sqrt(abs(force @ inverse @ force)))

    state: dict[str, np.ndarray] = {"q": origin, "v": zero, "p": momentum}
    stiffness = -mechanics.derivative("pull", "q", 0.0, parameters, **state).toarray()
    here, there, linear = slope(origin), slope(start), stiffness @ start
    if not np.all(np.isfinite(there)):
        return True  # where nothing is smooth, nothing is better
    all_that_pulls = size(here) + size(there) + size(linear)
    return size(there - here - linear) <= max(NEAR * size(linear), ROUNDING * all_that_pulls)


def _smooth(mechanics: Any, parameters: np.ndarray, centre: np.ndarray) -> bool:
    """Whether the energy has a linear part there."""
    try:
        found = _quadratic(mechanics, parameters, centre)
    except np.linalg.LinAlgError:
        return False
    return all(bool(np.all(np.isfinite(x))) for x in found)


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
    except Exception as error:  # things of somebody's own raise what they like
        raise _odd(what, given) from error
    if array.ndim != dimensions or not np.all(np.isfinite(array)):
        raise _odd(what, given)
    return tuple(map(tuple, array.tolist())) if dimensions == 2 else tuple(array.tolist())


def _odd(what: str, given: Any) -> InputError:
    expected = {"linear": "a matrix or a quadratic expression", "about": f"n numbers or {START!r}"}[
        what
    ]
    return InputError(f"{what} cannot be used", expected=expected, received=brief(given))
