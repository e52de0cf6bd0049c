"""What every format keeps to: what it writes it reads again, in order, empty or not."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from nodulebench.core.errors import NoduleBenchError
from nodulebench.core.tables import (
    CASES,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULE_TYPES,
    NODULES,
    Reference,
    Submission,
)
from nodulebench.io.formats import FORMATS, Format, fitting, read_reference, read_submission
from nodulebench.testing.test_sets import expect

CASE_IDS = ("1.2.840.7", "case-b", "case_c", "d")
SPACING = (0.7, 0.7, 1.25)
ORIGIN = (-170.0, -160.0, -300.0)
SIZE = (512, 512, 60)
DIRECTIONS = (None, "-1 0 0 0 -1 0 0 0 1", "1 0 0 0 1 0 0 0 -1", None)
COUNT = 30


@cache
def format_cases() -> pl.DataFrame:
    """Four cases, one of them mirrored and one with its slices from head to feet."""
    rows = []
    for case_id, direction in zip(CASE_IDS, DIRECTIONS, strict=True):
        signs = [float(part) for part in (direction or "1 0 0 0 1 0 0 0 1").split()][::4]
        row: dict[str, object] = {"case_id": case_id, "direction": direction}
        for at, axis in enumerate("xyz"):
            # the corner from which the image covers the same volume in either direction
            reach = 0.0 if signs[at] > 0 else (SIZE[at] - 1) * SPACING[at]
            row |= {
                f"size_{axis}": SIZE[at],
                f"spacing_{axis}_mm": SPACING[at],
                f"origin_{axis}_mm": ORIGIN[at] + reach,
            }
        rows.append(row)
    return CASES.conform(pl.DataFrame(rows), "cases")


def format_submission(count: int = COUNT, seed: int = 1) -> Submission:
    """So many random marks in the first three cases, with their slices."""
    if not count:
        return Submission("algorithm", MARKS.empty())
    rows, boxes = _owners_and_slices("mark_id", count, seed)
    marks = MARKS.conform(rows.drop("is_ignored"), "marks")
    return Submission("algorithm", marks, MARK_SLICES.conform(boxes, "slices"))


def format_reference(count: int = COUNT, seed: int = 2) -> Reference:
    rows, boxes = _owners_and_slices("nodule_id", count, seed)
    nodules = NODULES.conform(rows.drop("score"), "nodules")
    return Reference("set", format_cases(), nodules, NODULE_SLICES.conform(boxes, "slices"))


def it_says_what_it_is(form: Format, folder: Path, known: pl.DataFrame) -> None:  # noqa: ARG001
    """It has a meaning and suffixes, and recognises what it reads."""
    expect(bool(form.meaning and form.suffixes), "it has no meaning or no suffixes")
    for read, refuse in (
        (form.read_marks, form.refuse_marks),
        (form.read_reference, form.refuse_reference),
    ):
        expect((read is None) == (refuse is None), "it reads what it does not recognise")
    expect(FORMATS[form.name] is form, f"it is not registered as '{form.name}'")


def marks_come_back_as_they_were_written(form: Format, folder: Path, known: pl.DataFrame) -> None:
    before, path = format_submission(), _target(form, folder)
    if not _writes_marks(form, before, path, known):
        return
    format_name = fitting(path, "marks").name
    expect(format_name == form.name, f"what it wrote is recognised as {format_name}")
    after = read_submission(path, known)
    _expect_same_places(before.marks, after.marks, form.precision_mm)
    old, new = (
        submission.marks.sort("case_id", maintain_order=True) for submission in (before, after)
    )
    _expect_close(old["score"], new["score"], 1e-12, "scores")
    expect(after.name == before.name, f"the algorithm is called {after.name} afterwards")


def no_marks_come_back_as_none(form: Format, folder: Path, known: pl.DataFrame) -> None:
    path = _target(form, folder)
    if _writes_marks(form, format_submission(0), path, known):
        after = read_submission(path, known, form.name).marks
        expect(after.schema == MARKS.empty().schema, "no marks have other columns")
        expect(after.height == 0, f"no marks come back as {after.height}")


def points_can_be_written_without_boxes(form: Format, folder: Path, known: pl.DataFrame) -> None:
    nowhere = pl.lit(None, dtype=pl.Float64).alias("diameter_mm")
    points = format_submission().marks.with_columns(nowhere)
    path = _target(form, folder)
    if not _writes_marks(form, Submission("algorithm", points), path, known):
        return
    old, new = _places(points), _places(read_submission(path, known, form.name).marks)
    expect(new["case_id"].to_list() == old["case_id"].to_list(), "points are lost or moved")
    moved = np.abs((new["z_mm"] - old["z_mm"]).to_numpy()).max()
    expect(bool(moved <= SPACING[2] / 2 + form.precision_mm), f"a point moves by {moved} mm")


def the_same_marks_give_the_same_digest(form: Format, folder: Path, known: pl.DataFrame) -> None:
    digests = []
    for name in ("one", "two"):
        path = _target(form, folder / name)
        if _writes_marks(form, format_submission(), path, known):
            digests.append(read_submission(path, known, form.name).digest)
    expect(not digests or digests[0] == digests[1] != "", "the same marks differ, written twice")


def a_refused_path_leaves_no_files(form: Format, folder: Path, known: pl.DataFrame) -> None:
    (folder / "not-a-folder").write_text("in the way", encoding="utf-8")
    message = ""
    try:
        path = _target(form, folder / "not-a-folder")
        if not _writes_marks(form, format_submission(), path, known):
            return
    except NoduleBenchError as error:
        message = str(error)
    expect("cannot be written" in message, "it does not say that it cannot be written")
    expect([left.name for left in folder.iterdir()] == ["not-a-folder"], "it leaves files behind")


def a_reference_comes_back_as_it_was_written(
    form: Format,
    folder: Path,
    known: pl.DataFrame,  # noqa: ARG001
) -> None:
    before, path = format_reference(), _target(form, folder / "set", is_set=True)
    if form.write_reference is None or form.read_reference is None or form.loses:
        return
    form.write_reference(before, path)
    after = read_reference(path, before.cases)
    _expect_same_places(before.nodules, after.nodules, form.precision_mm)
    old, new = (
        reference.nodules.sort("case_id", maintain_order=True) for reference in (before, after)
    )
    _expect_close(old["diameter_mm"], new["diameter_mm"], 1e-9, "diameters")
    for cases in (after.cases, form.read_reference(path, None).cases):
        expect(cases["case_id"].to_list() == list(CASE_IDS), "a case is lost")


def ignored_findings_stay_ignored_or_are_refused(
    form: Format,
    folder: Path,
    known: pl.DataFrame,  # noqa: ARG001
) -> None:
    if form.write_reference is None or form.read_reference is None or form.loses:
        return
    path = _target(form, folder, is_set=True)
    is_third = pl.int_range(pl.len()) % 3 == 0
    before = format_reference()
    before = replace(before, nodules=before.nodules.with_columns(is_ignored=is_third))
    try:
        form.write_reference(before, path)
    except NoduleBenchError as error:
        expect("10 ignored findings" in str(error), f"it refuses ignored findings with: {error}")
        return
    count = form.read_reference(path, None).nodules["is_ignored"].sum()
    expect(count == 10, f"10 ignored findings come back as {count}")


FORMAT_CHECKS: tuple[Callable[[Format, Path, pl.DataFrame], None], ...] = (
    it_says_what_it_is,
    marks_come_back_as_they_were_written,
    no_marks_come_back_as_none,
    points_can_be_written_without_boxes,
    the_same_marks_give_the_same_digest,
    a_refused_path_leaves_no_files,
    a_reference_comes_back_as_it_was_written,
    ignored_findings_stay_ignored_or_are_refused,
)
"""Each takes a format, an empty folder, and the cases as the format needs them."""


def check_format(name: str, cases: pl.DataFrame | None = None) -> None:
    """Run a registered format through all that formats keep to; AssertionError says what it breaks.

    ``cases`` are :func:`format_cases` with what the format needs besides; None: nothing.
    """
    known = format_cases() if cases is None else cases
    for check in FORMAT_CHECKS:
        with TemporaryDirectory() as folder:
            check(FORMATS[name], Path(folder), known)


def _writes_marks(form: Format, submission: Submission, path: Path, known: pl.DataFrame) -> bool:
    if form.write_marks is None or form.read_marks is None or form.loses:
        return False
    form.write_marks(submission, path, known)
    return True


def _target(form: Format, folder: Path, *, is_set: bool = False) -> Path:
    if is_set and form.suffixes[-1] == "/":
        return folder / "set"
    return folder / f"algorithm{form.suffixes[0].rstrip('/')}"


def _places(table: pl.DataFrame) -> pl.DataFrame:
    """Cases and places, case by case in the order of the table."""
    return table.select("case_id", "x_mm", "y_mm", "z_mm").sort("case_id", maintain_order=True)


def _expect_same_places(before: pl.DataFrame, after: pl.DataFrame, precision_mm: float) -> None:
    old, new = _places(before), _places(after)
    expect(new["case_id"].to_list() == old["case_id"].to_list(), "rows are lost or in other cases")
    for axis in ("x_mm", "y_mm", "z_mm"):
        _expect_close(old[axis], new[axis], precision_mm, axis)


def _expect_close(old: pl.Series, new: pl.Series, within: float, what: str) -> None:
    np.testing.assert_allclose(new.to_numpy(), old.to_numpy(), rtol=0, atol=within, err_msg=what)


def _owners_and_slices(key: str, count: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """So many random marks or nodules in the first three cases, with their slices."""
    chance = random.Random(seed)
    rows: list[dict[str, object]] = []
    boxes: list[dict[str, object]] = []
    for number in range(count):
        named = {"case_id": CASE_IDS[number % 3], key: f'it {number}, "quoted"'}
        first, slices = chance.randrange(5, 50), chance.randrange(1, 6)
        size = chance.uniform(3, 30)
        x, y = chance.uniform(-120, 120), chance.uniform(-120, 120)
        heights = [ORIGIN[2] + SPACING[2] * (first + step) for step in range(slices)]
        middle = {"x_mm": x, "y_mm": y, "z_mm": (heights[0] + heights[-1]) / 2}
        box = {"center_x_mm": x, "center_y_mm": y, "length_mm": size, "width_mm": size}
        rows.append(
            {
                **named,
                **middle,
                "diameter_mm": size,
                "score": chance.random(),
                "is_ignored": False,
                "type": chance.choice(NODULE_TYPES),
            }
        )
        boxes.extend(
            {**named, "slice_index": first + step, "z_mm": height, **box}
            for step, height in enumerate(heights)
        )
    return pl.DataFrame(rows), pl.DataFrame(boxes)
