"""Small drawings: every curve is in its box, to scale, and no text can leave its place."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np
import pytest

from taut.sketch import GAP, HEAD, HEIGHT, WIDTH, Box, beside, flattened, sketch

SVG = "{http://www.w3.org/2000/svg}"
CIRCLE = np.column_stack([np.cos(np.linspace(0, 6, 100)), 3 * np.sin(np.linspace(0, 6, 100))])


def drawing(*boxes):
    image = sketch(boxes, 'a "picture" <b>')
    assert "<b>" not in image
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', image)[1]
    return ElementTree.fromstring(b64decode(data))


def curves(svg):
    return [
        np.array([pair.split(",") for pair in line.get("points").split()], dtype=float)
        for line in svg.iter(f"{SVG}polyline")
    ]


def test_curves_fill_their_box():
    (curve,) = curves(drawing(Box([CIRCLE], "path")))
    assert np.allclose(np.ptp(curve, axis=0), [WIDTH, HEIGHT], atol=0.2)
    assert curve[:, 1].min() >= HEAD - 0.1


def test_one_scale_for_both_axes_and_upwards_is_up():
    (curve,) = curves(drawing(Box([CIRCLE], "path", equal=True)))
    wide, high = np.ptp(curve, axis=0)
    assert high == pytest.approx(HEIGHT, abs=0.2)
    assert high / wide == pytest.approx(3, rel=0.01)
    assert np.argmin(curve[:, 1]) == np.argmax(CIRCLE[:, 1])


def test_boxes_stand_side_by_side():
    first, second = curves(drawing(Box([CIRCLE], "a"), Box([CIRCLE], "b")))
    assert np.allclose(second - first, [WIDTH + GAP, 0], atol=0.11)


def test_many_states_are_thinned_and_blanks_left_out():
    line = np.column_stack([np.arange(10000.0), np.arange(10000.0)])
    line[5000:, 1] = np.nan
    (curve,) = curves(drawing(Box([line], "a")))
    assert 100 < len(curve) <= 400
    assert np.isfinite(curve).all()


@pytest.mark.parametrize(
    "points", [[[1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]], [[0.0, 1.0], [5.0, 1.0]]]
)
def test_points_and_level_lines(points):
    svg = drawing(Box([np.array(points)], "a", equal=True))
    (dot,) = svg.iter(f"{SVG}circle")
    assert 0 <= float(dot.get("cx")) <= WIDTH + 8
    assert HEAD <= float(dot.get("cy")) <= HEAD + HEIGHT


def test_nothing_to_draw_is_no_picture():
    assert sketch([], "a") == ""
    assert sketch([Box([np.full((3, 2), np.nan)], "a")], "a") == ""
    assert beside("left", "") == "left"


def test_titles_are_text():
    svg = drawing(Box([CIRCLE], "<script>", "&"))
    assert [text.text for text in svg.iter(f"{SVG}text")] == ["<script>", "&"]


def test_later_curves_are_darker():
    svg = drawing(Box([CIRCLE, CIRCLE, CIRCLE], "a", fade=True))
    found = [float(line.get("stroke-opacity")) for line in svg.iter(f"{SVG}polyline")]
    assert found == sorted(set(found))
    assert found[-1] == 1


def test_planes_are_seen_from_in_front():
    places = np.random.default_rng(0).normal(size=(7, 3))
    for k in range(3):
        flat = places.copy()
        flat[:, k] = 2.0
        assert np.array_equal(flattened(flat), np.delete(flat, k, axis=1))
    up = flattened(np.vstack([places, places + np.array([0, 0, 1])]))
    assert np.allclose(up[7:] - up[:7], [0, 1])
