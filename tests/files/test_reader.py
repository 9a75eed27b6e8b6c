"""Model files: what they mean, and what is said of those that mean nothing."""

import numpy as np
import pytest
import sympy as sp

import taut
from taut.errors import TautError, UnknownName
from taut.files.lines import LineError
from taut.files.reader import model_of
from taut.files.source import Source

SYSTEM = """\
title = "Pendulum"
[parameters]
m = 2.0
l = "sqrt(3)*half"
half = 0.5
[system]
coordinates = "x y"
mass = "m"
potential = "10*m*y"
constraints.rod = "x**2 + y**2 = l**2"
forces = { y = "-0.1*y_dot" }
[start]
q = { y = 0, x = "-l" }
v = { x = 0 }
t = 1
[run]
duration = 1
step = 0.01
method = { kind = "GaussLobatto", stages = 3 }
every = 2
[events]
lowest = "x"
[events.high]
expression = "y"
direction = "up"
terminal = true
"""
MECHANISM = """\
gravity = [0, 0, "-g"]
[joints.hinge]
kind = "revolute"
between = ["ground", "arm"]
at = [0, 0, 0]
axis = [0, 1, 0]
[bodies.arm]
mass = 1.0
inertia = [0.1, 0.1, 0.01]
at = [0, 0, "-1/2"]
[forces.drag]
kind = "force"
part = "arm"
force = ["-0.1*x_arm_dot", 0, 0]
[parameters]
g = 9.81
[run]
duration = 0.1
step = 0.01
"""
BODY = "[bodies.arm]\nmass = 1\ninertia = [1, 1, 1]\nat = [0, 0, 0]\n"
POINT = "[points.a]\nmass = 1\nat = [0, 0, 1]\n"
PLAIN = '[system]\ncoordinates = "x"\nmass = 1\n'
BEAM = (
    '[beams.rod]\nlength = 2\nsection = { kind = "circle", radius = "0.01*(1 + s)" }\n'
    "density = 7800\nyoung = 2e11\npoisson = 0.3\nat = [0, 0, 0]\nnodes = 4\n"
)
ALONE = BEAM.replace("beams.rod", "beam")
CLAMP = '[joints.c]\nkind = "fixed"\nbetween = ["ground", "rod root"]\nat = [0, 0, 0]\n'
HINGE = '[joints.h]\nkind = "revolute"\nbetween = ["ground", "arm"]\nat = [0,0,0]\naxis = [0,1,0]\n'


def read(text, **values):
    return model_of(Source(text, "m.toml"), "m", values)


def error(text):
    with pytest.raises(LineError) as caught:
        read(text)
    return caught.value


# ------------------------------------------------------------------------------ what it means


def test_a_system_is_what_it_would_be_in_python():
    model = read(SYSTEM)
    x, y, m, l = taut.coordinates("x y m l")
    _, v = taut.velocities([x, y])
    length = float(np.sqrt(3.0) * 0.5)
    system = taut.System(
        [x, y], mass=m, potential=10 * m * y, constraints={"rod": x**2 + y**2 - l**2},
        forces={"y": -0.1 * v}, parameters={"m": 2.0, "l": length, "half": 0.5},
    )  # fmt: skip
    assert model.model.key == system.key
    assert model.model.constraint_names == ("rod",)
    assert model.model.parameters["l"] == pytest.approx(length, rel=1e-15)
    run = model.simulate()
    again = taut.simulate(
        system, q0=[-model.model.parameters["l"], 0], v0=0, t0=1, duration=1, step=0.01, every=2,
        method=taut.GaussLobatto(stages=3), events={"high": taut.Event(y, "up", True), "lowest": x},
    )  # fmt: skip
    np.testing.assert_array_equal(run.q, again.q)
    assert set(run.events) == {"lowest", "high"}
    assert model.title == "Pendulum"
    assert "Pendulum" in repr(model)


def test_a_flow_is_what_it_would_be_in_python():
    text = '[parameters]\na = 2\nunused = 1\n[flow]\nvariables = ["x", "y"]\nrates = '
    start = "\n[start]\nq = [1, 0]\n[run]\nduration = 1\nstep = 0.1\n"
    x, y, a = sp.symbols("x y a", real=True)
    run = taut.simulate(
        taut.Flow([x, y], [y, -a * x]), q0=[1, 0], duration=1, step=0.1, parameters={"a": 2}
    )
    for rates in ('{ y = "-a*x", x = "y" }', '["y", "-a*x"]'):
        np.testing.assert_array_equal(read(text + rates + start).simulate().q, run.q)


