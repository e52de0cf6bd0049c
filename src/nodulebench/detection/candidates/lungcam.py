"""LungCAM: virtual ants explore dense parts of the lungs; pheromone marks compact regions.

After Cerello et al., Pattern Recognition 43:1476-1490, 2010, and Torres et al., Medical Physics
42:1477-1489, 2015. All ants of all colonies move at once, so that a scan takes seconds. An ant's
lots follow from the place where its colony began, measured from the middle of the lungs, and every
rule uses neighbours only: other parts of the image change nothing.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import BoolArray, Float32Array, IntArray
from nodulebench.detection.regions import NEIGHBOURS, ball_diameter, compactness, find_regions
from nodulebench.detection.scale_space import STEP_MM, smoothed
from nodulebench.detection.scan import Candidates, Chest

SOFT_TISSUE_HU = 50.0

Numbers: TypeAlias = npt.NDArray[np.int32]
"""Voxels of a region, or ants, by their numbers."""
Lots: TypeAlias = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Settings:
    """Parameters of the colonies and of the reading of their map."""

    threshold_hu: float = -700.0
    """Open: ants live on lung voxels at least this dense; chosen to take in ground glass."""
    sensitivity: float = 3.5
    """beta of W = (1 + s / (1 + delta s)) ** beta (Chialvo and Millonas 1995)."""
    saturation: float = 0.2
    """delta of W (Chialvo and Millonas 1995)."""
    trace: float = 0.01
    """Open: pheromone left on any voxel; more is left in proportion to density."""
    energy: float = 1.2
    """Open: of a new ant."""
    energy_of_birth: float = 1.3
    """Open: an ant with more has a child."""
    energy_of_death: float = 1.0
    """Open: an ant with less dies."""
    cost: float = 0.2
    """Open: energy a step costs where the ground gives nothing."""
    feeding: float = 0.25
    """Open: ground (0 to 1) that gives the cost back, the mean of a few scans."""
    visits: int = 4
    """Open: a voxel visited this often is removed."""
    colony_every: int = 3
    """Open: distance in voxels between the places where colonies start."""
    blur_mm: float = 1.0
    """Open: smoothing of the map, so that it does not depend on single ants."""
    levels: tuple[float, ...] = (0.2, 0.4, 0.7, 1.1, 1.6, 2.2, 2.9, 3.7)
    """Open: rising thresholds of the map; a compact region is cut off its vessel at one of them."""
    diameters_mm: tuple[float, float] = (2.5, 35.0)
    """Open: of the ball with the same volume."""
    compactness: float = 0.2
    """Open: least share of the ball around it that a region fills."""
    seed: int = 0
    """Of the lots: the same scan and seed give the same map."""


@dataclass(frozen=True, eq=False)
class Explored:
    """The result of all colonies."""

    pheromone: Float32Array
    visits: npt.NDArray[np.int32]
    steps: int
    """Moves of the longest-lived colony."""
    ants: int
    """Ants that were born."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    """Compact regions on the ants' map, scored by compactness and mean pheromone."""
    cubes = chest.resampled(STEP_MM)
    hu = cubes.hu.astype(np.float32, copy=False)
    span = np.float32(SOFT_TISSUE_HU - settings.threshold_hu)
    image = np.clip((hu - np.float32(settings.threshold_hu)) / span, 0.0, 1.0)
    middle = np.rint(cubes.to_index(chest.middle_mm[None])[0] + 0.5).astype(np.int64)
    explored = explore(image, cubes.lungs.mask & (image > 0), settings, middle)
    regions = compact_regions(smoothed(explored.pheromone, settings.blur_mm / STEP_MM), settings)
    return Candidates(
        cubes.to_world(regions.center_mm), regions.score, regions.diameter_mm * STEP_MM
    )


def compact_regions(pheromone: Float32Array, settings: Settings = DEFAULT) -> Candidates:
    """Take compact regions out of the map, threshold by threshold; places are voxels."""
    left = pheromone.copy()
    levels = []
    voxels = np.pi / 6.0 * (np.asarray(settings.diameters_mm) / STEP_MM) ** 3
    for level in settings.levels:
        regions = find_regions(left >= level)
        regions = regions.chosen((regions.size >= voxels[0]) & (regions.size <= voxels[1]))
        share = compactness(regions)
        is_compact = share >= settings.compactness
        compact = regions.chosen(is_compact)
        score = share[is_compact] * compact.mean(compact.of(left))
        levels.append(Candidates(compact.center, score, ball_diameter(compact.size)))
        left[tuple(compact.place.T)] = 0.0
    return Candidates.joined(*levels)


def attraction(pheromone: Float32Array, settings: Settings) -> Float32Array:
    """W of Chialvo and Millonas: how strongly a voxel draws ants; 1 without pheromone."""
    seen = 1.0 + pheromone / (1.0 + settings.saturation * pheromone)
    return np.power(seen, settings.sensitivity).astype(np.float32)


def chosen(drawing: Float32Array, draw: Float32Array) -> IntArray:
    """Which neighbour each ant takes: the n-th with probability W_n / sum of W.

    Rows of ``drawing`` are the W of an ant's neighbours; ``draw`` is from 0 to below 1.
    """
    reached = np.cumsum(drawing, axis=1)
    total = reached[:, -1]
    # a draw that rounding puts at the total would take the last neighbour, although it draws no ant
    drawn = np.minimum(draw * total, np.nextafter(total, np.float32(0.0)))
    taken = (reached <= drawn[:, None]).sum(axis=1)
    last = drawing.shape[1] - 1
    neighbour: IntArray = np.minimum(taken, last).astype(np.int64)
    return neighbour


