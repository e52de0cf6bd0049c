"""How often the perceptual hash misses a changed scan, or takes two patients for one.

The limit is chosen on some phantoms and two real scans; the table is from others, changed with
other settings.
"""

import os
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import ndimage, stats

from benchmarks.measure import DATA
from nodulebench.curation.admission_checks import Limits
from nodulebench.curation.duplicates import Fingerprint, find_duplicates
from nodulebench.curation.perceptual_hash import BITS, HashList, PerceptualHash, perceptual_hash
from nodulebench.curation.series_image import block_means, coarse_factor
from nodulebench.io.dicom.volumes import read_volume
from nodulebench.phantom.patient import Patient, follow_up, make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

TUNING_SEED, REPORT_SEED = 1000, 7000
TUNING_PHANTOMS, REPORT_PHANTOMS, FURTHER_PHANTOMS = 3, 8, 32
TUNING_SCANS = ("LIDC-IDRI-0001", "LIDC-IDRI-0401")
REPORT_SCANS = ("LIDC-IDRI-0003", "LIDC-IDRI-0407", "NLST-101287")
MATRIX, FURTHER_MATRIX = 256, 128

Image = npt.NDArray[np.float32]
Steps = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Changes:
    """How strongly scans are changed."""

    crop: float
    """Share of the field of view cut off on each side."""
    ends: tuple[float, float]
    """Shares of the slices cut off at the feet and at the head."""
    offset_hu: float
    factor: float
    smooth_mm: float
    sharpen: float
    noise_hu: float
    zoom: float
    ratio: int
    """How many times smaller than uncompressed JPEG 2000 makes a slice."""


TUNING = Changes(0.06, (0.12, 0.08), -80, 1.1, 1.2, 1.5, 40, 0.94, 15)
REPORT = Changes(0.05, (0.07, 0.11), 120, 0.93, 0.9, 1.0, 60, 1.08, 25)


GROWTH, GROWTH_SEED = (250, 500, 1000), 5
LEVELS = (60, 66, 72)
"""Of 5 mm, as chests have."""


def similarity(first: PerceptualHash, second: PerceptualHash) -> float:
    """The share of bits that two hashes have in common at the shift that fits best."""
    hashes = HashList()
    hashes.add(first)
    return float(hashes.similarities(second)[0])


def main() -> None:
    """Print the table of the documentation."""
    start = time.monotonic()
    limit = Limits().near_duplicate_similarity
    same, base = measured(TUNING_SEED, TUNING_PHANTOMS, 0, TUNING_SCANS, TUNING)
    lowest = min(value for values in same.values() for value in values)
    highest = max(similarity(first, other) for first, other in combinations(base, 2))
    print(f"tuning: changed scans agree in at least {lowest:.3f} of their bits, different patients")
    print(f"in at most {highest:.3f} ({len(base)} scans); the limit is {limit:g}\n")
    same, base = measured(REPORT_SEED, REPORT_PHANTOMS, FURTHER_PHANTOMS, REPORT_SCANS, REPORT)
    print("| change | scans | missed | share missed (95 % bounds) | least | median |")
    print("|---|---|---|---|---|---|")
    for name, values in same.items():
        missed = sum(value < limit for value in values)
        print(
            f"| {name} | {len(values)} | {missed} | {_share(missed, len(values))} | "
            f"{min(values):.3f} | {np.median(values):.3f} |"
        )
    pairs = [similarity(first, other) for first, other in combinations(base, 2)]
    taken = sum(value >= limit for value in pairs)
    print(
        f"| pairs of different patients | {len(pairs)} | {taken} taken for one scan | "
        f"{_share(taken, len(pairs))} | {max(pairs):.3f} at most | {np.median(pairs):.3f} |"
    )
    real = [
        similarity(first, other) for first, other in combinations(base[-len(REPORT_SCANS) :], 2)
    ]
    print(f"\nreal scans of different patients: at most {max(real):.3f} ({len(real)} pairs)")
    print(f"{time.monotonic() - start:.0f} s\n")
    print_growth()


