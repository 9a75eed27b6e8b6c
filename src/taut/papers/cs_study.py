"""CS's beam and what is measured on it.

A beam of square section without loads and with free ends, given a curvature and thrown:

    μ_j⁰ = (0, 0, 0, a²ρ sin(jπ/100), a²ρ, 0),        γ⁰ = (−1, 0, 0, 0, 0, 0).

As printed, (53) takes μ⁰ at the time of γ⁰ and gives end nodes a whole cell.  Strain jumps at both
ends, from −1 to 0.  Where an order is measured it is −sin²(πs/l) instead, and sin is sin² in μ⁰.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import pi
from time import process_time
from typing import Any

import numpy as np
from scipy.fft import dct

from taut.diagnose.field_certificate import momentum_changes
from taut.fields import Beam, Square
from taut.fields.mesh import configuration
from taut.lie import SE3, se3
from taut.march.field_trajectory import FieldTrajectory
from taut.march.loop import BOOKS
from taut.march.simulate import simulate
from taut.methods.fields import Hamel, Poisson, Scheme, Variational
from taut.papers import cs_plain
from taut.papers.numbers import orders, plain

# Table 1.
LENGTH, SIDE, DENSITY, YOUNG, RATIO = 2 * pi / 3, 0.1, 1000.0, 1e7, 0.35
NODES, STEP = 101, 1e-4
TABLE_2 = {"MATLAB": (13.5543, 14.0054), "Python": (15.9470, 18.6285)}  # s: Poisson, Hamel
TEXT = {"MATLAB": 3.22, "Python": 14.49}  # %, as printed in the text

SPAN, LATER = 1.0, 10.0  # s: of Figs. 1–3 (not printed), and of the momenta
READ, SEGMENT = 5000, 500  # steps after which strains are read back; steps that are stored at once
MANY = 1_000_000  # steps
SELDOM = 997  # steps from one stored state of them to the next
NUDGE = 1e-9
EARLY = 0.01  # of a long run, for what its waves are like at first and at last
SHORT, HALVINGS = 0.02, 4  # s, for orders
PLAIN, TIMES = 5, 12  # steps of the plain program, and how often it is timed
COMPILED, BEST = 1000, 60  # steps of the compiled one, as in Table 2
SCHEMES: dict[str, Scheme] = {"poisson": Poisson(), "hamel": Hamel(), "variational": Variational()}
PRINTED = Poisson(start="printed")

Vector = np.ndarray


@dataclass
class Study:
    """Everything that was run and measured.

    Attributes
    ----------
    first : FieldTrajectory
        The paper's example, as printed.
    later : dict name → (N, 7) array
        Times, and momenta in space after every step of `LATER` seconds.
    read : dict name → (2, …) array
        Times, and how far strains read from configurations are from γ; "apart": how far the places
        of both Cayley maps are.
    long : dict name → dict of (N,) arrays
        Energy and modified energy over `MANY` steps.
    certificates : dict name → certificate
        Of the long runs.
    numbers : dict
        What is known in the end.
    """

    first: FieldTrajectory
    later: dict[str, Vector] = field(default_factory=dict)
    read: dict[str, Vector] = field(default_factory=dict)
    long: dict[str, dict[str, Vector]] = field(default_factory=dict)
    certificates: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)


# ---- the beam ---------------------------------------------------------------------------------


def beam(cells: str = "half", nodes: int = NODES) -> Beam:
    """Table 1."""
    return Beam(
        LENGTH, Square(SIDE), density=DENSITY, young=YOUNG, poisson=RATIO, nodes=nodes, cells=cells
    )


def rough(nodes: int = NODES) -> dict[str, Vector]:
    """The paper's start."""
    mu = np.zeros((nodes, 6))
    mu[:, 3] = SIDE**2 * DENSITY * np.sin(pi * np.arange(nodes) / (nodes - 1))
    mu[:, 4] = SIDE**2 * DENSITY
    strain = np.zeros((nodes - 1, 6))
    strain[:, 0] = -1.0
    return {"strain0": strain, "momentum0": mu}


def smooth(nodes: int = NODES) -> dict[str, Vector]:
    """The same with a strain and a rate of strain that vanish at both ends."""
    start = rough(nodes)
    middles = (np.arange(nodes - 1) + 0.5) / (nodes - 1)
    start["strain0"][:, 0] = -(np.sin(pi * middles) ** 2)
    start["momentum0"][:, 3] *= start["momentum0"][:, 3] / (SIDE**2 * DENSITY)
    return start


STARTS = {"rough": rough, "smooth": smooth}


