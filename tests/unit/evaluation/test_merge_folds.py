import polars as pl
import pytest

from builders.commands import run
from nodulebench.core.errors import InputError
from nodulebench.evaluation.folds import merge_folds
from nodulebench.io.formats import read_submission

HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"


@pytest.fixture
def folds(tmp_path):
    path = tmp_path / "folds.csv"
    path.write_text("seriesuid,fold\na,0\nb,0\nc,1\nd,1\n")
    return path


def submission(path, *rows):
    path.write_text(HEADER + "".join(f"{case},{x},0,0,{score}\n" for case, x, score in rows))
    return path


def test_the_merged_file_is_the_submission(folds, tmp_path, capsys):
    submitted = submission(tmp_path / "first.csv", ("c", 1, 0.5), ("c", 2, 0.25))
    two = submission(tmp_path / "two.csv", ("a", 3, 0.125), ("b", 4, 1))
    out = tmp_path / "mine.csv"
    assert run("folds", "merge", submitted, two, "--folds", folds, "--out", out) == 0
    assert pl.read_csv(out).select("seriesuid", "coordX", "probability").rows() == [
        ("a", 3, 0.125),
        ("b", 4, 1),
        ("c", 1, 0.5),
        ("c", 2, 0.25),
    ]
    output = capsys.readouterr().out
    assert f"fold 0: {two}\nfold 1: {submitted}\n" in output
    assert "4 marks on 3 cases, 1 cases have no mark" in output


def test_a_folder_keeps_the_name_that_is_given(folds, tmp_path):
    submitted = submission(tmp_path / "first.csv", ("c", 1, 0.5))
    two = submission(tmp_path / "two.csv", ("a", 3, 0.125))
    merge_folds([submitted, two], folds, tmp_path / "out", name="my network")
    merged = read_submission(tmp_path / "out")
    assert merged.name == "my network"
    assert merged.marks["mark_id"].to_list() == ["1", "2"]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (["a", "c"], ["d"], r"first\.csv: marks cases of folds 0, 1"),
        (["a"], ["a", "b"], r"case 'a': is marked by .*first\.csv and by .*two\.csv"),
        (["a"], ["e"], r"two\.csv case 'e': is in no fold"),
        (["a"], ["b"], r"fold 1 has no submission with a mark"),
    ],
)
def test_other_tables_than_a_cross_validation_are_refused(first, second, message, folds, tmp_path):
    submitted = submission(tmp_path / "first.csv", *((case, 1, 0.5) for case in first))
    two = submission(tmp_path / "two.csv", *((case, 1, 0.5) for case in second))
    with pytest.raises(InputError, match=message):
        merge_folds([submitted, two], folds, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_fold_without_a_mark_is_a_file_without_rows(folds, tmp_path, capsys):
    submitted, none = (
        submission(tmp_path / "first.csv", ("c", 1, 0.5)),
        submission(tmp_path / "none.csv"),
    )
    out = tmp_path / "mine.csv"
    assert run("folds", "merge", submitted, "--folds", folds, "--out", out) == 1
    output = capsys.readouterr().err
    assert "fold 0 has no submission with a mark. Give one file for each fold; for" in output
    assert run("folds", "merge", submitted, none, "--folds", folds, "--out", out) == 0
    output = capsys.readouterr().out
    assert f"fold 0: {none}\nfold 1: {submitted}\n" in output
    assert "1 marks on 1 cases, 3 cases have no mark" in output


def test_a_case_that_is_tested_twice_is_refused(folds, tmp_path):
    folds.write_text("seriesuid,fold\na,0\na,1\n")
    submitted = submission(tmp_path / "first.csv", ("a", 1, 0.5))
    with pytest.raises(InputError, match=r"folds\.csv case 'a': is tested in several folds"):
        merge_folds([submitted], folds, tmp_path / "out.csv")
