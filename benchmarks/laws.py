"""Three roads to the same laws: a prime field, SymPy, floating-point numbers.

For every model of tests/laws/cases.py the dimension of the space of laws in one ansatz is computed
(the constant is not counted):

* **prime field**: the search of `taut.conserved`, `Search.null_space`;
* **SymPy**: D I written out, expanded, collected, and a DomainMatrix null space over ℚ, with the
  functions of the ansatz as symbols;
* **SVD**: values at random points in floating-point numbers, and singular values below 10⁻⁸.

`taut.conserved` is timed as a whole too: it finds the coefficients, leaves products out, proves
what it found and bounds what there can be.  The other roads have numbers instead of parameters.
A road that takes longer than its limit is stopped.

`python benchmarks/laws.py [NAME …]` prints a table.
"""

from __future__ import annotations

import multiprocessing
import runpy
import sys
import time
from pathlib import Path

import numpy as np
import sympy as sp
from scipy.linalg import qr
from sympy.polys.matrices import DomainMatrix

import taut
from taut.laws.dynamics import Dynamics
from taut.laws.find import Finder

CASES = runpy.run_path(str(Path(__file__).parents[1] / "tests" / "laws" / "cases.py"))["CASES"]
LIMIT = 6.0  # seconds for each of the other roads
SMALL = 1e-8
HEAD = (
    "problem", "degree", "functions", "conserved", "laws", "independent",
    "prime field", "SymPy", "SVD",
)  # fmt: skip


def numbered(d: Dynamics) -> dict[sp.Symbol, sp.Rational]:
    """Numbers for the parameters."""
    return {s: sp.Rational(k + 2, 3) for k, s in enumerate(d.parameters)}


# ---- SymPy ---------------------------------------------------------------------------------------


def rates(d: Dynamics, values: dict) -> dict[sp.Symbol, sp.Expr]:
    """ẋ of the whole state, with multipliers eliminated, by solving symbolically."""
    found = {x: e.subs(values) for x, e in d.explicit.items()}
    if d.rates_of:
        n, c = len(d.rates_of), len(d.constraints)
        matrix, right = sp.zeros(n + c, n + c), sp.zeros(n + c, 1)
        for i in range(n):
            right[i] = d.right[i]
            for j in range(n):
                matrix[i, j] = d.mass[i][j]
        for k in range(c):
            right[n + k] = d.bends[k]
            for i in range(n):
                matrix[i, n + k], matrix[n + k, i] = d.jacobian[k][i], d.slopes[k][i]
        solved = matrix.subs(values).LUsolve(right.subs(values))
        found |= dict(zip(d.rates_of, solved[:n], strict=True))
    return {**found, taut.t: sp.Integer(1)}


