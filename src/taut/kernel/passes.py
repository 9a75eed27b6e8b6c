"""Passes: a kernel with the tables by which it goes over its instances (see `loop_code`).

How each input is read and each output written is decided for all blocks of a pass together, by
what most of them allow.  Where a block is an exception (at the end of a run of addresses, or in a
last block that is not full), its numbers are copied to a place where they lie in a row before the
kernel is called, and its results from there afterwards; so there is one kernel per pass.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from taut.kernel.loop_code import FIXED, REDUCED, loop_code
from taut.kernel.native import Native, compiled

LANES = 4
MOSTLY = 0.75  # of the blocks must have their addresses in a row
FEW = 8  # blocks up to which everything is copied that does not, so that one kernel serves more
NOWHERE = np.zeros((0, 2), np.int64)


@dataclass
class Pass:
    """One kernel over all instances.

    Attributes
    ----------
    gather, target : ndarray, shapes (instances, inputs) and (instances, outputs)
        Addresses of what is read and written.
    table : ndarray
        The same as the kernel reads it.
    runs : int
        Rows of the table.
    before, added, stored : ndarray, shape (k, 2)
        Addresses (from, to) of what is copied before the kernel, and added or stored after it.
    """

    native: Future[Native]
    gather: np.ndarray
    target: np.ndarray
    table: np.ndarray
    runs: int
    count: int
    before: np.ndarray
    added: np.ndarray
    stored: np.ndarray

    @property
    def address(self) -> int:
        """Of the kernel, as soon as it is compiled."""
        return self.native.result().address("part")


@lru_cache(maxsize=1024)
def kernel(ir: str, effort: int) -> Native:
    """Machine code, remembered: many systems and stages share their kernels."""
    return compiled(ir, effort)


def made_pass(
    function: ca.Function,
    gather: np.ndarray,
    target: np.ndarray,
    how: str,
    reserve: Callable[[int], int],
    trash: int,
    pool: Executor,
    emit: Callable[..., str] = loop_code,
    back: bool = False,
    effort: int = 1,
) -> Pass:
    """The pass of `function`.

    Parameters
    ----------
    gather, target : ndarray of int, shapes (instances, inputs) and (instances, outputs)
        Addresses; of an output that is reduced, the same in all rows.
    how : str
        For each output: ``a`` added, ``=`` stored, or a letter of `loop_code.REDUCED`.
    reserve : callable
        Gives the address of so many numbers that nobody else uses.
    trash : int
        An address that may be written and is never read.
    pool : Executor
        Compiles the kernel, while others are written.
    back : bool
        Whether the last block comes first.
    effort : int
        See `native.compiled`.
    """
    count = len(gather)
    lanes = LANES if count >= LANES else 1
    inputs, outputs = _padded(gather, None, lanes), _padded(target, trash, lanes)
    read = _modes(inputs, "b", "g")
    plain = [x not in REDUCED for x in how]
    modes = _modes(outputs, "s", "s")
    written = "".join(
        x if x in REDUCED else m.upper().replace("F", "U") if x == "=" else m
        for x, m in zip(how, modes, strict=True)
    )
    inputs, before = _staged(inputs, read, reserve)
    moved, after = _staged(
        outputs, [m if p else " " for p, m in zip(plain, modes, strict=True)], reserve
    )
    stores = np.array([x == "=" for x in how], dtype=bool)
    if back:
        inputs, moved = inputs[::-1], moved[::-1]
    step = -lanes if back else lanes
    table, runs = _table(inputs, read, moved, written, step)
    text = emit(function, read, written, lanes, step, _apart(gather, target))
    return Pass(
        pool.submit(kernel, text, effort),
        gather,
        target,
        table,
        runs,
        count,
        before[:, :2],
        after[~stores[after[:, 2]], 1::-1] if len(after) else NOWHERE,
        after[stores[after[:, 2]], 1::-1] if len(after) else NOWHERE,
    )


def _padded(table: np.ndarray, fill: int | None, lanes: int) -> np.ndarray:
    """Addresses in blocks, shape (blocks, columns, lanes); the last instance fills up the last."""
    spare = -len(table) % lanes
    tail = np.repeat(table[-1:], spare, axis=0)
    if fill is not None:
        tail = np.full_like(tail, fill)
    blocks = np.concatenate([table, tail]).astype(np.int64)
    shape = (len(blocks) // lanes, lanes, table.shape[1])  # a kernel may have no inputs
    return blocks.reshape(shape).transpose(0, 2, 1).copy()


def _modes(blocks: np.ndarray, same: str, single: str) -> str:
    """For each column: one address, one row (f), mostly in a row (u), or one by one."""
    enough = MOSTLY if len(blocks) > FEW else 0.0
    unit = np.all(np.diff(blocks, axis=2) == 1, axis=2).mean(axis=0)
    equal = np.all(blocks == blocks[:1, :, :1], axis=(0, 2))
    still = np.all(blocks == blocks[:1], axis=(0, 2)) & (len(blocks) > 1)
    return "".join(
        same if e else "f" if s else "u" if u >= enough else single
        for e, s, u in zip(equal, still, unit, strict=True)
    )


def _staged(blocks: np.ndarray, modes, reserve) -> tuple[np.ndarray, np.ndarray]:
    """Blocks whose columns lie in a row where they should, and (old, new, column) of each copy."""
    lanes, how = blocks.shape[2], np.array(list(modes), dtype="U1")
    broken = ~np.all(np.diff(blocks, axis=2) == 1, axis=2) & np.isin(how, ["u", "f"])
    broken[1:, how == "f"] = False  # one copy serves all blocks
    where = np.argwhere(broken)
    if not len(where):
        return blocks, np.zeros((0, 3), np.int64)
    at = reserve(len(where) * lanes)
    fresh = at + np.arange(len(where) * lanes).reshape(-1, lanes)
    old = blocks[where[:, 0], where[:, 1]]
    blocks = blocks.copy()
    blocks[where[:, 0], where[:, 1]] = fresh
    blocks[:, how == "f"] = blocks[:1, how == "f"]
    columns = np.repeat(where[:, 1], lanes)
    return blocks, np.stack([old.ravel(), fresh.ravel(), columns], axis=1)


def _table(
    inputs: np.ndarray, read: str, outputs: np.ndarray, written: str, step: int
) -> tuple[np.ndarray, int]:
    """The table of `loop_code`: a head, then a row per run of blocks; and their number."""
    head = [inputs[0, i, 0] for i, m in enumerate(read) if m in "bf"]
    head += [outputs[0, i, 0] for i, m in enumerate(written) if m in FIXED]
    columns = [np.zeros((len(inputs), 0), np.int64)]
    for blocks, modes in ((inputs, read), (outputs, written)):
        for i, m in enumerate(modes):
            if m in "uU":
                columns.append(blocks[:, i, :1])
            elif m in "gsS":
                columns.append(blocks[:, i, :])
    rows = np.hstack(columns)
    goes_on = np.all(rows[1:] - rows[:-1] == step, axis=1)
    first = np.flatnonzero(np.append(True, ~goes_on)[: len(rows)])
    lengths = np.diff(np.append(first, len(rows)))
    table = np.hstack([lengths[:, None], rows[first]])
    return np.concatenate([np.array(head, np.int64), table.ravel()]), len(first)


def _apart(gather: np.ndarray, target: np.ndarray) -> bool:
    """Whether nothing that is written is read."""
    if not gather.size or not target.size:
        return True
    seen = np.zeros(1 + max(gather.max(), target.max()), dtype=bool)
    seen[target] = True
    return not seen[gather].any()
