"""A site and a scan -> pictures of portal and viewer, of the size at which pages show them.

``python docs/draw/web_pictures.py portal ADDRESS`` takes the site of ``nodulebench portal --demo``;
``python docs/draw/web_pictures.py viewer SCANS X Y Z`` marks the nodule at this position in mm.
Both need chromium and playwright (extra ``dev``).
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
GREYS, COLOURS = 30, 14
"""Levels of a picture of the viewer, so that its file stays small."""
SATURATED = 60
"""Difference of the channels of a pixel that counts as coloured."""
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


def make_small(picture: Path) -> None:
    """Few greys and few colours, chosen apart, so that thin coloured outlines stay."""
    image = np.asarray(Image.open(picture).convert("RGB")).reshape(1, -1, 3)
    is_coloured = np.ptp(image.astype(int), axis=2) > SATURATED
    palette: list[int] = []
    for chosen, count in ((~is_coloured, GREYS), (is_coloured, COLOURS)):
        pixels = Image.fromarray(image[chosen].reshape(1, -1, 3)).quantize(count)
        palette += (pixels.getpalette() or [])[: 3 * count]
    shades = Image.new("P", (1, 1))
    shades.putpalette(palette)
    small = Image.open(picture).convert("RGB").quantize(palette=shades, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)


def draw_viewer(scans: Path, position_mm: list[float]) -> None:
    """The proposed outline of the nodule at this position, with its type."""
    marks = tempfile.mkdtemp()
    command = [sys.executable, "-m", "nodulebench", "read", str(scans), "--marks", marks]
    server = subprocess.Popen(  # noqa: S603 - our own command
        [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
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
            page.evaluate(
                "(mm) => nodulebench.moveTo(nodulebench.volume.grid.toIndex(mm))", position_mm
            )
            page.keyboard.press("p")
            page.keyboard.press("Enter")
            page.wait_for_timeout(5_000)
            page.keyboard.press("x")
            page.wait_for_timeout(1_000)
            picture = PICTURES / "viewer-outline.png"
            page.screenshot(path=picture)
            make_small(picture)
    finally:
        server.terminate()


if __name__ == "__main__":
    if sys.argv[1] == "portal":
        draw_portal(sys.argv[2])
    else:
        draw_viewer(Path(sys.argv[2]), [float(number) for number in sys.argv[3:6]])
