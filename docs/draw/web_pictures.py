"""A site and a scan -> pictures of portal and viewer, of the size at which pages show them.

``python docs/draw/web_pictures.py portal ADDRESS`` takes the site of ``nodulebench portal --demo``;
``python docs/draw/web_pictures.py check ADDRESS MARKS`` checks marks on that site.
``python docs/draw/web_pictures.py viewer SCANS X Y Z`` marks the nodule at this position in mm.
``python docs/draw/web_pictures.py curation PAGE`` takes the ``curation.html`` of ``curate``.
All need chromium and playwright (extra ``dev``).
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parents[1] / "pictures"
SIZE = {"width": 1100, "height": 730}
GREYS, COLOURS = 34, 24
"""Levels of a picture of the viewer, so that its file stays small."""
SATURATED = 60
"""Difference of the channels of a pixel that counts as coloured."""
PASSWORD = "a leaderboard in a minute"  # noqa: S105 - that of the demo, which prints it
ADDRESS = re.compile(r"http://\S+")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic"]


@contextmanager
def open_page() -> Iterator[Page]:
    """A page of a browser of the final size."""
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield browser.new_page(viewport=SIZE)
        browser.close()


def draw_portal(address: str) -> None:
    """The leaderboard of the first benchmark, and the page of its best entry."""
    with open_page() as page:
        page.goto(address)
        page.locator("a[href^='/benchmarks/']").first.click()
        page.wait_for_load_state()
        page.screenshot(path=PICTURES / "portal-leaderboard.png")
        page.locator("a[href^='/entries/']").first.click()
        page.wait_for_timeout(3_000)
        page.screenshot(path=PICTURES / "portal-entry.png")


def draw_check(address: str, marks: Path) -> None:
    """The answer to **Check file** for these marks, as the first participant of the site."""
    with open_page() as page:
        page.goto(f"{address}/sign-in")
        page.get_by_label("Login").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.goto(address)
        page.locator("a[href^='/benchmarks/']").first.click()
        page.locator("a[href*='submit']").first.click()
        page.locator("input[type=file]").first.set_input_files(marks)
        page.get_by_role("button", name="Check file").click()
        page.wait_for_timeout(3_000)
        page.screenshot(path=PICTURES / "portal-check.png")


def draw_curation(report: Path) -> None:
    """The flow of series, and their reasons."""
    with open_page() as page:
        page.goto(report.resolve().as_uri())
        page.screenshot(path=PICTURES / "curation.png")


def make_small(picture: Path) -> None:
    """Few greys and few colours, chosen apart, so that thin coloured outlines stay."""
    image = np.asarray(Image.open(picture).convert("RGB"))
    is_coloured = np.ptp(image.astype(int), axis=2) > SATURATED
    indices = np.zeros(image.shape[:2], np.uint8)
    palette: list[int] = []
    median, widest = Image.Quantize.MEDIANCUT, Image.Quantize.MAXCOVERAGE
    for chosen, count, method in ((~is_coloured, GREYS, median), (is_coloured, COLOURS, widest)):
        pixels = Image.fromarray(image[chosen].reshape(1, -1, 3))
        few = pixels.quantize(count, method, dither=Image.Dither.NONE)
        indices[chosen] = np.asarray(few).ravel() + len(palette) // 3
        palette += ((few.getpalette() or []) + [0] * 3 * count)[: 3 * count]
    small = Image.fromarray(indices, "P")
    small.putpalette(palette)
    small.save(picture, optimize=True)


@contextmanager
def open_viewer(*options: str | Path) -> Iterator[Page]:
    """The page of ``nodulebench read`` with these options, its first scan loaded."""
    command = [sys.executable, "-m", "nodulebench", "read", *map(str, options), "--no-browser"]
    server = subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        shown = (server.stdout and next(filter(ADDRESS.search, server.stdout), "")) or ""
        address = ADDRESS.search(shown)
        if address is None:
            raise ValueError(f"the viewer printed no address: {shown}")
        with open_page() as page:
            page.goto(address.group())
            page.locator("#scans button").first.click()
            page.wait_for_timeout(40_000)
            yield page
    finally:
        server.terminate()


def draw_viewer(scans: Path, position_mm: list[float]) -> None:
    """The proposed outline of the nodule at this position, with its type."""
    with open_viewer(scans, "--readings", tempfile.mkdtemp()) as page:
        page.evaluate(
            "(mm) => nodulebench.moveTo(nodulebench.volume.grid.toIndex(mm))", position_mm
        )
        page.keyboard.press("p")
        page.keyboard.press("Enter")
        page.wait_for_timeout(5_000)
        page.keyboard.press("x")
        page.wait_for_timeout(1_000)
        save_small(page, "viewer-outline.png")


def save_small(page: Page, name: str) -> None:
    """A screenshot of the viewer in few colours."""
    page.screenshot(path=PICTURES / name)
    make_small(PICTURES / name)


if __name__ == "__main__":
    if sys.argv[1] == "portal":
        draw_portal(sys.argv[2])
    elif sys.argv[1] == "curation":
        draw_curation(Path(sys.argv[2]))
    elif sys.argv[1] == "check":
        draw_check(sys.argv[2], Path(sys.argv[3]))
    else:
        draw_viewer(Path(sys.argv[2]), [float(number) for number in sys.argv[3:6]])
