"""SGM recomputed: the rigid body with a torque, its two integrals, and what correcting them gives.

The paper prints formulas and no numbers.  The formulas are run as they are printed and as they
should be; the numbers are ours.
"""

from __future__ import annotations

from taut.laws import conserved
from taut.papers import sgm_figures as draw
from taut.papers.chapter import (
    FLAW,
    Certified,
    Chapter,
    Claim,
    Erratum,
    Stage,
    Summary,
    corrected,
    verdict,
)
from taut.papers.numbers import rates, signed
from taut.papers.sgm_study import (
    CROWD,
    HAND,
    LONG,
    SHORT,
    SPANS,
    START,
    STEP,
    STEPS,
    SWING_STEP,
    VALUES,
    WAYS,
    Study,
    body,
    crowd,
    numbers,
    run_by_hand,
    run_long,
)
from taut.show.page import Page
from taut.show.style import number

LEAD = (
    "The paper finds an integral of a rigid body with a torque and proposes to correct every time "
    "step so that the integral keeps its value. It prints no numbers and no figures: everything "
    "below is measured here. The method is right, its formulas for the example are not. The body "
    "has a second integral. Corrected alone, the paper's integral makes the path *worse* over a "
    "long time, for most starts; both together make it much better."
)


# ---- beginning --------------------------------------------------------------------------------


def claims(study: Study) -> list[Claim]:
    """What the paper says, what we measure, and whether it agrees."""
    x = study.numbers
    hand, swings, long, search = (x[k] for k in ("by hand", "velocities", "long run", "search"))
    one, both = (long[way]["path"] / long["none"]["path"] for way in ("|x|² alone", "both"))
    few, many = (x["crowd"][f"{way}@{LONG:g}"]["better"] for way in ("|x|² alone", "both"))
    moved = "not conserved" in search["kinetic energy"]
    return [
        Claim("integrals of the body", "one, |x|²", f"{len(search['laws'])}, both proved",
              verdict(len(search["laws"]) == 1, "(25) is one of them")),
        Claim("what |x|² is", "the energy", "squared angular momentum; the torque does work",
              verdict(not moved, "the energy is E, the other one")),
        Claim("(27), Δx = −x/2", "φ = 0 afterwards",
              f"|x|² from {number(study.hand['none'][0])} to "
              f"{number(study.hand['printed'][1])} at once",
              verdict(hand["printed"]["largest error"] < 1e-9)),
        Claim("(27), Δx = −φ x/(2|x|²)", "",
              f"|φ| ≤ {number(hand['right']['largest error'])} in {HAND} steps",
              corrected(hand["right"]["largest error"] < 1e-14)),
        Claim("(28), divided by φ", "φ̇ = 0 afterwards",
              f"pendulum: |φ̇| = {number(swings['printed']['φ̇ after one step'])} after one step",
              verdict(swings["printed"]["φ̇ after one step"] < 1e-9)),
        Claim("(28), divided by |q|²", "",
              f"pendulum: |φ̇| {number(swings['right']['φ̇ before'])} → "
              f"{number(swings['right']['φ̇ after'])}",
              corrected(swings["right"]["φ̇ after"] < 1e-14)),
        Claim("correcting |x|² alone", "“improve the accuracy”",
              f"path over 10⁵ steps {_times(one)}; of {CROWD} starts {100 * few:.1f} % gain",
              verdict(one < 1 and few > 0.5)),
        Claim("correcting both integrals", "",
              f"path over 10⁵ steps {_times(both)}; of {CROWD} starts {100 * many:.1f} % gain",
              corrected(both < 1 and many > 0.5, "this is the method's merit")),
        Claim("integrals detect programming errors", "“particularly effective”",
              "one wrong sign, and both are off by more than themselves",
              verdict(all(w["largest_change"] > abs(w["first"])
                  for w in x["programming error"]["laws"].values()))),
    ]  # fmt: skip


def _times(ratio: float) -> str:
    size, word = (1 / ratio, "better") if ratio < 1 else (ratio, "worse")
    return f"{size:.0f} times {word}" if size >= 10 else f"{size:.1f} times {word}"


