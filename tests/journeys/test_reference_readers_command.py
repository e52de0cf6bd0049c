"""Readers scored against each other, by the command only."""

from pathlib import Path

import polars as pl
import pytest

from builders.readings import point, read, readings
from nodulebench.cli import main
from nodulebench.io.readings import write_findings

FOUR = ("1", "2", "3", "4")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def test_each_reader_is_scored_against_the_others(tmp_path: Path, capsys) -> None:
    def spot(reader: str, x: float):
        return point(reader, x, 0.0, 0.0, "nodule", diameter_mm=6.0)

    drawn = readings(
        read(
            "a",
            *(spot(reader, 0) for reader in FOUR),
            *(spot(reader, 50) for reader in "124"),
            spot("3", 90),
            point("3", 50.0, 2.0, 0.0, "non_nodule"),
            readers=FOUR,
        )
    )
    write_findings(drawn, tmp_path / "findings")
    out = tmp_path / "readers.csv"
    assert run("reference", "readers", tmp_path / "findings", "--out", out) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["1", "1", "2", "2", "1.000", "0.000"]
    assert lines[3].split() == ["3", "1", "2", "1", "0.500", "1.000"]
    assert lines[5:] == [
        "outlined by 1: 3 other readers marked none",
        "outlined by 3: 1 other reader marked non_nodule",
        f"wrote {out}",
    ]
    assert pl.read_csv(out)["found"].to_list() == [2, 2, 1, 2]
    assert run("reference", "readers", tmp_path / "findings", "--minimum-agreement", 3) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[2] == "1"
