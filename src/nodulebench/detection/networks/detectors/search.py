"""A trained network + a scan -> its detections, slab by slab from the feet to the head."""

from dataclasses import dataclass
from math import ceil

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.detectors.base import ROWS, DetectionNetwork
from nodulebench.detection.networks.inference import full_precision, in_channels_last
from nodulebench.detection.networks.network import cube, scaled
from nodulebench.detection.networks.patches import Scans, cut

MULTIPLE = 32
"""Rows and columns are multiples of this, so that a network can halve them five times."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The detections of a network in a scan, best first."""

    place: Tensor
    """n x 3: voxel index z, y, x."""
    score: Tensor
    diameter_mm: Tensor

    def __len__(self) -> int:
        return len(self.score)


def search(
    module: nn.Module,
    network: DetectionNetwork,
    scans: Scans,
    which: int,
    low: Tensor,
    high: Tensor,
) -> SearchResult:
    """Look through a part of a scan.

    Args:
        module: a trained network.
        network: which one it is.
        scans: images.
        which: of them.
        low: the first voxel z, y, x of the part; voxels before it are not seen.
        high: the last one.

    Returns:
        The detections, on the device of the scans.
    """
    device, step = scans.voxels.device, network.step_mm
    spacing_mm = scans.spacing_mm[which]
    extent = ((high - low) * spacing_mm / step).tolist()
    rows, columns = (MULTIPLE * ceil((length + 1) / MULTIPLE) for length in extent[1:])
    grid = cube((network.slab, rows, columns), (step, step, step))
    points = grid if device.type == "cpu" else torch.from_numpy(grid.offset_mm).to(device)
    middle_mm = (low + high) * spacing_mm / 2
    half_mm = torch.tensor([0.0, (rows - 1) / 2, (columns - 1) / 2], device=device) * step
    first_mm = middle_mm - half_mm
    first_mm[0] = low[0] * spacing_mm[0]
    core = network.slab - 2 * network.margin
    module = in_channels_last(module, device).eval()
    scan = torch.tensor([which], device=device)
    parts = [torch.zeros(0, ROWS, device=device)]
    with full_precision():
        for begin in range(0, int(extent[0]) + 1, core):
            slices = begin - network.margin + (network.slab - 1) / 2
            place = middle_mm.clone()
            place[0] = first_mm[0] + slices * step
            at = (place / spacing_mm)[None]
            seen = scaled(cut(scans, scan, at, points, low=low[None], high=high[None]))
            detected = network.read(module(seen))
            is_own = (detected[:, 0] >= network.margin - 0.5) & (
                detected[:, 0] < core + network.margin - 0.5
            )
            detected[:, 0] += begin - network.margin
            parts.append(detected[is_own])
        whole = network.gather(torch.cat(parts), step)
    place = (first_mm + whole[:, :3] * step) / spacing_mm
    inside = ((place >= low - 0.5) & (place <= high + 0.5)).all(dim=1)
    return SearchResult(place[inside], whole[inside, 3], whole[inside, 4])
