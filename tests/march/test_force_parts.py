"""Forces of a mechanism by name: against closed forms, and against what they do to the parts."""

import numpy as np
import pytest
import sympy as sp

import taut

BAR = {"mass": 1.5, "inertia": (0.1, 0.13, 0.07)}
LUMP = {"mass": 1.5, "inertia": ((0.1, 0.02, 0), (0.02, 0.13, 0.01), (0, 0.01, 0.07))}
STEP = 1e-3


def two():
    """Two bodies that fly and turn freely."""
    m = taut.Mechanism()
    m.body("a", **BAR, at=(0, 0, 0), velocity=(0.1, 0, 0.2), angular_velocity=(0.3, 0.5, -0.2))
    m.body("b", **LUMP, at=(1, 0.2, 0), velocity=(0, 0.3, 0), angular_velocity=(0.1, -0.6, 0.4))
    return m


def apart():
    """All that acts at places, the places on the second body, and what stores nothing."""
    m, ends = two(), ((0.1, 0.05, 0), (0.9, 0.2, 0.1))
    m.spring("spring", "a", "b", stiffness=9, length=0.5, damping=0.7, ends=ends)
    m.spring("own", "a", "b", energy=lambda s: 3 * s**4, ends=ends)
    m.spring("pulled", "a", "b", pull=lambda s, rate: s * rate + taut.t, ends=ends)
    m.rope("rope", "a", "b", stiffness=9, length=0.7)
    m.damper("damper", "a", "b", damping=2, ends=ends)
    m.central("central", "a", "b", energy=lambda r: -2 / r, ends=ends)
    m.force("force", "b", (1, sp.sin(9 * taut.t), 0), at=(0.9, 0.3, 0))
    m.force("state", "b", (-m.symbols("a")[1][0], 0, 0.2))
    m.force("follower", "b", (0, 2, 1), at=(1, 0, 0), follower=True)
    m.torque("torque", "b", (0.1, 0.2, -0.3))
    m.torque("turning", "b", (0.1, 0.2, -0.3), follower=True)
    m.force("sampled", "b", lambda t, state: (t, 1, state.q[0]), at=(1, 0, 0))
    places = dict.fromkeys(("spring", "own", "pulled", "damper", "central"), ends[1])
    places |= {"force": (0.9, 0.3, 0), "follower": (1, 0, 0), "sampled": (1, 0, 0)}
    return m, places, ("pulled", "damper", "state", "follower", "torque", "turning", "sampled")


def hinged():
    m = two()
    m.revolute("joint", "a", "b", at=(0.5, 0, 0), axis=(0, 0, 1))
    m.torsion("coil", "joint", stiffness=3, angle=0.4)
    m.motor("motor", "joint", 0.5 + taut.t)
    m.motor("law", "joint", law=lambda x, rate: 0.4 - rate)
    m.motor("controlled", "joint", lambda t, state: 0.4 + t)
    return m, dict.fromkeys(m.forces, (0.5, 0, 0)), ("motor", "law", "controlled")


def sliding(kind):
    m = two()
    getattr(m, kind)("joint", "a", "b", at=(0.5, 0, 0), axis=(0, 0.6, 0.8))
    m.push("push", "joint", stiffness=30, slide=0.3, damping=0.4)
    m.motor("motor", "joint", 2, of="slide")
    return m, dict.fromkeys(m.forces, (0.5, 0, 0)), ("motor",)


def rates(values):
    """Derivatives at all states but the ends."""
    return (values[2:] - values[:-2]) / (2 * STEP)


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize(
    "made",
    [apart, hinged, lambda: sliding("prismatic"), lambda: sliding("cylindrical")],
    ids=["apart", "hinged", "slider", "tube"],
)
def test_what_forces_do_to_the_parts(made):
    """Kinetic energy grows by their power; ṗ = Σ F and L̇ = Σ T + arm × F of the second body."""
    m, places, without_energy = made()
    run = taut.simulate(m, duration=0.2, step=STEP, project=True, laws=None)
    b, seen = run["b"], {name: run[name] for name in m.forces}
    gained = rates(run["a"].kinetic_energy + b.kinetic_energy)
    same(gained, sum(x.power for x in seen.values())[1:-1])
    push, turn = (sum(getattr(x, what) for x in seen.values()) for what in ("force", "torque"))
    arms = {name: b.place(places.get(name, m["b"].position)) - b.position for name in seen}
    turn = turn + sum(np.cross(arms[name], x.force) for name, x in seen.items())
    if "joint" in m.joints:
        joint = run["joint"]
        push = push + joint.force
        turn = turn + joint.torque + np.cross(joint.position - b.position, joint.force)
    same(rates(b.momentum), push[1:-1])
    same(rates(b.angular_momentum), turn[1:-1])
    for name in seen:
        assert (not seen[name].energy.any()) == (name in without_energy)
    for name in {"own", "rope", "central"} & set(seen):
        same(rates(seen[name].energy), -seen[name].power[1:-1])


