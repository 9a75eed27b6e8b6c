"""What single steps of a field or of beams are worth: sampled ones are made again in parts.

As `taut.march.halving` does it for systems, with 2, 3 and 7 equal parts, in the norm of the kinetic
energy: ‖x‖² = Σ_j w_j δμ_j·δζ_j over the nodes, relative to the mean over the run.  Steps that go
on from stored states begin as a run does.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from taut.errors import TautError
from taut.kernel.strand import strand_of_field
from taut.march.field_trajectory import FieldTrajectory, following
from taut.march.field_values import FieldValues
from taut.march.fields import run_of, strand_of
from taut.march.halving import FEW, GOLDEN, NOISE, REST, SEEN, TRAVEL, Halved
from taut.march.plan import Plan
from taut.portable import product, solve

PARTS = (1, 2, 3, 7)  # into which steps are divided: none is a multiple of another
LOOKS = 500  # states at which is looked for quick changes, and that give the usual speed


def halved_field(run: FieldTrajectory) -> Halved | None:
    """The worst of the sampled steps; None if none could be made."""
    count = len(run.t) - 1
    if count < 1:
        return None
    looks = np.unique(np.linspace(0, count, LOOKS).astype(int))
    mean = run.momentum[looks].mean(axis=0)
    usual = float(np.sqrt(np.mean([_size(run, k, run.momentum[k] - mean) ** 2 for k in looks])))
    found = []
    for row in _rows(run, count):
        try:
            paths = [_path(run, int(row), parts) for parts in PARTS]
        except (TautError, np.linalg.LinAlgError):
            continue
        with np.errstate(all="ignore"):
            found.append(_judged(run, int(row), paths, mean, usual))
    if not found:
        return None
    error, turn, fast, t = (np.array(x) for x in zip(*found, strict=True))
    if fast.max() * run.step <= REST * _extent(run):
        return Halved(0.0, 0.0, float(t[0]), len(t), still=True)
    typical = np.sqrt(np.mean(np.square(turn)))
    share = (error / np.maximum(np.fmax(turn, typical), 1e-300))[error > SEEN].max(initial=0.0)
    worst = int(np.argmax(error))
    return Halved(
        float(error[worst]), float(turn.max()), float(t[worst]), len(t), float(share),
        turned=bool(turn.max() * count > 2 * np.pi),
    )  # fmt: skip


def _rows(run: FieldTrajectory, count: int) -> np.ndarray:
    """Stored states to begin at: spread evenly, and the quickest of each part of the run."""
    half = FEW // 2
    evenly = (np.arange(1, half + 1) * GOLDEN % 1.0 * count).astype(int)
    looks = np.unique(np.linspace(0, max(count - 2, 0), LOOKS).astype(int))
    looks = looks[looks + 2 <= count]
    worst: list[int] = []
    if len(looks):
        speed = np.array([_bend(run, int(k)) for k in looks])
        blocks = [x for x in np.array_split(np.arange(len(looks)), half) if len(x)]
        worst = [int(looks[x[np.argmax(speed[x])]]) for x in blocks]
    found = np.unique(np.concatenate([[0], evenly, np.array(worst, dtype=int)]))
    return found[found < count]


def _bend(run: FieldTrajectory, k: int) -> float:
    """How much the step from a state changes momenta, and more or less than the next one."""
    one, two, three = run.momentum[k : k + 3]
    return _size(run, k, two - one) + _size(run, k, one - 2 * two + three)


def _velocity(run: FieldTrajectory, k: int, momentum: np.ndarray) -> np.ndarray:
    """Velocities that go with momenta, at the strain of a stored state."""
    if (mesh := run.mesh) is not None:
        return following(mesh, solve(mesh.inertia, momentum[..., None])[..., 0])
    return FieldValues(run.model, _par(run), run.strain[[k]], momentum[None]).velocity[0]


def _size(run: FieldTrajectory, k: int, momentum: np.ndarray) -> float:
    """√Σ w μ·ζ(μ)."""
    weight = run.model.weights if run.mesh is None else run.mesh.weight
    with np.errstate(all="ignore"):
        products = (momentum * _velocity(run, k, momentum)).sum(axis=1)
    return float(np.sqrt(product(weight, np.abs(products))))


def _par(run: FieldTrajectory) -> np.ndarray:
    return np.array([run.parameters[p.name] for p in run.model.parameters])


def _extent(run: FieldTrajectory, far: bool = False) -> float:
    """√mass × size of what moves: of beams, which have a size; or of how `far` away they are."""
    if (mesh := run.mesh) is None:
        return 0.0
    mass, places = float(product(mesh.weight, mesh.inertia[:, 3, 3])), run.positions[0]
    return float(np.sqrt(mass) * np.abs(places if far else places - places.mean(axis=0)).max())


def _path(run: FieldTrajectory, row: int, parts: int) -> np.ndarray:
    """Momenta after each part of the step that begins at a stored state."""
    mesh, model, t, h = run.mesh, run.model, float(run.t[row]), run.step / parts
    strand = strand_of(mesh, run.method) if mesh else strand_of_field(model, _par(run))
    work = run_of(model, strand, run.method, Plan(t, h, h, 0, parts, 1), mesh, going_on=True)
    strand.rows[:] = run.ending.rows
    links = run.strain.shape[1]
    reference = model.reference if mesh is None else mesh.reference
    strand.view("chi")[:, :links] = (run.strain[row] + reference).T
    if mesh is not None:
        strand.give("turn", run._turns[row])  # type: ignore[index]
        strand.give("place", run.positions[row])
        strand.give("zeta", _velocity(run, row, run.momentum[row]))
    work.begin(run.momentum[row].copy(), h, t)
    work.opened()
    _, states, _, error = work.march(False)
    if error is not None:
        raise error
    size = work.kept["seen"][1]
    return states[:, :size].transpose(0, 2, 1)


def _judged(run: FieldTrajectory, row: int, paths, mean: np.ndarray, usual: float):
    """(error, turn, largest speed, t) of a step."""
    first, finest = run.momentum[row], paths[-1]
    gap = max(_size(run, row, path[-1] - paths[0][-1]) for path in paths[1:])
    way = [first, *finest]
    turn = sum(_size(run, row, b - a) for a, b in pairwise(way))
    fast = max(_size(run, row, x - mean) for x in way)
    scale = max(fast, usual, TRAVEL * _size(run, row, mean), 1e-300)
    gap = max(gap - NOISE * _extent(run, run.method.posed) / run.step, 0.0)
    if not np.isfinite(gap):
        gap = np.inf
    return gap / scale, turn / scale, max(_size(run, row, x) for x in way), float(run.t[row])
