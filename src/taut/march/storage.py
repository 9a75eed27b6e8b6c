"""Runs on disk and as labelled arrays.

A run is saved as a Zarr store with everything that a reader needs: states, times, parameters, the
method's name and options, the equations as text, and the certificate.  `load` gives the dataset
back; the model itself is code and is not stored.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.errors import FileError

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory


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
    return xarray.Dataset(
        data,
        coords={
            "t": run.t,
            "coordinate": [q.name for q in system.coordinates],
            "constraint": np.array(system.constraint_names, dtype=str),
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
        system.form: str(system.energy_function)[:20_000],
        "constraints": json.dumps([str(g) for g in system.constraints[:1000]]),
        "forces": json.dumps([str(f) for f in system.forces[:1000]]),
        "certificate": json.dumps(run.certificate.to_dict(), default=str),
    }


def save(run: Trajectory, path: Path) -> Path:
    """Write a run to a Zarr store, whole or not at all."""
    if path.suffix != ".zarr":
        raise FileError(
            f"cannot tell the format of {path.name}",
            expected="a name ending in .zarr",
            received=path.name,
        )
    part = path.with_name(f".{path.name}.part")
    try:
        if part.exists():
            shutil.rmtree(part)
        part.parent.mkdir(parents=True, exist_ok=True)
        to_xarray(run).to_zarr(part, mode="w", consolidated=False, zarr_format=2)
        if path.exists():
            shutil.rmtree(path)
        part.rename(path)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise FileError(
            f"cannot write {path}", received=str(error), remedy="check the folder"
        ) from error
    return path


def load(path: str | Path) -> Any:
    """The `xarray.Dataset` of a saved run.

    Examples
    --------
    >>> import taut, tempfile
    >>> x, = taut.coordinates("x,")
    >>> run = taut.simulate(taut.System([x], mass=[1], potential=x**2/2),
    ...                     q0=[1], v0=[0], duration=1, step=0.1)
    >>> path = run.save(tempfile.mkdtemp() + "/run.zarr")
    >>> bool((taut.load(path).q.values == run.q).all())
    True
    """
    import xarray

    path = Path(path)
    if not path.exists():
        raise FileError(f"there is no {path}", expected="a folder written by run.save(…)")
    try:
        return xarray.open_zarr(path, consolidated=False).load()
    except Exception as error:
        raise FileError(
            f"{path} is not a saved run",
            expected="a Zarr store written by run.save(…)",
            received=str(error)[:200],
        ) from error
