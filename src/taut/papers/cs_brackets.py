"""CS's discrete bracket, (33) and (50), as printed and corrected."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from taut.fields import Field
from taut.lie import se3
from taut.papers import cs_plain
from taut.papers.cs_study import LENGTH, NODES, Study, Vector, beam, simulated
from taut.papers.numbers import orders, plain


def run_brackets(study: Study) -> None:
    """Both brackets, tried."""
    study.numbers["brackets"] = plain(brackets())


def brackets() -> dict[str, Any]:
    """(33) and (50) as printed and corrected: antisymmetry, {h, h}, and Jacobi's identity."""
    run = simulated(duration=0.1, every=1000)
    now = run.strain[-1], run.momentum[-1]
    energy = run.stress[-1], run.velocity[-1]  # its derivatives
    rng, few = np.random.default_rng(2025), 5
    gamma, mu = rng.normal(size=(few + 1, 6)), rng.normal(size=(few, 6))
    f, g = ((rng.normal(size=(few + 1, 6)), rng.normal(size=(few, 6))) for _ in range(2))
    inside = [(x[1:-1], y) for x, y in (f, g)]
    found: dict[str, Any] = {}
    for name, printed in (("printed", True), ("corrected", False)):
        small = _line(few).bracket(gamma[1:-1], mu, printed=printed)
        found[name] = {
            "(33)": _symmetric(small.of(*inside), small.of(*inside[::-1])),
            "(50)": _symmetric(of_50(gamma, mu, f, g, printed), of_50(gamma, mu, g, f, printed)),
            "{h, h}": _line().bracket(*now, printed=printed).of(energy, energy),
        }
    found["Jacobi"] = _jacobi()
    return found


def _line(nodes: int = NODES) -> Field:
    """The beam as a field on se(3)."""
    gamma, mu = sp.symbols("gamma1:7"), sp.symbols("mu1:7")
    section = beam(nodes=nodes)
    inertia, stiffness = (np.diag(x[0]) for x in (section.inertia, section.stiffness))
    kinetic = sum(m**2 / (2 * i) for m, i in zip(mu, inertia, strict=True))
    potential = sum(c * g**2 / 2 for g, c in zip(gamma, stiffness, strict=True))
    return Field(
        se3, kinetic + potential, strain=gamma, momentum=mu, length=LENGTH, nodes=nodes,
        reference=cs_plain.E2, cells="full",
    )  # fmt: skip


def _symmetric(one: float, other: float) -> float:
    """|{f, g} + {g, f}| against the larger of the two."""
    return abs(one + other) / max(abs(one), abs(other))


def of_50(
    gamma: Vector, mu: Vector, f: tuple[Vector, Vector], h: tuple[Vector, Vector], printed: bool
) -> float:
    """{f, h} by (50), with strains γ_{−½} … γ_{J+½} beyond the ends, shape (J + 2, 6).

    f and h are given by their derivatives.  Printed are the end terms
    ⟨h_μ0/Δs − ½[χ, h_μ0], f_γ⟩ − ⟨h_μJ/Δs + ½[χ, h_μJ], f_γ⟩; right is the other sign before
    both brackets.
    """
    ds, chi = LENGTH / (len(mu) - 1), gamma + cs_plain.E2
    (f_gamma, f_mu), (h_gamma, h_mu) = f, h
    sign = -1.0 if printed else 1.0
    inner = np.diff(h_mu, axis=0) / ds + se3.bracket(chi[1:-1], (h_mu[1:] + h_mu[:-1]) / 2)
    first = h_mu[0] / ds + sign / 2 * np.asarray(se3.bracket(chi[0], h_mu[0]))
    last = -h_mu[-1] / ds + sign / 2 * np.asarray(se3.bracket(chi[-1], h_mu[-1]))
    along = np.vstack([first, inner, last])
    pushed = np.asarray(se3.dual(chi, h_gamma))
    push = np.diff(h_gamma, axis=0) / ds - (pushed[1:] + pushed[:-1]) / 2
    own = np.asarray(se3.dual(h_mu, mu))
    return float(np.sum(f_gamma * along) + np.sum((push + own) * f_mu))


def _jacobi() -> dict[str, Any]:
    """The cyclic sum of ⟨a, γ_e⟩ and two momenta Σ w⟨η, μ⟩, against Δs/4 ⟨a, [χ, [Δη′, Δη]]⟩."""
    found: dict[str, Any] = {"nodes": [], "cyclic sum": [], "formula": []}
    for nodes in (26, 51, 101):
        line, middle = _line(nodes), (nodes - 1) // 2
        s = line.places[:, None] / LENGTH
        one = np.sin(3 * s + np.arange(6))
        other = np.cos(2 * s - np.arange(6))
        a, strain = np.arange(1.0, 7.0), np.zeros((nodes - 1, 6))
        strain[:, 0] = -1.0
        bracket = line.bracket(strain, np.ones((nodes, 6)))
        zero, nothing = np.zeros((nodes - 1, 6)), np.zeros((nodes, 6))

        def at(value: Vector, zero: Vector = zero, middle: int = middle) -> Vector:
            made = zero.copy()
            made[middle] = value
            return made

        def moved(eta: Vector, middle: int = middle, a: Vector = a) -> Vector:
            """The derivative by γ of {⟨a, γ⟩, Σ⟨η, μ⟩}."""
            return -np.asarray(se3.dual((eta[middle] + eta[middle + 1]) / 2, a))

        f = (at(a), nothing)
        both = np.asarray(se3.bracket(other, one))
        total = bracket.of(f, (zero, both))
        total += bracket.of((zero, one), (at(-moved(other)), nothing))
        total += bracket.of((zero, other), (at(moved(one)), nothing))
        chi = strain[middle] + cs_plain.E2
        steps = (x[middle + 1] - x[middle] for x in (other, one))
        formula = line.spacing / 4 * float(a @ se3.bracket(chi, se3.bracket(*steps)))
        found["nodes"].append(nodes)
        found["cyclic sum"].append(total / line.spacing)
        found["formula"].append(formula / line.spacing)
    found["orders"] = orders([abs(x) for x in found["cyclic sum"]])
    return found
