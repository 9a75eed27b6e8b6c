"""ZG redrawn: the numbers of the reproduction against the digest's and against direct formulas."""

import json
import re
from math import cos, sqrt

import numpy as np
import pytest
import sympy as sp

from taut.papers import zg_figures, zg_study
from taut.papers.zg import claims
from taut.problems import problem

PAPER = "zg"


class TestNumbers:
    @pytest.mark.parametrize(
        ("key", "energy"),
        [
            ("zg-pendulum@0.01", -10 * sqrt(1 - 0.99**2)),
            ("zg-spherical@0.03", 0.0018 - cos(0.1)),
            ("zg-spherical@0.1", 0.0018 - cos(0.1)),
            ("zg-spherical-printed@0.03", 0.0018 + cos(0.1)),
            ("zg-double@0.01", -25 * sqrt(2)),
            ("zg-spatial@0.01", 33 / 2500 - 50 / sqrt(3)),
            ("zg-spatial-printed@0.01", 103 / 25 - 50 / sqrt(3)),
        ],
    )
    def test_energies_are_those_of_the_start(self, data, key, energy):
        assert data["examples"][key]["energy"] == pytest.approx(energy, abs=1e-13 * 30)

    @pytest.mark.parametrize(
        ("key", "rounded"),
        [("zg-spherical@0.03", "-0.99320"), ("zg-spherical-printed@0.03", "0.99680"),
         ("zg-double@0.01", "-35.35534"), ("zg-spatial@0.01", "-28.85431")],
    )  # fmt: skip
    def test_energies_as_the_digest_prints_them(self, data, key, rounded):
        assert f"{data['examples'][key]['energy']:.5f}" == rounded

    @pytest.mark.parametrize(
        ("key", "low", "high"),
        [
            ("zg-spherical@0.03", -7.22e-7, 0.0),
            ("zg-spherical@0.1", -8.02e-6, 0.0),
            ("zg-double@0.01", -5.43e-2, 0.0),
        ],
    )
    def test_bands(self, data, key, low, high):
        found = data["examples"][key]["energy error"]
        assert found == pytest.approx([low, high], rel=0.01, abs=1e-12)

    def test_bands_scale_with_the_square_of_the_step(self, data):
        fine, coarse = (
            np.ptp(data["examples"][f"zg-spherical@{h}"]["energy error"]) for h in ("0.03", "0.1")
        )
        assert coarse / fine == pytest.approx((0.1 / 0.03) ** 2, rel=0.01)

    def test_every_run_keeps_constraints_and_has_no_drift(self, data):
        assert len(data["examples"]) == 8
        for found in data["examples"].values():
            assert found["constraints"] < 2e-15
            assert found["hidden constraints"] < 1e-14
            assert found["symplecticity defect"] < 1e-14
            assert not found["energy drifts"]
            long = found["long run"]
            assert long["steps"] == 100_000
            # Chaotic runs wander, and where to depends on the last bits, hence on the machine.
            assert abs(long["drift"]) < max(0.05, 3 * long["half width"])
            assert long["half width"] < 0.1

    def test_both_forms_give_the_same_path(self, data):
        apart = {key: found["difference of the forms"] for key, found in data["examples"].items()}
        assert max(apart.values()) < 1e-10
        assert 0 < apart["zg-double@0.01"] < 1e-11

    def test_printed_starts_break_the_hidden_constraint(self, data):
        slow, fast = (data["starts"][k] for k in ("zg-spatial", "zg-spatial-printed"))
        assert f"{slow['energy as printed']:.5f}" == "-28.85251"
        assert f"{fast['energy as printed']:.5f}" == "-24.36751"
        assert f"{slow['energy after projection']:.5f}" == "-28.85431"
        # G v = 2 q₁·v₁ and 2 (q₂ − q₁)·(v₂ − v₁)
        assert slow["G v as printed"] == pytest.approx(0.2 / sqrt(3))
        assert fast["G v as printed"] == pytest.approx(2 / sqrt(3))
        assert "start" in slow["taut says"]

    def test_symplectic_euler_grows(self, data):
        short, long = (data["comparison"][f"symplectic-euler@{span}"] for span in (50, 500))
        assert short["energy error at the end"] == pytest.approx(5.2e-3, rel=0.02)
        assert long["energy error at the end"] == pytest.approx(10 * 5.2e-3, rel=0.05)
        assert short["energy drifts"]
        assert long["energy drifts"]
        assert long["constraints"] > 0.05

    def test_projected_euler_grows_too_but_less_than_it_oscillates_in_50_seconds(self, data):
        name = "projected-symplectic-euler"
        short, long = (data["comparison"][f"{name}@{span}"] for span in (50, 500))
        assert short["energy error"] == pytest.approx([-4.6e-5, 8.9e-5], rel=0.02)
        assert 50 * short["energy slope"] < 0.5 * np.ptp(short["energy error"])
        assert long["energy drifts"]
        assert long["energy slope"] == pytest.approx(8.2e-7, rel=0.02)
        assert long["constraints"] < 1e-15

    def test_a_slope_is_called_what_its_certificate_calls_it(self, study, data, page):
        """One measure: projected symplectic Euler wanders over 50 s, and drifts over 500 s."""
        table = re.search(r"<th>slope per s.*?</table>", page, re.S)[0]
        for (name, span), run in study.rivals.items():
            (word,) = (w for what, _, w in run.certificate.rows() if what == "energy drift")
            found = data["comparison"][f"{name}@{span:g}"]
            assert found["fate of the energy"] == word
            assert found["energy drifts"] == run.certificate.drifts == (word == "drifts")
            (row,) = re.findall(
                rf"<td[^>]*>{name}</td><td[^>]*>{span:g} s</td>.*?</tr>", table, re.S
            )
            assert f">{word}</td>" in row
        short = data["comparison"]["projected-symplectic-euler@50"]
        assert short["fate of the energy"] == "wanders"

    def test_time_element_has_no_slope(self, data):
        found = data["comparison"]["time-element@500"]
        assert not found["energy drifts"]
        assert abs(found["energy slope"]) < 1e-3 * 8.2e-7
        assert np.ptp(found["energy error"]) == pytest.approx(7.22e-7, rel=0.01)

    @pytest.mark.parametrize("name", ["zg-pendulum", "zg-spherical", "zg-double"])
    def test_orders_of_both_starts(self, data, name):
        exact, printed = (data["order"][f"{name}, {s} start"] for s in ("exact", "paper"))
        assert exact["orders"][-1] == pytest.approx(2, abs=0.01)
        assert printed["orders"][-1] == pytest.approx(1, abs=0.05)
        assert printed["errors"][-1] > 30 * exact["errors"][-1]

    def test_errors_of_the_double_pendulum_as_the_design_states_them(self, data):
        found = data["order"]["zg-double, exact start"]["errors"][:4]
        assert found == pytest.approx([1.8e-2, 4.5e-3, 1.1e-3, 2.8e-4], rel=0.03)

    def test_closed_forms(self, data):
        assert data["examples"]["zg-spherical@0.03"]["error"] < 2e-4
        ratio = (data["examples"]["zg-spherical@0.1"]["error"]
                 / data["examples"]["zg-spherical@0.03"]["error"])  # fmt: skip
        assert ratio == pytest.approx((0.1 / 0.03) ** 2, rel=0.02)

    def test_certificates_are_complete(self, data):
        assert len(data["certificates"]) == 8 + 6
        for key, found in data["examples"].items():
            certificate = data["certificates"][key]
            assert certificate["max_g"] == found["constraints"]
            assert "time-element" in certificate["method"]

    def test_printed_energies(self, data):
        assert data["printed"]["true H"] == {"2": 0.9968, "3a": -35.35534, "3b": -28.85251}

    def test_start_energy_against_the_engine(self):
        given = problem("zg-double")
        run = given.simulate(duration=0.1)
        for k in (0, -1):
            assert zg_study.start_energy(given, run.q[k], run.v[k]) == pytest.approx(run.energy[k])


