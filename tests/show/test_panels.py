"""Panels by name: what each shows, of every kind of run, and what is refused."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from matplotlib.figure import Figure

import taut
from taut.problems import problem
from taut.show import words
from taut.show.errors import extremes
from taut.show.plots import PANELS


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Matplotlib complains in its log, not by warnings."""
    yield
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


@pytest.fixture(scope="module")
def double():
    return problem("zg-double").simulate()


@pytest.fixture(scope="module")
def circle():
    """Uniform motion on a circle: x = cos t, y = sin t."""
    x, y = taut.coordinates("x y")
    system = taut.System([x, y], mass=[1, 1], potential=(x**2 + y**2) / 2)
    return taut.simulate(
        system, q0=[1, 0], v0=[0, 1], duration=20, step=0.05, method="composition-8"
    )


def titles(figure):
    return [a.get_title(loc="left") for a in figure.axes]


def only(run, name, **options):
    (axes,) = run.plot(name, **options).axes
    return axes


class TestGrammar:
    def test_panels_come_in_the_order_of_their_names(self, double):
        figure = double.plot("constraints", "path", "energy")
        assert titles(figure) == ["constraints", "path", "energy error"]

    @pytest.mark.parametrize("many", range(1, 8))
    def test_no_two_panels_overlap(self, double, many):
        names = ("path", "energy", "constraints", "multipliers", "phase", "coordinates", "path")
        figure = double.plot(*names[:many])
        figure.draw_without_rendering()
        boxes = [a.get_position() for a in figure.axes]
        for i, a in enumerate(boxes):
            assert a.width > 0.1
            assert a.height > 0.05
            for b in boxes[:i]:
                assert a.x0 >= b.x1 or b.x0 >= a.x1 or a.y0 >= b.y1 or b.y0 >= a.y1

    def test_unknown_names_list_the_known(self, double):
        with pytest.raises(taut.UnknownName, match="multipliers"):
            double.plot("energi")
        with pytest.raises(taut.UnknownName):
            double.plot(3)

    def test_own_axes_are_drawn_into_and_returned(self, double):
        axes = Figure().add_subplot()
        size = axes.xaxis.label.get_size()
        assert double.plot("energy", axes=axes) is axes
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), double.energy - double.energy[0])
        assert axes.xaxis.label.get_size() == size

    @pytest.mark.parametrize(
        ("panels", "axes", "message"),
        [
            (("energy", "path"), Figure().add_subplot(), "one panel"),
            (("energy",), "here", "not axes"),
            (("energy",), Figure().add_subplot(projection="3d"), "projection"),
        ],
    )
    def test_axes_that_do_not_fit(self, double, panels, axes, message):
        with pytest.raises(taut.InputError, match=message):
            double.plot(*panels, axes=axes)

    def test_a_path_in_space_needs_axes_in_space(self):
        run = problem("zg-spherical").simulate(duration=1)
        with pytest.raises(taut.InputError, match="3d"):
            run.plot("path", axes=Figure().add_subplot())
        axes = Figure().add_subplot(projection="3d")
        assert run.plot("path", axes=axes) is axes

    def test_choices_without_a_panel_are_refused(self, double):
        for options in ({"of": "x1"}, {"when": "x1"}):
            with pytest.raises(taut.InputError, match="belongs to a panel"):
                double.plot(**options)

    @pytest.mark.parametrize("name", ["constraints", "multipliers", "balance", "laws", "section"])
    def test_what_has_nothing_to_show_says_why(self, name):
        x = sp.Symbol("x")
        system = taut.System([x], mass=[1], potential=x**4)
        run = taut.simulate(system, q0=[1], v0=0, duration=1, step=0.01)
        with pytest.raises(taut.InputError) as caught:
            run.plot(name)
        assert caught.value.remedy
        assert titles(run.plot()) == ["coordinates", "energy error"]

    def test_points_are_needed_for_a_path(self):
        x = sp.Symbol("x")
        run = taut.simulate(
            taut.System([x], mass=[1], potential=x**2), q0=[1], v0=0, duration=1, step=0.01
        )
        with pytest.raises(taut.InputError, match="no path"):
            run.plot("path")


