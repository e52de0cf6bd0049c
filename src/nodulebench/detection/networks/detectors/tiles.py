"""Examples + random numbers -> tiles around candidates, and where in them findings lie."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nodulebench.detection.networks.augment import faces, turns
from nodulebench.detection.networks.detectors.base import DetectionNetwork
from nodulebench.detection.networks.examples import Examples
from nodulebench.detection.networks.network import scaled
from nodulebench.detection.networks.patches import cut
from nodulebench.detection.networks.recipe import Recipe

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
    """The sampling of a network's tiles on a device."""
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
