"""From an exam over blind readings to a released reference that scores an algorithm, by commands.

Six of seven candidates pass. Three readers see cases a, b and c: all draw a nodule in a, one of
them another that arbitration rejects, no one draws in b and c. The reviewer adds one in b.
"""

import json
from pathlib import Path

import polars as pl
import pytest

from builders.annotation import small_cases
from builders.tables import Slice, case, mark, nodule, reference, submission
from nodulebench.cli import main
from nodulebench.io.formats import read_reference
from nodulebench.io.marks.nifdc import write_marks, write_reference

PEOPLE = "".join(
    f'[[people]]\nperson_id = "{name}"\ntitle = "{title}"\n'
    f'years_reading = {years}\nroles = ["{role}"]\n'
    for name, title, years, role in (
        ("office", "scientist", 0, "organiser"),
        *((name, "resident", 6, "junior") for name in ("r1", "r2", "r3", "r4", "r5", "r6", "kim")),
        ("lead1", "deputy_chief", 12, "leader"),
        ("lead2", "deputy_chief", 12, "leader"),
        ("arbiter", "chief", 20, "arbitrator"),
    )
)
SHARED = (Slice(3, 50, 50, 8, 8), Slice(4, 50, 50, 8, 8))
SHIFTED = (Slice(3, 52, 50, 8, 8), Slice(4, 52, 50, 8, 8))
LONE = (Slice(9, 20, 20, 6, 6),)
MISSED = (Slice(5, 70, 70, 6, 6), Slice(6, 70, 70, 6, 6))


def run(capsys, *arguments: object, code: int = 0) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert int(stopped.value.code or 0) == code, captured.err
    return captured.out if code == 0 else captured.err


def wrote(path: Path, **content: tuple[tuple[Slice, ...], ...]) -> Path:
    """A file of marks: each a tuple of boxes on slices, by case."""
    cases = [
        case(
            name, *(mark(None, (boxes[0].x, boxes[0].y, boxes[0].index), *boxes) for boxes in marks)
        )
        for name, marks in content.items()
    ]
    write_marks(submission(*cases), path)
    return path


@pytest.fixture
def exam(tmp_path: Path, capsys) -> Path:
    """The result of an exam that all but kim have passed."""
    key = reference(case("seq-1", nodule(8, (50, 50, 3), *SHARED), nodule(6, (20, 20, 9), *LONE)))
    write_reference(key, tmp_path / "key.csv")
    answers = [
        wrote(tmp_path / f"{name}.csv", **{"seq-1": (SHARED, LONE)})
        for name in ("r1", "r2", "r3", "r4", "r5", "r6", "lead1", "lead2", "arbiter")
    ]
    answers.append(wrote(tmp_path / "kim.csv", **{"seq-1": (SHARED,)}))
    options = ("--sequences", 0, "--out", tmp_path / "sheets")
    output = run(capsys, "annotate", "exam", tmp_path / "key.csv", *answers, *options)
    assert "9 of 10 passed" in output
    return tmp_path / "sheets" / "exam.json"


@pytest.fixture
def released(tmp_path: Path, exam: Path, capsys) -> tuple[Path, str, list[str]]:
    """The project with its batch released, the reviewer, and the readers."""
    (tmp_path / "people.toml").write_text(PEOPLE)
    small_cases("a", "b", "c").write_csv(tmp_path / "cases.csv")
    handle = tmp_path / "handle"

    def step(name: str, *arguments: object, by: str) -> str:
        return run(capsys, "annotate", "review", name, handle, *arguments, "--by", by)

    options = ("--roster", tmp_path / "people.toml", "--cases", tmp_path / "cases.csv")
    output = run(
        capsys, "annotate", "review", "start", handle, *options, "--exam", exam, "--draw-teams", 7
    )
    teams = dict(line.split(": ") for line in output.splitlines() if "leader" in line)
    assert "kim" not in output
    readers = teams["team-1"].split(";")[0].split(", ")
    reviewer = teams["team-2"].split("leader ")[1]
    step("open", "b1", "a", "b", "c", "--team", "team-1", by="office")
    drawn = ((SHARED, LONE), (SHARED,), (SHIFTED,))
    for reader, marks in zip(readers, drawn, strict=True):
        output = step("read", "b1", wrote(tmp_path / f"{reader}-read.csv", a=marks), by=reader)
    assert output.splitlines()[0] == "b1: typing"
    step("reveal-reviewer", "b1", by="office")
    step("type", "b1", "a", "candidate-1", "solid", by=readers[1])
    step("type", "b1", "a", "candidate-2", "calcified", by=readers[0])
    step("decide", "b1", "a", "candidate-1", "--agree", by=reviewer)
    step("decide", "b1", "a", "candidate-2", "--object", "--reason", "a vessel", by=reviewer)
    missed = pl.read_csv(wrote(tmp_path / "missed.csv", b=(MISSED,)))
    missed.with_columns(type=pl.lit("part_solid")).write_csv(tmp_path / "missed.csv")
    output = step("add", "b1", tmp_path / "missed.csv", "--reason", "seen by me", by=reviewer)
    assert "  b: waits for" in output
    output = step("finish", "b1", "a", "b", "c", by=reviewer)
    assert output.splitlines()[:-1] == [
        "b1: arbitration",
        "  a candidate-2: in dispute, the readers are not consistent, the reviewer objects",
        f"  b candidate-1: in dispute, added by '{reviewer}'; no reader drew it",
    ]
    step("arbitrate", "b1", "a", "candidate-2", "--no-nodule", by="arbiter")
    step("arbitrate", "b1", "b", "candidate-1", "--nodule", "--type", "part_solid", by="arbiter")
    step("release", "b1", by="arbiter")
    return handle, reviewer, readers


