"""Sentences that say what the numbers say, in English; braces take the values."""

TEXTS = {
    "told.no_rule": "No rule could be applied to {name}: {reasons}.",
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
    "told.recall": ": recall {recall}",
    "told.false_positives": " at {rate} false positives per case",
    "told.at_point": "Recall, precision and misses are read at {rate} false positives per case.",
    "told.at_declared": "Recall, precision and misses are read at the declared threshold.",
    "told.threshold": "Marks with a score below {threshold} do not count there.",
    "told.all_same": "All algorithms have the same {metric}, {value}.",
    "told.extremes": (
        "By {metric} the highest of {count} algorithms is {best} with {high} and the lowest "
        "{worst} with {low}."
    ),
    "told.not_compared": "Whether this is more than chance was not tested (nodulebench compare).",
    "told.rule_free": (
        "The number of hits of {name} does not depend on the rule: recall is {recall} under each."
    ),
    "told.rule_matters": (
        "What counts as a hit matters for {name}: recall is highest under {highest} ({high}) and "
        "lowest under {lowest} ({low}){relative}."
    ),
    "told.rule_gives": "{rule} gives {change}",
    "told.against": "; measured against {base}, {told}",
    "told.as_many": "as many hits",
    "told.more": "{share}\N{NO-BREAK SPACE}% more hits",
    "told.fewer": "{share}\N{NO-BREAK SPACE}% fewer hits",
    "told.outlier": "The rule matters most for {name}: {rule} gives {change} than {base}.",
    "told.hardest": "Nodules of {division} {worst} are missed most often{by}{left_out}.",
    "told.with_misses": ", {misses}",
    "told.misses": "{missed} of {nodules}: {rate}",
    "told.by_all": " by every algorithm",
    "told.by_some": " by {some} of {all} algorithms",
    "told.left_out": " (too few to rank, below {minimum}: {names})",
    "told.no_intervals": (
        "The numbers stand without intervals: none were asked for, or none could be made."
    ),
    "told.intervals": (
        "Numbers in brackets are {level} intervals. If the test were repeated on other {unit}s "
        "drawn from the same population, about {level} of intervals made in this way would contain "
        "the true value. They do not speak of other populations, scanners or reference standards."
    ),
}
