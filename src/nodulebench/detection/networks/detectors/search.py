"""A trained finder + a scan -> what it finds, slab by slab from the feet to the head."""

from dataclasses import dataclass
from math import ceil

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.detectors.base import ROWS, DetectionNetwork
from nodulebench.detection.networks.inference import full_precision, laid_out
from nodulebench.detection.networks.network import cube, scaled
from nodulebench.detection.networks.patches import Scans, cut

MULTIPLE = 32
"""Of rows and columns: what a network can halve as often as it likes."""


@dataclass(frozen=True, eq=False)
class FoundPositions:
    """What a finder found in a scan, best first."""

    place: Tensor
    """n x 3: voxel index z, y, x."""
    score: Tensor
    diameter_mm: Tensor

    def __len__(self) -> int:
        return len(self.score)


def search(
    module: nn.Module, finder: DetectionNetwork, scans: Scans, which: int, low: Tensor, high: Tensor
) -> FoundPositions:
    """Look through a part of a scan.

    Args:
        module: a trained network.
        finder: which one it is.
        scans: images.
        which: of them.
        low: the first voxel z, y, x of the part; what lies before is not seen.
        high: the last one.

    Returns:
        What was found, on the device of the scans.
    """
    device, step = scans.voxels.device, finder.step_mm
    spacing_mm = scans.spacing_mm[which]
    extent = ((high - low) * spacing_mm / step).tolist()
    rows, columns = (MULTIPLE * ceil((one + 1) / MULTIPLE) for one in extent[1:])
    look = cube((finder.slab, rows, columns), (step, step, step))
    points = look if device.type == "cpu" else torch.from_numpy(look.offset_mm).to(device)
    middle_mm = (low + high) * spacing_mm / 2
    half_mm = torch.tensor([0.0, (rows - 1) / 2, (columns - 1) / 2], device=device) * step
    first_mm = middle_mm - half_mm
    first_mm[0] = low[0] * spacing_mm[0]
    core = finder.slab - 2 * finder.margin
    module = laid_out(module, device).eval()
    one = torch.tensor([which], device=device)
    parts = [torch.zeros(0, ROWS, device=device)]
    with full_precision():
        for begin in range(0, int(extent[0]) + 1, core):
            slices = begin - finder.margin + (finder.slab - 1) / 2
            place = middle_mm.clone()
            place[0] = first_mm[0] + slices * step
            at = (place / spacing_mm)[None]
            seen = scaled(cut(scans, one, at, points, low=low[None], high=high[None]))
            found = finder.read(module(seen))
            is_own = (found[:, 0] >= finder.margin - 0.5) & (
                found[:, 0] < core + finder.margin - 0.5
            )
            found[:, 0] += begin - finder.margin
            parts.append(found[is_own])
        whole = finder.gather(torch.cat(parts), step)
    place = (first_mm + whole[:, :3] * step) / spacing_mm
    inside = ((place >= low - 0.5) & (place <= high + 0.5)).all(dim=1)
    return FoundPositions(place[inside], whole[inside, 3], whole[inside, 4])
