"""Document -> what stands above a report: its title, what was tested, and the key figures."""

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import decimals, interval, rate, whole
from nodulebench.i18n.translator import Language
from nodulebench.report.key_tables import key_names
from nodulebench.report.sections.summary import leading_result

MOST_NAMED = 3
"""With more algorithms the title says how many there are."""
FIGURES_OF_ALL_MARKS = ("recall", "precision", "fp_per_case")


def title(document: Document, say: Language) -> str:
    """The algorithms' names, or how many there are."""
    names = [one.name for one in document.algorithms]
    if len(names) <= MOST_NAMED:
        return say.joined(names)
    return say("page.algorithms", count=len(names))


def facts(document: Document, say: Language) -> list[tuple[str, str]]:
    """What was tested, on what and how, for the top of the page."""
    reference = document.reference
    patients = reference.patients
    counts = [result.counts for _, _, result in document.results if not result.undefined]
    nodules = [one["nodules"] for one in counts] or [0]
    rules = [say.word(rule.name) for rule in document.protocol.rules]
    found = [
        ("test_set", reference.name),
        ("cases", _counted(reference.cases)),
        ("patients", _counted(patients if patients != reference.cases else None)),
        ("nodules", _span(min(nodules), max(nodules), say)),
        ("rule" if len(rules) == 1 else "rules", say.listed(rules)),
        ("protocol", document.protocol.title or document.protocol.name),
    ]  # fmt: skip
    return [(say(f"fact.{name}"), fact) for name, fact in found if fact]


def _span(low: int, high: int, say: Language) -> str:
    return whole(low) if low == high else say("span", low=whole(low), high=whole(high))


def _counted(value: int | None) -> str:
    return "" if value is None else whole(value)


def headline(document: Document, say: Language) -> list[tuple[str, str, str, str]]:
    """Title, value, interval and meaning of the key figures, for one algorithm under one rule."""
    if len(list(document.results)) != 1:
        return []
    found = leading_result(document, document.algorithms[0])
    if found is None:
        return []
    names = key_names(document)
    point = document.protocol.operating_point
    remark = say("headline.all_marks") if "cpm" in names else ""
    if point is not None:
        remark = say("headline.at_point", rate=rate(point))
    elif document.has_declared_points:
        remark = say("headline.at_declared")
    return [
        (
            say.figure(name).title,
            decimals(figure.value),
            interval(figure),
            say.figure(name).meaning + (remark if name in FIGURES_OF_ALL_MARKS else ""),
        )
        for name in names
        if (figure := found[1].figure(name)) and figure.value is not None
    ]
