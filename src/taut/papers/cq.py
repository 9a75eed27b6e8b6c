"""CQ redrawn: Figs 2 to 5 of the paper, a fair comparison with Baumgarte, and what hides in it.

The paper compares its composition with Baumgarte's stabilisation without saying which α and β it
took; here they are swept and the best are used.
"""

from __future__ import annotations

from typing import Any

from taut.march.trajectory import Trajectory
from taut.papers import cq_figures as draw
from taut.papers.chapter import (
    OMISSION,
    Certified,
    Chapter,
    Claim,
    Erratum,
    Stage,
    Summary,
    undecided,
    verdict,
)
from taut.papers.cq_study import (
    INNER,
    INNER_STEPS,
    INNER_TIME,
    SHOWN,
    SPANS,
    SWEEP,
    Study,
    inner,
    numbers,
    position_error,
    runs,
    sweep,
    velocity_error,
)
from taut.papers.numbers import rates, signed
from taut.show.page import Page
from taut.show.style import number

SHORT, LONG = SPANS
LEAD = (
    "Every figure below is drawn from runs in taut with the paper's data: a planar triple "
    "pendulum, step 0.12 s, 60 s. The paper speaks of high accuracy and gives no number; the "
    "symplectic composition keeps both constraints to round-off, and Baumgarte's stabilisation "
    "does not, with any α. The paper does not print its α and β, so the figures here use the best "
    "of a sweep. Two things do not show in the paper's figures: over 60 s the *path* of Baumgarte "
    "with RK4, a method of order 4, is the more accurate one; and the example cannot tell inner "
    "methods apart."
)


# ---- beginning --------------------------------------------------------------------------------


def claims(study: Study) -> list[Claim]:
    """What the paper says, what we measure, and whether it agrees."""
    x, found = study.numbers["runs"], study.numbers["inner methods"]
    ours, theirs = (x[f"{m}@{SHORT:g}"] for m in ("symplectic", "Baumgarte"))
    late = x[f"Baumgarte@{LONG:g}"]
    lost = [a for a, swept in study.numbers["sweep"].items() if swept["lost at"] is not None]
    kept = [found[f"polar, {name}"]["orders"][-1] for name in INNER]
    sharper = ours["position error"] < 1e-6 * theirs["position error"]
    return [
        Claim("symplectic: position constraint", "high accuracy; Fig. 2, no number in the text",
              f"‖g‖ ≤ {number(ours['position error'])} m²",
              _round_off(ours["position error"])),
        Claim("symplectic: velocity constraint", "high accuracy; Fig. 3, no number in the text",
              f"‖G q̇‖ ≤ {number(ours['velocity error'])} m²/s",
              _round_off(ours["velocity error"])),
        Claim("Baumgarte, α not printed", "worse results; Figs. 4 and 5",
              f"‖g‖ ≤ {number(theirs['position error'])} m² at its best, α = β = {study.best:g}",
              verdict(sharper)),
        Claim("the path", "high accuracy; of what is not said",
              f"path off by {number(ours['error of the path'])} m (symplectic), "
              f"{number(theirs['error of the path'])} m (Baumgarte)",
              undecided("of the constraints it is true; the more accurate path is "
                        + min(("the symplectic one", ours), ("Baumgarte's", theirs),
                              key=lambda one: one[1]["error of the path"])[0])),
        Claim("stability", "symplectic: stable",
              f"Baumgarte blows up from α = {min(map(float, lost)):g} on; H falls by "
              f"{number(-late['energy error at the end'])} in {LONG:g} s",
              verdict(bool(lost) and late["energy error at the end"] < -0.1)),
        Claim("inner methods on the example", "any symplectic one",
              f"all the same map, apart by {number(found['gap on the example'])} m",
              "the example cannot tell"),
        Claim("order of the composition", "",
              rates(kept), "two, whatever the inner method"),
    ]  # fmt: skip


def _round_off(error: float) -> str:
    return verdict(True, "it is round-off") if error < 1e-14 else verdict(False)


