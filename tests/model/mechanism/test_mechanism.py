"""Parts and joints: what they take away, what they weigh, and what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy as sp

import taut
from taut.lie import SO3

STEP = 1e-3
BOX = {"mass": 2.0, "inertia": (0.3, 0.4, 0.5)}


def turned(*angles: float) -> np.ndarray:
    return SO3.exp(np.array(angles))


def moving(rng) -> dict:
    """A body somewhere, turned somehow, moving somehow."""
    return BOX | {
        "at": rng.normal(size=3), "rotation": turned(*rng.normal(size=3)),
        "velocity": rng.normal(size=3), "angular_velocity": rng.normal(size=3),
    }  # fmt: skip


class TestParts:
    @pytest.mark.parametrize(
        ("inertia", "shape", "n", "c"),
        [
            ((0.3, 0.4, 0.5), "body", 12, 6),
            ((0.0, 0.5, 0.5), "rod", 6, 1),
            ((0.5, 0.5, 0.0), "rod", 6, 1),
            ((0.3, 0.5, 0.2), "plate", 9, 3),
        ],
    )
    def test_shapes_follow_from_the_inertia(self, inertia, shape, n, c):
        m = taut.Mechanism()
        part = m.body("part", mass=1, inertia=inertia, at=(0, 0, 0))
        assert part.shape.name == shape
        system = m.system()
        assert (system.n, system.c) == (n, c)

    def test_parts_of_all_shapes_in_turn(self, rng):
        """What belongs to a part stands where its coordinates are, whatever is between."""
        m, parts = taut.Mechanism(), []
        for k in range(12):
            given = moving(rng) | {"mass": 1.0 + k}
            if k % 4 == 3:
                at = {x: given[x] for x in ("mass", "at", "velocity")}
                parts.append(m.point(f"p{k}", **at))
                continue
            given["inertia"] = [(0.3, 0.4, 0.5 + 0.01 * k), (0.3, 0.5, 0.2), (0.0, 0.5, 0.5)][k % 4]
            parts.append(m.body(f"b{k}", **given))
        q, v = m.start()
        system = m.system()
        masses = np.zeros(system.n)
        for term in system.terms:
            if term.kind == "lagrangian":
                for row, (mass, *extents) in zip(term.indices, term.values, strict=True):
                    masses[row] = np.repeat([mass, *extents], 3)
        for part in parts:
            own = slice(part.first, part.first + part.shape.size)
            axes = (part.rotation @ part.axes).T[[k - 1 for k in part.shape.directors]]
            spin = np.cross(part.angular_velocity, axes)
            np.testing.assert_allclose(q[own], [*part.position, *axes.ravel()], rtol=1e-15)
            np.testing.assert_allclose(v[own], [*part.velocity, *spin.ravel()], atol=1e-15)
            np.testing.assert_array_equal(masses[own], part.masses)
            assert system.coordinates[part.first].name == f"x_{part.name}"

    @pytest.mark.parametrize("inertia", [(0.3, 0.4, 0.5), (0.3, 0.5, 0.2), (0.0, 0.5, 0.5)])
    def test_energy_and_momenta_are_those_of_rigid_bodies(self, rng, inertia):
        m = taut.Mechanism()
        rotation = turned(*rng.normal(size=3))
        spin = rng.normal(size=3)
        if 0.0 in inertia:
            spin -= (spin @ rotation[:, 0]) * rotation[:, 0]
        velocity = rng.normal(size=3)
        m.body("part", mass=2, inertia=inertia, at=(1, 2, 3), rotation=rotation, velocity=velocity,
               angular_velocity=spin)  # fmt: skip
        run = taut.simulate(m, duration=1, step=0.01, laws=None)
        tensor = rotation @ np.diag(inertia) @ rotation.T
        seen = run["part"]
        assert run.energy[0] == pytest.approx(velocity @ velocity + spin @ tensor @ spin / 2)
        np.testing.assert_allclose(seen.angular_velocity[0], spin, atol=1e-14)
        np.testing.assert_allclose(seen.angular_momentum[0], tensor @ spin, atol=1e-14)
        np.testing.assert_allclose(
            seen.angular_momentum, np.tile(tensor @ spin, (len(run.t), 1)), atol=1e-12
        )
        np.testing.assert_allclose(seen.kinetic_energy, run.energy, atol=1e-12)
        np.testing.assert_allclose(
            seen.momentum, np.tile(2 * velocity, (len(run.t), 1)), atol=1e-12
        )
        if 0.0 not in inertia:
            np.testing.assert_allclose(seen.rotation[0], rotation, atol=1e-14)

    def test_a_full_inertia_matrix_is_turned_to_its_axes(self, rng):
        axes, rotation = turned(*rng.normal(size=3)), turned(*rng.normal(size=3))
        full = axes @ np.diag([0.3, 0.4, 0.5]) @ axes.T
        spin = rng.normal(size=3)
        ends = []
        for inertia, start in ((full, rotation), ((0.3, 0.4, 0.5), rotation @ axes)):
            m = taut.Mechanism()
            m.body("part", mass=1, inertia=inertia, at=(0, 0, 0), rotation=start,
                   angular_velocity=spin)  # fmt: skip
            run = taut.simulate(m, duration=1, step=0.01, laws=None, method="composition-6")
            ends.append((run["part"].rotation[-1], run["part"].body_angular_velocity[-1]))
        np.testing.assert_allclose(ends[0][0] @ axes, ends[1][0], atol=1e-10)
        np.testing.assert_allclose(axes.T @ ends[0][1], ends[1][1], atol=1e-10)

    def test_problem_18(self):
        """A rigid body in a potential, GniCodes: quaternion and momentum at t = 10 to 1e-9."""
        inertia, q = np.array([0.5, 0.9, 1.0]), np.array([0.4, 0.2, 0.4, 0.8])
        spin = SO3.from_quaternion(q) @ (np.array([0.2, 1.0, 0.4]) / inertia)
        m = taut.Mechanism()
        body = m.body("body", mass=1, inertia=inertia, at=(0, 0, 0), rotation=q,
                      angular_velocity=spin)  # fmt: skip
        m.potential(m.symbols(body)[0][11])  # the third component of the third director
        run = taut.simulate(m, duration=10, step=0.02, method="composition-8", laws=None)
        seen = run["body"]
        wanted = np.array([-0.7216818769389, -0.1638604692029, 0.6594396387742, 0.1321528582511])
        end = seen.quaternion[-1]
        assert np.abs(end * np.sign(end @ wanted) - wanted).max() < 1e-9
        np.testing.assert_allclose(
            seen.body_angular_momentum[-1],
            [0.6890047056211, 1.0804242703503, -0.3892059297392], atol=1e-9,
        )  # fmt: skip
        assert run.energy[0] == pytest.approx(1.2755555555555556, abs=1e-14)
        np.testing.assert_allclose(seen.angular_momentum[:, 2], 1.04, atol=1e-12)

    def test_quaternions_do_not_jump(self):
        m = taut.Mechanism()
        m.body("part", **BOX, at=(0, 0, 0), angular_velocity=(0, 0, 3))
        run = taut.simulate(m, duration=10, step=0.02, laws=None)
        found = run["part"].quaternion
        assert np.abs(np.diff(found, axis=0)).max() < 0.05
        np.testing.assert_allclose(SO3.from_quaternion(found), run["part"].rotation, atol=1e-12)


JOINTS = {
    "spherical": ({}, 3),
    "universal": ({"axes": ((1, 0, 0), (0, 1, 0))}, 2),
    "revolute": ({"axis": (0, 0, 1)}, 1),
    "fixed": ({}, 0),
    "cylindrical": ({"axis": (0, 0, 1)}, 2),
    "prismatic": ({"axis": (0, 0, 1)}, 1),
    "planar": ({"normal": (0, 0, 1)}, 3),
}


@cache
def pair(kind: str, grounded: bool):
    """Two bodies, turned anyhow, a joint between them (or with the ground), and a run of them."""
    options, free = JOINTS[kind]
    rng = np.random.default_rng(7)
    m = taut.Mechanism(gravity=(0.3, -1, -2))
    still = {"velocity": (0, 0, 0), "angular_velocity": (0, 0, 0)}
    b = m.body("b", **(moving(rng) | still))
    a = m.ground if grounded else m.body("a", **(moving(rng) | still))
    getattr(m, kind)("joint", a, b, at=rng.normal(size=3), **options)
    m.torque(b, (0.3, 0.2, -0.4))  # free fall turns nothing
    run = taut.simulate(m, duration=0.4, step=STEP, method="composition-4", laws=None)
    return m, run, free + (0 if grounded else 6)


@pytest.mark.parametrize("grounded", [True, False])
@pytest.mark.parametrize("kind", JOINTS)
class TestJoints:
    def test_take_away_what_they_should(self, kind, grounded):
        _, run, free = pair(kind, grounded)
        assert run.system.n - run.system.c == free
        assert run.certificate.redundant == ()
        assert run.certificate.max_g < 1e-14

    def test_pass_forces_on(self, kind, grounded):
        """Newton's laws for each part, from reactions and accelerations by differences."""
        m, run, _ = pair(kind, grounded)
        assert run.certificate.energy.band < 1e-5
        joint, k = run["joint"], len(run.t) // 2
        for name, sign in (("b", 1.0), ("a", -1.0)):
            if name not in m.parts:
                continue
            part, seen = m.parts[name], run[name]
            rate = (seen.momentum[k + 1] - seen.momentum[k - 1]) / (2 * STEP)
            weight = part.mass * np.array([0.3, -1, -2])
            np.testing.assert_allclose(rate, weight + sign * joint.force[k], atol=2e-4)
            spin = (seen.angular_momentum[k + 1] - seen.angular_momentum[k - 1]) / (2 * STEP)
            arm = joint.position[k] - seen.position[k]
            torque = sign * (joint.torque[k] + np.cross(arm, joint.force[k]))
            if name == "b":
                torque = np.add(torque, [0.3, 0.2, -0.4])
            np.testing.assert_allclose(spin, torque, atol=2e-3)

    def test_leave_free_what_they_should(self, kind, grounded):
        """The relative motion that a joint allows is allowed, any other is not."""
        _, run, _ = pair(kind, grounded)
        own = np.eye(3)[None] if grounded else run["a"].rotation
        turned_by = np.swapaxes(own, -1, -2) @ run["b"].rotation
        relative = turned_by @ turned_by[0].T  # in the axes of a
        start = np.eye(3) if grounded else run["a"].rotation[0]
        axis = start.T @ [0, 0, 1.0]
        along = np.abs(relative @ axis - axis).max()
        turns = np.abs(relative - np.eye(3)).max()
        if kind in ("revolute", "cylindrical", "planar"):
            assert along < 1e-12
        assert turns < 1e-12 if kind in ("fixed", "prismatic") else turns > 1e-3
        if kind in ("spherical", "universal"):
            assert along > 1e-4


