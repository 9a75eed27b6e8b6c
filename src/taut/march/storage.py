"""Runs on disk and as labelled arrays.

A run is saved as a Zarr store with everything that a reader needs: states, times, parameters, the
method's name and options, the equations as text, and the certificate.  `load` gives the dataset
back; the model itself is code and is not stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from taut.errors import FileError, place
from taut.model.symbols import spread

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from taut.march.field_trajectory import FieldTrajectory
    from taut.march.trajectory import Trajectory

FORGOTTEN = 86_400.0  # seconds after which nobody writes a folder any more, where locks are missing
CODECS = ("blosc", "zstd", "lz4", "zlib", "gzip", "vlen-utf8")  # that only compress, or hold text
TRIES = 20  # of reading a store, as long as others put a new one into its place meanwhile
BYTES = 4  # by which names of what is being written differ
LONGEST = 500  # nodes of an expression that is written down


def to_xarray(run: Trajectory) -> Any:
    """All arrays of a run with named dimensions."""
    import xarray

    system = run.system
    lead = ("trajectory",) if run.batch else ()
    vectors = {"q": run.q, "v": run.v, "p": run.p, "reactions": run.reactions}
    rows = {"multipliers": run.multipliers, "g": run.constraints, "hidden": run.hidden}
    data: dict[str, Any] = {k: ((*lead, "t", "coordinate"), x) for k, x in vectors.items()}
    data |= {k: ((*lead, "t", "constraint"), x) for k, x in rows.items()}
    data["energy"] = ((*lead, "t"), run.energy)
    held = run.held_values()
    if held:
        data["controls"] = ((*lead, "t", "control"), np.stack(list(held.values()), axis=-1))
    return xarray.Dataset(
        data,
        coords={
            "t": run.t,
            "coordinate": [q.name for q in system.coordinates],
            "constraint": np.array(system.constraint_names, dtype=str),
            **({"control": np.array(list(held), dtype=str)} if held else {}),
        },
        attrs=attributes(run),
    )


def attributes(run: Trajectory) -> dict[str, Any]:
    """Provenance as plain strings and numbers."""
    from taut._version import __version__

    system = run.system
    return {
        "taut": __version__,
        "method": run.method.key,
        "step": run.step,
        "every": run.every,
        "parameters": json.dumps(run.parameters),
        system.form: _text(system.energy_function),
        "constraints": json.dumps([_text(g) for g in system.constraints[:1000]]),
        "forces": json.dumps([_text(f) for f in system.forces[:1000]]),
        "certificate": json.dumps(run.certificate.to_dict(), default=str),
    }


def _text(expression: sp.Expr) -> str:
    """An expression, or how long it would be: nobody reads pages, and to write them is slow."""
    nodes = spread(expression)
    return str(expression) if nodes <= LONGEST else f"an expression of {nodes} nodes"


def save(run: Trajectory | FieldTrajectory, given: str | Path) -> Path:
    """Write a run to a Zarr store, whole or not at all."""
    path = place(given)
    if path.suffix != ".zarr":
        raise FileError(
            f"cannot tell the format of {path.name}",
            expected="a name ending in .zarr",
            received=path.name,
            remedy="for other programs run.to_xarray() has the arrays: .to_netcdf(…), "
            ".to_dataframe(), or scipy.io.savemat(…, {'q': run.q})",
        )
    if os.path.exists(path) and not _is_store(path):
        raise FileError(
            f"{path} is there and is no Zarr store",
            expected="a new name, or that of a saved run",
            remedy="choose another name",
        )
    data = run.to_xarray()
    data.attrs["digest"] = _digest(data)
    part, old = (
        path.with_name(f".{path.name}.{secrets.token_hex(BYTES)}.{x}") for x in ("part", "old")
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _tidy(path)
        with _locked(part):
            data.to_zarr(part, mode="w-", consolidated=False, zarr_format=2)
            _settle(part)
            with suppress(FileNotFoundError):  # from here on until the next line `load` takes `old`
                path.rename(old)
            part.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        _put_back(path)
        if not isinstance(error, OSError):
            raise
        raise FileError(
            f"cannot write {path}", received=str(error), remedy="check the folder"
        ) from error
    return path


@contextmanager
def _locked(part: Path) -> Iterator[None]:
    """A folder that is being written: its lock is gone when the process is, however that ended."""
    part.mkdir()
    handle = os.open(part, os.O_RDONLY) if fcntl is not None else None
    try:
        if fcntl is not None and handle is not None:
            with suppress(OSError):  # a file system without locks: then its age counts
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _left(part: Path) -> bool:
    """Whether nobody writes a folder any more."""
    try:
        if fcntl is None:
            return time.time() - part.stat().st_mtime > FORGOTTEN
        handle = os.open(part, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(handle)
    except BlockingIOError:
        return False
    except OSError:
        with suppress(OSError):
            return time.time() - part.stat().st_mtime > FORGOTTEN
        return False
    return True


def _beside(path: Path, kind: str) -> list[Path]:
    """What saving has put beside a store, the latest last."""
    # The whole name: what belongs to run.zarr.b.zarr begins like what belongs to run.zarr.
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{{2 * BYTES}}}\.{kind}")
    found = [x for x in path.parent.iterdir() if name.fullmatch(x.name)]
    return sorted((x for x in found if x.is_dir() and not x.is_symlink()), key=_changed)


def _changed(path: Path) -> float:
    """When a folder was changed; one that has gone meanwhile is the oldest."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _put_back(path: Path) -> None:
    """The store that was there, if its successor has not taken its place."""
    with suppress(OSError):
        for old in _beside(path, "old")[::-1]:
            if not path.exists():
                old.rename(path)


