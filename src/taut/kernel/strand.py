"""A field or a mesh of beams as rows of numbers and compiled sweeps over them.

A `Strand` lays the numbers out (what is the same everywhere goes into slots), sorts the nodes into
classes by what is special about them, and compiles for a scheme one sweep per class: `begin`,
`shown`, `weighed` (the energy of what is shown) and `node` over nodes, `pull` and `edge` over
edges.  A list of calls (address, first, last) is then all that the march needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from taut.errors import ModelError
from taut.kernel.emit import lean
from taut.kernel.mixed_places import MixedEdge, MixedNode
from taut.kernel.native import Native, compiled, lanes
from taut.kernel.places import Edge, Layout, Medium, Node, applied, quadratic
from taut.kernel.sweep_code import MARGIN, sweep_code
from taut.kernel.translate import to_casadi
from taut.lie import se3
from taut.portable import inverse as inverse_of, product, solve

if TYPE_CHECKING:
    from taut.fields.field import Field
    from taut.fields.mesh import Hold, Mesh
    from taut.methods.fields.base import Scheme

FEW = 0.1  # of the nodes may have an inertia of their own before all have
EDGE_STAGES = ("pull", "edge", "count")
SEEN = "seen"
LINE = 8  # doubles in a line of the cache


@dataclass
class Strand:
    """Numbers and classes of places.

    Attributes
    ----------
    rows : ndarray, shape (height, stride)
        Node or edge j is column ``MARGIN + j``.
    classes : list of (features, first, last)
        Runs of nodes with the same features; nodes in none of them stand still or follow.
    edges : list of (first, last)
        Runs of edges.
    halo : list of (name, from, to)
        Columns to be copied after each sweep that wrote them.
    """

    count: int
    medium: Medium
    layout: Layout
    classes: list[tuple[frozenset[str], int, int]]
    edges: list[tuple[int, int]]
    halo: list[tuple[str, int, int]] = field(default_factory=list)
    # Whoever has an address of a sweep has the strand, and so its code.
    alive: list[Native] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        # Rows begin on lines of the cache, an odd number of lines apart: so they fall into all of
        # its sets alike.  There are few such distances, each of which has code of its own.
        lines = -(-(self.count + 2 * MARGIN + lanes()) // LINE)
        self.rows = _aligned(self.layout.height, ((1 << (lines - 1).bit_length()) + 1) * LINE)
        self.par = np.zeros(self.layout.width)

    @property
    def stride(self) -> int:
        return self.rows.shape[1]

    @property
    def origin(self) -> int:
        """Address of column 0."""
        return self.rows.ctypes.data + 8 * MARGIN

    def view(self, name: str) -> np.ndarray:
        """The numbers called `name` of all places, shape (size, count); or those of a slot."""
        if name in self.layout.slots:
            at, size = self.layout.slots[name]
            return self.par[at : at + size]
        at, size = self.layout.rows[name]
        return self.rows[at : at + size, MARGIN : MARGIN + self.count]

    def give(self, name: str, values: np.ndarray) -> None:
        """Set numbers, of shape (count, size) or (size,) for a slot."""
        target = self.view(name)
        if name in self.layout.slots:
            target[:] = values
        else:
            target[:, : len(values)] = np.asarray(values).reshape(len(values), -1).T

    def calls(self, scheme: Scheme, stage: str) -> np.ndarray:
        """(address, first, last) of every sweep of a stage, shape (…, 3)."""
        key = (scheme, stage)
        places = (
            [(None, *run) for run in self.edges] if stage in EDGE_STAGES else list(self.classes)
        )
        found = []
        for features, first, last in places:
            native = _compiled(_text(self.medium, self.layout, self.stride, *key, features))
            self.alive.append(native)
            found.append((native.address("sweep"), first, last))
        return np.array(found, dtype=np.int64).reshape(-1, 3)


def _aligned(height: int, width: int) -> np.ndarray:
    """Zeros whose rows begin on lines of the cache."""
    raw = np.zeros(height * width + LINE)
    skip = (-raw.ctypes.data // 8) % LINE
    return raw[skip : skip + height * width].reshape(height, width)


@lru_cache(maxsize=256)
def _compiled(text: str) -> Native:
    return compiled(text)


_TEXTS: dict[tuple, str] = {}


def _text(medium: Medium, layout: Layout, stride: int, scheme: Scheme, stage: str, features) -> str:
    """The code of a sweep, remembered for media that can be told apart."""
    wide = lanes()
    key = (medium, layout.key(), stride, scheme.key, stage, features, wide)
    if key not in _TEXTS:
        if stage in EDGE_STAGES:
            place = Edge(layout, medium) if medium.whole is None else MixedEdge(layout, medium)
            if stage == "pull":
                place.pull(place.chi, exact=scheme.posed)
            elif isinstance(place, MixedEdge) and stage == "count":
                place.count()
            else:
                scheme.edge(place)
        else:
            place = (Node if medium.whole is None else MixedNode)(layout, medium, features)
            if stage == "begin":
                place.mu = place.entered(place.mu)
                place.mu = scheme.begin(place)
            elif stage == "shown":
                seen = scheme.shown(place)
                place.write(SEEN, place.shown(seen))
                place.now(seen)
            elif stage == "weighed":
                place.weigh(place.read(SEEN))
            else:
                scheme.node(place)
        _TEXTS[key] = sweep_code(place.sweep(), wide, stride)
    return _TEXTS[key]


# ---- from a mesh -----------------------------------------------------------------------------


@lru_cache(maxsize=8)
def rigid() -> Medium:
    """Beams: quadratic energies on se(3)."""
    terms = tuple((i, j, k, float(c)) for i, j, k, c in se3.terms())
    return Medium(6, terms, True, quadratic, applied, quadratic, applied)


def strand_of_mesh(mesh: Mesh) -> Strand:
    """The strand of beams, in its reference configuration and at rest."""
    count = mesh.nodes
    followers = {j.follower for j in mesh.joints}
    leaders = {j.leader for j in mesh.joints}
    clamped = {h.node for h in mesh.holds if h.freedom.shape[1] == 0 and not h.end.moved}
    held = {h.node: h for h in mesh.holds if h.node not in clamped}
    _check_guided(mesh, held)
    still = followers | clamped
    own = _special(mesh.inertia, still)
    common = np.array([j for j in np.flatnonzero(~own) if j not in still], dtype=int)
    own[list(held)] = True
    features = _features(mesh, own, leaders, held)
    layout = _layout(mesh, features, own, common)
    runs = _runs([features[j] if j not in still else None for j in range(count)])
    edges = [(a, b) for alive, a, b in _runs([bool(x) or None for x in mesh.alive]) if alive]
    strand = Strand(count, rigid(), layout, runs, edges)
    _fill(strand, mesh, own, common, held)
    return strand


def _special(matrices: np.ndarray, ignored: set[int]) -> np.ndarray:
    """Which nodes do not have the inertia of most."""
    middle = matrices[len(matrices) // 2]
    own = np.sqrt(np.diag(middle))
    scale = np.outer(own, own)  # angles and lengths have units of their own
    special = np.abs((matrices - middle) / scale).max(axis=(1, 2)) > 1e-15
    if special.sum() > max(2, FEW * len(matrices)):
        special[:] = True
    special[list(ignored)] = False
    return special


def _features(mesh: Mesh, own, leaders, held) -> list[frozenset[str]]:
    everywhere = {"gravity"} if np.any(mesh.gravity) else set()
    for load in mesh.loads:
        if load.node is None:
            everywhere.add("follower" if load.follower else "dead")
    found = []
    for j in range(mesh.nodes):
        mine = set(everywhere)
        mine |= {"own"} if own[j] else set()
        mine |= {"joint"} if j in leaders else set()
        mine |= _kept(held[j]) if j in held else set()
        for load in mesh.loads:
            if load.node == j:
                mine.add("follower" if load.follower else "dead")
        found.append(frozenset(mine))
    return found


def _kept(hold: Hold) -> set[str]:
    """Features of a held node."""
    found = {"moved"} if hold.end.moved else set()
    if hold.end.kind == "roller":
        return {"roller"}
    return found | ({"held"} if hold.freedom.shape[1] else set())


def _check_guided(mesh: Mesh, held: dict[int, Hold]) -> None:
    """Rollers and moved pins are for nodes whose centre of mass they are."""
    for node, hold in held.items():
        if hold.end.kind != "roller" and not (hold.end.moved and hold.end.kind == "pinned"):
            continue
        matrix = mesh.inertia[node]
        mass, scale = matrix[3:, 3:], 1e-12 * np.abs(matrix).max()
        even = np.abs(mass - mass[0, 0] * np.eye(3)).max() <= 1e-12 * mass[0, 0]
        if not even or np.abs(matrix[:3, 3:]).max() > scale:
            raise ModelError(
                f"a {hold.end.kind} end needs its mass where it is: {mesh.where(node)}",
                expected="an inertia without coupling of rotation and translation there",
                remedy="put a body with an offset at another node",
            )


def _layout(mesh: Mesh, features, own, common) -> Layout:
    layout = Layout()
    sizes = {"mu": 6, "zeta": 6, "turn": 4, "place": 3, "chi": 6, "left": 6, "right": 6, "share": 1}
    sizes["weight"] = 1
    for name, size in sizes.items():
        layout.row(name, size)
    layout.row(SEEN, 6)
    some = set().union(*features)
    for name in ("dead", "follower", "joint"):
        if name in some:
            layout.row(name, 6)
    for name, needed, size in (
        ("hold", "held", 36),
        ("along", "roller", 3),
        ("target_turn", "moved", 4),
        ("target_place", "moved", 3),
    ):
        if needed in some:
            layout.row(name, size)
    layout.slot("step", 1)
    if "gravity" in some:
        layout.slot("gravity", 3)
    if own.any():
        layout.row("own_compliance", 36)
        if some & {"gravity", "moved"}:
            layout.row("own_inertia", 36)
    if len(common):
        one = mesh.inertia[common[0]]
        size = 6 if _diagonal(one[None]) else 36
        even = size == 6 and one[3, 3] == one[4, 4] == one[5, 5]
        layout.slot("compliance", 4 if even else size)
        if "gravity" in some:
            layout.slot("inertia", size)
    alive = mesh.alive
    size = 6 if _diagonal(mesh.stiffness[alive]) else 36
    for name, values, many in (
        ("stiffness", mesh.stiffness, size),
        ("reference", mesh.reference, 6),
        ("per_length", mesh.spacing, 1),
    ):
        chosen = values[alive]
        same = np.all(chosen == chosen[0])
        (layout.slot if same else layout.row)(name, many)
    return layout


def _diagonal(matrices: np.ndarray) -> bool:
    return not np.any(matrices * (1 - np.eye(6)))


def _packed(matrices: np.ndarray, size: int) -> np.ndarray:
    many = len(matrices)
    return matrices.reshape(many, 36) if size == 36 else np.einsum("kii->ki", matrices)[:, :size]


def _runs(values: list) -> list[tuple]:
    """(value, first, last) of runs of equal values that are not None."""
    found, start = [], 0
    for j in range(1, len(values) + 1):
        if j == len(values) or values[j] != values[start]:
            if values[start] is not None:
                found.append((values[start], start, j))
            start = j
    return found


def _fill(strand: Strand, mesh: Mesh, own, common, held) -> None:
    layout = strand.layout
    strand.give("share", 1 / mesh.weight)
    strand.give("weight", mesh.weight)
    if len(common):
        one = mesh.inertia[common[0]]
        size = layout.slots["compliance"][1]
        strand.give("compliance", _packed(inverse_of(one)[None], size)[0])
        if layout.has("inertia"):
            size = layout.slots["inertia"][1]
            strand.give("inertia", _packed(one[None], size)[0])
    if own.any():
        inverse = inverse_of(mesh.inertia)
        hold = np.broadcast_to(np.eye(6), inverse.shape).copy()
        for node, h in held.items():
            if h.end.kind == "roller":
                strand.view("along")[:, node] = h.direction
                continue
            z, w = h.freedom, mesh.inertia[node]
            inverse[node] = product(z, solve(product(z.T, w, z), z.T))
            hold[node] = product(w, inverse[node])
        strand.give("own_compliance", inverse)
        if layout.has("hold"):
            strand.give("hold", hold)
        if layout.has("own_inertia"):
            strand.give("own_inertia", mesh.inertia)
    if layout.has("gravity"):
        strand.give("gravity", mesh.gravity)
    first = int(np.flatnonzero(mesh.alive)[0])
    for name, values in (
        ("stiffness", mesh.stiffness),
        ("reference", mesh.reference),
        ("per_length", 1 / mesh.spacing),
    ):
        uniform = name in layout.slots
        size = layout.slots[name][1] if uniform else layout.rows[name][1]
        packed = _packed(values, size) if name == "stiffness" else values.reshape(len(values), -1)
        strand.give(name, packed[first] if uniform else packed)


# ---- from a field ----------------------------------------------------------------------------


def strand_of_field(given: Field, values: np.ndarray) -> Strand:
    """The strand of a field in Hamel form, at rest and unstrained.

    Parameters
    ----------
    values : ndarray
        Of the field's parameters.
    """
    n, count = given.size, given.nodes
    layout = Layout()
    for name in ("mu", "zeta", "chi", "left", "right", SEEN, "reference"):
        layout.row(name, n)
    layout.row("share", 1)
    layout.row("weight", 1)
    layout.row("compliance", 1 + len(values))
    layout.row("stiffness", 1 + len(values))
    for name in ("step", "per_length"):
        layout.slot(name, 1)
    if given.mixed:
        layout.row("old", n)
        layout.row("sides", 2)
    inner = (int(given.ends[0] == "clamped"), count - int(given.ends[1] == "clamped"))
    links = count if given.periodic else count - 1
    halo = []
    if given.periodic:
        halo = [("right", count - 1, -1), ("zeta", 0, count)]
    strand = Strand(count, medium_of(given), layout, [(frozenset(), *inner)], [(0, links)], halo)
    if given.periodic and given.mixed:
        strand.halo += [("chi", count - 1, -1), ("mu", 0, count), ("seen", 0, count)]
    if given.mixed:
        sides = np.full((count, 2), 0.5)
        if not given.periodic:
            sides[0], sides[-1] = (0.0, 1.0), (1.0, 0.0)
        strand.give("sides", sides)
    strand.give("share", 1 / given.weights)
    strand.give("weight", given.weights)
    strand.give("per_length", np.array([1 / given.spacing]))
    strand.give("reference", given.reference)
    for name, places in (("compliance", given.places), ("stiffness", given.middles)):
        spread = np.broadcast_to(values, (len(places), len(values)))
        strand.give(name, np.hstack([places[:, None], spread]))
    if given.periodic:  # the edge before node 0 is the last one
        for name in ("reference", "stiffness"):
            at, size = layout.rows[name]
            strand.rows[at : at + size, MARGIN - 1] = strand.view(name)[:, -1]
    return strand


@lru_cache(maxsize=64)
def medium_of(given: Field) -> Medium:
    """The densities of a field, differentiated."""
    n = given.size
    terms = tuple((i, j, k, float(c)) for i, j, k, c in given.algebra.terms())

    def density(expression, symbols):
        x, data = SX.sym("x", n), SX.sym("data", 1 + len(given.parameters))
        table = dict(zip(symbols, ca.vertsplit(x), strict=True))
        table |= dict(zip((given.place, *given.parameters), ca.vertsplit(data), strict=True))
        (value,) = to_casadi([expression], table)
        both = (ca.Function("density", [x, data], [value]),
                ca.Function("slope", [x, data], [ca.densify(ca.gradient(value, x))]))  # fmt: skip
        return [lean(f) for f in both]

    kinetic, velocity = density(given.kinetic, given.momentum)
    potential, stress = density(given.potential, given.strain)
    whole = _whole(given) if given.mixed else None
    return Medium(n, terms, False, kinetic, velocity, potential, stress, whole)


def _whole(given: Field) -> tuple:
    """(γ, μ, data) → h, h_γ, h_μ."""
    n = given.size
    gamma, mu, data = SX.sym("g", n), SX.sym("m", n), SX.sym("data", 1 + len(given.parameters))
    table = dict(zip(given.strain, ca.vertsplit(gamma), strict=True))
    table |= dict(zip(given.momentum, ca.vertsplit(mu), strict=True))
    table |= dict(zip((given.place, *given.parameters), ca.vertsplit(data), strict=True))
    (h,) = to_casadi([given.density], table)
    results = (h, ca.gradient(h, gamma), ca.gradient(h, mu))
    inputs = [gamma, mu, data]
    return tuple(lean(ca.Function("whole", inputs, [ca.densify(x)])) for x in results)
