"""Passes: whatever the tables, a pass does what one instance after the other would do."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

from taut.kernel.loop_code import loop_code
from taut.kernel.native import object_code
from taut.kernel.passes import LANES, made_pass

CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
TRASH = 1


def made(function, gather, target, how, size, back=False, effort=1):
    """The pass, and how many numbers it needs."""
    end = [size]

    def reserve(count):
        end[0] += count
        return end[0] - count

    with ThreadPoolExecutor(1) as pool:
        found = made_pass(
            function, gather, target, how, reserve, TRASH, pool, back=back, effort=effort
        )
    return found, end[0]


def run(found, floats):
    """What `machine.evaluate` does."""
    for a, b in found.before:
        floats[b] = floats[a]
    table = found.table.astype(np.int64)
    CALL(found.address)(floats.ctypes.data, table.ctypes.data, found.runs, found.count)
    for a, b in found.added:
        floats[b] += floats[a]
    for a, b in found.stored:
        floats[b] = floats[a]


def by_hand(function, gather, target, how, floats, back=False):
    """One block after the other; all of its instances read before any writes."""
    blocks = np.array_split(np.arange(len(gather)), range(LANES, len(gather), LANES))
    for block in blocks[::-1] if back else blocks:
        values = [np.array(function(floats[gather[i]])).ravel() for i in block]
        for i, value in zip(block, values, strict=True):
            for at, h, x in zip(target[i], how, value, strict=True):
                if h == "=":
                    floats[at] = x
                elif h == "m":
                    floats[at] = max(floats[at], abs(x))
                else:
                    floats[at] += x


def compared(function, gather, target, how, size, back=False):
    found, length = made(function, gather, target, how, size, back)
    floats = np.zeros(length)
    floats[2:size] = np.random.default_rng(3).uniform(0.5, 1.5, size - 2)
    wanted = floats[:size].copy()
    run(found, floats)
    by_hand(function, gather, target, how, wanted, back)
    floats[TRASH] = wanted[TRASH] = 0.0
    assert np.allclose(floats[:size], wanted, rtol=1e-14, atol=0)
    return found


def polynomial(inputs, outputs):
    x = ca.SX.sym("x", inputs)
    rows = [sum((k + j + 1) * x[j] * x[(j + k) % inputs] for j in range(inputs))
            for k in range(outputs)]  # fmt: skip
    return ca.Function("f", [x], [ca.vertcat(*rows)])


@pytest.mark.parametrize("count", [3, 4, 40, 42])
def test_neighbours_in_rows(count):
    """Own numbers in rows, those of a neighbour a block further, one number for all."""
    n = np.arange(count)
    gather = np.stack([10 + n, 200 + (n + LANES) % count, 0 * n + 5], axis=1)
    target = np.stack([400 + n, 600 + n, 0 * n + 7], axis=1)
    found = compared(polynomial(3, 3), gather, target, "=am", 700)
    assert found.runs <= 4


@pytest.mark.parametrize("count", [5, 41])
def test_any_addresses(count):
    rng = np.random.default_rng(count)
    gather = 10 + rng.integers(0, 200, (count, 3))
    target = np.stack([300 + rng.permutation(count), 400 + rng.integers(0, 5, count)], axis=1)
    compared(polynomial(3, 2), gather, target, "=a", 500)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("spread", [1, 3])
def test_a_block_goes_on_with_what_the_one_before_has_left(back, spread):
    """As in a strand: each block reads what was written last, and all add to one row."""
    count = 10 * LANES
    n = np.arange(count)
    here, beside = 10 + n, 10 + n + (-LANES if back else LANES)
    inside = (beside >= 10) & (beside < 10 + count)
    end = 100 + n % LANES  # where the last block goes on to
    fixed = 200 + spread * (n % LANES)
    gather = np.stack([here, fixed + 50], axis=1)
    target = np.stack([np.where(inside, beside, end), fixed], axis=1)
    x = ca.SX.sym("x", 2)
    mixed = ca.Function("f", [x], [ca.vertcat(x[0] / 2 + x[1] / 3, x[0] * x[1])])
    found = compared(mixed, gather, target, "aa", 300, back)
    assert found.runs == 2


def test_what_is_written_may_be_what_is_read():
    """Two numbers change places: both are read first."""
    n = np.arange(4 * LANES)
    gather = np.stack([10 + n, 50 + n], axis=1)
    x = ca.SX.sym("x", 2)
    swap = ca.Function("f", [x], [ca.vertcat(x[1], x[0])])
    compared(swap, gather, gather, "==", 100)


@pytest.mark.parametrize("count", [1, 3, 42])
def test_what_is_translated_quickly_says_the_same(count):
    """The same bits from other code."""
    n, given = np.arange(count), np.random.default_rng(count).uniform(0.5, 1.5, 900)
    gather = np.stack([10 + n, 100 + 3 * n, 0 * n + 5], axis=1)
    target = np.stack([400 + n, 600 + n, 0 * n + 7], axis=1)
    function, floats, code = polynomial(3, 3), [], []
    for effort in (0, 1):
        found, length = made(function, gather, target, "=am", 700, effort=effort)
        floats.append(given[:length].copy())
        run(found, floats[-1])
        code.append(object_code(loop_code(function, "ugb", "Uum", LANES, LANES), effort))
    np.testing.assert_array_equal(*floats)
    assert code[0] != code[1]
