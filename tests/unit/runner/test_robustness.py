"""Algorithms with known faults fail precisely the relations that these faults break."""

import numpy as np
import polars as pl
import pytest

from builders import made_up_chest as algorithms
from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import make_volume
from nodulebench.runner.robustness import (
    TESTS,
    RobustnessChoice,
    check_robustness,
    write_outcomes,
)

CHOICE = RobustnessChoice(diameters_mm=(6.0, 6.0, 12.0), tolerance_mm=2.0)


@pytest.fixture(scope="module")
def chest():
    return algorithms.made_up_chest()


def words(algorithm, volume, names=tuple(TESTS)):
    return {
        outcome.name: outcome.word
        for outcome, _ in check_robustness(algorithm, volume, CHOICE, names)
    }


def failed(algorithm, volume):
    return {name for name, word in words(algorithm, volume).items() if word == "FAIL"}


def test_an_algorithm_that_sees_what_is_there_keeps_every_relation(chest):
    assert words(algorithms.faithful, chest) == dict.fromkeys(TESTS, "pass")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "broken"),
    [
        (
            algorithms.without_origin,
            {"shift", "flip-columns", "flip-slices", "mirror", "crop", "insert"},
        ),
        (algorithms.without_direction, {"flip-columns", "flip-slices"}),
        # left for right is consistent with itself: only what is at a known place shows it
        (algorithms.left_for_right, {"crop", "insert"}),
        (algorithms.blind_in_upper_rows, {"crop"}),
        (algorithms.at_most_four, {"insert"}),
        (algorithms.better_in_noise, {"dose"}),
        (algorithms.lost_when_dense, {"density"}),
        (algorithms.drowned_in_noise, {"more-noise"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_breaks_precisely_its_relations(chest, algorithm, broken):
    assert failed(algorithm, chest) == broken


def test_an_algorithm_that_needs_its_kernel_fails_with_a_smoother_one():
    fine = algorithms.made_up_chest(spacing_mm=np.array([0.8, 0.8, 2.0]))
    choice = RobustnessChoice(diameters_mm=(10.0,), tolerance_mm=2.0)
    tests = ("insert", "smooth-kernel", "sharp-kernel")
    verdicts = {
        outcome.name: outcome.word
        for outcome, _ in check_robustness(algorithms.lost_when_smooth, fine, choice, tests)
    }
    assert verdicts == {"insert": "pass", "smooth-kernel": "FAIL", "sharp-kernel": "pass"}


def test_an_algorithm_without_marks_is_not_passed_but_untested(chest):
    verdicts = words(algorithms.silent, chest)
    assert verdicts.pop("insert") == "FAIL"
    assert set(verdicts.values()) == {"not tested"}


def test_marks_and_table_are_written(chest, tmp_path):
    runs = list(check_robustness(algorithms.faithful, chest, CHOICE, ("shift", "insert")))
    write_outcomes(tmp_path, [outcome for outcome, _ in runs], runs[-1][1])
    table = pl.read_csv(tmp_path / "robustness.csv")
    assert table["test"].to_list() == ["shift", "insert"]
    assert table["verdict"].to_list() == ["pass", "pass"]
    assert table["measured"][0] == "4 of 4 and 4 marks agree (1.00), at least 0.99"
    marks = pl.read_csv(tmp_path / "marks.csv")["variant"].to_list()
    counts = {name: marks.count(name) for name in ("unchanged", "shift", "with nodules")}
    assert counts == {"unchanged": 4, "shift": 4, "with nodules": 7}
    inserted = pl.read_csv(tmp_path / "inserted.csv")
    assert inserted["diameter_mm"].to_list() == [12.0, 6.0, 6.0]


def test_an_unknown_test_is_named(chest):
    with pytest.raises(InputError, match="robustness test: 'turn' is not one of shift, flip-col"):
        list(check_robustness(algorithms.faithful, chest, CHOICE, ("turn",)))


def test_a_case_without_lung_is_refused():
    water = make_volume(np.zeros((20, 30, 30), np.int16), spacing_mm=(2.0, 2.0, 2.0))
    with pytest.raises(InputError, match="case: shows no lung"):
        list(check_robustness(algorithms.faithful, water, CHOICE))
