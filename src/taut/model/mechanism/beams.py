"""Beams as parts: a row of nodes, each a part of its own, with strain energy between them.

A node carries the inertia of its cell (and of the bodies fixed to it): mass m at the centre c and
moments J about it, from the 6 × 6 inertia (angular, linear) of the node,

    [[J − m ĉĉ, m ĉ], [−m ĉ, m 1]].

A section has no extent along the beam, so that its node is a plate (see `shapes`) with nine
coordinates; joints, forces and views do not tell it from any other part.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, ModelError, brief, number
from taut.lie import SE3, SO3
from taut.model.mechanism import parts
from taut.model.mechanism.acts import Acts
from taut.model.mechanism.elements import Mount, mounted, pieces
from taut.model.mechanism.library import Piece
from taut.model.mechanism.parts import Part
from taut.model.mechanism.record import recorded
from taut.model.mechanism.shapes import BODY, PLATE
from taut.model.symbols import t as TIME
from taut.portable import product, rotation_near

EVEN = 1e-9  # of the mass: how far that of a node may differ between directions


@dataclass(frozen=True, eq=False)
class BeamPart:
    """A beam of a mechanism.

    Attributes
    ----------
    name : str
    beam : Beam
        What it is made of.
    nodes : tuple of Part
        From the root to the tip.
    mounts : tuple of Mount
    spacing : float
    stiffness, reference : ndarray, shapes (edges, 6, 6), (edges, 6)
    pieces : list of Piece
        Its strain energy, and what damps it.
    loads : list of str
        Forces that its loads are, by name.
    """

    name: str
    beam: Any
    nodes: tuple[Part, ...]
    mounts: tuple[Mount, ...]
    spacing: float
    stiffness: np.ndarray
    reference: np.ndarray
    pieces: list[Piece]
    loads: list[str]

    @property
    def made(self) -> set[str]:
        """Names of what it brings into the mechanism."""
        return {*(part.name for part in self.nodes), *self.loads}

    @property
    def root(self) -> Part:
        """The first node."""
        return self.nodes[0]

    @property
    def tip(self) -> Part:
        """The last node."""
        return self.nodes[-1]

    def near(self, s: float) -> Part:
        """The node nearest to a place s along the beam."""
        along = number("a place on a beam", s)
        length = self.spacing * (len(self.nodes) - 1)
        if not 0 <= along <= length * (1 + 1e-12):
            raise InputError(
                f"that place is not on {self.name}",
                expected=f"0 ≤ s ≤ {length:g}",
                received=along,
            )
        return self.nodes[min(round(along / self.spacing), len(self.nodes) - 1)]

    # ---- from coordinates of the mechanism -----------------------------------------------------

    def directors(self, q: np.ndarray) -> np.ndarray:
        """Columns: principal axes of the nodes' parts, shape (…, nodes, 3, 3)."""
        found = []
        for part in self.nodes:
            given = q[..., part.first + 3 : part.first + part.shape.size]
            d = [given[..., 3 * k : 3 * k + 3] for k in range(given.shape[-1] // 3)]
            found.append(np.stack(d if len(d) == 3 else [*d, np.cross(d[0], d[1])], axis=-1))
        return np.stack(found, axis=-3)

    def frames(self, q: np.ndarray) -> np.ndarray:
        """Rotations of the nodes, columns the local axes, shape (…, nodes, 3, 3)."""
        axes = np.array([part.axes.T for part in self.nodes])
        return product(self.directors(np.asarray(q, float)), axes)

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Of the nodes in space, shape (…, nodes, 3)."""
        q = np.asarray(q, float)
        centres = q[..., self.centres]
        return centres - np.einsum("...nij,nj->...ni", self.frames(q), self.offsets)

    def poses(self, q: np.ndarray) -> np.ndarray:
        """[[R, x], [0, 1]] of the nodes, shape (…, nodes, 4, 4)."""
        places = self.positions(q)
        found = np.zeros((*places.shape[:-1], 4, 4))
        found[..., :3, :3], found[..., :3, 3], found[..., 3, 3] = self.frames(q), places, 1.0
        return found

    def place(self, q: np.ndarray, poses: np.ndarray) -> None:
        """Write coordinates of nodes with these poses, shape (nodes, 4, 4), into q, shape (n,)."""
        for part, pose, offset in zip(self.nodes, poses, self.offsets, strict=True):
            turned = product(pose[:3, :3], part.axes)
            carried = [turned[:, k - 1] for k in part.shape.directors]
            centre = pose[:3, 3] + product(pose[:3, :3], offset)
            q[part.first : part.first + part.shape.size] = np.concatenate([centre, *carried])

    def strain(self, q: np.ndarray) -> np.ndarray:
        """γ of the edges, shape (…, edges, 6): bending, twist and stretch as of `taut.Beam`."""
        poses = self.poses(q)
        steps = product(SE3._inverse(poses[..., :-1, :, :]), poses[..., 1:, :, :])
        return SE3._cay_ad_inverse(steps) / self.spacing - self.reference

    @cached_property
    def offsets(self) -> np.ndarray:
        """Centres of mass of the nodes in their local frames, shape (nodes, 3)."""
        rows = [product(part.rotation.T, part.position - at) for part, at in zip(
            self.nodes, self.begins, strict=True)]  # fmt: skip
        return np.array(rows)

    @property
    def begins(self) -> np.ndarray:
        """Where the nodes are at the start, shape (nodes, 3)."""
        return self.beam.mesh().pose[:, :3, 3]

    @cached_property
    def centres(self) -> np.ndarray:
        """Numbers of the coordinates of the nodes' centres of mass, shape (nodes, 3)."""
        return np.array([part.first for part in self.nodes])[:, None] + np.arange(3)

    def __repr__(self) -> str:
        return f"<beam {self.name!r} of {len(self.nodes)} nodes>"


@public
class Flexible(Acts):
    """The verb by which beams are added; a part of `Mechanism`."""

    @recorded
    def beam(
        self,
        name: str,
        beam: Any = None,
        *,
        velocity: Any = (0.0, 0.0, 0.0),
        angular_velocity: Any = (0.0, 0.0, 0.0),
        **made: Any,
    ) -> BeamPart:
        """A geometrically exact beam, whose nodes are parts like any other.

        Parameters
        ----------
        name : str
            The nodes are called "name 0", "name 1", …, the first and the last of them also
            "name root" and "name tip".
        beam : taut.Beam, optional
            What it is made of, and where it is; or give its parameters here: ``length``,
            ``section``, ``density``, ``young``, ``poisson``, ``nodes``, ``at``, ``frame``, ….
            Its loads and bodies count.  Its ends are free: joints hold them.
        velocity, angular_velocity : (3,) or (nodes, 3) array_like
            At the start, in space: as a rigid body, `velocity` being that of the root; or of each
            node.

        Returns
        -------
        BeamPart
            ``.root``, ``.tip``, ``.nodes[k]`` and ``.near(s)`` are parts that take joints and
            forces.

        Examples
        --------
        >>> import taut
        >>> m = taut.Mechanism(gravity=(0, 0, -9.81))
        >>> rod = taut.Beam(1, taut.Circle(0.01), density=7800, young=2e11, poisson=0.3, nodes=5)
        >>> blade = m.beam("blade", rod)
        >>> m.fixed(m.ground, blade.root, at=(0, 0, 0))
        <fixed joint 'joint 1' of ground and blade 0>
        >>> m.system()
        System: 45 coordinates, 21 constraints, 24 degrees of freedom
        """
        name = self._new(name)
        beam = _beam(name, beam, made)
        self._check_beam(name, beam)
        mesh = beam.mesh()
        places = mesh.pose[:, :3, 3]
        moving, turning = _moving(name, places, velocity, angular_velocity)
        inertia = mesh.weight[:, None, None] * mesh.inertia
        made_of = [
            _node(f"{name} {k}", inertia[k], mesh.pose[k], moving[k], turning[k])
            for k in range(mesh.nodes)
        ]
        ends = {f"{name} root": made_of[0], f"{name} tip": made_of[-1]}
        for own in (*ends, *(part.name for part in made_of)):
            self._new(own)
        for part in made_of:
            self._added(part, {"beam": name})
        mounts = [mounted(part, place) for part, place in zip(made_of, places, strict=True)]
        terms = [
            term
            for k in range(mesh.nodes - 1)
            for term in pieces(
                made_of[k], made_of[k + 1], (mounts[k], mounts[k + 1]), beam.spacing,
                mesh.reference[k], mesh.stiffness[k], beam.damping,
            )
        ]  # fmt: skip
        kept = BeamPart(
            name, beam, tuple(made_of), tuple(mounts), beam.spacing, mesh.stiffness,
            mesh.reference, terms, [],
        )  # fmt: skip
        self.beams[name] = kept
        self.ends |= ends
        self._laden(kept, mesh)
        return kept

    def _check_beam(self, name: str, beam: Any) -> None:
        held = [end.kind for end in beam.ends if end.kind != "free"]
        if held:
            raise ModelError(
                f"an end of {name} is held already",
                expected="free ends: a mechanism holds them by joints",
                received=" and ".join(held),
                remedy='ends=("free", "free"), and for a clamped root m.fixed(m.ground, '
                f"{name}.root, at=…)",
            )
        if beam.gravity is not None and not np.array_equal(beam.gravity, self.gravity):
            raise ModelError(
                f"{name} has a gravity of its own",
                expected=f"that of the mechanism, {self.gravity.tolist()}",
                received=beam.gravity.tolist(),
                remedy="leave it out: gravity is that of the mechanism",
            )

    def _laden(self, kept: BeamPart, mesh: Any) -> None:
        """The loads of a beam as forces and torques on its nodes."""
        many = 0
        spread = import_module("taut.fields.spread").spread  # a room further up
        for load in mesh.loads:
            shares = spread(load, mesh.s, mesh.weight)
            for k, row in zip(shares.nodes.tolist(), shares.rows.tolist(), strict=True):
                own, many = tuple(zip(shares.symbols, row, strict=True)), many + 1
                for what, given in (("force", shares.wrench[3:]), ("torque", shares.wrench[:3])):
                    if (any(row) or not row) and any(e != 0 for e in given):
                        kept.loads.append(f"{kept.name} {what} {many}")
                        values = [] if what == "torque" else [mesh.pose[k, :3, 3]]
                        self._node_load(kept, k, given, load.follower, values, own)

    def _node_load(self, kept: BeamPart, k: int, given, follower: bool, places, own) -> None:
        """A load on a node; where it depends on time, all nodes have it in the same symbols."""
        name, part = kept.loads[-1], kept.nodes[k]
        used = set().union(*(e.free_symbols for e in given))
        if TIME in used:
            own = tuple(x for x in own if x[0] in used)
        else:
            here = {symbol: sp.Float(value) for symbol, value in own}
            given, own = [e.xreplace(here) for e in given], ()
        values = [part.on(x, f"force {name}") for x in places]
        self._loaded(name, part, given, values, follower, None, not places, own)


def _beam(name: str, given: Any, made: dict[str, Any]) -> Any:
    """The beam that was given, or one that is made of what was given."""
    kind = import_module("taut.fields.beam").Beam  # a room further up
    if given is None:
        if not made:
            raise ModelError(
                f"{name} is made of nothing",
                expected=f'm.beam("{name}", taut.Beam(…)), or its length, section, density, …',
            )
        try:
            return kind(**made)
        except TypeError as error:
            raise InputError(
                f"{name} cannot be made",
                expected="the parameters of taut.Beam",
                received=", ".join(made),
                remedy=str(error).removeprefix("Beam.__init__() "),
            ) from None
    if not isinstance(given, kind):
        raise ModelError(
            f"{name} is no beam",
            expected="a taut.Beam",
            received=brief(given),
            remedy="several beams are parts of their own, with joints between them",
        )
    if made:
        raise ModelError(
            f"{name} is given twice", expected="a taut.Beam, or its parameters",
            received=", ".join(made),
        )  # fmt: skip
    taken = copy(given)  # what is added to it later is not in the mechanism
    taken.loads, taken.bodies, taken.told = list(given.loads), list(given.bodies), list(given.told)
    return taken


def _moving(name: str, places: np.ndarray, velocity: Any, spin: Any) -> Sequence[np.ndarray]:
    """Velocities and angular velocities of all nodes, shape (nodes, 3)."""
    found = []
    for what, given in (("velocity", velocity), ("angular velocity", spin)):
        try:
            read = np.array(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            read = np.zeros(0)
        if read.shape not in ((3,), places.shape) or not np.all(np.isfinite(read)):
            raise InputError(
                f"the {what} of {name} cannot be read",
                expected=f"three finite numbers, or {len(places)} rows of them",
                received=brief(given),
            )
        found.append(read)
    moving, turning = found
    if moving.ndim == 1:
        arm = places - places[0]
        moving = moving + (np.cross(turning, arm) if turning.ndim == 1 else 0.0 * arm)
    return moving, np.broadcast_to(turning, places.shape)


def _node(
    name: str, inertia: np.ndarray, pose: np.ndarray, velocity: np.ndarray, spin: np.ndarray
) -> Part:
    """The part that carries the inertia of a node; `velocity` is that of the node."""
    linear = inertia[3:, 3:]
    mass = float(np.trace(linear)) / 3
    if np.abs(linear - mass * np.eye(3)).max() > EVEN * mass:
        raise ModelError(
            f"the mass of {name} depends on the direction",
            expected="the same number three times in the linear part of the inertia",
            received=linear.tolist(),
        )
    coupling = (inertia[:3, 3:] - inertia[:3, 3:].T) / 2
    largest = float(np.sqrt(np.diagonal(inertia)[:3].max() * mass))  # that a coupling may be
    if np.abs(inertia[:3, 3:] - coupling).max() > EVEN * largest:
        raise ModelError(
            f"{name} has no centre of mass",
            expected="an inertia that couples turning and moving by m ĉ",
            received=inertia[:3, 3:].tolist(),
        )
    centre = SO3.vee(coupling) / mass
    moments = inertia[:3, :3] + mass * product(SO3.hat(centre), SO3.hat(centre))
    turn = pose[:3, :3]
    arm = product(turn, centre)
    made = parts.body(
        name, mass, (moments + moments.T) / 2, pose[:3, 3] + arm, rotation_near(turn),
        velocity + np.cross(spin, arm), spin,
    )  # fmt: skip
    if made.shape not in (PLATE, BODY):
        raise ModelError(
            f"{name} has no inertia against twisting",
            expected="three moments of inertia per length that are not zero",
            received=f"principal moments {made.inertia.tolist()}",
        )
    return made
