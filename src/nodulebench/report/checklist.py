"""Document -> a reporting checklist after STARD 2015 / STARD-AI and CLAIM, filled where possible.

Topics are in our own words; the numbers lead to the items of the published checklists.
"""

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import UNDEFINED, rate, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Row, Table, head, words
from nodulebench.report.methods import interval_words
from nodulebench.report.pages.cells import Cell

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


def checklist_table(document: Document, translate: Translator) -> Table | None:
    """Every topic with the answer of this report, or that it is not known here."""
    answers, rows = checklist_answers(document, translate), []
    for topic, stard, claim in ITEMS:
        answer = translate(f"answer.{topic}") if topic in STATED else answers.get(topic)
        unknown = Cell(translate("checklist.not_known"), kind="words open")
        row: Row = {
            "checklist.topic": head(translate(f"check.{topic}")),
            "checklist.stard": words(stard or UNDEFINED),
            "checklist.claim": words(claim or UNDEFINED),
            "checklist.answer": words(answer) if answer else unknown,
        }
        rows.append(row)
    remark = translate("checklist.remark")
    return Table.of(translate("checklist.caption"), rows, translate, remark=remark)


STATED = (
    "design", "goal", "missing_data", "blinding_index", "hit_criterion", "metrics", "counts",
    "estimates", "protocol", "software",
)  # fmt: skip
"""Topics with the same answer in every evaluation."""


def checklist_answers(document: Document, translate: Translator) -> dict[str, str]:
    """The topics that the evaluation answers; others are for the laboratory or the developer."""
    plan, protocol, reference = document.plan, document.protocol, document.reference
    cases, algorithms = whole(reference.cases), document.algorithms
    names = translate.listed(algorithm.name for algorithm in algorithms)
    answers = {
        "title": translate("answer.title", names=names),
        "objective": translate("answer.objective"),
        "data_source": translate("answer.data_source", name=reference.name, cases=cases),
        "index_test": translate("answer.index_test", names=names),
        "uncertainty": interval_words(protocol.interval, translate),
        "prespecified": translate("answer.no_plan"),
        "flow": translate("answer.flow", cases=cases),
    }
    if plan is not None:
        key = "answer.plan" if plan.matches else "answer.plan_differs"
        answers["objective"] = translate("answer.objective_plan", name=plan.name)
        answers["prespecified"] = translate(key, name=plan.name, when=plan.frozen_at)
    versions = []
    if stated := [
        f"{algorithm.name} {algorithm.facts['version']}"
        for algorithm in algorithms
        if "version" in algorithm.facts
    ]:
        versions.append(translate("answer.index_version", names=translate.listed(stated)))
    if all(algorithm.digest for algorithm in algorithms):
        versions.append(translate("answer.index_digest"))
    answers["index_version"] = " ".join(versions)
    threshold, point = protocol.score_threshold, protocol.operating_point
    if point is not None:
        answers["threshold"] = translate("answer.threshold_at", rate=rate(point))
    elif threshold is not None:
        answers["threshold"] = translate("answer.threshold", threshold=f"{threshold:g}")
    else:
        key = "threshold_declared" if document.has_declared_points else "threshold_none"
        answers["threshold"] = translate(f"answer.{key}")
    if reference.rule:
        rule = translate.word(reference.rule)
        answers["reference_standard"] = translate("answer.reference_standard", rule=rule)
    if (ignored := reference.ignored_findings) is not None:
        answers["indeterminate"] = translate("answer.indeterminate", count=ignored)
    if reference.diameters:
        answers["characteristics"] = translate("answer.characteristics")
    fair = [stratum for stratum in protocol.strata if stratum in ("sex", "age", "site")]
    for topic, strata in (("subgroups", protocol.strata), ("fairness", fair)):
        if strata:
            listed = translate.listed(map(translate.stratum, strata))
            answers[topic] = translate(f"answer.{topic}", strata=listed)
    has_cases = any(result.extras.get("worst_cases") for _, _, result in document.results)
    answers["errors"] = translate("answer.errors" if has_cases else "answer.errors_strata")
    return answers
