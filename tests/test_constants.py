"""No name of a module means two things: the second binding would win everywhere, and silently."""

import ast
from pathlib import Path

import pytest

import taut

SOURCES = sorted(Path(taut.__file__).parent.rglob("*.py"))


def names_in(target):
    """Names that an assignment binds."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Starred):
        return names_in(target.value)
    if isinstance(target, ast.Tuple | ast.List):
        return [name for part in target.elts for name in names_in(part)]
    return []


def bound(tree):
    """(name, line) of what the top level of a module binds; overloads are one function."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((name, node.lineno) for x in node.targets for name in names_in(x))
        elif (isinstance(node, ast.AnnAssign) and node.value is not None) or isinstance(
            node, ast.AugAssign
        ):
            yield from ((name, node.lineno) for name in names_in(node.target))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.asname or isinstance(node, ast.ImportFrom):
                    yield alias.asname or alias.name, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            marks = [x.id for x in node.decorator_list if isinstance(x, ast.Name)]
            if "overload" not in marks:
                yield node.name, node.lineno
        for inner in ast.walk(node):  # N, …, LAST = range(HEADER := 33)
            if isinstance(inner, ast.NamedExpr) and isinstance(node, ast.Assign):
                yield inner.target.id, inner.lineno


def twice(text):
    """What is bound more than once."""
    first, found = {}, []
    for name, line in bound(ast.parse(text)):
        if name in first:
            found.append(f"{name}: lines {first[name]} and {line}")
        first.setdefault(name, line)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_constants_are_bound_once(path):
    assert twice(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    ["A = 1e-7\nB = 2\nA = 1e-9", "from x import A\nA = 1", "A, B = 1, 2\nB: int = 3",
     "A, B = range(C := 2)\nC = 1", "A = 1\nA += 1"],
)  # fmt: skip
def test_a_second_binding_is_seen(text):
    assert len(twice(text)) == 1
    assert twice("@overload\ndef f(): ...\ndef f(): ...\nA = 1") == []
