"""What Noether's identity is made of: an action, its slopes, and the law of a symmetry."""

from __future__ import annotations

import numpy as np
import sympy as sp

from taut.laws.dynamics import Dynamics
from taut.laws.linear import Part
from taut.laws.rates import Jet
from taut.model import System, t


class Still(Dynamics):
    """States of a system and the rates of q and t; there need not be accelerations."""

    def _accelerations(self, point) -> dict[sp.Symbol, np.ndarray]:
        return {}


class Action:
    """What Noether's identity is made of."""

    def __init__(self, d: Dynamics) -> None:
        self.d = d
        q, energy = d.positions, d.energy_function
        assert isinstance(d.model, System)
        self.v = [d.explicit[x] for x in q]
        if d.model.form == "lagrangian":
            self.p = [energy.diff(w) for w in d.rates_of]
            self.lagrangian = energy
            self.energy = sum(p * w for p, w in zip(self.p, self.v, strict=True)) - energy
            slope = energy
            self.forces = d.forces
        else:
            self.p = list(d.rates_of)
            self.energy = energy
            self.lagrangian = sum(p * w for p, w in zip(self.p, self.v, strict=True)) - energy
            slope = -energy
            inner = dict(zip(d.model.velocities, self.v, strict=True))
            self.forces = [f.xreplace(inner) for f in d.forces]
        self.by_q = [slope.diff(x) for x in q]
        self.by_t = slope.diff(t)
        # A parameter of the action alone, in a total derivative, does not occur in the motion.
        own = self.lagrangian.free_symbols - {*d.state, t}
        d.parameters = sorted({*d.parameters, *own}, key=lambda s: s.name)

    @property
    def expressions(self) -> list[sp.Expr]:
        """Everything that occurs."""
        return [self.lagrangian, self.energy, *self.p, *self.by_q, self.by_t, *self.forces]

    def parts(self, jet: Jet) -> list[Part]:
        """The identity at points, and ξ tangent to the constraints."""
        f, d = jet.field, self.d
        time, places = jet(self.by_t), [jet(e) for e in self.by_q]
        for i, force in enumerate(self.forces):
            if force != 0:
                push = jet(force)
                places[i] = f.add(places[i], push)
                time = f.sub(time, f.mul(push, jet(self.v[i])))
        for g, row in zip(d.constraints, d.jacobian, strict=True):
            weight = f.random(jet.size)
            time = f.add(time, f.mul(weight, jet(g.diff(t))))
            for i, e in enumerate(row):
                if e != 0:
                    places[i] = f.add(places[i], f.mul(weight, jet(e)))
        one = np.ones(jet.size, dtype=np.uint64)
        unknown = [(a, jet(p), None) for a, p in zip(places, self.p, strict=True)]
        return [(time, jet(-self.energy), None), *unknown, (None, one, None)]

    def law(self, xi0: sp.Expr, xi: list[sp.Expr], gauge: sp.Expr) -> sp.Expr:
        """SGM (5)."""
        eta = [a - w * xi0 for a, w in zip(xi, self.v, strict=True)]
        return self.lagrangian * xi0 + sum(p * e for p, e in zip(self.p, eta, strict=True)) + gauge

    def identity(self, xi0: sp.Expr, xi: list[sp.Expr], gauge: sp.Expr) -> sp.Expr:
        """The left side of SGM (4) plus Ġ, for functions of t and q."""
        d = self.d

        def dot(e: sp.Expr) -> sp.Expr:
            return e.diff(t) + sum(e.diff(x) * w for x, w in zip(d.positions, self.v, strict=True))

        total = self.by_t * xi0 - self.energy * dot(xi0) + dot(gauge)
        for i, e in enumerate(xi):
            total += self.by_q[i] * e + self.p[i] * dot(e)
            total += self.forces[i] * (e - self.v[i] * xi0)
        return total

    def pushed(self, xi0: sp.Expr, xi: list[sp.Expr]) -> list[sp.Expr]:
        """g_q·ξ + g_t ξ₀ for each constraint."""
        return [
            sum((a * e for a, e in zip(row, xi, strict=True)), g.diff(t) * xi0)
            for g, row in zip(self.d.constraints, self.d.jacobian, strict=True)
        ]


__all__ = ["Action", "Still"]
