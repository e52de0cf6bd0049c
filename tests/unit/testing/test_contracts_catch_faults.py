"""A violation of a contract is found, with its reason."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from nodulebench.core.cohort import FALSE_POSITIVE, Labels
from nodulebench.core.registry import Registry
from nodulebench.core.tables import MARKS, Submission
from nodulebench.detection.candidates import DETECTORS
from nodulebench.detection.scan import Candidates
from nodulebench.io.formats import FORMATS, Format
from nodulebench.matching.rules import RULES
from nodulebench.metrics import METRICS
from nodulebench.reference.rules import RULES as REFERENCE_RULES
from nodulebench.testing import (
    check_detector,
    check_format,
    check_mark_rule,
    check_metric,
    check_reference_rule,
)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Registers an entry of another package for a while."""

    def known(registry: Registry[object], name: str, entry: object) -> None:
        monkeypatch.setitem(registry.outside, name, None)
        monkeypatch.setitem(registry._loaded, name, entry)

    return known


def unweighted(cohort, case_weight):
    """Share of nodules found in all cases, without weights."""
    return np.full(len(case_weight), cohort.is_hit.sum() / max(len(cohort.is_hit), 1))


def by_height(cohort, case_weight):
    """Mean score of false positives, so that its height matters."""
    weight = case_weight[:, cohort.false_case].astype(float)
    with np.errstate(invalid="ignore"):
        return (weight * cohort.false_score).sum(axis=1) / weight.sum(axis=1)


def unnamed_points(cohort, case_weight):
    """Nodules found per case, twice, at points that nothing names."""
    weight = case_weight.astype(float)
    hits = np.bincount(cohort.nodule_case[cohort.is_hit], minlength=cohort.case_count)
    with np.errstate(invalid="ignore"):
        share = weight @ hits / weight.sum(axis=1)
    return np.stack([share, share], axis=1)


def own_setting(_cohort, case_weight, *, cleverness=3):
    """A metric with a setting that no protocol can set."""
    return np.full(len(case_weight), float(cleverness))


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        (unweighted, "repeated cases"),
        (by_height, "other scores"),
        (unnamed_points, "its facts name no points"),
        (own_setting, "settings that no protocol has: \\['cleverness'\\]"),
        (lambda *_: np.zeros(1), "it is called <lambda>"),
    ],
)
def test_a_metric(register, metric, reason: str) -> None:
    name = "broken" if metric.__name__ == "<lambda>" else metric.__name__
    register(METRICS, name, metric)
    with pytest.raises(AssertionError, match=reason):
        check_metric(name)


def nothing_hits(scene) -> Labels:
    """Every mark is wrong."""
    count = len(scene.mark_case)
    return Labels(np.arange(count), np.full(count, -1), np.full(count, FALSE_POSITIVE))


def test_a_mark_rule(register) -> None:
    register(RULES, "nothing_hits", nothing_hits)
    with pytest.raises(AssertionError, match="a nodule is hit twice, or none at all"):
        check_mark_rule("nothing_hits")


def test_a_reference_rule(register) -> None:
    register(REFERENCE_RULES, "deaf", lambda panel: REFERENCE_RULES["union"](panel)[1:])
    with pytest.raises(AssertionError, match="deaf loses findings"):
        check_reference_rule("deaf")


def rounded(stated: Submission, path: Path, _cases: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = stated.marks.with_columns(pl.col("x_mm", "y_mm").round(0)).to_dicts()
    path.write_text(json.dumps({"rounded": rows}))


def read_rounded(path: Path, _cases: object) -> Submission:
    rows = json.loads(path.read_text())["rounded"]
    return Submission(path.stem, MARKS.conform(pl.DataFrame(rows), "marks"), digest="x")


def test_a_format(register) -> None:
    form = Format(
        "rounded",
        "Places to the millimetre",
        (".json",),
        refuse_marks=lambda seen: seen.is_not("json") or seen.lacks("rounded"),
        read_marks=read_rounded,
        write_marks=rounded,
    )
    register(FORMATS, "rounded", form)
    with pytest.raises(AssertionError, match="x_mm"):
        check_format("rounded")


def test_a_detector(register) -> None:
    chance = np.random.default_rng()
    places = np.array([[0.0, 0.0, -250.0]])
    register(DETECTORS, "dice", lambda _: Candidates(places, chance.random(1), np.ones(1)))
    with pytest.raises(AssertionError, match="dice: score differs each time"):
        check_detector("dice")
