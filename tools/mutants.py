"""Which breaks of the code do the tests notice?  ``make mutants ARGS="--count 60"``.

Places in ``src/taut`` are drawn at random (the same for the same seed): a comparison, a sign, a
sum, a condition, a number.  Each is broken in a copy of the tree, alone, and tests run until one
fails: those that mirror the name of the module, then those that import it, then those of its room;
with ``--whole`` all of them at last.  A mutant that lives is a place where the code can be wrong
and nobody notices, or where it does not matter: a person looks at it.  The report is a table in
out/mutants.md.  Sixty mutants take hours, so this is no part of continuous integration.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "taut"
REPORT = ROOT / "out" / "mutants.md"
PATIENCE = 900.0  # seconds for one run of tests: a mutant that never ends is noticed
NEIGHBOURS = 12  # files of tests that import a module: more of them say little

COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
COMBINED: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "+",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One break: what stands between two places of a file becomes something else."""

    path: Path  # inside the tree
    line: int
    begin: int  # bytes of the file
    end: int
    before: str
    after: str

    def apply(self, tree: Path) -> None:
        """Break a tree."""
        file = tree / self.path
        text = file.read_bytes()
        file.write_bytes(text[: self.begin] + self.after.encode() + text[self.end :])

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.path}:{self.line}"


# ---- places --------------------------------------------------------------------------------------


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All breaks of one file."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for row in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    for node in _code(ast.parse(text)):
        if isinstance(node, ast.expr) and (after := _broken(node)) is not None:
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            before = text.encode()[begin:end].decode()
            yield Mutant(path.relative_to(ROOT), node.lineno, begin, end, before, f"({after})")


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run: no annotations, no texts of errors, nothing that only types need."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            yield child
            yield from _code(child)


def _broken(node: ast.expr) -> str | None:
    """The expression with one thing wrong, or None where nothing is to be had."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        return f"{left} {COMPARED[type(node.ops[0])]} {right}"
    if isinstance(node, ast.BinOp) and type(node.op) in COMBINED:
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return None
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        return f"({left}) {COMBINED[type(node.op)]} ({right})"
    if isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        return word.join(f"({ast.unparse(x)})" for x in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return ast.unparse(node.operand)
    if isinstance(node, ast.IfExp):
        body, other = ast.unparse(node.body), ast.unparse(node.orelse)
        return f"{other} if {ast.unparse(node.test)} else {body}"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return repr(node.value * 2 if node.value else 1)
    return None


def drawn(count: int, seed: int, only: str) -> list[Mutant]:
    """So many of them: files by their length, so that no room is passed over, then a place."""
    choice = random.Random(seed)
    files = [p for p in sorted(PACKAGE.rglob("*.py")) if re.search(only, str(p.relative_to(ROOT)))]
    known = {path: list(mutants_of(path)) for path in files}
    files = [path for path in files if known[path]]
    if not files:
        sys.exit(f"nothing in src/taut can be broken that matches {only!r}")
    weights = [len(known[path]) ** 0.5 for path in files]
    found: dict[Mutant, None] = {}
    for path in choice.choices(files, weights, k=20 * count):
        found.setdefault(choice.choice(known[path]))
        if len(found) == count:
            break
    return list(found)


# ---- tests ---------------------------------------------------------------------------------------


def rounds(path: Path, whole: bool) -> Iterator[list[str]]:
    """Files of tests, the likeliest first."""
    parts = path.relative_to("src/taut").with_suffix("").parts
    tests = ROOT / "tests"
    mirror = tests.joinpath(*parts[:-1], f"test_{parts[-1]}.py")
    seen: set[Path] = set()

    def fresh(files: list[Path]) -> list[str]:
        new = [x for x in files if x.is_file() and x not in seen]
        seen.update(new)
        return [str(x.relative_to(ROOT)) for x in new]

    yield fresh([mirror])
    room, module = ".".join(parts[:-1]), parts[-1]
    direct = rf"\btaut\.{room}\.{module}\b" if room else rf"\btaut\.{module}\b"
    through = rf"\bfrom taut{'.' + room if room else ''} import .*\b{module}\b"
    name = re.compile(f"{direct}|{through}")
    importing = [x for x in sorted(tests.rglob("test_*.py")) if name.search(x.read_text("utf-8"))]
    yield fresh(importing[:NEIGHBOURS])
    yield fresh(sorted(tests.joinpath(*parts[:-1]).glob("test_*.py")))
    if whole:
        yield ["tests"]


def noticed(mutant: Mutant, whole: bool) -> tuple[str, float]:
    """(the first test that fails, or "" for a mutant that lives; seconds)."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "tree"
        shutil.copytree(
            ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "out", "__pycache__")
        )
        mutant.apply(tree)
        for files in rounds(mutant.path, whole):
            if files and (test := _failing(tree, files)):
                return test, time.perf_counter() - begin
    return "", time.perf_counter() - begin


def _failing(tree: Path, files: list[str]) -> str:
    """The first test of these that fails."""
    # Not -m pytest in the tree alone: the package is installed from ROOT, and this one comes first.
    env = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *files]
    try:
        ran = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True,
                             timeout=PATIENCE)  # fmt: skip
    except subprocess.TimeoutExpired:
        return "does not end"
    if ran.returncode == 0:
        return ""
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.M)
    return named.group(1) if named else (ran.stdout + ran.stderr).strip().splitlines()[-1]


# ---- the report ----------------------------------------------------------------------------------


def report(rows: list[tuple[Mutant, str, float]]) -> str:
    """A table: those that live come first."""
    living = sum(not test for _, test, _ in rows)
    lines = [f"# {len(rows)} mutants, {len(rows) - living} noticed, {living} alive\n",
             "| place | was | is | noticed by | s |", "|---|---|---|---|---|"]  # fmt: skip
    for mutant, test, spent in sorted(rows, key=lambda row: bool(row[1])):
        was, now = (f"`{_short(x)}`" for x in (mutant.before, mutant.after))
        lines.append(f"| {mutant.place} | {was} | {now} | {test or '**nobody**'} | {spent:.0f} |")
    return "\n".join(lines) + "\n"


def _short(text: str, most: int = 60) -> str:
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= most else text[: most - 1] + "…"


def main() -> None:
    """Break, test, tell; what is known is written after every mutant."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a regular expression that paths match")
    parser.add_argument("--whole", action="store_true", help="the whole suite for those that live")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    given = parser.parse_args()
    chosen = drawn(given.count, given.seed, given.only)
    if given.list:
        for mutant in chosen:
            print(f"{mutant.place}: {_short(mutant.before)} -> {_short(mutant.after)}")
        return
    REPORT.parent.mkdir(exist_ok=True)
    rows: list[tuple[Mutant, str, float]] = []
    for k, mutant in enumerate(chosen, 1):
        rows.append((mutant, *noticed(mutant, given.whole)))
        print(f"{k}/{len(chosen)} {mutant.place}: {rows[-1][1] or 'ALIVE'}", flush=True)
        REPORT.write_text(report(rows), encoding="utf-8")
    print(f"wrote {REPORT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
