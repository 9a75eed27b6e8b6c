"""The longest stable step of explicit schemes, against dense eigenvalues and closed forms."""

import numpy as np
import pytest
from scipy.linalg import eigh

from taut.errors import ModelError
from taut.fields.beam import Beam
from taut.fields.mesh import mesh_of
from taut.fields.section import Circle, Square
from taut.march.freedoms import elastic, freedoms_of
from taut.march.limits import stable_step

SOFT = {"section": Square(0.1), "density": 1000, "young": 1e7, "poisson": 0.35, "length": 2}


def highest(mesh) -> float:
    """ω_max by a dense solve."""
    freedoms = freedoms_of(mesh)
    k, m = np.zeros((2, freedoms.count, freedoms.count))
    for matrix, (x, i, j) in (
        (k, freedoms.of_edges(elastic(mesh, freedoms.edges))),
        (m, freedoms.of_nodes(freedoms.inertia(mesh))),
    ):
        np.add.at(matrix, (i, j), x)
    return float(np.sqrt(eigh(k, m, eigvals_only=True)[-1]))


def frame(nodes: int = 9) -> list[Beam]:
    """Three beams that meet at one place."""
    soft = {**SOFT, "nodes": nodes}
    return [
        Beam(**soft, ends=("clamped", "free")),
        Beam(**soft, at=(0, 2, 0), frame=(1, 0, 0)),
        Beam(**soft, at=(0, 2, 0), frame=(0, 0, 1), ends=("free", "roller")),
    ]


CASES = {
    "free": [Beam(**SOFT, nodes=15)],
    "clamped": [Beam(**SOFT, nodes=15, ends=("clamped", "clamped"))],
    "rollers": [Beam(**SOFT, nodes=15, ends=("pinned", "roller"))],
    "hinge": [Beam(**SOFT, nodes=15, ends=("hinged", "sliding"))],
    "bent": [Beam(**SOFT, nodes=15, curvature=(0.5, 0.3, 2.0))],
    "tapered": [
        Beam(**{**SOFT, "section": lambda s: Circle(0.1 - 0.04 * s)}, nodes=15, cells="full")
    ],
    "heavy": [
        Beam(**SOFT, nodes=15)
        .body(mass=5, inertia=(1, 1, 1), offset=(0, 0.3, 0))
        .body(at=1, mass=3)
    ],
    "frame": frame(),
    "wide band": frame(31),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_just_below_what_dense_eigenvalues_say(case):
    mesh = mesh_of(CASES[case])
    ratio = stable_step(mesh) * highest(mesh) / 2
    assert 1 - 6e-4 < ratio <= 1


def test_fine_meshes_are_limited_by_the_speed_along_the_axis():
    beam = Beam(**SOFT, nodes=201)
    c = np.sqrt(1e7 / 1000)
    assert stable_step(mesh_of([beam])) == pytest.approx(beam.spacing / c, rel=1e-3)


def test_slender_beams_are_limited_by_shear_across_their_thickness():
    wire = Beam(1.0, Circle(1e-3), density=8000, young=2e11, poisson=0.3, nodes=11)
    speed = np.sqrt(2e11 / 2.6 / 8000)
    assert stable_step(mesh_of([wire])) == pytest.approx(2 * 0.5e-3 / speed, rel=1e-3)


def test_parts_bound_the_whole():
    """ω²_max is at most the largest of single edges, each with half of the inertia of its nodes."""
    mesh = mesh_of(CASES["bent"])
    blocks = elastic(mesh, np.arange(mesh.nodes - 1))
    share = 0.5 * mesh.spacing[0] * mesh.inertia[0]
    both = np.kron(np.eye(2), share)
    largest = max(eigh(block, both, eigvals_only=True)[-1] for block in blocks)
    step = stable_step(mesh)
    assert 2 / np.sqrt(largest) <= step < 1.5 * 2 / np.sqrt(largest)


def test_steps_below_it_are_stable_and_steps_above_are_not():
    """Symplectic Euler on M z̈ + K z = 0."""
    mesh = mesh_of([Beam(**SOFT, nodes=11, ends=("clamped", "free"))])
    freedoms = freedoms_of(mesh)
    k, m = np.zeros((2, freedoms.count, freedoms.count))
    for matrix, (x, i, j) in (
        (k, freedoms.of_edges(elastic(mesh, freedoms.edges))),
        (m, freedoms.of_nodes(freedoms.inertia(mesh))),
    ):
        np.add.at(matrix, (i, j), x)
    pull = np.linalg.solve(m, k)

    def size(h: float) -> float:
        z, v = np.linspace(0, 1, freedoms.count), np.zeros(freedoms.count)
        for _ in range(4000):
            v = v - h * (pull @ z)
            z = z + h * v
        return float(np.abs(z).max())

    step = stable_step(mesh)
    assert size(step) < 100
    assert size(1.002 * step) > 1e6


def test_what_cannot_move_has_no_limit():
    assert stable_step(mesh_of([Beam(**SOFT, nodes=2, ends=("clamped", "clamped"))])) == np.inf


def test_many_nodes_take_seconds_at_most():
    """O(N): the interval is found by banded factorisations."""
    from time import perf_counter

    mesh = mesh_of([Beam(**SOFT, nodes=20_001)])
    begin = perf_counter()
    step = stable_step(mesh)
    assert perf_counter() - begin < 5
    assert step == pytest.approx(1e-4 / 100, rel=1e-3)


@pytest.mark.parametrize("given", [{"stiffness": [1e300] * 6}, {"inertia": [1e-320] * 6}])
def test_numbers_that_are_out_of_range(given):
    """They are said: no limit is looked for without end."""
    beam = Beam(1, **{"stiffness": [1] * 6, "inertia": [1] * 6, **given}, nodes=5)
    with pytest.raises(ModelError, match="too stiff, or too light"):
        stable_step(mesh_of([beam]))
