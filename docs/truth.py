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
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "verification"))

import field_trials  # noqa: E402
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
KINDS: dict[str, ModuleType] = {"trial": trials, "beam": field_trials}
TRIALS = """
Where a run is so far from the origin that digits of what its parts do are lost, each verdict
says how many: “; 6 digits are lost far from the origin”. What beams add (momenta, strain
against poses, frames, the limit of the step) is in [Beams](beams.md).

## The catalogue, told in other ways

{problems} of the {all} [problems](problems.md) of the catalogue were run again, for up to {steps}
steps, in other units, at another place (moved by 10⁶ along all axes), turned, with coordinates
and parts in another order, with other steps, and as a batch of eight at every width of the vectors.
What is compared is every verdict of the certificate; in other units, turned, in another order and
as a batch also its percentages, which are the same up to a factor of {factor:g}.
{left}
"""
WAYS = "| way | {what} | all verdicts the same |\n|---|---|---|\n"
BEAMS = """
## Beams and fields

{many}: {names}, each told in the ways that are left: without a batch, and
without space if it is a field. “Other order” is from the other end: node 0 is the last one, and
local axes are turned. {steps} steps each.
{left}
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
itself is no longer sure. One motion in five goes on for {long} times as long, with as many more
steps; there its errors grow as all differences do, and with the square of time. Forces of
constraints (of mechanisms what joints transmit, as far as equations determine it), the energy
and the work must agree with it, and every verdict with what is known of the model.

A third run with a random coarse step is asked whether it is resolved. “Resolved” is false where
the path ends farther off than {resolved:.0%} of the size of the motion, “coarse” from {coarse:.0%}
on, each times what the motion itself makes of small differences of the start; “unresolved” is
false where the path is right to {good:g}.

| method | models | error, the median | the largest | order or floor | words and numbers true |
|---|---|---|---|---|---|
"""


# ---- making it -----------------------------------------------------------------------------------


def tasks() -> Iterator[tuple[str, str]]:
    """(kind, key) of all there is to make."""
    for kind, module in KINDS.items():
        for name in all_of(kind):
            for way, how in module.WAYS.items():
                if module.apt(name, how):
                    yield kind, f"{name}|{way}"
    yield from (("model", str(seed)) for seed in range(MODELS))
    yield from (("mechanism", str(seed)) for seed in range(MECHANISMS))


def all_of(kind: str) -> list[str]:
    """The names of all problems that are told in other ways."""
    return list(names()) if kind == "trial" else list(field_trials.NAMES)


def made(kind: str, key: str) -> dict[str, Any]:
    """One of them."""
    warnings.simplefilter("ignore")
    if kind in KINDS:
        return trial(kind, *key.split("|"))
    judged = {"model": random_models.judged, "mechanism": random_mechanisms.judged}[kind]
    found = judged(int(key))
    if found is None:
        return {}
    return {
        "method": found.method, "error": found.error, "kinds": found.kinds, "wrong": found.wrong,
        "resolved": found.resolved, "refused": found.refused,
    }  # fmt: skip


def trial(kind: str, name: str, way: str) -> dict[str, Any]:
    """The verdicts of a problem told in this way."""
    module = KINDS[kind]
    found = trials.verdicts(module.run_of(name, module.WAYS[way]))
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
    return "".join([HEAD, *_verdicts(), *_trials(found), *_beams(found), *_models(found)])


def _verdicts() -> Iterator[str]:
    for x in VERDICTS:
        words = ", ".join(f"“{word}”" for word in x.words if word and word != "…")
        yield f"| {x.row} | {x.what} | {x.against} | {words} |\n"


def differences(
    found: dict[tuple[str, str], dict[str, Any]], kind: str
) -> Iterator[tuple[str, str, list]]:
    """(problem, way, differing rows) for all trials of a kind that were made."""
    for (other_kind, key), other in found.items():
        name, _, way = key.partition("|")
        if other_kind != kind or way == AS_IT_IS or (kind, f"{name}|{AS_IT_IS}") not in found:
            continue
        one, alike = found[kind, f"{name}|{AS_IT_IS}"], trials.WAYS[way].alike
        yield name, way, list(trials.differences(_counted(one), _counted(other), alike))


def _counted(verdicts: dict[str, Any]) -> dict[str, Any]:
    return {row: x if isinstance(x, str) else Counter(x) for row, x in verdicts.items()}


