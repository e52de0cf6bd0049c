"""LABELS + sizes -> LABELS under a smallest size to report, with tolerance for size error.

Fotin et al., Proc. SPIE Medical Imaging 2008. With smallest size D, tolerance Δ, size x of the
nodule and c of the mark:

====================  ==========  =======  =======
mark                  no nodule   x < D    x ≥ D
====================  ==========  =======  =======
c ≥ D + Δ             FP          FP(OE)   TP
D ≤ c < D + Δ         FP          –        TP
D − Δ ≤ c < D         –           –        TP
c < D − Δ             –           –        FN(UE)
none                  –           –        FN
====================  ==========  =======  =======
"""

from dataclasses import replace

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import DUPLICATE, FALSE_POSITIVE, HIT, NO_NODULE, UNCOUNTED, Labels
from nodulebench.core.errors import UndefinedError
from nodulebench.core.protocol import SizeLimit
from nodulebench.core.tables import Reference, Submission
from nodulebench.matching.pairs import first_of_each
from nodulebench.matching.scene import NEGLIGIBLE_MM


def limit_sizes(
    labels: Labels, reference: Reference, submission: Submission, limit: SizeLimit
) -> Labels:
    """The labels under a smallest size to report.

    ``labels`` come from a rule that matched nodules of every size. On each nodule the mark that
    counts is the rule's own hit, or, if its size puts it in a cell that does not count, the next
    mark on that nodule whose size does. Further marks on a nodule keep the rule's label, but a
    false positive among them has to be of reportable size like a mark on no nodule. Marks in
    cells that do not count ("–" and FN(UE)) become ``uncounted``.

    Raises:
        UndefinedError: where a mark or a nodule has no diameter.
    """
    takes_part = np.isin(labels.label, (HIT, DUPLICATE, FALSE_POSITIVE))
    is_on_nodule = takes_part & (labels.nodule != NO_NODULE)
    c = _reported_sizes_mm(labels, submission, takes_part)[labels.mark]
    x = np.full(len(labels.mark), np.nan)
    of_nodule = reference.nodules["diameter_mm"].to_numpy()
    x[is_on_nodule] = of_nodule[labels.nodule[is_on_nodule]]
    _check_measured(x[is_on_nodule])

    is_on_large = is_on_nodule & is_large(x, limit)
    is_on_small = is_on_nodule & ~is_on_large
    is_reportable = _at_least(c, limit.minimum_mm)
    counts = takes_part & np.select(
        [is_on_large, is_on_small],
        [_at_least(c, limit.minimum_mm - limit.tolerance_mm), _is_overestimate(c, x, limit)],
        is_reportable,
    )
    is_chosen = _first_on_nodule(labels, is_on_nodule & counts)
    is_surplus = counts & is_on_large & ~is_chosen & (labels.label == FALSE_POSITIVE)

    label = labels.label.copy()
    label[takes_part & ~counts] = UNCOUNTED
    label[is_surplus & ~is_reportable] = UNCOUNTED
    label[is_chosen & is_on_large] = HIT
    label[is_chosen & is_on_small] = FALSE_POSITIVE
    label = _count_once(labels.mark, label, is_on_large)
    hits = labels.nodule[is_on_large]
    return replace(
        labels,
        label=label,
        underestimated=np.setdiff1d(hits, labels.nodule[label == HIT]),
        overestimated=labels.mark[is_on_small & (label == FALSE_POSITIVE)],
    )


def is_large(size_mm: FloatArray, limit: SizeLimit) -> BoolArray:
    return _at_least(size_mm, limit.minimum_mm)


def measured_sizes_mm(reference: Reference, is_wanted: BoolArray) -> FloatArray:
    """The diameter of every nodule."""
    size = reference.nodules["diameter_mm"].to_numpy()
    _check_measured(size[is_wanted])
    return size


def _check_measured(size: FloatArray) -> None:
    unmeasured = int(np.count_nonzero(np.isnan(size)))
    if unmeasured:
        raise UndefinedError("nodules_unmeasured", count=unmeasured)


def _reported_sizes_mm(labels: Labels, submission: Submission, takes_part: BoolArray) -> FloatArray:
    size = submission.marks["diameter_mm"].to_numpy().astype(np.float64)
    marks = np.unique(labels.mark[takes_part])
    silent = marks[np.isnan(size[marks])]
    if len(silent):
        first = submission.marks.row(int(silent[0]), named=True)
        raise UndefinedError(
            "marks_unmeasured",
            count=len(silent),
            marks=len(marks),
            mark=first["mark_id"],
            case=first["case_id"],
        )
    return size


def _at_least(size_mm: FloatArray, limit_mm: float) -> BoolArray:
    return np.asarray(size_mm >= limit_mm - NEGLIGIBLE_MM)


def _is_overestimate(c: FloatArray, x: FloatArray, limit: SizeLimit) -> BoolArray:
    """Which marks on nodules below the limit are false positives.

    The table spares marks up to D + Δ on any of them. The text of the paper spares only nodules
    that are themselves within Δ of D ("strict_truth").
    """
    is_beyond = _at_least(c, limit.minimum_mm + limit.tolerance_mm)
    if limit.reading == "table":
        return is_beyond
    is_far_below = ~_at_least(x, limit.minimum_mm - limit.tolerance_mm)
    return is_beyond | (is_far_below & _at_least(c, limit.minimum_mm))


def _first_on_nodule(labels: Labels, is_counted: BoolArray) -> BoolArray:
    """On each nodule the entry that counts: the rule's hit first, then in the rule's order."""
    entries = np.flatnonzero(is_counted)
    order = entries[np.lexsort((labels.label[entries] != HIT, labels.nodule[entries]))]
    is_first = np.zeros(len(labels.mark), dtype=np.bool_)
    is_first[order[first_of_each(labels.nodule[order])]] = True
    return is_first


def _count_once(mark: IntArray, label: IntArray, is_on_large: BoolArray) -> IntArray:
    """A mark with several entries is one false positive at most, and none if it found a nodule."""
    has_hit = is_on_large & np.isin(label, (HIT, DUPLICATE))
    is_false = label == FALSE_POSITIVE
    entries = np.flatnonzero(is_false & ~np.isin(mark, mark[has_hit]))
    is_first = np.zeros(len(label), dtype=np.bool_)
    is_first[entries[np.unique(mark[entries], return_index=True)[1]]] = True
    return np.where(is_false & ~is_first, UNCOUNTED, label)
