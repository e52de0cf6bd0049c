"""Two real submissions on fold 9 of LUNA16: the paired difference in CPM.

Origin: values by the official program's own counts (``expected/*.json``), and the interval by
``plain_luna16``, a second implementation that builds and reads every resample's curve with
scikit-learn.
"""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from builders import plain_luna16
from nodulebench.evaluation.comparison.compare import AlgorithmComparison, ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files

DEEPLUNG, RES18 = "deeplung_dpn26_888", "res18_focal_fold9"
BOOTSTRAPS = 200


@pytest.fixture(scope="module")
def comparison(luna16_data: Path, tmp_path_factory: pytest.TempPathFactory) -> AlgorithmComparison:
    out = tmp_path_factory.mktemp("fold9") / "out"
    submissions = luna16_data / "submissions"
    evaluate_files(
        EvaluateOptions(
            marks=(submissions / f"{DEEPLUNG}.csv.gz", submissions / f"{RES18}.csv"),
            reference=luna16_data,
            protocol="luna16",
            series=luna16_data / "fold9_seriesuids.csv",
            bootstraps=BOOTSTRAPS,
            out=out,
        )
    )
    choice = ComparisonChoice(DEEPLUNG, ("cpm",), margin=0.05, permutations=0, method="percentile")
    return compare_folder(out, choice)[0]


def rows(path: Path) -> list[plain_luna16.Row]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [(row[0], *map(float, row[1:5])) for row in list(csv.reader(text.splitlines()))[1:]]


def plain_cpms(luna16_data: Path, submission: Path) -> tuple[float, np.ndarray]:
    """The CPM and its replicates by the plain program."""
    series = (luna16_data / "fold9_seriesuids.csv").read_text().split()
    listed = set(series)
    included, excluded, marks = (
        [row for row in rows(path) if row[0] in listed]
        for path in (
            luna16_data / "annotations.csv",
            luna16_data / "annotations_excluded.csv.gz",
            submission,
        )
    )
    entries = plain_luna16.label(series, included, excluded, marks).entries
    rates = np.array(plain_luna16.RATES)

    def cpm(scans: list[str]) -> float:
        pooled = [entry for scan in scans for entry in entries[scan]]
        return float(plain_luna16.sensitivity_at(pooled, len(scans), rates).mean())

    state = np.random.RandomState(0)
    drawn = [
        cpm([series[number] for number in state.randint(0, len(series), len(series))])
        for _ in range(BOOTSTRAPS)
    ]
    return cpm(series), np.array(drawn)


def test_the_difference_is_that_of_the_official_cpms(
    comparison: AlgorithmComparison, luna16_data: Path
) -> None:
    expected = luna16_data / "expected"
    folds = json.loads((expected / "deeplung_dpn26_per_fold.json").read_text())["folds"]
    (baseline,) = (fold["cpm"] for fold in folds if fold["fold"] == 9)
    official = json.loads((expected / f"{RES18}.json").read_text())["cpm"]
    (difference,) = comparison.differences
    assert difference.algorithm == RES18
    assert (difference.value, difference.baseline_value) == pytest.approx(
        (official, baseline), abs=1e-12
    )
    assert difference.comparison is not None
    assert difference.comparison.difference.value == pytest.approx(official - baseline, abs=1e-12)


def test_interval_and_p_value_are_those_of_a_plain_bootstrap(
    comparison: AlgorithmComparison, luna16_data: Path
) -> None:
    submissions = luna16_data / "submissions"
    value, drawn = plain_cpms(luna16_data, submissions / f"{RES18}.csv")
    baseline, of_baseline = plain_cpms(luna16_data, submissions / f"{DEEPLUNG}.csv.gz")
    differences = drawn - of_baseline
    low, high = np.quantile(differences, [0.025, 0.975])
    (difference,) = comparison.differences
    assert difference.comparison is not None
    bootstrapped = difference.comparison
    assert bootstrapped.difference.value == pytest.approx(value - baseline, abs=1e-12)
    assert (bootstrapped.difference.low, bootstrapped.difference.high) == pytest.approx(
        (low, high), abs=1e-9
    )
    # P is the smallest alpha at which the interval excludes 0, found here by bisection
    side = differences if np.median(differences) > 0 else -differences
    tail = brentq(lambda share: np.quantile(side, share), 0, 0.5)
    assert bootstrapped.p_value == pytest.approx(2 * tail, abs=1e-9)
    assert bootstrapped.standard_error == pytest.approx(differences.std(ddof=1), abs=1e-9)
    assert bootstrapped.margin is not None
    assert bootstrapped.margin.is_superior == (low > 0)
