"""Labelled cohort -> what the reference and the algorithm say of each nodule, as class numbers."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.tables import DENSITIES, DENSITY_OF_TYPE, NODULE_TYPES

SILENT = -1
"""The class number where nothing was said."""

_DENSITY_NUMBER_OF_TYPE = np.array(
    [*(DENSITIES.index(DENSITY_OF_TYPE[name]) for name in NODULE_TYPES), SILENT]
)


@dataclass(frozen=True, slots=True)
class ClassPairs:
    """For each nodule its class in the reference and the class given to its hit."""

    names: tuple[str, ...]
    truth: IntArray
    """SILENT where the reference does not say."""
    said: IntArray
    """SILENT where the nodule was missed or its hit has no class."""

    @property
    def is_paired(self) -> BoolArray:
        """Which nodules have a class on both sides."""
        return np.not_equal(self.truth, SILENT) & np.not_equal(self.said, SILENT)

    @property
    def is_same(self) -> BoolArray:
        """Which nodules have the same class on both sides."""
        return self.is_paired & np.equal(self.truth, self.said)


def type_pairs(cohort: LabelledCohort) -> ClassPairs:
    """The six types of NIFDC."""
    return ClassPairs(
        NODULE_TYPES,
        cohort.truth_class("type", NODULE_TYPES),
        cohort.stated_class("type", NODULE_TYPES),
    )


def density_pairs(cohort: LabelledCohort) -> ClassPairs:
    """The four densities of ITU; where no density is given, the one that the type implies."""
    types = type_pairs(cohort)
    truth = cohort.truth_class("density", DENSITIES)
    said = cohort.stated_class("density", DENSITIES)
    return ClassPairs(
        DENSITIES,
        np.where(truth == SILENT, _DENSITY_NUMBER_OF_TYPE[types.truth], truth),
        np.where(said == SILENT, _DENSITY_NUMBER_OF_TYPE[types.said], said),
    )


def says_density(cohort: LabelledCohort) -> bool:
    """Whether the algorithm states a density (or a type, which implies it) anywhere."""
    marks = cohort.submission.marks
    return any(marks[column].null_count() < marks.height for column in ("density", "type"))


def counts_by_case(cohort: LabelledCohort, pairs: ClassPairs) -> FloatArray:
    """For each case how many nodules have each pair of classes (truth by said, row by row)."""
    size = len(pairs.names)
    table = np.zeros((cohort.case_count, size * size))
    cell = pairs.truth * size + pairs.said
    np.add.at(table, (cohort.nodule_case[pairs.is_paired], cell[pairs.is_paired]), 1)
    return table
