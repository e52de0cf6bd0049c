"""Labelled cohort -> the class of each nodule in the reference and by the algorithm."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.tables import DENSITIES, DENSITY_OF_TYPE, NODULE_TYPES

NO_CLASS = -1
"""The class number of a nodule without a class."""

_DENSITY_NUMBER_OF_TYPE = np.array(
    [*(DENSITIES.index(DENSITY_OF_TYPE[name]) for name in NODULE_TYPES), NO_CLASS]
)


@dataclass(frozen=True, slots=True)
class ClassPairs:
    """For each nodule its class in the reference and the class given to its hit."""

    names: tuple[str, ...]
    truth: IntArray
    """NO_CLASS where the reference does not state a class."""
    stated: IntArray
    """NO_CLASS where the nodule was missed or its hit has no class."""

    @property
    def is_paired(self) -> BoolArray:
        return np.not_equal(self.truth, NO_CLASS) & np.not_equal(self.stated, NO_CLASS)

    @property
    def is_same(self) -> BoolArray:
        return self.is_paired & np.equal(self.truth, self.stated)


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
    stated = cohort.stated_class("density", DENSITIES)
    return ClassPairs(
        DENSITIES,
        np.where(truth == NO_CLASS, _DENSITY_NUMBER_OF_TYPE[types.truth], truth),
        np.where(stated == NO_CLASS, _DENSITY_NUMBER_OF_TYPE[types.stated], stated),
    )


def states_density(cohort: LabelledCohort) -> bool:
    """Whether the algorithm states a density (or a type, which implies it) anywhere."""
    marks = cohort.submission.marks
    return any(marks[column].null_count() < marks.height for column in ("density", "type"))


def counts_by_case(cohort: LabelledCohort, pairs: ClassPairs) -> FloatArray:
    """For each case the nodules of each pair of classes (truth by stated class, row by row)."""
    size = len(pairs.names)
    table = np.zeros((cohort.case_count, size * size))
    cell = pairs.truth * size + pairs.stated
    np.add.at(table, (cohort.nodule_case[pairs.is_paired], cell[pairs.is_paired]), 1)
    return table
