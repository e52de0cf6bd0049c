"""Several algorithms on a sealed set: each is charged once, and failures are independent."""

import json
from pathlib import Path

import pytest

from builders.killing import Killed, killed_at
from builders.people import person_key
from builders.sealed import SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody.budget import evaluations_of
from nodulebench.custody.evaluate import RosterEvaluation, SealedEvaluateOptions, evaluate_roster
from nodulebench.custody.roster import read_roster
from nodulebench.custody.verify import read_audit, verify_sealed

pytest.importorskip("cryptography")
ROWS = (
    ("first.csv", "Alpha Ltd", "A1", "scan0 scan1"),
    ("two.csv", "Beta Ltd", "A2", "scan0 scan1 scan2"),
    ("three.csv", "Gamma Ltd", "A3", "scan3"),
)


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    lab = make_lab(tmp_path)
    lab.seal()
    return lab


def roster(lab: SealedLab, *, without: str = "") -> Path:
    lines = ["file,developer,alias,name"]
    for file, developer, alias, hits in ROWS:
        lab.marks(file, *hits.split())
        lines.append(f"{file},{developer},{alias},Finder of {developer}")
    if without:
        (lab.folder / without).write_text("this is not a table of marks\n")
    path = lab.folder / "roster.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(lab: SealedLab, path: Path, *files: Path, **more: object) -> list[RosterEvaluation]:
    order = SealedEvaluateOptions(
        Path(),
        lab.sealed,
        person_key("Bo"),
        "",
        bootstraps=20,
        out=lab.folder / "feedback",
        **more,  # type: ignore[arg-type]
    )
    return list(evaluate_roster(path, order, files))


def test_each_is_charged_an_evaluation_of_its_developer(lab: SealedLab) -> None:
    results = run(lab, roster(lab))
    assert [
        result.feedback["metrics"]["luna16.recall"]["value"]
        for result in results
        if result.feedback
    ] == [
        0.5,
        0.75,
        0.25,
    ]
    audit = read_audit(lab.sealed)
    assert {use.developer: len(use.evaluations) for use in audit.uses} == {
        "alpha ltd": 1,
        "beta ltd": 1,
        "gamma ltd": 1,
    }
    assert verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe")).is_good


def test_feedback_tells_nothing_of_others(lab: SealedLab) -> None:
    run(lab, roster(lab))
    written = (lab.folder / "feedback" / "A2" / "feedback.json").read_text()
    assert json.loads(written)["algorithm"] == "Finder of Beta Ltd"
    assert json.loads(written)["alias"] == "A2"
    checkpoint = (lab.folder / "feedback" / "A2" / "checkpoint.json").read_text()
    for other in ("Alpha", "Gamma", "A1", "A3", "first.csv", "three", "scan", "hidden-nodule"):
        assert other not in written
        assert other not in checkpoint


def test_one_that_cannot_be_read_does_not_stop_the_others_and_costs_nothing(lab: SealedLab) -> None:
    results = run(lab, roster(lab, without="two.csv"))
    assert [result.feedback is None for result in results] == [False, True, False]
    assert "two.csv" in str(results[1].problem)
    used = read_audit(lab.sealed).uses
    assert {use.developer for use in used if use.evaluations} == {"alpha ltd", "gamma ltd"}
    # once corrected, only it is scored: the others were done before
    lab.marks("two.csv", "scan0")
    again = run(lab, lab.folder / "roster.csv")
    assert [result.was_done for result in again] == [True, False, True]
    assert all(result.feedback for result in again)


def test_a_missing_file_does_not_stop_the_others(lab: SealedLab) -> None:
    path = roster(lab)
    (lab.folder / "first.csv").unlink()
    results = run(lab, path)
    assert [result.feedback is None for result in results] == [True, False, False]


def test_a_spent_budget_stops_only_its_developer(lab: SealedLab) -> None:
    path = roster(lab)
    run(lab, path)
    for number in (2, 3):
        lab.marks("first.csv", *["scan0", "scan1", "scan2"][:number], "scan3")
        results = run(lab, path, force=True)
    assert "has used 2 of 2 evaluations" in str(results[0].problem)
    assert [result.was_done for result in results] == [False, True, True]