class TestOverview:
    def test_coordinates_that_are_no_points_are_not_dropped(self):
        x, y, theta = q = taut.coordinates("x y theta")
        system = taut.System(q, mass=[1, 1, 1], potential=x**2 + y**2 - sp.cos(theta))
        run = taut.simulate(system, q0=[1, 0, 1], v0=[0, 1, 0], duration=5, step=0.01)
        figure = run.plot()
        assert "coordinates" in titles(figure)
        axes = figure.axes[titles(figure).index("coordinates")]
        assert axes.get_ylabel() == r"$\theta$"
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), run.q[:, 2])

    def test_motion_along_a_line_is_also_drawn_over_time(self):
        figure = problem("fpu").simulate(duration=1).plot()
        assert titles(figure) == ["path", "energy error", "coordinates"]

    def test_forced_systems_show_their_balance(self):
        figure = problem("car-axis").simulate(duration=0.5).plot()
        axes = figure.axes[titles(figure).index("energy − work")]
        (balance,) = (x for x in axes.lines if x.get_label() == "balance")
        assert 0 < np.ptp(balance.get_ydata()) < 1e-6

    def test_the_extremes_of_the_balance_are_lines_and_no_band(self):
        run = problem("car-axis").simulate(duration=0.5)
        axes = only(run, "balance")
        ends = [x.get_ydata()[0] for x in axes.lines if x.get_label() == "_extreme"]
        assert ends == list(extremes(run.ending.books[0]))
        assert np.ptp(ends) == pytest.approx(run.certificate.to_dict()["energy_band"])
        (balance,) = (x.get_ydata() for x in axes.lines if x.get_label() == "balance")
        assert ends[0] <= balance.min() <= balance.max() <= ends[1]
        assert not axes.patches
        assert not axes.collections
        assert axes.get_title(loc="right") == "dashed: extremes of all steps"

    def test_laws_at_round_off_are_shown_by_their_size(self):
        run = problem("zg-spherical").simulate(duration=30)
        axes = only(run, "laws")
        assert axes.get_yscale() == "log"
        law = run.certificate.watched[0]
        values = run.evaluate(law.expression)
        assert axes.lines[0].get_ydata().max() >= np.abs(values - values[0]).max()

    def test_laws_that_drift_are_shown_with_their_sign(self):
        a, b, c = x = sp.symbols("a b c")
        flow = taut.Flow(x, [b * c, -a * c / 2, -a * b])
        run = taut.simulate(flow, q0=[0.2, 1, 0.4], duration=100, step=0.1, method="rk4")
        axes = only(run, "laws")
        assert axes.get_yscale() == "linear"
        drawn = {x.get_label(): x.get_ydata() for x in axes.lines}
        values = run.q[:, 0] ** 2 + run.q[:, 2] ** 2
        (label,) = (x for x in drawn if "c^{2}" in x)
        np.testing.assert_allclose(
            drawn[label], (values - values[0]) / values.max(), rtol=0, atol=1e-9
        )
        assert drawn[label][-1] < -1e-6


