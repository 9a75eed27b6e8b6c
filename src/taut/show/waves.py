"""The scene of a run of a field: strain and momentum over the place s, one lane each."""

from __future__ import annotations

import numpy as np

from taut.errors import InputError
from taut.march.field_trajectory import FieldTrajectory
from taut.show.scene import Item, Scene, box_of, rows_of, settled, told

COMPONENTS = 3
HIGH = 0.22  # of the length: half of a lane


def scene_of(run: FieldTrajectory) -> Scene:
    """Curves over s that move; each lane is scaled so that its largest value fills it."""
    lanes = {
        "strain": (run.model.middles, run.strain),
        "momentum": (run.model.places, run.momentum),
    }
    finite = min(_finite(values) for _, values in lanes.values())
    if finite == 0:
        raise InputError("there is nothing to draw: no state of the run is finite")
    each = sum(2 * len(s) * min(v.shape[2], COMPONENTS) for s, v in lanes.values())
    shown_rows = min(
        settled(np.abs(v).max(axis=(1, 2)), float(np.abs(v[0]).max()), run.ending.failed)
        for _, v in lanes.values()
    )
    rows = rows_of(shown_rows, each)
    length = float(run.model.places[-1] - run.model.places[0])
    items, notes = [], []
    for k, (name, (s, values)) in enumerate(lanes.items()):
        moved = np.ptp(values[:shown_rows], axis=(0, 1))
        chosen = sorted(np.argsort(-moved, kind="stable")[:COMPONENTS].tolist())
        shown = values[rows][..., chosen]
        largest = float(np.abs(shown).max())
        centre = -2.4 * HIGH * length * k
        scale = HIGH * length / largest if largest > 0 else 0.0
        for component in range(shown.shape[2]):
            places = np.zeros((len(rows), len(s), 3))
            places[..., 0] = s
            places[..., 1] = centre + scale * shown[..., component]
            items.append(Item("strand", {"places": places, "colour": component}))
        items.append(_axis(name, s, centre))
        which = "" if len(chosen) == values.shape[2] else (
            f", components {', '.join(str(k + 1) for k in chosen)} of {values.shape[2]}"
        )  # fmt: skip
        notes.append(f"{name}: the lane is {2 * largest:.3g} high{which}")
    notes += told(run.t, finite, shown_rows, len(rows))
    box = box_of([i.data["places"] for i in items])
    return Scene(run.t[rows], items, box, (0.0, 1.0, 0.0), ("s", ""), notes)


def _finite(values: np.ndarray) -> int:
    bad = np.flatnonzero(~np.isfinite(values).all(axis=(1, 2)))
    return int(bad[0]) if len(bad) else len(values)


def _axis(name: str, s: np.ndarray, centre: float) -> Item:
    """Where a lane is zero, with its name."""
    ends = np.array([[[s[0], centre, 0.0], [s[-1], centre, 0.0]]])
    return Item("curve", {"places": ends, "name": name})
