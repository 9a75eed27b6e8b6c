"""Stills of the interactive pages, taken in headless Chromium: ``python docs/stills.py``.

Needs Chromium on the machine (apt install chromium); the pictures in docs/images are replaced.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import taut
from taut.problems import problem

IMAGES = Path(__file__).resolve().parent / "images"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def frame() -> taut.FieldTrajectory:
    """A frame of two rubber beams that falls."""
    rubber = {"density": 1100, "young": 2e7, "poisson": 0.45, "section": taut.Rectangle(0.06, 0.03)}
    post = taut.Beam(
        length=1,
        nodes=31,
        frame=(0, 0, 1),
        ends=("clamped", "free"),
        gravity=(0, -4, -9.81),
        **rubber,
    )
    arm = taut.Beam(
        length=1, nodes=31, at=(0, 0, 1), frame=(1, 0, 0), gravity=(0, -4, -9.81), **rubber
    )
    arm.body(at="tip", mass=0.3)
    return taut.simulate(taut.Beams([post, arm]), duration=2, every=40)


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


def main() -> None:
    """Take every still."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        shots = (
            ("report", problem("zg-spatial").simulate(), 6.5, "main > *:nth-child(-n+6)", 960),
            ("frame_report", frame(), 0.35, ".stage", 960),
        )
        for name, run, time, part, width in shots:
            file = run.report(Path(folder, f"{name}.html"), title="Spatial double pendulum")
            view = {"width": width, "height": 900}
            page = browser.new_page(viewport=view, device_scale_factor=1.25)
            page.goto(file.as_uri())
            at(page, time)
            if part == ".stage":
                page.locator(part).screenshot(path=IMAGES / f"{name}.png")
            else:
                top = page.locator("#certificate").bounding_box()
                foot = page.locator("#model").bounding_box()
                assert top is not None
                assert foot is not None
                clip = {
                    "x": 0,
                    "y": top["y"] - 10,
                    "width": width,
                    "height": foot["y"] - top["y"] - 20,
                }
                page.screenshot(path=IMAGES / f"{name}.png", clip=clip, full_page=True)
            print(f"took {name}.png")
        browser.close()


if __name__ == "__main__":
    main()
