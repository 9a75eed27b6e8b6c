"""The command ``taut``.  Nothing heavy is imported before a command needs it.

Exit codes: 0 done, 1 a broken pipe, 2 a wrong command or a `TautError`, 130 Ctrl-C, 143 SIGTERM;
``taut bench`` ends with the benchmark's own.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Any

from taut._version import __version__
from taut.errors import FileError, InputError, TautError, brief, place
from taut.text import aligned

if TYPE_CHECKING:
    from taut.march.field_trajectory import FieldTrajectory
    from taut.march.trajectory import Trajectory
    from taut.problems.base import Fact, Problem

PICTURES = (".png", ".svg", ".pdf")
FILMS = (".mp4", ".webm", ".mov", ".gif")
DATA = (".csv", ".zarr")  # the run itself
KINDS = (".html", *PICTURES, *FILMS, *DATA, ".json")
MANY = 12  # names that are listed in full
WIDTH = 100  # letters of a line of prose
EVENTS = 20  # events that are listed one by one
FILES = "a model of your own: MODEL.toml, ROBOT.urdf or FILE.py:NAME"
RIVALS = {
    "ZG time element": "time-element",
    "projected symplectic Euler": "projected-symplectic-euler",
    "symplectic Euler": "symplectic-euler",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign still gets the rest
    grammar = parser()
    chosen, chosen.rest = grammar.parse_known_args(arguments)
    if chosen.rest and chosen.command is not _bench:
        grammar.error(_unknown(chosen))
    from taut.interrupts import listening

    hearing = None
    try:
        with listening(waits=False) as hearing:
            code = chosen.command(chosen)
            sys.stdout.flush()
            return code or 0
    except KeyboardInterrupt as error:
        print(str(error) if isinstance(error, TautError) else "interrupted", file=sys.stderr)
        return 128 + ((hearing and hearing.asked) or SIGINT)
    except TautError as error:
        print(f"taut: {_in_words_of_the_shell(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has gone; do not fail again when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _unknown(chosen: argparse.Namespace) -> str:
    """What is said of options that a command does not have."""
    from taut.calls import elsewhere

    names = [*vars(chosen), "method", "step"] if hasattr(chosen, "method") else [*vars(chosen)]
    words = {x: x.lstrip("-").partition("=")[0].replace("-", "_") for x in chosen.rest}
    meant = [elsewhere(word, names) for x, word in words.items() if x.startswith("--")]
    hints = "; ".join(f"--{x}".replace(" here: ", " here: --") for x in meant if x)
    said = f"unrecognized arguments: {' '.join(chosen.rest)}"
    return f"{said} ({hints})" if hints else said


def parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    top = argparse.ArgumentParser(
        prog="taut",
        description="Mechanics that holds: constrained systems, simulated and certified.",
        epilog="`taut COMMAND --help` tells more about a command.",
    )
    top.add_argument("--version", action="version", version=f"taut {__version__}")
    top.set_defaults(command=lambda _: top.print_help())
    commands = top.add_subparsers(metavar="COMMAND")

    def command(name: str, function: Any, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        made.set_defaults(command=function)
        return made

    demo = command("demo", _demo, "run the flagship of each paper, show certificates, write a page")
    demo.add_argument("--out", type=Path, default=Path("out", "demo"), metavar="DIR",
                      help="where the page goes (default: %(default)s)")  # fmt: skip
    _add_run(command("run", _run, "simulate a problem, print its certificate, write a report"))
    listed = command("problems", _problems, "list the problems, or tell what is known about one")
    listed.add_argument("name", nargs="?", metavar="NAME")
    laws = command("laws", _laws, "find the conserved quantities of a problem, and prove them")
    laws.add_argument("name", metavar="NAME", help=f"a problem, or {FILES}")
    laws.add_argument("--degree", type=int, metavar="D",
                      help="of the polynomials tried (default: grows by itself)")  # fmt: skip
    shape = laws.add_mutually_exclusive_group()
    shape.add_argument("--latex", action="store_true", help="one formula per line")
    shape.add_argument("--json", action="store_true", help="everything that is known of them")
    check = command("check", _check, "tell whether a model fits together, without running it")
    check.add_argument("name", metavar="NAME", help=FILES)
    _add_values(check)
    _add_project(check)
    schema = command("schema", _schema, "tell what a model file may say")
    schema.add_argument("--json", action="store_true", help="as JSON Schema, for editors")
    known = command("methods", _methods, "list the methods, or cite the references of one")
    known.add_argument("name", nargs="?", metavar="NAME")
    _add_papers(command("papers", _papers, "run every example of the papers, write one page"))
    command("bench", _bench, "measure speed; options go to benchmarks/run.py of the checkout")
    return top


def _in_words_of_the_shell(error: TautError) -> str:
    """An error whose remedies are options instead of arguments."""
    text = str(error).replace("project=True", "--project")
    return re.sub(r"; error\.partial holds[^;\n]*", "", text)


def _add_run(made: argparse.ArgumentParser) -> None:
    made.add_argument("name", metavar="NAME", help=f"a problem, see `taut problems`, or {FILES}")
    made.add_argument("--method", metavar="M", help="see `taut methods`")
    made.add_argument("--step", type=float, metavar="H")
    made.add_argument("--tolerance", type=float, metavar="E",
                      help="instead of a step: the relative error to choose it for")  # fmt: skip
    made.add_argument("--duration", type=float, metavar="T")
    made.add_argument("--every", type=int, metavar="K", help="keep every K-th state")
    _add_values(made)
    _add_project(made)
    made.add_argument("--out", action="append", metavar="DIR|FILE",
                      help="a directory for report, plot, CSV and JSON, or a file that ends in "
                      f"{', '.join(KINDS)}; may be repeated (default: out/run)")  # fmt: skip


def _add_project(made: argparse.ArgumentParser) -> None:
    made.add_argument("--project", action="store_true",
                      help="take the nearest start that satisfies the constraints")  # fmt: skip


def _add_values(made: argparse.ArgumentParser) -> None:
    made.add_argument("--set", dest="values", action="append", default=[], metavar="NAME=VALUE",
                      help="another value for a parameter; may be repeated")  # fmt: skip


def _add_papers(made: argparse.ArgumentParser) -> None:
    made.add_argument("names", nargs="*", metavar="NAME",
                      help="papers, see --list (default: all of them)")  # fmt: skip
    made.add_argument("--list", action="store_true", help="list the papers and run nothing")
    made.add_argument("--out", type=Path, metavar="DIR",
                      help="where index.html goes (default: out/papers)")  # fmt: skip
    made.add_argument("--figures", action="store_true",
                      help="write each figure as an SVG file, too")  # fmt: skip
    made.add_argument("--json", action="store_true",
                      help="print all numbers as JSON and nothing else; the page is written only "
                      "if --out or --figures is given")  # fmt: skip


# ---- commands ---------------------------------------------------------------------------------


def _run(chosen: argparse.Namespace) -> None:
    given = _given(chosen.name, chosen.values)
    wished = chosen.out or [str(Path("out", "run"))]
    files = [file for text in wished for file in _files(text, given.name)]
    names = ("method", "step", "tolerance", "duration", "every")
    wanted = {name: getattr(chosen, name) for name in names}
    changes: dict[str, Any] = {k: value for k, value in wanted.items() if value is not None}
    if chosen.project:
        changes["project"] = True
    try:
        run = given.simulate(**changes)
    except TautError as error:
        if error.partial is not None and len(error.partial) > 1:
            title = given.title or given.name
            _tell("written, as far as the run came", _salvaged(error.partial, files, title))
        raise
    title = given.title or given.name
    try:
        _show(given, run)
        _write(run, files, title)
    except KeyboardInterrupt:
        data = [file for file in files if file.suffix.lower() in DATA and not file.exists()]
        _tell("written, without what was interrupted", _salvaged(run, data, title))
        raise
    _tell("written", files)


def _show(given: Any, run: Any) -> None:
    from taut.show.happened import happened

    print(f"{given.title or given.name}\n{run.certificate}")
    found = happened(run, EVENTS) if hasattr(run, "events") else []  # beams watch for none
    if found:
        print("\nevents\n" + table(found, head=True))
    known = list(_against(given, run)) if hasattr(given, "facts") else []
    if known:
        print("\nagainst what is known\n" + table(known))


def _given(name: str, values: Sequence[str] = ()) -> Any:
    """A problem by name, or the model in a file."""
    from taut.files.loading import load
    from taut.files.python import is_place, model_of
    from taut.problems import problem

    changes = dict(_value(text) for text in values)
    if name.lower().endswith((".toml", ".urdf")):
        return load(name, **changes)
    if not is_place(name):
        return problem(name, **changes)
    found = model_of(name)
    if changes:
        found.settings["parameters"] = {**found.settings.get("parameters", {}), **changes}
    return found


def _check(chosen: argparse.Namespace) -> None:
    from taut.files.check import checked
    from taut.files.model import Model

    given = _given(chosen.name, chosen.values)
    if not isinstance(given, Model):  # a problem
        settings = ("q0", "v0", "t0", "duration", "step", "method", "project", "parameters")
        given = Model(
            given.system, title=given.title, **{key: getattr(given, key) for key in settings}
        )
    if chosen.project:
        given.settings["project"] = True
    print(checked(given))


def _schema(chosen: argparse.Namespace) -> None:
    import json

    from taut.files.telling import described, json_schema

    shown = json.dumps(json_schema(), indent=2, ensure_ascii=False) if chosen.json else described()
    print(shown)


def _laws(chosen: argparse.Namespace) -> None:
    import json
    from textwrap import fill

    from sympy import latex

    from taut.diagnose.kept import WHY, kept
    from taut.diagnose.watched import by_symmetry
    from taut.laws import conserved

    given = _given(chosen.name)
    name, model, title = given.name, given.system, given.title or chosen.name
    if chosen.degree is None and by_symmetry(model):
        found: Any = kept(model)
        formulas, shown = map(latex, found.expressions()), f"{found}\n{fill(f'laws: {WHY}', WIDTH)}"
    else:
        found = conserved(model.flow or model, degree=chosen.degree)
        formulas, shown = (law.latex() for law in found), str(found)
    if chosen.json:
        print(json.dumps({"problem": name, **found.to_dict()}, indent=2, ensure_ascii=False))
    elif chosen.latex:
        print("\n".join(formulas))
    else:
        print(f"{title}\n{shown}")


def _demo(chosen: argparse.Namespace) -> None:
    from taut.papers.flagships import FLAGSHIPS
    from taut.problems import problem
    from taut.progress import Progress
    from taut.show.compare import compare, side_by_side
    from taut.show.report import collected

    _directory(chosen.out)
    print(f"taut {__version__}: mechanics that holds\n\nThe flagship of each paper")
    for name, (title, _) in FLAGSHIPS.items():
        print(f"  {name:<6}{title.partition(': ')[2]}")
    runs = {}
    with Progress(None, len(FLAGSHIPS) + 2, "demo") as bar:
        for name, (_, made) in FLAGSHIPS.items():
            bar.say(f"simulating {name}")
            runs[name] = made()
            bar.add(1)
        bar.say("a million steps")
        given = problem("zg-double")
        long = given.simulate(duration=1e6 * given.step, every=1000)
        bar.add(1)
        bar.say("writing the page")
        titled = {FLAGSHIPS[name][0]: run for name, run in runs.items()}
        page = collected(
            titled, chosen.out / "index.html", title="Four papers, four runs",
            subtitle="The flagship of each paper that taut grows from, simulated by `taut demo`",
        )  # fmt: skip
        bar.add(1)
    print("\n" + table(side_by_side(runs), head=True))
    print("\nA million steps of the double pendulum\n" + str(long.certificate))
    print("\nThe spherical pendulum with methods that drift, measured in the same way")
    given = problem("zg-spherical")
    others = {label: given.simulate(method=name, duration=600) for label, name in RIVALS.items()}
    print(table(compare(others).rows(), head=True))
    _tell("the page with the runs: open it in a browser", [page])


def _problems(chosen: argparse.Namespace) -> None:
    from taut.problems import names, problem

    if chosen.name is not None:
        print(_described(problem(chosen.name)))
        return
    rows = [("name", "", "coordinates", "constraints", "step", "duration")]
    for name in names():
        try:
            given = problem(name)
        except FileError as error:  # of a robot, without the library that reads it
            rows.append((name, f"needs {error.remedy}", "", "", "", ""))
            continue
        n, c = given.system.n, given.system.c
        rows.append(
            (given.name, given.title, f"{n}", f"{c}", f"{given.step:g}", f"{given.duration:g}")
        )
    print(table(rows, head=True))
    print("\n`taut problems NAME` tells more, `taut run NAME` runs it")


def _methods(chosen: argparse.Namespace) -> None:
    from taut.cite import Citations, found
    from taut.methods import AUTO, CATALOGUE, method_of

    if chosen.name is not None:
        method = method_of(chosen.name)
        print("\n".join([method.label, *aligned(method.claims())]))
        print(Citations({"references": found(method.cited)}))
        return
    rows: list[tuple[str, ...]] = [
        ("name", "order", "symplectic", "symmetric", "keeps g = 0", "keeps E", "source")
    ]
    for name, method in CATALOGUE.items():
        rows.append((name, *(value for _, value in method.claims())))
    print(table(rows, head=True))
    print(f"\nauto is {AUTO} for a given step, and chosen for a tolerance; options of a method are")
    print("given in Python, as in taut.TimeElement(…); `taut methods NAME` gives references")


def _papers(chosen: argparse.Namespace) -> None:
    import json

    from taut.papers import chosen as papers

    found = papers(chosen.names)
    if chosen.list:
        for known in found:
            print(f"  {known.name:<6}{known.title}\n        {known.source}")
        print("\n`taut papers NAME …` reproduces them, `taut papers` all of them")
        return
    from taut.papers.book import reproduce, write

    drawn = not chosen.json or chosen.figures or chosen.out is not None
    out = chosen.out or Path("out", "papers")
    if drawn:
        _directory(out)
    made = reproduce(found, drawn=drawn)
    files = write(made.page, out, chosen.figures) if made.page is not None else []
    if chosen.json:
        print(json.dumps(made.numbers, indent=2, ensure_ascii=False, allow_nan=False))
        return
    print(table((d.paper.name, d.chapter.heading, d.in_words()) for d in made.done))
    _tell("written", dict.fromkeys(f if f.parent == out else f.parent for f in files))


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
    return "\n".join(aligned(rows, head))


def _described(given: Problem) -> str:
    """All about a problem."""
    from taut import problems

    system = given.system
    values = {**system.parameters, **given.parameters}
    sizes = ", ".join(f"{name} = {x:g}" for name, x in problems.sizes(given.name).items())
    rows = [
        *_made_of(given),
        *([("built with", sizes)] if sizes else []),
        (
            "parameters",
            ", ".join(f"{k} = {v:g}" for k, v in values.items() if v is not None) or "none",
        ),
        *_begins(given),
        ("step, duration", f"{given.step:g}, {given.duration:g}"),
        ("closed form", "yes" if given.exact is not None else "no"),
        ("source", given.source),
    ]
    lines = [given.title, table(rows)]
    if given.facts:
        lines.append("\nknown facts")
    for fact in given.facts:
        lines += [f"  {fact.what}{_fact(fact)}", f"    {fact.source}"]
    return "\n".join(lines)


def _made_of(given: Problem) -> list[tuple[str, str]]:
    """Coordinates and constraints, or parts and joints, by name."""
    system, mechanism = given.system, given.mechanism
    if mechanism is None:
        return [
            ("coordinates", _some(s.name for s in system.coordinates)),
            ("constraints", _some(system.constraint_names) or "none"),
        ]
    return [
        ("parts", _some(mechanism.parts)),
        ("joints", _some(mechanism.joints) or "none"),
        ("forces", _some(mechanism.forces) or "none"),
        ("coordinates", f"{system.n}, with {system.c} constraints"),
    ]


def _begins(given: Problem) -> list[tuple[str, str]]:
    """The start, where it can be read."""
    if given.mechanism is not None:
        return [("start", "as it is put together")]
    projected = " (projected)" if given.project else ""
    return [("q0", _vector(given.q0)), ("v0", _vector(given.v0) + projected)]


def _some(names: Iterable[str]) -> str:
    """Names, the first ones if they are many."""
    listed = list(names)
    if len(listed) <= MANY:
        return ", ".join(listed)
    return ", ".join([*listed[:3], "…", listed[-1]]) + f" ({len(listed)})"


def _fact(fact: Fact) -> str:
    """The numbers of a fact, if they are few."""
    for value in (fact.energy, fact.period, fact.value):
        if value is not None:
            return f": {value:.12g}"
    return ""


def _vector(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{x:.6g}" for x in values) + ")"


def _against(given: Problem, run: Trajectory) -> Iterable[tuple[str, str, str]]:
    """How far the run is from each fact and from the closed form."""
    import numpy as np

    from taut.problems.gaps import gap

    for fact in given.facts:
        off = gap(fact, run)
        if off is not None:
            yield fact.what, f"off by {off:.1e}", fact.source
    if given.exact is not None:
        off = float(np.abs(run.q - given.exact(run.t)[0]).max())
        yield "closed form, largest error of a coordinate", f"off by {off:.1e}", given.source


def _tell(what: str, files: Iterable[Path]) -> None:
    print(f"\n{what}")
    for file in files:
        print(f"  {file}")


# ---- files ------------------------------------------------------------------------------------


def _value(text: str) -> tuple[str, float]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    try:
        return name.strip(), float(value if equals else "nothing")
    except ValueError:
        raise InputError(
            "--set does not read as a value", expected="--set NAME=NUMBER", received=brief(text)
        ) from None


def _files(text: str, name: str) -> list[Path]:
    """The files that an --out stands for, found fit before anything is computed or made."""
    path = place(text)
    ending = path.suffix.lower()
    try:
        if text.endswith(("/", os.sep)) or not ending or (path.is_dir() and ending != ".zarr"):
            files = [path / f"{name}{kind}" for kind in (".html", ".png", ".csv", ".json")]
        elif ending in KINDS:
            files = [path]
        else:
            raise InputError(
                f"--out does not know files that end in {path.suffix}",
                expected="a directory, or a file that ends in " + ", ".join(KINDS),
                received=text,
                remedy=f"for a directory of this name write {text}/",
            )
        folder = next(p for p in files[0].absolute().parents if p.exists())
        fit = folder.is_dir() and os.access(folder, os.W_OK)
        reason = None
    except OSError as error:  # a name that is too long cannot even be looked for
        fit, reason = False, error.strerror
    if not fit:
        raise FileError(
            f"{text[:WIDTH]} cannot be written", received=reason, remedy="choose another place"
        )
    return files


def _directory(path: Path) -> None:
    """Make a directory, if need be; it must take files."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{path} cannot be made", received=error.strerror, remedy="choose another directory"
        ) from error
    if not os.access(path, os.W_OK):
        raise FileError(f"{path} cannot be written to", remedy="choose another directory")


