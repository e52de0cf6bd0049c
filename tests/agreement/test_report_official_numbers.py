"""The report of a real submission shows what the official LUNA16 program printed for it."""

import json
import re
from pathlib import Path

import pytest

from nodulebench.evaluation.service import EvaluateOptions, evaluate_files


@pytest.fixture(scope="module")
def page(luna16_data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of 55,677 marks on 888 scans, with the official 1,000 bootstraps."""
    out = tmp_path_factory.mktemp("report") / "result"
    marks = luna16_data / "submissions" / "deeplung_dpn26_888.csv.gz"
    evaluate_files(
        EvaluateOptions(marks=(marks,), reference=luna16_data, protocol="luna16", out=out)
    )
    return (out / "report.html").read_text(encoding="utf-8")


def test_sensitivities_are_the_official_ones(page: str, luna16_data: Path) -> None:
    expected = json.loads((luna16_data / "expected" / "deeplung_dpn26_888.json").read_text())
    table = page[page.index("Sensitivity by false positives per case") :]
    row = re.search(r'<th class="head" scope="row">luna16</th>(.*?)</tr>', table)
    assert row
    shown = re.findall(r'<td class="number">([\d.]+) <span class="bounds">', row[1])
    assert shown == [f"{value:.3f}" for value in expected["sensitivity"]]


def test_cpm_is_the_official_one_and_large(page: str, luna16_data: Path) -> None:
    expected = json.loads((luna16_data / "expected" / "deeplung_dpn26_888.json").read_text())
    assert f"<dt>CPM</dt><dd>{expected['cpm']:.3f} <span>" in page


def test_large_report_stays_small(page: str) -> None:
    assert len(page.encode()) < 300_000