def test_a_mass_on_a_spring():
    """x = l + A cos ωt: extension, force, energy and power in closed form."""
    m, k, mass, far = taut.Mechanism(), 40.0, 2.5, 0.2
    bob = m.point("bob", mass=mass, at=(1 + far, 0, 0))
    m.spring("spring", m.ground, bob, stiffness=k, length=1)
    run = taut.simulate(m, duration=1, step=1e-3, laws=None)
    seen, w = run["spring"], np.sqrt(k / mass)
    away = far * np.cos(w * run.t)
    np.testing.assert_allclose(seen.extension, away, rtol=0, atol=3e-6)
    np.testing.assert_allclose(seen.length, 1 + away, rtol=0, atol=3e-6)
    np.testing.assert_allclose(seen.force[:, 0], -k * away, rtol=0, atol=4e-5)
    np.testing.assert_allclose(seen.energy, k * away**2 / 2, rtol=0, atol=1e-5)
    speed = -far * w * np.sin(w * run.t)
    np.testing.assert_allclose(seen.rate, speed, rtol=0, atol=1e-5)
    np.testing.assert_allclose(seen.power, -k * away * speed, rtol=0, atol=1e-4)
    other = taut.Mechanism()  # the ground second: the force on it is the opposite
    other.spring("spring", other.point("bob", mass=mass, at=(1.2, 0, 0)), "ground", stiffness=k,
                 length=1)  # fmt: skip
    again = taut.simulate(other, duration=1, step=1e-3, laws=None)["spring"]
    np.testing.assert_allclose(again.force, -seen.force, rtol=0, atol=1e-12)


def test_no_zero_of_a_force_is_negative():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    rod = m.body("rod", mass=1, inertia=(0.1, 0.1, 0.01), at=(0.5, 0, 0))
    m.revolute("D", rod, m.ground, at=(0, 0, 0), axis=(0, 1, 0))
    bob = m.point("bob", mass=1, at=(-2, 0, 0))
    m.spring("spring", bob, m.ground, stiffness=10, length=1)
    m.force(rod, (1, -0.0, 0), name="push")
    run = taut.simulate(m, duration=0.1, step=1e-2, laws=None)
    for name in ("D", "spring", "push"):
        for found in (run[name].force, run[name].torque):
            assert np.any(found == 0.0)
            assert not np.any(np.signbit(found[found == 0.0])), name


def test_a_spring_that_is_wound_up_counts_turns():
    m = taut.Mechanism()
    m.body("wheel", **BAR, at=(0, 0, 0), angular_velocity=(0, 0, 20))
    m.revolute("axle", "ground", "wheel", at=(0, 0, 0), axis=(0, 0, 1))
    m.torsion("spring", "axle", stiffness=0.01, turns=True)
    plain = taut.Mechanism()
    plain.body("wheel", **BAR, at=(0, 0, 0), angular_velocity=(0, 0, 20))
    plain.revolute("axle", "ground", "wheel", at=(0, 0, 0), axis=(0, 0, 1))
    plain.torsion("axle", stiffness=0.01, name="spring")
    counts, turns = (taut.simulate(x, duration=1, step=1e-3, laws=None) for x in (m, plain))
    assert counts["spring"].angle[-1] > 19
    np.testing.assert_allclose(counts["spring"].torque[:, 2], -0.01 * counts["axle"].angle)
    assert np.abs(turns["spring"].angle).max() <= np.pi
    np.testing.assert_allclose(turns["spring"].effort, -0.01 * turns["spring"].angle)


def test_of_a_batch_and_of_what_controllers_say():
    m = two()
    m.revolute("hinge", "a", "b", at=(0.5, 0, 0), axis=(0, 0, 1))
    m.motor("drive", "hinge", lambda t, state: 2 - t)
    start = m.assemble()
    q, v = np.array([start.q, start.q]), np.array([start.v, 2 * start.v])
    run = taut.simulate(m, q0=q, v0=v, duration=0.1, step=0.01, laws=None)
    seen = run["drive"]
    np.testing.assert_array_equal(seen.effort, run.controls["drive"][..., 0])
    np.testing.assert_allclose(seen.power, seen.effort * run["hinge"].rate)
    assert seen.torque.shape == (2, 11, 3)
    np.testing.assert_array_equal(run[1]["drive"].torque, seen.torque[1])


def test_loads_of_a_beam_are_forces_too():
    m = taut.Mechanism()
    rod = taut.Beam(1, taut.Circle(0.1), density=100, young=1e5, poisson=0.3, nodes=3)
    rod.load(at="all", force=(0, 0, taut.s * taut.t))
    m.beam("rod", rod)
    run = taut.simulate(m, duration=1e-3, laws=None)
    shares = [run[name].force[:, 2] for name in m.beams["rod"].loads]
    np.testing.assert_allclose(sum(shares), 0.5 * run.t)  # ∫ s t ds, exact in this rule


