"""Ten small blocks of lung with a nodule and crossing vessels in each, one to a fold."""

import io
import lzma
from pathlib import Path

import numpy as np

from builders.lung_scenes import LUNG_HU, ball, rod
from builders.tables import case, nodule, reference
from nodulebench.io.marks.luna16 import write_reference

SHAPE = (40, 40, 40)
PLACE = (20.0, 18.0, 14.0)
"""Of the nodule: slice, row, column, and millimetres as well."""
HEADER = (
    "block_id,seriesuid,fold,origin_x_mm,origin_y_mm,origin_z_mm,"
    "spacing_x_mm,spacing_y_mm,spacing_z_mm,size_x,size_y,size_z"
)


def block_voxels(fold: int) -> np.ndarray:
    """A nodule, and a vessel that another crosses: candidates of both kinds."""
    random = np.random.default_rng(fold)
    hu = LUNG_HU + 30.0 * random.standard_normal(SHAPE)
    crossing = rod((0, 18, 30), 2.0, SHAPE)
    for shape in (ball(PLACE, 3.0 + 0.2 * fold, SHAPE), crossing, crossing.swapaxes(0, 1)):
        hu = np.maximum(hu, LUNG_HU + shape)
    return np.clip(np.rint((hu + 1024) / 16), 0, 127).astype(np.uint8)


def write_blocks(folder: Path) -> tuple[Path, Path]:
    """A folder of blocks ``b0`` to ``b9`` of the scans ``s0`` to ``s9``, and their nodules."""
    blocks, truth = folder / "blocks", folder / "luna16"
    blocks.mkdir()
    rows = [f"b{fold},s{fold},{fold},0,0,0,1,1,1,40,40,40" for fold in range(10)]
    (blocks / "blocks.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    for fold in range(10):
        held = io.BytesIO()
        np.savez(held, **{f"b{fold}": block_voxels(fold)})
        with lzma.open(blocks / f"fold{fold}.npz.xz", "wb", preset=0) as file:
            file.write(held.getvalue())
    at = PLACE[::-1]
    write_reference(reference(*(case(f"s{fold}", nodule(7, at=at)) for fold in range(10))), truth)
    return blocks, truth
