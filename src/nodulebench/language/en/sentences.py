"""Sentences that say what the numbers say, in English; braces take the values."""

TEXTS = {
    "told.no_rule": "No rule could be applied to {name}: {reasons}.",
    "told.performance": (
        "With all its marks counted, {name} hit {hit} of {nodules} nodules in {cases} cases under "
        "the rule {rule}{recall}."
    ),
    "told.recall": ": recall {recall}",
    "told.false_positives": " at {rate} false positives per case",
    "told.at_point": "This is read at {rate} FP per case.",
    "told.threshold": "Marks with a score below {threshold} do not count there.",
    "told.cpm": (
        "Over the operating points from {low} to {high} false positives per case its mean "
        "sensitivity (CPM) is {cpm}{at_one}."
    ),
    "told.at_one": "; at 1 false positive per case it is {value}",
    "told.all_same": "All algorithms have the same {figure}, {value}.",
    "told.extremes": (
        "By {figure} the highest is {best} with {high} and the lowest {worst} with {low}."
    ),
    "told.overlap": (
        "Their intervals overlap. Since the algorithms were tested on the same cases, only a "
        "paired comparison can say whether they differ."
    ),
    "told.group": "Over {count} algorithms, {figure} is {rules} (mean ± SD).",
    "told.group_rule": "{value} under {rule}",
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
    "told.it": "It",
    "told.missed_most": (
        "{name} missed nodules of {division} {worst} most often, {most}, and of {division} {best} "
        "least often, {least}."
    ),
    "told.misses": "{missed} of {nodules}: {rate}",
    "told.two_overlap": "These two intervals overlap.",
    "told.by_all": "every algorithm",
    "told.by_some": "{some} of {all} algorithms",
    "told.hardest": "Nodules of {division} {worst} are those missed most often by {by}.",
    "told.hardest_of_size": (
        "Within {size} the type missed most often is {worst} for {some} of {all} algorithms."
    ),
    "told.hardest_of_size_all": (
        "Within {size} the type missed most often is {worst} for all {all} algorithms."
    ),
    "told.no_intervals": (
        "The numbers stand without intervals: none were asked for, or none could be made."
    ),
    "told.intervals": (
        "Numbers in brackets are {level} intervals. If the test were repeated on other {unit}s "
        "drawn from the same population, about {level} of intervals made in this way would contain "
        "the true value. They do not speak of other populations, scanners or reference standards."
    ),
}
