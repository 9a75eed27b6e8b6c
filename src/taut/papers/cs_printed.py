"""What CS prints: its Table 1, its algorithm, and its misprints with how they are known."""

from __future__ import annotations

from taut.papers.chapter import FLAW, OMISSION, Erratum
from taut.papers.cs_study import READ, SAMPLED, SPAN, TABLE_2, Study
from taut.show.page import Page
from taut.show.style import number

TABLE_1 = [
    ("length", "l", "2π/3", "m"), ("side of the section", "a", "0.1", "m"),
    ("density", "ρ", "1000", "kg/m³"), ("Young's modulus", "E", "10 000 000", "Pa"),
    ("Poisson's ratio", "ν", "0.35", ""),
]  # fmt: skip
ALGORITHM_1 = [
    ("1", "for each n ∈ [1, T]", ""),
    ("2–4", "for each j ∈ [0, J]: solve (53) for μ_{j}ⁿ by Newton's method", ""),
    ("5–7", "for each j ∈ [0, J]: solve the linear system (54) for γ_{j+½}ⁿ",
     "for each j ∈ [0, J − 1]"),
    ("8", "recover the configuration g_{j}ⁿ at all nodes by the Cayley map (55)",
     "with ζⁿ, which (53) has just given, not with the μ before it"),
    ("9", "end", ""),
]  # fmt: skip


def gain(times: dict[str, float]) -> float:
    """By how many per cent the Poisson integrator is quicker."""
    return 100 * (times["hamel"] - times["poisson"]) / times["hamel"]


def seconds(language: str) -> dict[str, float]:
    """What the paper measured."""
    return dict(zip(("poisson", "hamel"), TABLE_2[language], strict=True))


def errata(study: Study) -> list[Erratum]:
    """What is wrong in the paper, and how it is known."""
    found = study.numbers["brackets"]
    wrong, right = found["printed"], found["corrected"]
    read = study.numbers["read back"]
    soon = study.numbers["momenta"][f"to {SPAN:g} s"][SAMPLED]
    return [
        Erratum("(17), first line", "⟨δμ, δf/δγ⟩", "⟨δμ, δf/δμ⟩",
                "the variation of f(γ, μ); the next line of (17) has it right"),
        Erratum("(33), node 0", "−⟨h_γ/Δs + ½[γ, h_γ]∗, f_μ⟩", "−⟨−h_γ/Δs + ½[γ, h_γ]∗, f_μ⟩",
                "antisymmetry; the appendix. As printed {h, h} is "
                f"{number(wrong['{h, h}'], 3)} W after 0.1 s of the example, corrected "
                f"{number(right['{h, h}'])} W"),
        Erratum("(35), (50)", "[γ, …]∗, acting on velocities", "[γ, …]",
                "they are rates of strain"),
        Erratum("(41)", "[γ + e₂, δh/δγ], [δh/δμ, μ]", "[γ + e₂, δh/δγ]∗, [δh/δμ, μ]∗",
                "both act on momenta; (22) and (44) have the stars. Perhaps lost in the scan"),
        Erratum("(50), ends", "⟨h_{μ0}/Δs − ½[χ, h_{μ0}], f_γ⟩ − ⟨h_{μJ}/Δs + ½[χ, h_{μJ}], f_γ⟩",
                "⟨h_{μ0}/Δs + ½[χ, h_{μ0}], f_γ⟩ − ⟨h_{μJ}/Δs − ½[χ, h_{μJ}], f_γ⟩",
                f"antisymmetry: {number(wrong['(50)'])} and {number(right['(50)'])}. (56) puts "
                "these strains to zero, so that the algorithm does not notice"),
        Erratum("Algorithm 1, line 5", "(54) for each j ∈ [0, J]", "for each j ∈ [0, J − 1]",
                "the strain of the edge j + ½ needs ζ_{j+1}, and there are J edges"),
        Erratum("(55)", "cay(Δt D_1⁻¹ μⁿ)", "cay(Δt ζⁿ⁺¹)",
                f"strains read back: off by {number(read['old, 4 × 4']['largest'])} and "
                f"{number(read['new, adjoint']['largest'])}", FLAW),
        Erratum("Table 2 and text", "14.49 %", f"{gain(seconds('Python')):.2f} %",
                "(18.6285 − 15.9470)/18.6285"),
        Erratum("Figs. 2, 3 and text", "momenta constant to 0.0001, without a unit",
                f"changes of {number(soon['P'])} kg m/s and {number(soon['L'])} kg m²/s",
                "what a number without a unit means cannot be decided; over all steps in "
                f"{SPAN:g} s, relative {number(soon['P relative'])} and "
                f"{number(soon['L relative'])}", OMISSION),
        Erratum("Section 4", "the duration, D_1 and D_2 are not printed",
                f"{SPAN:g} s; ρ diag(I, 2I, I, A, A, A), diag(EI, 2GI, EI, GA, EA, GA)",
                "the paper refers to another one for D_1 and D_2", OMISSION),
    ]  # fmt: skip


def maps(page: Page, study: Study) -> None:
    """Which of the two Cayley maps (55) means."""
    apart = study.numbers["read back"]["places of both maps apart"]
    page.text(
        "The Cayley map of (55) is that of 4 × 4 matrices. The one that goes with the brackets of "
        "(53) and (54) is that of 6 × 6 matrices, of the adjoint action; it is what taut uses. "
        f"Over {READ} steps their places differ by {number(apart)} m.",
    )


def algorithm(page: Page, study: Study) -> None:
    """Algorithm 1, line by line."""
    page.heading("Algorithm 1", "algorithm")
    page.text(
        "In words, from momenta μ_{j}⁰ and strains γ_{j+½}⁰ of the start to configurations "
        "g_{j}ⁿ, with γ = 0 beyond both ends, (56). No step is a large system: J + 1 systems of "
        "six nonlinear equations and J of six linear ones.",
    )
    page.table(("line", "paper", "corrected"), ALGORITHM_1, name="algorithm1")
