"""What a paper's module holds, and the chapter that is made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from taut.show.page import Page
from taut.show.style import number, percent


class Study(Protocol):
    """What was run for a paper."""

    @property
    def numbers(self) -> dict[str, Any]:
        """What is known of it in the end."""
        ...


S = TypeVar("S", bound=Study)


AGREES, DIFFERS, UNDECIDED = "agrees", "does not agree", "cannot be decided"
# Kinds of errata: what is set wrong; what is missing; what is meant as it stands, and not right.
MISPRINT, OMISSION, FLAW = "misprint", "omission", "flaw"


class Claim(NamedTuple):
    """A statement of a paper, tried; `ratio` is ours ÷ the paper's where it prints a number.

    Rows that only show what was measured, or what a corrected formula gives, are no statements of
    the paper: their verdict is neither `verdict` nor `undecided`, and they are not counted.
    """

    what: str
    paper: str
    ours: str
    verdict: str
    ratio: str = ""

    @property
    def tried(self) -> bool:
        """Whether there is something to agree with."""
        return self.verdict.startswith((AGREES, DIFFERS))

    @property
    def open(self) -> bool:
        """Whether it is a statement that nobody can try."""
        return self.verdict.startswith(UNDECIDED)

    @property
    def holds(self) -> bool:
        """Whether it was confirmed."""
        return self.verdict.startswith(AGREES)

    @property
    def sign(self) -> str:
        """A tick or a cross, where there was something to try."""
        return ("✓" if self.holds else "✗") if self.tried else ""


class Erratum(NamedTuple):
    """What is not right in a paper, or something that it does not say."""

    where: str
    printed: str
    right: str
    reason: str
    kind: str = MISPRINT


class Summary(NamedTuple):
    """A paper in one line, with the number that tells most about it."""

    claim: str
    finding: str
    quantity: str
    paper: str
    ours: str
    ratio: str = ""


class Certified(NamedTuple):
    """A run's certificate, under its key in the JSON and its label on the page."""

    key: str
    label: str
    certificate: Any


class Stage(NamedTuple):
    """A part of the work: what the progress bar says, about how long it takes, and what it does."""

    label: str
    seconds: int
    work: Callable[..., Any]


COSTS = ("Newton iterations", "step against its limit")  # of a certificate; not in the overview


def verdict(holds: bool, note: str = "") -> str:
    """Agreement with the paper, in words."""
    said = AGREES if holds else DIFFERS
    return f"{said}; {note}" if note else said


def undecided(note: str) -> str:
    """A statement that cannot be tried, and why."""
    return f"{UNDECIDED}; {note}"


def corrected(holds: bool, note: str = "") -> str:
    """Whether taut's correction does what the paper's formula should: no statement of the paper."""
    said = "so corrected it holds" if holds else "so corrected it does not hold, either"
    return f"{said}; {note}" if note else said


def agreement(claims: Sequence[Claim]) -> str:
    """How many of the paper's statements agree, and how many cannot be decided."""
    tried = [claim for claim in claims if claim.tried]
    left = sum(claim.open for claim in claims)
    said = f"{sum(claim.holds for claim in tried)} of {len(tried)} agree"
    return said + (f", {left} cannot be decided" if left else "")


def misprints(errata: Sequence[Erratum]) -> str:
    """How many errata there are of each kind."""
    counts = [(sum(e.kind == kind for e in errata), kind) for kind in (MISPRINT, FLAW, OMISSION)]
    return ", ".join(f"{n} {kind}{'s' * (n != 1)}" for n, kind in counts if n)


@dataclass(frozen=True)
class Chapter(Generic[S]):
    """Everything about one paper that is its own.

    Attributes
    ----------
    heading : str
        Authors and year.
    lead : str
        What was found, in a paragraph.
    begin : Stage
        Its work makes the study.
    stages : sequence of Stage
        Their work takes the study and fills it; the last one its `numbers`.
    claims, errata, summary, certificates : callable(study)
    sections : sequence of callable(page, study)
        What is written between the errata and the certificates; the first one may add to the
        errata.
    """

    heading: str
    lead: str
    begin: Stage
    stages: Sequence[Stage]
    claims: Callable[[S], list[Claim]]
    errata: Callable[[S], list[Erratum]]
    summary: Callable[[S], Summary]
    certificates: Callable[[S], Iterable[Certified]]
    sections: Sequence[Callable[[Page, S], None]]
    drawing: int = 3  # seconds for the figures, about

    @property
    def seconds(self) -> int:
        """About how long it takes, figures included."""
        return self.begin.seconds + sum(stage.seconds for stage in self.stages) + self.drawing

    def write(self, page: Page, study: S) -> None:
        """All sections, in an open chapter of a page."""
        claims = self.claims(study)
        page.heading("In short", "short")
        page.text(self.lead)
        page.table(
            ("", "paper", "ours", "ours ÷ paper", ""),
            [(c.what, c.paper, c.ours, c.ratio, f"{c.sign} {c.verdict}".strip()) for c in claims],
            f"The paper's statements, tried: {agreement(claims)}. Ratios where it prints a number",
        )
        page.heading("Errata of the paper", "errata")
        page.table(
            ("where", "paper", "right", "how it is known", ""),
            self.errata(study),
            misprints(self.errata(study)),
        )
        for section in self.sections:
            section(page, study)
        page.heading("Certificates", "certificates")
        write_certificates(page, list(self.certificates(study)))


def fate(certificate: Any) -> str:
    """What a certificate says of its energy: "drifts", "wanders", "no drift" or why it cannot."""
    return next(word for what, _, word in certificate.rows() if what == "energy drift")


def write_certificates(page: Page, found: Sequence[Certified]) -> None:
    """What all certificates tell as a table, and each of them behind a line."""
    page.text(
        "What taut measures on each run, over all steps: what all of them tell as a table, and "
        "behind each line the certificate as it prints. A drift in a short run may be a part of a "
        "slow oscillation.",
    )
    rows = [_measured(c.certificate) for c in found]
    shared = [name for name in rows[0] if all(name in row for row in rows)]
    page.table(
        ("run", *shared),
        [(c.label, *(row[name] for name in shared)) for c, row in zip(found, rows, strict=True)],
    )
    for c in found:
        page.folded(c.label, str(c.certificate))


def _measured(certificate: Any) -> dict[str, str]:
    """Quantities and values of a certificate, in the numbers of a page."""
    found = {}
    for what, value, _ in certificate.rows():
        if what == "energy":
            found["band of the energy"] = number(certificate.energy.band)
        elif what == "energy drift":
            found["drift / band"] = percent(certificate.energy)
        elif what not in COSTS:
            found[what] = _raised(value.removeprefix("constant to "))
    return found


def _raised(text: str) -> str:
    """1.2e-07 as 1.2×10⁻⁷."""
    text = re.sub(r"\d(\.\d+)?e[-+]\d+", lambda m: number(float(m[0])), text)
    return text.replace("-", "−")
