"""A model that a Python file makes: ``rods.py``, or ``rods.py:name`` if it makes several."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from taut.errors import FileError, TautError, UnknownName
from taut.fields.beam import Beam
from taut.fields.beams import Beams
from taut.files.model import Model
from taut.model import Flow, Mechanism, System

KINDS = (System, Flow, Mechanism, Beam, Beams, Model)
WANTED = "a taut.System, Flow, Mechanism, Beam, Beams or Model"
ENDING = ".py"


def is_place(text: str) -> bool:
    """Whether this is meant for a file, not for the name of a problem."""
    return text.partition(ENDING)[2].startswith(":") or text.endswith(ENDING)


def model_of(place: str) -> Model:
    """The model at ``file.py:name``; the file is run, as by ``python file.py``.

    Parameters
    ----------
    place : str
        The name may be left out if the file makes one model only.
    """
    file, _, name = place.partition(ENDING + ":")
    path = Path(file.removesuffix(ENDING) + ENDING)
    if not path.is_file():
        raise FileError(
            f"there is no file {path}",
            expected=f"a Python file that makes {WANTED}",
            received=place,
        )
    try:
        made = runpy.run_path(str(path))
    except TautError:
        raise
    except Exception as error:
        raise FileError(
            f"{path} cannot be run",
            received=f"{type(error).__name__}: {error}",
            remedy=f"see what `python {path}` says",
        ) from error
    models = {key: x for key, x in made.items() if isinstance(x, KINDS) and not key.startswith("_")}
    if name:
        if name not in models:
            raise UnknownName(f"model in {path}", name, models)
        return _named(name, models[name])
    if len({id(x) for x in models.values()}) != 1:
        raise FileError(
            f"{path} makes {len(models) or 'no'} models",
            expected="one, or the name of one of them",
            received=", ".join(models) or None,
            remedy=f"{path}:NAME" if models else f"make {WANTED} at its top level",
        )
    return _named(*next(iter(models.items())))


def _named(name: str, found: Any) -> Model:
    """A model with settings of a run, if it says any, by the name that the file gives it."""
    if isinstance(found, Model):
        return Model(found.model, name=name, title=found.title, **found.settings)
    return Model(found, name=name)
