"""A site and a scan -> pictures of portal and viewer, of the size at which pages show them.

``python docs/draw/web_pictures.py portal ADDRESS`` takes the site of ``nodulebench portal --demo``;
``python docs/draw/web_pictures.py viewer SCANS X Y Z`` marks the nodule at this position in mm.
Both need chromium and playwright (extra ``dev``).
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parents[1] / "pictures"
SIZE = {"width": 1100, "height": 700}
COLOURS = 48
"""Colours of a picture of the viewer, so that its file stays small."""
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


def draw_viewer(scans: Path, position_mm: list[float]) -> None:
    """The proposed outline of the nodule at this position, with its type."""
    command = [sys.executable, "-m", "nodulebench", "read", str(scans), "--no-browser"]
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
            image = Image.open(picture).convert("RGB")
            image.quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)
    finally:
        server.terminate()


if __name__ == "__main__":
    if sys.argv[1] == "portal":
        draw_portal(sys.argv[2])
    else:
        draw_viewer(Path(sys.argv[2]), [float(number) for number in sys.argv[3:6]])
