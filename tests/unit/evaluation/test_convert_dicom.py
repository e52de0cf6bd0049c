"""Converting to and from DICOM: losses are reported, and paths of images are not stored."""

import json
from pathlib import Path

import polars as pl
import pytest

from builders.dicom import marks_on, write_series
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.evaluation.convert import ConvertOptions, convert
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files
from nodulebench.io.formats import FORMATS, read_cases, read_reference
from nodulebench.io.readings import read_readings
from nodulebench.reference.service import BuildReferenceOptions, build_reference_files

pytest.importorskip("highdicom")


@pytest.fixture
def masks(tmp_path: Path) -> Path:
    """Two nodules as a segmentation, next to the folder ``ct`` of their images."""
    write_series(tmp_path / "ct")
    cases = read_cases(tmp_path / "ct")
    marks = marks_on(cases)
    FORMATS["dicom_seg"].write_marks(marks, tmp_path / "masks", cases)
    return tmp_path / "masks"


def test_marks_lose_nothing_in_a_report(masks: Path, tmp_path: Path) -> None:
    done = convert(
        ConvertOptions(
            source=masks,
            target=tmp_path / "sr",
            to_format="dicom_sr",
            what="marks",
            cases=tmp_path / "ct",
        )
    )
    assert done.items == 3
    assert done.losses == ()
    back = convert(
        ConvertOptions(
            source=tmp_path / "sr",
            target=tmp_path / "x.csv",
            to_format="nifdc_csv",
            cases=tmp_path / "ct",
        )
    )
    # an NIFDC file has only the diameters of slices
    assert sentences(back.losses) == ("diameter_mm: values changed by up to 1.47.",)
    assert back.from_format == "dicom_sr"


def test_readings_go_from_one_kind_of_object_to_another(masks: Path, tmp_path: Path) -> None:
    ct = tmp_path / "ct"
    done = convert(
        ConvertOptions(
            source=masks, target=tmp_path / "sr", to_format="dicom_sr", what="readings", cases=ct
        )
    )
    assert (done.what, done.cases, done.items, done.losses) == ("readings", 1, 3, ())
    again = convert(
        ConvertOptions(
            source=tmp_path / "sr",
            target=tmp_path / "tables",
            to_format="findings_tables",
            what="readings",
            cases=ct,
        )
    )
    assert again.losses == ()
    held = read_readings(tmp_path / "tables")
    assert held.findings["finding_id"].to_list() == ["whole", "flat", "point"]
    assert held.slices.height == 5
    assert "images" not in held.cases.columns


def test_a_format_that_cannot_hold_readings_is_refused(masks: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        convert(
            ConvertOptions(
                source=masks,
                target=tmp_path / "x.csv",
                to_format="nifdc_csv",
                what="readings",
                cases=tmp_path / "ct",
            )
        )
    assert str(caught.value) == (
        "format 'nifdc_csv': cannot hold readings. Choose another to write."
    )


def test_a_bundle_does_not_keep_where_the_images_lay(masks: Path, tmp_path: Path) -> None:
    done = convert(
        ConvertOptions(
            source=masks,
            target=tmp_path / "set",
            to_format="bundle",
            what="reference",
            cases=tmp_path / "ct",
        )
    )
    assert done.items == 3
    held = read_reference(tmp_path / "set")
    assert "images" not in held.cases.columns
    assert held.cases["size_z"].to_list() == [12]
    build_reference_files(
        BuildReferenceOptions(
            source=masks, out=tmp_path / "built", rule="union", cases=tmp_path / "ct"
        )
    )
    assert "images" not in read_reference(tmp_path / "built").cases.columns


def test_an_evaluation_does_not_keep_where_the_images_lay(masks: Path, tmp_path: Path) -> None:
    ct = tmp_path / "ct"
    convert(
        ConvertOptions(
            source=masks, target=tmp_path / "sr", to_format="dicom_sr", what="marks", cases=ct
        )
    )
    evaluate_files(
        EvaluateOptions(
            marks=(tmp_path / "sr",),
            reference=masks,
            protocol="nifdc-2022",
            cases=ct,
            bootstraps=0,
            out=tmp_path / "out",
        )
    )
    document = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    (algorithm,) = document["algorithms"]
    assert algorithm["rules"]["center_hit"]["counts"]["hit"] == 3
    for table in (tmp_path / "out").rglob("cases.parquet"):
        assert "images" not in pl.read_parquet(table).columns
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert all(str(ct).encode() not in path.read_bytes() for path in files)
