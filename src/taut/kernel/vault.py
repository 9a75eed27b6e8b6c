"""Files of machine code that nobody else can have written.

What is read here is executed, so three things are asked for.  The directory is a real one (no
symbolic link), belongs to the user or to root, and is writable by nobody else; it is opened once,
checked as it is open, and files are reached from there.  (The folders above it are not looked at.)
A file belongs to the user or to root.
And it carries a keyed digest,

    BLAKE2b(key; kind, name, content),   key: 32 random bytes in a file that the user alone reads,

so that a file that is copied here, from another user's cache or from another name, is not taken.
One that does not match is thrown away.  A file is written under a temporary name and renamed, so
that concurrent processes never see half of one.  A directory that cannot be written is not used.

Where there are no owners and modes (Windows), the digest is what is left, and the system's own
protection of the user's folder.
"""

from __future__ import annotations

import errno
import hmac
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from taut.errors import FileError

KIND = b"taut-object-2\n"
DIGEST = 32  # bytes, of a digest and of a key
KEY = "key"
PART = ".taut-"  # how names of files begin that are being written
FORGOTTEN = 86_400.0  # seconds after which nobody writes a file any more
CHOSEN = "TAUT_CACHE_DIR"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OWNED = os.name == "posix"
_READ = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK")
)
_WRITE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_CLOEXEC"))
)


def read_checked(path: Path) -> bytes | None:
    """The content of a file, or None if it is absent, damaged, or somebody else's."""
    with _vault(path.parent) as vault:
        key = vault and vault.key()
        raw = vault and vault.read(path.name)
        if not vault or not raw or not key:
            return None
        end = len(KIND) + DIGEST
        if raw[: len(KIND)] == KIND and hmac.compare_digest(
            raw[len(KIND) : end], _digest(key, path.name, raw[end:])
        ):
            return raw[end:]
        vault.remove(path.name)
    return None


def write_checked(path: Path, body: bytes) -> None:
    """Write a file at once or not at all."""
    with suppress(OSError), _vault(path.parent, make=True) as vault:
        key = vault and vault.key(make=True)
        if vault and key:
            vault.tidy()
            vault.write(path.name, KIND + _digest(key, path.name, body) + body)


def _digest(key: bytes, name: str, body: bytes) -> bytes:
    made = blake2b(KIND, key=key, digest_size=DIGEST)
    made.update(name.encode() + b"\0")
    made.update(body)
    return made.digest()


class _Vault:
    """A directory that is open: names of files are looked up in it, wherever it is moved."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self.path, self.handle = path, handle

    def _place(self, name: str) -> str:
        return name if self.handle is not None else str(self.path / name)

    def read(self, name: str, refused: int = OTHERS_WRITE) -> bytes | None:
        """The content of a file of the user's own with none of these modes."""
        try:
            number = os.open(self._place(name), _READ, dir_fd=self.handle)
        except OSError:
            return None
        try:
            found = os.fstat(number)
            own = not OWNED or (found.st_uid in _trusted() and not found.st_mode & refused)
            if not own or not stat.S_ISREG(found.st_mode):
                return None
            with os.fdopen(number, "rb", closefd=False) as file:
                return file.read()
        except OSError:
            return None
        finally:
            os.close(number)

    def write(self, name: str, content: bytes, *, anew: bool = True) -> None:
        """Write a file under another name, then give it this one; if it is there, `anew` or not."""
        part = self._place(f"{PART}{secrets.token_hex(8)}")
        number = os.open(part, _WRITE, 0o600, dir_fd=self.handle)
        here = {"src_dir_fd": self.handle, "dst_dir_fd": self.handle}
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            if not anew and _linked(part, self._place(name), here):
                os.unlink(part, dir_fd=self.handle)
            else:
                os.replace(part, self._place(name), **here)
        except BaseException:  # also Ctrl-C: nothing half-written stays behind
            with suppress(OSError):
                os.unlink(part, dir_fd=self.handle)
            raise

    def tidy(self) -> None:
        """Throw away what processes have left that were killed while they wrote."""
        with suppress(OSError):
            for name in os.listdir(self.path if self.handle is None else self.handle):
                if name.startswith(PART) and time.time() - self._changed(name) > FORGOTTEN:
                    self.remove(name)

    def _changed(self, name: str) -> float:
        found = os.stat(self._place(name), dir_fd=self.handle, follow_symlinks=False)
        return found.st_mtime

    def remove(self, name: str) -> None:
        """Throw a file away."""
        with suppress(OSError):
            os.unlink(self._place(name), dir_fd=self.handle)

    def key(self, *, make: bool = False) -> bytes | None:
        """The key, if need be a new one; a key that others could read is none."""
        found = self._key()
        for attempt in range(2 if make and found is None else 0):
            if attempt:  # there is one that is of no use
                self.remove(KEY)
            # Where two processes begin at once, the key of the first is that of both.
            self.write(KEY, secrets.token_bytes(DIGEST), anew=False)
            found = self._key()
            if found is not None:
                break
        return found

    def _key(self) -> bytes | None:
        found = self.read(KEY, OTHERS)
        return found if found is not None and len(found) == DIGEST else None


