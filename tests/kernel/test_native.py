"""The cache of compiled code: hits, damage, races, places where nothing can be written."""

import ctypes
import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import pytest

import taut
from taut.kernel import native
from taut.kernel.native import Native, cache_directory, compiled, object_code
from taut.kernel.vault import KEY, KIND, read_checked


def ir(number, name="f"):
    """A function that returns `number`."""
    return f"define i64 @{name}() {{\n  ret i64 {number}\n}}\n"


def result(module, name="f"):
    return ctypes.CFUNCTYPE(ctypes.c_int64)(module.address(name))()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    where = tmp_path / "cache"
    monkeypatch.setenv("TAUT_CACHE_DIR", str(where))
    return where


@pytest.fixture
def compilations(monkeypatch):
    """The IR of everything that is really compiled."""
    seen, real = [], native._compile

    def counted(text):
        seen.append(text)
        return real(text)

    monkeypatch.setattr(native, "_compile", counted)
    return seen


def entries(place):
    return sorted(x for x in place.iterdir() if x.name != KEY)


def only_file(place):
    found = entries(place)
    assert len(found) == 1
    assert found[0].suffix == ".o"
    return found[0]


# ------------------------------------------------------------------- hits


def test_the_second_time_nothing_is_compiled(place, compilations):
    assert result(compiled(ir(42))) == 42
    assert result(compiled(ir(42))) == 42
    assert compilations == [ir(42)]
    assert read_checked(only_file(place)) == object_code(ir(42))


def test_another_function_is_another_file(place, compilations):
    assert [result(compiled(ir(k))) for k in (1, 2, 1)] == [1, 2, 1]
    assert len(compilations) == 2
    assert len(entries(place)) == 2


def test_a_file_is_its_kind_a_digest_and_the_code(place):
    body = object_code(ir(1))
    raw = only_file(place).read_bytes()
    assert raw.startswith(KIND)
    assert raw[len(KIND) + 32 :] == body
    assert body.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\x64\x86"))  # Linux, macOS, Windows


# ------------------------------------------------------------------- damage


def flipped(raw, at):
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