class TestPage:
    def test_tells_the_numbers_of_both_sides(self, page, read):
        text = " ".join(read(page).words)
        for number in ("0.99680", "−0.99320", "−35.35534", "−28.85251", "−24.36751", "−28.85431",
                       "−24.74751", "−7.2×10⁻⁷", "+8.2×10⁻⁷"):  # fmt: skip
            assert number in text, number
        for k in (*range(1, 10), *range(11, 17)):
            assert f"Fig. {k}" in text
        assert "taut papers zg" in text

    def test_ratios_stand_beside_printed_energies(self, study):
        ratios = {claim.what: claim.ratio for claim in claims(study)}
        assert ratios["3a: true H"] == "1.0000"
        assert ratios["2: true H, U = z"] == "−0.9964"
        assert ratios["3b: true H, printed velocities"] == "0.84"
        assert sum(map(bool, ratios.values())) == 5

    def test_verdicts_follow_the_numbers(self, study):
        verdicts = {row[0]: row[3] for row in claims(study)}
        assert verdicts["3b: true H, printed velocities"] == "does not agree"
        assert verdicts["3a: true H"] == "agrees"
        assert verdicts["2: true H, U = z"].startswith("does not agree")
        wrong = json.loads(json.dumps(study.numbers))
        wrong["examples"]["zg-double@0.01"].update(energy=-35.0)
        wrong["examples"]["zg-double@0.01"]["long run"]["drift"] = 0.5
        wrong["examples"]["zg-spherical@0.1"]["constraints"] = 1e-6
        verdicts = {row[0]: row[3] for row in claims(zg_study.Study({}, numbers=wrong))}
        assert verdicts["3a: true H"] == "does not agree"
        assert verdicts["3a: H − H₀"].startswith("does not agree; drift +50.00")
        assert verdicts["constraints at the stations"] == "does not agree"


