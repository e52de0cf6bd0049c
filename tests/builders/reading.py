"""Small scans for the viewer: a bright ball in air at a known position, on any grid."""

from pathlib import Path

import numpy as np

from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.images.metaimage import write_volume

BALL_MM = np.array([12.0, -8.0, 20.0])
RADIUS_MM = 6.0
INSIDE_HU, OUTSIDE_HU = 50, -850


def ball(
    size: tuple[int, int, int] = (64, 60, 24),
    spacing_mm: tuple[float, float, float] = (0.8, 0.9, 2.0),
    direction: np.ndarray | None = None,
) -> Volume:
    """Columns, rows and slices around the ball, which is a little off the middle."""
    axes = np.eye(3) if direction is None else direction
    middle = (np.array(size) - 1) / 2 * np.array(spacing_mm)
    origin = BALL_MM + np.array([1.3, -0.7, 0.4]) - axes @ middle
    blank = make_volume(
        np.zeros(size[::-1], dtype=np.int16),
        spacing_mm=spacing_mm,
        origin_mm=origin,
        direction=axes,
    )
    k, j, i = np.indices(blank.hu.shape).reshape(3, -1).astype(float)
    away = np.linalg.norm(
        blank.geometry.to_world(np.column_stack([i, j, k])) - BALL_MM, axis=1
    ).reshape(blank.hu.shape)
    share = np.clip((RADIUS_MM - away) / 0.8 + 0.5, 0, 1)
    blank.hu[:] = np.rint(OUTSIDE_HU + share * (INSIDE_HU - OUTSIDE_HU))
    return blank


def write_scans(folder: Path, *names: str, volume: Volume | None = None) -> Path:
    """A folder of MetaImages of the ball."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        write_volume(volume or ball(), folder / f"{name}.mhd")
    return folder
