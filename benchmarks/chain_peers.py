"""The chains of `chains` in Pinocchio, exudyn and MuJoCo, written for speed.

Pinocchio   spherical joints, the articulated-body algorithm (compiled C++) and semi-implicit Euler;
            its loop is Python's, two calls per step, whose overhead `Pinocchio.overhead` measures
exudyn      mass points with distances, or bodies with Euler parameters and spherical joints; the
            implicit trapezoidal rule (index 2), modified Newton, sparse LU, one thread
MuJoCo      ball joints, its own loop and semi-implicit Euler ("Euler"), no contacts

All times are of the processor, not of the clock on the wall; everybody has one thread.

Where links are points, minimal coordinates know a link that may also turn about itself: it is given
inertia about its own axis, where nothing ever acts.
"""

from __future__ import annotations

import time
from functools import cache
from importlib import import_module

import numpy as np
from chains import ACROSS, ALONG, GRAVITY, STEP, Chain, quaternions


def moments(chain):
    """Principal moments of a link, its own axis first."""
    return [1.0, 0.0, 0.0] if chain.kind == "points" else [ALONG, ACROSS, ACROSS]


class Pinocchio:
    """ABA and semi-implicit Euler."""

    name, package, wheel, order = "Pinocchio", "pinocchio", "pin", 1
    method_name = "semi-implicit Euler"

    def __init__(self, chain, step=STEP):
        import pinocchio as pin

        self.pin, self.chain, self.step = pin, chain, step
        self.model, self.data = _pinocchio_model(pin, chain)
        self.begin()

    def begin(self):
        self.q = quaternions(self.chain.turns)[:, [1, 2, 3, 0]].ravel()
        self.v = np.zeros(self.model.nv)

    def march(self, steps):
        model, data, q, v = self.model, self.data, self.q, self.v
        aba, integrate, h = self.pin.aba, self.pin.integrate, self.step
        nothing = np.zeros(model.nv)
        began = time.process_time()
        for _ in range(steps):
            v += h * aba(model, data, q, v, nothing)
            q = integrate(model, q, h * v)
        wall = time.process_time() - began
        self.q = q
        return wall

    def state(self):
        pin, model, data = self.pin, self.model, self.data
        pin.forwardKinematics(model, data, self.q, self.v)
        frames = [data.oMi[k + 1] for k in range(self.chain.links)]
        speeds = [data.v[k + 1] for k in range(self.chain.links)]
        axes = np.array([x.rotation[:, 0] for x in frames])
        omegas = np.array([x.rotation @ s.angular for x, s in zip(frames, speeds, strict=True)])
        first = np.array([x.rotation @ s.linear for x, s in zip(frames, speeds, strict=True)])
        centres = np.array([x.translation for x in frames]) + self.chain.arm * axes
        return centres, first + self.chain.arm * np.cross(omegas, axes), axes, omegas

    @classmethod
    def overhead(cls, steps=20_000):
        """Seconds of a step of a single link, nearly all of which is spent between the calls."""
        one = cls(Chain(1, "bodies"))
        one.march(100)
        return min(one.march(steps) / steps for _ in range(3))


def _pinocchio_model(pin, chain):
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    inertia = pin.Inertia(1.0, np.array([chain.arm, 0.0, 0.0]), np.diag(moments(chain)))
    at, joint = pin.SE3.Identity(), 0
    for k in range(chain.links):
        joint = model.addJoint(joint, pin.JointModelSpherical(), at, f"j{k}")
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        at = pin.SE3(np.eye(3), np.array([1.0, 0.0, 0.0]))
    return model, model.createData()


class Exudyn:
    """The implicit trapezoidal rule on redundant coordinates."""

    name, package, wheel, order = "exudyn", "exudyn", "exudyn", 2
    method_name = "trapezoidal rule, index 2"

    def __init__(self, chain, step=STEP, **options):
        import exudyn as exu

        self.exu, self.chain, self.step = exu, chain, step
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.nodes = (_exudyn_points if chain.kind == "points" else _exudyn_bodies)(self.mbs, chain)
        self.mbs.Assemble()
        self.settings = _exudyn_settings(exu, **options)
        self.first = self.mbs.systemData.GetSystemState(exu.ConfigurationType.Initial)
        self.t = 0.0

    def begin(self):
        self.mbs.systemData.SetSystemState(self.first, self.exu.ConfigurationType.Initial)
        self.t = 0.0

    def march(self, steps):
        exu, timing = self.exu, self.settings.timeIntegration
        timing.numberOfSteps, timing.startTime = steps, self.t
        self.t += steps * self.step
        timing.endTime = self.t
        began = time.process_time()
        self.mbs.SolveDynamic(
            self.settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2,
            updateInitialValues=True, showHints=False, showCausingItems=False,
        )  # fmt: skip
        return time.process_time() - began

    def state(self):
        kinds, get = self.exu.OutputVariableType, self.mbs.GetNodeOutput
        centres = np.array([get(n, kinds.Position) for n in self.nodes])
        velocities = np.array([get(n, kinds.Velocity) for n in self.nodes])
        if self.chain.kind == "points":
            return centres, velocities, self.chain.axes, None
        turns = np.array([get(n, kinds.RotationMatrix) for n in self.nodes]).reshape(-1, 3, 3)
        omegas = np.array([get(n, kinds.AngularVelocity) for n in self.nodes])
        return centres, velocities, turns[:, :, 0], omegas


