"""What detectors see: candidates per litre of lung by kind, on phantoms and on real scans.

``python -m benchmarks.candidate_kinds --keep FOLDER``
"""

import argparse
import io
import json
import lzma
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_findings import FIVE
from benchmarks.measure import DATA
from benchmarks.phantom_likeness import SCANNERS, real_scans
from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.detection.detectors import candidates_of
from nodulebench.detection.scan import Chest, prepare_scan
from nodulebench.imaging.lungs import LEFT, RIGHT, LabelArray, lung_density
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.phantom.patient import People, make_patient
from nodulebench.phantom.scan import scan_patient

SIX = (*FIVE, "mot_m5lv1")
SEEDS = tuple(range(9201, 9207))
"""One patient each; nothing was chosen by looking at them."""
MATRIX = 384
"""Pixels of about a millimetre, as some of the real scans have."""
STEP_MM = 1.0
RIM_MM = 5.0
"""A candidate this near the lungs' surface is of it."""
TISSUE_ABOVE_MEDIAN_HU = 250.0
"""What is so much denser than the lung is a vessel or a nodule."""
TISSUE_BLUR = 0.7
SHELL_MM = 3.0
"""How far around a candidate's tissue it is counted how many strands leave it."""
TOUCH_MM = 2.0
REACH = 16
BRANCHES = 3
SECTIONS_APART = 5
KINDS = ("pleural", "mediastinal", "branching", "vessel", "spot", "haze")
"""At the chest wall or diaphragm, between the lungs; in the lung: where three or more strands meet,
on a strand, tissue without strands, and no tissue at all."""


@dataclass(frozen=True)
class ScanMeasures:
    """One scan: measures of its lungs, and the candidates of each detector by kind."""

    name: str
    litres: float
    metrics: dict[str, float]
    counts: dict[str, dict[str, int]]

    def per_litre(self, detector: str, kind: str | None = None) -> float:
        """Candidates of a kind, or all, for each litre of lung."""
        counts = self.counts[detector]
        return (sum(counts.values()) if kind is None else counts.get(kind, 0)) / self.litres


class Ground:
    """The lungs of a scan, prepared to classify positions."""

    def __init__(self, chest: Chest) -> None:
        """Measure depths and find tissue, once."""
        from scipy import ndimage

        self.fine = chest.resampled(STEP_MM)
        label = self.fine.lungs.label
        median = float(np.median(self.fine.hu[label > 0]))
        blurred = ndimage.gaussian_filter(self.fine.hu, TISSUE_BLUR)
        self.tissue: BoolArray = blurred > median + TISSUE_ABOVE_MEDIAN_HU
        coarse = np.pad(label[::2, ::2, ::2], 1)
        self.depth_mm, self.nearest = ndimage.distance_transform_edt(
            coarse > 0, sampling=2 * STEP_MM, return_indices=True
        )
        self.is_between = _is_between_lungs(coarse)

    def kinds(self, point_mm: FloatArray) -> list[str]:
        """The kind of each place (n x 3)."""
        index = np.rint(self.fine.to_index(point_mm)).astype(np.int64)
        return [self._kind(at) for at in np.clip(index, 0, np.array(self.tissue.shape) - 1)]

    def sections_per_dm2(self) -> float:
        """How many sections of vessels an axial slice shows for each 100 cm² of inner lung."""
        from scipy import ndimage

        every = slice(None, None, SECTIONS_APART)
        inner = np.kron(self.depth_mm[1:-1, 1:-1, 1:-1] > RIM_MM, np.ones((2, 2, 2), np.bool_))
        inner = inner[tuple(slice(0, length) for length in self.tissue.shape)]
        sections = sum(
            ndimage.label(tissue & inside)[1]
            for tissue, inside in zip(self.tissue[every], inner[every], strict=True)
        )
        return float(sections / (np.count_nonzero(inner[every]) * STEP_MM**2) * 1e4)

    def _kind(self, at: IntArray) -> str:
        coarse = tuple((np.minimum(at // 2, np.array(self.depth_mm.shape) - 3) + 1).tolist())
        if self.depth_mm[coarse] <= RIM_MM:
            is_near = self.is_between[tuple(self.nearest[(slice(None), *coarse)])]
            return "mediastinal" if is_near else "pleural"
        return _kind_inside(self.tissue, at)


def _is_between_lungs(label: LabelArray) -> BoolArray:
    """Voxels outside the lungs with the right lung on one side and the left on the other."""
    before, after = _last_seen(label), _last_seen(label[:, :, ::-1])[:, :, ::-1]
    is_between: BoolArray = (label == 0) & (before == RIGHT) & (after == LEFT)
    return is_between


def _last_seen(label: LabelArray) -> LabelArray:
    """For each voxel of a row the last lung before it."""
    place = np.maximum.accumulate(np.where(label > 0, np.arange(label.shape[2]), 0), axis=2)
    return np.take_along_axis(label, place, axis=2)


def _kind_inside(tissue: BoolArray, at: IntArray) -> str:
    """How many strands leave the tissue at a place in the lung."""
    from scipy import ndimage

    low = np.maximum(at - REACH, 0)
    box = tuple(slice(int(a), int(b) + REACH + 1) for a, b in zip(low, at, strict=True))
    part, _ = ndimage.label(tissue[box])
    offset = np.indices(part.shape) - (at - low)[:, None, None, None]
    apart = np.sqrt((offset**2).sum(axis=0)) * STEP_MM
    touching = np.where((apart <= TOUCH_MM) & (part > 0), apart, np.inf)
    if not np.isfinite(touching).any():
        return "haze"
    own = part == part.flat[int(np.argmin(touching))]
    width = ndimage.distance_transform_edt(own)
    radius = float(width[apart <= 2 * TOUCH_MM].max()) * STEP_MM
    shell = own & (np.abs(apart - radius - SHELL_MM) <= 0.9 * STEP_MM)
    strands = ndimage.label(shell, np.ones((3, 3, 3)))[1]
    return "spot" if not strands else "vessel" if strands < BRANCHES else "branching"


def measure_candidates(name: str, volume: Volume, detectors: Sequence[str] = SIX) -> ScanMeasures:
    """One scan through the detectors."""
    chest = prepare_scan(volume, name)
    density = lung_density(chest.hu, chest.lungs)
    ground = Ground(chest)
    counts = {
        detector: dict(Counter(ground.kinds(candidates_of(detector, chest).center_mm)))
        for detector in detectors
    }
    metrics = {
        "median (HU)": density.median_hu,
        "p5 (HU)": density.p5_hu,
        "p95 (HU)": density.p95_hu,
        "noise SD (HU)": density.noise_sd_hu,
        "vessels (%)": 100 * density.vessel_share,
        "vessel sections per dm²": ground.sections_per_dm2(),
    }
    return ScanMeasures(name, density.volume_ml / 1000, metrics, counts)


def compact_scans(data: Path = DATA) -> Iterator[tuple[str, Volume]]:
    """The whole scans that are stored with 1 mm pixels of 16 HU."""
    folder = data / "whole_lungs"
    for row in pl.read_csv(folder / "scans.csv").iter_rows(named=True):
        coded = np.load(io.BytesIO(lzma.decompress((folder / row["file"]).read_bytes())))
        volume = make_volume(
            coded.astype(np.int16) * 16 - 1024,
            spacing_mm=[row[f"spacing_{axis}_mm"] for axis in "xyz"],
            origin_mm=[row[f"origin_{axis}_mm"] for axis in "xyz"],
        )
        yield row["file"].removesuffix(".npy.xz"), volume


def every_real_scan() -> Iterator[tuple[str, Volume]]:
    """Eleven scans of people."""
    yield from real_scans()
    yield from compact_scans()


def phantoms(people: People) -> Iterator[tuple[str, Volume]]:
    """Phantoms on scanners like those of the real scans."""
    for place, seed in enumerate(SEEDS):
        scanner = SCANNERS[place % len(SCANNERS)]
        pixel_mm = scanner.pixel_mm * scanner.matrix / MATRIX
        coarser = replace(scanner, matrix=MATRIX, pixel_mm=pixel_mm)
        scan = scan_patient(make_patient(seed, 1, people=people), coarser)
        yield f"{people} {seed}", scan.volume


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Volume]]]] = {
    "real": every_real_scan,
    "healthy": lambda: phantoms("healthy"),
    "clinical": lambda: phantoms("clinical"),
}


