"""Which notices an algorithm's developer may see, and which of their values.

The laboratory sees everything. A code that is not listed here is not shown to developers, and of
one that is, only the values listed: counts, and names that the developer gave or the protocol
gives. Values that name cases, nodules, marks, readers or files, and the score of a single mark,
have no place here; neither have sentences of others (``as_stated``), which cannot be checked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.notices import Notice

FOR_DEVELOPERS: dict[str, tuple[str, ...]] = {
    # why a metric of the own algorithm is undefined
    "no_nodules": (),
    "no_nodules_for_recall": (),
    "nothing_counts": (),
    "neither_nodules_nor_marks": (),
    "no_cases": (),
    "no_normal_case": (),
    "no_normal_case_for": ("metric", "instead"),
    "no_scores": (),
    "rate_too_low": (),
    "program_stops": (),
    "program_gives_nan": (),
    "one_kind_only": ("kind",),
    "unpaired": ("what",),
    "unpaired_category": (),
    "unpaired_long_axis": (),
    "unpaired_diameter": (),
    "one_class_only": ("what", "label"),
    "malignancy_unknown": (),
    "no_stated_malignancy": (),
    "no_rated_malignancy": (),
    "few_grades": (),
    "no_rated_nodule": (),
    "no_rated_malignant": (),
    "no_rated_benign": (),
    "none_called_malignant": (),
    "none_malignant": (),
    "no_stated_density": (),
    "density_unknown": (),
    "no_found_density": (),
    "no_runs": (),
    "no_timed_run": (),
    "no_case_run": (),
    "no_area": (),
    "no_slices_in_reference": (),
    "no_slices_in_submission": (),
    "no_slices_on_both_sides": (),
    "undefined_here": (),
    "no_interval": ("lost", "replicates"),
    "replicates_lost": ("lost", "replicates"),
    "replicates_without_hit": ("lost", "replicates"),
    "no_interval_without_hits": (),
    "replicates_equal": ("count", "unit"),
    "few_patients": ("units", "unit"),
    "too_few_for_rate": ("units", "unit", "needed"),
    "approximate_rate": ("units", "unit"),
    "too_few_unguarded": ("units", "unit", "needed"),
    "no_variation": (),
    "empty_stratum": (),
    "too_few_to_tell": (),
    "tells_few": (),
    "withheld": (),
    # rules and plans
    "no_boxes_in_submission": ("rule",),
    "no_boxes_in_reference": ("rule",),
    "nodules_unmeasured": ("count",),
    "marks_unmeasured": ("count", "marks"),
    "no_hit_to_compare": (),
    "rule_not_applied": ("rule",),
    "rule_not_applicable": ("rule", "reason"),
    "not_planned": (),
    "plan_undecided": (),
    "no_such_metric": (),
    "not_assessable": ("units", "unit", "needed"),
    "no_bound": ("bound",),
    "gate_closed": ("family",),
    "lost_by_adjustment": ("p_value", "adjusted", "alpha"),
    # comparisons with other algorithms, where the developer may see them
    "difference_undefined": (),
    "undefined_for_some": (),
    "undefined_for_one": (),
    "nothing_in_common": (),
    "nothing_tells_apart": (),
    "algorithms_equal": (),
    "rule_does_not_apply": (),
    "reason_for_algorithm": ("algorithm", "reason"),
    "no_permutation": ("reason",),
    "too_few_resamples": ("resamples", "family", "smallest", "enough"),
    "different_targets": ("rule",),
    "other_uses": ("count",),
    # the test set and the developer's own marks
    "marks_dropped": ("marks", "cases"),
    "headers_dropped": ("count",),
    "marks_repeated": ("marks", "cases"),
    "threshold_declared": ("declared",),
    "threshold_overridden": ("declared", "threshold"),
    "threshold_not_used": ("declared", "rate"),
    "threshold_without_scores": ("declared",),
    "columns_separated": ("separator", "decimal"),
    "columns_respelt": ("columns",),
    "columns_unread": ("columns",),
    "cases_without_marks": ("count", "cases"),
    "runs_failed": ("runs", "failed", "timed_out"),
    "runs_lungs_implausible": ("runs", "count"),
    "strata_not_known": ("columns",),
    "marks_over_cap": ("count", "cap", "ties"),
    "candidates_scored": ("scored", "candidates"),
    "outside_image": ("outside", "checked", "mirrored"),
    "marks_in_two_nodules": ("count",),
    "nodules_without_size": ("count",),
    "nodules_without_box": ("count",),
    "marks_without_box": ("count",),
    "spacing_unknown": ("pairs",),
    "boxes_linked_by_place": ("boxes", "marks"),
    "boxes_linked": ("boxes", "marks", "what"),
    "convention_assumed": ("key", "taken"),
    "geometry_unknown": (),
    "outlines_unplaced": ("count",),
    "others_passed_over": (),
    "segmentation_fractional": (),
    "cad_partly_failed": (),
    "no_certainty": ("count", "findings"),
    "operating_points_as_scores": (),
    "hidden_findings": ("count", "done"),
    "optional_findings": ("count",),
    # evaluations on a sequestered test set
    "no_bound_holds": (),
    "undisclosed_undefined": (),
    "not_a_share": (),
    "repeated_evaluation": ("evaluation", "optimism", "needed", "usual"),
    "evaluation_after_failure": ("needed", "usual"),
    "repeated_evaluation_unbounded": ("evaluation", "optimism", "reason"),
    # how intervals, tests and sizes were made
    "guarded_bootstrap": ("unit", "replicates", "icc"),
    "guarded_paired_bootstrap": ("unit", "replicates", "icc"),
    "bayesian_paired_bootstrap": ("unit", "replicates"),
    "bayesian_bootstrap": ("unit", "replicates"),
    "percentile_bootstrap": ("unit", "replicates"),
    "bca_bootstrap": ("unit", "replicates"),
    "luna16_bootstrap": ("replicates",),
    "jackknife": ("unit",),
    "clopper_pearson": ("unit",),
    "paired_bootstrap": (),
    "ratio_estimator": (),
    "kendall_tau": (),
    "delong": (),
    "obuchowski_clustered": (),
    "guarded_against_margin": ("level", "better"),
    "interval_against_margin": ("level", "better"),
    "permutation_test": ("swaps",),
    "tied_with_leader": (),
    "mcnemar_exact": (),
    "mcnemar_durkalski": (),
    "mcnemar_obuchowski": (),
    "mcnemar_eliasziw_donner": (),
    "one_way_anova": (),
    "repeated_anova": (),
    "repeated_anova_corrected": (),
    "friedman": (),
    "unpaired_t": (),
    "paired_t": (),
    "wilcoxon_exact": (),
    "wilcoxon_normal": (),
    "obuchowski_rockette": ("covariance", "kind"),
    "positive_agreement": (),
    "jackknife_over_subjects": ("of",),
    "cohen_kappa": ("weights",),
    "fleiss_kappa": (),
    "gwet_ac1": (),
    "krippendorff_alpha": ("scale",),
    "icc": ("form",),
    "mean_difference_t": (),
    "limit_of_agreement": ("share",),
    "lin_concordance": (),
    "lin_concordance_z": (),
    "normal_interval_of_proportion": (),
    "normal_interval_of_mean": ("family",),
    "normal_interval_of_area": ("variance",),
    "normal_test_of_areas": ("variance",),
    "exact_acceptance": ("family",),
    "mcnemar_connor": (),
    "paired_non_inferiority": (),
    "obuchowski_rockette_power": (),
    "pilot_bootstrap": (),
}
"""The codes that developers may see, each with those of its values that they may see."""

WITHHELD = Notice("withheld")
"""Replaces a reason that may not be disclosed."""


def for_developers(notice: Notice) -> Notice | None:
    """What a developer may see of a notice; None: nothing."""
    if notice.code not in FOR_DEVELOPERS:
        return None
    shown = {name: notice.values.get(name) for name in FOR_DEVELOPERS[notice.code]}
    values = {
        name: (for_developers(value) or WITHHELD) if isinstance(value, Notice) else value
        for name, value in shown.items()
        if value is not None
    }
    return replace(notice, values=values)


Divisions = Mapping[str, Mapping[str, BoolArray]]
"""Division -> stratum -> which of all nodules it has."""
StratumName = tuple[str, str]
"""A division and the name of a stratum in it."""
_NOTHING = 1e-6
"""Largest rounding error of a group that follows from what is disclosed."""


def hidden_strata(divisions: Divisions, minimum: int) -> set[StratumName]:
    """The strata that must be withheld when metrics of the whole are disclosed.

    No group of fewer nodules than the minimum is then a sum or difference of what is disclosed: no
    stratum, no intersection or difference of two strata, and no rest that the disclosed strata of a
    division leave of the whole.

    Args:
        divisions: the strata; they may overlap within a division and between divisions.
        minimum: the fewest nodules of a group that may be disclosed.
    """
    names = [(division, name) for division, strata in divisions.items() for name in strata]
    if not names:
        return set()
    every = np.array([divisions[division][name] for division, name in names])
    parts, counts = _different_columns(every)
    """The strata as unions of parts, within which nodules are in the same strata throughout."""
    sizes = parts @ counts
    is_shown = (sizes >= minimum) & (sizes > 0)

    def small(groups: list[BoolArray]) -> BoolArray:
        sums = np.array(groups) @ counts
        few = np.array(groups)[(sums > 0) & (sums < minimum)]
        return _different_columns(few.T)[0].T

    apart = small(_apart(parts))
    while is_shown.any():
        left = small([_left_over(parts, names, is_shown, division) for division in divisions])
        place = _follows(parts[is_shown], np.vstack([apart, left]), sizes[is_shown])
        if place is None:
            break
        is_shown[np.flatnonzero(is_shown)[place]] = False
    return {
        name for name, shown, size in zip(names, is_shown, sizes, strict=True) if size and not shown
    }


def _different_columns(table: BoolArray) -> tuple[BoolArray, IntArray]:
    """The columns of a table, each once and in order, and how often each is there."""
    bits = np.ascontiguousarray(np.packbits(table, axis=0).T)
    # whole columns as one value each are sorted ten times as fast as row by row
    whole = bits.view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, counts = np.unique(whole, return_index=True, return_counts=True)
    return table[:, first], counts


def members_by_name(
    of_nodule: Sequence[str], names: Iterable[str], whole: int
) -> dict[str, BoolArray]:
    """Stratum -> its nodules, where the first nodules of the whole have a stratum each."""
    held = np.array(of_nodule, dtype=np.object_)
    more = max(0, whole - len(held))
    return {name: np.pad(held == name, (0, more)) for name in names}


def _follows(shown: BoolArray, small: BoolArray, sizes: IntArray) -> int | None:
    """The smallest stratum by which, with others and the whole, a small group can be worked out."""
    rows = np.vstack([np.ones(shown.shape[1]), shown]).astype(np.float64)
    groups: FloatArray = small.astype(np.float64)
    shares = groups @ np.linalg.pinv(rows)
    is_known = np.abs(shares @ rows - groups).max(axis=1, initial=0.0) < _NOTHING
    used = [np.flatnonzero(np.abs(share[1:]) > _NOTHING) for share in shares[is_known]]
    return next((int(members[np.argmin(sizes[members])]) for members in used if len(members)), None)


def _apart(parts: BoolArray) -> list[BoolArray]:
    """The strata, their complements, and the intersections and differences of two strata."""
    groups = [*parts, *~parts]
    for first, other in combinations(parts, 2):
        groups += [first & ~other, other & ~first, first & other, ~(first | other)]
    return groups


def _left_over(
    parts: BoolArray, names: list[StratumName], is_shown: BoolArray, division: str
) -> BoolArray:
    """The nodules of the whole that the disclosed strata of a division leave over."""
    is_in = is_shown & np.array([name[0] == division for name in names])
    left: BoolArray = ~parts[is_in].any(axis=0)
    return left
