"""evaluation.json: the keys that scripts rely on, and strict JSON whatever was computed."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.evaluation import NO_BOXES, evaluation
from builders.words import sentences
from nodulebench.core.documents.evaluation import evaluation_document, read_evaluation
from nodulebench.core.documents.records import as_json
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate


def written() -> dict[str, Any]:
    """The evaluation as evaluation.json holds it."""
    return evaluation_document(evaluation()).to_json()


def test_document_has_the_keys_that_scripts_rely_on_in_order() -> None:
    document = written()
    assert list(document) == [
        "schema",
        "version",
        "digests",
        "protocol",
        "reference",
        "notices",
        "algorithms",
        "comparisons",
    ]
    assert document["schema"] == "nodulebench/evaluation@1"
    assert document["comparisons"] == []
    assert set(document["digests"]) == {"protocol", "reference", "cohort"}


def test_rule_has_counts_metrics_and_strata() -> None:
    algorithm = written()["algorithms"][0]
    assert algorithm["name"] == "Alpha"
    assert algorithm["digest"] == "sha256:" + "ab" * 32
    result = algorithm["rules"]["center_hit"]
    wanted = {"cases", "nodules", "hit", "missed", "false_positive", "duplicate", "ignored"}
    assert wanted <= set(result["counts"])
    assert result["counts"]["hit"] == 90
    assert result["metrics"]["recall"] == {
        "value": 0.75,
        "low": 0.72,
        "high": 0.78,
        "mean": 0.75,
        "level": 0.95,
        "method": {
            "code": "percentile_bootstrap",
            "values": {"unit": "patient", "replicates": 2000},
        },
        "others": {"wilson": [0.7, 0.79]},
    }
    rates = result["metrics"]["sensitivity_at_fp_rate"]
    assert list(rates) == ["0.125", "0.25", "0.5", "1", "2", "4", "8"]
    solid = result["strata"]["type"]["solid"]
    assert (solid["nodules"], solid["missed"]) == (70, 20)
    assert solid["miss_rate"]["value"] == 20 / 70


def test_undefined_metric_is_null_with_its_reason() -> None:
    metrics = written()["algorithms"][0]["rules"]["center_hit"]["metrics"]
    assert metrics["density_accuracy"] == {
        "value": None,
        "reason": {"code": "density_unknown", "values": {}},
    }


def test_rule_that_cannot_be_applied_is_nothing_but_its_reason() -> None:
    rules = written()["algorithms"][0]["rules"]
    assert rules["center_distance"] == {"undefined": NO_BOXES.to_json()}


def test_document_carries_protocol_reference_facts_notices_and_extras() -> None:
    document = written()
    assert document["protocol"]["seed"] == 7
    assert document["protocol"]["interval"]["others"] == ["wilson"]
    assert document["reference"]["cases"] == 40
    assert sentences(document["notices"]) == ("case-007 has two series; the first was taken.",)
    algorithm = document["algorithms"][0]
    assert algorithm["facts"]["intended_types"] == ["solid", "part_solid"]
    assert algorithm["notices"] == [{"code": "headers_dropped", "values": {"count": 3}}]
    assert algorithm["rule_differences"][0]["relative_difference"] == (66 - 90) / 90
    result = algorithm["rules"]["center_hit"]
    assert result["extras"]["size_tolerance"]["hits_settle_mm"] == 0.8
    assert result["extras"]["density_confusion"][0] == {
        "truth": "solid",
        "stated": "solid",
        "nodules": 40,
    }
    assert result["notices"] == [{"code": "marks_in_two_nodules", "values": {"count": 2}}]


def test_document_survives_strict_json_unchanged() -> None:
    document = written()
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_infinity_is_a_word_and_nan_is_null() -> None:
    assert as_json([np.inf, -np.inf, np.nan, 1.5]) == ["inf", "-inf", None, 1.5]
    sweep = written()["protocol"]["size_limit"]["sweep_mm"]
    assert sweep == [0.0, 0.5, "inf"]


def test_numpy_tables_and_estimates_become_plain_values() -> None:
    assert as_json({1: np.int64(3), "b": np.array([True, False])}) == {"1": 3, "b": [True, False]}
    assert type(as_json(np.float32(0.5))) is float
    assert as_json(pl.DataFrame({"a": [1, None]})) == [{"a": 1}, {"a": None}]
    assert as_json((Estimate(0.5, 0.4, 0.6),)) == [{"value": 0.5, "low": 0.4, "high": 0.6}]


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="a set has no place"):
        as_json({"a": {1, 2}})


def test_what_is_written_reads_back_the_same() -> None:
    document = evaluation_document(evaluation())
    again = read_evaluation(json.loads(json.dumps(document.to_json())), "evaluation.json")
    assert again.to_json() == document.to_json()
    result = again.algorithms[0].rules["center_hit"]
    assert isinstance(result.metrics["recall"], Estimate)
    assert (
        result.value("sensitivity_at_fp_rate/1")
        == result.readings("sensitivity_at_fp_rate")["1"].value
    )
    assert result.metric("sensitivity_at_fp_rate") is None
    assert result.strata["type"]["solid"].missed == 20
    assert again.algorithms[0].rules["center_distance"].undefined == NO_BOXES


def test_extras_keep_their_order_and_those_of_outside_metrics_stay() -> None:
    content = written()
    extras = {"own_table": [{"a": 1}], "worst_cases": {"missed": [], "false_positive": []}}
    content["algorithms"][0]["rules"]["center_hit"]["extras"] = extras
    again = read_evaluation(content, "evaluation.json").to_json()
    repeated = again["algorithms"][0]["rules"]["center_hit"]["extras"]
    assert json.dumps(repeated) == json.dumps(extras)


def test_notices_are_read_as_codes() -> None:
    content = written()
    content["notices"] = [{"code": "small", "values": {"cases": 3}}]
    again = read_evaluation(content, "evaluation.json")
    assert again.notices[0] == Notice("small", {"cases": 3})
    assert again.to_json()["notices"][0] == {"code": "small", "values": {"cases": 3}}


@pytest.mark.parametrize(
    ("place", "value", "where"),
    [
        (("algorithms", 0, "name"), 3, "algorithms.0.name"),
        (("reference", "cases"), "many", "reference.cases"),
        (("protocol", "interval", "bootstraps"), 10**9, "protocol.interval.bootstraps"),
        (("algorithms", 0, "rules", "center_hit", "metrics", "recall"), 0.5, "recall"),
        (("schema",), "nodulebench/evaluation@2", "schema"),
        (("notices", 0), {"code": "small", "values": None}, "notices.0"),
        (("notices", 0), {"code": 1, "values": {}}, "notices.0"),
        (("notices", 0), "a sentence", "notices.0"),
    ],
)
def test_a_wrong_field_is_refused_by_its_place(
    place: tuple[Any, ...], value: Any, where: str
) -> None:
    content: Any = written()
    part = content
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(InputError, match=where):
        read_evaluation(content, "evaluation.json")


def test_counts_that_everybody_reads_are_asked_for() -> None:
    content = written()
    counts = content["algorithms"][0]["rules"]["center_hit"]["counts"]
    del counts["hit"], counts["cases"]
    with pytest.raises(InputError) as refusal:
        read_evaluation(content, "evaluation.json")
    assert str(refusal.value) == (
        "evaluation.json field 'algorithms.0.rules.center_hit.counts': lacks cases, hit. "
        "Give what 'nodulebench evaluate --out' wrote."
    )