class TestDrawings:
    def test_the_points_of_a_drawing_are_traced(self):
        angle, away = taut.coordinates("theta away")
        s = sp.Symbol("s")
        bob = (sp.sin(angle), -sp.cos(angle))
        drawing = taut.Drawing(
            {"pivot": (0, 0), "bob": bob, "other": (2 + away, 0)},
            [("pivot", "bob"), ("pivot", "other", "spring")],
            trails=["bob"],
            curves=[((sp.cos(s), sp.sin(s)), (s, 0, 6.2832))],
        )
        system = taut.System(
            [angle, away], mass=[1, 1], potential=-sp.cos(angle) + away**2, drawing=drawing
        )
        run = taut.simulate(system, q0=[1, 0.5], v0=0, duration=5, step=0.01)
        axes = only(run, "path")
        lines = {x.get_label(): x.get_xydata() for x in axes.lines}
        theta = run.q[:, 0]
        np.testing.assert_allclose(
            lines["path bob"], np.column_stack([np.sin(theta), -np.cos(theta)]), atol=1e-15
        )
        assert "path other" not in lines
        np.testing.assert_allclose(lines["_spring"], [[0, 0], [2 + run.q[-1, 1], 0]])
        np.testing.assert_array_equal(lines["_held"], [[0, 0]])
        np.testing.assert_allclose(np.hypot(*lines["_curve"].T), 1)
        assert "coordinates" not in titles(run.plot())

    def test_a_flow_has_a_path_in_its_space_and_an_overview_with_a_portrait(self):
        a, b, c = x = sp.symbols("a b c")
        flow = taut.Flow(x, [b * c, -a * c / 2, -a * b])
        run = taut.simulate(flow, q0=[0.2, 1, 0.4], duration=10, step=0.1, method="rk4")
        assert only(run, "path").name == "3d"
        overview = run.plot()
        assert titles(overview)[:2] == ["phase portrait", "coordinates"]
        assert overview.axes[0].name == "3d"
        (line,) = overview.axes[0].lines
        np.testing.assert_allclose(np.array(line.get_data_3d()).T, run.q)
        flat = taut.simulate(taut.Flow(x[:2], [b, -a]), q0=[1, 0], duration=1, step=0.1)
        assert flat.plot().axes[0].name == "rectilinear"
        single = taut.simulate(taut.Flow(x[:1], [-a]), q0=[1], duration=1, step=0.1)
        assert titles(single.plot())[0] == "coordinates"


class TestPhase:
    def test_a_coordinate_against_its_momentum(self, circle):
        _, y = circle.system.coordinates
        axes = only(circle, "phase", of=y)
        np.testing.assert_array_equal(
            axes.lines[0].get_xydata(), np.column_stack([circle.q[:, 1], circle.p[:, 1]])
        )
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("$y$", "$p_{y}$")

    def test_any_two_expressions(self, circle):
        x, y = circle.system.coordinates
        axes = only(circle, "phase", of=(x * y, "x + t"))
        want = np.column_stack([circle.q.prod(axis=1), circle.q[:, 0] + circle.t])
        np.testing.assert_allclose(axes.lines[0].get_xydata(), want, atol=1e-14)

    def test_three_in_space(self, circle):
        x, y = circle.system.coordinates
        axes = only(circle, "phase", of=(x, y, circle.system.velocities[0]))
        assert axes.name == "3d"
        assert axes.get_zlabel() == r"$\dot{x}$"

    def test_the_first_that_moves_by_itself(self):
        x, y = taut.coordinates("x y")
        system = taut.System([x, y], mass=[1, 1], potential=y**2)
        run = taut.simulate(system, q0=[1, 1], v0=0, duration=1, step=0.01)
        assert only(run, "phase").get_xlabel() == "$y$"

    @pytest.mark.parametrize("of", [(), (1, 2, 3, 4), sp.Symbol("x") ** 2, "w"])
    def test_what_cannot_be_a_portrait(self, circle, of):
        with pytest.raises(taut.TautError):
            circle.plot("phase", of=of)

    def test_coordinates_may_be_any_expressions(self, circle):
        axes = only(circle, "coordinates", of="x**2 + y**2")
        assert axes.get_title(loc="left") == "values"
        low, high = axes.get_ylim()  # one but for rounding: not enlarged
        assert low < 0.9
        assert high > 1.1


