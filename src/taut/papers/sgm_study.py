"""SGM's rigid body and what is measured on it.

With x = (A₁ω₁, A₂ω₂, A₃ω₃) and the torque (k x₂, −k x₁, 0),

    ẋ₁ = (A₂ − A₃)/(A₂A₃) x₂x₃ + k x₂,   ẋ₂ = (A₃ − A₁)/(A₃A₁) x₃x₁ − k x₁,
    ẋ₃ = (A₁ − A₂)/(A₁A₂) x₁x₂,

has two integrals: C = |x|², the squared angular momentum, and E = Σ xᵢ²/(2Aᵢ) + k x₃.  The power of
the torque is k (A₂ − A₁) ω₁ω₂ = −k ẋ₃, so that it is the kinetic energy plus k x₃ that stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from taut.errors import InputError
from taut.laws import Law, Laws, conserved
from taut.march.simulate import simulate
from taut.march.trajectory import Trajectory
from taut.methods import Corrected, Method
from taut.model import Drawing, Flow
from taut.papers.numbers import orders, plain
from taut.problems import problem

# The paper gives no numbers: these are ours.
VALUES = {"A1": 1.0, "A2": 2.0, "A3": 3.0, "k": 0.4}
START = (0.4, 1.0, 0.8)
STEP, LONG = 0.1, 10_000.0  # 10⁵ steps
STEPS, SHORT = (0.2, 0.1, 0.05), 50.0
CROWD, SPANS = 200, (50.0, 1000.0, 10_000.0)  # random starts with the same |x|, and times
TOGETHER = 8  # starts of the crowd that run at once: every state of them is kept
HAND = 500  # steps of the formulas by hand
SWING, SWING_STEP = 200, 0.05  # steps of the pendulum
LOST = 1e3  # a velocity at which nothing is left of it
WAYS = ("none", "|x|² alone", "E alone", "both")

Vector = np.ndarray


@dataclass
class Study:
    """Everything that was run and measured.

    Attributes
    ----------
    laws : Laws
        What the search finds with A₁, A₂, A₃, k as symbols.
    runs : dict way → Trajectory
        10⁵ steps of RK4.
    reference : Trajectory
        The same states, accurately.
    hand : dict formula → |x|² after every step
    crowd : dict (way, duration) → error of the path over that of no correction, sorted
    swing : dict formula → (|φ|, |φ̇|) after every step of the pendulum
    numbers : dict
        What is known in the end.
    """

    laws: Laws
    runs: dict[str, Trajectory] = field(default_factory=dict)
    reference: Trajectory | None = None
    hand: dict[str, Vector] = field(default_factory=dict)
    crowd: dict[tuple[str, float], Vector] = field(default_factory=dict)
    swing: dict[str, Vector] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)

    def off(self, way: str) -> Vector:
        """Largest error of a coordinate at every state of a long run."""
        assert self.reference is not None
        return np.abs(self.runs[way].q - self.reference.q).max(axis=1)


# ---- the body ---------------------------------------------------------------------------------


@cache
def body() -> Flow:
    """Equation (24)."""
    x1, x2, x3 = x = sp.symbols("x1:4")
    a1, a2, a3, k = sp.symbols("A1 A2 A3 k")
    return Flow(
        x,
        [
            (a2 - a3) / (a2 * a3) * x2 * x3 + k * x2,
            (a3 - a1) / (a3 * a1) * x3 * x1 - k * x1,
            (a1 - a2) / (a1 * a2) * x1 * x2,
        ],
        drawing=_sphere(x),
    )


def _sphere(x: tuple[sp.Symbol, ...]) -> Drawing:
    """The state on the sphere of its |x|², shown by three great circles."""
    s, radius = sp.Symbol("s"), float(np.linalg.norm(START))
    round_trip = (s, 0, 2 * np.pi)
    a, b = radius * sp.cos(s), radius * sp.sin(s)
    circles = [((a, b, 0), round_trip), ((a, 0, b), round_trip), ((0, a, b), round_trip)]
    return Drawing({"x": x}, curves=circles, down=None)


def integrals() -> tuple[sp.Expr, sp.Expr]:
    """(C, E)."""
    x, (*a, k) = body().variables, body().parameters
    energy = sum((y**2 / (2 * b) for y, b in zip(x, a, strict=True)), sp.Integer(0))
    return sum((y**2 for y in x), sp.Integer(0)), energy + k * x[2]


def ways() -> dict[str, Method | str]:
    """RK4 and what is corrected after each of its steps, once."""
    square, energy = integrals()
    held = ([square], [energy], [square, energy])
    made = [Corrected("rk4", laws) for laws in held]
    return dict(zip(WAYS, ("rk4", *made), strict=True))


def simulated(method: Method | str, step: float, duration: float, **options: Any) -> Trajectory:
    """The body with our numbers."""
    settings = {"q0": START, "parameters": VALUES, "laws": None, **options}
    return simulate(body(), duration=duration, step=step, method=method, **settings)


def accurate(step: float, duration: float, **options: Any) -> Trajectory:
    """DOP853 with a fifth of a step, at the states of a run with `step`."""
    return simulated("dop853", step / 5, duration, every=5, **options)


def run_long(study: Study) -> None:
    """10⁵ steps, every state kept, both integrals watched; and the same states accurately."""
    named = dict(zip(("|x|²", "E"), integrals(), strict=True))
    for way, method in ways().items():
        study.runs[way] = simulated(method, STEP, LONG, laws=named)
    study.reference = accurate(STEP, LONG)


def changes(run: Trajectory) -> tuple[Vector, Vector]:
    """|C − C₀| and |E − E₀| at every state."""
    square, energy = (np.abs(x - x[0]) for x in run.evaluate_all(list(integrals())))
    return square, energy


def beside(change: Vector) -> Vector:
    """The state nearest to the start at which (C, E) differ by `change`, by Gauss–Newton."""
    a, k, x = np.array([VALUES[f"A{i}"] for i in (1, 2, 3)]), VALUES["k"], np.array(START)

    def values(x: Vector) -> Vector:
        return np.array([x @ x, x @ (x / a) / 2 + k * x[2]])

    wanted = values(x) + change
    for _ in range(8):
        slopes = np.array([2 * x, x / a + [0, 0, k]])
        x = x - slopes.T @ np.linalg.solve(slopes @ slopes.T, values(x) - wanted)
    return x


def turns(start: Vector, duration: float = 2000.0) -> float:
    """Mean angular frequency of the motion from a start: the times at which x₁ rises through 0."""
    run = simulated("dop853", STEP / 2, duration, q0=start)
    t, x = run.t, run.q[:, 0]
    rise = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    ends = [np.polyfit(x[i - 2 : i + 4], t[i - 2 : i + 4], 5)[-1] for i in (rise[0], rise[-1])]
    return float(2 * np.pi * (len(rise) - 1) / (ends[1] - ends[0]))


def turning(study: Study) -> dict[str, Any]:
    """How the changes of C and E in a long run change the frequency Ω(C, E) at its end."""
    e = 1e-4
    slopes = [(turns(beside(e * d)) - turns(beside(-e * d))) / (2 * e) for d in np.eye(2)]
    found: dict[str, Any] = {"∂Ω/∂C": slopes[0], "∂Ω/∂E": slopes[1]}
    for way, run in study.runs.items():
        last = [float(x[-1] - x[0]) for x in run.evaluate_all(list(integrals()))]
        parts = [s * x for s, x in zip(slopes, last, strict=True)]
        found[way] = {"by C": parts[0], "by E": parts[1], "together": sum(parts)}
    return found


def crowd() -> dict[tuple[str, float], Vector]:
    """Errors of the path from random starts, as multiples of that without correction, sorted."""
    points = np.random.default_rng(2008).normal(size=(CROWD, 3))
    points *= np.linalg.norm(START) / np.linalg.norm(points, axis=1, keepdims=True)
    groups = np.split(points, np.arange(TOGETHER, CROWD, TOGETHER))
    parts = [furthest(group) for group in groups]
    off = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return {
        (w, span): np.sort(off[w, span] / off["none", span]) for w in WAYS[1:] for span in SPANS
    }


def furthest(points: Vector) -> dict[tuple[str, float], Vector]:
    """Largest error of a coordinate over all steps up to each of `SPANS`, from some starts."""
    reference, found = accurate(STEP, max(SPANS), q0=points).q, {}
    for way, method in ways().items():
        off = np.abs(simulated(method, STEP, max(SPANS), q0=points).q - reference)
        for span in SPANS:
            found[way, span] = off[:, : round(span / STEP) + 1].max(axis=(1, 2))
    return found


# ---- the search -------------------------------------------------------------------------------


def said(model: Flow, proposed: sp.Expr) -> str:
    """What taut says to a proposed integral."""
    try:
        law: Law = conserved(model, proposed=proposed)
    except InputError as error:
        return str(error)
    return f"{law.expression} is conserved; proof: {law.verified}"


def second_order() -> Flow:
    """Equation (21) as printed, with ω̈."""
    w, u = sp.symbols("w1:4"), sp.symbols("u1:4")
    (a1, a2, a3, k) = body().parameters
    return Flow(
        [*w, *u],
        [
            *u,
            ((a2 - a3) * w[1] * w[2] + k * a2 * w[1]) / a1,
            ((a3 - a1) * w[2] * w[0] - k * a1 * w[0]) / a2,
            (a1 - a2) * w[0] * w[1] / a3,
        ],
    )


def searched(laws: Laws) -> dict[str, Any]:
    """What was found, and what taut says to the paper's statements."""
    _, energy = integrals()
    x, (*a, k) = body().variables, body().parameters
    printed = second_order()
    w = printed.variables[:3]
    turn = sum((b**2 * y**2 for b, y in zip(a, w, strict=True)), sp.Integer(0))
    return {
        "laws": [{"expression": str(w.expression), "proof": w.verified} for w in laws],
        "independent": laws.rank,
        "complete": laws.complete,
        "E": said(body(), energy),
        "kinetic energy": said(body(), energy - k * x[2]),
        "(21) as printed, |x|²": said(printed, turn),
        "(21) as printed, laws": len(conserved(printed)),
    }


