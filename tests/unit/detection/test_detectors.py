"""A detector's name has one meaning: the same candidates wherever it runs."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from builders.lung_scenes import ball, lung_with
from builders.made_up_chest import made_up_chest
from nodulebench.core.errors import InputError
from nodulebench.detection import detectors
from nodulebench.detection.candidates import DETECTORS, LONGEST_FIRST, NAMES
from nodulebench.detection.classifiers.false_positive_reduction import candidates_to_score
from nodulebench.detection.detect import DetectionTask, detect_case
from nodulebench.detection.detectors import (
    candidates_of,
    cores,
    detect_nodules,
    merge_detectors,
    near_lungs,
    propose_each,
)
from nodulebench.detection.scan import Candidates, no_candidates, prepare_scan
from nodulebench.detection.systems import System
from nodulebench.io.images import metaimage
from nodulebench.runner.command import open_algorithm


def at(*places: float, score: float = 1.0) -> Candidates:
    center = np.array([(place, 0.0, 0.0) for place in places])
    return Candidates(center, np.full(len(places), score), np.full(len(places), 5.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["isicad", "isicad+largecad"])
def test_detect_and_robustness_mark_the_same_places_with_the_same_scores(
    tmp_path: Path, name: str
) -> None:
    volume = made_up_chest()
    metaimage.write_volume(volume, tmp_path / "scan.mhd")
    marks = detect_case(DetectionTask(System(tuple(name.split("+"))), tmp_path / "scan.mhd")).marks
    with open_algorithm(name) as algorithm:
        again = algorithm(metaimage.read_volume(tmp_path / "scan.mhd"))
    assert marks.height > 0
    assert np.array_equal(marks.select("x_mm", "y_mm", "z_mm").to_numpy(), again.center_mm)
    assert np.array_equal(marks["score"].to_numpy(), again.score)


def test_places_far_from_the_lungs_are_not_candidates_and_the_best_come_first() -> None:
    chest = lung_with(ball((32.0, 32.0, 32.0), 4))
    mask = chest.lungs.mask.copy()
    mask[:, :, 40:] = False
    cut = replace(chest, lungs=replace(chest.lungs, label=mask.astype(np.uint8)))
    inside, near, far = (chest.to_world(np.array([[32.0, 32.0, x]]))[0] for x in (20, 45, 60))
    candidates = Candidates(np.array([inside, far, near]), np.array([1.0, 3.0, 2.0]), np.ones(3))
    assert near_lungs(candidates, cut).score.tolist() == [2.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["isicad", "subsolidcad", "largecad"])
def test_a_name_means_the_reduction_of_what_is_found_near_the_lungs(
    name: str,
) -> None:
    chest = prepare_scan(made_up_chest())
    proposed = near_lungs(DETECTORS[name](chest), chest)
    expected = candidates_to_score({name: proposed}, chest)[name]
    assert len(expected) <= len(proposed)
    for candidates in (candidates_of(name, chest), detect_nodules((name,), chest)):
        assert np.array_equal(candidates.center_mm, expected.center_mm)
        assert np.array_equal(candidates.score, expected.score)


@pytest.mark.slow
def test_however_many_detectors_look_at_once_they_propose_the_same_to_the_last_bit() -> None:
    volume = made_up_chest()
    sequential = propose_each(NAMES, prepare_scan(volume), threads=1)
    assert sum(map(len, sequential.values())) > 0
    for threads, names in ((2, NAMES), (6, NAMES[::-1])):
        at_once = propose_each(names, prepare_scan(volume), threads=threads)
        assert list(at_once) == list(names)
        for name in names:
            for column in ("center_mm", "score", "diameter_mm"):
                values, expected = getattr(at_once[name], column), getattr(sequential[name], column)
                assert np.array_equal(values, expected, equal_nan=True)


def test_the_longest_begins_first_and_as_many_look_at_once_as_there_are_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[str] = []
    both = threading.Barrier(2)

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        begun.append(name)
        if name in LONGEST_FIRST[:2]:
            both.wait(timeout=300)  # passes only where two are at it
        yield

    monkeypatch.setattr(detectors, "proposals_near_lungs", lambda *_: no_candidates())
    chest = lung_with(ball((32.0, 32.0, 32.0), 4))
    monkeypatch.setattr(detectors, "cores", lambda: 8)
    assert list(propose_each(NAMES, chest, stage=stage)) == list(NAMES)
    assert set(begun[:2]) == set(LONGEST_FIRST[:2])
    assert sorted(begun) == sorted(LONGEST_FIRST) == sorted(NAMES)
    monkeypatch.setattr(detectors, "cores", lambda: 1)
    begun.clear()

    @contextmanager
    def noted(name: str) -> Iterator[None]:
        begun.append(name)
        yield

    propose_each(("isicad", "largecad", "m5l"), chest, stage=noted)
    assert begun == ["isicad", "largecad", "m5l"]


@pytest.mark.parametrize("threads", [1, 2])
def test_of_detectors_that_fail_the_first_named_is_reported(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    def fail(name: str, *_: object) -> Candidates:
        raise InputError.at(name, "cannot run.")

    monkeypatch.setattr(detectors, "proposals_near_lungs", fail)
    chest = lung_with(ball((32.0, 32.0, 32.0), 4))
    with pytest.raises(InputError, match="isicad: cannot run"):
        propose_each(("isicad", "m5l", "largecad"), chest, threads=threads)


def test_cores_are_those_of_this_process_unless_fewer_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    for threads, expected in (("", 3), ("1", 1), ("2,1", 2), ("64", 3), ("0", 1), ("many", 3)):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert cores() == expected
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def test_together_the_two_nearest_are_joined_first_so_that_chains_end() -> None:
    merged = merge_detectors({"a": at(0.0, 8.0, score=0.3), "b": at(4.5, score=0.7)})
    # 8 and 4.5 are nearest; their mean is too far from 0
    assert merged.center_mm[:, 0].tolist() == [4.5, 0.0]
    mean = merge_detectors({"a": at(0.0, 8.0, score=0.3), "b": at(4.5, score=0.7)}, place="mean")
    assert mean.center_mm[:, 0].tolist() == [6.25, 0.0]


def test_together_a_place_is_as_likely_as_detectors_say_in_the_mean() -> None:
    merged = merge_detectors({"a": at(0.0, 100.0, score=0.2), "b": at(101.0, score=0.6)})
    assert merged.center_mm[:, 0].tolist() == [101.0, 0.0]
    assert merged.score.tolist() == pytest.approx([(0.2 + 0.6) / 2, (0.2 + 0.0) / 2])
    # two candidates of one detector do not agree: the more likely one counts
    near = merge_detectors(
        {"a": at(0.0, 1.0, score=0.5), "b": at(90.0, score=0.2), "c": no_candidates()}
    )
    assert near.score.tolist() == pytest.approx([0.5 / 3, 0.2 / 3])


def test_one_detector_keeps_its_own_scores() -> None:
    assert merge_detectors({"a": at(1.0, score=-3.0)}).score.tolist() == [-3.0]