def summary(study: Study) -> Summary:
    """The paper in one line."""
    long = study.numbers["long run"]
    one, both = (long[way]["path"] / long["none"]["path"] for way in ("|x|² alone", "both"))
    left = study.numbers["by hand"]
    return Summary(
        "Correcting an integral of the motion after every step improves the accuracy.",
        f"Corrected alone, the paper's integral makes the path {_times(one)} over 10⁵ steps. With "
        f"the second integral, which taut finds, it is {_times(both)}. Both printed formulas of "
        "the example are wrong.",
        "φ after (27), printed and right", "0",
        f"{number(left['printed']['largest error'])}, {number(left['right']['largest error'])}",
    )  # fmt: skip


def errata(study: Study) -> list[Erratum]:
    """What is wrong in the paper, and how it is known."""
    search, hand = study.numbers["search"], study.numbers["by hand"]
    return [
        Erratum("(14)", "∇φ_j · Δq̇ = −φ_j", "∇φ_j · Δq = −φ_j",
                "with (13) only Δq gives (15); velocities come in (16) to (20)"),
        Erratum("(21)", "A₁ ω̈₁ = …", "A₁ ω̇₁ = …",
                "(24) follows only from ω̇; with ω̈ taut refuses |x|², and a search finds "
                f"{search['(21) as printed, laws']} laws"),
        Erratum("(25)", "“the integral of energy”", "squared angular momentum",
                "the kinetic energy has a rate, k (A_2 − A_1)/(A_1 A_2) x_1 x_2; see below", FLAW),
        Erratum("(27)", "Δqᵢ = −qᵢ/2", "Δqᵢ = −φ qᵢ/(2 |q|²)",
                f"run below: |x|² is off by {number(abs(hand['printed']['after one step']))} after "
                "one step"),
        Erratum("(28)", "Δq̇ᵢ = −(q·q̇) qᵢ/φ", "Δq̇ᵢ = −(q·q̇) qᵢ/|q|²",
                "run below, on a pendulum: φ is near zero"),
    ]  # fmt: skip


def _cause(page: Page, study: Study) -> None:
    hand = study.numbers["by hand"]
    page.text(
        "(27) and (28) have one cause: Σ qᵢ² was replaced by φ, but φ = Σ qᵢ² − C. With C = 0 "
        "the printed formulas would be right, and the body would not turn.",
        "For ẋ = f(x) there is nothing for (28) to correct: x·ẋ = x·f(x) vanishes identically, and "
        f"is below {number(hand['x·ẋ'])} in the run. The formula has a meaning where φ is a "
        "holonomic constraint and positions and velocities are integrated apart.",
    )


# ---- the body ---------------------------------------------------------------------------------


def _integrals(page: Page, study: Study) -> None:
    search = study.numbers["search"]
    page.heading("Two integrals", "integrals")
    page.text(
        "x_i = A_i ω_i with the torque (k x_2, −k x_1, 0), and A_1, A_2, A_3, k as symbols. "
        "`taut.conserved` finds two integrals and proves them:",
    )
    page.folded("taut.conserved(body)", str(study.laws))
    page.text(
        "The second one is 2 A_1 A_2 A_3 times the energy "
        "E = ½ Σ xᵢ²/Aᵢ + k x₃. The torque is that of a rotor along the third axis: the body is "
        "a gyrostat. taut proves E, and refuses the kinetic energy alone; its rate is the power of "
        "the torque, −k ẋ₃:",
    )
    page.folded("What taut says to E", search["E"])
    page.folded("What taut says to the kinetic energy", search["kinetic energy"])
    page.folded("What taut says to |x|² with (21) as printed", search["(21) as printed, |x|²"])
    values = ", ".join(f"{_sub(name)} = {value:g}" for name, value in VALUES.items())
    start = ", ".join(f"{x:g}" for x in START)
    page.text(
        f"The paper gives no numbers. Ours are {values} and x(0) = ({start}), so that |x|² = "
        f"{study.hand['none'][0]:.2g}, all without units; step {STEP:g} unless another one is "
        "named.",
    )
    page.figure(
        "example", draw.body(study), "The example: the motion.",
        "Left: on the sphere |x|² = C; E = const. cuts a curve out of it. Right: the components.",
    )  # fmt: skip


