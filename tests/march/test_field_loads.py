"""What acts on nodes at a time: steady and not, on single nodes and along beams."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.fields.loads import s
from taut.fields.mesh import mesh_of
from taut.kernel.strand import strand_of_mesh
from taut.march.field_loads import Loads
from taut.model.symbols import t

STUFF = {"density": 1e3, "young": 1e7, "poisson": 0.35}


def two_beams():
    first = taut.Beam(1.0, taut.Square(0.1), **STUFF, nodes=5)
    second = taut.Beam(0.5, taut.Square(0.1), **STUFF, nodes=6, at=(0, 3, 0))
    first.load(at="all", force=(1, s, 2 * s), moment=(0, 0, 3))
    first.load(at="all", force=(t, s * t, 0), moment=(0, sp.cos(t + s), 0))
    first.load(at="all", force=(0, 0, sp.exp(s * t)), follower=True)
    second.load(at="all", force=(0, s**2 * sp.sin(t), 1))
    second.load(at="tip", force=(7, 0, t), moment=(sp.sqrt(t), 0, 0))
    second.load(at="tip", force=(0.5, 0, 0))
    second.load(at="root", force=(0, t, 0), follower=True)
    return mesh_of([first, second])


def expected(mesh, time):
    rows = {"dead": np.zeros((6, 11)), "follower": np.zeros((6, 11))}
    for where, first, last, name in (
        (lambda x: (0, 0, 3, 1, x, 2 * x), 0, 5, "dead"),
        (lambda x: (0, np.cos(time + x), 0, time, x * time, 0), 0, 5, "dead"),
        (lambda x: (0, 0, 0, 0, 0, np.exp(x * time)), 0, 5, "follower"),
        (lambda x: (0, 0, 0, 0, x**2 * np.sin(time), 1), 5, 11, "dead"),
    ):
        for node in range(first, last):
            rows[name][:, node] += np.array(where(mesh.s[node])) * mesh.weight[node]
    rows["dead"][:, 10] += [np.sqrt(time), 0, 0, 7.5, 0, time]
    rows["follower"][:, 5] += [0, 0, 0, 0, time, 0]
    return rows


def test_wrenches_of_all_loads():
    mesh = two_beams()
    strand = strand_of_mesh(mesh)
    loads = Loads(strand, mesh)
    for time in (0.3, 2.0, 0.7):  # nothing of an earlier time is left
        assert loads.apply(strand, time) == -1
        for name, values in expected(mesh, time).items():
            np.testing.assert_allclose(strand.view(name), values, rtol=0, atol=1e-14)


def test_code_does_not_grow_with_the_nodes():
    """One map for a distributed load, however many nodes it acts on."""
    mesh = two_beams()
    maps, places, targets, *_ = Loads(strand_of_mesh(mesh), mesh).given
    assert maps[:, 1:].tolist() == [[5, 1], [5, 1], [6, 1], [1, 2]]
    assert len(places) == 5 + 5 + 6 + 1
    assert len(targets) == 5 + 5 + 6 + 2


@pytest.mark.parametrize("method", ["poisson", "implicit"])
def test_the_impulse_of_a_distributed_load(method):
    """A free beam takes ∫∫ f ds dt = (T²/2)(L²/2) along z."""
    beam = taut.Beam(2.0, taut.Square(0.1), **STUFF, nodes=2001 if method == "poisson" else 21)
    beam.load(at="all", force=(0, 0, s * t))
    run = taut.simulate(beam, duration=0.01, step=5e-6, method=method)
    assert run.linear_momentum[-1] == pytest.approx([0, 0, 1e-4], rel=1e-5, abs=1e-9)


def test_a_load_that_is_nan_somewhere_is_named():
    beam = taut.Beam(1.0, taut.Square(0.1), **STUFF, nodes=11)
    beam.load(at="all", force=(0, 0, sp.log(1 - s * t)))
    with pytest.raises(taut.StepError, match=r"a load is not finite at t = 1\b.*") as caught:
        taut.simulate(beam, duration=2.0, step=1e-3, method="implicit")
    assert "1" in str(caught.value)
    assert caught.value.partial.t[-1] == pytest.approx(1.0, abs=2e-3)


def test_a_load_of_s_wants_to_be_spread():
    beam = taut.Beam(1.0, taut.Square(0.1), **STUFF, nodes=11)
    with pytest.raises(taut.ModelError, match=r'force .* contains s\n(.*\n)*.*at="all"'):
        beam.load(force=(0, 0, taut.s))
    with pytest.raises(taut.ModelError, match=r"contains k\n(.*\n)*.*in the place of parameters"):
        beam.load(at="all", force=(0, 0, sp.Symbol("k") * taut.s))


@pytest.mark.parametrize("follower", [True, False])
@pytest.mark.parametrize("size", [1, sp.sin(3 * t) ** 2])
def test_work_on_joined_beams_is_counted_once(size, follower):
    """A load along the second beam, whose first node follows that of the post."""
    stuff = {"inertia": [0.01, 0.02, 0.01, 1, 1, 1], "stiffness": [0.5, 0.5, 0.5, 60, 80, 60]}
    post = taut.Beam(1, frame=(0, 0, 1), ends=("clamped", "free"), nodes=9, **stuff)
    arm = taut.Beam(1, at=(0, 0, 1), frame=(1, 0, 0), nodes=9, **stuff)
    arm.load(at="all", force=(0.1 * size, 0.1 * size, -0.2 * size), follower=follower)
    run = taut.simulate(taut.Beams([post, arm]), duration=1.0, step=1e-2, method="implicit")
    assert run.certificate.work > 1e-3
    assert run.certificate.energy.band < 1e-14
