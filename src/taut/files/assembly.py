"""Mechanisms in files: parts, joints and forces in the order of the file.

A joint that stands before the parts that it holds waits for nothing: they are added before it.
"""

from __future__ import annotations

import sympy as sp

from taut.errors import TautError
from taut.files.beams import Room, beam_of
from taut.files.desk import Desk
from taut.files.expressions import NAME
from taut.files.kinds import Names, Reference
from taut.files.schema import PARTS, PLAIN, TOP, VERBS, Table
from taut.files.source import Node, Source
from taut.model import Mechanism
from taut.model.mechanism.forces import LENGTH, RATE
from taut.model.symbols import t

DEEPEST = 8  # joints that refer to each other
MANY = 100_000  # forces of the state times parts: each asks for all coordinates by name


def assembled(file: Source, desk: Desk) -> Mechanism:
    """The mechanism that a file describes."""
    gravity = TOP["gravity"].kind.read(file["gravity"], desk) if "gravity" in file else (0, 0, 0)
    return _Assembler(file, desk, Mechanism(gravity)).built()


class _Assembler:
    """Adds entries to a mechanism, each after those that it refers to."""

    def __init__(self, file: Source, desk: Desk, made: Mechanism) -> None:
        self.desk, self.made = desk, made
        self.entries: dict[str, dict[str, Node]] = {
            section: dict(file[section].entries()) if section in file else {}
            for section in (*PLAIN, *VERBS)
        }
        self.parts = {name: section for section in PARTS for name in self.entries[section]}
        self.room = Room()
        self._done: set[tuple[str, str]] = set()
        self._open: list[tuple[str, str]] = []

    def built(self) -> Mechanism:
        """Everything, in the order of the file; forces of the state when all parts are there."""
        nodes = [(section, *x) for section, known in self.entries.items() for x in known.items()]
        nodes.sort(key=lambda x: x[2].place)
        later = []
        for section, name, node in nodes:
            if section == "forces" and self._asks_for_state(node):
                later.append(name)
            else:
                self._add(section, name)
        self._name_the_state()
        if len(later) * len(self.made.parts) > MANY:
            self.entries["forces"][later[0]].fail(
                "there are too many forces of the state for so many parts",
                expected=f"(forces) × (parts) up to {MANY:,}",
                received=f"{len(later)} × {len(self.made.parts)}",
            )
        for name in later:
            self._add("forces", name)
        if later:  # as if they had been added where they stand
            order, made = [name for section, name, _ in nodes if section == "forces"], self.made
            acting = [name for x in nodes for name in self._forces(*x[:2])]
            made.forces = {name: made.forces[name] for name in acting}
            made.record |= {name: made.record.pop(name) for name in order}
        return self.made

    def _forces(self, section: str, name: str) -> list[str]:
        """Those that an entry adds, by name."""
        if section == "beams":
            return self.made.beams[name].loads
        return [name] if section == "forces" else []

    def _name_the_state(self) -> None:
        parts = self.made.parts.values()
        names = [name for part in parts for name in part.shape.names(part.name)]
        symbols = [sp.Symbol(f"{name}{end}", real=True) for name in names for end in ("", "_dot")]
        symbols += [s for joint in self.made.joints for s in self.made.symbols(joint)]
        state = {s.name: s for s in (*symbols, t) if NAME.fullmatch(s.name)}
        self.desk.coordinates, self.desk.scopes["state"] = names, state
        self.desk.scopes["motion"] = {**state, "angle": LENGTH, "slide": LENGTH, "rate": RATE}

    def _asks_for_state(self, node: Node) -> bool:
        _, table = self._verb("forces", node)
        return any(getattr(key.kind, "of", "") == "state" for key in table.keys.values())

    def _add(self, section: str, name: str) -> None:
        entry = (section, name)
        if entry in self._done:
            return
        node = self.entries[section][name]
        if entry in self._open:
            ring = " → ".join(x for _, x in [*self._open[self._open.index(entry) :], entry])
            node.fail(f"{name} refers to itself", received=ring[:200])
        if len(self._open) > DEEPEST:
            node.fail("joints refer to joints too often", expected=f"at most {DEEPEST} in a row")
        self._open.append(entry)
        verb, table = self._verb(section, node)
        self._refer(node, table)
        given = {
            key: table.keys[key].kind.read(x, self.desk)
            for key, x in node.entries()
            if key in table.keys
        }
        if section not in PLAIN and verb != "angle":
            self._check_new(name, node)
        with node.blamed():
            self._tell(verb, name, given, node)
        self._open.pop()
        self._done.add(entry)

    def _check_new(self, name: str, node: Node) -> None:
        """A name that is taken is one of the header, whatever else has it."""
        try:
            self.made._new(name)
        except TautError as error:
            node.fail(error.what, received=error.received, remedy=error.remedy)

    def _verb(self, section: str, node: Node) -> tuple[str, Table]:
        if section in PLAIN:
            verb, table = PLAIN[section]
            node.check(table.keys, table.needed)
            return verb, table
        known = VERBS[section]
        node.expect(dict)
        if "kind" not in node:
            node.fail(f"{node.name} has no kind", expected="one of " + ", ".join(known))
        verb = node["kind"].expect(str)
        if verb not in known:
            node.unknown("kind", verb, known, node["kind"])
        node.check(["kind", *known[verb].keys], known[verb].needed)
        return verb, known[verb]

    def _refer(self, node: Node, table: Table) -> None:
        """Add what this entry refers to, if it is not there yet."""
        for key, x in node.entries():
            kind = table.keys[key].kind if key in table.keys else None
            if isinstance(kind, Reference) and kind.to == "joint":
                name = x.expect(str)
                if name not in self.entries["joints"]:
                    node.unknown("joint", name, self.entries["joints"], x)
                self._add("joints", name)
            elif isinstance(kind, Reference):
                self._part(x)
            elif isinstance(kind, Names):
                for side in x.elements():
                    self._part(side)

    def _part(self, node: Node) -> None:
        name = node.expect(str)
        if name == "ground":
            return
        beam, _, end = name.rpartition(" ")
        if name not in self.parts and self.parts.get(beam) == "beams":
            self._add("beams", beam)
            if name not in self.made.parts and name not in self.made.ends:
                last = len(self.made.beams[beam].nodes) - 1
                node.fail(
                    f"{beam} has no node called {end[:40]!r}",
                    expected=f'"{beam} 0" to "{beam} {last}", "{beam} root" or "{beam} tip"',
                )
            return
        if name not in self.parts:
            node.unknown("part", name, ["ground", *self.parts])
        self._add(self.parts[name], name)

    def _tell(self, verb: str, name: str, given: dict, node: Node) -> None:
        """Call the verb as a person would."""
        call = getattr(self.made, verb)
        if verb == "angle":
            if name != f"angle_{given['joint']}":
                node.fail(f"the name of this angle is angle_{given['joint']}", received=name)
            call(**given)
        elif verb == "look":
            call(**given)
        elif verb == "beam":
            moving = {x: given.pop(x) for x in ("velocity", "angular_velocity") if x in given}
            call(name, beam_of(node, given, self.room), **moving)
        elif "between" in given:
            call(name, *given.pop("between"), **given)
        else:
            call(name=name, **given)
