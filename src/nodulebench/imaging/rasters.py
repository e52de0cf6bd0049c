"""Convert outlines to pixels, in image coordinates: pixel (i, j) is the square around (i, j).

There are two conventions. A *boundary* is a polygon; it contains the pixels whose centres are
inside. LIDC-IDRI gives *outside pixels*: the centres of the first pixels outside the nodule, so
the nodule is what they enclose, without themselves.
"""

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.outlines import joined_outline


@dataclass(frozen=True, slots=True)
class DrawnOutline:
    """One outline or box on one slice."""

    slice_index: int
    """0-based from the feet."""
    xy_mm: FloatArray
    z_mm: float | None = None
    convention: str = "boundary"
    is_hole: bool = False
    is_box: bool = False

    def corners_mm(self, grid: Geometry) -> FloatArray:
        """Its corners in the patient, at the stated height if slices are axial."""
        if grid.is_axial and self.z_mm is not None:
            return np.column_stack([self.xy_mm, np.full(len(self.xy_mm), self.z_mm)])
        level = np.full(len(self.xy_mm), float(self.slice_index))
        return np.column_stack([self.xy_mm, grid.height_on(level, self.xy_mm)])


def voxels_of(drawn: Iterable[DrawnOutline], grid: Geometry) -> IntArray:
    """Voxels (column, row, image) inside the union of outlines, without their holes.

    A hole is cut out with its rim, as in LIDC-IDRI. Voxels outside the image are left
    out.
    """
    by_slice: dict[int, list[DrawnOutline]] = {}
    for outline in drawn:
        by_slice.setdefault(outline.slice_index, []).append(outline)
    parts = [np.empty((0, 3), dtype=np.int64)]
    for number, outlines in sorted(by_slice.items()):
        pixels = _pixels(outlines, grid)
        k = round(float(grid.slice_number(np.array([float(number)]))[0]))
        parts.append(np.column_stack([pixels, np.full(len(pixels), k, dtype=np.int64)]))
    voxel = np.concatenate(parts)
    if grid.size is None:
        return voxel
    return voxel[np.all((voxel >= 0) & (voxel < grid.size), axis=1)]


def _pixels(outlines: Sequence[DrawnOutline], grid: Geometry) -> IntArray:
    held: set[tuple[int, int]] = set()
    cut: set[tuple[int, int]] = set()
    for outline in outlines:
        corners = grid.to_index(outline.corners_mm(grid))[:, :2]
        if outline.convention == "outside_pixels":
            rim = np.rint(corners).astype(np.int64)
            _, i, j, is_rim = enclosed_pixels(np.zeros(len(rim), dtype=np.int64), *rim.T)
            counts = ~is_rim | outline.is_hole
            i, j = i[counts], j[counts]
        else:
            i, j = polygon_pixels(corners)
        (cut if outline.is_hole else held).update(zip(i.tolist(), j.tolist(), strict=True))
    return np.array(sorted(held - cut), dtype=np.int64).reshape(-1, 2)


