"""What is digested is what is scored, and errors of broken files disclose nothing of the set."""

import json
import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders import tables
from builders.dicom import marks_on, write_series
from builders.people import person_key
from builders.reports import written
from builders.sealed import HEADER, SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES, MARK_SLICES, RUNS
from nodulebench.custody import evaluate as module
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.submissions import (
    held_copy,
    read_with,
    read_without_set,
    submission_digest,
    without_withdrawn,
)
from nodulebench.custody.verify import read_audit
from nodulebench.io.formats import read_cases

pytest.importorskip("cryptography")
GRID = {
    **{f"size_{axis}": 100 for axis in "xyz"},
    **{f"spacing_{axis}_mm": 1.0 for axis in "xyz"},
    **{f"origin_{axis}_mm": -50.0 for axis in "xyz"},
}
SET = CASES.arrange(pl.DataFrame([{"case_id": name, **GRID} for name in ("in.1", "in.2")]))


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    lab = make_lab(tmp_path)
    lab.seal()
    return lab


def ask(lab: SealedLab, marks: Path, **more: Any) -> dict[str, Any]:
    order = SealedEvaluateOptions(
        marks, lab.sealed, person_key("Bo"), "Example", bootstraps=0, **more
    )
    return evaluate_sealed(order)[0]


def charged(lab: SealedLab) -> int:
    return sum(len(use.evaluations) for use in read_audit(lab.sealed).uses)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no devices")
def test_a_device_is_not_copied(lab: SealedLab) -> None:
    with pytest.raises(
        InputError, match="/dev/null: is not a regular file"
    ):  # /dev/zero would fill the disk
        ask(lab, Path("/dev/null"))
    assert charged(lab) == 0


def test_a_file_that_is_swapped_after_it_was_digested_is_scored_as_digested(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = lab.marks("mine.csv")
    charge = module.charge

    def swapping(*arguments: Any) -> Any:
        charged = charge(*arguments)
        lab.marks("mine.csv", "scan0", "scan1", "scan2", "scan3")
        return charged

    with monkeypatch.context() as patch:
        patch.setattr(module, "charge", swapping)
        answer = ask(lab, marks)
    assert answer["metrics"]["luna16.recall"]["value"] == 0
    event = next(
        event for event in read_audit(lab.sealed).events if event.step == "evaluation_charged"
    )
    assert event.facts["submission"] != submission_digest(marks)
    assert answer["submission"] == event.facts["submission"]


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    """A folder with a measurement report that needs the CT images which lie next to it."""
    pytest.importorskip("highdicom")
    write_series(tmp_path / "ct")
    cases = read_cases(tmp_path / "ct")
    written(marks_on(cases), cases, tmp_path / "sent")
    for slice_file in (tmp_path / "ct").iterdir():
        shutil.copy(slice_file, tmp_path / "sent" / f"ct-{slice_file.name}")
    return tmp_path / "sent"


def test_files_next_to_a_submission_are_not_part_of_it(reported: Path) -> None:
    """CT images next to a report say on which slices its marks lie, and its digest stayed."""
    report = next(path for path in reported.iterdir() if not path.name.startswith("ct-"))

    def slices(sent: Path) -> list[Any]:
        with held_copy(sent) as copy:
            assert read_without_set(copy, sent) == ()
            table = read_with(copy, SET, ()).slices
        return [] if table is None else table.rows()

    single, whole = slices(report), slices(reported)
    assert single != whole
    before = submission_digest(report), submission_digest(reported)
    for image in reported.glob("ct-*"):
        image.unlink()
    assert slices(report) == slices(reported) == single
    assert submission_digest(report) == before[0]
    assert submission_digest(reported) != before[1]


def test_a_submission_brings_in_no_file_that_was_not_sent(tmp_path: Path) -> None:
    """A link to a private key was read as marks, and its first line was disclosed."""
    (tmp_path / "ada.key").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n00ff\n")
    folder = tmp_path / "sent"
    folder.mkdir()
    (folder / "marks.csv").symlink_to(tmp_path / "ada.key")
    with pytest.raises(InputError, match=r"marks\.csv: is a link or not a regular file") as caught:
        held_copy(folder).__enter__()
    assert "00ff" not in str(caught.value)


@pytest.mark.parametrize("target", ["ada.key", "set", "nothing"])
def test_a_submission_that_is_itself_a_link_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "ada.key").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n00ff\n")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "marks.csv").write_text(HEADER)
    (tmp_path / "sent.csv").symlink_to(target)
    with pytest.raises(InputError, match=r"sent\.csv: is a link or not a regular file\. Send"):
        held_copy(tmp_path / "sent.csv").__enter__()


