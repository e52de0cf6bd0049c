"""Chest -> slices in HU: its wall, heart, abdomen, bones, lung; tubes and nodules come later."""

import numpy as np

from nodulebench.phantom.body.abdomen import draw_abdomen
from nodulebench.phantom.body.bones import paint_scapulae, paint_spine, paint_sternum
from nodulebench.phantom.body.chest import Chest, fissure_surfaces
from nodulebench.phantom.body.enhancement import Enhancement
from nodulebench.phantom.body.mediastinum import draw_heart, draw_left_atrium
from nodulebench.phantom.body.slice import Plane
from nodulebench.phantom.body.wall import draw_wall
from nodulebench.phantom.canvas import Field, fill

FISSURE_HU = 80.0
"""How much denser than lung a fissure is, when it fills a voxel."""
COARSE_TEXTURE_HU = 11.0


def draw_slice(chest: Chest, plane: Plane, enhancement: Enhancement) -> None:
    """Draw one slice over an empty one, without tubes and nodules; lung comes over all else."""
    draw_wall(chest, plane, enhancement)
    draw_heart(chest, plane, enhancement)
    draw_left_atrium(chest, plane, enhancement)
    draw_abdomen(chest, plane, enhancement)
    for paint in (paint_sternum, paint_spine, paint_scapulae):
        paint(chest, plane)
    fill(plane.hu, plane.surfaces.pleura, plane.pixel_mm, _parenchyma(chest, plane))


def _parenchyma(chest: Chest, plane: Plane) -> Field:
    """Lung without visible vessels: denser at the back, uneven, with its fissures."""
    lung = plane.fine * np.float32(chest.texture_hu)
    lung += COARSE_TEXTURE_HU * plane.patches
    lung += chest.gravity_hu * (plane.y - chest.center_y) / 180.0 + chest.parenchyma_hu
    oblique, horizontal = fissure_surfaces(
        chest, plane.x, plane.y, np.asarray(plane.z_mm, dtype=np.float32)
    )
    line = np.maximum(1.2 - np.abs(oblique), 0)
    beside = np.maximum(1.2 - 0.8 * np.abs(horizontal), 0) * ((oblique > 0) & (plane.x < 0))
    lung += FISSURE_HU * np.maximum(line, beside)
    return lung
