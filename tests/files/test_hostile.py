"""Files from strangers: each is a model, or an error with a line; nothing is run, nothing grows."""

import os
import re
import tempfile
from pathlib import Path

import pytest
import sympy as sp
from hypothesis import HealthCheck, given, settings, strategies as st

import taut
from taut.errors import FileError
from taut.files.lines import LineError
from taut.files.reader import model_of, read
from taut.files.schema import ALONE, PLAIN, VERBS
from taut.files.source import LARGEST, Source

HERE = Path(__file__).parent
CORPUS = sorted((HERE / "corpus").glob("*.toml"))
SEEDS = [
    p.read_text(encoding="utf-8") for p in sorted((HERE.parents[1] / "examples").glob("*.toml"))
]
SEEDS += [p.read_text(encoding="utf-8", errors="replace") for p in CORPUS]
QUIET = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def _no_text_reaches_sympy(monkeypatch, tmp_path):
    """`sympify` runs texts; what it is handed must have been read already."""
    monkeypatch.chdir(tmp_path)
    inner = sp.sympify

    def guarded(given, *rest, **options):
        assert not isinstance(given, str), f"{given!r} would be run"
        return inner(given, *rest, **options)

    monkeypatch.setattr(sp, "sympify", guarded)
    yield
    assert os.listdir(tmp_path) == []


def outcome(text):
    """The model, or the error, which has a line of the file."""
    found = caught = None
    try:
        found = model_of(Source(text, "m.toml"), "m", {})
    except LineError as error:
        caught = error
    if caught is not None:
        assert 1 <= caught.line <= text.count("\n") + 1
        assert str(caught).startswith(f"m.toml:{caught.line}: ")
        assert len(str(caught)) < 2000
        str(caught).encode()
    return found


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_the_corpus(path):
    with pytest.raises(LineError) as caught:
        read(path)
    said = re.match(rb"\xef?\xbb?\xbf?# line (\d+): (.*)", path.read_bytes())
    line, what = (int(said[1]), said[2].decode().strip()) if said else (1, "not UTF-8")
    assert caught.value.line == line, str(caught.value)
    assert what in str(caught.value)


@QUIET
@given(st.binary(max_size=300))
def test_any_bytes(raw):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.toml")
        path.write_bytes(raw)
        with pytest.raises(FileError) as caught:
            taut.load(path)
    assert isinstance(caught.value, LineError)


TOKENS = [
    "[", "]", "{", "}", "=", ".", ",", '"', "'", '"""', "#", "\n", "\t", " ", "\\", "\x00", "\r",
    "nan", "inf", "-1", "0", "1e400", "true", "2026-01-01", "9" * 500, '"x"', '""', "[]", "{}",
    '"1/0"', '"9**9**9"', '"__import__"', '"x**99"', "ﬁ", "é", "[system]", "[flow]", "[run]",
    "[points.a]", "[joints.a]", "[beam]", "[beams.rod]", "nodes = 9000000000", "radius = ",
    "loads = [{", '"rod tip"', '"rod 99"', '"all"',  "[[0, 0, 0, 0, 0, 0]]",
    'kind = "rod"', 'kind = "gear"', 'between = ["a", "a"]',
    '"ground"', "q = [", "mass = ", "x", "y", "l", "sqrt(", "**", "(" * 70, "\u2028", "title = 1\n",
]  # fmt: skip