# ---- the formulas by hand ---------------------------------------------------------------------


def rk4(rate: Callable[[Vector], Vector], y: Vector, h: float) -> Vector:
    """One step of the classical method, in NumPy."""
    one = rate(y)
    two = rate(y + h / 2 * one)
    three = rate(y + h / 2 * two)
    return y + h / 6 * (one + 2 * two + 2 * three + rate(y + h * three))


def rate(x: Vector) -> Vector:
    """The right-hand side of (24) with our numbers, in NumPy."""
    a, k = np.array([VALUES[f"A{i}"] for i in (1, 2, 3)]), VALUES["k"]
    return np.cross(x, x / a) + k * np.array([x[1], -x[0], 0.0])


def printed_27(x: Vector, phi: float) -> Vector:
    """(27) as printed."""
    return -x / 2


def right_27(x: Vector, phi: float) -> Vector:
    """(27) as it follows from (13) and (26)."""
    return -phi * x / (2 * (x @ x))


def exact_27(x: Vector, phi: float) -> Vector:
    """To the nearest point of the sphere."""
    return x * (np.sqrt((x @ x - phi) / (x @ x)) - 1)


POSITIONS = {"none": None, "printed": printed_27, "right": right_27, "exact": exact_27}


def by_hand(formula: Callable[[Vector, float], Vector] | None, steps: int = HAND) -> Vector:
    """The states of RK4 with a formula for Δx after every step."""
    x = np.array(START)
    square, path = x @ x, [x]
    for _ in range(steps):
        x = rk4(rate, x, STEP)
        if formula is not None:
            x = x + formula(x, float(x @ x - square))
        path.append(x)
    return np.array(path)


