"""Write the page on truth: ``python docs/truth.py`` (about an hour on two quiet cores).

What has been made is kept in out/truth.jsonl, and a script that is started again goes on from
there; remove the file to begin anew.  The trials and the random models are the tests' own, which
make a sample of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "verification"))

import random_mechanisms  # noqa: E402
import random_models  # noqa: E402
import trials  # noqa: E402

from taut.problems import names  # noqa: E402

PAGE = Path(__file__).with_name("truth.md")
MADE = ROOT / "out" / "truth.jsonl"
MODELS, MECHANISMS = 900, 100
AS_IT_IS = next(iter(trials.WAYS))


class Verdict(NamedTuple):
    """A row of the certificate: what is held against what, and the words there are for it."""

    row: str
    what: str
    against: str
    words: tuple[str, ...]


DRIFT = (
    "no drift", "none seen; too short to exclude", "too short to tell", "drifts", "wanders",
    "round-off", "no claim: …",
)  # fmt: skip
VERDICTS = (
    Verdict("ended early", "whether the last step was reached", "", ("failed", "stopped")),
    Verdict(
        "max \\|g\\|",
        "the largest \\|g\\| over all steps, and each row at up to 32 states",
        "100 ε (Σ \\|summands of g\\| + \\|G\\| \\|q\\|), for each row with the largest of its "
        "coordinates: the unit of that constraint",
        ("round-off", "not kept"),
    ),
    Verdict(
        "max \\|G q̇ + ∂g/∂t\\|",
        "the same of the hidden constraints",
        "100 ε (\\|G\\| \\|v\\| + \\|∂(G v)/∂q\\| \\|q\\| + \\|G\\| M⁻¹ \\|G\\|ᵀ h \\|λ\\|): "
        "what impulses make is rounded before they cancel",
        ("round-off", "not kept", "not asked for"),
    ),
    Verdict(
        "energy drift",
        "the slope of block means with its 95 % interval, × duration",
        "the band of the energy over all steps; the band against 8 ε (\\|E₀\\| + max \\|p·v\\| "
        "+ √steps (range of \\|p·v\\| + max Σ \\|F q\\|)), and against the kinetic energy",
        (*DRIFT, "wrong by … % of the kinetic energy", "wrong by more than the kinetic energy"),
    ),
    Verdict(
        "energy − work",
        "the band of E − E₀ − W over all steps",
        "what went in and out, or the change of the kinetic energy if that is more; the same "
        "rounding; what the sum of the work is off by, which is summed as well",
        (
            "round-off", "… % of the work", "… % of the change of the kinetic energy",
            "…; the sum of the work by itself makes about …",
            "…; the work is summed to order 2", "too few steps to tell",
        ),
    ),
    Verdict(
        "tolerance",
        "the energy's error, or that of pieces made anew with half the step",
        "the tolerance × the kinetic energy, or × the size of the system",
        (
            "met", "missed", "not known: the motion is not resolved, see below",
            "not checked after the trial",
        ),
    ),
    Verdict(
        "resolution",
        "the velocity after a step, and after 2, 4 and 8 shorter ones instead, at up to 16 steps",
        "the speed, in the norm of the kinetic energy: 5 % is unresolved, 0.5 % coarse; of each "
        "mass also its own speed",
        (
            "resolved", "coarse", "coarse: its quickest parts are unresolved",
            "coarse: its lightest parts are unresolved",
            "unresolved at t = …: use a smaller step", "unresolved: use a smaller step",
            "unresolved: forces change within a step", "at rest",
        ),
    ),
    Verdict(
        "pole", "the sign of what stands below a fraction or in a root, along the run", "zero",
        ("passed through: no motion does that",),
    ),
    Verdict(
        "switching", "how often what jumps goes to and fro", "a share of the steps",
        ("unresolved: smooth this switch, or use events",),
    ),
    Verdict(
        "symplecticity defect",
        "‖Tᵀ(DΦᵀJDΦ − J)T‖ / ‖TᵀJT‖ at up to five states, δq in √(h/m), δp in √(m/h)",
        "100 × what one rounding of each number that DΦ and T are made from does: measured",
        (
            "symplectic", "not symplectic", "not symplectic on the constraints",
            "small at this step, not by construction",
            "cannot be told: rounding alone may make it …", "no freedom is left",
        ),
    ),
    Verdict(
        "laws held", "the largest change of a law that the method is held to",
        "10⁻⁶ of the sum of its summands",
        ("", "not held everywhere: steps too coarse to correct"),
    ),
    Verdict(
        "each law",
        "its change over the stored states, and the slope of its block means",
        "1000 ε √(steps/10⁴) (Σ \\|summands\\| + Σ \\|z ∂I/∂z\\|); what the model says of it",
        (*DRIFT, "not kept", "the model does not keep it: …", "not a number"),
    ),
    Verdict("event …", "whether what it watches is a number", "", ("not watched there",)),
    Verdict("step sizes", "smallest, largest, mean", "", ("reversible",)),
    Verdict(
        "Newton iterations", "moves of the last iteration, and steps that could not be made",
        "round-off of the largest coordinate",
        ("", "… failed", "some corrections did not converge", "…"),
    ),
    Verdict(
        "redundant", "constraints that follow from the others, to 10⁻⁹ of unit rows", "",
        ("least-norm multipliers",),
    ),
)  # fmt: skip

HEAD = """# Is it true?