def _sub(name: str) -> str:
    return f"{name[0]}_{name[1]}" if len(name) > 1 else name


def _formulas(page: Page, study: Study) -> None:
    hand = study.numbers["by hand"]
    page.heading("(27), as printed and as it should be", "formulas")
    page.text(
        "RK4 and the formula after every step, written out in NumPy. As printed every component "
        "is halved in every step, whatever φ is: |x|² falls to a quarter, again and again. The "
        "right formula is one Newton step, and needs no second one here: what is left of φ is of "
        f"second order, {number(abs(hand['none']['after one step']))} squared. On a sphere the "
        "nearest point is known, x √(C/|x|²); it gives the same. taut's "
        '`Corrected("rk4", [|x|²])` does what the right formula does by hand, to '
        f"{number(hand['apart from taut'])} after {HAND} steps.",
    )
    page.figure(
        "one-integral", draw.formulas(study), "One integral.",
        "Left: |x|² after the first steps. Right: its error.",
    )  # fmt: skip
    rows = [
        (label, signed(hand[name]["after one step"]), number(hand[name]["largest error"]))
        for name, label in (
            ("none", "not corrected"), ("printed", "(27) printed"), ("right", "(27) right"),
            ("exact", "nearest point"),
        )
    ]  # fmt: skip
    page.table(("", "|x|² − C after one step", f"largest in {HAND} steps"), rows)


def _long(page: Page, study: Study) -> None:
    long, turns = study.numbers["long run"], study.numbers["frequency"]
    none, one, other = (turns[way] for way in WAYS[:3])
    page.heading("10⁵ steps", "long")
    page.text(
        "RK4 loses a little of both integrals in every step. Where one of them is corrected, it is "
        "exact, and the other one goes on changing. The path is not helped: how fast the body "
        "turns depends on both integrals, and the errors that RK4 makes in them cancel in part. At "
        f"the end |x|² has changed the frequency by {number(none['by C'])} and E by "
        f"{signed(none['by E'])}, together {number(none['together'])}. With |x|² alone corrected "
        f"{number(one['together'])} is left, with E alone {number(other['together'])}. With both, "
        "the curve is the right one and only the phase is off, by an error that grows with t "
        "instead of t².",
    )
    page.figure(
        "errors", draw.long(study), "Errors over 10⁵ steps.",
        "Largest so far. Path: largest error of a component, against DOP853 with a fifth of the "
        f"step, which is {number(study.numbers['reference'])} from Gauss–Lobatto of order 8.",
    )  # fmt: skip
    page.table(
        ("corrected", "|x|²", "E", f"path to t = {SHORT:g}", f"path to t = {LONG:g}"),
        [
            (way, *(number(long[way][k]) for k in ("|x|²", "E", f"path to {SHORT:g}", "path")))
            for way in WAYS
        ],
        f"Largest errors, RK4 with step {STEP:g}, one correction per step",
    )


def _order(page: Page, study: Study) -> None:
    found = study.numbers["order"]
    page.heading("The order is kept", "order")
    page.text(
        "A correction is as small as the error of a step, and so cannot spoil the order of RK4. "
        "Where one integral or none is corrected, errors of orders four and five add up, and "
        "fall faster until the smaller order is left.",
    )
    page.table(
        ("corrected", *(f"h = {h:g}" for h in STEPS), "order at each halving"),
        [
            (way, *map(number, found[way]["errors"]),
             rates(found[way]["orders"]))
            for way in WAYS
        ],
        f"Largest error of the path to t = {SHORT:g}",
    )  # fmt: skip


def _crowd(page: Page, study: Study) -> None:
    page.heading("Other starts", "crowd")
    page.text(
        f"One start proves little. From {CROWD} random starts with the same |x|, the error of the "
        "path over its error without correction:",
    )
    page.figure(
        "gains", draw.crowd(study), "Who gains.",
        "Share of the starts whose error is below a multiple of the uncorrected one; left of the "
        "dotted line the correction helps.",
    )  # fmt: skip
    found = study.numbers["crowd"]
    page.table(
        ("corrected", "to t", "median", "best", "worst", "gain"),
        [
            (way, f"{span:g}", *(number(e[k]) for k in ("median", "lowest", "highest")),
             f"{100 * e['better']:.1f} %")
            for way in WAYS[1:] for span in SPANS for e in [found[f"{way}@{span:g}"]]
        ],
        "Error of the path over that without correction",
    )  # fmt: skip