def test_a_file_that_becomes_a_link_while_it_is_copied_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ada.key").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n00ff\n")
    folder = tmp_path / "sent"
    folder.mkdir()
    (folder / "marks.csv").write_text(HEADER)
    copy = shutil.copyfile

    def swapping(source: Path, target: Path, **options: Any) -> Any:
        source.unlink()
        source.symlink_to(tmp_path / "ada.key")
        return copy(source, target, **options)

    monkeypatch.setattr(shutil, "copyfile", swapping)
    with pytest.raises(InputError, match=r"marks\.csv: is a link or not a regular file"):
        held_copy(folder).__enter__()


def test_what_never_ends_is_not_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    os.mkfifo(folder / "marks.csv")
    with pytest.raises(InputError, match="is a link or not a regular file"):
        held_copy(folder).__enter__()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        held_copy(tmp_path / "nothing.csv").__enter__()


def test_the_name_counts_where_it_is_that_of_a_case(tmp_path: Path) -> None:
    points = {"type": "Multiple points", "version": {"major": 1, "minor": 0}}
    content = json.dumps({**points, "points": [{"name": "1", "point": [1, 2, 3]}]})
    digests = set()
    for name in ("in.1.json", "in.2.json"):
        (tmp_path / name).write_text(content)
        digests.add(submission_digest(tmp_path / name))
    assert len(digests) == 2
    csv = {tmp_path / name for name in ("a.csv", "b.csv")}
    for path in csv:
        path.write_text(HEADER)
    assert len({submission_digest(path) for path in csv}) == 1


def test_two_folders_of_other_files_are_two_submissions(tmp_path: Path) -> None:
    """A name with a line end made one digest of two folders: without two files, at no cost."""
    whole, fewer = tmp_path / "whole", tmp_path / "fewer"
    for folder in (whole, fewer):
        folder.mkdir()
    for case in "ab":
        (whole / f"{case}_boxes.pkl").write_bytes(case.encode())
    name = f"a_boxes.pkl {submission_digest(whole / 'a_boxes.pkl')}\nb_boxes.pkl"
    (fewer / name).write_bytes(b"b")
    assert submission_digest(whole) == submission_digest(fewer)
    with pytest.raises(InputError, match="has a line break in its name"):
        held_copy(fewer).__enter__()


@pytest.mark.parametrize("case", ["scan0", "elsewhere"])
def test_a_row_that_cannot_be_read_says_nothing_of_its_case(lab: SealedLab, case: str) -> None:
    """It was an error only where the case is in the set, at no cost: a list of its cases."""
    marks = lab.folder / "mine.csv"
    marks.write_text(f"{HEADER}scan1,1,2,3,0.5\n{case},here,2,3,0.9\n")
    with pytest.raises(InputError, match=r"mine\.csv line 3: coordX 'here' is not a finite number"):
        ask(lab, marks)
    assert charged(lab) == 0


def test_a_header_that_is_repeated_is_passed_over_as_ever(lab: SealedLab) -> None:
    marks = lab.folder / "mine.csv"
    marks.write_text(f"{HEADER}scan0,1,2,3,0.5\n{HEADER}scan1,1,2,3,0.9\n")
    assert ask(lab, marks)["metrics"]["luna16.recall"]["value"] == 0.5
    marks.write_text(f"{HEADER}scan0,1,2,3,0.5\n{HEADER}elsewhere,1,x,3,0.9\n")
    with pytest.raises(InputError, match="coordY 'x' is not a finite number"):
        ask(lab, marks)


def coco(folder: Path, case: str) -> Path:
    box = {"id": 1, "image_id": 1, "bbox": [10, 10, 10, 5, 5, 5], "score": 0.5}
    images = [{"id": 1, "case_id": case}]
    content = {"info": {"coordinates": "voxel"}, "images": images, "annotations": [box]}
    (folder / "a.json").write_text(json.dumps(content))
    return folder / "a.json"


def nifdc(folder: Path, case: str) -> Path:
    head = "case_id,nodule_id,slice_index,center_x_mm,center_y_mm,length_mm,width_mm,score\n"
    (folder / "a.csv").write_text(f"{head}{case},1,10,1,2,5,5,0.9\n")
    return folder / "a.csv"


