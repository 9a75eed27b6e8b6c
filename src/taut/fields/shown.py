"""What a notebook shows of beams: a table, and the outline of a shape that is not a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from taut.sketch import Box, beside, flattened, sketch
from taut.text import table

if TYPE_CHECKING:
    from taut.fields.beam import Beam
    from taut.fields.beams import Beams
    from taut.fields.loads import Body, Load
    from taut.fields.mesh import Mesh

MOST = 6  # loads that are listed


def beam_html(beam: Beam) -> str:
    """A beam as a table with its outline."""
    return beside(table(beam_rows(beam), "Beam"), outline(beam.mesh()))


def beams_html(beams: Beams) -> str:
    """Several beams as a table with their outline."""
    mesh = beams.mesh()
    names = ("beam", "length", "section", "nodes", "ends", "mass", "loads", "bodies")
    rows = [
        (i, f"{x.length:g}", _section(x), x.nodes, " and ".join(e.kind for e in x.ends),
         f"{x.mass:.6g}", len(x.loads), len(x.bodies))
        for i, x in enumerate(beams.beams[:MOST])
    ]  # fmt: skip
    left = len(beams.beams) - len(rows)
    more = [("…", f"{left} more", *[""] * (len(names) - 2))] if left else []
    return beside(table([names, *rows, *more], repr(beams), head=True), outline(mesh))


def beam_rows(beam: Beam) -> list[tuple[str, str]]:
    """(what, value) of a beam."""
    names = ("density", "Young's modulus", "shear modulus")
    material = [f"{name} {x:g}" for name, x in zip(names, beam.material, strict=True) if x]
    rows = [
        ("length", f"{beam.length:g}"),
        ("section", _section(beam)),
        ("material", ", ".join(material)),
        ("mass", f"{beam.mass:.6g}"),
        ("nodes", f"{beam.nodes}, Δs = {beam.spacing:.4g}"),
        ("ends", " and ".join(e.kind + " (moved)" * e.moved for e in beam.ends)),
        ("gravity", "" if beam.gravity is None else _triple(beam.gravity)),
        ("damping", f"{beam.damping:g}" if beam.damping else ""),
        *((("load" if i == 0 else ""), _load(x)) for i, x in enumerate(beam.loads[:MOST])),
        ("", f"and {len(beam.loads) - MOST} more loads" if len(beam.loads) > MOST else ""),
        *((("body" if i == 0 else ""), _body(x)) for i, x in enumerate(beam.bodies[:MOST])),
        ("", f"and {len(beam.bodies) - MOST} more bodies" if len(beam.bodies) > MOST else ""),
    ]
    return [row for row in rows if row[1]]


def _section(beam: Beam) -> str:
    if beam.section is None:
        return "given by inertia and stiffness"
    return "varies along it" if callable(beam.section) else repr(beam.section)


def _load(load: Load) -> str:
    where = "all along" if load.node is None else f"at node {load.node}"
    parts = (("force", load.force), ("moment", load.moment))
    words = [f"{name} {_triple(x)}" for name, x in parts if any(e != 0 for e in x)]
    return f"{' and '.join(words) or 'nothing'} {where}" + ", follower" * load.follower


def _body(body: Body) -> str:
    return f"mass {body.inertia[21]:g} at node {body.node}"


def _triple(x: Any) -> str:
    written = [f"{float(e):g}" if getattr(e, "is_number", True) else str(e) for e in x]
    return "(" + ", ".join(e if len(e) <= 40 else e[:39] + "…" for e in written) + ")"


def outline(mesh: Mesh) -> str:
    """The reference shape as a small drawing; empty if it is one straight line."""
    places = mesh.pose[:, :3, 3]
    size = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    if len(size) < 2 or not size[1] > 1e-6 * size[0]:
        return ""
    drawn = flattened(places)
    curves = [drawn[span] for span in mesh.spans]
    return sketch([Box(curves, "reference shape", equal=True)], "the reference shape")