def as_symbols(e: sp.Expr, names: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    """Functions of the ansatz by their symbols: b^(k·p) as the k-th power of the one for b^p."""
    if e in names:
        return names[e]
    if isinstance(e, sp.Pow) and e.exp.is_Rational:
        for g, s in names.items():
            if isinstance(g, sp.Pow) and g.base == e.base and (e.exp / g.exp).is_Integer:
                return s ** (e.exp / g.exp)
    return e.func(*(as_symbols(x, names) for x in e.args)) if e.args else e


def by_sympy(name: str, degree: int) -> int:
    """The dimension that expansion and collection give."""
    finder = Finder(CASES[name]()[0], (), 2)
    d, ansatz = finder.dynamics, finder.ansatz(degree)
    values = numbered(d)
    moves = rates(d, values)
    names = {g.subs(values): sp.Dummy() for g in (*ansatz.generators, *ansatz.single)}
    slopes = {}
    for g, s in names.items():
        total = sum(g.diff(x) * e for x, e in moves.items() if g.has(x))
        slopes[s] = as_symbols(sp.sympify(total), names)
    symbols = list(names.values())
    generators = symbols[: len(ansatz.generators)]
    columns = [
        sp.Mul(*(g**k for g, k in zip(generators, map(int, row), strict=True)))
        for row in ansatz.exponents
    ] + symbols[len(ansatz.generators) :]
    below = sp.Integer(1)
    for e in slopes.values():
        below = sp.lcm(below, sp.denom(sp.together(e)))
    slopes = {s: sp.cancel(e * below) for s, e in slopes.items()}
    collected = [
        sp.Poly(sp.expand(sum(m.diff(s) * e for s, e in slopes.items())), *symbols).as_dict()
        for m in columns
    ]
    places = list({exponents for column in collected for exponents in column})
    rows = [[column.get(place, sp.Integer(0)) for column in collected] for place in places]
    matrix = DomainMatrix.from_list_sympy(len(rows), len(columns), rows)
    return matrix.convert_to(sp.QQ).nullspace().shape[0] - 1


# ---- floating-point numbers ----------------------------------------------------------------------


def by_svd(name: str, degree: int) -> int:
    """The dimension that singular values give."""
    finder = Finder(CASES[name]()[0], (), 2)
    d, ansatz = finder.dynamics, finder.ansatz(degree)
    values = numbered(d)
    state = [*d.state, taut.t]
    rng = np.random.default_rng(1)
    functions = (*ansatz.generators, *ansatz.single)
    of = sp.lambdify(state, [g.subs(values) for g in functions])
    slopes = sp.lambdify(state, [[g.diff(x).subs(values) for x in state] for g in functions])
    push = pushes(d, values, state)
    exponents = ansatz.exponents
    count, single = ansatz.columns + 40, len(ansatz.single)
    left, right = np.zeros((2, count, ansatz.columns))
    for row in range(count):
        x = on_variety(d, values, state, rng.uniform(0.3, 1.7, len(state)))
        g = np.array(of(*x), dtype=float)
        dg = np.array(slopes(*x), dtype=float) @ push(x)
        plain, moved = (g[: len(g) - single], dg[: len(g) - single])
        monomials = np.prod(plain**exponents, axis=1)
        left[row] = [*monomials, *g[len(g) - single :]]
        right[row] = [*(monomials * (exponents @ (moved / plain))), *dg[len(g) - single :]]
    _, triangle, order = qr(left / np.abs(left).max(axis=0), mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    kept = order[sizes > SMALL * sizes[0]]
    size = np.linalg.svd(right[:, kept] / np.abs(left[:, kept]).max(axis=0), compute_uv=False)
    return int(np.sum(size < SMALL * size[0])) - 1


def pushes(d: Dynamics, values: dict, state: list):
    """ẋ of the state and of t, by a linear system at each point."""
    flows = sp.lambdify(state, [d.explicit[x].subs(values) for x in d.positions])
    if not d.rates_of:
        return lambda x: np.array([*flows(*x), 1.0], dtype=float)
    n, c = len(d.rates_of), len(d.constraints)
    matrix, right = sp.zeros(n + c, n + c), [*d.right, *d.bends]
    for i in range(n):
        for j in range(n):
            matrix[i, j] = d.mass[i][j]
        for k in range(c):
            matrix[i, n + k], matrix[n + k, i] = d.jacobian[k][i], d.slopes[k][i]
    left = sp.lambdify(state, matrix.subs(values))
    rest = sp.lambdify(state, [sp.sympify(e).subs(values) for e in right])

    def push(x: np.ndarray) -> np.ndarray:
        solved = np.linalg.solve(np.array(left(*x), float), np.array(rest(*x), float))
        return np.array([*flows(*x), *solved[:n], 1.0])

    return push


def on_variety(d: Dynamics, values: dict, state: list, x: np.ndarray) -> np.ndarray:
    """The point moved to where constraints and hidden ones vanish, by Newton."""
    if not d.relations:
        return x
    relations = sp.Matrix(d.relations).subs(values)
    f, slope = sp.lambdify(state, relations), sp.lambdify(state, relations.jacobian(state[:-1]))
    for _ in range(50):
        gap = np.array(f(*x), float).ravel()
        x = x.copy()
        x[:-1] -= np.linalg.lstsq(np.array(slope(*x), float), gap, rcond=None)[0]
        if np.abs(gap).max() < 1e-15:
            break
    return x


# ---- the table -----------------------------------------------------------------------------------


def _told(queue, road, name: str, degree: int) -> None:
    begin = time.perf_counter()
    found = road(name, degree)
    queue.put((found, time.perf_counter() - begin))


def limited(road, name: str, degree: int) -> tuple[int, float] | None:
    """What a road finds, and its seconds; None if it takes too long."""
    queue = multiprocessing.Queue()
    work = multiprocessing.Process(target=_told, args=(queue, road, name, degree))
    work.start()
    work.join(LIMIT)
    if work.is_alive():
        work.terminate()
        work.join()
        return None
    if work.exitcode:
        raise RuntimeError(f"{road.__name__} failed for {name}")
    return queue.get()


def by_primes(name: str, degree: int) -> tuple[int, float]:
    """The search of `taut.conserved` for one degree."""
    finder = Finder(CASES[name]()[0], (), 2)
    begin = time.perf_counter()
    _, null = finder.search.null_space(finder.ansatz(degree))
    seconds = time.perf_counter() - begin
    return len(finder.search.field.reduced(null)[1]), seconds


def row(name: str) -> list[str]:
    """One line of the table."""
    model = CASES[name]()[0]
    begin = time.perf_counter()
    laws = taut.conserved(model)
    whole = time.perf_counter() - begin
    degree = max(law.degree for law in laws)
    count, seconds = by_primes(name, degree)
    cells = [f"{count} in {seconds:.3f} s"]
    for road in (by_sympy, by_svd):
        found = limited(road, name, degree)
        if found is None:
            cells.append(f"> {LIMIT:.0f} s")
        else:
            mark = "" if found[0] == count else " **wrong**"
            cells.append(f"{found[0]} in {found[1]:.2f} s{mark}")
    size = Finder(model, (), 2).ansatz(degree).columns
    return [name, str(degree), str(size), f"{whole:.2f} s", str(len(laws)), str(laws.rank), *cells]


def main(names: list[str]) -> None:
    """Print the table."""
    taut.conserved(CASES["free"]()[0])  # what is imported once is not timed
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    for name in names or CASES:
        print("| " + " | ".join(row(name)) + " |", flush=True)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main(sys.argv[1:])