def enclosed_pixels(
    outline: IntArray, i: IntArray, j: IntArray
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """The pixels that closed rims of pixels enclose: outline, column, row, whether on the rim.

    Pixels are enclosed if no path over pixel edges leads outside without crossing the rim.
    A rim with a gap encloses nothing there; no line is drawn between its points.
    """
    from scipy import ndimage

    if not len(outline):
        return outline, i, j, np.empty(0, dtype=np.bool_)
    first = np.flatnonzero(np.diff(outline, prepend=-1))
    low_i, low_j = np.minimum.reduceat(i, first), np.minimum.reduceat(j, first)
    width = np.maximum.reduceat(i, first) - low_i + 3  # one empty pixel on either side
    left = np.cumsum(width) - width
    column = left[outline] + 1 + i - low_i[outline]
    row = 1 + j - low_j[outline]
    # all outlines next to each other in one picture, so that their surroundings are connected
    is_free = np.ones((int(row.max()) + 2, int(width.sum())), dtype=np.bool_)
    is_free[row, column] = False
    areas, _ = ndimage.label(is_free)
    rows, columns = np.nonzero(areas != areas[0, 0])
    which = np.searchsorted(left, columns, side="right") - 1
    return (
        which,
        columns - left[which] - 1 + low_i[which],
        rows - 1 + low_j[which],
        ~is_free[rows, columns],
    )


def polygon_pixels(corners: FloatArray) -> tuple[IntArray, IntArray]:
    """Pixels whose centres are inside a polygon (even-odd rule); at least its middle pixel.

    A centre on an edge belongs to the side of larger coordinates, so that polygons with a common
    edge share no pixel. The crossing of a side does not depend on its direction, to the last
    digit: a line to a further ring and back encloses nothing.
    """
    low = np.ceil(corners.min(axis=0)).astype(np.int64)
    high = np.floor(corners.max(axis=0)).astype(np.int64)
    if np.any(high < low):
        return _middle_pixel(corners)
    i, j = np.arange(low[0], high[0] + 1), np.arange(low[1], high[1] + 1)
    inside = np.zeros((len(j), len(i)), dtype=np.bool_)
    for start, stop in zip(corners.tolist(), np.roll(corners, -1, axis=0).tolist(), strict=True):
        (y1, x1), (y2, x2) = sorted((start[::-1], stop[::-1]))
        spans = (y1 <= j) != (y2 <= j)
        if spans.any():
            crossing = x1 + (x2 - x1) * (j[spans] - y1) / (y2 - y1)
            inside[spans] ^= i >= crossing[:, None]
    rows, columns = np.nonzero(inside)
    if not len(rows):
        return _middle_pixel(corners)
    return i[columns], j[rows]


def _middle_pixel(corners: FloatArray) -> tuple[IntArray, IntArray]:
    middle = np.rint((corners.min(axis=0) + corners.max(axis=0)) / 2).astype(np.int64)
    return middle[:1], middle[1:]


_SETS_AT_ONCE = 256


def trace_outlines(owner: IntArray, i: IntArray, j: IntArray) -> tuple[IntArray, FloatArray]:
    """The boundary of each set of pixels as one closed outline: set, and column and row of corners.

    The boundary follows the edges of pixels, half a pixel from their centres. Several parts and
    holes are one outline: a line leads to each further ring and back, and encloses nothing. So
    by the even-odd rule the outline encloses exactly the pixels.
    """
    if not len(owner):
        return owner, np.empty((0, 2))
    starts = np.searchsorted(owner, np.arange(0, owner[-1] + 1, _SETS_AT_ONCE))
    traced = [
        _trace(owner[part] - owner[part[0]], i[part], j[part], int(owner[part[0]]))
        for part in np.split(np.arange(len(owner)), starts[1:])
    ]
    owners, corners = zip(*traced, strict=True)
    return np.concatenate(owners), np.concatenate(corners)


def _trace(
    owner: IntArray, i: IntArray, j: IntArray, first_owner: int
) -> tuple[IntArray, FloatArray]:
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    low_i, low_j = np.minimum.reduceat(i, first), np.minimum.reduceat(j, first)
    width = np.maximum.reduceat(i, first) - low_i + 2  # neighbouring sets must not touch
    left = np.cumsum(width) - width
    column, row = left[owner] + i - low_i[owner], j - low_j[owner]
    picture = np.zeros((int(row.max()) + 3, int(width.sum()) + 2), dtype=np.bool_)
    picture[row + 1, column + 1] = True

    rings: list[list[IntArray]] = [[] for _ in first]
    across = picture.shape[1] - 1
    for ring in _rings(picture):
        set_of_ring = int(np.searchsorted(left, min(c % across for c in ring), side="right")) - 1
        rings[set_of_ring].append(np.array(ring, dtype=np.int64))
    corners = [joined_outline(parts) for parts in rings]
    which = np.repeat(np.arange(len(rings)), [len(corner) for corner in corners])
    row, column = np.divmod(np.concatenate(corners), across)
    # a corner (row, column) of the picture is the lower left corner of that pixel
    place = np.column_stack([column - left[which] + low_i[which], row + low_j[which]]) - 0.5
    return which + first_owner, place


def _rings(picture: BoolArray) -> list[list[int]]:
    """Closed paths around the pixels of a picture with an empty margin, as corner numbers.

    Paths have the pixels on their left. An edge is known by its direction (0 right, 1 up, 2 left,
    3 down) and the corner it leaves. If two pixels touch only at a corner, paths turn left, so
    that each pixel has its own path.
    """
    here, left_of = picture[1:, 1:], picture[1:, :-1]
    below, across = picture[:-1, 1:], picture[:-1, :-1]
    leaves = np.stack([here & ~below, left_of & ~here, across & ~left_of, below & ~across])
    height, width = here.shape
    edges = np.flatnonzero(leaves.ravel())
    direction, corner = np.divmod(edges, height * width)
    arrives = corner + np.array([1, width, -1, -width])[direction]
    flat = leaves.reshape(4, -1)
    turn = np.where(
        flat[(direction + 1) % 4, arrives],
        direction + 1,
        np.where(flat[direction, arrives], direction, direction - 1),
    )
    following = np.searchsorted(edges, turn % 4 * (height * width) + arrives)
    return _cycles(following.tolist(), direction.tolist(), corner.tolist())


def _cycles(following: list[int], direction: list[int], corner: list[int]) -> list[list[int]]:
    """The corners of each cycle of edges, without those at which the path goes straight on."""
    is_done = [False] * len(following)
    rings = []
    for start in range(len(following)):
        if is_done[start]:
            continue
        ring: list[int] = []
        edge = start
        while not is_done[edge]:
            is_done[edge] = True
            onward = following[edge]
            if direction[onward] != direction[edge]:
                ring.append(corner[onward])
            edge = onward
        rings.append(ring)
    return rings


def png(pixels: npt.NDArray[np.uint8], palette: npt.NDArray[np.uint8] | None = None) -> bytes:
    """Encode grey values, or indices of a palette of red, green and blue, as a PNG file."""
    height, width = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if palette is None else 3, 0, 0, 0)
    colours = [] if palette is None else [(b"PLTE", palette.tobytes())]
    parts = [(b"IHDR", header), *colours, (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
