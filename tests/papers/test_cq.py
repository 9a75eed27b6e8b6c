"""CQ redrawn: the numbers against the digest's, against direct formulas, and what is shown."""

import json
from math import sqrt

import numpy as np
import pytest
import sympy as sp

import taut
from taut.methods import Baumgarte, SymplecticRK
from taut.papers import cq_figures, cq_study
from taut.papers.cq import claims
from taut.problems import problem

PAPER = "cq"


class TestNumbers:
    @pytest.mark.parametrize(("alpha", "largest"), [(1, 9e-4), (5, 8e-4), (10, 4e-3), (15, 1.5e-2)])
    def test_largest_errors_of_baumgarte(self, data, alpha, largest):
        """As the digest of the paper recomputed them, to the one digit or two it gives."""
        found = data["sweep"][str(alpha)]
        assert found["position error"] == pytest.approx(largest, rel=0.03)
        assert found["lost at"] is None

    @pytest.mark.parametrize("alpha", ["16", "16.5", "18", "20"])
    def test_blow_up_is_caught_and_kept_apart(self, data, alpha):
        found = data["sweep"][alpha]
        assert 0 < found["lost at"] < 60
        assert found["position error"] is None
        assert found["energy error at the end"] is None

    def test_every_rate_up_to_the_edge_survives(self, data):
        lost = [a for a, found in data["sweep"].items() if found["lost at"] is not None]
        assert [float(a) for a in lost] == [a for a in map(float, data["sweep"]) if a >= 16]
        assert len(data["sweep"]) - len(lost) > 16

    def test_the_best_rate_is_the_best(self, data):
        sizes = {a: f["position error"] for a, f in data["sweep"].items() if f["lost at"] is None}
        assert float(min(sizes, key=sizes.get)) == data["best rate"] == 2.5
        assert data["runs"]["Baumgarte@60"]["position error"] == sizes["2.5"]
        assert sizes["2.5"] == pytest.approx(2.6e-4, rel=0.01)

    def test_the_symplectic_scheme_keeps_both_constraints(self, data):
        for key in ("symplectic@60", "symplectic@6000"):
            assert data["runs"][key]["position error"] < 3e-15
            assert data["runs"][key]["velocity error"] < 3e-15
            assert data["runs"][key]["symplecticity defect"] < 1e-14

    def test_norms_are_two_norms(self):
        run = problem("cq-triple").simulate(method=Baumgarte(5, 5), duration=6)
        g = run.constraints
        np.testing.assert_allclose(cq_study.position_error(run) ** 2, (g**2).sum(axis=1))
        assert cq_study.position_error(run).max() > 1.05 * np.abs(g).max()

    def test_paths(self, data):
        off = {m: data["runs"][f"{m}@60"]["error of the path"] for m in cq_figures.LOOK}
        assert off["symplectic"] == pytest.approx(0.31, abs=0.005)
        assert off["Baumgarte"] == pytest.approx(0.095, abs=0.001)
        assert off["Gauss–Lobatto 4"] == pytest.approx(0.0025, abs=1e-4)

    def test_energies(self, data):
        runs = data["runs"]
        assert data["energy above rest"] == pytest.approx(5 - 2.5 * sqrt(3))
        assert runs["symplectic@60"]["energy error"] == pytest.approx([-0.0287, 1.74e-4], rel=0.01)
        assert runs["Baumgarte@60"]["energy error at the end"] == pytest.approx(-0.013, rel=0.01)
        assert runs["Baumgarte@6000"]["energy error at the end"] == pytest.approx(-0.495, rel=0.01)
        assert runs["projected RK4@6000"]["energy error at the end"] < -0.4
        assert abs(runs["symplectic@6000"]["energy error at the end"]) < 0.03

    @pytest.mark.parametrize("label", cq_figures.LOOK)
    @pytest.mark.parametrize("span", cq_study.SPANS)
    def test_extremes_are_those_of_all_steps(self, study, data, label, span):
        """The books of the run have the band of every step, whatever is stored."""
        certificate, found = study.runs[label, span].certificate, data["runs"][f"{label}@{span:g}"]
        low, high = found["energy error"]
        assert high - low == pytest.approx(certificate.energy.band, rel=1e-9)
        assert certificate.max_g <= found["position error"] * (1 + 1e-9)

    def test_a_long_run_that_is_thinned_hides_extremes(self, study, data):
        low, high = data["runs"]["Gauss–Lobatto 4@6000"]["energy error"]
        assert (low, high) == pytest.approx((-6.8e-4, 1.35e-3), rel=0.02)
        energy = study.runs["Gauss–Lobatto 4", 6000.0].energy
        assert np.ptp(energy[::25]) < 0.9 * np.ptp(energy)

    def test_long_runs(self, data):
        coarse, fine = data["long run"]["0.12"], data["long run"]["0.06"]
        assert coarse["steps"] == 500_000
        assert abs(coarse["drift"]) < coarse["drift half width"] < 0.3
        assert coarse["band"] < 0.1
        assert abs(fine["drift"]) < 0.01
        assert coarse["constraints"] < 3e-15

    def test_inner_methods(self, data):
        found = data["inner methods"]
        assert found["gap on the example"] < 1e-12
        for key, errors in found.items():
            if "," in key:
                assert errors["orders"][-1] == pytest.approx(2, abs=0.06), key
        flat = [found[f"Cartesian, {name}"]["errors"] for name in cq_study.INNER]
        np.testing.assert_allclose(flat, [flat[0]] * 3, rtol=1e-8)
        mid, two, three = (found[f"polar, {name}"]["errors"] for name in cq_study.INNER)
        assert two[-1] > 50 * mid[-1]
        np.testing.assert_allclose(three, flat[0], rtol=1e-5)  # nearly exact: the same map

    def test_in_polar_coordinates_the_midpoint_composition_is_the_midpoint_rule_of_the_angles(self):
        theta = taut.coordinates("a b c")
        x = y = sp.Integer(0)
        places = []
        for angle in theta:
            x, y = x + sp.sin(angle), y - sp.cos(angle)
            places += [x, y]
        slope = sp.Matrix(places).jacobian(theta)
        free = taut.System(theta, mass=(slope.T * slope).tolist(), potential=sum(places[1::2]))
        settings = {"v0": 0, "duration": 3, "step": 0.12, "method": SymplecticRK("midpoint")}
        angles = [np.pi / 6, -np.pi / 6, 0]
        one = taut.simulate(free, q0=angles, **settings)
        two = taut.simulate(cq_study.polar(), q0=[1, 1, 1, *angles], **settings)
        np.testing.assert_allclose(two.q[:, 3:], one.q, atol=1e-12)

    def test_the_polar_pendulum_is_the_same_pendulum(self):
        given = problem("cq-triple")
        start = np.array([1, 1, 1, np.pi / 6, -np.pi / 6, 0])
        np.testing.assert_allclose(cq_study.cartesian(start), given.q0, atol=1e-15)
        (fact,) = (f for f in given.facts if f.t == 3)
        run = taut.simulate(
            cq_study.polar(), q0=start, v0=0, duration=3, step=0.05, method="gauss-lobatto-8"
        )
        np.testing.assert_allclose(cq_study.cartesian(run.q[-1]), fact.q, atol=1e-9)

    def test_says_how_it_was_made(self, data):
        assert data["certificates"].keys() == data["runs"].keys()
        assert "symplectic-rk" in data["certificates"]["symplectic@60"]["method"]
        assert "alpha=2.5" in data["certificates"]["Baumgarte@60"]["method"]


