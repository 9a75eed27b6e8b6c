"""Certificates of fields and beams: every number once more from the states, and its verdict."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import taut
from taut.diagnose.drift import Drift
from taut.diagnose.field_certificate import certify
from taut.lie import SE3
from taut.march.loop import BLOCKS_FULL, BOOKS, HEAD
from taut.methods.fields import Poisson

SOFT = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3, "nodes": 11}
schemes = pytest.mark.parametrize("method", ["poisson", "hamel", "variational"])


def soft(length=1, **options):
    return taut.Beam(length, **{**SOFT, **options})


def bent(beam):
    strain = np.zeros((beam.nodes - 1, 6))
    strain[:, 0] = 0.5 * np.sin(np.pi * beam.middles) ** 2
    return {"strain0": strain, "v0": [0.3, 0, 0, 0.2, 0, 0.1]}


@schemes
def test_energy_is_followed_over_all_steps(method):
    """The band of a run that keeps few states is that of one that keeps all."""
    beam = soft()
    settings = {**bent(beam), "duration": 0.2, "step": 1e-4, "method": method}
    every = taut.simulate(beam, **settings)
    few = taut.simulate(beam, **settings, every=500)
    for run in (every, few):
        energy = run.certificate.energy
        assert energy.band == pytest.approx(np.ptp(every.energy), abs=1e-12)
        assert run.certificate.energy0 == pytest.approx(every.energy[0], rel=1e-13)
        assert run.certificate.steps == 2000
    assert few.certificate.to_dict()["energy_band"] == every.certificate.to_dict()["energy_band"]


@schemes
def test_momenta_are_measured_against_the_sum_of_their_parts(method):
    beam = soft(at=(1, 2, 3))
    run = taut.simulate(beam, **bent(beam), duration=0.2, step=1e-4, method=method, every=10)
    weight = run.mesh.weight[:, None]
    for name, total in (("linear", run.linear_momentum), ("angular", run.angular_momentum)):
        own = np.einsum("tjab,tjb->tja", run.frames, weight * run.momentum[..., 3:])
        if name == "angular":
            spin = np.einsum("tjab,tjb->tja", run.frames, weight * run.momentum[..., :3])
            own = spin + np.cross(run.positions, own)
        size = np.linalg.norm(own, axis=2).sum(axis=1).max()
        change = np.linalg.norm(total - total[0], axis=1).max()
        assert run.certificate.momenta[name] == pytest.approx(change / size, abs=1e-15)
        if method == "variational":
            assert run.certificate.momenta[name] < 1e-14
        else:
            assert 1e-9 < run.certificate.momenta[name] < 1e-2


@schemes
def test_strain_is_compared_with_poses(method):
    beam = soft(curvature=(1, 0, 2))
    run = taut.simulate(beam, **bent(beam), duration=0.2, step=1e-4, method=method, every=40)
    pose = np.zeros((len(run), 11, 4, 4))
    pose[..., :3, :3], pose[..., :3, 3], pose[..., 3, 3] = run.frames, run.positions, 1
    steps = SE3.cay_ad_inverse(SE3.inverse(pose[:, :-1]) @ pose[:, 1:])
    gaps = np.abs(steps - beam.spacing * (run.strain + beam.reference))
    gap = (gaps / np.repeat([1.0, beam.spacing], 3)).max()  # angles, and shares of an edge
    assert run.certificate.compatibility == pytest.approx(gap, abs=1e-14)
    assert (gap < 1e-13) == (method == "variational")
    assert run.certificate.orthogonality < 1e-14


def test_the_printed_configuration_is_found_out():
    """CS (55) as printed lets it drift away from the strain."""
    beam = soft()
    found = [
        taut.simulate(
            beam, **bent(beam), duration=0.5, step=1e-4, every=50, method=Poisson(pose=pose)
        )
        for pose in ("new", "printed")
    ]
    usual, printed = (run.certificate.compatibility for run in found)
    assert printed > 1.8 * usual


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (soft, True),
        (lambda: soft().load(force=(1, 0, 0)), False),
        (lambda: soft(gravity=(0, 0, -1)), False),
        (lambda: soft(ends=("pinned", "free")), False),
        (lambda: soft(gravity=(0, 0, 0)), True),
    ],
)
def test_what_should_be_kept(make, kept):
    run = taut.simulate(make(), duration=0.01)
    assert run.certificate.kept == {"linear": kept, "angular": kept}
    text = str(run.certificate)
    assert any(x in text for x in (" act", "ends are held")) != kept
    assert ("constant to" in text) or not kept


def test_the_words_of_a_table():
    beam = soft()
    run = taut.simulate(beam, **bent(beam), duration=2, step=1e-4, every=100, method="variational")
    rows = {name: (value, word) for name, value, word in run.certificate.rows()}
    assert rows["linear momentum"][1] == "round-off"
    assert rows["angular momentum"][1] == "round-off"
    assert rows["strain against poses"][1] == "round-off"
    assert rows["frames, max |RᵀR − 1|"][1] == "round-off"
    assert rows["energy drift"][1] in ("no drift", "none seen; too short to exclude")
    assert rows["step against its limit"][1] == "stable"
    assert run.certificate.title().startswith("variational, 11 nodes × 20000 steps of 0.0001")
    assert "<table>" in run.certificate._repr_html_()
    run = taut.simulate(beam, **bent(beam), duration=0.1, step=1e-4, every=100, method="poisson")
    rows = {name: (value, word) for name, value, word in run.certificate.rows()}
    assert rows["linear momentum"][1] == "not kept exactly by this scheme"
    assert rows["strain against poses"][1] == "they are integrated side by side"


def test_work_is_in_the_table_where_something_acts():
    beam = soft().load(force=(sp.sin(40 * taut.t), 0, 0))
    run = taut.simulate(beam, duration=0.5, step=1e-4, every=10)
    facts = run.certificate.to_dict()
    assert facts["energy_is_balance"]
    assert not facts["energy_drifts"]
    assert facts["work"] == pytest.approx(run.energy[-1] - run.energy[0], rel=1e-4)
    force = np.stack([np.sin(40 * run.t), 0 * run.t, 0 * run.t], axis=1)
    speed = np.einsum("tij,tj->ti", run.frames[:, -1], run.velocity[:, -1, 3:])
    power = np.einsum("ti,ti->t", force, speed)
    assert facts["work"] == pytest.approx(np.trapezoid(power, run.t), rel=1e-3)
    assert run.certificate.gross_work == pytest.approx(np.trapezoid(abs(power), run.t), rel=1e-2)
    assert run.certificate.gross_work > 2 * run.certificate.work
    names = [row[0] for row in run.certificate.rows()]
    assert "energy, work done" in names
    assert "energy drift" not in names


def test_a_drift_is_found_out():
    """A load that is not told: the books of a free run with energy pumped in by hand."""
    beam = soft()
    run = taut.simulate(beam, **bent(beam), duration=2, step=1e-4, every=1000)
    assert not run.certificate.drifts
    books = run.books.copy()
    many = int(books[BLOCKS_FULL])
    band = run.certificate.energy.band
    books[HEAD : HEAD + many] += np.linspace(0, 20 * band, many)
    books[BOOKS.index("error_max")] += 20 * band
    books[BOOKS.index("steps")] = 200_000
    assert certify(replace(run, books=books)).drifts


@pytest.fixture(scope="module")
def calm():
    beam = soft()
    return taut.simulate(beam, **bent(beam), duration=0.5, step=1e-4, every=100)


def judged(run, slope, half_width, turns, steps, **more):
    """The verdict on a drift, a band of a tenth of the energy being one."""
    facts = run.certificate
    drift = Drift(slope, half_width, duration=1.0, band=0.1 * facts.energy0, turns=turns)
    return replace(facts, energy=drift, steps=steps, **more)


@pytest.mark.parametrize(
    ("slope", "half_width", "turns", "steps", "word"),
    [
        (0.5, 0.1, 6, 1000, "drifts"),
        (-0.5, 0.1, 6, 1000, "drifts"),
        (0.5, 0.1, 5, 100_000, "drifts"),
        (0.5, 0.1, 5, 99_999, "too short to tell"),
        (0.005, 0.09, 9, 1000, "no drift"),
        (0.005, 0.11, 9, 1000, "none seen; too short to exclude"),
        (0.5, np.inf, 9, 1000, ""),
    ],
)
def test_verdicts_on_drifts(calm, slope, half_width, turns, steps, word):
    unit = 0.1 * calm.certificate.energy0
    facts = judged(calm, slope * unit, half_width * unit, turns, steps)
    assert dict((row[0], row[2]) for row in facts.rows())["energy drift"] == word
    assert facts.drifts == (word == "drifts")
    assert facts.to_dict()["energy_drifts"] == (word == "drifts")


def test_where_something_works_there_is_no_drift(calm):
    unit = 0.1 * calm.certificate.energy0
    assert judged(calm, 0.5 * unit, 0.1 * unit, 9, 10**6).drifts
    assert not judged(calm, 0.5 * unit, 0.1 * unit, 9, 10**6, gross_work=1.0).drifts


def test_a_drift_within_round_off_is_none(calm):
    facts = calm.certificate
    noise = replace(facts, steps=10_000)._noise  # what rounding does to the energy
    assert 0 < noise < 1e-9 * facts.energy0
    for size, word in ((0.9, "round-off"), (1.1, "drifts")):
        band = size * noise
        drift = Drift(0.5 * band, 0.1 * band, duration=1.0, band=band, turns=9)
        made = replace(facts, energy=drift, steps=10_000)
        assert made.energy_verdict == word


def test_words_for_what_is_not_as_it_should_be(calm):
    """Frames, momenta of long runs, and steps beyond the limit."""

    def word(name, **changed):
        return {row[0]: row[2] for row in replace(calm.certificate, **changed).rows()}[name]

    assert word("frames, max |RᵀR − 1|", orthogonality=2e-14) == "round-off"
    assert word("frames, max |RᵀR − 1|", orthogonality=3e-14) == "not rotations"
    assert word("step against its limit", step_ratio=1.0) == "stable"
    assert word("step against its limit", step_ratio=1.01) == "beyond the limit"
    kept = {"linear": 1e-12}
    for steps, said in ((10_000, "not kept exactly by this scheme"), (10**6, "round-off")):
        found = replace(calm.certificate, momenta=kept, kept={"linear": True}, steps=steps)
        assert {row[0]: row[2] for row in found.rows()}["linear momentum"] == said


def test_the_share_of_the_work_is_that_of_what_went_in_and_out():
    beam = soft().load(force=(sp.sin(40 * taut.t), 0, 0))
    facts = taut.simulate(beam, duration=0.5, step=1e-4, every=10).certificate
    share = {row[0]: row[2] for row in facts.rows()}["energy − work"]
    assert float(share.split()[0]) == pytest.approx(
        100 * facts.energy.band / facts.gross_work, rel=0.06
    )


def test_states_are_looked_at_up_to_the_last(calm):
    """Strain and frames that are wrong in the last state alone."""
    strain, turns = calm.strain.copy(), calm._turns.copy()
    strain[-1, 3, 0] += 1.0
    turns[-1, 4] *= 1 + 1e-9
    assert certify(replace(calm, strain=strain)).compatibility == pytest.approx(0.1, rel=1e-6)
    found = certify(replace(calm, _turns=turns))
    assert found.orthogonality == pytest.approx(4e-9, rel=1e-4)
    assert {row[0]: row[2] for row in found.rows()}["frames, max |RᵀR − 1|"] == "not rotations"


def test_the_total_momentum_of_a_held_field_is_not_kept():
    g, m = taut.coordinates("gamma mu")
    settings = {"strain": [g], "momentum": [m], "length": 1, "nodes": 9}
    for ends, kept in (("periodic", True), (("free", "free"), True), (("free", "clamped"), False)):
        field = taut.Field(taut.lie.abelian(1), m**2 / 2 + g**2 / 2, **settings, ends=ends)
        start = np.sin(7 * field.middles)[:, None]
        facts = taut.simulate(field, strain0=start, duration=1, step=0.05).certificate
        assert facts.kept == {"total": kept}
        assert (facts.momenta["total"] < 1e-12) == kept


def test_everything_as_plain_numbers():
    run = taut.simulate(soft(), **bent(soft()), duration=0.01, step=1e-4, method="hamel")
    facts = run.certificate.to_dict()
    assert facts["method"] == "hamel"
    assert facts["steps"] == 100
    assert facts["nodes"] == 11
    assert facts["stable_step"] == run.limit
    assert facts["step_ratio"] == pytest.approx(1e-4 / run.limit)
    assert facts["momentum_conserved"] == {"linear": True, "angular": True}
    assert facts["wall_time"] == run.wall_time > 0
    for value in facts.values():
        assert isinstance(value, bool | int | float | str | dict | None)


def test_momenta_that_change_are_shown_from_start_to_end():
    """In kg m/s and kg m²/s, and with what changes them."""
    beam = taut.Beam(1, taut.Square(0.1), density=1e3, young=1e7, poisson=0.35, nodes=5)
    beam.load(at=0.5, force=(0, 0, 30))
    text = str(taut.simulate(beam, duration=0.1, step=1e-4, method="variational").certificate)
    assert "|linear momentum|       0 → 3 " in text
    assert "|angular momentum|      0 → 1.5 " in text
    assert "loads act" in text
    assert "held" not in text


def test_what_changes_momenta_in_words():
    def words(**options):
        beam = taut.Beam(
            1, taut.Square(0.1), density=1e3, young=1e7, poisson=0.35, nodes=5, **options
        )
        rows = taut.simulate(beam, duration=0.01).certificate.rows()
        return next(word for name, _, word in rows if name == "|linear momentum|")

    held = {"ends": ("pinned", "free")}
    assert words(**held) == "ends are held"
    assert words(gravity=(0, 0, -1)) == "gravity acts"
    assert words(gravity=(0, 0, -1), **held) == "gravity acts, ends are held"


def test_energy_that_is_missing_in_earnest_is_pointed_at():
    """An end that jumps between two steps: nothing of the motion is resolved."""
    jump = sp.Piecewise((0, taut.t < 0.0105), (0.1, True))
    beam = taut.Beam(1, taut.Square(0.05), density=1e3, young=1e7, poisson=0.3, nodes=9,
                     ends=(taut.End("clamped", position=(jump, 0, 0)), "free"))  # fmt: skip
    text = str(taut.simulate(beam, duration=0.05).certificate)
    assert "look at the step, and for jumps" in text
    smooth = taut.Beam(1, taut.Square(0.05), density=1e3, young=1e7, poisson=0.3, nodes=9,
                       ends=("clamped", "free"), gravity=(0, 0, -9.81))  # fmt: skip
    assert "look at" not in str(taut.simulate(smooth, duration=0.05).certificate)


def test_beams_far_from_the_origin_say_what_that_costs():
    words = {}
    for at in (0.0, 1e6):
        beam = soft(at=(at, 0, 0))
        run = taut.simulate(beam, **bent(beam), duration=0.05)
        words[at] = {row[0]: row[2] for row in run.certificate.rows()}["strain against poses"]
    assert words == {0.0: "round-off", 1e6: "round-off; 6 digits are lost far from the origin"}