class TestWhatIsNotThere:
    def test_of_its_kind(self):
        m = two()
        m.revolute("hinge", "a", "b", at=(0.5, 0, 0), axis=(0, 0, 1))
        m.torsion("coil", "hinge", stiffness=1)
        m.damper("drag", "a", "b", damping=1)
        m.potential("well", m.symbols("a")[0][0] ** 3)
        run = taut.simulate(m, duration=0.1, step=STEP, project=True, laws=None)
        x, u = run["a"].position[:, 0], run["a"].velocity[:, 0]
        np.testing.assert_allclose(run["well"].energy, x**3)
        np.testing.assert_allclose(run["well"].power, -3 * x**2 * u)
        with pytest.raises(taut.ModelError, match=r"coil has no length\n.*its \.angle"):
            run["coil"].length  # noqa: B018
        with pytest.raises(taut.ModelError, match="drag has no rest"):
            run["drag"].extension  # noqa: B018
        with pytest.raises(taut.ModelError, match="acts on coordinates"):
            run["well"].force  # noqa: B018
        assert repr(run["coil"]) == "<torsion 'coil' in hinge at 101 states>"
        with pytest.raises(taut.UnknownName, match=r"did you mean 'coil'"):
            run["coils"]


WORDS = (
    "length", "angle", "slide", "rate", "extension", "effort", "force", "torque", "power", "energy",
    "position",
)  # fmt: skip


def read(view):
    """All that a view of a force can say."""
    found = {}
    for word in WORDS:
        try:
            found[word] = getattr(view, word)
        except (AttributeError, taut.TautError):
            continue
    return found


@pytest.mark.parametrize(
    "made",
    [apart, hinged, lambda: sliding("cylindrical")],
    ids=["apart", "hinged", "tube"],
)
def test_a_controller_sees_what_a_run_has(made):
    m, seen = made()[0], []
    m.potential(m.symbols("a")[0][0] ** 2, name="well")
    names = [x for x in m.forces if x not in ("sampled", "controlled")]

    def look(t, state):
        seen.append({name: read(state[name]) for name in names})
        assert repr(state[names[0]]).endswith(f"at t = {t:g}>")
        return 0, 0, 0

    m.force("watch", "a", look)
    run = taut.simulate(m, duration=5 * STEP, step=STEP, project=True, laws=None)
    assert len(seen) >= 5
    for name in names:
        whole = read(run[name])
        assert len(whole) >= 2
        for k, state in enumerate(seen[:5]):
            assert state[name].keys() == whole.keys()
            for word, found in state[name].items():
                assert np.shape(found) == whole[word].shape[1:]
                np.testing.assert_allclose(
                    found, whole[word][k], rtol=1e-12, atol=1e-13, err_msg=f"{name}.{word}"
                )


def test_what_a_controller_is_about_to_say_is_not_known():
    m, seen = two(), []
    m.revolute("joint", "a", "b", at=(0.5, 0, 0), axis=(0, 0, 1))

    def drive(t, state):
        seen.append((state["motor"].angle, state["motor"].rate))
        return state["motor"].effort if t > 2.5 * STEP else 0.1

    m.motor("motor", "joint", drive)
    with pytest.raises(taut.ControlError) as caught:
        taut.simulate(m, duration=9 * STEP, step=STEP, project=True, laws=None)
    assert "what controllers say is not known while they are asked" in str(caught.value.__cause__)
    hinge = caught.value.partial["joint"]
    np.testing.assert_allclose(seen[:3], np.transpose([hinge.angle, hinge.rate])[:3], atol=1e-13)


def test_a_controller_sees_beams_and_frames():
    m, seen = taut.Mechanism(gravity=(0, 0, -9.81)), []
    rubber = {"section": taut.Square(0.03), "density": 1100, "young": 2e6, "poisson": 0.45}
    m.beam("rod", length=0.5, **rubber, nodes=3, frame=(1, 0, 0))
    m.fixed("clamp", m.ground, "rod root", at=(0, 0, 0))

    def look(t, state):
        rod, tip = state["rod"], state["rod tip"]
        seen.append((rod.positions, rod.strain, tip.position, rod.energy))
        assert repr(rod) == f"<beam 'rod' of 3 nodes at t = {t:g}>"
        return 0, 0, 0

    m.force("watch", "rod 1", look)
    run = taut.simulate(m, duration=1e-3, step=1e-4, laws=None)
    rod = run["rod"]
    for k, (places, strain, tip, energy) in enumerate(seen[:10]):
        np.testing.assert_allclose(places, rod.positions[k], atol=1e-14)
        np.testing.assert_allclose(strain, rod.strain[k], atol=1e-13)
        np.testing.assert_allclose(tip, run["rod tip"].position[k], atol=1e-14)
        np.testing.assert_allclose(energy, rod.energy[k], rtol=1e-12, atol=1e-16)


def test_a_spring_without_length_is_no_error():
    m, seen = taut.Mechanism(), []
    m.point("a", mass=1, at=(0, 0, 0))
    m.spring("spring", m.ground, "a", stiffness=3, length=0)
    m.force("watch", "a", lambda t, state: (seen.append(read(state["spring"])), (1, 0, 0))[1])
    run = taut.simulate(m, duration=3 * STEP, step=STEP, laws=None)
    for word, found in read(run["spring"]).items():
        np.testing.assert_allclose(seen[0][word], found[0])
        np.testing.assert_allclose(seen[2][word], found[2], rtol=1e-12, atol=1e-15)
    assert seen[0]["energy"] == seen[0]["effort"] == 0
