"""A result and its scans -> the viewer as a picture, of the size at which it is shown.

``python docs/draw/viewer_picture.py RESULT SCANS docs/pictures/viewer.png`` needs chromium and
playwright (extra ``dev``).
"""

import re
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

SIZE = {"width": 1180, "height": 860}
ADDRESS = re.compile(r"http://\S+")


def draw(result: Path, scans: Path, picture: Path) -> None:
    """Open the viewer at the first missed nodule."""
    command = [sys.executable, "-m", "nodulebench", "view", str(result), "--images", str(scans)]
    server = subprocess.Popen(  # noqa: S603 - our own command
        [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        shown = (server.stdout and next(filter(ADDRESS.search, server.stdout), "")) or ""
        address = ADDRESS.search(shown)
        if address is None:
            raise ValueError(f"the viewer printed no address: {shown}")
        with sync_playwright() as tools:
            browser = tools.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport=SIZE)
            page.goto(address.group())
            page.wait_for_timeout(8_000)
            page.keyboard.press("n")
            page.wait_for_timeout(3_000)
            page.screenshot(path=picture)
            browser.close()
        with Image.open(picture) as shot:
            few = shot.convert("RGB").quantize(
                256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
            )
        few.save(picture, optimize=True)
    finally:
        server.terminate()


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
