"""Scores of detectors and networks on blocks -> a gallery of the best system's worst mistakes.

``python -m docs.draw.network_failures DIR``, the folder of ``benchmarks.network_systems --keep``,
redraws ``docs/pictures/networks-failures.svg``. The images are of LIDC-IDRI (The Cancer Imaging
Archive), CC BY 3.0, and named so below the picture.
"""

import base64
import sys
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.measure import DATA
from benchmarks.network_systems import seen_blocks, systems_on
from benchmarks.network_tables import HEADLINE
from docs.draw.candidate_pictures import CAPTION, GAP, TILE, TILES, TITLE, tile

from nodulebench.core.tables import PLACE
from nodulebench.detection.train_classifier import diameters
from nodulebench.io.lidc_blocks import read_blocks

PICTURE = Path(__file__).parents[1] / "pictures" / "networks-failures.svg"


def mistakes(marks: pl.DataFrame, findings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Marks on nothing, likeliest first; and the best marks of nodules, unlikeliest first."""
    wrong, best = [], []
    for (case,), own in marks.group_by("case_id", maintain_order=True):
        known = findings.filter(case_id=case)
        center = known.select(PLACE).to_numpy().reshape(-1, 3)
        apart = np.linalg.norm(own.select(PLACE).to_numpy()[:, None] - center[None], axis=2)
        is_hit = apart < diameters(known) / 2
        wrong.append(own.filter(pl.Series(~is_hit.any(axis=1))))
        for number in np.flatnonzero(~known["is_ignored"].to_numpy()):
            on_it = own.filter(pl.Series(is_hit[:, number]))
            if on_it.height:
                size = pl.lit(float(known["diameter_mm"][int(number)]))
                best.append(on_it.sort("score").tail(1).with_columns(size_mm=size))
    return (
        pl.concat(wrong).sort("score", descending=True).head(TILES),
        pl.concat(best).sort("score").head(TILES),
    )


def main() -> None:
    """Draw the picture."""
    systems = systems_on(seen_blocks(Path(sys.argv[1]), HEADLINE))
    wrong, low = mistakes(systems.submissions["nodulebench"].marks, systems.reference.nodules)
    volumes = {
        block.block_id: block.volume for block in read_blocks(DATA / "nodule_blocks", HEADLINE)
    }
    width, step = GAP + TILES * (TILE + GAP), TITLE + TILE + CAPTION
    parts = []
    titles = ("No nodule, and thought the likeliest", "Nodules that were thought the unlikeliest")
    for number, (title, rows) in enumerate(zip(titles, (wrong, low), strict=True)):
        top = number * step
        parts.append(f'<text x="{GAP}" y="{top + 16}" class="title">{title}</text>')
        for place, row in enumerate(rows.iter_rows(named=True)):
            left = GAP + place * (TILE + GAP)
            center = np.array([row[axis] for axis in PLACE])
            data = base64.b64encode(tile(volumes[row["case_id"]], center)).decode()
            size = f"{row['size_mm']:.0f} mm, " if "size_mm" in row else ""
            parts.append(
                f'<image x="{left}" y="{top + TITLE}" width="{TILE}" height="{TILE}" '
                f'href="data:image/png;base64,{data}"/>'
                f'<text x="{left}" y="{top + TITLE + TILE + 14}">{size}{row["score"]:.3f}</text>'
            )
    style = "text{font:11px sans-serif;fill:#333}.title{font-weight:bold}"
    PICTURE.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {2 * step}" role="img" '
        f'aria-label="the worst mistakes of the best system"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    main()
