import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.commands import run
from builders.tables import case, nodule, reference
from nodulebench.core.errors import InputError
from nodulebench.evaluation.folds import drawn_folds, fold_problems, fold_sizes
from nodulebench.io.marks.luna16 import write_reference


def a_set(*patients):
    """Cases of patients; each patient is a list of the nodules of its cases."""
    cases = [
        case(f"p{number}-{scan}", *[nodule(6, at=(0, 0, 9 * index)) for index in range(count)])
        for number, scans in enumerate(patients)
        for scan, count in enumerate(scans)
    ]
    truth = reference(*cases)
    named = truth.cases.with_columns(
        patient_id=pl.col("case_id").str.split("-").list.first().cast(pl.String)
    )
    return type(truth)(truth.name, named, truth.nodules)


@pytest.mark.slow
@given(
    patients=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3), min_size=4, max_size=25),
    count=st.integers(2, 4),
    seed=st.integers(0, 9),
)
def test_every_case_is_in_one_fold_and_no_patient_in_two(patients, count, seed):
    truth = a_set(*patients)
    folds = drawn_folds(truth, count, seed)
    assert list(fold_problems(folds, truth)) == []
    sizes = [siz.cases for siz in fold_sizes(folds, truth)]
    assert len(sizes) == count
    most = max(len(scans) for scans in patients)
    assert max(sizes) - min(sizes) <= most


def test_folds_of_single_scans_differ_by_one_case_and_share_nodules():
    truth = a_set(*([count] for count in [4, 4, 2, 2, 1, 1, 0, 0, 0, 0, 0]))
    sizes = fold_sizes(drawn_folds(truth, 2, 3), truth)
    assert sorted(siz.cases for siz in sizes) == [5, 6]
    assert [siz.nodules for siz in sizes] == [7, 7]


def test_another_seed_draws_other_folds_and_the_same_one_the_same():
    truth = a_set(*([1] for _ in range(30)))
    first, again, other = (drawn_folds(truth, 5, seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_more_folds_than_patients_are_refused():
    with pytest.raises(InputError, match="has 2 patients, too few for 3 folds"):
        drawn_folds(a_set([1], [0]), 3, 0)


def test_the_command_writes_folds_that_hold(tmp_path, capsys):
    write_reference(a_set(*([1] for _ in range(12))), tmp_path / "luna16")
    given_ = ["--reference", tmp_path / "luna16"]
    assert run("folds", "make", tmp_path / "folds.csv", *given_, "--count", 3) == 0
    assert "wrote" in capsys.readouterr().out
    assert run("folds", "check", tmp_path / "folds.csv", *given_) == 0
    assert "every one of 12 cases is tested once, in 3 folds" in capsys.readouterr().out
