from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.jafroc import wafroc_of_workbook
from builders.made_up import Skill, made_up_reference, made_up_submission
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.evaluation.convert import ConvertOptions, convert
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import write_evaluation
from nodulebench.io.formats import read_reference, read_submission

NIFDC = (
    "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,"
    "long_mm,short_mm,type,density,malignancy,score,contour\n"
)
MARKS = NIFDC + (
    "a,m1,10,-80,5,5,6,6,6,5,solid,,,0.5,0 0;1 0;1 1\n"
    "a,m1,11,-78,5,5,8,8,8,8,solid,,,0.7,\n"
    "b,m2,3,-94,1,1,4,4,,,,,,0.9,\n"
)
CASES = (
    "case_id,size_x,size_y,size_z,spacing_x_mm,spacing_y_mm,spacing_z_mm,origin_x_mm,origin_y_mm,"
    "origin_z_mm\na,100,100,100,1,1,2,-50,-50,-100\nb,100,100,100,1,1,2,-50,-50,-100\n"
)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_boxes_converted_to_points_lose_their_slices(tmp_path: Path) -> None:
    done = convert(
        ConvertOptions(
            source=written(tmp_path / "x.csv", MARKS),
            target=tmp_path / "y.csv",
            from_format="nifdc_csv",
            to_format="luna16_csv",
        )
    )
    assert (tmp_path / "y.csv").read_text() == (
        "seriesuid,coordX,coordY,coordZ,probability,diameter_mm\n"
        "a,5.0,5.0,-79.0,0.7,8.0\nb,1.0,1.0,-94.0,0.9,4.0\n"
    )
    assert (done.what, done.from_format, done.to_format) == ("marks", "nifdc_csv", "luna16_csv")
    assert (done.cases, done.items) == (2, 2)
    assert sentences(done.losses) == (
        "slices: all 3 rows are lost.",
        "marks: 1 of 1 values of long_mm are lost.",
        "marks: 1 of 1 values of short_mm are lost.",
        "marks: 1 of 1 values of type are lost.",
        "mark_id: the names are not included.",
    )


def test_a_conversion_without_loss_says_nothing(tmp_path: Path) -> None:
    source = written(tmp_path / "x.csv", MARKS)
    done = convert(
        ConvertOptions(source=source, target=tmp_path / "folder", to_format="submission_folder")
    )
    assert (done.from_format, done.losses) == ("nifdc_csv", ())
    assert read_submission(tmp_path / "folder").marks.equals(read_submission(source).marks)


def test_marks_have_scores_and_a_reference_has_none(tmp_path: Path) -> None:
    bare = MARKS.replace(",0.5,", ",,").replace(",0.7,", ",,").replace(",0.9,", ",,")
    source = written(tmp_path / "truth.csv", bare)
    done = convert(
        ConvertOptions(source=source, target=tmp_path / "luna16", to_format="luna16_csv")
    )
    assert done.what == "reference"
    assert read_reference(tmp_path / "luna16").nodules["diameter_mm"].to_list() == [8.0, 4.0]
    with pytest.raises(InputError, match="has 2 marks without a score"):
        convert(
            ConvertOptions(
                source=source, target=tmp_path / "y.csv", to_format="luna16_csv", what="marks"
            )
        )


def test_points_are_put_on_slices_where_the_geometry_is_known(tmp_path: Path) -> None:
    source = written(
        tmp_path / "x.csv", "seriesuid,coordX,coordY,coordZ,probability\na,1,2,-80.5,0.5\n"
    )
    done = convert(
        ConvertOptions(
            source=source,
            target=tmp_path / "y.csv",
            to_format="nifdc_csv",
            cases=written(tmp_path / "cases.csv", CASES),
        )
    )
    # the point moves to the plane of its slice
    assert sentences(done.losses) == ("z_mm: values changed by up to 0.5.",)


def test_a_bundle_becomes_a_luna16_folder(tmp_path: Path) -> None:
    source = written(
        tmp_path / "truth.csv", MARKS.replace("0.5", "").replace("0.7", "").replace("0.9", "")
    )
    convert(ConvertOptions(source=source, target=tmp_path / "bundle", to_format="bundle"))
    done = convert(
        ConvertOptions(
            source=tmp_path / "bundle", target=tmp_path / "luna16", to_format="luna16_csv"
        )
    )
    assert (done.what, done.from_format, done.cases, done.items) == ("reference", "bundle", 2, 2)
    assert "slices: all 3 rows are lost." in sentences(done.losses)


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    source = written(tmp_path / "x.csv", "seriesuid,coordX,coordY,coordZ,probability\na,1,2,3,1\n")
    with pytest.raises(
        InputError, match=r"x\.csv: cannot be converted to bundle: it holds nothing"
    ):
        convert(ConvertOptions(source=source, target=tmp_path / "y", to_format="bundle"))
    with pytest.raises(InputError, match=r"format 'bundle': cannot hold marks\. Choose another"):
        convert(
            ConvertOptions(source=source, target=tmp_path / "y", to_format="bundle", what="marks")
        )
    assert not (tmp_path / "y").exists()


def test_a_wrong_source_leaves_nothing_behind(tmp_path: Path) -> None:
    source = written(tmp_path / "x.csv", MARKS + "a,m3,1,left,1,1,1,1,,,,,,,\n")
    with pytest.raises(InputError, match=r"x\.csv line 5: z_mm 'left' is not a finite number"):
        convert(ConvertOptions(source=source, target=tmp_path / "y.csv", to_format="luna16_csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_a_reference_cannot_become_marks(tmp_path: Path) -> None:
    source = written(tmp_path / "truth.csv", MARKS)
    with pytest.raises(InputError, match=r"format 'nndetection': cannot hold a reference\. Choose"):
        convert(
            ConvertOptions(
                source=source, target=tmp_path / "y", to_format="nndetection", what="reference"
            )
        )


def test_a_workbook_of_a_result_gives_its_areas_with_its_weights(tmp_path: Path) -> None:
    truth = made_up_reference(20, 30, 3)
    weight = pl.int_range(pl.len()) % 4 + 1
    weighted = replace(truth, nodules=truth.nodules.with_columns(weight=weight.cast(pl.Float64)))
    skills = (Skill("one", 0.9, 0.5, 1.0, 2.0), Skill("two", 0.6, 1.5, 0.8, 3.0))
    protocol = TestProtocol(
        name="areas",
        rules=(RuleChoice(name="center_hit"), RuleChoice(name="center_distance")),
        metrics=("wafroc_area",),
        interval=IntervalChoice(bootstraps=0),
    )
    evaluation = evaluate(
        weighted, [made_up_submission(weighted, skill, 3) for skill in skills], protocol
    )
    write_evaluation(evaluation, tmp_path / "result")
    done = convert(
        ConvertOptions(
            source=tmp_path / "result",
            target=tmp_path / "x.xlsx",
            to_format="jafroc_xlsx",
            rule="center_distance",
        )
    )
    assert (done.what, done.cases, done.items) == ("result", 20, 30)
    for number, algorithm in enumerate(evaluation.algorithms, 1):
        own = algorithm.rules["center_distance"].metrics["wafroc_area"]
        area = wafroc_of_workbook(tmp_path / "x.xlsx", treatment=str(number))
        assert area == pytest.approx(own.value, abs=1e-12)


def test_a_workbook_needs_the_folder_of_an_evaluation(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the folder of an evaluation, which jafroc_xlsx"):
        convert(
            ConvertOptions(
                source=written(tmp_path / "x.csv", MARKS),
                target=tmp_path / "x.xlsx",
                to_format="jafroc_xlsx",
            )
        )
