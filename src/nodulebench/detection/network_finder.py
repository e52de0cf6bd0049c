"""Weights of a finding network + a scan with its lungs -> candidates near the lungs."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.notices import Notice
from nodulebench.detection.block_grid import block_voxels
from nodulebench.detection.candidate import Candidates
from nodulebench.detection.detectors import near_lungs
from nodulebench.detection.held_out import Fold
from nodulebench.detection.network_scores import saw_scan, trained_network
from nodulebench.detection.scan import Chest
from nodulebench.imaging.volume import Volume
from nodulebench.io.lidc.blocks import HU_PER_STEP, LOWEST_HU

SLACK_MM = 10.0
"""How far from the lungs a candidate may lie."""


def found_by(
    name: str,
    chest: Chest,
    volume: Volume,
    weights: tuple[Path, ...],
    series: Sequence[str],
    fold: Fold = "auto",
) -> tuple[Candidates, tuple[Notice, ...]]:
    """What a network finds in a scan, best first; and what is to be known, if it learnt from it.

    Args:
        name: of the network.
        chest: the scan with its lungs.
        volume: the scan.
        weights: files and folders.
        series: what the scan may be called in the data of the network.
        fold: that the weights never saw, where it is not told by the series.

    Raises:
        InputError: if there are no such weights.
    """
    from nodulebench.detection.networks import FINDERS
    from nodulebench.detection.networks.detectors.search import search
    from nodulebench.detection.networks.device import best_device
    from nodulebench.detection.networks.patches import scans_of

    network = trained_network(name, weights)
    choice = network.choose(series, fold)
    corners = _corners(chest)
    seen = block_voxels(volume, series[0], corners)
    scans = scans_of([seen.voxels], [seen.spacing_mm], step_hu=HU_PER_STEP, lowest_hu=LOWEST_HU).to(
        best_device()
    )
    index, last = seen.to_index(corners), np.array(seen.voxels.shape) - 1
    low = np.clip(np.floor(index.min(axis=0)), 0, last).astype(np.int64)
    high = np.clip(np.ceil(index.max(axis=0)), low, last).astype(np.int64)
    box = [scans.shape.new_tensor(one.tolist()) for one in (low, high)]
    found = search(network.module(choice), FINDERS[name], scans, 0, box[0], box[1])
    place = found.place.cpu().numpy().astype(np.float64)
    columns = (found.score.cpu().numpy(), found.diameter_mm.cpu().numpy())
    candidates = Candidates(
        seen.geometry.to_world(place[:, ::-1]), *(one.astype(np.float64) for one in columns)
    )
    return near_lungs(candidates, chest), () if choice.is_unseen else saw_scan(series[-1])


def _corners(chest: Chest) -> FloatArray:
    """The corners of the lungs' box with the slack around it, in millimetres."""
    ends = []
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        inside = np.flatnonzero(chest.lungs.mask.any(axis=others))
        slack = SLACK_MM / chest.spacing_mm[axis]
        ends.append((inside[0] - slack, inside[-1] + slack))
    return chest.to_world(np.array(list(product(*ends))))
