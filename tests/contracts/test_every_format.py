"""What every format must do: what it writes it reads again, in order, empty or not."""

import random
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from builders.dicom import image_headers
from nodulebench.formats import FORMATS, Format, fitting, read_reference, read_submission
from nodulebench.model.tables import (
    CASES,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULE_TYPES,
    NODULES,
    Reference,
    Submission,
)

CASE_IDS = ("1.2.840.7", "case-b", "case_c", "d")
SPACING = (0.7, 0.7, 1.25)
ORIGIN = (-170.0, -160.0, -300.0)
SIZE = (512, 512, 60)
DIRECTIONS = (None, "-1 0 0 0 -1 0 0 0 1", "1 0 0 0 1 0 0 0 -1", None)

WRITERS_OF_MARKS = [form for form in FORMATS.values() if form.write_marks and not form.loses]
WRITERS_OF_REFERENCES = [
    form for form in FORMATS.values() if form.write_reference and not form.loses
]


@pytest.fixture(scope="session")
def with_images(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The four cases with the folders of their images, whose pixels nobody asks for."""
    pytest.importorskip("highdicom", reason="the extra 'dicom' is not installed")
    return image_headers(cases(), tmp_path_factory.mktemp("images"))


@pytest.fixture
def known(
    form: Format, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> pl.DataFrame:
    """The cases as a format needs them."""
    if not form.name.startswith("dicom"):
        return cases()
    monkeypatch.setattr(
        "nodulebench.formats.dicom.reports.sr_writer.moment", lambda: datetime(2026, 1, 2, 3, 4, 5)
    )
    found: pl.DataFrame = request.getfixturevalue("with_images")
    return found


def cases() -> pl.DataFrame:
    """Four cases, one of them mirrored and one with its slices from head to feet."""
    rows = [
        {
            "case_id": case_id,
            **_by_axis("size_{}", SIZE),
            **_by_axis("spacing_{}_mm", SPACING),
            **_by_axis("origin_{}_mm", _origin(direction)),
            "direction": direction,
        }
        for case_id, direction in zip(CASE_IDS, DIRECTIONS, strict=True)
    ]
    return CASES.conform(pl.DataFrame(rows), "cases")


def _by_axis(name: str, values: tuple[float, ...]) -> dict[str, float]:
    return {name.format(axis): value for axis, value in zip("xyz", values, strict=True)}


def _origin(direction: str | None) -> tuple[float, ...]:
    """The corner from which the image covers the same room, whichever way it runs."""
    signs = [float(part) for part in (direction or "1 0 0 0 1 0 0 0 1").split()][::4]
    return tuple(
        start if sign > 0 else start + (count - 1) * step
        for start, sign, count, step in zip(ORIGIN, signs, SIZE, SPACING, strict=True)
    )


def owners_and_slices(key: str, count: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """So many random marks or nodules in the first three cases, with their slices."""
    chance = random.Random(seed)
    rows, boxes = [], []
    for number in range(count):
        case_id = CASE_IDS[number % 3]
        first, slices = chance.randrange(5, 50), chance.randrange(1, 6)
        size = chance.uniform(3, 30)
        x, y = chance.uniform(-120, 120), chance.uniform(-120, 120)
        heights = [ORIGIN[2] + SPACING[2] * (first + step) for step in range(slices)]
        rows.append(
            {
                "case_id": case_id,
                key: f'it {number}, "quoted"',
                "x_mm": x,
                "y_mm": y,
                "z_mm": (heights[0] + heights[-1]) / 2,
                "diameter_mm": size,
                "score": chance.random(),
                "is_ignored": False,
                "type": chance.choice(NODULE_TYPES),
            }
        )
        boxes.extend(
            {
                "case_id": case_id,
                key: rows[-1][key],
                "slice_index": first + step,
                "z_mm": height,
                "center_x_mm": x,
                "center_y_mm": y,
                "length_mm": size,
                "width_mm": size,
            }
            for step, height in enumerate(heights)
        )
    return pl.DataFrame(rows), pl.DataFrame(boxes)


def submission(count: int = 30, seed: int = 1) -> Submission:
    if not count:
        return Submission("algorithm", MARKS.empty())
    rows, boxes = owners_and_slices("mark_id", count, seed)
    marks = MARKS.conform(rows.drop("is_ignored"), "marks")
    return Submission("algorithm", marks, MARK_SLICES.conform(boxes, "slices"))


def reference(count: int = 30, seed: int = 2) -> Reference:
    rows, boxes = owners_and_slices("nodule_id", count, seed)
    return Reference(
        "set",
        cases(),
        NODULES.conform(rows.drop("score"), "nodules"),
        NODULE_SLICES.conform(boxes, "slices"),
    )


def target(form: Format, folder: Path) -> Path:
    return folder / f"algorithm{form.suffixes[0].rstrip('/')}"


def places(table: pl.DataFrame) -> pl.DataFrame:
    """Cases and places, case by case in the order of the table."""
    return table.select("case_id", "x_mm", "y_mm", "z_mm").sort("case_id", maintain_order=True)


def assert_same_places(before: pl.DataFrame, after: pl.DataFrame, precision_mm: float) -> None:
    old, new = (places(table).drop("case_id").to_numpy() for table in (before, after))
    assert places(after)["case_id"].to_list() == places(before)["case_id"].to_list()
    assert new == pytest.approx(old, abs=precision_mm)


@pytest.mark.parametrize("form", WRITERS_OF_MARKS, ids=lambda form: form.name)
def test_marks_come_back_as_they_were_written(
    form: Format, known: pl.DataFrame, tmp_path: Path
) -> None:
    before, path = submission(), target(form, tmp_path)
    form.write_marks(before, path, known)
    after = form.read_marks(path, known)
    assert_same_places(before.marks, after.marks, form.precision_mm)
    old, new = (one.marks.sort("case_id", maintain_order=True) for one in (before, after))
    assert new["score"].to_list() == pytest.approx(old["score"].to_list(), abs=1e-12)
    assert after.name == before.name


@pytest.mark.parametrize("form", WRITERS_OF_MARKS, ids=lambda form: form.name)
def test_a_written_file_is_recognised_by_its_content(
    form: Format, known: pl.DataFrame, tmp_path: Path
) -> None:
    path = target(form, tmp_path)
    form.write_marks(submission(), path, known)
    assert fitting(path, "marks").name == form.name
    assert read_submission(path, known).marks.height == 30


@pytest.mark.parametrize("form", WRITERS_OF_MARKS, ids=lambda form: form.name)
def test_a_submission_without_marks_comes_back_without_marks(
    form: Format, known: pl.DataFrame, tmp_path: Path
) -> None:
    path = target(form, tmp_path)
    form.write_marks(submission(0), path, known)
    after = read_submission(path, known, form.name)
    assert after.marks.height == 0
    assert after.marks.schema == MARKS.empty().schema


@pytest.mark.parametrize("form", WRITERS_OF_MARKS, ids=lambda form: form.name)
def test_points_alone_can_be_written(form: Format, known: pl.DataFrame, tmp_path: Path) -> None:
    points = submission().marks.with_columns(pl.lit(None, dtype=pl.Float64).alias("diameter_mm"))
    path = target(form, tmp_path)
    form.write_marks(Submission("algorithm", points), path, known)
    after = form.read_marks(path, known)
    old, new = places(points), places(after.marks)
    assert new["case_id"].to_list() == old["case_id"].to_list()
    # a point moves to the plane of its slice at most
    assert (new["z_mm"] - old["z_mm"]).abs().max() <= SPACING[2] / 2 + form.precision_mm


@pytest.mark.parametrize("form", WRITERS_OF_MARKS, ids=lambda form: form.name)
def test_the_same_submission_gives_the_same_bytes(
    form: Format, known: pl.DataFrame, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        form.write_marks(submission(), target(form, tmp_path / name), known)
    after = [form.read_marks(target(form, tmp_path / name), known) for name in ("one", "two")]
    assert after[0].digest == after[1].digest != ""


@pytest.mark.parametrize("form", WRITERS_OF_MARKS, ids=lambda form: form.name)
def test_a_refused_submission_leaves_nothing_behind(
    form: Format, known: pl.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "not-a-folder").write_text("in the way")
    path = target(form, tmp_path / "not-a-folder")
    with pytest.raises(Exception, match="cannot be written"):
        form.write_marks(submission(), path, known)
    assert [item.name for item in tmp_path.iterdir()] == ["not-a-folder"]


@pytest.mark.parametrize("form", WRITERS_OF_REFERENCES, ids=lambda form: form.name)
def test_a_reference_comes_back_as_it_was_written(form: Format, tmp_path: Path) -> None:
    before, path = reference(), target(form, tmp_path / "set")
    if form.suffixes[-1] == "/":
        path = tmp_path / "set"
    form.write_reference(before, path)
    after = read_reference(path, before.cases)
    assert after.cases["case_id"].to_list() == list(CASE_IDS)
    assert_same_places(before.nodules, after.nodules, form.precision_mm)
    diameters = [
        table.sort("case_id", maintain_order=True)["diameter_mm"].to_list()
        for table in (before.nodules, after.nodules)
    ]
    assert diameters[1] == pytest.approx(diameters[0], abs=1e-9)


@pytest.mark.parametrize("form", WRITERS_OF_REFERENCES, ids=lambda form: form.name)
def test_a_case_without_nodules_stays_in_the_test_set(form: Format, tmp_path: Path) -> None:
    path = tmp_path / "set" if form.suffixes[-1] == "/" else target(form, tmp_path)
    before = reference()
    form.write_reference(before, path)
    after = form.read_reference(path, None)
    assert after.cases["case_id"].to_list() == list(CASE_IDS)
    assert "d" not in after.nodules["case_id"].to_list()


@pytest.mark.parametrize("form", WRITERS_OF_REFERENCES, ids=lambda form: form.name)
def test_ignored_findings_stay_ignored_or_are_refused(form: Format, tmp_path: Path) -> None:
    path = tmp_path / "set" if form.suffixes[-1] == "/" else target(form, tmp_path)
    nodules = reference().nodules.with_columns(is_ignored=pl.int_range(pl.len()) % 3 == 0)
    before = replace(reference(), nodules=nodules)
    if form.name == "monai_json":
        with pytest.raises(Exception, match="10 ignored findings"):
            form.write_reference(before, path)
        return
    form.write_reference(before, path)
    assert form.read_reference(path, None).nodules["is_ignored"].sum() == 10


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_a_format_says_what_it_is(form: Format) -> None:
    assert form.meaning
    assert form.suffixes
    assert (form.read_marks is None) == (form.refuse_marks is None)
    assert (form.read_reference is None) == (form.refuse_reference is None)
