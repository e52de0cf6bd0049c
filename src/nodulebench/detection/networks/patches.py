"""Scans, positions and a grid -> patches in Hounsfield units, by trilinear interpolation.

Many scans lie behind each other in one buffer, on the CPU or on a GPU, so that a batch is cut from
any of them at once. Beyond a scan's faces the image is mirrored.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import pi, prod

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nodulebench.detection.networks.network import SamplingGrid
from nodulebench.detection.networks.recipe import Augment

MOST_POINTS = 1 << 24
"""Points that are interpolated at once; it limits the memory."""


BOXES_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class Scans:
    """Images as one buffer; axes are z, y, x towards head, back and left."""

    voxels: Tensor
    """All voxels of all scans, one scan after the other."""
    start: Tensor
    """Where each scan begins."""
    shape: Tensor
    """scans x 3: slices, rows, columns."""
    spacing_mm: Tensor
    """scans x 3."""
    step_hu: float = 1.0
    lowest_hu: float = 0.0
    """HU = step x value + lowest."""

    def to(self, device: torch.device | str) -> "Scans":
        parts = ("voxels", "start", "shape", "spacing_mm")
        return replace(self, **{name: getattr(self, name).to(device) for name in parts})


def scans_of(
    images: list[npt.NDArray[np.int16] | npt.NDArray[np.uint8]],
    spacing_mm: npt.ArrayLike,
    *,
    step_hu: float = 1.0,
    lowest_hu: float = 0.0,
) -> Scans:
    """Images [slice, row, column] with patient's axes as one buffer."""
    sizes = [prod(image.shape) for image in images]
    return Scans(
        torch.from_numpy(np.concatenate([np.ascontiguousarray(image).ravel() for image in images])),
        torch.tensor(np.cumsum([0, *sizes[:-1]]), dtype=torch.int64),
        torch.tensor([image.shape for image in images], dtype=torch.int64),
        torch.tensor(np.reshape(spacing_mm, (-1, 3)), dtype=torch.float32),
        step_hu,
        lowest_hu,
    )


