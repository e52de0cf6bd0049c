"""Sets of pixels -> their outlines along pixel edges, in image coordinates."""

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.imaging.outlines import one_outline

_SETS_AT_ONCE = 256


def trace_outlines(owner: IntArray, i: IntArray, j: IntArray) -> tuple[IntArray, FloatArray]:
    """The boundary of each set of pixels as one closed outline.

    The boundary runs along the edges of pixels, half a pixel from their centres. Several parts and
    holes are one outline: a line leads to each further ring and back, which encloses nothing. So
    by the even-odd rule the outline holds exactly the pixels.

    Args:
        owner: the set that each pixel belongs to: 0, 1, 2, ... in ascending order.
        i: column of the pixels.
        j: row of the pixels.

    Returns:
        Set and image coordinates (column, row) of every corner, in the order of the outlines.
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
    width = np.maximum.reduceat(i, first) - low_i + 2  # sets side by side must not touch
    left = np.cumsum(width) - width
    column, row = left[owner] + i - low_i[owner], j - low_j[owner]
    picture = np.zeros((int(row.max()) + 3, int(width.sum()) + 2), dtype=np.bool_)
    picture[row + 1, column + 1] = True

    rings: list[list[IntArray]] = [[] for _ in first]
    across = picture.shape[1] - 1
    for ring in _rings(picture):
        set_of_ring = int(np.searchsorted(left, min(c % across for c in ring), side="right")) - 1
        rings[set_of_ring].append(np.array(ring, dtype=np.int64))
    corners = [one_outline(one) for one in rings]
    which = np.repeat(np.arange(len(rings)), [len(one) for one in corners])
    row, column = np.divmod(np.concatenate(corners), across)
    # a corner (row, column) of the picture is the lower left one of the pixel there
    place = np.column_stack([column - left[which] + low_i[which], row + low_j[which]]) - 0.5
    return which + first_owner, place


def _rings(picture: BoolArray) -> list[list[int]]:
    """Closed paths around the pixels of a picture with an empty margin, as numbers of corners.

    Paths keep the pixels on their left. An edge is known by its direction (0 right, 1 up, 2 left,
    3 down) and the corner it leaves. Where two pixels touch at a corner only, paths turn left, so
    that each pixel has its own.
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
    """The corners of each cycle of edges; corners that a path passes straight are left out."""
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
