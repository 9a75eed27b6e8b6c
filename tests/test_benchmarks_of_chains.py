"""The benchmark of chains: everybody simulates the same one, and times are read right."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
if not FOLDER.exists():
    pytest.skip("the benchmarks are not in the source archive", allow_module_level=True)
sys.path.append(str(FOLDER))  # the benchmarks import each other by name
chains, chain_peers, mechanisms = map(import_module, ("chains", "chain_peers", "mechanisms"))

PEERS = (chains.Taut, *chain_peers.PEERS)


@pytest.mark.parametrize("kind", chains.KINDS)
@pytest.mark.parametrize("make", PEERS, ids=[x.name for x in PEERS])
def test_everybody_simulates_the_same_chain(make, kind):
    if make.name in chain_peers.missing():
        pytest.skip(f"{make.name} is not installed")
    far, factor = mechanisms.apart(kind, make, links=3, steps=40)
    assert far < 3e-4
    assert abs(factor - 2**make.order) < 0.1
    chain = chains.Chain(3, kind)
    model = make(chain)
    first = chain.energy(*chain.start)
    assert model.march(1) >= 0
    np.testing.assert_allclose(chain.energy(*model.state()), first, rtol=1e-5)
    model.march(19)
    there = model.state()[0].copy()
    model.begin()
    model.march(20)
    np.testing.assert_allclose(model.state()[0], there, atol=1e-7)


def test_the_starts_of_chains():
    for kind, arm in (("points", 1.0), ("bodies", 0.5)):
        chain = chains.Chain(7, kind)
        np.testing.assert_allclose(np.linalg.norm(np.diff(chain.joints, axis=0), axis=1), 1)
        np.testing.assert_allclose(chain.centres[0], arm * chain.axes[0])
        turned = np.eye(3)
        for k in range(7):
            turned = turned @ chain.turns[k]
            np.testing.assert_allclose(turned[:, 0], chain.axes[k], atol=1e-14)
    spun = chain.energy(chain.centres, 0 * chain.axes, chain.axes, chain.axes)
    assert np.isclose(spun - chain.energy(*chain.start), 7 * chains.ALONG / 2)


def test_times_of_chains_are_read_right(monkeypatch):
    assert np.isclose(mechanisms.exponent({10: 3.0, 100: 30.0, 1000: 300.0}), 1)
    line = mechanisms.extrapolated({10: 6.0, 50: 26.0})
    assert np.isclose(line[500], 251)
    times = {n: {"taut": 1e-6, "exudyn": 5e-6} for n in mechanisms.LINKS}
    times[10]["Pinocchio"] = 4e-6
    both = {kind: {**times, "line": line} for kind in chains.KINDS}
    text = mechanisms.table(both, ["taut", "Pinocchio", "exudyn", "MuJoCo"])
    assert " ".join(text[1].split()) == "points 10 links 1 µs 4 µs 5 µs – 4.0, 5.0"
    assert "~2.51e+08 µs" in text[3]
    rows = {row.name: row for row in mechanisms.rows_of(both)}
    assert rows["bodies, 500 links: taut ÷ exudyn"].met
    assert not rows["points, 500 links: taut ÷ exudyn"].met


def test_what_a_long_march_takes_beyond_a_short_one(monkeypatch):
    class Model:
        name = "taut"

        def __init__(self, chain):
            self.calls = 0

        def begin(self):
            self.calls += 1

        def march(self, steps):
            return 1.0 / self.calls + 0.25 * steps

    monkeypatch.setattr(mechanisms, "Taut", Model)
    monkeypatch.setattr(chain_peers, "installed", lambda: [])
    found = mechanisms.measured("points", 10, 50)["taut"]
    assert np.isclose(found, 0.25, atol=1e-3)
