"""Findings stored by ``benchmarks.candidate_blocks --keep`` -> a gallery of missed nodules.

``python -m docs.draw.candidate_pictures DIR`` redraws ``docs/pictures/candidates-missed.svg``. The
images are of LIDC-IDRI (The Cancer Imaging Archive), CC BY 3.0, and named so below the picture.
"""

import base64
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from benchmarks.candidate_blocks import SEED, find_in_fold
from benchmarks.candidate_findings import FIVE, joined_findings
from benchmarks.candidate_tables import MemberScore, nodules_to_find, score_all_members
from benchmarks.measure import DATA

from nodulebench.evaluation.patches import png
from nodulebench.imaging.volume import Volume
from nodulebench.io.lidc_blocks import read_blocks

PICTURE = Path(__file__).parents[1] / "pictures" / "candidates-missed.svg"
FOLDS = tuple(range(2, 10))
TILES = 8
SIDE_MM, STEP_MM = 40.0, 0.5
TILE, GAP, TITLE, CAPTION = 96, 8, 22, 28
WINDOW_HU = (-1350.0, 150.0)
"""From black to white: the lung window."""
NAMES = {
    "isicad": "ISICAD",
    "subsolidcad": "SubsolidCAD",
    "largecad": "LargeCAD",
    "m5l": "M5L",
    "etrocad": "ETROCAD",
}


def tile(volume: Volume, center_mm: npt.NDArray[np.float64]) -> bytes:
    """An axial view around a point as PNG; black where the block ends."""
    column, row, number = volume.geometry.to_index(center_mm[None])[0]
    offset = (np.arange(round(SIDE_MM / STEP_MM)) - SIDE_MM / STEP_MM / 2 + 0.5) * STEP_MM
    rows, columns = (
        np.rint(middle + offset / volume.spacing_mm[axis]).astype(int)
        for middle, axis in ((row, 1), (column, 2))
    )
    slices, height, width = volume.shape
    hu = volume.hu[int(np.clip(round(number), 0, slices - 1))]
    part = hu[np.ix_(np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1))]
    low, high = WINDOW_HU
    grey = np.clip((part - low) / (high - low) * 255, 0, 255).astype(np.uint8)
    grey[(rows < 0) | (rows >= height)] = 0
    grey[:, (columns < 0) | (columns >= width)] = 0
    return png(grey)


def spread_over_sizes(missed: pl.DataFrame, count: int) -> pl.DataFrame:
    """Some of the missed nodules, from the largest to the smallest in even steps."""
    ordered = missed.sort("diameter_mm", descending=True)
    if ordered.height <= count:
        return ordered
    return ordered[np.linspace(0, ordered.height - 1, count).round().astype(int)]


def gallery(rows: Sequence[tuple[str, pl.DataFrame]], tiles: dict[tuple[str, str], bytes]) -> str:
    """A row of tiles per detector, each with diameter and density."""
    width = GAP + TILES * (TILE + GAP)
    step = TITLE + TILE + CAPTION
    parts = []
    for number, (title, nodules) in enumerate(rows):
        top = number * step
        parts.append(f'<text x="{GAP}" y="{top + 16}" class="title">{title}</text>')
        for place, row in enumerate(nodules.iter_rows(named=True)):
            left = GAP + place * (TILE + GAP)
            data = base64.b64encode(tiles[row["case_id"], row["nodule_id"]]).decode()
            density = (row["density"] or "undecided").replace("_", "-")
            parts.append(
                f'<image x="{left}" y="{top + TITLE}" width="{TILE}" height="{TILE}" '
                f'href="data:image/png;base64,{data}"/>'
                f'<circle cx="{left + TILE / 2}" cy="{top + TITLE + TILE / 2}" '
                f'r="{max(row["diameter_mm"] / SIDE_MM * TILE / 2 + 4, 8):.1f}"/>'
                f'<text x="{left}" y="{top + TITLE + TILE + 13}">'
                f"{row['diameter_mm']:.1f} mm {density}</text>"
            )
    style = (
        "text{font:9px system-ui,sans-serif;fill:#333}.title{font-weight:bold;font-size:13px}"
        "circle{fill:none;stroke:#ffb000;stroke-width:1}"
    )
    height = len(rows) * step
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="Nodules that detectors miss">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def missed_by(score: MemberScore, nodules: pl.DataFrame) -> pl.DataFrame:
    """The nodules that some detectors together did not find."""
    return nodules.filter(pl.Series(~score.is_hit))


def main() -> None:
    """Draw the gallery of what each of the five and all together miss."""
    stored = Path(sys.argv[1])
    findings = joined_findings([find_in_fold(fold, FIVE, SEED, stored) for fold in FOLDS])
    nodules = nodules_to_find(findings.reference)
    rows = []
    for score in score_all_members(findings):
        if len(score.members) not in (1, len(FIVE)):
            continue
        missed = missed_by(score, nodules)
        name = NAMES[score.members[0]] if len(score.members) == 1 else "All five"
        title = f"{name}: {missed.height} of {nodules.height} missed"
        rows.append((title, spread_over_sizes(missed, TILES)))
    wanted = pl.concat([shown for _, shown in rows])
    tiles = {}
    for block in read_blocks(DATA / "nodule_blocks", FOLDS):
        for row in wanted.filter(pl.col("case_id") == block.block_id).iter_rows(named=True):
            center = np.array([row["x_mm"], row["y_mm"], row["z_mm"]])
            tiles[row["case_id"], row["nodule_id"]] = tile(block.volume, center)
    PICTURE.write_text(gallery(rows, tiles), encoding="utf-8")


if __name__ == "__main__":
    main()