def _trials(found: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    compared = list(differences(found, "trial"))
    many = len({name for name, *_ in compared})
    yield TRIALS.format(
        steps=trials.STEPS, problems=many, all=len(names()), factor=trials.FACTOR,
        left=_left_out("trial", compared),
    )  # fmt: skip
    yield from _tables(compared, "problems")
    silent = {key.partition("|")[0] for (kind, key), x in found.items()
              if kind == "trial" and "laws" not in x}  # fmt: skip
    if silent:
        names_of = ", ".join(f"`{name}`" for name in sorted(silent))
        yield f"\nThe rows of laws were not compared of {names_of}.\n"
    yield WHY


def _beams(found: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    compared = list(differences(found, "beam"))
    done = [name for name in field_trials.NAMES if name in {x for x, *_ in compared}]
    yield BEAMS.format(
        many=f"{len(done)} runs of beams and fields by their methods",
        names="; ".join(
            f"{name} ({', '.join(x.partition(', ')[2] for x in done if x.startswith(name + ','))})"
            for name in dict.fromkeys(x.partition(", ")[0] for x in done)
        ),
        steps=field_trials.STEPS, left=_left_out("beam", compared),
    )  # fmt: skip
    yield from _tables(compared, "runs")


def _left_out(kind: str, compared: Iterable[tuple[str, str, list]]) -> str:
    """Which problems were not run again at all, and which ways there are not for some."""
    module, seen = KINDS[kind], {(name, way) for name, way, _ in compared}
    missing, partly = [], []
    for name in all_of(kind):
        ways = [x for x, how in module.WAYS.items() if x != AS_IT_IS and module.apt(name, how)]
        lacks = [x for x in ways if (name, x) not in seen]
        if len(lacks) == len(ways):
            missing.append(f"`{name}`")
        elif lacks:
            partly.append(f"`{name}` ({', '.join(lacks)})")
    said = ""
    if missing:
        said += f"\nLeft out: {', '.join(missing)}.\n"
    if partly:
        said += f"\nLeft out in some ways: {', '.join(partly)}.\n"
    if kind == "trial" and (vary := [x for x in names() if not trials.apt(x, trials.Way(lanes=1))]):
        alone = ", ".join(f"`{x}`" for x in vary)
        said += f"\nSteps that vary are for one trajectory, without a batch: {alone}.\n"
    return said


def _tables(compared: list[tuple[str, str, list]], what: str) -> Iterator[str]:
    """How many are the same, way by way, and which are not."""
    yield WAYS.format(what=what)
    for way in list(trials.WAYS)[1:]:
        mine = [rows for _, other, rows in compared if other == way]
        if mine:
            yield f"| {way} | {len(mine)} | {sum(not rows for rows in mine)} |\n"
    if not any(rows for *_, rows in compared):
        yield "\nNone differs.\n"
        return
    yield "\nThese differ:\n\n| problem | way | row | as it is | told so |\n|---|---|---|---|---|\n"
    for name, way, rows in sorted(compared):
        for row, one, other in rows:
            yield f"| `{name}` | {way} | {row.replace('|', chr(92) + '|')} | {one} | {other} |\n"


WHY = """
With another step there is another run, whose resolution is what it is; a longer or shorter one
may show a drift that the other could not tell. At 10⁶ lengths from the origin six digits of the
coordinates are gone, and what is an error of the method near it is within rounding there; a
loop that closes only by its exact measures does not, to rounding. Laws are not of the run but of a
search, which sees less where coefficients are small in the units that were chosen, or large far
from the origin, and stops when its time is over. (# stands for a figure that is not compared.)
"""


def _models(found: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    known = {k: x for k, x in found.items() if k[0] not in KINDS and x}
    promised = random_models.PROMISED
    yield MODELS_HEAD.format(
        count=len(known), steps=random_models.STEPS, floor=random_models.FLOOR,
        long=random_models.LONG, resolved=promised["resolved"], coarse=promised["coarse"],
        good=random_models.GOOD,
    )  # fmt: skip
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
    words = ("resolved", "coarse", "unresolved")
    yield "\n| error of the coarse run | “resolved” | “coarse” | “unresolved”, or parts of it |\n"
    yield "|---|---|---|---|\n"
    pairs = [x["resolved"] for x in runs if x["resolved"] is not None]
    for low, high in pairwise(bounds):
        inside = [word for word, error in pairs if low <= error < high]
        name = f"{low:g} … {high:g}" if np.isfinite(high) else f"{low:g} and more"
        yield f"| {name} | {' | '.join(str(inside.count(x)) for x in words)} |\n"


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
    parser.add_argument("--only", choices=(*KINDS, "model", "mechanism"), help="make only these")
    parser.add_argument("--write", action="store_true", help="write the page from what there is")
    given = parser.parse_args()
    if not given.write:
        make(given.processes, lambda kind, _: given.only in (None, kind))
    PAGE.write_text(page(results()))
    print(f"wrote {PAGE.name}")