def explore(
    image: Float32Array,
    region: BoolArray,
    settings: Settings = DEFAULT,
    middle: IntArray = np.zeros(3, np.int64),  # noqa: B008 - never written to
) -> Explored:
    """Let colonies explore a region until every ant is dead and no voxel is unvisited.

    ``image``: densities from 0 (the threshold) to 1 (soft tissue); what ants leave and live on.
    ``middle``: the voxel from which places are counted.
    """
    colonies = _Colonies(image, region, settings, middle)
    steps = 0
    while colonies.settle():
        while colonies.move():
            steps += 1
    pheromone, visits = np.zeros(image.shape, np.float32), np.zeros(image.shape, np.int32)
    pheromone[region], visits[region] = colonies.pheromone, colonies.visits
    return Explored(pheromone, visits, steps, colonies.born)


def mix_bits(number: Lots) -> Lots:
    """Whole numbers shuffled over 32 bits (the finaliser of MurmurHash3)."""
    number = (number ^ (number >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    number = (number ^ (number >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return number ^ (number >> np.uint32(16))


class _Colonies:
    """The voxels of a region in the order of the image, their pheromone, and the ants on them.

    Lists per voxel have one entry more where neighbours are looked up: the wall.
    """

    def __init__(
        self, image: Float32Array, region: BoolArray, settings: Settings, middle: IntArray
    ) -> None:
        self.settings = settings
        self.ground = image[region]
        count = len(self.ground)
        self.around = _neighbours(region)
        self.pheromone = np.zeros(count, np.float32)
        self.visits = np.zeros(count, np.int32)
        self.drawing = np.ones(count + 1, np.float32)
        self.drawing[count] = 0.0
        place = np.argwhere(region) - middle
        cells = place // settings.colony_every
        cells -= cells.min(axis=0, initial=0)
        _, self.cell = np.unique(
            np.ravel_multi_index(tuple(cells.T), tuple(cells.max(axis=0, initial=0) + 1)),
            return_inverse=True,
        )
        self.first_lot = np.full(count, settings.seed, np.uint32)
        for axis in range(3):
            self.first_lot = mix_bits(self.first_lot + place[:, axis].astype(np.uint32))
        self.at = np.empty(0, np.int32)
        self.lot = np.empty(0, np.uint32)
        self.energy = np.empty(0, np.float32)
        self.born = 0
        self._first = np.empty(count, np.int32)

    def settle(self) -> bool:
        """Start colonies on unvisited voxels all over the region; return whether any started."""
        free = np.flatnonzero(self.visits == 0).astype(np.int32)
        start = free[self._comes_first(self.cell[free])]
        self._add(start, self.first_lot[start])
        self._leave_pheromone(start)
        return len(start) > 0

    def move(self) -> bool:
        """Move every ant one step; return whether any is left alive."""
        around = self.around[self.at]
        drawing = self.drawing[around]
        self.lot = mix_bits(self.lot + np.uint32(1))
        choice = chosen(drawing, self.lot.astype(np.float32) * np.float32(2.0**-32))
        can_move = drawing.any(axis=1)
        target = around[np.arange(len(self.at)), choice][can_move]
        # one ant enters a voxel at a time; the others wait, which costs them
        moves = self._comes_first(target)
        self.at = np.where(moves, target, self.at[can_move])
        self.energy, self.lot = self.energy[can_move], self.lot[can_move]
        self._leave_pheromone(self.at[moves])
        self._live(moves)
        return len(self.at) > 0

    def _comes_first(self, number: Numbers | IntArray) -> BoolArray:
        order = np.arange(len(number), dtype=np.int32)
        self._first[number[::-1]] = order[::-1]  # of several the last written stays
        is_first: BoolArray = self._first[number] == order
        return is_first

    def _leave_pheromone(self, at: Numbers) -> None:
        """Every ant that reached a voxel leaves a trace; voxels visited too often are closed."""
        self.pheromone[at] += np.float32(self.settings.trace) + self.ground[at]
        self.visits[at] += 1
        drawn = attraction(self.pheromone[at], self.settings)
        self.drawing[at] = np.where(self.visits[at] < self.settings.visits, drawn, 0.0)

    def _live(self, moved: BoolArray) -> None:
        """Dense ground feeds, poor ground and waiting starve; the well fed have a child."""
        gain = np.where(moved, self.ground[self.at] / np.float32(self.settings.feeding), 0.0)
        self.energy -= np.float32(self.settings.cost) * (1.0 - gain).astype(np.float32)
        alive = self.energy >= self.settings.energy_of_death
        self.at, self.energy, self.lot = self.at[alive], self.energy[alive], self.lot[alive]
        bears = self.energy > self.settings.energy_of_birth
        self.energy[bears] = self.settings.energy
        self._add(self.at[bears], mix_bits(~self.lot[bears]))

    def _add(self, places: Numbers, lots: Lots) -> None:
        self.at = np.concatenate([self.at, places])
        self.lot = np.concatenate([self.lot, lots])
        fresh = np.full(len(places), self.settings.energy, np.float32)
        self.energy = np.concatenate([self.energy, fresh])
        self.born += len(places)


def _neighbours(region: BoolArray) -> Numbers:
    """The numbers of each voxel's 26 neighbours; the number of the wall where the region ends."""
    wide = np.pad(region, 1)
    place = np.flatnonzero(wide)
    number = np.full(wide.size, len(place), np.int32)
    number[place] = np.arange(len(place), dtype=np.int32)
    strides = np.array([wide.shape[1] * wide.shape[2], wide.shape[2], 1])
    around = np.empty((len(place), len(NEIGHBOURS)), np.int32)
    for column, offset in enumerate(NEIGHBOURS @ strides):
        around[:, column] = number[place + offset]
    return around
