"""What evaluate writes is enough to recompute every number without the original files."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.made_up import Skill, made_up_reference, made_up_submission
from builders.tables import case, false_mark, mark, nodule, protocol, reference, run, submission
from nodulebench.core.cohort import LabelledCohort, labelled_cohort
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import IntervalChoice, RuleChoice, SizeLimit, TestProtocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.evaluation.result_folder import write_evaluation
from nodulebench.matching import label_marks, targets

RULES = ("center_hit", "center_distance", "area_overlap")


def three_rules(**fields: object) -> TestProtocol:
    chosen = {
        "rules": tuple(RuleChoice(name=rule) for rule in RULES),
        "metrics": ("recall", "fp_per_case", "cpm", "pooled_dice", "median_seconds_per_case"),
        "interval": IntervalChoice(bootstraps=20),
        "strata": ("type", "vendor"),
    }
    return TestProtocol.model_validate({"name": "test", **chosen, **fields})


@pytest.fixture(scope="module")
def test_set() -> Reference:
    return made_up_reference(8, 40, 3)


@pytest.fixture(scope="module")
def submissions(test_set: Reference) -> list[Submission]:
    skills = (Skill("one", 0.9, 0.5, 1.0, 3.0), Skill("two", 0.6, 1.5, 0.8, 5.0))
    return [made_up_submission(test_set, skill, 3) for skill in skills]


@pytest.fixture(scope="module")
def folder(
    test_set: Reference, submissions: list[Submission], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("evaluated") / "out"
    write_evaluation(evaluate(test_set, submissions, three_rules()), out)
    return out


def assert_same_cohort(first: LabelledCohort, other: LabelledCohort) -> None:
    for name in ("nodule_case", "is_hit", "hit_score", "nodule_row", "hit_mark"):
        np.testing.assert_array_equal(getattr(first, name), getattr(other, name))
    np.testing.assert_array_equal(first.false_case, other.false_case)
    np.testing.assert_array_equal(first.false_score, other.false_score)
    assert first.case_count == other.case_count
    assert first.has_scores == other.has_scores


def test_every_cohort_is_read_back_unchanged(
    folder: Path, test_set: Reference, submissions: list[Submission]
) -> None:
    cohorts = load_evaluated(folder).cohorts
    assert list(cohorts) == list(RULES)
    for rule in RULES:
        assert list(cohorts[rule]) == ["one", "two"]
        for marks in submissions:
            labels = label_marks(test_set, marks, three_rules(), RuleChoice(name=rule))
            is_target = targets(test_set, marks, three_rules())
            expected = labelled_cohort(test_set, marks, labels, is_target)
            assert_same_cohort(cohorts[rule][marks.name], expected)


def test_evaluating_the_stored_tables_gives_the_same_document(folder: Path) -> None:
    stored = load_evaluated(folder)
    again = evaluation_document(
        evaluate(stored.reference, list(stored.submissions.values()), stored.protocol)
    )
    assert json.loads(json.dumps(again.to_json())) == stored.document.to_json()


def test_an_untouched_folder_has_no_problems(folder: Path) -> None:
    assert load_evaluated(folder).problems == []


def test_runs_and_declared_types_come_back(tmp_path: Path) -> None:
    cases = (
        case("a", nodule(8, type="solid"), mark(0.9), run(3.5)),
        case("b", run(None, "failed")),
    )
    submitted = submission(*cases)
    submitted = Submission(
        submitted.name, submitted.marks, runs=submitted.runs, intended_types=("solid",)
    )
    write_evaluation(evaluate(reference(*cases), [submitted], protocol()), tmp_path / "out")
    stored = load_evaluated(tmp_path / "out").submissions["algorithm"]
    assert stored.intended_types == ("solid",)
    assert stored.slices is None
    assert submitted.runs is not None
    assert stored.runs is not None
    assert stored.runs.equals(submitted.runs)


def test_an_algorithm_without_marks_comes_back(tmp_path: Path) -> None:
    cases = (case("a", nodule(8)), case("b"))
    write_evaluation(
        evaluate(reference(*cases), [submission(*cases)], protocol()), tmp_path / "out"
    )
    (cohort,) = load_evaluated(tmp_path / "out").cohorts["luna16"].values()
    assert cohort.case_count == 2
    assert cohort.missed_count == 1
    assert len(cohort.false_case) == 0


def test_an_endless_tolerance_survives_the_document(tmp_path: Path) -> None:
    limit = SizeLimit(minimum_mm=4, tolerance_mm=1, sweep_mm=(0, float("inf")))
    cases = (case("a", nodule(8), mark(0.9, diameter_mm=7.0)),)
    chosen = protocol(size_limit=limit)
    write_evaluation(evaluate(reference(*cases), [submission(*cases)], chosen), tmp_path / "out")
    stored = load_evaluated(tmp_path / "out")
    assert stored.protocol == chosen
    assert stored.problems == []


def test_an_algorithm_to_which_a_rule_does_not_apply_is_left_out(tmp_path: Path) -> None:
    cases = (case("a", nodule(8), mark(0.9)),)
    chosen = protocol("area_overlap").model_copy(
        update={"rules": (RuleChoice(name="luna16"), RuleChoice(name="area_overlap"))}
    )
    write_evaluation(evaluate(reference(*cases), [submission(*cases)], chosen), tmp_path / "out")
    cohorts = load_evaluated(tmp_path / "out").cohorts
    assert list(cohorts["luna16"]) == ["algorithm"]
    assert cohorts["area_overlap"] == {}


def test_tables_of_an_older_run_in_the_same_folder_are_not_read(
    test_set: Reference, submissions: list[Submission], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    write_evaluation(evaluate(test_set, submissions, three_rules()), out)
    cases = (case("a", nodule(8), mark(0.9), false_mark(0.2)),)
    write_evaluation(evaluate(reference(*cases), [submission(*cases)], protocol()), out)
    stored = load_evaluated(out)
    assert stored.reference.slices is None
    assert stored.submissions["algorithm"].slices is None
    assert stored.problems == []


def small_folder(tmp_path: Path) -> Path:
    cases = (case("a", nodule(8), mark(0.9), false_mark(0.2)), case("b"))
    write_evaluation(
        evaluate(reference(*cases), [submission(*cases)], protocol()), tmp_path / "out"
    )
    return tmp_path / "out"


def test_changed_marks_are_recognised_by_their_digest(tmp_path: Path) -> None:
    out = small_folder(tmp_path)
    file = out / "inputs" / "marks.parquet"
    pl.read_parquet(file).with_columns(score=pl.lit(0.5)).write_parquet(file)
    (problem,) = load_evaluated(out).problems
    assert "inputs/marks.parquet: was changed after the folder was written" in str(problem)


def test_a_changed_protocol_is_recognised_by_its_digest(tmp_path: Path) -> None:
    out = small_folder(tmp_path)
    file = out / "evaluation.json"
    document = json.loads(file.read_text())
    document["protocol"]["seed"] = 5
    file.write_text(json.dumps(document))
    (problem,) = load_evaluated(out).problems
    assert "names the protocol sha256:" in str(problem)
    assert "evaluate again" in str(problem)


def test_labels_of_unknown_marks_are_refused(tmp_path: Path) -> None:
    out = small_folder(tmp_path)
    file = out / "labels.parquet"
    labels = pl.read_parquet(file).with_columns(pl.col("mark_id") + "x")
    labels.write_parquet(file)
    with pytest.raises(InputError, match="labels mark 'm0x' on nodule 'n0' of case 'a' as 'hit'"):
        _ = load_evaluated(out).cohorts


def test_a_folder_without_an_evaluation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"evaluation\.json: does not exist\. Give the folder"):
        load_evaluated(tmp_path)


def test_a_document_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evaluation.json").write_text('{"schema": "other"}')
    with pytest.raises(InputError, match="has the schema 'other'"):
        load_evaluated(tmp_path)


def test_a_folder_without_the_tables_is_refused(tmp_path: Path) -> None:
    out = small_folder(tmp_path)
    (out / "inputs").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="the numbers cannot be recomputed"):
        load_evaluated(out)
