"""What every test stands on: fixed seeds, no display, a cache of its own."""

import os
import random
import shutil
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Set on import, before any test module imports taut or Matplotlib. Under xdist every worker
# imports this file for itself and so has a cache of its own.
os.environ["MPLBACKEND"] = "Agg"
_CACHE = Path(tempfile.mkdtemp(prefix="taut-test-cache-"))
os.environ["TAUT_CACHE_DIR"] = str(_CACHE)

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


def pytest_unconfigure() -> None:
    shutil.rmtree(_CACHE, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def taut_cache() -> Path:
    """The directory in which this session keeps compiled kernels."""
    assert os.environ["TAUT_CACHE_DIR"] == str(_CACHE)
    return _CACHE


@pytest.fixture(autouse=True)
def _seeded() -> None:
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - for code that uses the global generator


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator whose seed is the name of the test: the same in every run and every order."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
