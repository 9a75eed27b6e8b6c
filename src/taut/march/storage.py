"""Runs on disk and as labelled arrays.

A run is saved as a Zarr store with everything that a reader needs: states, times, parameters, the
method's name and options, the equations as text, and the certificate.  `load` gives the dataset
back; the model itself is code and is not stored.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from taut.errors import FileError
from taut.model.symbols import spread

if TYPE_CHECKING:
    from taut.march.field_trajectory import FieldTrajectory
    from taut.march.trajectory import Trajectory

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


def save(run: Trajectory | FieldTrajectory, path: Path) -> Path:
    """Write a run to a Zarr store, whole or not at all."""
    if path.suffix != ".zarr":
        raise FileError(
            f"cannot tell the format of {path.name}",
            expected="a name ending in .zarr",
            received=path.name,
        )
    if path.exists() and not _is_store(path):
        raise FileError(
            f"{path} is there and is no Zarr store",
            expected="a new name, or that of a saved run",
            remedy="choose another name",
        )
    part, old = (path.with_name(f".{path.name}.{end}") for end in ("part", "old"))
    data = run.to_xarray()
    data.attrs["digest"] = _digest(data)
    try:
        for rest in (part, old):
            if rest.exists():
                shutil.rmtree(rest)
        part.parent.mkdir(parents=True, exist_ok=True)
        data.to_zarr(part, mode="w", consolidated=False, zarr_format=2)
        if path.exists():
            path.rename(old)
        part.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        if not isinstance(error, OSError):
            raise
        raise FileError(
            f"cannot write {path}", received=str(error), remedy="check the folder"
        ) from error
    return path


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
    import xarray

    path = Path(path)
    if not path.exists():
        raise FileError(f"there is no {path}", expected="a folder written by run.save(…)")
    try:
        data = xarray.open_zarr(path, consolidated=False).load()
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