DAMAGE = {
    "empty": lambda raw: b"",
    "shorter than its head": lambda raw: raw[:20],
    "head only": lambda raw: raw[: len(KIND) + 32],
    "cut in half": lambda raw: raw[: len(raw) // 2],
    "last byte missing": lambda raw: raw[:-1],
    "a byte too many": lambda raw: raw + b"\0",
    "one bit of the code": lambda raw: flipped(raw, len(raw) - 40),
    "one bit of the checksum": lambda raw: flipped(raw, len(KIND) + 3),
    "checksum of something else": lambda raw: KIND + bytes(range(32)) + raw[len(KIND) + 32 :],
    "another kind of file": lambda raw: b"taut-object-1\n" + raw[len(KIND) :],
    "zeros": lambda raw: bytes(len(raw)),
    "text": lambda raw: b"hello" * 100,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_compiled_again_and_repaired(damage, place, compilations):
    object_code(ir(7))
    path = only_file(place)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    assert read_checked(path) is None
    assert result(compiled(ir(7))) == 7
    assert len(compilations) == 2
    assert only_file(place).read_bytes() == good
    assert result(compiled(ir(7))) == 7
    assert len(compilations) == 2


def test_a_directory_in_place_of_the_file(place, compilations):
    object_code(ir(7))
    path = only_file(place)
    path.unlink()
    path.mkdir()
    assert result(compiled(ir(7))) == 7
    assert entries(place) == [path]
    assert not list(path.iterdir())


# ------------------------------------------------------------------- nowhere to write


def test_below_a_file_there_is_no_cache_and_no_complaint(tmp_path, monkeypatch, compilations):
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    for where in (blocker, blocker / "deeper"):
        monkeypatch.setenv("TAUT_CACHE_DIR", str(where))
        assert result(compiled(ir(5))) == 5
    assert len(compilations) == 2
    assert blocker.read_text() == "in the way"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a place nobody may write to")
def test_a_directory_nobody_may_write_to(monkeypatch, compilations):
    monkeypatch.setenv("TAUT_CACHE_DIR", "/proc/self/taut")
    assert result(compiled(ir(5))) == 5
    assert result(compiled(ir(5))) == 5
    assert len(compilations) == 2


def test_a_failing_write_leaves_nothing_behind(place, monkeypatch):
    def broken(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", broken)
    assert result(compiled(ir(5))) == 5
    assert entries(place) == []


def test_an_interrupted_write_leaves_nothing_behind(place, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(ir(5))
    assert entries(place) == []


def test_what_does_not_compile_is_not_cached(place):
    with pytest.raises(RuntimeError):
        compiled("define i64 @f() {\n  ret i64 %nothing\n}\n")
    assert not place.exists() or not entries(place)


# ------------------------------------------------------------------- where it is


def test_where_the_cache_is(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setattr(Path, "home", lambda: home)
    for name in ("TAUT_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert cache_directory() == home / ".cache" / "taut"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "taut"
    monkeypatch.setenv("TAUT_CACHE_DIR", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"
    monkeypatch.setenv("TAUT_CACHE_DIR", "")
    assert cache_directory() == tmp_path / "xdg" / "taut"


def test_a_user_without_a_home_has_no_cache(monkeypatch, compilations):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("TAUT_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert result(compiled(ir(5))) == 5
    assert result(compiled(ir(5))) == 5
    assert len(compilations) == 2


def test_the_directory_is_made_with_its_parents(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUT_CACHE_DIR", str(tmp_path / "a" / "b" / "c"))
    object_code(ir(1))
    assert only_file(tmp_path / "a" / "b" / "c").stat().st_size > 100


# ------------------------------------------------------------------- the key


@pytest.fixture
def fresh_platform():
    """The platform is looked up anew, before and after."""
    native._platform.cache_clear()
    yield native._platform.cache_clear
    native._platform.cache_clear()


class Features(dict):
    def flatten(self):
        return "+none"


CHANGES = {
    "CPU": (llvm, "get_host_cpu_name", lambda: "abacus"),
    "features": (llvm, "get_host_cpu_features", Features),
    "LLVM": (llvm, "llvm_version_info", (0, 0, 1)),
    "llvmlite": (llvmlite, "__version__", "0.0.0"),
    "taut": (native, "__version__", "0.0.0-test"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_key_depends_on_the_platform(change, fresh_platform, monkeypatch):
    before = native._key(ir(1))
    with monkeypatch.context() as patch:
        patch.setattr(*change)
        fresh_platform()
        after = native._key(ir(1))
    fresh_platform()
    assert after != before
    assert native._key(ir(1)) == before


def test_the_key_depends_on_every_character_of_the_code():
    keys = {native._key(text) for text in (ir(1), ir(2), ir(1) + "\n", ir(1, "g"), "")}
    assert len(keys) == 5
    assert all(len(key) == 40 and set(key) <= set("0123456789abcdef") for key in keys)


def test_lanes_follow_the_cpu(monkeypatch):
    monkeypatch.delenv("TAUT_LANES", raising=False)
    for features, lanes in (({"avx512f": True}, 8), ({"avx512f": False, "avx2": True}, 4), ({}, 4)):
        monkeypatch.setattr(llvm, "get_host_cpu_features", lambda found=features: found)
        assert native.lanes() == lanes


def test_lanes_can_be_chosen(monkeypatch):
    for width in native.WIDTHS:
        monkeypatch.setenv("TAUT_LANES", f" {width} ")
        assert native.lanes() == width
    for wrong in ("3", "16", "0", "-4", "four", "4.0", "²"):
        monkeypatch.setenv("TAUT_LANES", wrong)
        with pytest.raises(taut.InputError, match=r"TAUT_LANES.*\n.*1, 2, 4 or 8"):
            native.lanes()


# ------------------------------------------------------------------- lives of modules


def test_modules_do_not_know_each_other(place):
    """The same name in two modules, and the death of neighbours."""
    modules = [compiled(ir(k)) for k in range(12)]
    addresses = [ctypes.CFUNCTYPE(ctypes.c_int64)(m.address("f")) for m in modules]
    keep = modules[::3]
    survivors = addresses[::3]
    del modules
    gc.collect()
    for k in range(12, 40):  # memory given back would be taken again here
        assert result(compiled(ir(k))) == k
    gc.collect()
    assert [f() for f in survivors] == [0, 3, 6, 9]
    assert len(keep) == 4


def test_two_modules_of_one_code_live_apart(place):
    one, two = Native(object_code(ir(3))), Native(object_code(ir(3)))
    assert one.address("f") != two.address("f")
    del one
    gc.collect()
    assert result(two) == 3


def test_code_runs_at_its_address(place):
    module = compiled(ir(11, "first") + ir(22, "second"))
    assert result(module, "first") == 11
    assert result(module, "second") == 22


# ------------------------------------------------------------------- many processes at once

RACER = """
import ctypes, os, sys, time
from taut.kernel.native import compiled
def ir(k):
    return f"define i64 @f() {{\\n  ret i64 {k}\\n}}\\n"
gun, turn = sys.argv[1], int(sys.argv[2])
open(gun + f".ready{turn}", "w").close()
while not os.path.exists(gun):
    time.sleep(0.001)
for k in range(30):
    k = (k * (1 + 2 * turn)) % 30 if turn % 2 else k
    module = compiled(ir(k))
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(module.address("f"))() == k
print("done")
"""


def test_processes_share_an_empty_cache(place, tmp_path):
    """All start at once on the same 30 modules; all succeed, and only whole files remain."""
    gun = tmp_path / "gun"
    command = [sys.executable, "-c", RACER, str(gun)]
    racers = [
        subprocess.Popen(
            [*command, str(turn)],
            env=os.environ | {"TAUT_CACHE_DIR": str(place)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for turn in range(4)
    ]
    try:
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob("gun.ready*"))) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not place.exists()
        gun.touch()
        ended = [racer.communicate(timeout=60) for racer in racers]
    finally:
        for racer in racers:
            racer.kill()
            racer.wait()
    assert ended == [("done\n", "")] * 4
    files = entries(place)
    assert len(files) == 30
    assert {f.name for f in files} == {native._key(ir(k)) + ".o" for k in range(30)}
    assert all(read_checked(f) == native._compile(ir(k)) for k, f in _by_key(files))


def _by_key(files):
    names = {native._key(ir(k)) + ".o": k for k in range(30)}
    return [(names[f.name], f) for f in files]


def test_a_reader_never_sees_half_a_file(place, monkeypatch):
    """The final name appears only when the content is complete."""
    seen, real = [], os.replace

    def watched(part, target, **where):
        whole, name = (place / part).read_bytes(), place / target
        seen.append((whole, name.exists()))
        return real(part, target, **where)

    monkeypatch.setattr(os, "replace", watched)
    object_code(ir(1))
    assert seen == [(only_file(place).read_bytes(), False)]
