"""CS recomputed: the geometrically exact beam, its Poisson integrator, and what it keeps.

The example is run as printed and as it should be, beside the Hamel field integrator and a
variational one; the program of the paper is timed in NumPy and compiled.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from taut.papers import cs_figures as draw
from taut.papers.chapter import (
    Certified,
    Chapter,
    Claim,
    Stage,
    Summary,
    corrected,
    undecided,
    verdict,
)
from taut.papers.cs_brackets import run_brackets
from taut.papers.cs_printed import TABLE_1, algorithm, errata, gain, maps, seconds
from taut.papers.cs_study import (
    COMPILED,
    LATER,
    LONG,
    MANY,
    NODES,
    NUDGE,
    PLAIN,
    READ,
    SAMPLED,
    SCHEMES,
    SELDOM,
    SHORT,
    SPAN,
    STEP,
    TABLE_2,
    TEXT,
    Long,
    Study,
    compare,
    run_long,
    run_orders,
    run_short,
    run_timed,
    simulated,
)
from taut.papers.numbers import fixed, rates, ratio
from taut.show.page import Page
from taut.show.style import number

NAMES = {"poisson": "Poisson", "hamel": "Hamel", "variational": "variational"}
LEAD = (
    "The paper writes a geometrically exact beam in Hamel's form, with strains and momenta in "
    "moving frames, discretises its Poisson bracket, and steps in time without a large system of "
    "equations. The scheme works, and is as quick as it can be: every node and every edge by "
    "itself. How well it is said to keep momenta cannot be compared: the number has no unit. "
    "Three changes make it better at no cost: the configuration has to move with the *new* "
    "velocity, the momenta of the start belong half a step earlier, and end nodes weigh half. The "
    "variational scheme that moves the same frames keeps the momenta to round-off for the same "
    "price."
)
KEPT = {"energy": 1.0, "momenta": 1e-4}  # as the paper prints them
# Momenta and energies as printed, with a staggered start, and of Hamel; whole cells at the ends.
WHOLE = ("(μⁿ, gⁿ)", "poisson, full cells", "hamel, full cells")
BANDS = ("printed", "staggered, full cells", "hamel, full cells")
LITTLE = 3  # times, of anything: less differs little; the paper says no more than that word


# ---- beginning --------------------------------------------------------------------------------


def claims(study: Study) -> list[Claim]:
    """What the paper says, what we measure, and whether it agrees."""
    x = study.numbers
    energy, momenta = x["example"]["energy"], x["momenta"]
    soon, later = momenta[f"to {SPAN:g} s"], momenta
    old, new = (x["read back"][k]["largest"] for k in ("old, 4 × 4", "new, adjoint"))
    table = x["table 2"]
    gains = {k: gain(table[k]) for k in ("NumPy", "compiled")}
    wrong, right = (x["brackets"][k] for k in ("printed", "corrected"))
    orders = {k: x["convergence"][k]["orders"][-1] for k in ("printed start", "full cells")}
    bands = tuple(x["bands"][k]["band"] for k in BANDS)
    moved = tuple(soon[k]["P"] for k in WHOLE)
    return [
        Claim("total energy", "kept within an amplitude of 1",
              f"{energy['low']:.2f} … {energy['high']:.2f} J in {SPAN:g} s, band "
              f"{energy['band in 10 s']:.2f} J in {LATER:g} s",
              verdict(energy["band in 10 s"] < 2), ratio(energy["band in 10 s"], KEPT["energy"])),
        *(Claim(f"{word} momentum", "kept to 0.0001, without a unit",
                f"|{k}| = {soon[SAMPLED][f'|{k}|']:.1f} {unit} to {number(soon[SAMPLED][k])} in "
                f"{SPAN:g} s, {number(later[SAMPLED][k])} in {LATER:g} s; "
                f"{number(soon[SAMPLED][f'{k} relative'])} and "
                f"{number(later[SAMPLED][f'{k} relative'])} of itself",
                undecided("the unit and the scale are not printed; see below"))
          for word, k, unit in (("linear", "P", "kg m/s"), ("angular", "L", "kg m²/s"))),
        Claim("(55), g moves with μⁿ", "recovers the configuration",
              f"its strain is off by up to {number(old)}", verdict(old < 1e-2)),
        Claim("(55), g moves with ζⁿ⁺¹", "",
              f"its strain is off by up to {number(new)}",
              corrected(new < 1e-2, "this is what (54) was made with")),
        Claim("(33), (50) are Poisson brackets", "antisymmetric",
              f"as printed off by {number(wrong['(33)'])} and {number(wrong['(50)'])}; corrected "
              f"by {number(right['(33)'])} and {number(right['(50)'])}",
              verdict(max(wrong["(33)"], wrong["(50)"]) < 1e-9, "the appendix has (33) right")),
        Claim("energy, against the Hamel integrator", "differs little",
              f"bands of {_three(bands)} J with Hamel ({SPAN:g} s, whole cells)", _beside(*bands)),
        Claim("momenta, against the Hamel integrator", "differ little",
              f"P changes by {_three(moved)} with Hamel ({SPAN:g} s, whole cells)",
              _beside(*moved)),
        Claim("order of the scheme", "",
              f"{orders['printed start']:.2f} in time, {orders['full cells']:.2f} in space, as "
              "printed",
              "second order with a staggered start and half cells"),
        Claim("quicker than Hamel", "by 14.49 % (Python), 3.22 % (MATLAB)",
              f"by {fixed(gains['NumPy'], 1)} % in NumPy, {fixed(gains['compiled'], 1)} % compiled",
              verdict(gains["compiled"] > 0, _lead(gains["NumPy"])),
              ratio(gains["NumPy"], TEXT["Python"])),
    ]  # fmt: skip


def _three(sizes: tuple[float, ...]) -> str:
    printed, staggered, hamel = map(number, sizes)
    return f"{printed} as printed, {staggered} with a staggered start, {hamel}"


def _beside(printed: float, staggered: float, hamel: float) -> str:
    """Whether a size of the Poisson integrator differs little from Hamel's; one rule for all."""
    times = [max(x, hamel) / min(x, hamel) for x in (printed, staggered)]
    return verdict(
        times[0] < LITTLE,
        f"{number(times[0])} times, with the same start {number(times[1])} times; up to {LITTLE} "
        "would count as little",
    )


