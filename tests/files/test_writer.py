"""Models to files and back: the same models, bit by bit."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import taut
from taut.errors import FileError, InputError, UnknownName
from taut.files.reader import model_of
from taut.files.schema import PLAIN, VERBS
from taut.files.source import Source
from taut.problems import names, problem

HERE = Path(__file__).parent
EXAMPLES = sorted((HERE.parents[1] / "examples").glob("*.toml"))
zoo = runpy.run_path(str(HERE / "zoo.py"))["zoo"]
x, y, k = taut.coordinates("x y k")


def again(model):
    return model_of(Source(model.text, "m.toml"), model.name, {})


def same_runs(model, **changes):
    one, two = model.simulate(**changes), again(model).simulate(**changes)
    for name in ("t", "q", "v", "p", "multipliers"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    return one, two


def test_every_verb_of_a_mechanism_is_in_the_schema_and_in_the_zoo():
    known = {verb for verb, _ in PLAIN.values()} | {verb for x in VERBS.values() for verb in x}
    recorded = {
        name
        for name in dir(taut.Mechanism)
        if not name.startswith("_") and hasattr(getattr(taut.Mechanism, name), "is_verb")
    }
    assert known == recorded
    assert {told.verb for told in zoo().record.values()} == recorded
    assert "angle_screw" not in zoo().record  # which the screw makes by itself


def pieces(mechanism):
    """All terms of a mechanism before they are written down: types, places, numbers, names."""
    held = (*mechanism.beams.values(), *mechanism.joints.values(), *mechanism.forces.values())
    return [
        (x.name, p.kind, p.key, list(p.indices), [float(v) for v in p.values], list(p.names))
        for x in held
        for p in x.pieces
    ]


def test_every_joint_and_force_comes_back():
    """The same types of terms, with the same numbers, from the same start: the same run."""
    model = taut.Model(zoo(), title="zoo", duration=0.05, step=0.01, laws=None, project=True)
    found = again(model)
    assert pieces(found.model) == pieces(model.model)
    assert found.model["field"].energy == model.model["field"].energy
    assert list(found.model.parts) == list(model.model.parts)
    for was, now in zip(model.model.start(), found.model.start(), strict=True):
        np.testing.assert_array_equal(was, now)
    for name, part in model.model.parts.items():
        assert part.masses == found.model.parts[name].masses
    assert list(found.model.forces) == list(model.model.forces)  # those of beams among them
    assert found.text == model.text
    (look,) = found.model["c"].looks["shapes"]
    assert (look.kind, look.size.tolist()) == ("box", [1, 1, 2])
    for name in ("k", "ground"):
        (was,), (now,) = (m[name].looks["shapes"] for m in (model.model, found.model))
        assert (was.kind, was.colour) == (now.kind, now.colour)
        np.testing.assert_array_equal(was.at, now.at)
    np.testing.assert_array_equal(
        model.model.frames["tool"].rotation, found.model.frames["tool"].rotation
    )
    assert found.settings == model.settings


@pytest.mark.parametrize("name", names())
def test_problems_come_back(name):
    """With their drawings; their terms are the same, so their kernels and their runs are."""
    given = problem(name)
    mechanism = given.system.mechanism
    model = taut.Model(
        given.system, q0=given.q0, v0=given.v0, step=given.step, duration=given.duration,
        parameters=dict(given.parameters),
    )  # fmt: skip
    if given.system.given is None and mechanism is None:
        with pytest.raises(FileError, match="a system of terms"):
            _ = model.text
        return
    found = again(model)
    np.testing.assert_array_equal(found.settings["q0"], given.q0)
    if mechanism is not None:
        assert pieces(found.model) == pieces(mechanism)
        return
    assert found.system.named_key == given.system.named_key
    was, now = given.system.drawing, found.system.drawing
    if was is not None:
        assert (now.points, now.links, now.curves) == (was.points, was.links, was.curves)
    assert again(found).text == found.text


def test_robots_come_back():
    """From URDF to TOML; their frames have the names of their parts."""
    pytest.importorskip("yourdfpy")
    path = HERE.parents[1] / "examples" / "six_axis_arm.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", taut.Unsimulated)
        model = taut.Model(taut.urdf(path))
    found = again(model).model
    assert pieces(found) == pieces(model.model)
    assert found.frames.keys() == model.model.frames.keys()
    for name, frame in model.model.frames.items():
        np.testing.assert_array_equal(frame.rotation, found.frames[name].rotation)
        np.testing.assert_array_equal(frame.at, found.frames[name].at)
    for was, now in zip(model.model.start(), found.start(), strict=True):
        np.testing.assert_array_equal(was, now)


METAL = {"density": 7800, "young": 2e11, "poisson": 0.3}
SECTIONS = [
    taut.Circle(0.01),
    taut.Square(0.02, shear="cowper"),
    taut.Rectangle(0.02, 0.03, torsion=1e-9),
    taut.Tube(0.02, 0.01, torsion="saint-venant", shear=(0.9, 0.8)),
    lambda s: taut.Circle(0.02 - s / 100),
]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda x: getattr(x, "__name__", repr(x)))
def test_beams_by_themselves_come_back(section):
    """The same nodes and edges, bit by bit, so that they move the same."""
    ends = (
        taut.End("clamped", position=(0, 0, taut.t**2 / 10), rotation=(0, taut.t, 0)),
        taut.End("roller", axis=(1, 2, 3)),
    )
    beam = taut.Beam(
        1, section, **METAL, nodes=6, at=(1, 2, 3), frame=(1, 0, 1), damping=1e-4, ends=ends,
        gravity=(0, 0, -9.81),
    )  # fmt: skip
    beam.load(at="all", force=(0, 0, taut.s * sp.sin(taut.t))).load(force=(0, 1, 0), follower=True)
    beam.body(at=0.33, mass=0.3)
    model = taut.Model(beam, name="arm", duration=1e-4, v0=[[0.0] * 6] * 6, t0=0.5, every=2)
    found = again(model)
    assert found.text == model.text
    assert found.settings == model.settings
    was, now = beam.mesh(), found.model.mesh()
    for name in ("s", "weight", "inertia", "pose", "stiffness", "reference", "damping", "gravity"):
        np.testing.assert_array_equal(getattr(was, name), getattr(now, name))
    assert now.loads == was.loads
    for one, other in zip(was.holds, now.holds, strict=True):
        assert (one.node, one.end.kind) == (other.node, other.end.kind)
        np.testing.assert_array_equal(one.freedom, other.freedom)
        assert (one.end.position, one.end.rotation) == (other.end.position, other.end.rotation)
    start = {"strain0": np.full((5, 6), 1e-3), "momentum0": np.zeros(6)}
    thrown = taut.Model(beam, duration=1, step=0.1, method="implicit", project=True, **start)
    for name, value in again(thrown).settings.items():
        np.testing.assert_array_equal(value, thrown.settings[name])


def test_what_is_added_to_a_beam_later_is_not_in_the_mechanism():
    m, beam = taut.Mechanism(), taut.Beam(1, taut.Circle(0.01), **METAL, nodes=3)
    m.beam("rod", beam)
    text = taut.Model(m).text
    beam.load(force=(0, 0, 1)).body(mass=3)
    assert taut.Model(m).text == text
    assert "loads" not in text


SYSTEMS = {
    "mass matrix": {"mass": [[2, sp.Rational(1, 3)], [sp.Rational(1, 3), k]], "potential": x * y},
    "kinetic": {"kinetic": (sp.Symbol("x_dot") ** 2 + sp.Symbol("y_dot") ** 2) * (2 + sp.cos(x)),
                "potential": 0.1 * x**4 + sp.sqrt(1 + y**2)},
    "lagrangian": {"lagrangian": sp.Symbol("u") ** 2 / 2 + sp.Symbol("w") ** 2 - x**2 * y**2,
                   "velocities": sp.symbols("u w")},
    "hamiltonian": {"hamiltonian": (sp.Symbol("p_x") ** 2 + k * sp.Symbol("p_y") ** 2) / 2 + x**2,
                    "constraints": [x - y**2]},
    "forced": {"mass": 1.5, "forces": [0, -sp.Symbol("y_dot") + sp.sin(taut.t)],
               "constraints": {"the curve": x - y**2 + taut.t}},
    "forces of nothing": {"mass": 1, "forces": [0, 0]},
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_forms_of_systems_come_back(name):
    system = taut.System([x, y], **SYSTEMS[name], parameters={"k": 0.7})
    found = again(taut.Model(system)).model
    assert found.key == system.key
    assert found.named_key == system.named_key
    assert found.parameters == {"k": 0.7}


@pytest.mark.parametrize("down", ["y", None])
def test_drawings_come_back(down):
    u = sp.Symbol("u")
    drawing = taut.Drawing(
        {"a": (x, y), "b": (k / 3, 0), "c": (0, 1)}, [("a", "b", "spring"), ("b", "c")],
        trails=["a", "c"], curves=[((sp.cos(u) * k, sp.sin(u)), (u, 0, 2 * np.pi))], down=down,
    )  # fmt: skip
    system = taut.System([x, y], mass=1, parameters={"k": 2}, drawing=drawing)
    found, was = again(taut.Model(system)).model.drawing, system.drawing
    assert (found.points, found.links, found.trails) == (was.points, was.links, was.trails)
    assert found.down == was.down
    (old,), (new,) = was.curves, found.curves
    assert (new.first, new.last) == (old.first, old.last)
    assert new.places == tuple(e.xreplace({old.symbol: new.symbol}) for e in old.places)


def test_runs_of_systems_and_flows_come_back():
    system = taut.System([x, y], mass=[1, k], potential=0.3 * x**2 + x * y**3 / 3, parameters=["k"])
    model = taut.Model(
        system, q0=[0.1, 0.2], p0=[0, 0.3], t0=0.5, duration=1, step=0.1, every=2,
        parameters={k: 1.7}, method=taut.GaussLobatto(3), laws={"half energy": x**2},
        events=[taut.Event(x - y / 7, "up"), taut.Event(y - 5, terminal=True, name="far")],
    )  # fmt: skip
    one, two = same_runs(model)
    assert [e.name or str(e.expression) for e in one.watch.events] == [
        e.name for e in two.watch.events
    ]
    assert again(model).settings["laws"] == {"half energy": x**2}
    flow = taut.Flow([x, y], {x: y, y: -k * sp.sin(x)}, drawing=taut.Drawing({"a": (x, y)}))
    same_runs(taut.Model(flow, q0=[1, 0], duration=1, step=0.1, parameters={"k": 2}))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run_and_come_back(path):
    model = taut.load(path)
    if isinstance(model.model, taut.Beam):
        one, two = model.simulate(duration=0.01), again(model).simulate(duration=0.01)
        np.testing.assert_array_equal(one.positions, two.positions)
        return
    one, _ = same_runs(model, duration=0.01 if getattr(model.model, "beams", None) else 0.2)
    if one.system.c:
        assert one.certificate.max_g < 1e-12


def test_files_are_written_and_loaded(tmp_path):
    model = taut.Model(taut.System([x], mass=1), title='a "b"\n\x7f', q0=[1], v0=[0.1])
    path = model.save(tmp_path / "m.toml")
    assert taut.load(path).title == 'a "b"\n\x7f'
    assert taut.load(str(path)).name == "m"
    with pytest.raises(FileError, match=r"ending in \.toml"):
        model.save(tmp_path / "m.json")
    with pytest.raises(FileError, match="cannot write"):
        model.save(tmp_path / "none" / "m.toml")
    with pytest.raises(InputError, match="no parameters to set"):
        taut.load(tmp_path / "run.zarr", k=1)


def test_what_cannot_be_written_says_so():
    with pytest.raises(InputError, match="no model"):
        taut.Model(3)
    with pytest.raises(UnknownName, match="did you mean 'step'"):
        taut.Model(taut.System([x], mass=1), stepp=1)
    with pytest.raises(FileError, match="k has no value"):
        _ = taut.Model(taut.System([x], mass=k, parameters=["k"])).text
    term = taut.Term("lagrangian", (x,), [sp.Symbol("u") ** 2], [[0]], rates=[sp.Symbol("u")])
    with pytest.raises(FileError, match="a system of terms"):
        _ = taut.Model(taut.System.from_terms([x], [term])).text
    system = taut.System([x], mass=1)
    with pytest.raises(FileError, match="batch"):
        _ = taut.Model(system, q0=[[1], [2]]).text
    with pytest.raises(FileError, match="cannot be written"):
        _ = taut.Model(system, method=taut.Corrected("rk4", laws=[x])).text
    with pytest.raises(FileError, match="written"):
        _ = taut.Model(taut.System([x], mass=1, potential=sp.erf(x))).text
    m = taut.Mechanism()
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    mesh = (corners, [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    m.body("a", mass=1, inertia=(1, 1, 1), at=(0, 0, 0), mesh=mesh)
    with pytest.raises(FileError, match="mesh cannot be written"):
        _ = taut.Model(m).text
    m = taut.Mechanism()
    m.force(m.point("a", mass=1, at=(0, 0, 0)), lambda t, state: (0, 0, 1))
    with pytest.raises(FileError, match="a Python function cannot be written"):
        _ = taut.Model(m).text
    driven = taut.System([x], mass=1, forces=[k], controls={k: lambda t, state: 1.0})
    with pytest.raises(FileError, match="a Python function cannot be written"):
        _ = taut.Model(driven).text
    with pytest.raises(FileError, match=r"several beams cannot be written"):
        _ = taut.Model(taut.Beams([taut.Beam(1, taut.Circle(0.01), **METAL)])).text
    with pytest.raises(InputError, match=r"is no taut\.System"):
        _ = taut.Model(taut.Beam(1, taut.Circle(0.01), **METAL)).system
    with pytest.raises(UnknownName, match="q0"):
        taut.Model(taut.Beam(1, taut.Circle(0.01), **METAL), q0=[1])
    m = taut.Mechanism()
    m.point("a", mass=1, at=(0, 0, 0))
    m.record.clear()  # as if a part had come by another road
    with pytest.raises(FileError, match="a cannot be written"):
        _ = taut.Model(m).text


def test_joints_with_a_place_on_each_part(tmp_path):
    m = taut.Mechanism()
    m.body("block", mass=1, inertia=(1, 1, 1), at=(3, 0.2, 0))
    m.body("arm", mass=1, inertia=(1, 1, 1), at=(5, 0, 0.5))
    m.prismatic("rail", m.ground, "block", at=((1, 0, 0), (3, 0.2, 0)), axis=(1, 0, 0))
    m.spherical("ball", "block", "arm", at=((3.5, 0.2, 0), (4.5, 0, 0.5)))
    m.body("lid", mass=1, inertia=(1, 1, 1), at=(6, 0, 0))
    axes = ((0, 0, 1), (0, 0.6, 0.8))
    m.revolute("hinge", "arm", "lid", at=((5.5, 0, 0.5), (5.5, 0, 0)), axis=axes)
    path = taut.Model(m).save(tmp_path / "loose.toml")
    again = taut.load(path).model
    assert np.array_equal(again.joints["hinge"].other["e"], axes[1])
    assert np.array_equal(again.joints["ball"].at, m.joints["ball"].at)
    assert np.array_equal(again.assemble().q, m.assemble().q)
    text = path.read_text()
    path.write_text(text.replace("[[1, 0, 0], [3, 0.2, 0]]", "[[1, 0, 0]]"))
    with pytest.raises(taut.FileError, match=r"loose.toml:\d+: joints.rail.at does not have"):
        taut.load(path)
