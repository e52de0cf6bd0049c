"""The pseudo-patient: two cases added to a cohort in which all goes wrong, or all goes right.

A bootstrap of the observed patients cannot contain a miss where nothing was missed. So one more
patient is assumed: an abnormal case with nodules that were all missed (or all found), and a normal
case with false positives (or none). Statistics give both cases their weights.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort

Kind = Literal["worst", "best"]
KINDS: tuple[Kind, Kind] = ("worst", "best")

SINGLE_ICC = 0.5
"""How alike the nodules of one patient are taken to be: a constant of the method."""
PAIRED_ICC, PAIRED_UNITS, PAIRED_RISE = 0.3, 50, 350
"""The same for differences between two algorithms on up to so many units with nodules:
discordances cluster less than misses. Beyond them it rises by 1 in so many units, to 1 at most:
otherwise verdicts on many patients are wrong where algorithms have strong patient effects."""

_NAMES = ("pseudo-patient with nodules", "pseudo-patient without nodules")


@dataclass(frozen=True, slots=True)
class PseudoPatient:
    """The size of the pseudo-patient."""

    size: float
    """The number of nodules that the abnormal case counts for."""
    falses: int
    """False positives in the normal case, at worst."""

    @property
    def nodules(self) -> int:
        """How many nodules the abnormal case has: ``size`` rounded up."""
        return max(1, math.ceil(self.size - 1e-9))

    @property
    def share(self) -> float:
        """The weight of each of these nodules, so that together they count as ``size``."""
        return self.size / self.nodules


def pseudo_size(trials_of_unit: FloatArray, icc: float) -> float:
    """The design effect of no miss at all if trials of one unit have the correlation ``icc``."""
    trials = trials_of_unit[trials_of_unit > 0]
    if not len(trials):
        return 1.0
    return float(1 + icc * ((trials**2).sum() / trials.sum() - 1))


def paired_icc(units: int) -> float:
    """How alike the discordances of one patient are taken to be on so many units with nodules."""
    return min(PAIRED_ICC + max(0, units - PAIRED_UNITS) / PAIRED_RISE, 1.0)


def with_pseudo_cases(cohort: LabelledCohort, kind: Kind, pseudo: PseudoPatient) -> LabelledCohort:
    """The cohort and, behind its own cases, the two cases of the pseudo-patient.

    At worst the nodules are missed, one false positive scores above every mark and the others as
    low as the lowest; at best the nodules are found above every mark, without false positives. The
    two cases belong to no real patient. At an operating point they are added to the marks that
    count there, and to all marks for metrics read from a curve.
    """
    scores = np.concatenate([cohort.hit_score[cohort.is_hit], cohort.false_score])
    top, bottom = 1.0, 0.0
    if len(scores):
        highest, bottom = float(scores.max()), float(scores.min())
        top = max(highest + 1, float(np.nextafter(highest, np.inf)))  # however large it is
    abnormal, normal = cohort.case_count, cohort.case_count + 1
    is_hit = kind == "best"
    count = pseudo.nodules
    falses = 0 if is_hit else pseudo.falses
    false_score = np.full(falses, bottom)
    false_score[:1] = top
    reference, submission = cohort.reference, cohort.submission
    return LabelledCohort(
        case_count=cohort.case_count + 2,
        nodule_case=np.append(cohort.nodule_case, np.full(count, abnormal)),
        is_hit=np.append(cohort.is_hit, np.full(count, is_hit)),
        hit_score=np.append(cohort.hit_score, np.full(count, top if is_hit else np.nan)),
        false_case=np.append(cohort.false_case, np.full(falses, normal)),
        false_score=np.append(cohort.false_score, false_score),
        has_scores=cohort.has_scores,
        nodule_row=np.append(cohort.nodule_row, np.full(count, reference.nodules.height)),
        hit_mark=np.append(
            cohort.hit_mark, np.full(count, submission.marks.height if is_hit else -1)
        ),
        reference=replace(
            reference,
            cases=_appended(reference.cases, case_id=_NAMES),
            nodules=_appended(reference.nodules, case_id=_NAMES[:1], is_ignored=False, weight=1.0),
        ),
        submission=replace(submission, marks=_appended(submission.marks, case_id=_NAMES[:1])),
        false_mark=np.append(cohort.false_mark, np.full(falses, submission.marks.height)),
        whole=None if cohort.whole is None else with_pseudo_cases(cohort.whole, kind, pseudo),
        threshold=cohort.threshold,
    )


def without_cases(cohort: LabelledCohort) -> LabelledCohort:
    """The cohort without a case: nothing but its tables' columns."""
    nothing = np.empty(0, dtype=np.int64)
    reference, submission = cohort.reference, cohort.submission
    return replace(
        cohort,
        case_count=0,
        nodule_case=nothing,
        is_hit=nothing.astype(np.bool_),
        hit_score=nothing.astype(np.float64),
        false_case=nothing,
        false_score=nothing.astype(np.float64),
        nodule_row=nothing,
        hit_mark=nothing,
        reference=replace(
            reference, cases=reference.cases.clear(), nodules=reference.nodules.clear()
        ),
        submission=replace(submission, marks=submission.marks.clear()),
        false_mark=nothing,
        whole=None,
        threshold=None,
    )


def perfect_cohort(cohort: LabelledCohort) -> LabelledCohort:
    """The same cases with every nodule found, by marks without other facts; no false positives."""
    count, marks = cohort.nodule_count, cohort.submission.marks
    nothing = np.empty(0, dtype=np.int64)
    return replace(
        cohort,
        is_hit=np.ones(count, dtype=np.bool_),
        hit_score=np.ones(count),
        false_case=nothing,
        false_score=nothing.astype(np.float64),
        has_scores=True,
        hit_mark=np.full(count, marks.height),
        submission=replace(cohort.submission, marks=_appended(marks, case_id=_NAMES[:1])),
        false_mark=nothing,
        whole=None,
        threshold=None,
    )


def _appended(table: pl.DataFrame, **values: object) -> pl.DataFrame:
    """A table and one more row for each name, empty but for the values of columns that it has."""
    rows = pl.DataFrame({name: value for name, value in values.items() if name in table.columns})
    return pl.concat([table, rows], how="diagonal_relaxed")