def _lead(gain: float) -> str:
    """What may be said of a few per cent in NumPy, on a machine that does other things too."""
    return "but by less in NumPy" if gain > 1 else "in NumPy too close to tell"


def summary(study: Study) -> Summary:
    """The paper in one line."""
    momenta, table = study.numbers["momenta"], study.numbers["table 2"]
    soon = momenta[f"to {SPAN:g} s"][SAMPLED]
    return Summary(
        "A Poisson integrator for the geometrically exact beam keeps energy within 1 and momenta "
        "to 0.0001, and is 14.49 % quicker than the Hamel field integrator.",
        f"Energy is kept as printed, momenta to {number(soon['P relative'])} of their size; the "
        "paper's figure has no unit. Compiled it is "
        f"{fixed(gain(table['compiled']), 1)} % quicker, {_lead(gain(table['NumPy']))}. As printed "
        "it is of first order; a start half a step back and half cells at the ends make it of "
        "second.",
        f"change of P in {SPAN:g} s", "0.0001, no unit", f"{number(soon['P'])} kg m/s",
    )  # fmt: skip


# ---- the example ------------------------------------------------------------------------------


def _example(page: Page, study: Study) -> None:
    x, energy = study.numbers["example"], study.numbers["example"]["energy"]
    page.heading("The example", "example")
    page.table(
        ("beam", "symbol", "paper", "unit, taken to be"), TABLE_1,
        "Table 1: the beam. The paper prints no units", name="table1",
    )  # fmt: skip
    page.text(
        "A beam without loads, both ends free, with a square section, bent to an arc and thrown. "
        f"{NODES} nodes, Δt = {STEP:g} s. D_1 and D_2 are not printed; here they are "
        "ρ diag(I, 2I, I, A, A, A) and diag(EI, 2GI, EI, GA, EA, GA). The duration is not printed "
        f"either: we show {SPAN:g} s, a good two periods of the slowest bending. Energies and "
        "momenta are those of the sums over nodes times Δs.",
    )
    page.figure(
        "motion", draw.motion(study), "The motion.", "Metres and seconds; not in the paper.",
    )  # fmt: skip
    page.figure(
        "fig01", draw.energies(study), "Fig. 1",
        f"Kinetic energy, that of the strains, and their sum as in (49). At the start "
        f"{energy['start']:.2f} J ({x['kinetic']:.2f} and {x['potential']:.2f}); over all steps "
        f"between {energy['low']:.2f} and {energy['high']:.2f} J. Most of the band is not an error "
        "of the scheme: Kⁿ belongs half a step before Vⁿ.",
    )  # fmt: skip
    for k, (angular, word) in enumerate(((False, "linear"), (True, "angular")), start=2):
        page.figure(
            f"fig0{k}", draw.momentum(study, angular), f"Fig. {k}",
            f"Components of the {word} momentum in space"
            + (", about the origin" if angular else "")
            + ", from μⁿ and gⁿ, and what they change by. g moves with the new velocity.",
        )  # fmt: skip


