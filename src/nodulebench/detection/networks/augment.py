"""Augment + random numbers -> how each patch of a batch is turned, moved, and where the scan ends.

Everything is drawn from one generator, so that a step's draws depend only on its seed.
"""

from math import pi

import torch
from torch import Tensor

from nodulebench.detection.networks.recipe import Augment

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
    """For each patch, how far it is moved."""
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
