"""Comparison and report from stored results: the same to the last bit, and nothing of others."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from builders.killing import Killed, killed_at
from builders.people import person_key
from builders.sealed import make_lab, new_person
from builders.sealed_study import StudyLab, evaluated_study, made_up_study
from nodulebench.core.errors import InputError
from nodulebench.custody import layout
from nodulebench.custody.evaluate import evaluate_roster, evaluate_sealed
from nodulebench.custody.sealed_set import open_sealed
from nodulebench.custody.stored_results import open_stored_result
from nodulebench.custody.study import chosen_evaluations
from nodulebench.custody.study_reports import (
    StudyOptions,
    compare_stored,
    developers_result,
    report_stored,
    verify_from_stored,
)
from nodulebench.custody.verify import read_audit, verify_sealed
from nodulebench.custody.withdrawal import withdraw
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.plans import FreezeOptions, freeze_files
from nodulebench.evaluation.report import ReportChoice
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files

pytest.importorskip("cryptography")
METRICS = '\n[reuse]\nevaluations_per_developer = 3\nfeedback = "metrics"\n'
ROUNDED = '\n[reuse]\nfeedback = "rounded"\nmetrics = ["center_hit.recall"]\n'
VERDICT = '\n[reuse]\nfeedback = "verdict"\n'
CRITERIA = """
name = "accept"

