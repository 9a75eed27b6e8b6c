"""What a notebook shows of a system: its energy, constraints, forces and parameters.

A system of few parts is written out; one of many terms is shown by its types of term, and how many
there are of each, so that it stays short and quick whatever its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from taut.model.latex import MOST, block, excerpt, latex, listed, name
from taut.model.terms import Term
from taut.text import counted, tex

if TYPE_CHECKING:
    from taut.model.flow import Flow
    from taut.model.system import System

FEW = 12  # terms that are written out
Row = tuple[str, str]


def system_latex(system: System) -> str:
    """A system as one block of equations."""
    rows = [("q", listed(system.coordinates))]
    few = sum(x.instances for x in system.terms) <= FEW
    rows += _written_out(system) if few else _by_type(system.terms)
    return block([*rows, *_values(system.parameters)], repr(system))


def flow_latex(flow: Flow) -> str:
    """A flow as one block of equations."""
    pairs = zip(flow.variables, flow.rhs, strict=True)
    rates = [(name(f"{x.name}_dot"), excerpt(f)) for x, f in pairs]
    return block(_cut(rates), repr(flow))


def _written_out(system: System) -> list[Row]:
    letter = "L" if system.form == "lagrangian" else "H"
    given = [f"g{i}" for i in range(system.c)] == list(system.constraint_names)
    bound = [
        ("0", excerpt(g) + ("" if given else rf"\quad({tex(label)})"))
        for label, g in zip(system.constraint_names, system.constraints, strict=True)
    ]
    pulls = zip(system.coordinates, system.forces, strict=True) if system.forced else ()
    acting = [(rf"f_{{{latex(q)}}}", excerpt(f)) for q, f in pulls if f != 0]
    return [(letter, excerpt(system.energy_function)), *_cut(bound), *_cut(acting)]


def _by_type(terms: tuple[Term, ...]) -> list[Row]:
    rows: list[Row] = []
    for letter, kind in (("L", "lagrangian"), ("H", "hamiltonian")):
        sums = [_sum(x) for x in terms if x.kind == kind]
        rows += [(letter if i == 0 else "", x) for i, x in enumerate(_plus(sums))]
    rows += [
        ("0", rf"{excerpt(e)}\quad({tex(counted(x.instances, 'time'))})")
        for x in terms
        if x.kind == "constraint"
        for e in x.expressions
    ]
    rows += [
        (rf"f_{{{latex(q)}}}", rf"{excerpt(e)}\quad({tex(counted(x.instances, 'time'))})")
        for x in terms
        if x.kind == "force" and not x.dissipates
        for q, e in zip(x.coordinates, x.expressions, strict=True)
        if e != 0
    ]
    sums = [_sum(x) for x in terms if x.dissipates]
    rows += [("R" if i == 0 else "", x) for i, x in enumerate(_plus(sums))]
    return _cut(rows)


def _sum(term: Term) -> str:
    inside = excerpt(term.expressions[0])
    if term.instances == 1:
        return inside
    return rf"\sum_{{\text{{{term.instances} times}}}} \left({inside}\right)"


def _plus(sums: list[str]) -> list[str]:
    return [x if i == 0 else f"+ {x}" for i, x in enumerate(sums)]


def _values(parameters: dict[str, float | None]) -> list[Row]:
    def value(x: float | None) -> str:
        return tex("open") if x is None else latex(sp.Float(f"{x:.6g}") if x % 1 else int(x))

    return _cut([(name(label), value(x)) for label, x in parameters.items()])


def _cut(rows: list[Row]) -> list[Row]:
    """The first of many rows."""
    if len(rows) <= MOST:
        return rows
    return [*rows[: MOST - 1], ("", rf"\vdots\quad({tex(f'{len(rows) - MOST + 1} more')})")]
