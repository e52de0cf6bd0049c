"""Two LABELS of one submission -> what changes from one rule to the other, and by how much."""

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.cohort import (
    FALSE_POSITIVE,
    HIT,
    LABEL_NAMES,
    NO_NODULE,
    OVER_CAP,
    UNCOUNTED,
    Labels,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.tables import Reference, Submission
from nodulebench.matching.rules.center_distance import distance_threshold_mm
from nodulebench.matching.scene import scene, shared_slices


def flip_list(
    base: Labels, other: Labels, submission: Submission, reference: Reference
) -> pl.DataFrame:
    """Every nodule that is hit under one rule only, and every mark whose label changes.

    A row is of kind ``nodule`` (with the mark that hits it under one of the rules) or ``mark``
    (with the nodule it touches, if any). Score and the reported values are the mark's; diameter and
    type are the nodule's in its rows. Rows of nodules also tell how near the nearest mark comes on
    any common slice: ``distance_mm`` against ``threshold_mm`` of the center_distance rule, and the
    largest ``overlap`` (share of the nodule's box) and ``iou``; null without boxes.
    """
    return pl.concat(
        [
            _flipped_nodules(base, other, submission, reference),
            _flipped_marks(base, other, submission, reference),
        ],
        how="diagonal",
    ).select(
        "kind",
        "case_id",
        "nodule_id",
        "mark_id",
        "base_label",
        "label",
        "score",
        "diameter_mm",
        "type",
        "distance_mm",
        "threshold_mm",
        "overlap",
        "iou",
    )


def rule_difference(base: Labels, other: Labels) -> JsonObject:
    """How much the counts change from one rule to the other.

    ``relative_difference`` is (hits - base hits) / base hits, null without base hits.
    """
    base_nodules, nodules = (
        np.unique(labels.nodule[labels.label == HIT]) for labels in (base, other)
    )
    base_label, label = _mark_labels(base, other)
    difference: JsonObject = {
        "base_hit": len(base_nodules),
        "hit": len(nodules),
        "gained": len(np.setdiff1d(nodules, base_nodules)),
        "lost": len(np.setdiff1d(base_nodules, nodules)),
        "base_false_positive": base.count(FALSE_POSITIVE),
        "false_positive": other.count(FALSE_POSITIVE),
        "marks_changed": int(np.count_nonzero(base_label != label)),
        "relative_difference": None,
    }
    if len(base_nodules):
        relative = (len(nodules) - len(base_nodules)) / len(base_nodules)
        return difference | {"relative_difference": relative}
    return difference | {"reason": Notice("no_hit_to_compare")}


def _flipped_nodules(
    base: Labels, other: Labels, submission: Submission, reference: Reference
) -> pl.DataFrame:
    base_mark, mark = (_hit_marks(labels, reference) for labels in (base, other))
    row = np.flatnonzero((base_mark >= 0) != (mark >= 0))
    hit_mark = np.maximum(base_mark, mark)[row]
    near = _nearness(reference, submission, _is_counted(base, other, submission))
    return (
        reference.nodules[row]
        .select(pl.lit("nodule").alias("kind"), "case_id", "nodule_id", "diameter_mm", "type")
        .with_columns(
            submission.marks["mark_id"].gather(hit_mark),
            submission.marks["score"].gather(hit_mark),
            pl.Series("base_label", np.where(base_mark[row] >= 0, "hit", "missed"), pl.String),
            pl.Series("label", np.where(mark[row] >= 0, "hit", "missed"), pl.String),
            *(pl.Series(name, value[row]).fill_nan(None) for name, value in near.items()),
        )
    )


def _flipped_marks(
    base: Labels, other: Labels, submission: Submission, reference: Reference
) -> pl.DataFrame:
    base_label, label = _mark_labels(base, other)
    row = np.flatnonzero(base_label != label)
    touched = np.full(len(label), NO_NODULE, dtype=np.int64)
    for labels in (base, other):
        is_touching = labels.nodule != NO_NODULE
        np.maximum.at(touched, labels.mark[is_touching], labels.nodule[is_touching])
    names = np.array(LABEL_NAMES)
    nodule = pl.Series(touched[row]).replace(NO_NODULE, None)
    return (
        submission.marks[row]
        .select(pl.lit("mark").alias("kind"), "case_id", "mark_id", "score", "diameter_mm", "type")
        .with_columns(
            reference.nodules["nodule_id"].gather(nodule),
            pl.Series("base_label", names[base_label[row]], pl.String),
            pl.Series("label", names[label[row]], pl.String),
        )
    )


def _hit_marks(labels: Labels, reference: Reference) -> IntArray:
    """The mark that hits each row of NODULES, -1 where none does."""
    is_hit = labels.label == HIT
    mark = np.full(reference.nodules.height, -1, dtype=np.int64)
    mark[labels.nodule[is_hit]] = labels.mark[is_hit]
    return mark


def _mark_labels(base: Labels, other: Labels) -> tuple[IntArray, IntArray]:
    """One label per mark under each rule; of several labels a hit wins."""
    count = int(max(base.mark.max(initial=-1), other.mark.max(initial=-1))) + 1
    both = np.full((2, count), len(LABEL_NAMES), dtype=np.int64)
    for label, labels in zip(both, (base, other), strict=True):
        np.minimum.at(label, labels.mark, labels.label)
    return both[0], both[1]


def _is_counted(base: Labels, other: Labels, submission: Submission) -> BoolArray:
    is_counted = np.zeros(submission.marks.height, dtype=np.bool_)
    for labels in (base, other):
        is_counted[labels.mark[~np.isin(labels.label, (OVER_CAP, UNCOUNTED))]] = True
    return is_counted


def _nearness(
    reference: Reference, submission: Submission, is_counted: BoolArray
) -> dict[str, FloatArray]:
    """The distance of the nearest mark to each nodule on a common slice; NaN without one."""
    seen = scene(
        reference,
        submission,
        mark_case=submission.rows_in(reference),
        takes_part=is_counted,
        is_target=~reference.nodules["is_ignored"].to_numpy(),
    )
    distance, overlap, iou = np.full((3, seen.nodule_count), np.nan)
    if seen.mark_boxes is not None and seen.nodule_boxes is not None:
        shared = shared_slices(seen, "flips")
        np.fmin.at(distance, shared.nodule, shared.distance_mm())
        for value, share in zip((overlap, iou), shared.overlap(), strict=True):
            np.fmax.at(value, shared.nodule, share)
    return {
        "distance_mm": distance,
        "threshold_mm": np.where(np.isnan(distance), np.nan, distance_threshold_mm(seen)),
        "overlap": overlap,
        "iou": iou,
    }
