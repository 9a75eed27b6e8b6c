"""ZG redrawn: Figs 1–9 and 11–16 of Zhong & Gao 2006, with the paper's numbers beside ours.

Where the page contradicts itself both readings are run and drawn; what the paper claims about
other methods is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from taut.march.trajectory import Trajectory
from taut.papers import PAPERS, zg_figures as draw
from taut.papers.page import Report, written
from taut.papers.zg_study import (
    COMMAND,
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
from taut.show.style import number, percent


def reproduce(out: Path, progress: Callable[[int, int, str], object] | None = None) -> Report:
    """Redraw the paper into `out`: figures, ``index.html`` and ``zg.json``.

    Parameters
    ----------
    out : Path
        Made if it does not exist.
    progress : callable(done, total, what), optional

    Returns
    -------
    Report
    """
    tell = progress or (lambda done, total, what: None)
    tell(0, 5, "the paper's examples")
    study = Study(runs=examples(), rivals={}, order={}, numbers={})
    tell(1, 5, "symplectic Euler, plain and projected")
    study.rivals.update(rivals())
    tell(2, 5, "order of both starts")
    study.order.update(order())
    tell(3, 5, "certificates")
    study.numbers.update(numbers(study))
    tell(4, 5, "figures")
    report = written(page_of(study), Path(out), "zg", study.numbers)
    tell(5, 5, "done")
    return report


def page_of(study: Study) -> Page:
    """The whole page."""
    paper = PAPERS["zg"]
    page = Page("Zhong & Gao 2006, redrawn", f"{paper.source}: *{paper.title}*")
    for write in (
        _summary, _errata, _example_1, _example_2, _comparison, _example_3a, _example_3b, _order,
        _certificates, _how,
    ):  # fmt: skip
        write(page, study)
    return page


# ---- beginning --------------------------------------------------------------------------------


def _summary(page: Page, study: Study) -> None:
    page.heading("In short", "short")
    page.text(
        "Every figure below is drawn from runs in taut, of ZG's time element unless another method "
        "is named, with the paper's data "
        "and steps; the text gives no durations, so they are ours. The method does what the paper "
        "says: constraints hold to round-off at every station, and the energy oscillates between "
        "two values without drift, also over 10⁵ steps. Two of the three printed energies belong "
        "to other data than the printed ones, and the printed start costs the method one order of "
        "accuracy.",
    )
    page.table(
        ("", "paper", "ours", ""),
        _claims(study),
        "The paper's statements, measured; drift as a share of the band",
    )


def _claims(study: Study) -> list[tuple[str, str, str, str]]:
    """What the paper says, what we measure, and whether it agrees."""
    x, starts = study.numbers["examples"], study.numbers["starts"]
    slow, fast = starts["zg-spatial"], starts["zg-spatial-printed"]
    worst = max(e["constraints"] for e in x.values())
    apart = max(e["difference of the forms"] for e in x.values())
    plain, projected = (study.numbers["comparison"][f"{m}@500"] for m in RIVALS[:2])
    ratio = plain["energy slope"] / projected["energy slope"]
    order = study.numbers["order"]
    accurate, printed = (
        order[f"zg-double, {start} start"]["orders"][-1] for start in ("exact", "paper")
    )
    return [
        ("constraints at the stations", "satisfied strictly", f"|g| ≤ {number(worst)}",
         _verdict(worst < 1e-14)),
        ("both forms of the method", "the same results", f"apart by ≤ {number(apart)}",
         _verdict(apart < 1e-10)),
        _energy("2: true H, U = z", "2", x["zg-spherical@0.03"]["energy"],
                "the printed value is the other reading's"),
        _energy("2: true H, U = −z", "2", x["zg-spherical-printed@0.03"]["energy"],
                "but starts near the top"),
        _range("2: H − H₀, step 0.03", x["zg-spherical@0.03"]),
        _range("2: H − H₀, step 0.1", x["zg-spherical@0.1"]),
        ("2: symplectic Euler", "H grows linearly",
         f"{_signed(plain['energy slope'])} per second", _verdict(plain["energy drifts"])),
        ("2: projected symplectic Euler", "H grows linearly",
         f"{_signed(projected['energy slope'])} per second",
         _verdict(projected["energy drifts"], f"{ratio:.0f} times slower")),
        _energy("3a: true H", "3a", x["zg-double@0.01"]["energy"]),
        _range("3a: H − H₀", x["zg-double@0.01"]),
        _energy("3b: true H, printed velocities", "3b", fast["energy as printed"]),
        _energy("3b: true H, velocities (0.1, 0, 0)", "3b", slow["energy as printed"],
                "but the start breaks G q̇ = 0"),
        ("3b: the same after projection", "", _h(slow["energy after projection"]),
         "what can be simulated"),
        _range("3b: H − H₀", x["zg-spatial@0.01"]),
        ("order with p₀ = M q̇₀", "", f"{accurate:.2f}", "taut's start"),
        ("order with p₀ = −∂S₁/∂q₀", "", f"{printed:.2f}", "the paper's start"),
    ]  # fmt: skip


def _verdict(holds: bool, note: str = "") -> str:
    said = "agrees" if holds else "does not agree"
    return f"{said}; {note}" if note else said


def _energy(what: str, example: str, ours: float, note: str = "") -> tuple[str, str, str, str]:
    """A printed energy beside the computed one."""
    return what, _h(TRUE_H[example]), _h(ours), _verdict(abs(ours - TRUE_H[example]) < 5.1e-6, note)


def _range(what: str, found: dict[str, Any]) -> tuple[str, str, str, str]:
    """A band in which the energy stays, also over many steps."""
    long = found["long run"]
    stays = abs(long["drift"]) < 0.02 and long["half width"] < 0.1
    note = f"drift {_share(long['drift'], long['half width'])} in 10⁵ steps"
    return what, "oscillates", _band(found), _verdict(stays, note)


def _share(drift: float, half_width: float) -> str:
    return f"{100 * drift:+.2f} ± {100 * half_width:.1g} %".replace("-", "−")


def _h(energy: float) -> str:
    return f"{energy:.5f}".replace("-", "−")


def _signed(x: float) -> str:
    return ("+" if x > 0 else "") + number(x)


def _band(example: dict[str, Any]) -> str:
    low, high = example["energy error"]
    return f"{_signed(low)} … {_signed(high)}"


def _errata(page: Page, study: Study) -> None:
    slow, fast = (study.numbers["starts"][k] for k in ("zg-spatial", "zg-spatial-printed"))
    page.heading("Errata of the paper", "errata")
    page.items(
        [
            "*Example 2.* The text says that z points down and gives H = |p|²/2 + z, which is "
            "right for z up. With H as printed, which is the problem of Hairer, Lubich & Wanner, "
            "the start (0, sin 0.1, −cos 0.1) lies near the bottom and "
            "H = 0.0018 − cos 0.1 = −0.99320. The printed true H = 0.99680 is "
            "0.0018 + cos 0.1: the potential of z down, U = −z, with the same start, which then "
            "lies near the *top*. Both are drawn.",
            "*Example 3b.* The printed velocities (1, 0, 0) and (2, 0, 0) give "
            f"H = {_h(fast['energy as printed'])}. The printed −28.85251 needs a kinetic energy of "
            "0.015: velocities (0.1, 0, 0) for both masses, momenta (0.1, 0, 0) and (0.2, 0, 0). "
            "Both are drawn.",
            "*Example 3b again.* In either reading q₁·v₁ ≠ 0: the first mass would have to leave "
            "its sphere. taut refuses such a start and offers the nearest consistent one, which "
            f"has H = {_h(slow['energy after projection'])} and "
            f"{_h(fast['energy after projection'])}. The multiplier form of the "
            "method projects silently, so that the error does not show.",
            "*The action.* The printed S_k has inconsistent factors; right is "
            "m [(x_k − x_{k−1})² + (y_k − y_{k−1})²]/(2η) + m g η (y_k + y_{k−1})/2, as in the "
            "paper's own S₁. The printed p₀ has wrong signs and a factor 2; right is "
            "p₀ = m [(x₁ − x₀) + (y₁ − y₀) y₀′]/η − ½ m g η y₀′ with y₀′ = ∂y₀/∂x₀.",
            "*The multipliers.* As printed, λ_k does not occur in the equation for p_{k−1}, so a "
            "step could not be solved. The multiplier that acts at the *old* station makes "
            "g(q_k) = 0 solvable.",
            "*The start.* p₀ = −∂S₁/∂q₀ with q̇₀ taken for (q₁ − q₀)/η is M q̇₀ + (η/2) ∂U/∂q: an "
            "error of first order in η that stays for the whole run, even from rest. "
            "p₀ = M q̇₀ keeps order 2.",
        ]
    )
    page.folded("What taut says to the printed start of example 3b", fast["taut says"])


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
        "fig03", draw.series(panels(lambda r: r.energy - r.energy[0]), "$H - H_0$", 2.1, true=True),
        "Fig. 3",
        f"Energy error; H₀ = {_h(x['zg-spherical@0.03']['energy'])} (left) and "
        f"{_h(x['zg-spherical-printed@0.03']['energy'])} (right). The paper shows H itself. Bands: "
        + "; ".join(f"{_band(x[f'{n}@{h:g}'])} (step {h:g})" for n in names for h in (0.03, 0.1))
        + ".",
    )  # fmt: skip
    for k, letter in enumerate("xyz"):
        page.figure(
            f"fig0{4 + k}", draw.series(panels(lambda r, k=k: r.q[:, k]), f"${letter}$"),
            f"Fig. {4 + k}", f"The {letter} coordinate.",
        )  # fmt: skip
    for k, letter in enumerate("xyz"):
        page.figure(
            f"fig0{7 + k}", draw.series(panels(lambda r, k=k: r.p[:, k]), f"$p_{letter}$"),
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
            m, f"{span:g} s", _signed(e["energy error"][0]), _signed(e["energy error"][1]),
            f"{_signed(e['energy slope'])} ± {number(e['energy slope half width'], 1)}",
            _word(e), number(e["constraints"]),
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
        "Slopes of block means with 95 % intervals that allow for autocorrelation",
    )


def _word(found: dict[str, Any]) -> str:
    if found["energy drifts"]:
        return "drifts"
    return "no drift" if found["energy drift half width"] < 0.1 else "none seen"


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
        draw.series([("", [("", run.t, run.energy - run.energy[0])])], "$H - H_0$", 2.1, true=True),
        "Fig. 12",
        f"Energy error; H₀ = {_h(found['energy'])}, printed: −35.35534. Band: {_band(found)}.",
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
            "$H - H_0$", 2.1, true=True,
        ),
        "Fig. 16",
        f"Energy error; H₀ = {_h(found[0]['energy'])} (left) and {_h(found[1]['energy'])} (right), "
        f"printed: −28.85251. Bands: {_band(found[0])}; {_band(found[1])}.",
    )  # fmt: skip


# ---- end --------------------------------------------------------------------------------------


def _order(page: Page, study: Study) -> None:
    page.heading("Order of both starts", "order")
    page.text(
        "Largest error of a coordinate at one time, against the closed form (examples 1 and 2) or "
        "two fine runs extrapolated (example 3a). *Exact start*: p₀ = M q̇₀. *Paper start*: "
        "p₀ = −∂S₁/∂q₀.",
    )
    page.figure("order", draw.slopes(study), "Error against step.", "Orders from the last halving.")
    rows = []
    for name, _, steps in ORDER:
        for start in ("exact", "paper"):
            found = study.numbers["order"][f"{name}, {start} start"]
            first, last = (f"{number(found['errors'][k])} at {steps[k]:g} s" for k in (0, -1))
            rates = " · ".join(f"{r:.2f}" for r in found["orders"])
            rows.append((draw.TITLES[name], start, first, last, rates))
    page.table(("example", "start", "error", "error", "order at each halving"), rows)


def _certificates(page: Page, study: Study) -> None:
    page.heading("Certificates", "certificates")
    page.text(
        "What taut measures on each run of this page, over all steps: the main figures as a table, "
        "and behind each line the certificate as it prints.",
    )
    page.table(
        (
            "run",
            "largest |g|",
            "largest |G q̇|",
            "band of H",
            "drift / band",
            "symplecticity defect",
        ),
        [_overview(*row) for row in _listed(study)],
    )
    for label, run in _listed(study):
        page.folded(label, str(run.certificate))


def _listed(study: Study) -> list[tuple[str, Trajectory]]:
    """Every run of the page with its label."""
    listed = [
        (f"{example}: {reading}, step {step:g}", study[f"{name}@{step:g}"])
        for example, name, steps, _, reading in READINGS
        for step in steps
    ]
    return listed + [(f"2: {m}, {span:g} s", run) for (m, span), run in study.rivals.items()]


def _overview(label: str, run: Trajectory) -> tuple[str, ...]:
    c = run.certificate
    return (
        label, number(c.max_g), number(c.max_hidden), number(c.energy.band),
        percent(c.energy), number(c.symplecticity),
    )  # fmt: skip


def _how(page: Page, study: Study) -> None:
    page.heading("How this page was made", "how")
    page.text(f"`{COMMAND}`", "All numbers are in `zg.json` beside this page.")
    page.table(("", "version"), list(study.numbers["versions"].items()))
