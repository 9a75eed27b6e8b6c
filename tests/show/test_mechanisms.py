"""What is seen of a mechanism: tables, forces in joints, events; on pages and in pictures."""

import json
import re
from html import escape, unescape

import numpy as np
import pytest

import taut
from taut.show import joint_forces
from taut.show.geometry import Rod, down_of, points_of, rods_of
from taut.show.happened import happened
from taut.show.joint_forces import efforts_in, held_in, motions_in
from taut.show.motion import _peaked, panels_of
from taut.show.page import Page, shortened
from taut.show.scene import Chooser, Panel

NASTY = "<script>alert('x')</script>"
GRAVITY = 9.81


@pytest.fixture(scope="module")
def swing():
    """A bar on a hinge that a ball joint holds once more, a bob on a rod, a spring and a damper."""
    m = taut.Mechanism(gravity=(0, 0, -GRAVITY))
    arm = m.body(NASTY, mass=2.0, inertia=(0.17, 0.17, 0.004), at=(0, 0, -0.5))
    bob = m.point("bob", mass=0.5, at=(0, 0, -1.8), velocity=(0.5, 1.0, 0))
    hinge = m.revolute("hinge", m.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
    m.spherical("again", m.ground, arm, at=(0, 0, 0))
    m.rod("rod_a*b", arm, bob, ends=((0, 0, -1), (0, 0, -1.8)))
    m.spring("spring", m.ground, bob, stiffness=3.0, length=1.8)
    m.torsion(hinge, damping=0.25, name="drag")
    angle = m.symbols(hinge)[0]
    events = {"lowest": taut.Event(angle, "up"), "never <i>": angle - 3}
    return taut.simulate(
        m, duration=8, step=0.01, method="gauss-lobatto-4", laws=None, events=events
    )


def tables(file) -> dict[str, list[list[str]]]:
    """Rows of the tables of a page by their captions."""
    found = {}
    for table in re.findall(r"<table.*?</table>", file.read_text(), re.S):
        caption = re.search(r"<caption>(.*?)</caption>", table)
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.S)
        cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]
        found[caption[1] if caption else cells[0][0] if cells[0] else ""] = cells
    return found


def words(file) -> str:
    """What is read on a page, but for scripts."""
    text = re.sub(r"<(script|style).*?</\1>", "", file.read_text(), flags=re.S)
    return unescape(re.sub(r"<[^>]*>", " ", text))


class TestTables:
    def test_say_what_it_is_made_of(self, swing, tmp_path):
        file = swing.report(tmp_path / "run.html")
        found = tables(file)
        parts = {row[0]: row for row in found["Parts"]}
        escaped = NASTY.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;")
        assert parts[escaped][1:5] == ["body", "2", "(0.17, 0.17, 0.004)", "(0, 0, −0.5)"]
        assert parts["bob"][1:3] == ["point", "0.5"]
        assert "(0.5, 1, 0)" in parts["bob"]
        joints = {row[0]: row for row in found["Joints"]}
        assert joints["hinge"][1:5] == ["revolute", f"ground, {escaped}", "(0, 0, 0)", "(0, 1, 0)"]
        assert [joints[x][5] for x in ("hinge", "again", "rod_a*b")] == ["5", "3", "1"]
        assert joints["again"][6] == "redundant (3 of 3)"
        assert joints["hinge"][6] == ""
        forces = {row[0]: row for row in found["Forces"]}
        assert forces["spring"][1:] == ["spring", "ground, bob", "stiffness 3, length 1.8"]
        assert forces["drag"][1:] == ["torsion", "hinge", "damping 0.25"]
        assert (
            "3 degrees of freedom: 15 coordinates, 6 constraints that keep bodies rigid, "
            "9 of joints; redundant: again (3 of 3)." in words(file)
        )
        assert "<math" not in file.read_text().partition("<script>")[0]
        assert "at the start" not in words(file)

    def test_the_start_is_that_of_the_run(self, swing, tmp_path):
        other = swing.system.mechanism
        q, v = swing.q[200], swing.v[200]
        run = taut.simulate(other, q0=q, v0=v, duration=0.04, step=0.01, laws=None)
        rows = {row[0]: row for row in tables(run.report(tmp_path / "run.html"))["Parts"]}
        told = [float(x.replace("−", "-")) for x in rows["bob"][4].strip("()").split(", ")]
        np.testing.assert_allclose(told, run["bob"].position[0], rtol=1e-4, atol=1e-6)

    def test_counted_angles_take_nothing_away(self, tmp_path):
        m = taut.Mechanism()
        body = m.body(
            "nut", mass=1, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0), angular_velocity=(0, 0, 1)
        )
        m.screw("thread", m.ground, body, at=(0, 0, 0), axis=(0, 0, 1), pitch=0.1)
        page = Page("", "")
        run = taut.simulate(m, duration=0.1, step=0.01, laws=None, project=True)
        from taut.show.assembly_tables import describe

        describe(page, run)
        text = "".join(page.parts)
        assert re.search(r"<td[^>]*>pitch 0.1</td>\s*<td[^>]*>5</td>", text)
        assert "1 degree of freedom" in text

    def test_long_titles_are_cut_between_words(self, swing, tmp_path):
        title = "A bar that swings and carries <a bob> " * 6
        text = swing.report(tmp_path / "run.html", title=title).read_text()
        shown = shortened(title)
        assert f'<h1 title="{escape(title)}">{escape(shown)}</h1>' in text
        assert f"<title>{escape(shown)}</title>" in text
        assert 60 < len(shown) <= 90
        assert shown.endswith("…")
        assert title.startswith(shown[:-1] + " ")
        assert shortened("x" * 200) == "x" * 89 + "…"
        assert shortened("short") == "short"


