"""Whether the steps of a run resolve its motion: what the certificate says about it.

Sampled steps are made again in parts (see `taut.march.halving`), poles and switches are followed
along the run (see `taut.diagnose.guards`).  Nothing of this is claimed by a method: it is what its
steps did to this motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.diagnose.guards import Chatter, Pole, chattering, passed
from taut.march.halving import Halved, halved, looks
from taut.march.trajectory import Trajectory
from taut.text import percent, shortened

# An error of a step, of the speed.  RATTLE has it with eight steps in a turn; after a turn the
# motion is out by a seventh of a radian.
UNRESOLVED = 0.05
COARSE = UNRESOLVED / 10
# Of what steps do.  Of forces that change within a step it is there in every step; of the motion it
# says that something is quick though it is small.
PARTLY = ALIASED = 0.1
NAME = 40  # characters of an expression that are shown
ALL = 0.99  # of the steps: as good as all


@dataclass(frozen=True)
class Resolution:
    """What was measured on the steps of a run.

    Attributes
    ----------
    steps : Halved or None
        What sampled steps have shown; None if none could be made again.
    poles, switches : tuples of `Pole` and `Chatter`
        Poles that were passed through or next to, and switches that are thrown to and fro or stick.
    """

    steps: Halved | None
    poles: tuple[Pole, ...] = ()
    switches: tuple[Chatter, ...] = ()

    @property
    def resolved(self) -> bool | None:
        """Whether the motion is resolved; None if it could not be measured."""
        if self.poles or self.switches:
            return False
        if self.steps is None:
            return None
        s = self.steps
        moves = max(s.error, s.light) <= UNRESOLVED and s.share <= PARTLY
        return moves and not s.astray and s.forcing <= ALIASED

    @property
    def lost(self) -> bool:
        """Whether the motion as a whole is unresolved, and not its small quick parts alone."""
        if self.poles or self.switches:
            return True
        return self.steps is not None and self._verdict(self.steps).startswith("unresolved")

    @property
    def verdict(self) -> str:
        """In a few words, for tables of several runs: the worst that was found."""
        if self.poles:
            return "unresolved: a pole"
        if self.switches:
            return "unresolved: a switch"
        if self.steps is None:
            return "not measured"
        return self._verdict(self.steps).partition(" at ")[0].partition(":")[0]

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and strings."""
        s = self.steps
        return {
            "resolved": self.resolved,
            "step_error": None if s is None else s.error,
            "step_error_of_quick_parts": None if s is None else s.share,
            "step_error_of_light_parts": None if s is None else s.light,
            "step_astray": None if s is None or not s.astray else s.t,
            "steps_looked_at": None if s is None else s.looked,
            "step_turn": s.turn if s is not None and s.turned else None,
            "step_error_of_forces": None if s is None else s.forcing,
            "poles_passed": {x.guard: x.t for x in self.poles},
            "switches_chattering": {x.switch: x.share for x in self.switches},
        }

    def rows(self) -> list[tuple[str, str, str]]:
        """(quantity, value, verdict)."""
        found = []
        if self.steps is not None:
            found.append(("resolution", self._value(self.steps), self._verdict(self.steps)))
        for pole in self.poles:
            value = (
                f"{shortened(pole.guard, NAME)} {'≈' if pole.near else '='} 0 at t = {pole.t:.4g}"
            )
            word = "passed through: no motion does that"
            if pole.near:
                word = "unresolved: jumped past it, use a smaller step"
            found.append(("pole", value, word))
        for switch in self.switches:
            share = f"{percent(switch.share)} % of the steps"
            value = f"{shortened(switch.switch, NAME)} sticks at 0, or goes to and fro, in {share}"
            word = "unresolved: smooth this switch, or use events"
            found.append(("switching", value, word))
        return found

    def _value(self, s: Halved) -> str:
        if s.astray:
            return f"the step at t = {s.t:.4g}, made again, ends elsewhere"
        if s.still:
            return "nothing moves"
        if not np.isfinite(s.error):
            return f"the step at t = {s.t:.4g} cannot be made in parts"
        # What turns by more than half a turn in a step may turn by any more in its parts.
        least = "at least " if s.error > UNRESOLVED or s.turn > np.pi else ""
        error = f"error {s.error:.1g} per step" if s.error > 0.0 else "error below round-off"
        some = f" (of {percent(s.looked)} % of the steps)" if s.looked < ALL else ""
        return (f"{least}{s.turn:.2g} rad, {error}" if s.turned else error) + some

    def _verdict(self, s: Halved) -> str:
        if s.astray:
            return "unresolved: use a smaller step"
        if s.still:
            return "at rest"
        if s.error > UNRESOLVED:
            return f"unresolved at t = {s.t:.4g}: use a smaller step"
        if s.forcing > ALIASED:
            return "unresolved: forces change within a step"
        if s.share > PARTLY:
            return "coarse: its quickest parts are unresolved"
        if s.light > UNRESOLVED:
            return "coarse: its lightest parts are unresolved"
        return "coarse" if s.error > COARSE else "resolved"


def resolution(run: Trajectory) -> Resolution:
    """Measure it; of a batch on a few members."""
    poles: dict[str, Pole] = {}
    switches: dict[str, Chatter] = {}
    where = looks(run)
    for part in (part for look in where for part in look.parts):
        for pole in passed(part):
            poles.setdefault(pole.guard, pole)
        for x in chattering(part):
            if x.switch not in switches or switches[x.switch].share < x.share:
                switches[x.switch] = x
    with np.errstate(all="ignore"):
        return Resolution(halved(run, where), tuple(poles.values()), tuple(switches.values()))