def measures_of(group: str, keep: Path | None) -> list[ScanMeasures]:
    """The measures of a group of scans; results stored in a folder are not computed again."""
    stored = None if keep is None else keep / f"{group}.json"
    known = [] if stored is None or not stored.is_file() else json.loads(stored.read_text())
    if known:
        return [ScanMeasures(**values) for values in known]
    seen = []
    for name, volume in GROUPS[group]():
        seen.append(measure_candidates(name, volume))
        if stored is not None:
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_text(json.dumps([asdict(measured) for measured in seen]))
    return seen


def print_lungs(groups: Mapping[str, Sequence[ScanMeasures]]) -> None:
    """Print the measures of the lungs, least to most in each group."""
    print("| metric | " + " | ".join(groups) + " |")
    print("|---" * (len(groups) + 1) + "|")
    for name in next(iter(groups.values()))[0].metrics:
        cells = [
            _range([measured.metrics[name] for measured in seen], 1) for seen in groups.values()
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


def print_candidates(groups: Mapping[str, Sequence[ScanMeasures]]) -> None:
    """Print candidates per litre by detector and kind: median (least to most) of each group.

    The last column states whether the last group is within the range of the first.
    """
    print("| detector | kind | " + " | ".join(groups) + " | inside |")
    print("|---" * (len(groups) + 3) + "|")
    for detector in SIX:
        for kind in (None, *KINDS):
            values = [
                [measured.per_litre(detector, kind) for measured in seen]
                for seen in groups.values()
            ]
            cells = " | ".join(_range(group, 1) for group in values)
            inside = min(values[0]) <= min(values[-1]) and max(values[-1]) <= max(values[0])
            print(f"| {detector} | {kind or 'all'} | {cells} | {'yes' if inside else 'no'} |")


def _range(values: Sequence[float], digits: int) -> str:
    low, middle, high = min(values), float(np.median(values)), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="folder where results are stored and read")
    options = parser.parse_args()
    groups = {name: measures_of(name, options.keep) for name in GROUPS}
    print_lungs(groups)
    print()
    print_candidates(groups)


if __name__ == "__main__":
    main()