class TestForces:
    def test_are_those_of_the_joints(self, swing):
        t, joints, left_out = held_in(swing, 40)
        assert [x.name for x in joints] == ["hinge", "again", "rod_a*b"]
        assert left_out == 0
        rows = np.searchsorted(swing.t, t - 1e-9)
        np.testing.assert_allclose(joints[0].force, swing["hinge"].force[rows], atol=1e-12)
        np.testing.assert_allclose(joints[0].torque, swing["hinge"].torque[rows], atol=1e-12)
        assert not joints[2].torque.any()

    def test_hold_the_weight(self):
        """At rest: independent of any multiplier."""
        m = taut.Mechanism(gravity=(0, 0, -GRAVITY))
        arm = m.body("arm", mass=2.0, inertia=(0.17, 0.17, 0.004), at=(0, 0, -0.5))
        bob = m.point("bob", mass=0.5, at=(0, 0, -1.8))
        m.revolute("hinge", m.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
        m.rod("rod", arm, bob, ends=((0, 0, -1), (0, 0, -1.8)))
        run = taut.simulate(m, duration=0.1, step=0.01, laws=None)
        _, joints, _ = held_in(run, 40)
        np.testing.assert_allclose(joints[0].force, [[0, 0, 2.5 * GRAVITY]] * 11, atol=1e-9)
        np.testing.assert_allclose(joints[1].size, [0.5 * GRAVITY] * 11, atol=1e-9)
        assert not joints[0].torque.any()
        _, few, left_out = held_in(run, 1)
        assert ([x.name for x in few], left_out) == (["hinge"], 1)

    def test_of_the_page_are_chosen_by_name(self, swing):
        panels = {x.title: x for x in panels_of(swing)}
        assert "multipliers" not in panels
        assert [name for name, _ in panels["forces in joints"].curves] == [
            "hinge", "again", "rod_a*b"
        ]  # fmt: skip
        chooser = panels["force in"]
        assert isinstance(chooser, Chooser)
        assert [name for name, _ in chooser.panels] == ["hinge", "again", "rod_a*b"]
        panel = dict(chooser.panels)["hinge"]
        assert [name for name, _ in panel.curves] == ["x", "y", "z"]
        np.testing.assert_allclose(
            np.array([y for _, y in panel.curves]).T, held_in(swing, 40)[1][0].force
        )
        assert panels["torque in hinge"].label == "T"  # the only one that has any

    def test_peaks_do_not_set_the_axis(self):
        """As beside a singular place, where forces grow beyond bounds."""
        t = np.linspace(0, 1, 1001)
        force = 1 + np.sin(9 * t) ** 2 + 1e-4 / ((t - 0.5) ** 2 + 1e-7)
        plain = _peaked(Panel("F", "", t, [("a", force[:400])]))
        assert plain.limits is None
        panel = _peaked(Panel("F", "", t, [("a", force)], note="here"))
        assert panel.limits[0] == 0
        assert 2 < panel.limits[1] < 10
        assert panel.note == f"here; peaks up to {force.max():.1e}"
        both = _peaked(Panel("F", "", t, [("x", force), ("y", -force)]))
        assert both.limits[0] == -both.limits[1]

    def test_angles_are_drawn(self, swing):
        ((name, angle),) = motions_in(swing)
        assert name == "hinge"
        np.testing.assert_array_equal(angle, swing["hinge"].angle)
        assert "angles and slides" in [x.title for x in panels_of(swing)]
        axes = swing.plot("joints").axes[0]
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), angle)

    def test_what_springs_and_dampers_do_is_drawn(self, swing):
        for turning, name in ((False, "spring"), (True, "drag")):
            found, left_out = efforts_in(swing, turning)
            assert ([x for x, _ in found], left_out) == ([name], 0)
        panels = {x.title: x for x in panels_of(swing)}
        for kind, title, name in (
            ("forces", "forces of springs, dampers, motors", "spring"),
            ("torques", "torques of springs, dampers, motors", "drag"),
        ):
            values = swing[name].effort
            ((label, curve),) = panels[title].curves
            assert label == name
            np.testing.assert_array_equal(curve, values)
            axes = swing.plot(kind).axes[0]
            np.testing.assert_array_equal(axes.lines[0].get_ydata(), values)
            assert [x.get_text() for x in axes.get_legend().get_texts()] == [name]
        assert np.ptp(swing["spring"].effort) > 0.05

    def test_of_many_springs_the_strongest(self, monkeypatch):
        m = taut.Mechanism()
        for k in range(9):
            m.point(f"p{k}", mass=1, at=(1 + k, 0, 0))
            m.spring(f"s{k}", m.ground, f"p{k}", stiffness=10.0 * (k + 1), length=1.1 + k)
        m.rope("idle", "p0", "p1", stiffness=1.0, length=50.0)
        run = taut.simulate(m, duration=0.5, step=0.01, laws=None)
        strongest = [f"s{k}" for k in range(8, -1, -1)]
        assert [x[0] for x in efforts_in(run, False)[0]] == strongest
        axes = run.plot("forces").axes[0]
        assert axes.get_title(loc="right") == "6 of 9"
        monkeypatch.setattr(joint_forces, "ASKED", 4)
        found, left_out = efforts_in(run, False)
        assert [x[0] for x in found] == strongest[:4]
        assert left_out == 6
        assert run.plot("forces").axes[0].get_title(loc="right") == "4 of 10"
        (panel,) = [x for x in panels_of(run) if "springs" in x.title]
        assert panel.note.startswith("the largest 4 of 10;")

    def test_a_short_pull_is_drawn(self):
        m = taut.Mechanism(gravity=(0, 0, -GRAVITY))
        m.rope("rope", m.ground, m.point("bob", mass=1, at=(0, 0, -0.5)), stiffness=1e6, length=1)
        run = taut.simulate(m, duration=0.6, step=1e-4, laws=None)
        axes = run.plot("forces").axes[0]
        assert axes.lines[0].get_ydata().min() == pytest.approx(run["rope"].effort.min(), rel=0.01)
        assert run["rope"].effort.min() < -3000

    def test_of_a_batch_the_force_of_each(self, monkeypatch):
        monkeypatch.setattr(joint_forces, "ASKED", 1)
        m = taut.Mechanism()
        m.point("p", mass=1, at=(1, 0, 0))
        m.spring("one", m.ground, "p", stiffness=1.0, length=1.0)
        m.spring("two", m.ground, "p", ends=((2, 0, 0), (1, 0, 0)), stiffness=2.0, length=1.0)
        m.revolute("pin", m.ground, m.body("b", mass=1, inertia=(1, 1, 1), at=(0, 0, 0)),
                   at=(0, 0, 0), axis=(0, 1, 0))  # fmt: skip
        m.torsion("twist", "pin", stiffness=1.0, angle=0.5)
        q0 = m.start()[0]
        starts = np.stack([q0, q0])
        starts[1, 0] = 1.5
        runs = taut.simulate(m, q0=starts, v0=0, duration=0.5, step=0.01, laws=None)
        axes = runs.plot("forces").axes[0]
        lines = [x.get_ydata() for x in axes.lines]
        np.testing.assert_array_equal(lines, runs["two"].effort)
        assert np.ptp(lines[1]) > 0
        assert not lines[0].any()
        assert [x.get_text() for x in axes.get_legend().get_texts()][:1] == ["two"]
        assert runs.plot("torques").axes[0].lines

    def test_in_a_picture_by_joint(self, swing):
        figure = swing.plot()
        titles = [a.get_title(loc="left") for a in figure.axes]
        assert titles[0] == "path"
        assert "angles and slides" in titles
        assert "coordinates" not in titles
        axes = figure.axes[titles.index("forces in joints")]
        names = [x.get_text() for x in axes.get_legend().get_texts()]
        assert names == ["hinge", "again", "rod_a*b"]
        force = np.linalg.norm(swing["hinge"].force, axis=1)
        assert axes.lines[0].get_ydata().max() == pytest.approx(force.max())
        assert figure.bytes("png")

    def test_without_joints_there_is_nothing_to_hold(self):
        m = taut.Mechanism()
        m.body("free", mass=1, inertia=(1, 2, 2.5), at=(0, 0, 0), angular_velocity=(0, 1, 0.1))
        run = taut.simulate(m, duration=1, step=0.1, laws=None)
        assert [x.title for x in panels_of(run)] == ["energy error", "constraints"]
        with pytest.raises(taut.InputError, match="no joints"):
            run.plot("multipliers")
        with pytest.raises(taut.InputError, match="turn or slide"):
            run.plot("joints")
        for kind in ("forces", "torques"):
            with pytest.raises(taut.InputError, match=f"no {kind} to draw"):
                run.plot(kind)

    @pytest.mark.parametrize("width", [1280, 390])
    def test_a_reader_chooses(self, swing, tmp_path, visit, width):
        page = visit(swing.report(tmp_path / "run.html"), width=width)
        page.wait_for_function("tautViews.length === 1")
        chooser = page.locator(".panel select")
        assert chooser.count() == 1
        assert chooser.locator("option").all_inner_texts() == ["hinge", "again", "rod_a*b"]
        data = "tautViews[0].curves.find(c => c.choices.length).plot.data[3]"
        before = page.evaluate(data)
        zoomed = "tautViews[0].curves.map(c => c.plot.scales.x.max)"
        page.evaluate("tautViews[0].zoom(2, 0)")
        chooser.select_option("rod_a*b")
        page.wait_for_function(
            f"JSON.stringify({data}) !== '{json.dumps(before, separators=(',', ':'))}'"
        )
        z = swing["rod_a*b"].force[:, 2]
        shown = np.array(page.evaluate(data))
        assert np.nanmax(np.abs(shown)) == pytest.approx(np.abs(z).max(), rel=1e-3)
        assert len(set(page.evaluate(zoomed))) == 1  # it shows the time that the others show
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".panel .uplot").count() == page.locator(".panel").count()


