"""Labels: what a rule says of every mark; LabelledCohort: the cases, nodules and labelled marks."""

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.tables import Reference, Submission

LABEL_NAMES = ("hit", "false_positive", "duplicate", "ignored", "over_cap", "uncounted")
HIT, FALSE_POSITIVE, DUPLICATE, IGNORED, OVER_CAP, UNCOUNTED = range(len(LABEL_NAMES))
NO_NODULE = -1


@dataclass(frozen=True, slots=True)
class OrderSensitivity:
    """Nodules hit when they are matched one to one in three ways."""

    in_order: int
    """One after another as the reference lists them."""
    reversed_order: int
    """One after another from the last to the first."""
    optimal: int
    """All at once, as many as possible."""


@dataclass(frozen=True, slots=True)
class Labels:
    """One entry per mark and nodule it touched; a mark that touched none has one entry."""

    mark: IntArray
    nodule: IntArray
    """Row in NODULES, or NO_NODULE."""
    label: IntArray
    notices: tuple[Notice, ...] = ()
    """What a reader must know before the numbers."""
    remarks: tuple[Notice, ...] = ()
    """How the rule was applied, for who wants to know."""
    underestimated: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Nodules found but reported below the size limit (FN(UE) of Fotin 2008)."""
    overestimated: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Marks that are false positives because they report a nodule below the size limit as above
    it (FP(OE) of Fotin 2008)."""

    order: OrderSensitivity | None = None
    """How much the hits depend on the matching order; None for a rule without one."""

    def count(self, label: int) -> int:
        return int(np.count_nonzero(self.label == label))

    def over(self, threshold: float, score: FloatArray) -> "Labels":
        """The labels at a score threshold: marks below it are ``uncounted``, others stay."""
        is_over = score[self.mark] >= threshold
        left_out = np.setdiff1d(self.mark[~is_over], self.mark[self.label == OVER_CAP])
        stays = is_over | (self.label == OVER_CAP)
        is_too_small = is_over & (self.label == UNCOUNTED) & (self.nodule != NO_NODULE)
        large = np.concatenate([self.underestimated, self.nodule[self.label == HIT]])
        on_large = np.intersect1d(self.nodule[is_too_small], large)
        return replace(
            self,
            mark=np.concatenate([self.mark[stays], left_out]),
            nodule=np.concatenate([self.nodule[stays], np.full(len(left_out), NO_NODULE)]),
            label=np.concatenate([self.label[stays], np.full(len(left_out), UNCOUNTED)]),
            underestimated=np.setdiff1d(on_large, self.nodule[is_over & (self.label == HIT)]),
            overestimated=self.overestimated[score[self.overestimated] >= threshold],
        )

    def table(
        self, algorithm: str, rule: str, submission: Submission, reference: Reference
    ) -> pl.DataFrame:
        """The same as a LABELS table with the names of cases, marks and nodules."""
        nodule_ids = reference.nodules["nodule_id"]
        touched = pl.Series(self.nodule).replace(NO_NODULE, None)
        return pl.DataFrame(
            {
                "case_id": submission.marks["case_id"][self.mark],
                "mark_id": submission.marks["mark_id"][self.mark],
                "nodule_id": nodule_ids.gather(touched),
                "label": pl.Series(self.label).replace_strict(
                    dict(enumerate(LABEL_NAMES)), return_dtype=pl.Enum(LABEL_NAMES)
                ),
            }
        ).select(pl.lit(algorithm).alias("algorithm"), pl.lit(rule).alias("rule"), pl.all())


