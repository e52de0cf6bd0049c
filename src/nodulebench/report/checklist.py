"""Document -> a reporting checklist after STARD 2015 / STARD-AI and CLAIM, filled where possible.

Topics are in our own words; the numbers lead to the items of the published checklists.
"""

from collections.abc import Callable

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import UNDEFINED, rate, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Table, head, words
from nodulebench.report.methods import interval_words
from nodulebench.report.pages.cells import Cell

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


def checklist_table(document: Document, translate: Translator) -> Table:
    """Every topic with the answer of this report, or that it is not known here."""
    rows = []
    for topic, stard, claim in ITEMS:
        answer = _answer(topic, document, translate)
        cell = (
            words(answer) if answer else Cell(translate("checklist.not_known"), kind="words open")
        )
        named = head(translate(f"check.{topic}"))
        rows.append([named, words(stard or UNDEFINED), words(claim or UNDEFINED), cell])
    heads = [words(translate(f"checklist.{key}")) for key in ("topic", "stard", "claim", "answer")]
    return Table(translate("checklist.caption"), heads, rows, remark=translate("checklist.remark"))


def _answer(topic: str, document: Document, translate: Translator) -> str:
    if topic in STATED:
        return translate(f"answer.{topic}")
    return ANSWERS[topic](document, translate) if topic in ANSWERS else ""


def _names(document: Document, translate: Translator) -> str:
    return translate.listed(algorithm.name for algorithm in document.algorithms)


def _objective(document: Document, translate: Translator) -> str:
    if document.plan is not None:
        return translate("answer.objective_plan", name=document.plan.name)
    return translate("answer.objective")


def _data_source(document: Document, translate: Translator) -> str:
    reference = document.reference
    return translate("answer.data_source", name=reference.name, cases=whole(reference.cases))


def _index_version(document: Document, translate: Translator) -> str:
    stated = [
        f"{algorithm.name} {algorithm.facts['version']}"
        for algorithm in document.algorithms
        if "version" in algorithm.facts
    ]
    has_digests = all(algorithm.digest for algorithm in document.algorithms)
    versions = translate("answer.index_version", names=translate.listed(stated)) if stated else ""
    return f"{versions} {translate('answer.index_digest')}".strip() if has_digests else versions


def _threshold(document: Document, translate: Translator) -> str:
    threshold, point = document.protocol.score_threshold, document.protocol.operating_point
    if point is not None:
        return translate("answer.threshold_at", rate=rate(point))
    if threshold is None and document.has_declared_points:
        return translate("answer.threshold_declared")
    if threshold is None:
        return translate("answer.threshold_none")
    return translate("answer.threshold", threshold=f"{threshold:g}")


def _reference_standard(document: Document, translate: Translator) -> str:
    rule = document.reference.rule
    return translate("answer.reference_standard", rule=translate.word(rule)) if rule else ""


def _indeterminate(document: Document, translate: Translator) -> str:
    ignored = document.reference.ignored_findings
    return translate("answer.indeterminate", count=whole(ignored)) if ignored is not None else ""


def _subgroups(document: Document, translate: Translator) -> str:
    strata = document.protocol.strata
    return (
        translate("answer.subgroups", strata=translate.listed(map(translate.stratum, strata)))
        if strata
        else ""
    )


def _prespecified(document: Document, translate: Translator) -> str:
    plan = document.plan
    if plan is None:
        return translate("answer.no_plan")
    key = "answer.plan" if plan.matches else "answer.plan_differs"
    return translate(key, name=plan.name, when=plan.frozen_at)


def _fairness(document: Document, translate: Translator) -> str:
    wanted = [stratum for stratum in document.protocol.strata if stratum in ("sex", "age", "site")]
    return (
        translate("answer.fairness", strata=translate.listed(map(translate.stratum, wanted)))
        if wanted
        else ""
    )


def _errors(document: Document, translate: Translator) -> str:
    has_cases = any(result.extras.get("worst_cases") for _, _, result in document.results)
    return translate("answer.errors" if has_cases else "answer.errors_strata")


STATED = (
    "design", "goal", "missing_data", "blinding_index", "hit_criterion", "metrics", "counts",
    "estimates", "protocol", "software",
)  # fmt: skip
"""Topics with the same answer in every evaluation."""
ANSWERS: dict[str, Answer] = {
    "title": lambda document, translate: translate(
        "answer.title", names=_names(document, translate)
    ),
    "objective": _objective,
    "data_source": _data_source,
    "index_test": lambda document, translate: translate(
        "answer.index_test", names=_names(document, translate)
    ),
    "index_version": _index_version,
    "threshold": _threshold,
    "reference_standard": _reference_standard,
    "uncertainty": lambda document, translate: interval_words(
        document.protocol.interval, translate
    ),
    "indeterminate": _indeterminate,
    "subgroups": _subgroups,
    "prespecified": _prespecified,
    "flow": lambda document, translate: translate(
        "answer.flow", cases=whole(document.reference.cases)
    ),
    "characteristics": lambda document, translate: (
        translate("answer.characteristics") if document.reference.diameters else ""
    ),
    "errors": _errors,
    "fairness": _fairness,
}
"""Topics that the evaluation answers; the others are for the laboratory or the developer."""
