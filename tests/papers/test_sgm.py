"""SGM recomputed: formulas by an independent road, numbers, and what the page says."""

import json

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import taut
from taut.papers import sgm_figures, sgm_study as study_of
from taut.papers.sgm import claims
from taut.problems import problem

PAPER = "sgm"
ONE, BOTH = "|x|² alone", "both"


class TestBody:
    def test_equations_are_eulers(self):
        """ẋ = x × ω + M with x = Aω and the paper's torque."""
        flow = study_of.body()
        *a, k = flow.parameters
        x = sp.Matrix(flow.variables)
        turn = sp.Matrix([y / b for y, b in zip(x, a, strict=True)])
        torque = sp.Matrix([k * x[1], -k * x[0], 0])
        gap = x.cross(turn) + torque - sp.Matrix(flow.rhs)
        assert gap.applyfunc(sp.cancel) == sp.zeros(3, 1)

    def test_in_numpy_they_are_the_same(self, rng):
        flow = study_of.body()
        x = rng.normal(size=3)
        values = {s: study_of.VALUES[s.name] for s in flow.parameters}
        values |= dict(zip(flow.variables, x, strict=True))
        np.testing.assert_allclose(
            study_of.rate(x), [float(e.subs(values)) for e in flow.rhs], rtol=1e-13
        )

    def test_both_integrals_are_found_and_proved_with_symbols(self, data):
        found = data["search"]
        assert found["independent"] == len(found["laws"]) == 2
        assert {law["proof"] for law in found["laws"]} == {"normal form"}
        first, second = (sp.sympify(law["expression"]) for law in found["laws"])
        square, energy = study_of.integrals()
        a1, a2, a3, _ = study_of.body().parameters
        assert first == square
        assert sp.cancel(second / (2 * a1 * a2 * a3) - energy) == 0
        assert "proof: normal form" in found["E"]

    def test_the_kinetic_energy_is_none(self, data):
        said = data["search"]["kinetic energy"]
        assert "is not conserved" in said
        given = sp.sympify(said.split("D(I) = ")[-1])
        k, a1, a2, x1, x2 = sp.symbols("k A1 A2 x1 x2")
        assert sp.cancel(given - k * (a2 - a1) / (a1 * a2) * x1 * x2) == 0

    def test_with_second_derivatives_nothing_is_left(self, data):
        assert "is not conserved" in data["search"]["(21) as printed, |x|²"]
        assert data["search"]["(21) as printed, laws"] == 0


class TestFormulas:
    def test_as_printed_the_square_falls_to_a_quarter(self, data):
        found = data["by hand"]["printed"]
        assert found["after one step"] == pytest.approx(-0.75 * 1.8, rel=1e-8)
        assert found["largest error"] == pytest.approx(1.8, rel=1e-12)

    def test_right_and_exact_keep_it(self, data):
        assert data["by hand"]["right"]["largest error"] < 2e-15
        assert data["by hand"]["exact"]["largest error"] < 2e-15
        assert data["by hand"]["none"]["largest error"] > 1e-7

    def test_right_is_the_least_squares_step(self, rng):
        """(13) and (15) solved as they stand."""
        x = rng.normal(size=3)
        phi = float(x @ x - 1.3)
        gradient = 2 * x
        np.testing.assert_allclose(
            study_of.right_27(x, phi), np.linalg.lstsq(gradient[None], [-phi], rcond=None)[0]
        )
        v = rng.normal(size=3)
        found = np.linalg.lstsq(gradient[None], [-2 * x @ v], rcond=None)[0]
        np.testing.assert_allclose(study_of.right_28(x, v, phi), found)
        assert np.linalg.norm(x + study_of.exact_27(x, phi)) == pytest.approx(1.3**0.5, rel=1e-14)

    def test_taut_does_what_the_formula_does(self, data):
        assert data["by hand"]["apart from taut"] < 1e-12

    def test_velocities_of_a_flow_need_none(self, data):
        assert data["by hand"]["x·ẋ"] < 1e-15

    def test_velocities_of_the_pendulum(self, data):
        found = data["velocities"]
        right, printed, none = (found[k] for k in ("right", "printed", "none"))
        assert 1e-5 < right["φ̇ before"] < 1e-4
        assert right["φ̇ after"] < 2e-15
        assert right["φ after"] < right["φ before"] ** 2
        assert right["steps"] == none["steps"] == study_of.SWING
        assert none["φ̇ after"] > 1e-3
        assert printed["φ̇ after one step"] > 1
        assert printed["steps"] < 20

    def test_by_hand_and_in_taut_it_is_one_pendulum(self):
        ours = study_of.swing(study_of.right_28)[:, 4:]
        run = problem("zg-pendulum").simulate(
            method=taut.Corrected("rk4", [], norm="euclid"), step=study_of.SWING_STEP,
            duration=study_of.SWING * study_of.SWING_STEP, laws=None,
        )  # fmt: skip
        np.testing.assert_allclose(ours[:, :2], run.q[1:], rtol=0, atol=1e-11)
        np.testing.assert_allclose(ours[:, 2:], run.v[1:], rtol=0, atol=1e-11)


