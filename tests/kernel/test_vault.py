"""Who may give taut code to execute: directories, owners, modes, links, and digests with a key."""

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import taut
from taut.kernel import native, vault
from taut.kernel.native import cache_directory, compiled, object_code
from taut.kernel.vault import KEY, read_checked, write_checked

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes")


def ir(number):
    return f"define i64 @f() {{\n  ret i64 {number}\n}}\n"


def value(number):
    return ctypes.CFUNCTYPE(ctypes.c_int64)((module := compiled(ir(number))).address("f"))(), module


def answer(number):
    return value(number)[0]


def file_of(number):
    return native._place(ir(number), None)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache of this test's own, chosen by the variable."""
    where = tmp_path / "cache"
    monkeypatch.setenv("TAUT_CACHE_DIR", str(where))
    return where


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_is_the_users_alone(place):
    object_code(ir(1))
    assert mode(place) == 0o700
    assert mode(place / KEY) == mode(file_of(1)) == 0o600
    assert len((place / KEY).read_bytes()) == 32


# ---- planted code -------------------------------------------------------------------------------


def test_the_file_of_other_code_is_not_taken(place):
    """The same kind, a digest that was right somewhere: for another name."""
    object_code(ir(1))
    object_code(ir(2))
    shutil.copy(file_of(2), file_of(1))
    assert read_checked(file_of(1)) is None
    assert not file_of(1).exists()  # thrown away
    assert answer(1) == 1


def test_a_file_of_another_cache_is_not_taken(place, tmp_path, monkeypatch):
    """The right name and content with another key: who copies cannot plant."""
    object_code(ir(1))
    good = file_of(1).read_bytes()
    monkeypatch.setenv("TAUT_CACHE_DIR", str(tmp_path / "other"))
    write_checked(file_of(1), object_code(ir(666)))
    planted = file_of(1).read_bytes()
    monkeypatch.setenv("TAUT_CACHE_DIR", str(place))
    file_of(1).write_bytes(planted)
    assert answer(1) == 1
    assert file_of(1).read_bytes() == good


def test_a_key_that_others_could_read_is_replaced(place):
    object_code(ir(1))
    before = (place / KEY).read_bytes()
    (place / KEY).chmod(0o644)
    assert read_checked(file_of(1)) is None
    assert answer(1) == 1
    assert (place / KEY).read_bytes() != before
    assert mode(place / KEY) == 0o600
    assert read_checked(file_of(1)) is not None


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_a_key_of_another_length_is_replaced(place, content):
    object_code(ir(1))
    (place / KEY).write_bytes(content)
    assert answer(1) == 1
    assert len((place / KEY).read_bytes()) == 32
    assert read_checked(file_of(1)) is not None


def test_links_in_place_of_files_are_not_followed(place, tmp_path):
    object_code(ir(1))
    for name in (file_of(1).name, KEY):
        moved = tmp_path / name
        (place / name).rename(moved)
        (place / name).symlink_to(moved)
        assert read_checked(file_of(1)) is None
        assert answer(1) == 1
        assert not (place / name).is_symlink()
        moved.unlink()


def test_a_pipe_in_place_of_a_file_does_not_block(place):
    object_code(ir(1))
    file_of(1).unlink()
    os.mkfifo(file_of(1), 0o600)
    assert answer(1) == 1


def test_a_file_that_others_can_write_to_is_not_taken(place):
    object_code(ir(1))
    file_of(1).chmod(0o620)
    assert read_checked(file_of(1)) is None
    assert answer(1) == 1
    assert mode(file_of(1)) == 0o600


def test_somebody_elses_file_is_not_taken(place, monkeypatch):
    """In a directory of one's own, where root or an earlier owner may have left it."""
    object_code(ir(1))
    look, seen = os.fstat, file_of(1).stat()

    def other(handle):
        found = look(handle)
        if found.st_ino != seen.st_ino:
            return found
        return os.stat_result((*found[:4], max(vault._trusted()) + 1, *found[5:]))

    monkeypatch.setattr(os, "fstat", other)
    assert read_checked(file_of(1)) is None
    seen = (place / KEY).stat()
    assert read_checked(file_of(1)) is None


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
def test_nothing_half_written_stays_behind(place, monkeypatch, error):
    object_code(ir(1))
    before = set(place.iterdir())

    def broken(*_, **__):
        raise error

    monkeypatch.setattr(os, "replace", broken)
    if isinstance(error, OSError):
        write_checked(file_of(2), b"code")
    else:
        with pytest.raises(KeyboardInterrupt):
            write_checked(file_of(2), b"code")
    assert set(place.iterdir()) == before


def test_what_the_killed_have_left_is_thrown_away(place):
    """A day later; what is younger may be somebody's who writes right now."""
    object_code(ir(1))
    old, new = place / ".taut-0badcafe", place / ".taut-0badf00d"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (old.stat().st_atime, old.stat().st_mtime - vault.FORGOTTEN - 60))
    object_code(ir(2))
    assert set(place.iterdir()) == {place / KEY, file_of(1), file_of(2), new}


