"""Document -> a reporting checklist after STARD 2015 / STARD-AI and CLAIM, filled where possible.

Topics are in our own words; the numbers lead to the items of the published checklists.
"""

from collections.abc import Callable

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import UNDEFINED, rate, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Table, head, words
from nodulebench.report.pages.cells import Cell
from nodulebench.report.sections.methods import interval_words

Answer = Callable[[Document, Translator], str]

ITEMS = (
    ("title", "1", "1"),
    ("background", "3", "3"),
    ("objective", "4", "4"),
    ("design", "5", "5"),
    ("goal", "AI", "6"),
    ("data_source", "7, 8", "7"),
    ("eligibility", "6", "8"),
    ("sampling", "9", "10"),
    ("preprocessing", "AI", "9"),
    ("deidentification", "", "12"),
    ("missing_data", "16", "13"),
    ("index_test", "10a", "22"),
    ("index_version", "AI", "23"),
    ("training_data", "AI", "20, 25"),
    ("independence", "AI", "21"),
    ("threshold", "12a", ""),
    ("reference_standard", "10b", "14"),
    ("reference_rationale", "11", "15"),
    ("readers", "10b", "16"),
    ("annotation_tools", "", "17"),
    ("reader_variability", "17", "18"),
    ("blinding_index", "13a", ""),
    ("blinding_reference", "13b", ""),
    ("hit_criterion", "14", "28"),
    ("metrics", "14", "28"),
    ("uncertainty", "24", "29"),
    ("indeterminate", "15", "13"),
    ("subgroups", "17", "30"),
    ("sample_size", "18", "19"),
    ("prespecified", "12a, AI", ""),
    ("flow", "19", "33"),
    ("characteristics", "20, 21a", "34"),
    ("counts", "23", "35"),
    ("estimates", "24", "36"),
    ("errors", "", "37"),
    ("fairness", "AI", "30"),
    ("explainability", "AI", "31"),
    ("external", "AI", "32"),
    ("limitations", "26", "38"),
    ("implications", "27", "39"),
    ("registration", "28", "40"),
    ("protocol", "29", "41"),
    ("software", "AI", "23"),
    ("funding", "30", "42"),
)
"""Topic, its items in STARD 2015 ("AI": added by STARD-AI) and its items in CLAIM 2020."""


def checklist_table(document: Document, say: Translator) -> Table:
    """Every topic with what this report says of it, or that it is not known here."""
    rows = []
    for topic, stard, claim in ITEMS:
        answer = _answer(topic, document, say)
        told = words(answer) if answer else Cell(say("checklist.not_known"), kind="words open")
        named = head(say(f"check.{topic}"))
        rows.append([named, words(stard or UNDEFINED), words(claim or UNDEFINED), told])
    heads = [words(say(f"checklist.{key}")) for key in ("topic", "stard", "claim", "answer")]
    return Table(say("checklist.caption"), heads, rows, remark=say("checklist.remark"))


def _answer(topic: str, document: Document, say: Translator) -> str:
    if topic in STATED:
        return say(f"answer.{topic}")
    return ANSWERS[topic](document, say) if topic in ANSWERS else ""


def _names(document: Document, say: Translator) -> str:
    return say.listed(algorithm.name for algorithm in document.algorithms)


def _objective(document: Document, say: Translator) -> str:
    if document.plan is not None:
        return say("answer.objective_plan", name=document.plan.name)
    return say("answer.objective")


def _data_source(document: Document, say: Translator) -> str:
    reference = document.reference
    return say("answer.data_source", name=reference.name, cases=whole(reference.cases))


def _index_version(document: Document, say: Translator) -> str:
    stated = [
        f"{algorithm.name} {algorithm.facts['version']}"
        for algorithm in document.algorithms
        if "version" in algorithm.facts
    ]
    has_digests = all(algorithm.digest for algorithm in document.algorithms)
    told = say("answer.index_version", names=say.listed(stated)) if stated else ""
    return f"{told} {say('answer.index_digest')}".strip() if has_digests else told


def _threshold(document: Document, say: Translator) -> str:
    threshold, point = document.protocol.score_threshold, document.protocol.operating_point
    if point is not None:
        return say("answer.threshold_at", rate=rate(point))
    if threshold is None and document.has_declared_points:
        return say("answer.threshold_declared")
    if threshold is None:
        return say("answer.threshold_none")
    return say("answer.threshold", threshold=f"{threshold:g}")


def _reference_standard(document: Document, say: Translator) -> str:
    rule = document.reference.rule
    return say("answer.reference_standard", rule=say.word(rule)) if rule else ""


def _indeterminate(document: Document, say: Translator) -> str:
    ignored = document.reference.ignored_findings
    return say("answer.indeterminate", count=whole(ignored)) if ignored is not None else ""


def _subgroups(document: Document, say: Translator) -> str:
    strata = document.protocol.strata
    return say("answer.subgroups", strata=say.listed(map(say.stratum, strata))) if strata else ""


def _prespecified(document: Document, say: Translator) -> str:
    plan = document.plan
    if plan is None:
        return say("answer.no_plan")
    key = "answer.plan" if plan.matches else "answer.plan_differs"
    return say(key, name=plan.name, when=plan.frozen_at)


def _fairness(document: Document, say: Translator) -> str:
    wanted = [stratum for stratum in document.protocol.strata if stratum in ("sex", "age", "site")]
    return say("answer.fairness", strata=say.listed(map(say.stratum, wanted))) if wanted else ""


def _errors(document: Document, say: Translator) -> str:
    has_cases = any(one.extras.get("worst_cases") for _, _, one in document.results)
    return say("answer.errors" if has_cases else "answer.errors_strata")


STATED = (
    "design", "goal", "missing_data", "blinding_index", "hit_criterion", "metrics", "counts",
    "estimates", "protocol", "software",
)  # fmt: skip
"""Topics of which every evaluation says the same."""
ANSWERS: dict[str, Answer] = {
    "title": lambda document, say: say("answer.title", names=_names(document, say)),
    "objective": _objective,
    "data_source": _data_source,
    "index_test": lambda document, say: say("answer.index_test", names=_names(document, say)),
    "index_version": _index_version,
    "threshold": _threshold,
    "reference_standard": _reference_standard,
    "uncertainty": lambda document, say: interval_words(document.protocol.interval, say),
    "indeterminate": _indeterminate,
    "subgroups": _subgroups,
    "prespecified": _prespecified,
    "flow": lambda document, say: say("answer.flow", cases=whole(document.reference.cases)),
    "characteristics": lambda document, say: (
        say("answer.characteristics") if document.reference.diameters else ""
    ),
    "errors": _errors,
    "fairness": _fairness,
}
"""Topics that an evaluation answers by what it holds; others are for laboratory or developer."""
