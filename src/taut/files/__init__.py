"""Models in files."""

from taut.files.python import model_of

__all__ = ["model_of"]
