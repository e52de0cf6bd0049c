"""Codes -> why a metric or a rule is undefined, in English."""

NOTICES = {
    # metrics
    "no_nodules": "there are no nodules to find",
    "no_nodules_for_recall": "there are no nodules to find, so recall is undefined",
    "nothing_counts": "no mark counts as hit or false positive",
    "neither_nodules_nor_marks": "there are neither nodules nor marks",
    "no_cases": "there are no cases",
    "no_normal_case": "there is no case without nodules",
    "no_normal_case_for": (
        "there is no case without nodules, which {metric:case_roc=the case ROC|lroc=the LROC} "
        "needs[; {instead} needs none]"
    ),
    "no_scores": "the marks have no scores, so there is one operating point, no curve",
    "rate_too_low": "no mark may count at so low a rate",
    "program_stops": "no mark counts; the official program stops with an error (exact count: 0)",
    "program_gives_nan": "no nodule is hit; the official program gives NaN (exact count: 0)",
    "one_kind_only": "all nodules judged are {kind}; a ROC needs both kinds",
    "unpaired": "no found nodule has a {what} in both the reference and the mark",
    "unpaired_category": (
        "no found nodule has a Lung-RADS category in both the reference and the mark"
    ),
    "unpaired_long_axis": "no found nodule has a long axis in both the reference and the mark",
    "unpaired_diameter": "no found nodule has a diameter in both the reference and the mark",
    "one_class_only": (
        "every found nodule has the {what} '{label}' on both sides, so chance agreement is complete"
    ),
    "malignancy_unknown": "the reference calls no nodule benign (0) or malignant (1)",
    "no_stated_malignancy": "no mark says a probability of malignancy",
    "no_rated_malignancy": "no nodule of known malignancy was found with a probability",
    "few_grades": "fewer than two grades of malignancy were found with a probability",
    "no_rated_nodule": "no nodule was judged",
    "no_rated_malignant": "no malignant nodule was judged",
    "no_rated_benign": "no benign nodule was judged",
    "none_called_malignant": "no nodule was called malignant",
    "none_malignant": "no nodule is malignant and none was called so",
    "no_stated_density": "no mark says a density",
    "density_unknown": "the reference knows the density of no nodule",
    "no_found_density": "no found nodule has a density in the reference",
    "no_runs": "the submission has no table of runs",
    "no_timed_run": "no run ended well with a time",
    "no_case_run": "no case of the test set was run",
    "no_area": "no found nodule has an outline or box with an area",
    "no_slices_in_reference": "the reference has no boxes or outlines per slice",
    "no_slices_in_submission": "the submission has no boxes or outlines per slice",
    "no_slices_on_both_sides": "no found nodule has boxes or outlines on both sides",
    # intervals and strata
    "undefined_here": "undefined on these cases",
    "no_interval": "no interval: undefined in {lost} of {replicates} replicates",
    "replicates_lost": "undefined in {lost} of {replicates} replicates, left out",
    "replicates_without_hit": "no hit in {lost} of {replicates} replicates, left out",
    "no_interval_without_hits": "no interval: the replicates have no hits",
    "replicates_equal": "all replicates are equal: exact interval over {count} {unit}s",
    "few_patients": (
        "few {unit}s ({units}): the interval rests mainly on the one unseen patient assumed"
    ),
    "too_few_for_rate": (
        "no interval: {units} {unit}s are too few for a rate without upper limit ({needed} needed)"
    ),
    "approximate_rate": "approximate: a rate without upper limit on {units} {unit}s",
    "too_few_unguarded": "no interval: {units} {unit}s bear on it, {needed} are needed",
    "no_variation": "no interval: no variation was seen",
    "empty_stratum": "nothing to count in this stratum",
    "not_computed": "not computed",
    "too_few_to_tell": "too few to be told",
    "tells_few": "not told, because fewer nodules could be worked out from it than may be told",
    "withheld": "not told",
    # rules
    "no_boxes_in_submission": "{rule} needs boxes per slice; the submission is a list of points",
    "no_boxes_in_reference": "{rule} needs boxes per slice; the reference is a list of points",
    "nodules_unmeasured": (
        "a size limit needs the diameter of every nodule; {count} were not measured"
    ),
    "marks_unmeasured": (
        "a size limit needs the diameter of every mark; {count} of {marks} have none[, first "
        "mark '{mark}' of case '{case}']"
    ),
    "no_size_limit": "protocol '{protocol}' has no size limit",
    "no_hit_to_compare": "no nodule is hit under the rule that the comparison starts from",
    "rule_not_applied": "the rule {rule} was not applied",
    "rule_not_applicable": "the rule {rule} could not be applied: {reason}",
    # plans
    "not_planned": "the test was not the planned one",
    "plan_undecided": (
        "at least one criterion could not be decided on this test set; the laboratory has the "
        "reason"
    ),
    "no_such_metric": "the evaluation has no such metric",
    "not_assessable": (
        "not assessable: cannot be met with {units} {unit}s even by a perfect result[; at least "
        "{needed} are needed]"
    ),
    "no_bound": "there is no {bound} bound",
    "gate_closed": "not tested: not all criteria of the family '{family}' were met",
    "lost_by_adjustment": (
        "met alone[ (P {p_value:.2g})], but not beside the others of its family (adjusted P "
        "{adjusted:.2g}, allowed {alpha:.2g})"
    ),
}
