"""`Beams`: several beams, joined rigidly where their ends meet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from taut.calls import public
from taut.errors import InputError, brief, listed
from taut.fields.beam import Beam
from taut.fields.mesh import Mesh, mesh_of
from taut.fields.shown import beams_html


@public
class Beams:
    """Several beams that are joined rigidly: frames, elbows, branches.

    Parameters
    ----------
    beams : iterable of Beam
    joints : iterable of ((beam, place), (beam, place)), optional
        Numbers of beams and "root" or "tip", as in ``[((0, "tip"), (1, "root"))]``.  Without it,
        all ends that are at one place are joined; ``[]`` joins nothing.

    Examples
    --------
    >>> import taut
    >>> common = dict(section=taut.Circle(0.01), density=7800, young=2e11, poisson=0.3, nodes=11)
    >>> post = taut.Beam(1, at=(0, 0, 0), frame=(0, 0, 1), ends=("clamped", "free"), **common)
    >>> arm = taut.Beam(2, at=(0, 0, 1), frame=(1, 0, 0), **common)
    >>> taut.Beams([post, arm])
    Beams(2 beams, 22 nodes, 1 joint)
    """

    def __init__(self, beams: Iterable[Beam], joints: Any = None) -> None:
        self.beams = listed("the beams", beams, "a list of taut.Beam objects")
        for beam in self.beams:
            if not isinstance(beam, Beam):
                raise InputError(
                    "that is no beam", expected="taut.Beam objects", received=brief(beam)
                )
        if len({id(beam) for beam in self.beams}) < len(self.beams):
            raise InputError(
                "a beam is there twice", remedy="make two beams: each is at a place of its own"
            )
        if not self.beams:
            raise InputError("there are no beams", expected="one or more")
        expected = 'a list such as [((0, "tip"), (1, "root"))]'
        pairs = None if joints is None else listed("the joints", joints, expected)
        self._joints = None if pairs is None else [self._pair(x) for x in pairs]
        self.mesh()

    def _pair(self, given: Any) -> tuple[int, int]:
        starts = [0]
        for beam in self.beams:
            starts.append(starts[-1] + beam.nodes)
        try:
            first, second = (
                starts[range(len(self.beams))[i]] + self._end(self.beams[i], place)
                for i, place in given
            )
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(
                "a joint cannot be read",
                expected='((0, "tip"), (1, "root")): numbers of beams and their ends',
                received=brief(given),
            ) from error
        if first == second:
            raise InputError(
                "an end is joined to itself",
                expected='two ends, as in ((0, "tip"), (1, "root"))',
                received=brief(given),
            )
        return first, second

    def _end(self, beam: Beam, place: Any) -> int:
        node, share = beam.nodes_at(place)[0]
        if node not in (0, beam.nodes - 1) or share != 1.0:
            raise InputError(
                "beams are joined at their ends",
                expected='"root" or "tip"',
                received=brief(place),
                remedy="make two beams of one that is joined in between",
            )
        return node

    def mesh(self) -> Mesh:
        """Their nodes and edges."""
        return mesh_of(self.beams, self._joints)

    def _repr_html_(self) -> str:
        return beams_html(self)

    def __repr__(self) -> str:
        mesh = self.mesh()
        many = len(mesh.joints)
        words = f"{many} joint" + ("" if many == 1 else "s")
        return f"Beams({len(self.beams)} beams, {mesh.nodes} nodes, {words})"
