"""A study of the published size: ten made-up algorithms, 593 cases, 6,109 nodules, every metric."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.made_up import Skill, made_up_reference, made_up_submission
from nodulebench.core.protocol import load_protocol
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.report import ReportChoice, write_report
from nodulebench.evaluation.result_folder import write_evaluation
from nodulebench.evaluation.service import with_options
from nodulebench.i18n.translator import translator

BOX_SCALES = (1.0, 1.1, 1.35, 0.95, 0.62, 0.9, 1.0, 0.85, 0.8, 0.9)
SKILLS = tuple(
    Skill(
        f"AUT {number}",
        detection=0.58 + 0.02 * number,
        shift_mm=0.4 + 0.05 * number,
        box_scale=scale,
        fp_per_case=4.0 + number,
    )
    for number, scale in enumerate(BOX_SCALES, 1)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reference = made_up_reference(593, 6109, seed=7)
    published = load_protocol("nifdc-2022")
    metrics = (*published.metrics, "sensitivity_at_fp_rate", "cpm")
    protocol = with_options(published.model_copy(update={"metrics": metrics}), bootstraps=30)
    submissions = (made_up_submission(reference, skill, seed=3) for skill in SKILLS)
    evaluation = evaluate(reference, submissions, protocol)
    out = tmp_path_factory.mktemp("study") / "out"
    write_evaluation(evaluation, out)
    choice = ComparisonChoice("AUT 1", ("recall", "precision", "f_beta", "cpm"), 0.05, 60, 0)
    compare_folder(out, choice)
    causes = out.parent / "causes.csv"
    pl.DataFrame({"algorithm": ["AUT 1", "AUT 2"], "cause": ["vessel", "scar"]}).write_csv(causes)
    write_report(out, ReportChoice(causes=causes))
    return out


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def document(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    return content


def test_test_set_has_the_published_shares(document: dict[str, Any]) -> None:
    strata = document["algorithms"][0]["rules"]["center_hit"]["strata"]
    assert [stratum["nodules"] for stratum in strata["type"].values()] == [
        2606,
        309,
        1196,
        452,
        1409,
        137,
    ]
    assert document["reference"]["cases"] == 593


@pytest.mark.parametrize(
    "title",
    [
        "FROC: center hit",
        "FROC: center distance",
        "FROC: area overlap",
        "Recall, precision and F of 10 algorithms by rule",
        "Nodules hit relative to the rule center hit",
        "Recall",
        "Precision",
        "F1",
        "Miss rate by nodule type under center hit",
        "Miss rate by nodule size under center hit",
        "Type missed most often, by size, under center hit",
        "Difference in CPM from AUT 1, center hit",
        "Ranks by CPM, center hit",
        "Causes of false positives",
        "Diameters of the nodules to find",
    ],
)
def test_every_metric_is_drawn(page: str, title: str) -> None:
    metric = re.search(
        rf"<figure[^>]*><figcaption><h3>{re.escape(title)}</h3></figcaption>(.*?)</figure>",
        page,
        re.DOTALL,
    )
    assert metric, title
    assert "<svg" in metric[1]
    assert len(metric[1]) > 1500


def test_every_algorithm_is_in_the_heat_map_once_a_size(page: str) -> None:
    metric = page[page.index("Type missed most often, by size") :]
    metric = metric[: metric.index("</figure>")]
    counts = [int(text) for text in re.findall(r'<text class="value"[^>]*>(\d+)<', metric)]
    assert len(counts) == 6 * 4
    assert [sum(counts[column::4]) for column in range(4)] == [10, 10, 10, 10]


def test_relative_differences_behave_as_published(document: dict[str, Any]) -> None:
    """Distance gives a little more than hit, overlap less; small boxes lose most."""
    relative = {
        algorithm["name"]: {
            item["rule"]: item["relative_difference"]
            for item in algorithm["rule_differences"]
            if item["base_rule"] == "center_hit"
        }
        for algorithm in document["algorithms"]
    }
    assert all(differences["center_distance"] >= 0 for differences in relative.values())
    assert min(relative, key=lambda name: relative[name]["area_overlap"]) == "AUT 5"
    assert relative["AUT 3"]["area_overlap"] > 0


def test_extremes_and_outlier_are_described(page: str) -> None:
    assert '<p class="lead">By CPM the highest of 10 algorithms is AUT ' in page
    assert "The rule matters most for AUT 5: area overlap gives" in page
    assert "Nodules of size &lt;4 mm are missed most often by every algorithm" in page


def test_tests_between_rules_are_shown_as_published_and_paired(page: str) -> None:
    for title in ("Effect of the rule on all algorithms", "Pairs of rules"):
        assert f"<h3>{title}</h3>" in page
    assert page.count('class="bracket"') == 9


def test_study_reads_in_chinese_and_prints(folder: Path) -> None:
    pytest.importorskip("typst", reason="typst (extra 'pdf') is not installed")
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
    choice = ReportChoice(audience="developer", language="zh", algorithm="AUT 5", is_pdf=True)
    written = write_report(folder, choice, folder.parent / "send")
    printed = next(path for path in written if path.suffix == ".pdf")
    text = "".join(page.extract_text() for page in pypdf.PdfReader(printed).pages)
    assert translator("zh")("section.strata") in text
    assert "AUT 5" in text
    assert "AUT 6" not in text
    assert "case0" not in text