class TestNumbers:
    def test_reference_by_other_roads(self, data):
        assert data["reference"] < 1e-9
        run = study_of.accurate(0.1, 50)
        other = solve_ivp(
            lambda _, x: study_of.rate(x), (0, 50), study_of.START, "DOP853", run.t,
            rtol=1e-13, atol=1e-14,
        )  # fmt: skip
        np.testing.assert_allclose(run.q, other.y.T, rtol=0, atol=1e-10)

    def test_errors_of_a_crowd_are_the_largest_of_all_steps(self, monkeypatch):
        monkeypatch.setattr(study_of, "SPANS", (20.0, 100.0))
        points = np.array([[0.4, 1.0, 0.8], [1.0, 0.3, -0.6]])
        found = study_of.furthest(points)
        for k, point in enumerate(points):
            start = {"q0": tuple(point)}
            one = study_of.simulated("rk4", 0.1, 100.0, **start)
            off = np.abs(one.q - study_of.accurate(0.1, 100.0, **start).q).max(axis=1)
            assert found["none", 20.0][k] == pytest.approx(off[:201].max(), rel=1e-6)
            assert found["none", 100.0][k] == pytest.approx(off.max(), rel=1e-6)

    def test_what_is_corrected_is_kept_and_nothing_else(self, data):
        found = data["long run"]
        kept = {way: {k: found[way][k] < 1e-14 for k in ("|x|²", "E")} for way in study_of.WAYS}
        assert kept == {
            "none": {"|x|²": False, "E": False},
            "|x|² alone": {"|x|²": True, "E": False},
            "E alone": {"|x|²": False, "E": True},
            "both": {"|x|²": True, "E": True},
        }

    def test_one_alone_makes_the_path_worse_and_both_much_better(self, data):
        found = data["long run"]
        assert found[ONE]["path"] > 2 * found["none"]["path"]
        assert found[BOTH]["path"] < found["none"]["path"] / 50
        short = f"path to {study_of.SHORT:g}"
        assert found[ONE][short] > found["none"][short] > found[BOTH][short]

    def test_errors_of_the_frequency_explain_it(self, data):
        found, long = data["frequency"], data["long run"]
        none, one, other = (found[w]["together"] for w in study_of.WAYS[:3])
        assert found["none"]["by C"] * found["none"]["by E"] < 0
        # The error of the phase is the integral of that of the frequency.
        assert long[ONE]["path"] / long["none"]["path"] == pytest.approx(one / none, rel=0.05)
        assert long["E alone"]["path"] / long["none"]["path"] == pytest.approx(
            other / none, rel=0.05
        )

    def test_the_order_is_kept(self, data):
        found = data["order"]
        assert found["steps"] == [0.2, 0.1, 0.05]
        for way in study_of.WAYS:
            assert all(3.9 < r < 5 for r in found[way]["orders"]), way
        assert found[BOTH]["orders"][-1] == pytest.approx(4, abs=0.05)
        assert found[BOTH]["errors"][1] == data["long run"][BOTH]["path to 50"]

    def test_random_starts(self, data):
        found = data["crowd"]
        last = f"@{study_of.LONG:g}"
        assert found[f"{BOTH}{last}"]["better"] > 0.95
        assert found[f"{BOTH}{last}"]["median"] < 0.1
        assert found[f"{ONE}{last}"]["better"] < 0.3
        assert found[f"{ONE}{last}"]["median"] > 2

    def test_a_wrong_sign_is_seen_and_named(self, data):
        found = data["programming error"]["laws"]
        assert found["|x|²"]["largest_change"] > 1
        assert found["|x|²"]["broken"] == "D(I) = 4*k*x1*x2"
        assert "does not keep it" in data["programming error"]["certificate"]

    def test_says_how_it_was_made(self, data):
        assert data["certificates"].keys() == set(study_of.WAYS)
        assert data["certificates"][BOTH]["steps"] == 100_000


class TestPage:
    def test_errata_and_numbers_are_told(self, page):
        for text in ("(14)", "(21)", "(25)", "(27)", "(28)", "Δqᵢ = −qᵢ/2", "from 1.8 to 0.45",
                     "2.5 times worse", "128 times better", "taut papers sgm"):  # fmt: skip
            assert text in page, text

    def test_verdicts_follow_the_numbers(self, made):
        numbers = json.loads(json.dumps(made.done[0].study.numbers))
        hand = {"none": np.array([1.8]), "printed": np.array([1.8, 0.45])}
        study = study_of.Study(taut.conserved(study_of.body()), hand=hand, numbers=numbers)

        def verdicts():
            return {row[0]: row[3].split(";")[0] for row in claims(study)}

        assert verdicts() == {
            "integrals of the body": "does not agree",
            "what |x|² is": "does not agree",
            "(27), Δx = −x/2": "does not agree",
            "(27), Δx = −φ x/(2|x|²)": "so corrected it holds",
            "(28), divided by φ": "does not agree",
            "(28), divided by |q|²": "so corrected it holds",
            "correcting |x|² alone": "does not agree",
            "correcting both integrals": "so corrected it holds",
            "integrals detect programming errors": "agrees",
        }
        numbers["long run"][ONE]["path"] = 1e-6
        numbers["crowd"][f"{ONE}@{study_of.LONG:g}"]["better"] = 0.9
        numbers["by hand"]["right"]["largest error"] = 1e-6
        numbers["velocities"]["printed"]["φ̇ after one step"] = 1e-16
        changed = verdicts()
        assert changed["correcting |x|² alone"] == "agrees"
        assert changed["(27), Δx = −φ x/(2|x|²)"] == "so corrected it does not hold, either"
        assert changed["(28), divided by φ"] == "agrees"


def test_axes_tell_units_or_that_there_are_none(study):
    bare = [sgm_figures.body(study), sgm_figures.formulas(study), sgm_figures.long(study)]
    for picture in bare:
        for axes in picture.axes:
            told = axes.get_xlabel() + axes.get_ylabel() + axes.get_title("right")
            assert "dimensionless" in told, axes
            assert axes.get_xlabel() != "$t$"
    for axes, unit in zip(sgm_figures.swing(study).axes, ("[m²]", "[m²/s]"), strict=True):
        assert axes.get_xlabel() == "$t$ [s]"
        assert axes.get_ylabel().endswith(unit)
