"""The certificate measures, on every step, and is honest for bad methods and forced systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import taut
from taut.diagnose.certificate import certify
from taut.diagnose.drift import Drift
from taut.march.loop import BOOKS

x, y = Q = taut.coordinates("x y")
vx, vy = taut.velocities(Q)


def pendulum(**options) -> taut.System:
    return taut.System(Q, mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1], **options)


def run_of(system=None, **changes):
    settings = {"q0": [0.6, -0.8], "v0": 0, "duration": 10, "step": 0.01} | changes
    return taut.simulate(system or pendulum(), **settings)


def test_maxima_cover_steps_that_are_not_stored():
    full, sparse = run_of(), run_of(every=1000)
    a, b = full.certificate.to_dict(), sparse.certificate.to_dict()
    assert len(sparse.t) == 2
    for key in ("max_g", "max_hidden", "energy_band", "energy_drift", "newton_iterations_mean"):
        assert a[key] == b[key]
    assert a["energy_band"] == pytest.approx(np.ptp(full.energy), rel=1e-9)
    assert a["max_g"] == pytest.approx(np.abs(full.constraints).max(), abs=3e-16)


def test_energy_balance_of_a_damped_pendulum():
    """Friction takes energy; the balance closes to the order of the method."""
    system = pendulum(forces=[-vx / 5, -vy / 5])
    bands = []
    for step in (0.02, 0.01):
        run = run_of(system, step=step)
        facts = run.certificate.to_dict()
        assert facts["energy_is_balance"]
        # The work by Simpson's rule on the stored states, another road than the books'.
        power = -(run.v**2).sum(axis=1) / 5
        simpson = (power[0:-1:2] + 4 * power[1::2] + power[2::2]).sum() * step / 3
        assert facts["work"] == pytest.approx(simpson, rel=1e-4)
        assert facts["work"] == pytest.approx(run.energy[-1] - run.energy[0], abs=2e-3)
        bands.append(facts["energy_band"])
        assert "energy − work" in str(run.certificate)
    assert bands[0] / bands[1] == pytest.approx(4, rel=0.1)


def test_energy_balance_of_a_moving_constraint():
    """A string that is drawn in does work −λ ∂g/∂t (here by a hand-derived reference)."""
    length = 1 - taut.t / 20
    system = taut.System(Q, mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - length**2])
    run = taut.simulate(system, q0=[0.6, -0.8], v0=[-0.03, 0.04], duration=8, step=0.01)
    facts = run.certificate.to_dict()
    assert facts["work"] == pytest.approx(run.energy[-1] - run.energy[0], abs=5e-3)
    # Angle form: L² θ̈ + 2 L L̇ θ̇ + 10 L sin θ = 0, tension · (−L̇) is the power.
    ell = 1 - run.t / 20
    theta_dot = (run.q[:, 0] * run.v[:, 1] - run.q[:, 1] * run.v[:, 0]) / ell**2
    tension = ell * theta_dot**2 - 10 * run.q[:, 1] / ell
    power = tension / 20
    trapezoid = ((power[1:] + power[:-1]) / 2).sum() * 0.01
    assert facts["work"] == pytest.approx(trapezoid, rel=1e-3)
    assert facts["energy_band"] < 1e-2


def test_bad_method_is_told_so():
    z = sp.Symbol("z", real=True)
    system = taut.System(
        [x, y, z], mass=[1, 1, 1], potential=z, constraints=[x**2 + y**2 + z**2 - 1]
    )
    start = {"q0": [0, np.sin(0.1), -np.cos(0.1)], "v0": [0.06, 0, 0], "duration": 60, "step": 0.03}
    text = str(taut.simulate(system, **start, method="symplectic-euler").certificate)
    assert "drifts" in text
    assert "not kept" in text
    assert "not symplectic" in text
    good = str(taut.simulate(system, **start, method="rattle").certificate)
    assert "drifts" not in good
    assert "not" not in good
    assert "round-off" in good


def test_a_fall_is_no_drift():
    """Within a fraction of an oscillation the energy error has a trend, which proves nothing."""
    run = run_of(duration=0.3, step=0.001)
    assert run.certificate.energy.significant
    assert not run.certificate.drifts
    assert "too short to tell" in str(run.certificate)


def test_watched_laws():
    px, py = taut.momenta(Q)
    free = taut.System(Q, mass=[1, 2], potential=(x**2 + y**2) / 2)
    run = taut.simulate(
        free,
        q0=[1, 0],
        v0=[0, 1],
        duration=20,
        step=0.01,
        laws={"L": x * py - y * px, "E1": px**2 + x**2},
    )
    kept, broken = run.certificate.watched
    assert kept.largest_change > 0.1, "unequal masses: angular momentum is not conserved"
    assert broken.largest_change < 1e-4
    assert run.certificate.to_dict()["laws"]["E1"]["first"] == 1.0
    with pytest.raises(taut.ModelError, match="nobody"):
        run_of(laws=[sp.Symbol("nobody")])
    with pytest.raises(taut.InputError, match="laws"):
        run_of(laws="everything")


def test_batch_certificate_is_the_worst():
    angles = np.array([0.1, 1.0, 2.0])
    starts = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    run = run_of(q0=starts)
    singles = [run_of(q0=row).certificate.energy.band for row in starts]
    parts = [run[i].certificate.energy.band for i in range(3)]
    assert parts == singles
    assert run.certificate.max_g == max(run_of(q0=row).certificate.max_g for row in starts)


def test_a_member_of_a_batch_has_its_share_of_the_time():
    run = run_of(q0=[[0, -1], [0.6, -0.8], [1, 0]])
    certificates = [run[i].certificate for i in range(3)]
    assert sum(c.to_dict()["wall_time"] for c in certificates) == pytest.approx(run.wall_time)
    whole = run.certificate.steps_per_second
    assert [c.steps_per_second for c in certificates] == pytest.approx([whole] * 3)
    assert f": {run.wall_time / 3:.3g} s (" in certificates[1].title()


def test_a_batch_says_whose_values_it_shows():
    """The energy of the trajectory with the widest band, a law of that with its largest change."""
    angles = np.array([0.1, 2.0, 1.0, 0.5])
    starts = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    run = run_of(q0=starts, laws={"x": x})
    rows = {what: value for what, value, _ in run.certificate.rows()}
    bands = [run[i].certificate.energy.band for i in range(4)]
    far = [np.abs(run.q[i, :, 0] - run.q[i, 0, 0]).max() for i in range(4)]
    worst, farthest = int(np.argmax(bands)), int(np.argmax(far))
    assert worst != 0
    assert rows["energy"].endswith(f"band {bands[worst]:.1e} (trajectory {worst})")
    assert rows["energy"].startswith(f"{run.energy[worst, 0]:.8g},")
    assert rows["energy drift"].endswith("% of the band in the mean")
    assert rows["x"].endswith(f"{far[farthest]:.1e} (trajectory {farthest})")
    assert run.certificate.to_dict()["energy_of"] == worst
    alone = run[worst].certificate
    assert alone.to_dict()["energy_of"] is None
    assert "trajectory" not in str(alone)
    assert "in the mean" not in str(alone)


def test_redundant_constraints_are_named():
    system = taut.System(
        Q, mass=[1, 1], potential=10 * y,
        constraints={"rod": x**2 + y**2 - 1, "again": 3 * x**2 + 3 * y**2 - 3},
    )  # fmt: skip
    run = run_of(system)
    assert run.certificate.redundant == ("again",)
    assert "again" in str(run.certificate)


def test_dict_is_plain():
    import json

    json.dumps(run_of().certificate.to_dict())


def test_html_is_escaped():
    run = run_of(laws={"<b>": x**2 + y**2})
    html = run.certificate._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_a_failed_run_still_has_a_certificate():
    """The last state of a run that failed allows no further step; its certificate says the rest."""
    with pytest.raises(taut.StepError) as caught:
        run_of(step=0.57, duration=40)
    partial = caught.value.partial
    facts = partial.certificate.to_dict()
    assert facts["failures"] == 1
    assert "1 failed" in str(partial.certificate)


def test_columns_line_up():
    """Every value begins in the same column, also behind the q with its dot."""
    from taut.text import columns

    certificate = run_of().certificate
    lines = str(certificate).splitlines()[1:]
    starts = {
        columns(line[: line.index(value)])
        for line, (_, value, _) in zip(lines, certificate.rows(), strict=True)
    }
    assert len(starts) == 1


def circle(size: float, centre: float = 0.0) -> taut.System:
    return taut.System(
        Q, mass=[1, 1], potential=10 * y, constraints=[(x - centre) ** 2 + y**2 - size**2]
    )


@pytest.mark.parametrize(("size", "centre"), [(1e-6, 0), (1, 0), (1e3, 0), (1, 100_000)])
@pytest.mark.parametrize("method", ["rattle", "symplectic-euler"])
def test_round_off_is_judged_in_the_units_of_the_constraint(size, centre, method):
    step = 0.05 * np.sqrt(size / 10)
    run = taut.simulate(
        circle(size, centre), q0=[centre + 0.6 * size, -0.8 * size], v0=0, duration=100 * step,
        step=step, method=method, project=True,
    )  # fmt: skip
    verdict = run.certificate.rows()[0][2]
    far = "; 5 digits are lost far from the origin" if centre else ""
    assert verdict == (f"round-off{far}" if method == "rattle" else "not kept")


@pytest.mark.parametrize(
    "second",
    [x**2 + y**2 - 1 - taut.t**3, x**2 + y**2 - 1 + sp.Max(0, -x - sp.Rational(1, 2)) ** 2],
)
def test_a_constraint_that_was_redundant_only_at_the_start(second):
    """It is watched although it was left out, and the run that breaks it is refused."""
    system = taut.System(Q, mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1, second])
    with pytest.raises(taut.ConstraintError, match="g1 does not hold") as caught:
        taut.simulate(system, q0=[1, 0], v0=0, duration=2, step=0.1)
    partial = caught.value.partial
    assert partial.certificate.max_g == pytest.approx(np.abs(partial.constraints).max(), rel=1e-9)
    assert partial.certificate.rows()[0][2] == "not kept"


def test_order_in_a_batch_does_not_matter():
    z = sp.Symbol("z", real=True)
    system = taut.System([x, y, z], mass=1, potential=z, constraints=[x**2 + y**2 + z**2 - 1])
    angles = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    starts = np.stack([np.sin(angles), 0 * angles, -np.cos(angles)], axis=1)
    facts = [
        taut.simulate(
            system, q0=rows, v0=0, duration=60, step=0.03, method="symplectic-euler"
        ).certificate
        for rows in (starts, starts[::-1])
    ]
    assert facts[0].symplecticity == facts[1].symplecticity > 1e-6
    assert facts[0].drifts
    assert facts[1].drifts


def test_a_coordinate_that_only_grows_hides_no_drift():
    system = taut.System(
        Q, mass=[1, 1], potential=sp.cos(x) / 5, constraints=[y - x - sp.sin(2 * x) / 4]
    )
    run = taut.simulate(
        system, q0=[0, 0], v0=[1, 1.5], duration=200, step=0.01,
        method="projected-symplectic-euler", project=True,
    )  # fmt: skip
    assert np.all(np.diff(run.q[:, 0]) > 0)
    assert run.certificate.drifts


def test_a_law_that_is_not_a_number_is_not_kept():
    rows = {row[0]: row[2] for row in run_of(laws={"log": sp.log(x)}).certificate.rows()}
    assert rows["log"] == "not a number"


def test_slow_convergence_is_not_stagnation():
    """Two roots close together: Newton halves its error, and must not stop half-way."""
    gap = 1e-8
    system = taut.System(
        Q, mass=[1, 1], potential=10 * y, constraints=[(x**2 + y**2 - 1) ** 2 - gap**2]
    )
    r = np.sqrt(1 + gap)
    run = taut.simulate(system, q0=[0.6 * r, 0.8 * r], v0=0, duration=1, step=0.01, project=True)
    assert np.abs((run.q**2).sum(axis=1) - 1) == pytest.approx(gap, rel=1e-6)


def test_growth_that_is_faster_than_linear_is_a_drift():
    """The interval of a straight line is wide then, and proves nothing."""
    px, py = taut.momenta(Q)
    fast = taut.System(
        Q, hamiltonian=5 * sp.sqrt(25 + px**2 + py**2) + 10 * y, constraints=[x**2 + y**2 - 1]
    )
    settings = {"q0": [1, 0], "v0": 0, "duration": 50, "step": 0.01, "laws": None}
    bad = taut.simulate(fast, **settings, method="projected-symplectic-euler").certificate
    assert not bad.energy.significant
    assert bad.drifts
    assert bad.to_dict()["energy_drifts"]
    assert not taut.simulate(fast, **settings).certificate.drifts


def test_a_slow_oscillation_of_a_symplectic_method_is_no_drift():
    """A light mass turns often while the heavy one has hardly begun to swing."""
    slow = taut.System(Q, mass=[1, 1e-4], potential=(x**2 + y**2) / 2 + x**4)
    run = run_of(slow, q0=[1, 1e-4], duration=0.2, step=0.001)
    assert run.certificate.long_enough
    assert run.certificate.energy.significant
    assert not run.certificate.drifts
    assert "too short to tell" in str(run.certificate)


@pytest.mark.parametrize(
    "name", ["double-pendulum", "zg-spatial", "car-axis", "spherical-pendulum"]
)
def test_arrays_are_what_the_certificate_saw(name):
    """The stored states are judged by the operations that monitored the steps, bit for bit."""
    run = taut.problems.problem(name).simulate()
    assert run.every == 1
    assert run.certificate.max_g == abs(run.constraints).max()
    assert run.certificate.max_hidden == abs(run.hidden).max()
    if run.system.conservative:
        assert run.certificate.energy.band == np.ptp(run.energy - run.energy[0])


@pytest.mark.parametrize(
    ("method", "step", "verdict"),
    [
        ("gauss-lobatto-8", 0.02, "round-off"),
        ("projected-dop853", 0.01, "round-off"),
        ("projected-dop853", 0.025, "drifts"),
        ("projected-dop853", 0.05, "drifts"),
    ],
)
def test_a_drift_of_roundings_is_called_so_whatever_the_method(method, step, verdict):
    problem = taut.problems.problem("spherical-pendulum")
    run = problem.simulate(step=step, duration=2400, method=method, every=100)
    found = run.certificate.energy
    assert abs(found.relative) > 0.5
    assert (found.band < 1e-11) == (verdict == "round-off")
    assert run.certificate.drifts == (verdict == "drifts")
    assert f"% of the band {verdict}" in " ".join(str(run.certificate).split())


def test_a_walk_is_not_a_drift():
    """A slope that is known to a fraction of itself, and one that may turn at any time."""
    problem = taut.problems.problem("spherical-pendulum")
    certificate = problem.simulate(step=0.01, duration=1000, every=10).certificate
    line = Drift(slope=1e-3, half_width=1e-4, duration=1000.0, band=1.5, turns=3)
    assert certificate._verdict(line) == "drifts"
    assert certificate._verdict(replace(line, half_width=8e-4)) == "wanders"
    assert certificate._verdict(replace(line, half_width=2e-3)) != "wanders"
    assert certificate._verdict(line, noise=2.0) == "round-off"


def test_a_constant_in_the_energy_does_not_make_a_band_round_off():
    x, y = q = taut.coordinates("x y")
    system = taut.System(q, mass=[1, 1], potential=10 * y + 10**9, constraints=[x**2 + y**2 - 1])
    run = taut.simulate(system, q0=[0.6, -0.8], v0=0, step=0.01, duration=1000, every=100)
    assert run.certificate.energy.band > 100 * run.certificate._energy_noise


def test_rounding_of_an_angle_that_has_wound_up_counts():
    (a,) = taut.coordinates("a")
    system = taut.System([a], mass=[1], potential=-sp.cos(a))
    run = taut.simulate(
        system, q0=[1e6], v0=[2.5], duration=1000, step=0.02, method="gauss-lobatto-8", every=100
    )
    assert run.certificate.energy.band > 1e-11  # far above the rounding of the energy itself
    assert not run.certificate.drifts


@pytest.mark.parametrize(("method", "told"), [("rattle", False), ("gauss-lobatto-6", True)])
def test_how_work_is_summed_is_said_where_it_is_less_than_the_method(method, told):
    x = taut.coordinates("x")[0]
    (v,) = taut.velocities([x])
    system = taut.System([x], mass=[1], potential=50 * x**2, forces={x: -2 * v})
    run = taut.simulate(system, q0=[0.3], v0=0, duration=3, step=0.02, method=method, laws=None)
    rows = {row[0]: row[2] for row in run.certificate.rows()}
    assert "% of the work" in rows["energy − work"]
    assert ("the sum of the work by itself makes about" in rows["energy − work"]) == told


@pytest.mark.parametrize(("step", "wrong"), [(0.003, True), (0.0005, False)])
def test_a_few_steps_that_blow_up(step, wrong):
    x = taut.coordinates("x")[0]
    system = taut.System([x], mass=[1], potential=5e5 * x**2)
    run = taut.simulate(system, q0=[0.1], v0=0, duration=34 * step, step=step, laws=None)
    (verdict,) = [row[2] for row in run.certificate.rows() if row[0] == "energy drift"]
    assert verdict.startswith("wrong") == wrong
    # At rest there is no kinetic energy, and rounding is no loss.
    hanging = taut.System([x], mass=[1], potential=5e5 * x**2 + 3 * x)
    rest = taut.simulate(hanging, q0=[-3e-6], v0=0, duration=0.017, step=5e-4, laws=None)
    assert "wrong" not in str(rest.certificate)


# ---- at rest, wherever the origin is ---------------------------------------------------------


def resting(kind, step=0.01, method="rattle"):
    """What rests at the origin, and all its coordinates with it."""
    if kind in ("rail", "fixed"):
        m = taut.Mechanism(gravity=(0, 0, -9.81))
        b = m.body("b", mass=1, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0))
        if kind == "rail":
            m.prismatic("rail", m.ground, b, at=(0, 0, 0), axis=(1, 0, 0))
        else:
            m.fixed("joint", m.ground, b, at=(0, 0, 0))
        return taut.simulate(m, duration=4, step=step, method=method, laws=None)
    rule = {"bowl": y - x**2, "cross": x * y, "circle": x**2 + (y - 1) ** 2 - 1}[kind]
    system = taut.System(Q, mass=[1, 1], potential=y, constraints=[rule])
    start = [1, 0] if kind == "cross" else [0, 0]
    return taut.simulate(system, q0=start, v0=0, duration=4, step=step, method=method, laws=None)


@pytest.mark.parametrize("kind", ["rail", "fixed", "bowl", "cross", "circle"])
def test_what_rests_at_the_origin_is_at_rest(kind):
    run = resting(kind)
    words = {what: word for what, _, word in run.certificate.rows()}
    assert words["max |g|"] == "round-off"
    assert words["energy drift"] == "round-off"
    assert words["resolution"] == "at rest"
    assert run.certificate.loose == 0


@pytest.mark.parametrize(
    ("kind", "step", "method"), [("bowl", 0.1, "rattle"), ("circle", 0.01, "gauss-lobatto-8")]
)
def test_what_rests_at_the_origin_is_solved_for(kind, step, method):
    """Moves beside coordinates that are zero are no share of them that means anything."""
    certificate = resting(kind, step, method).certificate
    assert certificate.loose > 0
    assert not certificate._ended_loose
    assert certificate.rows()[-1][2] == ""


def test_a_violation_as_small_as_a_part_of_what_forces_do_in_a_step_is_seen():
    """1e-12 of the way that a bead in a bowl would fall in a step, were there no bowl."""
    run = resting("bowl")
    run.ending.books[:, BOOKS.index("max_g")] = 1e-12 * 0.01**2
    assert dict((a, c) for a, _, c in certify(run).rows())["max |g|"] == "not kept"