class TestRefused:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"mass": 0}, "mass of body b is not positive"),
            ({"mass": -1}, "not positive"),
            ({"mass": "heavy"}, "not a number"),
            ({"inertia": (0.1, 0.1, 0.5)}, "not that of a body"),
            ({"inertia": (-0.1, 0.1, 0.1)}, "not that of a body"),
            ({"inertia": (0, 0, 0)}, "the inertia of body b is zero"),
            ({"inertia": (1, 2)}, "inertia of body b cannot be used"),
            ({"inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "not symmetric"),
            ({"inertia": (1, 1, float("nan"))}, "cannot be used"),
            ({"at": (0, 0)}, "place of body b"),
            ({"at": (0, 0, float("inf"))}, "place of body b"),
            ({"rotation": (1, 1, 0, 0)}, "no rotation"),
            ({"rotation": np.diag([1, 1, -1])}, "not a rotation"),
            ({"rotation": (1, 2, 3)}, "wrong shape"),
            ({"velocity": "fast"}, "velocity of body b"),
            ({"angular_velocity": (1, 2)}, "angular velocity"),
        ],
    )
    def test_bodies(self, change, words):
        m = taut.Mechanism()
        with pytest.raises(taut.TautError, match=words):
            m.body("b", **(BOX | {"at": (0, 0, 0)} | change))

    def test_names(self):
        m = taut.Mechanism()
        a = m.point("a", mass=1, at=(1, 0, 0))
        for name in ("a", "ground", "", 3, None):
            with pytest.raises(taut.ModelError):
                m.point(name, mass=1, at=(0, 0, 0))
        m.rod("bar", m.ground, a)
        with pytest.raises(taut.ModelError, match="already"):
            m.rod("bar", m.ground, a)
        with pytest.raises(taut.ModelError, match="no part is called 'b'"):
            m.rod("b", "a")
        with pytest.raises(taut.UnknownName):
            m["c"]
        assert m["bar"].a is m.ground

    def test_joints(self):
        m, other = taut.Mechanism(), taut.Mechanism()
        a = m.point("a", mass=1, at=(1, 0, 0))
        stranger = other.point("a", mass=1, at=(1, 0, 0))
        rod = m.body("rod", mass=1, inertia=(1, 1, 0), at=(0, 0, 0))
        with pytest.raises(taut.ModelError, match="no part of the mechanism"):
            m.rod(m.ground, stranger)
        with pytest.raises(taut.ModelError, match="to itself"):
            m.rod(a, a)
        with pytest.raises(taut.ModelError, match="two parts"):
            m.rod(a)
        with pytest.raises(taut.ModelError, match="no length"):
            m.rod(m.ground, a, ends=((1, 0, 0), (1, 0, 0)))
        with pytest.raises(taut.ModelError, match="is not where the point a is"):
            m.spherical(m.ground, a, at=(0, 0, 0))
        with pytest.raises(taut.ModelError, match="which is a point"):
            m.revolute(m.ground, a, at=(1, 0, 0), axis=(0, 0, 1))
        with pytest.raises(taut.ModelError, match="beside the axis"):
            m.spherical(m.ground, rod, at=(1, 0, 0))
        with pytest.raises(taut.InputError, match="no direction"):
            m.revolute(m.ground, rod, at=(0, 0, 0), axis=(0, 0, 0))
        with pytest.raises(taut.ModelError, match="right angles"):
            m.universal(m.ground, rod, at=(0, 0, 0), axes=((1, 0, 0), (1, 0, 0)))

    def test_a_mechanism_of_nothing(self):
        with pytest.raises(taut.ModelError, match="no parts"):
            taut.simulate(taut.Mechanism(), duration=1, step=0.1)

    def test_views(self):
        m = taut.Mechanism()
        a = m.point("a", mass=1, at=(1, 0, 0))
        m.rod("bar", m.ground, a)
        run = taut.simulate(m, duration=1, step=0.1)
        with pytest.raises(taut.UnknownName, match="part, joint, force or frame"):
            run["b"]
        with pytest.raises(taut.ModelError, match="no rotation"):
            run["a"].rotation  # noqa: B018
        with pytest.raises(taut.ModelError, match="no angle"):
            run["bar"].angle  # noqa: B018
        (x,) = taut.coordinates("x,")
        plain = taut.simulate(taut.System([x], mass=1), q0=[0], v0=[1], duration=1, step=0.1)
        with pytest.raises(taut.UnknownKey, match="it has arrays"):
            plain["x"]


