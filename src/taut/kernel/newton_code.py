"""Newton's iteration as LLVM code, and the rules by which it stops.

What is measured is h·|Δwatch|, relative to the coordinates.  Newton stops when it is below 1e−8,
has fallen by a factor of 1000, and so far that the next update, m³/last² if they fall
quadratically, would be below round-off; or when it is below 1e−7 and no longer falls, which is
noise.  The first iteration has no other to compare with, and coordinates may be large against the
scale on which forces and constraints bend (an angle that winds, a body far away): it must be
below 1e−12.

The simplified iteration factorises its matrix once, at the guess: what depends on the guess alone
stands before the loop.  Its updates fall by a constant factor, so that the next one is m²/last, and
what no longer falls may converge slowly: it counts as noise only if rounding the largest
coordinate explains it.  Where it fails, an iteration with the exact matrix is tried (see
`taut.march.run`).
"""

from __future__ import annotations

import casadi as ca

from taut.kernel.emit import Emitter, lean
from taut.kernel.kept_code import Keeper
from taut.kernel.newtons import NEVER, NEXT, Newton

SMALL, FALLING, ROUNDOFF, STALL_RATIO = 1e-8, 1e-3, 1e-14, 0.6
FIRST = 1e-12  # enough in the first iteration, which no other tells how quickly it converges
SURE = 1e-14  # the same where it converges by a factor that is not known yet
BENT = 1e-11  # as SMALL, where equations are nonlinear in the velocities
LIMIT = 25


def newton_loop(
    e: Emitter,
    index: int,
    newton: Newton,
    known,
    guess: list[str],
    iterations: str,
    before: str,
    place: tuple[str, int] | None = None,
) -> tuple[list[str], str, str, str]:
    """Emit one loop; (solution, converged, iterations so far, the block that follows).

    Parameters
    ----------
    known : list of (SX, values)
        What the equations may depend on besides the unknowns.
    before : str
        The block that the loop is entered from.
    place : (pointer, slot), optional
        Where its factors are kept from step to step.
    """
    symbols, values = [*(x for x, _ in known), newton.start], [*(x for _, x in known), guess]
    outputs = [newton.change, newton.measure, newton.noise]
    if newton.peeled:
        both = ca.vertcat(newton.change, newton.measure)
        outputs.append(ca.substitute(both, newton.unknowns, newton.start))
    if newton.enough is not None:
        outputs.append(newton.enough)
    inputs, late = [*symbols, newton.named, newton.unknowns], {len(symbols), len(symbols) + 1}
    function = lean(ca.Function("newton", inputs, outputs))
    graph, early = e.staged(function, [*values, [], []], late)
    begun = e.constant(NEVER)
    if newton.peeled:
        *moves, begun = graph.found(early, 3)
        guess = [e.plus(a, b) for a, b in zip(guess, moves, strict=True)]
        iterations = e.plus(iterations, e.constant(1.0))
    enough = "" if newton.enough is None else graph.found(early, len(outputs) - 1)[0]
    loop, after = f"newton{index}", f"solved{index}"
    keeper, first, idle = None, guess, e.splat("false")
    trips0 = iterations
    if place is not None:
        keeper = Keeper(e, index, newton, place, guess, iterations)
        first, idle, trips0, before = keeper.entered(symbols, values, before)
    z, z_next = ([e.name() for _ in guess] for _ in range(2))
    last, measured, done, done_next = (e.name() for _ in range(4))
    count, count_next, trips, trips_next = (e.name() for _ in range(4))
    e.do(f"br label %{loop}")
    e.label(loop)
    for a, b, g in zip(z, z_next, first, strict=True):
        e.do(f"{a} = phi {e.type} [ {g}, %{before} ], [ {b}, %{loop} ]")
    e.do(f"{last} = phi {e.type} [ {begun}, %{before} ], [ {measured}, %{loop} ]")
    e.do(f"{done} = phi {e.mask} [ {idle}, %{before} ], [ {done_next}, %{loop} ]")
    e.do(f"{trips} = phi {e.type} [ {trips0}, %{before} ], [ {trips_next}, %{loop} ]")
    e.do(f"{count} = phi i64 [ 0, %{before} ], [ {count_next}, %{loop} ]")
    if keeper is not None:
        keeper.head(before, loop)
    bound = _bound(e, last, newton)
    factors = [] if keeper is None else keeper.factors()
    change, (measure,), (noise,), *_ = graph.emit_late(e, [*values, factors, z], early)
    for a, b, d in zip(z, z_next, change, strict=True):
        moved = e.put(f"fadd {e.type} {a}, {d}")
        e.do(f"{b} = select {e.mask} {done}, {e.type} {a}, {e.type} {moved}")
    e.do(f"{measured} = select {e.mask} {done}, {e.type} {last}, {e.type} {measure}")
    final = _final(e, measure, last, newton, enough)
    near = e.put(f"and {e.mask} {e.compare('ole', measure, bound)}, {final}")
    enough = e.put(f"or {e.mask} {near}, {_stalled(e, measure, last, noise)}")
    if keeper is not None:  # a lane with an old matrix has fewer iterations than the others
        enough = keeper.stopped(count, done, enough)
    e.do(f"{done_next} = or {e.mask} {done}, {enough}")
    step = e.select(done, e.constant(0.0), e.constant(1.0))
    e.do(f"{trips_next} = fadd {e.type} {trips}, {step}")
    e.do(f"{count_next} = add i64 {count}, 1")
    busy = e.put(f"xor i1 {e.all(done_next)}, true")
    within = e.put(f"icmp ult i64 {count_next}, {LIMIT}")
    e.do(f"br i1 {e.put(f'and i1 {busy}, {within}')}, label %{loop}, label %{after}")
    e.label(after)
    if keeper is not None:
        converged, after = keeper.left(z_next, trips_next)
        return z_next, converged, trips_next, after
    return z_next, done_next, trips_next, after


def _bound(e: Emitter, last: str, newton: Newton) -> str:
    """What the measure must not exceed, given the one before."""
    small = e.constant(BENT if newton.curved else SMALL)
    first = e.constant(0.0 if newton.curved else SURE if newton.simplified else FIRST)
    if newton.simplified:
        quick = small
    else:
        falling = e.put(f"fmul {e.type} {last}, {e.constant(FALLING)}")
        quick = e.select(e.compare("olt", falling, small), falling, small)
        quick = e.select(e.compare("ogt", quick, e.constant(ROUNDOFF)), quick, e.constant(ROUNDOFF))
    return e.select(e.compare("oge", last, e.constant(NEVER)), first, quick)


def _final(e: Emitter, measure: str, last: str, newton: Newton, enough: str) -> str:
    """Whether the next update would be below round-off: see the module's head."""
    power = e.put(f"fmul {e.type} {measure}, {measure}")
    before = last
    if not newton.simplified:
        power = e.put(f"fmul {e.type} {measure}, {power}")
        before = e.put(f"fmul {e.type} {last}, {last}")
    falls = e.compare("ole", power, e.put(f"fmul {e.type} {before}, {e.constant(NEXT)}"))
    return e.put(f"and {e.mask} {falls}, {e.compare('ole', measure, enough)}") if enough else falls


def _stalled(e: Emitter, measure: str, last: str, noise: str) -> str:
    """Small and no longer falling: noise, where half the last one would be slow convergence."""
    small = e.compare("une", noise, e.constant(0.0))
    rest = e.put(f"fmul {e.type} {last}, {e.constant(STALL_RATIO)}")
    return e.put(f"and {e.mask} {small}, {e.compare('oge', measure, rest)}")
