"""Names of other programs lead to methods that there are."""

import re

import pytest

import taut
from taut.methods import CATALOGUE, method_of
from taut.methods.elsewhere import BEAMS, SYSTEMS, meant
from taut.methods.fields import SCHEMES, scheme_of


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("RK45", "dopri5"), ("RK23", "rk4"), ("DOP853", "dop853"), ("Radau", "gauss-lobatto-4"),
        ("BDF", "gauss-lobatto-4"), ("LSODA", "gauss-lobatto-4"), ("verlet", "rattle"),
        ("leapfrog", "rattle"), ("Störmer-Verlet", "rattle"), ("shake", "rattle"),
        ("euler", "symplectic-euler"), ("newmark", "generalized-alpha"),
        ("HHT", "generalized-alpha"), ("midpoint", "taut.GaussLobatto(1)"),
        ("implicit-midpoint", "taut.GaussLobatto(1)"), ("Crank-Nicolson", "implicit-trapezoid"),
    ],
)  # fmt: skip
def test_what_others_call_it(name, ours):
    with pytest.raises(taut.UnknownName) as caught:
        method_of(name)
    assert caught.value.remedy.startswith(f"take {ours}: ")


def test_each_of_them_leads_to_a_method_and_is_none_itself():
    own = {re.sub(r"\W+", "", name): name for name in CATALOGUE}
    for name, (ours, _) in SYSTEMS.items():
        made = eval(ours, {"taut": taut}) if ours.startswith("taut.") else CATALOGUE[ours]
        assert isinstance(made, taut.Method)
        assert own.get(name, ours) == ours, f"{name} is a method here, and not {ours}"
    assert {ours for ours, _ in BEAMS.values()} <= set(SCHEMES)
    for name in BEAMS:
        assert name not in SCHEMES


def test_the_midpoint_rule_is_what_is_said():
    (x,) = taut.coordinates("x,")
    spring = taut.System([x], mass=1, potential=x**2 / 2)
    run = taut.simulate(
        spring, q0=[1], v0=0, duration=0.1, step=0.1, method=taut.GaussLobatto(1), laws=None
    )
    h = 0.1  # (1 + h²/4) q₁ = (1 − h²/4) q₀ + h v₀
    assert run.q[-1, 0] == pytest.approx((1 - h**2 / 4) / (1 + h**2 / 4), abs=1e-15)


@pytest.mark.parametrize(("name", "ours"), [("RK45", "variational"), ("newmark", "implicit")])
def test_of_beams(name, ours):
    with pytest.raises(taut.UnknownName) as caught:
        scheme_of(name, beam=True)
    assert caught.value.remedy.startswith(f"take {ours}: ")
    with pytest.raises(taut.UnknownName) as caught:
        scheme_of(name, beam=False)
    assert caught.value.remedy is None


def test_nothing_is_said_of_what_is_not_known():
    assert meant("nonsense", SYSTEMS) is None
    with pytest.raises(taut.UnknownName, match="did you mean 'rattle'"):
        method_of("ratle")
