"""Garbage is not looked for while something is compiled, and afterwards as before."""

import gc

import pytest

import taut
from taut.kernel.collecting import uncollected
from taut.kernel.compile import Workshop

x = taut.coordinates("x")[0]


@pytest.fixture(params=[True, False])
def collects(request):
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_as_before(collects):
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() == collects
    with pytest.raises(ZeroDivisionError), uncollected():
        1 / 0  # noqa: B018
    assert gc.isenabled() == collects


def test_not_while_a_step_is_compiled(collects, monkeypatch):
    seen, real = [], Workshop._fused
    monkeypatch.setattr(Workshop, "_fused", lambda *y: (seen.append(gc.isenabled()), real(*y))[1])
    system = taut.System([x], mass=[1], potential=x**4 + (7 + collects) * x**2)
    taut.simulate(system, q0=[1], v0=0, duration=1, step=0.1, laws=None)
    assert seen == [False]
    assert gc.isenabled() == collects
    with pytest.raises(taut.TautError):
        taut.simulate(system, q0=[1, 2], v0=0, duration=1, step=0.1)
    assert gc.isenabled() == collects
