"""De-identification: CPU time beside plain reading; text found in pictures, drawn and not."""

import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pydicom

from benchmarks.measure import DATA
from nodulebench.deidentify.burned_in import find_text
from nodulebench.deidentify.files import deidentify_file
from nodulebench.deidentify.pseudonyms import Pseudonyms
from nodulebench.phantom.patient import make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

REAL = ("LIDC-IDRI-0001", "LIDC-IDRI-0003", "LIDC-IDRI-0401", "LIDC-IDRI-0407", "NLST-101287")
PLACES = ("top left", "bottom right")
HEIGHTS = (10, 14, 20, 28)
"""Of the letters, in pixels."""
SLICES_WRITTEN_ON = 10
"""Of each scan, evenly spread."""
PHANTOM_SEEDS = (9301, 9302)


def main() -> None:
    """Print all tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print_found_text(folder)
        print_times(folder)


def print_found_text(folder: Path) -> None:
    """How often text is found where it is drawn, and where it is not."""
    print("| scan | slices | slices with text found, none drawn |")
    print("|---|---|---|")
    random = np.random.default_rng(9300)
    hits: dict[tuple[int, str], list[bool]] = {}
    for scan, pictures in scans(folder):
        false = 0
        chosen = set(np.linspace(0, len(pictures) - 1, SLICES_WRITTEN_ON).astype(int).tolist())
        for number, (stored, slope, intercept) in enumerate(pictures):
            false += find_text(stored, slope, intercept) is not None
            if number in chosen:
                for height in HEIGHTS:
                    for look in ("sharp", "smooth"):
                        written = draw(stored, height, look, random)
                        found = find_text(written, slope, intercept) is not None
                        hits.setdefault((height, look), []).append(found)
        print(f"| {scan} | {len(pictures)} | {false} |")
    print()
    print("| letters | drawn | found, sharp edges | found, smoothed edges |")
    print("|---|---|---|---|")
    for height in HEIGHTS:
        sharp, smooth = hits[height, "sharp"], hits[height, "smooth"]
        print(f"| {height} pixels | {len(sharp)} | {sum(sharp)} | {sum(smooth)} |")


def scans(folder: Path) -> Iterator[tuple[str, list[tuple[npt.NDArray[Any], float, float]]]]:
    """The pictures of real scans, where there are any, and of phantoms."""
    for name in REAL:
        slices = [pydicom.dcmread(path) for path in extracted(folder, name)]
        if slices:
            yield (
                name,
                [
                    (one.pixel_array, float(one.RescaleSlope), float(one.RescaleIntercept))
                    for one in slices
                ],
            )
    for seed in PHANTOM_SEEDS:
        scan = scan_patient(make_patient(seed, 1), Scanner(2.5, 2.5, 0.7, kernel="standard"))
        yield f"phantom {seed}", [(hu, 1.0, 0.0) for hu in np.asarray(scan.volume.hu)]


def extracted(folder: Path, name: str) -> list[Path]:
    """The slices of a real scan; none where there is no such scan."""
    archive = DATA / "ct" / f"{name}.zip"
    if archive.is_file() and not (folder / name).is_dir():
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder / name)
    return sorted((folder / name).rglob("[0-9]*.dcm"))


def draw(
    stored: npt.NDArray[Any], height: int, look: str, random: np.random.Generator
) -> npt.NDArray[Any]:
    """A picture with a made-up name and number written into a corner."""
    from PIL import Image, ImageDraw, ImageFont

    letters = "".join(random.choice(list("ABCDEFGHIKLMNOPRSTUVW"), 6))
    text = f"{letters} {random.integers(10_000, 99_999)}"
    font = ImageFont.load_default(size=height * 1.35)
    page = Image.new("L", stored.shape[::-1], 0)
    pen = ImageDraw.Draw(page)
    pen.fontmode = "1" if look == "sharp" else "L"
    left, top, right, bottom = pen.textbbox((0, 0), text, font=font)
    corner = PLACES[int(random.integers(len(PLACES)))]
    x, y = 6 - left, 6 - top
    if corner == "bottom right":
        x, y = stored.shape[1] - 6 - right, stored.shape[0] - 6 - bottom
    pen.text((x, y), text, fill=255, font=font)
    strength = np.asarray(page, dtype=np.float64) / 255
    top_value = float(stored.max())
    return np.rint(stored * (1 - strength) + top_value * strength).astype(stored.dtype)


def print_times(folder: Path) -> None:
    """CPU time of de-identification beside that of plainly reading files with their pixels."""
    source = folder / "plain"
    for path in extracted(folder, REAL[0]):
        slice_ = pydicom.dcmread(path)
        slice_.decompress()
        source.mkdir(exist_ok=True)
        slice_.save_as(source / path.name)
    paths = sorted(source.glob("*.dcm"))
    if not paths:
        return
    pseudonyms = Pseudonyms(bytes(32))

    def read() -> None:
        for path in paths:
            pydicom.dcmread(path).pixel_array  # noqa: B018 - decodes

    def clean(has_pixel_check: bool) -> None:
        for path in paths:
            outcome = deidentify_file(
                path, folder / "out", pseudonyms, has_pixel_check=has_pixel_check
            )
            if not outcome.written:
                raise SystemExit(outcome.refused)

    plain = cpu(read)
    rows = {
        "plain reading with pixels": plain,
        "de-identification, checked, pictures not searched": cpu(lambda: clean(False)),
        "de-identification, checked, pictures searched for text": cpu(lambda: clean(True)),
    }
    print(f"\n{len(paths)} uncompressed slices of 512 x 512, one process, least of three runs:\n")
    print("| what | CPU ms a slice | times plain reading |")
    print("|---|---|---|")
    for what, seconds in rows.items():
        print(f"| {what} | {1000 * seconds / len(paths):.1f} | {seconds / plain:.1f} |")


def cpu(work: Any) -> float:
    """The least CPU seconds of three runs."""
    taken = []
    for _ in range(3):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)
