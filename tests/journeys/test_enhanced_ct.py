"""An enhanced multi-frame CT passes every command: curation, detection and evaluation."""

from pathlib import Path

import polars as pl
import pytest

from builders.dicom import as_enhanced
from nodulebench.cli import main
from nodulebench.core.tables import NODULES, Reference, without_images
from nodulebench.custody import bundle
from nodulebench.io.dicom.volumes import write_volume
from nodulebench.io.formats import read_cases, read_submission
from nodulebench.io.manifests import table_digest
from nodulebench.phantom.patient import NodulePlan
from nodulebench.phantom.test_set import make_case

pytest.importorskip("pydicom")
GEOMETRY = [
    *(f"size_{axis}" for axis in "xyz"),
    *(f"spacing_{axis}_mm" for axis in "xyz"),
    *(f"origin_{axis}_mm" for axis in "xyz"),
    "direction",
]


def run(*arguments: object) -> object:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


def test_an_enhanced_ct_is_curated_searched_evaluated_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = make_case(1, 8, matrix=96, plans=(NodulePlan("solid"),))
    uid = case.header.series_uid
    write_volume(case.scan.volume, tmp_path / "files", case.header)
    count = case.scan.volume.shape[0]
    folder = as_enhanced(tmp_path / "files", tmp_path / "archive" / uid, range(count)[::-1])

    design = tmp_path / "design.toml"
    design.write_text("[limits]\nsmallest_matrix = 96\n")
    out = tmp_path / "curated"
    assert run("curate", tmp_path / "archive", "--design", design, "--out", out) == 0
    assert capsys.readouterr().out.startswith("1 series found, 1 admitted\n")

    curated = pl.read_parquet(out / "cases.parquet")
    read = without_images(read_cases(tmp_path / "archive"))
    assert curated["case_id"].to_list() == read["case_id"].to_list() == [uid]
    assert table_digest(curated.select(GEOMETRY)) == table_digest(read.select(GEOMETRY))
    assert read.row(0) == without_images(read_cases(tmp_path / "files")).row(0)

    marks = tmp_path / "marks"
    assert run("detect", "isicad", folder / "enhanced.dcm", "--out", marks, "--max-marks", 20) == 0
    single = tmp_path / "single"
    assert run("detect", "isicad", tmp_path / "files", "--out", single, "--max-marks", 20) == 0
    assert read_submission(marks).marks.equals(read_submission(single).marks)

    marks_read = read_submission(marks).marks
    best = marks_read.sort("score", descending=True).head(1)
    truth = best.select(
        "case_id", "x_mm", "y_mm", "z_mm", nodule_id=pl.lit("1"), diameter_mm=pl.lit(30.0)
    )
    table = NODULES.conform(truth.with_columns(is_ignored=pl.lit(False)), "nodules")
    bundle.write_reference(Reference("set", read, table), tmp_path / "set")
    result = tmp_path / "result"
    options = ("--reference", tmp_path / "set", "--cases", tmp_path / "archive", "--out", result)
    assert run("evaluate", marks, *options, "--bootstraps", 5) == 0
    assert "1 hit, 0 missed" in capsys.readouterr().out
    assert run("report", result, "--images", tmp_path / "archive") == 0
    assert "data:image/png;base64," in (result / "report.html").read_text(encoding="utf-8")
