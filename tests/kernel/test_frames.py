"""Rigid bodies in closed form: the same solution as that of the whole system at once."""

import casadi as ca
import numpy as np
import pytest

from taut.kernel.frames import PAIRS, FrameElimination, frame_of

SX = ca.SX
MOVES, PRIVATE, OUTER = list(range(12)), list(range(12, 18)), list(range(18, 24))


def system(seed=0, weight=0.5, askew=0.1):
    """Entries of a body with six outer unknowns, as symbols, and numbers for them."""
    rng = np.random.default_rng(seed)
    push, hold = (np.eye(3) + askew * rng.normal(size=(3, 3)) for _ in range(2))
    full = np.zeros((24, 24))
    full[range(12), range(12)] = np.repeat([2.0, 0.3, 0.2, 0.1], 3)
    for side, directors in enumerate((push, 2 * hold)):
        block = np.zeros((12, 6))
        for i in range(3):
            block[3 + 3 * i : 6 + 3 * i, i] = directors[i]
        for k, (i, j) in enumerate(PAIRS):
            block[3 + 3 * i : 6 + 3 * i, 3 + k] = weight * directors[j]
            block[3 + 3 * j : 6 + 3 * j, 3 + k] = weight * directors[i]
        if side:
            full[12:18, :12] = block.T
        else:
            full[:12, 12:18] = block
    full[:12, 18:], full[18:, :12] = rng.normal(size=(12, 6)), rng.normal(size=(6, 12))
    return full, rng.normal(size=24)


def frame_matrix(seed=0, weight=0.5, askew=0.1):
    """The same with symbols for directors, of which entries are multiples."""
    full, right = system(seed, weight, askew)
    d = SX.sym("d", 18)  # d⁰, then d¹
    values = np.concatenate(
        [
            full[3:12, 12:15][np.repeat(np.eye(3, dtype=bool), 3, 0)],
            full[12:15, 3:12][np.repeat(np.eye(3, dtype=bool), 3, 1)],
        ]
    )
    matrix = {}
    for i, j in zip(*np.nonzero(full), strict=True):
        if max(i, j) >= 18 or (i < 12 and j < 12):
            if min(i, j) < 18:
                matrix[int(i), int(j)] = SX(full[i, j])
            continue
        x, c, first = (i, j, 0) if i < 12 else (j, i, 9)
        k = c - 12
        pair = (k, k) if k < 3 else PAIRS[k - 3]
        other = pair[1] if (x - 3) // 3 == pair[0] else pair[0]
        factor = 1.0 if k < 3 else weight
        matrix[int(i), int(j)] = factor * d[first + 3 * other + (x - 3) % 3]
    return full, right, matrix, d, values


@pytest.mark.parametrize(("weight", "askew"), [(1.0, 0.01), (0.5, 0.1), (1.0, 0.3)])
def test_a_body_and_what_is_outside(weight, askew):
    full, right, matrix, d, values = frame_matrix(3, weight, askew)
    frame = frame_of(matrix, MOVES, PRIVATE)
    assert frame is not None
    e = FrameElimination(frame, matrix, {k: SX(right[k]) for k in range(18)}, OUTER)

    def number(x):
        return float(ca.Function("x", [d], [x])(values))

    inner = np.linalg.solve(full[:18, :18], np.column_stack([full[:18, 18:], right[:18]]))
    schur, rest = -full[18:, :18] @ inner[:, :6], -full[18:, :18] @ inner[:, 6]
    for (i, j), value in e.schur.items():
        assert number(value) == pytest.approx(schur[i - 18, j - 18], rel=1e-11)
    assert [number(e.rest[i]) for i in OUTER] == pytest.approx(rest, rel=1e-11)
    assert number(e.bad) == 0
    for i in OUTER:
        assert number(e.lost[i]) >= abs(schur[i - 18, i - 18]) * (1 - 1e-12)
    outside = np.random.default_rng(1).normal(size=6)
    found = e.found(e.kept(), {k: SX(outside[k - 18]) for k in OUTER})
    expected = inner[:, 6] - inner[:, :6] @ outside
    assert [number(found[k]) for k in range(18)] == pytest.approx(expected, rel=1e-10)


def test_directors_in_a_plane_are_reported():
    _, right, matrix, d, values = frame_matrix()
    frame = frame_of(matrix, MOVES, PRIVATE)
    e = FrameElimination(frame, matrix, {k: SX(right[k]) for k in range(18)}, OUTER)
    bad = ca.Function("bad", [d], [e.bad])
    assert float(bad(values)) == 0
    values[15:] = values[9:12] + values[12:15]
    assert float(bad(values)) > 0
    values[0] = np.nan
    assert float(bad(values)) > 0


@pytest.mark.parametrize("broken", ["mass", "coupled", "weight", "support", "row", "felt"])
def test_what_is_no_rigid_body(broken):
    _, _, matrix, *_ = frame_matrix()
    if broken == "mass":  # not the same in all directions
        matrix[4, 4] = SX(1.0)
    elif broken == "coupled":
        matrix[0, 5] = SX(0.1)
    elif broken == "weight":  # d₁·d₂ counted differently on either side
        matrix[15, 3] = 0.7 * matrix[15, 3]
    elif broken == "support":
        del matrix[3, 12]
    elif broken == "row":  # r is held, too
        matrix[12, 0] = SX(1.0)
    else:
        matrix[13, 14] = SX(0.1)
    assert frame_of(matrix, MOVES, PRIVATE) is None
    assert frame_of(matrix, MOVES, PRIVATE[:5]) is None
