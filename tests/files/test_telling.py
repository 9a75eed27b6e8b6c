"""The schema, told: what is said is what is read."""

import runpy
import tomllib
from pathlib import Path

import pytest

import taut
from taut.files.reader import model_of
from taut.files.schema import PLAIN, SECTIONS, TABLES, VERBS
from taut.files.source import Source
from taut.files.telling import described, json_schema, markdown

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
zoo = runpy.run_path(str(Path(__file__).parent / "zoo.py"))["zoo"]


def test_all_keys_are_told():
    told, page = described(), markdown()
    tables = [t for _, t in PLAIN.values()] + [
        t for known in VERBS.values() for t in known.values()
    ]
    for table in (*tables, *TABLES.values()):
        assert table.text in told
        for name, key in table.keys.items():
            assert f"\n  {name}{' *' * key.needed}  " in told
            assert f"| `{name}`" in page
    assert set(json_schema()["properties"]) == set(SECTIONS)


def test_the_page_shows_the_schema_as_it_is():
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    assert markdown() in page, "run docs/schema.py"


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def test_editors_accept_what_is_read(validator):
    texts = [path.read_text(encoding="utf-8") for path in EXAMPLES]
    texts.append(taut.Model(zoo(), duration=1, step=0.1).text)
    for text in texts:
        model_of(Source(text, "m.toml"), "m", {})
        assert [e.message for e in validator.iter_errors(tomllib.loads(text))] == []


@pytest.mark.parametrize(
    "text",
    [
        "a = 1",
        "[points.a]\nmass = 1",
        "[points.a]\nmass = 1\nat = [1, 2]",
        '[joints.a]\nkind = "hinge"',
        '[joints.a]\nkind = "spherical"\nbetween = ["a"]\nat = [0, 0, 0]',
        '[system]\ncoordinates = "x"\nmass = 1\n[run]\nevery = 0',
        '[forces.a]\nkind = "potential"\nenergy = "x"\npart = "a"',
    ],
)
def test_editors_refuse_what_is_refused(validator, text):
    assert list(validator.iter_errors(tomllib.loads(text)))
    with pytest.raises(taut.FileError):
        model_of(Source(text, "m.toml"), "m", {})
