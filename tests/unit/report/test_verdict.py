"""The verdict: first on the page, and only where a plan was frozen for this very test."""

from typing import Any

from builders.evaluation import algorithm_result, curves_of, evaluation
from builders.report import criterion, plan, typed
from builders.sentences import sentence_json
from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.i18n.translator import translator
from nodulebench.report.html import render_html
from nodulebench.report.verdict import verdict

TRANSLATE = translator()
EVALUATION = evaluation(algorithm_result("Alpha", (90, 66)))


def document(**changes: Any) -> Document:
    return typed(evaluation_document(EVALUATION).to_json() | {"plan": plan(**changes)})


def rows(**changes: Any) -> list[list[str]]:
    block = verdict(document(**changes), TRANSLATE)
    assert block is not None
    return [
        [cell.text + (f" ({cell.bounds})" if cell.bounds else "") for cell in row]
        for row in block.table.rows
    ]


def test_verdict_comes_before_everything_else() -> None:
    html = render_html(document(), curves_of(EVALUATION))
    assert html.index('<p class="verdict failed">Failed</p>') < html.index("Key metrics</h2>")
    assert html.index('href="#verdict"') < html.index('href="#key"')


def test_without_a_plan_the_verdict_is_left_out() -> None:
    assert verdict(evaluation_document(EVALUATION), TRANSLATE) is None
    assert 'id="verdict"' not in render_html(evaluation_document(EVALUATION), curves_of(EVALUATION))


def test_criteria_say_bound_limit_and_what_was_found() -> None:
    assert rows() == [
        ["Recall, lower bound", "center hit", "≥ 0.7", "0.750 (0.720–0.780)", "✓ yes"],
        ["FP per case, upper bound", "center hit", "≤ 2", "0.750 (0.720–0.780)", "✗ no"],
        ["Miss rate (Nodule type: solid)", "center hit", "≤ 0.5", "0.750 (0.720–0.780)", "✓ yes"],
    ]


def test_plan_is_named_with_its_date_and_digest() -> None:
    block = verdict(document(), TRANSLATE)
    assert block is not None
    assert block.sentences == (
        "2 of 3 acceptance criteria are met.",
        "The criteria are those of the plan “pivotal test” by Test laboratory, frozen "
        f"2026-01-31T12:00:00Z (sha256:{'cd' * 32}).",
    )


def test_of_several_algorithms_the_number_that_passed_is_stated() -> None:
    verdicts = {"A1": "passed", "A2": "failed", "A3": "passed"}
    block = verdict(document(verdicts=verdicts), TRANSLATE)
    assert block is not None
    assert (block.outcome, block.answer) == ("mixed", "2 of 3 algorithms passed")
    assert block.sentences[-2:] == ("Passed: A1, A3.", "Failed: A2.")
    alike = verdict(document(verdicts=dict.fromkeys(verdicts, "failed")), TRANSLATE)
    assert alike is not None
    assert (alike.outcome, alike.answer) == ("failed", "Failed")


def test_other_test_than_planned_says_so_and_has_no_verdict() -> None:
    block = verdict(
        document(
            verdict="undecided",
            matches=False,
            differences=[
                sentence_json("The protocol is not the planned one: planned a, tested b.")
            ],
        ),
        TRANSLATE,
    )
    assert block is not None
    assert block.answer == "Undecided"
    assert block.sentences[2:] == (
        "This is not the planned test, so the plan gives no verdict on it.",
        "The protocol is not the planned one: planned a, tested b.",
    )


def test_undecided_criterion_is_neither_met_nor_missed() -> None:
    undecided = criterion(
        "recall", "low", ">=", 0.7, met=None, value=None, low=None, high=None,
        reason=sentence_json("no nodules to find"),
    )  # fmt: skip
    assert rows(criteria=[undecided])[0][-2:] == ["–", "? undecided"]


def test_reading_of_a_curve_is_named_with_its_point() -> None:
    assert (
        rows(criteria=[criterion("sensitivity_at_fp_rate@1", "value", ">=", 0.8, met=False)])[0][0]
        == "Sensitivity at 1 FP"
    )


def test_several_algorithms_are_listed_by_their_outcome() -> None:
    criteria = [
        criterion("recall", "low", ">=", 0.7, met=True),
        criterion("recall", "low", ">=", 0.7, met=False, algorithm="Beta"),
    ]
    block = verdict(
        document(criteria=criteria, verdicts={"Alpha": "passed", "Beta": "failed"}), TRANSLATE
    )
    assert block is not None
    assert block.sentences[-2:] == ("Passed: Alpha.", "Failed: Beta.")
    assert block.table.heads[0].text == "Algorithm"
