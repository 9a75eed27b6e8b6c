"""Mechanisms on pages: nothing hides another thing, nothing overlaps, and all tell one time."""

import io
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

import taut

SMALL = {"mass": 0.2, "inertia": (1e-5, 2e-4, 2e-4)}
PUT = """(time) => new Promise((done) => {
    tautViews[0].pause();
    tautViews[0].seek(time);
    const wait = (k) => (k ? requestAnimationFrame(() => wait(k - 1)) : done());
    wait(3);
})"""
BOXES = """(what) => [...document.querySelectorAll(what)]
    .filter((x) => getComputedStyle(x).visibility === "visible")
    .map((x) => x.getBoundingClientRect()).map((x) => [x.left, x.top, x.right, x.bottom])"""


@pytest.fixture(scope="module")
def gripper():
    """A heavy base, as large as both fingers together by its inertia, and what damps them."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    base = m.body("base", mass=1.0, inertia=(2e-3, 2e-3, 2e-3), at=(0, 0, 0))
    m.prismatic("lift", m.ground, base, at=(0, 0, 0), axis=(0, 0, 1))
    left = m.body("left finger", **SMALL, at=(0.05, 0.03, 0), colour="magenta")
    right = m.body("right finger", **SMALL, at=(0.05, -0.03, 0))
    m.revolute("left hinge", base, left, at=(0, 0.03, 0), axis=(0, 0, 1))
    m.revolute("right hinge", base, right, at=(0, -0.03, 0), axis=(0, 0, 1))
    ends = ((0.1, 0.03, 0), (0.1, -0.03, 0))
    m.spring("pad", left, right, stiffness=50, length=0.05, damping=0.5, ends=ends)
    m.push("lift", stiffness=1000, damping=20, name="arm")
    return taut.simulate(m, duration=1, step=0.001, laws=None)


@pytest.fixture(scope="module")
def chain():
    """Bars that hang together, and fall from a straight line."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    above = m.ground
    for k in range(8):
        bar = m.body(f"bar no. {k}", mass=1, inertia=(1e-4, 1e-3, 1e-3), at=(0.1 * k + 0.05, 0, 0))
        m.spherical(f"ball {k}", above, bar, at=(0.1 * k, 0, 0))
        above = bar
    return taut.simulate(m, duration=1, step=0.002, laws=None)


def opened(visit, file, width=1280):
    page = visit(file, width, reduced_motion="reduce")
    page.wait_for_function("tautViews.length === 1")
    return page


def picture(page) -> np.ndarray:
    data = page.locator(".stage > canvas").screenshot()
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def magenta(pixels: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(pixels, -1, 0)
    return (red > green + 50) & (blue > green + 50)


def apart(boxes) -> bool:
    return all(
        a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for a, b in combinations(boxes, 2)
    )


def test_a_heavy_base_hides_no_finger(gripper, visit, tmp_path):
    page = opened(visit, gripper.report(tmp_path / "run.html"))
    page.add_style_tag(content=".overlay { display: none }")
    page.evaluate(PUT, 0.5)
    seen = magenta(picture(page)).sum()
    page.evaluate("""() => tautViews[0].stage.scene.traverse((x) => {
        if (x.geometry && x.geometry.type === "SphereGeometry") x.visible = false;
    })""")
    page.evaluate(PUT, 0.5)
    alone = magenta(picture(page)).sum()
    assert alone > 500
    assert seen > 0.9 * alone


def test_a_trail_is_under_what_is_solid(chain, visit, tmp_path):
    """Where it fades into the paper it would be a white line on a body."""
    page = opened(visit, chain.report(tmp_path / "run.html"))
    page.add_style_tag(content=".overlay { display: none }")
    pictures = []
    for trail in ("0", "Infinity"):
        page.evaluate(f"tautViews[0].stage.trail = {trail}")
        page.evaluate(PUT, 0.83)
        pictures.append(picture(page))
    without, drawn = pictures
    solid = (np.ptp(without, axis=2) > 90) & (without.min(axis=2) < 60)
    changed = np.abs(without - drawn).sum(axis=2) > 20
    assert solid.sum() > 200
    assert changed.sum() > 100
    assert not (solid & changed).any()


@pytest.mark.parametrize("width", [390, 1280])
def test_labels_do_not_overlap_and_are_in_the_picture(chain, visit, tmp_path, width):
    page = opened(visit, chain.report(tmp_path / "run.html"), width)
    shown = []
    for time in np.linspace(0, 1, 9):
        page.evaluate(PUT, float(time))
        labels = page.evaluate(BOXES, ".overlay .label")
        (stage,) = page.evaluate(BOXES, ".stage")
        assert apart([*labels, *page.evaluate(BOXES, ".overlay > :not(.label)")])
        for left, top, right, bottom in labels:
            assert stage[0] <= left <= right <= stage[2]
            assert stage[1] <= top <= bottom <= stage[3]
        shown.append(len(labels))
    if width == 390:  # no room for the names of many bodies
        assert max(shown) == 0
    else:
        assert min(shown) >= 4
        assert max(shown) == 8


@pytest.mark.parametrize("width", [320, 390, 720, 1280])
def test_no_button_is_alone_in_its_line(gripper, visit, tmp_path, width):
    page = opened(visit, gripper.report(tmp_path / "run.html"), width)
    buttons = page.evaluate(BOXES, ".bar button:not(.play)")
    choices = page.evaluate(BOXES, ".bar label")
    assert len(buttons) == 3
    for group in (buttons, choices):
        middles = [(top + bottom) / 2 for _, top, _, bottom in group]
        assert np.ptp(middles) < 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def legends(page) -> list[dict[str, str]]:
    """Names and values under every panel."""
    return page.evaluate("""() => {
        const text = (x, what) => x.querySelector(what).textContent;
        return [...document.querySelectorAll(".panel")].map((panel) => Object.fromEntries(
            [...panel.querySelectorAll(".u-series")].map(
                (x) => [text(x, ".u-label"), text(x, ".u-value")])));
    }""")


def test_all_panels_tell_the_time_of_the_animation(gripper, visit, tmp_path):
    page = opened(visit, gripper.report(tmp_path / "run.html"))
    for time in (0.0, 0.01234, 0.3337, 0.77777, 1.0):
        page.evaluate(PUT, time)
        clock = page.locator(".clock").inner_text().removeprefix("t = ")
        found = legends(page)
        assert len(found) > 5
        assert {x["t"] for x in found} == {clock}
    page.evaluate(PUT, 0.3337)
    change = float(legends(page)[0]["H − H₀"].replace("−", "-"))
    wanted = np.interp(0.3337, gripper.t, gripper.energy - gripper.energy[0])
    assert change == pytest.approx(wanted, rel=1e-4)
    before = legends(page)
    page.locator(".u-over").nth(1).hover()  # one time, wherever the mouse is
    page.evaluate(PUT, 0.3337)
    assert legends(page) == before
    page.locator(".u-over").nth(1).click()
    page.evaluate(PUT, page.evaluate("tautViews[0].time"))
    assert {x["t"] for x in legends(page)} == {f"{page.evaluate('tautViews[0].time'):.5g}"}
