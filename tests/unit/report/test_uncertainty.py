"""Uncertainty, traceability and checklist: what a laboratory has to state, and what it cannot."""

from dataclasses import replace
from typing import Any

from builders.evaluation import algorithm_result, evaluation
from builders.report import group_document, plan, typed
from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.i18n.translator import translator
from nodulebench.report.checklist import ITEMS, checklist_answers, checklist_table
from nodulebench.report.content import report_content
from nodulebench.report.methods import (
    sources_table,
    terms_table,
    traceability_table,
    uncertainty_table,
)

TRANSLATE = translator()


def content(**changes: Any) -> dict[str, Any]:
    shown = evaluation_document(evaluation(algorithm_result("Alpha", (90, 66))))
    return shown.to_json() | changes


def document(**changes: Any) -> Document:
    return typed(content(**changes))


def rows(table) -> dict[str, list[str]]:
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_expanded_uncertainty_is_half_the_interval() -> None:
    table = uncertainty_table(document(), TRANSLATE)
    assert table is not None
    cells = [[cell.text for cell in row] for row in table.rows]
    assert ["Alpha", "center hit", "Recall", "0.750", "± 0.030", "−0.030 / +0.030"] in cells
    assert "95\N{NO-BREAK SPACE}% interval" in table.remark


def test_without_intervals_the_uncertainty_table_is_left_out() -> None:
    plain = content()
    for result in plain["algorithms"][0]["rules"].values():
        for metric in result.get("metrics", {}).values():
            metric.pop("low", None)
            for reading in metric.values():
                if isinstance(reading, dict):
                    reading.pop("low", None)
    assert uncertainty_table(typed(plain), TRANSLATE) is None


def test_sources_say_what_the_intervals_hold() -> None:
    shown = rows(sources_table(document(), TRANSLATE))
    assert shown["Choice of the cases"][1] == "yes"
    assert shown["Reference standard"][1] == "no"
    # recall 0.750 under center hit, 0.550 under area overlap
    assert "differs between rules by up to 0.200" in shown["Rule for a hit"][0]
    assert "tolerance" in shown["Measured sizes"][0]  # the document has a sweep


def test_order_of_assignment_is_a_source_where_it_was_measured() -> None:
    assert "Order of assignment" not in rows(sources_table(document(), TRANSLATE))
    shown = content()
    extras = shown["algorithms"][0]["rules"]["center_hit"]["extras"]
    extras["order_sensitivity"] = {"in_order": 90, "reversed_order": 87, "optimal": 91}
    assert "up to 4" in rows(sources_table(typed(shown), TRANSLATE))["Order of assignment"][0]


def test_numbers_are_traced_to_their_inputs() -> None:
    shown = rows(traceability_table(document(), TRANSLATE))
    assert shown["made from the marks of Alpha"] == ["sha256:" + "ab" * 32]
    assert shown["and the findings of the reference standard"] == ["sha256:01"]
    assert shown["computed by"] == ["NoduleBench 0.1.0"]
    assert "as the test plan specified in advance" not in shown


def test_plan_is_part_of_the_trace() -> None:
    shown = document(digests=content()["digests"] | {"plan": "sha256:03"})
    assert rows(traceability_table(shown, TRANSLATE))["as the test plan specified in advance"] == [
        "sha256:03"
    ]


def test_metrics_are_named_by_the_standard() -> None:
    table = terms_table(document(), TRANSLATE)
    assert table is not None
    shown = rows(table)
    assert shown["Recall"][0] == "lesion localisation rate"
    assert shown["FP per case"][0] == "non-lesion localisation rate"
    assert "CPM" not in shown  # the standard has no term for it


def test_checklist_answers_what_the_evaluation_knows() -> None:
    shown = rows(checklist_table(document(), TRANSLATE))
    assert len(shown) == len(ITEMS)
    assert shown["What kind of study it is"][2] == "Standalone detection performance of Alpha."
    assert shown["Its version"][2].startswith("Alpha 2.1.")
    assert shown["Subgroups and variability"][2].startswith("By Nodule type, Scanner;")
    assert "no plan was frozen" in shown["Analysis fixed beforehand"][2]


def test_checklist_leaves_open_what_is_unknown() -> None:
    shown = rows(checklist_table(document(), TRANSLATE))
    for topic in ("Its training data", "Readers and their experience", "Funding and interests"):
        assert shown[topic][2] == "not known here; to be stated"
    assert {topic for topic, _, _ in ITEMS} >= set(checklist_answers(document(), TRANSLATE))


def test_checklist_knows_the_plan() -> None:
    shown = document(plan=plan())
    assert (
        "the test is the planned one"
        in rows(checklist_table(shown, TRANSLATE))["Analysis fixed beforehand"][2]
    )
    shown = document(plan=plan(matches=False))
    assert (
        "not the planned test"
        in rows(checklist_table(shown, TRANSLATE))["Analysis fixed beforehand"][2]
    )


def test_fairness_is_answered_only_by_groups_of_people() -> None:
    shown = group_document()
    topic = "Performance across groups of people"
    assert rows(checklist_table(shown, TRANSLATE))[topic][2] == "not known here; to be stated"
    protocol = shown.protocol.model_copy(update={"strata": ("type", "sex")})
    shown = replace(shown, protocol=protocol)
    assert rows(checklist_table(shown, TRANSLATE))[topic][2].startswith("By Sex")


def test_statement_and_checklist_end_the_report() -> None:
    report = report_content(document(), curves=empty_curves())
    assert [section.name for section in report.details][-3:] == [
        "methods",
        "uncertainty",
        "checklist",
    ]


def empty_curves():
    from builders.evaluation import curves_of

    return curves_of(evaluation(algorithm_result("Alpha", (90, 66), has_scores=False)))
