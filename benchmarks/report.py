"""What the benchmarks say: rows with targets, the machine they ran on, and a copy of the output."""

from __future__ import annotations

import argparse
import io
import os
import platform
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("taut", "numpy", "scipy", "sympy", "casadi", "numba", "llvmlite")


@contextmanager
def long_runs():
    """What is compiled is the code of long runs, no draft, however few the steps."""
    from taut.kernel import compile as compiling

    usual, compiling.MANY = compiling.MANY, 0
    try:
        yield
    finally:
        compiling.MANY = usual


@dataclass(frozen=True)
class Row:
    """One line of the table; `limit` is the largest value that meets the target."""

    name: str
    value: float
    unit: str
    limit: float | None = None

    @property
    def met(self):
        return None if self.limit is None else self.value <= self.limit

    def __str__(self):
        line = f"{self.name:<62}{_number(self.value):>9} {self.unit:<4}"
        if self.limit is None:
            return line.rstrip()
        verdict = "met" if self.met else "MISSED"
        return f"{line}{'≤ ' + _number(self.limit):>9} {self.unit:<4} {verdict}".rstrip()


def _number(value):
    return f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:.4g}"


def environment(packages=PACKAGES, **more):
    """The machine and the versions, as one dict."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":", 1)[1].strip() if names else cpu
    versions = {name: version(name) for name in packages}
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **more,
        **versions,
    }


class Tee(io.StringIO):
    """Standard output that also remembers what was printed."""

    def write(self, text):
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def command(text, run):
    """A benchmark as a command: its module's text, and what is called with (quick, paste)."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="measure less of everything")
    parser.add_argument("--paste", action="store_true", help="and put it into the docs")
    options = parser.parse_args()
    if options.quick and options.paste:
        parser.error("a quick run is not for the documentation")
    os.environ["TAUT_THREADS"] = "1"  # read when taut is imported
    run(options.quick, options.paste)
