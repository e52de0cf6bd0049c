import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.tables import case, nodule, protocol, reference
from nodulebench.core.errors import InputError
from nodulebench.core.plans import AcceptanceCriteria, Criterion
from nodulebench.core.protocol import IntervalChoice, SizeLimit
from nodulebench.evaluation.plans import (
    freeze_plan,
    plan_document,
    read_criteria,
    read_plan,
    write_plan,
)
from nodulebench.io.manifests import table_digest

NOON = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)
TEST_SET = reference(case("a", nodule(8, type="solid"), vendor="X"), case("b", vendor="Y"))
PROTOCOL = protocol(
    metrics=("recall", "f_beta", "cpm"), strata=("vendor",), interval=IntervalChoice(bootstraps=9)
)
WRITTEN = """
name = "acceptance"
author = "Test laboratory"

[[criteria]]
metric = "recall"
rule = "luna16"
bound = "low"
comparison = ">="
limit = 0.8
"""


def stated(**fields) -> AcceptanceCriteria:
    given = {"metric": "recall", "rule": "luna16", "comparison": ">=", "limit": 0.8}
    return AcceptanceCriteria(name="acceptance", criteria=(Criterion(**(given | fields)),))


def refused(chosen=PROTOCOL, **fields) -> list[str]:
    with pytest.raises(InputError) as caught:
        freeze_plan(stated(**fields), TEST_SET, chosen)
    return str(caught.value).splitlines()


def test_a_plan_ties_criteria_to_protocol_cases_and_findings() -> None:
    plan = freeze_plan(stated(), TEST_SET, PROTOCOL, at=NOON)
    assert plan.digests.protocol == PROTOCOL.digest
    assert plan.digests.cohort == table_digest(TEST_SET.cases)
    assert plan.digests.reference == table_digest(TEST_SET.nodules, TEST_SET.slices)
    assert (plan.test_set, plan.cases, plan.protocol) == ("test", 2, PROTOCOL)
    assert plan.frozen_at == datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_a_plan_tells_nothing_of_the_reference_but_names_and_digests() -> None:
    text = json.dumps(plan_document(freeze_plan(stated(), TEST_SET, PROTOCOL)))
    assert "n0" not in text
    assert "vendor" in text  # the protocol's stratum, but none of its values
    assert '"X"' not in text


def test_a_plan_reads_back_the_same(tmp_path: Path) -> None:
    limit = SizeLimit(minimum_mm=4, sweep_mm=(0, float("inf")))
    plan = freeze_plan(stated(), TEST_SET, PROTOCOL.model_copy(update={"size_limit": limit}))
    write_plan(plan, tmp_path / "plan.json")
    read = read_plan(tmp_path / "plan.json")
    assert read == plan
    assert read.digest == plan.digest
    assert read.protocol.digest == plan.digests.protocol


def test_a_plan_that_was_changed_is_refused_with_both_digests(tmp_path: Path) -> None:
    plan = freeze_plan(stated(), TEST_SET, PROTOCOL)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan_document(plan)).replace('"limit": 0.8', '"limit": 0.7'))
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert str(caught.value).startswith(
        f"{path}: was changed after it was frozen: it states the digest {plan.digest}, "
        "its content has sha256:"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "has the schema 'None', not 'nodulebench/test-plan@1'."),
        ('{"schema": "nodulebench/evaluation@1"}', "has the schema 'nodulebench/evaluation@1'"),
        ('{"schema": "nodulebench/test-plan@1"}', "field 'name': Field required"),
    ],
)
def test_other_files_are_not_plans(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["criteria.toml", "criteria.json"])
def test_criteria_are_read_from_toml_or_json(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(WRITTEN)
    if path.suffix == ".json":
        fields = {"metric": "recall", "rule": "luna16", "bound": "low", "limit": 0.8}
        criteria = [fields | {"comparison": ">="}]
        path.write_text(
            json.dumps({"name": "acceptance", "author": "Test laboratory", "criteria": criteria})
        )
    read = read_criteria(path)
    assert (read.name, read.author) == ("acceptance", "Test laboratory")
    assert read.criteria[0].bound == "low"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (WRITTEN.replace(">=", ">"), "field 'criteria.0.comparison': Input should be '>=' or '<='"),
        (WRITTEN + "limits = 1", "field 'criteria.0.limits': is unknown"),
        ('name = "x"', "field 'criteria': Field required"),
        ("name = ", "is not valid TOML"),
        (b"\xff", "cannot be read as text"),
    ],
)
def test_problems_of_criteria_are_reported(tmp_path: Path, content, message: str) -> None:
    path = tmp_path / "criteria.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_criteria(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_an_unknown_rule_lists_the_protocols_rules() -> None:
    assert refused(rule="center_hit") == [
        "criteria criterion 1: the protocol 'test' has no rule 'center_hit'. Its rules: luna16."
    ]


def test_an_unknown_metric_suggests_a_near_one() -> None:
    (line,) = refused(metric="recal")
    assert line.startswith(
        "criteria criterion 1: there is no metric 'recal'. Did you mean 'recall'? Metrics: cpm, "
        "sensitivity_at_fp_rate@0.125,"
    )


def test_the_f_metric_goes_by_the_name_that_the_result_has() -> None:
    assert freeze_plan(stated(metric="f1"), TEST_SET, PROTOCOL).criteria[0].metric == "f1"
    assert "there is no metric 'f_beta'" in refused(metric="f_beta")[0]


def test_an_unknown_stratum_lists_the_known_ones() -> None:
    assert refused(stratum="vendor=Z") == [
        "criteria criterion 1: there is no stratum 'vendor=Z' in this test set. "
        "Strata: vendor=X, vendor=Y."
    ]
    none = PROTOCOL.model_copy(update={"strata": ()})
    assert refused(none, stratum="vendor=X")[0].endswith(
        "Strata: none, the protocol asks for none."
    )


def test_a_metric_that_a_stratum_lacks_is_an_error() -> None:
    (line,) = refused(stratum="vendor=X", metric="f1")
    assert line.startswith(
        "criteria criterion 1: there is no metric 'f1' in the stratum 'vendor=X'. Metrics: "
    )


def test_a_bound_needs_intervals() -> None:
    none = PROTOCOL.model_copy(update={"interval": IntervalChoice(bootstraps=0)})
    assert refused(none, bound="low") == [
        "criteria criterion 1: the protocol 'test' computes no intervals: it has 0 bootstraps. "
        'Use bound = "value", or set bootstraps.'
    ]
    assert refused(metric="threshold_at_fp_rate@1", bound="high") == [
        "criteria criterion 1: 'threshold_at_fp_rate@1' has no interval. Use bound = \"value\"."
    ]


def test_a_rule_without_its_boxes_is_an_error_before_the_test() -> None:
    (line,) = refused(protocol("center_hit"), rule="center_hit")
    assert line.startswith(
        "criteria criterion 1: 'center_hit' cannot be applied to this test set: center_hit needs"
    )
