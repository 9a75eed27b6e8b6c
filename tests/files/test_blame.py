"""Errors of values in a model file name the line of the key, whatever finds them wrong."""

import re

import pytest

from taut.files.lines import LineError
from taut.files.reader import model_of
from taut.files.schema import PARTS, VERBS
from taut.files.source import Source

# A mechanism with one of each kind, as sections, names and keys.
BAR = {"mass": "1.0", "inertia": "[0.1, 0.1, 0.1]"}
BETWEEN = '["ground", "{}"]'
MODEL = {
    "points.mass": {"mass": "1.0", "at": "[0, 0, 9]", "velocity": "[0, 0, 0]"},
    "bodies.at": {
        **BAR, "at": "[0, 0, 0]", "rotation": "[1, 0, 0, 0]", "velocity": "[0, 0, 0]",
        "angular_velocity": "[0, 0, 0]", "look": '"box"', "size": "[1, 1, 1]",
        "colour": '"orange"',
    },
    **{f"bodies.{name}": {**BAR, "at": f"[{k + 1}, 0, 0]"} for k, name in enumerate("abcdefgh")},
    "bodies.needle": {"mass": "1.0", "inertia": "[0, 1, 1]", "at": "[20, 0, 0]"},
    "beams.rod": {
        "length": "1.0", "section": '{ kind = "circle", radius = 0.01 }', "density": "1000",
        "young": "2e8", "poisson": "0.3", "nodes": "3", "at": "[30, 0, 0]", "frame": "[1, 0, 0]",
        "curvature": "[0, 0, 0]", "damping": "0.1", "velocity": "[0, 0, 0]",
        "angular_velocity": "[[0, 0, 0], [0, 0, 0], [0, 0, 0]]",
    },
    "beams.bar": {
        "length": "1.0", "inertia": "[1, 2, 1, 3, 3, 3]", "stiffness": "[1, 1, 1, 1, 1, 1]",
        "nodes": "3", "at": "[40, 0, 0]",
    },
    "frames.tool": {"part": '"a"', "at": "[0, 0, 0]", "rotation": "[1, 0, 0, 0]"},
    "looks.first": {
        "part": '"a"', "kind": '"box"', "size": "1", "at": "[0, 0, 0]",
        "rotation": "[1, 0, 0, 0]", "colour": '"orange"',
    },
    "joints.string": {"kind": '"rod"', "between": BETWEEN.format("mass"), "length": "9"},
    "joints.bar2": {
        "kind": '"rod"', "between": '["needle", "h"]', "ends": "[[20, 0, 0], [8, 0, 0]]",
    },
    "joints.ball": {"kind": '"spherical"', "between": BETWEEN.format("h"), "at": "[8, 0, 0]"},
    "joints.hinge": {
        "kind": '"revolute"', "between": BETWEEN.format("a"), "at": "[1, 0, 0]",
        "axis": "[0, 1, 0]",
    },
    "joints.hinge2": {
        "kind": '"revolute"', "between": BETWEEN.format("b"), "at": "[2, 0, 0]",
        "axis": "[0, 1, 0]",
    },
    "joints.cross": {
        "kind": '"universal"', "between": BETWEEN.format("at"), "at": "[0, 0, 0]",
        "axes": "[[1, 0, 0], [0, 1, 0]]",
    },
    "joints.tube": {
        "kind": '"cylindrical"', "between": BETWEEN.format("c"), "at": "[3, 0, 0]",
        "axis": "[0, 1, 0]",
    },
    "joints.rail": {
        "kind": '"prismatic"', "between": BETWEEN.format("d"), "at": "[4, 0, 0]",
        "axis": "[0, 1, 0]",
    },
    "joints.table": {
        "kind": '"planar"', "between": BETWEEN.format("e"), "at": "[5, 0, 0]",
        "normal": "[0, 1, 0]",
    },
    "joints.glue": {"kind": '"fixed"', "between": BETWEEN.format("rod root"), "at": "[30, 0, 0]"},
    "joints.screw": {
        "kind": '"screw"', "between": BETWEEN.format("f"), "at": "[6, 0, 0]", "axis": "[0, 1, 0]",
        "pitch": "0.1",
    },
    "joints.wheel": {
        "kind": '"rolling"', "between": BETWEEN.format("g"), "at": "[7, 0, 0]",
        "axis": "[0, 1, 0]", "along": "[1, 0, 0]", "radius": "1",
    },
    "joints.pair": {"kind": '"gear"', "first": '"hinge"', "second": '"hinge2"', "ratio": "2"},
    "joints.floor": {
        "kind": '"on_surface"', "part": '"h"', "surface": '"x - 8"', "at": "[8, 0, 0]",
    },
    "joints.ring": {
        "kind": '"on_curve"', "part": '"h"', "curve": '["8 + s", "0*s", "0*s"]', "at": "[8, 0, 0]",
        "start": "0",
    },
    "joints.hand": {
        "kind": '"move"', "part": '"h"', "motion": '["8", "0", "t"]', "at": "[8, 0, 0]",
    },
    "joints.turn": {"kind": '"drive"', "joint": '"hinge"', "angle": '"t"'},
    "joints.shift": {"kind": '"drive"', "joint": '"rail"', "slide": '"t"'},
    "forces.spring": {
        "kind": '"spring"', "between": BETWEEN.format("a"), "stiffness": "1", "length": "1",
        "damping": "1", "ends": "[[0, 0, 0], [1, 0, 0]]",
    },
    "forces.rope": {
        "kind": '"rope"', "between": BETWEEN.format("a"), "stiffness": "1", "length": "1",
    },
    "forces.damper": {"kind": '"damper"', "between": BETWEEN.format("a"), "damping": "1"},
    "forces.pull": {"kind": '"central"', "between": BETWEEN.format("a"), "energy": '"length"'},
    "forces.coil": {
        "kind": '"torsion"', "joint": '"hinge"', "stiffness": "1", "angle": "0", "damping": "1",
    },
    "forces.buffer": {
        "kind": '"push"', "joint": '"rail"', "stiffness": "1", "slide": "0", "damping": "1",
    },
    "forces.motor": {"kind": '"motor"', "joint": '"hinge"', "drive": '"t"'},
    "forces.wind": {
        "kind": '"force"', "part": '"needle"', "force": '["1", "0", "0"]', "at": "[20, 0, 0]",
    },
    "forces.twist": {"kind": '"torque"', "part": '"a"', "torque": '["1", "0", "0"]'},
    "forces.well": {"kind": '"potential"', "energy": '"x_a"'},
}  # fmt: skip

