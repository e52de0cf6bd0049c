"""De-identification: CPU time compared with plain reading; text found in images, drawn and not."""

import resource
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pydicom

from benchmarks.measure import DATA
from nodulebench.curation.deidentify.burned_in import find_text
from nodulebench.curation.deidentify.codec import MOST_CONTEXTS, Memory
from nodulebench.curation.deidentify.identity import Pseudonyms
from nodulebench.curation.deidentify.service import deidentify_file
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
GROWTH = (1, 2, 4, 8)
"""Patients."""
RUNS, PACKED_RUNS = 5, 2


def main() -> None:
    """Print all tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print_times(folder)  # first: its peak of memory is that of the whole process
        print()
        print_found_text(folder)


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
                    for style in ("sharp", "smooth"):
                        written = draw(stored, height, style, random)
                        is_found = find_text(written, slope, intercept) is not None
                        hits.setdefault((height, style), []).append(is_found)
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
                    (slice_.pixel_array, float(slice_.RescaleSlope), float(slice_.RescaleIntercept))
                    for slice_ in slices
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
    stored: npt.NDArray[Any], height: int, style: str, random: np.random.Generator
) -> npt.NDArray[Any]:
    """A picture with a made-up name and number written into a corner."""
    from PIL import Image, ImageDraw, ImageFont

    letters = "".join(random.choice(list("ABCDEFGHIKLMNOPRSTUVW"), 6))
    text = f"{letters} {random.integers(10_000, 99_999)}"
    font = ImageFont.load_default(size=height * 1.35)
    page = Image.new("L", stored.shape[::-1], 0)
    pen = ImageDraw.Draw(page)
    pen.fontmode = "1" if style == "sharp" else "L"
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
    """CPU time of de-identification and of plainly reading files with their pixels."""
    paths = plain_slices(folder)
    if not paths:
        return
    print_writing_and_reading(folder, paths, "uncompressed", RUNS)
    print_writing_and_reading(folder, extracted(folder, REAL[0]), "packed (JPEG 2000)", PACKED_RUNS)
    print_growth(folder, paths)


def print_writing_and_reading(folder: Path, paths: list[Path], kind: str, runs: int) -> None:
    """CPU time of slices, in turn with plain reading."""
    works = {
        "plain reading with pixels": reader,
        "de-identification, checked, pictures not searched": partial(
            cleaner, folder, has_pixel_check=False
        ),
        "de-identification, checked, pictures searched for text": partial(cleaner, folder),
        "the same, nothing remembered from slice to slice": partial(cleaner, folder, contexts=0),
    }
    seconds = cpu(works, paths, runs)
    plain = seconds["plain reading with pixels"]
    print(f"\n{len(paths)} {kind} slices of 512 x 512, one process, least of {runs} runs:\n")
    print("| what | CPU ms a slice | times plain reading |")
    print("|---|---|---|")
    for what, taken in seconds.items():
        print(f"| {what} | {1000 * taken / len(paths):.1f} | {taken / plain:.1f} |")


def print_growth(folder: Path, paths: list[Path]) -> None:
    """CPU time and memory as slices and patients get more."""
    print("\n| slices | patients | CPU ms a slice | peak memory, MB |")
    print("|---|---|---|---|")
    for patients in GROWTH:
        slices = list(copied(folder / "growth", paths, patients))
        taken = cpu({"clean": partial(cleaner, folder)}, slices, RUNS)["clean"]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(f"| {len(slices)} | {patients} | {1000 * taken / len(slices):.1f} | {peak:.0f} |")


def plain_slices(folder: Path) -> list[Path]:
    """The slices of a real scan, uncompressed; none where there is no such scan.

    Each gets its own times of day, as scanners write them; those of the public scan are empty.
    """
    source = folder / "plain"
    for number, path in enumerate(extracted(folder, REAL[0])):
        slice_ = pydicom.dcmread(path)
        slice_.decompress()
        moment = f"1015{number // 10 % 60:02d}.{number % 10}00000"
        slice_.AcquisitionTime = slice_.ContentTime = moment
        slice_.AcquisitionDateTime = f"20000101{moment}"
        source.mkdir(exist_ok=True)
        slice_.save_as(source / path.name)
    return sorted(source.glob("*.dcm"))


def copied(target: Path, paths: list[Path], patients: int) -> Iterator[Path]:
    """The same slices under the numbers of several patients, which differ in nothing else."""
    for patient in range(patients):
        for path in paths:
            place = target / str(patient) / path.name
            if not place.is_file():
                slice_ = pydicom.dcmread(path)
                slice_.PatientID = f"{slice_.PatientID}-{patient}"
                place.parent.mkdir(parents=True, exist_ok=True)
                slice_.save_as(place)
            yield place


def reader() -> Callable[[Path], object]:
    """Reads a slice with its pixels."""
    return lambda path: pydicom.dcmread(path).pixel_array


def cleaner(
    folder: Path, *, has_pixel_check: bool = True, contexts: int = MOST_CONTEXTS
) -> Callable[[Path], object]:
    """De-identifies a slice into a folder that was emptied."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "run").mkdir(exist_ok=True)
    memory = Memory(contexts)

    def clean(path: Path) -> None:
        outcome = deidentify_file(
            path,
            folder / "out",
            Pseudonyms(bytes(32)),
            has_pixel_check=has_pixel_check,
            memory=memory,
            within=folder / "run",
        )
        if not outcome.written:
            raise SystemExit(str(outcome.refused))

    return clean


def cpu(
    works: Mapping[str, Callable[[], Callable[[Path], object]]], paths: list[Path], runs: int
) -> dict[str, float]:
    """CPU seconds of each work on some slices: of every slice the least of some runs, in turn.

    A run begins with a new work that knows no slice. Slice by slice, since other processes disturb
    some slices of every run.
    """
    least = {name: np.full(len(paths), np.inf) for name in works}
    for _ in range(runs):
        for name, begin in works.items():
            work = begin()
            for number, path in enumerate(paths):
                started = time.process_time()
                work(path)
                taken = time.process_time() - started
                least[name][number] = min(least[name][number], taken)
    return {name: float(taken.sum()) for name, taken in least.items()}
