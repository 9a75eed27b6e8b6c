"""Scenes: what is drawn where, how fast it plays, and what is left out."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
import sympy as sp
from hypothesis import example, given, strategies as st

import taut
from taut.march.loop import BOOKS
from taut.problems import names, problem
from taut.show import scene as scenes
from taut.show.bending import outlines, panels_of as beam_panels, scene_of as report_scene
from taut.show.card import _paths
from taut.show.geometry import drawing_of
from taut.show.motion import panels_of, scene_of
from taut.show.paths import traced
from taut.show.scene import banded, packed, rounded, rows_of, settled
from taut.show.style import number

x, y, z = taut.coordinates("x y z")


def _enlarged(scene, run) -> np.ndarray:
    """Displacements as they are drawn."""
    (beam,) = items(scene, "beam")
    return beam["places"] - beam["places"][0]


def items(scene, kind: str) -> list[dict]:
    return [item.data for item in scene.items if item.kind == kind]


class TestDefaultDrawing:
    def test_points_and_rods_by_themselves(self):
        a, b, c, d, l = taut.coordinates("x1 y1 x2 y2 l")
        system = taut.System(
            [a, b, c, d], mass=1, parameters={"l": 2},
            constraints=[a**2 + (b - l - taut.t) ** 2 - 1, (a - c) ** 2 + (b - d) ** 2 - l**2],
        )  # fmt: skip
        drawing = drawing_of(system)
        assert drawing.points == {"1": (a, b), "2": (c, d), "ground": (0, l + taut.t)}
        assert [(x.start, x.end) for x in drawing.links] == [("ground", "1"), ("1", "2")]

    def test_two_holds_are_two_grounds_and_one_hold_is_one(self):
        a, b, c, d = taut.coordinates("x1 y1 x2 y2")
        holds = [a**2 + b**2 - 1, c**2 + d**2 - 1, (c - 3) ** 2 + d**2 - 4]
        drawing = drawing_of(taut.System([a, b, c, d], mass=1, constraints=holds))
        assert list(drawing.points) == ["1", "2", "ground", "ground 2"]

    def test_a_point_that_is_called_ground(self):
        a, b = taut.coordinates("x_ground y_ground")
        drawing = drawing_of(taut.System([a, b], mass=1, constraints=[a**2 + b**2 - 1]))
        assert list(drawing.points) == ["ground", "ground 2"]

    def test_nothing_to_draw(self):
        theta, phi = taut.coordinates("theta phi")
        run = taut.simulate(
            taut.System([theta, phi], mass=1, potential=0), q0=[0, 0], v0=[1, 0], duration=1,
            step=0.5,
        )  # fmt: skip
        with pytest.raises(taut.InputError, match="nothing to draw") as caught:
            run.animate()
        assert "taut.Drawing" in str(caught.value)

    def test_a_chain_of_terms(self):
        u, v, a, b, c, d = sp.symbols("u v a b c d", real=True)
        n = 50
        pairs = np.arange(2 * n).reshape(n, 2)
        terms = [
            taut.Term("lagrangian", (a, b), [(u**2 + v**2) / 2 - b], pairs, rates=(u, v)),
            taut.Term("constraint", (a, b), [a**2 + b**2 - 1], pairs[:1]),
            taut.Term("constraint", (a, b, c, d), [(a - c) ** 2 + (b - d) ** 2 - 1],
                      np.hstack([pairs[:-1], pairs[1:]])),
        ]  # fmt: skip
        names = [sp.Symbol(f"{letter}{k}") for k in range(n) for letter in "xy"]
        drawing = drawing_of(taut.System.from_terms(names, terms))
        assert len(drawing.points) == n + 1
        assert len(drawing.links) == n


@pytest.mark.parametrize("name", names())
def test_reference_problems_are_drawn(name):
    given = problem(name)
    assert given.system.drawing is not None or given.system.mechanism is not None
    run = given.simulate(duration=20 * given.step)
    scene = scene_of(run)
    places = scene.moved()
    assert np.isfinite(places).all()
    turns = [np.ptp(x["turns"], axis=0).max() for x in items(scene, "bodies")]  # about one place
    assert max(np.ptp(places, axis=0).max(), *turns, 0) > 0
    assert (scene.box[0] <= places.min(axis=(0, 1)) + 1e-12).all()
    assert (scene.box[1] >= places.max(axis=(0, 1)) - 1e-12).all()


def test_rods_of_drawn_problems_keep_their_length():
    """What is drawn as a rod is one, in the whole catalogue."""
    checked = 0
    for name in names():
        scene = scene_of(problem(name).simulate(duration=50 * problem(name).step))
        for links in items(scene, "links"):
            if links["look"] == "rod":
                places = links.get("places", items(scene, "points")[0]["places"])
                for a, b in links["pairs"]:
                    lengths = np.linalg.norm(places[:, a] - places[:, b], axis=1)
                    assert np.ptp(lengths) < 1e-12
                    checked += 1
    assert checked >= 20


class TestPlaces:
    def test_expressions_parameters_and_time(self):
        k = sp.Symbol("k")
        drawing = taut.Drawing({"a": (k * x, y + taut.t), "b": (1, k)}, trails=["a"])
        system = taut.System([x, y], mass=1, parameters={"k": 2}, drawing=drawing)
        run = taut.simulate(
            system, q0=[1, 2], v0=[1, -1], duration=1, step=0.25, parameters={"k": 3}
        )
        (points,) = items(scene_of(run), "points")
        np.testing.assert_allclose(points["places"][:, 0, 0], 3 * run.q[:, 0], rtol=1e-15)
        np.testing.assert_allclose(points["places"][:, 0, 1], run.q[:, 1] + run.t, rtol=1e-15)
        assert (points["places"][:, 1] == [1, 3, 0]).all()
        assert points["moving"] == [True, False]

    def test_what_is_not_finite_is_left_out(self):
        s = sp.Symbol("s")
        hidden = taut.Drawing(
            {"a": (x, y), "b": (x, sp.sqrt(x - 5)), "c": (0, sp.sqrt(y))}, [("a", "c")],
            curves=[((s, 1 / s), (s, 0, 1)), ((s, sp.sqrt(-1 - s**2)), (s, 0, 1))],
        )  # fmt: skip
        run = taut.simulate(
            taut.System([x, y], mass=[1, 1], potential=y, drawing=hidden),
            q0=[1, 0.1], v0=[0, 1], duration=3, step=0.1,
        )  # fmt: skip
        scene = run.animate().scene
        np.testing.assert_allclose(scene.box[:, 0], [0, 1])
        assert scene.box[0, 1] == run.q[:, 1].min() < 0
        assert np.isfinite(scene.box).all()
        run.plot("path").savefig(io.BytesIO())

    def test_nothing_finite_to_draw(self):
        drawing = taut.Drawing({"a": (x, sp.sqrt(x - 5))})
        system = taut.System([x, y], mass=[1, 1], drawing=drawing)
        run = taut.simulate(system, q0=[1, 0], v0=[1, 0], duration=1, step=0.5)
        with pytest.raises(taut.InputError, match="no place in the drawing is finite"):
            run.animate()
        with pytest.raises(taut.InputError, match="no path"):
            run.plot("path")

    @pytest.mark.parametrize("far", [1e7, -3e8])
    def test_small_motions_far_away(self, far):
        system = taut.System([x, y], mass=[1, 1], potential=((x - far) ** 2 + y**2) / 2)
        run = taut.simulate(system, q0=[far + 1, 0], v0=[0, 1], duration=6, step=0.1)
        scene = run.animate().scene
        (data,) = [i for i in scenes.as_json(scene, [])["scene"]["items"] if i["kind"] == "points"]
        bytes_ = base64.b64decode(data["places"]["bytes"])
        places = np.frombuffer(bytes_, "<f4").reshape(-1, 2) + scene.origin[:2]
        np.testing.assert_allclose(places, run.q, rtol=0, atol=1e-6)

    def test_up_follows_gravity_and_the_drawing(self):
        for down, up in (("auto", (0, -1, 0)), (None, (0, 1, 0)), ("x", (-1, 0, 0))):
            system = taut.System(
                [x, y], mass=1, potential=-y, drawing=taut.Drawing({"a": (x, y)}, down=down)
            )
            run = taut.simulate(system, q0=[0, 0], v0=0, duration=1, step=0.5)
            assert scene_of(run).up == up

    def test_trails_of_many_are_that_of_the_last(self):
        run = problem("chain").simulate(duration=1)
        assert items(scene_of(run), "trails")[0]["points"] == [5]
        run = problem("zg-double").simulate(duration=1)
        assert items(scene_of(run), "trails")[0]["points"] == [1, 2]
        assert items(scene_of(problem("fpu").simulate(duration=1)), "trails") == []


class TestSpeed:
    def test_real_time_where_that_can_be_followed(self):
        assert scene_of(problem("zg-double").simulate()).speed == 1

    def test_slow_and_fast_motions_take_seconds(self):
        for rate in (1e-3, 1.0, 1e3):
            system = taut.System([x, y], mass=1, potential=rate**2 * (x**2 + y**2) / 2)
            run = taut.simulate(
                system, q0=[1, 0], v0=[0, rate], duration=60 / rate, step=0.05 / rate
            )
            turns = scene_of(run).speed * rate / (2 * np.pi)  # per second of playing
            assert 0.05 < turns < 0.5

    @given(st.floats(1e-12, 1e12))
    def test_rounded(self, wanted):
        found = rounded(wanted)
        assert found <= wanted * (1 + 1e-8)
        assert found > wanted / 2.51
        digit = f"{found:.6e}"
        assert digit[0] in "125"
        assert set(digit[1:8]) <= set(".0")


class TestFrames:
    @given(st.integers(1, 3_000_000), st.integers(1, 100_000))
    def test_first_and_last_are_kept_and_the_budget_too(self, many, each):
        rows = rows_of(many, each)
        assert rows[0] == 0
        assert rows[-1] == many - 1
        assert (np.diff(rows) > 0).all()
        limit = max(2, min(scenes.FRAMES, scenes.NUMBERS // each))
        assert len(rows) <= limit + 1
        if many <= limit:
            assert len(rows) == many

    @given(st.integers(1, 4000), st.integers(2, 60), st.integers(0, 2**32 - 1))
    def test_bands_keep_extremes(self, many, points, seed):
        rng = np.random.default_rng(seed)
        t = np.arange(many, dtype=float)
        values = rng.normal(size=(2, many))
        values[0, rng.integers(many)] = 100
        values[1, rng.integers(many)] = -100
        times, found = banded(t, values, points)
        assert found.shape == (2, len(times))
        assert len(times) <= max(points, 2 + 2 * len(values))
        np.testing.assert_array_equal(found, values[:, times.astype(int)])  # at their own times
        assert found[0].max() == 100
        assert found[1].min() == -100
        assert times[0] == t[0]
        assert times[-1] == t[-1]
        assert (np.diff(times) >= 0).all()

    def test_bands_keep_the_order_of_extremes(self):
        t = np.arange(1000.0)
        for slope in (1.0, -1.0):
            _, y = banded(t, slope * t[None], 100)
            assert (np.sign(np.diff(y[0])) == slope).all()

    def test_bands_with_gaps(self):
        y = np.ones((1, 1000))
        y[0, 300:] = np.nan
        _, found = banded(np.arange(1000.0), y, 100)
        assert np.isnan(found[0, -1])
        assert found[0, 0] == 1


class TestBlowUp:
    @pytest.mark.parametrize("failed", [False, True])
    def test_motions_are_kept_whole(self, failed):
        t = np.linspace(0, 50, 2001)
        motions = (np.abs(np.sin(t)), t, t**2, np.zeros(7), np.exp(t / 25), np.ones(1))
        for size in motions:
            assert settled(size, 1.0, failed) == len(size)
        assert settled(np.exp(t / 3), 1.0, False) == len(t)  # may be meant

    def test_what_rests_for_long_and_then_moves_is_kept(self):
        """A pulse late in the run, a fall from an unstable rest: no blow-up."""
        t = np.linspace(0, 10, 1001)
        pulse = 1e-300 + np.exp(-(((t - 8) / 0.3) ** 2))
        for reach in (0.0, 1.0):
            assert settled(pulse, reach, False) == len(t)
        assert settled(pulse, 1.0, True) == len(t)
        fall = np.minimum(1e-16 * np.exp(4 * t), 2.0)
        assert settled(fall, 1.0, False) == len(t)

    def test_what_grows_without_end_is_left_out(self):
        t = np.linspace(0, 1, 1001)[:-1]
        size = 1 / (1 - t) ** 6 - 1
        many = settled(size, 1.0, True)
        assert 15 < size[many - 1] <= 20 < size[many]
        assert settled(size, 1.0, False) == many  # 1e18: beyond all measure
        grown = np.exp(700 * t)
        assert grown[settled(grown, 1.0, False) - 1] < 1e6
        assert settled(np.array([1.0, 1, 2, np.inf, 1]), 1.0, False) == 3
        assert settled(np.array([np.nan, 1]), 1.0, True) == 0

    @given(
        st.lists(st.floats(0, 1e300) | st.sampled_from([np.inf, np.nan]), min_size=1, max_size=40),
        st.floats(0, 1e10),
        st.booleans(),
    )
    @example([0.03125, 4.0], 0.0, True)
    def test_what_is_kept_is_finite(self, sizes, reach, failed):
        many = settled(np.array(sizes), reach, failed)
        assert np.isfinite(sizes[:many]).all()
        assert many or not np.isfinite(sizes[0])

    def test_curves_have_limits_there(self):
        t = np.linspace(0, 1, 101)
        curves = [("a", np.sin(t)), ("b", np.where(t < 0.9, t, 1e30))]
        panel = scenes.Panel("p", "y", t, curves, note="first")
        reined = panel.reined(until=0.8)
        low, high = reined.limits
        assert -0.1 < low < 0 < 0.78 < high < 1
        assert reined.note == "first; goes on to 1.0e+30"
        assert panel.reined(until=1.0) is panel
        calm = scenes.Panel("p", "y", t, [("a", np.sin(t))])
        assert calm.reined(until=0.5) is calm  # goes on as it was
        assert scenes._panel(reined)["limits"] == [low, high]
        steep = scenes.Panel("p", "y", t, [("a", 10.0 ** (300 * t - 16))], log=True)
        assert steep.reined(until=0.1).limits == pytest.approx((1e-16, 1e15))

    def test_of_a_batch_only_what_fails_stands_still(self):
        potential = -(x**4) / 4 + y**2 / 2
        system = taut.System([x, y], mass=[1, 1], potential=potential, forces={y: -y / 10})
        starts = [[0.01, 1], [1, 1], [0.02, 2]]
        with pytest.raises(taut.StepError) as caught:
            taut.simulate(system, q0=starts, v0=[[0, 0], [1, 0], [0, 0]], duration=30, step=0.01)
        run = caught.value.partial
        scene = scene_of(run)
        assert scene.t[-1] == 30
        last = [data["places"][-1, 0, :2] for data in items(scene, "points")]
        np.testing.assert_array_equal(last[0], run.q[0, -1])
        assert np.abs(last[1]).max() < 100
        early = [note for note in scene.notes if note.startswith("trajectory 1 ends at t = ")]
        assert len(early) == 1
        (balance,) = [p for p in panels_of(run) if p.title == "energy − work"]
        for k, (name, values) in enumerate(balance.curves):
            assert name == f"trajectory {k}"
            alone = [p for p in panels_of(run[k]) if p.title == "energy − work"][0]  # noqa: RUF015
            shown = np.isfinite(values)
            assert balance.t[shown][-1] <= alone.t[-1]
            want = np.interp(balance.t[shown], alone.t, alone.curves[0][1])
            np.testing.assert_allclose(values[shown], want, atol=1e-14)
        assert np.isfinite(balance.curves[0][1]).all()

    def test_residuals_of_a_batch_are_those_of_its_worst(self):
        given = problem("zg-double")
        run = given.simulate(q0=np.array([given.q0] * 2), v0=0, duration=1)
        worse = run.q.copy()
        worse[1] += 1e-3
        worse[0, 50:] = np.nan
        from dataclasses import replace

        (panel,) = [p for p in panels_of(replace(run, q=worse)) if p.title == "constraints"]
        (name, g), (hidden, _) = panel.curves
        assert (name, hidden) == ("|g|", "|G q̇|")
        expected = np.abs(replace(run, q=worse)[1].constraints).max(axis=1)
        np.testing.assert_array_equal(g, expected)
        assert np.isfinite(g).all()


def test_packed_arrays_come_back():
    array = np.arange(6.0).reshape(3, 2)
    made = packed(array, "f8")
    back = np.frombuffer(base64.b64decode(made["bytes"]), dtype="<f8").reshape(made["shape"])
    assert (back == array).all()


class TestCurves:
    def test_trajectories_of_a_batch_have_their_own_numbers(self):
        system = taut.System([x, y], mass=[1, 1], potential=(x**4 + y**2) / 2)
        starts = np.stack([np.linspace(1, 2, 13), np.zeros(13)], axis=1)
        run = taut.simulate(system, q0=starts, v0=0, duration=1, step=0.1)
        (energy,) = [p for p in panels_of(run) if p.title == "energy error"]
        assert [name for name, _ in energy.curves][1] == "trajectory 2"
        for name, values in energy.curves:
            one = run[int(name.removeprefix("trajectory "))]
            np.testing.assert_array_equal(values, one.energy - one.energy[0])

    def test_coordinates_that_are_left_out_are_counted(self):
        q = taut.coordinates("a b c d")
        system = taut.System(q, mass=1, potential=sum(s**2 for s in q))
        run = taut.simulate(system, q0=np.ones((6, 4)), v0=0, duration=1, step=0.1)
        coordinates = panels_of(run, drawn=False)[0]
        assert [name for name, _ in coordinates.curves][-1] == "b, 5"
        assert coordinates.note == "2 more are not shown"

    def test_driven_systems_have_their_balance(self):
        k = taut.coordinates("k,")[0]
        given = {"mass": [1, 1], "parameters": {"k": 0.3}}
        system = taut.System([x, y], potential=x**2 + y**2, forces={x: -k * x}, **given)
        run = taut.simulate(system, q0=[1, 0], v0=[0, 1], duration=20, step=0.01)
        (balance,) = [p for p in panels_of(run) if p.title == "energy − work"]
        ((_, means),) = balance.curves
        # By hand: the work of −k x along the stored states, by the trapezoidal rule.
        power = -0.3 * run.q[:, 0] * run.v[:, 0]
        work = np.concatenate([[0], np.cumsum(0.01 * (power[1:] + power[:-1]) / 2)])
        left = run.energy - run.energy[0] - work
        here = np.interp(balance.t, run.t, left)
        assert np.abs(means).max() > 1e-6
        low, high = (run.ending.books[0][BOOKS.index(x)] for x in ("error_min", "error_max"))
        assert balance.note == f"all steps: {number(low)} … {number(high)}"
        np.testing.assert_allclose(means, here, rtol=0, atol=2e-5)
        free = taut.System([x, y], potential=x**2 + y**2, mass=[1, 1])
        kept = taut.simulate(free, q0=[1, 0], v0=[0, 1], duration=1, step=0.1)
        assert panels_of(kept)[0].title == "energy error"
        assert "energy − work" not in [p.title for p in panels_of(kept)]

    def test_curves_of_a_run_are_those_of_the_run(self):
        run = problem("zg-double").simulate(duration=2)
        panels = {p.title: p for p in panels_of(run)}
        (g_name, g), (hidden_name, hidden) = panels["constraints"].curves
        assert (g_name, hidden_name) == ("|g|", "|G q̇|")
        largest = np.abs(run.constraints).max(axis=1)
        np.testing.assert_array_equal(np.nan_to_num(g), largest)
        np.testing.assert_array_equal(np.nan_to_num(hidden), np.abs(run.hidden).max(axis=1))
        for i, (name, values) in enumerate(panels["multipliers"].curves):
            assert name == f"λ {run.system.constraint_names[i]}"
            np.testing.assert_array_equal(values, run.multipliers[:, i])
        (_, error), *rest = panels["energy error"].curves
        np.testing.assert_array_equal(error, run.energy - run.energy[0])
        shown = scenes._panel(panels["energy error"])
        assert shown["dashed"] == [False] + [True] * len(rest)

    def test_laws_are_shown_against_their_size(self):
        system = taut.System([x, y], mass=[1, 1], potential=(x**2 + y**2) / 2)
        given = {"q0": [2, 0], "v0": [0, 3], "duration": 5, "step": 0.1, "method": "rk4"}
        px, py = system.momenta
        run = taut.simulate(system, **given, laws={"L": x * py - y * px})
        (panel,) = [p for p in panels_of(run) if p.title == "conserved quantities"]
        ((name, change),) = panel.curves
        turning = run.q[:, 0] * run.p[:, 1] - run.q[:, 1] * run.p[:, 0]
        size = (np.abs(run.q[:, 0] * run.p[:, 1]) + np.abs(run.q[:, 1] * run.p[:, 0])).max()
        assert name == "L"
        assert change[0] == 0
        np.testing.assert_allclose(change, (turning - 6) / size, atol=1e-15)

    def test_where_steps_vary_blocks_are_when_they_were(self):
        vx, vy = taut.velocities([x, y])
        pull = taut.System([x, y], mass=[1, 1], potential=-1 / sp.sqrt(x**2 + y**2),
                           forces={x: -vx / 500, y: -vy / 500})  # fmt: skip
        method = taut.Adaptive("rattle", scale=(x**2 + y**2) ** sp.Rational(3, 4))
        run = taut.simulate(pull, q0=[1, 0], v0=[0, 0.5], duration=30, step=0.02, method=method)
        (balance,) = [p for p in panels_of(run) if p.title == "energy − work"]
        assert 28 < balance.t[-1] < 30
        value = dict(zip(BOOKS, run.ending.books[0], strict=False))
        third = int(2.5 * value["block_length"])
        assert run.t[third] <= balance.t[2] <= run.t[third + 1]

    def test_flows_have_curves_of_their_state(self):
        flow = taut.Flow([x, y], [y, -x])
        run = taut.simulate(flow, q0=[1, 0], duration=1, step=0.1, method="rk4")
        state = panels_of(run)[0]
        assert (state.title, [name for name, _ in state.curves]) == ("state", ["x", "y"])
        np.testing.assert_array_equal(state.curves[1][1], run.q[:, 1])

    def test_the_line_of_the_drift_has_its_slope(self):
        system = taut.System([x, y], mass=[1, 2], potential=(x**2 + y**2) / 2)
        run = taut.simulate(system, q0=[1, 0], v0=[0, 1], duration=200, step=0.1, method="rk4")
        (energy,) = [p for p in panels_of(run) if p.title == "energy error"]
        error, drift = (values for _, values in energy.curves)
        np.testing.assert_allclose(
            drift, np.polyval(np.polyfit(run.t, error, 1), run.t), rtol=1e-2, atol=1e-10
        )

    def test_a_loaded_beam_over_one_step(self, tmp_path):
        beam = taut.Beam(
            length=1, section=taut.Square(0.1), nodes=5, density=1, young=1e3, poisson=0.3,
            gravity=(0, 0, -1),
        )  # fmt: skip
        run = taut.simulate(beam, duration=1e-3, step=1e-3)
        assert run.report(tmp_path / "run.html").exists()


class TestBeams:
    def test_curves_are_those_of_the_run(self):
        beam = taut.Beam(1, taut.Rectangle(0.1, 0.05), nodes=9, density=1000, young=1e7,
                         poisson=0.3, frame=(1, 0, 0), ends=("clamped", "free"),
                         gravity=(0, 2, -9.81))  # fmt: skip
        beam.body(at="tip", mass=0.3)
        run = taut.simulate(beam, duration=0.1, every=10)
        panels = {p.title: p for p in beam_panels(run)}
        shown = dict(panels["energy"].curves)
        np.testing.assert_array_equal(shown["kinetic"], run.kinetic)
        np.testing.assert_array_equal(shown["strain"], run.potential)
        np.testing.assert_array_equal(shown["total"], run.energy)
        for title, letter, values in (
            ("linear momentum", "P", run.linear_momentum),
            ("angular momentum", "L", run.angular_momentum),
        ):
            for k, (name, curve) in enumerate(panels[title].curves):
                assert name == letter + "xyz"[k]
                np.testing.assert_array_equal(curve, values[:, k])
        (marks,) = items(report_scene(run), "points")
        assert marks["moving"] == [True, False]
        np.testing.assert_array_equal(
            marks["places"][:, 0] - marks["places"][0, 0],
            _enlarged(report_scene(run), run)[:, -1],
        )

    def test_free_beams_show_what_momenta_change_by(self):
        beam = taut.Beam(1, taut.Square(0.1), nodes=9, density=1000, young=1e7, poisson=0.3)
        run = taut.simulate(beam, v0=(0, 0, 1, 0.5, 0, 0), duration=0.02, every=10)
        panels = {p.title: p for p in beam_panels(run)}
        for _, curve in panels["change of the linear momentum"].curves:
            assert curve[0] == 0

    def test_sections_of_several_shapes_have_as_many_corners(self):
        def shape(s):
            return taut.Square(0.1) if s < 0.5 else taut.Circle(0.05)

        beam = taut.Beam(1, shape, nodes=5, density=1000, young=1e6, poisson=0.3)
        found = np.array(outlines(beam, 1e-6))
        assert found.shape == (5, 20, 2)
        np.testing.assert_allclose(np.abs(found[0]).max(axis=1), 0.05)  # on the square's sides
        np.testing.assert_allclose(np.linalg.norm(found[-1], axis=1), 0.05)
        angles = np.arctan2(found[0][:, 1], found[0][:, 0])
        np.testing.assert_allclose(np.unwrap(angles), 2 * np.pi * np.arange(20) / 20, atol=1e-12)

    def test_outlines_are_those_of_the_sections(self):
        material = {"density": 1, "young": 1, "poisson": 0.3}
        wide = taut.Beam(length=1, section=taut.Rectangle(0.4, 0.2), **material)
        (corners,) = outlines(wide, 1e-9)
        assert np.ptp(corners, axis=0).tolist() == [0.4, 0.2]
        (ring,) = outlines(taut.Beam(length=1, section=taut.Circle(0.3), **material), 1e-9)
        np.testing.assert_allclose(np.linalg.norm(ring, axis=1), 0.3)
        cone = taut.Beam(length=1, section=lambda s: taut.Circle(0.1 + s), nodes=3, **material)
        sizes = [np.linalg.norm(o[0]) for o in outlines(cone, 1e-9)]
        np.testing.assert_allclose(sizes, [0.1, 0.6, 1.1])

    def test_thin_ones_can_be_seen(self):
        thin = taut.Beam(length=1, section=taut.Circle(1e-5), density=1, young=1, poisson=0.3)
        (ring,) = outlines(thin, 0.01)
        np.testing.assert_allclose(np.linalg.norm(ring, axis=1), 0.01)
        plain = taut.Beam(length=1, inertia=[1] * 6, stiffness=[1] * 6)
        assert len(outlines(plain, 0.01)) == 1

    def test_small_displacements_are_enlarged_and_that_is_said(self):
        beam = taut.Beam(
            length=1, section=taut.Square(0.02), nodes=11, density=1000, young=1e9, poisson=0.3,
            ends=("clamped", "free"), gravity=(0, 0, -1),
        )  # fmt: skip
        run = taut.simulate(beam, duration=0.01, every=10)
        made = run.animate()
        assert any("times as large" in note for note in made.scene.notes)
        plain = run.animate(magnify=1)
        assert plain.scene.notes == []
        np.testing.assert_array_equal(plain.scene.items[0].data["places"], run.positions)


def test_residuals_that_grow_are_shown_as_they_are():
    """No floor is drawn that the run does not have."""
    given = problem("zg-double")
    run = given.simulate(method="rk4", step=0.005)
    figure = run.plot("constraints")
    (curve,) = (x for x in figure.axes[0].lines if x.get_label() == "$|g|$")
    size = np.abs(run.constraints).max(axis=1)
    assert curve.get_ydata()[0] <= size[: len(size) // 150 + 2].max()
    low, high = figure.axes[0].get_ylim()
    assert low < 30 * size[len(size) // 20]
    assert high > size.max()
    panel = next(p for p in panels_of(run) if p.log)
    shown = panel.curves[0][1]
    np.testing.assert_array_equal(shown[shown > 0], size[size > 0])


class TestTrails:
    """What nothing joins leaves a path each; a chain is told by its shape, and its last point."""

    def stars(self, many):
        m = taut.Mechanism()
        for k in range(many):
            m.point(f"star {k}", mass=1, at=(k, k % 3, 0), velocity=(0, 1, 0))
        return m

    def drawn(self, m):
        run = taut.simulate(m, duration=0.1, step=0.05, laws=None)
        (trails,) = items(scene_of(run), "trails")
        return trails["places"].shape[1], len(traced(run).trails), len(_paths(run).curves)

    @pytest.mark.parametrize("many", [3, 8, 40])
    def test_of_points_that_are_free(self, many):
        m = self.stars(many)
        m.central("star 0", "star 1", energy=lambda r: -1 / r)
        assert self.drawn(m) == (many, many, many)

    def test_of_a_crowd_the_last(self):
        assert self.drawn(self.stars(101)) == (1, 1, 1)

    @pytest.mark.parametrize("verb", ["rod", "spring"])
    def test_of_a_chain_the_last(self, verb):
        m = self.stars(8)
        more = {"stiffness": 1} if verb == "spring" else {}
        for k in range(7):
            getattr(m, verb)(f"star {k}", f"star {k + 1}", **more)
        assert self.drawn(m) == (1, 1, 1)

    def test_of_things_that_are_held_each_by_itself(self):
        m = self.stars(6)
        for k in range(6):
            m.rod(m.ground, f"star {k}", ends=((k, 9, 0), (k, k % 3, 0)))
        run = taut.simulate(m, duration=0.1, step=0.05, laws=None, project=True)
        assert len(traced(run).trails) == 6

    def test_of_a_system(self):
        q = taut.coordinates(" ".join(f"x{k} y{k}" for k in range(6)))
        free = taut.System(q, mass=1)
        run = taut.simulate(free, q0=np.arange(12.0), v0=1, duration=0.1, step=0.05)
        (trails,) = items(scene_of(run), "trails")
        assert len(trails["points"]) == 6
        far = [b - a for a, b in zip(q, q[2:], strict=False)]
        rods = [a**2 + b**2 - 8 for a, b in zip(far[::2], far[1::2], strict=True)]
        chain = taut.System(q, mass=1, constraints=rods)
        run = taut.simulate(chain, q0=np.arange(12.0), v0=1, duration=0.1, step=0.05)
        (trails,) = items(scene_of(run), "trails")
        assert len(trails["points"]) == 1
