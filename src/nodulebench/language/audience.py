"""Which notices an algorithm's developer may see, and which of their values.

The laboratory sees everything. A code that is not listed here is not shown to developers, and of
one that is, only the values listed: counts, and names that the developer gave or the protocol
gives. Values that name cases, nodules, marks, readers or files, and the score of a single mark,
have no place here; neither have sentences of older documents, which cannot be looked into.
"""

from dataclasses import replace

from nodulebench.model.notice import Notice

FOR_DEVELOPERS: dict[str, tuple[str, ...]] = {
    # why a figure of the own algorithm is undefined
    "no_nodules": (),
    "no_nodules_for_recall": (),
    "nothing_counts": (),
    "neither_nodules_nor_marks": (),
    "no_cases": (),
    "no_normal_case": (),
    "no_normal_case_for": ("figure", "instead"),
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
    "no_malignancy_said": (),
    "no_malignancy_judged": (),
    "few_grades": (),
    "no_nodule_judged": (),
    "no_malignant_judged": (),
    "no_benign_judged": (),
    "none_called_malignant": (),
    "none_malignant": (),
    "no_density_said": (),
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
    "empty_stratum": (),
    "too_few_to_tell": (),
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
    "no_such_figure": (),
    "no_bound": ("bound",),
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
    # the test set and the developer's own marks
    "small_test_set": ("units", "unit", "with_nodules", "fewest", "fewest_with_nodules"),
    "marks_dropped": ("marks", "cases"),
    "headers_dropped": ("count",),
    "marks_repeated": ("marks", "cases"),
    "columns_separated": ("separator", "decimal"),
    "columns_respelt": ("columns",),
    "cases_without_marks": ("count", "cases"),
    "runs_failed": ("runs", "failed", "timed_out"),
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
    # looks at a sealed set
    "no_bound_holds": (),
    "untold_undefined": (),
    "not_a_share": (),
    "look_again": ("look", "optimism", "needed", "usual"),
    "look_again_unbounded": ("look", "optimism", "reason"),
    # how intervals, tests and sizes were made
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
"""What stands for a reason that may not be told."""


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
