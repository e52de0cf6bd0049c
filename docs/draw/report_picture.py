"""A folder written by ``evaluate --out`` -> the first page of its report as a picture.

``python docs/draw/report_picture.py RESULT docs/pictures/report.png`` needs chromium.
"""

import subprocess
import sys
from pathlib import Path

SIZE = "1180,1250"


def draw(result: Path, picture: Path) -> None:
    """Let a browser show the report, and keep what it shows."""
    page = (result / "report.html").resolve().as_uri()
    quietly = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command = ["chromium", *quietly, f"--screenshot={picture}", f"--window-size={SIZE}", page]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own page


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
