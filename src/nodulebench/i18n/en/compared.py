"""Comparisons between algorithms and between rules, in English; braces take the values."""

TEXTS = {
    "compared.how": (
        "Each algorithm against {baseline}, on the same cases: differences with {level} intervals "
        "from {count} paired resamples of {unit}s. P values are two-sided; adjusted ones are "
        "Holm's over all algorithms and rules."
    ),
    "compared.one_difference": (
        "Against {baseline}, {algorithm} changes {metric} by {difference} under {rule} "
        "(P {p}, adjusted {adjusted})."
    ),
    "compared.margin_result": " With a margin of {margin}: {answer}.",
    "compared.many_differences": (
        "Of {all} algorithms, those with a higher {metric} than {baseline} under {rule} are: "
        "{higher}; those with a lower one: {lower} (adjusted P ≤ {alpha})."
    ),
    "compared.superior": "superior",
    "compared.equivalent": "equivalent",
    "compared.non_inferior": "not inferior",
    "compared.not_shown": "non-inferiority not shown",
    "compared.not_assessable": "not assessable",
    "compared.chart": "Difference in {metric} from {baseline}, {rule}",
    "compared.chart_remark": (
        "Whiskers: {level} intervals. ** adjusted P ≤ 0.01, * ≤ 0.05, ns above."
    ),
    "compared.margin": "margin",
    "compared.margin_of": "Margin {margin}",
    "compared.leading": "Differences in {metric}",
    "compared.all": "All differences from {baseline}",
    "compared.difference": "Difference",
    "compared.p_adjusted": "P adjusted",
    "compared.p_adjusted_hint": "Holm, over all algorithms and rules",
    "compared.p_permutation": "P permutation",
    "compared.p_delong": "P DeLong",
    "missed_by_one.fold": "Nodules missed by one alone: {algorithm} and {baseline}",
    "missed_by_one.caption": "Missed by {missed}, found by {found}",
    "mcnemar.caption": "Nodules found by one of two: each algorithm and {baseline}",
    "mcnemar.both": "Both",
    "mcnemar.algorithm_only": "It alone",
    "mcnemar.baseline_only": "Baseline alone",
    "mcnemar.neither": "Neither",
    "mcnemar.difference": "Difference in recall",
    "mcnemar.p_clustered": "P clustered",
    "mcnemar.p_clustered_hint": "McNemar's test for clusters (Obuchowski 1998)",
    "mcnemar.p_exact": "P exact",
    "mcnemar.p_exact_hint": "McNemar's exact test, as if nodules were independent",
    "rank.chart": "Ranks by {metric}, {rule}",
    "rank.remark": (
        "Whiskers: {level} intervals of the rank over resamples. Algorithms of one group (same "
        "marker) cannot be told from their group's leader."
    ),
    "rank.group_short": "group {group}",
    "rank.caption": "Leaderboard by {metric}, {rule}",
    "rank.rank": "Rank",
    "rank.value": "Value",
    "rank.interval": "Rank interval",
    "rank.first": "First in",
    "rank.group": "Group",
    "rank.ties": (
        "From the best down, an algorithm joins the group of the leader above it unless their "
        "paired difference is significant after adjustment; then it leads the next group."
    ),
    "rank.tau": " Kendall's tau with the order in resamples: {tau} ({bounds}).",
    "effect.caption": "What the rule does to all algorithms",
    "effect.remark": (
        "Mean ± SD over the algorithms. The one-way test treats the rules as independent groups, "
        "as published; the other two use that the same algorithms stand under every rule."
    ),
    "effect.one_way": "P one-way",
    "effect.one_way_hint": "one-way analysis of variance, independent groups",
    "effect.repeated": "P repeated",
    "effect.repeated_hint": "repeated-measures analysis of variance, Greenhouse–Geisser corrected",
    "effect.friedman": "P Friedman",
    "effect.friedman_hint": "Friedman's rank test",
    "effect.pairs_caption": "Pairs of rules",
    "effect.pair": "Rules",
    "effect.mean_difference": "Mean difference, points",
    "effect.unpaired": "P unpaired t",
    "effect.paired": "P paired t",
    "effect.paired_holm": "Holm",
    "effect.wilcoxon": "P Wilcoxon",
    "effect.wilcoxon_holm": "Holm",
    "agreement.chart": "Agreement of the readers",
    "agreement.remark": "Whiskers: intervals; 1 is full agreement, 0 what chance gives.",
    "spread.caption": "{metric} of {name} under other references",
    "spread.reference": "Readers heard by",
    "spread.nodules": "Nodules",
    "spread.hit": "Hit",
    "spread.remark": (
        "From {low} to {high}, depending on how the same readings become a reference; no interval "
        "holds this."
    ),
    "spread.undefined": "Undefined under every reference.",
    "combined.by_candidates": "Merged candidate lists: all combinations",
    "combined.by_scores": "Averaged scores: all combinations",
    "combined.remark": "Filled: members of the combination. The best value stands out.",
    "combined.hits": "Nodules hit",
    "combined.sensitivity": "Sensitivity",
    "combined.cpm": "CPM",
    "combined.best_single": "Best single",
    "combined.difference": "Difference",
    "combined.candidates": "Candidates",
    "combined.candidates_per_case": "Per case",
}
