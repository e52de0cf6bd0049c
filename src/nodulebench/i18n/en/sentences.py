"""Sentences that say what the numbers say, in English; braces take the values."""

TEXTS = {
    "narrative.no_rule": "No rule could be applied to {name}: {reasons}.",
    "lead.passed": "The plan “{plan}” is met by {name}.",
    "lead.failed": "The plan “{plan}” is not met by {name}.",
    "lead.undecided": "The plan “{plan}” gives no verdict on {name}.",
    "lead.tested": "{nodules} nodules in {cases} cases of {test_set}",
    "lead.cpm": (
        "{name} reaches a CPM of {cpm}: its mean sensitivity at {low} to {high} false positives "
        "per case, on {tested}."
    ),
    "lead.recall": "{name} finds {hit} of {tested}{recall}{falses}.",
    "lead.more": "{name} finds more than {baseline}: {metric} {difference}, P {p}.",
    "lead.fewer": "{name} finds fewer than {baseline}: {metric} {difference}, P {p}.",
    "lead.higher": "{name} has a higher {metric} than {baseline}: {difference}, P {p}.",
    "lead.lower": "{name} has a lower {metric} than {baseline}: {difference}, P {p}.",
    "lead.alike": (
        "No difference between {name} and {baseline} was shown: {metric} {difference}, P {p}."
    ),
    "narrative.recall": ": recall {recall}",
    "narrative.false_positives": " at {rate} false positives per case",
    "narrative.at_point": (
        "Recall, precision and misses are read at {rate} false positives per case."
    ),
    "narrative.at_declared": "Recall, precision and misses are read at the declared threshold.",
    "narrative.threshold": "Marks with a score below {threshold} do not count there.",
    "narrative.all_same": "All algorithms have the same {metric}, {value}.",
    "narrative.extremes": (
        "By {metric} the highest of {count} algorithms is {best} with {high} and the lowest "
        "{worst} with {low}."
    ),
    "narrative.not_compared": (
        "Whether this is more than chance was not tested (nodulebench compare)."
    ),
    "narrative.rule_free": (
        "The number of hits of {name} does not depend on the rule: recall is {recall} under each."
    ),
    "narrative.rule_matters": (
        "What counts as a hit matters for {name}: recall is highest under {highest} ({high}) and "
        "lowest under {lowest} ({low}){relative}."
    ),
    "narrative.rule_gives": "{rule} gives {change}",
    "narrative.against": "; measured against {base}, {changes}",
    "narrative.as_many": "as many hits",
    "narrative.more": "{share}\N{NO-BREAK SPACE}% more hits",
    "narrative.fewer": "{share}\N{NO-BREAK SPACE}% fewer hits",
    "narrative.outlier": "The rule matters most for {name}: {rule} gives {change} than {base}.",
    "narrative.hardest": "Nodules of {division} {worst} are missed most often{by}{left_out}.",
    "narrative.with_misses": ", {misses}",
    "narrative.misses": "{missed} of {nodules}: {rate}",
    "narrative.by_all": " by every algorithm",
    "narrative.by_some": " by {some} of {all} algorithms",
    "narrative.left_out": " (too few to rank, below {minimum}: {names})",
    "narrative.no_intervals": (
        "The numbers stand without intervals: none were asked for, or none could be made."
    ),
    "narrative.intervals": (
        "Numbers in brackets are {level} intervals. If the test were repeated on other {unit}s "
        "drawn from the same population, about {level} of intervals made in this way would contain "
        "the true value. They do not speak of other populations, scanners or reference standards."
    ),
}
