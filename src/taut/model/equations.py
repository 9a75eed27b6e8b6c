"""The equations of motion as SymPy, by the Legendre transform in both directions.

From L(q, v, t):  p = L_v,  H = p·v − L,  and

    d/dt L_v − L_q = f − Gᵀλ,            g(q, t) = 0                    (Euler–Lagrange)
    q̇ = H_p,  ṗ = −H_q + f − Gᵀλ,        g(q, t) = 0                    (canonical)

Terms are collected (see `tidy`), and nothing is simplified beyond that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from taut.calls import public
from taut.model.latex import block, excerpt, latex
from taut.model.symbols import t
from taut.model.tidy import blocks, coefficient, inverse, shorter, tidy
from taut.text import tex

if TYPE_CHECKING:
    from taut.model.system import System


LINES = 24  # that a notebook shows
BLOCK = 3  # coordinates that are coupled by the mass, up to which its inverse is written out


@public
@dataclass(frozen=True, repr=False)
class Equations:
    """Both forms of the equations of motion.

    Attributes
    ----------
    lagrangian, hamiltonian : Expr or None
        ``None`` where the Legendre transform has no closed form, or a long one: where the masses of
        more than three coordinates are coupled by functions.
    momenta : list of Eq
        p = L_v(q, v, t).
    euler_lagrange, canonical, constraints : lists of Eq
    multipliers : tuple of Symbol
    """

    lagrangian: sp.Expr | None
    hamiltonian: sp.Expr | None
    momenta: list[sp.Eq]
    euler_lagrange: list[sp.Eq]
    canonical: list[sp.Eq]
    constraints: list[sp.Eq]
    multipliers: tuple[sp.Symbol, ...]

    def latex(self) -> str:
        """All equations as one LaTeX ``aligned`` block."""
        rows = [f"{latex(left)} &= {latex(right)}" for left, right in self._rows()]
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def _rows(self) -> list[tuple[sp.Expr, sp.Expr]]:
        """Left and right sides of all of them."""
        named = ((sp.Symbol("L"), self.lagrangian), (sp.Symbol("H"), self.hamiltonian))
        rows = [(letter, e) for letter, e in named if e is not None]
        equations = (*self.euler_lagrange, *self.canonical, *self.constraints)
        return [*rows, *((x.lhs, x.rhs) for x in equations)]

    def _repr_latex_(self) -> str:
        rows = self._rows()
        shown = [(excerpt(left), excerpt(right)) for left, right in rows[:LINES]]
        if len(rows) > LINES:
            shown.append(("", tex(f"and {len(rows) - LINES} more: print them, or take .latex()")))
        return block(shown)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parts = []
        if self.lagrangian is not None:
            parts.append(f"L = {self.lagrangian}")
        if self.hamiltonian is not None:
            parts.append(f"H = {self.hamiltonian}")
        for title, group in (
            ("Euler–Lagrange", self.euler_lagrange),
            ("canonical", self.canonical),
            ("constraints", self.constraints),
        ):
            if group:
                parts.append(f"{title}:")
                parts += [f"  {e.lhs} = {e.rhs}" for e in group]
        return "\n".join(parts)


def derive(system: System) -> Equations:
    """The equations of `system`; see the module's head for the formulas."""
    q, v, p = system.coordinates, system.velocities, system.momenta
    multipliers = tuple(
        sp.Symbol(f"λ{i}" if system.c > 1 else "λ", real=True) for i in range(system.c)
    )
    pull = [
        -sp.Add(*(lam * g.diff(x) for lam, g in zip(multipliers, system.constraints, strict=True)))
        for x in q
    ]
    push = [f + r for f, r in zip(system.forces, pull, strict=True)]
    if system.form == "lagrangian":
        lagrangian = system.energy_function
        hamiltonian, p_of_v = to_hamiltonian(lagrangian, v, p)
    else:
        hamiltonian = system.energy_function
        lagrangian, p_of_v = to_lagrangian(hamiltonian, v, p)
    euler = _euler_lagrange(lagrangian, q, v, push) if lagrangian is not None else []
    canonical = _canonical(hamiltonian, q, v, p, push) if hamiltonian is not None else []
    return Equations(
        lagrangian=lagrangian,
        hamiltonian=hamiltonian,
        momenta=[sp.Eq(a, b, evaluate=False) for a, b in zip(p, p_of_v or (), strict=False)],
        euler_lagrange=euler,
        canonical=canonical,
        constraints=[sp.Eq(g, 0, evaluate=False) for g in system.constraints],
        multipliers=multipliers,
    )


def to_hamiltonian(lagrangian: sp.Expr, v, p) -> tuple[sp.Expr | None, list[sp.Expr]]:
    """H(q, p, t) and p = L_v(q, v, t); H is ``None`` where v(p) has no closed form."""
    p_of_v = [tidy(lagrangian.diff(x), v) for x in v]
    return _transformed(lagrangian, p_of_v, v, p), p_of_v


