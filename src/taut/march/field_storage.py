"""Runs of fields and beams as labelled arrays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from taut.march.field_trajectory import FieldTrajectory

SIX = ("angular 1", "angular 2", "angular 3", "linear 1", "linear 2", "linear 3")


def to_xarray(run: FieldTrajectory) -> Any:
    """All arrays of a run with named dimensions."""
    import xarray

    n = run.momentum.shape[-1]
    places = run.model.places if run.mesh is None else run.mesh.s
    data: dict[str, Any] = {
        "momentum": (("t", "node", "component"), run.momentum),
        "velocity": (("t", "node", "component"), run.velocity),
        "strain": (("t", "edge", "component"), run.strain),
        "stress": (("t", "edge", "component"), run.stress),
        "kinetic": (("t",), run.kinetic),
        "potential": (("t",), run.potential),
        "energy": (("t",), run.energy),
    }
    if run.mesh is not None:
        data["positions"] = (("t", "node", "space"), run.positions)
        data["frames"] = (("t", "node", "space", "axis"), run.frames)
    held = {} if run.mesh is None else run.reactions
    if held:
        data["reactions"] = (("t", "held", "component"), np.stack([*held.values()], axis=1))
    coords = {
        "t": run.t,
        "s": (("node",), places),
        "component": list(SIX) if run.mesh is not None else [str(i + 1) for i in range(n)],
    }
    if held:
        coords["held"] = list(held)
    return xarray.Dataset(data, coords=coords, attrs=attributes(run))


def attributes(run: FieldTrajectory) -> dict[str, Any]:
    """Provenance as plain strings and numbers."""
    from taut._version import __version__

    return {
        "taut": __version__,
        "model": repr(run.model),
        "method": run.method.key,
        "step": run.step,
        "every": run.every,
        "parameters": json.dumps(run.parameters),
        "certificate": json.dumps(run.certificate.to_dict(), default=str),
    }
