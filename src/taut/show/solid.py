"""Beams and bodies as solids in a film: their faces, and what colour each has."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import to_rgba

from taut.lie import SO3
from taut.show import style
from taut.show.scene import Item, between

PALETTE = ("#414487", "#2a788e", "#22a884", "#7ad151", "#e0cb1c")  # as in viewer.js
LIGHT = np.array([0.35, -0.6, 0.72])  # from where light falls, in (right, away, up)
DARK = 0.62  # of its colour: what a face in the shadow has
ALONG = 80  # pieces of a beam that are drawn
AROUND = 10  # corners of a round section
ROUND = 16  # corners of a round body
STEEL = "#8c97a3"  # as in viewer.js
CLEAR = 0.25  # how much is seen of what is clear, as in viewer.js


class Solid:
    """A beam of a scene.

    Parameters
    ----------
    item : Item
        Of kind "beam".
    basis : ndarray, shape (3, 3)
        Rows: right, away, up.
    """

    def __init__(self, item: Item, basis: np.ndarray) -> None:
        data = item.data
        many = data["places"].shape[1]
        nodes = np.unique(np.linspace(0, many - 1, min(many, ALONG + 1)).astype(int))
        outline = np.array(data["outline"])
        outline = outline[:, :: max(1, outline.shape[1] // AROUND)]
        outline = outline[nodes] if len(outline) == many else outline
        self.local = np.zeros((*outline.shape[:2], 3))
        self.local[..., [0, 2]] = outline
        self.places = data["places"][:, nodes]
        self.turns = data["turns"][:, nodes].astype(float)
        self.shade = data["shade"][:, nodes].astype(float)
        self.plain = not data["top"] > 0
        self.basis = basis

    def faces(self, at: tuple[int, float]) -> tuple[np.ndarray, np.ndarray]:
        """Corners, shape (faces, 4, 3), and colours, shape (faces, 4), of every face at a moment.

        Parameters
        ----------
        at : (int, float)
            A frame, and the share of the way to the next one.
        """
        turns = turned(self.turns, at)
        ring = between(self.places, at)[:, None] + np.einsum("nij,nkj->nki", turns, self.local)
        ring = ring @ self.basis.T
        after = np.roll(ring, -1, axis=1)
        sides = np.stack([ring[:-1], after[:-1], after[1:], ring[1:]], axis=2)
        first, last = (_cap(ring[end]) for end in (0, -1))
        shade = between(self.shade, at)
        middles = np.repeat(0.5 * (shade[1:] + shade[:-1]), ring.shape[1])
        ends = np.repeat(shade[[0, -1]], len(first))
        faces = np.concatenate([sides.reshape(-1, 4, 3), first, last])
        colours = shades(np.concatenate([middles, ends]))
        if self.plain:
            colours = np.broadcast_to(shades(np.zeros(1)), colours.shape).copy()
        colours[:, :3] *= lit(faces)[:, None]
        return faces, colours


class Bodies:
    """The rigid bodies of a scene: boxes, cylinders, balls and meshes.

    Parameters
    ----------
    item : Item
        Of kind "bodies".
    basis : ndarray, shape (3, 3)
        Rows: right, away, up.
    """

    def __init__(self, item: Item, basis: np.ndarray) -> None:
        data = item.data
        self.places, self.turns = data["places"], data["turns"].astype(float)
        self.basis = basis
        shapes = [_faces(data, k) for k in range(len(data["looks"]))]
        many = [len(x) for x in shapes]
        self.owner = np.repeat(data["owners"], many)
        self.local = np.concatenate(shapes)
        clear = data.get("clear", [False] * len(shapes))
        inks = [to_rgba(_ink(data, k), CLEAR if x else None) for k, x in enumerate(clear)]
        self.inks = np.repeat(inks, many, axis=0)

    def faces(self, at: tuple[int, float]) -> tuple[np.ndarray, np.ndarray]:
        """Corners, shape (faces, 4, 3), and colours, shape (faces, 4), of all faces."""
        turns = turned(self.turns, at)[self.owner]
        places = between(self.places, at)[self.owner]
        faces = places[:, None] + np.einsum("fij,fkj->fki", turns, self.local)
        faces = faces @ self.basis.T
        colours = self.inks.copy()
        colours[:, :3] *= lit(faces)[:, None]
        return faces, colours


def _faces(data: dict[str, Any], k: int) -> np.ndarray:
    """Faces of a shape in the frame of its body, shape (faces, 4, 3)."""
    if data["looks"][k] == "mesh":
        first, last, begin, end = data["meshes"][k]
        corners = data["vertices"][0, first:last][data["faces"][0, begin:end]]
        found = np.concatenate([corners, corners[:, 2:]], axis=1)
    else:
        found = np.array(data["sizes"][k]) * _unit(data["looks"][k])
    if "offsets" not in data:
        return found
    return found @ SO3.from_quaternion(_length_one(data["spins"][k])).T + data["offsets"][k]


def _length_one(quaternion: Any) -> np.ndarray:
    return np.array(quaternion) / np.linalg.norm(quaternion)


def _ink(data: dict[str, Any], k: int) -> str:
    """The colour of a shape: its own, that of its body, that of the ground."""
    ink = data["inks"][data["owners"][k]]
    own = data["colours"][k] if "colours" in data else None
    return own or (STEEL if ink is None else style.COLOURS[ink % len(style.COLOURS)])


def _unit(look: str) -> np.ndarray:
    """Faces of a box, cylinder (along the third axis) or ball of size 1, shape (faces, 4, 3)."""
    if look == "box":
        square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / 2
        found = []
        for axis in range(3):
            for side in (-0.5, 0.5):
                found.append(np.insert(square, axis, side, axis=1))
        return np.array(found)
    rings = np.array([-0.5, 0.5]) if look == "cylinder" else np.linspace(-np.pi / 2, np.pi / 2, 9)
    radii = np.full(2, 0.5) if look == "cylinder" else 0.5 * np.cos(rings)
    heights = rings if look == "cylinder" else 0.5 * np.sin(rings)
    angle = 2 * np.pi * np.arange(ROUND) / ROUND
    around = np.stack([np.cos(angle), np.sin(angle), np.zeros(ROUND)], axis=1)
    ring = radii[:, None, None] * around + heights[:, None, None] * [0, 0, 1]
    after = np.roll(ring, -1, axis=1)
    sides = np.stack([ring[:-1], after[:-1], after[1:], ring[1:]], axis=2).reshape(-1, 4, 3)
    if look == "ball":
        return sides
    return np.concatenate([sides, _cap(ring[0]), _cap(ring[-1])])


def turned(turns: np.ndarray, at: tuple[int, float]) -> np.ndarray:
    """Rotations at a moment, from quaternions of frames that need not be of length one."""
    frame, share = at if len(turns) > 1 else (0, 0.0)
    here = turns[frame]
    if share > 0:  # along the shorter way
        other = turns[frame + 1]
        other = other * np.where(np.sum(here * other, axis=1) < 0, -1.0, 1.0)[:, None]
        here = (1 - share) * here + share * other
    return SO3.from_quaternion(here / np.linalg.norm(here, axis=1, keepdims=True))


def _cap(ring: np.ndarray) -> np.ndarray:
    """The end of a beam as faces of four corners, two of them the same."""
    middle = np.broadcast_to(ring[0], ring[1:-1].shape)
    return np.stack([middle, ring[1:-1], ring[2:], ring[2:]], axis=1)


def lit(faces: np.ndarray) -> np.ndarray:
    """How bright faces are; both sides of a face are lit alike."""
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    sizes = np.linalg.norm(normals, axis=1)
    toward = np.abs(normals @ LIGHT) / np.where(sizes > 0, sizes, 1.0) / np.linalg.norm(LIGHT)
    return DARK + (1 - DARK) * toward


def shades(values: np.ndarray) -> np.ndarray:
    """Colours of 0 … 255, shape (…, 4)."""
    palette = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in PALETTE])
    x = np.clip(values / 255.0, 0, 1) * (len(palette) - 1)
    known = np.arange(len(palette))
    channels = [np.interp(x, known, palette[:, k]) for k in range(3)]
    return np.stack([*channels, np.ones_like(x)], axis=-1)