# ---- velocities -------------------------------------------------------------------------------


def _velocities(page: Page, study: Study) -> None:
    found = study.numbers["velocities"]
    right, printed, none = (found[k] for k in ("right", "printed", "none"))
    page.heading("Velocities: (16) to (20)", "velocities")
    page.text(
        "A regular system without constraints has no integral φ(q, t) of the positions alone, so "
        "that the paper's formulas for positions and velocities belong to holonomic constraints. "
        f"ZG's simple pendulum, φ = x² + y² − 1, by RK4 with step {SWING_STEP:g} s: each step "
        f"leaves |φ̇| up to {number(right['φ̇ before'])}, and the correction takes it to "
        f"{number(right['φ̇ after'])}. Without it the errors add up to {number(none['φ̇ after'])} "
        f"in {none['steps']} steps. φ itself is left at {number(right['φ after'])}, the square of "
        "what one step makes of it; iterating takes that to round-off, too.",
        "(28) as printed divides by φ, which is near zero: after one step |φ̇| is "
        f"{number(printed['φ̇ after one step'])}, and after {printed['steps']} steps nothing is "
        "left of the pendulum.",
    )
    page.figure(
        "swing", draw.swing(study), "A pendulum.",
        "After every step; positions are corrected by the right (27) where velocities are.",
    )  # fmt: skip
    page.table(
        ("by hand", "steps", "|φ| before", "|φ̇| before", "|φ| after", "|φ̇| after"),
        [
            (label, f"{e['steps']}",
             *(number(e[f"{name} {when}"]) for when in ("before", "after") for name in ("φ", "φ̇")))
            for name, label in (("none", "not corrected"), ("printed", "(28) printed"),
                                ("right", "(28) right"))
            for e in [found[name]]
        ],
        "Largest before and after the correction of a step",
    )  # fmt: skip
    page.text(
        '`Corrected("rk4", [], norm="euclid")` is the same in taut: '
        f"|φ| ≤ {number(found['taut, corrected']['φ'])}, "
        f"|φ̇| ≤ {number(found['taut, corrected']['φ̇'])}; plain RK4 "
        f"{number(found['taut, rk4']['φ'])} and {number(found['taut, rk4']['φ̇'])}.",
    )


# ---- end --------------------------------------------------------------------------------------


def _mistake(page: Page, study: Study) -> None:
    found = study.numbers["programming error"]
    page.heading("A programming error", "mistake")
    page.text(
        "“Integrals of the motion are also particularly effective in detecting programming "
        "errors.” The body with one sign of k turned round, and both integrals watched:",
    )
    page.folded("The certificate", found["certificate"])
    rates = " and ".join(f"`{law['broken']}`" for law in found["laws"].values())
    page.text(f"taut does not stop at the change: it names the rates that are wrong, {rates}.")


def certificates(study: Study) -> list[Certified]:
    """Those of the long runs."""
    return [Certified(w, f"corrected: {w}", run.certificate) for w, run in study.runs.items()]


CHAPTER = Chapter(
    heading="Shang, Guo & Mei 2008",
    lead=LEAD,
    begin=Stage("the integrals", 1, lambda: Study(conserved(body()))),
    stages=[
        Stage("10⁵ steps, corrected and not", 1, run_long),
        Stage("the formulas by hand", 1, run_by_hand),
        Stage(f"{CROWD} random starts", 15, lambda s: s.crowd.update(crowd())),
        Stage("order and frequency", 1, lambda s: s.numbers.update(numbers(s))),
    ],
    claims=claims,
    errata=errata,
    summary=summary,
    certificates=certificates,
    sections=[_cause, _integrals, _formulas, _long, _order, _crowd, _velocities, _mistake],
)
