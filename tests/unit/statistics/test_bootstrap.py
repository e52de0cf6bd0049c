import numpy as np
import pytest

from nodulebench.statistics import bootstrap as resample
from nodulebench.statistics.bootstrap import Bootstrap, leave_one_out


def test_every_replicate_draws_as_many_units_as_there_are() -> None:
    rows = np.concatenate(list(Bootstrap(np.arange(7), 50, 0).blocks()))
    assert rows.shape == (50, 7)
    assert (rows.sum(axis=1) == 7).all()


def test_cases_of_one_patient_are_drawn_together() -> None:
    patients = np.array([0, 1, 0, 2])
    rows = np.concatenate(list(Bootstrap(patients, 30, 1).blocks()))
    assert (rows[:, 0] == rows[:, 2]).all()


def test_the_same_seed_draws_the_same_rows() -> None:
    first, second = (np.concatenate(list(Bootstrap(np.arange(9), 5, 4).blocks())) for _ in "ab")
    np.testing.assert_array_equal(first, second)


def test_every_unit_can_be_drawn() -> None:
    rows = np.concatenate(list(Bootstrap(np.arange(10), 200, 0).blocks()))
    assert (rows.sum(axis=0) > 0).all()


def test_legacy_draws_are_those_of_the_seeded_global_generator() -> None:
    np.random.seed(0)
    expected = np.array([np.bincount(np.random.randint(0, 6, 6), minlength=6) for _ in range(4)])
    rows = np.concatenate(list(Bootstrap(np.arange(6), 4, 0, is_legacy=True).blocks()))
    np.testing.assert_array_equal(rows, expected)


def test_blocks_do_not_change_the_draws(monkeypatch) -> None:
    whole = np.concatenate(list(Bootstrap(np.arange(8), 20, 3).blocks()))
    monkeypatch.setattr("nodulebench.statistics.bootstrap._BLOCK_ELEMENTS", 24)
    parts = list(Bootstrap(np.arange(8), 20, 3).blocks())
    assert len(parts) > 1
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_leave_one_out_drops_all_cases_of_a_patient() -> None:
    rows = np.concatenate(list(leave_one_out(np.array([0, 1, 0]))))
    np.testing.assert_array_equal(rows, [[0, 1, 0], [1, 0, 1]])


def test_no_cases_are_left_out_one_by_one_in_no_rows() -> None:
    no_units = np.empty(0, dtype=np.int64)
    assert list(leave_one_out(no_units)) == []
    assert sum(len(block) for block in Bootstrap(no_units, 0, 1).blocks()) == 0
    assert [block.shape for block in Bootstrap(no_units, 5, 1).blocks()] == [(5, 0)]


def test_blocks_of_single_rows_hold_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = np.array([0, 0, 1, 2, 2, 3])
    drawn = np.concatenate(list(Bootstrap(unit, 7, 3).blocks()))
    left_out = np.concatenate(list(leave_one_out(unit)))
    for elements in (1, 11):
        monkeypatch.setattr(resample, "_BLOCK_ELEMENTS", elements)
        blocks = list(Bootstrap(unit, 7, 3).blocks())
        assert len(blocks) > 1
        assert np.concatenate(blocks).tolist() == drawn.tolist()
        blocks = list(leave_one_out(unit))
        assert len(blocks) > 1
        assert np.concatenate(blocks).tolist() == left_out.tolist()
    assert left_out.tolist()[0] == [0, 0, 1, 1, 1, 1]


def test_one_unit_is_drawn_once_in_every_replicate() -> None:
    rows = np.concatenate(list(Bootstrap(np.array([0, 0]), 6, 1).blocks()))
    assert rows.tolist() == [[1, 1]] * 6


def test_draws_that_serve_every_metric_cannot_be_written_to() -> None:
    (rows,) = Bootstrap(np.arange(4), 6, 1).blocks()
    with pytest.raises(ValueError, match="read-only"):
        rows[0, 0] = 9


def test_draws_are_those_of_the_present_generator_by_default() -> None:
    random = np.random.default_rng(4)
    expected = [np.bincount(random.integers(0, 6, 6), minlength=6).tolist() for _ in range(5)]
    assert np.concatenate(list(Bootstrap(np.arange(6), 5, 4).blocks())).tolist() == expected