def cut(
    scans: Scans,
    which: Tensor,
    place: Tensor,
    grid: Tensor | SamplingGrid,
    *,
    turn: Tensor | None = None,
    low: Tensor | None = None,
    high: Tensor | None = None,
) -> Tensor:
    """Patches (n x the shape of the grid) in Hounsfield units.

    ``place`` are voxel indices (z, y, x; 0 is the middle of the first voxel), ``turn`` linear maps
    of the offsets, ``low`` and ``high`` the first and last voxel that may be seen; None: all.
    """
    if isinstance(grid, SamplingGrid) and grid.grids and turn is None and not scans.voxels.is_cuda:
        return _cut_boxes(scans, which, place, grid, low, high)
    offset = torch.from_numpy(grid.offset_mm) if isinstance(grid, SamplingGrid) else grid
    offset = offset.to(scans.voxels.device)
    flat = offset.reshape(-1, 3)
    interpolate = _cut
    if offset.is_cuda:
        # one kernel for all: it is compiled once, and again wherever an argument is absent
        interpolate = _fused()
        turn = torch.eye(3, device=offset.device).expand(len(which), 3, 3) if turn is None else turn
        low = torch.zeros_like(scans.shape[which]) if low is None else low
        high = scans.shape[which] - 1 if high is None else high
    step = max(1, MOST_POINTS // len(flat))
    parts = []
    for at in range(0, len(which), step):
        some = slice(at, at + step)
        bounds = (_of(low, some), _of(high, some))
        parts.append(interpolate(scans, which[some], place[some], flat, _of(turn, some), *bounds))
    return torch.cat(parts or [flat.new_empty(0, len(flat))]).reshape(-1, *offset.shape[:-1])


def _cut_boxes(
    scans: Scans,
    which: Tensor,
    place: Tensor,
    sampling: SamplingGrid,
    low: Tensor | None,
    high: Tensor | None,
) -> Tensor:
    """Boxes along the axes: the voxels in each once, then one axis after the other.

    The same numbers as by eight voxels for every point, in a small part of the time of a CPU.
    """
    shape = scans.shape[which]
    first = torch.zeros_like(shape) if low is None else low
    last = shape - 1 if high is None else high
    parts = []
    for grid in sampling.grids:
        patches = []
        for begin in range(0, len(which), BOXES_AT_ONCE):
            some = slice(begin, begin + BOXES_AT_ONCE)
            axes = [
                _along(
                    place[some, axis],
                    torch.from_numpy(offsets),
                    scans.spacing_mm[which[some], axis],
                    first[some, axis],
                    last[some, axis],
                )
                for axis, offsets in enumerate(grid)
            ]
            corner = torch.stack([at for at, _ in axes], dim=1)
            in_z, in_y, in_x = (share for _, share in axes)
            values = _boxes(scans, which[some], corner, [share.shape[2] for _, share in axes])
            values = values @ in_x[:, None].mT
            values = in_y[:, None] @ values
            patches.append((in_z @ values.flatten(2)).reshape(-1, *map(len, grid)))
        parts.append(torch.cat(patches or [torch.empty(0, *map(len, grid))]))
    whole = torch.stack(parts, dim=1) if sampling.offset_mm.ndim > 4 else parts[0]
    return whole * scans.step_hu + scans.lowest_hu


def _boxes(scans: Scans, which: Tensor, corner: Tensor, size: list[int]) -> Tensor:
    """The voxels of boxes of one size, n x size; 0 where a scan has none."""
    boxes = torch.zeros(len(which), *size)
    for box, scan, (z, y, x) in zip(boxes, which.tolist(), corner.tolist(), strict=True):
        start, shape = int(scans.start[scan]), scans.shape[scan].tolist()
        image = scans.voxels[start : start + prod(shape)].view(shape)
        part = image[z : z + size[0], y : y + size[1], x : x + size[2]]
        slices, rows, columns = part.shape
        box[:slices, :rows, :columns] = part
    return boxes


def _along(
    place: Tensor, offsets: Tensor, spacing_mm: Tensor, first: Tensor, last: Tensor
) -> tuple[Tensor, Tensor]:
    """Along one axis: the first voxel that is wanted, and how much of each is in a point.

    Rows of shares sum to one: beyond a face the image is mirrored.
    """
    at = place[:, None] + offsets[None] / spacing_mm[:, None]
    begin = at.amin(dim=1).floor()
    count = int((at.amax(dim=1) - begin).max()) + 2
    wanted = begin[:, None] + torch.arange(count, dtype=at.dtype)
    share = (1 - (at[:, :, None] - wanted[:, None, :]).abs()).clamp(min=0)
    index = _mirrored(wanted, first[:, None], last[:, None]).round().to(torch.int64)
    corner = index.amin(dim=1)
    index = (index - corner[:, None])[:, None].expand(share.shape)
    return corner, torch.zeros_like(share).scatter_add_(2, index, share)


@cache
def _fused() -> Callable[..., Tensor]:
    """``_cut`` as one kernel; otherwise a GPU waits for memory."""
    compiled: Callable[..., Tensor] = torch.compile(_cut, dynamic=True)
    return compiled


def _of(values: Tensor | None, some: slice) -> Tensor | None:
    return None if values is None else values[some]


def _cut(
    scans: Scans,
    which: Tensor,
    place: Tensor,
    flat: Tensor,
    turn: Tensor | None,
    low: Tensor | None,
    high: Tensor | None,
) -> Tensor:
    shape = scans.shape[which]
    first = torch.zeros_like(shape) if low is None else low
    last = shape - 1 if high is None else high
    corners, shares = [], []
    for axis in range(3):
        along = flat[:, axis][None] if turn is None else turn[:, axis] @ flat.T
        at = place[:, axis, None] + along / scans.spacing_mm[which][:, axis, None]
        at = _mirrored(at, first[:, axis, None], last[:, axis, None])
        whole = at.floor()
        share = at - whole
        index = whole.to(torch.int64)
        following = torch.minimum(index + 1, last[:, axis, None])
        corners.append((index, following))
        shares.append((1 - share, share))
    rows, columns = shape[:, 1, None], shape[:, 2, None]
    start = scans.start[which][:, None]
    values = torch.zeros((), device=scans.voxels.device)
    for z, y, x in product(range(2), repeat=3):
        index = start + (corners[0][z] * rows + corners[1][y]) * columns + corners[2][x]
        share = shares[0][z] * shares[1][y] * shares[2][x]
        values = values + scans.voxels[index].to(torch.float32) * share
    return values * scans.step_hu + scans.lowest_hu


def _mirrored(at: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Places beyond the first or last voxel, mirrored there."""
    length = (last - first).to(at.dtype)
    period = (2 * length).clamp(min=1)
    beyond = torch.remainder(at - first, period)
    return first + torch.minimum(beyond, period - beyond).minimum(length)


NEAREST_FACE_MM, FARTHEST_FACE_MM = 6.0, 40.0
"""Scans in which a network learns may be parts cut around nodules: a face near a candidate would
tell that it is none. So faces are moved near to any candidate, at random."""
FACE_SHARE = 0.3


def turns(augment: Augment, count: int, random: torch.Generator) -> Tensor:
    """For each patch, a linear map of its offsets (z, y, x)."""
    device = random.device

    def even(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=random, device=device)

    if augment.is_turned_freely:
        turn = _rotations(torch.randn(count, 4, generator=random, device=device))
    else:
        angle = (even(count) * 2 - 1) * augment.turn_degrees * pi / 180
        if augment.is_quarter_turned:
            angle = angle + (even(count) * 4).floor() * pi / 2
        turn = torch.eye(3, device=device).repeat(count, 1, 1)
        turn[:, 1, 1] = turn[:, 2, 2] = angle.cos()
        turn[:, 1, 2], turn[:, 2, 1] = -angle.sin(), angle.sin()
    if augment.is_flipped:
        turn = turn * (1 - 2 * (even(count, 3) < 0.5).float())[:, None, :]
    low, high = augment.zoom
    return turn * (low + (high - low) * even(count))[:, None, None]


def shifts_mm(augment: Augment, count: int, random: torch.Generator) -> Tensor:
    drawn = torch.rand(count, 3, generator=random, device=random.device) * 2 - 1
    return drawn * augment.shift_mm


def faces(
    place: Tensor, shape: Tensor, spacing_mm: Tensor, random: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The first and last voxel that may be seen around each place, as if the scan ended there."""
    device = random.device
    drawn = torch.rand(2, *place.shape, generator=random, device=device)
    is_moved = torch.rand(2, *place.shape, generator=random, device=device) < FACE_SHARE
    reach = (NEAREST_FACE_MM + (FARTHEST_FACE_MM - NEAREST_FACE_MM) * drawn) / spacing_mm
    low = torch.where(is_moved[0], (place - reach[0]).floor(), torch.zeros_like(place))
    high = torch.where(is_moved[1], (place + reach[1]).ceil(), (shape - 1).to(place.dtype))
    last = (shape - 1).to(place.dtype)
    return low.clamp(min=0).to(torch.int64), torch.minimum(high, last).to(torch.int64)


def _rotations(quaternion: Tensor) -> Tensor:
    """Rotations of space, all equally likely where the four numbers are normal."""
    w, x, y, z = (quaternion / quaternion.norm(dim=1, keepdim=True)).unbind(dim=1)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)