def _exudyn_settings(exu, modified=True):
    found = exu.SimulationSettings()
    found.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    found.parallel.numberOfThreads = 1
    found.solution.file.write = False
    found.timeIntegration.verboseMode = 0
    found.timeIntegration.newton.useModifiedNewton = modified
    found.show.computationTime = found.show.statistics = False
    return found


def _exudyn_points(mbs, chain):
    from exudyn import itemInterface as item

    ground = mbs.AddObject(item.ObjectGround())
    before = mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=ground))
    nodes = []
    for centre in chain.centres:
        node = mbs.AddNode(item.NodePoint(referenceCoordinates=list(centre)))
        mbs.AddObject(item.ObjectMassPoint(mass=1.0, nodeNumber=node))
        marker = mbs.AddMarker(item.MarkerNodePosition(nodeNumber=node))
        mbs.AddLoad(item.LoadForceVector(markerNumber=marker, loadVector=[0, 0, -GRAVITY]))
        mbs.AddObject(item.ObjectConnectorDistance(markerNumbers=[before, marker], distance=1.0))
        before = marker
        nodes.append(node)
    return nodes


def _exudyn_bodies(mbs, chain):
    from exudyn import itemInterface as item

    ground = mbs.AddObject(item.ObjectGround())
    before = mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=ground))
    nodes = []
    for centre, turn in zip(chain.centres, quaternions(chain.frames), strict=True):
        given = [*centre, *turn]
        node = mbs.AddNode(item.NodeRigidBodyEP(referenceCoordinates=given))
        tensor = [*moments(chain), 0.0, 0.0, 0.0]
        body = mbs.AddObject(item.ObjectRigidBody(mass=1.0, inertia=tensor, nodeNumber=node))
        weight = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(item.LoadMassProportional(markerNumber=weight, loadVector=[0, 0, -GRAVITY]))
        ends = [
            mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
            for x in (-chain.arm, 1.0 - chain.arm)
        ]
        mbs.AddObject(item.ObjectJointSpherical(markerNumbers=[before, ends[0]]))
        before = ends[1]
        nodes.append(node)
    return nodes


class MuJoCo:
    """Ball joints and semi-implicit Euler."""

    name, package, wheel, order = "MuJoCo", "mujoco", "mujoco", 1
    method_name = "semi-implicit Euler"

    def __init__(self, chain, step=STEP):
        import mujoco

        self.mujoco, self.chain = mujoco, chain
        self.model = _mujoco_model(mujoco, chain, step)
        self.data = mujoco.MjData(self.model)
        self.begin()

    def begin(self):
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = quaternions(self.chain.turns).ravel()

    def march(self, steps):
        began = time.process_time()
        self.mujoco.mj_step(self.model, self.data, steps)
        return time.process_time() - began

    def state(self):
        model, data, mujoco = self.model, self.data, self.mujoco
        mujoco.mj_forward(model, data)
        axes = data.xmat[1:].reshape(-1, 3, 3)[:, :, 0]
        speeds = np.zeros((self.chain.links, 6))
        for k in range(self.chain.links):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, k + 1, speeds[k], 0)
        omegas, first = speeds[:, :3], speeds[:, 3:]
        centres = data.xpos[1:] + self.chain.arm * axes
        return centres, first + self.chain.arm * np.cross(omegas, axes), axes, omegas


def _mujoco_model(mujoco, chain, step):
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = step, [0.0, 0.0, -GRAVITY]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    body = spec.worldbody
    for k in range(chain.links):
        body = body.add_body(name=f"b{k}", pos=[float(k > 0), 0.0, 0.0])
        body.mass, body.ipos, body.inertia = 1.0, [chain.arm, 0.0, 0.0], [1.0, 1.0, 1.0]
        body.explicitinertial = True
        body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
    model = spec.compile()
    model.body_inertia[1:] = moments(chain)  # which a file could not say of points
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


PEERS = (Pinocchio, Exudyn, MuJoCo)


@cache
def _works(package):
    """Whether a package can be imported: some want libraries of the system's."""
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def installed():
    """Those that can be measured here."""
    return [peer for peer in PEERS if _works(peer.package)]


def missing():
    """Names of those that cannot."""
    return [peer.name for peer in PEERS if not _works(peer.package)]
