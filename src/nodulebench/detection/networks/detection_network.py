"""Detection networks find nodules by themselves: trained on tiles, they search a scan in slabs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.examples import Examples
from nodulebench.detection.networks.inference import full_precision, in_channels_last
from nodulebench.detection.networks.network import SamplingGrid, cube, scaled
from nodulebench.detection.networks.patches import Scans, cut, faces, turns
from nodulebench.detection.networks.recipe import Recipe

ROWS = 5
"""Columns of a detection: z, y, x in steps, score, diameter in mm."""


@dataclass(frozen=True, eq=False)
class DetectionNetwork:
    """A network that finds nodules: trained on tiles, it searches a scan in slabs."""

    name: str
    tile: SamplingGrid
    """A tile that it learns from."""
    step_mm: float
    """Of the voxels that it sees, along all axes."""
    stride: int
    """Steps from one of its outputs to the next."""
    build: Callable[[], nn.Module]
    """n x slices x rows x columns, scaled to 0..1 -> n x outputs x slices x rows x columns."""
    loss: "Callable[[Tensor, Tiles], Tensor]"
    slab: int
    """Slices that it sees at once in a scan."""
    margin: int
    """Slices at either face of a slab whose outputs are left to the next."""
    read: Callable[[Tensor], Tensor]
    """Outputs of a slab -> rows of detections, from the slab's first voxel."""
    gather: Callable[[Tensor, float], Tensor]
    """Detections of all slabs and the step in mm -> merged detections, best first."""
    recipe: Recipe
    shift_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """How far a tile is from a candidate at most, along z, y and x."""
    printed: Recipe | None = None
    """The schedule that its paper prints, where it does."""

    @cached_property
    def points_mm(self) -> Tensor:
        """The positions of a tile's answers, n x 3 from its middle."""
        points = torch.from_numpy(self.tile.offset_mm)
        for axis, count in enumerate(self.tile.shape):
            if count > 1 and self.stride > 1:
                together = points.unfold(axis, self.stride, self.stride)
                points = together.mean(dim=-1)
        return points.reshape(-1, 3)


NEAREST = 8
"""Findings of a tile that are looked at, those nearest to its middle."""


@dataclass(frozen=True, eq=False)
class Tiles:
    """A batch of n tiles with p answers each, and the k nearest findings of every tile."""

    seen: Tensor
    """n x slices x rows x columns, scaled to 0..1."""
    is_inside: Tensor
    """n x p: whether the scan is there; beyond its faces it is mirrored."""
    apart_mm: Tensor
    """n x p x k: how far from each finding."""
    diameter_mm: Tensor
    """n x 1 x k; 0: there is no such finding."""
    is_nodule: Tensor
    """n x 1 x k: whether it is a nodule; others are ignored."""

    def is_ignored(self, slack_mm: float = 0.0) -> Tensor:
        """Whether each of n x p is on an ignored finding or at most a slack from it."""
        on_finding = self.apart_mm <= self.diameter_mm / 2 + slack_mm
        return (on_finding & ~self.is_nodule & (self.diameter_mm > 0)).any(dim=2)


@dataclass(frozen=True, eq=False)
class TileSampling:
    """The points that a network sees of a tile and those of its answers, on the training device."""

    offset_mm: Tensor
    """slices x rows x columns x 3, in mm from the tile's middle."""
    points: Tensor
    """p x 3."""
    shift_mm: Tensor
    """How far a tile is from a candidate at most."""


def tile_sampling(network: DetectionNetwork, device: torch.device) -> TileSampling:
    return TileSampling(
        torch.from_numpy(network.tile.offset_mm).to(device),
        network.points_mm.to(device),
        torch.tensor(network.shift_mm, device=device),
    )


def tiles_around(
    examples: Examples, chosen: Tensor, sampling: TileSampling, how: Recipe, random: torch.Generator
) -> Tiles:
    """Tiles near some candidates, turned and moved at random; the scan may end in them."""
    device, count = random.device, len(chosen)
    which = examples.which[chosen]
    spacing_mm = examples.scans.spacing_mm[which]
    turn = turns(how.augment, count, random)
    drawn = torch.rand(count, 3, generator=random, device=device) * 2 - 1
    place = examples.place[chosen] + drawn * sampling.shift_mm / spacing_mm
    low, high = faces(place, examples.scans.shape[which], spacing_mm, random)
    seen = scaled(
        cut(examples.scans, which, place, sampling.offset_mm, turn=turn, low=low, high=high)
    )
    at = place[:, None] + _turned(turn, sampling.points[None]) / spacing_mm[:, None]
    is_inside = ((at >= low[:, None] - 0.5) & (at <= high[:, None] + 0.5)).all(dim=2)
    offset, diameter_mm, is_nodule = _nearest(examples.findings, which, place, spacing_mm)
    offset = _turned(torch.linalg.inv(turn), offset)
    zoom = torch.linalg.det(turn).abs() ** (1 / 3)
    apart_mm = torch.stack(
        [
            (sampling.points[None] - offset[:, index, None]).norm(dim=2)
            for index in range(offset.shape[1])
        ],
        dim=2,
    )
    sizes = (diameter_mm / zoom[:, None])[:, None]
    return Tiles(seen, is_inside, apart_mm, sizes, is_nodule[:, None])


def _turned(turn: Tensor, offset: Tensor) -> Tensor:
    """Maps n x 3 x 3 applied to n x p x 3, in full precision."""
    return sum(
        (turn[:, None, :, axis] * offset[:, :, axis, None] for axis in range(3)),
        start=torch.zeros((), device=turn.device),
    )


def _nearest(
    findings: Tensor, which: Tensor, place: Tensor, spacing_mm: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """For each place the nearest findings of its scan: n x k x 3 in mm, diameter, is a nodule."""
    none = findings.new_tensor([[-1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])  # of no scan
    known = torch.cat([findings, none.expand(NEAREST, 6)])
    offset = (known[None, :, 1:4] - place[:, None]) * spacing_mm[:, None]
    is_own = known[None, :, 0] == which[:, None]
    apart = torch.where(is_own, offset.norm(dim=2), torch.inf)
    nearest = apart.topk(NEAREST, dim=1, largest=False).indices
    own = is_own.gather(1, nearest)
    return (
        offset.gather(1, nearest[:, :, None].expand(-1, -1, 3)),
        torch.where(own, known[:, 4][nearest], 0.0),
        own & (known[:, 5][nearest] > 0),
    )


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
    """Look through a part (first to last voxel z, y, x) of one scan with a trained network."""
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