@dataclass(frozen=True, eq=False)
class LabelledCohort:
    """One algorithm under one rule: arrays that index cases, nodules and marks.

    Only nodules that have to be found are here (ignored findings are not). A missed nodule has
    ``is_hit`` False; its ``hit_score`` means nothing and no metric may read it.
    """

    case_count: int
    nodule_case: IntArray
    is_hit: BoolArray
    hit_score: FloatArray
    false_case: IntArray
    false_score: FloatArray
    has_scores: bool
    nodule_row: IntArray
    """Row in NODULES of each nodule."""
    hit_mark: IntArray
    """Row in MARKS of each nodule's hit, -1 where it was missed."""
    reference: Reference
    submission: Submission
    false_mark: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Row in MARKS of each false positive."""
    whole: "LabelledCohort | None" = None
    """The same with every mark, where an operating point leaves some out."""
    threshold: float | None = None
    """The lowest score that counts at that operating point; None: every mark counts."""

    @property
    def at_every_score(self) -> "LabelledCohort":
        """The cohort that curves are drawn from, at any operating point."""
        return self if self.whole is None else self.whole

    def over(self, threshold: float) -> "LabelledCohort":
        """The same cohort with the marks that have at least a score, read from its curve.

        Marks are not matched again, so that recall is the sensitivity of the FROC there.
        """
        every = self.at_every_score
        is_hit = every.is_hit & (np.nan_to_num(every.hit_score, nan=-np.inf) >= threshold)
        is_shown = every.false_score >= threshold
        return replace(
            every,
            is_hit=is_hit,
            hit_score=np.where(is_hit, every.hit_score, np.nan),
            hit_mark=np.where(is_hit, every.hit_mark, -1),
            false_case=every.false_case[is_shown],
            false_score=every.false_score[is_shown],
            false_mark=every.false_mark[is_shown],
            whole=every,
            threshold=threshold,
        )

    def of_nodules(self, is_in: BoolArray) -> "LabelledCohort":
        """The same cases and false positives with some of the nodules; hits on others are gone."""
        return replace(
            self,
            nodule_case=self.nodule_case[is_in],
            is_hit=self.is_hit[is_in],
            hit_score=self.hit_score[is_in],
            nodule_row=self.nodule_row[is_in],
            hit_mark=self.hit_mark[is_in],
            whole=None if self.whole is None else self.whole.of_nodules(is_in),
        )

    @property
    def nodule_count(self) -> int:
        return len(self.nodule_case)

    @property
    def missed_count(self) -> int:
        return int(np.count_nonzero(~self.is_hit))

    def truth(self, column: str) -> FloatArray:
        """A numeric column of NODULES for each nodule (NaN where the reference is silent)."""
        return self.reference.nodules[column].to_numpy()[self.nodule_row].astype(np.float64)

    def stated(self, column: str) -> FloatArray:
        """A numeric column of MARKS for each nodule's hit (NaN where missed or not stated)."""
        values = self.submission.marks[column].to_numpy().astype(np.float64)
        stated = np.full(self.nodule_count, np.nan)
        stated[self.is_hit] = values[self.hit_mark[self.is_hit]]
        return stated

    def truth_class(self, column: str, classes: tuple[str, ...]) -> IntArray:
        """A column of NODULES as class numbers, -1 where the reference is silent."""
        return _class_numbers(self.reference.nodules[column], classes)[self.nodule_row]

    def stated_class(self, column: str, classes: tuple[str, ...]) -> IntArray:
        """A column of MARKS as class numbers for each nodule's hit, -1 where missed or silent."""
        values = _class_numbers(self.submission.marks[column], classes)
        stated = np.full(self.nodule_count, -1, dtype=np.int64)
        stated[self.is_hit] = values[self.hit_mark[self.is_hit]]
        return stated


WEIGHT = "weight"
"""A further column of NODULES: how much of its case a nodule is."""


def nodule_shares(cohort: LabelledCohort) -> FloatArray:
    """How much of its case each nodule is, adding up to 1 in every case that has any.

    The column ``weight`` of NODULES, where there is one, divides a case among the nodules that
    have to be found; otherwise they share it equally.
    """
    weight = np.ones(cohort.nodule_count)
    if WEIGHT in cohort.reference.nodules.columns:
        stated = cohort.reference.nodules[WEIGHT].cast(pl.Float64, strict=False)
        weight = stated.to_numpy()[cohort.nodule_row]
    of_case = np.bincount(cohort.nodule_case, weight, minlength=cohort.case_count)
    whole = of_case[cohort.nodule_case]
    is_bad = ~(weight >= 0) | ~(whole > 0)
    bad = cohort.reference.nodules[cohort.nodule_row[is_bad]]
    raise_problems(
        Problem(
            f"NODULES case '{row['case_id']}' nodule '{row['nodule_id']}'",
            f"weight {row[WEIGHT]} cannot share out the case.",
            "Give every nodule of the case a weight of 0 or more, their sum above 0, "
            "or leave out the column.",
        )
        for row in bad.iter_rows(named=True)
    )
    return weight / whole


def _class_numbers(values: pl.Series, classes: tuple[str, ...]) -> IntArray:
    number = {name: index for index, name in enumerate(classes)}
    return values.replace_strict(number, default=-1, return_dtype=pl.Int64).to_numpy()


def labelled_cohort(
    reference: Reference, submission: Submission, labels: Labels, is_target: BoolArray
) -> LabelledCohort:
    """Join a rule's labels with the tables; ``is_target``: the nodules that have to be found."""
    nodule_row = np.flatnonzero(is_target)
    place = np.full(len(is_target), -1, dtype=np.int64)
    place[nodule_row] = np.arange(len(nodule_row))
    is_hit_entry = labels.label == HIT
    hit_nodule = place[labels.nodule[is_hit_entry]]
    hit_mark = np.full(len(nodule_row), -1, dtype=np.int64)
    hit_mark[hit_nodule] = labels.mark[is_hit_entry]

    scores = submission.marks["score"]
    has_scores = scores.null_count() == 0
    score = scores.to_numpy() if has_scores else np.zeros(len(scores))
    is_hit = hit_mark >= 0
    hit_score = np.full(len(nodule_row), np.nan)
    hit_score[is_hit] = score[hit_mark[is_hit]]

    mark_case = submission.rows_in(reference)
    false_mark = labels.mark[labels.label == FALSE_POSITIVE]
    return LabelledCohort(
        case_count=reference.cases.height,
        nodule_case=reference.nodule_case[nodule_row],
        is_hit=is_hit,
        hit_score=hit_score,
        false_case=mark_case[false_mark],
        false_score=score[false_mark],
        has_scores=has_scores,
        nodule_row=nodule_row,
        hit_mark=hit_mark,
        reference=reference,
        submission=submission,
        false_mark=false_mark,
    )