A certificate is a list of sentences, and each of them compares two numbers. This page says
which, and what was done to make them false. It is written by `python docs/truth.py`;
`tests/verification` makes a sample of the same trials, and fails where the page would change.

## What each verdict compares

No verdict compares a number that has a unit with one that has none. What it is compared with is
made from the same state: it changes with the units of length, mass and time, with those of a
single coordinate, and with the origin as far as rounding does. ε = 2⁻⁵².

| row | what is measured | what it is held against | what it can say |
|---|---|---|---|
"""
TRIALS = """
Where a run is so far from the origin that digits of what its parts do are lost, each verdict
says how many: “; 6 digits are lost far from the origin”. What beams add (momenta, strain
against poses, frames, the limit of the step) is in [Beams](beams.md).

## The catalogue, told in other ways

{problems} of the {all} [problems](problems.md) of the catalogue were run again, for up to {steps}
steps, in other units, at another place (moved by 10⁶ along all axes), turned, with coordinates
and parts in another order, with other steps, and as a batch of eight at every width of the vectors.
What is compared is every verdict of the certificate.

| way | problems | all verdicts the same |
|---|---|---|
"""
MODELS_HEAD = """
## Random models against an independent code

{count} random models: systems of one to eight coordinates, and mechanisms of bodies in trees
and loops. Systems have masses over twelve decades, M(q), M(q, t) and full matrices,
Hamiltonians that cannot be separated, gyroscopic terms, polynomials, trigonometric and Coulomb
potentials and springs, planes, spheres, quadrics and surfaces that may move, be redundant or
have units of their own, damping, forces of time and follower forces. Each was told to taut in
random units of length, mass and time (10⁻⁴ … 10⁴), in a turned frame, at a random place. The
independent code differentiates constraints until an ordinary equation is left (SymPy, NumPy; of
trees the equations in joint angles) and integrates it with SciPy's DOP853 at a relative
tolerance of 10⁻¹²; it shares nothing with taut.

Two runs, {steps} steps and twice as many, must end where it does: with half the step closer by
the order of the method, or within {floor:g} of the size of the motion, from where on DOP853
itself is no longer sure. Forces of constraints, the energy and the work must agree with it, and
every verdict with what is known of the model. A third run with a random coarse step is asked
whether it is resolved.

