"""The developer's copy: aggregates only, nothing that tells a case, a nodule or a single mark."""

import json
import re

import numpy as np
import polars as pl
import pytest

from builders.evaluation import algorithm_result, curves_of, evaluation, flips_of
from builders.report import comparison, group_content, group_document, plan, typed
from builders.sentences import sentence_json
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate
from nodulebench.report.content import ReportAttachments
from nodulebench.report.csv_tables import csv_tables
from nodulebench.report.developer_copy import (
    developers_curves,
    developers_document,
    only_algorithm,
)
from nodulebench.report.errors import Patch
from nodulebench.report.html import render_html

EVALUATION = evaluation(algorithm_result("One", (90, 66)))
UNTOLD = Estimate(None, reason=Notice("too_few_to_tell"))
SECRETS = (
    "case-013",  # among the worst cases
    "case-031",
    "case-007",  # in a notice on the reference
    "case-000",  # among the flips
    "sha256:01",  # digest of the reference
    "sha256:02",  # digest of the cohort
    "n0",  # a nodule among the flips
    "LIDC-0407",  # in a notice on the submission
    "secret-nodule",  # in the gallery
    "case-077",  # missed by only one of two algorithms
    "only-2",
)


def lab_and_developer() -> tuple[str, str]:
    content = group_content(comparisons=[comparison()])
    dropped = Notice("marks_dropped", {"marks": 3, "cases": 1, "names": ["LIDC-0407"]})
    content["algorithms"][0]["notices"] = [dropped.to_json()]
    document = typed(content)
    patch = Patch("One", "missed", "case-013", "secret-nodule", (b"1", b"2", b"3"))
    attachments = ReportAttachments(flips=flips_of(EVALUATION), patches=[patch])
    lab, developer = (
        render_html(document, curves_of(EVALUATION), audience=audience, attachments=attachments)
        for audience in ("lab", "developer")
    )
    return lab, developer


@pytest.mark.parametrize("secret", SECRETS)
def test_secret_is_only_in_the_labs_copy(secret: str) -> None:
    lab, developer = lab_and_developer()
    assert re.search(rf"\b{re.escape(secret)}\b", lab)
    assert not re.search(rf"\b{re.escape(secret)}\b", developer)


def test_aggregates_stay() -> None:
    _, developer = lab_and_developer()
    for shown in ("0.750", "90 / 120", "Difference in CPM from One", "pure ground-glass"):
        assert shown in developer
    assert "withheld: known to the laboratory" in developer


def test_curves_lose_their_thresholds_and_every_single_step() -> None:
    """A full curve with thresholds would say of each mark whether it is a hit."""
    curves = curves_of(EVALUATION)
    shown = developers_curves(curves)
    assert shown["threshold"].is_nan().all()
    froc = shown.filter(pl.col("curve") == "froc", pl.col("rule") == "center_hit")
    assert froc.height <= 98
    whole = curves.filter(pl.col("curve") == "froc", pl.col("rule") == "center_hit")
    assert whole.height > 2000
    disclosed = whole.gather_every(10, offset=10).vstack(whole.tail(1))
    assert np.allclose(froc["y"], np.interp(froc["x"], disclosed["x"], disclosed["y"]))
    assert np.abs(froc["y"] - np.interp(froc["x"], whole["x"], whole["y"])).max() < 0.03


def test_a_curve_of_few_marks_does_not_say_which_of_them_hit() -> None:
    """Every step was seen at low rates: between two false positives the hits by their order."""
    few = (
        curves_of(EVALUATION)
        .filter(pl.col("curve") == "froc", pl.col("rule") == "center_hit")
        .head(30)
    )
    x = np.cumsum([0.0, *([0.0, 0.0, 0.02] * 10)])[:30]
    y = np.cumsum([0.0, *([0.01, 0.01, 0.0] * 10)])[:30]
    shown = developers_curves(few.with_columns(x=pl.Series(x), y=pl.Series(y)))
    slopes = np.unique(np.round(np.diff(shown["y"]) / np.diff(shown["x"]), 6))
    assert len(slopes) <= 3  # one for each ten marks, and where the two meet
    assert shown["x"].min() >= x[10]


def test_no_reading_of_the_page_has_a_threshold() -> None:
    _, developer = lab_and_developer()
    for data in re.findall(r'<script type="application/json">(.*?)</script>', developer):
        for series in json.loads(data)["series"]:
            assert set(series["threshold"]) <= {None}
    assert "Score threshold by false positives" not in developer


def test_small_strata_keep_their_misses_to_themselves() -> None:
    strata = developers_document(group_document()).algorithms[0].rules["center_hit"].strata
    shown = strata["type"]["calcified"]
    assert shown.missed is None
    assert shown.miss_rate == UNTOLD
    assert strata["type"]["solid"].missed == 20
    row = csv_tables(developers_document(group_document()))["strata"]
    few = row.filter(pl.col("stratum") == "calcified")
    assert few["missed"].null_count() == few.height
    assert few["miss_rate"].null_count() == few.height


def test_metrics_of_a_small_group_of_cases_are_withheld() -> None:
    content = group_content()
    result = content["algorithms"][0]["rules"]["center_hit"]
    few = {**result["strata"]["type"]["calcified"], "cases": 2, "metrics": {"cpm": {"value": 0.5}}}
    many = {**result["strata"]["type"]["solid"], "cases": 90, "metrics": {"cpm": {"value": 0.7}}}
    result["strata"]["vendor"] = {"A": few, "B": many}
    strata = developers_document(typed(content)).algorithms[0].rules["center_hit"].strata
    shown = strata["vendor"]
    assert shown["A"].metrics == {"cpm": UNTOLD}
    assert shown["B"].metrics == {"cpm": Estimate(0.7)}


def test_sizes_of_the_sequestered_nodules_are_not_shown() -> None:
    assert developers_document(group_document()).reference.diameters is None


def test_what_is_noticed_of_the_test_set_is_the_laboratorys() -> None:
    outside = Notice("outside_image", {"outside": 1, "checked": 9})
    notices = [sentence_json("case-007 was read twice."), outside.to_json()]
    assert developers_document(group_document(notices=notices)).notices == ()


def test_digests_of_the_plan_do_not_tell_those_of_the_test_set() -> None:
    differing = plan(
        matches=False, differences=[sentence_json("planned sha256:aa, tested sha256:bb")]
    )
    shown = developers_document(group_document(plan=differing)).plan
    assert shown is not None
    assert shown.differences == ()


def test_only_the_own_algorithm() -> None:
    document = group_document(
        comparisons=[comparison()], plan=plan(verdicts={"Alpha": "failed", "One": "passed"})
    )
    shown = only_algorithm(document, "One")
    assert [algorithm.name for algorithm in shown.algorithms] == ["One"]
    assert shown.comparisons == ()
    assert shown.plan is not None
    assert shown.plan.verdict == "passed"
    assert shown.plan.criteria == ()


def test_document_itself_stays_as_it_is() -> None:
    document = group_document()
    before = document.to_json()
    developers_document(document)
    only_algorithm(document, "One")
    assert document.to_json() == before
