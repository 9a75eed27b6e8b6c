"""Compositions of a symmetric method: higher order by steps of several lengths.

    Ψ_h = Φ_{γ_m h} ∘ … ∘ Φ_{γ_1 h},      γ_i = γ_{m+1−i},      Σ γᵢ = 1,  Σ γᵢ³ = 0,  …

With Φ symmetric, and γ a palindrome that meets the order conditions (Σ γᵢ³ = 0 for order 4, also
Σ γᵢ⁵ = 0 and one on products for order 6, and so on), Ψ is symmetric and of the order claimed.
It is symplectic and on the manifold because Φ is.  Between the parts of a step no momentum need be
tangent.

The smaller Σ |γᵢ|, the smaller the error as a rule; the default has the smallest of its order.
Some γᵢ are negative (they must be, above order 2), so forces that dissipate are undone for part of
every step: compositions are meant for conservative systems.

Source: Hairer, Lubich & Wanner 2006, II.4 and V.3.2, and the coefficients of their GniCodes; 1034:
Sofroniou & Spaletta 2005, Optim. Methods Softw. 20, 597.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import mpmath as mp

from taut.calls import public
from taut.errors import InputError, UnknownName
from taut.methods.base import Method, Wrapped
from taut.methods.registry import method_of
from taut.methods.tableaux import DIGITS

with mp.workdps(DIGITS):
    _JUMP, _SUZUKI = 1 / (2 - mp.cbrt(2)), 1 / (4 - mp.cbrt(4))
    # γ₁ … up to the middle one, by order and number of parts (1034 is a second set of 33).
    SCHEMES: dict[str, tuple] = {
        "43": (_JUMP, 1 - 2 * _JUMP),
        "45": (_SUZUKI, _SUZUKI, 1 - 4 * _SUZUKI),
        "67": (
            "0.78451361047755726381949763", "0.23557321335935813368479318",
            "-1.17767998417887100694641568", "1.31518632068391121888424973",
        ),
        "69": (
            "0.39215846226558135393725811", "0.33260288849639382848984234",
            "-0.70624607359230088534941023", "0.08221272729243641010472095",
            "0.79854399107577858563517766",
        ),
        "815": (
            "0.74167036435061295344822780", "-0.40910082580003159399730010",
            "0.19075471029623837995387626", "-0.57386247111608226665638773",
            "0.29906418130365592384446354", "0.33462491824529818378495798",
            "0.31529309239676659663205666", "-0.79688793935291635401978884",
        ),
        "817": (
            "0.13020248308889008087881763", "0.56116298177510838456196441",
            "-0.38947496264484728640807860", "0.15884190655515560089621075",
            "-0.39590389413323757733623154", "0.18453964097831570709183254",
            "0.25837438768632204729397911", "0.29501172360931029887096624",
            "-0.60550853383003451169892108",
        ),
        "1033": (
            "0.09040619368607278492161150", "0.53591815953030120213784983",
            "0.35123257547493978187517736", "-0.31116802097815835426086544",
            "-0.52556314194263510431065549", "0.14447909410225247647345695",
            "0.02983588609748235818064083", "0.17786179923739805133592238",
            "0.09826906939341637652532377", "0.46179986210411860873242126",
            "-0.33377845599881851314531820", "0.07095684836524793621031152",
            "0.23666960070126868771909819", "-0.49725977950660985445028388",
            "-0.30399616617237257346546356", "0.05246957188100069574521612",
            "0.44373380805019087955111365",
        ),
        "1034": (
            "0.070711261586085399079302771810203", "0.090342080937267568345577914389234",
            "0.14103133297152486103524322594476", "0.40206004554029767537357060971803",
            "-0.30239722849131075165735249848238", "-0.22462355658241460137093154363351",
            "0.061496988956063121940380707068411", "0.11346847775740802675296685287062",
            "0.23654672241381781124636015203490", "0.27211409645898977643699556260890",
            "0.076129418470277234386530906651024", "-0.18543093454238185309165565783301",
            "-0.46495110925607623804616342747217", "0.10423014962104084592532590279051",
            "0.13621181452383232935841998116651", "-0.27010275720513252644976102610064",
            "0.48632639368142264147037913293721",
        ),
    }  # fmt: skip
ORIGIN = {  # of the coefficients, where it is known
    "43": "yoshida1990",
    "45": "suzuki1990",
    "67": "yoshida1990",
    "815": "mclachlan1995",
    "817": "kahan1997",
    "1033": "kahan1997",
    "1034": "sofroniou2005",
}
BEST = {4: "45", 6: "69", 8: "817", 10: "1034"}


def fractions(scheme: str) -> list[mp.mpf]:
    """γ₁ … γ_m with all digits."""
    with mp.workdps(DIGITS):
        half = [mp.mpf(x) for x in SCHEMES[scheme]]
        return [*half, *half[-2::-1]]


@public
@dataclass(frozen=True)
class Composition(Wrapped):
    """A symmetric method made more accurate by composing its steps.

    Parameters
    ----------
    base : str or Method
        Any symmetric method of the catalogue, or a method object.
    order : 4, 6, 8 or 10
    scheme : "43", "45", "67", "69", "815", "817", "1033" or "1034", optional
        Which coefficients; the default has the smallest Σ |γᵢ| of its order.
    """

    base: str | Method = "rattle"
    order: int = field(default=4, kw_only=True)  # type: ignore[assignment]
    scheme: str | None = None

    name: ClassVar[str] = "composition"
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        base = method_of(self.base)
        if not isinstance(self.order, int | float) or self.order not in BEST:
            raise UnknownName("order of a composition", str(self.order), [str(x) for x in BEST])
        object.__setattr__(self, "order", int(self.order))
        scheme = BEST[self.order] if self.scheme is None else str(self.scheme)
        own = [name for name in SCHEMES if name.startswith(str(self.order))]
        if scheme not in own:
            hint = f"order={scheme}" if scheme in map(str, BEST) else None
            raise UnknownName(f"scheme of order {self.order}", scheme, own, hint)
        fit = base.symmetric and base.keeps_hidden and not base.tabled and base.pace is None
        if not fit or base.order >= self.order:
            raise InputError(
                f"{base.name} cannot be composed to order {self.order}",
                expected="a symmetric method of lower order, without tables for one step size",
                received=f"{base.label}: order {base.order}, "
                + ("fit" if fit else "with p not tangent" if base.symmetric else "not symmetric"),
                remedy='use "rattle", or another symmetric method of the catalogue',
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "scheme", scheme)

    @property
    def inner(self) -> Method:
        """The method that is composed."""
        assert isinstance(self.base, Method)
        return self.base

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        origin = ORIGIN.get(str(self.scheme))
        return ("hairer2006, II.4 and V.3.2", *([origin] if origin else []))

    @property
    def substeps(self) -> tuple[float, ...]:  # type: ignore[override]
        inner = self.inner.substeps
        return tuple(float(x) * y for x in fractions(str(self.scheme)) for y in inner)

    @property
    def label(self) -> str:
        """As the catalogue says, and what is another base or scheme than there."""
        base = "" if self.inner.label == "rattle" else f" of {self.inner.label}"
        scheme = "" if self.scheme == BEST[self.order] else f" (scheme {self.scheme})"
        return f"{self.name}-{self.order}{base}{scheme}"