| method | models | error, the median | the largest | order or floor | words and numbers true |
|---|---|---|---|---|---|
"""


# ---- making it -----------------------------------------------------------------------------------


def tasks() -> Iterator[tuple[str, str]]:
    """(kind, key) of all there is to make."""
    for name in names():
        for way, how in trials.WAYS.items():
            if trials.apt(name, how):
                yield "trial", f"{name}|{way}"
    yield from (("model", str(seed)) for seed in range(MODELS))
    yield from (("mechanism", str(seed)) for seed in range(MECHANISMS))


def made(kind: str, key: str) -> dict[str, Any]:
    """One of them."""
    warnings.simplefilter("ignore")
    if kind == "trial":
        name, way = key.split("|")
        return trial(name, way)
    judged = {"model": random_models.judged, "mechanism": random_mechanisms.judged}[kind]
    found = judged(int(key))
    if found is None:
        return {}
    return {
        "method": found.method, "error": found.error, "kinds": found.kinds, "wrong": found.wrong,
        "resolved": found.resolved, "refused": found.refused,
    }  # fmt: skip


def trial(name: str, way: str) -> dict[str, Any]:
    """The verdicts of a problem told in this way."""
    found = trials.verdicts(trials.run_of(name, trials.WAYS[way]))
    return {row: word if isinstance(word, str) else dict(word) for row, word in found.items()}


def make(processes: int, some: Callable[[str, str], bool] = lambda kind, key: True) -> None:
    """All that is missing, with a line that tells how far it is."""
    MADE.parent.mkdir(exist_ok=True)
    known = results()
    left = [x for x in tasks() if x not in known and some(*x)]
    begun = time.monotonic()
    with ProcessPoolExecutor(processes) as pool, MADE.open("a") as file:
        futures = {pool.submit(made, *task): task for task in left}
        for done, future in enumerate(as_completed(futures), 1):
            file.write(json.dumps([*futures[future], future.result()]) + "\n")
            file.flush()
            each = (time.monotonic() - begun) / done
            print(f"\r{done} of {len(left)}, {each * (len(left) - done) / 60:.0f} min left ",
                  end="", file=sys.stderr)  # fmt: skip
    print(file=sys.stderr)


def results() -> dict[tuple[str, str], dict[str, Any]]:
    """(kind, key) → what was found."""
    if not MADE.exists():
        return {}
    lines = (json.loads(x) for x in MADE.read_text().splitlines())
    return {(kind, key): found for kind, key, found in lines}


# ---- telling it ----------------------------------------------------------------------------------


def page(found: dict[tuple[str, str], dict[str, Any]]) -> str:
    """The whole page."""
    return "".join([HEAD, *_verdicts(), *_trials(found), *_models(found)])


def _verdicts() -> Iterator[str]:
    for x in VERDICTS:
        words = ", ".join(f"“{word}”" for word in x.words if word and word != "…")
        yield f"| {x.row} | {x.what} | {x.against} | {words} |\n"


def differences(found: dict[tuple[str, str], dict[str, Any]]) -> Iterator[tuple[str, str, list]]:
    """(problem, way, differing rows) for all trials that were made."""
    for (kind, key), other in found.items():
        name, _, way = key.partition("|")
        if kind != "trial" or way == AS_IT_IS or ("trial", f"{name}|{AS_IT_IS}") not in found:
            continue
        one = found["trial", f"{name}|{AS_IT_IS}"]
        yield name, way, list(trials.differences(_counted(one), _counted(other)))


def _counted(verdicts: dict[str, Any]) -> dict[str, Any]:
    return {row: x if isinstance(x, str) else Counter(x) for row, x in verdicts.items()}


def _trials(found: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    all_of = list(differences(found))
    many = len({name for name, *_ in all_of})
    yield TRIALS.format(steps=trials.STEPS, problems=many, all=len(names()))
    for way in list(trials.WAYS)[1:]:
        mine = [rows for _, other, rows in all_of if other == way]
        if mine:
            yield f"| {way} | {len(mine)} | {sum(not rows for rows in mine)} |\n"
    yield "\nThese differ:\n\n| problem | way | row | as it is | told so |\n|---|---|---|---|---|\n"
    for name, way, rows in sorted(all_of):
        for row, one, other in rows:
            yield f"| `{name}` | {way} | {row.replace('|', chr(92) + '|')} | {one} | {other} |\n"
    yield WHY


WHY = """
With another step there is another run, whose resolution is what it is; a longer or shorter one
may show a drift that the other could not tell. At 10⁶ lengths from the origin six digits of the
coordinates are gone, and what is an error of the method near it is within rounding there; a
loop that closes only by its exact measures does not, to rounding. Laws are not of the run but of a
search, which sees less where coefficients are small in the units that were chosen, or large far
from the origin, and stops when its time is over. (# stands for a figure.)
"""


def _models(found: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    known = {k: x for k, x in found.items() if k[0] != "trial" and x}
    yield MODELS_HEAD.format(count=len(known), steps=random_models.STEPS, floor=random_models.FLOOR)
    runs = [x for x in known.values() if not x["refused"]]
    for method in sorted({x["method"] for x in runs}):
        mine = [x for x in runs if x["method"] == method]
        errors = np.array([x["error"] for x in mine])
        path = sum(not any(w.startswith("errors") for w in x["wrong"]) for x in mine)
        good = sum(not x["wrong"] for x in mine)
        yield (
            f"| `{method}` | {len(mine)} | {np.median(errors):.0e} | {errors.max():.0e} "
            f"| {path} | {good} |\n"
        )
    yield from _resolutions(runs)
    yield from _wrong(known)
    refused = Counter(x["refused"].partition(" at t =")[0] for x in known.values() if x["refused"])
    if refused:
        said = "; ".join(f"{many} × “{why}”" for why, many in refused.most_common())
        yield f"\nSome runs are refused, with a reason: {said}.\n"


def _resolutions(runs: Iterable[dict[str, Any]]) -> Iterator[str]:
    bounds = (0.0, 1e-3, 1e-2, 0.1, 0.5, np.inf)
    yield "\n| error of the coarse run | “resolved”, or “coarse” | “unresolved” |\n|---|---|---|\n"
    pairs = [x["resolved"] for x in runs if x["resolved"] is not None]
    for low, high in pairwise(bounds):
        inside = [word for word, error in pairs if low <= error < high]
        name = f"{low:g} … {high:g}" if np.isfinite(high) else f"{low:g} and more"
        yield f"| {name} | {inside.count(True)} | {inside.count(False)} |\n"


def _wrong(known: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    wrong = [(kind, key, w) for (kind, key), x in known.items() for w in x["wrong"]]
    if not wrong:
        yield "\nNo number and no word was found to be false.\n"
        return
    yield "\nWhat was not as it should be:\n\n"
    for kind, key, word in wrong:
        yield f"* {kind} {key}: {word.replace('|', chr(92) + '|')}\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", choices=("trial", "model", "mechanism"), help="make only these")
    parser.add_argument("--write", action="store_true", help="write the page from what there is")
    given = parser.parse_args()
    if not given.write:
        make(given.processes, lambda kind, _: given.only in (None, kind))
    PAGE.write_text(page(results()))
    print(f"wrote {PAGE.name}")