def print_growth() -> None:
    """Print what it costs to compare all series of a set with each other."""
    random = np.random.default_rng(GROWTH_SEED)
    print("| series | CPU s |")
    print("|---|---|")
    for count in GROWTH:
        hashes = [
            PerceptualHash(random.integers(0, 2, (LEVELS[number % 3], BITS), np.uint8))
            for number in range(count)
        ]
        scans = [Fingerprint(str(at), str(at), digest) for at, digest in enumerate(hashes)]
        start = time.process_time()
        find_duplicates(scans, [], Limits().near_duplicate_similarity)
        print(f"| {count} | {time.process_time() - start:.1f} |")


@dataclass(frozen=True)
class Job:
    """One scan to be measured."""

    name: str
    """Of a real scan; empty: a phantom."""
    seed: int = 0
    number: int = 0
    changes: Changes | None = None
    """None: only its hash is wanted."""


def measured(
    seed: int, phantoms: int, further: int, scans: tuple[str, ...], changes: Changes
) -> tuple[dict[str, list[float]], list[PerceptualHash]]:
    """Similarity of scans to themselves changed, by the change; and the hashes of all scans."""
    jobs = [
        *(Job("", seed, number, changes) for number in range(1, phantoms + 1)),
        *(Job("", seed, number) for number in range(phantoms + 1, phantoms + further + 1)),
        *(Job(name, changes=changes) for name in scans),
    ]
    same: dict[str, list[float]] = {}
    base: list[PerceptualHash] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for own, likeness in pool.map(measure_scan, jobs):
            base.append(own)
            for name, value in likeness:
                same.setdefault(name, []).append(value)
    return same, base


def measure_scan(job: Job) -> tuple[PerceptualHash, list[tuple[str, float]]]:
    """The hash of a scan, and how like itself it is under every change."""
    if job.name:
        image, step = real_image(job.name)
        again: Iterator[tuple[str, tuple[Image, Steps]]] = iter(())
    else:
        patient = make_patient(job.seed, job.number)
        matrix = FURTHER_MATRIX if job.changes is None else MATRIX
        image, step = phantom_image(patient, job.number, "standard", matrix)
        again = reconstructions(patient, job.number)
    own = hashed(image, step)
    if job.changes is None:
        return own, []
    kind = "real scans" if job.name else "phantoms"
    rows = []
    for name, other in chain(again, changed(image, step, job.changes)):
        value = perceptual_hash(*other)
        rows.append((f"{name}, {kind}", 0.0 if value is None else similarity(own, value)))
    return own, rows


def hashed(image: Image, step: Steps) -> PerceptualHash:
    """The hash of a whole scan, which shows lungs."""
    digest = perceptual_hash(*coarse(image, step))
    if digest is None:
        raise ValueError("a whole scan shows no lung")
    return digest


def coarse(image: Image, step: Steps) -> tuple[Image, Steps]:
    """An image as admission sees it."""
    factor = coarse_factor(max(image.shape[1:]))
    means = np.stack([block_means(np.rint(plane).astype(np.int32)) for plane in image])
    return means, step * np.array([1, factor, factor])


def phantom_image(patient: Patient, number: int, kernel: str, matrix: int) -> tuple[Image, Steps]:
    """A scan of a phantom; field of view, slices and dose vary with the patient."""
    random = np.random.default_rng([patient.seed, number])
    between = float(random.choice([1.5, 2.0, 2.5]))
    scanner = Scanner(
        slice_thickness_mm=between,
        slice_spacing_mm=between,
        pixel_mm=round(_width(patient) * float(random.uniform(1.0, 1.08)) / matrix, 4),
        matrix=matrix,
        kernel=kernel,
        exposure_mas=float(random.uniform(30, 120)),
    )
    volume = scan_patient(patient, scanner).volume
    return volume.hu.astype(np.float32), volume.geometry.spacing_mm[::-1].copy()


def _width(patient: Patient) -> float:
    chest = patient.chest
    return float(np.clip(2 * (chest.half_width + chest.wall_mm + chest.fat_mm), 280, 500))


