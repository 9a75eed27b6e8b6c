"""Pictures: what is in them, and that they survive every kind of run."""

import logging

import matplotlib
import numpy as np
import pytest
import sympy as sp
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import taut
from taut.problems import names, problem
from taut.show import style
from taut.show.geometry import Rod, down_of, points_of, rods_of

PNG = b"\x89PNG"


def _numbers(end, values):
    """Where a rod is held, for these values."""
    if not isinstance(end, tuple):
        return end
    return tuple(float(e.subs({s: values[s.name] for s in e.free_symbols})) for e in end)


def line(axes, label):
    """The one line of this label."""
    (found,) = (x for x in axes.lines if x.get_label() == label)
    return found


def titles(figure):
    return [a.get_title(loc="left") for a in figure.axes]


def panel(figure, title):
    (found,) = (a for a in figure.axes if a.get_title(loc="left") == title)
    return found


def chain(n):
    """A planar chain of n unit rods, as terms."""
    x, y, a, b, u, w = sp.symbols("x y a b u w", real=True)
    pairs = np.arange(2 * n).reshape(n, 2)
    return taut.System.from_terms(
        sp.symbols(" ".join(f"x{i} y{i}" for i in range(n))),
        [
            taut.Term("lagrangian", (x, y), [(u**2 + w**2) / 2 - 10 * y], pairs, rates=(u, w)),
            taut.Term("constraint", (x, y), [(x - 3) ** 2 + y**2 - 1], pairs[:1]),
            taut.Term("constraint", (x, y, a, b), [(x - a) ** 2 + (y - b) ** 2 - 1],
                      np.hstack([pairs[:-1], pairs[1:]])),
        ],
    )  # fmt: skip


