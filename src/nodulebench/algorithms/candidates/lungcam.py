"""LungCAM: virtual ants explore what is dense in the lungs; their pheromone shows compact things.

After Cerello et al., Pattern Recognition 43:1476-1490, 2010, and Torres et al., Medical Physics
42:1477-1489, 2015. All ants of all colonies move at once, so that a scan takes seconds.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.algorithms.candidate import Candidates
from nodulebench.algorithms.chest import Chest
from nodulebench.algorithms.filters.compactness import ball_diameter, compactness
from nodulebench.algorithms.filters.regions import NEIGHBOURS, find_regions
from nodulebench.algorithms.filters.scale_space import STEP_MM, smoothed
from nodulebench.model.arrays import BoolArray, Float32Array, IntArray

SOFT_TISSUE_HU = 50.0


@dataclass(frozen=True)
class Settings:
    """Parameters of the colonies and of the reading of their map."""

    threshold_hu: float = -750.0
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
    """Open: energy a step costs where the ground gives nothing; average ground gives it back."""
    visits: int = 6
    """Open: a voxel visited this often is removed."""
    colony_every: int = 3
    """Open: distance in voxels between the places where colonies start."""
    blur_mm: float = 1.0
    """Open: smoothing of the map, so that it does not depend on single ants."""
    levels: tuple[float, ...] = (0.2, 0.4, 0.7, 1.1, 1.6, 2.2, 2.9, 3.7)
    """Open: rising thresholds of the map; a compact thing is cut off its vessel at one of them."""
    diameters_mm: tuple[float, float] = (2.5, 35.0)
    """Open: of the ball with the same volume."""
    compactness: float = 0.2
    """Open: least share of the ball around it that a thing fills."""
    seed: int = 0
    """Of the random numbers: the same scan and seed give the same map."""


@dataclass(frozen=True, eq=False)
class Explored:
    """What the ants left behind."""

    pheromone: Float32Array
    visits: npt.NDArray[np.int32]
    steps: int
    """Moves of the longest-lived colony."""
    ants: int
    """Ants that were born."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    """Compact things on the ants' map, scored by compactness and mean pheromone."""
    cubes = chest.resampled(STEP_MM)
    hu = cubes.hu.astype(np.float32, copy=False)
    span = np.float32(SOFT_TISSUE_HU - settings.threshold_hu)
    image = np.clip((hu - np.float32(settings.threshold_hu)) / span, 0.0, 1.0)
    explored = explore(image, cubes.lungs.mask & (image > 0), settings)
    found = compact_things(smoothed(explored.pheromone, settings.blur_mm / STEP_MM), settings)
    return Candidates(cubes.to_world(found.center_mm), found.score, found.diameter_mm * STEP_MM)


def compact_things(pheromone: Float32Array, settings: Settings = DEFAULT) -> Candidates:
    """Threshold the map again and again and take out what is compact; places are voxels."""
    left = pheromone.copy()
    found = []
    voxels = np.pi / 6.0 * (np.asarray(settings.diameters_mm) / STEP_MM) ** 3
    for level in settings.levels:
        regions = find_regions(left >= level)
        regions = regions.kept((regions.size >= voxels[0]) & (regions.size <= voxels[1]))
        share = compactness(regions)
        is_compact = share >= settings.compactness
        things = regions.kept(is_compact)
        score = share[is_compact] * things.mean(things.of(left))
        found.append(Candidates(things.center, score, ball_diameter(things.size)))
        left[tuple(things.place.T)] = 0.0
    return Candidates.joined(*found)


def attraction(pheromone: Float32Array, settings: Settings) -> Float32Array:
    """W of Chialvo and Millonas: how strongly a voxel draws ants; 1 without pheromone."""
    seen = 1.0 + pheromone / (1.0 + settings.saturation * pheromone)
    return np.power(seen, settings.sensitivity).astype(np.float32)


def chosen(drawing: Float32Array, draw: Float32Array) -> IntArray:
    """Which neighbour each ant takes: the n-th with probability W_n / sum of W.

    Args:
        drawing: ants x neighbours: W of each.
        draw: a random number from 0 to below 1 for each ant.
    """
    reached = np.cumsum(drawing, axis=1)
    taken = (reached <= (draw * reached[:, -1])[:, None]).sum(axis=1)
    last = drawing.shape[1] - 1
    neighbour: IntArray = np.minimum(taken, last).astype(np.int64)
    return neighbour