class TestPage:
    def test_tells_figures_numbers_and_command(self, page):
        for k in (2, 3, 4, 5):
            assert f"<b>Fig. {k}</b>" in page
        for text in ("α = β = 2.5", "2.6×10⁻⁴", "9.1×10⁻⁴", "blows up", "0.31 m", "0.095 m",
                     "lost at 37.68 s", "taut papers cq", "74 %"):  # fmt: skip
            assert text in page, text

    def test_verdicts_follow_the_numbers(self, made):
        done = made.done[0].study
        numbers = json.loads(json.dumps(done.numbers))
        verdicts = {row[0]: row[3] for row in claims(cq_study.Study(done.sweep, numbers=numbers))}
        assert verdicts["symplectic: position constraint"] == "agrees; it is round-off"
        assert verdicts["the path"].startswith("cannot be decided")
        assert verdicts["the path"].endswith("Baumgarte's")
        assert verdicts["stability"] == "agrees"
        numbers["runs"]["symplectic@60"]["position error"] = 1e-6
        numbers["runs"]["symplectic@60"]["error of the path"] = 1e-3
        numbers["runs"]["Baumgarte@6000"]["energy error at the end"] = 0.0
        verdicts = {row[0]: row[3] for row in claims(cq_study.Study(done.sweep, numbers=numbers))}
        assert verdicts["symplectic: position constraint"] == "does not agree"
        assert verdicts["the path"].startswith("cannot be decided")
        assert verdicts["the path"].endswith("the symplectic one")
        assert verdicts["stability"] == "does not agree"


class TestParts:
    def test_a_run_that_is_lost_ends_where_it_was_lost(self):
        given = problem("cq-triple")
        found = cq_study.attempt(given, Baumgarte(20, 20))
        assert found.worst == (np.inf, np.inf)
        k = int(np.flatnonzero(found.run.t == found.lost)[0])
        size = cq_study.position_error(found.run)
        assert np.all(size[:k] < cq_study.LOST)
        assert not size[k] < cq_study.LOST
        kept = cq_study.attempt(given, Baumgarte(5, 5), duration=6)
        assert kept.lost is None
        assert kept.worst[0] == cq_study.position_error(kept.run).max()

    def test_figures_show_norms_from_zero(self):
        t = np.linspace(0, 1, 5)
        (axes,) = cq_figures.errors(t, 1e-15 * t, r"$\|g\|$", "m²").axes
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylabel().endswith("[$10^{-15}$ m²]")

    def test_the_sweep_marks_what_is_lost(self):
        given = problem("cq-triple")
        found = {
            a: cq_study.attempt(given, Baumgarte(a, a), duration=6) for a in (1.0, 2.5, 18.0, 20.0)
        }
        study = cq_study.Study(found)
        assert study.best == 2.5
        (axes,) = cq_figures.sweep(study).axes
        assert [text.get_text() for text in axes.texts] == [r"best: $\alpha = 2.5$", "blows up"]
        for line in axes.lines[:2]:
            assert list(line.get_xdata()) == [1.0, 2.5]