class TestPicture:
    def test_points_rods_and_what_is_down(self):
        """By parts and joints, whatever their names; nothing is differentiated."""
        m = taut.Mechanism(gravity=(0, 3, 0))
        a, b = (m.point(f"a point {k}", mass=1, at=(k, 0, 0)) for k in (1, 2))
        body = m.body("the body", mass=1, inertia=(1, 1, 1), at=(4, 0, 0))
        m.rod(m.ground, a, ends=((0, 0, 0.5), (1, 0, 0)))
        m.rod(a, b)
        m.rod(b, body)
        system = m.system()
        points = points_of(system)
        assert [(x.name, x.columns) for x in points] == [
            ("a point 1", (0, 1, 2)), ("a point 2", (3, 4, 5)), ("the body", (6, 7, 8))
        ]  # fmt: skip
        assert rods_of(system, points) == [Rod(0, (0.0, 0.0, 0.5)), Rod(0, 1)]
        assert down_of(system, points, {}) == "y"
        m.gravity = np.array([0, 0, -9.81])
        assert down_of(m.system(), points, {}) is None

    def test_bodies_about_one_centre_that_rest_but_for_rounding(self):
        """Their names are told together, and what rounding does is no path."""
        m = taut.Mechanism(gravity=(0, 0, -GRAVITY))
        ring, rotor = (
            m.body(x, mass=1, inertia=(2e-3, 1e-3, 3e-3), at=(0.1, 0.2, 0.3))
            for x in ("ring", "rotor")
        )
        bob = m.point("bob", mass=0.1, at=(0.6, 0.2, 0.3))
        m.revolute("u", m.ground, ring, at=(0.1, 0.4, 0.3), axis=(0, 1, 0))
        m.revolute("v", ring, rotor, at=(0.1, 0.2, 0.3), axis=(1, 0, 0))
        m.spherical("glue", ring, bob, at=(0.6, 0.2, 0.3))
        run = taut.simulate(m, duration=1, step=0.005, laws=None)
        assert 0 < np.ptp(run["ring"].position, axis=0).max() < 1e-12
        (axes,) = run.plot("path").axes
        assert axes.get_title(loc="right") == ""
        assert [x.get_text().strip() for x in axes.texts] == ["ring, rotor", "bob"]


