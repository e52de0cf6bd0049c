"""Codes -> what a plan was asked and what it assumes, in English."""

NOTICES = {
    # what was asked
    "ask_sensitivity": (
        "How many nodules give a sensitivity of {sensitivity:g} to ± {half_width:g}?"
    ),
    "ask_acceptance": "What test shows a sensitivity above {unacceptable:g}?",
    "ask_paired": (
        "How many nodules show that two algorithms differ[ by no more than a loss of {margin:g}]?"
    ),
    "ask_false_positives": (
        "How many cases give {rate:g} false positives per case to ± {half_width:g}?"
    ),
    "ask_fewer_false_positives": (
        "What test shows fewer than {unacceptable:g} false positives per case?"
    ),
    "ask_area": "How many positives give an area of {auc:g} to ± {half_width:g}?",
    "ask_areas": "How many positives tell areas of {baseline:g} and {expected:g} apart?",
    "ask_pilot": "How many {unit} show that it [loses less than {margin:g}|is better]?",
    "ask_readers": ("How many cases must {readers} readers read to find a gain of {difference:g}?"),
    # what is expected
    "assume_near": "The {what} is near {value:g}.",
    "assume_rate": "There are about {rate:g} false positives per case.",
    "assume_areas": (
        "The areas are {baseline:g} and {expected:g}; their estimates correlate with "
        "{correlation:g}."
    ),
    "assume_difference": "The sensitivities differ by {difference:g}.",
    "assume_discordance": (
        "A share of {discordance:g} of the nodules is found by exactly one algorithm."
    ),
    "assume_pilot_difference": (
        "The difference is {difference:.4g}, as {is_assumed:True=assumed|*=in the pilot set}."
    ),
    "may_pass": (
        "A {what:rate=device with|*=sensitivity of} {value:g}{what:rate= per case|*=} may pass "
        "with probability {alpha:g} at most."
    ),
    "shall_pass": (
        "A {what:rate=device with|*=sensitivity of} {value:g}{what:rate= per case|*=} shall pass "
        "with probability {power:g} at least."
    ),
    # how things vary
    "one_nodule_each": "Every patient has one nodule; where they have more, say so.",
    "several_nodules_each": (
        "A patient has {mean:g} nodules on average, standard deviation {sd:.4g}"
        "{is_sd_assumed:True= (assumed: geometric)|*=}, which correlate with {correlation:g}"
        "{is_correlation_assumed:True= (assumed)|*=}: design effect {effect:.4g}."
    ),
    "nodules_independent": (
        "Nodules are independent: take one per patient, or multiply by the design effect."
    ),
    "cases_independent": "Cases are independent.",
    "negatives_for_each": ("There are {ratio:g} negatives for each positive, all independent."),
    "scores_spread": (
        "Scores are {variance:hanley_mcneil=exponential in both groups (Hanley and McNeil)|"
        "obuchowski=normal with equal spread in both groups (Obuchowski)}."
    ),
    "counts_spread": (
        "Counts per case [are negative binomial with variance rate + {dispersion:g} rate^2|"
        "vary as Poisson counts; real ones often vary more]."
    ),
    "like_the_pilot": (
        "{unit:patients=Patients|cases=Cases} are like the {units} of the pilot set."
    ),
    "like_the_pilot_study": (
        "Readers and cases vary as in the pilot study of {cases} cases, with the same share of "
        "abnormal ones."
    ),
    "all_read_all": "All {readers} readers read all cases with and without the aid.",
    # how it is decided
    "interval_normal": (
        "{of:rate=Cases are independent; the|*=The} interval is normal at level {level:g}"
        "{of:sensitivity=; near 0 or 1 it is too short|pilot= with the simulated standard error|"
        "*=}."
    ),
    "test_sided": "The test is {sides:1=one|2=two}-sided at {alpha:g}.",
    "test_of_readers": ("The test is two-sided at {alpha:g}, for random readers and random cases."),
    "power_not_monotone": (
        "Power is not monotone in size; sizes just above the answer may have a little less."
    ),
    "power_simulated": ("Power is known to ± {error:.2g} from {simulations} simulated test sets."),
    # sizes that are measured with error
    "sizes_exponential": (
        "Sizes of at least {minimum_mm:g} mm are exponential, {excess_mm:g} mm above it on average."
    ),
    "sizes_observed": "Sizes are those of {count} nodules of {file}.",
    "size_error_normal": (
        "Reported size = true size + normal error, mean {mean_mm:g}, SD {sd_mm:g} mm."
    ),
    "size_error_observed": (
        "Errors of size are those of {count} nodules of {file}, "
        "[apart at {edges_mm:list} mm|alike at every size]."
    ),
    "any_reported_size": "Sensitivity to nodules of any reported size: {sensitivity:g}.",
}
