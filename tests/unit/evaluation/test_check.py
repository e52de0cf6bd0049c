"""The command looks through submissions as evaluate reads them, and scores none."""

import gzip
from pathlib import Path

import pytest

from builders.sealed import make_lab
from nodulebench.cli import main
from nodulebench.custody import sealed_set
from nodulebench.security import vault

HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"


@pytest.fixture
def luna16(tmp_path: Path) -> Path:
    folder = tmp_path / "luna16"
    folder.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (folder / "annotations.csv").write_text(columns + "scan1,0,0,0,8\nscan2,0,0,0,5\n")
    (folder / "annotations_excluded.csv.gz").write_bytes(gzip.compress(columns.encode()))
    (folder / "seriesuids.csv").write_text("scan1\nscan2\nscan3\n")
    return folder


def check(capsys, marks: Path, reference: Path, *more: object) -> tuple[int, list[str], list[str]]:
    with pytest.raises(SystemExit) as stopped:
        main([str(entry) for entry in ("check", marks, "--reference", reference, *more)])
    output = capsys.readouterr()
    return int(stopped.value.code or 0), output.out.splitlines(), output.err.splitlines()


def written(folder: Path, rows: str, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_text(HEADER + rows)
    return path


def test_a_good_file_has_nothing_wrong(luna16: Path, tmp_path: Path, capsys) -> None:
    marks = written(tmp_path, "scan1,0,0,0,1\nscan2,0,0,0,1\nscan3,9,9,9,1\n")
    assert check(capsys, marks, luna16) == (
        0,
        ["mine.csv: luna16_csv, 3 marks in 3 of 3 cases: no problems"],
        [],
    )


def test_problems_are_warnings_without_a_score(luna16: Path, tmp_path: Path, capsys) -> None:
    marks = written(tmp_path, "scan1,0,0,0,1\nscan1,0,0,0,1\n")
    code, out, err = check(capsys, marks, luna16)
    assert (code, out) == (0, ["mine.csv: luna16_csv, 2 marks in 1 of 3 cases: 2 warnings"])
    assert [line.split(": ")[2].split(" ")[0] for line in err] == ["1", "2"]


def test_what_cannot_be_scored_is_an_error_and_the_exit_status(
    luna16: Path, tmp_path: Path, capsys
) -> None:
    marks = written(tmp_path, "other,0,0,0,1\nother,0,0,1,1\n")
    code, out, err = check(capsys, marks, luna16)
    assert (code, out) == (1, ["mine.csv: cannot be scored"])
    assert err[0].startswith("error: submission 'mine': none of its 2 marks is in a case")


def test_a_fold_is_looked_at_as_a_fold(luna16: Path, tmp_path: Path, capsys) -> None:
    fold = tmp_path / "fold.csv"
    fold.write_text("scan1\n")
    marks = written(tmp_path, "scan1,0,0,0,1\n")
    assert check(capsys, marks, luna16, "--series", fold)[1:] == (
        ["mine.csv: luna16_csv, 1 marks in 1 of 1 cases: no problems"],
        [],
    )


def test_of_a_sealed_set_nothing_is_opened(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    lab = make_lab(tmp_path)
    lab.seal()
    before = sorted(path.name for path in (lab.sealed / "audit").iterdir())

    def never(*_: object) -> None:
        raise AssertionError("the set was opened")

    monkeypatch.setattr(sealed_set, "open_sealed", never)
    monkeypatch.setattr(vault, "open_vault", never)
    monkeypatch.setattr(sealed_set, "open_vault", never)
    marks = written(tmp_path, "scan0,1,2,3,1\nscan0,1,2,3,1\nelsewhere,0,0,0,1\n")
    code, out, err = check(capsys, marks, lab.sealed)
    assert code == 0
    assert out == [
        "the test set is sealed: only the files are checked",
        "mine.csv: luna16_csv, 3 marks in 2 cases: 1 warning",
    ]
    assert len(err) == 1
    assert "repeats another mark" in err[0]
    assert sorted(path.name for path in (lab.sealed / "audit").iterdir()) == before
