"""The language that methods are written in: what it says to mistakes."""

from typing import ClassVar

import pytest

import taut
from taut.methods.base import Method


class Unfinished(Method):
    """Programs with mistakes that people make."""

    name: ClassVar[str] = "unfinished"
    order: ClassVar[int] = 1

    def __init__(self, how):
        self.how = how

    @property
    def key(self):
        return f"unfinished {self.how}"

    def program(self, step):
        if self.how == "empty":
            return
        v, lam = step.unknown("v", guess=step.v), step.unknown("lam", "c")
        p = step.p - step.push(step.q, step.t, lam)
        if self.how == "unsolved":
            step.solve((v, step.link(step.q, v, p, step.t)), watch=v)
        else:
            step.solve((v, p), (lam, step.g(step.q, step.t)), watch=v)
        step.advance(q=step.h * v, p=0 * step.p, v=v)


@pytest.mark.parametrize(
    ("how", "words"),
    [("empty", "does not say where"), ("unsolved", "uses the unknown lam"), ("wrong", "cannot be")],
)
def test_mistakes_in_a_program_are_named(how, words):
    with pytest.raises(taut.ModelError, match=words):
        taut.problems.problem("pendulum").simulate(duration=1, step=0.1, method=Unfinished(how))
