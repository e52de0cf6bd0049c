"""Several algorithms on a sealed set: a look each, one that fails fails alone, nothing twice."""

import json
from pathlib import Path

import pytest

from builders.killing import Killed, killed_at
from builders.sealed import SECRET, SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody.budget import evaluations_of
from nodulebench.custody.evaluate import SealedEvaluateOptions
from nodulebench.custody.evaluate_roster import RosterEvaluation, evaluate_roster
from nodulebench.custody.roster import read_roster
from nodulebench.custody.verify import read_audit, verify_sealed

pytest.importorskip("cryptography")
ROWS = (
    ("one.csv", "Alpha Ltd", "A1", "scan0 scan1"),
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
        (lab.folder / without).write_text("this is no table of marks\n")
    path = lab.folder / "roster.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(lab: SealedLab, path: Path, *files: Path, **more: object) -> list[RosterEvaluation]:
    order = SealedEvaluateOptions(
        Path(),
        lab.sealed,
        SECRET,
        "Bo",
        "",
        bootstraps=20,
        out=lab.folder / "told",
        **more,  # type: ignore[arg-type]
    )
    return list(evaluate_roster(path, order, files))


def test_each_is_charged_a_look_of_its_own_developer(lab: SealedLab) -> None:
    found = run(lab, roster(lab))
    assert [one.feedback["metrics"]["luna16.recall"]["value"] for one in found if one.feedback] == [
        0.5,
        0.75,
        0.25,
    ]
    audit = read_audit(lab.sealed, SECRET)
    assert {use.developer: len(use.evaluations) for use in audit.uses} == {
        "alpha ltd": 1,
        "beta ltd": 1,
        "gamma ltd": 1,
    }
    assert verify_sealed(lab.sealed, public_key=lab.public_key, secret=SECRET).is_good


def test_feedback_tells_nothing_of_others(lab: SealedLab) -> None:
    run(lab, roster(lab))
    told = (lab.folder / "told" / "A2" / "feedback.json").read_text()
    assert json.loads(told)["algorithm"] == "Finder of Beta Ltd"
    assert json.loads(told)["alias"] == "A2"
    checkpoint = (lab.folder / "told" / "A2" / "checkpoint.json").read_text()
    for other in ("Alpha", "Gamma", "A1", "A3", "one.csv", "three", "scan", "hidden-nodule"):
        assert other not in told
        assert other not in checkpoint


def test_one_that_cannot_be_read_fails_alone_and_costs_nothing(lab: SealedLab) -> None:
    found = run(lab, roster(lab, without="two.csv"))
    assert [one.feedback is None for one in found] == [False, True, False]
    assert "two.csv" in str(found[1].problem)
    used = read_audit(lab.sealed, SECRET).uses
    assert {one.developer for one in used if one.evaluations} == {"alpha ltd", "gamma ltd"}
    # once mended, it alone is scored: the others were done before
    lab.marks("two.csv", "scan0")
    again = run(lab, lab.folder / "roster.csv")
    assert [one.was_done for one in again] == [True, False, True]
    assert all(one.feedback for one in again)


def test_a_file_that_is_not_there_fails_alone(lab: SealedLab) -> None:
    path = roster(lab)
    (lab.folder / "one.csv").unlink()
    found = run(lab, path)
    assert [one.feedback is None for one in found] == [True, False, False]


def test_a_spent_budget_stops_its_developer_alone(lab: SealedLab) -> None:
    path = roster(lab)
    run(lab, path)
    for number in (2, 3):
        lab.marks("one.csv", *["scan0", "scan1", "scan2"][:number], "scan3")
        found = run(lab, path, force=True)
    assert "has used 2 of 2 evaluations" in str(found[0].problem)
    assert [one.was_done for one in found] == [False, True, True]


def test_some_of_a_roster_can_be_scored(lab: SealedLab) -> None:
    path = roster(lab)
    found = run(lab, path, lab.folder / "three.csv")
    assert [one.entry.alias for one in found] == ["A3"]
    with pytest.raises(InputError, match="is not in the roster"):
        run(lab, path, lab.marks("other.csv", "scan0"))


def test_results_of_something_else_are_not_replaced_and_nothing_is_charged(lab: SealedLab) -> None:
    path = roster(lab)
    other = lab.folder / "told" / "A3"
    other.mkdir(parents=True)
    (other / "feedback.json").write_text("{}")
    with pytest.raises(InputError, match="holds another result"):
        run(lab, path)
    assert not evaluations_of(read_audit(lab.sealed, SECRET).events)


def test_an_alias_stays_with_its_developer(lab: SealedLab) -> None:
    path = roster(lab)
    run(lab, path)
    path.write_text(path.read_text().replace("Beta Ltd,A2", "Delta Ltd,A2"))
    with pytest.raises(InputError, match="was another developer's algorithm"):
        run(lab, path)


def test_an_alias_that_looks_like_one_of_before_is_refused(lab: SealedLab) -> None:
    path = roster(lab)
    run(lab, path)
    other = lab.folder / "other.csv"
    other.write_text("file,developer,alias\none.csv,Delta Ltd,\u04102\n", encoding="utf-8")
    with pytest.raises(InputError, match="looks like 'a2', which this set has used"):
        run(lab, other)


def test_an_alias_that_another_run_gave_away_meanwhile_is_refused(lab: SealedLab) -> None:
    path = roster(lab)
    other = lab.folder / "other.csv"
    other.write_text("file,developer,alias\none.csv,Delta Ltd,A2\n")
    order = SealedEvaluateOptions(Path(), lab.sealed, SECRET, "Bo", "", bootstraps=20)
    waiting = evaluate_roster(other, order)
    run(lab, path)
    (found,) = waiting
    assert "was another developer's algorithm" in str(found.problem)
    assert "delta ltd" not in [use.developer for use in read_audit(lab.sealed, SECRET).uses]


def test_the_policy_may_name_the_aliases(tmp_path: Path) -> None:
    from builders.sealed import POLICY

    lab = make_lab(tmp_path, POLICY + '\n[roster]\naliases = ["A1", "A2"]\n')
    lab.seal()
    with pytest.raises(InputError, match=r"alias 'A3': is not in the policy\."):
        run(lab, roster(lab))


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("one.csv,Alpha Ltd,", "has no alias"),
        ("one.csv,,A1", "has no developer"),
        ("one.csv,Alpha Ltd,../A1", "cannot be used as the name of a folder"),
        ("one.csv,Alpha Ltd,ALPHA LTD 1", "reveals its developer"),
        ("one.csv,Alpha Ltd,12", "could be the number of an evaluation"),
        ("one.csv,Alpha Ltd,A1\ntwo.csv,Beta Ltd,a1", "is in several lines"),
        ("one.csv,Alpha Ltd,A1\none.csv,Beta Ltd,A2", "is in several lines"),
        ("", "lists no algorithm"),
    ],
)
def test_what_is_wrong_with_a_roster_is_said(tmp_path: Path, line: str, word: str) -> None:
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
    found = run(lab, path)
    assert all(one.feedback for one in found)
    uses = read_audit(lab.sealed, SECRET).uses
    assert [len(use.evaluations) for use in uses] == [1, 1, 1]
    checked = verify_sealed(lab.sealed, public_key=lab.public_key, secret=SECRET)
    assert checked.is_good, checked.problems
    values = [one.feedback["metrics"]["luna16.recall"]["value"] for one in found if one.feedback]
    assert values == [0.5, 0.75, 0.25]
