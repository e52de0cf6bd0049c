"""Methods, uncertainty and traceability, in English; braces take the values.

``NOTICES`` says by code how an interval, a test or a size of a test was made.
"""

TEXTS = {
    "rules.caption": "Rules: what counts as a hit",
    "rules.hit": "A hit",
    "rules.parameters": "Parameters",
    "rules.as_published": "as published",
    "protocol.caption": "Protocol, effective values",
    "protocol.name": "Protocol",
    "protocol.source": "Source",
    "protocol.test_set": "Test set",
    "protocol.rule_not_stated": "not stated by the test set",
    "protocol.reference_rule": "Rule of the reference standard",
    "protocol.intended_use": "Intended use",
    "protocol.size_limit": "Size limit",
    "protocol.assignment": "Assignment of marks to nodules",
    "protocol.duplicates": "Further marks on a nodule",
    "protocol.scored_marks": "Marks judged",
    "protocol.score_threshold": "Score threshold",
    "protocol.operating_point": "Read at",
    "protocol.point": (
        "{rate} FP per case: the lowest score threshold of each algorithm with no more of them. "
        "Counts, recall, precision, misses and strata are those of the marks above it; curves have "
        "every mark. Intervals hold the threshold fixed."
    ),
    "protocol.operating_points": "Operating points",
    "protocol.reading": "Reading of the curve",
    "protocol.size_bins": "Size bins",
    "protocol.smallest_stratum": "Smallest stratum with a rate",
    "protocol.intervals": "Intervals",
    "protocol.seed": "Seed",
    "protocol.points": "{points} false positives per case",
    "protocol.half_open": "{bins} mm, half-open",
    "protocol.nodules": "{count} nodules",
    "protocol.limit": (
        "nodules of {minimum} mm or more, tolerance {tolerance} mm for size error, "
        "reading '{reading}'"
    ),
    "interpolation.linear": "straight lines between neighbouring points of the curve",
    "interpolation.step": (
        "the best sensitivity reached with no more false positives than allowed"
    ),
    "interpolation.luna16": "as the official LUNA16 program reads it, rounding included",
    "interval.over": "{level}, {method} over {unit}s",
    "interval.guarded": "guarded Bayesian bootstrap (one unseen patient at worst and at best)",
    "interval.percentile": "percentile bootstrap",
    "interval.bca": "bias-corrected and accelerated bootstrap (BCa)",
    "interval.jackknife": "jackknife with normal bounds",
    "interval.luna16": "bootstrap of the official LUNA16 program, bounds by sorted index",
    "interval.none": "none (no bootstrap replicates)",
    "interval.replicates": ", {count} replicates",
    "interval.further": "; further: {others}",
    "interval.sound": (
        ". Shown and judged by: guarded Bayesian bootstrap; bounds by the method above stand beside"
    ),
    "interval.official": (
        ". Shown and judged by: guarded Bayesian bootstrap; the official bounds, which are not "
        "valid where nothing is missed, stand beside"
    ),
    "ties.drop": "marks tied across the cap are dropped",
    "ties.keep": "marks tied across the cap are kept",
    "ties.file_order": "ties are cut in file order",
    "cap.all": "all",
    "cap.best": "the best {count} of each case; {ties}",
    "scope.types": "nodules of type {types}",
    "scope.every_type": "nodules of every type",
    "scope.narrowed": ", narrowed to the types each algorithm is declared for",
    "scope.others_ignored": "; others are ignore regions",
    "terms.caption": "Names of the metrics in IEEE 2802-2022",
    "terms.here": "Here",
    "terms.term": "IEEE 2802-2022",
    "remarks.caption": "How the rules were applied",
    "facts.caption": "Declared by the developers",
    "identity.caption": "Identity",
    "identity.submission": "Submission {name}",
    "identity.no_file": "none: not read from a file",
    "uncertainty.caption": "Expanded uncertainty of the key metrics",
    "uncertainty.remark": (
        "Half the width of the {level} interval, and its reach to both sides: how far the metric "
        "would move with other cases of the same population. The other sources of uncertainty "
        "are listed below."
    ),
    "uncertainty.value": "Value",
    "uncertainty.half_width": "Half-width",
    "uncertainty.sides": "To below / above",
    "sources.caption": "Sources of uncertainty",
    "sources.source": "Source",
    "sources.treated": "How it is treated here",
    "sources.in_interval": "In the intervals",
    "source.sampling": "Choice of the cases",
    "source.sampling_text": "{how}.",
    "source.sampling_in": "yes",
    "source.rule": "Rule for a hit",
    "source.rule_text": (
        "Results are given under every rule; recall differs between rules by up to {largest}."
    ),
    "source.rule_single": "One rule was applied. Results hold for it alone.",
    "source.rule_in": "no, shown apart",
    "source.order": "Order of assignment",
    "source.order_text": (
        "Hits change by up to {largest} with the order in which nodules are matched."
    ),
    "source.order_in": "no, shown apart",
    "source.reference": "Reference standard",
    "source.reference_text": (
        "Findings of readers, joined by the rule “{rule}”. How readings differ between readers, "
        "or on another day, is not measured by this test."
    ),
    "source.reference_in": "no",
    "source.size": "Measured sizes",
    "source.size_text": (
        "Diameters are taken as the reference states them. Nodules near a cut between sizes may "
        "belong to the neighbouring stratum."
    ),
    "source.size_swept": (
        "Diameters are taken as the reference states them; how results change with a tolerance "
        "for size error is shown under further analyses."
    ),
    "source.size_in": "no",
    "source.replicates": "Number of replicates",
    "source.replicates_text": (
        "{count} replicates from the seed {seed}; the same seed gives the same bounds."
    ),
    "source.replicates_in": "not needed: repeatable",
    "source.algorithm": "Repeatability of the algorithm",
    "source.algorithm_text": (
        "One set of marks was judged. Whether the algorithm gives it again is not known here."
    ),
    "source.algorithm_in": "no",
    "source.computing": "Computing",
    "source.computing_text": (
        "Counts are whole numbers and curves are kept in full; the same inputs and the same "
        "version give the same numbers. The program is checked against the official LUNA16 "
        "program, independent software and published values."
    ),
    "source.computing_in": "not needed: repeatable",
    "trace.caption": "Traceability: what every number goes back to",
    "trace.step": "Step",
    "trace.identity": "Identity",
    "trace.remark": (
        "“nodulebench verify” recomputes every number from the labels, the tables and the "
        "protocol, and says what differs."
    ),
    "trace.report": "This report shows",
    "trace.metrics": "computed by",
    "trace.protocol": "under the protocol",
    "trace.labels": "from the labels of the marks",
    "trace.marks": "made from the marks of {name}",
    "trace.reference": "and the findings of the reference standard",
    "trace.cohort": "on the cases",
    "trace.plan": "as the test plan fixed before",
    "trace.withheld": "withheld: known to the laboratory",
    "sketch.luna16": "The mark (square) lies within the nodule's radius of its centre, in 3-D.",
    "sketch.center_hit": "The centre of the mark's box lies inside the nodule's outline.",
    "sketch.center_distance": "The centres of both boxes are closer than the average radius.",
    "sketch.area_overlap": "The mark's box covers more than half of the nodule's box.",
    "sketch.remark": "Solid: the nodule; dashed box or square: the mark; one slice is shown.",
    "course.title": "The course of the test",
    "course.design": "Design: {protocol}",
    "course.plan": "acceptance criteria fixed in a plan",
    "course.collection": "Collection: scans of {name}",
    "course.cleaning": "Cleaning: {cases} cases of {patients} patients remain",
    "course.cleaning_cases": "Cleaning: {cases} cases remain",
    "course.annotation": "Annotation: {nodules} nodules, reference rule: {rule}",
    "course.ignored": "{count} findings that count neither way",
    "course.release": "Release: the reference is fixed, digest {digest}",
    "course.test": "Test: {algorithms} algorithm(s), rules: {rules}",
    "flow.title": "Matching, nodule by nodule",
    "flow.next": "Take the next nodule of the reference",
    "flow.qualifies": "Does a free mark meet the rule on any slice?",
    "flow.missed": "the nodule is missed; go on below",
    "flow.best": "Of several marks, take the best",
    "flow.hit": "The mark is a hit and is no longer free",
    "flow.more": "Are there more nodules in the case?",
    "flow.again": "from the top",
    "flow.rest": "Marks that are still free are false positives",
    "flow.best_center_hit": "Best under {rule}: nearest to the nodule's largest slice.",
    "flow.best_center_distance": "Best under {rule}: the shortest distance.",
    "flow.best_area_overlap": "Best under {rule}: the largest share covered.",
}