def test_a_mechanism_is_what_it_would_be_in_python():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    arm = m.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.01), at=(0, 0, -0.5))
    m.revolute("hinge", m.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
    (_, (u, *_)) = m.symbols(arm)
    m.force(arm, (-0.1 * u, 0, 0), name="drag")
    found = read(MECHANISM).model
    assert found.system().named_key == m.system().named_key
    assert list(found.joints) == ["hinge"]


def test_beams_are_what_they_would_be_in_python():
    """As parts, with joints at their nodes by name, and by themselves; sizes may depend on s."""
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    metal = {"density": 7800, "young": 2e11, "poisson": 0.3}
    rod = m.beam("rod", length=2, section=lambda s: taut.Circle(0.01 * (1 + s)), **metal, nodes=4)
    ball = m.body("ball", mass=1, inertia=(1, 1, 1), at=(0, 2, 0))
    m.fixed("weld", rod.tip, ball, at=(0, 2, 0))
    m.fixed("clamp", m.ground, rod.root, at=(0, 0, 0))
    m.force(rod.nodes[1], (0, 0, 1), name="push")
    found = read(
        'gravity = [0, 0, -9.81]\n[joints.weld]\nkind = "fixed"\nbetween = ["rod tip", "ball"]\n'
        'at = [0, 2, 0]\n[joints.clamp]\nkind = "fixed"\nbetween = ["ground", "rod root"]\n'
        'at = [0, 0, 0]\n[forces.push]\nkind = "force"\npart = "rod 1"\nforce = [0, 0, 1]\n'
        "[bodies.ball]\nmass = 1\ninertia = [1, 1, 1]\nat = [0, 2, 0]\n" + BEAM
    ).model
    assert found.system().named_key == m.system().named_key
    assert (found["rod tip"], found["rod root"]) == (found["rod 3"], found["rod 0"])
    alone = read(
        BEAM.replace("beams.rod", "beam")
        + 'ends = ["clamped", "free"]\n[start]\nv = [0,0,0,0,0,0]\n'
        '[run]\nduration = 1e-4\nmethod = "hamel"\n'
    )
    made = taut.Beam(2, rod.beam.section, **metal, nodes=4, ends=("clamped", "free"))
    np.testing.assert_array_equal(alone.model.mesh().stiffness, made.mesh().stiffness)
    run = taut.simulate(made, duration=1e-4, method="hamel")
    np.testing.assert_array_equal(alone.simulate().positions, run.positions)


def test_parameters_can_be_changed_and_what_follows_from_them_follows():
    model = read(SYSTEM, half=1.0)
    assert model.model.parameters["l"] == pytest.approx(np.sqrt(3))
    assert model.settings["q0"][0] == pytest.approx(-np.sqrt(3))
    assert read(MECHANISM, g=1.0).model.gravity[2] == -1.0
    with pytest.raises(UnknownName, match="gg"):
        read(MECHANISM, gg=1.0)
    with pytest.raises(UnknownName):
        read(PLAIN, a=1.0)


def test_a_whole_number_stays_exact_in_formulas():
    text = PLAIN + 'potential = "x**n/n"\n'
    assert read("[parameters]\nn = 4\n" + text).model.parameters == {"n": 4.0}
    m = read(POINT + '[forces.f]\nkind = "potential"\nenergy = "z_a**n"\n[parameters]\nn = 4\n')
    assert m.model.forces["f"].energy == sp.Symbol("z_a", real=True) ** 4


def test_parts_and_joints_are_added_in_the_order_of_the_file_after_what_they_need():
    text = (
        HINGE.replace("arm", "b")
        + POINT
        + BODY.replace("arm", "b")
        + ('[joints.drive]\nkind = "drive"\njoint = "h"\nangle = "t"\n')
    )
    found = read(text).model
    assert list(found.parts) == ["b", "a"]
    assert list(found.joints) == ["h", "drive"]


def test_forces_stay_in_the_order_of_the_file():
    """Those that ask for the state wait for all parts, which may stand after them."""
    text = (
        '[forces.f]\nkind = "potential"\nenergy = "x_b**2"\n'
        '[forces.g]\nkind = "spring"\nbetween = ["ground", "a"]\nstiffness = 1\n'
    )
    found = read(text + POINT + "[points.b]\nmass = 1\nat = [0, 0, 0]\n").model
    assert list(found.forces) == ["f", "g"]
    assert list(found.record) == ["a", "b", "f", "g"]


def test_changes_of_a_run(monkeypatch):
    """What is chosen for a run takes the place of what would contradict it."""
    monkeypatch.setattr("taut.files.model.simulate", lambda _, **settings: settings)
    model = read(SYSTEM)
    assert model.simulate(step=0.02) == model.settings | {"step": 0.02}
    assert {"step", "method"} & set(model.simulate(tolerance=1e-6)) == set()
    assert "v0" not in model.simulate(p0=0)
    assert "tolerance" not in read(PLAIN + "[run]\nduration = 1\ntolerance = 1e-6").simulate(step=1)
    with pytest.raises(TautError, match="no duration"):
        read(PLAIN).simulate()


@pytest.mark.parametrize(
    ("given", "method"),
    [
        ('"composition-4"', taut.Composition("rattle", order=4)),
        ('{ kind = "Composition", base = "rattle", order = 6 }', taut.Composition(order=6)),
        ('{ kind = "Projected", base = { kind = "ExplicitRK", tableau = "rk4" } }',
         taut.Projected(taut.ExplicitRK("rk4"))),
        ('{ kind = "GeneralizedAlpha", rho = "1/2" }', taut.GeneralizedAlpha(rho=0.5)),
    ],
)  # fmt: skip
def test_methods_with_options(given, method):
    from taut.methods import method_of

    assert method_of(read(f"{PLAIN}[run]\nmethod = {given}\n").settings["method"]) == method


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "no model"),
        (PLAIN + "[flow]\n", 1, "system and flow"),
        (PLAIN + POINT, 1, "system and mechanism"),
        (PLAIN + "[joints.a]\n", 4, "a system has no joints"),
        (PLAIN + "gravity = 3\n", 4, "no key called 'gravity'"),
        (POINT + "[drawing]\n", 4, "a mechanism has no drawing"),
        (PLAIN + "\n[strat]\n", 5, "did you mean 'start'?"),
        ('[system]\nmass = 1\ncordinates = "x"', 3, "did you mean 'coordinates'?"),
        ("[system]\nmass = 1\n", 1, "system has no coordinates"),
        ("system = 3\n", 1, "a table"),
        ("\n[[system]]\n", 2, "a table"),
        ("title = 3\n" + PLAIN, 1, "a text"),
        ('[system]\ncoordinates = ["x", 1]\nmass = 1', 2, "a text"),
        ('[system]\ncoordinates = [\n"x",\n"x y"]\nmass = 1', 4, "'x y' is no name"),
        ('[system]\ncoordinates = ""\nmass = 1', 2, "at least one name"),
        ('[system]\ncoordinates = "x x"\nmass = 1', 2, "used twice"),
        ('[system]\ncoordinates = "_x"\nmass = 1', 2, "no name"),
        ('[system]\ncoordinates = "lambda"\nmass = 1', 2, "no name"),
        ('[system]\ncoordinates = "sin"\nmass = 1', 2, "a meaning of its own"),
        ('[system]\ncoordinates = "ﬁ"\nmass = 1', 2, "no name"),
        ('[system]\ncoordinates = "t"\nmass = 1', 2, "used twice"),
        (PLAIN + "kinetic = 1", 1, "exactly one form"),
        (PLAIN.replace("1", "-1"), 3, "the mass is negative"),
        (PLAIN.replace("1", "0"), 3, "singular"),
        (PLAIN.replace("1", "[1, 2]"), 3, "does not fit"),
        (PLAIN.replace("1", "true"), 3, "a finite number"),
        (PLAIN.replace("1", "2021-01-01"), 3, "a finite number"),
        (PLAIN + 'potential = "y"', 4, "the name 'y'"),
        (PLAIN + 'potential = "x_dot"', 4, "may not depend on x_dot"),
        (PLAIN + 'potential = "x +"', 4, "column 4"),
        (PLAIN + 'constraints = ["x", "1"]', 4, "depends on no coordinate"),
        (PLAIN + 'constraints = ["x = 1 = 2"]', 4, "two of them with = between"),
        (PLAIN + 'constraints = { a = "x",\nb = "x_dot" }', 4, "not TOML"),
        (PLAIN + '[system.constraints]\na = "x_dot"', 5, "depends on velocities"),
        (PLAIN + 'forces = { y = 1 }', 4, "no coordinate called 'y'"),
        (PLAIN + "forces = [1, 2]", 4, "1 values, for x"),
        ("[parameters]\na = inf\n" + PLAIN, 2, "finite"),
        ("[parameters]\na = nan\n" + PLAIN, 2, "finite"),
        ('[parameters]\na = "1/0"\n' + PLAIN, 2, "division by zero"),
        ("[parameters]\na = [1]\n" + PLAIN, 2, "finite"),
        ('[parameters]\na = 1\n"b c" = 1\n' + PLAIN, 3, "no name"),
        ('[parameters]\nk = "a"\na = "2*b"\nb = "c"\nc = "a"\n' + PLAIN, 3, "a → b → c → a"),
        ('[parameters]\na = "a"\n' + PLAIN, 2, "a → a"),
        ('[parameters]\nx = 1\n' + PLAIN, 4, "used twice"),
        (PLAIN + "[start]\nq = 1", 5, "a list"),
        (PLAIN + "[start]\nq = [1, 2]", 5, "right length"),
        (PLAIN + "[start]\nq = {}", 5, "does not say where x begins"),
        (PLAIN + "[start]\nq = [1]\nv = 0\np = 0", 7, "velocities and momenta"),
        (PLAIN + "[run]\nduration = 0", 5, "not positive"),
        (PLAIN + "[run]\nevery = 0", 5, "from 1 on"),
        (PLAIN + "[run]\nevery = 1.5", 5, "a whole number"),
        (PLAIN + "[run]\nproject = 1", 5, "true or false"),
        (PLAIN + "[run]\nstep = 1\ntolerance = 1e-9", 6, "one too many"),
        (PLAIN + '[run]\nmethod = "ratle"', 5, "did you mean 'rattle'?"),
        (PLAIN + '[run]\nmethod = { kind = "Ratle" }', 5, "did you mean 'Rattle'?"),
        (PLAIN + '[run]\nmethod = { stages = 3 }', 5, "has no kind"),
        (PLAIN + '[run]\nmethod = { kind = "GaussLobatto", stages = 99 }', 5, "out of range"),
        (PLAIN + '[run]\nmethod = { kind = "GaussLobatto", order = 9 }', 5, "'order'"),
        (PLAIN + '[run]\nmethod = { kind = "Adaptive", scale = "open(1)" }', 5, "'open'"),
        (PLAIN + '[run]\nlaws = "all"', 5, "no choice called 'all'"),
        (PLAIN + "[events]\na = []", 5, "a finite number"),
        (PLAIN + '[events.a]\nexpression = "x"\ndirection = "left"', 6, "no choice called 'left'"),
        (PLAIN + "[drawing]\npoints = { a = [1, 2, 3, 4] }", 5, "do not fit"),
        (PLAIN + '[drawing]\npoints = { a = [1, "x"] }\nlinks = [["a", "b"]]', 5, "no point"),
        (PLAIN + "[drawing]\npoints = { a = [0, 0] }\ncurves = [{ places = [1] }]", 6, "no first"),
        ('[flow]\nvariables = "x y"\nrates = { x = 1 }', 3, "no rate for y"),
        ('[flow]\nvariables = "x"\nrates = ["x_dot"]', 3, "'x_dot'"),
        ('[flow]\nvariables = "x"\nrates = [1]\n[start]\nq = [1]\nv = 0', 4, "no velocities"),
        ("gravity = [1, 2]\n" + POINT, 1, "three numbers"),
        ("gravity = [[1], 2, 3]\n" + POINT, 1, "three numbers"),
        (POINT.replace("1\n", "0\n", 1), 2, "not positive"),
        (POINT + 'colour = "red"', 4, "no key called 'colour'"),
        ("[points]\na = 1", 2, "a table"),
        ("points = [1]", 1, "a table"),
        ("[points.ground]\nmass = 1\nat = [0, 0, 0]", 1, "already"),
        ('[points.""]\nmass = 1\nat = [0, 0, 0]', 1, "needs a name"),
        (BODY.replace("[1, 1, 1]", "[1, 1, 3]"), 3, "is not that of a body"),
        (BODY.replace("[1, 1, 1]", "[[1, 2, 0], [0, 1, 0], [0, 0, 1]]"), 3, "not symmetric"),
        (BODY + "rotation = [1, 0, 0, 1]", 5, "no rotation"),
        (BODY + "rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 2]]", 5, "rotation"),
        (BODY + "[points.arm]\nmass = 1\nat = [0, 0, 0]", 5, "already"),
        (BODY + "[joints.h]\nat = [0, 0, 0]", 5, "has no kind"),
        (BODY + HINGE.replace("revolute", "revolut"), 6, "did you mean 'revolute'?"),
        (BODY + HINGE.replace("revolute", "hinge"), 6, "did you mean 'revolute'?"),
        (BODY + HINGE.replace("axis", "axes"), 9, "did you mean 'axis'?"),
        (BODY + HINGE.replace("axis = [0,1,0]\n", ""), 5, "has no axis"),
        (BODY + HINGE.replace('"arm"', '"arn"'), 7, "did you mean 'arm'?"),
        (BODY + HINGE.replace('"arm"', '"ground"'), 7, "to itself"),
        (BODY + HINGE.replace('["ground", "arm"]', '"arm"'), 7, "a list"),
        (BODY + HINGE.replace("[0,1,0]", "[0,0,0]"), 9, "has no direction"),
        (POINT + HINGE.replace("arm", "a").replace("at = [0,0,0]", "at = [0,0,1]"), 8, "point"),
        (BODY + HINGE + '[forces.s]\nkind = "torsion"\njoint = "k"', 12, "no joint called 'k'"),
        (BODY + HINGE + '[forces.s]\nkind = "push"\njoint = "h"\nstiffness = 1', 12, "no such"),
        (BODY + HINGE + '[joints.a]\nkind = "angle"\njoint = "h"', 10, "angle_h"),
        (BODY + '[joints.a]\nkind = "drive"\njoint = "b"\nangle = "t"\n'
         '[joints.b]\nkind = "drive"\njoint = "a"\nangle = "t"', 5, "a → b → a"),
        (BODY + HINGE + '[joints.d]\nkind = "drive"\njoint = "h"\nangle = "x_arm"', 13, "'x_arm'"),
        (POINT + '[joints.s]\nkind = "on_surface"\npart = "a"\nsurface = "1"', 7, "cannot be used"),
        (POINT + '[joints.s]\nkind = "on_curve"\npart = "a"\ncurve = ["s"]', 7, "two formulas"),
        (POINT + '[forces.f]\nkind = "spring"\nbetween = ["a", "ground"]', 4, "does nothing"),
        (POINT + '[forces.f]\nkind = "spring"\nbetween = ["a", "ground"]\ndamping = -1', 7, "neg"),
        (POINT + '[forces.f]\nkind = "force"\npart = "a"\nforce = [1, 2]', 7, "three formulas"),
        (POINT + '[forces.f]\nkind = "potential"\nenergy = "x_b"', 6, "did you mean 'x_a'?"),
        (POINT + '[forces.f]\nkind = "potential"\nenergy = "x_a_dot"', 6, "no potential"),
        (ALONE + POINT, 1, "beam and mechanism"),
        (ALONE + CLAMP, 9, "a beam has no joints"),
        (ALONE + '[events]\na = "t"', 9, "a beam has no events"),
        (ALONE + "velocity = [0, 0, 0]", 9, "no key called 'velocity'"),
        (ALONE + 'ends = ["clamped"]', 9, "right length"),
        (ALONE + 'ends = ["clamped", "glued"]', 9, "no choice called 'glued'"),
        (ALONE + 'ends = ["free", { kind = "free", axis = [0, 0, 1] }]', 9, "has no axis"),
        (ALONE + 'ends = ["free", { kind = "pinned", position = ["s", 0, 0] }]', 9, "'s'"),
        (ALONE + "[start]\nq = [0]", 10, "no key called 'q'"),
        (ALONE + "[start]\nv = [1, 2]", 10, "right shape"),
        (ALONE + "[start]\nv = [0,0,0,0,0,0]\nmomentum = [0,0,0,0,0,0]", 11, "one of v and"),
        (ALONE + '[run]\nmethod = "rattle"', 10, "no method for beams called 'rattle'"),
        (ALONE + "[run]\ntolerance = 1", 10, "no key called 'tolerance'"),
        (BEAM + 'ends = ["free", "free"]', 9, "no key called 'ends'"),
        (BEAM.replace("length = 2\n", ""), 1, "has no length"),
        (BEAM.replace("length = 2", "length = -2"), 2, "not positive"),
        (BEAM.replace("nodes = 4", "nodes = 1"), 8, "needs nodes"),
        (BEAM.replace("nodes = 4", "nodes = 4.0"), 8, "a whole number"),
        (BEAM.replace("nodes = 4", "nodes = 1000000000"), 8, "at most 2,000 in a file"),
        (BEAM.replace("= 4", "= 1500") + BEAM.replace("rod", "b").replace("= 4", "= 600"), 16,
         "too many nodes"),
        (BEAM.replace("= 4", "= 1500") + 'loads = [{ at = "all" }, { at = "all" }, { at = "all" }]',
         9, "too many loads"),
        (BEAM.replace("circle", "cirle"), 3, "did you mean 'circle'?"),
        (BEAM.replace("radius", "side"), 3, "no key called 'side'"),
        (BEAM.replace('kind = "circle", ', ""), 3, "has no kind"),
        (BEAM.replace("0.01*(1 + s)", "0.01*(1 - s)"), 3, "not positive, at s = "),
        (BEAM.replace("0.01*(1 + s)", "0.01/s"), 3, "at s = 0"),
        (BEAM.replace("0.01*(1 + s)", "0.01 + t"), 3, "'t'"),
        (BEAM.replace("7800", "0"), 4, "not positive"),
        (BEAM.replace("poisson = 0.3\n", ""), 1, "without Poisson's ratio"),
        (BEAM + "inertia = [1, 1, 1, 1, 1, 1]", 3, "has inertia and stiffness already"),
        (BEAM + "inertia = [1, 1, 1]", 9, "right shape"),
        (BEAM + "frame = [0, 0, 0]", 9, "has no direction"),
        (BEAM + "frame = [[1, 0, 0], [0, 1, 0], [0, 0, 2]]", 9, "not a rotation"),
        (BEAM + 'curvature = ["1/(s - s)", 0, 0]', 9, "division by zero"),
        (BEAM + 'curvature = ["1e9*s", 0, 0]', 8, "half a turn"),
        (BEAM + "curvature = [[0, 0, 0], [0, 0, 0]]", 9, "the wrong shape"),
        (BEAM + "damping = -1", 9, "negative"),
        (BEAM + "loads = [{ at = 3, force = [0, 0, 1] }]", 9, "not on the beam"),
        (BEAM + 'loads = [\n{ at = "root" },\n{ force = [0, "s", 1] }]', 11, "'s'"),
        (BEAM + 'loads = [{ at = "all", force = [0, "x", 1] }]', 9, "'x'"),
        (BEAM + 'loads = [{ at = "middle" }]', 9, "'middle'"),
        (BEAM + "loads = [{ push = [0, 0, 1] }]", 9, "no key called 'push'"),
        (BEAM + "bodies = [{ at = 1 }]", 9, "has no mass"),
        (BEAM + "bodies = [{ mass = -1 }]", 9, "negative"),
        (BEAM + "velocity = [[1, 0, 0], [0, 0, 0]]", 9, "4 rows"),
        (BEAM + CLAMP.replace("rod root", "rod"), 11, "acts on one of its nodes"),
        (BEAM + CLAMP.replace("rod root", "rod 4"), 11, '"rod 0" to "rod 3"'),
        (BEAM + CLAMP.replace("rod root", "rod 04"), 11, "no node called '04'"),
        (BEAM + CLAMP.replace("rod root", "rad root"), 11, "no part called"),
        (BEAM + '[points."rod tip"]\nmass = 1\nat = [0, 0, 0]', 9, "already"),
        ('[points."rod 2"]\nmass = 1\nat = [0, 0, 0]\n' + BEAM, 4, "already"),
    ],
    ids=lambda x: str(x)[-40:],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(text, line, said):
    caught = error(text)
    assert said in str(caught)
    assert caught.line == line, str(caught)
    assert str(caught).startswith(f"m.toml:{line}: ")


def test_names_that_are_used_together_are_counted_together():
    """A thousand formulas that each take long are refused before they have."""
    hard = "+".join(f"sin({i}*x)" for i in range(80))
    rows = "\n".join(f'k{i} = "{hard}"' for i in range(300))
    caught = error(f"{PLAIN}[system.constraints]\n{rows}")
    assert "steps of SymPy for all" in str(caught)
    assert caught.line > 30


def test_chains_of_parameters_do_not_grow():
    rows = "\n".join(f'a{i} = "a{i + 1}*a{i + 1}"' for i in range(400))
    assert read(f"[parameters]\n{rows}\na400 = 1.0\n{PLAIN}").model.parameters["a0"] == 1.0
    assert "too large" in str(error(f"[parameters]\n{rows}\na400 = 2.0\n{PLAIN}"))