def explore(image: Float32Array, room: BoolArray, settings: Settings = DEFAULT) -> Explored:
    """Let colonies explore a room until every ant is dead and no voxel is unvisited.

    Args:
        image: densities from 0 (the threshold) to 1 (soft tissue); what ants leave and live on.
        room: voxels that ants may enter.
        settings: of the colonies.
    """
    colonies = _Colonies(np.pad(image, 1), np.pad(room, 1), settings)
    steps = 0
    while colonies.settle():
        while colonies.move():
            steps += 1
    inner = (slice(1, -1),) * 3
    return Explored(
        colonies.pheromone.reshape(colonies.shape)[inner],
        colonies.visits.reshape(colonies.shape)[inner],
        steps,
        colonies.born,
    )


class _Colonies:
    """The ground with its pheromone, and the ants on it."""

    def __init__(self, image: Float32Array, room: BoolArray, settings: Settings) -> None:
        self.shape = image.shape
        self.settings = settings
        self.random = np.random.default_rng(settings.seed)
        self.ground = image.ravel()
        self.is_open = room.ravel().copy()
        self.pheromone = np.zeros(image.size, np.float32)
        self.visits = np.zeros(image.size, np.int32)
        self.drawing = self.is_open.astype(np.float32)
        self.mean = max(float(self.ground[self.is_open].sum()) / max(1, self.is_open.sum()), 1e-6)
        self.at = np.empty(0, np.int64)
        self.energy = np.empty(0, np.float32)
        self.born = 0
        strides = np.array([image.shape[1] * image.shape[2], image.shape[2], 1])
        self.offsets: IntArray = NEIGHBOURS @ strides

    def settle(self) -> bool:
        """Start colonies on voxels nobody has visited, spread over the room; whether there are."""
        free = np.flatnonzero(self.is_open & (self.visits == 0))
        place = np.stack(np.unravel_index(free, self.shape)) // self.settings.colony_every
        cell = np.ravel_multi_index(tuple(place), self.shape)
        _, first = np.unique(cell, return_index=True)
        self._add(free[first])
        self._leave_pheromone(free[first])
        return len(first) > 0

    def move(self) -> bool:
        """One step of every ant; whether any is left alive."""
        around = self.at[:, None] + self.offsets
        drawing = self.drawing[around]
        choice = chosen(drawing, self.random.random(len(self.at), dtype=np.float32))
        can_move = drawing.any(axis=1)
        target = around[np.arange(len(self.at)), choice][can_move]
        # one ant enters a voxel at a time; the others wait, which costs them
        _, first = np.unique(target, return_index=True)
        moves = np.zeros(len(target), dtype=np.bool_)
        moves[first] = True
        self.at = np.where(moves, target, self.at[can_move])
        self.energy = self.energy[can_move]
        self._leave_pheromone(self.at[moves])
        self._live(moves)
        return len(self.at) > 0

    def _leave_pheromone(self, at: IntArray) -> None:
        """Every ant that came to a voxel leaves a trace; voxels visited too often are closed."""
        self.pheromone[at] += np.float32(self.settings.trace) + self.ground[at]
        self.visits[at] += 1
        self.is_open[at] = self.visits[at] < self.settings.visits
        drawn = attraction(self.pheromone[at], self.settings)
        self.drawing[at] = np.where(self.is_open[at], drawn, 0.0)

    def _live(self, moved: BoolArray) -> None:
        """Dense ground feeds, poor ground and waiting starve; the well fed have a child."""
        gain = np.where(moved, self.ground[self.at] / np.float32(self.mean), np.float32(0.0))
        self.energy = (self.energy - self.settings.cost * (1.0 - gain)).astype(np.float32)
        alive = self.energy >= self.settings.energy_of_death
        self.at, self.energy = self.at[alive], self.energy[alive]
        bears = self.energy > self.settings.energy_of_birth
        self.energy[bears] = self.settings.energy
        self._add(self.at[bears])

    def _add(self, places: IntArray) -> None:
        self.at = np.concatenate([self.at, places])
        fresh = np.full(len(places), self.settings.energy, np.float32)
        self.energy = np.concatenate([self.energy, fresh])
        self.born += len(places)
