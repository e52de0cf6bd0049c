"""Real scans as they were archived: do their voxels and lungs equal what others measured?

Digests of voxels were computed by other software; volumes of lungs are those of masks that were
reviewed. The tests compare one or two scans, because decompressing all takes half a minute.
"""

import csv
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from benchmarks.measure import DATA
from nodulebench.curation.curate import curate
from nodulebench.imaging.lungs import LEFT, RIGHT, segment_lungs
from nodulebench.io.dicom.volumes import read_volume

LUNGS_ML = {
    "LIDC-IDRI-0003": (2811, 3087),
    "LIDC-IDRI-0407": (3074, 2485),
    "NLST-101287": (2249, 1973),
}
"""The right and the left lung of masks that were looked at: whole, no trachea, no bowel."""
MOST_OFF = 0.01


def main() -> None:
    """Print a line for each scan; end with 1 if one differs."""
    with (DATA / "ct" / "scans.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as folder:
        scans = Path(folder) / "scans"
        for row in rows:
            with zipfile.ZipFile(DATA / "ct" / row["file"]) as packed:
                packed.extractall(scans)
        result = curate(scans, Path(folder) / "out")
        digest = {series.uid: series.pixel_sha256 for series in result.admitted}
        equal = [digest.get(row["SeriesInstanceUID"]) == row["hu_sha256"] for row in rows]
        print("| scan | voxels equal | right lung (ml) | left lung (ml) |\n|---|---|---|---|")
        for row, is_equal in zip(rows, equal, strict=True):
            print(f"| {row['id']} | {is_equal} | {' | '.join(volumes_ml(scans, row['id']))} |")
    is_other = [series.uid for series in result.series if not series.is_admitted]
    print(f"\n{len(is_other)} series and {len(result.other_files)} files are not CT")
    if not all(equal):
        sys.exit(1)


def volumes_ml(scans: Path, name: str) -> list[str]:
    """The volumes of both lungs, with the known ones."""
    if name not in LUNGS_ML:
        return ["", ""]
    lungs = segment_lungs(read_volume(scans / name), name)
    voxel_ml = float(np.prod(lungs.geometry.spacing_mm)) / 1000
    volumes = [np.count_nonzero(lungs.label == side) * voxel_ml for side in (RIGHT, LEFT)]
    for volume, known in zip(volumes, LUNGS_ML[name], strict=True):
        if abs(volume / known - 1) > MOST_OFF:
            sys.exit(f"{name}: a lung has {volume:.0f} ml, known are {known} ml")
    return [
        f"{volume:.0f} ({known})" for volume, known in zip(volumes, LUNGS_ML[name], strict=True)
    ]


if __name__ == "__main__":
    main()
