"""misses.csv and false_positives.csv: by hand, against plain loops, verified, and not disclosed."""

import math
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.made_up import write_made_up_result
from builders.random_cohorts import random_cases
from builders.tables import (
    case,
    false_mark,
    ignored,
    mark,
    nodule,
    protocol,
    reference,
    submission,
)
from nodulebench.core.documents.error_tables import FALSE_POSITIVES, MISSES
from nodulebench.core.results import Evaluation
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.report import ReportChoice, write_report
from nodulebench.evaluation.result_folder import (
    FALSE_FILE,
    MISS_FILE,
    result_tables,
    write_evaluation,
)
from nodulebench.evaluation.verify import verify_folder
from nodulebench.io.manifests import write_manifest
from nodulebench.io.table_files import read_table

RATES = (0.25, 0.5, 1.0)
CASES = (
    case("a", nodule(8, type="solid"), mark(0.9), false_mark(0.8)),
    case("b", nodule(8, (50, 0, 0)), mark(0.4, (50, 0, 1)), false_mark(0.7)),
    case("c", nodule(6, (0, 0, 0)), ignored(8, (0, 40, 0)), mark(0.6, (0, 30, 0))),
    case("d", nodule(9)),
)


def evaluated(*cases: Any, **fields: Any) -> Evaluation:
    chosen = protocol(metrics=("recall", "cpm"), operating_points=RATES, **fields)
    return evaluate(reference(*cases), [submission(*cases)], chosen)


def misses_of(*cases: Any, **fields: Any) -> list[dict[str, Any]]:
    return result_tables(evaluated(*cases, **fields))[MISS_FILE].rows(named=True)


def test_misses_by_hand() -> None:
    """Falses: 0.8, 0.7, 0.6 on four cases. b is hit from 0.4 on, with three of them."""
    by_case = {row["case_id"]: row for row in misses_of(*CASES)}
    assert set(by_case) == {"b", "c", "d"}
    b, c, d = by_case["b"], by_case["c"], by_case["d"]
    assert (b["is_missed"], b["missed_at"]) == (False, "0.25 0.5")
    assert (b["found_from_score"], b["found_from_fp"]) == (0.4, 0.75)
    assert (b["nearest_mark_mm"], b["nearest_mark_score"]) == (1.0, 0.4)
    assert (c["is_missed"], c["missed_at"]) == (True, "0.25 0.5 1")
    assert (c["found_from_score"], c["found_from_fp"]) == (None, None)
    assert (c["nearest_mark_mm"], c["nearest_mark_score"]) == (30.0, 0.6)
    assert (c["x_mm"], c["diameter_mm"], c["type"]) == (0.0, 6.0, None)
    assert (d["nearest_mark"], d["nearest_mark_mm"]) == (None, None)
    assert {row["also_missed_by"] for row in by_case.values()} == {None}


def test_at_an_operating_point_more_are_missed_and_still_found_later() -> None:
    by_case = {row["case_id"]: row for row in misses_of(*CASES, operating_point=0.5)}
    assert {name for name, row in by_case.items() if row["is_missed"]} == {"b", "c", "d"}
    assert by_case["b"]["found_from_score"] == 0.4


def test_false_positives_by_hand() -> None:
    rows = result_tables(evaluated(*CASES))[FALSE_FILE].rows(named=True)
    assert [(row["rank"], row["case_id"], row["score"]) for row in rows] == [
        (1, "a", 0.8),
        (2, "b", 0.7),
        (3, "c", 0.6),
    ]
    assert (rows[2]["nearest_nodule_mm"], rows[2]["nearest_is_ignored"]) == (10.0, True)
    at_point = result_tables(evaluated(*CASES, operating_point=0.5))[FALSE_FILE]
    assert at_point["score"].to_list() == [0.8, 0.7]


def test_marks_without_scores_have_misses_but_no_thresholds() -> None:
    (row,) = misses_of(case("a", nodule(8), mark(None)), case("b", nodule(8)))
    assert (row["case_id"], row["is_missed"], row["missed_at"]) == ("b", True, None)
    assert row["found_from_score"] is None


def test_without_nodules_or_marks_the_tables_are_empty() -> None:
    tables = result_tables(evaluated(case("a"), case("b")))
    assert tables[MISS_FILE].height == tables[FALSE_FILE].height == 0