NOTICES = {
    # intervals
    "guarded_bootstrap": (
        "guarded Bayesian bootstrap over {unit}s, {replicates} replicates (one unseen patient with "
        "all nodules missed / found, prior ICC {icc:g})"
    ),
    "guarded_paired_bootstrap": (
        "guarded Bayesian bootstrap over {unit}s, paired, {replicates} replicates (one unseen "
        "patient, prior ICC {icc:g})"
    ),
    "bayesian_paired_bootstrap": "Bayesian bootstrap over {unit}s, paired, {replicates} replicates",
    "bayesian_bootstrap": "Bayesian bootstrap over {unit}s, {replicates} replicates",
    "percentile_bootstrap": "percentile bootstrap over {unit}s, {replicates} replicates",
    "bca_bootstrap": "BCa bootstrap over {unit}s, {replicates} replicates",
    "luna16_bootstrap": (
        "LUNA16 bootstrap over scans, {replicates} replicates, sorted-index bounds"
    ),
    "jackknife": "jackknife over {unit}s, normal",
    "clopper_pearson": "Clopper-Pearson over {unit}s",
    "paired_bootstrap": "paired bootstrap, percentile",
    "ratio_estimator": "ratio estimator over patients, normal",
    "kendall_tau": "Kendall's tau-b over replicates, percentile",
    "delong": "DeLong, normal",
    "obuchowski_clustered": "Obuchowski 1997 (clustered), normal",
    # tests
    "guarded_against_margin": (
        "{level:.0%} two-sided guarded interval against the margin, {better} is better"
    ),
    "interval_against_margin": (
        "{level:.0%} two-sided percentile interval against the margin, {better} is better"
    ),
    "permutation_test": (
        "permutation test, [{swaps} random|all] swaps of algorithm labels by unit"
    ),
    "tied_with_leader": (
        "From the best value down, an algorithm joins the group of the leader above it unless "
        "their paired difference is significant after the adjustment over all pairs; then it "
        "leads the next group. Members of one group share its order only by the luck of this "
        "sample."
    ),
    "mcnemar_exact": "McNemar test (exact)",
    "mcnemar_durkalski": "McNemar test for clusters (Durkalski 2003)",
    "mcnemar_obuchowski": "McNemar test for clusters (Obuchowski 1998)",
    "mcnemar_eliasziw_donner": "McNemar test for clusters (Eliasziw and Donner 1991)",
    "one_way_anova": "one-way analysis of variance (independent groups)",
    "repeated_anova": "repeated-measures analysis of variance",
    "repeated_anova_corrected": (
        "repeated-measures analysis of variance (Greenhouse-Geisser corrected)"
    ),
    "friedman": "Friedman test",
    "unpaired_t": "unpaired t-test (pooled variance)",
    "paired_t": "paired t-test",
    "wilcoxon_exact": "Wilcoxon signed-rank test (exact)",
    "wilcoxon_normal": "Wilcoxon signed-rank test (normal approximation)",
    "obuchowski_rockette": "Obuchowski-Rockette, {covariance} covariance, {kind:word}",
    # agreement of readers
    "positive_agreement": "positive agreement",
    "jackknife_over_subjects": "{of}, jackknife over subjects",
    "cohen_kappa": "Cohen's kappa[, {weights:word} weights], normal",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
    "krippendorff_alpha": "Krippendorff's alpha, {scale}",
    "icc": "ICC({form}), Shrout and Fleiss 1979",
    "mean_difference_t": "mean difference, t",
    "limit_of_agreement": "limit of agreement ({share:.0%}), Bland and Altman 1999",
    "lin_concordance": "Lin's concordance correlation",
    "lin_concordance_z": "Lin's concordance correlation, Fisher's z",
    # sample sizes
    "normal_interval_of_proportion": "normal interval of a proportion with design effect",
    "normal_interval_of_mean": "normal interval of a {family:word} mean",
    "normal_interval_of_area": (
        "normal interval, {variance:hanley_mcneil=Hanley-McNeil 1982|obuchowski=Obuchowski 1994} "
        "variance"
    ),
    "normal_test_of_areas": (
        "normal test of two areas, {variance:hanley_mcneil=Hanley-McNeil 1982|"
        "obuchowski=Obuchowski 1994} variance"
    ),
    "exact_acceptance": "exact {family:word} acceptance test",
    "mcnemar_connor": "McNemar test, normal approximation (Connor 1987)",
    "paired_non_inferiority": (
        "non-inferiority of paired proportions, normal approximation (Liu 2002)"
    ),
    "obuchowski_rockette_power": (
        "Obuchowski-Rockette power (Hillis, Obuchowski and Berbaum 2011)"
    ),
    "pilot_bootstrap": "bootstrap of a pilot set to larger sizes",
}
