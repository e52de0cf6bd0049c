"""From a roster to reports by commands only: evaluate, compare, report, sign, verify, audit."""

import json
from pathlib import Path

import pytest

from builders.sealed_study import StudyLab, made_up_study
from nodulebench.cli import main

pytest.importorskip("cryptography")
REUSE = """
[reuse]
evaluations_per_developer = 2
feedback = "metrics"

[roster]
aliases = ["A1", "A2", "A3"]
shows_others = true
"""
EVALUATE = ("evaluate", "--submissions", "roster.csv", "--reference", "sealed", "--key", "bo.key")
PROTOCOL = ("--protocol", "nifdc-2022", "--bootstraps", "20", "--out", "feedback")
REPORT = ("report", "sealed", "--key", "dee.key")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyLab:
    lab = made_up_study(tmp_path, REUSE, cases=30, nodules=120)
    monkeypatch.chdir(tmp_path)
    return lab


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


def test_from_a_roster_to_signed_reports(lab: StudyLab, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (lab.folder / "file-Betamed-finder-1" / "marks.csv").read_bytes()
    (lab.folder / "file-Betamed-finder-1" / "marks.csv").write_bytes(b"no table")
    assert run(*EVALUATE, *PROTOCOL) == 1
    shown = capsys.readouterr()
    assert "error: A2: " in shown.err
    assert "A3: Gammalung-finder-2 on made-up test set" in shown.out
    (lab.folder / "file-Betamed-finder-1" / "marks.csv").write_bytes(whole)
    assert run(*EVALUATE, *PROTOCOL) == 0
    assert capsys.readouterr().out.count("done before, and charged once") == 2

    compare = ("compare", "sealed", "--key", "dee.key", "--baseline", "A1", "--metric", "recall")
    assert run(*compare, "--bootstraps", "40", "--permutations", "0") == 0
    assert "A3" in capsys.readouterr().out
    assert run(*REPORT, "--baseline", "A1", "--out", "study") == 0
    assert run("sign", "study", "--key", "ada.key", "--by", "SealedLab") == 0
    capsys.readouterr()
    check = ("verify", "study", "--public-key", "ada.key.pub")
    assert run(*check) == 0
    assert "nothing: made from evaluations 2, 8, 6 of the sealed set" in capsys.readouterr().out
    assert run(*check, "--reference", "sealed", "--key", "cem.key") == 0
    assert "all agree" in capsys.readouterr().out

    assert run(*REPORT, "--for", "developer", "--algorithm", "A2", "--out", "copy") == 0
    named = json.loads(Path("copy/evaluation.json").read_text())["algorithms"]
    assert [algorithm["name"] for algorithm in named] == ["Betamed-finder-1", "A1", "A3"]

    assert run("audit", "sealed") == 0
    output = capsys.readouterr().out
    for word in ("compared", "reported", "alias A2", "developer betamed: 1 of 2 evaluations"):
        assert word in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "--reference", "sealed", "--key", "bo.key"], "Missing argument 'MARKS...'"),
        ([*EVALUATE, "--name", "x"], "and neither tables of cases"),
        ([*REPORT], "a sealed set needs --out"),
        (["compare", "sealed", "study", "--key", "dee.key"], "needs --baseline instead of OLD"),
    ],
)
@pytest.mark.usefixtures("lab")
def test_wrong_usage_is_reported(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    assert message in capsys.readouterr().err