class TestFigures:
    def test_steps_are_drawn_as_in_the_paper(self):
        t = np.linspace(0, 1, 5)
        curves = [("0.1 s", t, t), ("0.03 s", t, t)]
        (axes,) = zg_figures.series([("reading", curves)], "$x$", "m").axes
        solid, dashed = axes.lines
        assert solid.get_linestyle() == "-"
        assert dashed.get_linestyle() == "--"
        assert [x.get_text() for x in axes.get_legend().get_texts()] == ["0.1 s", "0.03 s"]

    def test_figure_1_lies_on_the_circle_with_y_down(self):
        run = problem("zg-pendulum").simulate(duration=1)
        (axes,) = zg_figures.circle(run).axes
        assert axes.yaxis_inverted()
        for line in axes.lines:
            np.testing.assert_allclose(np.hypot(*line.get_xydata().T), 1, rtol=1e-14)

    def test_the_name_of_z_stands_clear_of_the_numbers(self):
        """Beside the axis it was printed over the numbers."""
        run = problem("zg-spatial").simulate(duration=2)
        figure = zg_figures.spaces([("", [("", run.q[:, :3])])], [True])
        (axes,) = figure.axes
        figure.draw_without_rendering()
        (label,) = (x for x in axes.texts if x.get_text().startswith("$z$"))
        assert "down" in label.get_text()
        mine = label.get_window_extent()
        for tick in axes.zaxis.get_ticklabels():
            assert not mine.overlaps(tick.get_window_extent()), tick


class TestAsPrinted:
    """What the paper prints, against the corrections."""

    def test_force_of_a_mass_that_depends_on_q(self):
        """(3) lacks −Ṁu: in one dimension M u̇ = −½ M′ u² − U′ by Lagrange's equation."""
        t = sp.Symbol("t")
        x, mass, potential = sp.Function("x")(t), sp.Function("M"), sp.Function("U")
        rate = x.diff(t)
        kinetic = mass(x) * rate**2 / 2
        lagrange = (kinetic.diff(rate).diff(t) - kinetic.diff(x) + potential(x).diff(x)).doit()
        found = sp.solve(lagrange, x.diff(t, 2))[0] * mass(x)
        slope = mass(x).diff(x)
        assert sp.simplify(found - (-slope * rate**2 / 2 - potential(x).diff(x))) == 0
        assert sp.simplify(found - (+slope * rate**2 / 2 - potential(x).diff(x))) != 0

    def test_action_and_first_momentum(self):
        """S_k is the integral of L over a linear element; p₀ = −∂S₁/∂x₀ along the circle."""
        m, g, h, s = sp.symbols("m g eta s", positive=True)
        x0, x1, y1 = sp.symbols("x0 x1 y1")
        y0 = sp.Function("y")(x0)
        fall = m * g * (y0 + (y1 - y0) * s / h)
        speed = ((x1 - x0) ** 2 + (y1 - y0) ** 2) / h**2
        action = sp.integrate(m * speed / 2 + fall, (s, 0, h))
        squares = (x1 - x0) ** 2 + (y1 - y0) ** 2
        right = m * squares / (2 * h) + m * g * h * (y1 + y0) / 2
        printed = m / 2 * squares / (2 * h) + g * h * (y1 + y0)
        assert sp.simplify(action - right) == 0
        assert sp.simplify(action - printed) != 0
        slope = y0.diff(x0)
        first = m * ((x1 - x0) + (y1 - y0) * slope) / h - m * g * h * slope / 2
        wrong = m * g * h * slope - m * ((x1 - x0) - (y1 - y0) * slope) / h
        assert sp.simplify(-action.diff(x0) - first) == 0
        assert sp.simplify(-action.diff(x0) - wrong) != 0

    def test_own_momenta_by_hand(self):
        """p_k = ∂S_k/∂q_k of the pendulum, and the band of its Hamilton function."""
        given = problem("zg-pendulum")
        run = given.simulate(step=0.01, duration=1, method="time-element")
        p = np.diff(run.q, axis=0) / 0.01 + 0.005 * np.array([0, 10])
        error = (p**2).sum(axis=1) / 2 - 10 * run.q[1:, 1] - run.energy[0]
        found = zg_study.own_energy_error(given, run)
        np.testing.assert_allclose(found, [error.min(), error.max()], atol=1e-12)

    def test_own_momenta_have_a_band_of_another_width(self, data):
        """Twice as wide as that of tangent momenta, and away from H₀ by up to 160 times as much."""
        for key, found in data["examples"].items():
            low, high = found["energy error, own momenta"]
            tangent = np.ptp(found["energy error"])
            assert (high - low) / tangent == pytest.approx(2, rel=0.05), key
        near = data["examples"]["zg-spherical@0.1"]
        assert near["energy error, own momenta"][1] > 150 * np.ptp(near["energy error"])
