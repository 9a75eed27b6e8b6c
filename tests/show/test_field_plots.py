"""Pictures of fields and beams: what is in them, and that they survive every kind of run."""

import logging
from io import BytesIO

import matplotlib
import numpy as np
import pytest
import sympy as sp
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import taut
from taut.show.shapes import TIME

PNG = b"\x89PNG"
RUBBER = {"section": taut.Square(0.05), "density": 1000, "young": 1e6, "poisson": 0.4}


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Matplotlib complains in its log, not by warnings."""
    yield
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def line(axes, label):
    """The one line of this label."""
    (found,) = (x for x in axes.lines if x.get_label() == label)
    return found


def shapes(axes):
    return [x for x in axes.lines if x.get_label().startswith("_shape")]


def titles(figure):
    """Headings of the panels; colour bars have none."""
    return [x for a in figure.axes if (x := a.get_title(loc="left"))]


def panel(figure, title):
    (found,) = (a for a in figure.axes if a.get_title(loc="left") == title)
    return found


def ink(figure):
    """Share of the picture that is not white."""
    image = plt.imread(BytesIO(figure.bytes("png", dpi=60)))[..., :3]
    return float((image < 0.98).any(axis=2).mean())


@pytest.fixture(scope="module")
def free():
    """A beam that is thrown and turns in space."""
    beam = taut.Beam(1, nodes=11, **RUBBER)
    v0 = [0, 0, 5, 0, 0, 1]
    return taut.simulate(beam, strain0=[1, 0.5, 0, 0, 0, 0], v0=v0, duration=0.5, every=10)


@pytest.fixture(scope="module")
def cantilever():
    """A beam with a body at its tip that falls in the x–z plane."""
    beam = taut.Beam(
        1, nodes=11, frame=(1, 0, 0), ends=("clamped", "free"), gravity=(0, 0, -9.81), **RUBBER
    )
    beam.body(at="tip", mass=0.5)
    return taut.simulate(beam, duration=1, every=20)


@pytest.fixture(scope="module")
def string():
    g, m = taut.coordinates("gamma mu")
    field = taut.Field(
        taut.lie.abelian(1), m**2 / 2 + g**2 / 2, strain=[g], momentum=[m], length=1, nodes=51
    )
    start = np.exp(-100 * (field.middles - 0.4) ** 2)[:, None]
    return taut.simulate(field, strain0=start, duration=2)


class TestBeams:
    def test_free_beams_show_shapes_energy_error_and_momenta(self, free):
        figure = free.plot()
        assert isinstance(figure, Figure)
        assert titles(figure) == ["shapes", "energy", "energy error", "momenta in space"]
        error = line(panel(figure, "energy error"), "energy error").get_ydata()
        np.testing.assert_array_equal(error, free.energy - free.energy[0])
        energy = panel(figure, "energy")
        for label, values in (("kinetic", free.kinetic), ("strain", free.potential)):
            np.testing.assert_array_equal(line(energy, label).get_ydata(), values)
        momenta = panel(figure, "momenta in space")
        assert momenta.get_yscale() == "log"
        assert line(momenta, "linear").get_ydata().max() < 1e-13

    def test_shapes_are_those_of_the_run_first_and_last_among_them(self, free):
        axes = panel(free.plot(shapes=5), "shapes")
        drawn = shapes(axes)
        assert len(drawn) == 5
        for curve, row in ((drawn[0], 0), (drawn[-1], -1)):
            np.testing.assert_array_equal(np.array(curve.get_data_3d()).T, free.positions[row])
        assert len({x.get_color() for x in drawn}) == 5

    def test_axes_in_space_have_one_scale(self, free):
        axes = panel(free.plot(), "shapes")
        limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
        ratio = np.ptp(limits, axis=1) / np.array(axes._box_aspect)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)

    def test_planar_beams_are_drawn_in_their_plane(self, cantilever):
        figure = cantilever.plot()
        axes = panel(figure, "shapes")
        assert axes.name == "rectilinear"
        assert axes.get_aspect() == 1.0
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("$x$", "$z$")
        np.testing.assert_array_equal(
            shapes(axes)[-1].get_xydata(), cantilever.positions[-1][:, [0, 2]]
        )
        held = [x for x in axes.lines if x.get_label() == "_held"]
        bodies = [x for x in axes.lines if x.get_label() == "_body"]
        assert len(held) == 1
        assert len(bodies) == len(shapes(axes))
        np.testing.assert_array_equal(held[0].get_xydata(), [[0, 0]])

    def test_with_loads_the_balance_takes_the_place_of_error_and_momenta(self, cantilever):
        figure = cantilever.plot()
        assert titles(figure) == ["shapes", "energy", "energy − work"]
        axes = panel(figure, "energy − work")
        t, means = line(axes, "balance").get_data()
        assert 0 < t[0] < t[-1] <= cantilever.t[-1]
        facts = cantilever.certificate.to_dict()
        assert np.ptp(means) <= facts["energy_band"]
        assert np.ptp(axes.get_ylim()) > facts["energy_band"]

    @pytest.mark.parametrize(
        ("gravity", "labels", "upside_down"),
        [((0, -9.81, 0), ("$x$", "$y$"), False), ((0, 9.81, 0), ("$x$", "$y$"), True),
         ((-9.81, 0, 0), ("$y$", "$x$"), False)],
    )  # fmt: skip
    def test_gravity_points_down_on_paper(self, gravity, labels, upside_down):
        along = (1.0, 0, 0) if gravity[0] == 0 else (0, 1.0, 0)
        beam = taut.Beam(
            1, nodes=6, frame=along, ends=("pinned", "free"), gravity=gravity, **RUBBER
        )
        axes = panel(taut.simulate(beam, duration=0.2).plot(), "shapes")
        assert (axes.get_xlabel(), axes.get_ylabel()) == labels
        assert axes.yaxis_inverted() == upside_down

    def test_down_can_be_chosen(self, cantilever):
        assert panel(cantilever.plot(down="z"), "shapes").yaxis_inverted()
        assert not panel(cantilever.plot(down=None), "shapes").yaxis_inverted()

    def test_held_beams_without_loads_show_no_momenta(self):
        beam = taut.Beam(1, nodes=6, ends=("clamped", "free"), **RUBBER)
        run = taut.simulate(beam, strain0=[0.5, 0, 0, 0, 0, 0], duration=0.1)
        assert titles(run.plot()) == ["shapes", "energy", "energy error"]

    def test_every_beam_of_a_frame_is_drawn(self):
        post = taut.Beam(1, frame=(0, 0, 1), ends=("clamped", "free"), nodes=6, **RUBBER)
        arm = taut.Beam(1, at=(0, 0, 1), frame=(1, 0, 0), nodes=6, **RUBBER)
        arm.body(mass=1)
        arm.load(force=(0, 1, 0))
        run = taut.simulate(taut.Beams([post, arm]), duration=0.2, every=10)
        axes = panel(run.plot(shapes=4), "shapes")
        assert len(shapes(axes)) == 8
        (body, *_) = (x for x in axes.lines if x.get_label() == "_body")
        np.testing.assert_array_equal(np.ravel(body.get_data_3d()), run.positions[0, -1])

    def test_a_beam_that_flies_far_gets_the_whole_width(self):
        beam = taut.Beam(1, nodes=6, **RUBBER)
        run = taut.simulate(beam, v0=[3, 1, 0, 0, 0, 20.0], duration=1, every=10)
        figure = run.plot()
        tall = taut.simulate(beam, v0=[3, 1, 0, 20.0, 0, 0], duration=1, every=10).plot()
        for found, beside in ((figure, True), (tall, False)):  # z goes up
            found.draw_without_rendering()
            shapes, energy = (panel(found, x).get_position() for x in ("shapes", "energy"))
            assert (energy.x0 > shapes.x1) == beside
            assert (energy.y1 < shapes.y0) == (not beside)

    def test_small_displacements_are_enlarged_and_it_is_said(self):
        steel = {"section": taut.Circle(0.01), "density": 7800, "young": 2.1e11, "poisson": 0.3}
        ends = {"ends": ("clamped", "free"), "frame": (1, 0, 0), "gravity": (0, 0, -9.81)}
        run = taut.simulate(taut.Beam(1.0, nodes=11, **steel, **ends), duration=0.05, every=100)
        drop = -run.positions[:, -1, 2].min()
        assert 1e-4 < drop < 0.02
        axes = panel(run.plot(), "shapes")
        factor = float(axes.get_title(loc="right").removeprefix("displacements × "))
        assert f"{factor:e}"[0] in "125"
        lowest = min(x.get_ydata().min() for x in shapes(axes))
        assert -0.2 <= lowest < -0.08
        assert -lowest <= factor * drop * (1 + 1e-12)
        plain = panel(run.plot(magnify=1), "shapes")
        assert "of" in plain.get_title(loc="right")
        np.testing.assert_array_equal(shapes(plain)[-1].get_ydata(), run.positions[-1, :, 2])

    def test_the_vertical_axis_in_space_is_named_at_its_top(self, free):
        axes = panel(free.plot(), "shapes")
        (name,) = (x for x in axes.texts if "z" in x.get_text())
        assert name.get_position_3d() == pytest.approx(
            (axes.get_xlim()[1], axes.get_ylim()[1], axes.get_zlim()[1])
        )

    def test_a_run_that_only_started(self):
        beam = taut.Beam(1, nodes=3, **RUBBER)
        run = taut.simulate(beam, duration=1e-6, step=1e-6)
        assert run.plot().bytes("png", dpi=50).startswith(PNG)


class TestFields:
    def test_strain_and_momentum_are_images_over_time_and_place(self, string):
        figure = string.plot()
        assert titles(figure) == [r"strain $\gamma$", r"momentum $\mu$", "energy", "energy error"]
        axes = panel(figure, r"strain $\gamma$")
        (image,) = axes.collections
        np.testing.assert_array_equal(image.get_array(), string.strain[:, :, 0].T)
        assert axes.get_ylim() == pytest.approx((0, 1))
        assert axes.get_ylabel() == "$s$"
        assert panel(figure, "energy").get_xlabel() == "$t$"  # it stands below
        low, high = image.get_clim()
        assert low == -high == -np.abs(string.strain).max()

    def test_few_states_are_curves(self):
        g, m = taut.coordinates("gamma mu")
        field = taut.Field(
            taut.lie.abelian(1), m**2 / 2 + g**4 / 4 + g**2 / 2, strain=[g], momentum=[m],
            length=2, nodes=21,
        )  # fmt: skip
        run = taut.simulate(field, strain0=[0.5], duration=1, step=0.01, every=25)
        figure = run.plot()
        axes = panel(figure, r"momentum $\mu$")
        assert len(axes.lines) == len(run.t) == 5
        np.testing.assert_array_equal(axes.lines[2].get_ydata(), run.momentum[2, :, 0])
        assert axes.get_xlim() == (0, 2)
        (legend,) = figure.legends
        assert [x.get_text() for x in legend.get_texts()] == [
            f"$t$ = {t:.3g}" for t in (0, 0.25, 0.5, 0.75, 1)
        ]

    def test_of_many_components_the_largest_are_shown(self):
        gamma, mu = sp.symbols("gamma1:7"), sp.symbols("mu1:7")
        h = sum(x**2 for x in (*gamma, *mu)) / 2
        field = taut.Field(
            taut.lie.abelian(6), h, strain=gamma, momentum=mu, length=1, nodes=21, ends="periodic"
        )
        size = np.array([0, 3, 0, 1, 2, 0.0])
        start = np.sin(2 * np.pi * field.places)[:, None] * size
        figure = taut.simulate(field, momentum0=start, duration=1).plot()
        shown = [x for x in titles(figure) if x.startswith("strain")]
        assert shown == [rf"strain $\gamma_{{{k}}}$" for k in (2, 4, 5)]


class TestPanels:
    def test_those_that_are_named(self, free):
        figure = free.plot("momenta", "shapes")
        assert titles(figure) == ["momenta in space", "shapes"]

    def test_strain_of_beams_component_by_component(self, free):
        figure = free.plot("strain", of=["gamma1", "gamma2"])
        assert titles(figure) == [r"strain $\gamma_{1}$", r"strain $\gamma_{2}$"]
        (image,) = panel(figure, r"strain $\gamma_{2}$").collections
        np.testing.assert_array_equal(image.get_array(), free.strain[:, :, 1].T)
        with pytest.raises(taut.UnknownName, match="component"):
            free.plot("strain", of="gamma7")

    def test_of_several_beams_edges_between_them_are_left_out(self):
        post = taut.Beam(1, frame=(0, 0, 1), ends=("clamped", "free"), nodes=6, **RUBBER)
        arm = taut.Beam(1, at=(0, 0, 1), frame=(1, 0, 0), nodes=6, **RUBBER)
        arm.load(force=(0, 1, 0))
        run = taut.simulate(taut.Beams([post, arm]), duration=0.2, every=10)
        axes = run.plot("strain", of="gamma1").axes[0]
        assert axes.collections[0].get_array().shape == (10, len(run.t))
        assert axes.get_ylim() == pytest.approx((0, 2))

    def test_what_there_is_not_says_why(self, free, string):
        for run, name, words in (
            (free, "balance", "no load"),
            (string, "shapes", "beams"),
            (string, "path", "no panel called 'path'"),
        ):
            with pytest.raises(taut.InputError, match=words):
                run.plot(name)

    def test_own_axes(self, free):
        axes = plt.Figure().add_subplot()
        assert free.plot("energies", axes=axes) is axes
        np.testing.assert_array_equal(line(axes, "strain").get_ydata(), free.potential)
        with pytest.raises(taut.InputError, match="projection"):
            free.plot("shapes", axes=axes)
        with pytest.raises(taut.InputError, match="one panel"):
            free.plot("strain", axes=axes)

    def test_total_momentum_of_a_field(self, string):
        axes = panel(string.plot("momenta"), "momentum")
        assert 0 < line(axes, "total").get_ydata().max() < 1e-12


class TestWhole:
    @pytest.mark.parametrize("name", ["free", "cantilever", "string"])
    def test_no_panel_is_empty_and_axes_are_named(self, name, request):
        figure = request.getfixturevalue(name).plot()
        assert 0.03 < ink(figure) < 0.6
        for axes in figure.axes:
            if axes.get_title(loc="left"):
                assert axes.lines or axes.collections
                assert axes.get_ylabel()

    def test_heading_names_method_step_and_nodes_or_what_is_wished(self, free):
        assert free.plot().get_suptitle() == f"variational, step {free.step:.4g}, 11 nodes"
        assert free.plot(title="mine").get_suptitle() == "mine"
        assert free.plot(title="").get_suptitle() == ""

    def test_leaves_nothing_in_pyplot_and_no_setting_changed(self, free):
        before, held = dict(matplotlib.rcParams), plt.get_fignums()
        free.plot().bytes("png", dpi=50)
        assert plt.get_fignums() == held
        assert dict(matplotlib.rcParams) == before

    @pytest.mark.parametrize("kind", ["svg", "png"])
    def test_same_run_same_file(self, cantilever, kind):
        one, two = (cantilever.plot().bytes(kind) for _ in range(2))
        assert one == two

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"shapes": 1}, "shapes"),
            ({"points": 2}, "points"),
            ({"down": "w"}, "axis"),
            ({"magnify": 0}, "magnify"),
            ({"magnify": "much"}, "magnify"),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(self, free, options, words):
        with pytest.raises(taut.InputError, match=words):
            free.plot(**options)

    def test_colours_of_time_differ_in_grey(self):
        grey = np.array([TIME(x)[:3] for x in np.linspace(0, 1, 12)]) @ [0.3, 0.59, 0.11]
        assert (np.diff(grey) > 0.02).all()
        assert grey[-1] < 0.85
