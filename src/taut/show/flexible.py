"""Beams of a mechanism as items of a scene: their sections swept along the nodes."""

from __future__ import annotations

import numpy as np

from taut.lie import SO3
from taut.march.beam_parts import BeamView
from taut.march.trajectory import Trajectory
from taut.model.mechanism import Mechanism
from taut.show.bending import MOST, THIN, TURNS, outlines
from taut.show.scene import Item, box_of


def beams_of(mechanism: Mechanism, run: Trajectory, member: int | None) -> list[Item]:
    """Every beam as a solid, coloured by how much it is bent."""
    views = [BeamView(run, beam) for beam in mechanism.beams.values()]
    if not views:
        return []
    box = box_of([view.positions for view in views])
    thin = THIN * (float(np.linalg.norm(box[1] - box[0])) or 1.0)
    bent = [_bent(view) for view in views]
    top = float(np.quantile(np.concatenate([x.ravel() for x in bent]), MOST))
    return [
        Item(
            "beam",
            {
                "places": view.positions,
                "turns": np.round(TURNS * _turns(view.frames)).astype(np.int16),
                "outline": outlines(view.part.beam, thin),
                "shade": _shade(x, top),
                "top": top,
                "member": member,
            },
        )
        for view, x in zip(views, bent, strict=True)
    ]


def _bent(view: BeamView) -> np.ndarray:
    """|bending and twist| at the nodes, shape (F, nodes)."""
    edges = np.nan_to_num(np.linalg.norm(view.strain[..., :3], axis=-1))
    ends = np.concatenate([edges[:, :1], edges, edges[:, -1:]], axis=1)
    return 0.5 * (ends[:, 1:] + ends[:, :-1])


def _shade(bent: np.ndarray, top: float) -> np.ndarray:
    share = np.minimum(bent / top, 1.0) if top > 0 else 0.0 * bent
    return np.round(255 * share).astype(np.uint8)


def _turns(frames: np.ndarray) -> np.ndarray:
    """Quaternions of rotations, shape (F, nodes, 3, 3), that do not change their sign in time."""
    found = SO3._quaternion(frames)
    signs = np.where(np.sum(found[1:] * found[:-1], axis=-1) < 0, -1.0, 1.0)
    found[1:] *= np.cumprod(signs, axis=0)[..., None]
    return found
