"""evaluation.json: the keys that scripts rely on, and strict JSON whatever was computed."""

import json

import numpy as np
import polars as pl
import pytest

from builders.evaluation import NO_BOXES, evaluation
from nodulebench.model.results import Estimate
from nodulebench.report.document import evaluation_document, plain


def test_document_has_the_keys_that_scripts_rely_on_in_order() -> None:
    document = evaluation_document(evaluation())
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


def test_rule_has_counts_figures_and_strata() -> None:
    algorithm = evaluation_document(evaluation())["algorithms"][0]
    assert algorithm["name"] == "Alpha"
    assert algorithm["digest"] == "sha256:" + "ab" * 32
    result = algorithm["rules"]["center_hit"]
    wanted = {"cases", "nodules", "hit", "missed", "false_positive", "duplicate", "ignored"}
    assert wanted <= set(result["counts"])
    assert result["counts"]["hit"] == 90
    assert result["figures"]["recall"] == {
        "value": 0.75,
        "low": 0.72,
        "high": 0.78,
        "mean": 0.75,
        "level": 0.95,
        "method": "percentile bootstrap over patients, 2000 replicates",
        "others": {"wilson": [0.7, 0.79]},
    }
    rates = result["figures"]["sensitivity_at_fp_rate"]
    assert list(rates) == ["0.125", "0.25", "0.5", "1", "2", "4", "8"]
    solid = result["strata"]["type"]["solid"]
    assert (solid["nodules"], solid["missed"]) == (70, 20)
    assert solid["miss_rate"]["value"] == 20 / 70


def test_undefined_figure_is_null_with_its_reason() -> None:
    figures = evaluation_document(evaluation())["algorithms"][0]["rules"]["center_hit"]["figures"]
    assert figures["density_accuracy"] == {
        "value": None,
        "reason": "the reference knows no density",
    }


def test_rule_that_cannot_be_applied_is_nothing_but_its_reason() -> None:
    rules = evaluation_document(evaluation())["algorithms"][0]["rules"]
    assert rules["center_distance"] == {"undefined": NO_BOXES}


def test_document_carries_protocol_reference_facts_notices_and_extras() -> None:
    document = evaluation_document(evaluation())
    assert document["protocol"]["seed"] == 7
    assert document["protocol"]["interval"]["others"] == ["wilson"]
    assert document["reference"]["cases"] == 40
    assert document["notices"] == ["case-007 has two series; the first was taken."]
    algorithm = document["algorithms"][0]
    assert algorithm["facts"]["intended_types"] == ["solid", "part_solid"]
    assert algorithm["notices"] == ["3 repeated header row(s) were dropped."]
    assert algorithm["rule_differences"][0]["relative_difference"] == (66 - 90) / 90
    result = algorithm["rules"]["center_hit"]
    assert result["extras"]["size_tolerance"]["hits_settle_mm"] == 0.8
    assert result["extras"]["density_confusion"][0] == {
        "truth": "solid",
        "said": "solid",
        "nodules": 40,
    }
    assert result["notices"] == ["2 mark(s) lie inside two nodules."]


def test_document_survives_strict_json_unchanged() -> None:
    document = evaluation_document(evaluation())
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_infinity_is_a_word_and_nan_is_null() -> None:
    assert plain([np.inf, -np.inf, np.nan, 1.5]) == ["inf", "-inf", None, 1.5]
    sweep = evaluation_document(evaluation())["protocol"]["size_limit"]["sweep_mm"]
    assert sweep == [0.0, 0.5, "inf"]


def test_numpy_tables_and_estimates_become_plain_values() -> None:
    assert plain({1: np.int64(3), "b": np.array([True, False])}) == {"1": 3, "b": [True, False]}
    assert type(plain(np.float32(0.5))) is float
    assert plain(pl.DataFrame({"a": [1, None]})) == [{"a": 1}, {"a": None}]
    assert plain((Estimate(0.5, 0.4, 0.6),)) == [{"value": 0.5, "low": 0.4, "high": 0.6}]


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="a set has no place"):
        plain({"a": {1, 2}})
