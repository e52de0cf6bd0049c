"""Codes -> why a statistic is undefined, and what looks at a sealed set mean, in English."""

NOTICES = {
    # agreement of readers
    "nothing_drawn_by_two": "neither reader drew anything",
    "nothing_drawn": "nobody drew anything",
    "no_case_with_two_readers": "no case has two readers",
    "no_trend": "no trend: all or none found, or all in one period",
    "none_rated_by_both": "no subject was rated by both readers",
    "one_class_used": "both readers used one class only, so chance explains everything",
    "ratings_equal": "all ratings are equal, so chance explains everything",
    "ratings_in_one_class": "all ratings fall into one class, so chance explains everything",
    "few_rated_twice": "agreement needs two subjects that two readers rated",
    "no_interval_because": "no interval: {reason}",
    "icc_too_few": "an intraclass correlation needs two subjects and two readers",
    "icc_incomplete": "an intraclass correlation needs every reader on every subject",
    "icc_without_error": "the readers agree without error, so the interval is undefined",
    "limits_too_few": "limits of agreement need two pairs of measurements",
    "concordance_too_few": "concordance needs three pairs of measurements that vary",
    "pairs_alike": "no interval: the pairs are all or none alike",
    "staple_one_sided": "STAPLE needs voxels inside and outside of the outlines",
    # reader studies
    "jackknife_too_few": "the jackknife needs two abnormal and two normal cases",
    "study_too_small": "the analysis needs two treatments and two readers",
    "study_one_reader": "the analysis needs two readers",
    "read_at_several": "'{metric}' is read at several points, not at one",
    "error_not_positive": "the error of the analysis for {kind:word} is not positive",
    "readers_change_alike": "all readers change alike between treatments, so F is undefined",
    "readers_do_not_differ": "the readers do not differ, so the test is undefined",
    # areas under curves
    "one_class_in_roc": "a ROC curve needs positives and negatives",
    "variance_too_few": "the variance needs two units with positives and two with negatives",
    "no_variance_of_difference": "the difference of the areas has no variance",
    "scores_separate": "the scores separate completely: no variance to estimate",
    # comparisons
    "difference_undefined": "the difference, or nearly every replicate of it, is undefined",
    "undefined_for_some": "the metric is undefined for some algorithm under some rule",
    "undefined_for_one": "the metric is undefined for one of the algorithms",
    "undefined_for": "the metric is undefined for {algorithms:list}",
    "undefined_on_pilot": "the metric is undefined for one of the algorithms on the pilot set",
    "undefined_at_size": "the metric is undefined in test sets of {size} {unit}",
    "no_hit_at_baseline": "no nodule is hit under the baseline rule",
    "ranking_too_few": "a ranking needs two algorithms",
    "no_common_replicate": "there are no replicates in which all algorithms are defined",
    "algorithms_equal": "all algorithms have the same value",
    "nothing_in_common": "there are no nodules that both algorithms had to find",
    "nothing_tells_apart": "no nodule tells the algorithms apart",
    "one_patient": "one patient alone has no variance between patients",
    "rule_does_not_apply": "the rule does not apply",
    "reason_for_algorithm": "{algorithm}: {reason}",
    "no_permutation": "no permutation test: {reason}",
    # tests over groups
    "deviation_too_few": "a standard deviation needs at least two values",
    "anova_too_few": "an analysis of variance needs at least two groups",
    "groups_constant": "the groups do not vary inside, so F is undefined",
    "neither_varies": "neither group varies, so t is undefined",
    "friedman_too_few": "Friedman's test needs at least three conditions",
    "conditions_equal": "the conditions never differ, so the rank test is undefined",
    "pairs_equal": "the pairs never differ, so the rank test is undefined",
    "paired_too_few": "a paired test needs at least two units and two conditions",
    "differences_constant": "the differences do not vary between units, so the test is undefined",
    "test_of_rules": (
        "{test:one_way=one-way|repeated=repeated measures|friedman=Friedman}: {reason}"
    ),
    "test_of_two_rules": "{first} against {second}: {reason}",
    # sizes and lungs
    "no_size_errors": "there are no observed size errors",
    "empty_size_class": "size class {number} of {classes} has no observed errors",
    "no_large_nodule": "no nodule reaches the smallest size",
    "no_small_nodule": "no nodule is below the smallest size",
    "no_inner_lung": "no voxel of the lungs is {distance_mm:g} mm away from the pleura",
    "no_window_in_lungs": "no {window} x {window} window lies within the lungs",
    # looks at a sealed set
    "no_evaluation": "there was no look",
    "bad_correlation": "a correlation of {correlation:g} is not between 0 and 1",
    "no_bound_holds": (
        "the feedback tells so much that no bound holds for a developer who adapts to it"
    ),
    "undisclosed_undefined": "undefined",
    "not_a_share": "not between 0 and 1",
    "repeated_evaluation": (
        "This is look {look} at the same cases. The best of {look} equally good submissions "
        "flatters by up to {optimism:.2f} standard errors on average; a lower bound needs "
        "{needed:.2f} instead of {usual:.2f} standard errors."
    ),
    "evaluation_after_failure": (
        "A look before failed over what is in the test set, which is an answer too: a lower bound "
        "needs {needed:.2f} instead of {usual:.2f} standard errors."
    ),
    "repeated_evaluation_unbounded": (
        "This is look {look} at the same cases. The best of {look} equally good submissions "
        "flatters by up to {optimism:.2f} standard errors on average; {reason}."
    ),
}