def summary(study: Study) -> Summary:
    """The paper in one line."""
    x = study.numbers["runs"]
    ours, theirs = (x[f"{m}@{SHORT:g}"] for m in ("symplectic", "Baumgarte"))
    times = ours["error of the path"] / theirs["error of the path"]
    return Summary(
        "A symplectic composition is accurate and stable, and better than Baumgarte's "
        "stabilisation, by the errors of position and velocity constraints.",
        "It keeps both to round-off, and Baumgarte does not, for every α tried. The path over "
        f"{SHORT:g} s is {times:.1f} times further off than that of Baumgarte with RK4; "
        "the energy of Baumgarte runs down.",
        "largest ‖g‖ of the symplectic scheme", "no number", f"{number(ours['position error'])} m²",
    )  # fmt: skip


def errata(study: Study) -> list[Erratum]:
    """What the paper leaves open."""
    x = study.numbers["runs"]
    ours, theirs = (x[f"{m}@{SHORT:g}"]["error of the path"] for m in ("symplectic", "Baumgarte"))
    return [
        Erratum(
            "Example, Baumgarte", "α and β are not printed", f"α = β = {study.best:g}, the best",
            f"every half from {SWEEP[0]:g} to {SWEEP[-1]:g} was tried; see below", OMISSION,
        ),
        Erratum(
            "Example, start", "λ₀ = 0 is given, and not used", "no λ₀ is needed",
            "every step finds its own multipliers", OMISSION,
        ),
        Erratum(
            "Conclusion", "of high accuracy: of what is not said",
            "of the constraints; not of the path",
            f"off by {number(ours)} m (symplectic, order 2) and {number(theirs)} m (Baumgarte, "
            f"order 4) in {SHORT:g} s", OMISSION,
        ),
    ]  # fmt: skip


def _example(page: Page, study: Study) -> None:
    run = study.runs["symplectic", SHORT]
    page.heading("The example", "example")
    page.text(
        "Three masses of 1 kg on rods of 1 m, g = 1 m/s², y up, from q = (½, −√3/2, 0, −√3, 0, "
        "−1 − √3) at rest, H = −1 − (5/2) √3 = −5.33013. Hanging at rest the pendulum has H = −6: "
        f"{number(study.numbers['energy above rest'])} is all the energy there is to lose. The "
        "start λ₀ = 0 that the paper prints has no effect: every step finds its own multipliers.",
        "The paper names the derivation of the canonical equations of a general multibody system "
        "as the obstacle to the use of its algorithm. Here the masses, the potential and the rods "
        "are given, and the equations follow.",
    )
    page.figure(
        "paths", draw.paths(run), "The pendulum (Fig. 1 is a sketch of it).",
        "Start, and paths of the masses for 60 s with the symplectic scheme.",
    )  # fmt: skip


def _symplectic(page: Page, study: Study) -> None:
    run, found = study.runs["symplectic", SHORT], study.numbers["runs"][f"symplectic@{SHORT:g}"]
    page.heading("Symplectic: Figs 2 and 3", "symplectic")
    page.text(
        "A push along G(q_i)ᵀ, a step of the midpoint rule of the free system, a push along "
        "G(q_{i+1})ᵀ; the pushes are such that g = 0 and G q̇ = 0 at the end. `SymplecticRK` with "
        "the midpoint rule. Norms are 2-norms, as in the paper.",
    )
    _residuals(page, run, found, 2)


def _residuals(page: Page, run: Trajectory, found: dict[str, Any], first: int) -> None:
    """Two figures: the errors of both constraints."""
    for k, name, error, label, unit in (
        (first, "position", position_error(run), r"$\|g\|$", "m²"),
        (first + 1, "velocity", velocity_error(run), r"$\|G\dot q\|$", "m²/s"),
    ):
        page.figure(
            f"fig{k:02d}", draw.errors(run.t, error, label, unit), f"Fig. {k}",
            f"Error of the {name} constraints; largest: {number(found[f'{name} error'])} "
            f"{unit}.",
        )  # fmt: skip


