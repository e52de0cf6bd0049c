"""label_marks: scope, threshold and cap first, the same for all rules; then the rule itself."""

from dataclasses import replace

import numpy as np

from nodulebench.core.arrays import BoolArray, IntArray
from nodulebench.core.cohort import (
    NO_NODULE,
    OVER_CAP,
    UNCOUNTED,
    LabelledCohort,
    Labels,
    labelled_cohort,
)
from nodulebench.core.config_model import checked_parameters, parameters_of
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import RuleChoice, TestProtocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.matching.rules import RULES
from nodulebench.matching.scene import scene
from nodulebench.matching.size_tolerance import is_large, limit_sizes, measured_sizes_mm


def targets(reference: Reference, submission: Submission, protocol: TestProtocol) -> BoolArray:
    """Which rows of NODULES have to be found: not ignored, within the intended use and size."""
    is_target = _in_scope(reference, submission, protocol)
    if protocol.size_limit is not None:
        is_target &= is_large(measured_sizes_mm(reference, is_target), protocol.size_limit)
    return is_target


def _in_scope(reference: Reference, submission: Submission, protocol: TestProtocol) -> BoolArray:
    """Which rows of NODULES are not ignored and within the intended use, of any size."""
    is_target = ~reference.nodules["is_ignored"].to_numpy()
    scopes = [protocol.scope.types] if protocol.scope.types else []
    if protocol.scope.uses_declaration and submission.intended_types is not None:
        scopes.append(submission.intended_types)
    for types in scopes:
        in_scope = reference.nodules["type"].is_in(types).fill_null(True).to_numpy()
        is_target = is_target & in_scope
    return is_target


def label_marks(
    reference: Reference, submission: Submission, protocol: TestProtocol, rule: RuleChoice
) -> Labels:
    """The labels of every mark of a submission under one rule.

    Marks below the protocol's score threshold are ``uncounted`` and marks beyond its cap are
    ``over_cap``; neither takes part in matching. Under a size limit nodules of every size are
    matched first, and what sizes change is applied after.
    """
    labels = match_marks(reference, submission, protocol, rule)
    if protocol.size_limit is None:
        return labels
    return limit_sizes(labels, reference, submission, protocol.size_limit)


def label_cohort(
    reference: Reference, submission: Submission, protocol: TestProtocol, rule: RuleChoice
) -> tuple[Labels, LabelledCohort]:
    """The labels of every mark under one rule, and the labelled cohort with all of its marks."""
    labels = label_marks(reference, submission, protocol, rule)
    is_target = targets(reference, submission, protocol)
    return labels, labelled_cohort(reference, submission, labels, is_target)


def match_marks(
    reference: Reference, submission: Submission, protocol: TestProtocol, rule: RuleChoice
) -> Labels:
    """The labels of every mark under one rule, before any limit on sizes."""
    mark_case = submission.rows_in(reference)
    is_counted = np.ones(len(mark_case), dtype=np.bool_)
    if protocol.score_threshold is not None:
        is_over = submission.marks["score"] >= protocol.score_threshold
        is_counted = is_over.fill_null(True).to_numpy()
    is_within_cap = is_counted & _is_under_cap(submission, mark_case, is_counted, protocol)
    seen = scene(
        reference,
        submission,
        mark_case=mark_case,
        takes_part=is_within_cap,
        is_target=_in_scope(reference, submission, protocol),
    )
    # the rule's own parameters over the protocol's common ones
    label = RULES[rule.name]
    known = parameters_of(label)
    common: dict[str, object] = {
        "duplicates": protocol.duplicates,
        "assignment": protocol.assignment,
    }
    shared = {name: v for name, v in common.items() if name in known and v != "published"}
    where = f"protocol '{protocol.name}' rule '{rule.name}'"
    parameters = checked_parameters(label, shared | rule.parameters, where)
    labels = label(seen, **parameters)
    left_out = np.flatnonzero(~is_within_cap)
    return replace(
        labels,
        mark=np.concatenate([seen.mark_row[labels.mark], left_out]),
        nodule=np.concatenate([labels.nodule, np.full(len(left_out), NO_NODULE, dtype=np.int64)]),
        label=np.concatenate([labels.label, np.where(is_counted[left_out], OVER_CAP, UNCOUNTED)]),
    )


def _is_under_cap(
    submission: Submission, mark_case: IntArray, is_counted: BoolArray, protocol: TestProtocol
) -> BoolArray:
    """Which marks are among the best ``mark_cap`` of their case, by the protocol's tie policy."""
    cap = protocol.mark_cap
    is_within_cap = np.ones(len(mark_case), dtype=np.bool_)
    crowded = np.flatnonzero(np.bincount(mark_case[is_counted], minlength=1) > (cap or np.inf))
    if cap is None or not len(crowded):
        return is_within_cap
    scores = submission.marks["score"]
    if scores.null_count():
        what = f"has a case with more than {cap} marks, and marks without a score."
        remedy = f"Give every mark a score, so that the best {cap} are known."
        raise InputError.at(f"submission '{submission.name}'", what, remedy)
    score = scores.to_numpy()
    rows = np.flatnonzero(is_counted & np.isin(mark_case, crowded))
    rows = rows[np.lexsort((-score[rows], mark_case[rows]))]  # by case, best first, file order
    starts = np.searchsorted(mark_case[rows], crowded)
    marks = np.diff(np.append(starts, len(rows)))
    place = np.arange(len(rows)) - np.repeat(starts, marks)
    last_score = np.repeat(score[rows[starts + cap - 1]], marks)
    first_dropped = np.repeat(score[rows[starts + cap]], marks)
    match protocol.ties:
        case "drop":
            is_within_cap[rows] = score[rows] > first_dropped
        case "keep":
            is_within_cap[rows] = score[rows] >= last_score
        case "file_order":
            is_within_cap[rows] = place < cap
    return is_within_cap