def test_others_are_named() -> None:
    truth = reference(*CASES)
    blind = (case("a", nodule(8)), case("b", nodule(8, (50, 0, 0)), mark(0.3, (50, 0, 0))))
    submissions = [submission(*CASES, name="one"), submission(*blind, name="two")]
    chosen = protocol(metrics=("recall",), operating_points=RATES)
    table = result_tables(evaluate(truth, submissions, chosen))[MISS_FILE]
    two = {row["case_id"]: row for row in table.filter(algorithm="two").iter_rows(named=True)}
    assert (two["a"]["also_missed_by"], two["a"]["found_by"]) == (None, "one")
    assert (two["d"]["also_missed_by"], two["d"]["found_by"]) == ("one", None)
    only_late = table.filter(algorithm="one", case_id="b").row(0, named=True)
    assert (only_late["is_missed"], only_late["found_by"]) == (False, "two")


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_plain_loops(seed: int) -> None:
    cases = random_cases(seed)
    evaluation = evaluated(*cases)
    rows = {(row["case_id"], row["nodule_id"]): row for row in misses_of(*cases)}
    labels = evaluation.algorithms[0].labels
    marks = {
        (row["case_id"], row["mark_id"]): row
        for row in submission(*cases).marks.iter_rows(named=True)
    }
    falses = [marks[row[2:4]]["score"] for row in labels.rows() if row[5] == "false_positive"]
    hits = {(row[2], row[4]): marks[row[2:4]]["score"] for row in labels.rows() if row[5] == "hit"}
    for nodule_row in reference(*cases).nodules.iter_rows(named=True):
        key = nodule_row["case_id"], nodule_row["nodule_id"]
        score = hits.get(key)
        fp = None if score is None else sum(other >= score for other in falses) / len(cases)
        missed_at = [f"{rate:g}" for rate in RATES if fp is None or fp > rate]
        if key not in rows:
            assert score is not None
            assert not missed_at
            continue
        row = rows[key]
        assert (row["found_from_score"], row["found_from_fp"]) == (score, fp)
        assert (row["missed_at"] or "").split() == missed_at
        places = [
            math.dist(
                *([at[axis] for axis in ("x_mm", "y_mm", "z_mm")] for at in (nodule_row, other))
            )
            for other in marks.values()
            if other["case_id"] == nodule_row["case_id"]
        ]
        assert row["nearest_mark_mm"] == (pytest.approx(min(places)) if places else None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("misses") / "out"
    write_made_up_result(folder, cases=12, nodules=60)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "out"))


def test_files_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    evaluation = evaluated(*CASES)
    write_evaluation(evaluation, tmp_path / "out")
    tables = result_tables(evaluation)
    for name, schema in ((MISS_FILE, MISSES), (FALSE_FILE, FALSE_POSITIVES)):
        assert read_table(tmp_path / "out" / name, schema).equals(tables[name])


def test_every_miss_of_the_document_is_listed(made: Path) -> None:
    from nodulebench.evaluation.result_folder import read_document

    misses = read_table(made / MISS_FILE, MISSES)
    for algorithm, rule, result in read_document(made).results:
        own = misses.filter(algorithm=algorithm.name, rule=rule)
        assert own["is_missed"].sum() == result.counts["missed"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [MISS_FILE, FALSE_FILE])
def test_verify_recomputes_them(folder: Path, name: str) -> None:
    assert verify_folder(folder).is_good
    table = pl.read_csv(folder / name, infer_schema=False)
    column = "nearest_mark_mm" if name == MISS_FILE else "score"
    table[0, column] = "0.123"
    table.write_csv(folder / name)
    write_manifest(folder)  # as someone would who covers it up
    verification = verify_folder(folder)
    assert not verification.problems
    assert [difference.file for difference in verification.differences] == [name]


def test_report_shows_them_to_the_laboratory(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    misses = read_table(folder / MISS_FILE, MISSES).filter(pl.col("is_missed"))
    assert "Nodules missed, the hardest first" in page
    assert "False positives with the highest scores" in page
    assert misses["case_id"][0] in page


@pytest.mark.parametrize("algorithm", [None, "careful"])
def test_nothing_of_them_reaches_the_developer(
    folder: Path, tmp_path: Path, algorithm: str | None
) -> None:
    """No file for the developer names a case, or the place of a nodule or a mark."""
    misses = read_table(folder / MISS_FILE, MISSES)
    falses = read_table(folder / FALSE_FILE, FALSE_POSITIVES)
    out = tmp_path / "to-send"
    choice = ReportChoice(audience="developer", algorithm=algorithm)
    written = write_report(folder, choice, out)
    text = "".join(path.read_text(encoding="utf-8") for path in written)
    assert {path.name for path in out.rglob("*.csv")}.isdisjoint({MISS_FILE, FALSE_FILE})
    secrets = {*misses["case_id"], *falses["case_id"]}
    secrets |= {
        f"{row['x_mm']:.1f}, {row['y_mm']:.1f}, ".replace("-", "−")
        for table in (misses, falses)
        for row in table.iter_rows(named=True)
    }
    lab = (folder / "report.html").read_text(encoding="utf-8")
    assert len([secret for secret in secrets if secret in lab]) > 20
    assert not [secret for secret in secrets if secret in text]
    assert "Lowest score that finds it" not in text
    assert "Nearest mark" not in text


def test_copy_of_one_algorithm_does_not_name_the_others(folder: Path) -> None:
    write_report(folder, ReportChoice(algorithm="careful"))
    page = (folder / "report-careful.html").read_text(encoding="utf-8")
    assert "small boxes" not in page


@pytest.mark.parametrize(
    ("point", "message"),
    [(None, "No nodule is missed."), (1.0, "No nodule is missed at 1 FP per case.")],
)
def test_report_says_that_nothing_is_missed(
    tmp_path: Path, point: float | None, message: str
) -> None:
    evaluation = evaluated(case("a", nodule(8), mark(0.9)), case("b"), operating_point=point)
    write_evaluation(evaluation, tmp_path / "out")
    assert message in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
