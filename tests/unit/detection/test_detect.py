"""What became of each case of a test set: read, failed, or not done in time."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nodulebench.core.executor import FailedTask, TaskLimits
from nodulebench.core.executors.local import LocalExecutor
from nodulebench.detection import detect
from nodulebench.detection.detect import LUNA16, TrainingProvenance
from nodulebench.detection.systems import System


def test_a_case_that_takes_too_long_is_timed_out_and_one_whose_reader_dies_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = tmp_path / "images"
    for name in ("dead", "gone", "good", "slow"):
        (images / name).mkdir(parents=True)
    asked: list[TaskLimits] = []

    def work(
        _: object, __: Callable[..., Any], tasks: Sequence[Any], terms: TaskLimits
    ) -> Iterator[tuple[int, detect.Detection | FailedTask]]:
        asked.append(terms)
        yield 3, FailedTask("timed_out")
        yield 1, FailedTask("gone")
        yield 0, FailedTask("died", -9)
        yield 2, detect.Detection(tasks[2].case_id)

    monkeypatch.setattr(LocalExecutor, "map", work)
    detections = detect.detect_set(System(("isicad",)), tmp_path)
    assert [(detection.case_id, detection.state) for detection in detections] == [
        ("dead", "failed"),
        ("gone", "infrastructure"),
        ("good", "ok"),
        ("slow", "timed_out"),
    ]
    assert asked[0].seconds == detect.SLOWEST_S
    runs = detect.submission_of(System(("isicad",)), detections).runs
    assert runs is not None
    assert runs["state"].to_list() == ["failed", "infrastructure", "ok", "timed_out"]


def test_the_submission_tells_which_folds_its_weights_never_saw() -> None:
    mine = TrainingProvenance("m5lcad (our scans)", (1,))
    detections = [
        detect.Detection("a", provenance=(TrainingProvenance(LUNA16, ()),)),
        detect.Detection("b", provenance=(mine, TrainingProvenance(LUNA16, (3,)))),
        detect.Detection("c", provenance=(mine, TrainingProvenance(LUNA16, (3,)))),
        detect.Detection("d", provenance=(TrainingProvenance(LUNA16, (0,)),)),
        detect.Detection(
            "known", provenance=(TrainingProvenance(LUNA16, (2,), includes_scan=True),)
        ),
        detect.Detection("e", problem="cannot be read", state="failed"),
    ]
    training_data = detect.submission_of(System(("isicad",)), detections).facts["training_data"]
    assert training_data == (
        "blocks and scans of LUNA16: all ten folds for 1 scan; all folds but 0 for 1 scan; all "
        "folds but 3 for 2 scans; all folds but 2, the scan's own among them, for 1 scan. "
        "m5lcad (our scans): all folds but 1 for 2 scans"
    )
    assert detect.training_data(detections[-1:]) == ""


def test_stages_that_overlap_are_parallel() -> None:
    stages = (("isicad", 2.0), ("m5l", 3.0))
    assert detect.Detection("a", stages=stages, seconds=3.5).is_parallel
    assert not detect.Detection("a", stages=stages, seconds=5.1).is_parallel


def test_folds_are_named() -> None:
    assert [detect.fold_named(text) for text in ("auto", "none", "7")] == ["auto", None, 7]
