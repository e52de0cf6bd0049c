"""The annotate commands from start to end: an exam, a comparison, a batch, an observer study."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from builders.annotation import small_cases
from builders.tables import Slice, case, mark, nodule, reference, submission
from nodulebench.cli import main
from nodulebench.io.formats import read_reference
from nodulebench.io.marks.nifdc import write_marks, write_reference

ROSTER = """
[[people]]
person_id = "office"
roles = ["organiser"]
""" + "".join(
    f'[[people]]\nperson_id = "{name}"\ntitle = "{title}"\n'
    f'years_reading = {years}\nroles = ["{role}"]\n'
    for name, title, years, role in (
        *((f"r{number}", "resident", 6, "junior") for number in range(1, 7)),
        ("lead1", "deputy_chief", 12, "leader"),
        ("lead2", "deputy_chief", 12, "leader"),
        ("arbiter", "chief", 20, "arbitrator"),
    )
)


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", *(str(argument) for argument in arguments)])
    return int(stopped.value.code or 0)


def wrote_marks(path: Path, *boxes: Slice, case_id: str = "a") -> Path:
    marked_case = case(case_id, *(mark(None, (box.x, box.y, box.index), box) for box in boxes))
    write_marks(submission(marked_case), path)
    return path


SHARED, LONE = Slice(3, 50, 50, 8, 8), Slice(9, 20, 20, 6, 6)


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    small_cases("a").write_csv(tmp_path / "cases.csv")
    return tmp_path / "cases.csv"


def test_an_exam_reports_who_passed_and_what_was_missed(tmp_path: Path, capsys) -> None:
    key = reference(case("a", nodule(8, (50, 50, 3), SHARED), nodule(6, (20, 20, 9), LONE)))
    write_reference(key, tmp_path / "key.csv")
    good = wrote_marks(tmp_path / "lee.csv", SHARED, LONE)
    bad = wrote_marks(tmp_path / "kim.csv", SHARED)
    out = tmp_path / "sheets"
    assert run("exam", tmp_path / "key.csv", good, bad, "--sequences", 0, "--out", out) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["lee", "1.000", "1.000", "1.000", "passed"]
    assert lines[2].split() == ["kim", "1.000", "0.500", "1.000", "not", "passed:", "recall"]
    assert lines[3] == "1 of 2 passed; each metric has to exceed 0.8"
    assert json.loads((out / "exam.json").read_text())[1]["missed"][0]["first_slice"] == 9
    assert run("exam", tmp_path / "key.csv", good) == 1
    assert "key 'key': has 1 sequences, not 20." in capsys.readouterr().err


def test_readers_are_compared_slice_by_slice(tmp_path: Path, cases: Path, capsys) -> None:
    files = [
        wrote_marks(tmp_path / "r1.csv", SHARED, LONE),
        wrote_marks(tmp_path / "r2.csv", SHARED),
        wrote_marks(tmp_path / "r3.csv", Slice(3, 52, 50, 8, 8)),
    ]
    out = tmp_path / "out"
    assert run("consistency", *files, "--cases", cases, "--out", out) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[:3] == [
        "a: 2 candidates, inconsistent on slice 9",
        "r1 and r2: positive agreement 0.667",
        "r1 and r3: positive agreement 0.667",
    ]
    assert "warning: a r1 m1: on one slice only, although slices are 1 mm apart" in captured.err
    highlights = pl.read_csv(out / "inconsistent.csv")
    assert highlights.select("case_id", "slice_index", "drawn_by", "missing").rows() == [
        ("a", 9, "r1", "r2 r3")
    ]
    union = read_reference(out / "union.csv")
    assert union.slices.row(0, named=True)["length_mm"] == 10.0  # from 46 to 56
    quality = json.loads((out / "quality.json").read_text())
    assert quality["group"]["by_readers"] == [1, 0, 1]
    assert quality["type_alpha"]["value"] is None
    assert run("consistency", files[0]) == 1
    assert "need two or more different readers" in capsys.readouterr().err


def test_a_batch_goes_from_blind_readings_to_a_bundle(tmp_path: Path, cases: Path, capsys) -> None:
    (tmp_path / "roster.toml").write_text(ROSTER)
    handle = tmp_path / "handle"

    def step(*arguments: object, by: str) -> str:
        assert run("review", arguments[0], handle, *arguments[1:], "--by", by) == 0
        return capsys.readouterr().out

    start = ("--roster", tmp_path / "roster.toml", "--cases", cases, "--draw-teams", 1)
    assert run("review", "start", handle, *start) == 0
    captured = capsys.readouterr()
    assert (
        "warning: the project names no keys: a person who can write to its folder" in captured.err
    )
    teams = dict(line.split(": ") for line in captured.out.splitlines() if "leader" in line)
    readers = teams["team-1"].split(";")[0].split(", ")
    reviewer = teams["team-2"].split("leader ")[1]
    captured = step("open", "b1", "a", "--team", "team-1", by="office")
    assert captured.splitlines()[:2] == [
        f"wrote {tmp_path}/handle-b1.commitment: your part of the draw; keep it secret until "
        "'reveal-reviewer'",
        "b1: reading",
    ]
    for reader, boxes in zip(readers, ([SHARED, LONE], [SHARED], [SHARED]), strict=True):
        file = wrote_marks(tmp_path / f"{reader}.csv", *boxes)
        captured = step("read", "b1", file, by=reader)
    assert captured.startswith("b1: typing\n")
    assert (
        captured.splitlines()[-1]
        == f"next  nodulebench annotate review reveal-reviewer {handle} b1 --by ORGANISER"
    )
    step("reveal-reviewer", "b1", by="office")
    step("type", "b1", "a", "candidate-1", "solid", by=readers[1])
    step("type", "b1", "a", "candidate-2", "calcified", by=readers[0])
    shown = step("candidates", "b1", by=reviewer).splitlines()
    drew = [f"a: {reader} drew {2 if reader == readers[0] else 1}" for reader in readers]
    assert shown[:3] == sorted(drew)
    assert shown[4] == "a candidate-2: slices 9; not drawn by all on 9"
    assert (
        step("candidates", "b1", by=readers[1])
        == f"a: {readers[1]} drew 1\na candidate-1: slices 3\n"
    )
    step("decide", "b1", "a", "candidate-1", "--agree", by=reviewer)
    captured = step("decide", "b1", "a", "candidate-2", "--object", by=reviewer)
    assert f"  a: waits for {reviewer} to finish its review" in captured.splitlines()
    captured = step("finish", "b1", "a", by=reviewer)
    assert captured.splitlines() == [
        "b1: arbitration",
        "  a candidate-2: in dispute, the readers are not consistent, the reviewer objects",
        f"next  nodulebench annotate review export-tasks {handle} b1 FILE --by ARBITRATOR",
    ]
    assert run("review", "release", handle, "b1", "--by", "arbiter") == 1
    assert "has 1 open dispute: a candidate-2. Settle them first." in capsys.readouterr().err
    assert run("review", "export", handle, tmp_path / "bundle") == 1
    assert "no batch is released" in capsys.readouterr().err
    step("arbitrate", "b1", "a", "candidate-2", "--nodule", "--type", "calcified", by="arbiter")
    assert step("release", "b1", by="arbiter").splitlines() == [
        "b1: released",
        f"next  nodulebench annotate review export {handle} REFERENCE",
    ]
    assert run("review", "export", handle, tmp_path / "bundle") == 0
    made = read_reference(tmp_path / "bundle")
    assert made.nodules.select("nodule_id", "type", "agreement").rows() == [
        ("nodule-1", "solid", 3),
        ("nodule-2", "calcified", 1),
    ]
    capsys.readouterr()
    assert run("review", "log", handle) == 0
    log = capsys.readouterr().out.splitlines()
    assert len(log) == 13
    assert run("review", "quality", handle, "--out", tmp_path / "quality.json") == 0
    captured = capsys.readouterr().out.splitlines()
    assert sorted(line.rsplit(" ", 1)[1] for line in captured[:3]) == ["0.667", "0.667", "1.000"]
    assert any("1.00 lone marks per case, p of drift undefined" in line for line in captured)
    assert json.loads((tmp_path / "quality.json").read_text())["cases"] == 1
    assert run("review", "status", handle, "b1") == 0
    assert capsys.readouterr().out.startswith("b1: released\n")
    assert run("review", "status", handle, "b7") == 1
    assert "batch 'b7': is not open. Open: b1." in capsys.readouterr().err
    checked = "program check b1: 2 candidates, 1 inconsistent slices"
    assert log[4].endswith(checked)
    assert log[5].endswith(f"office draw b1: {reviewer} was drawn to review")


def test_a_commitment_in_another_file_or_lost(tmp_path: Path, cases: Path, capsys) -> None:
    (tmp_path / "roster.toml").write_text(ROSTER)
    handle, commitment = tmp_path / "handle", tmp_path / "b1.commitment"
    start = ("--roster", tmp_path / "roster.toml", "--cases", cases, "--draw-teams", 1)
    assert run("review", "start", handle, *start) == 0
    teams = dict(
        line.split(": ") for line in capsys.readouterr().out.splitlines() if "lead" in line
    )
    office = ("--by", "office")
    assert (
        run("review", "open", handle, "b1", "--team", "team-1", "--commitment", commitment, *office)
        == 0
    )
    assert run("review", "reveal-reviewer", handle, "b1", "--commitment", commitment, *office) == 1
    assert "is not read by all. Draw when all have read" in capsys.readouterr().err
    empty = wrote_marks(tmp_path / "nothing.csv")
    for reader in teams["team-1"].split(";")[0].split(", "):
        assert run("review", "read", handle, "b1", empty, "--by", reader) == 0
    output = capsys.readouterr().out
    assert "b1: review\n  waits for the draw of its reviewer\n" in output
    shutil.copytree(handle, tmp_path / "other")
    assert run("review", "reveal-reviewer", handle, "b1", "--commitment", commitment, *office) == 0
    reviewer = teams["team-2"].split("leader ")[1]
    assert f"a: waits for {reviewer} to finish its review" in capsys.readouterr().out
    other, commitment = tmp_path / "other", tmp_path / "other-b1.commitment"
    assert run("review", "reveal-reviewer", other, "b1", *office) == 1
    assert (
        f"{commitment}: does not hold a commitment to a draw. If it is lost, an"
        in capsys.readouterr().err
    )
    redraw = ("--redraw", "the disk broke", "--by", "arbiter")
    assert run("review", "reveal-reviewer", other, "b1", "--commitment", commitment, *redraw) == 2
    assert run("review", "reveal-reviewer", other, "b1", *redraw) == 0
    assert run("review", "audit", other) == 0
    output = capsys.readouterr().err
    assert "commitment for batch 'b1' (the disk broke). 'arbiter' drew the reviewer again" in output


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("read", "b1", "good.csv", "--by", "r99"), "person 'r99': is not known."),
        (("read", "b9", "good.csv", "--by", "r1"), "batch 'b9': is not open. Open: b1."),
        (("read", "b1", "other.csv", "--by", "r1"), "marks case 'z', which is not among"),
        (("read", "b1", "far.csv", "--by", "r1"), "the outline is outside the image."),
        (("type", "b1", "a", "candidate-1", "big", "--by", "r1"), "type type: 'big': String"),
        (("decide", "b1", "a", "c", "--agree", "--by", "lead2"), "is a step of 'review'."),
    ],
)
def test_what_is_wrong_changes_nothing(
    tmp_path: Path, cases: Path, capsys, monkeypatch, arguments, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    team = '[[teams]]\nteam_id = "{}"\nreader_ids = ["r{}", "r{}", "r{}"]\nleader_id = "lead{}"\n'
    teams = team.format("one", 1, 2, 3, 1) + team.format("two", 4, 5, 6, 2)
    (tmp_path / "roster.toml").write_text(ROSTER + teams)
    wrote_marks(tmp_path / "good.csv", SHARED)
    wrote_marks(tmp_path / "other.csv", SHARED, case_id="z")
    wrote_marks(tmp_path / "far.csv", Slice(3, 500, 50, 8, 8))
    assert run("review", "start", "handle", "--roster", "roster.toml", "--cases", cases) == 0
    assert run("review", "open", "handle", "b1", "a", "--team", "one", "--by", "office") == 0
    before = {path: path.read_bytes() for path in Path("handle").rglob("*") if path.is_file()}
    capsys.readouterr()
    assert run("review", arguments[0], "handle", *arguments[1:]) == 1
    assert what in capsys.readouterr().err
    assert before == {
        path: path.read_bytes() for path in Path("handle").rglob("*") if path.is_file()
    }


def test_a_reading_cannot_be_submitted_twice(tmp_path: Path, cases: Path, capsys) -> None:
    (tmp_path / "roster.toml").write_text(ROSTER)
    handle = tmp_path / "handle"
    start = ("--roster", tmp_path / "roster.toml", "--cases", cases, "--draw-teams", 1)
    run("review", "start", handle, *start)
    reader = capsys.readouterr().out.split(": ")[1].split(",")[0]
    run("review", "open", handle, "b1", "a", "--team", "team-1", "--by", "office")
    file = wrote_marks(tmp_path / "good.csv", SHARED)
    assert run("review", "read", handle, "b1", file, "--by", reader) == 0
    assert run("review", "read", handle, "b1", file, "--by", reader) == 1
    assert f"'{reader}' has already submitted case 'a'." in capsys.readouterr().err
    assert len(list((handle / "events").glob("0*.json"))) == 2


def test_an_observer_study_adds_nodules_and_shows_the_effect(tmp_path: Path, capsys) -> None:
    luna16 = tmp_path / "luna16"
    luna16.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (luna16 / "annotations.csv").write_text(columns + "s1,0,0,0,8\ns2,0,0,0,8\n")
    (luna16 / "annotations_excluded.csv").write_text(columns)
    (luna16 / "seriesuids.csv").write_text("s1\ns2\n")
    marks = tmp_path / "mine.csv"
    marks.write_text(
        "seriesuid,coordX,coordY,coordZ,probability\n"
        "s1,0,0,0,0.9\ns1,90,0,0,0.8\ns2,90,0,0,0.7\ns2,190,0,0,0.1\n"
    )
    study = tmp_path / "study"
    assert (
        run("observer", "select", marks, "--reference", luna16, "--at-fp", 1, "--out", study) == 0
    )
    assert capsys.readouterr().out.splitlines()[-3].split() == ["to", "read", "2"]
    listed = pl.read_csv(study / "to_read.csv", schema_overrides={"mark_id": pl.String})
    assert listed["case_id"].to_list() == ["s1", "s2"]
    calls = [
        f"{case_id},{mark_id},r{reader},{call}"
        for (case_id, mark_id), words in zip(
            listed.select("case_id", "mark_id").rows(),
            (("nodule,5", "nodule,7", "nodule,6", "non_nodule,"), ("non_nodule,",) * 4),
            strict=True,
        )
        for reader, call in enumerate(words)
    ]
    file = tmp_path / "calls.csv"
    file.write_text("\n".join(["case_id,mark_id,reader_id,call,diameter_mm", *calls]) + "\n")
    options = ("--reference", luna16, "--marks", marks, "--out", tmp_path / "out")
    assert run("observer", "conclude", study, file, *options) == 0
    lines = capsys.readouterr().out.splitlines()
    levels = [["1", "1", "0"], ["2", "1", "0"], ["3", "1", "1"], ["4", "0", "0"]]
    assert [line.split() for line in lines[1:5]] == levels
    assert lines[5] == "only small nodules: 0, rejected by all: 1"
    assert "mine recall: 0.5000 before, 0.6667 after" in lines
    after = read_reference(tmp_path / "out" / "after")
    assert after.nodules["diameter_mm"].to_list() == [8.0, 8.0, 6.0]
    assert read_reference(tmp_path / "out" / "before").nodules.height == 2
