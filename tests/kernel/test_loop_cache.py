"""Compiled loops that are kept on disk are those of today's functions and constants."""

import importlib
import subprocess
import sys

import pytest

from taut.kernel.jit import entry, within
from taut.kernel.loop_cache import LoopCache, reach
from taut.march import loop

COUNT = 2
CALLER = """
import sys
import taut
taut.__path__.append(sys.path[0])  # a part of its own, in this folder
from taut import part
from taut.kernel.jit import entry
from taut.part import SIZE, share

@entry
def whole(x):
    return share(x) * SIZE + part.OFFSET

print(whole(1.0), sum(whole.stats.cache_hits.values()))
"""
CALLED = """
from taut.kernel.jit import within

SIZE, OFFSET = {size}, {offset}

@within
def share(x):
    return {share}
"""


def run(folder, size=10, offset=1000, share="x / 2", **_):
    (folder / "part.py").write_text(CALLED.format(size=size, offset=offset, share=share))
    done = subprocess.run(
        [sys.executable, "-B", str(folder / "caller.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split()
    return float(value), int(hits)


def test_what_has_changed_in_another_file_is_compiled_anew(tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)
    assert run(tmp_path) == (1005.0, 0)
    assert run(tmp_path) == (1005.0, 1)
    assert run(tmp_path, size=20) == (1010.0, 0)


@within
def share(x):
    return x / COUNT


@entry
def whole(x):
    return share(x) + loop.GUESSES


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setitem(globals(), "COUNT", 3),
        lambda patch: patch.setattr(loop, "GUESSES", 3, raising=False),
        lambda patch: patch.setattr(share.py_func, "__code__", (lambda x: x * COUNT).__code__),
    ],
    ids=["constant", "constant of a module", "function"],
)
def test_all_that_a_function_reaches_counts(monkeypatch, change):
    monkeypatch.setattr(loop, "GUESSES", 1, raising=False)
    plain = reach.__wrapped__
    before = plain(whole.py_func)
    assert plain(whole.py_func) == before
    change(monkeypatch)
    assert plain(whole.py_func) != before


def test_the_reach_of_a_function_is_the_same_in_every_process():
    code = (
        "from taut.march import loop\nfrom taut.kernel.loop_cache import reach\n"
        "print(reach(loop.march.py_func))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONHASHSEED": k}
        ).stdout.strip()
        for k in "12"
    }
    assert said == {reach(loop.march.py_func)}


def test_nothing_is_kept_in_another_way():
    importlib.import_module("taut.march.simulate")
    modules = [x for name, x in sys.modules.items() if name.startswith("taut.")]
    caches = [getattr(x, "_cache", None) for module in modules for x in vars(module).values()]
    kept = [x for x in caches if hasattr(x, "_cache_file")]
    assert len(kept) > 50
    assert all(isinstance(x, LoopCache) for x in kept)
