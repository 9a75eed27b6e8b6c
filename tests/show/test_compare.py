"""Several runs on one page: labels, distances, the table, the figure, and what is refused."""

import json

import numpy as np
import pytest
import sympy as sp

import taut
from taut.problems import problem
from taut.show.compare import main_lines


@pytest.fixture(scope="module")
def runs():
    given = problem("pendulum")
    methods = ("rattle", "gauss-lobatto-4", "symplectic-euler")
    return {m: given.simulate(method=m, duration=5) for m in methods}


@pytest.fixture(scope="module")
def compared(runs):
    return taut.compare(runs)


def titles(figure):
    return [a.get_title(loc="left") for a in figure.axes]


class TestLabels:
    def test_they_say_what_differs(self, runs):
        given = problem("pendulum")
        steps = [given.simulate(step=h, duration=1) for h in (0.01, 0.02)]
        assert list(taut.compare(steps).runs) == ["h = 0.01", "h = 0.02"]
        found = list(taut.compare(list(runs.values())).runs)
        assert found == ["rattle", "gauss-lobatto-4", "symplectic-euler"]

    def test_parameters_and_copies(self):
        x, k = sp.symbols("x k")
        system = taut.System([x], mass=[1], potential=k * x**2, parameters={"k": 1})
        run = {
            v: taut.simulate(
                system, q0=[1], v0=0, duration=1, step=0.1, parameters={"k": v}
            ) for v in (1, 2)
        }  # fmt: skip
        assert list(taut.compare([run[1], run[2]]).runs) == ["k = 1", "k = 2"]
        assert list(taut.compare([run[1], run[1]]).runs) == ["run (1)", "run (2)"]


class TestDistances:
    def test_from_the_run_that_should_be_the_most_accurate(self, compared, runs):
        best = runs["gauss-lobatto-4"]
        t, d = compared.distances["symplectic-euler"]
        rows = np.searchsorted(best.t, t - 1e-9)
        want = np.linalg.norm(runs["symplectic-euler"].q[rows] - best.q[rows], axis=1)
        np.testing.assert_array_equal(d, want)
        assert compared.distances["gauss-lobatto-4"][1].max() == 0
        exact = taut.compare(runs, reference=problem("pendulum").exact).distances
        errors = {label: pair[1].max() for label, pair in exact.items()}
        assert min(errors, key=lambda label: errors[label]) == "gauss-lobatto-4"
        assert "distances from gauss-lobatto-4" in compared.title()
        assert compared.plot().axes[2].get_title(loc="right") == "from gauss-lobatto-4"

    def test_by_order_or_by_step(self):
        """A step of 0.001 beats a higher order at 0.1; of equals the first counts."""
        given = problem("pendulum")
        few = given.simulate(step=0.1, duration=1, method="gauss-lobatto-4")
        many = given.simulate(step=0.001, duration=1)
        errors = [np.abs(r.q - given.exact(r.t)[0]).max() for r in (few, many)]
        assert errors[1] < errors[0]
        assert taut.compare({"few": few, "many": many}).reference is many
        assert (
            taut.compare({"one": many, "two": given.simulate(step=0.001, duration=1)}).origin
            == "one"
        )

    def test_what_it_is_from_is_said(self, runs):
        found = taut.compare(runs, reference=problem("pendulum").exact)
        assert "distances from a function" in found.title()
        assert found.plot().axes[2].get_title(loc="right") == "from a function"
        two = {x: runs[x] for x in ("rattle", "symplectic-euler")}
        other = taut.compare(two, reference=runs["gauss-lobatto-4"])
        assert "distances from another run" in other.title()

    def test_from_the_closed_form(self, runs):
        exact = problem("pendulum").exact
        found = taut.compare(runs, reference=exact).distances
        d = found["gauss-lobatto-4"][1]
        assert 0 < d.max() < 1e-6
        assert 1e-4 < found["rattle"][1].max() < 1e-1

    def test_at_times_that_the_reference_has_not_stored(self):
        given = problem("pendulum")
        coarse = given.simulate(step=0.03, duration=3, method="gauss-lobatto-8")
        fine = given.simulate(step=0.01, duration=2, every=7, method="gauss-lobatto-8")
        t, d = taut.compare({"fine": fine, "coarse": coarse}).distances["coarse"]
        assert t[-1] == pytest.approx(1.98)
        assert d.max() < 1e-9

    def test_another_one_by_its_label(self, runs):
        found = taut.compare(runs, reference="gauss-lobatto-4")
        assert found.distances["gauss-lobatto-4"][1].max() == 0
        with pytest.raises(taut.UnknownName, match="rattle"):
            taut.compare(runs, reference="ratle")

    def test_of_beams_the_farthest_node(self):
        beam = taut.Beam(
            1, section=taut.Square(0.05), density=1000, young=1e6, poisson=0.4, nodes=11
        )
        start = {"strain0": [1, 0.5, 0, 0, 0, 0], "duration": 0.1, "step": 5e-4, "every": 10}
        one, two = (taut.simulate(beam, method=m, **start) for m in ("variational", "hamel"))
        found = taut.compare([one, two])
        d = found.distances["hamel"][1]
        want = np.linalg.norm(one.positions - two.positions, axis=2).max(axis=1)
        np.testing.assert_array_equal(d, want)
        assert titles(found.plot()) == ["energy error", "distance", ""]
        assert "strain, poses" in str(found)

    def test_a_function_of_the_wrong_shape(self, runs):
        with pytest.raises(taut.InputError, match="does not give coordinates"):
            taut.compare(runs, reference=lambda t: t).plot()


