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
random_mechanisms = SCRIPT.random_mechanisms
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
    """Or it differs as the page says."""
    one, other = (trials.verdicts(run_of(name, x)) for x in ("as it is", way))
    found = [row for row, *_ in trials.differences(one, other)]
    lines = [x for x in page().splitlines() if x.startswith(f"| `{name}` | {way} |")]
    assert [re.split(r"(?<!\\)\|", x)[3].strip().replace("\\", "") for x in lines] == found


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
    assert random_models._wrong_pull(model, late, one, 1e-9)
