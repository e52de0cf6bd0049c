"""Readers' files -> how far they agree -> the report that shows it, by commands only."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.tables import Slice, case, mark, submission
from nodulebench.cli import main
from nodulebench.io.marks.nifdc import write_marks
from nodulebench.statistics.agreement import bland_altman, intraclass_correlation

SIZES = {
    "ann": (6.0, 8.0, 10.0, 12.0, 5.0),
    "ben": (6.5, 8.2, 9.6, 12.9, 5.0),
    "cem": (6.2, 7.4, 10.8, 12.4, 5.6),
}
TYPES = {
    "ann": ("solid", "calcified", "solid", "pleural", "solid"),
    "ben": ("solid", "calcified", "solid", "pleural", "calcified"),
    "cem": ("solid", "calcified", "pleural", "pleural", "solid"),
}


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    written = []
    for reader, sizes in SIZES.items():
        marks = [
            mark(None, (20.0 + 30 * n, 50.0, 5.0 * n), Slice(5 * n, 20 + 30 * n, 50, size, size))
            for n, size in enumerate(sizes)
        ]
        table = submission(case("a", *marks))
        kinds = pl.Series("type", TYPES[reader])
        path = tmp_path / f"{reader}.csv"
        write_marks(replace(table, marks=table.marks.with_columns(kinds)), path)
        written.append(path)
    return written


def test_agreement_is_printed_written_and_shown_in_the_report(
    files: list[Path], tmp_path: Path, capsys
) -> None:
    out = tmp_path / "agreement"
    assert run("annotate", "quality", *files, "--out", out) == 0
    output = capsys.readouterr().out
    assert "drawn: ann, ben: 1.000; positive agreement" in output
    assert "type: ann, ben: 0.688 (" in output  # by hand: (0.8 - 0.36) / (1 - 0.36)
    assert "type: 3 readers, Fleiss: " in output
    assert "diameter: 3 readers: 0." in output
    rows = {row["name"]: row for row in json.loads((out / "agreement.json").read_text())}
    sizes = np.array(list(SIZES.values())).T
    icc = intraclass_correlation(sizes)
    row = rows["diameter: 3 readers"]
    assert (row["value"], row["low"], row["high"]) == (icc.value, icc.low, icc.high)
    assert rows["type: ann, ben"]["value"] == pytest.approx((0.8 - 0.36) / (1 - 0.36))
    limits = pl.read_csv(out / "limits_of_agreement.csv")
    assert limits.columns[:5] == ["first", "second", "nodules", "sd_mm", "bias_mm"]
    assert limits["bias_mm"][0] == pytest.approx(bland_altman(sizes[:, 0], sizes[:, 1]).bias.value)
    evaluated(tmp_path)
    agreement = ("--agreement", out / "agreement.json")
    assert run("report", tmp_path / "result", *agreement) == 0
    assert "type: ann, ben" in (tmp_path / "result" / "report.html").read_text(encoding="utf-8")


def test_an_undefined_metric_has_a_reason(files: list[Path], tmp_path: Path, capsys) -> None:
    table = pl.read_csv(files[0])
    for name in ("one.csv", "two.csv"):
        table.head(1).write_csv(tmp_path / name)
    out = tmp_path / "agreement"
    pair = (tmp_path / "one.csv", tmp_path / "two.csv")
    assert run("annotate", "quality", *pair, "--out", out) == 0
    output = capsys.readouterr().out
    assert "type: one, two: both readers used only one class" in output
    assert "diameter: one, two: concordance needs three pairs" in output
    assert "limits" not in output.replace("limits_of_agreement", "")
    assert pl.read_csv(out / "limits_of_agreement.csv")["bias_mm"].null_count() == 1


def evaluated(folder: Path) -> None:
    """A small evaluation whose report can be written again."""
    reference, marks = folder / "luna16", folder / "detector.csv"
    reference.mkdir()
    (reference / "seriesuids.csv").write_text("a\nb\n")
    head = "seriesuid,coordX,coordY,coordZ"
    (reference / "annotations.csv").write_text(f"{head},diameter_mm\na,0,0,0,8\n")
    (reference / "annotations_excluded.csv").write_text(f"{head},diameter_mm\n")
    marks.write_text(f"{head},probability\na,0,0,0,0.9\nb,5,5,5,0.5\n")
    given = ("--reference", reference, "--bootstraps", 0, "--out", folder / "result")
    assert run("evaluate", marks, *given) == 0
