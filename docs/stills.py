"""Stills of the interactive pages, taken in headless Chromium: ``python docs/stills.py``.

Needs Chromium on the machine (apt install chromium); the pictures in docs/images are replaced.
"""

from __future__ import annotations

import re
import runpy
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import taut
from taut.problems import problem

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
WIDTH = 960


def readme() -> taut.Trajectory:
    """The run that the README's first example makes."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    code, names = block.group(1).partition("\nrun.t")[0], {}
    exec(compile(code, "README.md", "exec"), names)
    return names["run"]


def frame() -> taut.FieldTrajectory:
    """A frame of two rubber beams that falls."""
    rubber = {"density": 1100, "young": 2e7, "poisson": 0.45, "section": taut.Rectangle(0.06, 0.03)}
    common = {"nodes": 31, "gravity": (0, -4, -9.81), **rubber}
    post = taut.Beam(length=1, frame=(0, 0, 1), ends=("clamped", "free"), **common)
    arm = taut.Beam(length=1, at=(0, 0, 1), frame=(1, 0, 0), **common)
    arm.body(at="tip", mass=0.3)
    return taut.simulate(taut.Beams([post, arm]), duration=2, every=40)


def crank() -> taut.Trajectory:
    """The slider-crank with a rod that bends."""
    return runpy.run_path(str(ROOT / "examples" / "flexible_crank.py"))["run"]


# Name of the picture: the run, the time, and where on the page it begins and ends.
STILLS = {
    "double_report": (readme, 7.1, ".stage", ".panels"),
    "report": (lambda: problem("zg-spatial").simulate(), 6.5, "#certificate", "#model"),
    "frame_report": (frame, 0.35, ".stage", ".bar"),
    "crank_report": (crank, 0.155, ".stage", ".bar"),
}


def at(page: Page, time: float) -> None:
    """Stop at a time, and wait until that is drawn."""
    page.wait_for_function("tautViews.length === 1")
    page.evaluate(
        """(time) => new Promise((done) => {
            tautViews[0].pause();
            tautViews[0].seek(time);
            const wait = (k) => (k ? requestAnimationFrame(() => wait(k - 1)) : done());
            wait(3);
        })""",
        time,
    )


def between(page: Page, first: str, last: str) -> dict[str, float]:
    """The part of a page from one element down to another one."""
    top, foot = page.locator(first).bounding_box(), page.locator(last).bounding_box()
    assert top is not None
    assert foot is not None
    return {"x": 0, "y": top["y"] - 8, "width": WIDTH, "height": foot["y"] - top["y"]}


def main() -> None:
    """Take every still."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, (made, time, first, last) in STILLS.items():
            file = made().report(Path(folder, f"{name}.html"))
            view = {"width": WIDTH, "height": 900}
            page = browser.new_page(viewport=view, device_scale_factor=1.25)
            page.goto(file.as_uri())
            at(page, time)
            clip = between(page, first, last)
            page.screenshot(path=IMAGES / f"{name}.png", clip=clip, full_page=True)
            print(f"took {name}.png")
        browser.close()


if __name__ == "__main__":
    main()