class TestSection:
    def test_dots_are_where_the_expression_crosses_upwards(self, circle):
        x, y = circle.system.coordinates
        axes = only(circle, "section", when=y, of=(x, circle.system.velocities[1]))
        dots = axes.lines[0].get_xydata()
        assert len(dots) == 3  # t = 2π, 4π, 6π
        np.testing.assert_allclose(dots, 1, atol=1e-9)
        assert axes.get_title(loc="right") == "$y$ = 0 ↑"

    def test_events_choose_their_direction(self, circle):
        x, y = circle.system.coordinates
        both = only(circle, "section", when=taut.Event(y, direction="both"), of=(x, y))
        assert len(both.lines[0].get_xydata()) == 6
        down = only(circle, "section", when=taut.Event(y, direction="down"), of=(x, y))
        np.testing.assert_allclose(down.lines[0].get_xdata(), -1, atol=1e-9)

    def test_by_the_name_of_an_event_of_the_run(self):
        given = problem("zg-double")
        x1 = given.system.coordinates[0]
        run = given.simulate(events={"middle": taut.Event(x1, direction="up")}, every=7)
        for when in ("middle", None):
            axes = only(run, "section", when=when, of=("x2", "y2"))
            np.testing.assert_array_equal(axes.lines[0].get_xydata(), run.events["middle"].q[:, 2:])
        with pytest.raises(taut.UnknownName, match="middle"):
            run.plot("section", when="midle", of=("x2", "y2"))

    def test_what_is_shown_is_not_what_is_zero(self, circle):
        axes = only(circle, "section", when=circle.system.coordinates[0])
        assert axes.get_xlabel() == "$y$"

    def test_once_per_period(self, circle):
        x, y = circle.system.coordinates
        axes = only(circle, "section", when=sp.sin(sp.pi * taut.t), of=(x, y))
        t = np.arange(2, 20, 2)
        np.testing.assert_allclose(
            axes.lines[0].get_xydata(), np.column_stack([np.cos(t), np.sin(t)]), atol=1e-8
        )

    def test_a_colour_for_every_start(self, circle):
        starts = [[1, 0], [2, 0], [3, 0]]
        run = taut.simulate(
            circle.system, q0=starts, v0=[0, 1], duration=20, step=0.05, method="composition-8"
        )
        axes = only(run, "section", when="y", of=("x", "y_dot"))
        assert [round(x.get_xdata()[0], 6) for x in axes.lines] == [1, 2, 3]
        assert len({x.get_color() for x in axes.lines}) == 3

    def test_no_crossing_is_an_error(self, circle):
        with pytest.raises(taut.InputError, match="no crossing"):
            circle.plot("section", when="x - 7")

    def test_many_dots_are_an_image_in_a_small_file(self, circle):
        run = taut.simulate(circle.system, q0=[1, 0], v0=[0, 1], duration=1000, step=0.05)
        figure = run.plot("section", when=sp.sin(60 * taut.t), of=("x", "y"))
        assert len(figure.axes[0].lines[0].get_xdata()) > 9000
        assert len(figure.bytes("svg")) < 500_000


def runs():
    """Runs of every kind, by name."""
    given = problem("zg-double")
    run = given.simulate(duration=5)
    gone = {x: getattr(run, x).copy() for x in "qvp"}
    for values in gone.values():
        values[-100:] = np.nan
    first = {x: getattr(run, x)[:1] for x in "tqvp"}
    x, y = taut.coordinates("x y")
    twice = taut.System([x, y], mass=[1, 1], constraints=[x**2 + y**2 - 1, 2 * x**2 + 2 * y**2 - 2])
    odd = [sp.Symbol(name) for name in ("θ", "<script>$x$", "_a", "角度", "a b\nc")]
    strange = taut.System(
        odd, mass=[1] * 5, potential=sum(s**2 for s in odd), constraints={"$ <b>": odd[0] - odd[1]}
    )
    rest = taut.System([x, y], mass=[1, 1])
    angles = np.linspace(0.2, 0.6, 9)
    q0 = np.column_stack([np.sin(angles), np.cos(angles), np.sin(angles), np.cos(angles) + 1])
    a, b = sp.symbols("a b")
    with pytest.raises(taut.StepError) as caught:
        given.simulate(method="symplectic-euler", step=0.05, duration=100)
    settings = {"duration": 2, "step": 0.01}
    return {
        "single": run,
        "batch": given.simulate(q0=q0, v0=0, duration=2),
        "flow": taut.simulate(taut.Flow([a, b], [b, -a]), q0=[1, 0], method="rk4", **settings),
        "one variable": taut.simulate(taut.Flow([a], [-a]), q0=[1], method="rk4", **settings),
        "ends in NaN": replace(run, **gone),
        "failed": caught.value.partial,
        "one state": replace(run, **first),
        "redundant": taut.simulate(twice, q0=[1, 0], v0=[0, 1], **settings),
        "odd names": taut.simulate(strange, q0=[1, 1, 0.5, 2, 3], v0=0, **settings),
        "at rest": taut.simulate(rest, q0=[1, 0], v0=0, **settings),
        "forced": problem("car-axis").simulate(duration=0.1),
    }