class TestEvents:
    def test_are_rows_in_the_order_of_time(self, swing):
        head, *rows = happened(swing, 100)
        times = swing.events["lowest"].t
        assert head == ("t", "event", "state")
        assert len(rows) == len(times) + 1
        assert [float(row[0]) for row in rows[:-1]] == pytest.approx(times.tolist(), rel=1e-8)
        state = re.fullmatch(r"angle hinge = (.*), rate = (.*)", rows[0][2])
        assert abs(float(state[1].replace("−", "-"))) < 1e-9
        rate = np.interp(times[0], swing.t, swing["hinge"].rate)
        assert float(state[2].replace("−", "-")) == pytest.approx(rate, rel=1e-3)
        assert rows[-1] == ("never", "never <i>", "")

    def test_many_are_counted(self, swing):
        rows = happened(swing, 1)[1:]
        many = len(swing.events["lowest"])
        assert rows[1][:2] == ("…", f"and {many - 1} more")
        assert rows[1][2] == f"lowest {many} times"

    def test_stand_in_the_report(self, swing, tmp_path):
        file = swing.report(tmp_path / "run.html")
        found = tables(file)["t"]
        assert found[1][1] == "lowest"
        assert "never &lt;i&gt;" in file.read_text()
        assert 'href="#events"' in file.read_text()

    def test_of_a_system_tell_coordinates_and_rates(self, tmp_path):
        x, y = taut.coordinates("x y")
        system = taut.System([x, y], mass=[1, 1], potential=y, constraints=[x**2 + y**2 - 1])
        start = {"q0": [1, 0], "v0": 0, "duration": 4, "step": 0.01}
        run = taut.simulate(system, **start, events={"low": x})
        _, (t, name, state) = happened(run, 9)
        assert (name, state[:28]) == ("low", "x = 0, y = −1; x_dot = −1.41")
        assert float(t) == pytest.approx(run.events["low"].t[0])
        assert happened(taut.simulate(system, **start), 9) == []
        file = taut.simulate(system, **start).report(tmp_path / "run.html")
        assert 'id="events"' not in file.read_text()


def test_torques_of_gears_are_not_drawn_among_forces():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    m.body("rack", mass=4, inertia=(1, 1, 1), at=(0, 0, 0))
    m.body("pinion", mass=1, inertia=(0.1, 0.1, 0.1), at=(1, 0, 0))
    m.prismatic("rail", m.ground, "rack", at=(0, 0, 0), axis=(0, 0, 1))
    m.revolute("shaft", m.ground, "pinion", at=(1, 0, 0), axis=(0, 1, 0))
    m.gear("rail", "shaft", ratio=0.05, name="teeth")
    run = taut.simulate(m, duration=0.1, step=0.01, laws=None)
    assert np.abs(run["teeth"].torque).max() > 1
    assert np.abs(run["teeth"].force).max() < 1e-9
    axes = next(x for x in run.plot().axes if "forces in joints" in x.get_title(loc="left"))
    assert [x.get_label() for x in axes.lines if not x.get_label().startswith("_")] == ["shaft"]
