"""Compile `rattle_double_pendulum.c` and call it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pendulum import MASS, STEP

SOURCE = Path(__file__).with_name("rattle_double_pendulum.c")
COMMAND = ("gcc", "-O3", "-march=native", "-shared", "-fPIC")
VARIANTS = {
    "bare": {"COMPENSATED": 0, "MONITOR": 0},
    "monitored": {"COMPENSATED": 0, "MONITOR": 1},
    "compensated": {"COMPENSATED": 1, "MONITOR": 0},
    "compensated + monitored": {"COMPENSATED": 1, "MONITOR": 1},
}
BARE, SAME_WORK = "bare", "compensated + monitored"

_DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
_LONGS = np.ctypeslib.ndpointer(ctypes.c_long, flags="C_CONTIGUOUS")


@dataclass(frozen=True)
class Outcome:
    """Last state and, if the variant monitors, the extremes over all steps; one row per start."""

    q: np.ndarray
    v: np.ndarray
    newton: np.ndarray
    max_g: np.ndarray
    max_gv: np.ndarray
    energy_min: np.ndarray
    energy_max: np.ndarray


def compiler():
    """First line of `gcc --version`, or None if there is no gcc."""
    if shutil.which(COMMAND[0]) is None:
        return None
    answer = subprocess.run([COMMAND[0], "--version"], capture_output=True, text=True, check=True)
    return answer.stdout.splitlines()[0]


def build(folder):
    """Compile every variant into `folder`; returns {variant: function(starts, steps, step)}."""
    return {name: _build_variant(Path(folder), name) for name in VARIANTS}


def _build_variant(folder, name):
    library = folder / f"rattle_{'_'.join(name.split(' + '))}.so"
    options = [f"-D{key}={value}" for key, value in VARIANTS[name].items()]
    subprocess.run([*COMMAND, *options, "-o", library, SOURCE, "-lm"], check=True)
    batch = ctypes.CDLL(str(library)).rattle_batch
    batch.restype = None
    batch.argtypes = [
        *(_DOUBLES, _DOUBLES, ctypes.c_double, ctypes.c_long),
        *(_DOUBLES, _LONGS, _DOUBLES, ctypes.c_long),
    ]

    def run(starts, steps, step=STEP, v0=None):
        q = np.array(starts, dtype=np.float64, ndmin=2)
        p = np.zeros_like(q) if v0 is None else np.array(v0 * MASS, ndmin=2)
        count = len(q)
        extremes, energies = np.full((count, 2), np.nan), np.full((count, 2), np.nan)
        newton = np.zeros(count, dtype=ctypes.c_long)
        batch(q, p, step, steps, extremes, newton, energies, count)
        if (newton < 0).any():
            raise RuntimeError(f"Newton failed in C for start {np.argmin(newton)}")
        return Outcome(q, p / MASS, newton, *extremes.T, *energies.T)

    return run
