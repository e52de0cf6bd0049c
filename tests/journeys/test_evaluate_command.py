"""The evaluate command from start to end, on good and on hostile files."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from nodulebench.cli import main

HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"
GOOD = HEADER + "scan1,0,0,0,0.9\nscan1,80,0,0,0.4\nscan2,1,0,0,0.7\n"


@pytest.fixture
def luna16(tmp_path: Path) -> Path:
    """A small LUNA16 folder: three scans, two nodules, one ignored finding."""
    folder = tmp_path / "luna16"
    folder.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (folder / "annotations.csv").write_text(columns + "scan1,0,0,0,8\nscan2,0,0,0,5\n")
    excluded = columns + "scan3,0,0,0,-1\n"
    (folder / "annotations_excluded.csv.gz").write_bytes(gzip.compress(excluded.encode()))
    (folder / "seriesuids.csv").write_text("scan1\nscan2\nscan3\n")
    return folder


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def evaluate(luna16: Path, marks: Path, *more: object) -> int:
    out = luna16.parent / "out"
    return run("evaluate", marks, "--reference", luna16, "--bootstraps", 50, "--out", out, *more)


def refused(luna16: Path, marks: Path, capsys, *more: object) -> list[str]:
    """The lines of complaint; nothing may have been written."""
    assert evaluate(luna16, marks, *more) == 1
    assert not (luna16.parent / "out").exists()
    assert [path.name for path in luna16.parent.iterdir() if path.name.startswith(".")] == []
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert all(line.startswith("error: ") for line in lines)
    return [line.removeprefix("error: ") for line in lines]


def test_a_submission_gives_json_tables_and_a_report(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD)
    assert evaluate(luna16, marks) == 0
    out = luna16.parent / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "curves.parquet",
        "evaluation.json",
        "false_positives.csv",
        "inputs",
        "labels.parquet",
        "manifest.json",
        "misses.csv",
        "report.html",
    ]
    document = json.loads((out / "evaluation.json").read_text())
    assert document["schema"] == "nodulebench/evaluation@1"
    assert set(document["digests"]) >= {"protocol", "reference", "cohort"}
    (algorithm,) = document["algorithms"]
    assert algorithm["name"] == "mine"
    counts = algorithm["rules"]["luna16"]["counts"]
    assert (counts["cases"], counts["nodules"], counts["hit"], counts["false_positive"]) == (
        3,
        2,
        2,
        1,
    )
    metrics = algorithm["rules"]["luna16"]["metrics"]
    assert list(metrics["sensitivity_at_fp_rate"]) == ["0.125", "0.25", "0.5", "1", "2", "4", "8"]
    assert metrics["cpm"]["value"] == 1.0
    assert metrics["recall"]["value"] == 1.0
    labels = pl.read_parquet(out / "labels.parquet")
    assert labels["label"].to_list().count("hit") == 2
    assert "recall" in capsys.readouterr().out


def test_a_gzipped_submission_reads_like_a_plain_one(luna16: Path) -> None:
    marks = luna16.parent / "mine.csv.gz"
    marks.write_bytes(gzip.compress(GOOD.encode()))
    assert evaluate(luna16, marks) == 0
    document = json.loads((luna16.parent / "out" / "evaluation.json").read_text())
    assert document["algorithms"][0]["name"] == "mine"


def test_a_header_only_submission_is_valid_and_misses_everything(luna16: Path) -> None:
    marks = luna16.parent / "silent.csv"
    marks.write_text(HEADER)
    assert evaluate(luna16, marks) == 0
    document = json.loads((luna16.parent / "out" / "evaluation.json").read_text())
    result = document["algorithms"][0]["rules"]["luna16"]
    assert result["counts"]["missed"] == 2
    assert result["metrics"]["recall"]["value"] == 0
    assert result["metrics"]["cpm_exact"]["value"] == 0
    assert result["metrics"]["cpm"]["value"] is None
    assert result["metrics"]["cpm"]["reason"] == {"code": "program_stops", "values": {}}


def test_a_fold_is_scored_in_its_order(luna16: Path) -> None:
    marks, fold = luna16.parent / "mine.csv", luna16.parent / "fold.csv"
    marks.write_text(GOOD)
    fold.write_text("scan3\nscan1\n")
    assert evaluate(luna16, marks, "--series", fold) == 0
    document = json.loads((luna16.parent / "out" / "evaluation.json").read_text())
    algorithm = document["algorithms"][0]
    assert algorithm["rules"]["luna16"]["counts"]["nodules"] == 1
    dropped = {"marks": 1, "cases": 1, "names": ["scan2"]}
    assert {"code": "marks_dropped", "values": dropped} in algorithm["notices"]


def test_what_the_official_program_drops_is_counted_and_shown(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD + "foreign,0,0,0,0.9\n" + HEADER + "scan1,90,0,0,0.3\nscan")
    assert evaluate(luna16, marks) == 0
    errors = capsys.readouterr().err
    assert "2 marks of 2 cases not in the list were dropped: 'foreign', 'scan'" in errors
    assert "1 repeated header row was dropped" in errors


def test_marks_over_the_cap_are_counted_and_shown(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    rows = "".join(f"scan3,{50 + n},0,0,{n / 1000}\n" for n in range(103))
    marks.write_text(HEADER + "scan1,0,0,0,0.9\n" + rows)
    assert evaluate(luna16, marks) == 0
    assert "3 marks beyond the 100 best of their case were not evaluated" in capsys.readouterr().err


def test_wrong_columns(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text("seriesuid,x,y,z,score\nscan1,0,0,0,1\n")
    (line,) = refused(luna16, marks, capsys)
    assert "mine.csv" in line
    assert "coordX" in line
    assert "--columns case=seriesuid,x=x,y=y,z=z,score=score" in line
    assert "Next: nifdc_csv: no column" in line


@pytest.mark.parametrize("is_file", [False, True])
def test_columns_of_ones_own_are_read_as_they_are_named(luna16: Path, is_file: bool) -> None:
    marks, names = luna16.parent / "mine.csv", "case=scan,x=px,y=py,z=pz,score=p"
    marks.write_text(GOOD.replace("seriesuid,coordX,coordY,coordZ,probability", "scan,px,py,pz,p"))
    if is_file:
        file = luna16.parent / "columns.toml"
        file.write_text('case = "scan"\nx = "px"\ny = "py"\nz = "pz"\nscore = "p"\n')
        names = str(file)
    assert evaluate(luna16, marks, "--columns", names) == 0
    document = json.loads((luna16.parent / "out" / "evaluation.json").read_text())
    assert document["algorithms"][0]["rules"]["luna16"]["counts"]["hit"] == 2


def test_columns_that_are_named_wrongly(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD)
    assert refused(luna16, marks, capsys, "--columns", "case=a,x=b,why=c,z") == [
        "--columns: 'why' is not a column of marks. Known: case, x, y, z, score, diameter.",
        "--columns: 'z' is not a pair. Write x=NAME,y=NAME,...",
    ]
    assert refused(luna16, marks, capsys, "--columns", "case=seriesuid,x=coordX,z=coordZ") == [
        "--columns: does not say which column is y. Add y=NAME."
    ]
    (line,) = refused(luna16, marks, capsys, "--columns", "case=scan,x=coordX,y=coordY,z=coordZ")
    assert "column 'scan' is missing; found: seriesuid, coordX" in line


def test_text_in_a_number_is_named_with_its_line(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD + "scan2,left,0,0,0.5\n")
    (line,) = refused(luna16, marks, capsys)
    assert "line 5" in line
    assert "coordX 'left' is not a" in line


def test_a_score_that_is_not_a_number_is_refused(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD + "scan2,0,0,0,nan\n")
    (line,) = refused(luna16, marks, capsys)
    assert "line 5" in line
    assert "probability" in line


def test_a_truncated_row_of_a_listed_series_is_refused(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD + "scan2,0,0")
    lines = refused(luna16, marks, capsys)
    assert all("line 5" in line for line in lines)
    assert any("coordZ" in line for line in lines)


def test_an_empty_file(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_bytes(b"")
    (line,) = refused(luna16, marks, capsys)
    assert "mine.csv" in line
    assert "is empty" in line


def test_a_binary_file(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_bytes(bytes(range(256)) * 40)
    lines = refused(luna16, marks, capsys)
    assert len(lines) == 1


def test_a_missing_file(luna16: Path, capsys) -> None:
    (line,) = refused(luna16, luna16.parent / "none.csv", capsys)
    assert "none.csv" in line


def test_a_file_of_two_gigabytes_of_nothing_is_refused_at_once(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    with marks.open("wb") as file:
        file.truncate(2 << 30)  # sparse: takes no space on the disk
    (line,) = refused(luna16, marks, capsys)
    assert "mine.csv" in line


def test_a_damaged_gzip_file(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv.gz"
    marks.write_bytes(gzip.compress((HEADER + "scan1,0,0,0,0.5\n" * 9999).encode())[:-20])
    (line,) = refused(luna16, marks, capsys)
    assert "mine.csv.gz" in line


def test_a_series_listed_twice_names_the_official_behaviour(luna16: Path, capsys) -> None:
    marks, fold = luna16.parent / "mine.csv", luna16.parent / "fold.csv"
    marks.write_text(GOOD)
    fold.write_text("scan1\nscan1\n")
    (line,) = refused(luna16, marks, capsys, "--series", fold)
    assert "case 'scan1' is listed more than once" in line
    assert "official LUNA16 program" in line


def test_an_unknown_series_in_the_list(luna16: Path, capsys) -> None:
    marks, fold = luna16.parent / "mine.csv", luna16.parent / "fold.csv"
    marks.write_text(GOOD)
    fold.write_text("scan1\nscan9\n")
    (line,) = refused(luna16, marks, capsys, "--series", fold)
    assert "case 'scan9' is not in the test set" in line


def test_all_problems_are_reported_at_once(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD + "scan2,left,0,0,0.5\nscan1,0,0,0,high\n")
    assert len(refused(luna16, marks, capsys)) == 2


def test_two_submissions_of_one_name(luna16: Path, capsys) -> None:
    first, second = luna16.parent / "a" / "m.csv", luna16.parent / "b" / "m.csv"
    for path in (first, second):
        path.parent.mkdir()
        path.write_text(GOOD)
    assert run("evaluate", first, first, "--reference", luna16) == 1
    assert "has the same name as another submission. Name them with" in capsys.readouterr().err


def test_files_of_one_name_get_their_folders_or_given_names(luna16: Path, capsys) -> None:
    first, second = luna16.parent / "a" / "m.csv", luna16.parent / "b" / "m.csv"
    for path in (first, second):
        path.parent.mkdir()
        path.write_text(GOOD)
    both = ("evaluate", first, second, "--reference", luna16, "--bootstraps", 0)
    assert run(*both) == 0
    output = capsys.readouterr().out
    assert "a  ·  rule luna16" in output
    assert "b  ·  rule luna16" in output
    assert run(*both, "--name", "old", "--name", "new") == 0
    output = capsys.readouterr().out
    assert output.index("old  ·  rule luna16") < output.index("new  ·  rule luna16")
    assert run(*both, "--name", "old") == 1
    assert "--name: 1 name for 2 files of marks." in capsys.readouterr().err


@pytest.mark.parametrize("held", ["evaluation.json", "comparison.json", "manifest.sig"])
def test_a_result_is_replaced_only_by_force(luna16: Path, capsys, held: str) -> None:
    marks, held_marks = luna16.parent / "mine.csv", luna16.parent / "out" / held
    marks.write_text(GOOD)
    held_marks.parent.mkdir()
    held_marks.write_text("precious")
    assert evaluate(luna16, marks) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"error: {held_marks.parent}: holds another result ({held}). Choose another folder, or "
        "replace that result with --force."
    ]
    assert [path.name for path in held_marks.parent.iterdir()] == [held]
    assert held_marks.read_text() == "precious"
    assert evaluate(luna16, marks, "--force") == 0
    assert (held_marks.parent / "evaluation.json").read_text().startswith("{")


def test_an_unknown_protocol_suggests_a_near_one(luna16: Path, capsys) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD)
    lines = refused(luna16, marks, capsys, "--protocol", "luna61")
    assert "Did you mean 'luna16'?" in lines[0]


def test_candidates_must_be_scored_as_they_are_listed(luna16: Path, capsys) -> None:
    marks, listed = luna16.parent / "mine.csv", luna16.parent / "candidates.csv"
    marks.write_text(GOOD)
    listed.write_text(
        "seriesuid,coordX,coordY,coordZ,class\nscan1,0,0,0,1\nscan1,80,0,0,0\nscan2,1,0,0,1\n"
        "scan3,9,9,9,0\n"
    )
    assert evaluate(luna16, marks, "--candidates", listed) == 0
    assert "a score to 3 of the 4 candidates" in capsys.readouterr().err
    marks.write_text(GOOD + "scan3,1,1,1,0.5\n")
    assert evaluate(luna16, marks, "--candidates", listed, "--force") == 1
    assert "is not a candidate" in capsys.readouterr().err


def test_wrong_usage_is_exit_two(capsys) -> None:
    assert run("evaluate") == 2
    assert run("evalute") == 2
    assert "Did you mean 'evaluate'?" in capsys.readouterr().err


def test_a_problem_with_debug_shows_a_traceback(luna16: Path) -> None:
    arguments = ("--debug", "evaluate", "none.csv", "--reference", str(luna16))
    run_debug = subprocess.run(
        [sys.executable, "-m", "nodulebench", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run_debug.returncode == 1
    assert "Traceback" in run_debug.stderr


def test_the_evaluate_path_imports_nothing_heavy(luna16: Path) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD)
    script = (
        "import sys\nfrom nodulebench.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'scipy', 'matplotlib', 'sklearn', 'pandas', 'torch', 'openpyxl'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))\n"
    )
    arguments = ("evaluate", str(marks), "--reference", str(luna16))
    out = subprocess.run(
        [sys.executable, "-c", script, *arguments, "--out", str(luna16.parent / "out")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "HEAVY []" in out


def test_a_program_that_ends_runs_its_exit_handlers() -> None:
    program = (
        "import atexit, sys, weakref\n"
        "class Watched: pass\n"
        "watched = Watched(); weakref.finalize(watched, print, 'finalised')\n"
        "atexit.register(print, 'handled')\n"
        "sys.argv = ['nodulebench', '--version']\n"
        "from nodulebench.cli import run\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0
    assert {"finalised", "handled"} <= set(done.stdout.splitlines())


def test_the_executor_may_be_named_but_no_other_than_there_is(capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main(["evaluate", "none.csv", "--reference", "none", "--executor", "ray"])
    assert left.value.code == 1
    assert "--executor ray: is not an executor" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main(["evaluate", "none.csv", "--reference", "none", "--executor", "local"])
    assert left.value.code == 1


def test_the_luna16_path_does_not_ask_for_other_packages(luna16: Path) -> None:
    marks = luna16.parent / "mine.csv"
    marks.write_text(GOOD)
    script = (
        "import importlib.metadata as metadata, sys\n"
        "asked, real = [], metadata.entry_points\n"
        "def watched(**chosen):\n"
        "    asked.append(chosen['group'])\n"
        "    return real(**chosen)\n"
        "metadata.entry_points = watched\n"
        "from nodulebench.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "print('ASKED', [group for group in asked if group.startswith('nodulebench')])\n"
    )
    arguments = ["evaluate", marks, "--reference", luna16, "--protocol", "luna16"]
    out = luna16.parent / "out"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments), "--out", str(out)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "ASKED []" in done.stdout
