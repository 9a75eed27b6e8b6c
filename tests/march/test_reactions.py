"""What holds beams, along a run: it changes their momentum, and at rest it carries the loads."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut import End
from taut.model.symbols import t

STUFF = {"density": 1e3, "young": 1e7, "poisson": 0.35}
GRAVITY = (0.4, -3.0, -9.81)
WAY = (0.02 * sp.sin(9 * t) ** 2, 0.01 * t**3, 0)

ENDS = {
    "clamped": ("clamped", "free"),
    "pinned": ("pinned", "free"),
    "hinged": (End("hinged", axis=(1, 0, 2)), "free"),
    "sliding": (End("sliding", axis=(0, 1, 1)), "free"),
    "roller": ("pinned", End("roller", axis=(1, 2, 0))),
    "moved clamp": (End("clamped", position=WAY, rotation=(t**2, 0.3 * sp.sin(t), t)), "free"),
    "moved pin": (End("pinned", position=WAY), "free"),
}


def loaded(ends, damping=0.0):
    """A curved beam and a second one joined to it, bodies off the axis, loads at held nodes."""
    first = taut.Beam(1.0, taut.Rectangle(0.08, 0.12), **STUFF, nodes=9, ends=ends,
                      gravity=GRAVITY, damping=damping, curvature=(0.5, 0, 0.3))  # fmt: skip
    second = taut.Beam(0.5, taut.Square(0.1), **STUFF, nodes=5, gravity=GRAVITY, damping=damping,
                       frame=(0, 0, 1))  # fmt: skip
    off = (0, 0, 0) if isinstance(ends[0], End) and ends[0].kind == "pinned" else (0.05, 0.1, -0.04)
    first.body(at="root", mass=2.0, inertia=(0.02, 0.01, 0.03), offset=off)
    first.load(at="all", force=(0, taut.s * t, 3), moment=(0.1, 0, 0))
    first.load(at="root", force=(1, 2 * t, 0), moment=(0, 0.3, 0.1), follower=True)
    first.load(at="tip", force=(0, 0, 5), moment=(0.2, 0, 0))
    return taut.Beams([first, second])


def given(run):
    """Moment about the origin and force of loads and weight on the whole, shape (N, 6)."""
    mesh = run.mesh
    total = np.zeros((len(run.t), 2, 3))
    wrench = np.zeros((len(run.t), mesh.nodes, 2, 3))  # in space
    own = range(9)
    for j in own:
        near = [mesh.s[k] for k in (j - 1, j + 1) if k in own]  # ∫ s over what reaches the node
        reach = sum(abs(x - mesh.s[j]) * (2 * mesh.s[j] + x) for x in near) / 6
        wrench[:, j, 1, 1] += run.t * reach
        wrench[:, j, 1, 2] += 3 * mesh.weight[j]
        wrench[:, j, 0, 0] += 0.1 * mesh.weight[j]
    local = np.zeros((len(run.t), 2, 3))
    local[:, 0, 1:], local[:, 1, 0], local[:, 1, 1] = (0.3, 0.1), 1, 2 * run.t
    wrench[:, 0] += np.einsum("tij,tpj->tpi", run.frames[:, 0], local)
    wrench[:, 8, 1, 2] += 5
    wrench[:, 8, 0, 0] += 0.2
    for j in range(mesh.nodes):
        if j in [joint.follower for joint in mesh.joints]:
            continue
        fall = np.zeros((len(run.t), 6))
        fall[:, 3:] = GRAVITY @ run.frames[:, j]
        fall = (mesh.weight[j] * fall @ mesh.inertia[j]).reshape(-1, 2, 3)
        wrench[:, j] += np.einsum("tij,tpj->tpi", run.frames[:, j], fall)
    total[:, 0] = (wrench[:, :, 0] + np.cross(run.positions, wrench[:, :, 1])).sum(axis=1)
    total[:, 1] = wrench[:, :, 1].sum(axis=1)
    return total.reshape(-1, 6)


def missing(ends, method, damping, step=1e-4):
    """The largest part of the momentum that loads and reactions do not explain."""
    run = taut.simulate(loaded(ends, damping), duration=0.1, step=step, method=method)
    rate = given(run)
    for node, wrench in run.reactions.items():
        place, force = run.positions[:, node], wrench[:, 3:]
        rate += np.hstack([wrench[:, :3] + np.cross(place, force), force])
    brought = np.cumsum(0.5 * step * (rate[1:] + rate[:-1]), axis=0)
    changed = run.spatial_momentum - run.spatial_momentum[0]
    return np.abs(changed[1:] - brought).max(), np.abs(changed).max()


@pytest.mark.parametrize(
    ("ends", "method", "damping"),
    [
        pytest.param(ends, method, (0.0, 2e-3)[(i + j) % 2], id=f"{name}-{method}")
        for i, (name, ends) in enumerate(ENDS.items())
        for j, method in enumerate(("variational", "implicit"))
    ],
)
def test_they_change_the_momenta(ends, method, damping):
    """∫(loads + reactions) dt is the change of both momenta, to second order in the step."""
    (coarse, size), (fine, _) = (missing(ends, method, damping, h) for h in (1e-4, 5e-5))
    assert size > 1.0
    assert fine < 5e-5 * size
    assert fine < max(coarse / 3.5, 1e-13 * size)


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_those_of_the_poisson_scheme(ends):
    """It changes momenta by itself, by O(Δs²)."""
    off, size = missing(ends, "poisson", 2e-3)
    assert off < 1e-3 * size


@pytest.mark.parametrize("method", ["poisson", "hamel", "variational", "implicit"])
def test_at_rest_they_are_those_of_statics(method):
    """Also what acts on a clamped node: it is a reaction and nothing else."""
    beam = taut.Beam(1.0, taut.Square(0.1), **STUFF, nodes=9, ends=("clamped", "roller"),
                     gravity=(0, 0, -9.81), damping=5e-3)  # fmt: skip
    beam.load(at="root", force=(1, 20, 3), moment=(0.2, 0.3, -0.1))
    beam.load(at=0.5, force=(5, 0, 0), follower=True)
    still = taut.equilibrium(beam)
    run = taut.simulate(beam, duration=6.0, step=2e-4 if method != "implicit" else 5e-3,
                        method=method, every=1000)  # fmt: skip
    assert set(run.reactions) == set(still.reactions) == {0, 8}
    for node, wrench in still.reactions.items():
        np.testing.assert_allclose(run.reactions[node][-1], wrench, rtol=0, atol=3e-3)
        assert np.abs(wrench).max() > 1


def test_fields_have_none():
    g, m = taut.coordinates("gamma mu")
    field = taut.Field(
        taut.lie.abelian(1), g**2 / 2 + m**2 / 2, strain=[g], momentum=[m], length=1, nodes=11
    )
    with pytest.raises(AttributeError, match="reactions: those are of beams"):
        taut.simulate(field, duration=0.1).reactions  # noqa: B018


def test_they_are_exported():
    beam = taut.Beam(1.0, taut.Square(0.1), **STUFF, nodes=9, ends=("clamped", "pinned"),
                     gravity=(0, 0, -9.81))  # fmt: skip
    run = taut.simulate(beam, duration=0.01)
    data = run.to_xarray()
    np.testing.assert_array_equal(data.reactions.sel(held=8), run.reactions[8])
    assert data.reactions.dims == ("t", "held", "component")
    assert "reactions" not in taut.simulate(taut.Beam(1.0, taut.Square(0.1), **STUFF, nodes=9),
                                            duration=0.01).to_xarray()  # fmt: skip