def _write(run: Trajectory, files: Iterable[Path], title: str) -> None:
    """Write a run into files; their endings say how."""
    for file in files:
        _directory(file.parent)
        kind = file.suffix.lower()
        part = file if kind == ".zarr" else file.with_name(f".{file.stem}.part{file.suffix}")
        try:
            WRITERS[kind](run, part, title)  # under another name, so that none is half a file
            part.replace(file)
        except BaseException as error:
            if part != file:
                part.unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            raise FileError(f"{file} cannot be written", received=error.strerror) from error


def _salvaged(run: Trajectory, files: Iterable[Path], title: str) -> list[Path]:
    """Write of a failed run what can be written; what failed first is the error to report."""
    made = []
    for file in files:
        with suppress(TautError):
            _write(run, [file], title)
            made.append(file)
    return made


def _save_picture(run: Trajectory, path: Path, _: str) -> None:
    run.plot().savefig(path)


def _save_table(run: Trajectory | FieldTrajectory, path: Path, _: str) -> None:
    """All arrays of a run as comma-separated values, exact to the last bit."""
    import csv

    import numpy as np

    from taut.march.field_trajectory import FieldTrajectory

    if isinstance(run, FieldTrajectory):
        given = {"position": run.positions, "momentum": run.momentum, "strain": run.strain}
        names = ["t"] + [f"{name} {i} {k}" for name, x in given.items()
                         for i in range(x.shape[1]) for k in range(x.shape[2])]  # fmt: skip
        columns = [run.t[:, None], *(x.reshape(len(run.t), -1) for x in given.values())]
    else:
        system = run.system
        names = ["t"] + [s.name for s in (*system.coordinates, *system.velocities, *system.momenta)]
        names += [f"lambda {c}" for c in system.constraint_names]
        columns = [run.t[:, None], run.q, run.v, run.p, run.multipliers]
    names, columns = [*names, "energy"], [*columns, run.energy[:, None]]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(names)
        np.savetxt(file, np.hstack(columns), fmt="%.17g", delimiter=",")


def _save_certificate(run: Trajectory, path: Path, _: str) -> None:
    import json

    watched = getattr(run, "events", {})  # of beams there are none
    events = {name: states.t.tolist() for name, states in watched.items()}
    found = {"parameters": run.parameters, **run.certificate.to_dict(), "events": events}
    path.write_text(json.dumps(found, indent=2, default=float) + "\n", encoding="utf-8")


WRITERS = {
    ".html": lambda run, path, title: run.report(path, title=title),
    **dict.fromkeys(PICTURES, _save_picture),
    **dict.fromkeys(FILMS, lambda run, path, _: run.animate(path)),
    ".csv": _save_table,
    ".json": _save_certificate,
    ".zarr": lambda run, path, _: run.save(path),
}

if __name__ == "__main__":
    sys.exit(main())
