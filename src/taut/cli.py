"""The command ``taut``.  Nothing heavy is imported before a command needs it.

Exit codes: 0 done, 1 a broken pipe, 2 a wrong command or a `TautError`, 130 Ctrl-C;
``taut bench`` ends with the benchmark's own.
"""

from __future__ import annotations

import argparse
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taut._version import __version__
from taut.errors import FileError, InputError, TautError

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory
    from taut.problems.base import Fact, Problem

PICTURES, TABLES, STORES = (".png", ".svg", ".pdf"), (".csv",), (".zarr",)
DEMO = ("zg-double", "zg-spherical", "zg-spatial", "car-axis")
HONEST = ("time-element", "projected-symplectic-euler", "symplectic-euler")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign still gets the rest
    chosen = parser().parse_args(arguments)
    try:
        code = chosen.command(chosen)
        sys.stdout.flush()
        return code or 0
    except KeyboardInterrupt as error:
        print(str(error) if isinstance(error, TautError) else "interrupted", file=sys.stderr)
        return 130
    except TautError as error:
        print(f"taut: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has gone; do not fail again when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    top = argparse.ArgumentParser(
        prog="taut",
        description="Mechanics that holds: constrained systems, simulated and certified.",
        epilog="`taut COMMAND --help` tells more about a command.",
    )
    top.add_argument("--version", action="version", version=f"taut {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, function: Any, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        made.set_defaults(command=function)
        return made

    demo = command("demo", _demo, "run the flagship problems and show their certificates")
    demo.add_argument("--out", type=Path, default=Path("out", "demo"), metavar="DIR",
                      help="where the pictures go (default: %(default)s)")  # fmt: skip
    _add_run(command("run", _run, "simulate a problem, print its certificate, write plot and data"))
    listed = command("problems", _problems, "list the problems, or tell what is known about one")
    listed.add_argument("name", nargs="?", metavar="NAME")
    command("methods", _methods, "list the methods and what they promise")
    papers = command("papers", _papers, "list the papers, or redraw one from our own runs")
    papers.add_argument("name", nargs="?", metavar="NAME")
    papers.add_argument("--out", type=Path, metavar="DIR",
                        help="where the page goes (default: out/papers/NAME)")  # fmt: skip
    bench = command("bench", _bench, "measure speed against C and SciPy (in a checkout)")
    bench.add_argument("rest", nargs=argparse.REMAINDER, help="passed on to benchmarks/run.py")
    return top


def _add_run(made: argparse.ArgumentParser) -> None:
    made.add_argument("name", metavar="NAME", help="a problem, see `taut problems`")
    made.add_argument("--method", default="auto", metavar="M", help="see `taut methods`")
    made.add_argument("--step", type=float, metavar="H")
    made.add_argument("--duration", type=float, metavar="T")
    made.add_argument("--every", type=int, default=1, metavar="K", help="keep every K-th state")
    made.add_argument("--set", dest="values", action="append", default=[], metavar="NAME=VALUE",
                      help="another value for a parameter; may be repeated")  # fmt: skip
    made.add_argument("--out", action="append", metavar="DIR|FILE",
                      help="a directory (plot, CSV and JSON), or a file that ends in "
                      ".png, .svg, .pdf, .csv or .zarr; may be repeated (default: out/run)")  # fmt: skip


# ---- commands ---------------------------------------------------------------------------------


def _run(chosen: argparse.Namespace) -> None:
    from taut.problems import problem

    targets = [_target(text) for text in chosen.out or [str(Path("out", "run"))]]
    given = problem(chosen.name, **dict(_value(text) for text in chosen.values))
    wanted = {"step": chosen.step, "duration": chosen.duration}
    changes = {name: value for name, value in wanted.items() if value is not None}
    try:
        run = given.simulate(method=chosen.method, every=chosen.every, **changes)
    except TautError as error:
        if error.partial is not None and len(error.partial) > 1:
            _tell("what there is of it", _write(error.partial, chosen.name, targets))
        raise
    print(f"{given.title}\n{run.certificate}")
    known = list(_against(given, run))
    if known:
        print("\nagainst what is known\n" + table(known))
    _tell("written", _write(run, chosen.name, targets))


def _demo(chosen: argparse.Namespace) -> None:
    from taut.methods import CATALOGUE
    from taut.problems import problem

    _directory(chosen.out)
    print(f"taut {__version__}: mechanics that holds\n")
    flagships = [problem(name) for name in DEMO]
    for given in flagships:  # compile first, so that the times below are those of the steps
        given.simulate(duration=given.step)
    runs = {given.name: given.simulate() for given in flagships}
    for given in flagships:
        print(f"  {given.name:<14}{given.title}")
    print("\n" + table(_side_by_side(runs), head=True))
    given = flagships[0]
    print("\nA million steps of the double pendulum")
    print(given.simulate(duration=1e6 * given.step, every=1000).certificate)
    print("\nThe spherical pendulum with methods that drift, measured in the same way")
    given = problem("zg-spherical")
    others = {name: given.simulate(method=CATALOGUE[name], duration=600) for name in HONEST}
    print(table(_side_by_side(others), head=True))
    written = []
    for name, run in runs.items():
        written.append(chosen.out / f"{name}.png")
        _save_picture(run, written[-1], problem(name).title)
    _tell("pictures", written)


def _problems(chosen: argparse.Namespace) -> None:
    from taut.problems import names, problem

    if chosen.name is not None:
        print(_described(problem(chosen.name)))
        return
    rows = [("name", "", "coordinates", "constraints", "step", "duration")]
    for given in map(problem, names()):
        n, c = given.system.n, given.system.c
        rows.append(
            (given.name, given.title, f"{n}", f"{c}", f"{given.step:g}", f"{given.duration:g}")
        )
    print(table(rows, head=True))
    print("\n`taut problems NAME` tells more, `taut run NAME` runs it")


def _methods(chosen: argparse.Namespace) -> None:
    from taut.methods import AUTO, CATALOGUE

    def word(claim: bool) -> str:
        return "yes" if claim else "no"

    rows = [("name", "order", "symplectic", "symmetric", "keeps g = 0", "source")]
    for name, method in CATALOGUE.items():
        claims = (method.symplectic, method.symmetric, method.keeps_constraints)
        rows.append((name, str(method.order), *map(word, claims), method.source))
    print(table(rows, head=True))
    print(f"\nauto is {AUTO}; options of a method are given in Python, as in taut.TimeElement(…)")


def _papers(chosen: argparse.Namespace) -> None:
    from taut.papers import PAPERS, paper

    if chosen.name is None:
        print(table([(p.name, p.title, p.source) for p in PAPERS.values()]))
        print("\n`taut papers NAME` redraws one")
        return
    found = paper(chosen.name)
    out = chosen.out or Path("out", "papers", found.name)
    _directory(out)
    report = found.reproduce(out, progress=_stages() if sys.stderr.isatty() else None)
    _tell(f"{found.title}\n{found.source}", [report.page, report.data])
    print(f"  and {len(report.figures)} figures beside them")


def _bench(chosen: argparse.Namespace) -> int:
    import subprocess

    here = Path(__file__).resolve().parents[2]
    script = next(
        (p for d in (here, Path.cwd()) if (p := d / "benchmarks" / "run.py").is_file()), None
    )
    if script is None:
        raise FileError(
            "the benchmarks are not installed with taut",
            expected="benchmarks/run.py of a checkout",
            remedy="get the source of taut and run `make bench` there",
        )
    return subprocess.call([sys.executable, str(script), *chosen.rest])


# ---- words and tables -------------------------------------------------------------------------


def table(rows: Iterable[Sequence[str]], head: bool = False) -> str:
    """Rows as aligned text; with `head` the first one is underlined."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    if head:
        rows.insert(1, ["─" * width for width in widths])
    lines = (
        "  " + "  ".join(c + " " * (w - _width(c)) for c, w in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _width(text: str) -> int:
    """Columns on a terminal: an accent stands on the letter before it."""
    return sum(not unicodedata.combining(c) for c in text)


def _side_by_side(runs: dict[str, Trajectory]) -> list[list[str]]:
    """The main lines of several certificates, one column each."""
    rows = [["", *runs], ["method"], ["steps"], ["max |g|"], ["max |G q̇|"], ["energy band"],
            ["energy drift"], ["in % of the band"], ["symplecticity"], ["ns per step"]]  # fmt: skip
    for run in runs.values():
        c = run.certificate
        defect = "" if c.symplecticity is None else f"{c.symplecticity:.1e}"
        drift = f"{100 * c.energy.relative:+.2g} ± {100 * c.energy.relative_half_width:.2g}"
        verdict = "drifts" if c.energy.significant else "none seen"
        column = [run.method.name, f"{c.steps} × {run.step:g}", f"{c.max_g:.1e}",
                  f"{c.max_hidden:.1e}", f"{c.energy.band:.1e}", verdict, drift, defect,
                  f"{1e9 / c.steps_per_second:.0f}"]  # fmt: skip
        for row, cell in zip(rows[1:], column, strict=True):
            row.append(cell)
    return rows


def _described(given: Problem) -> str:
    """All about a problem."""
    system = given.system
    values = {**system.parameters, **given.parameters}
    rows = [
        ("coordinates", ", ".join(s.name for s in system.coordinates)),
        ("constraints", ", ".join(system.constraint_names) or "none"),
        (
            "parameters",
            ", ".join(f"{k} = {v:g}" for k, v in values.items() if v is not None) or "none",
        ),
        ("q0", _vector(given.q0)),
        ("v0", _vector(given.v0) + (" (projected)" if given.project else "")),
        ("step, duration", f"{given.step:g}, {given.duration:g}"),
        ("closed form", "yes" if given.exact is not None else "no"),
        ("source", given.source),
    ]
    facts = [(f"  {fact.what}: {_fact(fact)}".rstrip(": "), fact.source) for fact in given.facts]
    about = f"\n\nknown facts\n{table(facts)}" if facts else ""
    return f"{given.title}\n{table(rows)}{about}"


def _fact(fact: Fact) -> str:
    """The numbers of a fact, if they are few."""
    for value in (fact.energy, fact.period, fact.value):
        if value is not None:
            return f"{value:.12g}"
    return ""


def _vector(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{x:.6g}" for x in values) + ")"


def _against(given: Problem, run: Trajectory) -> Iterable[tuple[str, str, str]]:
    """How far the run is from each fact and from the closed form."""
    import numpy as np

    for fact in given.facts:
        gap = _gap(fact, run)
        if gap is not None:
            yield fact.what, f"off by {gap:.1e}", fact.source
    if given.exact is not None:
        gap = float(np.abs(run.q - given.exact(run.t)[0]).max())
        yield "closed form, largest error of a coordinate", f"off by {gap:.1e}", given.source


def _gap(fact: Fact, run: Trajectory) -> float | None:
    import numpy as np

    if fact.raw:
        return None
    if fact.energy is not None:
        return abs(float(run.energy[0]) - fact.energy)
    if fact.quantity is not None:
        return float(np.abs(run.evaluate(fact.quantity) - fact.value).max())
    if fact.t is None:
        return None
    row = int(np.abs(run.t - fact.t).argmin())
    if abs(run.t[row] - fact.t) > 1e-9 * max(1.0, abs(fact.t)):
        return None
    gaps = [
        np.abs(getattr(run, name)[row] - np.asarray(value)).max()
        for name in ("q", "v", "p", "multipliers")
        if (value := getattr(fact, name)) is not None
    ]
    return float(max(gaps)) if gaps else None


def _tell(what: str, files: Iterable[Path]) -> None:
    print(f"\n{what}")
    for file in files:
        print(f"  {file}")


def _stages() -> Any:
    """A line on the terminal that says what is being done."""

    def tell(done: int, total: int, what: str) -> None:
        end = "" if done < total else "\r\x1b[K"
        print(
            f"\r\x1b[K[{done}/{total}] {what} …" if done < total else "", end=end, file=sys.stderr
        )
        sys.stderr.flush()

    return tell


# ---- files ------------------------------------------------------------------------------------


def _value(text: str) -> tuple[str, float]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    try:
        return name.strip(), float(value if equals else "nothing")
    except ValueError:
        raise InputError(
            "--set does not read as a value", expected="--set NAME=NUMBER", received=repr(text)
        ) from None


def _target(text: str) -> Path:
    """A path that can be written to, before anything is computed."""
    path = Path(text)
    known = (*PICTURES, *TABLES, *STORES)
    if path.suffix.lower() in known and not text.endswith(("/", os.sep)):
        if path.is_dir() and path.suffix.lower() not in STORES:
            raise FileError(f"{path} is a directory", remedy="choose another name")
        _directory(path.parent)
    elif path.suffix and not path.is_dir() and not text.endswith(("/", os.sep)):
        raise InputError(
            f"--out does not know files that end in {path.suffix}",
            expected="a directory, or a file that ends in " + ", ".join(known),
            received=text,
            remedy=f"for a directory of this name write {text}/",
        )
    else:
        _directory(path)
    return path


def _directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{path} cannot be made", received=error.strerror, remedy="choose another directory"
        ) from error


def _write(run: Trajectory, name: str, targets: Iterable[Path]) -> list[Path]:
    """Write a run wherever it is wanted; the files that were made."""
    made: list[Path] = []
    for target in targets:
        kind = target.suffix.lower()
        if kind in PICTURES:
            _save_picture(run, target)
        elif kind in TABLES:
            _save_table(run, target)
        elif kind in STORES:
            run.save(target)
        else:
            files = [target / f"{name}{ending}" for ending in (".png", ".csv", ".json")]
            _save_picture(run, files[0])
            _save_table(run, files[1])
            _save_certificate(run, files[2])
            made += files
            continue
        made.append(target)
    return made


def _save_picture(run: Trajectory, path: Path, title: str | None = None) -> None:
    try:
        run.plot(title=title).savefig(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written", received=error.strerror) from error


def _save_table(run: Trajectory, path: Path) -> None:
    """All arrays of a run as comma-separated values, exact to the last bit."""
    import numpy as np

    system = run.system
    names = ["t"] + [s.name for s in (*system.coordinates, *system.velocities, *system.momenta)]
    names += [f"lambda {c}" for c in system.constraint_names] + ["energy"]
    columns = (run.t[:, None], run.q, run.v, run.p, run.multipliers, run.energy[:, None])
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(",".join(f'"{n}"' if "," in n else n for n in names) + "\n")
            np.savetxt(file, np.hstack(columns), fmt="%.17g", delimiter=",")
    except OSError as error:
        raise FileError(f"{path} cannot be written", received=error.strerror) from error


def _save_certificate(run: Trajectory, path: Path) -> None:
    import json

    found = {"parameters": run.parameters, **run.certificate.to_dict()}
    try:
        path.write_text(json.dumps(found, indent=2, default=float) + "\n", encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be written", received=error.strerror) from error


if __name__ == "__main__":
    sys.exit(main())
