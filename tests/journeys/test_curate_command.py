import json
from dataclasses import replace

import polars as pl
import pytest

from nodulebench.cli import main
from nodulebench.io.dicom.volumes import write_volume
from nodulebench.phantom.test_set import make_cases


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """One phantom whose matrix is below the default limit, and a text file."""
    folder = tmp_path_factory.mktemp("archive")
    (case,) = make_cases(1, 8, matrix=96)
    write_volume(case.scan.volume, folder / "nested" / "scan", case.header)
    (folder / "notes.txt").write_text("for the archive")
    return folder


def test_curate_writes_cases_and_reports_exclusions(archive, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("curate", archive, "--out", out) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[:3] == [
        "1 series found, 0 admitted",
        "  small_matrix                1",
        "0 unreadable files, 1 of other kinds",
    ]
    assert "examining series: 1 of 1" in captured.err
    assert f"wrote {out / 'curation.html'}" in captured.out

    design = tmp_path / "design.toml"
    design.write_text("[limits]\nsmallest_matrix = 96\n")
    assert run("curate", archive, "--design", design, "--out", out) == 0
    assert capsys.readouterr().out.startswith("1 series found, 1 admitted\n")
    assert pl.read_parquet(out / "cases.parquet").height == 1

    # the list that one set writes keeps its scans out of another
    other = tmp_path / "other"
    command = ("curate", archive, "--design", design, "--against", out / "fingerprints.csv")
    assert run(*command, "--out", other, "--language", "zh") == 0
    assert "DICOM 序列筛选" in (other / "curation.html").read_text()
    summary = json.loads((other / "curation.json").read_text())
    assert summary["excluded"] == {"listed_uid": 1}
    reasons = pl.read_csv(other / "exclusions.csv")["code"].to_list()
    assert reasons == ["listed_uid", "listed_pixels", "other_file"]


def test_scans_are_selected_as_luna16_did(archive, tmp_path, capsys):
    assert run("curate", archive, "--design", "luna16", "--out", tmp_path / "thin") == 0
    assert capsys.readouterr().out.startswith("1 series found, 1 admitted\n")
    thick = tmp_path / "thick"
    (case,) = make_cases(1, 8, matrix=96)
    write_volume(case.scan.volume, thick, replace(case.header, slice_thickness_mm=3.0))
    assert run("curate", thick, "--design", "luna16", "--out", tmp_path / "none") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["1 series found, 0 admitted", "  thick_slices                1"]


def test_a_wrong_folder_or_limit_prints_one_clear_line(tmp_path, capsys):
    assert run("curate", tmp_path / "nothing", "--out", tmp_path / "out") == 1
    assert "nothing: is not a folder. Give a folder of DICOM files." in capsys.readouterr().err
    design = tmp_path / "design.toml"
    design.write_text("[limits]\nsmallest_matrx = 96\n")
    assert run("curate", tmp_path, "--design", design, "--out", tmp_path / "out") == 1
    assert (
        "design.toml field 'limits.smallest_matrx': is unknown. Did you mean 'smallest_matrix'?"
        in capsys.readouterr().err
    )
