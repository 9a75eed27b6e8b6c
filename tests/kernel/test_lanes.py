"""Every width gives the same bits, whatever the CPU has: widths are chosen by TAUT_LANES."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import taut
from taut.kernel import native

roads = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("roads.py"))))
WIDE = ("batch", "explicit", "damped", "implicit", "field", "mixed")  # roads that use lanes


@pytest.fixture(scope="module")
def known():
    """What each road gives one number at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAUT_LANES", "1")
        return {name: getattr(roads, name)() for name in WIDE}


@pytest.mark.parametrize("road", WIDE)
def test_all_roads_give_the_same_bits_at_every_width(width, road, known, monkeypatch):
    texts, compile_ = [], native.object_code
    monkeypatch.setattr(
        native, "object_code", lambda ir, *a, **k: texts.append(ir) or compile_(ir, *a, **k)
    )
    assert getattr(roads, road)() == known[road]
    assert all(f"<{other} x double>" not in text for text in texts for other in (2, 4, 8)
               if other != width)  # fmt: skip


@pytest.mark.parametrize("method", ["gauss-lobatto-4", "composition-4", "generalized-alpha"])
def test_each_trajectory_is_as_if_alone_at_every_width(width, method):
    angles = np.linspace(0.2, 2.9, 11)
    q0 = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    settings = {"v0": 0, "duration": 1, "step": 0.02, "method": method}
    batch = taut.simulate(roads.pendulum(), q0=q0, **settings)
    for k, q in enumerate(q0):
        alone = taut.simulate(roads.pendulum(), q0=q, **settings)
        for name in "qvp":
            assert np.array_equal(getattr(batch, name)[k], getattr(alone, name))
        assert np.array_equal(batch.ending.books[k], alone.ending.books[0])
        assert np.array_equal(batch.ending.states[k], alone.ending.states[0])


def test_a_run_goes_on_at_another_width(monkeypatch):
    """What has been begun on one machine is continued on another."""
    angles = np.linspace(0.2, 2.9, 11)
    q0 = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    model, settings = roads.pendulum(), {"q0": q0, "v0": 0, "step": 0.02}
    whole = taut.simulate(model, duration=2, **settings)
    for before, after in ((8, 2), (1, 4), (4, 1)):
        monkeypatch.setenv("TAUT_LANES", str(before))
        half = taut.simulate(model, duration=1, **settings)
        monkeypatch.setenv("TAUT_LANES", str(after))
        assert np.array_equal(half.continue_(1).q, whole.q)


def test_no_width_is_an_early_error(monkeypatch):
    monkeypatch.setenv("TAUT_LANES", "5")
    for model, start in ((roads.pendulum(), {"q0": [[1, 0], [0, 1]], "v0": 0}), (roads.beam(), {})):
        with pytest.raises(taut.InputError, match="TAUT_LANES is no width"):
            taut.simulate(model, duration=1e-3, step=1e-3, **start)