def test_types_of_terms_do_not_grow_with_the_parts():
    counts = []
    for links in (5, 50):
        m = taut.Mechanism(gravity=(0, 0, -1))
        before = m.ground
        for k in range(links):
            body = m.body(f"b{k}", **BOX, at=(k + 0.5, 0, 0))
            m.spherical(before, body, at=(k, 0, 0))
            before = body
        counts.append([(term.kind, term.instances) for term in m.system().terms])
    assert [kind for kind, _ in counts[0]] == [kind for kind, _ in counts[1]]
    assert len(counts[0]) == 4  # bodies, rigidity, joints with the ground, joints


def test_rods_pull_with_their_multiplier():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    bob = m.point("bob", mass=3, at=(0, 0, -2))
    m.rod("bar", m.ground, bob)
    run = taut.simulate(m, duration=1, step=0.1)
    np.testing.assert_allclose(run["bar"].force, np.tile([0, 0, 3 * 9.81], (11, 1)), atol=1e-12)
    np.testing.assert_allclose(run["bar"].multipliers[:, 0], 3 * 9.81, atol=1e-12)


def test_a_batch_has_parts_too():
    m = taut.Mechanism(gravity=(0, 0, -9.81))
    bob = m.point("bob", mass=1, at=(1, 0, 0))
    m.rod("bar", m.ground, bob)
    run = taut.simulate(m, q0=np.array([[1, 0, 0], [0, 1, 0]]), v0=0, duration=1, step=0.01)
    assert run["bob"].position.shape == (2, 101, 3)
    assert run["bar"].force.shape == (2, 101, 3)
    np.testing.assert_allclose(run["bob"].position[1], run[1]["bob"].position)


def test_expressions_of_a_part():
    m = taut.Mechanism()
    part = m.body("part", **BOX, at=(0, 0, 0))
    q, v = m.symbols(part)
    assert [s.name for s in q[:4]] == ["x_part", "y_part", "z_part", "d1x_part"]
    assert v[0] == sp.Symbol("x_part_dot", real=True)