def _linked(part: str, name: str, here: dict) -> bool:
    """Whether a file has this name now: its own or that of whoever was first."""
    try:
        os.link(part, name, follow_symlinks=False, **here)
    except FileExistsError:
        pass
    except (OSError, NotImplementedError):  # a file system without links
        return False
    return True


def check_folder(path: Path, variable: str) -> None:
    """Raise if others can put files into a folder from which a library takes code."""
    handle = _opened(path, variable) if OWNED else None
    if handle is not None:  # else it is made by who uses it
        try:
            _check(path, handle, variable)
        finally:
            os.close(handle)


def _opened(path: Path, variable: str) -> int | None:
    """A directory that is open, if it is there; a link in its place is refused."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and path.is_symlink():
            where = f"to {os.readlink(path)}"
            raise _refused(path, "it is a symbolic link", where, variable) from None
        return None


def _make(path: Path) -> None:
    """Make a folder that is the user's alone, and those on the way to it."""
    for folder in (*reversed(path.parents), path):
        with suppress(FileExistsError):
            if not folder.is_dir():
                folder.mkdir(mode=0o700)


@contextmanager
def _vault(path: Path, *, make: bool = False) -> Iterator[_Vault | None]:
    """A directory that can be trusted; None where there is none."""
    if make:
        _make(path)
    if not OWNED:
        yield None if path.is_symlink() or not path.is_dir() else _Vault(path, None)
        return
    handle = _opened(path, CHOSEN)
    if handle is None:
        yield None
        return
    try:
        _check(path, handle)
        yield _Vault(path, handle)
    finally:
        os.close(handle)


def _trusted() -> tuple[int, int]:
    """Who may give this process code: its user, and root, who can do so anyway."""
    return os.geteuid(), 0


def _check(path: Path, handle: int, variable: str = CHOSEN) -> None:
    """Raise if others can put files into a directory, which a `variable` of the environment chose.

    The user's cache directory is made tight; one that somebody has chosen is not touched.
    """
    found = os.fstat(handle)
    if found.st_uid not in _trusted():
        raise _refused(path, "it belongs to somebody else", f"owner {found.st_uid}", variable)
    if not found.st_mode & OTHERS_WRITE:
        return
    own = found.st_uid == os.geteuid()
    if own and not os.environ.get(variable, "").strip():
        with suppress(OSError):
            os.fchmod(handle, stat.S_IMODE(found.st_mode) & ~OTHERS_WRITE)
        if not os.fstat(handle).st_mode & OTHERS_WRITE:
            return
    mode = stat.S_IMODE(found.st_mode)
    # A folder that is everybody's, as /tmp is, has to stay so.
    tighter = f"chmod go-w {path}, or " if own and not mode & stat.S_ISVTX else ""
    raise _refused(path, "others can write to it", f"mode {mode:04o}", variable, tighter)


def _refused(path: Path, why: str, received: str, variable: str, first: str = "") -> FileError:
    none = f" (to {os.devnull} for none)" if variable == CHOSEN else ""
    return FileError(
        f"compiled code is not kept in {path}: {why}",
        expected="a folder of your own that nobody else can write to: what is in it is executed",
        received=received,
        remedy=f"{first}set {variable} to another folder{none}",
    )
