"""Looks and meshes: what is read, and what is refused."""

import struct

import numpy as np
import pytest

import taut
from taut.model.mechanism import meshes
from taut.model.mechanism.meshes import mesh, read_mesh

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def binary(header=b"solid of a kind"):
    """A binary STL whose header begins as that of a text one."""
    rows = [struct.pack("<12fH", 0, 0, 0, *CORNERS[f].ravel(), 0) for f in FACES]
    return header.ljust(80) + struct.pack("<I", len(rows)) + b"".join(rows)


def text():
    facets = []
    for f in FACES:
        corners = "\n".join("vertex " + " ".join(map(str, x)) for x in CORNERS[f])
        facets.append(f"facet normal 0 0 0\nouter loop\n{corners}\nendloop\nendfacet")
    return "\n".join(["solid tetra", *facets, "endsolid tetra"]).encode()


def wavefront():
    """Corners with textures and normals, from the end, and a square."""
    lines = [f"v {x} {y} {z}" for x, y, z in [*CORNERS, (2, 2, 2), (3, 2, 2), (3, 3, 2), (2, 3, 2)]]
    lines += ["# a remark", "vn 0 0 1", "f 1/1/1 3//1 2", "f 1 2 4", "f 1 4 3", "f -7 -6 -5"]
    return "\n".join([*lines, "f 5 6 7 8"]).encode()


@pytest.mark.parametrize(("name", "content"), [("a.stl", binary()), ("b.STL", text())])
def test_stl_files_are_read(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    found = read_mesh(tmp_path / name)
    assert len(found.vertices) == 4
    np.testing.assert_array_equal(found.vertices[found.faces], CORNERS[FACES])


def test_obj_files_are_read(tmp_path):
    (tmp_path / "a.obj").write_bytes(wavefront())
    found = mesh(str(tmp_path / "a.obj"))
    np.testing.assert_array_equal(found.faces, [*FACES, (4, 5, 6), (4, 6, 7)])
    np.testing.assert_array_equal(found.scaled(2).vertices[:4], 2 * CORNERS)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.stl", binary()[:-3], "no triangles"),
        ("a.stl", b"x" * 100, "no whole number of triangles"),
        ("a.stl", b"", "STL"),
        ("a.stl", b"solid nothing\nendsolid", "no triangles"),
        ("a.stl", text().replace(b"1.0", b"one", 1), "STL"),
        ("a.stl", text().replace(b"1.0", b"nan", 1), "not finite"),
        ("a.stl", text().replace(b"vertex", b"vortex", 1), "11 corners"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 3", "not there"),
        ("a.obj", b"v 0 0\nv 1 0 0\nv 1 1 1\nf 1 2 3", "OBJ"),
        ("a.obj", b"v 0 0 0\nf one two three", "OBJ"),
        ("a.obj", b"v 0 0 0\nf 99999999999999999999999 1 1", "OBJ|not there"),
        ("a.obj", b"f", "OBJ|no triangles"),
        ("a.obj", b"\xff\x00", "no triangles"),
        ("a.dae", b"<COLLADA/>", r"\.stl or \.obj"),
    ],
)
def test_what_is_no_mesh_is_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(taut.FileError, match=words) as caught:
        read_mesh(tmp_path / name)
    assert name in str(caught.value)


def test_meshes_that_are_missing_or_too_large_are_refused(tmp_path, monkeypatch):
    with pytest.raises(taut.FileError, match="no file"):
        read_mesh(tmp_path / "none.stl")
    (tmp_path / "a.stl").write_bytes(binary())
    (tmp_path / "a.obj").write_bytes(wavefront())
    monkeypatch.setattr(meshes, "TRIANGLES", 3)
    for name in ("a.stl", "a.obj"):
        with pytest.raises(taut.FileError, match="3 at most"):
            read_mesh(tmp_path / name)
    with pytest.raises(taut.InputError, match="at most 3"):
        mesh((CORNERS, FACES))
    monkeypatch.setattr(meshes, "LARGEST", 100)
    with pytest.raises(taut.FileError, match="too large"):
        read_mesh(tmp_path / "a.stl")


@pytest.mark.parametrize(
    ("given", "words"),
    [(3, "cannot be read"), ((CORNERS, FACES[:, :2]), "no triangles"),
     ((CORNERS, FACES + 1), "not there"), ((CORNERS, FACES * 1.0), "whole numbers"),
     ((CORNERS + np.inf, FACES), "not finite")],
)  # fmt: skip
def test_arrays_that_are_no_mesh_are_refused(given, words):
    with pytest.raises(taut.InputError, match=words):
        mesh(given)


REST = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "at": (0, 0, 0)}


@pytest.mark.parametrize(
    ("looks", "error", "words"),
    [
        ({"color": "red"}, taut.UnknownName, "colour"),
        ({"look": "sphere"}, taut.UnknownName, "ball"),
        ({"look": "mesh"}, taut.UnknownName, "mesh=…"),
        ({"colour": "reddish"}, taut.InputError, "#rrggbb"),
        ({"size": (1, 2)}, taut.InputError, "positive"),
        ({"size": -1}, taut.InputError, "positive"),
        ({"mesh": (CORNERS, FACES), "size": 1}, taut.InputError, "one of them"),
    ],
)
def test_looks_that_are_none_are_refused(looks, error, words):
    m = taut.Mechanism()
    with pytest.raises(error, match=words):
        m.body("b", **REST, **looks)
    assert not m.parts


def test_a_look_is_complete_and_of_a_body():
    m = taut.Mechanism()
    body, point = m.body("b", **REST), m.point("p", mass=1, at=(1, 0, 0))
    for words in ({"kind": "box"}, {"kind": "mesh"}, {"kind": "mesh", "size": 1}):
        with pytest.raises(taut.InputError, match="not complete"):
            m.look(body, **words)
    with pytest.raises(taut.UnknownName, match="cylinder"):
        m.look(body, "cube", size=1)
    with pytest.raises(taut.InputError, match="point"):
        m.look(point, "box", size=1)
    assert not body.looks


def test_frames_are_places_of_parts():
    m = taut.Mechanism()
    body = m.body("b", **REST, angular_velocity=(0, 0, 2))
    m.frame("tip", body, at=(1, 0, 0))
    assert repr(m["tip"]) == "<frame 'tip' of b>"
    run = taut.simulate(m, duration=1, step=0.01, laws=None)
    np.testing.assert_allclose(run["tip"].velocity[0], (0, 2, 0), atol=1e-15)
    turned = np.arctan2(run["tip"].position[:, 1], run["tip"].position[:, 0])
    np.testing.assert_allclose(np.unwrap(turned), 2 * run.t, atol=1e-3)
    np.testing.assert_allclose(run["tip"].rotation, run["b"].rotation, atol=1e-15)
    point = m.point("p", mass=1, at=(1, 0, 0))
    with pytest.raises(taut.ModelError, match="no frame"):
        m.frame("end", point, at=(1, 0, 0))
    with pytest.raises(taut.ModelError, match="already"):
        m.frame("tip", body, at=(0, 0, 0))
    with pytest.raises(taut.ModelError, match="already"):
        m.body("tip", **REST)
