"""What pictures and scenes of beams share: where things are, and how far they are enlarged."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.errors import InputError, number
from taut.fields import Beams
from taut.fields.mesh import Mesh
from taut.march.field_trajectory import FieldTrajectory

SMALL = 0.05  # of the size of beams: displacements below it are enlarged
SEEN = 0.2  # of that size: to about this


def mesh_of(run: FieldTrajectory) -> Mesh:
    """The mesh of a run of beams."""
    assert run.mesh is not None
    return run.mesh


def check_factor(magnify: Any) -> None:
    """Whether displacements can be drawn so many times as large."""
    if isinstance(magnify, str) and magnify == "auto":
        return
    if not number("magnify", magnify, '"auto" or a positive number') > 0:
        raise InputError(
            "magnify is no factor", expected='"auto" or a positive number', received=magnify
        )


def magnification(run: FieldTrajectory, start: np.ndarray, shift: np.ndarray) -> float:
    """1, 2 or 5 times a power of ten, so that small displacements of held beams are seen."""
    size, moved = float(np.ptp(start, axis=0).max()), float(np.abs(shift).max())
    if not mesh_of(run).holds or not 0 < moved < SMALL * size:
        return 1.0
    wanted = SEEN * size / moved
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(max(k * power for k in (1, 2, 5) if k * power <= wanted))


def bodies_of(run: FieldTrajectory) -> list[int]:
    """Nodes that carry a body."""
    beams = run.model.beams if isinstance(run.model, Beams) else [run.model]
    starts = [span.start for span in mesh_of(run).spans]
    return [a + body.node for a, b in zip(starts, beams, strict=True) for body in b.bodies]
