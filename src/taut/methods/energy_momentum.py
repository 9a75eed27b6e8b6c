"""The energy–momentum method: discrete gradients with discrete constraint derivatives.

    q₁ = q₀ + h D_pH,     p₁ = p₀ − h D_qH + h f(q̄, v̄) − (D g)ᵀλ,     g(q₁, t₁) = 0,

where D f(x, y) is a discrete gradient, D f·(y − x) = f(y) − f(x).  Then

    H₁ − H₀ = D_qH·Δq + D_pH·Δp = f·Δq − λ·(D g Δq),

so without forces, and with D g Δq = g(q₁) − g(q₀) = 0, the energy is kept, whatever h.

*Momenta.*  Let z = (q, p) and let J(z), at most quadratic, be the momentum of an affine symmetry
ξ(z).  Then J₁ − J₀ = ∇J(z̄)·Δz = −h ξ(z̄)·DH, which is zero if DH = Σ ∇w_k(z̄) D_kF is made of at
most quadratic functions w_k with that symmetry (H = F(w)); likewise for g.

*A system given by L* = ½ vᵀM(q)v + A(q)·v − U(q): with v_ij the velocity of p_j at q_i and
ℓ̂(q; a, b) = ½ aᵀM(q)b + A(q)·(a + b)/2 − U(q),

    D_pH = ¼ (v₀₀ + v₀₁ + v₁₀ + v₁₁),     −D_qH = ½ (D_q ℓ̂(v₀₀, v₁₀) + D_q ℓ̂(v₀₁, v₁₁)),

since H(q₁, p) − H(q₀, p) is the negative difference of ℓ̂ with the two velocities of p.  If p does
not depend on q this is the mean velocity and D_q of −U.

*The hidden constraint.*  D g Δq = 0 makes the mean velocity tangent, but p₁ is tangent to O(h²)
only: its normal part changes its sign from step to step.  With `hidden` it is zero:
ψ = G v + ∂g/∂t = 0 at the end gets multipliers μ,

    q₁ = q₀ + h (D_pH + w),     p₁ = p₀ − h D_qH − (D g)ᵀλ − h y,     w·Δp + y·Δq = μ·(ψ₁ − ψ₀),

and H₁ − H₀ = −(w·Δp + y·Δq) − λ·(g₁ − g₀) = −μ·(ψ₁ − ψ₀) − λ·(g₁ − g₀) = 0 again.  w and y are
D_p and D_q of μ·ψ(q, p), and μ is zero for the exact motion.

Source: Gonzalez 1996, J. Nonlinear Sci. 6, 449 (discrete gradients, equivariance); Gonzalez 1999,
Physica D 132, 165 (constraints, also the hidden ones).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import sympy as sp

from taut.calls import public
from taut.errors import InputError, flag, listed
from taut.methods.base import Method, Step, Vector
from taut.model.invariants import Piece, degree, known_to, pieces, polarised
from taut.model.symbols import scalar
from taut.model.system import System
from taut.model.terms import Term

LONG = 60  # characters of a note that are shown

Ends = tuple[Vector, Vector, Vector, Vector, Vector, Vector]  # q, v, p, q₁, v₁, p₁


@public
@dataclass(frozen=True)
class EnergyMomentum(Method):
    """Keeps the energy to round-off for any step, and the momenta of the symmetries it finds.

    Parameters
    ----------
    invariants : sequence of Expr, optional
        Functions of q (of p too, for a Hamiltonian), at most quadratic, through which summands of
        the energy and constraints depend on it.  Without them distances, lengths and differences
        are found as they are written.
    hidden : bool
        Whether G v + ∂g/∂t = 0 is kept as well.
    """

    invariants: Any = ()
    hidden: bool = False

    name: ClassVar[str] = "energy-momentum"
    order: ClassVar[int] = 2
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True
    keeps_energy: ClassVar[bool] = True
    references: ClassVar[tuple[str, ...]] = ("gonzalez1996", "gonzalez1999")

    def __post_init__(self) -> None:
        given = () if self.invariants is None else self.invariants
        if isinstance(given, str | sp.Expr) or not isinstance(given, Iterable):
            given = (given,)
        given = listed("invariants", given)
        object.__setattr__(self, "invariants", tuple(scalar(e, "an invariant") for e in given))
        flag("hidden", self.hidden)

    @property
    def label(self) -> str:
        words = ["hidden constraint kept"] if self.hidden else []
        if self.invariants:
            words.append("through " + ", ".join(map(str, self.invariants)))
        return f"{self.name} ({'; '.join(words)})" if words else self.name

    @property
    def keeps_hidden(self) -> bool:  # type: ignore[override]
        return self.hidden

    @property
    def depth(self) -> int:  # type: ignore[override]
        return 2 if self.hidden else 1

    def invariants_of(self, system: System) -> tuple[sp.Expr, ...]:
        for e in self.invariants:
            terms = [x for x in system.terms if x.kind != "force"]
            homes = [x for x in terms if known_to(x, tuple(system.parameters), [e])]
            if not homes:
                raise InputError(
                    f"the invariant {e} is no function of the system's coordinates",
                    expected="an expression of " + ", ".join(q.name for q in system.coordinates),
                    remedy="for a system of terms, of the local coordinates of one of them",
                )
            names = {s.name for x in homes for s in (*x.coordinates, *x.rates)}
            order = degree(e, [s for s in e.free_symbols if s.name in names])
            if order is None or order > 2:
                raise InputError(
                    f"the invariant {e} is not quadratic",
                    expected="a polynomial of at most second degree in the coordinates",
                    remedy="give x**2 + y**2 rather than sqrt(x**2 + y**2)",
                )
        return self.invariants

    def notes(self, system: System) -> list[tuple[str, str, str]]:
        kept = "symmetries" if self._linear(system) else "translations"
        rows = []
        for what, constraints in (("energy by", False), ("constraints by", True)):
            terms = (x for x in system.terms if x.kind not in ("force", "flow"))
            found = [
                piece
                for term in terms
                if (term.kind == "constraint") == constraints
                for piece in self._pieces(system, term)
            ]
            if found:
                value, verdict = _words(found, kept)
                rows.append((what, value if len(value) <= LONG else f"{value[:LONG]}…", verdict))
        return rows

    def _linear(self, system: System) -> bool:
        """Whether the momenta of rotations are kept, too."""
        if system.form == "lagrangian":
            return not system.mixed
        # With `hidden`, v(q, p) has differences of its own, which respect translations only.
        return not self.hidden or all(
            degree(e.diff(p), (*x.coordinates, *x.rates)) in (0, 1)
            and not e.diff(p).free_symbols & set(x.coordinates)
            for x in system.terms
            if x.kind == "hamiltonian"
            for e in x.expressions
            for p in x.rates
        )

    def _pieces(self, system: System, term: Term) -> list[Piece]:
        """How a term is taken apart; of a Lagrangian the part that depends on q."""
        given = known_to(term, tuple(system.parameters), self.invariants)
        groups, expressions = [term.coordinates], term.expressions
        if term.kind == "hamiltonian":
            groups.append(term.rates)
        if term.kind == "lagrangian":
            expressions = (polarised(expressions[0], term.rates, term.rates, term.rates),)
        return [x for e in expressions for x in pieces(e, groups, given)]

    def program(self, step: Step) -> None:
        h, q, p, t1 = step.h, step.q, step.p, step.t1
        t = step.t + 0.5 * h
        v = step.unknown("v", guess=step.v)
        step.solve((v, step.link(q, v, p, step.t)), watch=v)
        mean, v1 = (step.unknown(name, guess=step.v) for name in ("mean", "v1"))
        p1 = step.unknown("p1", guess=p)
        lam = step.unknown("lambda", "c")
        dq = h * mean
        q1 = step.moved(dq)
        ends = (q, v, p, q1, v1, p1)
        drift, force, links = self._means(step, ends, t)
        dp = h * force - step.mean_push(q, q1, t, lam)
        held = [(lam, step.g(q1, t1))]
        if self.hidden:
            w, bend, held = self._tangent(step, ends, t, lam)
            drift, dp = drift + w, dp - h * bend
        step.solve(
            (mean, mean - drift),
            (p1, p1 - p - dp),
            (v1, step.link(q1, v1, p1, t1)),
            *links,
            *held,
            watch=mean,
        )
        end = step.unknown("v_end", guess=step.v)
        step.solve((end, step.link(q1, end, step.kicked(dp), t1)), watch=end)
        step.advance(q=dq, p=dp, v=end)

    def _means(self, step: Step, ends: Ends, t: Any):
        """D_pH, −D_qH + f, and what is needed for them."""
        if not step.mixed:
            return step.mean_velocity(*ends, t), step.mean_force(*ends, t), []
        q, v, p, q1, v1, p1 = ends
        a, b = (step.unknown(name, guess=step.v) for name in ("v01", "v10"))
        links = [(a, step.link(q, a, p1, step.t)), (b, step.link(q1, b, p, step.t1))]
        drift = 0.25 * (v + a + b + v1)
        force = step.mean_force(q, v, p, q1, b, p, t) + step.mean_force(q, a, p1, q1, v1, p1, t)
        return drift, 0.5 * force, links

    def _tangent(self, step: Step, ends: Ends, t: Any, lam: Vector):
        """What keeps the hidden constraint: w, y, and the equations of λ, μ and w."""
        q, v, p, q1, v1, p1 = ends
        w, r, mu = step.unknown("w"), step.unknown("r"), step.unknown("mu", "c")
        held = [
            (r, r - step.mean_lift(q, v, q1, v1, t, mu)),
            (w, step.mean_respond(q, p, q1, p1, w, r, t)),
            (lam, step.hidden(q1, v1, step.t1)),
            (mu, step.g(q1, step.t1)),
        ]
        return w, step.mean_bend(*ends, w, r, t, mu), held


def _words(found: list[Piece], kept: str) -> tuple[str, str]:
    """What discrete gradients go through, and what that means."""

    def listed(parts: list[Piece]) -> str:
        names = list(dict.fromkeys(str(w) for x in parts for w in x.inner))
        return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")

    through = listed([x for x in found if x.how in ("invariants", "given")])
    plain = listed([x for x in found if x.how == "plain"])
    if plain:
        words = f"plain form in {plain}"
        return f"{through}; {words}" if through else words, "momenta need not be kept"
    return (
        through or "midpoint gradient",
        ("symmetries shared with the masses" if kept == "symmetries" else kept) + " keep momenta"
        if through
        else "exact",
    )