def _baumgarte(page: Page, study: Study) -> None:
    run, found = study.runs["Baumgarte", SHORT], study.numbers["runs"][f"Baumgarte@{SHORT:g}"]
    page.heading("Baumgarte: Figs 4 and 5", "baumgarte")
    page.text(
        "The multiplier is taken from g̈ + 2α ġ + β² g = 0, and the ODE that results is integrated "
        f"by the classical Runge–Kutta method. α = β = {study.best:g}: the value in steps of a "
        f"half from {SWEEP[1]:g} to {SWEEP[-1]:g} with the smallest of the largest ‖g‖ in 60 s.",
    )
    _residuals(page, run, found, 4)


def _sweep(page: Page, study: Study) -> None:
    page.heading("Which α?", "sweep")
    page.text(
        "Small α lets the errors of RK4 add up, large α makes the oscillator of the constraints "
        "stiff and feeds it with larger errors. α for which ‖g‖ leaves 10 is counted as blown up. "
        "The best α belongs to this motion and this step; another problem has another one.",
    )
    page.figure(
        "rates", draw.sweep(study), "Largest errors against α = β.",
        "Over 60 s, step 0.12 s. Grey: no pendulum is left.",
    )  # fmt: skip
    page.figure(
        "decay", draw.decay(study), "‖g‖ against time.",
        "For six values of α = β; crosses: ‖g‖ passes 10.",
    )  # fmt: skip
    rows = []
    for alpha in SHOWN:
        found = study.numbers["sweep"][f"{alpha:g}"]
        if found["lost at"] is not None:
            rows.append((f"{alpha:g}", "blows up", "blows up", f"lost at {found['lost at']:.2f} s"))
        else:
            sizes = (number(found[f"{name} error"]) for name in ("position", "velocity"))
            rows.append((f"{alpha:g}", *sizes, signed(found["energy error at the end"])))
    page.table(
        ("α = β", "largest ‖g‖", "largest ‖G q̇‖", "H − H₀ after 60 s"), rows,
        "α = 0 is RK4 on the index-1 equations without stabilisation",
    )  # fmt: skip


def _energy(page: Page, study: Study) -> None:
    found, long = study.numbers["runs"], study.numbers["long run"]
    coarse, fine = long.values()
    late = found[f"symplectic@{LONG:g}"]
    lost = -found[f"Baumgarte@{LONG:g}"]["energy error at the end"]
    share = lost / study.numbers["energy above rest"]
    low, high = found[f"Gauss–Lobatto 4@{LONG:g}"]["energy error"]
    width = high - low
    page.heading("Energy, which the paper does not show", "energy")
    page.text(
        "The energy error of the symplectic scheme has a band of order h²; over 60 s it is larger "
        f"than what Baumgarte loses. But Baumgarte goes on losing: after {LONG:g} s "
        f"{100 * share:.0f} % of the energy above rest is gone. Projected RK4 keeps the "
        "constraints to round-off and loses nearly as much, so the constraints are not the cause. "
        f"A symplectic method of order 4 at the same step stays within {number(width)}; it wanders "
        "as well, since the motion is chaotic and the step is coarse.",
        "At this large step the energy of the symplectic scheme wanders slowly: over "
        f"{LONG:g} s the trend is {_share(late, 'energy drift')} of the band. It comes back: over "
        f"{coarse['duration']:g} s ({coarse['steps']:,} steps) the band is "
        f"{number(coarse['band'])} and the trend {_share(coarse)} of it. With half the step, over "
        f"{fine['duration']:g} s, they are {number(fine['band'])} and {_share(fine)}.",
    )
    page.figure(
        "energies", draw.energies(study), "Energy error.",
        "Left: the paper's 60 s. Right: a hundred times as long.",
    )  # fmt: skip
    rows = [
        (
            label, f"{span:g} s", *map(signed, e["energy error"]),
            signed(e["energy error at the end"]), number(e["position error"]),
            number(e["error of the path"]) + " m" if "error of the path" in e else "",
        )
        for (label, span) in study.runs
        for e in [found[f"{label}@{span:g}"]]
    ]  # fmt: skip
    page.table(
        ("method", "time", "lowest H − H₀", "highest", "at the end", "largest ‖g‖", "off the path"),
        rows,
        "Off the path: largest error of a coordinate against Gauss–Lobatto of order 12",
    )


