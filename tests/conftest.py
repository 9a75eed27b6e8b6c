"""What every test stands on: fixed seeds, no display, a cache of its own."""

import os

# Before NumPy is imported: two workers whose small matrices wait for each other's threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Every command that a test starts would compile taut's modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import gc
import random
import shutil
import signal
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Set on import, before any test module imports taut or Matplotlib. Under xdist workers inherit the
# cache of the process that starts them: what one has compiled the other need not compile again.
os.environ["MPLBACKEND"] = "Agg"
_INHERITED = os.environ.get("TAUT_TEST_CACHE")
_CACHE = Path(_INHERITED or tempfile.mkdtemp(prefix="taut-test-cache-"))
os.environ["TAUT_TEST_CACHE"] = os.environ["TAUT_CACHE_DIR"] = str(_CACHE)

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


# What one expensive thing is made for stays with one worker: it is made once, and nobody waits.
# Beams that are damped or implicit need loops that take Numba most of a minute.
GROUPS = {
    "papers": ("papers",),
    "site": ("test_docs_site.py",),
    "beams": (
        "fields", "reference/test_beams.py", "reference/test_beam_statics.py",
        "march/test_coupled_run.py", "march/test_damped_run.py", "march/test_implicit_twin.py",
        "march/test_statics.py", "march/test_field_loads.py", "march/test_field_halving.py",
        "kernel/test_threads.py",
    ),
}  # fmt: skip


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        place = item.path.as_posix().removeprefix(f"{here.as_posix()}/")
        for name, members in GROUPS.items():
            if place.startswith(members):
                item.add_marker(pytest.mark.xdist_group(name))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests that are in no group go to one worker file by file: what they share is made once."""
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            found = super()._split_scope(nodeid)
            return nodeid.partition("::")[0] if found == nodeid else found

    return ByFile(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_collection() -> None:
    gc.disable()  # thousands of tests are found, and all of them stay


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.enable()
    # pytest-xdist 3.8 cannot name groups in pytest 9.2, and says nothing.
    if session.config.getoption("loadgroup", default=False):
        loose = [x for x in session.items if x.get_closest_marker("xdist_group")]
        loose = [x.nodeid for x in loose if "@" not in x.nodeid]
        assert not loose, f"groups of tests are not kept together: {loose[0]}"


def pytest_configure() -> None:
    # A shell that runs something in the background makes it ignore Ctrl-C; tests send it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    if _INHERITED is None:
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


@pytest.fixture(params=[1, 2, 4, 8], ids=lambda width: f"lanes{width}")
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Each number of lanes in turn: every CPU runs all of them."""
    monkeypatch.setenv("TAUT_LANES", str(request.param))
    return request.param


@pytest.fixture
def catalogue_as_it_was():
    """What examples register is forgotten: other tests walk through the catalogue."""
    from taut.methods import CATALOGUE

    before = dict(CATALOGUE)
    yield
    CATALOGUE.clear()
    CATALOGUE.update(before)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator whose seed is the name of the test: the same in every run and every order."""
    group = request.node.get_closest_marker("xdist_group")  # which xdist adds to the name
    name = request.node.nodeid.removesuffix(f"@{group.args[0]}" if group else "")
    return np.random.default_rng(zlib.crc32(name.encode()))


# ---- a browser --------------------------------------------------------------------------------

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    # Without a graphics card only what is drawn with WebGL need pretend that there is one.
    "--disable-gpu-compositing", "--disable-gpu-rasterization", "--disable-accelerated-2d-canvas",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium.  Without one tests are skipped, but where TAUT_BROWSER=required."""
    if CHROMIUM is None:
        why = "needs Chromium: apt install chromium"
        pytest.fail(why) if os.environ.get("TAUT_BROWSER") == "required" else pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def visit(browser):
    """Open a page from the file system: ``visit(path, width=1280)``.

    Nothing may be written to the console, fail, or be asked of the network.  The page is told that
    its reader wants no motion, so that it does not play by itself: that keeps two cores busy.
    ``reduced_motion="no-preference"`` is the usual reader.
    """
    troubles: list[str] = []
    contexts = []

    def open_page(path: Path, width: int = 1280, height: int = 900, **options):
        options = {"reduced_motion": "reduce", **options}
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: _said(f"{message.type}: {message.text}", troubles))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("requestfailed", lambda request: troubles.append(f"failed: {request.url[:200]}"))
        page.on("request", lambda request: _stays_here(request.url, troubles))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"),
                                          dialog.dismiss()))  # fmt: skip
        page.goto(Path(path).resolve().as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles, "\n".join(troubles)


def _said(words: str, troubles: list[str]) -> None:
    if "GL Driver Message (OpenGL, Performance" not in words:  # of screenshots without a card
        troubles.append(words)


def _stays_here(url: str, troubles: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:", "about:")):
        troubles.append(f"asks the network: {url[:200]}")
