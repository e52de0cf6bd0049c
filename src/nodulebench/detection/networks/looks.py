"""Look: which points around a candidate a network sees, in millimetres of the patient.

Points are written z, y, x: towards the head, the back and the left, as the axes of an image.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Offsets = npt.NDArray[np.float32]
Plane = tuple[tuple[float, float, float], tuple[float, float, float]]
"""The directions of a plane's rows and columns."""

Grid = tuple[Offsets, Offsets, Offsets]
"""Offsets along z, y and x."""

ORTHOGONAL: tuple[Plane, ...] = (
    ((0, 1, 0), (0, 0, 1)),
    ((1, 0, 0), (0, 0, 1)),
    ((1, 0, 0), (0, 1, 0)),
)
"""Axial, coronal, sagittal."""
_HALF = 0.5**0.5
SYMMETRY: tuple[Plane, ...] = (
    *ORTHOGONAL,
    ((1, 0, 0), (0, _HALF, _HALF)),
    ((1, 0, 0), (0, -_HALF, _HALF)),
    ((0, 1, 0), (_HALF, 0, _HALF)),
    ((0, 1, 0), (-_HALF, 0, _HALF)),
    ((0, 0, 1), (_HALF, _HALF, 0)),
    ((0, 0, 1), (-_HALF, _HALF, 0)),
)
"""The nine planes of symmetry of a cube: three along its faces, six along its diagonals."""


@dataclass(frozen=True, eq=False)
class Look:
    """The points that a network sees around a place."""

    offset_mm: Offsets
    """shape x 3: how far from the place each point lies."""
    grids: tuple[Grid, ...] = ()
    """Where the points are boxes of voxels: the offsets along the axes of each box."""

    @property
    def shape(self) -> tuple[int, ...]:
        """What a patch looks like; planes come before rows and columns."""
        return tuple(self.offset_mm.shape[:-1])


def cube(size: tuple[int, int, int], step_mm: tuple[float, float, float]) -> Look:
    """A box of voxels: how many and how far apart along z, y and x."""
    z, y, x = (
        _centred(count, step).astype(np.float32) for count, step in zip(size, step_mm, strict=True)
    )
    return Look(np.stack(np.meshgrid(z, y, x, indexing="ij"), axis=-1), ((z, y, x),))


def planes(
    chosen: tuple[Plane, ...],
    size: int,
    step_mm: float,
    aside_mm: tuple[float, ...] = (0.0,),
    moved_mm: tuple[float, float] = (0.0, 0.0),
) -> Look:
    """Square planes through the place, or beside it along their normal.

    Args:
        chosen: the planes.
        size: pixels along their rows and columns.
        step_mm: from pixel to pixel.
        aside_mm: where along its normal each of them is seen.
        moved_mm: how far each is moved within itself, along the directions of its rows and columns.

    Returns:
        A look of the shape planes x (places along the normal) x rows x columns, without the second
        where there is one place only.
    """
    along = _centred(size, step_mm)
    rows = np.array([plane[0] for plane in chosen], dtype=np.float64)
    columns = np.array([plane[1] for plane in chosen], dtype=np.float64)
    normal = np.cross(rows, columns)
    flat = (along + moved_mm[0])[None, :, None, None] * rows[:, None, None, :] + (
        along + moved_mm[1]
    )[None, None, :, None] * columns[:, None, None, :]
    beside = np.array(aside_mm)[None, :, None] * normal[:, None, :]
    points = flat[:, None] + beside[:, :, None, None, :]
    return Look((points if len(aside_mm) > 1 else points[:, 0]).astype(np.float32))


def together(*looks: Look) -> Look:
    """Several looks of one shape as one, side by side in front."""
    grids = tuple(grid for look in looks for grid in look.grids)
    is_whole = all(look.grids for look in looks)
    return Look(np.stack([look.offset_mm for look in looks]), grids if is_whole else ())


def _centred(count: int, step_mm: float) -> npt.NDArray[np.float64]:
    return (np.arange(count, dtype=np.float64) - (count - 1) / 2) * step_mm