def _momenta(page: Page, study: Study) -> None:
    found = study.numbers["momenta"]
    scaled = found["(μⁿ, gⁿ), per length"]
    page.heading("Are the momenta kept?", "momenta")
    page.text(
        "Figs. 2 and 3 of the paper are said to show momenta that are constant to 0.0001, without "
        "a unit, so that the statement cannot be decided. With (μⁿ, gⁿ) as they stand we find, "
        f"over all steps, {number(found[f'to {SPAN:g} s'][SAMPLED]['P'])} kg m/s in {SPAN:g} s, "
        f"{number(found[f'to {SPAN:g} s'][SAMPLED]['P relative'])} of |P|; added up "
        f"without Δs it would be {number(scaled['summed'])}, divided by the mass "
        f"{number(scaled['over the mass'])} m/s. Part of it is a matter of sampling: μⁿ is the "
        "momentum half a step before gⁿ. With g taken back by that half step, which costs nothing, "
        f"{number(found[f'to {SPAN:g} s']['(μⁿ, gⁿ⁻½)']['P'])} is left. L about the origin changes "
        "more the further the beam flies.",
        "The reason for the rest: in the scheme μ turns by ζ̄ⁿ = (ζⁿ + ζⁿ⁺¹)/2, and g and γ move "
        "with ζⁿ⁺¹. The Hamel integrator moves all of them with one velocity, so that a free node "
        "keeps its momentum exactly; what it changes comes from γ, which is not quite the strain "
        "of the configuration. The variational scheme takes its strain *from* the configuration, "
        "and keeps both momenta to round-off.",
        "Half cells at the ends are right for the beam, and wrong for this start: its jumps shake "
        "the light end nodes most, and P changes by "
        f"{number(found['poisson']['P'] / found['poisson, full cells']['P'])} times more. From a "
        "smooth start it makes no difference.",
    )
    page.figure(
        "kept", draw.kept(study), "Momenta in space.",
        "Distance from the start, as a share of the momentum, from the paper's start. The Poisson "
        "integrator as printed, sampled in three ways; Hamel and variational with half cells.",
    )  # fmt: skip
    rows = {
        "(55) printed, (μⁿ, gⁿ)": "Poisson, g with the old velocity, (μⁿ, gⁿ)",
        "(μⁿ, gⁿ)": "Poisson, (μⁿ, gⁿ)",
        "(μⁿ, gⁿ⁻½)": "Poisson, g at the time of μ",
        "poisson, full cells": "Poisson, staggered start",
        "poisson": "Poisson, staggered start, half cells",
        "hamel, full cells": "Hamel",
        "hamel": "Hamel, half cells",
        "variational": "variational, half cells",
    }
    page.table(
        ("", *(f"{k} in {t:g} s" for t in (SPAN, LATER) for k in ("|P − P₀|", "|L − L₀|"))),
        [
            (label, *(number(span[name][k]) for span in (found[f"to {SPAN:g} s"], found)
                      for k in ("P", "L")))
            for name, label in rows.items()
        ],
        f"Largest changes over all steps; |P| = {found['(μⁿ, gⁿ)']['|P|']:.1f}, |L| = "
        f"{found['(μⁿ, gⁿ)']['|L|']:.1f} with whole cells at the ends, a little less with halves",
    )  # fmt: skip