def simulated(
    scheme: Scheme = PRINTED,
    cells: str = "full",
    start: str = "rough",
    duration: float = SPAN,
    **options: Any,
) -> FieldTrajectory:
    """A run; as it stands, the paper's."""
    nodes = options.pop("nodes", NODES)
    settings = {"step": STEP, "method": scheme, **STARTS[start](nodes), **options}
    return simulate(beam(cells, nodes), duration=duration, **settings)


def segments(steps: int) -> Iterator[FieldTrajectory]:
    """The paper's run, every state of it, some hundred steps at a time.

    (μⁿ, γⁿ) is all that (53) and (54) need, so that they go on from there; poses start anew.
    """
    state: dict[str, Any] = {}
    for _ in range(steps // SEGMENT):
        run = simulated(duration=SEGMENT * STEP, **state)
        state = {"strain0": run.strain[-1], "momentum0": run.momentum[-1]}
        yield run


# ---- momenta ----------------------------------------------------------------------------------


def momenta(run: FieldTrajectory, back: float = 0.0) -> Vector:
    """Angular and linear momentum in space, shape (N, 6), with poses taken back by part of a step.

    μⁿ belongs to the middle of the step before, and gⁿ = gⁿ⁻¹ cay(h ζⁿ): half a step back they are
    at one time.
    """
    frames, places = run.frames, run.positions
    if back:
        pose = SE3.element(frames, places) @ SE3.cay_ad(-back * run.step * run.velocity)
        frames, places = pose[..., :3, :3], pose[..., :3, 3]
    assert run.mesh is not None
    shares = run.mesh.weight[:, None, None] * (frames @ _halves(run.momentum).swapaxes(-1, -2))
    angular = shares[..., 0] + np.cross(places, shares[..., 1])
    return np.hstack([angular.sum(axis=1), shares[..., 1].sum(axis=1)])


def _halves(six: Vector) -> Vector:
    return six.reshape(*six.shape[:-1], 2, 3)


SAMPLED = "(μⁿ, gⁿ)"  # momenta as the variables of the paper give them
# What is followed: scheme, cells, and by what part of a step poses are taken back.
FOLLOWED: dict[str, tuple[Scheme, str, float]] = {
    "(55) printed, (μⁿ, gⁿ)": (Poisson(start="printed", pose="printed"), "full", 0.0),
    SAMPLED: (PRINTED, "full", 0.0),
    "(μⁿ, gⁿ⁻½)": (PRINTED, "full", 0.5),
    "poisson, full cells": (SCHEMES["poisson"], "full", 0.0),
    "hamel, full cells": (SCHEMES["hamel"], "full", 0.0),
    "poisson": (SCHEMES["poisson"], "half", 0.0),
    "hamel": (SCHEMES["hamel"], "half", 0.0),
    "variational": (SCHEMES["variational"], "half", 0.0),
}
STATE = ("t", "momentum", "strain", "_places", "_turns")  # arrays of a run, a row per state


def stretches(scheme: Scheme, cells: str, duration: float) -> Iterator[FieldTrajectory]:
    """A run with every state of it, some hundred steps at a time; it goes on bit by bit."""
    run = simulated(scheme, cells, duration=SEGMENT * STEP)
    yield run
    for _ in range(round(duration / (SEGMENT * STEP)) - 1):
        last = {name: getattr(run, name)[-1:] for name in STATE}
        run = replace(run, **last).continue_(SEGMENT * STEP)
        yield run


def followed() -> dict[str, Vector]:
    """Momenta after every step of `LATER` seconds: times in column 0, (L, P) in the others."""
    found: dict[str, Vector] = {}
    for name, (scheme, cells, back) in FOLLOWED.items():
        rows = [np.hstack([run.t[:, None], momenta(run, back)])[part > 0 :]
                for part, run in enumerate(stretches(scheme, cells, LATER))]  # fmt: skip
        found[name] = np.vstack(rows)
    found["band"] = np.array(simulated(duration=LATER, every=100).certificate.energy.band)
    return found


def changes(rows: Vector, until: float = LATER) -> dict[str, float]:
    """Largest changes of P and L up to a time, in the paper's units and against their sizes."""
    t, angular, linear = rows[:, 0], rows[:, 1:4], rows[:, 4:]
    found: dict[str, float] = {}
    for name, x in (("P", linear), ("L", angular)):
        off = np.linalg.norm(x - x[0], axis=1)[t <= until * (1 + 1e-9)].max()
        found |= {name: float(off), f"{name} relative": float(off / np.linalg.norm(x[0]))}
        found[f"|{name}|"] = float(np.linalg.norm(x[0]))
    return found


# ---- (55) -------------------------------------------------------------------------------------

MAPS = {"adjoint": SE3.cay_ad, "4 × 4": SE3.cay}
VELOCITIES = ("new", "old")


def read_back() -> dict[str, Vector]:
    """Strains read from configurations that move by (55), in four readings, against γ.

    Configurations are moved here, with the velocities of one and the same run.
    """
    ds = LENGTH / (NODES - 1)
    line = configuration(np.zeros(3), np.eye(3), ds * (rough()["strain0"] + cs_plain.E2))
    names = [f"{v}, {m}" for v in VELOCITIES for m in MAPS]
    poses: dict[str, Vector] = dict.fromkeys(names, line)
    apart, off = 0.0, {name: [np.zeros(1)] for name in names}
    for run in segments(READ):
        ways = {}
        for name in names:
            which, cayley = name.split(", ")
            zeta = run.velocity[1:] if which == "new" else run.velocity[:-1]
            ways[name] = _went(poses[name], MAPS[cayley](STEP * zeta))
            poses[name] = ways[name][-1]
            off[name].append(np.abs(_read(ways[name], ds) - run.strain[1:]).max(axis=(1, 2)))
        places = [ways[f"new, {m}"][..., :3, 3] for m in MAPS]
        apart = max(apart, float(np.abs(places[0] - places[1]).max()))
    t = STEP * np.arange(READ + 1)
    return {"apart": np.array(apart), **{k: np.stack([t, np.hstack(x)]) for k, x in off.items()}}


def _went(pose: Vector, moves: Vector) -> Vector:
    """Poses after each of some moves."""
    way = []
    for move in moves:
        pose = pose @ move
        way.append(pose)
    return np.array(way)


def _read(pose: Vector, ds: float) -> Vector:
    """γ of configurations."""
    here, there = pose[..., :-1, :, :], pose[..., 1:, :, :]
    return SE3.cay_ad_inverse(SE3.inverse(here) @ there) / ds - cs_plain.E2


# ---- start and ends ---------------------------------------------------------------------------


def bands() -> dict[str, Any]:
    """The energy over `SPAN` seconds of the paper's example, in several readings; all steps."""
    found = {"printed": _band(simulated(every=100))}
    low, high = np.inf, -np.inf
    for run in segments(round(SPAN / STEP)):
        together = (run.kinetic[1:] + run.kinetic[:-1]) / 2 + run.potential[:-1]
        low, high = min(low, float(together.min())), max(high, float(together.max()))
    found["printed, K and V at one time"] = {"low": low, "high": high, "band": high - low}
    for name, scheme, cells in (
        ("staggered, full cells", SCHEMES["poisson"], "full"),
        ("staggered, half cells", SCHEMES["poisson"], "half"),
        ("hamel, full cells", SCHEMES["hamel"], "full"),
        ("hamel, half cells", SCHEMES["hamel"], "half"),
        ("variational, half cells", SCHEMES["variational"], "half"),
    ):
        found[name] = _band(simulated(scheme, cells, every=100))
    return found


def _band(run: FieldTrajectory) -> dict[str, float]:
    """Lowest and highest energy of all steps."""
    value = dict(zip(BOOKS, run.books.tolist(), strict=False))
    first = value["energy0"]
    low, high = first + value["error_min"], first + value["error_max"]
    return {"low": low, "high": high, "band": high - low, "start": first}


def convergence() -> dict[str, Any]:
    """Errors of positions, root mean squares, after `SHORT` seconds from the smooth start.

    In time at a fixed mesh, against a run with a small step; in space with h ∝ Δs, against a fine
    mesh.
    """
    found: dict[str, Any] = {"t": SHORT}
    fine = _ended(SCHEMES["poisson"], "half", 41, 2e-4 / 64)
    steps = [2e-4 / 2**k for k in range(HALVINGS)]
    for name, scheme in (("printed start", PRINTED), ("staggered start", SCHEMES["poisson"])):
        errors = [_apart(_ended(scheme, "half", 41, h), fine) for h in steps]
        found[name] = {"steps": steps, "errors": errors, "orders": orders(errors)}
    meshes = [(25 * 2**k + 1, 4e-4 / 2**k) for k in range(HALVINGS)]
    fine = _ended(SCHEMES["poisson"], "half", 1601, 4e-4 / 64)
    for cells in ("full", "half"):
        errors = []
        for nodes, h in meshes:
            ended = _ended(SCHEMES["poisson"], cells, nodes, h)
            errors.append(_apart(ended, fine[:: 1600 // (nodes - 1)]))
        found[f"{cells} cells"] = {
            "nodes": [nodes for nodes, _ in meshes], "errors": errors, "orders": orders(errors),
        }  # fmt: skip
    return found


def _apart(one: Vector, other: Vector) -> float:
    return float(np.sqrt(((one - other) ** 2).sum(axis=1).mean()))


def _ended(scheme: Scheme, cells: str, nodes: int, step: float) -> Vector:
    """Positions at the end of a short run."""
    settings = {"nodes": nodes, "step": step, "duration": SHORT, "every": 10**9}
    return simulated(scheme, cells, "smooth", **settings).positions[-1]


# ---- 10⁶ steps --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Long:
    """A run of `MANY` steps: its start (μ⁰ times 1 + nudge), scheme and cells."""

    start: str
    scheme: str
    cells: str = "half"
    nudge: float = 0.0


LONG: dict[str, Long] = {f"{k}, {start}": Long(start, k) for start in STARTS for k in SCHEMES}
LONG["poisson, rough, nudged"] = Long("rough", "poisson", nudge=NUDGE)
LONG["poisson, rough, full cells"] = Long("rough", "poisson", cells="full")


def run_long(study: Study, name: str) -> None:
    """One of the runs of `MANY` steps."""
    study.long[name], said, study.certificates[name] = long_run(LONG[name])
    study.numbers.setdefault("long run", {})[name] = plain(said)


def compare(study: Study) -> None:
    """When the nudged run goes its own way."""
    study.numbers["long run"]["parted"] = parted(study)


def long_run(given: Long) -> tuple[dict[str, Vector], dict[str, Any], Any]:
    """Energies at states of a run of `MANY` steps, what is said about it, and its certificate."""
    nudged = STARTS[given.start]()["momentum0"] * (1 + given.nudge)
    run = simulated(
        SCHEMES[given.scheme], given.cells, given.start, MANY * STEP, momentum0=nudged, every=SELDOM
    )
    curves = {"t": run.t, "energy": run.energy, "modified": modified(run)}
    for name in ("energy", "modified"):
        curves[name] = curves[name] - curves[name][0]
    many = max(int(EARLY * len(run.t)), 2)
    said: dict[str, Any] = {
        "band": run.certificate.energy.band,
        # Ẽ of every step would take longer than the run: both bands are of the stored states, too.
        "stored band": float(np.ptp(curves["energy"])),
        "modified band": float(np.ptp(curves["modified"])),
        "short waves at first": short_waves(run.strain[1 : many + 1]),
        "short waves at last": short_waves(run.strain[-many:]),
        "momenta": {k: float(x.max()) for k, x in momentum_changes(run).items()},
        "steps": MANY,
        "t": float(run.t[-1]),
    }
    for name in ("energy", "modified"):
        eighths = [float(x.mean()) for x in np.array_split(curves[name][1:], 8)]
        said[f"{name}, eighths"] = eighths
    return curves, said, run.certificate


def parted(study: Study) -> float | None:
    """When the energy of the nudged run is off by more than 0.02 J; None if it never is."""
    one, other = (study.long[f"poisson, rough{k}"] for k in ("", ", nudged"))
    away = np.flatnonzero(np.abs(one["energy"] - other["energy"]) > 0.02)
    return float(one["t"][away[0]]) if len(away) else None


def modified(run: FieldTrajectory) -> Vector:
    """E + h²/12 Σ Δs ⟨C γ̇, γ̇⟩ − h²/24 Σ w ⟨F, I⁻¹F⟩, shape (N,).

    What a kick, the free motion of the nodes and another kick conserve up to h⁴, by the formula of
    Baker, Campbell and Hausdorff (HLW, IX.4); F is the force of the strains per length, γ̇ the rate
    of strain.  (n·γ̈ is left out: it is smaller by ζ h.)
    """
    mesh = run.mesh
    assert mesh is not None
    ds, chi, zeta = float(mesh.spacing[0]), run.strain + mesh.reference, run.velocity
    mean = (zeta[:, 1:] + zeta[:, :-1]) / 2
    rate = np.diff(zeta, axis=1) / ds + np.asarray(se3.bracket(chi, mean))
    push = ds / 2 * np.asarray(se3.dual(chi, run.stress))
    force = np.zeros_like(run.momentum)
    force[:, :-1] += run.stress - push
    force[:, 1:] -= run.stress + push
    force /= mesh.weight[:, None]
    bent = ds * np.einsum("tei,eij,tej->t", rate, mesh.stiffness, rate)
    pushed = np.linalg.solve(mesh.inertia, force[..., None])[..., 0]
    kicked = np.einsum("tji,tji,j->t", force, pushed, mesh.weight)
    return run.energy + run.step**2 * (bent / 12 - kicked / 24)


def short_waves(strain: Vector) -> float:
    """Share of the energy of strains, shape (N, edges, 6), in waves shorter than eight edges."""
    stiff = np.diag(beam().stiffness[0])
    power = np.einsum("tei,i->e", dct(strain, axis=1, norm="ortho") ** 2, stiff)
    return float(power[strain.shape[1] // 4 :].sum() / power.sum())


# ---- Table 2 ----------------------------------------------------------------------------------


def timed() -> dict[str, Any]:
    """Seconds for 1000 steps, node by node in NumPy (fewer steps, scaled) and compiled.

    The plain program runs long enough to be interrupted: its time is that of the processor.  At the
    start nothing turns and Newton's method has less to do, so that it is timed 0.1 s later.
    """
    start, run = cs_plain.example(), simulated(duration=0.1, every=1000)
    state = (run.momentum[-1], run.strain[-1], run.frames[-1], run.positions[-1])
    amid = cs_plain.Start(start.beam, *state)
    by_hand: dict[str, list[float]] = {"poisson": [], "hamel": []}
    for _ in range(TIMES):  # in turns, so that a busy machine is busy for both
        for name, times in by_hand.items():
            begin = process_time()
            getattr(cs_plain, name)(amid, STEP, PLAIN, every=PLAIN)
            times.append((process_time() - begin) * COMPILED / PLAIN)
    compiled: dict[str, list[float]] = {"poisson": [], "hamel": []}
    schemes: dict[str, Scheme] = {"poisson": PRINTED, "hamel": Hamel()}
    for _ in range(BEST):
        for name, times in compiled.items():
            run = simulated(schemes[name], duration=COMPILED * STEP, every=COMPILED)
            times.append(run.wall_time)
    plain_run = cs_plain.poisson(start, STEP, 10, every=10)
    ours = simulated(duration=10 * STEP, every=10)
    return {
        "steps": COMPILED,
        "paper": {k: {"poisson": a, "hamel": b} for k, (a, b) in TABLE_2.items()},
        "NumPy": {k: min(v) for k, v in by_hand.items()},
        "NumPy, steps timed": PLAIN,
        "compiled": {k: min(v) for k, v in compiled.items()},
        "NumPy against compiled, strain": float(
            np.abs(plain_run.gamma[-1] - ours.strain[-1]).max()
        ),
    }


# ---- numbers ----------------------------------------------------------------------------------


def run_short(study: Study) -> None:
    """What the example of the paper shows."""
    study.later.update(followed())
    study.read.update(read_back())
    study.numbers.update(numbers(study))


def run_orders(study: Study) -> None:
    """Start and ends."""
    study.numbers |= {"bands": bands(), "convergence": convergence()}


def run_timed(study: Study) -> None:
    """Table 2."""
    study.numbers["table 2"] = timed()


def numbers(study: Study) -> dict[str, Any]:
    """Everything that is measured."""
    first = study.first
    followed = {k: changes(x) for k, x in study.later.items() if k != "band"}
    soon = {k: changes(x, SPAN) for k, x in study.later.items() if k != "band"}
    found: dict[str, Any] = {
        "values": {
            "length": LENGTH, "side": SIDE, "density": DENSITY, "young": YOUNG, "poisson": RATIO,
            "nodes": NODES, "step": STEP,
        },
        "example": {
            "t": SPAN,
            "energy": {**_band(first), "band in 10 s": float(study.later["band"])},
            "kinetic": float(first.kinetic[0]),
            "potential": float(first.potential[0]),
        },
        "momenta": {
            "t": LATER, **followed, f"to {SPAN:g} s": soon,
            "(μⁿ, gⁿ), per length": per_length(study.later["(μⁿ, gⁿ)"]),
        },
        "read back": {
            k: {"largest": float(x[1].max()), "median": float(np.median(x[1][1:]))}
            for k, x in study.read.items() if k != "apart"
        } | {"places of both maps apart": float(study.read["apart"])},
    }  # fmt: skip
    return plain(found)


def per_length(rows: Vector) -> dict[str, float]:
    """Changes up to 1 s if momenta are added up without Δs, or divided by the mass."""
    off = changes(rows, SPAN)
    ds, mass = LENGTH / (NODES - 1), beam("full").mass
    return {"summed": off["P"] / ds, "over the mass": off["P"] / mass}