def printed_28(q: Vector, v: Vector, phi: float) -> Vector:
    """(28) as printed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return -(q @ v) / np.float64(phi) * q


def right_28(q: Vector, v: Vector, phi: float) -> Vector:
    """(28) as it follows from (19) and (20)."""
    return -(q @ v) / (q @ q) * q


VELOCITIES = {"none": None, "printed": printed_28, "right": right_28}


def pendulum(z: Vector) -> Vector:
    """ZG's pendulum as an ODE: q̈ = (0, g) − (|v|² + g y) q/|q|², y down, from φ̈ = 0."""
    q, v, g = z[:2], z[2:], 10.0
    return np.concatenate([v, [0.0, g] - (v @ v + g * q[1]) / (q @ q) * q])


def swing(formula: Callable[[Vector, Vector, float], Vector] | None) -> Vector:
    """(|φ|, |φ̇|) before the correction of every step, the same after it, and the state.

    Positions are corrected by the right (27), then velocities.  The run ends where nothing is left
    of the pendulum.
    """
    z = np.array([*problem("zg-pendulum").q0, 0.0, 0.0])
    found = []
    for _ in range(SWING):
        z = rk4(pendulum, z, SWING_STEP)
        q, v = z[:2], z[2:]
        phi = float(q @ q - 1)
        before = abs(phi), abs(2 * q @ v)
        if formula is not None:
            q = q + right_27(q, phi)
            v = v + formula(q, v, phi)
        z = np.concatenate([q, v])
        found.append([*before, abs(q @ q - 1), abs(2 * q @ v), *z])
        if not np.abs(z).max() < LOST:
            break
    return np.array(found)


