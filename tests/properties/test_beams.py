"""Properties that hold for any beam: random sections, strains and velocities on small meshes."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

import taut
from taut.lie import SO3
from taut.march.limits import stable_step

NUMBER = st.floats(-1, 1).map(lambda a: round(a, 3))
SIZE = st.floats(0.3, 3).map(lambda a: round(a, 3))
SLOW = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
NODES = 5


def vectors(count, scale):
    """`count` six-vectors."""
    rows = st.lists(st.lists(NUMBER, min_size=6, max_size=6), min_size=count, max_size=count)
    return rows.map(lambda x: scale * np.array(x))


@st.composite
def matrices(draw, diagonal):
    """Positive definite, with coupling."""
    root = np.eye(6) + 0.15 * draw(vectors(6, 1.0))
    scale = np.sqrt(diagonal * np.array([draw(SIZE) for _ in range(6)]))
    return np.outer(scale, scale) * (root @ root.T)


@st.composite
def beams(draw):
    """What a beam is made of, and its start."""
    made = {
        "inertia": draw(matrices(np.array([0.05, 0.05, 0.05, 1, 1, 1]))),
        "stiffness": draw(matrices(np.array([2, 2, 2, 40, 40, 40.0]))),
        "curvature": draw(st.lists(NUMBER, min_size=3, max_size=3)),
        "nodes": NODES,
    }
    start = {"strain0": draw(vectors(NODES - 1, 0.2)), "v0": draw(vectors(NODES, 0.5))}
    return made, start


def ran(made, start, method, steps=100, **options):
    beam = taut.Beam(1, **made, **options)
    step = 0.25 * stable_step(beam.mesh())
    return taut.simulate(beam, **start, duration=steps * step, step=step, method=method)


@SLOW
@given(beams())
def test_momenta_in_space_are_conserved(drawn):
    run = ran(*drawn, "variational", at=(0.3, -0.2, 0.5))
    changes = run.certificate.momenta
    assert changes["linear"] < 1e-13
    assert changes["angular"] < 1e-13
    assert run.certificate.compatibility < 1e-13
    assert run.certificate.energy.band < 0.3 * run.energy[0] + 1e-20


@SLOW
@given(beams(), vectors(1, 2.0), st.sampled_from(["poisson", "hamel", "variational"]))
def test_rigid_motions_of_the_start_move_all_that_follows(drawn, motion, method):
    frame, at = SO3.exp(motion[0, :3]), motion[0, 3:]
    one = ran(*drawn, method)
    two = ran(*drawn, method, frame=frame, at=at)
    np.testing.assert_allclose(two.positions, one.positions @ frame.T + at, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.frames, frame @ one.frames, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.strain, one.strain, rtol=0, atol=1e-10)
    np.testing.assert_allclose(two.energy, one.energy, rtol=1e-9, atol=1e-20)


@SLOW
@given(beams(), st.sampled_from(["poisson", "hamel", "variational"]))
def test_the_way_back_ends_where_it_began(drawn, method):
    made, start = drawn
    out = ran(made, start, method)
    turned = {"strain0": out.strain[-1], "momentum0": -out.momentum[-1]}
    back = ran(made, turned, method, at=out.positions[-1, 0], frame=out.frames[-1, 0])
    np.testing.assert_allclose(back.strain[-1], start["strain0"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(back.momentum[-1], -out.momentum[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(back.positions[-1, 0], out.positions[0, 0], rtol=0, atol=1e-11)


@SLOW
@given(beams(), st.sampled_from([0.25, 4.0, 1024.0]))
def test_units_of_mass_do_not_matter(drawn, factor):
    """Inertia and stiffness times a power of two: the same motion, bit by bit."""
    made, start = drawn
    scaled = {**made, **{x: factor * np.array(made[x]) for x in ("inertia", "stiffness")}}
    one, two = (ran(x, start, "variational") for x in (made, scaled))
    assert np.array_equal(one.positions, two.positions)
    assert np.array_equal(factor * one.momentum, two.momentum)


@SLOW
@given(beams(), st.integers(1, 99))
def test_going_on_is_one_run(drawn, first):
    whole = ran(*drawn, "variational")
    made, start = drawn
    part = taut.simulate(
        taut.Beam(1, **made),
        **start,
        duration=first * whole.step,
        step=whole.step,
        method="variational",
    )
    run = part.continue_((100 - first) * whole.step)
    assert np.array_equal(run.positions, whole.positions)
    assert np.array_equal(run.books, whole.books)