def scores(tmp_path: Path, capsys, marks: Path, bundle: Path) -> tuple[dict, dict]:
    """Counts and metrics of an algorithm under center hit."""
    out = tmp_path / f"result-{bundle.name}"
    options = ("--reference", bundle, "--protocol", "nifdc-2022", "--bootstraps", 0, "--out", out)
    run(capsys, "evaluate", marks, *options)
    document = json.loads((out / "evaluation.json").read_text())["algorithms"][0]["rules"]
    return document["center_hit"]["counts"], document["center_hit"]["metrics"]


def test_readings_become_a_bundle_that_scores_an_algorithm(
    tmp_path: Path, released, capsys
) -> None:
    handle, reviewer, readers = released
    findings, bundle = tmp_path / "findings", tmp_path / "bundle"
    output = run(capsys, "annotate", "review", "export", handle, bundle, "--findings", findings)
    written = [line for line in output.splitlines() if not line.startswith("next ")]
    assert written == [f"wrote {bundle}: 2 nodules in 3 cases", f"wrote {findings}"]
    made = read_reference(bundle)
    everybody = " ".join(f"{reader}:m0" for reader in sorted(readers))
    columns = ["case_id", "nodule_id", "type", "agreement", "added_by", "findings"]
    assert made.nodules.select(columns).rows() == [
        ("a", "nodule-1", "solid", 3, None, everybody),
        ("b", "nodule-1", "part_solid", 0, reviewer, f"{reviewer}:m0"),
    ]
    assert made.nodules["x_mm"].to_list() == [51.0, 70.0]  # the hull from 46 to 56; as drawn
    assert made.nodules["diameter_mm"].to_list() == [9.0, 6.0]  # (10 + 8)/2
    provenance = json.loads((bundle / "provenance.json").read_text())
    steps = [(event["actor_id"], event["step"]) for event in provenance["events"]]
    assert steps.count((reviewer, "finish")) == 3
    assert (reviewer, "add") in steps
    assert steps[-1] == ("arbiter", "release")
    assert provenance["rule"] == "nifdc-2022"
    added = next(event for event in provenance["events"] if event["step"] == "add")
    assert added["change"] == "candidate-1 added, part_solid, on 2 slices: seen by me"

    marks = wrote(tmp_path / "mine.csv", a=(SHARED,), b=(MISSED,), c=(LONE,))
    counts, metrics = scores(tmp_path, capsys, marks, bundle)
    assert (counts["hit"], counts["missed"], counts["false_positive"]) == (2, 0, 1)
    assert metrics["recall"]["value"] == 1.0
    assert metrics["precision"]["value"] == pytest.approx(2 / 3)


def test_another_rule_applies_to_the_same_readings(tmp_path: Path, released, capsys) -> None:
    handle, _, readers = released
    findings = tmp_path / "findings"
    run(capsys, "annotate", "review", "export", handle, tmp_path / "bundle", "--findings", findings)
    table = pl.read_parquet(findings / "findings.parquet")
    assert table.height == 4
    first = table.filter(pl.col("reader_id") == readers[0])
    assert first.select("type", "diameter_mm", "candidate_id", "is_nodule").rows() == [
        (None, 8.0, "candidate-1", True),
        ("calcified", 6.0, "candidate-2", False),
    ]
    marks = wrote(tmp_path / "mine.csv", a=(SHARED,), b=(MISSED,), c=(LONE,))
    # what the majority drew; what anybody drew; what the reviewer added was in no reading
    wanted = {"majority": (1, 0, 2), "union": (1, 1, 2), "unanimous": (1, 0, 2)}
    for rule, (hit, missed, false) in wanted.items():
        bundle = tmp_path / rule
        output = run(
            capsys, "reference", "build", findings, "--reference-rule", rule, "--out", bundle
        )
        assert "4 findings in 3 cases" in output
        counts, _ = scores(tmp_path, capsys, marks, bundle)
        assert (counts["hit"], counts["missed"], counts["false_positive"]) == (hit, missed, false)


def test_who_has_not_passed_cannot_read(tmp_path: Path, exam: Path, capsys) -> None:
    team = '[[teams]]\nteam_id = "one"\nreader_ids = ["r1", "kim", "r3"]\nleader_id = "lead1"\n'
    (tmp_path / "people.toml").write_text(PEOPLE + team)
    small_cases("a").write_csv(tmp_path / "cases.csv")
    options = ("--roster", tmp_path / "people.toml", "--cases", tmp_path / "cases.csv")
    start = ("annotate", "review", "start", tmp_path / "handle", *options)
    output = run(capsys, *start, "--exam", exam, code=1)
    assert "team 'one': 'kim' has not passed the exam." in output
    assert not (tmp_path / "handle").exists()
    (tmp_path / "other.json").write_text('{"cpm": 1}')
    output = run(capsys, *start, "--exam", tmp_path / "other.json", code=1)
    assert "other.json: is not the result of an exam. Give exam.json." in output
