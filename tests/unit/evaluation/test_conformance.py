"""Golden cases: a single one, and all as files that another scorer can be tested with."""

import json
import sys
from pathlib import Path

import pytest

from nodulebench.cli import main
from nodulebench.core.errors import UnknownNameError
from nodulebench.evaluation.conformance import export_cases, golden_cases, run_conformance

SCORER = """
import json, sys
from pathlib import Path
given = Path(sys.argv[4]).read_text()
for folder in Path({golden!r}).joinpath("luna16").iterdir():
    if (folder / "submission.csv").read_text() == given:
        expected = json.loads((folder / "expected.json").read_text())["expected"]
        Path(sys.argv[5], "result.json").write_text(json.dumps(expected))
"""
"""Finds answers among exported cases."""


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["conformance", *map(str, arguments)])
    return int(stopped.value.code or 0)


def test_a_single_case_can_be_run() -> None:
    (measured,) = run_conformance(cases=["boundary"])
    assert (measured.kit, measured.case, measured.is_passed) == ("luna16", "boundary", True)
    assert {row.kit for row in run_conformance(cases=["no_tolerance"])} == {"sizes"}


def test_an_unknown_case_is_named_before_anything_runs(capsys) -> None:
    with pytest.raises(
        UnknownNameError, match=r"no golden case 'bondary'\. Did you mean 'boundary'"
    ):
        next(run_conformance(cases=["bondary"]))
    with pytest.raises(UnknownNameError, match="'no_tolerance'"):
        next(run_conformance("true", cases=["no_tolerance"]))  # boxes and sizes are not asked
    assert run("--case", "bondary") == 1
    assert "error: there is no golden case 'bondary'" in capsys.readouterr().err


def test_exported_cases_hold_questions_and_answers(tmp_path: Path, capsys) -> None:
    golden = tmp_path / "golden"
    assert run("export", golden) == 0
    count = sum(len(golden_cases(kit)) for kit in ("luna16", "slices", "sizes"))
    assert capsys.readouterr().out == f"wrote {golden}: {count} cases\n"
    boundary = golden / "luna16" / "boundary"
    assert sorted(path.name for path in boundary.iterdir()) == [
        "annotations.csv",
        "annotations_excluded.csv",
        "expected.json",
        "seriesuids.csv",
        "submission.csv",
    ]
    assert json.loads((golden / "sizes" / "no_tolerance.json").read_text())["expected"]["hit"] == 1
    assert run("export", golden) == 1
    assert "is not empty" in capsys.readouterr().err


def test_who_gives_the_exported_answer_passes(tmp_path: Path, capsys) -> None:
    export_cases(tmp_path / "golden")
    scorer = tmp_path / "scorer.py"
    scorer.write_text(SCORER.format(golden=str(tmp_path / "golden")))
    command = f"{sys.executable} {scorer}"
    assert run("--scorer", command, "--case", "boundary", "--case", "double_marks") == 0
    assert "2 of 2 cases passed" in capsys.readouterr().out
