"""A session of an observer study shows only patches and records every call."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.reading import BALL_MM, ball, write_scans
from builders.working import NEXT_TO, PLACE, AtHome
from nodulebench.annotation.observer_study import SUSPECTS, OpenStudy, begin_study
from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import upright
from nodulebench.web.viewer.findings import Ruler
from nodulebench.web.viewer.scans import Tiles, patch_of
from nodulebench.web.viewer.study import open_study_session, ruler_mm

SECRETS = ("secret-case", "secret-mark", "0.8125", "bo")


def made(folder: Path, *, patch_mm: float = 30) -> OpenStudy:
    """Two locations in one scan, for two readers; the second one is in air."""
    write_scans(folder / "scans", "secret-case")
    rows = [
        ("secret-case", "secret-mark-1", *PLACE, 0.8125),
        ("secret-case", "secret-mark-2", *NEXT_TO, 0.8125),
    ]
    columns = [column.name for column in SUSPECTS.columns]
    (folder / "study").mkdir()
    table = pl.DataFrame(rows, schema=columns, orient="row")
    table.write_csv(folder / "study" / "to_read.csv")
    return begin_study(folder / "study", ["ann", "bo"], patch_mm=patch_mm)


@contextmanager
def study_of(folder: Path, name: str = "ann") -> Iterator[AtHome]:
    with open_study_session(folder / "study", folder / "scans", name) as session:
        yield AtHome(session)


def number_of(study: OpenStudy, mark: str, name: str = "ann") -> int:
    return study.places(name).index(("secret-case", mark))


def axis(length: float) -> dict[str, Any]:
    x, y, _ = PLACE
    return {"slice_index": 5, "long": [[x, y], [x + length, y]], "short": None}


def call_location(person: AtHome, number: int, call: str, **fields: Any) -> Any:
    return person.answer(number, "mark", call=call, **fields)


def test_the_voxels_of_a_patch_keep_their_positions() -> None:
    volume = ball()
    whole = Tiles(upright(volume).volume, volume.geometry, is_resampled=False)
    patch = patch_of(whole, BALL_MM, 16.0)
    columns, rows, slices = patch.volume.hu.shape[::-1]
    assert (columns, rows, slices) == (21, 17, 9)  # 8 mm each way: 10, 8 and 4 voxels
    index = np.array([[3, 4, 5]])
    there = whole.grid.to_index(patch.grid.to_world(index.astype(float))).round().astype(int)[0]
    assert patch.volume.hu[5, 4, 3] == whole.volume.hu[there[2], there[1], there[0]]
    np.testing.assert_allclose(patch.grid.to_index(BALL_MM[None])[0], [10, 8, 4], atol=0.5)
    at_edge = patch_of(whole, whole.grid.to_world(np.zeros((1, 3)))[0], 16.0)
    assert at_edge.volume.hu.shape == (5, 9, 11)


def test_axes_are_measured_as_their_mean() -> None:
    ruler = Ruler(slice_index=0, long=((0, 0), (3, 4)))
    assert ruler_mm(ruler) == 5.0
    assert ruler_mm(ruler.model_copy(update={"short": ((0, 0), (0, 3.5))})) == 4.25
    assert ruler_mm(None) is None


def test_a_call_is_measured_and_recorded_as_an_event(tmp_path: Path) -> None:
    study = made(tmp_path)
    number = number_of(study, "secret-mark-1")
    with study_of(tmp_path) as ann:
        assert [scan["mode"] for scan in ann.ask("/scans")] == ["classify", "classify"]
        ann.submit(number, code=422)
        call_location(ann, number, "nodule")
        problem = ann.submit(number, code=422)["problem"]
        assert "is not measured" in problem
        call_location(ann, number, "nodule", ruler=axis(2.5))
        assert "measures 2.5 mm" in ann.submit(number, code=422)["problem"]
        call_location(ann, number, "nodule", ruler=axis(7.5))
        ann.submit(number)
        ann.submit(number, code=409)
        assert ann.ask(f"/scans/{number}/reading")["mode"] == "done"
    (call,) = study.calls("ann").values()
    assert (call.mark_id, call.call, call.diameter_mm) == ("secret-mark-1", "nodule", 7.5)
    assert call.seconds == 6.0  # three edits of two seconds each


def test_calls_survive_a_restart_and_a_table(tmp_path: Path) -> None:
    study = made(tmp_path)
    with study_of(tmp_path) as ann:
        call_location(ann, 0, "small_nodule")
    with study_of(tmp_path) as ann:
        (finding,) = ann.ask("/scans/0/reading")["findings"]
        assert finding["finding"]["call"] == "small_nodule"
        study.call("ann", study.places("ann")[0], "non_nodule")
        answer = ann.ask("/scans/0/reading")
        assert (answer["mode"], answer["is_submitted"]) == ("done", True)
        assert answer["findings"][0]["finding"]["call"] == "non_nodule"
        ann.submit(0, code=409)


def test_a_size_of_a_non_nodule_does_not_count(tmp_path: Path) -> None:
    study = made(tmp_path)
    with study_of(tmp_path) as ann:
        call_location(ann, 0, "non_nodule", ruler=axis(7.5))
        ann.submit(0)
    (call,) = study.calls("ann").values()
    assert call.diameter_mm is None


def test_a_study_hides_cases_scores_and_other_readers(tmp_path: Path) -> None:
    study = made(tmp_path)
    for place in study.places("bo"):
        study.call("bo", place, "nodule", 9.125)
    with study_of(tmp_path) as ann:
        answers = [ann.client.get("/").text]
        answers += [json.dumps(ann.ask("/scans"))]
        for number in range(2):
            answers += [json.dumps(ann.ask(f"/scans/{number}"))]
            answers += [json.dumps(ann.ask(f"/scans/{number}/reading"))]
            answers += [json.dumps(ann.submit(number, code=422))]
            answers += [ann.client.get(f"/scans/{number}/evaluation?rule=a&algorithm=b").text]
        answers += [ann.client.get("/work").text]
    for text in answers:
        words = text.replace("about", "")
        assert not [secret for secret in (*SECRETS[:3], '"bo"', "9.125") if secret in words]


def test_a_study_needs_a_reader_and_all_images(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(InputError, match="has no part"), study_of(tmp_path, "eve"):
        pass
    for file in (tmp_path / "scans").iterdir():
        file.rename(file.with_name(file.name.replace("secret-case", "other")))
    with pytest.raises(InputError, match="holds no scan of 'secret-case'"), study_of(tmp_path):
        pass
