"""The tools of the repository: breaks of the code, and digests of what it does."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(name):
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / "tools" / f"{name}.py")
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


mutants, bits = script("mutants"), script("bits")


@pytest.mark.parametrize("mutant", mutants.drawn(40, seed=1, only=""), ids=lambda x: x.place)
def test_a_mutant_is_the_code_with_one_thing_wrong(mutant, tmp_path):
    file = tmp_path / mutant.path
    file.parent.mkdir(parents=True)
    text = (ROOT / mutant.path).read_text("utf-8")
    file.write_text(text, encoding="utf-8")
    mutant.apply(tmp_path)
    broken = file.read_text("utf-8")
    assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(text))
    assert len(broken) - len(text) == len(mutant.after) - len(mutant.before)
    assert mutant.before in text.splitlines()[mutant.line - 1] or "\n" in mutant.before


@pytest.mark.parametrize(
    ("code", "wrong"),
    [("a < b", "a <= b"), ("a + b * c", "(a) - (b * c)"), ("x and not y", "(x) or (not y)"),
     ("-x", "x"), ("p if q else r", "r if q else p"), ("3", "6"), ("0.0", "1")],
)  # fmt: skip
def test_how_it_is_broken(code, wrong):
    assert mutants._broken(ast.parse(code, mode="eval").body) == wrong


def test_texts_and_annotations_are_left_alone():
    code = "x: list[1 + 2] = f\nraise E(1 + 2)\ny = f'{1 + 2}'\nz = 'a' + b"
    broken = [x for x in mutants._code(ast.parse(code)) if isinstance(x, ast.expr)]
    assert [mutants._broken(x) for x in broken if mutants._broken(x)] == []


def test_tests_that_mirror_a_module_come_first():
    first, importing, room = mutants.rounds(Path("src/taut/diagnose/drift.py"), whole=False)
    assert first == ["tests/diagnose/test_drift.py"]
    assert "tests/diagnose/test_certificate.py" in importing + room
    assert not set(first) & set(importing + room)


def test_what_is_the_same_has_the_same_digest(tmp_path, monkeypatch):
    given = {name: make for name, make in bits.cases() if name == "pendulum rattle"}
    monkeypatch.setenv("TAUT_CACHE_DIR", "")  # which `told` sets, and which is put back
    one, other = (bits.told(given["pendulum rattle"], tmp_path) for _ in range(2))
    assert one == other
    assert set(one) == {"numbers", "facts", "code"}
    assert bits.digest([1.0]) != bits.digest([1.0 + 2**-52])
