"""URDF, the file format of robots, as a `Mechanism`.

The library `yourdfpy` turns the file into links and joints; before it, `xml` and `urdf_words`
refuse what is unsafe or wrong, with its line, and take note of what is not simulated.  `urdf_tree`
has the mathematics.  Meshes are looks only: one that cannot be drawn is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from taut.calls import public
from taut.errors import (
    FileError,
    InputError,
    ModelError,
    TautError,
    Unsimulated,
    brief,
    place as path_of,
    text,
    warn,
)
from taut.files.urdf_looks import Painter
from taut.files.urdf_tree import COUNTS, Lump, Placed, known, lump, placed
from taut.files.urdf_words import Reader
from taut.files.xml import located, missing, read_xml, refuse
from taut.model.mechanism import Mechanism
from taut.model.mechanism.frames import Frame
from taut.model.mechanism.parts import Part, principal

TURNING = ("revolute", "continuous")
ROUND = 1e-12  # of m |c|²: moments of inertia below it are none


@public
def urdf(
    path: str | Path,
    *,
    gravity: Any = (0.0, 0.0, -9.81),
    base: str = "fixed",
    positions: Mapping[str, Any] | None = None,
    velocities: Mapping[str, Any] | None = None,
    packages: Mapping[str, str | Path] | None = None,
) -> Mechanism:
    """A mechanism from a URDF file.

    A link is a body of the same name; links held by fixed joints are one body, which has the name
    of the first of them.  Every link is a frame of the mechanism (``m.frames``), so
    ``run["tool"].position`` works for the others too.  Joints keep their names.

    Parameters
    ----------
    path : str or Path
    gravity : (3,) array_like
        In the frame of the root link.
    base : str
        Whether the root link is "fixed" to the ground or "free".
    positions, velocities : mapping, optional
        Where joints start, and how they move: a number for revolute, continuous and prismatic
        ones; x, y, angle for planar ones; x, y, z, quaternion (w, x, y, z) and linear, angular
        velocity for floating ones, and for a free base under the name of its link.  Zero if not
        given.  Joints that mimic others follow them.
    packages : mapping, optional
        Where ``package://name/…`` of meshes is.  Without it, a folder of this name above the file.

    Returns
    -------
    Mechanism
        ``m.notes`` lists what the file says and is not simulated: limits, friction, collision
        shapes, transmissions.  A warning `taut.Unsimulated` says so too.

    Raises
    ------
    FileError
        With the line, for what cannot be read or is no mechanism.
    """
    return _Robot(path_of(path), _folders(packages)).mechanism(gravity, base, positions, velocities)


def _folders(packages: Any) -> dict[str, Path]:
    """Where packages are."""
    if packages is None:
        return {}
    if not isinstance(packages, Mapping):
        raise InputError(
            "packages cannot be read", expected='{"name": "folder", …}', received=brief(packages)
        )
    return {text("the name of a package", key): path_of(x) for key, x in packages.items()}


class _Robot:
    """A file, read."""

    def __init__(self, path: Path, packages: Mapping[str, str | Path]) -> None:
        self.path = path
        root = read_xml(path)
        self.reader = Reader(path)
        self.reader.check(root)
        self.lines = {(x.tag, x.get("name")): x.sourceline for x in root}
        for tag in ("link", "joint"):
            self._check_names(root, tag)
        robot = _parsed(path, root)
        self.links = {link.name: link for link in robot.links}
        self.joints = {joint.name: joint for joint in robot.joints}
        for joint in robot.joints:
            self._check_joint(joint)
        self.root = self._root()
        self.painter = Painter(path, packages, robot.materials)

    def _refuse(self, tag: str, name: str, what: str, **words: Any) -> Any:
        refuse(self.path, self.lines.get((tag, name)), what, **words)

    # ---- checks --------------------------------------------------------------------------------

    def _check_names(self, root: Any, tag: str) -> None:
        seen: dict[str, int] = {}
        for element in root.findall(tag):
            name = element.get("name")
            if name in seen:
                refuse(self.path, element.sourceline, f"there are two {tag}s called {name!r}",
                       received=f"the first is in line {seen[name]}")  # fmt: skip
            seen[name] = element.sourceline

    def _check_joint(self, joint: Any) -> None:
        name, what = joint.name, f"joint {joint.name!r}"
        if joint.type not in COUNTS:
            self._refuse("joint", name, f"{what} has a type that is not known",
                         expected=" or ".join(COUNTS), received=brief(joint.type))  # fmt: skip
        for link in (joint.parent, joint.child):
            if link not in self.links:
                self._refuse("joint", name, f"{what} holds the link {link!r}, which is not there")
        if joint.parent == joint.child:
            self._refuse("joint", name, f"{what} holds {joint.child!r} to itself")
        if joint.type not in ("fixed", "floating") and not np.any(joint.axis):
            self._refuse("joint", name, f"the axis of {what} has no direction")
        damping, friction = _dynamics(joint)
        if joint.type == "fixed":
            damping = friction = 0.0
            self._check_still(joint)
        if damping < 0 or friction < 0:
            self._refuse("joint", name, f"the dynamics of {what} are negative")
        if friction > 0:
            self.reader.note("friction", what)
        if damping > 0 and joint.type in ("planar", "floating"):
            self.reader.note(f"damping of a {joint.type} joint", what)

    def _check_still(self, joint: Any) -> None:
        """A joint that does not move follows none."""
        if joint.mimic is not None:
            self.reader.left.append(
                f"<mimic> of joint {joint.name} is left out: a fixed joint does not move"
            )
            joint.mimic = None

    def _check_inertial(self, link: Any, alone: bool) -> None:
        """Refuse what is none; of a link that others are fixed to, only take note of it."""
        own, what = link.inertial, f"link {link.name!r}"
        if own is None:
            return
        try:
            with self._at("link", link.name):
                if own.mass < 0:
                    raise ModelError(f"the mass of {what} is negative", received=own.mass)
                if np.any(own.inertia):
                    principal(what, own.inertia)
        except FileError as error:
            if alone:
                raise
            said = error.what.removeprefix(f"{self.path}, ")
            self.reader.left.append(f"{said}; what counts is that of all links that move with it")

    def _root(self) -> str:
        parents: dict[str, str] = {}
        for joint in self.joints.values():
            if joint.child in parents:
                self._refuse(
                    "joint", joint.name, f"link {joint.child!r} has two parents",
                    expected="a tree: loops are closed by further joints of the mechanism",
                    received=f"joints {parents[joint.child]!r} and {joint.name!r}",
                )  # fmt: skip
            parents[joint.child] = joint.name
        roots = [name for name in self.links if name not in parents]
        if len(roots) > 1:
            self._refuse("link", roots[1], f"there are {len(roots)} links without a parent",
                         expected="one tree", received=", ".join(roots[:8]))  # fmt: skip
        reached = self._reached(roots[0]) if roots else set()
        lost = [name for name in self.links if name not in reached]
        if lost:
            self._refuse("link", lost[0], f"link {lost[0]!r} is held in a circle of joints",
                         expected="a tree, whose root has no parent")  # fmt: skip
        return roots[0]

    def _reached(self, root: str) -> set[str]:
        below: dict[str, list[str]] = {}
        for joint in self.joints.values():
            below.setdefault(joint.parent, []).append(joint.child)
        found, waiting = {root}, [root]
        while waiting:
            new = below.get(waiting.pop(), [])
            found.update(new)
            waiting += new
        return found

    @contextmanager
    def _at(self, tag: str, name: str) -> Iterator[None]:
        """Errors inside are those of a line of the file."""
        try:
            yield
        except TautError as error:
            raise located(
                self.path, self.lines.get((tag, name)), error.what, expected=error.expected,
                received=error.received, remedy=error.remedy,
            ) from error  # fmt: skip

    # ---- the mechanism ---------------------------------------------------------------------------

    def mechanism(self, gravity: Any, base: str, positions: Any, velocities: Any) -> Mechanism:
        if base not in ("fixed", "free"):
            raise InputError('base is "fixed" or "free"', received=brief(base))
        moving = [x.name for x in self.joints.values() if x.type != "fixed"]
        moving += [self.root] if base == "free" else []
        at = self._followed(known(positions, moving, "positions"), offset=True)
        rates = self._followed(known(velocities, moving, "velocities"), offset=False)
        tree = placed(self.links, list(self.joints.values()), self.root, at, rates)
        made = Mechanism(gravity=gravity)
        holders = self._bodies(made, tree, base)
        for place in tree.values():
            if place.joint is not None and place.joint.type not in ("fixed", "floating"):
                self._joint(made, place, holders[place.joint.parent], holders[place.joint.child])
        for joint in self.joints.values():
            if joint.mimic is not None:
                self._mimic(made, joint)
        for name, place in tree.items():
            part = holders[name]
            made.frames[name] = Frame(name, part, place.pose[:3, 3], place.pose[:3, :3])
            self.painter.paint(made, part, place)
        made.notes += self.reader.notes() + self.painter.notes
        if made.notes:
            warn(Unsimulated(self.path, made.notes))
        return made

    def _bodies(self, made: Mechanism, tree: dict[str, Placed], base: str) -> dict[str, Part]:
        """One part for all links that move as one; which part each link is on."""
        groups: dict[str, list[Placed]] = {}
        for place in tree.values():
            groups.setdefault(place.head, []).append(place)
        parts: dict[str, Part] = {}
        for name, members in groups.items():
            head = tree[name]
            if name == self.root and base == "fixed":
                parts[name] = made.ground
                continue
            found = lump(members)
            for member in members:
                self._check_inertial(member.link, len(members) == 1)
            self._check_lump(name, found, head)
            with self._at("link", name):
                parts[name] = self._body(made, name, found, head)
        return {name: parts[place.head] for name, place in tree.items()}

    def _check_lump(self, name: str, found: Lump, head: Placed) -> None:
        what = f"link {name!r}"
        if head.joint is not None:
            what += f", which joint {head.joint.name!r} lets move,"
        if not found.mass > 0:
            self._refuse(
                "link", name, f"{what} has no mass", expected="an <inertial> with a mass",
                remedy="give it one, or to a link that a fixed joint holds to it",
            )  # fmt: skip
        if not np.abs(found.inertia).max() > ROUND * found.mass * float(
            found.centre @ found.centre
        ):
            self._refuse(
                "link", name, f"{what} has mass but no inertia",
                expected="an <inertia> that is not 0",
                remedy="that of a small ball will do: 0.4 m r²",
            )  # fmt: skip

    def _body(self, made: Mechanism, name: str, found: Lump, head: Placed) -> Part:
        turn = head.pose[:3, :3]
        arm = turn @ found.centre
        return made.body(
            _free(made, name, "link"), mass=found.mass, inertia=found.inertia,
            at=head.pose[:3, 3] + arm, rotation=turn,
            velocity=head.velocity + np.cross(head.spin, arm), angular_velocity=head.spin,
        )  # fmt: skip

    def _joint(self, made: Mechanism, place: Placed, first: Part, second: Part) -> None:
        joint = place.joint
        name = _free(made, joint.name, "joint")
        where = {"at": place.pose[:3, 3]}
        damping, _ = _dynamics(joint)
        damper = f"{name} damping"
        with self._at("joint", joint.name):
            if joint.type in TURNING:
                held = made.revolute(name, first, second, **where, axis=place.axis)
                if damping > 0:
                    made.torsion(held, damping=damping, name=_free(made, damper, "force"))
            elif joint.type == "prismatic":
                held = made.prismatic(name, first, second, **where, axis=place.axis)
                if damping > 0:
                    made.push(held, damping=damping, name=_free(made, damper, "force"))
            else:
                made.planar(name, first, second, **where, normal=place.axis)

    # ---- mimic ---------------------------------------------------------------------------------

    def _leader(self, joint: Any) -> tuple[str, float, float]:
        """Whom a joint follows in the end, with multiplier and offset."""
        name, factor, offset = joint.name, 1.0, 0.0
        for _ in range(len(self.joints) + 1):
            mimic = self.joints[name].mimic
            if mimic is None:
                return name, factor, offset
            if mimic.joint not in self.joints:
                self._refuse("joint", name, f"joint {name!r} mimics {mimic.joint!r}, "
                             "which is not there")  # fmt: skip
            offset += factor * mimic.offset
            factor *= mimic.multiplier
            name = mimic.joint
        self._refuse("joint", joint.name, f"joint {joint.name!r} mimics itself in the end")
        raise AssertionError

    def _followed(self, given: dict[str, Any], offset: bool) -> dict[str, Any]:
        """Positions or velocities with those of joints that mimic others."""
        found = dict(given)
        for joint in self.joints.values():
            if joint.mimic is None:
                continue
            leader, factor, shift = self._leader(joint)
            self._check_mimic(joint, self.joints[leader], factor)
            if joint.name in given:
                raise InputError(
                    f"joint {joint.name} follows {leader}",
                    expected=f"a value of {leader} alone",
                    received=repr(given[joint.name])[:80],
                )
            value = np.asarray(given.get(leader, 0.0), dtype=float)
            found[joint.name] = factor * value + (shift if offset else 0.0)
        return found

    def _check_mimic(self, joint: Any, leader: Any, factor: float) -> None:
        if not {joint.type, leader.type} <= {*TURNING, "prismatic"}:
            self._refuse(
                "joint", joint.name, f"joint {joint.name!r} mimics {leader.name!r}",
                expected="two joints that turn or slide, which are a gear",
                received=f"{joint.type} and {leader.type}",
            )  # fmt: skip
        if factor == 0:
            self._refuse("joint", joint.name, f"joint {joint.name!r} mimics 0 times another",
                         remedy="make it a fixed joint")  # fmt: skip

    def _mimic(self, made: Mechanism, joint: Any) -> None:
        leader, factor, _ = self._leader(joint)
        with self._at("joint", joint.name):
            made.gear(
                _named(made, joint.name), _named(made, leader),
                ratio=-factor, name=_free(made, f"{joint.name} mimic", "gear"),
            )  # fmt: skip


def _parsed(path: Path, root: Any) -> Any:
    """The links and joints that the library makes of a tree that has been checked."""
    try:
        import yourdfpy
        from lxml import etree
    except ImportError as error:
        raise missing("yourdfpy") from error
    etree.cleanup_namespaces(root)
    content = BytesIO(etree.tostring(root))
    try:
        made = yourdfpy.URDF.load(content, build_scene_graph=False, load_meshes=False)
    except Exception as error:  # it has no errors of its own for this
        raise located(path, None, "this URDF cannot be read", received=repr(error)[:120]) from error
    return made.robot


def _dynamics(joint: Any) -> tuple[float, float]:
    """Damping and friction; the library leaves them as text."""
    if joint.dynamics is None:
        return 0.0, 0.0
    return float(joint.dynamics.damping or 0.0), float(joint.dynamics.friction or 0.0)


def _free(made: Mechanism, name: str, word: str) -> str:
    """A name that is free: links and joints of a URDF may have the same."""
    taken = {"ground", *made.parts, *made.joints, *made.forces, *made.counters}
    return name if name not in taken else f"{name} {word}"


def _named(made: Mechanism, name: str) -> str:
    return f"{name} joint" if name in made.parts else name
