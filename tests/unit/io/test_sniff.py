"""A file is recognised by what is in it; where nothing fits, every format says why."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from builders.outside import bring
from builders.words import sentences
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.core.tables import MARKS, Submission
from nodulebench.io.formats import FORMATS, Format, fitting, read_reference, read_submission
from nodulebench.io.manifests import file_digest


def written(folder: Path, content: bytes | str | object, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


LUNA16 = "seriesuid,coordX,coordY,coordZ,probability\n"
NIFDC = "case_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,nodule_id\n"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (LUNA16, "luna16_csv"),
        (NIFDC, "nifdc_csv"),
        ({"type": "Multiple points", "points": []}, "grand_challenge_json"),
        ([{"case_id": "a", "type": "Multiple 2D bounding boxes"}], "grand_challenge_json"),
        ([{"image": "a.nii.gz", "box": [], "label": [], "score": []}], "monai_json"),
        ({"validation": []}, "monai_json"),
        ({"images": [], "annotations": []}, "coco3d_json"),
    ],
)
def test_marks_are_recognised_whatever_the_file_is_called(
    tmp_path: Path, content: object, name: str
) -> None:
    assert fitting(written(tmp_path, content, "results.txt"), "marks").name == name


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (("seriesuids.csv", "annotations.csv.gz"), "luna16_csv"),
        (("cases.csv", "nodules.csv"), "nifdc_csv"),
        (("cases.parquet", "nodules.parquet", "manifest.json"), "bundle"),
    ],
)
def test_folders_of_references_are_recognised(
    tmp_path: Path, files: tuple[str, ...], name: str
) -> None:
    for file in files:
        written(tmp_path, "", file)
    assert fitting(tmp_path, "reference").name == name


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"marks.parquet": b"PAR1"}, "submission_folder"),
        ({"a_boxes.pkl": b"\x80"}, "nndetection"),
        ({"a.json": {"type": "Multiple points", "points": []}}, "grand_challenge_json"),
        ({"a/out.json": {"type": "Multiple points", "points": []}}, "grand_challenge_json"),
    ],
)
def test_folders_of_marks_are_recognised(tmp_path: Path, files: dict, name: str) -> None:
    for file, content in files.items():
        written(tmp_path, content, file)
    assert fitting(tmp_path, "marks").name == name


def test_a_file_that_is_no_table_is_not_quoted(tmp_path: Path) -> None:
    path = written(tmp_path, "root:$y$j9T$secret:19000\n", "shadow")
    with pytest.raises(InputError, match="is not in a known format of marks") as caught:
        read_submission(path)
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="column 'scan' is missing") as caught:
        read_submission(path, columns={"case": "scan", "x": "x", "y": "y", "z": "z"})
    assert "secret" not in str(caught.value)


def test_where_nothing_fits_the_nearest_formats_say_why(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,2\n", "x.csv")
    with pytest.raises(InputError) as caught:
        read_submission(path)
    assert str(caught.value) == (
        f"{path}: is not in a known format of marks. The nearest is luna16_csv: no column "
        "'seriesuid', 'coordX', 'coordY', 'coordZ', 'probability'. Next: nifdc_csv: no column "
        "'case_id', 'center_x_mm', 'center_y_mm', 'length_mm', 'width_mm'. Found: a, b. If its "
        "positions are in mm and LPS, name the columns: --columns case=...,x=...,y=...,z=...,"
        "score=.... All formats: nodulebench formats."
    )
    with pytest.raises(
        InputError,
        match=r"is not in a known format of a reference\. The nearest is luna16_csv: no",
    ):
        read_reference(tmp_path)


@pytest.mark.parametrize(
    ("header", "nearest"),
    [
        ("case_id,center_x_mm,center_y_mm,length_mm,z_mm", "nifdc_csv: no column 'width_mm'"),
        ("seriesuid,coordX,coordY,coordZ,score", "luna16_csv: no column 'probability'"),
    ],
)
def test_the_nearest_format_is_named_first(tmp_path: Path, header: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"The nearest is {nearest}"):
        read_submission(written(tmp_path, header + "\n", "x.csv"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x00\x01", "is a binary file"),
        (b"{]", "is not valid JSON"),
        (b"PAR1....", "is not in a known format of marks"),
        (b"\x80\x04.", "is not in a known format of marks"),
        ("no json", "x.json: is not JSON: it starts with neither"),
        ([1, 2], "monai_json: no 'image' and 'box' of a case"),
        ([], "grand_challenge_json: type is not Multiple points"),
        ([[[]]], "is not in a known format of marks"),
        ({"validation": 5}, "is no format|not a list"),
        ({"type": 5}, "grand_challenge_json: type is not"),
        ({"type": ["Multiple points"]}, "grand_challenge_json: type is not"),
    ],
)
def test_hostile_files_get_an_answer(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_submission(written(tmp_path, content, "x.json"))


def test_a_path_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"nothing\.csv: cannot be read: No such file or directory"
    ):
        read_submission(tmp_path / "nothing.csv")


def test_an_empty_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="grand_challenge_json: no JSON file"):
        read_submission(tmp_path)


def test_an_unknown_format_suggests_near_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no format 'luna_csv'\. Did you mean 'luna16_csv'"):
        read_submission(tmp_path, format_name="luna_csv")


def test_a_format_that_has_no_marks_names_those_that_have(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"format 'bundle': cannot be read as marks\. These can: luna"
    ):
        read_submission(tmp_path, format_name="bundle")
    with pytest.raises(
        InputError, match=r"'nndetection': cannot be read as a reference\. These can"
    ):
        read_reference(tmp_path, format_name="nndetection")


def test_marks_outside_their_image_are_noticed(tmp_path: Path, cases: pl.DataFrame) -> None:
    # case a reaches from -50.5 to 49.5 in x and y, and from -101 to 99 in z
    inside = read_submission(written(tmp_path, LUNA16 + "a,0,0,0,1\n", "x.csv"), cases)
    assert inside.notices == ()
    path = written(tmp_path, LUNA16 + "a,0,0,0,1\na,0,0,120,1\nz,0,0,999,1\n", "x.csv")
    assert sentences(read_submission(path, cases).notices) == (
        "1 of 2 positions is outside the image of its case.",
    )


def test_mirrored_marks_are_noticed(tmp_path: Path, cases: pl.DataFrame) -> None:
    shifted = cases.with_columns(origin_x_mm=pl.lit(50.0), origin_y_mm=pl.lit(50.0))
    path = written(tmp_path, LUNA16 + "a,-90,-90,0,1\na,-80,-120,0,1\n", "x.csv")
    assert sentences(read_submission(path, shifted).notices) == (
        "2 of 2 positions are outside the image of their case. With x and y mirrored it would be "
        "0. If the coordinates are RAS, convert them to LPS.",
    )


def test_cases_may_be_given_as_a_file(tmp_path: Path) -> None:
    listed = written(tmp_path, "case_id,patient_id\na,p\nb,q\n", "list.csv")
    path = written(tmp_path, NIFDC + "a,1,1,1,1,1,1,n\n", "truth.csv")
    assert read_reference(path, listed).cases["patient_id"].to_list() == ["p", "q"]


def test_importing_formats_loads_nothing_heavy() -> None:
    code = (
        "import sys, nodulebench.io.formats as f; list(f.FORMATS.values());"
        "print([name for name in ('scipy', 'openpyxl', 'pydantic', 'pydicom', 'pandas')"
        " if name in sys.modules])"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.strip() == "[]"


def test_every_format_is_listed_by_its_own_name() -> None:
    assert [form.name for form in FORMATS.values()] == list(FORMATS)


@pytest.mark.parametrize("content", [b"\x00\x01MARKS", b"{MARKS", b"a;b\n1;2\n"])
def test_a_format_of_another_package_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = written(tmp_path, content, "x.own")
    empty = Submission("x", MARKS.empty())
    own = Format(
        name="own",
        meaning="What another package reads",
        suffixes=(".own",),
        refuse_marks=lambda seen: "" if seen.path.read_bytes() == content else "other bytes",
        read_marks=lambda _path, _cases: empty,
    )
    bring(monkeypatch, FORMATS, {"own": None})
    monkeypatch.setitem(FORMATS._loaded, "own", own)
    assert fitting(path, "marks") is own
    assert read_submission(path).marks.height == 0
    path.write_bytes(b"\x00something else")
    with pytest.raises(InputError, match="is a binary file"):
        fitting(path, "marks")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were opened, in order."""
    names: list[str] = []
    plain = Path.open

    def opening(path: Path, *how: object, **more: object) -> object:
        names.append(path.name)
        return plain(path, *how, **more)

    monkeypatch.setattr(Path, "open", opening)
    return names


