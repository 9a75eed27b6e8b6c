"""Threads that compile and run at the same time, and forks in the middle of that."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HANGS = 1200  # seconds after which it never ends


def alone(tmp_path, *command):
    """A Python process of its own with an empty cache: (exit code, what it said, errors)."""
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", *command],
        env=os.environ | {"TAUT_CACHE_DIR": str(tmp_path / "cache")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        said, errors = process.communicate(timeout=HANGS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # and its children
        process.communicate()
        raise
    return process.returncode, said.strip(), errors[-4000:]


def test_every_road_in_eight_threads_from_an_empty_cache(tmp_path):
    code, said, errors = alone(tmp_path, str(HERE / "roads.py"))
    assert code == 0, errors
    assert said.endswith("roads, the same bits"), said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_while_others_compile(tmp_path):
    code, said, errors = alone(tmp_path, str(HERE / "forks.py"))
    assert (code, said) == (0, "all came back"), errors


FORGOTTEN = """
import ctypes, gc, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, roads, taut
from taut.kernel import native, strand

def disturb(*_):
    strand._compiled.cache_clear()
    gc.collect()
    for k in range(3):  # memory that was given back is taken again
        disturb.kept.append(native.compiled(f"define i64 @f{k}() {{\\n  ret i64 {k}\\n}}\\n"))

disturb.kept = []
for options in ({}, {"damping": 2e-3}):
    beam = roads.beam(7, **options)
    alone = taut.simulate(beam, duration=2e-2, step=2e-4)
    for _ in range(3):
        run = taut.simulate(beam, duration=2e-2, step=2e-4, progress=disturb)
        assert roads.of_field(run) == roads.of_field(alone)
print("same", len(disturb.kept) > 0)
"""


def test_code_that_a_run_calls_lives_as_long_as_the_run(tmp_path):
    """What is remembered of it may be forgotten meanwhile, by other models."""
    code, said, errors = alone(tmp_path, "-c", FORGOTTEN, str(HERE))
    assert (code, said) == (0, "same True"), errors