def reconstructions(patient: Patient, number: int) -> Iterator[tuple[str, tuple[Image, Steps]]]:
    """The same acquisition with other slices, kernels and fields of view, and other noise."""
    width = _width(patient)
    for name, thickness, between, kernel, zoom in (
        ("thick smooth slices, wider field", 5.0, 4.0, "smooth", 1.12),
        ("thin sharp slices, narrower field", 1.25, 1.25, "edge", 0.95),
    ):
        scanner = Scanner(thickness, between, round(width * zoom / MATRIX, 4), MATRIX, kernel, 60.0)
        place = (4.0 - number, 2.0 * number, 31.7)
        volume = scan_patient(patient, scanner, position_mm=place, repeat=1).volume
        yield (
            name,
            coarse(volume.hu.astype(np.float32), volume.geometry.spacing_mm[::-1].copy()),
        )
    later, _ = follow_up(patient, 180)
    scanner = Scanner(2.0, 2.0, round(width * 1.03 / MATRIX, 4), MATRIX, "standard", 60.0)
    volume = scan_patient(later, scanner, repeat=2).volume
    yield (
        "follow-up after 180 days (not a duplicate; same chest and breath)",
        coarse(volume.hu.astype(np.float32), volume.geometry.spacing_mm[::-1].copy()),
    )


def real_image(name: str) -> tuple[Image, Steps]:
    """A real scan."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(DATA / "ct" / f"{name}.zip") as packed:
            packed.extractall(folder)
        volume = read_volume(Path(folder))
    return volume.hu.astype(np.float32), volume.geometry.spacing_mm[::-1].copy()


def changed(image: Image, step: Steps, by: Changes) -> Iterator[tuple[str, tuple[Image, Steps]]]:
    """The image under every change."""
    random = np.random.default_rng(len(image))
    side = image.shape[1]
    margin = round(by.crop * side)
    first, last = round(by.ends[0] * len(image)), len(image) - round(by.ends[1] * len(image))
    shown = np.maximum(image, -1024)
    sigma = by.smooth_mm / step[1]
    blurred = ndimage.gaussian_filter(shown, (0, sigma, sigma))
    noise = ndimage.gaussian_filter(random.normal(0, 1, image.shape).astype(np.float32), (0, 1, 1))
    paired = len(shown) // 2 * 2
    thick = (shown[0:paired:2] + shown[1:paired:2]) / 2
    changes: dict[str, Callable[[], tuple[Image, Steps]]] = {
        "cropped field": lambda: (image[:, margin:-margin, margin:-margin], step),
        "cropped slices": lambda: (image[first:last], step),
        "HU shifted by 1024": lambda: (image + 1024, step),
        "HU shifted and scaled": lambda: (image * by.factor + by.offset_hu, step),
        "8 bits of a display window": lambda: (
            np.rint(np.clip((image + 1000) / 1400 * 255, 0, 255)),
            step,
        ),
        "lossy JPEG 2000": lambda: (compressed(image, by.ratio), step),
        "smoother kernel": lambda: (blurred, step),
        "sharper kernel, more noise": lambda: (
            shown + by.sharpen * (shown - blurred) + by.noise_hu / noise.std() * noise,
            step,
        ),
        "twice as thick slices": lambda: (thick, step * np.array([2, 1, 1])),
        "other field of view": lambda: zoomed(shown, step, by.zoom),
        "thick, smooth and other field": lambda: zoomed(
            ndimage.gaussian_filter(thick, (0, sigma, sigma)), step * np.array([2, 1, 1]), by.zoom
        ),
    }
    for name, change in changes.items():
        yield name, coarse(*change())


def zoomed(image: Image, step: Steps, zoom: float) -> tuple[Image, Steps]:
    """Another field of view, moved a little, on the same matrix."""
    side = image.shape[1]
    start = (side - 1) / 2 * (1 - zoom) + np.array([2.3, -3.6])
    planes = [
        ndimage.affine_transform(
            plane, [zoom, zoom], offset=start, order=1, mode="constant", cval=-1024
        )
        for plane in image
    ]
    return np.stack(planes), step * np.array([1, zoom, zoom])


def compressed(image: Image, ratio: int) -> Image:
    """The slices after lossy JPEG 2000."""
    from openjpeg.utils import decode, encode_array

    planes = []
    for plane in image:
        stored = np.clip(plane + 1024, 0, 4095).astype(np.uint16)
        stream = encode_array(stored, bits_stored=12, compression_ratios=[ratio])
        planes.append(decode(stream).astype(np.float32) - 1024)
    return np.stack(planes)


def _share(count: int, of: int) -> str:
    """A share with its exact bounds (Clopper and Pearson)."""
    low = stats.beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = stats.beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return f"{count / of:.1%} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    main()
