"""ZG redrawn: Figs 1–9 and 11–16 of Zhong & Gao 2006, with the paper's numbers beside ours.

Where the page contradicts itself both readings are run and drawn; what the paper claims about
other methods is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from taut.papers import zg_figures as draw
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
from taut.papers.numbers import fixed, rates, ratio, signed
from taut.papers.zg_study import (
    LONG,
    ORDER,
    READING,
    READINGS,
    RIVALS,
    SPANS,
    TRUE_H,
    Study,
    examples,
    numbers,
    order,
    rivals,
)
from taut.show.page import Page
from taut.show.style import number

LEAD = (
    "Every figure below is drawn from runs in taut, of ZG's time element unless another method is "
    "named, with the paper's data and steps; the text gives no durations, so they are ours. The "
    "method does what the paper says: constraints hold to round-off at every station, and the "
    "energy oscillates between two values without drift, also over 10⁵ steps. Energies and momenta "
    "are those of momenta projected to the tangent space of the constraints; what the paper's own "
    "momenta give is said beside Figs. 3, 12 and 16. Two of the three "
    "printed energies belong to other data than the printed ones, and the printed start costs the "
    "method one order of accuracy."
)


# ---- beginning --------------------------------------------------------------------------------


def claims(study: Study) -> list[Claim]:
    """What the paper says, what we measure, and whether it agrees."""
    x, starts = study.numbers["examples"], study.numbers["starts"]
    slow, fast = starts["zg-spatial"], starts["zg-spatial-printed"]
    worst = max(e["constraints"] for e in x.values())
    apart = max(e["difference of the forms"] for e in x.values())
    plain, projected = (study.numbers["comparison"][f"{m}@500"] for m in RIVALS[:2])
    slower = plain["energy slope"] / projected["energy slope"]
    order = study.numbers["order"]
    accurate, printed = (
        order[f"zg-double, {start} start"]["orders"][-1] for start in ("exact", "paper")
    )
    return [
        Claim("constraints at the stations", "satisfied strictly", f"|g| ≤ {number(worst)}",
              verdict(worst < 1e-14)),
        Claim("both forms of the method", "the same results", f"apart by ≤ {number(apart)}",
              verdict(apart < 1e-10)),
        _energy("2: true H, U = z", "2", x["zg-spherical@0.03"]["energy"],
                "the printed value is the other reading's"),
        _energy("2: true H, U = −z", "2", x["zg-spherical-printed@0.03"]["energy"],
                "but starts near the top", corrected),
        _range("2: H − H₀, step 0.03", x["zg-spherical@0.03"]),
        _range("2: H − H₀, step 0.1", x["zg-spherical@0.1"]),
        Claim("2: symplectic Euler", "H grows linearly",
              f"{signed(plain['energy slope'])} per second", verdict(plain["energy drifts"])),
        Claim("2: projected symplectic Euler", "H grows linearly",
              f"{signed(projected['energy slope'])} per second",
              verdict(projected["energy drifts"], f"{slower:.0f} times slower")),
        _energy("3a: true H", "3a", x["zg-double@0.01"]["energy"]),
        _range("3a: H − H₀", x["zg-double@0.01"]),
        _energy("3b: true H, printed velocities", "3b", fast["energy as printed"]),
        _energy("3b: true H, velocities (0.1, 0, 0)", "3b", slow["energy as printed"],
                "but the start breaks G q̇ = 0", corrected),
        Claim("3b: the same after projection", "", _h(slow["energy after projection"]),
              "what can be simulated"),
        _range("3b: H − H₀", x["zg-spatial@0.01"]),
        Claim("order with p₀ = M q̇₀", "", f"{accurate:.2f}", "taut's start"),
        Claim("order with p₀ = −∂S₁/∂q₀", "", f"{printed:.2f}", "the paper's start"),
    ]  # fmt: skip


def _energy(
    what: str, example: str, ours: float, note: str = "", judge: Callable[..., str] = verdict
) -> Claim:
    """A printed energy beside the computed one; of data that we corrected, `judge=corrected`."""
    paper = TRUE_H[example]
    said = judge(abs(ours - paper) < 5.1e-6, note)
    return Claim(what, _h(paper), _h(ours), said, ratio(ours, paper))


def _range(what: str, found: dict[str, Any]) -> Claim:
    """A band in which the energy stays, also over many steps."""
    long = found["long run"]
    stays = abs(long["drift"]) < 0.02 and long["half width"] < 0.1
    note = f"drift {_share(long['drift'], long['half width'])} of the band in 10⁵ steps"
    return Claim(what, "oscillates", _band(found), verdict(stays, note))


def _share(drift: float, half_width: float) -> str:
    return f"{100 * drift:+.2f} ± {100 * half_width:.1g} %".replace("-", "−")


def _h(energy: float) -> str:
    return fixed(energy, 5)


def _band(example: dict[str, Any], name: str = "energy error") -> str:
    low, high = example[name]
    return f"{signed(low)} … {signed(high)}"


def _own(examples: Iterable[dict[str, Any]]) -> str:
    """H − H₀ with the momenta of the paper, which are not tangent to the constraints."""
    bands = "; ".join(_band(x, "energy error, own momenta") for x in examples)
    return f"With the paper's own p_k = ∂S_k/∂q_k, which are not tangent: {bands}."


def summary(study: Study) -> Summary:
    """The paper in one line."""
    x = study.numbers["examples"]
    worst = max(e["constraints"] for e in x.values())
    ours, paper = x["zg-double@0.01"]["energy"], TRUE_H["3a"]
    return Summary(
        "A time element keeps constraints strictly at every station, and its energy oscillates "
        "where symplectic Euler's grows.",
        f"Both are so: |g| ≤ {number(worst)}, and no drift in 10⁵ steps. The printed start makes "
        "it a method of first order; without it it is of second.",
        "H of example 3a", _h(paper), _h(ours), ratio(ours, paper),
    )  # fmt: skip


def errata(study: Study) -> list[Erratum]:
    """What is wrong in the paper, and how it is known."""
    slow, fast = (study.numbers["starts"][k] for k in ("zg-spatial", "zg-spatial-printed"))
    projected = [_h(start["energy after projection"]) for start in (slow, fast)]
    return [
        Erratum(
            "(3), the force f", "f = ½ uᵀ(∂M/∂q)u − ∂U/∂q", "½ uᵀ(∂M/∂q)u − Ṁ u − ∂U/∂q",
            "d/dt (M u) = ∂L/∂q − Gᵀλ with Ṁ = (∂M/∂q)·u; in one dimension the term is −½ M′u², "
            "not +½ M′u². The examples have constant masses and do not notice.",
        ),
        Erratum(
            "Example 1, coordinates", "y = r (1 − cos θ)", "y = r cos θ",
            "y is counted downwards from the pivot: with the printed one x² + y² = r² holds for "
            "no θ but ±90°",
        ),
        Erratum(
            "Example 2, true H", "z down, H = |p|²/2 + z, true H = 0.99680",
            "z up and −0.99320, or U = −z and 0.99680",
            "H as printed is the problem of Hairer, Lubich & Wanner; from (0, sin 0.1, −cos 0.1), "
            "near the bottom, it is 0.0018 − cos 0.1. The printed value is 0.0018 + cos 0.1: with "
            "U = −z the same start lies near the *top*. Both are drawn.",
        ),
        Erratum(
            "Example 3b, true H", "velocities (1, 0, 0), (2, 0, 0); −28.85251",
            f"{_h(fast['energy as printed'])}; or velocities (0.1, 0, 0) twice",
            "−28.85251 needs a kinetic energy of 0.015: momenta (0.1, 0, 0) and (0.2, 0, 0). Both "
            "are drawn.",
        ),
        Erratum(
            "Example 3b, start", "q₁·v₁ ≠ 0, in either reading",
            f"projected: H = {projected[0]} or {projected[1]}",
            "The first mass would have to leave its sphere. taut refuses such a start and offers "
            "the nearest consistent one. The multiplier form of the method projects silently, so "
            "that the error does not show.", FLAW,
        ),
        Erratum(
            "Action S_k",
            "∫ m {[(x_{k−1} − x_k)² + (y_k − y_{k−1})²]/(2η²) + g (y_k + y_{k−1})} dt = "
            "(m/2) [(x_k − x_{k−1})² + (y_k − y_{k−1})²]/(2η) + g η (y_k + y_{k−1})",
            "m [(x_k − x_{k−1})² + (y_k − y_{k−1})²]/(2η) + m g η (y_k + y_{k−1})/2",
            "the integral of L over a linear element, and the paper's own S₁",
        ),
        Erratum(
            "Momentum p₀", "m g η y₀′ − m [(x₁ − x₀) − (y₁ − y₀) y₀′]/η",
            "m [(x₁ − x₀) + (y₁ − y₀) y₀′]/η − ½ m g η y₀′ with y₀′ = ∂y₀/∂x₀",
            "−∂S₁/∂x₀ with y₀ a function of x₀",
        ),
        Erratum(
            "Multipliers", "λ_k, at the new station", "λ_{k−1}, at the *old* station",
            "As printed λ_k does not occur in the equation for p_{k−1}, and a step could not be "
            "solved; the multiplier at the old station makes g(q_k) = 0 solvable.",
        ),
        Erratum(
            "Start", "p₀ = −∂S₁/∂q₀ with q̇₀ for (q₁ − q₀)/η", "p₀ = M q̇₀",
            "As printed p₀ is M q̇₀ + (η/2) ∂U/∂q: an error of first order that stays for the whole "
            "run, even from rest. Measured below.", FLAW,
        ),
    ]  # fmt: skip


def _refusal(page: Page, study: Study) -> None:
    said = study.numbers["starts"]["zg-spatial-printed"]["taut says"]
    page.folded("What taut says to the printed start of example 3b", said)


# ---- the examples -----------------------------------------------------------------------------


def _example_1(page: Page, study: Study) -> None:
    run, found = study["zg-pendulum@0.01"], study.numbers["examples"]["zg-pendulum@0.01"]
    page.heading("Example 1: simple pendulum", "example-1")
    page.figure(
        "fig01", draw.circle(run), "Fig. 1",
        "Path of the pendulum (solid) on the unit circle (dashed), step 0.01 s, "
        f"{found['duration']:g} s. Largest | x² + y² − 1 |: {number(found['constraints'])}; "
        f"largest distance from the closed form: {number(found['error'])} m.",
    )  # fmt: skip


def _example_2(page: Page, study: Study) -> None:
    page.heading("Example 2: spherical pendulum", "example-2")
    page.text(
        "Unit mass, length and gravity, q₀ = (0, sin 0.1, −cos 0.1), p₀ = (0.06, 0, 0). Left: H as "
        "printed, z up. Right: z down as printed, so that H₀ is the printed 0.99680. Dashed: step "
        "0.03 s, solid: 0.1 s, as in the paper; 50 s.",
    )
    names = ("zg-spherical", "zg-spherical-printed")
    headings = tuple(READING[n] for n in names)
    steps = (0.1, 0.03)
    page.figure(
        "fig02",
        draw.spaces(
            [(w, [(f"{h:g} s", study[f"{n}@{h:g}"].q) for h in steps])
             for n, w in zip(names, headings, strict=True)],
            down=[False, True],
        ),
        "Fig. 2", "Path of the mass.",
    )  # fmt: skip

    def panels(quantity: Callable[[Any], np.ndarray]) -> list:
        return [
            (w, [(f"{h:g} s", (r := study[f"{n}@{h:g}"]).t, quantity(r)) for h in steps])
            for n, w in zip(names, headings, strict=True)
        ]

    x = study.numbers["examples"]
    page.figure(
        "fig03",
        draw.series(panels(lambda r: r.energy - r.energy[0]), "$H - H_0$", "J", 2.1, true=True),
        "Fig. 3",
        f"Energy error; H₀ = {_h(x['zg-spherical@0.03']['energy'])} (left) and "
        f"{_h(x['zg-spherical-printed@0.03']['energy'])} (right). The paper shows H itself. Bands: "
        + "; ".join(f"{_band(x[f'{n}@{h:g}'])} (step {h:g})" for n in names for h in (0.03, 0.1))
        + f". {_own(x[f'{n}@{h:g}'] for n in names for h in (0.03, 0.1))}",
    )  # fmt: skip
    for k, letter in enumerate("xyz"):
        page.figure(
            f"fig0{4 + k}", draw.series(panels(lambda r, k=k: r.q[:, k]), f"${letter}$", "m"),
            f"Fig. {4 + k}", f"The {letter} coordinate.",
        )  # fmt: skip
    for k, letter in enumerate("xyz"):
        page.figure(
            f"fig0{7 + k}",
            draw.series(panels(lambda r, k=k: r.p[:, k]), f"$p_{letter}$", "kg m/s"),
            f"Fig. {7 + k}", f"The momentum in the direction of {letter}.",
        )  # fmt: skip


def _comparison(page: Page, study: Study) -> None:
    page.heading("Example 2: against symplectic Euler", "comparison")
    found = study.numbers["comparison"]
    page.text(
        "The paper compares its Fig. 3 with a figure of Hairer, Lubich & Wanner in which the "
        "energy of symplectic Euler, and of symplectic Euler with projection, grows linearly. "
        "Here all three run from the same start near the bottom with step 0.03 s (p implicit, q "
        "explicit). The energy of plain symplectic Euler grows and the mass leaves the sphere. "
        "Projection repairs the constraint; the growth that remains is smaller than the "
        "oscillation for 50 s and is plain after 500 s. The time element has none.",
    )
    rows = [
        (
            m, f"{span:g} s", signed(e["energy error"][0]), signed(e["energy error"][1]),
            f"{signed(e['energy slope'])} ± {number(e['energy slope half width'], 1)}",
            e["fate of the energy"], number(e["constraints"]),
        )
        for m in RIVALS
        for span in SPANS
        for e in [found[f"{m}@{span:g}"]]
    ]  # fmt: skip
    page.figure(
        "rivals", draw.rivalry(study), "Three methods.",
        "Energy error over 50 s and over 500 s; note the powers of ten.",
    )  # fmt: skip
    page.table(
        ("method", "time", "lowest H − H₀", "highest H − H₀", "slope per s", "", "largest |g|"),
        rows,
        "Slopes of block means with 95 % intervals that allow for autocorrelation, and the "
        "verdicts of the certificates below",
    )


def _example_3a(page: Page, study: Study) -> None:
    run, found = study["zg-double@0.01"], study.numbers["examples"]["zg-double@0.01"]
    page.heading("Example 3a: planar double pendulum", "example-3a")
    page.text(
        "m₁ = 1, m₂ = 2, r₁ = r₂ = 1, g = 10, y down; from q₁ = (1, 1)/√2, q₂ = (0, √2) at rest; "
        f"step 0.01 s, {found['duration']:g} s. (Fig. 10 is a sketch of the model.)",
    )
    page.figure(
        "fig11", draw.plane(run), "Fig. 11", "Path of the second mass.",
    )  # fmt: skip
    page.figure(
        "fig12",
        draw.series(
            [("", [("", run.t, run.energy - run.energy[0])])], "$H - H_0$", "J", 2.1, true=True
        ),
        "Fig. 12",
        f"Energy error; H₀ = {_h(found['energy'])}, printed: −35.35534. Band: {_band(found)}. "
        f"{_own([found])}",
    )  # fmt: skip


def _example_3b(page: Page, study: Study) -> None:
    page.heading("Example 3b: spatial double pendulum", "example-3b")
    names = ("zg-spatial", "zg-spatial-printed")
    headings = tuple(READING[n] for n in names)
    starts = study.numbers["starts"]
    page.text(
        "The same masses and rods in space, z down, from q₁ = (1, 1, 1)/√3, q₂ = (0, 0, 2)/√3; "
        "step 0.01 s, 20 s. Left: the velocities that have the printed energy. Right: the printed "
        "velocities. Both starts are projected onto G q̇ = 0.",
    )
    page.table(
        ("reading", "H as given", "printed", "|G v| as given", "H after projection"),
        [
            (w, _h(s["energy as printed"]), "−28.85251", number(s["G v as printed"]),
             _h(s["energy after projection"]))
            for n, w in zip(names, headings, strict=True) for s in [starts[n]]
        ],
    )  # fmt: skip
    runs = [study[f"{n}@0.01"] for n in names]
    for k, (title, path) in enumerate(
        (
            ("Path of the first mass.", lambda q: q[:, :3]),
            ("Path of the second mass relative to the first.", lambda q: q[:, 3:] - q[:, :3]),
            ("Path of the second mass.", lambda q: q[:, 3:]),
        )
    ):
        panels = [(w, [("", path(r.q))]) for r, w in zip(runs, headings, strict=True)]
        page.figure(f"fig{13 + k}", draw.spaces(panels, [True, True]), f"Fig. {13 + k}", title)
    found = [study.numbers["examples"][f"{n}@0.01"] for n in names]
    page.figure(
        "fig16",
        draw.series(
            [(w, [("", r.t, r.energy - r.energy[0])]) for r, w in zip(runs, headings, strict=True)],
            "$H - H_0$", "J", 2.1, true=True,
        ),
        "Fig. 16",
        f"Energy error; H₀ = {_h(found[0]['energy'])} (left) and {_h(found[1]['energy'])} (right), "
        f"printed: −28.85251. Bands: {_band(found[0])}; {_band(found[1])}. {_own(found)}",
    )  # fmt: skip


# ---- end --------------------------------------------------------------------------------------


def _order(page: Page, study: Study) -> None:
    page.heading("Order of both starts", "order")
    page.text(
        "Largest error of a coordinate at one time, against the closed form (examples 1 and 2) or "
        "two fine runs extrapolated (example 3a). *Exact start*: p₀ = M q̇₀. *Paper start*: "
        "p₀ = −∂S₁/∂q₀.",
    )
    page.figure(
        "errors", draw.slopes(study), "Error against step.", "Orders from the last halving."
    )
    rows = []
    for name, _, steps in ORDER:
        for start in ("exact", "paper"):
            found = study.numbers["order"][f"{name}, {start} start"]
            first, last = (f"{number(found['errors'][k])} at {steps[k]:g} s" for k in (0, -1))
            rows.append((draw.TITLES[name], start, first, last, rates(found["orders"])))
    page.table(("example", "start", "error", "error", "order at each halving"), rows)


def certificates(study: Study) -> list[Certified]:
    """Those of every run of the chapter."""
    listed = [
        (f"{name}@{step:g}", f"{example}: {reading}, step {step:g}", study[f"{name}@{step:g}"])
        for example, name, steps, _, reading in READINGS
        for step in steps
    ]
    listed += [
        (f"{m}@{span:g}", f"2: {m}, {span:g} s", run) for (m, span), run in study.rivals.items()
    ]
    return [Certified(key, label, run.certificate) for key, label, run in listed]


CHAPTER = Chapter(
    heading="Zhong & Gao 2006",
    lead=LEAD,
    begin=Stage("the paper's examples", 2, lambda: Study(examples())),
    stages=[
        Stage("symplectic Euler, plain and projected", 1, lambda s: s.rivals.update(rivals())),
        Stage("order of both starts", 1, lambda s: s.order.update(order())),
        Stage(f"{LONG} steps of each", 6, lambda s: s.numbers.update(numbers(s))),
    ],
    claims=claims,
    errata=errata,
    summary=summary,
    certificates=certificates,
    sections=[
        _refusal, _example_1, _example_2, _comparison, _example_3a, _example_3b, _order,
    ],
    drawing=9,
)  # fmt: skip