def to_lagrangian(hamiltonian: sp.Expr, v, p) -> tuple[sp.Expr | None, list[sp.Expr] | None]:
    """L(q, v, t) and p(q, v, t), both ``None`` where v = H_p cannot be solved for p."""
    lagrangian = _transformed(hamiltonian, [hamiltonian.diff(x) for x in p], p, v)
    if lagrangian is not None and _matrix(lagrangian, v) is not None:
        return lagrangian, [tidy(lagrangian.diff(x), v) for x in v]
    p_of_v = inverted([hamiltonian.diff(x) for x in p], p, v)
    return (None, None) if p_of_v is None else (lagrangian, p_of_v)


def _transformed(energy: sp.Expr, slopes: list[sp.Expr], x, y) -> sp.Expr | None:
    """y·x − f(x) with y = f_x: of f = ½ xᵀA x + b·x + c it is ½ (y − b)ᵀA⁻¹(y − b) − c."""
    matrix = _matrix(energy, x)
    wide = [] if matrix is None else [k for k in blocks(matrix) if len(k) > BLOCK]
    if matrix is not None and any(matrix[k, k].free_symbols for k in wide):
        return None  # its inverse would fill a book
    if matrix is None or wide:
        x_of_y = inverted(slopes, x, y)
        if x_of_y is None:
            return None
        product = sp.Add(*(a * b for a, b in zip(y, x_of_y, strict=True)))
        return product - energy.xreplace(dict(zip(x, x_of_y, strict=True)))
    still = dict.fromkeys(x, sp.Integer(0))
    free = [a - b.xreplace(still) for a, b in zip(y, slopes, strict=True)]
    terms = [-energy.xreplace(still)]
    for group in blocks(matrix):
        adjugate, determinant = inverse(matrix[group, group])
        if determinant == 0:
            return None
        w = sp.Matrix([free[i] for i in group])
        terms.append(tidy((w.T * adjugate * w)[0], y) / (2 * determinant))
    return sp.Add(*terms)


def _matrix(energy: sp.Expr, x) -> sp.Matrix | None:
    """A = f_xx, if it is the same for all x, and regular."""
    slopes = [energy.diff(a) for a in x]
    rows = [[f.diff(a) for a in x] for f in slopes]
    free = set().union(*(e.free_symbols for row in rows for e in row))
    if free & set(x):
        return None
    matrix = sp.Matrix(rows).applyfunc(coefficient)
    return None if any(not any(row) for row in matrix.tolist()) else matrix


def inverted(functions: list[sp.Expr], x, y) -> list[sp.Expr] | None:
    """Solve y = functions(x) for x: by linear algebra if affine, else by `sympy.solve`."""
    matrix = sp.Matrix([[f.diff(s) for s in x] for f in functions])
    if not matrix.free_symbols & set(x):
        rest = [f.xreplace(dict.fromkeys(x, sp.Integer(0))) for f in functions]
        right = sp.Matrix([a - b for a, b in zip(y, rest, strict=True)])
        if matrix.is_diagonal():
            return [right[i] / matrix[i, i] for i in range(len(x))]
        return list(matrix.LUsolve(right))
    equations = [a - f for a, f in zip(y, functions, strict=True)]
    try:
        found = sp.solve(equations, list(x), dict=True, simplify=False)
    except NotImplementedError:
        return None
    return [found[0][s] for s in x] if len(found) == 1 and set(found[0]) == set(x) else None


def _euler_lagrange(lagrangian: sp.Expr, q, v, push) -> list[sp.Eq]:
    a = [sp.Symbol(f"{x.name}_ddot", real=True) for x in q]
    equations = []
    for x, u, f in zip(q, v, push, strict=True):
        momentum = lagrangian.diff(u)
        rate = momentum.diff(t) + sp.Add(
            *(momentum.diff(y) * w for y, w in zip(q, v, strict=True)),
            *(momentum.diff(w) * b for w, b in zip(v, a, strict=True)),
        )
        left = tidy(rate - lagrangian.diff(x), [*a, *v])
        equations.append(sp.Eq(left, f, evaluate=False))
    return equations


def _canonical(hamiltonian: sp.Expr, q, v, p, push) -> list[sp.Eq]:
    speeds = (shorter(hamiltonian.diff(y)) for y in p)
    first = [sp.Eq(u, e, evaluate=False) for u, e in zip(v, speeds, strict=True)]
    rates = [sp.Symbol(f"{y.name}_dot", real=True) for y in p]
    second = [
        sp.Eq(r, shorter(-hamiltonian.diff(x)) + f, evaluate=False)
        for r, x, f in zip(rates, q, push, strict=True)
    ]
    return first + second