def run_by_hand(study: Study) -> None:
    """Every formula for Δx on the body, every one for Δẋ on the pendulum."""
    study.hand.update({name: (by_hand(f) ** 2).sum(axis=1) for name, f in POSITIONS.items()})
    study.swing.update({name: swing(f) for name, f in VELOCITIES.items()})


# ---- numbers ----------------------------------------------------------------------------------


def numbers(study: Study) -> dict[str, Any]:
    """Everything that is measured."""
    return {
        "values": {**VALUES, "start": list(START), "step": STEP},
        "search": searched(study.laws),
        "by hand": _hands(study),
        "long run": {way: _kept(study, way) for way in WAYS},
        "reference": _roads(study),
        "frequency": turning(study),
        "order": _orders(),
        "crowd": {
            f"{way}@{span:g}": {
                "median": float(np.median(x)),
                "better": float(np.mean(x < 1)),
                "lowest": float(x[0]),
                "highest": float(x[-1]),
            }
            for (way, span), x in study.crowd.items()
        },
        "velocities": _swings(study),
        "programming error": mistaken(),
    }


def _hands(study: Study) -> dict[str, Any]:
    """|x|² − C of every formula for Δx, and how far taut's own run is from ours by hand."""
    first = START[0] ** 2 + START[1] ** 2 + START[2] ** 2
    found: dict[str, Any] = {
        name: {
            "largest error": float(np.abs(x - first).max()),
            "after one step": float(x[1] - first),
        }
        for name, x in study.hand.items()
    }
    ours = study.runs["|x|² alone"].q[: HAND + 1]
    found["apart from taut"] = float(np.abs(by_hand(right_27) - ours).max())
    found["x·ẋ"] = float(max(abs(x @ rate(x)) for x in ours))
    return found


def _kept(study: Study, way: str) -> dict[str, Any]:
    """Largest errors of a long run."""
    square, energy = changes(study.runs[way])
    off = study.off(way)
    return {
        "|x|²": float(square.max()),
        "E": float(energy.max()),
        "path": float(off.max()),
        f"path to {SHORT:g}": float(off[: round(SHORT / STEP) + 1].max()),
    }


def _roads(study: Study) -> float:
    """How far the reference is from Gauss–Lobatto of order 8, over all of the long run."""
    assert study.reference is not None
    other = simulated("gauss-lobatto-8", STEP / 2, LONG, every=2)
    return float(np.abs(other.q - study.reference.q).max())


def _orders() -> dict[str, Any]:
    """Largest error of a coordinate over a short time, for falling steps."""
    found = {way: [] for way in WAYS}
    for h in STEPS:
        reference = accurate(h, SHORT)
        for way, method in ways().items():
            found[way].append(float(np.abs(simulated(method, h, SHORT).q - reference.q).max()))
    made = {way: {"errors": errors, "orders": orders(errors)} for way, errors in found.items()}
    return {"t": SHORT, "steps": list(STEPS), **made}


def _swings(study: Study) -> dict[str, Any]:
    """Constraint errors of the pendulum before and after a correction, by formula and by taut."""
    found: dict[str, Any] = {
        name: {
            "steps": len(rows),
            "φ before": float(rows[:, 0].max()),
            "φ̇ before": float(rows[:, 1].max()),
            "φ after": float(rows[:, 2].max()),
            "φ̇ after": float(np.nanmax(rows[:, 3])),
            "φ̇ after one step": float(rows[0, 3]),
        }
        for name, rows in study.swing.items()
    }
    given = problem("zg-pendulum")
    for name, method in (("rk4", "rk4"), ("corrected", Corrected("rk4", [], norm="euclid"))):
        run = given.simulate(
            method=method, step=SWING_STEP, duration=SWING * SWING_STEP, laws=None
        )  # fmt: skip
        found[f"taut, {name}"] = {
            "φ": float(np.abs(run.constraints).max()),
            "φ̇": float(np.abs(run.hidden).max()),
        }
    return plain(found)


def mistaken() -> dict[str, Any]:
    """The body with one wrong sign, watched for both integrals."""
    one, two, three = body().rhs
    k = body().parameters[-1]
    wrong = Flow(body().variables, [one, two.subs(k, -k), three])
    named = dict(zip(("|x|²", "E"), integrals(), strict=True))
    run = simulate(
        wrong, q0=START, parameters=VALUES, duration=SHORT, step=STEP, method="rk4", laws=named
    )
    return {
        "certificate": str(run.certificate),
        "laws": plain(run.certificate.to_dict()["laws"]),
    }