def _tidy(path: Path) -> None:
    """Throw away what processes have left that were killed."""
    _put_back(path)
    for rest in [*(x for x in _beside(path, "part") if _left(x)), *_beside(path, "old")]:
        shutil.rmtree(rest, ignore_errors=True)


def _settle(folder: Path) -> None:
    """Have all of a folder on the disk before it gets its name."""
    for where, _, files in os.walk(folder):
        for name in (".", *files):
            with suppress(OSError):  # folders cannot be opened everywhere
                handle = os.open(os.path.join(where, name), os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)


def _is_store(path: Path) -> bool:
    heads = (".zgroup", ".zattrs", "zarr.json")
    return path.is_dir() and (not any(path.iterdir()) or any((path / x).exists() for x in heads))


def _digest(data: Any) -> str:
    """A checksum of all arrays: a store with a missing chunk would read as zeros."""
    digest = hashlib.sha256()
    for name in sorted(map(str, data.variables)):
        values = data[name].values
        raw = (
            "\n".join(map(str, values)).encode() if values.dtype.kind in "UOT" else values.tobytes()
        )
        digest.update(f"{name} {values.shape} ".encode() + raw)
    return digest.hexdigest()


def load(path: str | Path) -> Any:
    """The `xarray.Dataset` of a saved run; see `taut.load`."""
    path = place(path)
    for _ in range(TRIES - 1):
        found = _standing(path)
        try:
            return _read(found[0])
        except FileError:
            # Saving replaces a store by another one: chunks of both make neither.
            if _standing(path) == found:
                raise
    return _read(_standing(path)[0])


def _standing(path: Path) -> tuple[Path, tuple[int, ...]]:
    """Where the store is, and what tells it from its successor under the same name."""
    if not os.path.exists(path) and path.parent.is_dir():  # killed between two names
        path = next(iter(_beside(path, "old")[::-1]), path)
    try:
        found = path.stat()
    except OSError:
        return path, ()
    return path, (found.st_dev, found.st_ino, found.st_ctime_ns)


def _read(path: Path) -> Any:
    """The dataset in a store, if it is whole."""
    import xarray

    if not os.path.exists(path):
        raise FileError(f"there is no {path}", expected="a folder written by run.save(…)")
    try:
        _check_codecs(path)
        data = xarray.open_zarr(path, consolidated=False, zarr_format=2).load()
    except Exception as error:
        raise FileError(
            f"{path} is not a saved run",
            expected="a Zarr store written by run.save(…)",
            received=str(error)[:200],
        ) from error
    if data.attrs.pop("digest", None) != _digest(data):
        raise FileError(
            f"{path} is damaged",
            expected="arrays with the checksum that was saved with them",
            remedy="save the run again",
        )
    return data


def _check_codecs(path: Path) -> None:
    """Nothing but numbers and text: among the codecs that there are one reads pickles."""
    for file in path.glob("*/.zarray"):
        told = json.loads(file.read_text(encoding="utf-8"))
        for codec in (told.get("compressor"), *(told.get("filters") or ())):
            if codec is not None and codec["id"] not in CODECS:
                raise ValueError(f"{file.parent.name} is written by {codec['id']!r}")
