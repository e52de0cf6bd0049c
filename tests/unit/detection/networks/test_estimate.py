from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS
from nodulebench.detection.networks import cross_validation as estimate
from nodulebench.detection.networks.cross_validation import (
    TIMED,
    WARMING,
    Course,
    Pace,
    pace_of,
    seconds_left,
    seconds_of,
    seconds_of_a_step,
    train_without,
)
from nodulebench.detection.networks.detection_network import SearchResult
from nodulebench.detection.networks.examples import ExampleArrays, Examples, make_examples
from nodulebench.detection.networks.patches import scans_of
from nodulebench.detection.networks.training import Check

NAME = "m5lcad"
RECIPE = replace(NETWORKS[NAME].recipe, steps=6, batch=4, check_every=2, tries=3)


@pytest.fixture(scope="module")
def examples() -> Examples:
    """Three folds and a scan of none, of a hundredth of a litre each, with four places."""
    random = np.random.default_rng(2)
    images = [random.integers(30, 50, (16, 25, 25)).astype(np.uint8) for _ in range(4)]
    places = [(8, 5 + 4 * number, 5 + 4 * number) for _ in range(4) for number in range(4)]
    return make_examples(
        scans_of(images, [[1.0, 1.0, 1.0]] * 4, step_hu=16.0, lowest_hu=-1024.0),
        ExampleArrays(
            fold=[0, 1, 2, -1],
            which=np.repeat(range(4), 4),
            place=places,
            is_nodule=np.tile([True, True, False, False], 4),
            series=[f"{scan}" for scan in range(4)],
        ),
    )


def _clock(monkeypatch: pytest.MonkeyPatch, seconds: Iterator[float]) -> None:
    clock = SimpleNamespace(perf_counter=lambda: next(seconds))
    monkeypatch.setattr(estimate, "time", clock)  # the real module serves pytest, too


def test_a_step_takes_the_median_of_those_after_the_first(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = [9.0] * WARMING + [0.25] * (TIMED - 8) + [2.0] * 8
    _clock(monkeypatch, iter(np.cumsum([0.0, *taken]) / 10))

    seconds = seconds_of_a_step(NETWORKS[NAME], examples, [0], RECIPE)

    assert seconds == pytest.approx(0.025)


def test_slow_steps_are_not_tried_for_long(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    _clock(monkeypatch, iter([0.0, 50.0, 90.0, 130.0, 160.0]))

    assert seconds_of_a_step(NETWORKS[NAME], examples, [0], RECIPE) == 30.0


def test_steps_checks_and_scoring_count(examples: Examples, tmp_path: Path) -> None:
    course = Course(examples, tmp_path, RECIPE, held_back=(1,))
    pace = Pace(step=10.0, candidate=1.0, litre=100.0)

    # 5 steps, 3 checks of 4 candidates, 8 candidates scored three times, 4 of the fold once more,
    # two scans of a hundredth of a litre
    assert seconds_of(pace, NAME, 0, course, 5) == pytest.approx(50 + 12 + 24 + 4 + 2)
    without_checks = replace(course, held_back=())
    assert seconds_of(pace, NAME, None, without_checks, 5) == pytest.approx(50 + 12 + 1)


def test_only_what_is_left_counts(
    examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "pace_of", lambda *_: Pace(step=10.0))
    course = Course(examples, tmp_path, RECIPE)

    def kill(check: Check) -> None:
        if check.step == 4:
            raise KeyboardInterrupt

    assert seconds_left(NAME, [0, 1], course) == 120.0
    with pytest.raises(KeyboardInterrupt):
        train_without(NAME, 0, course, kill)
    assert seconds_left(NAME, [0, 1], course) == 100.0
    train_without(NAME, 0, course)
    assert seconds_left(NAME, [0, 1], course) == 60.0
    assert seconds_left(NAME, [0], course) is None


def test_a_network_is_tried_on_some_candidates(examples: Examples, tmp_path: Path) -> None:
    pace = pace_of(NAME, [0, 1], Course(examples, tmp_path, RECIPE), 1)

    assert (pace.step > 0, pace.candidate > 0, pace.litre) == (True, True, 0.0)


def test_a_finder_is_tried_on_the_first_shandle_of_a_scan(
    examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = replace(
        DETECTION_NETWORKS["heatmap"], build=torch.nn.Identity, slab=12, margin=4, step_mm=1.0
    )
    monkeypatch.setitem(DETECTION_NETWORKS._loaded, "heatmap", finder)
    monkeypatch.setattr(estimate, "seconds_of_a_step", lambda *_: 2.0)
    seen = []

    def record(*given: torch.Tensor) -> SearchResult:
        seen.append([corner.tolist() for corner in given[-2:]])
        return SearchResult(torch.zeros(0, 3), torch.zeros(0), torch.zeros(0))

    monkeypatch.setattr(estimate, "search", record)
    _clock(monkeypatch, iter([5.0, 8.0]))

    pace = pace_of("heatmap", [0, 1], Course(examples, tmp_path))

    # 3 s for 5 of 16 slices of a hundredth of a litre
    assert pace == Pace(2.0, litre=pytest.approx(3 / (5 / 16 * 0.01)))
    assert seen == [[[0, 0, 0], [4, 24, 24]]] * 2