class TestTable:
    def test_has_the_lines_of_the_certificates(self, compared, runs):
        text = str(compared)
        for label, run in runs.items():
            assert label in text
            assert f"{run.certificate.max_g:.1e}" in text
        assert "reference" in text.splitlines()[-1]
        named = next(row for row in text.splitlines() if row.startswith("  method"))
        assert named.split()[1:] == ["rattle", "gauss-lobatto-4", "symplectic-euler"]

    def test_tells_which_runs_are_resolved(self):
        x = taut.coordinates("x")[0]
        swing, start = taut.System([x], mass=[1], potential=x**2 / 2), {"q0": [1], "v0": 0}
        found = taut.compare(
            [taut.simulate(swing, **start, duration=30, step=h) for h in (0.01, 1.5)]
        )
        (row,) = (row for row in found.rows() if row[0] == "resolution")
        assert row[1:] == ["resolved", "unresolved"]
        beam = taut.Beam(1, taut.Square(0.1), density=1e3, young=1e7, poisson=0.35, nodes=5)
        lines = main_lines(taut.simulate(beam, v0=[0, 0, 0, 1, 0, 0], duration=0.01))
        assert lines["resolution"] == "resolved"

    def test_as_html_it_is_escaped(self, runs):
        page = taut.compare({"<b>": runs["rattle"], "&": runs["rattle"]})._repr_html_()
        assert "<th style='text-align:left'>&lt;b&gt;</th>" in page
        assert "<b>" not in page

    def test_as_numbers(self, compared):
        found = compared.to_dict()
        assert found["symplectic-euler"]["distance"] > 1e-3
        assert json.loads(json.dumps(found, default=float)).keys() == compared.runs.keys()

    def test_work_is_said(self):
        given = problem("car-axis")
        found = taut.compare([given.simulate(step=h, duration=0.1) for h in (1e-4, 2e-4)])
        assert "* energy minus work" in found.title()
        assert titles(found.plot())[0] == "energy − work"


class TestFigure:
    def test_has_errors_residuals_distances_and_the_table(self, compared, runs):
        figure = compared.plot(title="Pendulum")
        assert titles(figure) == ["energy error", "constraints", "distance", ""]
        assert figure.get_suptitle() == "Pendulum"
        assert [len(a.lines) for a in figure.axes[:3]] == [3, 3, 2]
        texts = [x.get_text() for x in figure.axes[3].texts]
        assert set(runs) <= set(texts)
        assert figure.bytes("svg")

    def test_orders_apart_errors_are_the_largest_so_far(self, compared, runs):
        axes = compared.plot().axes[0]
        assert axes.get_yscale() == "log"
        for line, run in zip(axes.lines, runs.values(), strict=True):
            y = line.get_ydata()
            assert (np.diff(y) >= 0).all()
            assert y[-1] == np.abs(run.energy - run.energy[0]).max()

    def test_errors_of_one_size_keep_their_sign(self, runs):
        axes = taut.compare({"a": runs["rattle"], "b": runs["rattle"]}).plot().axes[0]
        assert axes.get_yscale() == "linear"
        assert axes.lines[0].get_linewidth() > axes.lines[1].get_linewidth()

    def test_flows_show_their_laws(self):
        a, b = sp.symbols("a b")
        flow = taut.Flow([a, b], [b, -a])
        found = taut.compare(
            [
                taut.simulate(flow, q0=[1, 0], duration=50, step=0.1, method=m)
                for m in ("rk4", "symplectic-rk")
            ]
        )
        assert titles(found.plot()) == ["conserved quantities", "distance", ""]
        assert "laws change by" in str(found)

    def test_batches_show_their_worst_member(self):
        given = problem("pendulum")
        q0 = [[np.sin(x), -np.cos(x)] for x in (0.1, 1.0, 2.0)]
        many = [given.simulate(q0=q0, v0=0, duration=2, method=m) for m in ("rattle", "rk4")]
        found = taut.compare(many)
        error = np.abs(many[0].energy - many[0].energy[:, :1]).max()
        assert found.plot().axes[0].lines[0].get_ydata().max() == error


class TestRefused:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda a, b: [], "nothing to compare"),
            (lambda a, b: [a], "nothing to compare"),
            (lambda a, b: [a, 3], "only runs"),
            (lambda a, b: 3, "cannot be compared"),
            (lambda a, b: [a, b], "differ in their coordinates"),
        ],
    )
    def test_what_cannot_be_compared(self, runs, make, message):
        other = problem("zg-double").simulate(duration=0.1)
        with pytest.raises(taut.InputError, match=message):
            taut.compare(make(runs["rattle"], other))

    def test_a_reference_that_is_none(self, runs):
        with pytest.raises(taut.InputError, match="reference"):
            taut.compare(runs, reference=3)

    def test_a_function_beside_beams(self):
        beam = taut.Beam(
            length=1, section=taut.Square(0.1), nodes=5, density=1, young=1e3, poisson=0.3
        )
        run = taut.simulate(beam, duration=1e-2, step=1e-3)
        with pytest.raises(taut.InputError, match="compared with runs"):
            taut.compare([run, run], reference=lambda t: t)
