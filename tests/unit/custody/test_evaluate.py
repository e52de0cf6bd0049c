"""An evaluation on a sealed set is charged first, and the reference stays in memory."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.people import person_key
from builders.sealed import POLICY, SealedLab, make_lab
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.custody import evaluate as module
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.sealed_set import export_reference
from nodulebench.custody.stored_results import open_result
from nodulebench.custody.verify import read_audit, verify_sealed, write_checkpoint
from nodulebench.i18n.translator import in_english

pytest.importorskip("cryptography")
CRITERIA = 'name = "accept"\n[[criteria]]\nmetric = "recall"\nrule = "luna16"\n'


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    lab = make_lab(tmp_path)
    lab.seal()
    return lab


def evaluate_marks(
    lab: SealedLab, name: str, *hits: str, developer: str = "Example", **more: object
) -> dict:
    order = SealedEvaluateOptions(
        lab.marks(name, *hits),
        lab.sealed,
        person_key("Bo"),
        developer,
        bootstraps=20,
        **more,  # type: ignore[arg-type]
    )
    answer, _ = evaluate_sealed(order)
    return answer


def steps(lab: SealedLab) -> list[str]:
    verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert verified.is_good, verified.problems
    return [event.step for event in verified.events]


def test_rounded_feedback_tells_the_named_metrics_and_no_more(lab: SealedLab) -> None:
    answer = evaluate_marks(lab, "mine.csv", "scan0", "scan1", "scan2")
    assert answer["metrics"]["luna16.recall"]["value"] == 0.75
    assert set(answer) == {
        "schema",
        "algorithm",
        "submission",
        "test_set",
        "protocol",
        "level",
        "metrics",
        "budget",
    }
    assert answer["budget"] == {"used": 1, "allowed": 2}
    assert "scan" not in json.dumps({**answer, "submission": ""})


def test_every_evaluation_is_in_the_log_before_and_after(lab: SealedLab) -> None:
    evaluate_marks(lab, "mine.csv", "scan0")
    assert steps(lab) == ["sealed", "evaluation_charged", "evaluated"]


def test_a_second_evaluation_warns_and_a_third_is_refused(lab: SealedLab) -> None:
    evaluate_marks(lab, "first.csv", "scan0")
    answer = evaluate_marks(lab, "two.csv", "scan0", "scan1")
    assert answer["budget"]["used"] == 2
    assert answer["budget"]["optimism_standard_errors"] == 0.5642
    assert "This is evaluation 2 of the same cases." in in_english(answer["budget"]["warning"])
    with pytest.raises(InputError, match="developer 'example': has used 2 of 2 evaluations"):
        evaluate_marks(lab, "three.csv", "scan3", developer="EXAMPLE")
    assert steps(lab)[-1] == "refused"
    assert evaluate_marks(lab, "three.csv", "scan3", developer="Other")["budget"]["used"] == 1


def test_asking_again_for_the_same_costs_nothing(lab: SealedLab) -> None:
    first = evaluate_marks(lab, "first.csv", "scan0")
    assert evaluate_marks(lab, "first.csv", "scan0") == first
    assert len(read_audit(lab.sealed).uses[0].evaluations) == 1


def test_an_evaluation_that_was_interrupted_is_charged_and_can_be_repeated(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_scored", stop)
        with pytest.raises(KeyboardInterrupt):
            evaluate_marks(lab, "first.csv", "scan0")
    assert steps(lab) == ["sealed", "evaluation_charged"]
    notices = verify_sealed(lab.sealed).notices
    assert sentences(notices) == (
        "the evaluation of event 2 was interrupted; repeating it is not deducted from the budget",
    )
    assert len(read_audit(lab.sealed).uses[0].evaluations) == 1
    assert evaluate_marks(lab, "first.csv", "scan0")["budget"]["used"] == 1
    assert len(read_audit(lab.sealed).uses[0].evaluations) == 1
    assert verify_sealed(lab.sealed).notices == ()


def test_a_submission_that_cannot_be_read_costs_no_evaluation(lab: SealedLab) -> None:
    with pytest.raises(InputError, match="has 6 values, but the header names 5"):
        evaluate_marks(lab, "bad.csv", "scan0,here")
    assert steps(lab) == ["sealed", "evaluation_charged", "failed"]
    assert read_audit(lab.sealed).uses == ()


def test_marks_on_another_sets_cases_cost_no_evaluation(lab: SealedLab) -> None:
    with pytest.raises(
        InputError, match="other: has no marks on cases of this test set, but on 'elsewhere'"
    ):
        evaluate_marks(lab, "other.csv", "elsewhere")
    assert steps(lab) == ["sealed", "evaluation_charged", "failed"]
    assert read_audit(lab.sealed).uses == ()
    assert evaluate_marks(lab, "some.csv", "elsewhere", "scan0")["budget"]["used"] == 1
    assert evaluate_marks(lab, "none.csv")["budget"]["used"] == 2  # no mark at all is an answer


def test_nothing_is_written_into_the_set_itself(lab: SealedLab) -> None:
    inside = lab.sealed / "data" / "feedback"
    with pytest.raises(InputError, match="is inside the sealed set"):
        evaluate_marks(lab, "mine.csv", "scan0", out=inside)
    with pytest.raises(InputError, match="is inside the sealed set"):
        export_reference(lab.sealed, person_key("Ada"), "new reading", inside)
    assert steps(lab) == ["sealed"]


def test_feedback_is_replaced_only_by_force_and_asking_in_vain_costs_nothing(
    lab: SealedLab, tmp_path: Path
) -> None:
    out = tmp_path / "feedback"
    evaluate_marks(lab, "mine.csv", "scan0", out=out)
    first = (out / "feedback.json").read_bytes()
    before = steps(lab)
    with pytest.raises(InputError, match=r"holds another result \(feedback\.json\)"):
        evaluate_marks(lab, "other.csv", "scan1", "scan2", out=out)
    assert (out / "feedback.json").read_bytes() == first
    assert steps(lab) == before
    evaluate_marks(lab, "other.csv", "scan1", "scan2", out=out, force=True)
    assert (out / "feedback.json").read_bytes() != first


def test_a_result_or_an_event_without_author_is_found(lab: SealedLab) -> None:
    evaluate_marks(lab, "mine.csv", "scan0")
    stored_file = lab.sealed / "results" / "00000002.zip.sealed"
    for name in (
        "results/00000007.zip.sealed",
        "results/00000002.json.sealed",
        "results/2.zip.sealed",
        "audit/1a.json",
    ):
        added = lab.sealed / name
        added.write_bytes(stored_file.read_bytes())
        verified = verify_sealed(lab.sealed)
        assert [str(problem) for problem in verified.problems] == [
            f"{added}: does not belong there: it was added."
        ]
        added.unlink()
    assert verify_sealed(lab.sealed).is_good


def test_no_plain_reference_is_written_anywhere(lab: SealedLab) -> None:
    evaluate_marks(lab, "mine.csv", "scan0", out=lab.folder / "feedback")
    secret = (lab.bundle / "nodules.parquet").read_bytes()[4:40]
    outside = [path for path in lab.folder.rglob("*") if lab.bundle not in path.parents]
    files = [path for path in outside if path.is_file()]
    assert sorted(path.name for path in (lab.folder / "feedback").iterdir()) == [
        "checkpoint.json",
        "feedback.json",
    ]
    for path in files:
        content = path.read_bytes()
        assert secret not in content, path
        assert b"hidden-nodule" not in content, path


def test_the_feedback_comes_with_a_checkpoint_of_the_log(lab: SealedLab) -> None:
    evaluate_marks(lab, "mine.csv", "scan0", out=lab.folder / "feedback")
    checkpoint = lab.folder / "feedback" / "checkpoint.json"
    assert verify_sealed(lab.sealed, checkpoints=[checkpoint]).is_good
    (lab.sealed / "audit" / "00000003.json").unlink()
    problems = [
        str(problem) for problem in verify_sealed(lab.sealed, checkpoints=[checkpoint]).problems
    ]
    assert any(text.startswith(str(checkpoint)) and "it was cut off" in text for text in problems)


def test_writers_at_the_same_time_lose_nothing(lab: SealedLab) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from nodulebench.custody.sealed_set import open_sealed

    opened = open_sealed(lab.sealed, person_key("Bo"), "evaluate")

    def write(number: int) -> int:
        return opened.record("refused", {"number": number}).number

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(write, range(40)))
    assert sorted(numbers) == list(range(2, 42))
    verified = verify_sealed(lab.sealed, own_key=person_key("Safe"))
    assert verified.is_good, verified.problems
    assert {event.facts.get("number") for event in verified.events} == {None, *range(40)}
    (lab.sealed / "audit" / "00000041.json").unlink()
    assert not verify_sealed(lab.sealed).is_good


def test_only_an_operator_may_evaluate_and_refusals_are_logged(lab: SealedLab) -> None:
    order = SealedEvaluateOptions(
        lab.marks("a.csv", "scan0"), lab.sealed, person_key("Cem"), "Example"
    )
    with pytest.raises(InputError, match="'Cem' is auditor and may not evaluate"):
        evaluate_sealed(order)
    assert steps(lab) == ["sealed", "refused"]


def test_a_tampered_set_is_not_evaluated_on(lab: SealedLab) -> None:
    path = lab.sealed / "policy.toml"
    original = path.read_text()
    path.write_text(
        original.replace("evaluations_per_developer = 2", "evaluations_per_developer = 9")
    )
    with pytest.raises(InputError, match=r"policy.toml: was changed after the set was sealed"):
        evaluate_marks(lab, "mine.csv", "scan0")
    path.write_text(original)
    event = lab.sealed / "audit" / "00000001.json"
    event.write_bytes(event.read_bytes().replace(b"Ada", b"Eve"))
    with pytest.raises(InputError, match=r"00000001\.json: names 'Eve', who had no valid key"):
        evaluate_marks(lab, "mine.csv", "scan0")


def verdict_lab(folder: Path, limit: float) -> tuple[SealedLab, Path]:
    from nodulebench.evaluation.plans import FreezeOptions, freeze_files

    head, _, _ = POLICY.partition("[reuse]")
    lab = make_lab(folder, head + "[reuse]\nevaluations_per_developer = 3\n")
    lab.seal()
    criteria = folder / "criteria.toml"
    criteria.write_text(CRITERIA + f'comparison = ">="\nlimit = {limit}\n')
    plan = folder / "plan.json"
    freeze_files(
        FreezeOptions(
            criteria=criteria, reference=lab.bundle, protocol="luna16", out=plan, bootstraps=20
        )
    )
    return lab, plan


def test_a_verdict_comes_without_a_number(tmp_path: Path) -> None:
    lab, plan = verdict_lab(tmp_path, 0.5)
    answer = evaluate_with_plan(lab, plan, "bad.csv", "scan0")
    assert answer["verdict"] == "failed"
    assert "metrics" not in answer
    again = evaluate_with_plan(lab, plan, "good.csv", "scan0", "scan1", "scan2")
    assert again["verdict"] == "passed"
    # one-sided 97.5 % after failed or undecided: 1 + 2 histories, 0.025 / 3 in the tail
    assert again["budget"]["bound_standard_errors"] == 2.394
    third = evaluate_with_plan(lab, plan, "more.csv", "scan0", "scan1", "scan2", "scan3")
    # a developer who passed and continues: 1 + 3 + 9 histories
    assert third["budget"]["bound_standard_errors"] == pytest.approx(2.8905, abs=1e-4)


def evaluate_with_plan(lab: SealedLab, plan: Path, name: str, *hits: str) -> dict:
    order = SealedEvaluateOptions(
        lab.marks(name, *hits), lab.sealed, person_key("Bo"), "Example", plan=plan
    )
    return evaluate_sealed(order)[0]


def test_a_verdict_needs_a_plan(tmp_path: Path) -> None:
    lab, _ = verdict_lab(tmp_path, 0.5)
    with pytest.raises(InputError, match="no plan was given"):
        evaluate_marks(lab, "mine.csv", "scan0")
    assert steps(lab) == ["sealed"]


@pytest.mark.parametrize(("level", "tells_cases"), [("metrics", False), ("cases", True)])
def test_case_level_results_go_out_only_where_the_policy_says_so(
    tmp_path: Path, level: str, tells_cases: bool
) -> None:
    head, _, _ = POLICY.partition("[reuse]")
    lab = make_lab(
        tmp_path, head + f'[reuse]\nevaluations_per_developer = 2\nfeedback = "{level}"\n'
    )
    lab.seal()
    answer = evaluate_marks(lab, "mine.csv", "scan0", out=tmp_path / "out")
    assert answer["evaluation"]["algorithms"][0]["rules"]["luna16"]["counts"]["hit"] == 1
    assert ("worst_cases" in json.dumps(answer)) == tells_cases
    assert (tmp_path / "out" / "evaluation").exists() == tells_cases
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(path.name == "misses.csv" for path in written) == tells_cases
    assert any(b"hidden-nodule" in path.read_bytes() for path in written) == tells_cases
    second = evaluate_marks(lab, "two.csv", "scan0", "scan1")
    assert "no bound is valid for a developer who adapts to it" in in_english(
        second["budget"]["warning"]
    )


def test_an_auditor_opens_a_stored_result_with_its_corrected_bounds(lab: SealedLab) -> None:
    evaluate_marks(lab, "mine.csv", "scan0", "scan1")
    stored = open_result(lab.sealed, person_key("Cem"), 2)
    assert stored["evaluation"]["algorithms"][0]["rules"]["luna16"]["counts"]["hit"] == 2
    recall = stored["corrected"]["luna16.recall"]
    assert recall["value"] == 0.5
    assert recall["optimism"] == pytest.approx(0, abs=1e-12)
    metric = stored["evaluation"]["algorithms"][0]["rules"]["luna16"]["metrics"]["recall"]
    assert recall["bound"] == metric["sound"]["low"]
    assert stored["corrected"]["luna16.miss_rate"]["side"] == "upper"
    assert steps(lab)[-1] == "inspected"
    with pytest.raises(InputError, match=r"does not exist\. Stored results: 2\."):
        open_result(lab.sealed, person_key("Cem"), 7)


def test_an_export_needs_a_curator_and_a_reason_and_is_logged(lab: SealedLab) -> None:
    with pytest.raises(InputError, match="has no reason"):
        export_reference(lab.sealed, person_key("Ada"), " ", lab.folder / "plain")
    with pytest.raises(InputError, match="'Bo' is operator and may not export"):
        export_reference(lab.sealed, person_key("Bo"), "curious", lab.folder / "plain")
    assert not (lab.folder / "plain").exists()
    export_reference(lab.sealed, person_key("Ada"), "new reading", lab.folder / "plain")
    for name in ("nodules.parquet", "cases.parquet", "manifest.json"):
        assert (lab.folder / "plain" / name).read_bytes() == (lab.bundle / name).read_bytes()
    assert steps(lab) == ["sealed", "refused", "exported"]


def test_backdated_evaluations_are_reported_and_the_set_stays_open(
    lab: SealedLab,
) -> None:
    for name, hits, year in (("first.csv", ("scan0",), 2030), ("two.csv", ("scan1",), 2029)):
        at = datetime(year, 1, 1, tzinfo=UTC)
        marks = lab.marks(name, *hits)
        evaluate_sealed(
            SealedEvaluateOptions(
                marks, lab.sealed, person_key("Bo"), "Example", bootstraps=0, at=at
            )
        )
    audit = read_audit(lab.sealed)
    assert audit.problems == ()
    files = [str(date).partition(": is dated 2029")[0] for date in audit.dates]
    assert [Path(file).name for file in files] == ["00000004.json", "00000005.json"]
    assert any("is dated 2029" in str(problem) for problem in verify_sealed(lab.sealed).problems)
    assert write_checkpoint(lab.sealed, lab.folder / "dated.checkpoint").events == 5


def test_a_checkpoint_is_stored_elsewhere_and_moves_only_forward(lab: SealedLab) -> None:
    with pytest.raises(InputError, match="is inside the sealed set"):
        write_checkpoint(lab.sealed, lab.sealed / "checkpoint.json")
    path = lab.folder / "checkpoint.json"
    assert write_checkpoint(lab.sealed, path).events == 1
    evaluate_marks(lab, "mine.csv", "scan0")
    assert write_checkpoint(lab.sealed, path, key=lab.key_file("Ada")).events == 3
    verified = verify_sealed(lab.sealed, public_key=lab.public_key, checkpoints=[path])
    assert verified.is_good, verified.problems
