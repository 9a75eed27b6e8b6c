"""A model that a Python file makes: ``rods.py``, or ``rods.py:name`` if it makes several."""

from __future__ import annotations

import runpy
from pathlib import Path

from taut.errors import FileError, TautError, UnknownName
from taut.model import Flow, System

ENDING = ".py"


def is_place(text: str) -> bool:
    """Whether this is meant for a file, not for the name of a problem."""
    return text.partition(ENDING)[2].startswith(":") or text.endswith(ENDING)


def model_of(place: str) -> tuple[str, System | Flow]:
    """The name and the model at ``file.py:name``; the file is run, as by ``python file.py``.

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
            expected="a Python file that makes a taut.System or a taut.Flow",
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
    models = {
        key: x
        for key, x in made.items()
        if isinstance(x, System | Flow) and not key.startswith("_")
    }
    if name:
        if name not in models:
            raise UnknownName(f"model in {path}", name, models)
        return name, models[name]
    if len({id(x) for x in models.values()}) != 1:
        raise FileError(
            f"{path} makes {len(models) or 'no'} models",
            expected="one, or the name of one of them",
            received=", ".join(models) or None,
            remedy=f"{path}:NAME"
            if models
            else "make a taut.System or a taut.Flow at its top level",
        )
    return next(iter(models.items()))
