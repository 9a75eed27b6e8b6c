"""`load`: a model from a file, or a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taut.calls import public
from taut.errors import InputError, place
from taut.files.model import ENDING, Model
from taut.files.reader import read
from taut.march import storage

ROBOT = ".urdf"


@public
def load(path: str | Path, **parameters: float) -> Any:
    """The `taut.Model` in a .toml or .urdf file, or the `xarray.Dataset` of a saved run.

    Parameters
    ----------
    path : str or Path
    **parameters
        Other values for parameters of a model; what the file defines by them follows.

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
    path = place(path)
    ending = path.suffix.lower()
    if ending == ENDING:
        return read(path, parameters)
    if parameters:
        raise InputError(
            "a robot's file has no parameters to set"
            if ending == ROBOT
            else "a saved run has no parameters to set",
            expected=f"a model in a file that ends in {ENDING}",
            received=str(path),
        )
    if ending == ROBOT:
        from taut.files.urdf import urdf  # needs libraries of its own

        return Model(urdf(path), name=path.stem)
    return storage.load(path)
