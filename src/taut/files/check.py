"""`checked`: whether a model fits together, without running it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.fields.beam import Beam
from taut.fields.beams import Beams
from taut.files.model import Model
from taut.kernel.compile import workshop
from taut.march.askew import turned
from taut.march.fields import started
from taut.march.redundant import owners, told
from taut.march.start import Start, prepare
from taut.methods.fields import scheme_of
from taut.model import Flow, Mechanism
from taut.text import Sheet, counted


@dataclass(frozen=True, repr=False)
class Check(Sheet):
    """What is known of a model before it is run.

    Attributes
    ----------
    freedom : int
        Degrees of freedom (of a flow: variables).
    redundant : dict name → rows
        Constraints, by joint, that others hold already.
    start : Start or None
        None without one, and of beams.
    """

    model: Model
    freedom: int
    redundant: dict[str, int]
    start: Start | None

    def title(self) -> str:
        """One line."""
        return self.model.title or self.model.name or "a model"

    def rows(self) -> list[tuple[str, str]]:
        """The table."""
        rows = [
            ("model", repr(self.model.model)),
            ("freedom", counted(self.freedom, "degree", "degrees")),
            ("redundant", told(self.model.system, self.redundant) if self.redundant else "none"),
            ("start", self._said()),
            ("run", _run(self.model.settings)),
        ]
        if self.model.unused:
            rows.append(("not used", f"parameters {', '.join(self.model.unused)}"))
        if isinstance(self.model.model, Beam | Beams):
            return [*rows[:2], *rows[3:]]
        return rows if not isinstance(self.model.model, Flow) else [rows[0], *rows[3:]]

    def _said(self) -> str:
        if isinstance(self.model.model, Beam | Beams):
            return "consistent"
        if self.start is None:
            return "none"
        here = self.start.here
        said = "projected" if self.start.projected else "consistent"
        if not here.mechanics.c:
            return "given"
        g, hidden = (float(np.abs(x).max()) for x in (here.g, here.hidden))
        return f"{said}: max |g| {g:.1e}, max |G q̇ + ∂g/∂t| {hidden:.1e}"


def checked(model: Model) -> Check:
    """Compile a model's equations and look at its start.

    Raises
    ------
    InconsistentStart, ConstraintError
        If it breaks the constraints, or if they contradict each other.
    """
    if isinstance(model.model, Beam | Beams):
        return _checked_beams(model, model.model)
    system, settings = model.system, model.settings
    given = {key: settings.get(key) for key in ("q0", "v0", "p0")}
    if isinstance(model.model, Mechanism):
        q, v = model.model.start()
        if settings.get("project") and given["q0"] is None:
            q, v = turned(model.model, q, v)
        given["q0"] = q if given["q0"] is None else given["q0"]
        if given["v0"] is None and given["p0"] is None:
            given["v0"] = v
    if isinstance(model.model, Flow):
        given["p0"] = 0.0
    if given["q0"] is None:
        return Check(model, system.n - system.c, {}, None)
    values = system.values(settings.get("parameters"))
    start = prepare(
        workshop(system).mechanics, given["q0"], given["v0"], given["p0"],
        float(settings.get("t0", 0.0)), values, settings.get("project", False),
    )  # fmt: skip
    return Check(model, system.n - len(start.keep), owners(system, start.keep), start)


def _checked_beams(model: Model, beams: Beam | Beams) -> Check:
    given = model.settings
    scheme = scheme_of(given.get("method", "auto"), beam=True)
    strain, momentum, v = (given.get(name) for name in ("strain0", "momentum0", "v0"))
    mesh, *_ = started(beams, scheme, strain, momentum, v, given.get("project", False))
    held = sum(6 - hold.freedom.shape[1] for hold in mesh.holds)
    return Check(model, 6 * (mesh.nodes - len(mesh.joints)) - held, {}, None)


def _run(settings: dict[str, Any]) -> str:
    if "duration" not in settings:
        return "nothing is said about it"
    said = f"for {settings['duration']:g}"
    if "step" in settings:
        said += f" in steps of {settings['step']:g}"
    if "tolerance" in settings:
        said += f" to a tolerance of {settings['tolerance']:g}"
    method = settings.get("method", "auto")
    return f"{said}, method {getattr(method, 'label', method)}"