def _inner(page: Page, study: Study) -> None:
    found = study.numbers["inner methods"]
    ends = [found[f"polar, {name}"]["errors"][-1] for name in ("gauss2", "midpoint")]
    ratio = ends[0] / ends[1]
    page.heading("Inner methods", "inner")
    page.text(
        "The paper names the midpoint rule and the two-stage Gauss rule. On its example, H is a "
        "constant quadratic form of p and a linear potential: the free motion is a polynomial of "
        "degree two, which all of them follow exactly, so they give one map. Largest "
        f"distance over 60 s: {number(found['gap on the example'])} m, which is round-off.",
        "The same pendulum in lengths and angles of its rods (rᵢ, θᵢ, rᵢ = 1) has a mass matrix "
        f"that depends on q. There they differ, at {INNER_STEPS[-1]:g} s by a factor of "
        f"{ratio:.0f}, and all are of order 2. The Gauss rules follow the free flight off the rods "
        "between the pushes almost exactly, so they repeat the map of the Cartesian coordinates. "
        "For the midpoint rule rᵢ = 1 is linear, so that its stage lies on the constraints: the "
        "composition is the midpoint rule of the three angles, which is more accurate here. "
        "A higher order of the inner method buys nothing; a higher order of the whole needs "
        "multipliers at inner stages (Gauss–Lobatto).",
    )
    page.figure(
        "inner-errors", draw.inner(study), "Error against step.",
        "Left: the three methods coincide. Right: the same pendulum in polar coordinates.",
    )  # fmt: skip
    rows = []
    for kind in ("Cartesian", "polar"):
        for name in INNER:
            e = found[f"{kind}, {name}"]
            first, last = (f"{number(e['errors'][k])} at {INNER_STEPS[k]:g} s" for k in (0, -1))
            rows.append((kind, name, first, last, rates(e["orders"])))
    page.table(
        ("coordinates", "inner method", "error", "error", "order at each halving"),
        rows,
        f"Largest error of a Cartesian coordinate at t = {INNER_TIME:g} s",
    )


def _share(found: dict[str, Any], name: str = "drift") -> str:
    share, doubt = 100 * found[name], 100 * found[name.replace("drift", "drift half width")]
    signed, around = (
        (f"{share:+.2f}", f"{doubt:.1g}") if doubt < 1 else (f"{share:+.0f}", f"{doubt:.0f}")
    )
    return f"{signed} ± {around} %".replace("-", "−")


# ---- end --------------------------------------------------------------------------------------


def certificates(study: Study) -> list[Certified]:
    """Those of every run of the chapter but the sweep's."""
    return [
        Certified(f"{label}@{span:g}", f"{label}, {span:g} s", run.certificate)
        for (label, span), run in study.runs.items()
    ]


CHAPTER = Chapter(
    heading="Chongqing 2004",
    lead=LEAD,
    begin=Stage("Baumgarte, for every α", 9, lambda: Study(sweep())),
    stages=[
        Stage("the example, symplectic and otherwise", 1, lambda s: s.runs.update(runs(s.best))),
        Stage("inner methods", 3, lambda s: s.inner.update(inner())),
        Stage("long runs", 4, lambda s: s.numbers.update(numbers(s))),
    ],
    claims=claims,
    errata=errata,
    summary=summary,
    certificates=certificates,
    sections=[_example, _symplectic, _baumgarte, _sweep, _energy, _inner],
)