def _configuration(page: Page, study: Study) -> None:
    found = study.numbers["read back"]
    old, new = found["old, 4 × 4"], found["new, adjoint"]
    page.heading("(55): which velocity?", "configuration")
    page.text(
        "(54) makes the new strain from ζⁿ⁺¹. If frames move with the same velocity, the strain "
        "that is read from neighbouring frames stays beside γ: within "
        f"{number(new['largest'])} over {READ} steps (median {number(new['median'])}). (55) is "
        "printed with μⁿ, the velocity of one step before, and then the configuration lags behind "
        f"the strain by a step: they are {number(old['largest'])} apart (median "
        f"{number(old['median'])}), against a strain of 1 at the start. The waves that the jumps "
        "of the start send along the beam pass an edge in two steps; one step late is far off.",
    )
    page.figure(
        "read", draw.read(study), "Strain of the configuration.",
        "Largest component of the difference to γ, over all edges and the steps of each hundredth "
        "of the time; curvatures in 1/m.",
    )  # fmt: skip


def _start(page: Page, study: Study) -> None:
    found, order = study.numbers["bands"], study.numbers["convergence"]
    page.heading("Start and ends", "start")
    page.text(
        "In (53) and (54) μ and γ leapfrog: μⁿ belongs to t − Δt/2. Taking the momenta of the "
        "start as μ⁰, as printed, is an error of first order; half a step back, "
        "μ⁰ − ½Δt μ̇, keeps second order. And with a whole cell at both end nodes the beam is one "
        "Δs too long; with half cells it is not. taut does both by default; "
        '`taut.Poisson(start="printed")` and `taut.Beam(…, cells="full")` are the paper\'s.',
    )
    page.figure(
        "order", draw.convergence(study), "Orders.",
        f"Root mean square of the errors of positions after {SHORT:g} s, from a smooth start: "
        "strain −sin²(πs/l), μ with sin². Left: 41 nodes with half cells. Right: staggered start.",
    )  # fmt: skip
    page.table(
        ("", "errors", "order at each halving"),
        [
            (name, " · ".join(number(e) for e in order[name]["errors"]),
             rates(order[name]["orders"]))
            for name in ("printed start", "staggered start", "full cells", "half cells")
        ],
    )  # fmt: skip
    page.text(
        "With the paper's start the energy, over all steps: (the band of half cells is a fall in "
        "the first steps, at the jumps of the strain)",
    )
    names = {
        "printed": "as printed, Kⁿ + Vⁿ",
        "printed, K and V at one time": "as printed, ½(Kⁿ + Kⁿ⁺¹) + Vⁿ",
        "staggered, full cells": "staggered start, full cells",
        "staggered, half cells": "staggered start, half cells",
        "hamel, full cells": "Hamel, full cells",
        "hamel, half cells": "Hamel, half cells",
        "variational, half cells": "variational, half cells",
    }
    page.table(
        ("", "lowest [J]", "highest [J]", "band [J]"),
        [
            (label, *(f"{found[name][k]:.3f}" for k in ("low", "high", "band")))
            for name, label in names.items()
        ],
        f"Energy over {SPAN:g} s",
    )


# ---- beyond the paper -------------------------------------------------------------------------


