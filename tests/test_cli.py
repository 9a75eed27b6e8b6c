"""The command line: what it prints, what it writes, how it ends."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import taut
from taut import cli
from taut.methods import CATALOGUE
from taut.problems import names, problem

HEAVY = ("casadi", "llvmlite", "matplotlib", "numba", "numpy", "rich", "scipy", "sympy", "xarray")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Every test has a directory of its own, in which defaults such as ./out end up."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def command(capsys):
    """Run a command; (exit code, standard output, standard error)."""

    def call(*arguments):
        try:
            code = cli.main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


class TestStart:
    def test_help_imports_nothing_heavy(self):
        script = (
            "import sys\n"
            "from taut.cli import main\n"
            "try: main(['--help'])\n"
            "except SystemExit as end: assert end.code == 0\n"
            f"print([m for m in {HEAVY!r} if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
        assert "demo" in done.stdout

    def test_help_is_quick(self):
        best = np.inf
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-m", "taut.cli", "--help"], check=True,
                           capture_output=True)  # fmt: skip
            best = min(best, time.perf_counter() - begin)
        assert best < 1.0

    @pytest.mark.parametrize("arguments", [[], ["--help"], ["run", "--help"], ["bench", "--help"]])
    def test_help(self, command, arguments):
        code, out, _ = command(*arguments)
        assert code == 0
        assert out.startswith("usage: taut")

    def test_version(self, command):
        assert command("--version") == (0, f"taut {taut.__version__}\n", "")

    @pytest.mark.parametrize(
        "arguments",
        [["fly"], ["run"], ["methods", "--quick"], ["run", "pendulum", "--step", "x"]],
    )
    def test_a_wrong_command_ends_with_2(self, command, arguments):
        code, _, err = command(*arguments)
        assert code == 2
        assert "usage: taut" in err

    @pytest.mark.parametrize(
        ("option", "hint"),
        [
            ("--dt=0.1", "dt is called step here: --step"),
            ("--t-end=1", "--duration"),
            ("--q=1", ""),
        ],
    )
    def test_options_of_others(self, command, option, hint):
        code, _, err = command("run", "pendulum", option)
        assert code == 2
        assert f"unrecognized arguments: {option}" in err
        assert hint in err
        assert ("(" in err.splitlines()[-1]) == bool(hint)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["nosuch.toml"], ["."], [""], ["a\tb"], ["pendulum", "--method", "RK45"],
            ["pendulum", "--step", "nan"], ["pendulum", "--duration", "-1"],
            ["pendulum", "--every", "0"], ["pendulum", "--set", "g"],
            ["pendulum", "--tolerance", "0"], ["pendulum", "--out", "x" * 300 + ".html"],
            ["pendulum", "--out", "run.mat"], ["pendulum", "--out", "file/a.html"],
        ],
    )  # fmt: skip
    def test_wrong_arguments_are_told_in_one_message(self, command, arguments, tmp_path):
        (tmp_path / "file").write_text("")
        code, out, err = command("run", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith("taut: ")
        assert "Traceback" not in err
        assert [x.name for x in tmp_path.iterdir()] == ["file"]

    def test_the_installed_command_is_this_one(self):
        script = Path(sys.executable).with_name("taut")
        done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"taut {taut.__version__}\n"


class TestLists:
    def test_problems(self, command):
        code, out, _ = command("problems")
        assert code == 0
        listed = [row.split()[0] for row in out.splitlines()[2:] if row.strip()]
        assert listed[: len(names())] == names()

    def test_problems_without_the_library_of_robots(self, command, monkeypatch):
        monkeypatch.setitem(sys.modules, "lxml", None)
        code, out, _ = command("problems")
        assert code == 0
        assert re.search(r"six-axis-arm +needs pip install .taut\[urdf\]", out)
        code, _, err = command("run", "six-axis-arm")
        assert code == 2
        assert "taut[urdf]" in err

    @pytest.mark.parametrize("name", names())
    def test_one_problem(self, command, name):
        code, out, _ = command("problems", name)
        given = problem(name)
        assert code == 0
        assert out.startswith(given.title)
        assert given.source in out
        for fact in given.facts:
            assert fact.what in out

    def test_unknown_problem(self, command):
        code, out, err = command("problems", "zg-doubel")
        assert (code, out) == (2, "")
        assert err.startswith("taut: there is no problem called 'zg-doubel'")
        assert "did you mean 'zg-double'?" in err
        assert "Traceback" not in err

    def test_methods_show_their_claims(self, command):
        code, out, _ = command("methods")
        assert code == 0
        rows = {row.split()[0]: row.split()[1:] for row in out.splitlines() if row.strip()}
        for name, method in CATALOGUE.items():
            wanted = [method.symplectic, method.symmetric, method.keeps_constraints]
            wanted.append(method.keeps_energy)
            assert rows[name][0] == str(method.order)
            assert rows[name][1:5] == ["yes" if x else "no" for x in wanted]

    def test_a_method_tells_its_references(self, command):
        code, out, _ = command("methods", "composition-4")
        assert code == 0
        assert "composition-4" in out
        assert "doi:10.1016/0021-9991(83)90014-1" in out  # of RATTLE, which it is made of
        code, _, err = command("methods", "ratle")
        assert code != 0
        assert "did you mean 'rattle'?" in err

    def test_papers(self, command):
        code, out, _ = command("papers", "--list")
        assert code == 0
        assert "zg" in out
        assert "Zhong Wanxie" in out
        assert "Chongqing" in out
        assert "sgm" in out
        assert "Shang Mei" in out
        code, _, err = command("papers", "abc")
        assert code == 2
        assert "no paper called 'abc'" in err

    def test_columns_are_aligned_under_accents(self):
        rows = cli.table([("G q̇", "1"), ("abcd", "2")]).splitlines()
        assert rows == ["  G q̇   1", "  abcd  2"]


class TestRun:
    def test_prints_the_certificate_and_writes_plot_data_and_numbers(self, command, tmp_path):
        code, out, err = command("run", "zg-double", "--duration", "2")
        assert (code, err) == (0, "")
        assert out.startswith("ZG 3a: planar double pendulum\nrattle, 200 steps of 0.01")
        assert "max |g|" in out
        folder = Path("out", "run")
        endings = (".html", ".png", ".csv", ".json")
        files = [folder / f"zg-double{ending}" for ending in endings]
        assert out.splitlines()[-4:] == [f"  {f}" for f in files]
        assert "taut-view" in files[0].read_text()
        assert files[1].read_bytes().startswith(b"\x89PNG")
        found = json.loads(files[3].read_text())
        assert found["steps"] == 200
        assert found["max_g"] < 1e-14
        assert found["parameters"]["g"] == 10

    def test_remedies_are_options(self, command):
        code, _, err = command("run", "pendulum", "--set", "l=2")
        assert code == 2
        assert "--project takes the nearest consistent state" in err
        assert "project=True" not in err
        code, out, _ = command("run", "pendulum", "--set", "l=2", "--project", "--out", "a.json")
        assert code == 0
        assert "round-off" in out
        code, _, err = command("run", "pendulum", "--step", "2", "--duration", "20")
        assert code == 2
        assert "error.partial" not in err
        assert "use a smaller step" in err

    def test_csv_holds_every_bit(self, command):
        assert command("run", "zg-spatial", "--duration", "1", "--out", "a.csv")[0] == 0
        run = problem("zg-spatial").simulate(duration=1)
        with open("a.csv", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        assert head[:4] == ["t", "x1", "y1", "z1"]
        assert head[-3:] == ["lambda upper rod", "lambda lower rod", "energy"]
        table = np.array(rows, dtype=float)
        wanted = [run.t[:, None], run.q, run.v, run.p, run.multipliers, run.energy[:, None]]
        np.testing.assert_array_equal(table, np.hstack(wanted))

    def test_options_reach_the_run(self, command):
        code, out, _ = command(
            "run", "zg-pendulum", "--method", "time-element", "--step", "0.005", "--duration", "1",
            "--every", "10", "--set", "g=2.5", "--set", "m=3", "--out", "x.json", "--out", "x.csv",
        )  # fmt: skip
        assert code == 0
        assert "time-element, 200 steps of 0.005" in out
        assert "against what is known" not in out  # other parameters, other facts
        found = json.loads(Path("x.json").read_text())
        assert found["parameters"] == {"m": 3.0, "r": 1.0, "g": 2.5}
        assert found["energy0"] == pytest.approx(-3 * 2.5 * (1 - 0.99**2) ** 0.5)
        assert len(Path("x.csv").read_text().splitlines()) == 1 + 21

    def test_tells_how_far_it_is_from_what_is_known(self, command):
        _, out, _ = command("run", "car-axis", "--out", "x.json")
        (line,) = (row for row in out.splitlines() if "state and multipliers at t = 3" in row)
        gap = float(line.partition("off by ")[2].split()[0])
        run, fact = problem("car-axis").simulate(), problem("car-axis").facts[-1]
        wanted = max(
            np.abs(run.q[-1] - fact.q).max(), np.abs(run.v[-1] - fact.v).max(),
            np.abs(run.multipliers[-1] - fact.multipliers).max(),
        )  # fmt: skip
        assert gap == pytest.approx(wanted, rel=0.06)

    def test_energy_facts_are_compared_at_their_time(self, command):
        _, out, _ = command("run", "circular-track", "--out", "x.json")
        gaps = [float(row.partition("off by ")[2].split()[0])
                for row in out.splitlines() if "2t²" in row]  # fmt: skip
        assert gaps[0] < 1e-12
        assert max(gaps) < 0.1

    @pytest.mark.parametrize("ending", [".png", ".svg", ".pdf", ".json", ".csv"])
    def test_one_file_of_each_kind(self, command, ending):
        target = Path("deep", "er", f"a{ending}")
        code, out, _ = command("run", "pendulum", "--duration", "0.5", "--out", target)
        assert code == 0
        assert target.stat().st_size > 100
        assert [p.name for p in target.parent.iterdir()] == [target.name]
        assert out.endswith(f"written\n  {target}\n")

    def test_a_zarr_store_can_be_loaded_and_replaced(self, command):
        for duration in ("1", "0.5"):
            code, _, _ = command("run", "pendulum", "--duration", duration, "--out", "a.zarr")
            assert code == 0
        run = problem("pendulum").simulate(duration=0.5)
        np.testing.assert_array_equal(taut.load("a.zarr").q, run.q)

    def test_a_directory_with_a_dot_in_its_name(self, command):
        code, _, _ = command("run", "pendulum", "--duration", "0.5", "--out", "v1.csv/")
        assert code == 0
        assert {p.suffix for p in Path("v1.csv").iterdir()} == {".html", ".png", ".csv", ".json"}

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["nope"], "there is no problem called 'nope'"),
            (["pendulum", "--method", "euler"], "there is no method called 'euler'"),
            (["pendulum", "--step", "0"], "step must be positive"),
            (["pendulum", "--step", "nan"], "step is not finite"),
            (["pendulum", "--step", "3", "--duration", "1"], "step is longer than duration"),
            (["pendulum", "--every", "0"], "every must be a whole number"),
            (["pendulum", "--set", "g"], "--set does not read as a value"),
            (["pendulum", "--set", "g=much"], "--set does not read as a value"),
            (["pendulum", "--set", "h=1"], "there is no parameter called 'h'"),
            (["pendulum", "--out", "a.txt"], "--out does not know files that end in .txt"),
        ],
    )
    def test_bad_input_ends_with_2_and_leaves_nothing(self, command, tmp_path, arguments, said):
        code, out, err = command("run", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"taut: {said}")
        assert "Traceback" not in err
        assert list(tmp_path.iterdir()) == []

    def test_a_place_that_cannot_be_written(self, command):
        Path("file").write_text("mine")
        for out in ("file/a.png", "file/deeper/"):
            code, _, err = command("run", "pendulum", "--duration", "0.5", "--out", out)
            assert code == 2
            assert "cannot be written" in err
        assert Path("file").read_text() == "mine"

    def test_a_run_that_fails_keeps_what_it_has(self, command):
        code, out, err = command(
            "run", "zg-double", "--method", "symplectic-euler", "--step", "0.05",
            "--duration", "100", "--out", "x.csv",
        )  # fmt: skip
        assert code == 2
        assert err.startswith("taut: no step could be made at t = ")
        assert "as far as the run came\n  x.csv" in out
        assert len(Path("x.csv").read_text().splitlines()) > 2


class TestEnds:
    def test_ctrl_c_ends_with_130(self, command, monkeypatch):
        def interrupted(self, **_):
            raise KeyboardInterrupt

        monkeypatch.setattr("taut.problems.base.Problem.simulate", interrupted)
        code, _, err = command("run", "pendulum")
        assert code == 130
        assert err == "interrupted\n"

    def test_an_interrupted_run_ends_with_130_and_keeps_what_it_has(self, command, monkeypatch):
        whole = problem("pendulum").simulate(duration=1)

        def interrupted(self, **_):
            raise taut.Interrupted("interrupted at t = 1", partial=whole)

        monkeypatch.setattr("taut.problems.base.Problem.simulate", interrupted)
        code, out, err = command("run", "pendulum", "--out", "x.csv")
        assert code == 130
        assert err.startswith("interrupted at t = 1")
        assert "x.csv" in out
        assert Path("x.csv").exists()

    def test_what_interrupts_a_report_does_not_take_the_run_with_it(self, command, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("taut.march.trajectory.Trajectory.report", interrupted)
        code, out, _ = command("run", "pendulum", "--duration", "1", "--out", "there/")
        assert code == 130
        assert [x.name for x in Path("there").iterdir()] == ["pendulum.csv"]
        assert "written, without what was interrupted\n  there/pendulum.csv" in out

    @pytest.mark.skipif(os.name != "posix", reason="signals")
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_a_long_run(self, number, tmp_path):
        script = (
            "from taut.cli import main; from taut.problems.base import Problem\n"
            "old = Problem.simulate\n"
            "Problem.simulate = lambda *a, **k: (print('begin', flush=True), old(*a, **k))[1]\n"
            "raise SystemExit(main())"
        )
        arguments = [
            "run",
            "zg-double",
            "--duration",
            "1e9",
            "--every",
            "1000000",
            "--out",
            "x.csv",
        ]
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        )  # fmt: skip
        assert process.stdout.readline() == "begin\n"
        time.sleep(2)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 128 + number, out + err
        assert "Traceback" not in err
        if "nothing had been computed" not in err:  # it was quick to begin
            assert len(np.loadtxt(tmp_path / "x.csv", delimiter=",", skiprows=1).shape) > 0

    @pytest.mark.skipif(os.name != "posix", reason="pipes")
    def test_a_reader_that_leaves_is_no_error_message(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [sys.executable, "-m", "taut.cli", "methods"], stdout=write, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        os.close(write)
        assert done.returncode == 1
        assert done.stderr == ""


class TestDemo:
    @pytest.fixture
    def shown(self, command):
        return command("demo", "--out", "there")

    def test_shows_certificates_and_names_its_files(self, shown):
        code, out, err = shown
        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == f"  {Path('there', 'index.html')}"
        page = Path("there", "index.html").read_text()
        assert page.count('class="taut-view"') == 4
        head = next(row for row in out.splitlines() if row.split() == ["zg", "cq", "sgm", "cs"])
        assert out.splitlines()[out.splitlines().index(head) + 2].split()[1:] == [
            "time-element", "symplectic-rk", "corrected", "poisson",
        ]  # fmt: skip
        assert "1000000 steps of 0.01" in out
        tables = [row.split()[1:] for row in out.splitlines() if row.startswith("  resolution  ")]
        assert all(len(row) == 4 and {*row} <= {"resolved", "coarse"} for row in tables[:1])
        assert len(tables) == 3  # of the flagships, of the long run, of methods that drift

    def test_is_honest_about_methods_that_drift(self, shown):
        out = shown[1].partition("methods that drift")[2]
        drift = next(row for row in out.splitlines() if row.startswith("  energy drift"))
        assert drift.split()[2:] == ["no", "drift", "drifts", "drifts"]

    def test_fits_a_terminal(self, shown):
        assert max(map(len, shown[1].splitlines())) <= 100


class TestOthers:
    def test_bench_passes_arguments_and_exit_code(self, command, monkeypatch):
        calls = []
        monkeypatch.setattr(subprocess, "call", lambda line: calls.append(line) or 3)
        code, _, _ = command("bench", "--quick")
        assert code == 3
        ((python, script, option),) = calls
        assert (python, option) == (sys.executable, "--quick")
        assert script.endswith(str(Path("benchmarks", "run.py")))

    def test_bench_outside_a_checkout_says_where_it_is(self, command, monkeypatch, tmp_path):
        monkeypatch.setattr(cli, "__file__", str(tmp_path / "a" / "b" / "cli.py"))
        code, _, err = command("bench")
        assert code == 2
        assert "make bench" in err


def test_laws_are_printed_as_a_table_as_formulas_and_for_machines(command):
    code, text, _ = command("laws", "spherical-pendulum")
    assert code == 0
    assert "angular momentum" in text
    assert "2 laws, 2 independent" in text
    _, text, _ = command("laws", "spherical-pendulum", "--latex")
    assert r"\dot{x}" in text
    _, text, _ = command("laws", "spherical-pendulum", "--json", "--degree", "2")
    found = json.loads(text)
    assert [law["kind"] for law in found["laws"]] == ["energy", "angular momentum"]
    assert found["rank"] == 2
    code, _, text = command("laws", "spherical-pendulum", "--degree", "0")
    assert code != 0
    assert "degree" in text


def test_laws_of_a_model_in_a_file(command, tmp_path):
    file = tmp_path / "models.py"
    file.write_text(
        "import taut\n"
        "x, y = q = taut.coordinates('x y')\n"
        "well = taut.System(q, mass=1, potential=x**2 + y**2)\n"
        "spin = taut.Flow(q, [y, -x])\n"
    )
    code, text, _ = command("laws", f"{file}:well")
    assert code == 0
    assert "angular momentum" in text
    _, text, _ = command("laws", f"{file}:spin", "--json")
    found = json.loads(text)
    assert (found["problem"], found["rank"]) == ("spin", 1)
    code, _, text = command("laws", str(file))
    assert code == 2
    assert "makes 2 models" in text
    assert "well, spin" in text
    code, _, text = command("laws", f"{file}:wall")
    assert code == 2
    assert "did you mean 'well'?" in text
    for name, program, word in [
        ("none.py", None, "there is no file"),
        ("bad.py", "1 / 0", "ZeroDivisionError"),
        ("empty.py", "x = 1", "makes no models"),
        ("wrong.py", "import taut\ntaut.Flow([], [])", "variables of a flow"),
    ]:
        if program is not None:
            (tmp_path / name).write_text(program)
        code, _, text = command("laws", str(tmp_path / name))
        assert code == 2
        assert word in text
    (tmp_path / "one.py").write_text(file.read_text().rpartition("spin")[0])
    assert command("laws", str(tmp_path / "one.py"))[0] == 0
    code, _, text = command("laws", "pendulums")
    assert code == 2
    assert "there is no problem called" in text


MODEL = """\
title = "Rod"
[parameters]
l = 1.0
[system]
coordinates = "x y"
mass = 1
potential = "10*y"
constraints = ["x**2 + y**2 = l**2"]
[start]
q = ["-l", 0]
v = 0
[run]
duration = 0.1
step = 0.01
every = 5
"""


CART = """\
title = "A cart on a rail"
[bodies.cart]
mass = 2.0
inertia = [0.1, 0.1, 0.1]
at = [0, 0, 0]
velocity = [1.5, 0, 0]
[joints.rail]
kind = "prismatic"
between = ["ground", "cart"]
at = [0, 0, 0]
axis = [1, 0, 0]
[run]
duration = 1
step = 0.1
laws = "none"
[events]
far = "slide_rail - 1"
fast = "slide_rail_dot - 2"
"""
FREE = """\
title = "Two that hang together"
gravity = [0, 0, -10]
[bodies.one]
mass = 2.0
inertia = [0.1, 0.1, 0.1]
at = [0, 0, 0]
velocity = [1.5, 0, 0]
angular_velocity = [0, 0, 3]
[points.two]
mass = 0.5
at = [1, 0, 0]
velocity = [1.5, 3, 0]
[joints.rod]
kind = "rod"
between = ["one", "two"]
ends = [[0, 0, 0], [1, 0, 0]]
"""


class TestMechanismFiles:
    def test_events_of_joints_are_found_and_told(self, command, tmp_path):
        (tmp_path / "cart.toml").write_text(CART)
        code, text, _ = command("run", "cart.toml", "--out", "out/")
        assert code == 0
        table = text.partition("\nevents\n")[2].splitlines()
        assert table[0].split() == ["t", "event", "state"]
        assert " ".join(table[2].split()) == "0.666666667 far slide rail = 1, rate = 1.5"
        assert table[3].split() == ["never", "fast"]
        found = json.loads((tmp_path / "out" / "cart.json").read_text())["events"]
        assert found["far"] == [pytest.approx(1 / 1.5, rel=1e-12)]
        assert found["fast"] == []
        page = (tmp_path / "out" / "cart.html").read_text()
        assert "<h1>A cart on a rail</h1>" in page
        assert 'id="events"' in page
        assert "slide rail = 1, rate = 1.5" in page

    def test_a_file_with_joints_in_events_is_written_and_read_again(self, tmp_path):
        (tmp_path / "cart.toml").write_text(CART)
        again = taut.load(taut.load(tmp_path / "cart.toml").save(tmp_path / "again.toml"))
        assert again.simulate().events["far"].t == pytest.approx([1 / 1.5])

    def test_a_word_that_is_none_is_refused_with_its_line(self, command, tmp_path):
        (tmp_path / "cart.toml").write_text(CART.replace("slide_rail_dot", "slide_rale_dot"))
        code, _, err = command("run", "cart.toml")
        assert code == 2
        assert "cart.toml:18: " in err
        assert "slide_rale_dot" in err

    def test_laws_are_the_momenta_of_its_symmetries(self, command, tmp_path):
        """m v, and about the common centre of mass what a turn with it keeps."""
        (tmp_path / "free.toml").write_text(FREE)
        code, text, _ = command("laws", "free.toml")
        assert code == 0
        lines = [line.split("  ") for line in text.splitlines()]
        rows = {x[1]: " ".join(x[2:]).strip() for x in lines if len(x) > 2}
        assert rows["momentum x"] == "3.75 at the start"  # (2 + 0.5) · 1.5
        assert rows["momentum y"] == "1.5 at the start"  # 0.5 · 3
        assert rows["angular momentum z"] == "1.8 at the start"  # 0.1 · 3 + 0.5 · 3
        assert rows["energy"] == "5.5125 at the start"  # 2.8125 + 0.45 + 2.25
        assert "momentum z" not in rows
        assert text.startswith(
            "Two that hang together\nMechanism: 1 point, 1 body, 1 joint, 0 forces: 4 laws"
        )
        assert "not searched for" in text
        assert max(map(len, text.splitlines())) <= 100
        _, text, _ = command("laws", "free.toml", "--json")
        found = json.loads(text)
        assert [law["name"] for law in found["laws"]] == [
            "angular momentum z", "momentum x", "momentum y"
        ]  # fmt: skip
        assert found["laws"][1]["expression"] == "p_x_one + p_x_two"
        assert "not searched for" in found["complete"]
        _, text, _ = command("laws", "free.toml", "--latex")
        assert len(text.splitlines()) == 3

    def test_laws_of_one_that_keeps_nothing(self, command, tmp_path):
        (tmp_path / "cart.toml").write_text(
            CART + '[forces.drag]\nkind = "push"\njoint = "rail"\ndamping = 1.0\n'
        )
        code, text, _ = command("laws", "cart.toml")
        assert code == 0
        assert "0 laws" in text
        assert "not kept: forces or moving joints do work" in text
        assert "none: joints to the ground" in text


class TestModelFiles:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "rod.toml"
        path.write_text(MODEL)
        return path

    def test_run(self, command, file, tmp_path):
        code, text, _ = command("run", file, "--set", "l=2", "--out", "a.csv", "--out", "b/")
        assert code == 0
        assert text.startswith("Rod\nrattle, 10 steps of 0.01")
        with open("a.csv") as table:
            rows = list(csv.DictReader(table))
        assert [float(rows[0][name]) for name in ("t", "x", "y")] == [0, -2, 0]
        assert len(rows) == 3
        assert (tmp_path / "b" / "rod.html").is_file()
        code, text, _ = command("run", file, "--step", "0.05", "--every", 1, "--out", "a.csv")
        assert "2 steps of 0.05" in text

    def test_check(self, command, file):
        code, text, _ = command("check", file)
        assert code == 0
        assert "freedom    1 degree\n" in text
        assert "start      consistent" in text
        file.write_text(MODEL.replace('"-l", 0', '"-l", 0.5'))
        code, _, text = command("check", file)
        assert code == 2
        assert "--project takes the nearest consistent state" in text
        code, text, _ = command("check", file, "--project")
        assert code == 0
        assert "start      projected" in text
        file.write_text(MODEL.replace("mass", "maß"))
        code, _, text = command("check", file)
        assert code == 2
        assert "rod.toml:6: " in text

    def test_a_beam(self, command, tmp_path):
        """By itself: run, with its table, and checked; it has no laws to be found."""
        path = tmp_path / "blade.toml"
        given = (Path(__file__).parents[1] / "examples" / "blade.toml").read_text()
        path.write_text(given.replace("nodes = 25", "nodes = 5"))
        code, text, _ = command("run", path, "--duration", "0.002", "--out", "a.csv", "--out", "b/")
        assert code == 0
        assert text.startswith("A blade that swings\n")
        with open("a.csv") as table:
            rows = list(csv.DictReader(table))
        assert len(rows) == 2
        assert float(rows[0]["position 4 0"]) == pytest.approx(0.6)
        assert len(rows[0]) == 1 + 5 * 9 + 4 * 6 + 1
        assert (tmp_path / "b" / "blade.html").is_file()
        code, text, _ = command("check", path)
        assert code == 0
        assert "freedom  24 degrees" in text
        code, _, text = command("laws", path)
        assert code == 2
        assert "a beam is no taut.System" in text

    def test_laws(self, command, file):
        code, text, _ = command("laws", file)
        assert code == 0
        assert "energy" in text
        assert text.startswith("Rod\n")

    def test_schema(self, command):
        code, text, _ = command("schema")
        assert code == 0
        assert '[joints.NAME] kind = "revolute"  a hinge' in text
        code, text, _ = command("schema", "--json")
        assert json.loads(text)["properties"]["joints"]

    def test_what_is_wrong(self, command, file):
        code, _, text = command("run", file, "--set", "k=1")
        assert code == 2
        assert "there is no parameter called 'k'" in text
        for name in ("run", "check", "laws"):
            code, _, text = command(name, "none.toml")
            assert code == 2
            assert "there is no file none.toml" in text

    def test_models_of_python_files_and_problems(self, command, tmp_path):
        (tmp_path / "swing.py").write_text(
            "import taut\n"
            "m = taut.Mechanism(gravity=(0, 0, -10))\n"
            "m.rod(m.ground, m.point('a', mass=1, at=(1, 0, 0)))\n"
            "quick = taut.Model(m, duration=0.1, step=0.05, laws=None)\n"
        )
        code, text, _ = command("check", "swing.py:m")
        assert code == 0
        assert "2 degrees" in text
        code, text, _ = command("run", "swing.py:quick", "--out", "a.csv")
        assert code == 0
        assert text.startswith("quick\nrattle, 2 steps of 0.05")
        code, _, text = command("run", "swing.py:m", "--step", 0.1)
        assert code == 2
        assert "there is no duration" in text
        code, text, _ = command("check", "pendulum")
        assert code == 0
        assert "for 10 in steps of 0.01" in text