def test_each_file_of_marks_and_of_the_reference_is_opened_once(
    tmp_path: Path, opened: list[str]
) -> None:
    (tmp_path / "seriesuids.csv").write_text("a\n")
    findings = "seriesuid,coordX,coordY,coordZ,diameter_mm\na,1,2,3,5\n"
    for name in ("annotations.csv", "annotations_excluded.csv"):
        (tmp_path / name).write_text(findings)
    (tmp_path / "marks.csv").write_text(LUNA16 + "a,1,2,3,0.5\n")
    opened.clear()
    reference = read_reference(tmp_path)
    assert sorted(opened) == ["annotations.csv", "annotations_excluded.csv", "seriesuids.csv"]
    opened.clear()
    assert read_submission(tmp_path / "marks.csv", reference.cases).digest.startswith("sha256:")
    assert opened == ["marks.csv"]


@pytest.mark.parametrize("header", [LUNA16, "case_id,x_mm,y_mm,z_mm,score,mark_id\n"])
def test_each_file_of_a_submission_folder_is_opened_once(
    tmp_path: Path, opened: list[str], header: str
) -> None:
    row = "a,1,2,3,0.5,1" if "mark_id" in header else "a,1,2,3,0.5"
    (tmp_path / "marks.csv").write_text(f"{header}{row}\n")
    (tmp_path / "runs.csv").write_text("case_id,state,seconds\na,ok,1\n")
    opened.clear()
    submission = read_submission(tmp_path)
    assert sorted(opened) == ["marks.csv", "runs.csv"]
    assert submission.digest == file_digest(tmp_path)