@st.composite
def mutated(draw):
    """A file with a few places cut out, repeated, or replaced."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 1, 3, 10, 60])))
        new = draw(st.sampled_from([*TOKENS, text[start:end] * 2, ""]))
        text = text[:start] + new + text[end:]
    return text


@QUIET
@given(mutated())
def test_mutations_of_files(text):
    outcome(text)


@st.composite
def shuffled(draw):
    """Lines of all files, in any order."""
    lines = [line for text in SEEDS[:3] for line in text.splitlines()]
    return "\n".join(draw(st.lists(st.sampled_from(lines), max_size=25)))


@QUIET
@given(shuffled())
def test_lines_in_any_order(text):
    outcome(text)


ROD = {
    "length": "1", "section": '{ kind = "circle", radius = 0.1 }', "density": "1", "young": "1",
    "poisson": "0", "nodes": "3",
}  # fmt: skip
LINES = "".join(f"{key} = {x}\n" for key, x in ROD.items())
INLINE = ", ".join(LINES.splitlines())
VALUES = st.recursive(
    st.sampled_from(
        ["1", "-0.5", '"x"', '"l/2"', '"t"', "true", "nan", '"a"', '"ground"', '"rod"']
    ),
    lambda inner: st.lists(inner, max_size=4).map(lambda x: "[" + ", ".join(x) + "]"),
    max_leaves=9,
)


@st.composite
def structured(draw):
    """A mechanism with the right keys and any values."""
    text = "points.a = { mass = 1, at = [0, 0, 1] }\n"
    text += "bodies.b = { mass = 1, inertia = [1, 1, 1], at = [0, 0, 0] }\n"
    text += f"beams.c = {{ {INLINE}, at = [1, 0, 0] }}\n"
    section = draw(st.sampled_from(sorted(VERBS)))
    kind = draw(st.sampled_from(sorted(VERBS[section])))
    lines = [f'[{section}.k]\nkind = "{kind}"']
    for key, what in VERBS[section][kind].keys.items():
        if what.needed or draw(st.booleans()):
            fitting = st.sampled_from(
                ['["a", "b"]', '["ground", "c 0"]', '["b", "c tip"]', "[0, 0, 0]", '"b"', "1"]
            )
            lines.append(f"{key} = {draw(st.one_of(fitting, VALUES))}")
    return text + "\n".join(lines)


@QUIET
@given(structured())
def test_any_values_of_the_right_keys(text):
    outcome(text)


FITTING = {
    "section": ['{ kind = "circle", radius = "0.1/s" }', '{ kind = "tube", outer = 1, inner = 2 }',
                '{ kind = "square", side = 1, shear = [1, 2], torsion = "polar" }'],
    "inertia": ["[1, 1, 1, 1, 1, 1]"], "stiffness": ["[1, 1, 1, 1, 1, 1]"],
    "curvature": ['["s", 0, "exp(s)"]', "[[0, 0, 1], [1e300, 0, 0]]"],
    "loads": ['[{ at = "all", force = ["log(s)", "t", 0] }]', "[{ at = 0.1, moment = [0, 0, 1] }]"],
    "bodies": ["[{ mass = 1e300 }]", "[{ at = 0.3, mass = 0, inertia = [1, 1, 9] }]"],
    "ends": ['["clamped", { kind = "hinged", axis = [0, 0, 0] }]', '["sliding", "roller"]'],
    "nodes": ["2", "3", "-1", "99999999999"], "cells": ['"full"'],
}  # fmt: skip


@st.composite
def bent(draw):
    """A beam, by itself or as a part, with the right keys and any values."""
    header, keys = draw(
        st.sampled_from([("beam", ALONE.keys), ("beams.a", PLAIN["beams"][1].keys)])
    )
    kept = {key: x for key, x in ROD.items() if draw(st.integers(0, 4))}
    lines = [f"[{header}]", *(f"{key} = {x}" for key, x in kept.items())]
    for key in keys:
        if key not in kept and draw(st.integers(0, 3)) == 0:
            fitting = st.sampled_from(FITTING.get(key, ["1", "0.5", "[0, 0, 1]"]))
            lines.append(f"{key} = {draw(st.one_of(fitting, VALUES))}")
    return "\n".join(lines)


@QUIET
@given(bent())
def test_any_values_of_beams(text):
    outcome(text)


@pytest.mark.parametrize(
    "text",
    [
        "#" * (LARGEST - 1),
        "a = [" + "1," * 150_000 + "]",
        "a = [" + "\n1," * 100_000 + "]",
        'title = "' + "x" * 1_000_000 + '"',
        "\n" * 1_000_000,
        "[parameters]\n" + "".join(f"a{i} = {i}\n" for i in range(20_000)),
        "[parameters]\n" + "".join(f'a{i} = "a{i + 1}"\n' for i in range(20_000)),
        "[parameters]\n" + "".join(f'a{i} = "a{i + 1} + 1"\n' for i in range(5_000)) + "a5000 = 1",
        "".join(f"[points.a{i}]\n" for i in range(20_000)),
        '[system]\nmass = 1\ncoordinates = "' + " ".join(f"x{i}" for i in range(9_000)) + '"',
        "".join(f"[points.a{i}]\nmass = 1\nat = [0, 0, 0]\n" for i in range(1_000))
        + "".join(f'[forces.f{i}]\nkind = "potential"\nenergy = "x_a0"\n' for i in range(1_000)),
        '"' * 100_000,
        "'''" * 33_333,
        "[" * 100_000,
        "a={" * 30_000,
        "a = \"" + "\\" * 99_999,
        f"[beam]\n{LINES}".replace("3", "2001"),
        "".join(f"beams.a{i} = {{ {INLINE} }}\n" for i in range(700)),
        f"[beams.a]\n{LINES}loads = [" + '{ at = "all" },' * 50_000 + "]",
        f"[beam]\nlength = 1\nnodes = 3\ninertia = [{'1,' * 150_000}]",
        f"[beam]\nlength = 1\nstrain = [{'[0,0,0,0,0,0],' * 50_000}]",
        f"[beams.a]\nlength = 1\nnodes = 2000\ncurvature = [{'[0,0,0],' * 100_000}]",
        "[points.a]\nmass = 1\nat = [0, 0, 0]\n"
        + "".join(f'[joints.a{i}]\nkind = "angle"\njoint = "a{i + 1}"\n' for i in range(3_000)),
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_large_files_end_soon(text):
    assert outcome(text) is None
