"""One algorithm and one case -> its marks on variants of the case, each made once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nodulebench.core.arrays import BoolArray
from nodulebench.core.notices import Notice
from nodulebench.imaging.lungs.segmentation import Lungs, segment_lungs
from nodulebench.imaging.volume import Volume, to_patient_axes
from nodulebench.runner.any_algorithm import Algorithm
from nodulebench.runner.robustness.insertion import InsertedNodule, insert_nodules, place_nodules
from nodulebench.runner.robustness.relations import Marks, is_found
from nodulebench.runner.robustness.variants import Variant


@dataclass(frozen=True, slots=True)
class RobustnessChoice:
    """What is inserted, and how strict the relations are."""

    tolerance_mm: float = 3.0
    """How far apart the same mark may be."""
    noise_hu: float = 10.0
    diameters_mm: tuple[float, ...] = (4, 4, 6, 6, 8, 8, 12, 12)
    nodule_hu: float = 20.0
    large_mm: float = 10.0
    """Inserted nodules from this size on have to be found."""
    exact_share: float = 0.99
    """Least agreement where not a single voxel's value changes."""
    near_share: float = 0.9
    """Least agreement where the surroundings change."""
    highest_share: float = 0.8
    """Least share of the highest-scored marks that stay under noise and on another grid."""
    chance: int = 1
    """How many more nodules may be found at a lower dose or in thicker slices."""
    most_times: float = 2.0
    """How many times more or fewer marks there may be in denser or noisier lungs."""
    few: int = 10
    """Numbers of marks that differ by no more than this are alike."""
    seed: int = 0


DEFAULT_CHOICE = RobustnessChoice()
AS_IT_IS, WITH_NODULES = Notice("variant_none"), Notice("variant_nodules")


class Bench:
    """One algorithm and one case; runs are made when a relation asks for them, and once."""

    def __init__(self, algorithm: Algorithm, volume: Volume, choice: RobustnessChoice) -> None:
        """Look at the lungs of the case."""
        self.choice = choice
        self.volume = to_patient_axes(volume, "case")
        self.lungs: Lungs = segment_lungs(self.volume, "case")
        self.marks: dict[Notice, Marks] = {}
        self._algorithm = algorithm

    @property
    def before(self) -> Marks:
        """Marks of the case as it is."""
        return self.run(AS_IT_IS, self.volume)

    @cached_property
    def nodules(self) -> tuple[InsertedNodule, ...]:
        """What is inserted: where the lungs are free of marks."""
        marks, sizes = self.before.center_mm, self.choice.diameters_mm
        return place_nodules(self.volume, self.lungs.mask, sizes, marks, self.random(0))

    @cached_property
    def with_nodules(self) -> Volume:
        """The case with the nodules drawn into it."""
        return insert_nodules(self.volume, self.nodules, self.choice.nodule_hu)

    @property
    def found(self) -> BoolArray:
        """Which inserted nodules are found at full dose."""
        return self.found_in(WITH_NODULES, self.with_nodules)

    def run(self, name: Notice, volume: Volume) -> Marks:
        """Marks of a volume, made once for each name."""
        if name not in self.marks:
            self.marks[name] = self._algorithm(volume)
        return self.marks[name]

    def moved(self, variant: Variant) -> tuple[Marks, Marks]:
        """Where the marks of the case should be in a variant, and where they are."""
        before = self.before
        expected = Marks(variant.move(before.center_mm.copy()), before.score)
        return expected, self.run(variant.name, variant.volume)

    def found_in(self, name: Notice, volume: Volume) -> BoolArray:
        """Which inserted nodules are found in a variant of the case with nodules."""
        return is_found(self.nodules, self.run(name, volume), self.choice.tolerance_mm)

    def random(self, purpose: int) -> np.random.Generator:
        """Chance that does not depend on which tests are run."""
        return np.random.default_rng([self.choice.seed, purpose])