@pytest.fixture(scope="module")
def kinds():
    return runs()


KINDS = ("single", "batch", "flow", "one variable", "ends in NaN", "failed", "one state",
         "redundant", "odd names", "at rest", "forced")  # fmt: skip


def drawn_or_not(run, name, when):
    """(figure, None), or (None, what to do instead)."""
    try:
        return run.plot(name, when=when), None
    except taut.InputError as error:
        return None, error.remedy


@pytest.mark.parametrize("kind", KINDS)
def test_every_panel_of_every_kind_of_run(kinds, kind):
    run = kinds[kind]
    assert set(kinds) == set(KINDS)
    shown = 0
    for name in PANELS:
        when = sp.sin(40 * taut.t) if name == "section" else None
        figure, remedy = drawn_or_not(run, name, when)
        assert figure or remedy
        if figure is None:
            continue
        shown += 1
        figure.set_layout_engine("none")  # it would draw twice; the whole is laid out below
        figure.draw_without_rendering()
        (axes,) = figure.axes
        assert axes.get_title(loc="left")
        assert axes.get_ylabel() or axes.get_legend()
        drawn = [x for x in axes.lines if np.isfinite(x.get_xdata()).any()]
        assert drawn, name
        limits = np.array([axes.get_xlim(), axes.get_ylim()])
        assert np.isfinite(limits).all()
        assert (limits[:, 0] != limits[:, 1]).all()
    assert shown >= 2
    assert run.plot().bytes("png", dpi=50).startswith(b"\x89PNG")


def test_a_million_states_are_a_small_file():
    run = problem("zg-double").simulate(duration=10_000)
    assert len(run) > 1e6
    figure = run.plot("path", "energy", "constraints", "multipliers", "phase", "coordinates")
    assert 50_000 < len(figure.bytes("svg")) < 2_000_000


def test_a_batch_shares_the_points(double):
    given = problem("zg-double")
    q0 = np.repeat(double.q[:1], 30, axis=0)
    run = given.simulate(q0=q0, v0=0, duration=100)
    figure = run.plot("path", "coordinates", members=30)
    assert sum(len(x.get_xdata()) for x in figure.axes[1].lines) <= 20_000
    assert len(figure.bytes("svg")) < 2_000_000


class TestWords:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("theta1", r"$\theta_{1}$"),
            ("$x$", r"\$x\$"),
            ("_a", " _a"),
            ("角", "□"),
            ("a\nb", "a b"),
            ("x" * 200, "x" * 39 + "…"),
        ],
    )
    def test_symbols(self, name, text):
        assert words.symbol(sp.Symbol(name)) == text

    def test_velocities_and_momenta_carry_the_name_of_their_coordinate(self):
        q = taut.coordinates("theta1")
        system = taut.System(q, mass=[1])
        v, p = system.velocities[0], system.momenta[0]
        assert words.formula(system, v * p) == r"$p_{\theta_{1}} \dot{\theta_{1}}$"
