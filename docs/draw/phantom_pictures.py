"""Phantoms -> pictures for the page on phantoms.

``python docs/draw/phantom_pictures.py`` redraws ``docs/pictures/phantom-*.png``;
``python docs/draw/phantom_pictures.py SCAN pair.png`` shows a scan of yours (a DICOM folder or an
image) above a phantom with the same voxels, in both windows.
"""

import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nodulebench.imaging.volume import Volume, to_patient_axes
from nodulebench.io.images.case_images import read_case
from nodulebench.phantom.patient import NodulePlan, make_patient
from nodulebench.phantom.scan import PhantomScan, scan_patient
from nodulebench.phantom.scanner import Scanner

PICTURES = Path(__file__).parents[1] / "pictures"
Picture = npt.NDArray[np.uint8]
LUNG_WINDOW, SOFT_WINDOW = (-600.0, 1500.0), (40.0, 400.0)
SEED = 2024
CROP_MM, CROP_PIXELS = 44.0, 176

GALLERY = (
    NodulePlan("solid", "smooth", "isolated", 9.0),
    NodulePlan("solid", "spiculated", "juxtapleural", 18.0),
    NodulePlan("solid", "lobulated", "juxtavascular", 16.0),
    NodulePlan("part_solid", "lobulated", "isolated", 20.0),
    NodulePlan("pure_ground_glass", "smooth", "juxtavascular", 15.0),
    NodulePlan("calcified", "smooth", "isolated", 6.0),
    NodulePlan("pleural", "smooth", None, 19.0),
    NodulePlan("pleural_calcified", "lobulated", None, 12.0),
)
KERNELS = (
    ("smooth", 200.0, 1.0),
    ("standard", 100.0, 1.0),
    ("edge", 40.0, 1.0),
    ("standard", 100.0, 5.0),
)
"""Kernel, dose (mAs) and slice thickness (mm) of the same nodules."""


def shown(hu: npt.NDArray[np.floating], window: tuple[float, float]) -> Picture:
    """Grey values of a display window (centre, width)."""
    center, width = window
    return np.clip((hu - center + width / 2) / width * 255, 0, 255).astype(np.uint8)


def write_png(picture: Picture, path: Path) -> None:
    """Write grey values as PNG."""

    def chunk(name: bytes, content: bytes) -> bytes:
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    height, width = picture.shape
    # each row as differences to its left neighbour (filter 1), which packs smooth images better
    left = np.pad(picture, ((0, 0), (1, 0)))[:, :-1]
    rows = np.column_stack([np.ones(height, np.uint8), picture - left])
    content = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    content += chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)


def halved(picture: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Half the pixels along either side."""
    rows, columns = (length // 2 for length in picture.shape)
    return picture.reshape(rows, 2, columns, 2).mean(axis=(1, 3))


def sections(volume: Volume) -> Picture:
    """Three axial slices and a coronal one, in the lung and the soft-tissue window."""
    hu = volume.hu.astype(np.float32)
    axial = [halved(hu[int(len(hu) * share)]) for share in (0.28, 0.5, 0.68)]
    ratio = volume.spacing_mm[0] / volume.spacing_mm[1]
    places = np.linspace(len(hu) - 1, 0, round(len(hu) * ratio)).astype(int)
    coronal = hu[places, hu.shape[1] // 2]
    coronal = halved(coronal[: len(coronal) // 2 * 2])[: len(axial[0])]
    coronal = np.pad(coronal, ((0, len(axial[0]) - len(coronal)), (0, 0)), constant_values=-1024)
    row = np.hstack([*axial, coronal])
    return np.vstack([shown(row, LUNG_WINDOW), shown(row, SOFT_WINDOW)])


def crops(scan: PhantomScan) -> Picture:
    """All nodules of a patient, each on its largest section, in the lung window."""
    pictures = []
    geometry = scan.volume.geometry
    for nodule in scan.nodules:
        middle = nodule.shape.centroid_mm.copy()
        offset = (np.arange(CROP_PIXELS) - (CROP_PIXELS - 1) / 2) * CROP_MM / CROP_PIXELS
        columns, rows = (
            np.clip(
                np.rint(
                    (middle[axis] + offset - geometry.origin_mm[axis]) / geometry.spacing_mm[axis]
                ),
                0,
                scan.volume.hu.shape[1] - 1,
            ).astype(int)
            for axis in (0, 1)
        )
        middle[2] = nodule.shape.largest_section_z_mm
        number = round(float(geometry.to_index(middle[None])[0, 2]))
        pictures.append(shown(scan.volume.hu[number][np.ix_(rows, columns)], LUNG_WINDOW))
    return np.hstack(pictures)


def side_by_side(scan_path: Path, picture_path: Path) -> None:
    """Draw a scan above a phantom with voxels of the same size."""
    real = to_patient_axes(read_case(scan_path))
    spacing, _, pixel = real.spacing_mm.tolist()
    scanner = Scanner(
        min(max(spacing, 0.6), 7.0), spacing, pixel, real.hu.shape[2], exposure_mas=40.0
    )
    phantom = scan_patient(make_patient(SEED, 1), scanner)
    write_png(np.vstack([sections(real), sections(phantom.volume)]), picture_path)


def main() -> None:
    """Draw all pictures."""
    PICTURES.mkdir(exist_ok=True)
    for number, scanner in (
        (1, Scanner(2.5, 2.5, 0.7, exposure_mas=60)),
        (4, Scanner(1.0, 1.0, 0.7)),
    ):
        scan = scan_patient(make_patient(SEED, number), scanner)
        write_png(sections(scan.volume), PICTURES / f"phantom-sections-{number}.png")
    patient = make_patient(SEED, 100, GALLERY)
    rows = []
    for kernel, dose, thickness in KERNELS:
        scanner = Scanner(thickness, min(thickness, 2.5), 0.66, kernel=kernel, exposure_mas=dose)
        rows.append(crops(scan_patient(patient, scanner)))
    write_png(np.vstack(rows), PICTURES / "phantom-nodules.png")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        side_by_side(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        main()