def _long(page: Page, study: Study) -> None:
    found = study.numbers["long run"]
    p, h, v = (found[f"{k}, rough"] for k in SCHEMES)
    smooth = [found[f"{k}, smooth"] for k in SCHEMES]
    page.heading("10⁶ steps", "long")
    page.text(
        f"{MANY * STEP:g} s, with a staggered start and half cells. From the paper's start the "
        f"energy of the Poisson integrator wanders, in a band of {number(p['band'])} J, and not "
        f"with a direction: with μ⁰ changed by {number(NUDGE, 1)} of itself {_elsewhere(found)}. "
        f"With full cells, whose end nodes are less shaken by the "
        f"jumps, the band is {number(found['poisson, rough, full cells']['band'])} J. The energies "
        "of Hamel and of the variational scheme fall slowly, by "
        f"{number(_fall(h))} and {number(_fall(v))} J from the first eighth to the last; their "
        "certificates call it a drift. From a smooth start no energy drifts, in bands of "
        f"{number(max(s['band'] for s in smooth))} J.",
        "The slow fall is no loss. The strain of the paper's start jumps at both ends; waves of "
        "all lengths run along the beam, and as it bends energy moves to the shorter ones: those "
        f"below eight edges hold {_percent(v['short waves at first'])} of the energy of the "
        f"strains at first and {_percent(v['short waves at last'])} at last. What a symplectic "
        "scheme conserves is not E but a modified energy, here Ẽ = E + h²/12 Σ Δs ⟨C γ̇, γ̇⟩ − "
        "h²/24 Σ w ⟨F, I⁻¹F⟩ + …, F being the force on a node; in a wave of frequency ω it is "
        "E (1 + h²ω²/24) on average. With more energy in short waves the same Ẽ means a smaller E. "
        f"Indeed Ẽ falls by only {number(_fall(h, 'modified'))} and "
        f"{number(_fall(v, 'modified'))} J; over every {SELDOM}th state its band is "
        f"{number(v['modified band'])} instead of {number(v['stored band'])} J, and from a smooth "
        f"start {number(smooth[2]['modified band'])} instead of "
        f"{number(smooth[2]['stored band'])} J.",
        "For the Poisson integrator that does not help: the band of Ẽ is "
        f"{number(p['modified band'])} J from the paper's start, that of E over the same states "
        f"{number(p['stored band'])} J. It turns μ with one velocity and "
        "moves γ with another; both are the flow of the kinetic energy, and halves of a "
        "Hamiltonian flow are not Hamiltonian. It is symmetric in time, which keeps smooth motions "
        "from drifting, and where short waves are strong its energy walks at random.",
    )
    page.figure(
        "long-energies", draw.long(study), "Energy and modified energy over 10⁶ steps.",
        f"Means over 2.5 s, of every {SELDOM}th state. What the Poisson integrator does from the "
        "paper's start depends on the last bits of arithmetic, and so on the machine.",
    )  # fmt: skip
    page.table(
        ("", "start", "band of E", "E, stored", "Ẽ, stored", "short waves", "P, stored",
         "L, stored"),
        [
            (_named(given), "the paper's" if given.start == "rough" else given.start,
             number(e["band"]), number(e["stored band"]), number(e["modified band"]),
             f"{_percent(e['short waves at first'])} → {_percent(e['short waves at last'])}",
             number(e["momenta"]["linear"]), number(e["momenta"]["angular"]))
            for name, given in LONG.items() for e in [found[name]]
        ],
        "Energies in J: the band of all steps, and those of E and Ẽ over the stored states, every "
        f"{SELDOM}th one; largest changes of momenta over these, against the sum of the sizes of "
        "the nodes' shares",
    )  # fmt: skip


def _elsewhere(found: dict[str, Any]) -> str:
    when = found["parted"]
    return "nothing changes here" if when is None else f"it goes elsewhere from {when:.0f} s on"


def _named(given: Long) -> str:
    more = ", full cells" if given.cells == "full" else ", nudged" if given.nudge else ""
    return NAMES[given.scheme] + more


def _fall(said: dict[str, Any], name: str = "energy") -> float:
    """From the first eighth of a run to the last."""
    eighths = said[f"{name}, eighths"]
    return eighths[0] - eighths[-1]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _bracket(page: Page, study: Study) -> None:
    found, jacobi = study.numbers["brackets"], study.numbers["brackets"]["Jacobi"]
    page.heading("The discrete bracket", "bracket")
    page.text(
        "Two random functions f, g on a beam of five nodes at a random state: {f, g} + {g, f}, "
        "against the larger of the two, and the rate of energy {h, h} at t = 0.1 s of the example.",
    )
    page.table(
        ("", "(33)", "(50)", "{h, h} [W]"),
        [
            (name, *(number(found[name][k], 3) for k in ("(33)", "(50)", "{h, h}")))
            for name in ("printed", "corrected")
        ],
    )
    page.text(
        "Corrected, (33) is antisymmetric for any algebra; `taut.Field(…).bracket(…)` is it. A "
        "Poisson bracket it is only in the limit: Jacobi's identity fails for ⟨a, γ⟩ and two "
        "momenta Σ w⟨η, μ⟩, Σ w⟨η′, μ⟩ by Δs/4 ⟨a, [χ, [Δη′, Δη]]⟩, Δη being the difference of "
        "neighbours, because the mean of brackets is not the bracket of means. For smooth η that "
        "is of second order in Δs: "
        + ", ".join(
            f"{number(abs(a))} with {n} nodes"
            for n, a in zip(jacobi["nodes"], jacobi["cyclic sum"], strict=True)
        )
        + ", as the formula says. So there is no Poisson structure in γ and μ that the scheme "
        "could keep exactly. There is one where Δs χ is cay⁻¹(g_j⁻¹ g_{j+1}), read from the "
        "frames; the variational scheme does that, and is symplectic.",
    )


