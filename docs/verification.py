"""Write the verification page: ``python docs/verification.py`` (a minute on a quiet machine)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taut.diagnose import Verified, verify
from taut.methods import CATALOGUE

PAGE = Path(__file__).with_name("verification.md")
HEAD = """# Every method, measured

This page is written by `python docs/verification.py`, which measures every method of the catalogue
with `taut.diagnose.verify`; `tests/verification` asserts the same properties, and that methods that
must lack a property do lack it.

## Order

A point with a mass matrix that depends on q, on the unit sphere, in a transcendental potential:
errors of q and p at t = 1, slope through the four finest runs above round-off. The reference is
Gauss–Lobatto of order 12; the tests compare it with the same Lagrangian in two angles, integrated
by DOP853.

| method | claimed | in q | in p | correlation | ns per step |
|---|---|---|---|---|---|
"""
MIDDLE = """
The last column is the cost of a step of a planar double pendulum in Cartesian coordinates, on the
machine that wrote this page. A step of high order is worth many of low order: see the
[benchmarks](benchmarks.md).

## What is kept

The same point for 20 units of time at step 0.1: constraints, band of the energy (max − min),
symplecticity defect of the compiled step on the manifold, and how far there and back (20 steps each
way) ends from the start. Then 10⁵ steps of 0.1 of a spherical pendulum: drift of the energy as a
share of its band, and the change of the angular momentum about the vertical.

| method | max g | max G q̇ | energy band | defect | there and back | drift / band | momentum |
|---|---|---|---|---|---|---|---|
"""
TAIL = """
`none`: the band is zero. Where it is of the order of 1e−15, what looks like a drift is a walk of
roundings. `failed`: the run could not be finished at this step; what is shown is what was measured
until then. The band of a method that is not symplectic is where its drift has led after 20 units of
time. The momenta of `energy-momentum` are not tangent: it goes back from the tangent ones, and does
not come to where it started.
"""


def order_row(name: str, row: Verified) -> str:
    cells = [f"`{name}`", f"{row.method.order}", f"{row.order_q:.2f}", f"{row.order_p:.2f}"]
    return _line([*cells, f"{row.correlation:.5f}", f"{row.cost:.0f}"])


def kept_row(name: str, row: Verified) -> str:
    drift = "none"
    if row.failed:
        drift = "failed"
    elif row.drift is not None and row.drift.band:
        drift = f"{row.drift.relative:+.4f} ± {row.drift.relative_half_width:.4f}"
    sizes = (row.max_g, row.max_hidden, row.band, row.defect, row.reversal)
    return _line([f"`{name}`", *(_size(x) for x in sizes), drift, _size(row.momentum)])


def _size(x: float | None) -> str:
    return "" if x is None else "failed" if not np.isfinite(x) else f"{x:.0e}"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def page() -> str:
    """The whole page."""
    rows = {name: verify(name) for name in CATALOGUE}
    orders = "".join(order_row(*x) for x in rows.items())
    kept = "".join(kept_row(*x) for x in rows.items())
    return HEAD + orders + MIDDLE + kept + TAIL


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.name}")