# What may be tried in the place of a number, a vector, a quaternion, a list, a text.
HOSTILE = [
    "0", "-1", "0.6", "[0, 0, 0]", "[0, 0, -1]", "[1, 1, 5]", "[0, 0.5, 0]",
    "[1, 1, 1, 1]", "[0, 0, 0, 0]", "[0, 0, 0, 0, 0, 0]", "[-1, 1, 1, 1, 1, 1]", "[[1, 0, 0]]",
    "[[1, 0, 0], [1, 0, 0]]", "[[0, 0, 0], [0, 0, 0]]", "[[1, 1, 0], [0, 1, 0], [0, 0, 1]]",
    '"none of them"', '"x_a_dot"', '"ground"', '"mass"', '"needle"', '"a"', '"rail"', '"tube"',
    '["ground", "ground"]', '["mass", "needle"]',
    '{ kind = "circle", radius = -1 }', '{ kind = "tube", outer = 1, inner = 2 }',
]  # fmt: skip

EITHER = {"axis": "along"}  # two that do not go together


def written(model: dict[str, dict[str, str]]) -> tuple[str, dict[tuple[str, str], int]]:
    """The file, and the line of each key."""
    lines, places = [], {}
    for section, keys in model.items():
        lines.append(f"[{section}]")
        for key, value in keys.items():
            lines.append(f"{key} = {value}")
            places[section, key] = len(lines)
    return "\n".join(lines), places


def blamed(model: dict[str, dict[str, str]]) -> LineError | None:
    try:
        model_of(Source(written(model)[0], "m.toml"), "m", {})
    except LineError as error:
        return error
    return None


def test_the_model_has_everything_and_is_right():
    assert blamed(MODEL) is None
    held = (keys for name, keys in MODEL.items() if name.startswith(("joints", "forces")))
    used = {keys["kind"].strip('"') for keys in held}
    assert used == {kind for known in VERBS.values() for kind in known} - {"angle"}
    assert {name.split(".")[0] for name in MODEL} >= set(PARTS)


def only_this(section: str) -> dict[str, dict[str, str]]:
    """One section and all that it refers to."""
    names = {x for value in MODEL[section].values() for x in re.findall(r'"(\w+)', value)}
    names |= {"a"} if section == "forces.well" else set()
    found = {}
    for other in MODEL:
        if other != section and other.partition(".")[2] in names:
            found |= only_this(other)
    return found | {section: dict(MODEL[section])}


def alike(value: str) -> str:
    """What TOML takes it for; lists of lists are not those of numbers."""
    return re.sub(r"[-\w.]", "0", value[:2] if value[0] == "[" else value[:1])


@pytest.mark.parametrize("section", MODEL)
def test_the_line_is_that_of_the_key(section):
    wrong, found = [], 0
    for key, right in MODEL[section].items():
        for hostile in (x for x in HOSTILE if alike(x) == alike(right) and x != right):
            model = only_this(section)
            model[section][key] = hostile
            error = blamed(model)
            if error is None:
                continue
            found += 1
            _, places = written(model)
            if error.line not in (places[section, key], places.get((section, EITHER.get(key, "")))):
                said = {line: f"{s}: {k}" for (s, k), line in places.items()}
                wrong.append(f"{key} = {hostile} → {said.get(error.line)}: {error}")
    assert found
    assert not wrong, "\n".join([str(len(wrong)), *wrong])


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ('[joints.arm]\nkind = "revolute"\nbetween = ["ground", "arm"]\nat = [0, 0, 0]\n'
         "axis = [0, 1, 0]", 6),
        ('[forces.arm]\nkind = "force"\npart = "arm"\nforce = [1, 0, 0]', 6),
        ("[points.arm]\nmass = 1\nat = [0, 0, 0]", 6),
    ],
)  # fmt: skip
def test_a_name_that_is_taken_is_that_of_the_header(entry, line):
    body = "[bodies.arm]\nmass = 1\ninertia = [1, 1, 1]\nat = [0, 0, 0]\n\n"
    with pytest.raises(LineError, match="there is a 'arm' in this mechanism already") as caught:
        model_of(Source(body + entry, "m.toml"), "m", {})
    assert caught.value.line == line
