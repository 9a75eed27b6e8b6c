"""`Model`: a system, flow, mechanism or beam with its start and its run; what a file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from taut.calls import elsewhere, public
from taut.errors import FileError, InputError, UnknownName, place, text
from taut.fields.beam import Beam
from taut.fields.beams import Beams
from taut.march.simulate import simulate
from taut.model import Flow, Mechanism, System
from taut.text import aligned, table

if TYPE_CHECKING:
    from taut.march.trajectory import Trajectory

SETTINGS = (
    "q0", "v0", "p0", "t0", "duration", "step", "tolerance", "method", "every", "parameters",
    "project", "laws", "events",
)  # fmt: skip
OF_BEAMS = ("strain0", "momentum0", "v0", "t0", "duration", "step", "method", "every", "project")
ENDING = ".toml"


@public
class Model:
    """A model with a start and settings of a run, as a file holds them.

    Parameters
    ----------
    model : System, Flow, Mechanism, Beam or Beams
    name, title : str
    **settings
        Arguments of `taut.simulate`.

    Attributes
    ----------
    unused : tuple of str
        Parameters of a file that nothing in it depends on.

    Examples
    --------
    >>> import taut, tempfile
    >>> x, y = taut.coordinates("x y")
    >>> pendulum = taut.System([x, y], mass=[1, 1], potential=10*y, constraints=[x**2 + y**2 - 1])
    >>> model = taut.Model(pendulum, q0=[1, 0], v0=0, duration=10, step=0.01)
    >>> path = model.save(tempfile.mkdtemp() + "/pendulum.toml")
    >>> again = taut.load(path).simulate()
    >>> bool((again.q == model.simulate().q).all())
    True
    """

    def __init__(
        self,
        model: System | Flow | Mechanism | Beam | Beams,
        *,
        name: str = "",
        title: str = "",
        **settings: Any,
    ) -> None:
        if not isinstance(model, System | Flow | Mechanism | Beam | Beams):
            raise InputError(
                "this is no model",
                expected="a taut.System, Flow, Mechanism, Beam or Beams",
                received=type(model).__name__,
            )
        known = OF_BEAMS if isinstance(model, Beam | Beams) else SETTINGS
        for key in settings:
            if key not in known:
                raise UnknownName("setting", key, known, elsewhere(key, list(known)) or None)
        self.model, self.settings = model, settings
        self.name, self.title = text("the name", name), text("the title", title)
        self.unused: tuple[str, ...] = ()

    @property
    def system(self) -> System:
        """The model as a `System`."""
        if isinstance(self.model, System):
            return self.model
        if isinstance(self.model, Beam | Beams):
            raise InputError(
                "a beam is no taut.System",
                expected="a system, a flow or a mechanism",
                remedy="as a part of a taut.Mechanism it is one: m.beam(…)",
            )
        return self.model.system if isinstance(self.model, Flow) else self.model.system()

    def simulate(self, **changes: Any) -> Trajectory:
        """Run it; any argument of `taut.simulate` may be changed."""
        settings = dict(self.settings)
        for one, other in (("p0", "v0"), ("v0", "p0"), ("momentum0", "v0"), ("v0", "momentum0")):
            if one in changes:
                settings.pop(other, None)
        if "tolerance" in changes:  # chooses both
            settings.pop("step", None)
            settings.pop("method", None)
        if "step" in changes:
            settings.pop("tolerance", None)
        merged = {**settings, **changes}
        if "duration" not in merged:
            raise InputError(
                "there is no duration",
                expected="duration=…, or one in the file",
                remedy="duration=10; in a shell --duration 10; in a file [run] duration = 10",
            )
        return simulate(self.model, **merged)

    def save(self, path: str | Path) -> Path:
        """Write it to a file ending in .toml, from which `taut.load` reads the same model."""
        path = place(path)
        if path.suffix.lower() != ENDING:
            raise FileError(
                f"cannot tell the format of {path.name}",
                expected=f"a name ending in {ENDING}",
                received=path.name,
            )
        text = self.text
        try:
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise FileError(
                f"cannot write {path}", received=str(error), remedy="check the folder"
            ) from error
        return path

    @property
    def text(self) -> str:
        """The file."""
        from taut.files.writer import text_of

        return text_of(self)

    def _rows(self) -> list[tuple[str, str]]:
        """What it is, in short."""
        rows = [("model", repr(self.model))]
        for key, value in self.settings.items():
            if key in ("q0", "v0", "p0", "strain0", "momentum0"):
                rows.append((key, _vector(value)))
            elif key in ("events", "laws", "parameters"):
                rows.append((key, value if isinstance(value, str) else ", ".join(value or ())))
            else:
                rows.append((key, getattr(value, "label", str(value))))
        return [row for row in rows if row[1]]

    def __repr__(self) -> str:
        return "\n".join([self.title or self.name or "a model", *aligned(self._rows())])

    def _repr_html_(self) -> str:
        return table(self._rows(), self.title or self.name)


def _vector(values: Any) -> str:
    if not isinstance(values, list | tuple):
        return f"{values}"
    if values and isinstance(values[0], list | tuple):
        return f"{len(values)} rows"
    return "(" + ", ".join(f"{x:.6g}" for x in values[:12]) + (", …)" if len(values) > 12 else ")")
