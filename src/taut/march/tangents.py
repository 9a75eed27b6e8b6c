"""The directions in which a mechanism can move, as a sparse basis; and steps along them.

A part moves by δr and turns by θ, δdᵢ = θ × dᵢ, which keeps its directors orthonormal: six columns
for a body or a plate, five for a thin rod, three for a point.  Joints connect some of these
columns; of each set that hangs together the null space of the joints' rows is computed by itself:

    q̇ = B x,        B = T Z,        G B = 0,

so that B is sparse where joints are few for the number of parts, as in a mechanism with beams.

A step turns directors by Cayley's map.  Along a beam it changes strains and not places: by the
linear change δχ that B x is, from the node that is held by a joint, g_{j+1} = g_j cay(Δs(χ + δχ)).
What bends is then not stretched, and Newton's method is at its end after a few steps.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from taut.errors import InputError
from taut.lie import SE3, SO3
from taut.march.freedoms import strain_maps
from taut.model.mechanism.shapes import NUMBER, POINT, ROD

if TYPE_CHECKING:
    from taut.model.mechanism import Mechanism
    from taut.model.mechanism.beams import BeamPart
    from taut.model.mechanism.parts import Part

HELD = (
    1e-9  # of a row: what is left of one that no motion of parts can break; of its singular values
)
WIDEST = 3000  # columns that joints connect


class Tangents:
    """The directions at one configuration.

    Parameters
    ----------
    mechanism : Mechanism
    q : ndarray, shape (n,)
    jacobian : sparse matrix, shape (c, n)
        G at q.
    """

    def __init__(self, mechanism: Mechanism, q: np.ndarray, jacobian: Any) -> None:
        self.q, self.jacobian, self.mechanism = q, jacobian, mechanism
        self.parts = mechanism.carriers
        self.columns = np.cumsum([0, *(_width(x) for x in self.parts)])

    @cached_property
    def motions(self) -> Any:
        """T, shape (n, columns)."""
        from scipy.sparse import block_diag

        return block_diag([_motions(x, self.q) for x in self.parts], format="csr")

    @cached_property
    def allowed(self) -> Any:
        """Z, shape (columns, freedom): columns are orthonormal."""
        from scipy.sparse import csc_matrix, identity
        from scipy.sparse.csgraph import connected_components

        wide = self.motions.shape[1]
        if not self.jacobian.shape[0]:
            return identity(wide, format="csc")
        rows = (self.jacobian @ self.motions).tocsr()
        sizes = np.maximum(_largest(self.jacobian), 1e-300)
        rows = rows[_largest(rows) > HELD * sizes]
        if not rows.shape[0]:
            return identity(wide, format="csc")
        touching = abs(rows).T @ abs(rows)
        loose = np.flatnonzero(touching.diagonal() == 0)
        _, label = connected_components(touching, directed=False)
        i, j, values, at = [loose], [np.arange(len(loose))], [np.ones(len(loose))], len(loose)
        label[loose] = -1
        for columns in _grouped(label):
            block = _null_space(rows[:, columns])
            many = block.shape[1]
            i.append(np.repeat(columns, many))
            j.append(np.tile(at + np.arange(many), len(columns)))
            values.append(block.ravel())
            at += many
        found = np.concatenate(values), (np.concatenate(i), np.concatenate(j))
        return csc_matrix(found, shape=(wide, at))

    @cached_property
    def basis(self) -> Any:
        """B = T Z, shape (n, freedom)."""
        return (self.motions @ self.allowed).tocsc()

    def carried(self, forces: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Forces on the coordinates `since`, as the same forces and torques in space on those here.

        Of thin rods and of numbers they stay what they are.
        """
        found = forces.copy()
        for part in self.parts:
            if len(part.shape.directors) < 2:
                continue
            here = slice(part.first + 3, part.first + part.shape.size)
            then, now = (-np.vstack([SO3.hat(d) for d in x[here].reshape(-1, 3)])
                         for x in (since, self.q))  # fmt: skip
            found[here] = now @ np.linalg.solve(now.T @ now, then.T @ forces[here])
        return found

    def turned(self, forces: np.ndarray) -> Any:
        """(∂T/∂x)ᵀ f: how torques Σ dᵢ × fᵢ of given forces change as the directors turn.

        (θ × d) × f = (d fᵀ − (d·f) 1) θ.  Shape (columns, columns).
        """
        from scipy.sparse import csr_matrix

        wide, square = self.columns[-1], np.arange(3)
        rows, columns, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        for part, first in zip(self.parts, self.columns, strict=False):
            if len(part.shape.directors) < 2:
                continue
            here = slice(part.first + 3, part.first + part.shape.size)
            d, f = (x[here].reshape(-1, 3) for x in (self.q, forces))
            block = d.T @ f - np.sum(d * f) * np.eye(3)
            rows.append(np.repeat(first + 3 + square, 3))
            columns.append(np.tile(first + 3 + square, 3))
            values.append(block.ravel())
        data = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return csr_matrix(data, shape=(wide, wide))

    def moved(self, x: np.ndarray) -> np.ndarray:
        """The configuration after a step B x, with directors that are turned and not stretched."""
        y, found = self.allowed @ x, self.q.copy()
        for part, first in zip(self.parts, self.columns, strict=False):
            here = slice(part.first, part.first + part.shape.size)
            if not part.shape.directors:
                found[here] += y[first : first + part.shape.size]
                continue
            found[part.first : part.first + 3] += y[first : first + 3]
            d = self.q[here][3:].reshape(-1, 3)
            if part.shape is ROD:
                turned = d + (_across(d[0]) @ y[first + 3 : first + 5])[None]
                turned /= np.linalg.norm(turned)
            else:
                turned = d @ SO3.cay(y[first + 3 : first + 6]).T
            found[part.first + 3 : part.first + part.shape.size] = turned.ravel()
        for beam in self.mechanism.beams.values():
            self._bend(beam, y, found)
        return found

    def _bend(self, beam: BeamPart, y: np.ndarray, found: np.ndarray) -> None:
        """Put the nodes of a beam where its new strains say."""
        first = self.columns[self._number(beam.root)]
        turns = y[first : first + 6 * len(beam.nodes)].reshape(-1, 6)
        poses = beam.poses(self.q)
        arm = self.q[beam.centres] - poses[:, :3, 3]
        moving = turns[:, :3] - np.cross(turns[:, 3:], arm)
        eta = np.concatenate(
            [np.einsum("nji,nj->ni", poses[:, :3, :3], x) for x in (turns[:, 3:], moving)], axis=1
        )
        steps = beam.spacing * (beam.strain(self.q) + beam.reference)
        pairs = np.concatenate([eta[:-1], eta[1:]], axis=1)
        steps = steps + np.einsum("eij,ej->ei", strain_maps(steps), pairs)
        motions = SE3.cay_ad(steps)
        base = self._held(beam)
        new = poses.copy()
        new[base, :3, :3] = SO3.cay(turns[base, 3:]) @ poses[base, :3, :3]
        new[base, :3, 3] += moving[base]
        for k in range(base, len(poses) - 1):
            new[k + 1] = new[k] @ motions[k]
        for k in range(base, 0, -1):
            new[k - 1] = new[k] @ SE3.inverse(motions[k - 1])
        beam.place(found, new)

    def _held(self, beam: BeamPart) -> int:
        """The first node of a beam that a joint holds, or the middle one."""
        held = {id(x) for joint in self.mechanism.joints.values() for x in (joint.a, joint.b)}
        found = [k for k, node in enumerate(beam.nodes) if id(node) in held]
        return found[0] if found else len(beam.nodes) // 2

    def _number(self, part: Part) -> int:
        return next(k for k, x in enumerate(self.parts) if x is part)

    def longest(self, x: np.ndarray) -> float:
        """The largest angle by which a part turns in a step B x."""
        y, most = self.allowed @ x, 0.0
        for part, first in zip(self.parts, self.columns, strict=False):
            if part.shape.directors:
                turn = y[first + 3 : first + _width(part)]
                most = max(most, float(np.linalg.norm(turn)))
        return most


