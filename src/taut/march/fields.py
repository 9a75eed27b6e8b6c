"""Simulating fields and beams: a start becomes a trajectory, `continued` goes on from its end."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from taut.errors import InputError, StepError, UnstableStep, number, warn
from taut.fields.beam import Beam
from taut.fields.beams import Beams
from taut.fields.field import Field
from taut.fields.mesh import Mesh
from taut.interrupts import interruptible
from taut.kernel.strand import Strand, strand_of_field, strand_of_mesh
from taut.lie import SE3
from taut.march.coupled_run import CoupledRun, coupled_strand
from taut.march.damped_run import DampedRun
from taut.march.field_limits import stable_step_of_field
from taut.march.field_run import FieldRun, explained
from taut.march.field_start import consistent, given, held_at, poses, quaternions
from taut.march.field_trajectory import FieldEnding, FieldTrajectory, following
from taut.march.limits import stable_step
from taut.march.mixed_run import MixedRun
from taut.march.plan import Plan
from taut.methods.fields import scheme_of
from taut.methods.fields.base import Scheme
from taut.portable import product, solve

SAFE = 0.5  # of the limit of stability: the step that is taken when none is given
ROUNDED = 1 + 1e-9  # a step that is the limit is not beyond it


def simulate_field(
    model: Field | Beam | Beams,
    *,
    strain0: Any,
    momentum0: Any,
    v0: Any,
    t0: float,
    duration: float,
    step: float | None,
    method: str | Scheme,
    every: int,
    parameters: Any,
    project: bool,
    progress: Any,
) -> FieldTrajectory:
    """`taut.simulate` for fields and beams."""
    scheme = scheme_of(method, beam=not isinstance(model, Field))
    if isinstance(model, Field):
        mesh, values = None, model.values(parameters)
        named = dict(zip((p.name for p in model.parameters), values.tolist(), strict=True))
        strand = strand_of_field(model, values)
        strain, momentum = _start_of_field(model, strand, strain0, momentum0, v0)
        limit = stable_step_of_field(model, values, strain, momentum)
    else:
        if parameters is not None and not (isinstance(parameters, dict) and not parameters):
            raise InputError("a beam has no parameters", expected="numbers in the beam itself")
        named = {}
        mesh, strand, strain, momentum = started(model, scheme, strain0, momentum0, v0, project)
        limit = stable_step(mesh)
    chosen = _step(step, limit, duration, scheme, beams=mesh is not None)
    plan = Plan.of(t0, duration, chosen, every)
    links = len(strain)
    strand.view("chi")[:, :links] = (strain + _reference(model, mesh)).T
    run = run_of(model, strand, scheme, plan, mesh)
    begin = time.perf_counter()
    run.begin(momentum, plan.step, plan.t0)
    run.opened()
    run.compile_time += time.perf_counter() - begin
    return _finished(run, model, mesh, named, limit, progress)


def run_of(model: Any, strand: Strand, scheme: Scheme, plan: Plan, mesh: Mesh | None, **more: Any):
    """What marches a strand."""
    if isinstance(model, Field) and model.mixed:
        return MixedRun(strand, scheme, plan, **more)
    if mesh is not None and scheme.implicit:
        return CoupledRun(strand, scheme, plan, mesh, **more)
    if mesh is not None and np.any(mesh.damping):
        return DampedRun(strand, scheme, plan, mesh, **more)
    return FieldRun(strand, scheme, plan, mesh, **more)


def strand_of(mesh: Mesh, scheme: Scheme) -> Strand:
    """What computes beams by a scheme."""
    return coupled_strand(mesh) if scheme.implicit else strand_of_mesh(mesh)


def _step(
    step: float | None, limit: float, duration: float, scheme: Scheme, *, beams: bool
) -> float:
    if step is None:
        if scheme.implicit:
            raise InputError(
                "an implicit scheme needs a step",
                expected="step=…, as fine as the motion asks for",
                remedy=f"explicit schemes would need {limit:.2g}",
            )
        whole = number("duration", duration)
        return whole / max(1, math.ceil(whole / (SAFE * limit))) if whole > 0 else SAFE
    if not scheme.implicit and isinstance(step, float | int) and step > limit * ROUNDED:
        told = (
            f"step {step:g} is beyond the limit of stability, about {limit:.4g}: take a smaller one"
        )
        warn(UnstableStep(told + (', or method="implicit"' if beams else "")))
    return step


def _reference(model: Any, mesh: Mesh | None) -> np.ndarray:
    return model.reference if mesh is None else mesh.reference


def _start_of_field(model: Field, strand: Strand, strain0, momentum0, v0):
    if v0 is not None:
        raise InputError("a field starts from momenta", expected="momentum0=…", received="v0")
    momentum = given("momentum0", momentum0, (model.nodes, model.size))
    for end, node in zip(model.ends, (0, model.nodes - 1), strict=True):
        if end == "clamped":
            momentum[node] = 0.0
    return given("strain0", strain0, (len(model.middles), model.size)), momentum


def started(
    model: Beam | Beams, scheme: Scheme, strain0: Any, momentum0: Any, v0: Any, project: bool
) -> tuple[Mesh, Strand, np.ndarray, np.ndarray]:
    """The mesh of beams where they begin, what computes it, and their strains and momenta."""
    mesh = model.mesh()
    strain = given("strain0", strain0, (mesh.nodes - 1, 6))
    strain[~mesh.alive] = 0.0
    pose = poses(mesh, strain)
    mesh = held_at(mesh, pose)
    strand = strand_of(mesh, scheme)
    return mesh, strand, strain, _start_of_beam(mesh, strand, pose, momentum0, v0, project)


def _start_of_beam(mesh: Mesh, strand: Strand, pose, momentum0, v0, project) -> np.ndarray:
    if momentum0 is not None and v0 is not None:
        raise InputError("momentum0 and v0 are one too many", expected="one of them")
    shape = (mesh.nodes, 6)
    if momentum0 is not None:
        momentum = given("momentum0", momentum0, shape)
        for joint in mesh.joints:  # the leader carries what its followers have
            back = SE3.adjoint(SE3.inverse(joint.motion))
            share = mesh.weight[joint.follower] / mesh.weight[joint.leader]
            momentum[joint.leader] += share * product(back.T, momentum[joint.follower])
        velocity = following(mesh, solve(mesh.inertia, momentum[..., None])[..., 0])
    else:
        velocity = given("v0", v0, shape)
    allowed = consistent(mesh, velocity, project)
    exact = momentum0 is not None and np.array_equal(allowed, velocity)
    momentum = momentum if exact else np.einsum("nij,nj->ni", mesh.inertia, allowed)  # type: ignore
    momentum[[j.follower for j in mesh.joints]] = 0.0
    strand.give("turn", quaternions(pose))
    strand.give("place", pose[:, :3, 3])
    strand.give("zeta", allowed)
    return momentum


def _finished(run: FieldRun, model, mesh, named, limit, progress, before=None) -> FieldTrajectory:
    numbers, states, wall, error = run.march(progress)
    plan, strand = run.plan, run.strand
    parts, at = {}, 0
    for name, (_, size) in run.kept.items():
        parts[name] = np.ascontiguousarray(states[:, at : at + size].transpose(0, 2, 1))
        at += size
    reference = _reference(model, mesh)
    books = getattr(run, "final", run.books)
    steps = int(numbers[-1]) if len(numbers) else plan.first
    ending = FieldEnding(
        strand.rows.copy(), run.books.copy(), run.energies.copy(), steps,
        plan.short and steps == plan.last, isinstance(error, StepError),
        [x.copy() for x in run.carried],
    )  # fmt: skip
    trajectory = FieldTrajectory(
        model, mesh, run.scheme, plan.times(numbers), parts["seen"],
        parts["chi"][:, : len(reference)] - reference, plan.t0, plan.step, plan.every, named,
        limit, wall, run.compile_time, books, ending, _places=parts.get("place"),
        _turns=parts.get("turn"),
    )  # fmt: skip
    if before is not None:
        trajectory = _joined(before, trajectory)
    if error is not None:
        raise explained(error, trajectory)
    return trajectory


@interruptible("interrupted before the next step", lambda run, *_, **__: run)
def continued(run: FieldTrajectory, duration: float, progress: Any = None) -> FieldTrajectory:
    """`run` and what comes after it for `duration`, as one trajectory."""
    ending, model, mesh = run.ending, run.model, run.mesh
    if ending.failed:
        raise InputError(
            "a run that failed cannot go on",
            expected="a run that was completed or interrupted",
            remedy="simulate again with a smaller step, or without what it failed at",
        )
    first = 0 if ending.short else ending.steps
    start = float(run.t[-1]) if ending.short else run.t0
    plan = Plan.of(start, duration, run.step, run.every, first=first)
    strand = (
        strand_of(mesh, run.method)
        if mesh is not None
        else strand_of_field(model, np.array([run.parameters[p.name] for p in model.parameters]))
    )
    again = run_of(model, strand, run.method, plan, mesh, going_on=True)
    strand.rows[:] = ending.rows  # loads and all
    strand.give("step", np.array([plan.step]))
    again.books[:], again.energies[:] = ending.books, ending.energies
    for target, kept in zip(again.carried, ending.carried, strict=True):
        target[:] = kept
    if ending.short:
        again.begin(run.momentum[-1].copy(), plan.step, start)
    return _finished(again, model, mesh, run.parameters, run.limit, progress, run)


def _joined(run: FieldTrajectory, more: FieldTrajectory) -> FieldTrajectory:
    """Both as one.

    The second begins with the last state of the first, if one long run would have kept that.
    """
    joint = len(run.t) - 1 if len(more.t) else len(run.t)
    names = ("t", "momentum", "strain", "_places", "_turns")

    def both(name: str):
        one, other = getattr(run, name), getattr(more, name)
        return None if one is None else np.concatenate([one[:joint], other])

    return replace(
        more,
        t0=more.t0,
        wall_time=run.wall_time + more.wall_time,
        compile_time=run.compile_time,
        **{name: both(name) for name in names},
    )
