"""Colours of the parts of a mechanism: few have their own, many that of their type."""

import numpy as np
import pytest

import taut
from taut.show import style
from taut.show.assembly_tables import _turned
from taut.show.bodies import scene_of
from taut.show.inks import inks_of, legend_of


def row(inertias, **looks):
    """Bodies side by side, in space without gravity."""
    m = taut.Mechanism()
    for k, inertia in enumerate(inertias):
        m.body(f"part {k}", mass=1, inertia=inertia, at=(k, 0, 0), velocity=(0, 0.1, 0), **looks)
    return m


BLOCK, BAR = (0.05, 0.08, 0.07), (0.08, 0.08, 0.01)


def test_few_have_their_own():
    parts = list(row([BLOCK] * 6).parts.values())
    inks = inks_of(parts, None)
    assert list(inks.values()) == list(range(len(style.COLOURS)))
    assert legend_of(parts, inks) == [(f"part {k}", k) for k in range(6)]


def test_many_have_that_of_their_type():
    parts = list(row([BLOCK, BAR, BLOCK, BLOCK, BAR[::-1], BLOCK, BLOCK]).parts.values())
    inks = inks_of(parts, None)
    assert list(inks.values()) == [0, 1, 0, 0, 1, 0, 0]
    assert legend_of(parts, inks) == [("part 0 and 4 more", 0), ("part 1 and 1 more", 1)]


def test_of_more_types_than_colours_neighbours_differ():
    parts = list(row([(0.1, 0.1, 0.1 + 0.005 * k) for k in range(8)]).parts.values())
    inks = inks_of(parts, None)
    assert all(a != b for a, b in zip(list(inks.values()), list(inks.values())[1:], strict=False))
    assert set(inks.values()) == set(range(6))
    assert legend_of(parts, inks) == []  # a colour stands for nothing then


def test_what_has_a_colour_of_its_own_is_in_no_legend():
    parts = list(row([BLOCK] * 3, colour="red").parts.values())
    assert legend_of(parts, inks_of(parts, None)) == []


def test_a_trajectory_of_many_has_one_colour():
    m = row([BLOCK] * 3)
    assert set(inks_of(list(m.parts.values()), 4).values()) == {4}
    q, v = m.start()
    run = taut.simulate(m, q0=[q, q], v0=[v, 0 * v], duration=0.02, step=0.01, laws=None)
    items = [x for x in scene_of(run, 2).items if x.kind == "bodies"]
    assert [x.data["inks"] for x in items] == [[0] * 3, [1] * 3]
    assert all("legend" not in x.data for x in items)


@pytest.mark.parametrize(
    ("inertias", "width", "legend", "labels"),
    [
        ([BLOCK, BAR] * 4, 1280, 2, 8),
        ([BLOCK, BAR] * 4, 390, 2, 0),
        ([BLOCK] * 5, 1280, 0, 5),
        ([BLOCK] * 5, 390, 5, 0),
        ([BLOCK] * 3, 390, 0, 3),
        ([BLOCK] * 8, 1280, 0, 8),
    ],
)
def test_names_are_at_the_parts_or_in_a_legend(inertias, width, legend, labels, tmp_path, visit):
    run = taut.simulate(row(inertias), duration=0.1, step=0.01, laws=None)
    page = visit(run.report(tmp_path / "run.html"), width=width)
    page.wait_for_selector(".overlay .label", state="attached")
    page.wait_for_timeout(300)
    seen = [x for x in page.locator(".overlay .legend .entry").all() if x.is_visible()]
    named = [x for x in page.locator(".overlay .label").all() if x.is_visible()]
    assert (len(seen), len(named)) == (legend, labels)
    if legend:
        spot = page.locator(".legend .spot").nth(1)
        found = spot.evaluate("x => getComputedStyle(x).backgroundColor")
        rgb = [int(style.COLOURS[1][k : k + 2], 16) for k in (1, 3, 5)]
        assert found == f"rgb({', '.join(map(str, rgb))})"


def test_noise_is_no_turn():
    assert _turned(np.array([1.0, 3e-11, -2e-11, 0.0])) == ""
    assert _turned(np.array([0.8, 3e-11, 0.6, 0.0])) == "(0.8, 0, 0.6, 0)"
