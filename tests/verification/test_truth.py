"""A sample of what docs/truth.md says: verdicts in other words, and random models.

The whole is made by ``python docs/truth.py``, for minutes.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import taut

DOCS = Path(__file__).resolve().parents[2] / "docs"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("truth_page", DOCS / "truth.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules["truth_page"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


SCRIPT = _script()  # which knows where the trials and the random models are
trials, random_models = SCRIPT.trials, SCRIPT.random_models
random_mechanisms, field_trials = SCRIPT.random_mechanisms, SCRIPT.field_trials
# Each way at least once, each of a few quick problems with some of them.
PAIRS = (
    ("pendulum", "length × 10⁶"),
    ("pendulum", "step / 4"),
    ("double-pendulum", "mass × 10⁻⁶"),
    ("double-pendulum", "lanes 4"),
    ("spherical-pendulum", "turned"),
    ("spherical-pendulum", "lanes 1"),
    ("car-axis", "time × 10⁻⁶"),
    ("car-axis", "moved by 10⁶"),
    ("circular-track", "other order"),
    ("zg-double", "step × 2"),
    ("zg-pendulum", "length × 10⁻⁶"),
    ("zg-pendulum", "lanes 8"),
    ("zg-spherical", "mass × 10⁶"),
    ("period-2-pendulum", "time × 10⁶"),
    ("period-2-pendulum", "lanes 2"),
)
# Each problem, each method and each way at least once.
BEAMS = (
    ("cantilever, variational", "length × 10⁶"),
    ("cantilever, implicit", "other order"),
    ("cantilever, poisson", "turned"),
    ("sagging, variational", "time × 10⁻⁶"),
    ("flying, variational", "moved by 10⁶"),
    ("flying, hamel", "other order"),
    ("thrown, poisson", "length × 10⁻⁶"),
    ("portal, variational", "other order"),
    ("wave, poisson", "mass × 10⁶"),
    ("wave, poisson", "other order"),
    ("ring, hamel", "step × 2"),
    ("ring, hamel", "step / 4"),
    ("strand, poisson", "mass × 10⁻⁶"),
    ("strand, poisson", "time × 10⁶"),
)
# Of those that are quick to compile; one of each method, and most of the kinds.
MODELS = (24, 102, 105, 107, 109, 112, 113, 114, 116, 117, 119, 120, 121, 139)
MECHANISMS = (6, 9)


@cache
def page() -> str:
    """The page as it is."""
    return (DOCS / "truth.md").read_text()


@cache
def run_of(name: str, way: str) -> taut.Trajectory:
    """A problem, told in a way; quick enough to be made for each pair."""
    return trials.run_of(name, trials.WAYS[way])


def test_the_page_says_what_is_compared():
    """The part of it that is not measured is what the script would write."""
    wanted = SCRIPT.HEAD + "".join(SCRIPT._verdicts())
    assert page().startswith(wanted)
    assert all(f"| {way} |" in page() for way in list(trials.WAYS)[1:])


@pytest.mark.parametrize(("name", "way"), PAIRS, ids=lambda x: x.replace(" ", "-"))
def test_a_verdict_is_the_same_in_other_words(name, way):
    """Or it differs as the page says; of laws a slower machine finds fewer, and they are let go."""
    one, other = (trials.verdicts(run_of(name, x)) for x in ("as it is", way))
    found = [row for row, *_ in trials.differences(one, other, trials.WAYS[way].alike)]
    lines = [x for x in page().splitlines() if x.startswith(f"| `{name}` | {way} |")]
    said = [re.split(r"(?<!\\)\|", x)[3].strip().replace("\\", "") for x in lines]
    assert [x for x in said if x != "laws"] == [x for x in found if x != "laws"]


@pytest.mark.parametrize(("name", "way"), BEAMS, ids=lambda x: x.replace(" ", "-"))
def test_a_verdict_on_beams_and_fields_is_the_same_in_other_words(name, way):
    one, other = (
        trials.verdicts(field_trials.run_of(name, field_trials.WAYS[x])) for x in ("as it is", way)
    )
    assert list(trials.differences(one, other, trials.WAYS[way].alike)) == []


def test_beams_are_told_otherwise():
    """Places and frames are where the way says: verdicts are not compared of what is the same."""
    places = [
        field_trials.PROBLEMS["flying"].told(field_trials.WAYS[x]).model.mesh().pose[:, :3, 3]
        for x in ("as it is", "moved by 10⁶", "turned", "other order")
    ]
    assert np.allclose(places[1] - places[0], trials.AWAY)
    assert np.allclose(places[2], places[0] @ field_trials.SPACE.T)
    assert np.allclose(places[3], places[0][::-1])


def test_percentages_are_compared_where_runs_are_alike():
    few, same, many = ({"energy − work": f"{x} % of the work"} for x in ("3", "3.3e+00", "300"))
    assert list(trials.differences(few, same, alike=True)) == []
    assert list(trials.differences(few, many, alike=True)) == [
        ("energy − work", "3 % of the work", "300 % of the work")
    ]
    assert list(trials.differences(few, many)) == []  # with another step they may be anything
    assert [way for way, how in trials.WAYS.items() if not how.alike] == [
        "moved by 10⁶", "step × 2", "step / 4"
    ]  # fmt: skip


def test_the_page_names_what_was_left_out():
    found = {
        (kind, key): {"laws": {}, "energy drift": "no drift"}
        for kind, key in SCRIPT.tasks()
        if kind in SCRIPT.KINDS and not key.startswith(("fekete|", "wave, hamel|", "chain|turned"))
    }
    written = SCRIPT.page(found)
    assert "Left out: `fekete`." in written
    assert "Left out in some ways: `chain` (turned)." in written
    assert "Left out: `wave, hamel`." in written


@pytest.mark.parametrize("name", sorted({name for name, _ in PAIRS}))
def test_every_word_is_on_the_page(name):
    run = run_of(name, "as it is")
    laws = {x.name for x in run.certificate.watched}
    rows = {x.row.replace("\\", ""): x.words for x in SCRIPT.VERDICTS}
    for row, _, word in run.certificate.rows():
        words = rows["each law"] if row in laws or row not in rows else rows[row]
        if row in ("energy", "energy, work done", "laws", "chart changes"):
            continue
        assert any(_said(word, x) for x in words), (row, word)


def _said(word: str, form: str) -> bool:
    return re.fullmatch(re.escape(form).replace("…", ".*"), word) is not None


def _true(found: Any) -> None:
    assert found is not None
    assert not found.refused
    assert found.wrong == []


@pytest.mark.parametrize("seed", MODELS)
def test_a_random_model_goes_where_an_independent_code_takes_it(seed):
    _true(random_models.judged(seed))


@pytest.mark.parametrize("seed", MECHANISMS)
def test_a_random_mechanism_goes_where_joint_angles_take_it(seed):
    _true(random_mechanisms.judged(seed))


def test_what_is_wrong_is_seen():
    """The truth of another model: paths, forces, work and energy are not those."""
    model, other = random_models.drawn(120), random_models.drawn(113)
    assert model.energy != other.energy
    reference = random_models.Reference(model)
    q, w = reference.start()
    one = reference.ends(q, w, random_models.DURATION)
    late = reference.ends(q, w, 1.01 * random_models.DURATION)
    assert random_models.gap(one, one) == 0.0
    errors = [random_models.gap(late, one)] * 2
    assert random_models.wrong_path(2, errors)
    assert random_models.wrong_pull(model.masses.max(), late, one, 1e-9)


def test_resolved_is_held_to_what_it_promises():
    """A motion that amplifies errors may be out by more; one that does not may not."""
    wrong = random_models.wrong_verdict
    assert wrong("resolved", 0.2, lambda: 1.5)
    assert not wrong("resolved", 0.2, lambda: 3.0)
    assert not wrong("coarse", 0.2, lambda: 1.0)
    assert wrong("coarse", 0.6, lambda: 1.0)
    assert wrong("unresolved", 1e-4, lambda: 1.0)


def test_the_independent_code_is_independent():
    """Of taut it knows what a model is told in, and no more."""
    source = Path(random_mechanisms.__file__).read_text()
    assert "taut.lie" not in source
    own = source.partition("# ---- the independent code")[2].partition("# ---- telling it")[0]
    assert not re.search(r"\btaut\b", own.replace("taut's", ""))


def test_wrong_forces_of_joints_and_energies_are_seen():
    """The truth of another time, and of another place."""
    tree, way = random_mechanisms.drawn(6), random_mechanisms.telling(6)
    rate = random_mechanisms.rates(tree, 6)
    start = random_mechanisms.Moving(tree, np.zeros(len(rate)), rate)
    truth, late = (
        random_mechanisms.in_truth(tree, way, start, random_mechanisms.ends(tree, rate, x))
        for x in (0.5, 0.6)
    )
    lost = any(x.damping for x in tree.springs)
    assert lost or abs(truth.work) < 1e-9 * abs(truth.energy)
    mass = sum(b.mass for b in tree.bodies)
    assert random_models.wrong_pull(mass, truth, truth, 1e-9) == []
    assert random_models.wrong_pull(mass, late, truth, 1e-9)
