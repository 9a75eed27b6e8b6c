"""Which words URDF has: every element and attribute is either used, reported, or refused.

What is not simulated (limits, collision shapes, transmissions, …) and what is not known is taken
out of the tree and noted, so that nothing is dropped in silence; a number that is none is refused
with its line.  After this the tree holds nothing that the library that reads it could trip over.
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

from taut.errors import FileError, brief
from taut.files.xml import BY_XACRO, XACRO, refuse

TEXT, NUMBER, SCALE = "text", 1, "scale"
VECTOR, COLOUR = 3, 4
# attribute → (what it is, whether it must be there)
_ORIGIN = {"xyz": (VECTOR, False), "rpy": (VECTOR, False)}
_NAME = {"name": (TEXT, True)}
_MAYBE = {"name": (TEXT, False)}
_MOMENTS = {name: (NUMBER, True) for name in ("ixx", "iyy", "izz")}
_PRODUCTS = {name: (NUMBER, False) for name in ("ixy", "ixz", "iyz")}
# element → (attributes, elements in it that are used, those of them that must be there)
WORDS: dict[str, tuple[dict[str, tuple[Any, bool]], tuple[str, ...], tuple[str, ...]]] = {
    "robot": (_MAYBE | {"version": (TEXT, False)}, ("link", "joint", "material"), ("link",)),
    "link": (_NAME, ("inertial", "visual"), ()),
    "inertial": ({}, ("origin", "mass", "inertia"), ("mass", "inertia")),
    "origin": (_ORIGIN, (), ()),
    "mass": ({"value": (NUMBER, True)}, (), ()),
    "inertia": (_MOMENTS | _PRODUCTS, (), ()),
    "visual": (_MAYBE, ("origin", "geometry", "material"), ("geometry",)),
    "geometry": ({}, ("box", "cylinder", "sphere", "mesh"), ()),
    "box": ({"size": (VECTOR, True)}, (), ()),
    "cylinder": ({"radius": (NUMBER, True), "length": (NUMBER, True)}, (), ()),
    "sphere": ({"radius": (NUMBER, True)}, (), ()),
    "mesh": ({"filename": (TEXT, True), "scale": (SCALE, False)}, (), ()),
    "material": (_MAYBE, ("color",), ()),
    "color": ({"rgba": (COLOUR, True)}, (), ()),
    "joint": (
        _NAME | {"type": (TEXT, True)},
        ("origin", "parent", "child", "axis", "dynamics", "mimic"),
        ("parent", "child"),
    ),
    "parent": ({"link": (TEXT, True)}, (), ()),
    "child": ({"link": (TEXT, True)}, (), ()),
    "axis": ({"xyz": (VECTOR, True)}, (), ()),
    "dynamics": ({"damping": (NUMBER, False), "friction": (NUMBER, False)}, (), ()),
    "mimic": (
        {"joint": (TEXT, True), "multiplier": (NUMBER, False), "offset": (NUMBER, False)},
        (),
        (),
    ),
}
MANY = {("robot", "link"), ("robot", "joint"), ("robot", "material"), ("link", "visual")}
LOOKS = {"visual", "material"}  # without which a robot moves all the same
# What is known and not simulated, and what that means.
UNUSED = {
    "limit": "joints do not stop, and their speed and effort have no bounds",
    "safety_controller": "there is no controller",
    "calibration": "there is no controller",
    "transmission": "there are no motors",
    "collision": "parts pass through each other",
    "texture": "surfaces are drawn plain",
    "friction": "joints move without it",
    "gazebo": "it is meant for another program",
    "sensor": "nothing is measured by it",
}


class Reader:
    """Goes through a tree of elements, checks it, and takes out what is not simulated.

    Parameters
    ----------
    path : Path
        For what is said.

    Attributes
    ----------
    found : dict
        What was taken out: a word → the things that had it.
    left : list of str
        What else is left out, in sentences.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, list[str]] = {}
        self.left: list[str] = []

    def check(self, root: Any) -> None:
        """Check a whole file."""
        _without_namespace(root)
        for element in root.iter():
            if isinstance(element.tag, str) and "xacro" in (element.prefix, _space(element.tag)):
                refuse(self.path, element.sourceline, XACRO,
                       received=f"<xacro:{_short(element.tag)}>", remedy=BY_XACRO)  # fmt: skip
        if root.tag != "robot":
            refuse(self.path, root.sourceline, "this is no URDF", expected="a <robot>",
                   received=f"a <{_short(root.tag)}>")  # fmt: skip
        if not root.get("name", "").strip():
            root.set("name", "robot")  # nothing depends on it
        self._element(root, "the robot")

    def _element(self, element: Any, owner: str) -> None:
        attributes, inside, needed = WORDS[element.tag]
        if element.tag in ("link", "joint"):
            owner = f"{element.tag} {element.get('name', '')!r}"
        self._attributes(element, attributes, owner)
        for child in list(element):
            if isinstance(child.tag, str) and child.tag in LOOKS.intersection(inside):
                self._look(element, child, owner)
            elif isinstance(child.tag, str) and child.tag in inside:
                self._element(child, owner)
            else:
                self._take_out(element, child, owner)
        tags = [child.tag for child in element]
        for word in needed:
            if word not in tags:
                self._refuse(element, f"the <{element.tag}> of {owner} has no <{word}>")
        for word in {x for x in tags if tags.count(x) > 1 and (element.tag, x) not in MANY}:
            self._refuse(element, f"{owner} has {tags.count(word)} <{word}> in its <{element.tag}>")

    def _look(self, element: Any, child: Any, owner: str) -> None:
        """What is only drawn: if it cannot be read, it is left out and noted."""
        try:
            self._element(child, owner)
            shapes = [len(x) for x in child.findall("geometry")]
            if child.tag == "visual" and shapes != [1]:
                self._refuse(child, f"the <geometry> of {owner} has {sum(shapes)} shapes")
        except FileError as error:
            what = error.what.removeprefix(f"{self.path}, ")
            word = "look" if child.tag == "visual" else "material"
            self.left.append(f"a {word} of {owner} is left out: {what}")
            element.remove(child)

    def _take_out(self, element: Any, child: Any, owner: str) -> None:
        word = child.tag if isinstance(child.tag, str) else str(child)
        if not isinstance(child.tag, str):
            self._refuse(child, f"{owner} has an entity in it", expected="elements only")
        self.note(_short(word), owner)
        element.remove(child)

    def note(self, word: str, owner: str) -> None:
        """Keep in mind what is not simulated."""
        named = owner.partition(" ")[2].strip("'") if owner.startswith(("link", "joint")) else ""
        self.found.setdefault(word, []).append(named)

    def _attributes(self, element: Any, known: dict[str, tuple[Any, bool]], owner: str) -> None:
        for name, (kind, must) in known.items():
            text = element.get(name)
            if text is None:
                if must:
                    what = f"the <{element.tag}> of {owner} has no {name}"
                    self._refuse(element, what, expected=f'{name}="…"')
            elif kind == TEXT:
                if not text.strip() and must:
                    self._refuse(element, f"the {name} of a <{element.tag}> is empty")
            else:
                self._numbers(element, name, text, kind, owner)
        for name in element.attrib:
            if name not in known:
                self.note(f"{element.tag} {_short(name)}", owner)
                del element.attrib[name]

    def _numbers(self, element: Any, name: str, text: str, kind: Any, owner: str) -> None:
        try:
            if "_" in text:
                raise ValueError
            numbers = [float(word) for word in text.split()]
        except ValueError:
            numbers = []
        counts = (1, 3) if kind == SCALE else (kind,)
        if len(numbers) not in counts or not all(map(isfinite, numbers)):
            many = {NUMBER: "a finite number", SCALE: "1 or 3 finite numbers"}
            self._refuse(
                element, f"{name} of the <{element.tag}> of {owner} cannot be read",
                expected=many.get(kind, f"{kind} finite numbers"), received=brief(text),
                remedy=BY_XACRO if "${" in text else None,
            )  # fmt: skip

    def _refuse(self, element: Any, what: str, **words: Any) -> None:
        refuse(self.path, element.sourceline, what, **words)

    def notes(self) -> list[str]:
        """What was found and is not simulated, a line for each word."""
        return [
            f"<{word}>{_listed(names)} is not simulated: {UNUSED.get(word, 'it is not known')}"
            for word, names in self.found.items()
        ] + self.left


def _without_namespace(root: Any) -> None:
    """Elements of the namespace of the root by their short names."""
    own = _space(root.tag)
    for element in root.iter() if own else ():
        if isinstance(element.tag, str) and _space(element.tag) == own:
            element.tag = _short(element.tag)


def _space(tag: str) -> str:
    return tag.partition("}")[0].lstrip("{") if tag.startswith("{") else ""


def _listed(names: list[str]) -> str:
    known = list(dict.fromkeys(name for name in names if name))
    if not known:
        return ""
    more = f" and {len(known) - 6} more" if len(known) > 6 else ""
    return f" of {', '.join(known[:6])}{more}"


def _short(tag: Any) -> str:
    return str(tag).rpartition("}")[2]
