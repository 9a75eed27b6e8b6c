"""The work of forces along a run, summed to the fourth order from their power.

Over the steps from t₀ on, with powers P₀, P₁, … at their ends and one step length h,

    W₁ = h (P₀ + P₁)/2,     W₂ = h (P₀ + 4 P₁ + P₂)/3,
    Wₙ = Wₙ₋₁ + h (9 Pₙ + 19 Pₙ₋₁ − 5 Pₙ₋₂ + Pₙ₋₃)/24            (n ≥ 3),

which is 3h/8 (P₀ + 3 P₁ + 3 P₂ + P₃) for n = 3.  Where power jumps, or the step length changes, it
begins anew.  What the sum is off by is known: the leading term of its error, the difference to the
formula of order 5,

    −19 h/720 (Pₙ − 4 Pₙ₋₁ + 6 Pₙ₋₂ − 4 Pₙ₋₃ + Pₙ₋₄)

per step, is summed as well; and that of W₁, h (P₂ − 2 P₁ + P₀)/12, is known when W₂ is.  At the
start of a run the balance after the first step waits for it.

Where power bends by Δ, as that of friction that turns or of a contact that closes, all formulas of
order above 2 are off by up to h² Δ/12, and the differences of order 4 cancel each other.  A bend is
seen in its second differences: one of them stands out from its neighbours, so that

    −∇⁴P · sign D ≥ `BEND` (|D₊| + |D| + |D₋|),     D = P₊ − 2P + P₋.

What bends make falls on either side; their squares are summed.  A step within which something
jumps stands alone, with W₁ of its mean force: what that is off by is taken from W₁ of the step
after it.  Where that is followed by the next jump nothing is known, and such steps are counted.

Source: the formulas of Adams and Moulton, Hairer, Nørsett & Wanner 1993, III.1.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np

from taut.kernel.jit import within

SX = ca.SX
POWERS = ("power1", "power2", "power3")  # before the last one
# The notes on work: powers, from the last one on, then counts and sums.
WORK = (
    "power", *POWERS, "since", "work", "gross_work", "sum_drift", "sum_bends", "sum_error", "rough"
)  # fmt: skip
# Weights of P_n, P_{n−1}, … (`since` 0, 1, and more), and of the error per step.
FIRST = (1 / 2, 1 / 2, 0.0, 0.0)
SECOND = (1 / 3, 5 / 6, -1 / 6, 0.0)
OTHERS = (9 / 24, 19 / 24, -5 / 24, 1 / 24)
LOST_FIRST = (1 / 12, -2 / 12, 1 / 12)
LOST = (-19 / 720, 76 / 720, -114 / 720, 76 / 720, -19 / 720)
BEND = 0.4  # of differences: a bend in the middle of a step has 0.5, what is smooth (ωh)²/3
FOUR = 4.0  # powers before the last one that the error asks for
START, BEGUN = -1.0, 0.75  # `since` before and after the first step of a run
ALONE = 0.25  # `since` after a step that stands alone; the fraction stays


@cache
def worked(switched: bool, paced: bool) -> ca.Function:
    """(`WORK`; powers at the end of a step; h) → the first, then what W₁ was off by, and two flags.

    The flags say that the balance after this step waits, and that what W₁ was off by is known now.

    Parameters
    ----------
    switched : bool
        Whether power may jump or bend with time: the third of `ends` is then not zero.
    paced : bool
        Whether no two steps need be of one length.
    """
    notes, ends, h = SX.sym("notes", len(WORK)), SX.sym("ends", 3), SX.sym("h")
    p1, p2, p3, p4, since, work, gross, drift, bends, error, rough = ca.vertsplit(notes)
    powers = (ends[0], p1, p2, p3, p4)

    def mean(weights: tuple[float, ...]) -> SX:
        return sum((w * p for w, p in zip(weights, powers, strict=False) if w), SX(0))

    if paced:
        done, lost, off, wait, second = h * mean(FIRST), SX(0), SX(0), SX(0), SX(0)
        after, bent, rough = since, SX(0), rough + 1.0
    else:
        first = since < 0.5
        second = ca.logic_and(since >= 0.5, since < 1.5)
        wait = since < 0.5 * START
        done = h * ca.if_else(first, mean(FIRST), ca.if_else(second, mean(SECOND), mean(OTHERS)))
        known4 = since > FOUR - 1.5
        lost = ca.if_else(known4, h * mean(LOST), 0.0)
        d = [powers[i] - 2 * powers[i + 1] + powers[i + 2] for i in range(3)]
        stands = ca.sign(d[1]) * (2 * d[1] - d[0] - d[2]) >= BEND * sum(map(ca.fabs, d))
        off = ca.if_else(second, h * mean(LOST_FIRST), 0.0)
        bent = ca.if_else(ca.logic_and(known4, stands), h * d[1] / 12, 0.0)
        if switched:
            bent = ca.if_else(since == 1.0 + ALONE, off, bent)
        after = ca.if_else(since == BEGUN, 2.0, ca.fmin(since + 1.0, FOUR))
        after = ca.if_else(wait, BEGUN, after)
    if switched and not paced:
        jumped, alone = ends[2] != 0, ca.logic_and(first, since >= 0.0)
        rough = rough + ca.if_else(ca.logic_and(jumped, since == ALONE), 1.0, 0.0)
        after = ca.if_else(jumped, ca.if_else(alone, ALONE, 0.0), after)
    drift, bends = drift + lost, bends + bent**2
    known = ca.if_else(since == BEGUN, 0.0, ca.fabs(off))
    error = ca.fmax(error, ca.fmax(ca.fabs(drift) + ca.sqrt(bends), known))
    found = [ends[1], p1, p2, p3, after, work + done, gross + ca.fabs(done)]
    found += [drift, bends, error, rough, off, wait, second]
    return ca.Function("work", [notes, ends, h], [ca.vertcat(*found)])


@within
def tell_work(notes, at, power, following, smooth, h):
    """The same in place, `at` being the numbers of those notes; (what W₁ was off by, flags)."""
    p1, p2, p3, p4, since = notes[at[0]], notes[at[1]], notes[at[2]], notes[at[3]], notes[at[4]]
    off = lost = 0.0
    second = 0.5 <= since < 1.5
    if since < 0.5:
        done = 0.5 * h * (power + p1)
    elif second:
        done = h * (SECOND[0] * power + SECOND[1] * p1 + SECOND[2] * p2)
        off = h * (power - 2.0 * p1 + p2) / 12.0
        if since == 1.0 + ALONE:
            notes[at[8]] += off**2
    else:
        done = h * (OTHERS[0] * power + OTHERS[1] * p1 + OTHERS[2] * p2 + OTHERS[3] * p3)
    if since > FOUR - 1.5:
        a, b, c = power - 2.0 * p1 + p2, p1 - 2.0 * p2 + p3, p2 - 2.0 * p3 + p4
        side = 1.0 if b > 0.0 else -1.0 if b < 0.0 else 0.0
        if side * (2.0 * b - a - c) >= BEND * (abs(a) + abs(b) + abs(c)):
            notes[at[8]] += (h * b / 12.0) ** 2
        lost = h * (LOST[0] * power + LOST[1] * p1 + LOST[2] * p2 + LOST[3] * p3 + LOST[4] * p4)
    notes[at[0]], notes[at[1]], notes[at[2]], notes[at[3]] = following, p1, p2, p3
    after = BEGUN if since < 0.5 * START else 2.0 if since == BEGUN else min(since + 1.0, FOUR)
    if not smooth:
        notes[at[10]] += since == ALONE
        after = ALONE if 0.0 <= since < 0.5 else 0.0
    notes[at[4]] = after
    notes[at[5]] += done
    notes[at[6]] += abs(done)
    notes[at[7]] += lost
    known = 0.0 if since == BEGUN else abs(off)
    error = abs(notes[at[7]]) + np.sqrt(notes[at[8]])
    notes[at[9]] = max(notes[at[9]], error, known)
    return off, since < 0.5 * START, second
