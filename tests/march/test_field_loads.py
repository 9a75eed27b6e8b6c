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
        x, w = np.polynomial.legendre.leggauss(12)  # the hats of each edge
        for edge in range(first, last - 1):
            left, size = mesh.s[edge], mesh.s[edge + 1] - mesh.s[edge]
            for share, weight in zip(0.5 * (x + 1), 0.5 * size * w, strict=True):
                load = weight * np.array(where(left + share * size))
                rows[name][:, edge] += (1 - share) * load
                rows[name][:, edge + 1] += share * load
    rows["dead"][:, 10] += [np.sqrt(time), 0, 0, 7.5, 0, time]
    rows["follower"][:, 5] += [0, 0, 0, 0, time, 0]
    return rows


def test_wrenches_of_all_loads():
    mesh = two_beams()
    strand = strand_of_mesh(mesh)
    loads = Loads(strand, mesh)
    for time in (0.3, 2.0, 0.7):  # nothing of an earlier time is left
        assert loads.apply(strand, time, time, time) == -1
        for name, values in expected(mesh, time).items():
            np.testing.assert_allclose(strand.view(name), values, rtol=0, atol=1e-12)


def test_code_does_not_grow_with_the_nodes():
    """One map for a distributed load, however many nodes it acts on."""
    mesh = two_beams()
    maps, places, targets, *_ = Loads(strand_of_mesh(mesh), mesh).given
    samples = 4 * 5 * 2  # of each edge, where s and t cannot be told apart, for both its nodes
    assert maps[:, 1:3].tolist() == [[samples, 1], [samples, 1], [6, 1], [1, 2]]
    assert len(places) == 2 * samples + 6 + 1
    assert len(targets) == 2 * samples + 6 + 2


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
    with pytest.raises(taut.StepError, match=r"a load is not finite at t = 1\.00") as caught:
        taut.simulate(beam, duration=2.0, step=1e-3, method="implicit")
    assert "1" in str(caught.value)
    assert caught.value.partial.t[-1] == pytest.approx(
        1 / (1 - 0.1 * 0.047), abs=2e-3
    )  # at a sample


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


PULSES = {  # forces along the beam, and their impulse until 0.01
    "part": (sp.Piecewise((20, (s > 0.317) & (s < 0.602)), (0, True)), 20 * 0.285 * 0.01),
    "at a grid time": (sp.Piecewise((20, t >= sp.Rational(1, 200)), (0, True)), 20 * 0.005),
    "between": (10 * sp.Heaviside(t - 0.00503) * sp.Heaviside(0.3 - s), 3 * 0.00497),
    "moving": (sp.Piecewise((20, sp.Abs(s - 0.2 - 20 * t) < 0.05), (0, True)), 20 * 0.1 * 0.01),
    "front": (20 * sp.Heaviside(50 * t - s), 20 * 50 * 0.01**2 / 2),
}
HALF = {"part": 0.5, "at a grid time": 0.0, "between": 0.0}  # of it, until 0.005


@pytest.mark.parametrize("load", PULSES)
@pytest.mark.parametrize("method", ["variational", "hamel", "poisson", "implicit", "damped"])
def test_no_impulse_is_lost(method, load):
    """A free beam has it all, at stored times and at the last; its work is what it has gained."""
    damping = 1e-4 if method == "damped" else 0.0
    beam = taut.Beam(1.0, taut.Square(0.1), **STUFF, nodes=9, damping=damping)
    beam.load(at="all", force=(0, 0, PULSES[load][0]))
    scheme = {} if method == "damped" else {"method": method}
    run = taut.simulate(beam, duration=0.01, step=1e-4, every=50, **scheme)
    exact = PULSES[load][1]
    # What moves is on one sample more or less at both times.
    near = 1e-3 if load == "moving" else 1e-11
    assert run.linear_momentum[-1, 2] == pytest.approx(exact, rel=near)
    if load in HALF:
        half = HALF[load]
        assert run.linear_momentum[1, 2] == pytest.approx(half * exact, abs=1e-12)
    if not damping:
        assert run.certificate.energy.band < 1e-3 * run.certificate.gross_work


@pytest.mark.parametrize("nodes", [6, 11])
def test_what_holds_a_beam_carries_a_load_on_a_part_of_it(nodes):
    """At rest, for any number of nodes: force, and moment about the clamp, of a stiff beam."""
    stiff = STUFF | {"young": 1e13}
    beam = taut.Beam(1.0, taut.Square(0.1), **stiff, nodes=nodes, ends=("clamped", "free"))
    part = sp.Piecewise((3, (s > 0.317) & (s < 0.602)), (0, True))
    beam.load(at="all", force=(0, 0, part), moment=(0, part, 0))
    held = taut.equilibrium(beam).reactions[0]
    force, arm = 3 * 0.285, 1.5 * (0.602**2 - 0.317**2)
    assert held == pytest.approx([-arm, -force, 0, 0, 0, -force], rel=1e-9, abs=1e-12)
