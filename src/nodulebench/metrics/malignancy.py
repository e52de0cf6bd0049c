"""Labelled cohort -> the nodules whose malignancy can be judged, with truth and probability said.

A nodule takes part if the reference calls it benign (0) or malignant (1), it was found, and the
mark that hit it says a probability. Missed nodules have no probability, and giving them one would
mix finding with telling apart; so the figures describe the classification of what was found, and
``malignancy_counts`` says how many nodules that leaves out. An algorithm that finds only easy
cancers can look good here: read it beside recall.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import UndefinedError


@dataclass(frozen=True, slots=True)
class JudgedNodules:
    """Nodules of known malignancy that were found with a probability."""

    case: IntArray
    is_malignant: BoolArray
    said: FloatArray


def judged_nodules(cohort: LabelledCohort) -> JudgedNodules:
    """The nodules that take part in malignancy figures.

    Raises:
        UndefinedError: where there are none, saying what is missing.
    """
    truth, said = cohort.truth("malignancy"), cohort.said("malignancy")
    is_known = (truth == 0) | (truth == 1)
    if not is_known.any():
        raise UndefinedError("malignancy_unknown")
    is_judged = is_known & np.isfinite(said)
    if not is_judged.any():
        marks = cohort.submission.marks["malignancy"]
        if marks.null_count() == len(marks):
            raise UndefinedError("no_malignancy_said")
        raise UndefinedError("no_malignancy_judged")
    return JudgedNodules(cohort.nodule_case[is_judged], truth[is_judged] == 1, said[is_judged])


def malignancy_counts(cohort: LabelledCohort) -> dict[str, int]:
    """How many nodules take part in malignancy figures, and why the others do not."""
    truth, said = cohort.truth("malignancy"), cohort.said("malignancy")
    is_known = (truth == 0) | (truth == 1)
    is_said = np.isfinite(said)
    return {
        "malignant": int(np.count_nonzero(is_said & (truth == 1))),
        "benign": int(np.count_nonzero(is_said & (truth == 0))),
        "missed": int(np.count_nonzero(is_known & ~cohort.is_hit)),
        "not_said": int(np.count_nonzero(is_known & cohort.is_hit & ~is_said)),
        "truth_unknown": int(np.count_nonzero(~is_known)),
    }
