"""Names that a spreadsheet would take for formulas, through the real commands."""

import csv
from pathlib import Path

import polars as pl
import pytest

from nodulebench.cli import main
from nodulebench.custody.bundle import image_problems
from nodulebench.custody.layout import IMAGE_LIST
from nodulebench.io.csv_files import write_csv
from nodulebench.io.manifests import PAYLOAD, file_digest

ATTACK = '=HYPERLINK("evil")'


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def cells(path: Path) -> set[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return {cell for row in csv.reader(file) for cell in row}


def test_a_result_has_no_formula_and_reads_back(tmp_path: Path) -> None:
    folder, out = tmp_path / "luna16", tmp_path / "out"
    folder.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (folder / "annotations.csv").write_text(columns + "@s1,-3,0,0,8\n-s2,0,0,0,5\n")
    (folder / "annotations_excluded.csv").write_text(columns)
    (folder / "seriesuids.csv").write_text("@s1\n-s2\n")
    marks = tmp_path / f"{ATTACK}.csv"
    header = "seriesuid,coordX,coordY,coordZ,probability\n"
    marks.write_text(header + "@s1,-3,0,0,0.9\n-s2,-90,0,0,0.4\n")
    assert run("evaluate", marks, "--reference", folder, "--bootstraps", 20, "--out", out) == 0
    assert run("report", out) == 0
    assert run("verify", out) == 0
    written = [*out.rglob("*.csv")]
    assert {"misses.csv", "false_positives.csv", "metrics.csv"} <= {path.name for path in written}
    every_cell = set().union(*map(cells, written))
    assert {f"'{ATTACK}", "'-s2", "-90.0"} <= every_cell
    for cell in every_cell:
        if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
            float(cell)
    assert ATTACK.replace('"', "&#34;") in (out / "report.html").read_text(encoding="utf-8")

    # what we write in the format of others reads back as what it was
    copy = tmp_path / "copy.csv"
    assert run("convert", marks, copy, "--to", "luna16_csv") == 0
    assert {"'@s1", "'-s2", "-90.0"} <= cells(copy)
    again = tmp_path / "again"
    assert run("evaluate", copy, "--reference", folder, "--bootstraps", 20, "--out", again) == 0
    first, second = ((folder / "misses.csv").read_text() for folder in (out, again))
    assert first.replace(ATTACK, "").count("-s2") == second.count("-s2") == 1


def test_images_are_found_under_the_names_that_a_bundle_lists(tmp_path: Path) -> None:
    images, payload = tmp_path / "images", tmp_path / "bundle" / PAYLOAD
    payload.mkdir(parents=True)
    (images / "-x").mkdir(parents=True)
    slice_file = images / "-x" / "1.dcm"
    slice_file.write_bytes(b"1")
    row = {"path": "-x/1.dcm", "digest": file_digest(slice_file)}
    write_csv(pl.DataFrame([row]), payload / IMAGE_LIST)
    assert "'-x/1.dcm" in cells(payload / IMAGE_LIST)
    assert image_problems(tmp_path / "bundle", images) == []