def _width(part: Part) -> int:
    if part.shape in (NUMBER, POINT):
        return part.shape.size
    return 5 if part.shape is ROD else 6


def _motions(part: Part, q: np.ndarray) -> np.ndarray:
    """The columns of T of one part."""
    size = part.shape.size
    found = np.zeros((size, _width(part)))
    if not part.shape.directors:
        return np.eye(size)
    found[:3, :3] = np.eye(3)
    d = q[part.first + 3 : part.first + size].reshape(-1, 3)
    if part.shape is ROD:
        found[3:, 3:] = _across(d[0])
        return found
    for k, x in enumerate(d):
        found[3 + 3 * k : 6 + 3 * k, 3:] = -SO3.hat(x)  # θ × d
    return found


def _across(d: np.ndarray) -> np.ndarray:
    """Columns: two directions at right angles to d and to each other, shape (3, 2)."""
    other = np.eye(3)[int(np.argmin(np.abs(d)))]
    first = np.cross(d, other)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(d, first)], axis=1)


def _largest(matrix: Any) -> np.ndarray:
    """The largest entry of each row."""
    return abs(matrix).max(axis=1).toarray().ravel()


def _grouped(label: np.ndarray) -> list[np.ndarray]:
    """Numbers of the columns with the same label, but for those labelled −1."""
    return [np.flatnonzero(label == x) for x in np.unique(label[label >= 0])]


def _null_space(rows: Any) -> np.ndarray:
    """Of the rows that are not zero, dense, shape (columns, freedom)."""
    many = rows.shape[1]
    if many > WIDEST:
        raise InputError(
            "joints connect too many parts for this",
            expected=f"at most {WIDEST} motions of parts that hang together by joints",
            received=many,
            remedy="let it come to rest: simulate it with dampers",
        )
    kept = rows[np.diff(rows.indptr) > 0].toarray()
    if not len(kept):
        return np.eye(many)
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    _, s, vt = np.linalg.svd(kept)
    return vt[int(np.sum(s > HELD * s.max())) :].T
