"""Every road from a model to numbers, on small models; as a script: in eight threads, then alone.

Each road gives a digest of all that it has computed.  Threads that begin with the same road make
the same code at the same time, from an empty cache, while others run theirs.
"""

import hashlib
import sys
import threading
import traceback
import warnings

import numpy as np
import sympy as sp

import taut

x, y, u = taut.coordinates("x y u")
SOFT = {"section": taut.Square(0.05), "density": 1000, "young": 1e7, "poisson": 0.3}
UP = sp.sin(20 * taut.t) ** 2
THREADS, TIMES = 8, 2


def digest(*arrays):
    made = hashlib.sha256()
    for a in arrays:
        made.update(np.ascontiguousarray(a).tobytes())
    return made.hexdigest()


def of(run):
    return digest(run.t, run.q, run.v, run.p, run.energy)


def of_field(run):
    return digest(run.t, run.momentum, run.strain, run.energy, run.books)


def pendulum(**given):
    return taut.System(
        [x, y], mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1], **given
    )


START = {"q0": [1, 0], "v0": 0, "duration": 0.5, "step": 0.01}


def fused():
    return of(taut.simulate(pendulum(), **START))


def staged():
    return of(taut.simulate(pendulum(), **START, method="gauss-lobatto-4"))


def charted():
    return of(taut.simulate(pendulum(), **START, method="time-element-independent"))


def better():
    """More steps than a draft is for."""
    return of(taut.simulate(pendulum(), **{**START, "duration": 210, "every": 1000}))


def batch():
    angles = np.linspace(0.1, 3, 19)
    q0 = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    return of(taut.simulate(pendulum(), **{**START, "q0": q0}))


def assembled():
    return of(taut.simulate(chain(60), duration=0.02, step=0.002))


def chain(count):
    m, last = taut.Mechanism(), None
    for k in range(count):
        here = m.point(f"b{k}", mass=1, at=(0.1 * (k + 1), 0, 0))
        m.rod(f"r{k}", m.ground if last is None else last, here)
        last = here
    return m


def flow():
    model = taut.Flow([x, y], [y, -sp.sin(x)])
    return of(taut.simulate(model, q0=[1, 0], duration=0.5, step=0.01))


def tuned():
    return of(taut.simulate(pendulum(), q0=[1, 0], v0=0, duration=0.5, tolerance=1e-6))


def paced():
    model = taut.System([x, y], mass=[1, 1], potential=-1 / sp.sqrt(x**2 + y**2))
    method = taut.Adaptive("rattle", scale=(x**2 + y**2) ** sp.Rational(3, 4))
    return of(taut.simulate(model, q0=[1, 0], v0=[0, 1.1], duration=1, step=0.02, method=method))


def events():
    run = taut.simulate(pendulum(), **START, events=[y + 0.9])
    return digest(run.q, *(states.q for states in run.events.values()))


def controlled():
    model = pendulum(forces=[u, 0], controls={u: lambda t, state: -0.5 * state.v[0]})
    run = taut.simulate(model, **START)
    return digest(run.q, run.p, run.controls["u"])


def springs():
    """Forces that are SymPy functions for those who look at them."""
    m = taut.Mechanism()
    bob = m.point("bob", mass=1.5, at=(1.2, 0, 0))
    m.spring("own", m.ground, bob, energy=lambda s: 3 * s**4)
    run = taut.simulate(m, duration=0.2, step=0.01)
    return digest(run.q, run["own"].force)


def dense():
    run = taut.simulate(pendulum(), **START)
    return digest(run.at(np.linspace(0, 0.5, 7)).q)


def beam(nodes=7, **given):
    made = taut.Beam(1, **SOFT, nodes=nodes, gravity=(0, 0, -9.81), **given)
    return made.load(force=(UP, 0, 0.1), moment=(0, 0.1 * UP, 0))


def explicit():
    found = []
    for nodes in (5, 6, 7, 8):
        for method in ("hamel", "variational"):
            run = taut.simulate(beam(nodes), duration=2e-3, step=2e-4, method=method)
            found.append(of_field(run))
    return found


def damped():
    return of_field(taut.simulate(beam(damping=2e-3), duration=2e-3, step=2e-4))


def implicit():
    return of_field(taut.simulate(beam(), duration=5e-3, step=5e-4, method="implicit"))


def string(mixed):
    g, m = taut.coordinates("gamma mu")
    density = m**2 / 2 + g**2 / 2 - (0.3 * m * g if mixed else 0)
    field = taut.Field(
        taut.lie.abelian(1), density, strain=[g], momentum=[m], length=6, nodes=24, ends="periodic"
    )
    start = np.sin(np.linspace(0, 6, 24, endpoint=False))[:, None]
    run = taut.simulate(field, strain0=start, momentum0=0 * start, duration=0.5, step=0.05)
    return of_field(run)


def field():
    return string(False)


def mixed():
    return string(True)


def beam_parts():
    rod = taut.Beam(1, **SOFT, nodes=5)
    m = taut.Mechanism()
    m.beam("rod", rod, angular_velocity=(1.0, 2.0, 3.0))
    return digest(taut.simulate(m, duration=2e-3, step=2e-4, laws=None)["rod"].positions)


def rest():
    hanging = taut.Beam(1, **SOFT, nodes=7, gravity=(0, 0, -0.1), ends=("clamped", "free"))
    return digest(taut.equilibrium(hanging).positions)


ROADS = [
    fused, staged, charted, better, batch, assembled, flow, tuned, paced, events, controlled,
    springs, dense, explicit, damped, implicit, field, mixed, beam_parts, rest,
]  # fmt: skip


def main(names):
    roads = [road for road in ROADS if not names or road.__name__ in names]
    found, failures, gate = {}, [], threading.Barrier(THREADS)

    def work(number):
        first = number // 2 * len(roads) // (THREADS // 2)  # pairs begin with the same
        gate.wait()
        for road in (roads[first:] + roads[:first]) * TIMES:
            try:
                found.setdefault(road.__name__, []).append(road())
            except BaseException:
                failures.append(f"{road.__name__}: {traceback.format_exc()}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        return "\n".join(failures[:3])
    for road in roads:
        alone = road()
        others = sum(one != alone for one in found[road.__name__])
        if others or len(found[road.__name__]) != THREADS * TIMES:
            failures.append(f"{road.__name__}: {others} of {len(found[road.__name__])} differ")
    return "\n".join(failures) or f"{len(roads)} roads, the same bits"


if __name__ == "__main__":
    warnings.simplefilter("ignore", taut.UnstableStep)
    print(main(sys.argv[1:]))
