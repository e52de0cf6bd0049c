"""Labels: what a rule says of every mark, as arrays that index MARKS and NODULES."""

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
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