[[criteria]]
metric = "recall"
rule = "center_hit"
comparison = ">="
bound = "low"
limit = 0.34
"""
CHOICE = ComparisonChoice("A1", ("recall", "precision"), 0.05, 40, 50)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> StudyLab:
    shown = METRICS + "\n[roster]\nshows_others = true\n"
    return evaluated_study(tmp_path_factory.mktemp("study"), shown)


@pytest.fixture(scope="module")
def plain(lab: StudyLab) -> Path:
    """The same files evaluated and compared without any sealing, under their aliases."""
    files = sorted(lab.folder.glob("file-*"), key=lambda path: path.name[-1])
    out = lab.folder / "plain"
    evaluate_files(
        EvaluateOptions(
            marks=tuple(files),
            reference=lab.bundle,
            protocol="nifdc-2022",
            bootstraps=20,
            out=out,
            names=["A1", "A2", "A3"],
        )
    )
    compare_folder(out, CHOICE)
    return out


@pytest.fixture(scope="module")
def study(lab: StudyLab) -> Path:
    out = lab.folder / "from-stored"
    compare_stored(lab.study_options(), CHOICE, out)
    return out


def content(folder: Path, name: str = "evaluation.json") -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_the_document_is_that_of_an_unsealed_evaluation(plain: Path, study: Path) -> None:
    assert content(study) == content(plain)
    assert content(study, "comparison.json") == content(plain, "comparison.json")


@pytest.mark.parametrize("name", ["labels", "curves", "flips"])
def test_the_tables_are_the_same(plain: Path, study: Path, name: str) -> None:
    actual, wanted = (pl.read_parquet(folder / f"{name}.parquet") for folder in (study, plain))
    assert_frame_equal(actual, wanted, check_dtypes=False, check_exact=True)


@pytest.mark.parametrize("name", ["misses.csv", "false_positives.csv"])
def test_the_lists_of_errors_are_the_same(plain: Path, study: Path, name: str) -> None:
    assert (study / name).read_bytes() == (plain / name).read_bytes()


def test_the_page_is_the_same(plain: Path, study: Path) -> None:
    actual, wanted = (
        (folder / "report.html").read_text(encoding="utf-8") for folder in (study, plain)
    )
    assert actual == wanted


def test_nothing_of_the_input_tables_is_written(study: Path) -> None:
    assert not (study / "inputs").exists()
    assert content(study, "evaluations.json")["evaluations"][0]["evaluation"] == 2


def test_every_making_is_in_the_log(lab: StudyLab, study: Path) -> None:
    assert study.is_dir()
    events = read_audit(lab.sealed).events
    (event,) = [event for event in events if event.step == "compared"]
    assert (event.person, event.role) == ("Dee", "reporter")
    assert event.facts == {"evaluations": "2, 4, 6", "baseline": "A1"}
    checked = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert checked.is_good, checked.problems


def test_only_a_reporter_makes_reports(lab: StudyLab) -> None:
    with pytest.raises(InputError, match="'Bo' is operator and may not report"):
        compare_stored(lab.study_options(person="Bo"), CHOICE)


def test_evaluations_are_chosen_by_alias_or_number(lab: StudyLab) -> None:
    comparison, _ = compare_stored(lab.study_options("a3", "2"), CHOICE)
    assert {difference.algorithm for difference in comparison.differences} == {"A3"}
    with pytest.raises(
        InputError, match=r"evaluation 'A9': has no stored result\. Stored: A1 \(evaluation 2\)"
    ):
        compare_stored(lab.study_options("A9"), CHOICE)


def copy_for(lab: StudyLab, alias: str, *baselines: str) -> Path:
    out = lab.folder / f"copy-{alias}-{len(baselines)}"
    if out.exists():
        return out
    choice = ReportChoice(audience="developer", algorithm=alias)
    report_stored(lab.study_options(), choice, out, baselines)
    return out


def texts(folder: Path) -> str:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


@pytest.mark.slow
def test_a_developers_copy_names_no_other_developer_and_no_case(lab: StudyLab) -> None:
    written = texts(copy_for(lab, "A2", "A2"))
    assert "Betamed-finder-1" in written
    assert "A1" in written
    assert "A3" in written
    for secret in ("Alphacorp", "Gammalung", "9.8.0", "9.8.2", "finder-0", "finder-2", "file-"):
        assert secret not in written, secret
    assert not re.search(r"case\d{4}|patient\d{4}", written)
    assert not re.search(r"\bn\d+\b", written)


@pytest.mark.slow
def test_others_are_absent_where_the_policy_does_not_show_them(tmp_path: Path) -> None:
    lab = evaluated_study(tmp_path, METRICS)
    folder = copy_for(lab, "A2", "A2")
    document = content(folder)
    assert [algorithm["name"] for algorithm in document["algorithms"]] == ["Betamed-finder-1"]
    written = texts(folder)
    for secret in ("Alphacorp", "Gammalung", "A1", "A3"):
        assert not re.search(rf"\b{secret}\b", written), secret


def test_a_copy_tells_the_same_as_the_feedback(lab: StudyLab) -> None:
    evaluation = content(lab.folder / "feedback" / "A2", "feedback.json")["evaluation"]
    own = content(copy_for(lab, "A2"))["algorithms"][0]
    assert own["rules"] == evaluation["algorithms"][0]["rules"]


def digits(value: Any) -> int:
    """The most decimals that any number in a document has."""
    if isinstance(value, float):
        return len(repr(value).partition(".")[2])
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(digits, parts), default=0)


@pytest.mark.slow
def test_a_copys_comparison_has_no_more_digits_than_are_reported(lab: StudyLab) -> None:
    (actual,) = content(copy_for(lab, "A2", "A2"))["comparisons"]
    assert actual["baseline"] == "Betamed-finder-1"
    assert {difference["algorithm"] for difference in actual["differences"]} == {"A1", "A3"}
    assert 2 <= digits(actual) <= 3
    assert set(actual["digests"]) <= {"protocol", "plan"}


@pytest.mark.slow
@pytest.mark.parametrize(("fewest", "is_disclosed"), [(1, True), (10_000, False)])
def test_a_copys_comparison_counts_no_few_nodules(
    lab: StudyLab, fewest: int, is_disclosed: bool
) -> None:
    opened = open_sealed(lab.sealed, person_key("Dee"), "report")
    stored = [
        open_stored_result(opened, evaluation) for evaluation in chosen_evaluations(opened.events)
    ]
    reuse = opened.policy.reuse.model_copy(update={"minimum_stratum": fewest})
    (comparison,) = developers_result(stored, reuse, is_compared=True)[0].comparisons
    assert bool(comparison.detection) == is_disclosed
    assert comparison.differences


@pytest.mark.slow
def test_at_the_level_rounded_the_copy_is_the_feedback_and_a_page_of_it(tmp_path: Path) -> None:
    lab = evaluated_study(tmp_path, ROUNDED)
    folder = copy_for(lab, "A1")
    assert (folder / "feedback.json").read_bytes() == (
        lab.folder / "feedback" / "A1" / "feedback.json"
    ).read_bytes()
    page = (folder / "report-developer.html").read_text(encoding="utf-8")
    value = content(folder, "feedback.json")["metrics"]["center_hit.recall"]["value"]
    assert f"{value:g}" in page
    assert "Alphacorp-finder-0" in page
    assert not (folder / "evaluation.json").exists()
    printed = ReportChoice(audience="developer", algorithm="A1", is_pdf=True)
    with pytest.raises(InputError, match="only the level 'rounded', which has a page and no PDF"):
        report_stored(lab.study_options(), printed, lab.folder / "pdf")
    assert not (lab.folder / "pdf").exists()
    chinese = ReportChoice(
        audience="developer", algorithm="A1", language="zh", laboratory="SealedLab", number="17"
    )
    report_stored(lab.study_options(), chinese, lab.folder / "zh")
    page = (lab.folder / "zh" / "report-developer-zh.html").read_text(encoding="utf-8")
    for word in ("代号", "SealedLab", "17"):
        assert word in page


def test_what_needs_the_reference_on_the_disk_is_refused(lab: StudyLab) -> None:
    for choice in (ReportChoice(images=lab.folder), ReportChoice(sweeps=("x.y=1",))):
        with pytest.raises(InputError, match="neither images nor sweeps"):
            report_stored(lab.study_options(), choice, lab.folder / "x")


def test_whose_copy_it_is_must_be_given(lab: StudyLab) -> None:
    with pytest.raises(InputError, match="for a developer needs their algorithm"):
        report_stored(lab.study_options(), ReportChoice(audience="developer"), lab.folder / "x")


@pytest.mark.slow
def test_another_result_is_not_replaced_but_the_own_is(lab: StudyLab, plain: Path) -> None:
    with pytest.raises(InputError, match="holds another result"):
        report_stored(lab.study_options(), ReportChoice(), plain)
    out = lab.folder / "again"
    report_stored(lab.study_options("A1", "A2"), ReportChoice(), out, ["A2"])
    assert [comparison["baseline"] for comparison in content(out)["comparisons"]] == ["A2"]
    report_stored(lab.study_options("A1"), ReportChoice(), out)
    assert content(out)["comparisons"] == []
    assert not (out / "comparison.json").exists()
    with pytest.raises(InputError, match="is inside the sealed set"):
        report_stored(lab.study_options(), ReportChoice(), lab.sealed / "x")


def test_a_reporters_own_key_opens_results_and_not_the_reference(tmp_path: Path) -> None:
    pytest.importorskip("pyrage")
    lab = make_lab(tmp_path)
    policy = tmp_path / "policy.toml"
    person = f'[[people]]\nname = "Dee"\nroles = ["reporter"]\nkey = "{new_person(lab, "Dee")}"\n'
    policy.write_text(policy.read_text().replace("[reuse]", f"{person}\n[reuse]"))
    lab.seal()
    evaluate_sealed(lab.evaluate_options("mine.csv", "scan0", "scan1"))
    order = StudyOptions(lab.sealed, lab.key("Dee"))
    report_stored(order, ReportChoice(), tmp_path / "lab")
    assert content(tmp_path / "lab")["algorithms"][0]["rules"]["luna16"]["counts"]["hit"] == 2
    opened = open_sealed(lab.sealed, lab.key("Dee"), "report")
    with pytest.raises(InputError):
        opened.reference()


@pytest.mark.slow
def test_no_report_is_made_of_a_withdrawn_patient(tmp_path: Path) -> None:
    lab = evaluated_study(tmp_path, METRICS, algorithms=2)
    withdraw(lab.sealed, person_key("Ada"), cases=["case0003"], reason="asked for")
    with pytest.raises(
        InputError, match="evaluation 2: was made with cases that were withdrawn since"
    ):
        report_stored(lab.study_options(), ReportChoice(), tmp_path / "lab")
    assert not (lab.sealed / layout.RESULTS).exists()
    # the protocol refuses marks on cases that are not in the set, but not on those that were
    for result in evaluate_roster(lab.roster, lab.roster_options(force=True)):
        assert result.feedback is not None, result.problem
        assert (result.was_done, result.feedback["budget"]["used"]) == (False, 1)
    report_stored(lab.study_options(), ReportChoice(), tmp_path / "lab")
    assert "case0003" not in (tmp_path / "lab" / "report.html").read_text()


@pytest.mark.parametrize("fatal", [1, 6, 11, 17])
def test_killed_anywhere_a_report_is_whole_or_made_by_the_next_run(
    lab: StudyLab, monkeypatch: pytest.MonkeyPatch, fatal: int
) -> None:
    out = lab.folder / f"killed-{fatal}"
    with monkeypatch.context() as patch:
        killed_at(fatal, patch)
        with pytest.raises(Killed):
            report_stored(lab.study_options("A1"), ReportChoice(), out)
    report_stored(lab.study_options("A1"), ReportChoice(), out)
    made = verify_from_stored(out, sealed=lab.sealed, own_key=person_key("Cem"))
    assert made.is_good, (made.problems, made.differences)
    checked = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert checked.is_good, checked.problems


@pytest.mark.slow
def test_a_plan_is_evaluated_for_all_as_without_sealing(tmp_path: Path) -> None:
    lab = made_up_study(tmp_path, VERDICT)
    (tmp_path / "criteria.toml").write_text(CRITERIA)
    plan = tmp_path / "plan.json"
    freeze_files(
        FreezeOptions(
            criteria=tmp_path / "criteria.toml",
            reference=lab.bundle,
            protocol="nifdc-2022",
            out=plan,
            bootstraps=50,
        )
    )
    order = lab.roster_options(plan=plan, protocol=None, bootstraps=None)
    assert [
        result.feedback["verdict"]
        for result in evaluate_roster(lab.roster, order)
        if result.feedback
    ] == [
        "failed",
        "passed",
        "passed",
    ]
    files = sorted(tmp_path.glob("file-*"), key=lambda path: path.name[-1])
    names = ["A1", "A2", "A3"]
    evaluate_files(
        EvaluateOptions(
            marks=tuple(files), reference=lab.bundle, plan=plan, out=tmp_path / "plain", names=names
        )
    )
    report_stored(lab.study_options(), ReportChoice(), tmp_path / "lab")
    actual, wanted = content(tmp_path / "lab"), content(tmp_path / "plain")
    assert actual == wanted
    assert actual["plan"]["verdicts"] == {"A1": "failed", "A2": "passed", "A3": "passed"}
    assert content(tmp_path / "lab", "plan.json") == content(tmp_path / "plain", "plan.json")
    folder = copy_for(lab, "A2")
    assert content(folder, "feedback.json")["verdict"] == "passed"
    assert "is met: passed" in (folder / "report-developer.html").read_text(encoding="utf-8")
    assert not re.search(r"0\.\d", (folder / "feedback.json").read_text())


@pytest.mark.slow
def test_at_the_level_cases_the_own_is_whole_and_others_are_not(tmp_path: Path) -> None:
    cases = METRICS.replace('"metrics"', '"cases"') + "\n[roster]\nshows_others = true\n"
    lab = evaluated_study(tmp_path, cases, algorithms=2)
    folder = copy_for(lab, "A1")
    own, other = content(folder)["algorithms"]
    assert own["rules"]["center_hit"]["extras"]["worst_cases"]
    assert "worst_cases" not in other["rules"]["center_hit"]["extras"]
    assert (other["name"], other["digest"], other["notices"]) == ("A2", "", [])
    misses = (folder / "misses.csv").read_text()
    assert "Alphacorp-finder-0" in misses
    assert "A2" not in misses
    for name in ("labels", "flips"):
        table = pl.read_parquet(folder / f"{name}.parquet")
        assert set(table["algorithm"]) <= {"Alphacorp-finder-0"}
    assert "Betamed" not in texts(folder)
