"""Results as one JSON document on standard output; everything else goes to standard error."""

import json
from pathlib import Path

import pytest

from builders.commands import run

HEAD = "seriesuid,coordX,coordY,coordZ"
CRITERIA = 'name = "plan"\n[[criteria]]\nmetric = "recall"\nrule = "luna16"\ncomparison = ">="\n'
COMMANDS = (
    "evaluate a.csv b.csv --reference luna16 --bootstraps 10 --out again",
    "check a.csv --reference luna16",
    "verify result",
    "compare result --baseline a --bootstraps 10 --permutations 10",
    "combine a.csv b.csv --reference luna16 --position mean",
    "folds make folds.csv --reference luna16 --count 3",
    "plan sensitivity --sensitivity 0.85 --half-width 0.05 --nodule-correlation 0.1",
    "plan auc --baseline-auc 0.8 --expected 0.85 --variance-method obuchowski",
    "plan size-error --error-sd 1",
    "test-plan freeze --criteria criteria.toml --reference luna16 --out plan.json",
    "convert a.csv copy --to submission_folder",
    "coverage luna16",
    "reference compare luna16 luna16",
    "conformance --case boundary",
    "weights list",
)


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("luna16").mkdir()
    Path("luna16/seriesuids.csv").write_text("scan1\nscan2\nscan3\n")
    nodules = f"{HEAD},diameter_mm\nscan1,0,0,0,8\nscan2,5,5,5,9\n"
    Path("luna16/annotations.csv").write_text(nodules)
    Path("luna16/annotations_excluded.csv").write_text(f"{HEAD},diameter_mm\n")
    Path("a.csv").write_text(f"{HEAD},probability\nscan1,0,0,0,0.9\nscan2,50,5,5,0.4\n")
    Path("b.csv").write_text(f"{HEAD},probability\nscan1,0,0,0,0.8\nscan2,5,5,5,0.7\n")
    Path("criteria.toml").write_text(f"{CRITERIA}limit = 0.5\n")


@pytest.mark.usefixtures("workdir")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_result_is_one_json_document(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "result" in command:
        assert (
            run(
                *[
                    "evaluate",
                    "a.csv",
                    "b.csv",
                    "--reference",
                    "luna16",
                    "--bootstraps",
                    "10",
                    "--out",
                    "result",
                ]
            )
            == 0
        )
    capsys.readouterr()
    assert run(*command.split(), "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)
    assert printed.err


@pytest.mark.usefixtures("workdir")
def test_the_document_of_evaluate_is_that_of_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    command = "evaluate a.csv --reference luna16 --bootstraps 10 --out result --json --quiet"
    assert run(*command.split()) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads(Path("result/evaluation.json").read_text())
    assert "wrote" not in printed.err