def test_some_of_a_roster_can_be_scored(lab: SealedLab) -> None:
    path = roster(lab)
    results = run(lab, path, lab.folder / "three.csv")
    assert [result.entry.alias for result in results] == ["A3"]
    with pytest.raises(InputError, match="is not in the roster"):
        run(lab, path, lab.marks("other.csv", "scan0"))


def test_results_of_something_else_are_not_replaced_and_nothing_is_charged(lab: SealedLab) -> None:
    path = roster(lab)
    other = lab.folder / "feedback" / "A3"
    other.mkdir(parents=True)
    (other / "feedback.json").write_text("{}")
    with pytest.raises(InputError, match="holds another result"):
        run(lab, path)
    assert not evaluations_of(read_audit(lab.sealed).events)


def test_an_alias_stays_with_its_developer(lab: SealedLab) -> None:
    path = roster(lab)
    run(lab, path)
    path.write_text(path.read_text().replace("Beta Ltd,A2", "Delta Ltd,A2"))
    with pytest.raises(InputError, match="was another developer's algorithm"):
        run(lab, path)


def test_an_alias_similar_to_one_of_before_is_refused(lab: SealedLab) -> None:
    path = roster(lab)
    run(lab, path)
    other = lab.folder / "other.csv"
    other.write_text("file,developer,alias\nfirst.csv,Delta Ltd,\u04102\n", encoding="utf-8")
    with pytest.raises(InputError, match="looks like 'a2', which this set has used"):
        run(lab, other)


def test_an_alias_that_another_run_gave_away_meanwhile_is_refused(lab: SealedLab) -> None:
    path = roster(lab)
    other = lab.folder / "other.csv"
    other.write_text("file,developer,alias\nfirst.csv,Delta Ltd,A2\n")
    order = SealedEvaluateOptions(Path(), lab.sealed, person_key("Bo"), "", bootstraps=20)
    waiting = evaluate_roster(other, order)
    run(lab, path)
    (result,) = waiting
    assert "was another developer's algorithm" in str(result.problem)
    assert "delta ltd" not in [use.developer for use in read_audit(lab.sealed).uses]


def test_the_policy_may_name_the_aliases(tmp_path: Path) -> None:
    from builders.sealed import POLICY

    lab = make_lab(tmp_path, POLICY + '\n[roster]\naliases = ["A1", "A2"]\n')
    lab.seal()
    with pytest.raises(InputError, match=r"alias 'A3': is not in the policy\."):
        run(lab, roster(lab))


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("first.csv,Alpha Ltd,", "has no alias"),
        ("first.csv,,A1", "has no developer"),
        ("first.csv,Alpha Ltd,../A1", "cannot be used as the name of a folder"),
        ("first.csv,Alpha Ltd,ALPHA LTD 1", "reveals its developer"),
        ("first.csv,Alpha Ltd,12", "could be the number of an evaluation"),
        ("first.csv,Alpha Ltd,A1\ntwo.csv,Beta Ltd,a1", "is in several lines"),
        ("first.csv,Alpha Ltd,A1\nfirst.csv,Beta Ltd,A2", "is in several lines"),
        ("", "lists no algorithm"),
    ],
)
def test_what_is_wrong_with_a_roster_is_reported(tmp_path: Path, line: str, word: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(f"file,developer,alias\n{line}\n")
    with pytest.raises(InputError, match=word):
        read_roster(path)


@pytest.mark.parametrize("fatal", [3, 8, 14, 19, 25, 31])
def test_killed_anywhere_and_started_again_it_charges_nothing_twice(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch, fatal: int
) -> None:
    path = roster(lab)
    with monkeypatch.context() as patch:
        killed_at(fatal, patch)
        with pytest.raises(Killed):
            run(lab, path)
    results = run(lab, path)
    assert all(result.feedback for result in results)
    uses = read_audit(lab.sealed).uses
    assert [len(use.evaluations) for use in uses] == [1, 1, 1]
    checked = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert checked.is_good, checked.problems
    values = [
        result.feedback["metrics"]["luna16.recall"]["value"]
        for result in results
        if result.feedback
    ]
    assert values == [0.5, 0.75, 0.25]
