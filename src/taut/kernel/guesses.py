"""Guesses of assembled steps: how far they look back, and when one iteration is enough.

A stage remembers the last `DEPTH` solutions of its unknowns.  The guess is the next value of the
polynomial through the last `order` of them.  A high order follows smooth motion more closely, and
adds up the rounding of all it looks at; so once in `PERIOD` steps, in a *trial*, every order is
compared with the solution, and the best is taken from then on.

Newton's moves fall quadratically, r₂ ≈ κ r₁², in units of the floors (1e−7 of the largest
coordinate, see `machine`).  A trial starts from a low order, so that r₁ and r₂ stand out of the
noise and tell κ.  In the steps that follow, one iteration is enough if what a second one would do,

    SAFETY κ r₁² ≤ ENOUGH,

is below what rounding does to the largest coordinate, even if κ has grown by `SAFETY` since.  κ is
one number for errors of guesses that are alike, so it is learnt from polynomials through steps that
were made, in trials: those of the first steps go through the method's own guess, which has other
errors (at rest, where equations are nearly linear, it says next to nothing of κ).  The next trial
tells whether the promise was kept: where κ r₁² is more than rounding with the new κ and the largest
r₁ since, the steps that were ended by one iteration are counted as loose.  Where forces have kinks
(`Max`, |x|) moves need not fall quadratically, and a second one is always made.

All of this is part of the state, a few numbers (the `BOOKS`) before the values of each stage and
sub-step, so that runs in parts are the same to the bit.
"""

from __future__ import annotations

import numpy as np

from taut.kernel.jit import copy, within

DEPTH = 6  # values of each unknown that are remembered
ORDERS = (3, 4, 5, 6)
TRIAL = 2  # the order of the guess in a trial
WARM, PERIOD = 8, 64  # steps before the first trial, and between trials
SAFETY, ENOUGH = 100.0, 1e-10
NOISE = 1e-9  # moves below this, in units of floors, say nothing about κ
BETTER = 0.7  # a higher order must be better by this
ROUNDED = (
    1e-8  # round-off: of the floors, which are 1e−7 of a length or 1e8 of the noise of constraints
)
POSITION, ORDER, LEFT, KAPPA, FIRST_MOVE, SECOND_MOVE, SINGLE, LARGEST = range(BOOKS := 8)


def room(size: int) -> int:
    """Numbers that a stage with so many unknowns remembers of one sub-step."""
    return BOOKS + DEPTH * size


def first_memory(values: list[np.ndarray]) -> np.ndarray:
    """What is remembered before the first step: the method's guess, as if it had always been so."""
    return memory_of([[x] for x in values])


def memory_of(blocks: list[list[np.ndarray]]) -> np.ndarray:
    """What is remembered of solutions of each block, the newest first; the last stands for more."""
    books = np.zeros(BOOKS)
    books[ORDER], books[LEFT], books[KAPPA] = ORDERS[0], WARM, -1.0
    books[FIRST_MOVE] = books[SECOND_MOVE] = -1.0
    rings = [[*x, *[x[-1]] * (DEPTH - len(x))] for x in blocks]
    return np.concatenate([books, *(x for ring in rings for x in ring)])


def newest(memory: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    """The last solution, block by block."""
    position = int(memory[POSITION])
    ends = BOOKS + DEPTH * np.cumsum([0, *sizes])
    return [memory[a + position * n :][:n].copy() for a, n in zip(ends, sizes, strict=False)]


@within
def back(floats, at, n, position, steps):
    """The values of so many steps ago: a ring."""
    first = at + (position + steps) % DEPTH * n
    return floats[first : first + n]


@within
def extrapolate(x, floats, at, n, position, order):
    """The next value of a polynomial, by differences, which are small where motion is smooth."""
    a, b = back(floats, at, n, position, 0), back(floats, at, n, position, 1)
    c, d = back(floats, at, n, position, 2), back(floats, at, n, position, 3)
    e, f = back(floats, at, n, position, 4), back(floats, at, n, position, 5)
    if order == 2:
        for i in range(n):
            x[i] = a[i] + (a[i] - b[i])
    elif order == 3:
        for i in range(n):
            u, v = a[i] - b[i], b[i] - c[i]
            x[i] = a[i] + (u + (u - v))
    elif order == 4:
        for i in range(n):
            u, v, w = a[i] - b[i], b[i] - c[i], c[i] - d[i]
            x[i] = a[i] + (u + ((u - v) + ((u - v) - (v - w))))
    elif order == 5:
        for i in range(n):
            u, v, w, y = a[i] - b[i], b[i] - c[i], c[i] - d[i], d[i] - e[i]
            u2, v2, w2 = u - v, v - w, w - y
            u3, v3 = u2 - v2, v2 - w2
            x[i] = a[i] + (u + (u2 + (u3 + (u3 - v3))))
    else:
        for i in range(n):
            u, v, w, y, z = a[i] - b[i], b[i] - c[i], c[i] - d[i], d[i] - e[i], e[i] - f[i]
            u2, v2, w2, y2 = u - v, v - w, w - y, y - z
            u3, v3, w3 = u2 - v2, v2 - w2, w2 - y2
            u4, v4 = u3 - v3, v3 - w3
            x[i] = a[i] + (u + (u2 + (u3 + (u4 + (u4 - v4)))))


@within
def distance(x, floats, at, n, position, order, floor):
    """How far a guess of this order was from the solution, in units of floors if there are any."""
    y = np.empty(n)
    extrapolate(y, floats, at, n, position, order)
    worst = 0.0
    for i in range(n):
        unit = floor[i] if floor.shape[0] == n else 1.0
        worst = max(worst, abs(y[i] - x[i]) / unit)
    return worst


@within
def best_order(x, floats, at, n, position, floor):
    """The order that would have been the best guess of these values."""
    found, least = ORDERS[0], np.inf
    for order in range(ORDERS[0], ORDERS[-1] + 1):
        far = distance(x, floats, at, n, position, order, floor)
        if far < BETTER * least:
            found, least = order, far
    return found


@within
def sure(books):
    """Whether the first move is so small that the second would be below rounding."""
    left, kappa, move = books[LEFT], books[KAPPA], books[FIRST_MOVE]
    return left > 0 and kappa >= 0.0 and SAFETY * kappa * move * move <= ENOUGH


@within
def learn(books):
    """κ from the two moves of the step that was made, if there were two (else the second is −1).

    Returns what the steps of one iteration since the last trial may have left, in units of floors.
    """
    first, second = books[FIRST_MOVE], books[SECOND_MOVE]
    if second < 0.0 or first <= 0.0:
        if first > 0.0:
            books[SINGLE] += 1.0
            books[LARGEST] = max(books[LARGEST], first)
        return 0.0
    kappa, trial = max(second, NOISE) / (first * first), books[LEFT] <= 0
    if trial or (books[KAPPA] >= 0.0 and kappa > books[KAPPA]):
        books[KAPPA] = kappa
    return kappa * books[LARGEST] * books[LARGEST] if trial else 0.0


@within
def store(x, floats, at, n, position):
    """Remember values in the place of the oldest."""
    copy(x, back(floats, at, n, position, DEPTH - 1))
