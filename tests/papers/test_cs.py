"""CS recomputed: numbers by other roads, the paper's claims, and what the page says."""

import json
import re
from io import BytesIO

import numpy as np
import pytest
from matplotlib import pyplot as plt

from taut.papers import cs_brackets, cs_figures, cs_plain, cs_study as study_of
from taut.papers.chapter import agreement
from taut.papers.cs import _beside, claims, gain

PAPER = "cs"


class TestExample:
    def test_start_and_material_are_those_of_the_plain_program(self):
        ours, plain = study_of.beam("full"), cs_plain.example()
        np.testing.assert_allclose(ours.inertia[3], np.diag(plain.beam.inertia), rtol=1e-14)
        np.testing.assert_allclose(ours.stiffness[3], np.diag(plain.beam.stiffness), rtol=1e-14)
        start = study_of.rough()
        np.testing.assert_allclose(start["momentum0"], plain.mu, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(start["strain0"], plain.gamma)

    def test_a_few_steps_are_those_of_the_plain_program(self):
        plain = cs_plain.poisson(cs_plain.example(), 1e-4, 3)
        ours = study_of.simulated(duration=3e-4)
        np.testing.assert_allclose(ours.momentum, plain.mu, rtol=0, atol=1e-11)
        np.testing.assert_allclose(ours.strain, plain.gamma, rtol=0, atol=1e-13)
        np.testing.assert_allclose(ours.positions, plain.positions, rtol=0, atol=1e-14)

    def test_energy(self, data):
        found = data["example"]["energy"]
        assert found["start"] == pytest.approx(103.08, abs=0.005)
        assert found["low"] == pytest.approx(102.74, abs=0.005)
        assert found["high"] == pytest.approx(103.57, abs=0.005)
        assert found["band in 10 s"] < 1
        # By hand: Δs Σ μ²/(2ρA), and l EI/2.
        sines = np.sin(np.pi * np.arange(101) / 100) ** 2
        ds = 2 * np.pi / 300
        assert data["example"]["kinetic"] == pytest.approx(ds * 5 * (sines + 1).sum(), rel=1e-12)
        assert data["example"]["potential"] == pytest.approx(
            np.pi / 3 * 1e7 * 0.1**4 / 12, rel=1e-12
        )

    def test_segments_go_on_as_one_run(self):
        parts = list(study_of.segments(1000))
        whole = study_of.simulated(duration=0.1)
        np.testing.assert_array_equal(parts[1].strain[-1], whole.strain[-1])
        np.testing.assert_array_equal(parts[1].momentum, whole.momentum[500:])


class TestMomenta:
    def test_sizes(self, data):
        found = data["momenta"]["(μⁿ, gⁿ)"]
        assert found["|P|"] == pytest.approx(21.9, abs=0.05)
        assert found["|L|"] == pytest.approx(17.8, abs=0.05)

    def test_are_those_of_the_run_and_of_the_plain_program(self):
        run = study_of.simulated(duration=1e-3)
        np.testing.assert_allclose(study_of.momenta(run), run.spatial_momentum, atol=1e-12)
        plain = cs_plain.momentum(
            cs_plain.Beam(), run.momentum, run.frames, run.positions
        )  # fmt: skip
        np.testing.assert_allclose(study_of.momenta(run), plain, atol=1e-12)

    def test_half_a_step_back_is_where_the_momentum_belongs(self):
        """Rigid motion: with poses at the time of μ nothing changes, with others all does."""
        mu = study_of.beam("full").inertia[0] @ [30.0, 20, 10, 3, 2, 1]
        run = study_of.simulated(
            duration=0.02, nodes=2, strain0=np.zeros((1, 6)), momentum0=np.tile(mu, (2, 1))
        )
        off = [np.ptp(study_of.momenta(run, back), axis=0).max() for back in (0, 0.5)]
        assert off[1] < off[0] / 20

    def test_largest_changes_are_taken_over_all_steps(self, study, data):
        """Every hundredth state shows 0.022 instead of 0.025."""
        rows = study.later["(μⁿ, gⁿ)"]
        assert len(rows) == 100_001
        whole = study_of.momenta(study_of.simulated(duration=0.3))
        np.testing.assert_allclose(rows[:3001, 1:], whole, rtol=0, atol=1e-12)
        soon = data["momenta"]["to 1 s"]["(μⁿ, gⁿ)"]
        assert soon["P"] == pytest.approx(0.0250, abs=1e-4)
        assert soon["L"] == pytest.approx(0.0253, abs=1e-4)
        assert study_of.changes(rows[::100], 1.0)["P"] < 0.9 * soon["P"]

    def test_whole_cells_against_hamel(self, data):
        found = data["momenta"]["to 1 s"]
        assert found["hamel, full cells"]["P"] == pytest.approx(1.73e-3, rel=0.01)
        assert found["poisson, full cells"]["P"] == pytest.approx(4.97e-3, rel=0.01)

    def test_are_not_constant_to_1e_4_as_printed(self, data):
        found = data["momenta"]
        printed, together = found["(μⁿ, gⁿ)"], found["(μⁿ, gⁿ⁻½)"]
        assert 0.015 < printed["P"] < 0.035
        assert 0.1 < printed["L"] < 0.3
        assert 0.003 < together["P"] < 0.01
        assert 0.02 < together["L"] < 0.06

    def test_hamel_keeps_them_better_and_variational_to_round_off(self, data):
        found = data["momenta"]
        assert found["hamel"]["P"] < found["(μⁿ, gⁿ⁻½)"]["P"]
        assert found["variational"]["P relative"] < 1e-13
        assert found["variational"]["L relative"] < 1e-12

    def test_half_cells_cost_the_poisson_integrator_momentum_from_the_rough_start(self, data):
        found = data["momenta"]
        assert found["poisson"]["P"] > 5 * found["poisson, full cells"]["P"]


class TestConfiguration:
    def test_moves_with_the_new_velocity(self, data):
        found = data["read back"]
        assert 1e-5 < found["new, adjoint"]["largest"] < 1e-3
        assert found["old, 4 × 4"]["largest"] == pytest.approx(0.352, abs=0.001)

    def test_the_map_hardly_matters(self, data):
        assert 0 < data["read back"]["places of both maps apart"] < 1e-5

    def test_read_back_here_is_what_the_compiled_poses_give(self):
        run = study_of.simulated(duration=0.05, every=50)
        plain = cs_plain.read_strains(cs_plain.Beam(), run.frames, run.positions)
        ours = np.abs(plain - run.strain).max(axis=(1, 2))
        here = study_of.read_back()["new, adjoint"]
        np.testing.assert_allclose(here[1][:501:50], ours, rtol=1e-6, atol=1e-12)

    def test_is_read_back_at_every_step(self, study):
        """Every fiftieth one shows 0.17 instead of 0.35: the largest comes after two steps."""
        t, off = study.read["old, 4 × 4"]
        np.testing.assert_allclose(t, 1e-4 * np.arange(5001))
        assert off[::50].max() < 0.5 * off.max()


class TestStartAndEnds:
    def test_orders(self, data):
        found = data["convergence"]
        for name, order in (
            ("printed start", 1), ("staggered start", 2), ("full cells", 1), ("half cells", 2),
        ):  # fmt: skip
            assert found[name]["orders"][-1] == pytest.approx(order, abs=0.1), name

    def test_bands(self, data):
        found = data["bands"]
        assert found["printed"]["band"] == pytest.approx(0.84, abs=0.01)
        assert found["printed, K and V at one time"]["band"] == pytest.approx(0.12, abs=0.01)
        for name in ("staggered, half cells", "hamel, half cells", "variational, half cells"):
            assert found[name]["band"] < 0.2, name


class TestManySteps:
    def test_only_the_variational_scheme_keeps_momenta(self, data):
        found = data["long run"]
        assert found["variational, rough"]["momenta"]["linear"] < 1e-13
        assert found["hamel, rough"]["momenta"]["linear"] < 1e-3
        assert (
            found["poisson, rough"]["momenta"]["linear"]
            > 5 * found["hamel, rough"]["momenta"]["linear"]
        )

    def test_the_modified_energy_is_the_one_that_is_kept(self, data):
        found = data["long run"]
        for scheme in ("hamel", "variational"):
            rough, smooth = (found[f"{scheme}, {start}"] for start in ("rough", "smooth"))
            assert rough["modified band"] < rough["band"] / 5
            assert smooth["modified band"] < smooth["band"] / 50
        assert found["poisson, rough"]["modified band"] > found["poisson, rough"]["band"] / 3

    def test_modified_energy_of_one_oscillator(self):
        """Two nodes on a soft spring: what leapfrog conserves is known."""
        run = study_of.simulated(
            study_of.SCHEMES["variational"], "half", nodes=2, duration=1, every=10,
            strain0=np.array([[0, 0, 0, 0, 1e-4, 0]]), momentum0=np.zeros((2, 6)), step=5e-4,
        )  # fmt: skip
        band, modified = np.ptp(run.energy), np.ptp(study_of.modified(run))
        assert band > 1e-4 * run.energy[0]
        assert modified < band / 30

    def test_short_waves(self):
        edges = np.arange(100)
        slow, fast = (np.zeros((1, 100, 6)) for _ in range(2))
        slow[0, :, 0] = np.cos(np.pi * 10 * (edges + 0.5) / 100)
        fast[0, :, 0] = np.cos(np.pi * 60 * (edges + 0.5) / 100)
        assert study_of.short_waves(slow) == pytest.approx(0, abs=1e-12)
        assert study_of.short_waves(fast) == pytest.approx(1)
        assert study_of.short_waves(slow + fast) == pytest.approx(0.5)

    @pytest.mark.slow
    def test_a_million_steps_of_the_variational_scheme(self):
        """Energy falls as it moves to short waves; modified, it falls by far less."""
        _, rough, _ = study_of.long_run(study_of.LONG["variational, rough"])
        _, smooth, certificate = study_of.long_run(study_of.LONG["variational, smooth"])
        energy, modified = (rough[f"{k}, eighths"] for k in ("energy", "modified"))
        assert 0.005 < energy[0] - energy[-1] < 0.05
        assert abs(modified[0] - modified[-1]) < (energy[0] - energy[-1]) / 4
        assert rough["short waves at last"] > 1.2 * rough["short waves at first"]
        assert not certificate.drifts
        assert smooth["band"] < 0.01


class TestBrackets:
    def test_as_printed_they_are_not_antisymmetric(self, data):
        for name in ("(33)", "(50)"):
            assert data["brackets"]["printed"][name] > 0.1
            assert data["brackets"]["corrected"][name] < 1e-12
        assert abs(data["brackets"]["printed"]["{h, h}"]) > 1
        assert abs(data["brackets"]["corrected"]["{h, h}"]) < 1e-10

    def test_50_with_no_strain_beyond_the_ends_is_33(self, rng):
        """With f_γ and h_γ zero there, (50) is (33) without the weights Δs."""
        nodes = 5
        line = cs_brackets._line(nodes)
        gamma, mu = rng.normal(size=(nodes + 1, 6)), rng.normal(size=(nodes, 6))
        pairs = []
        for _ in range(2):
            inner = rng.normal(size=(nodes - 1, 6))
            pairs.append((np.pad(inner, ((1, 1), (0, 0))), rng.normal(size=(nodes, 6))))
        ours = line.bracket(gamma[1:-1], mu).of(*((g[1:-1], m) for g, m in pairs))
        theirs = cs_brackets.of_50(gamma, mu, *pairs, printed=False)
        assert line.spacing * theirs == pytest.approx(ours, rel=1e-12)

    def test_jacobi_fails_as_the_formula_says_and_to_second_order(self, data):
        found = data["brackets"]["Jacobi"]
        np.testing.assert_allclose(found["cyclic sum"], found["formula"], rtol=1e-6)
        np.testing.assert_allclose(found["orders"], 2, atol=0.1)


class TestTable2:
    def test_papers_numbers(self, data):
        paper = data["table 2"]["paper"]
        assert gain(paper["Python"]) == pytest.approx(14.40, abs=0.02)
        assert gain(paper["MATLAB"]) == pytest.approx(3.22, abs=0.005)

    def test_ours_are_one_program(self, data):
        found = data["table 2"]
        assert found["NumPy against compiled, strain"] < 1e-13
        assert found["NumPy"]["poisson"] > 100 * found["compiled"]["poisson"]


class TestPage:
    def test_errata_and_numbers_are_told(self, page):
        for text in (
            "(33), node 0",
            "(50), ends",
            "(55)",
            "14.49 %",
            "14.39 %",
            "103.08",
            "102.74 … 103.57",
            "taut papers cs",
            "The duration is not printed",
        ):
            assert text in page, text

    def test_table_2_has_the_papers_numbers_ours_and_their_ratios(self, page, data):
        table = re.search(r'id="cs-table2">.*?</table>', page, re.S)[0]
        rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
        assert [row[0] for row in rows] == [
            "Poisson [s]", "Hamel [s]", "quicker by [%]", "the same in the text [%]",
        ]  # fmt: skip
        assert rows[0][1:3] == ["13.5543", "15.9470"]
        assert rows[1][1:3] == ["14.0054", "18.6285"]
        assert rows[2][1:3] == ["3.22", "14.39"]
        assert rows[3][1:3] == ["3.22", "14.49"]
        slow = data["table 2"]["NumPy"]["poisson"]
        assert float(rows[0][3]) == pytest.approx(slow, rel=0.01)
        assert float(rows[0][4]) == pytest.approx(slow / 15.9470, rel=0.06)

    def test_ratios_stand_beside_printed_numbers(self, study):
        ratios = {claim.what: claim.ratio for claim in claims(study)}
        assert not ratios["linear momentum"]  # a number without a unit
        assert 0.5 < float(ratios["total energy"]) < 1
        assert ratios["quicker than Hamel"]
        assert sum(map(bool, ratios.values())) == 2

    def test_verdicts_follow_the_numbers(self, data, study):
        def verdicts(numbers):
            given = study_of.Study(study.first, numbers=numbers)
            return {row[0]: row[3].split(";")[0] for row in claims(given)}

        found = verdicts(data)
        assert found["total energy"] == "agrees"
        assert found["linear momentum"] == found["angular momentum"] == "cannot be decided"
        assert found["momenta, against the Hamel integrator"] == "does not agree"
        assert found["energy, against the Hamel integrator"] == "does not agree"
        assert found["(55), g moves with μⁿ"] == "does not agree"
        assert found["(55), g moves with ζⁿ⁺¹"] == "so corrected it holds"
        assert found["(33), (50) are Poisson brackets"] == "does not agree"
        changed = json.loads(json.dumps(data))
        changed["momenta"]["to 1 s"]["(μⁿ, gⁿ)"]["P"] = 2e-3
        changed["bands"]["printed"]["band"] = 0.15
        changed["read back"]["old, 4 × 4"]["largest"] = 1e-4
        changed["brackets"]["printed"] = {"(33)": 0.0, "(50)": 0.0, "{h, h}": 0.0}
        changed["example"]["energy"]["band in 10 s"] = 5.0
        found = verdicts(changed)
        assert found["total energy"] == "does not agree"
        assert found["linear momentum"] == "cannot be decided"
        assert found["momenta, against the Hamel integrator"] == "agrees"
        assert found["energy, against the Hamel integrator"] == "agrees"
        assert found["(55), g moves with μⁿ"] == "agrees"
        assert found["(33), (50) are Poisson brackets"] == "agrees"

    def test_energy_and_momenta_are_held_against_hamel_by_one_rule(self, data, study):
        """As printed 12 and 14 times Hamel's; with a staggered start both are below three."""
        staggered = json.loads(json.dumps(data))
        staggered["bands"]["printed"] = staggered["bands"]["staggered, full cells"]
        soon = staggered["momenta"]["to 1 s"]
        soon["(μⁿ, gⁿ)"]["P"] = soon["poisson, full cells"]["P"]
        counts = []
        for numbers, holds in ((data, False), (staggered, True)):
            made = claims(study_of.Study(study.first, numbers=numbers))
            beside = [c for c in made if c.what.endswith("against the Hamel integrator")]
            assert [c.holds for c in beside] == [holds, holds]
            counts.append(int(agreement(made).partition(" ")[0]))
        assert counts[1] == counts[0] + 2

    @pytest.mark.parametrize("unit", [1e-3, 1e3])
    def test_what_differs_little_does_so_in_any_unit(self, unit):
        for sizes, holds in (((2.9, 1, 1), True), ((3.1, 1, 1), False), ((1, 1, 3.1), False)):
            assert _beside(*(unit * x for x in sizes)).startswith("agrees") is holds

    def test_every_long_run_has_its_certificate(self, data):
        assert data["certificates"].keys() == {"example", *study_of.LONG}


def test_pictures_are_not_blank():
    """Each panel has curves, names, and ink."""
    study = study_of.Study(study_of.simulated(duration=0.1, every=4))
    pictures = [
        cs_figures.motion(study), cs_figures.energies(study), cs_figures.momentum(study, True)
    ]  # fmt: skip
    assert [axes.get_xlabel() for axes in pictures[0].axes] == ["$x$ [m]", *["$t$ [s]"] * 3]
    space = pictures[0].axes[0]
    assert space.get_ylabel() == "$y$ [m]"
    assert "$z$ [m]" in [text.get_text().strip() for text in space.texts]
    right = pictures[2].axes[1]
    assert right.get_ylabel().endswith("kg m²/s]")
    for picture in pictures:
        image = plt.imread(BytesIO(picture.bytes("png", dpi=50)))[..., :3]
        assert 0.02 < (image < 0.98).any(axis=2).mean() < 0.6
        for axes in picture.axes:
            assert axes.lines or axes.collections
            assert axes.get_xlabel()
