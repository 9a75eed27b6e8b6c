"""What implicit steps of a mesh need: rows and slots, how nodes are coupled, which are special."""

from __future__ import annotations

import numpy as np

from taut.fields.mesh import Mesh
from taut.kernel.blocks import pattern_of, room as block_room, slots_of
from taut.kernel.implicit_code import ROWS
from taut.kernel.places import Layout
from taut.lie import SO3
from taut.march.coupled import Coupling, Room
from taut.march.special import FIXED, PATH, Special
from taut.portable import inverse

ROW_NAMES = (
    "zeta", "last", "change", "gap", "own", "slope", "left", "right", "other", "turn", "place",
)  # fmt: skip
EDGE_ROWS = (
    "chi", "left", "right", "drag_left", "drag_right", "slope", "stiffness", "reference",
    "per_length", "damping",
)  # fmt: skip


def layout_of(mesh: Mesh, rows: dict[str, int] = ROWS) -> tuple[Layout, dict[str, np.ndarray]]:
    """Rows and slots, and what is in those that never change.

    `rows` are those of `taut.kernel.implicit_code`.
    """
    layout, data = Layout(), {}
    for name, size in dict(
        mu=6, zeta=6, last=6, change=6, turn=4, place=3, chi=6, left=6, right=6, share=1
    ).items():
        layout.row(name, size)
    for name, size in rows.items():
        layout.row(name, size)
    for name in sorted({"follower" if load.follower else "dead" for load in mesh.loads}):
        layout.row(name, 6)
    followers = [joint.follower for joint in mesh.joints]
    weight = mesh.weight.copy()
    weight[followers] = 0.0
    data["weight"] = weight[None]
    data["share"] = np.where(weight > 0, 1 / np.where(weight > 0, weight, 1.0), 0.0)[None]
    layout.slot("step", 1)
    if "slow" in rows:
        layout.slot("span", 1)
    layout.slot("spacing", 1)
    data["spacing"] = mesh.spacing[mesh.alive].min(keepdims=True)
    if np.any(mesh.gravity):
        layout.slot("gravity", 3)
        data["gravity"] = mesh.gravity
    alive = mesh.alive
    for name, values, which in (
        ("inertia", _packed(mesh.inertia), slice(None)),
        ("compliance", _packed(inverse(mesh.inertia)), slice(None)),
        ("stiffness", _packed(mesh.stiffness), alive),
        ("reference", mesh.reference, alive),
        ("per_length", 1 / mesh.spacing[:, None], alive),
        ("damping", mesh.damping[:, None], alive),
    ):
        if name == "damping" and not np.any(values):
            continue
        same = values[which]
        if np.all(same == same[0]):
            layout.slot(name, values.shape[1])
            data[name] = same[0]
        else:
            layout.row(name, values.shape[1])
            data[name] = values.T
    return layout, data


def _packed(matrices: np.ndarray) -> np.ndarray:
    """Diagonals of diagonal matrices, or all entries."""
    diagonal = np.einsum("nii->ni", matrices)
    if np.array_equal(matrices, diagonal[:, :, None] * np.eye(6)):
        return diagonal.copy()
    return matrices.reshape(-1, 36)


def coupling_of(
    mesh: Mesh, layout: Layout, address: np.ndarray, *, damping: bool = False
) -> Coupling:
    """How the nodes of a mesh are coupled.

    Parameters
    ----------
    address : ndarray
        As in `taut.kernel.implicit_code.Sweeps`.
    damping : bool
        Whether it is for `taut.march.damping.damp`.
    """
    count = mesh.nodes
    leader = np.arange(count)
    for joint in mesh.joints:
        leader[joint.follower] = joint.leader
    own = np.flatnonzero(leader == np.arange(count))
    number = np.full(count, -1)
    number[own] = np.arange(len(own))
    number = number[leader]
    edges = np.flatnonzero(mesh.alive)
    first, second = number[edges], number[edges + 1]
    p = pattern_of(len(own), np.stack([first, second], axis=1))
    slots = np.full((count, 4), -1, dtype=np.int64)
    for k, (rows, columns) in enumerate(
        ((first, first), (first, second), (second, first), (second, second))
    ):
        slots[edges, k] = slots_of(p, rows, columns)
    special = np.full(count, -1, dtype=np.int64)
    nodes = _special_nodes(mesh)
    special[nodes] = np.arange(len(nodes))
    names = {name: name for name in ROW_NAMES}
    if damping:
        names |= dict.fromkeys(("zeta", "last", "change"), "slow")
        names |= {"left": "drag_left", "right": "drag_right"}
    return Coupling(
        address=address,
        step=layout.slots["span" if damping else "step"][0],
        spacing=float(mesh.spacing[mesh.alive].min()),
        **{name: layout.rows[row][0] for name, row in names.items()},
        spans=np.array([(x.start, x.stop) for x in mesh.spans], dtype=np.int64),
        unknown=p.place[number],
        slots=slots,
        special=special,
        pattern=p,
    )


def room_of(coupling: Coupling) -> Room:
    """Where a step works."""
    blocks, pivots = block_room(coupling.pattern)
    return Room(blocks, pivots, np.zeros((len(coupling.pattern.order), 6)), np.zeros(4))


def _special_nodes(mesh: Mesh) -> list[int]:
    """Held nodes, then those that follow."""
    return [*(h.node for h in mesh.holds), *(joint.follower for joint in mesh.joints)]


def special_of(mesh: Mesh) -> Special:
    """Nodes that follow or are held."""
    nodes = _special_nodes(mesh)
    held = {hold.node: k for k, hold in enumerate(mesh.holds)}
    tied = {joint.follower: joint for joint in mesh.joints}
    leaders = [tied[n].leader if n in tied else -1 for n in nodes]
    turns = np.array([tied[n].motion[:3, :3] if n in tied else np.eye(3) for n in nodes])
    many = len(mesh.holds)
    kind, free = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    freedom, direction = np.zeros((many, 6, 6)), np.zeros((many, 3))
    for k, hold in enumerate(mesh.holds):
        on_path = hold.end.kind == "roller" or (hold.end.kind == "pinned" and hold.end.moved)
        kind[k], free[k] = (PATH if on_path else FIXED), hold.freedom.shape[1]
        if on_path:
            freedom[k, :3, :3] = np.eye(3)
        else:
            freedom[k, :, : free[k]] = hold.freedom
        if hold.direction is not None:
            direction[k] = hold.direction
    return Special(
        np.array(nodes, dtype=np.int64),
        np.array(leaders, dtype=np.int64),
        np.array([held.get(n if a < 0 else a, -1) for n, a in zip(nodes, leaders, strict=True)],
                 dtype=np.int64),
        turns.reshape(-1, 3, 3), SO3.quaternion(turns.reshape(-1, 3, 3)),
        np.zeros((len(nodes), 6, 6)), np.zeros((len(nodes), 6, 6)), kind, free, freedom, direction,
        np.zeros((many, 6)), np.zeros((many, 6, 6)),
    )  # fmt: skip
