"""URDF files for tests, and their motion by another road.

The reference reads the file on its own and knows nothing of taut: joints are sequences of scalar
ones, each body has Jacobians of its velocity and angular velocity, and

    Σ (m Jᵥᵀ Jᵥ + J_ωᵀ J J_ω) q̈ = Σ Jᵥᵀ m (g − a₀) − J_ωᵀ (J α₀ + ω × J ω),

a₀, α₀ the accelerations for q̈ = 0 (Kane).
"""

from xml.etree import ElementTree

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation


def link(name, mass=None, inertia=(0.1, 0.12, 0.15, 0, 0, 0), xyz="0 0 0", rpy="0 0 0", more=""):
    own = ""
    if mass is not None:
        words = zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), inertia, strict=True)
        moments = " ".join(f'{key}="{value!r}"' for key, value in words)
        own = (
            f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>'
            f"<inertia {moments}/></inertial>"
        )
    return f'<link name="{name}">{own}{more}</link>\n'


def joint(name, kind, parent, child, xyz="0 0 0", rpy="0 0 0", axis=None, more=""):
    line = "" if axis is None else f'<axis xyz="{axis}"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{line}{more}</joint>\n'
    )


def robot(*elements):
    return f'<?xml version="1.0"?>\n<robot name="r">\n{"".join(elements)}</robot>\n'


def unlumped(text, lumped):
    """A mechanism with a body for each link, and a joint for each joint, also for fixed ones.

    Links are where the frames of `lumped`, another mechanism, are, and move as they do.
    """
    import taut

    root, m = ElementTree.fromstring(text), taut.Mechanism(gravity=lumped.gravity)

    def numbers(element, name):
        return np.array([float(x) for x in element.get(name).split()])

    for one in root.findall("link"):
        frame, own = lumped.frames[one.get("name")], one.find("inertial")
        origin, words = own.find("origin"), own.find("inertia").attrib
        j = [[float(words["i" + "".join(sorted(a + b))]) for a in "xyz"] for b in "xyz"]
        at = frame.at + frame.rotation @ numbers(origin, "xyz")
        part, turn = frame.part, Rotation.from_euler("xyz", numbers(origin, "rpy")).as_matrix()
        spin = part.angular_velocity
        m.body(
            frame.name, mass=float(own.find("mass").get("value")), inertia=j, at=at,
            rotation=frame.rotation @ turn, angular_velocity=spin,
            velocity=part.velocity + np.cross(spin, at - part.position),
        )  # fmt: skip
    for one in root.findall("joint"):
        ends = [one.find(x).get("link") for x in ("parent", "child")]
        frame, kind = lumped.frames[ends[1]], one.get("type")
        kind = "revolute" if kind == "continuous" else kind
        axis = frame.rotation @ numbers(one.find("axis"), "xyz")
        more = {} if kind == "fixed" else {"axis": axis}
        getattr(m, kind)(one.get("name"), *ends, at=frame.at, **more)
    return m


def triple(values):
    return " ".join(repr(float(x)) for x in values)


