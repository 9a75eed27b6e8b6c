"""Papers, each run once, and a reader of the pages about them."""

import json
from base64 import b64decode
from functools import cache
from html.parser import HTMLParser

import pytest

from taut.papers import book, cq_study, cs_study, paper

FEWER = 100_000  # steps of CS's long runs here; the whole million is for `taut papers`
SELDOM = 2  # how often the plain program is timed, instead of so often that the best is a good one
# The rates of CQ that are whole, or shown, or looked at one by one, instead of every half.
RATES = tuple(a for a in cq_study.SWEEP if a == int(a) or a in (2.5, 16.5))


@cache
def _reproduced(name):
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cs_study, "MANY", FEWER)
        patch.setattr(cs_study, "TIMES", SELDOM)
        patch.setattr(cq_study, "SWEEP", RATES)
        made = book.reproduce([paper(name)], progress=lambda *stage: told.append(stage))
    return made, told


@pytest.fixture(scope="session")
def reproduced():
    """(reproduction, what progress was told) of a paper, by its name."""
    return _reproduced


@pytest.fixture(scope="module")
def made(request):
    """The reproduction of the paper that the module is about."""
    return _reproduced(request.module.PAPER)[0]


@pytest.fixture(scope="module")
def study(made):
    return made.done[0].study


@pytest.fixture(scope="module")
def data(made, request):
    """All numbers of the paper, as they come out of a JSON file."""
    return json.loads(json.dumps(made.numbers, allow_nan=False))["papers"][request.module.PAPER]


@pytest.fixture(scope="module")
def page(made):
    """The page, as text."""
    return made.page.html()


class Reader(HTMLParser):
    """What is on a page: open tags must be closed in their order.

    Attributes
    ----------
    ids, links, sources : list of str
        All ids; where <a> leads; what is fetched from somewhere.
    inside : dict id → (pictures, cells)
        Pictures as bytes and non-empty cells of tables in each element that has an id.
    words : list of str
        All text that is shown.
    """

    EMPTY = ("img", "meta")

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.sources, self.words = [], [], [], [], []
        self.inside = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
            self.inside[attrs["id"]] = ([], [])
        if tag not in self.EMPTY:
            self.open.append((tag, attrs.get("id")))
        if tag == "a":
            self.links.append(attrs["href"])
        self.sources += [
            attrs[k] for k in ("src", "href", "data", "srcset") if k in attrs and tag != "a"
        ]
        if tag == "img":
            kind, _, data = attrs["src"].partition(",")
            assert kind == "data:image/svg+xml;base64"
            for _, place in self.open:
                if place:
                    self.inside[place][0].append(b64decode(data))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, text):
        tags = [tag for tag, _ in self.open]
        if {"style", "title", "script"} & set(tags):
            return
        self.words.append(text)
        if "td" in tags and text.strip():
            for _, place in self.open:
                if place:
                    self.inside[place][1].append(text)


@pytest.fixture(scope="session")
def read():
    """A page's text as a `Reader`."""
    return Reader