def boxes(folder: Path, case: str) -> Path:
    corners = [[0, 0, 3], [5, 0, 3], [5, 5, 3], [0, 5, 3]]
    box = {"name": "x", "corners": corners, "probability": 0.5}
    content = {"case_id": case, "type": "Multiple 2D bounding boxes", "boxes": [box]}
    (folder / "a.json").write_text(json.dumps([{**content, "version": {"major": 1, "minor": 0}}]))
    return folder / "a.json"


def nndetection(folder: Path, case: str) -> Path:
    content = {"pred_boxes": np.array([[1, 2, 8, 9, 3, 7.0]]), "pred_scores": np.array([0.5])}
    made = folder / "sent"
    made.mkdir(exist_ok=True)
    (made / f"{case.replace('.', '_')}_boxes.pkl").write_bytes(pickle.dumps(content))
    return made


@pytest.mark.parametrize("make", [coco, nifdc, boxes, nndetection])
def test_places_in_voxels_are_read_whether_or_not_the_set_has_the_case(
    tmp_path: Path, make: Any
) -> None:
    """That the geometry of a case is not known disclosed which cases the set has."""
    for number, case in enumerate(("in.1", "elsewhere.9")):
        folder = tmp_path / str(number)
        folder.mkdir()
        sent = make(folder, case)
        with held_copy(sent) as copy:
            wanted = read_without_set(copy, sent)
            assert len(wanted) == 1
            marks = read_with(copy, SET, wanted).marks
        assert marks.height == 1
        assert marks["case_id"][0].replace("_", ".") == case


@pytest.mark.parametrize("make", [coco, nifdc, boxes, nndetection])
@pytest.mark.parametrize("case", ["in.1", "elsewhere.9"])
def test_what_is_broken_is_reported_alike_for_every_case(
    tmp_path: Path, make: Any, case: str
) -> None:
    sent = make(tmp_path, case)
    for file in [sent] if sent.is_file() else list(sent.iterdir()):
        content = file.read_bytes()
        broken = content.replace(b"0.5", b'"no"').replace(b"0.9", b"no")
        file.write_bytes(content[:-8] if broken == content else broken)
    with held_copy(sent) as copy, pytest.raises(InputError) as caught:
        read_without_set(copy, sent)
    assert not any("geometry" in str(problem) for problem in caught.value.problems)


def test_what_does_not_fit_the_images_is_reported_without_where(tmp_path: Path) -> None:
    head = "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,score\n"
    sent = tmp_path / "a.csv"
    sent.write_text(f"{head}in.1,1,10,900,1,2,5,5,0.9\n")
    with held_copy(sent) as copy:
        assert read_without_set(copy, sent) == ()
        with pytest.raises(InputError) as caught:
            read_with(copy, SET, ())
    assert str(caught.value).startswith("a.csv: does not fit the images of this test set")
    assert "in.1" not in str(caught.value)


def test_a_scorer_that_breaks_down_gives_no_traceback(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    marks = lab.marks("mine.csv", "scan0")
    with monkeypatch.context() as patch:
        patch.setattr(module, "_scored", fail)
        with pytest.raises(InputError, match=r"mine\.csv: cannot be scored \(ZeroDivisionError\)"):
            ask(lab, marks)
    assert charged(lab) == 0
    assert ask(lab, marks)["budget"]["used"] == 1


def test_what_a_submission_says_of_withdrawn_cases_is_left_out() -> None:
    """The same file is scored after a withdrawal, also where marks on others are an error."""
    box = {"slice_index": 1, "center_x_mm": 0.0, "center_y_mm": 0.0}
    sent = tables.submission(
        tables.case("in.1", tables.mark(0.9, (0, 0, 0)), tables.mark(0.8, (5, 5, 5))),
        tables.case("in.2", tables.mark(0.7, (0, 0, 0))),
    )
    names = pl.DataFrame({"case_id": ["in.1", "in.2"]})
    sent = replace(
        sent,
        slices=MARK_SLICES.arrange(names.with_columns(mark_id=pl.lit("m1"), **box)),
        runs=RUNS.arrange(names.with_columns(state=pl.lit("ok"))),
    )
    left = without_withdrawn(sent, ["in.1"])
    assert left.marks["score"].to_list() == [0.7]
    for table in (left.marks, left.slices, left.runs):
        assert table is not None
        assert table["case_id"].to_list() == ["in.2"]
    assert without_withdrawn(sent, ()) is sent