def random_tree(seed, kinds):
    """A tree with a joint of each of these kinds (in this order) at a random earlier link."""
    rng = np.random.default_rng(seed)
    elements = [link("l0", 3.0)]
    for k, kind in enumerate(kinds, 1):
        spread = rng.standard_normal((3, 3)) * 0.2
        second = spread @ spread.T + 0.01 * np.eye(3)
        j = np.trace(second) * np.eye(3) - second  # of a body, whatever the numbers are
        inertia = [float(j[a]) for a in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        places = [triple(rng.standard_normal(3) * 0.4) for _ in range(4)]
        elements.append(link(f"l{k}", round(rng.uniform(0.5, 3), 3), inertia, *places[:2]))
        axis = "0 0 1" if kind == "planar" else triple(rng.standard_normal(3))
        parent = f"l{rng.integers(max(0, k - 3), k)}"
        elements.append(joint(f"j{k}", kind, parent, f"l{k}", *places[2:], axis))
    return robot(*elements)


# ---- the motion by another road ----------------------------------------------------------------

SCALARS = {"revolute": "r", "continuous": "r", "prismatic": "p", "fixed": ""}
Z = np.array([0.0, 0.0, 1.0])


def vector(element, name, default):
    return np.array(
        [float(x) for x in (element.get(name, default) if element is not None else default).split()]
    )


def pose(element):
    made = np.eye(4)
    made[:3, :3] = Rotation.from_euler("xyz", vector(element, "rpy", "0 0 0")).as_matrix()
    made[:3, 3] = vector(element, "xyz", "0 0 0")
    return made


class Reference:
    """Links in order, each with the scalar joints before it."""

    def __init__(self, text, gravity=(0, 0, -9.81)):
        root = ElementTree.fromstring(text)
        self.gravity = np.array(gravity)
        joints = root.findall("joint")
        children = {j.find("child").get("link") for j in joints}
        links = {x.get("name"): x for x in root.findall("link")}
        order = [next(name for name in links if name not in children)]
        self.steps, self.names, count = {order[0]: (None, None, [])}, [], 0
        for name in order:
            for j in (x for x in joints if x.find("parent").get("link") == name):
                child, kind = j.find("child").get("link"), j.get("type")
                axis = vector(j.find("axis"), "xyz", "1 0 0")
                axis = axis / np.linalg.norm(axis)
                if kind == "planar":
                    scalars = [("p", np.eye(3)[0]), ("p", np.eye(3)[1]), ("r", Z)]
                elif kind == "floating":
                    scalars = [("p", e) for e in np.eye(3)] + [("r", e) for e in np.eye(3)]
                else:
                    scalars = [(SCALARS[kind], axis)] if SCALARS[kind] else []
                numbered = [(*s, count + i) for i, s in enumerate(scalars)]
                count += len(scalars)
                self.names += [j.get("name")] * len(scalars)
                self.steps[child] = (name, pose(j.find("origin")), numbered)
                order.append(child)
        self.order, self.count = order, count
        self.inertials = {name: links[name].find("inertial") for name in order}

    def walk(self, q, v):
        """Pose, Jacobians and velocity-dependent accelerations of every link."""
        found = {}
        for name in self.order:
            parent, origin, scalars = self.steps[name]
            if parent is None:
                zero = np.zeros((3, self.count))
                found[name] = (np.eye(4), zero, zero.copy(), np.zeros(3), np.zeros(3))
                continue
            at, jv, jw, a, alpha = (np.array(x) for x in found[parent])
            at, jv, a = self._carried(at, jv, jw, a, alpha, at @ origin, v)
            for kind, axis, k in scalars:
                e = at[:3, :3] @ axis
                w = jw @ v
                after = at.copy()
                if kind == "p":
                    after[:3, 3] += q[k] * e
                    at, jv, a = self._carried(at, jv, jw, a, alpha, after, v)
                    jv[:, k] += e
                    a += 2 * np.cross(w, e) * v[k]
                else:
                    after[:3, :3] = Rotation.from_rotvec(q[k] * e).as_matrix() @ at[:3, :3]
                    jw[:, k] += e
                    alpha = alpha + np.cross(w, e) * v[k]
                    at = after
            found[name] = (at, jv, jw, a, alpha)
        return found

    @staticmethod
    def _carried(at, jv, jw, a, alpha, after, v):
        """From one place of a rigid body to another."""
        arm, w = after[:3, 3] - at[:3, 3], jw @ v
        moved = jv + np.cross(jw.T, arm).T
        return after, moved, a + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))

    def accelerations(self, q, v, damping=0.0):
        m, f = np.zeros((self.count, self.count)), -damping * np.asarray(v)
        for name, (at, jv, jw, a, alpha) in self.walk(q, v).items():
            own = self.inertials[name]
            if own is None:
                continue
            after = at @ pose(own.find("origin"))
            _, jv, a = self._carried(at, jv, jw, a, alpha, after, v)
            mass = float(own.find("mass").get("value"))
            x = own.find("inertia")
            i = {key: float(x.get(key, 0)) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")}
            j = np.array([[i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]],
                          [i["ixz"], i["iyz"], i["izz"]]])  # fmt: skip
            j = after[:3, :3] @ j @ after[:3, :3].T
            w = jw @ v
            m += mass * jv.T @ jv + jw.T @ j @ jw
            f = f + jv.T @ (mass * (self.gravity - a)) - jw.T @ (j @ alpha + np.cross(w, j @ w))
        return np.linalg.solve(m, f)

    def run(self, q, v, t, damping=0.0):
        """Coordinates and rates at times."""
        n = self.count

        def rates(_, y):
            return np.concatenate([y[n:], self.accelerations(y[:n], y[n:], damping)])

        start = np.concatenate([q, v])
        done = solve_ivp(rates, (0, t[-1]), start, "DOP853", t, rtol=1e-12, atol=1e-12)
        return done.y[:n].T, done.y[n:].T
