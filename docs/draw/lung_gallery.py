"""Scans and phantoms -> pictures of the lungs that are found in them.

``python -m docs.draw.lung_gallery`` redraws ``docs/pictures/lungs-*.png``: of each scan a coronal
and two axial slices with the outlines of the right lung (orange) and the left one (blue), and a
line for the terminal. The real scans are of LIDC-IDRI and NLST (The Cancer Imaging Archive).
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.candidate_kinds import every_real_scan

from nodulebench.imaging.lungs import LEFT, RIGHT, Lungs, segment_lungs
from nodulebench.imaging.rasters import png
from nodulebench.imaging.volume import Volume, to_patient_axes
from nodulebench.phantom.patient import make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

PICTURES = Path(__file__).parents[1] / "pictures"
Picture = npt.NDArray[np.uint8]
WINDOW_HU = (-1350.0, 150.0)
"""From black to white: the lung window."""
GREYS = 48
PALETTE = np.array(
    [*((grey * 255 // (GREYS - 1),) * 3 for grey in range(GREYS)), (255, 140, 0), (0, 170, 255)],
    dtype=np.uint8,
)
COLOURS = {RIGHT: GREYS, LEFT: GREYS + 1}
HEIGHTS = (0.3, 0.7)
"""Where the axial slices lie, from the lungs' lowest slice to the highest."""
SIDE_MM = 360.0
REAL_PIXELS, PHANTOM_PIXELS = 150, 84
SCANNERS = (
    Scanner(2.5, 4.0, 3.0, 124, "standard", 40.0),
    Scanner(1.25, 4.0, 3.0, 124, "edge", 60.0),
    Scanner(5.0, 5.0, 3.0, 124, "smooth", 100.0),
    Scanner(3.0, 4.0, 3.0, 124, "sharp", 30.0),
    Scanner(2.0, 4.0, 3.0, 124, "standard", 20.0),
)
"""Few and large voxels: the pictures are small."""
SEED, PHANTOMS = 7300, 25


def phantoms() -> Iterator[tuple[str, Volume]]:
    """Healthy people and people as clinics see them, on five scanners."""
    for number in range(PHANTOMS):
        for people in ("healthy", "clinical"):
            patient = make_patient(SEED + number, 1, people=people)
            volume = scan_patient(patient, SCANNERS[number % len(SCANNERS)]).volume
            yield f"{people} {SEED + number}", volume


def view(
    hu: npt.NDArray[np.generic], label: Picture, step_mm: tuple[float, float], pixels: int
) -> Picture:
    """A slice around the lungs' middle, with their outlines."""
    places = []
    for length, step, axis in zip(hu.shape, step_mm, (1, 0), strict=True):
        along = np.flatnonzero(label.any(axis=axis)) if label.any() else np.array([length / 2])
        offset = (np.arange(pixels) - (pixels - 1) / 2) * SIDE_MM / pixels / step
        places.append(np.rint((along[0] + along[-1]) / 2 + offset).astype(int))
    rows, columns = (np.clip(at, 0, n - 1) for at, n in zip(places, hu.shape, strict=True))
    low, high = WINDOW_HU
    part = hu[np.ix_(rows, columns)].astype(np.float32)
    picture = np.clip((part - low) / (high - low) * GREYS, 0, GREYS - 1).astype(np.uint8)
    lungs = label[np.ix_(rows, columns)]
    for side, colour in COLOURS.items():
        one = np.pad(lungs == side, 1)
        inner = one[:-2, 1:-1] & one[2:, 1:-1] & one[1:-1, :-2] & one[1:-1, 2:]
        picture[one[1:-1, 1:-1] & ~inner] = colour
    is_off = [(at < 0) | (at >= length) for at, length in zip(places, hu.shape, strict=True)]
    picture[is_off[0]] = 0
    picture[:, is_off[1]] = 0
    return picture


def sections(volume: Volume, lungs: Lungs, pixels: int) -> Picture:
    """A coronal slice and two axial ones side by side."""
    z, y, x = volume.spacing_mm.tolist()
    slices = np.flatnonzero(lungs.mask.any(axis=(1, 2)))
    rows = np.flatnonzero(lungs.mask.any(axis=(0, 2)))
    row = int(rows[len(rows) // 2])
    pictures = [view(volume.hu[::-1, row], lungs.label[::-1, row], (z, x), pixels)]
    for height in HEIGHTS:
        at = int(slices[int(height * (len(slices) - 1))])
        pictures.append(view(volume.hu[at], lungs.label[at], (y, x), pixels))
    return np.hstack(pictures)


def gallery(scans: Iterable[tuple[str, Volume]], pixels: int, columns: int) -> Picture:
    """The sections of many scans, row by row in the order of the lines that are printed."""
    tiles = []
    for name, volume in scans:
        upright = to_patient_axes(volume, name)
        lungs = segment_lungs(upright, name)
        tiles.append(sections(upright, lungs, pixels))
        sides = [
            np.count_nonzero(lungs.label == side) * upright.voxel_mm3 / 1000 for side in COLOURS
        ]
        doubts = " ".join(doubt.code for doubt in lungs.warnings)
        print(f"{name}: {sides[0]:.0f} and {sides[1]:.0f} ml {doubts}", flush=True)  # noqa: T201
    missing = -len(tiles) % columns
    tiles += [np.zeros_like(tiles[0])] * missing
    rows = [np.hstack(tiles[first : first + columns]) for first in range(0, len(tiles), columns)]
    return np.vstack(rows)


def main(names: list[str]) -> None:
    """Draw both pictures, or those that are named."""
    made = {
        "real": lambda: gallery(every_real_scan(), REAL_PIXELS, 3),
        "phantoms": lambda: gallery(phantoms(), PHANTOM_PIXELS, 5),
    }
    for name in names or made:
        (PICTURES / f"lungs-{name}.png").write_bytes(png(made[name](), PALETTE))


if __name__ == "__main__":
    main(sys.argv[1:])
