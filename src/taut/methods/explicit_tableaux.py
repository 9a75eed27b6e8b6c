"""Explicit Runge–Kutta tableaux: rows of the strictly lower triangle, and weights.

* ``rk4``: Kutta 1901, order 4, 4 stages.
* ``dopri5``: Dormand & Prince 1980, the weights of order 5, 6 stages (the seventh serves the error
  estimate only).
* ``dop853``: Dormand & Prince, the weights of order 8, 12 stages.

The order is not declared but computed: `order_of` checks Butcher's conditions, one per rooted
tree τ with the branches τₖ,

    Σ bᵢ Φᵢ(τ) = 1/γ(τ),      Φ(τ) = Π A Φ(τₖ),      γ(τ) = |τ| Π γ(τₖ).

Source: Hairer, Nørsett & Wanner 1993, tables II.1.2, II.5.2 and section II.10 (coefficients),
theorem II.2.13 (conditions).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import numpy as np

HIGHEST = 8  # orders are checked up to this one
TOLERANCE = 1e-12  # of a condition, relative to the sum of its absolute summands

Tree = tuple[Any, ...]  # of its branches, sorted


@cache
def trees(order: int) -> frozenset[Tree]:
    """All rooted trees with this many nodes: a leaf grafted onto every node of the smaller ones."""
    if order == 1:
        return frozenset([()])
    return frozenset(grown for tree in trees(order - 1) for grown in _grown(tree))


def _grown(tree: Tree) -> Iterator[Tree]:
    yield tuple(sorted((*tree, ())))
    for k, branch in enumerate(tree):
        for larger in _grown(branch):
            yield tuple(sorted((*tree[:k], larger, *tree[k + 1 :])))


def _size(tree: Tree) -> int:
    return 1 + sum(map(_size, tree))


def _gamma(tree: Tree) -> int:
    return _size(tree) * prod(map(_gamma, tree))


def _phi(tree: Tree, a: np.ndarray) -> np.ndarray:
    return prod((a @ _phi(branch, a) for branch in tree), start=np.ones(len(a)))


def defect(a: np.ndarray, b: np.ndarray, order: int) -> float:
    """The largest violation of a condition of this order, relative to its summands."""
    found = 0.0
    for tree in trees(order):
        size = np.abs(b) @ _phi(tree, np.abs(a))
        found = max(found, abs(b @ _phi(tree, a) - 1 / _gamma(tree)) / max(size, 1.0))
    return float(found)


def order_of(a: np.ndarray, b: np.ndarray) -> int:
    """The order of a tableau, at most 8."""
    return next((k for k in range(HIGHEST) if defect(a, b, k + 1) > TOLERANCE), HIGHEST)


def full(rows: Any) -> np.ndarray:
    """The square matrix of a lower triangle."""
    matrix = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix


# fmt: off
TABLEAUX: dict[str, tuple[Any, Any]] = {
    "rk4": (((), (1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
    "dopri5": (
        (
            (),
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        ),
        (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    "dop853": ((
        (),
        (0.05260015195876773,),
        (0.0197250569845379, 0.0591751709536137),
        (0.02958758547680685, 0, 0.08876275643042054),
        (0.2413651341592667, 0, -0.8845494793282861, 0.924834003261792),
        (0.037037037037037035, 0, 0, 0.17082860872947386, 0.12546768756682242),
        (0.037109375, 0, 0, 0.17025221101954405, 0.06021653898045596, -0.017578125),
        (
            0.03709200011850479, 0, 0, 0.17038392571223998, 0.10726203044637328,
            -0.015319437748624402, 0.008273789163814023,
        ),
        (
            0.6241109587160757, 0, 0, -3.3608926294469414, -0.868219346841726, 27.59209969944671,
            20.154067550477894, -43.48988418106996,
        ),
        (
            0.47766253643826434, 0, 0, -2.4881146199716677, -0.590290826836843, 21.230051448181193,
            15.279233632882423, -33.28821096898486, -0.020331201708508627,
        ),
        (
            -0.9371424300859873, 0, 0, 5.186372428844064, 1.0914373489967295, -8.149787010746927,
            -18.52006565999696, 22.739487099350505, 2.4936055526796523, -3.0467644718982196,
        ),
        (
            2.273310147516538, 0, 0, -10.53449546673725, -2.0008720582248625, -17.9589318631188,
            27.94888452941996, -2.8589982771350235, -8.87285693353063, 12.360567175794303,
            0.6433927460157636,
        ),
    ), (
        0.054293734116568765, 0, 0, 0, 0, 4.450312892752409, 1.8915178993145003,
        -5.801203960010585, 0.3111643669578199, -0.1521609496625161, 0.20136540080403034,
        0.04471061572777259,
    )),
}
# fmt: on