@pytest.fixture(scope="module")
def double():
    return problem("zg-double").simulate()


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Matplotlib complains in its log, not by warnings."""
    yield
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


class TestWhole:
    def test_has_path_energy_and_constraints(self, double):
        figure = double.plot()
        assert isinstance(figure, Figure)
        path, energy, residuals, multipliers = figure.axes
        np.testing.assert_array_equal(
            line(multipliers, r"$\lambda$ lower rod").get_ydata(), double.multipliers[:, 1]
        )
        np.testing.assert_array_equal(line(path, "path 2").get_xydata(), double.q[:, 2:])
        np.testing.assert_array_equal(
            line(energy, "energy error").get_ydata(), double.energy - double.energy[0]
        )
        labels = [text.get_text() for text in residuals.get_legend().get_texts()]
        assert labels == ["$|g|$", r"$|G\dot q|$"]
        assert residuals.get_yscale() == "log"
        assert path.get_aspect() == 1.0

    def test_two_rods_at_the_last_state(self, double):
        path = double.plot().axes[0]
        rods = [x.get_xydata() for x in path.lines if x.get_label() == "_rod"]
        last = double.q[-1].reshape(2, 2)
        np.testing.assert_allclose(rods[0], [[0, 0], last[0]])
        np.testing.assert_allclose(rods[1], [last[0], last[1]])

    def test_drift_line_has_the_slope_of_the_certificate(self):
        run = problem("zg-spherical").simulate(method="symplectic-euler")
        energy = run.plot().axes[1]
        (t0, y0), (t1, y1) = line(energy, "drift").get_xydata()
        assert (y1 - y0) / (t1 - t0) == pytest.approx(run.certificate.energy.slope, rel=1e-12)
        assert (y1 - y0) / (t1 - t0) == pytest.approx(1.04e-4, rel=0.02)
        assert "drift +100" in energy.get_title(loc="right")

    def test_no_drift_line_from_a_run_that_is_too_short(self):
        energy = problem("zg-pendulum").simulate(duration=3).plot().axes[1]
        assert "drift" not in [x.get_label() for x in energy.lines]
        assert energy.get_title(loc="right") == "too short to tell a drift"

    def test_heading_names_method_and_step_or_what_is_wished(self, double):
        assert double.plot().get_suptitle() == "rattle, step 0.01"
        assert double.plot(title="mine").get_suptitle() == "mine"
        assert double.plot(title="").get_suptitle() == ""

    def test_leaves_nothing_in_pyplot_and_no_setting_changed(self, double):
        before, held = dict(matplotlib.rcParams), plt.get_fignums()
        double.plot().bytes("png")
        assert plt.get_fignums() == held
        assert dict(matplotlib.rcParams) == before

    def test_does_not_depend_on_the_users_settings(self, double):
        mine = double.plot().bytes("svg")
        with matplotlib.rc_context({"font.size": 20, "axes.grid": True, "lines.linewidth": 5}):
            assert double.plot().bytes("svg") == mine

    def test_shows_itself_in_jupyter(self, double):
        assert double.plot()._repr_png_().startswith(PNG)

    @pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
    def test_same_run_same_file(self, double, tmp_path, kind):
        contents = []
        for k in range(2):
            double.plot().savefig(tmp_path / f"{k}.{kind}")
            contents.append((tmp_path / f"{k}.{kind}").read_bytes())
        assert contents[0] == contents[1]
        assert len(contents[0]) > 5000

    @pytest.mark.parametrize("name", names())
    def test_every_problem_has_a_picture(self, name):
        given = problem(name)
        figure = given.simulate(duration=60 * given.step, laws=None).plot()
        assert figure.bytes("png", dpi=50).startswith(PNG)
        for axes in figure.axes:
            assert axes.lines
            assert axes.get_title(loc="left")
            assert axes.get_ylabel() or axes.get_legend()


class TestKindsOfRuns:
    def test_moving_constraints_are_labelled_as_such(self):
        figure = problem("car-axis").simulate(duration=0.1).plot()
        energy, residuals = panel(figure, "energy, not conserved"), panel(figure, "constraints")
        labels = [text.get_text() for text in residuals.get_legend().get_texts()]
        assert labels[1] == r"$|G\dot q + g_t|$"
        assert "drift" not in [x.get_label() for x in energy.lines]

    def test_without_constraints_there_is_no_third_panel(self):
        x, y = taut.coordinates("x y")
        kepler = taut.System([x, y], mass=[1, 1], potential=-1 / sp.sqrt(x**2 + y**2))
        figure = taut.simulate(kepler, q0=[1, 0], v0=[0, 1], duration=7, step=0.01).plot()
        assert titles(figure) == ["path", "energy error", "conserved quantities"]
        assert figure.bytes("png").startswith(PNG)

    def test_other_coordinates_are_drawn_against_time(self):
        theta, phi = taut.coordinates("theta phi1")
        system = taut.System([theta, phi], mass=[2, 1], potential=-sp.cos(theta) - sp.cos(phi))
        run = taut.simulate(system, q0=[1, 2], v0=0, duration=2, step=0.01)
        left = run.plot().axes[0]
        assert left.get_title(loc="left") == "coordinates"
        texts = [t.get_text() for t in left.get_legend().get_texts()]
        assert texts == [r"$\theta$", r"$\phi_{1}$"]
        np.testing.assert_array_equal(line(left, r"$\theta$").get_ydata(), run.q[:, 0])

    def test_many_coordinates_say_how_many_are_left_out(self):
        q = taut.coordinates(" ".join(f"a{i}" for i in range(9)))
        system = taut.System(q, mass=[1] * 9, potential=sum(s**2 for s in q))
        run = taut.simulate(system, q0=[1] * 9, v0=0, duration=1, step=0.01, laws=None)
        left = run.plot().axes[0]
        assert len(left.lines) == 6
        assert left.get_title(loc="right") == "6 of 9"

    def test_batch_overlays_a_few(self):
        given = problem("zg-double")
        angles = np.linspace(0.2, 0.6, 20)
        q0 = np.column_stack([np.sin(angles), np.cos(angles), np.sin(angles), np.cos(angles) + 1])
        run = given.simulate(q0=q0, v0=0, duration=2)
        figure = run.plot(members=5)
        assert "5 of 20 trajectories" in figure.get_suptitle()
        assert len([x for x in figure.axes[0].lines if x.get_label() == "path 2"]) == 5
        assert len(figure.axes[1].lines) == 5
        np.testing.assert_array_equal(figure.axes[0].lines[0].get_xydata(), run.q[0, :, :2])
        assert figure.bytes("png").startswith(PNG)

    def test_a_chain_shows_its_shape_and_the_path_of_its_end(self):
        n = 8
        q0 = np.column_stack([np.arange(n) + 4, np.zeros(n)]).ravel()
        run = taut.simulate(chain(n), q0=q0, v0=0, duration=0.5, step=0.005)
        path = run.plot().axes[0]
        assert len([x for x in path.lines if x.get_label() == "_rod"]) == n
        (traced,) = (x for x in path.lines if x.get_label().startswith("path"))
        np.testing.assert_array_equal(traced.get_xydata(), run.q[:, -2:])
        held = line(path, "_held").get_xydata()
        np.testing.assert_allclose(held, [[3, 0]])

    def test_long_run_keeps_its_extremes_in_few_points(self):
        run = problem("zg-double").simulate(duration=600)
        figure = run.plot()
        error = run.energy - run.energy[0]
        drawn = line(figure.axes[1], "energy error").get_ydata()
        assert len(run) > 50_000 >= 10 * len(drawn)
        assert (drawn.min(), drawn.max()) == (error.min(), error.max())
        path = line(figure.axes[0], "path 2").get_xydata()
        np.testing.assert_array_equal(path, run.q[-5000:, 2:])
        assert figure.axes[0].get_title(loc="right").startswith("from t = 55")

    def test_states_far_apart_are_dots(self):
        run = problem("zg-double").simulate(duration=400, every=100)
        path = run.plot().axes[0]
        assert line(path, "path 2").get_marker() == "."
        assert path.get_title(loc="right") == "stored states"

    def test_residuals_that_are_zero_do_not_break_the_log_axis(self):
        x, y = taut.coordinates("x y")
        system = taut.System([x, y], mass=[1, 1], potential=0, constraints=[y])
        run = taut.simulate(system, q0=[0, 0], v0=[1, 0], duration=1, step=0.01)
        assert not run.constraints.any()
        residuals = panel(run.plot(), "constraints")
        assert all((x.get_ydata() > 0).all() for x in residuals.lines)
        low, high = residuals.get_ylim()
        assert 0 < low < high

    def test_a_run_at_rest_has_a_picture(self):
        run = problem("pendulum").simulate(q0=[0, -1], v0=[0, 0], duration=1)
        assert run.plot().bytes("png").startswith(PNG)

    def test_the_beginning_of_a_failed_run_has_a_picture(self):
        with pytest.raises(taut.StepError) as caught:
            problem("zg-double").simulate(method="symplectic-euler", step=0.05, duration=100)
        assert caught.value.partial.plot().bytes("png").startswith(PNG)


class TestManyCurves:
    """What many curves, long names and long runs look like."""

    def test_trajectories_can_be_told_apart(self):
        given = problem("zg-double")
        angles = np.linspace(0.2, 0.6, 20)
        q0 = np.column_stack([np.sin(angles), np.cos(angles), np.sin(angles), np.cos(angles) + 1])
        run = given.simulate(q0=q0, v0=0, duration=2)
        figure = run.plot(members=[1, 3, 5, 7, 9, 11, 13, 15, 16, 17, 18, 19])
        (key,) = figure.legends
        names = [x.get_text() for x in key.get_texts()]
        assert names == ["trajectory 1", *map(str, (3, 5, 7, 9, 11, 13, 15, 16, 17, 18, 19))]
        looks = [(x.get_color(), x._dash_pattern[1]) for x in key.get_lines()]
        assert len({str(x) for x in looks}) == 12
        for title in ("path", "energy error", "multipliers"):
            lines = panel(figure, title).lines
            drawn = {str((x.get_color(), x._dash_pattern[1])) for x in lines
                     if not x.get_label().startswith("_r")}  # fmt: skip
            assert len(drawn) >= 12
        assert figure.bytes("png").startswith(PNG)
        assert not problem("zg-double").simulate(duration=1).plot().legends

    def test_a_curve_that_turns_too_often_is_a_band(self):
        t = np.linspace(0, 1000, 40_001)
        y = (1 + 0.3 * np.sin(t / 100)) * np.sin(5 * t)
        figure = style.picture(2)
        axes = figure.add_subplot()
        style.draw(axes, t, y, 5000, color=style.BLUE, label="y")
        (band,), (outline,) = axes.collections, axes.lines
        assert (band.get_alpha(), outline.get_label()) == (0.3, "y")
        x, edge = outline.get_xdata(), outline.get_ydata()
        assert len(x) < 700
        assert (edge.min(), edge.max()) == (y.min(), y.max())
        assert (x.min(), x.max()) == (0, 1000)
        for at in (100.0, 470.0, 800.0):  # above and below, the amplitude there
            here = np.sort(edge[np.abs(x - at) < 2.5])
            size = 1 + 0.3 * np.sin(at / 100)
            np.testing.assert_allclose(here[[0, -1]], [-size, size], rtol=0.02)
        other = figure.add_subplot()
        style.draw(other, t[:2000], y[:2000], 5000, color=style.BLUE)
        assert not other.collections
        np.testing.assert_array_equal(other.lines[0].get_ydata(), y[:2000])

    def test_a_band_with_gaps(self):
        y = np.sin(np.arange(20_000.0))
        y[5000:9000] = np.nan
        axes = style.picture(2).add_subplot()
        style.draw(axes, np.arange(20_000.0), y, 5000, color=style.BLUE)
        assert np.nanmax(axes.lines[0].get_ydata()) == np.nanmax(y)

    @pytest.mark.parametrize("letters", [3, 12, 30, 200])
    def test_a_legend_covers_no_curve_and_stays_in_the_figure(self, letters):
        """Of six constraints of nine, with short and long names."""
        q = taut.coordinates(" ".join(f"{a}{i}" for i in range(9) for a in "xy"))
        names = [f"{'n' * (letters - 2)} {i}" for i in range(9)]
        bound = {name: q[2 * i] ** 2 + q[2 * i + 1] ** 2 - 1 - i for i, name in enumerate(names)}
        system = taut.System(q, mass=1, potential=sum(q[1::2]), constraints=bound)
        start = np.concatenate([[np.sqrt(1 + i), 0] for i in range(9)])
        run = taut.simulate(system, q0=start, v0=0, duration=1, step=0.01, laws=None)
        figure = run.plot()
        axes = panel(figure, "multipliers")
        assert axes.get_title(loc="right") == "the largest 6 of 9"
        figure.draw_without_rendering()
        key = axes.get_legend().get_window_extent()
        assert key.y0 >= axes.get_window_extent().y1 - 1
        for title in (axes._left_title, axes.title):
            if title.get_text():
                assert not title.get_window_extent().overlaps(key)
        assert key.x1 <= figure.bbox.x1 + 1
        others = [a for a in figure.axes if a is not axes]
        assert not any(key.overlaps(a.get_window_extent()) for a in others)

    @pytest.mark.parametrize("many", [2, 4, 6])
    def test_a_legend_beside_a_heading_does_not_touch_it(self, many):
        """In panels of all widths of the overview."""
        q = taut.coordinates(" ".join(f"{a}{i}" for i in range(many) for a in "xy"))
        bound = {f"name {i}": q[2 * i] ** 2 + q[2 * i + 1] ** 2 - 1 for i in range(many)}
        system = taut.System(q, mass=1, potential=sum(q[1::2]), constraints=bound)
        run = taut.simulate(
            system, q0=[1, 0] * many, v0=0, duration=1, step=0.01, laws={"x": q[0], "y": q[1]}
        )
        figure = run.plot("path", "energy", "laws", "constraints", "multipliers", "coordinates")
        figure.draw_without_rendering()
        for axes in figure.axes:
            if axes.get_legend() is not None:
                key = axes.get_legend().get_window_extent()
                assert not key.overlaps(axes._left_title.get_window_extent())

    def test_names_that_begin_alike_stay_apart(self):
        figure = style.picture(2, width=3.0)
        axes = figure.add_subplot()
        for letter in "xyzuvw":
            axes.plot([0, 1], [0, 1], label=f"a quantity with a very long name, {letter}")
        style.key_above(axes)
        names = [x.get_text() for x in axes.get_legend().get_texts()]
        assert len(set(names)) == 6
        assert names[0].startswith("a quan")
        assert names[0].endswith("x")
        assert all("…" in x and len(x) < 30 for x in names)

    def test_long_headings_are_cut(self):
        x, y = taut.coordinates("x y")
        many = taut.EnergyMomentum(invariants=[(x + k * y) ** 2 for k in range(40)])
        system = taut.System([x, y], mass=1, potential=x**4 + y**4)
        run = taut.simulate(system, q0=[1, 0], v0=0, duration=1, step=0.1, method=many, laws=None)
        assert len(run.plot().get_suptitle()) <= 112
        assert run.plot().get_suptitle().endswith("…")


class TestGeometry:
    @pytest.mark.parametrize(
        ("name", "down"),
        [("zg-double", "y"), ("zg-spatial", "z"), ("zg-spherical-printed", "z"),
         ("zg-spherical", None), ("double-pendulum", None), ("car-axis", None)],
    )  # fmt: skip
    def test_down_is_where_a_uniform_force_pulls(self, name, down):
        run = problem(name).simulate(duration=0.1)
        assert down_of(run.system, points_of(run.system), run.parameters) == down
        axes = run.plot().axes[0]
        flipped = {k for k in "xyz" if hasattr(axes, f"{k}axis_inverted")
                   and getattr(axes, f"{k}axis_inverted")()}  # fmt: skip
        assert flipped == ({down} if down else set())

    def test_down_can_be_chosen(self, double):
        assert not double.plot(down=None).axes[0].yaxis_inverted()
        assert double.plot(down="x").axes[0].xaxis_inverted()
        with pytest.raises(taut.InputError, match="down is not an axis"):
            double.plot(down="z")

    def test_gravity_with_parameters_and_signs(self):
        x, y, m, g = taut.coordinates("x y m g")
        for gravity, down in ((9.81, None), (-9.81, "y")):
            system = taut.System([x, y], mass=[m, m], potential=m * g * y,
                                 parameters={"m": 2, "g": gravity})  # fmt: skip
            assert down_of(system, points_of(system), system.parameters) == down

    def test_points_need_at_least_x_and_y(self):
        q = taut.coordinates("x y x_a y_a z_a theta")
        system = taut.System(q, mass=[1] * 6)
        assert [(p.name, p.columns) for p in points_of(system)] == [("a", (2, 3, 4))]
        system = taut.System(q[:4], mass=[1] * 4)
        assert [(p.name, p.columns) for p in points_of(system)] == [("", (0, 1)), ("a", (2, 3))]

    @pytest.mark.parametrize(
        ("constraint", "rods"),
        [
            ("x1**2 + y1**2 - 4", [Rod(0, (0.0, 0.0))]),
            ("1 - (x1 - 2)**2 - (y1 + l)**2", [Rod(0, (2.0, -3.0))]),
            ("(x1 - x2)**2/2 + (y1 - y2)**2/2 - 1", [Rod(0, 1)]),
            ("(x1 + x2)**2 + (y1 - y2)**2 - 1", []),
            ("x1**2 + 2*y1**2 - 4", []),
            ("x1**2 - 1", []),
            ("x1 - y2", []),
            ("sin(x1) + y1**2", []),
        ],
    )
    def test_rods_are_distances(self, constraint, rods):
        q = taut.coordinates("x1 y1 x2 y2")
        local = {s.name: s for s in (*q, *taut.coordinates("l"))}
        system = taut.System(
            q, mass=[1] * 4, constraints=[sp.sympify(constraint, locals=local)],
            parameters={"l": 3},
        )  # fmt: skip
        found = rods_of(system, points_of(system))
        assert [Rod(r.start, _numbers(r.end, {"l": 3})) for r in found] == rods

    def test_a_moving_hold_is_taken_at_its_time(self):
        x, y = taut.coordinates("x y")
        system = taut.System([x, y], mass=[1, 1], constraints=[(x - taut.t) ** 2 + y**2 - 1])
        (rod,) = rods_of(system, points_of(system))
        assert rod == Rod(0, (taut.t, 0))

    def test_a_short_path_on_a_long_rod_fills_the_picture(self):
        axes = problem("zg-spherical").simulate(duration=10).plot().axes[0]
        assert np.ptp(axes.get_xlim()) < 0.25
        rods = [np.array(x.get_data_3d()) for x in axes.lines if x.get_label() == "_rod"]
        assert 0 < np.linalg.norm(rods[0][:, 1] - rods[0][:, 0]) < 0.3


class TestStyle:
    def test_envelope_keeps_order_ends_and_extremes(self, rng):
        t = np.linspace(0, 1, 100_001)
        y = rng.standard_normal(100_001)
        a, b = style.envelope(t, y, 1000)
        assert len(a) <= 1000
        assert (np.diff(a) > 0).all()
        assert (a[0], a[-1], b.min(), b.max()) == (0, 1, y.min(), y.max())
        same = style.envelope(t[:1000], y[:1000], 1000)
        assert same[0] is not None
        assert len(same[0]) == 1000

    def test_highest_misses_no_peak(self, rng):
        y = rng.standard_normal(12_345)
        t, high = style.highest(np.arange(12_345.0), y, 100)
        assert len(t) == 100
        assert high.max() == np.abs(y).max()
        assert (high >= 0).all()

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0, "0"),
            (-7.22e-7, "−7.2×10⁻⁷"),
            (0.0102, "0.010"),
            (12.0, "12"),
            (220.4, "220"),
            (-5432, "−5400"),
            (1e12, "1.0×10¹²"),
        ],
    )
    def test_numbers_in_captions(self, value, text):
        assert style.number(value) == text

    def test_colours_differ_in_grey(self):
        """The two colours that stand side by side most often differ in lightness too."""

        def lightness(colour):
            r, g, b = matplotlib.colors.to_rgb(colour)
            return 0.2126 * r + 0.7152 * g + 0.0722 * b

        assert abs(lightness(style.BLUE) - lightness(style.ORANGE)) > 0.05
        assert len(set(style.COLOURS)) == 6

    def test_bad_options(self):
        run = problem("pendulum").simulate(duration=0.1)
        for bad in ({"members": 0}, {"points": 3}, {"down": "up"}):
            with pytest.raises(taut.InputError):
                run.plot(**bad)
