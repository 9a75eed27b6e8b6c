"""Newton's iteration as LLVM code, and the rules by which it stops.

What is measured is h·|Δwatch|, relative to the coordinates.  Newton stops when it is below 1e−8,
has fallen by a factor of 1000, and so far that the next update, m³/last² if they fall
quadratically, would be below round-off; or when it is below 1e−7 and no longer falls, which is
noise.  Where rounding the largest coordinate explains it, it is noise as soon as it no longer
falls quadratically: far from the origin that coordinate stays where it is, and others follow what
is left by a factor.  The first iteration has no other to compare with, and coordinates may be large
against the scale on which forces and constraints bend (an angle that winds, a body far away): it
must be below 1e−12.

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
from taut.kernel.newtons import NEVER, NEXT, ROUNDED, Newton

SMALL, FALLING, ROUNDOFF, STALL_RATIO = 1e-8, 1e-3, 1e-14, 0.6
# Of the moves that `ROUNDED` allows, 1e−8 of the largest coordinate.  With more, steps beside
# singular configurations, where nothing falls quadratically, would end on another branch.
EXPLAINED = 1e-3
SLOWLY = 0.1  # of the last measure: so little falls what does not fall quadratically
FIRST = 1e-12  # enough in the first iteration, which no other tells how quickly it converges
SURE = 1e-14  # the same where it converges by a factor that is not known yet
BENT = 1e-11  # as SMALL, where equations are nonlinear in the velocities
LIMIT = 25
# A last move that no longer falls is no round-off if it is so many times what rounding the largest
# coordinate explains: some tens of operations, and constraints that hold not quite evenly.
LOOSE = 64.0


def newton_loop(
    e: Emitter,
    index: int,
    newton: Newton,
    known,
    guess: list[str],
    iterations: str,
    before: str,
    place: tuple[str, int] | None = None,
) -> tuple[list[str], str, str, str, str]:
    """Emit one loop; (solution, converged, iterations so far, what is left, the next block).

    What is left is 0 where the iteration ended because the next update would be below round-off,
    or because the last one was.  Where it ended because updates no longer fall, it is the last one,
    of the largest coordinate.  ("" if rounding explains it always.)

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
    outputs = [newton.change, newton.measure, newton.noise, newton.excess]
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
        *moves, begun = graph.found(early, 4)
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
    head = len(e.lines)
    if keeper is not None:
        keeper.head(before, loop)
    bound = _bound(e, last, newton)
    factors = [] if keeper is None else keeper.factors()
    change, (measure,), (noise,), (excess,), *_ = graph.emit_late(e, [*values, factors, z], early)
    for a, b, d in zip(z, z_next, change, strict=True):
        moved = e.put(f"fadd {e.type} {a}, {d}")
        e.do(f"{b} = select {e.mask} {done}, {e.type} {a}, {e.type} {moved}")
    e.do(f"{measured} = select {e.mask} {done}, {e.type} {last}, {e.type} {measure}")
    final = _final(e, measure, last, newton, enough)
    near = e.put(f"and {e.mask} {e.compare('ole', measure, bound)}, {final}")
    enough = e.put(f"or {e.mask} {near}, {_stalled(e, measure, last, noise)}")
    if not newton.simplified:
        enough = e.put(f"or {e.mask} {enough}, {_explained(e, measure, last, excess)}")
    if e.lanes > 1 and not newton.simplified:  # lanes that were done before are as they were
        near = _frozen(e, head, e.mask, e.splat("false"), near, done, before, loop)
        excess = _frozen(e, head, e.type, e.constant(0.0), excess, done, before, loop)
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
        return z_next, converged, trips_next, "", after
    if newton.simplified:
        return z_next, done_next, trips_next, "", after
    left, after = _left(e, index, near, excess, newton.size, after)
    return z_next, done_next, trips_next, left, after


def _frozen(
    e: Emitter, head: int, kind: str, first: str, value: str, done: str, before: str, loop: str
) -> str:
    """A value of each lane's own last iteration; `head` is the line after the loop's φ-nodes."""
    old = e.name()
    new = e.put(f"select {e.mask} {done}, {kind} {old}, {kind} {value}")
    e.lines.insert(head, f"  {old} = phi {kind} [ {first}, %{before} ], [ {new}, %{loop} ]")
    return new


def _left(e: Emitter, index: int, near: str, excess: str, size: int, block: str) -> tuple[str, str]:
    """What is left of the largest of `size` coordinates, and the next block.

    It is looked at only where some lane did not end as it should, so that it costs nothing.
    """
    why, after, left = f"why{index}", f"known{index}", e.name()
    e.do(f"br i1 {e.likely(e.all(near))}, label %{after}, label %{why}")
    e.label(why)
    loose = e.compare("ogt", excess, e.constant(LOOSE))
    share = e.put(f"fmul {e.type} {excess}, {e.constant(ROUNDED * size)}")
    share = e.select(loose, share, e.constant(0.0))
    share = e.select(near, e.constant(0.0), share)
    e.do(f"br label %{after}")
    e.label(after)
    nothing = e.constant(0.0)
    e.do(f"{left} = phi {e.type} [ {nothing}, %{block} ], [ {share}, %{why} ]")
    return left, after


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


def _explained(e: Emitter, measure: str, last: str, excess: str) -> str:
    """What rounding explains, and what does not fall quadratically."""
    rounded = e.compare("ole", excess, e.constant(EXPLAINED))
    rest = e.put(f"fmul {e.type} {last}, {e.constant(SLOWLY)}")
    return e.put(f"and {e.mask} {rounded}, {e.compare('oge', measure, rest)}")
