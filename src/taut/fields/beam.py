"""`Beam`: a geometrically exact beam with ends, loads and bodies.

The configuration is a frame g(s) ∈ SE(3) for every place s, whose second axis is tangent to the
straight, unstrained beam; six-vectors are (angular, linear) in that frame.  With velocity
ζ = g⁻¹ġ, strain χ = g⁻¹g′ and the reference strain χ₀ = (curvature, e₂), the energy per length is

    h = ½⟨μ, I⁻¹μ⟩ + ½⟨C(χ − χ₀), χ − χ₀⟩,        μ = I ζ,

CS (40).  Nodes stand at equal distances Δs; end nodes have half a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from taut.calls import public
from taut.errors import InputError, brief, flag, listed, number, whole
from taut.fields.ends import direction, end_of, functions_of_time, real_array, triple
from taut.fields.loads import Body, Load, s
from taut.fields.matrices import check_positive_definite, full
from taut.fields.mesh import MOST_NODES, Mesh, mesh_of
from taut.fields.section import Section, positive
from taut.fields.shown import beam_html
from taut.lie import SE3, SO3
from taut.model.symbols import Vocabulary, t
from taut.portable import asymmetry, negative_along, product

TANGENT = np.array([0.0, 1.0, 0.0])
CELLS = ("half", "full")
ON_A_NODE = 1e-6  # of Δs: a place this near to a node is there


@public
class Beam:
    """A geometrically exact beam.

    Parameters
    ----------
    length : float
    section : Section, or a function s → Section
        With `density`, `young`, and `poisson` or `shear_modulus`.
    inertia, stiffness : array_like, shape (6,), (6, 6) or (…, 6, 6), or functions s → such
        Instead of a section: per length.  One matrix for each node, or edge, where they vary.
    nodes : int
        Number of nodes.
    at : (3,) array_like
        Where node 0 is.
    frame : (3, 3) or (3,) array_like, optional
        The rotation of the local frame at node 0 (its columns are the local axes), or just the
        direction of the beam there.  Without it the beam points along the second axis of space.
    curvature : (3,) or (edges, 3) array_like, three expressions of s, or a function s → (3,)
        Bending about axis 1, twist, bending about axis 3 of the reference shape, per length; zero
        without it.
    ends : (str or End, str or End)
        How both ends are held; see `taut.End`.
    gravity : (3,) array_like, optional
        The acceleration of gravity in space.
    damping : float
        Kelvin–Voigt: stress C(γ + damping·γ̇), a time.
    cells : "half" or "full"
        Whether end nodes have half a cell, or a full one as printed in CS (first order).

    Examples
    --------
    >>> import taut
    >>> beam = taut.Beam(length=2, section=taut.Square(0.1), density=1000, young=1e7, poisson=0.35)
    >>> beam.mass
    20.0
    """

    def __init__(
        self,
        length: float,
        section: Section | Callable[[float], Section] | None = None,
        *,
        density: float | None = None,
        young: float | None = None,
        poisson: float | None = None,
        shear_modulus: float | None = None,
        inertia: Any = None,
        stiffness: Any = None,
        nodes: int = 101,
        at: Any = (0.0, 0.0, 0.0),
        frame: Any = None,
        curvature: Any = None,
        ends: Any = ("free", "free"),
        gravity: Any = None,
        damping: float = 0.0,
        cells: str = "half",
    ) -> None:
        self.length = positive("the length of a beam", length)
        self.nodes = _count(nodes)
        self.at = triple("the place of a beam", at)
        self.frame = _rotation(frame)
        self.gravity = None if gravity is None else triple("gravity", gravity)
        self.damping = number("the damping of a beam", damping)
        if self.damping < 0:
            raise InputError(
                "the damping of a beam is negative", expected="a time ≥ 0", received=self.damping
            )
        if not isinstance(cells, str) or cells not in CELLS:
            raise InputError(
                "cells are unknown", expected=" or ".join(CELLS), received=brief(cells)
            )
        self.cells = cells
        expected = 'two of them, as in ends=("clamped", "free")'
        both = listed("the ends", None if isinstance(ends, dict) else ends, expected)
        if len(both) != 2:
            raise InputError("the ends cannot be read", expected=expected, received=brief(ends))
        self.ends = (end_of(both[0]), end_of(both[1]))
        material = _material(density, young, poisson, shear_modulus)
        self.section, self.material = section, material
        self.poisson = poisson
        self.inertia, self.stiffness = self._per_length(section, material, inertia, stiffness)
        self.curvature, bend = self._curvature(curvature)
        self.reference = self._reference(bend)
        self.loads: list[Load] = []
        self.bodies: list[Body] = []
        self.told: list[tuple[str, dict[str, Any]]] = []  # what was added to it, for files

    # ---- what it is made of ------------------------------------------------------------------

    @property
    def spacing(self) -> float:
        """Δs."""
        return self.length / (self.nodes - 1)

    @property
    def places(self) -> np.ndarray:
        """The place s of the nodes, shape (nodes,)."""
        return np.linspace(0.0, self.length, self.nodes)

    @property
    def middles(self) -> np.ndarray:
        """The place s of the edges, shape (nodes − 1,)."""
        places = self.places
        return 0.5 * (places[1:] + places[:-1])

    @property
    def weights(self) -> np.ndarray:
        """Length of the cell of each node."""
        found = np.full(self.nodes, self.spacing)
        if self.cells == "half":
            found[[0, -1]] *= 0.5
        return found

    @property
    def mass(self) -> float:
        """Of the beam and the bodies on it."""
        along = float(np.sum(self.weights * self.inertia[:, 4, 4]))
        return along + sum(body.inertia[28] for body in self.bodies)

    def _per_length(self, section, material, inertia, stiffness) -> tuple[np.ndarray, np.ndarray]:
        if (section is None) == (inertia is None or stiffness is None):
            raise InputError(
                "a beam is made of a section, or of inertia and stiffness",
                expected="section=… with density, young and poisson; or inertia=… and stiffness=…",
                received=", ".join(
                    name
                    for name, x in (
                        ("section", section),
                        ("inertia", inertia),
                        ("stiffness", stiffness),
                    )
                    if x is not None
                )
                or "neither",
            )
        if section is None and any(x is not None for x in material):
            raise InputError(
                "inertia and stiffness need no material",
                expected="inertia=… and stiffness=…, and nothing of density, young, poisson or "
                "shear_modulus",
                received=", ".join(
                    f"{name}={x}"
                    for name, x in zip(("density", "young", "shear_modulus"), material, strict=True)
                    if x is not None
                ),
            )
        if section is None:
            return (
                self._matrices("inertia", inertia, self.places),
                self._matrices("stiffness", stiffness, self.middles),
            )
        if inertia is not None or stiffness is not None:
            raise InputError(
                "a section has inertia and stiffness already",
                expected="a section and its material; or inertia=… and stiffness=… without it",
            )
        if None in material:
            words = ("the density", "Young's modulus", "Poisson's ratio")
            missing = [word for word, x in zip(words, material, strict=True) if x is None]
            if material[1] is None and self.poisson is not None:
                missing = missing[:-1]  # it is known, and of no use without Young's modulus
            given = (*zip(("density", "young"), material, strict=False), ("poisson", self.poisson))
            raise InputError(
                "the material of a beam is not known: without " + " and ".join(missing),
                expected="density=…, young=…, and poisson=… (steel 0.3, aluminium 0.33, rubber "
                "0.5) or shear_modulus=…",
                received=", ".join(f"{name}={x}" for name, x in given if x is not None) or "none",
            )
        density, young, shear = material
        made = section if callable(section) else lambda s: section

        def checked(place: float) -> Section:
            try:
                found = made(place)
            except InputError as error:
                raise InputError(
                    f"{error.what}, at s = {place:g}",
                    expected=error.expected,
                    received=error.received,
                    remedy=error.remedy,
                ) from None
            if not isinstance(found, Section):
                raise InputError(
                    f"there is no section at s = {place:g}",
                    expected="a taut.Section such as taut.Circle(0.01)",
                    received=brief(found),
                )
            return found

        with np.errstate(all="ignore"):  # what is too small or too large is said
            if not callable(section):
                one = checked(0.0)
                heavy = np.broadcast_to(one.inertia(density), (self.nodes, 6, 6)).copy()
                stiff = np.broadcast_to(one.stiffness(young, shear), (self.nodes - 1, 6, 6)).copy()
            else:
                heavy = np.array([checked(x).inertia(density) for x in self.places])
                stiff = np.array([checked(x).stiffness(young, shear) for x in self.middles])
        check_positive_definite("inertia", heavy, self.places)
        check_positive_definite("stiffness", stiff, self.middles)
        return heavy, stiff

    def _matrices(self, what: str, given: Any, places: np.ndarray) -> np.ndarray:
        """One positive definite matrix for every place."""
        many = len(places)
        try:
            if callable(given):
                found = np.array([full(given(x)) for x in places], dtype=float)
            else:
                array = real_array(given)
                found = np.array([full(x) for x in array]) if array.ndim == 3 else full(array)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the {what} of a beam cannot be read",
                expected=f"shape (6,), (6, 6) or ({many}, 6, 6), or a function of s",
                received=brief(given),
            ) from error
        if found.shape == (6, 6):
            found = np.broadcast_to(found, (many, 6, 6)).copy()
        if found.shape != (many, 6, 6):
            raise InputError(
                f"the {what} of a beam has the wrong shape",
                expected=f"(6,), (6, 6) or ({many}, 6, 6)",
                received=found.shape,
            )
        check_positive_definite(what, found, places)
        return (found + np.swapaxes(found, 1, 2)) / 2

    def _curvature(self, given: Any) -> tuple[Any, np.ndarray]:
        """What is kept of it, None or expressions or numbers, and its value on every edge."""
        rows = (self.nodes - 1, 3)
        if given is None:
            return None, np.zeros(rows)
        if callable(given):
            bend = np.array([triple(f"the curvature at s = {x:g}", given(x)) for x in self.middles])
            return bend, bend
        if _dimensions(given) == 2:
            bend = _array("the curvature", given, f"3 numbers for each edge, shape {rows}")
            if bend.shape != rows:
                raise InputError(
                    "the curvature has the wrong shape", expected=rows, received=bend.shape
                )
            return bend, bend
        words = Vocabulary((s,))
        entries = list(given) if _dimensions(given) == 1 else []
        if len(entries) != 3:
            raise InputError(
                "the curvature cannot be read",
                expected="3 numbers or expressions of s, or a function of s",
                received=brief(given),
            )
        read = [words.read(x, "the curvature") for x in entries]
        if any(x.has(t) for x in read):
            raise InputError(
                "the curvature depends on time",
                expected="numbers or expressions of s",
                received=brief(given),
            )
        functions = [sp.lambdify(s, x, "numpy") for x in read]
        with np.errstate(all="ignore"):  # what is not finite is said below
            bend = np.array([[float(f(x)) for f in functions] for x in self.middles])
        if not np.all(np.isfinite(bend)):
            place = self.middles[int(np.argwhere(~np.isfinite(bend))[0, 0])]
            raise InputError(
                f"the curvature is not finite at s = {place:g}",
                expected="numbers at the middles of all edges",
                received=brief(given),
            )
        return tuple(read), bend

    def _reference(self, bend: np.ndarray) -> np.ndarray:
        """χ₀ of every edge: the one that leads from node to node on the reference shape."""
        ds = self.spacing
        through = np.hstack([bend, np.broadcast_to(TANGENT, bend.shape)])
        if np.any(turns := np.linalg.norm(bend, axis=1) * ds >= np.pi):
            place = self.middles[int(np.argmax(turns))]
            raise InputError(
                "the reference shape turns by half a turn or more between two nodes",
                expected=f"|curvature| < π/Δs = {np.pi / ds:g}",
                received=f"{np.linalg.norm(bend, axis=1).max():g}, first at s = {place:g}",
                remedy="use more nodes",
            )
        return SE3.cay_ad_inverse(SE3.exp(ds * through)) / ds

    # ---- what acts on it ---------------------------------------------------------------------

    def nodes_at(self, at: Any) -> list[tuple[int, float]]:
        """(node, share) at a place: "root", "tip" or s, between two nodes with a share for each.

        Shares are as on a lever, so that forces and moments are right, to second order in Δs.
        """
        if isinstance(at, str):
            if at not in ("root", "tip"):
                raise InputError(
                    "there is no such place on a beam",
                    expected='"root", "tip", "all" or a number s',
                    received=brief(at),
                )
            return [(0 if at == "root" else self.nodes - 1, 1.0)]
        place = number("a place on a beam", at)
        if not 0 <= place <= self.length * (1 + 1e-12):
            raise InputError(
                "that place is not on the beam",
                expected=f"0 ≤ s ≤ {self.length:g}",
                received=place,
            )
        along = min(place / self.spacing, self.nodes - 1)
        node = round(along)
        if abs(along - node) <= ON_A_NODE:
            return [(node, 1.0)]
        first = int(along)
        return [(first, first + 1 - along), (first + 1, along - first)]

    def load(
        self,
        *,
        at: Any = "tip",
        force: Any = (0, 0, 0),
        moment: Any = (0, 0, 0),
        follower: bool = False,
    ) -> Beam:
        """Add a load.

        Parameters
        ----------
        at : "tip", "root", a number s, or "all"
            Between two nodes both have their share.  With "all" the load is per length and may
            depend on s.
        force, moment : three numbers or expressions of t
            In space; of a follower in the local frame (tangent second).
        follower : bool
        """
        everywhere, turns = isinstance(at, str) and at == "all", flag("follower", follower)
        others = (s,) if everywhere else ()
        read = [
            functions_of_time(name, x, *others)
            for name, x in (("moment", moment), ("force", force))
        ]
        for node, share in [(None, 1.0)] if everywhere else self.nodes_at(at):
            parts = read if share == 1.0 else [tuple(share * x for x in part) for part in read]
            self.loads.append(Load(node, parts[0], parts[1], turns))
        given = {"at": at, "force": read[1], "moment": read[0], "follower": turns}
        self.told.append(("load", given))
        return self

    def body(
        self, *, at: Any = "tip", mass: float, inertia: Any = (0, 0, 0), offset: Any = (0, 0, 0)
    ) -> Beam:
        """Fix a rigid body to a node.

        Parameters
        ----------
        at : "tip", "root" or a number s
            Between two nodes both have their share.
        mass : float
        inertia : (3,) or (3, 3) array_like
            About its centre of mass, in the local frame.
        offset : (3,) array_like
            The centre of mass, in the local frame.
        """
        heavy = number("the mass of a body", mass)
        if heavy < 0:
            raise InputError(
                "the mass of a body is negative", expected="a number ≥ 0", received=heavy
            )
        rotary = _array("the inertia of a body", inertia, "3 moments, or a symmetric 3 × 3 matrix")
        rotary = np.diag(rotary) if rotary.shape == (3,) else rotary
        if rotary.shape != (3, 3) or asymmetry(rotary) is not None:
            raise InputError(
                "the inertia of a body cannot be read",
                expected="3 moments, or a symmetric 3 × 3 matrix",
                received=brief(inertia),
            )
        if negative_along((rotary + rotary.T) / 2) is not None:
            raise InputError(
                "the inertia of a body is negative",
                expected="moments ≥ 0",
                received=brief(inertia),
            )
        arm = triple("the offset of a body", offset)
        across = SO3.hat(arm)
        whole = np.zeros((6, 6))
        whole[:3, :3] = rotary - heavy * product(across, across)
        whole[:3, 3:], whole[3:, :3] = heavy * across, -heavy * across
        whole[3:, 3:] = heavy * np.eye(3)
        for node, share in self.nodes_at(at):
            self.bodies.append(Body(node, tuple((share * whole).ravel().tolist())))
        given = {"at": at, "mass": heavy, "inertia": rotary, "offset": arm}
        self.told.append(("body", given))
        return self

    def mesh(self) -> Mesh:
        """Its nodes and edges."""
        return mesh_of([self])

    def _repr_html_(self) -> str:
        return beam_html(self)

    def __repr__(self) -> str:
        plain = self.section is None or callable(self.section)
        made = "" if plain else f", {self.section!r}"
        return (
            f"Beam(length {self.length:g}{made}, {self.nodes} nodes, "
            f"ends {self.ends[0].kind} and {self.ends[1].kind}, mass {self.mass:g})"
        )


def _count(nodes: Any) -> int:
    """A number of nodes, which a quotient such as length/0.05 may be."""
    if isinstance(nodes, float | np.floating) and float(nodes).is_integer():
        nodes = int(nodes)
    if not isinstance(nodes, int | np.integer) or isinstance(nodes, bool) or nodes < 2:
        raise InputError(
            "a beam needs nodes", expected="a whole number, 2 or more", received=brief(nodes)
        )
    return whole("the number of nodes", nodes, 2, MOST_NODES)


def _material(density, young, poisson, shear_modulus) -> tuple[float | None, ...]:
    rho = None if density is None else positive("the density", density)
    stiff = None if young is None else positive("Young's modulus", young)
    if shear_modulus is not None:
        if poisson is not None:
            raise InputError(
                "Poisson's ratio and the shear modulus are one too many",
                expected="poisson=… or shear_modulus=…",
            )
        return rho, stiff, positive("the shear modulus", shear_modulus)
    if poisson is None or stiff is None:
        return rho, stiff, None
    nu = number("Poisson's ratio", poisson)
    if not -1 < nu <= 0.5:
        raise InputError("Poisson's ratio is impossible", expected="−1 < ν ≤ 0.5", received=nu)
    return rho, stiff, stiff / (2 * (1 + nu))


def _rotation(frame: Any) -> np.ndarray:
    """A rotation matrix, given as such or by the direction of its second axis."""
    if frame is None:
        return np.eye(3)
    given = _array("the frame of a beam", frame, "a direction, or a rotation matrix")
    if given.shape == (3,):
        to = direction("the direction of a beam", given)
        turned = np.diag([-1.0, -1.0, 1.0]) if to[1] < 0 else np.eye(3)  # half a turn is not a cay
        near = product(turned, TANGENT)
        return product(SO3.cay(2 * np.cross(near, to) / (1 + product(near, to))), turned)
    return SO3.check(given, "the frame of a beam")


def _dimensions(given: Any) -> int:
    """Of a nest of lists; −1 if rows have different lengths."""
    try:
        return np.ndim(given)
    except ValueError:
        return -1


def _array(what: str, given: Any, expected: str) -> np.ndarray:
    """Finite numbers."""
    try:
        found = real_array(given)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} cannot be read", expected=expected, received=brief(given)
        ) from error
    if not np.all(np.isfinite(found)):
        raise InputError(f"{what} is not finite", expected=expected, received=brief(given))
    return found