def _cost(page: Page, study: Study) -> None:
    table = study.numbers["table 2"]
    page.heading("Table 2: what a step costs", "cost")
    page.text(
        "Algorithm 1 in straightforward NumPy, node by node with Newton's method, is "
        f"`taut.papers.cs_plain`; we time {PLAIN} steps of it in the midst of the motion, the best "
        f"of several, and scale to {COMPILED}. Compiled is taut's own, {COMPILED} steps, the best "
        "of several; to the last bits it is the same (strains differ by "
        f"{number(table['NumPy against compiled, strain'])} after 10 steps).",
    )
    page.table(
        ("", "paper, MATLAB", "paper, Python", "ours, NumPy", "ours ÷ paper", "ours, compiled",
         "ours ÷ paper"),
        [
            *(_row(f"{NAMES[k]} [s]", *(times[k] for times in _columns(table)))
              for k in ("poisson", "hamel")),
            _row("quicker by [%]", *map(gain, _columns(table))),
            ("the same in the text [%]", *(f"{TEXT[k]}" for k in TABLE_2), "", "", "", ""),
        ],
        f"Table 2: seconds for {COMPILED} steps of {NODES} nodes; ratios are to the paper's Python",
        name="table2",
    )  # fmt: skip
    ours, paper = table["compiled"]["poisson"], TABLE_2["Python"][0]
    page.text(
        f"Compiled, a step takes {1e6 * ours / COMPILED:.1f} µs, "
        f"{1e9 * ours / COMPILED / NODES:.0f} ns for a node: "
        f"{table['NumPy']['poisson'] / ours:.0f} times less than in NumPy here, "
        f"{paper / ours:.0f} times less than in the paper's Python on the paper's machine. "
        "The Hamel integrator has one more bracket to evaluate at each node.",
    )


def _columns(table: dict[str, Any]) -> list[dict[str, float]]:
    return [*map(seconds, TABLE_2), table["NumPy"], table["compiled"]]


def _row(label: str, matlab: float, python: float, slow: float, quick: float) -> tuple[str, ...]:
    """The paper's numbers, and ours with their ratios."""
    paper = (f"{x:.4f}" if label.endswith("[s]") else f"{x:.2f}" for x in (matlab, python))
    return (
        label,
        *paper,
        number(slow, 3),
        ratio(slow, python),
        number(quick, 3),
        ratio(quick, python),
    )


# ---- end --------------------------------------------------------------------------------------


def certificates(study: Study) -> list[Certified]:
    """Those of the example and of the long runs."""
    printed = Certified("example", "The example as printed", study.first.certificate)
    return [printed] + [
        Certified(name, f"10⁶ steps: {_named(LONG[name])}, {LONG[name].start} start", certificate)
        for name, certificate in study.certificates.items()
    ]


CHAPTER = Chapter(
    heading="Chen & Shi 2025",
    lead=LEAD,
    begin=Stage("the example", 1, lambda: Study(simulated(every=4))),
    stages=[
        Stage("momenta and configurations", 4, run_short),
        Stage("start, ends, orders", 2, run_orders),
        Stage("brackets", 1, run_brackets),
        Stage(f"{COMPILED} steps, in NumPy and compiled", 4, run_timed),
        *(Stage(f"10⁶ steps: {name}", 3, partial(run_long, name=name)) for name in LONG),
        Stage("10⁶ steps, compared", 1, compare),
    ],
    claims=claims,
    errata=errata,
    summary=summary,
    certificates=certificates,
    sections=[maps, algorithm, _example, _momenta, _configuration, _start, _long, _bracket, _cost],
)
