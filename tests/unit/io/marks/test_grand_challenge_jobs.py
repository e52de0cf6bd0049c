import json
from pathlib import Path
from typing import Any

import pytest

from nodulebench.core.errors import InputError
from nodulebench.io.formats import fitting, read_submission
from nodulebench.io.marks.grand_challenge import _seconds

POINT = {"name": "1", "point": [1.0, 2.0, 3.0], "probability": 0.5}
POINTS = {"type": "Multiple points", "points": [POINT], "version": {"major": 1, "minor": 0}}


def job(case: str, pk: str, **more: Any) -> dict[str, Any]:
    """A job as the platform lists it."""
    ct = {"socket": {"slug": "ct", "relative_path": "images/ct"}, "image": {"name": f"{case}.mha"}}
    result = {"socket": {"slug": "nodules", "relative_path": "nodules.json"}, "value": None}
    return {"pk": pk, "status": "Succeeded", "inputs": [ct], "outputs": [result], **more}


def write_jobs(folder: Path, jobs: list[dict[str, Any]], outputs: dict[str, object]) -> Path:
    """A folder as the platform gives it to an evaluation."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "predictions.json").write_text(json.dumps(jobs))
    for pk, document in outputs.items():
        place = folder / pk / "output" / "nodules.json"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(document))
    return folder


def test_marks_are_those_of_the_jobs_under_the_names_of_their_images(tmp_path: Path) -> None:
    jobs = [job("1.2.3", "p1", exec_duration="PT1M2.5S"), job("b", "p2")]
    read = read_submission(write_jobs(tmp_path / "in", jobs, {"p1": POINTS, "p2": POINTS}))
    assert read.marks["case_id"].to_list() == ["1.2.3", "b"]
    assert read.marks.select("x_mm", "y_mm", "z_mm", "score").row(0) == (1.0, 2.0, 3.0, 0.5)
    assert read.runs is not None
    assert read.runs.select("case_id", "state", "seconds").rows() == [
        ("1.2.3", "ok", 62.5),
        ("b", "ok", None),
    ]


def test_a_job_that_failed_is_a_failed_run_and_its_output_is_not_read(tmp_path: Path) -> None:
    jobs = [job("a", "p1"), job("b", "p2", status="Failed")]
    read = read_submission(write_jobs(tmp_path / "in", jobs, {"p1": POINTS, "p2": {"type": 5}}))
    assert read.runs is not None
    assert dict(read.runs.select("case_id", "state").rows()) == {"a": "ok", "b": "failed"}
    assert read.marks["case_id"].to_list() == ["a"]


def test_points_may_stand_in_the_list_and_sockets_be_called_interfaces(tmp_path: Path) -> None:
    first = job("a", "p1")
    (output,) = first["outputs"]
    first["outputs"] = [{"interface": output["socket"], "value": POINTS}]
    assert read_submission(write_jobs(tmp_path / "in", [first], {})).marks.height == 1


@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        ([job("a", "p1"), job("a", "p1")], r"\[1\]: is a second job of 'a'"),
        ([job("a", "p9")], r"p9/output/nodules.json: does not exist"),
        ([job("a", "../../etc")], r"names '../../etc/output/nodules.json', which is not in"),
        ([job("a", "p1", inputs=[])], "has 0 input images"),
        ([job("a", "p1", outputs=[])], "has 0 JSON output sockets"),
        ([job("a", "p1", inputs=5)], "is a number, not a list"),
    ],
)
def test_what_is_wrong_with_a_job_is_reported(
    jobs: list[dict[str, Any]], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        read_submission(write_jobs(tmp_path / "in", jobs, {"p1": POINTS}))


def test_a_case_called_predictions_is_a_case(tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "predictions.json").write_text(json.dumps(POINTS))
    assert fitting(folder, "marks").name == "grand_challenge_json"
    assert read_submission(folder).marks["case_id"].to_list() == ["predictions"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("P1DT1H", 90_000), ("PT0.5S", 0.5), ("P", None), ("soon", None), (3, None), (None, None)],
)
def test_durations_are_read_as_iso_8601_writes_them(text: object, seconds: float | None) -> None:
    assert _seconds(text) == seconds


def test_no_job_is_not_a_submission(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_submission(write_jobs(tmp_path / "in", [], {}))
