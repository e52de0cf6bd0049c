"""The published JSON Schema: what evaluations write fits it, and what is wrong does not."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from generate.evaluation_json import evaluation_json_page, evaluation_schema

from builders.evaluation import evaluation as every_kind_of_result
from builders.made_up import SKILLS, made_up_protocol, made_up_reference, made_up_submission
from builders.report import comparison, group_content, plan, rule_effects
from nodulebench import Evaluation, evaluate, load_protocol
from nodulebench.core.documents.evaluation import evaluation_document, read_evaluation
from nodulebench.core.plans import AcceptanceCriteria, Criterion, TestPlan
from nodulebench.core.protocol import PROTOCOL_NAMES
from nodulebench.evaluation.plans import evaluated_under, freeze_plan
from nodulebench.evaluation.service import with_options

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema (extra 'dev') is not installed")


@pytest.fixture(scope="module")
def fits() -> Any:
    schema = evaluation_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def documents() -> Iterator[dict[str, Any]]:
    """Small evaluations under every published protocol and under one of several rules."""
    reference = made_up_reference(12, 60, 1)
    submission = made_up_submission(reference, SKILLS[0], 1)
    for protocol in (*(load_protocol(name) for name in PROTOCOL_NAMES), made_up_protocol()):
        evaluation = evaluate(reference, [submission], with_options(protocol, bootstraps=5))
        yield evaluation_document(evaluation).to_json()
    criterion = Criterion(metric="recall", rule="center_hit", comparison=">=", limit=0.5)
    stated = AcceptanceCriteria(name="plan", criteria=(criterion,))
    plan = freeze_plan(stated, reference, evaluation.protocol)
    for verdict in (evaluated_under(plan, evaluation), _with_another_cohort(plan, evaluation)):
        yield evaluation_document(verdict).to_json()


def _with_another_cohort(plan: TestPlan, evaluation: Evaluation) -> Evaluation:
    digests = evaluation.digests | {"cohort": "sha256:" + "0" * 64}
    return evaluated_under(plan, replace(evaluation, digests=digests))


def test_every_evaluation_fits_the_schema_and_reads_back(fits: Any) -> None:
    for document in documents():
        content = json.loads(json.dumps(document, allow_nan=False))
        assert [error.message for error in fits.iter_errors(content)] == []
        assert read_evaluation(content, "evaluation.json").to_json() == content


def test_documents_with_a_comparison_a_plan_and_every_kind_of_result_fit(fits: Any) -> None:
    group = group_content(comparisons=[comparison(rule_effects=rule_effects())], plan=plan())
    for content in (group, evaluation_document(every_kind_of_result()).to_json()):
        assert [error.message for error in fits.iter_errors(content)] == []


@pytest.mark.parametrize("key", ["version", "algorithms", "reference"])
def test_a_document_that_lacks_a_key_does_not_fit(fits: Any, key: str) -> None:
    content = group_content()
    del content[key]
    assert not fits.is_valid(content)


def test_infinity_is_the_only_text_for_a_number(fits: Any) -> None:
    content = group_content()
    limit = content["protocol"]["size_limit"]
    assert limit["sweep_mm"][-1] == "inf"
    limit["sweep_mm"][-1] = "much"
    assert not fits.is_valid(content)


def test_the_page_has_every_record_and_links_the_schema() -> None:
    page = evaluation_json_page()
    for name in ("Document", "RuleSummary", "Estimate", "Stratum", "ComparisonDocument"):
        assert f"\n## {name}\n" in page
    assert "{download}`evaluation.schema.json`" in page


def test_a_value_that_was_not_measured_is_null_with_a_reason() -> None:
    for document in documents():
        for place, part in objects(document):
            if part.get("value", 0) is None:
                assert part.get("reason"), place
            counted = [value for value in part.values() if type(value) is int]
            assert all(value >= 0 for value in counted), place


def objects(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a document, with its path."""
    if isinstance(value, dict):
        yield place, value
        for key, item in value.items():
            yield from objects(item, f"{place}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from objects(item, f"{place}[{number}]")
