"""Steps of varying size that do not break reversibility: the controller of Hairer & Söderlind.

A step-size control that looks back at the last step's error destroys the long-time behaviour of a
symmetric method.  Here a density ρ is integrated beside the motion: with a scale Q(q, q̇, p, t) > 0
that steps are to be proportional to,

    ρ_{n+½} = ρ_{n−½} + ε G(yₙ),      h_{n+½} = ε/ρ_{n+½},      y_{n+1} = Φ_{h_{n+½}}(yₙ),

    G = −d/dt ln Q  along the motion,      ρ_{½} = 1 + ½ ε G(y₀),

so that ρ Q stays nearly constant, and the map (y, ρ) ↦ (y, ρ) is explicit, symmetric if Φ is, and
reversible where the motion is.  ε is the size of a step where Q is what it was at the start.  It is
not symplectic; for reversible systems the energy does not drift all the same.

Source: Hairer & Söderlind 2005, SIAM J. Sci. Comput. 26, 1838; Hairer, Lubich & Wanner 2006,
VIII.3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import sympy as sp

from taut.calls import public
from taut.errors import InputError, brief
from taut.methods.base import Method, Wrapped
from taut.methods.registry import method_of
from taut.model.symbols import scalar


@public
@dataclass(frozen=True)
class Adaptive(Wrapped):
    """Reversible steps of varying size of a symmetric method.

    Parameters
    ----------
    base : str or Method
        Any symmetric method.
    scale : expression of coordinates, velocities, momenta and t
        What steps are to be proportional to; its unit does not matter.  Near an attracting centre
        at distance r it is r^{3/2}.
    """

    base: str | Method = "rattle"
    scale: Any = None

    name: ClassVar[str] = "adaptive"
    symplectic: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True
    references: ClassVar[tuple[str, ...]] = ("hairer2005",)

    def __post_init__(self) -> None:
        base = method_of(self.base)
        if not base.symmetric or base.charted or base.tabled or base.pace is not None:
            raise InputError(
                f"the steps of {base.name} cannot be made to vary",
                expected="a symmetric method, without charts or tables for one step size",
                received=base.label,
                remedy='use "rattle", "gauss-lobatto-4", or a composition of them',
            )
        scale: Any = None
        if isinstance(self.scale, str | sp.Expr):
            scale = scalar(self.scale, "the scale of the steps")
        if not isinstance(scale, sp.Expr) or not scale.free_symbols:
            raise InputError(
                "there is nothing to control the steps by",
                expected="scale=…, an expression that steps are to be proportional to",
                received=brief(self.scale),
                remedy="near an attracting centre at distance r take r**1.5",
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "scale", scale)

    @property
    def inner(self) -> Method:
        """The method with steps of one size."""
        assert isinstance(self.base, Method)
        return self.base

    @property
    def steady(self) -> Method:
        return self.inner

    @property
    def pace(self) -> Any:  # type: ignore[override]
        return self.scale

    @property
    def label(self) -> str:
        return f"{self.name} {self.inner.label}"