def test_the_chosen_directory_is_that_of_a_shell(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TAUT_CACHE_DIR", "~/code")
    assert cache_directory() == tmp_path / "code"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    for blank in ("", " "):
        monkeypatch.setenv("TAUT_CACHE_DIR", blank)
        assert cache_directory() == tmp_path / "usual" / "taut"


# ---- directories --------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777, 0o1777])
def test_a_chosen_directory_that_others_can_write_to_is_refused(place, bits):
    object_code(ir(1))
    place.chmod(bits)
    for number in (1, 2):  # one that is there, one that would be written
        with pytest.raises(taut.FileError, match=r"others can write to it") as caught:
            compiled(ir(number))
    assert f"{bits:04o}" in str(caught.value)
    # What is everybody's stays so.
    assert (f"chmod go-w {place}" in caught.value.remedy) == (not bits & stat.S_ISVTX)
    assert "TAUT_CACHE_DIR" in caught.value.remedy
    assert mode(place) == bits  # is left as it is, and so is what is in it
    assert not file_of(2).exists()
    place.chmod(0o700)
    assert answer(1) == 1


def test_folders_on_the_way_are_the_users_alone_too(place):
    deep = place / "a" / "b"
    old = os.umask(0)
    try:
        write_checked(deep / "x.o", b"code")
    finally:
        os.umask(old)
    assert [mode(x) for x in (place, place / "a", deep)] == [0o700] * 3
    assert read_checked(deep / "x.o") == b"code"


def test_a_key_that_has_just_been_made_is_not_thrown_away(place, monkeypatch):
    """Another process makes one after this one has looked, and has written with it."""
    object_code(ir(1))
    key, file = (place / KEY).read_bytes(), file_of(1)
    look, seen = vault._Vault._key, []

    def late(self):
        seen.append(1)
        return None if len(seen) == 1 else look(self)

    monkeypatch.setattr(vault._Vault, "_key", late)
    write_checked(file_of(2), b"code")
    assert (place / KEY).read_bytes() == key
    assert read_checked(file) is not None


@pytest.mark.parametrize("wrong", ["others can write to it", "it is a symbolic link"])
def test_the_folder_of_numba_is_looked_at(tmp_path, wrong):
    """It holds pickles, which are code."""
    real = chosen = tmp_path / "numba"
    real.mkdir()
    if "link" in wrong:
        chosen = tmp_path / "link"
        chosen.symlink_to(real)
    else:
        real.chmod(0o777)
    done = subprocess.run(
        [sys.executable, "-c", "import taut.kernel.jit"], capture_output=True, text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(chosen)},
    )  # fmt: skip
    assert f"FileError: compiled code is not kept in {chosen}: {wrong}" in done.stderr
    assert "set NUMBA_CACHE_DIR to another folder" in done.stderr


def test_the_users_own_cache_directory_is_made_tight(tmp_path, monkeypatch):
    """One that was made with a generous umask; nobody has chosen it for something else."""
    monkeypatch.delenv("TAUT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_directory().mkdir(mode=0o777)
    cache_directory().chmod(0o775)
    assert answer(1) == 1
    assert mode(cache_directory()) == 0o755
    assert file_of(1).exists()


def test_a_symbolic_link_is_refused(place, tmp_path):
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    place.symlink_to(real)
    with pytest.raises(taut.FileError, match="symbolic link") as caught:
        compiled(ir(1))
    assert str(real) in str(caught.value)
    assert "TAUT_CACHE_DIR" in caught.value.remedy
    assert list(real.iterdir()) == []


def test_somebody_elses_directory_is_refused(place, monkeypatch):
    object_code(ir(1))
    monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
    if place.stat().st_uid == 0:
        monkeypatch.setattr(vault, "_trusted", lambda: (os.geteuid(),))
    with pytest.raises(taut.FileError, match="belongs to somebody else"):
        compiled(ir(1))


def test_the_refusal_reaches_who_simulates(place):
    (x,) = taut.coordinates("x")
    place.mkdir()
    place.chmod(0o777)
    model = taut.System([x], mass=[1], potential=x**2 / 3.25)
    with pytest.raises(taut.FileError, match="others can write to it"):
        taut.simulate(model, q0=[1], v0=0, duration=1, step=0.1)


def test_a_directory_that_can_only_be_read_is_read(place, monkeypatch):
    object_code(ir(1))
    place.chmod(0o500)
    if os.geteuid() == 0:  # who writes anywhere

        def refused(*_, **__):
            raise PermissionError("read-only")

        monkeypatch.setattr(vault._Vault, "write", refused)
    try:
        assert read_checked(file_of(1)) is not None
        assert answer(2) == 2
        assert not file_of(2).exists()
    finally:
        place.chmod(0o700)


def test_without_links_a_key_is_made_all_the_same(place, monkeypatch):
    def no(*_, **__):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", no)
    assert answer(1) == 1
    assert read_checked(file_of(1)) is not None


def test_without_owners_and_modes_the_digest_is_left(place, monkeypatch):
    """As on Windows."""
    monkeypatch.setattr(vault, "OWNED", False)
    assert answer(1) == 1
    assert read_checked(file_of(1)) is not None
    object_code(ir(2))
    shutil.copy(file_of(2), file_of(1))
    assert answer(1) == 1
    assert sorted(x.name for x in place.iterdir()) == sorted(
        [KEY, file_of(1).name, file_of(2).name]
    )


def test_who_makes_the_key_first_has_made_it(place, monkeypatch):
    """Another process makes one while this one is about to."""
    place.mkdir(mode=0o700)
    real, other = os.link, bytes(range(32))

    def late(*args, **where):
        (place / KEY).write_bytes(other)
        (place / KEY).chmod(0o600)
        return real(*args, **where)

    monkeypatch.setattr(os, "link", late)
    object_code(ir(1))
    assert (place / KEY).read_bytes() == other
    assert read_checked(file_of(1)) is not None
    assert all(not x.name.startswith(".") for x in Path(place).iterdir())
