from pathlib import Path

import polars as pl
import pytest

from builders.annotation import drawn, reading, small_cases
from nodulebench.annotation.readings import DrawnFinding, findings_of
from nodulebench.core.errors import InputError
from nodulebench.imaging.outlines import read_outline
from nodulebench.io.readings import read_findings, write_findings
from nodulebench.reference.build import build_reference
from nodulebench.reference.panel import measure_findings

CASES = small_cases("a", "b")
BOX = drawn("f", (3, 50, 50, 8), (4, 50, 50, 10), type="solid")


def outlined(name: str, contour: str) -> DrawnFinding:
    (box,) = drawn(name, (3, 48.5, 48.5, 4)).slices
    outline = tuple(map(tuple, read_outline(contour, "here").tolist()))
    return DrawnFinding(finding_id=name, slices=(box.model_copy(update={"outline": outline}),))


def test_everyone_who_read_has_a_session_and_findings_are_named_after_them() -> None:
    tables = findings_of(
        "panel",
        CASES,
        [reading("r2", "a", BOX), reading("r1", "b"), reading("r1", "a", BOX)],
    )
    assert tables.sessions.select("case_id", "reader_id").rows() == [
        ("a", "r1"),
        ("a", "r2"),
        ("b", "r1"),
    ]
    columns = ["case_id", "finding_id", "reader_id", "kind", "type", "source_id"]
    assert tables.findings.select(columns).rows() == [
        ("a", "r1:f", "r1", "nodule", "solid", "f"),
        ("a", "r2:f", "r2", "nodule", "solid", "f"),
    ]
    assert tables.reader_ids == ["r1", "r2"]


def test_boxes_keep_their_diameter_and_are_outlines_of_four_corners() -> None:
    tables = findings_of("panel", CASES, [reading("r1", "a", BOX)])
    assert tables.findings["diameter_mm"].to_list() == [10.0]
    assert tables.slices.row(0, named=True) == {
        "case_id": "a",
        "finding_id": "r1:f",
        "slice_index": 3,
        "outline_index": 0,
        "z_mm": None,
        "is_hole": False,
        "convention": "box",
        "contour": "46.0 46.0;54.0 46.0;54.0 54.0;46.0 54.0",
    }


def test_an_outline_is_stored_and_measured_later() -> None:
    square = "46.5 46.5;50.5 46.5;50.5 50.5;46.5 50.5"
    tables = findings_of("panel", CASES, [reading("r1", "a", outlined("f", square))])
    assert tables.findings["diameter_mm"].to_list() == [None]
    assert tables.slices["contour"].to_list() == [square]
    panel = measure_findings(tables, size="area_equivalent")
    assert panel.xyz_mm.tolist() == [[48.5, 48.5, 3.0]]
    assert panel.diameter_mm[0] == pytest.approx((4 * 16 / 3.141592653589793) ** 0.5)


def test_rules_hear_the_readers_and_files_keep_them(tmp_path: Path) -> None:
    lone = drawn("g", (9, 20, 20, 6))
    tables = findings_of(
        "panel",
        CASES,
        [reading("r1", "a", BOX, lone), reading("r2", "a", BOX), reading("r3", "a", BOX)],
    )
    write_findings(tables, tmp_path / "written")
    again = read_findings(tmp_path / "written")
    assert again.findings.equals(tables.findings)
    nodules = build_reference(again, "majority").nodules
    assert nodules.select("agreement", "is_ignored", "type").rows() == [
        (3, False, "solid"),
        (1, True, None),
    ]


def test_a_reference_says_that_diameters_are_the_readers_own() -> None:
    square = "46.5 46.5;50.5 46.5;50.5 50.5;46.5 50.5"
    boxes = [reading(name, "a", drawn("f", (3, 48.5, 48.5, 4))) for name in ("r1", "r2")]
    mixed = [*boxes, reading("r3", "a", outlined("f", square))]
    types = {
        len(drawn_by): build_reference(findings_of("panel", CASES, drawn_by)).nodules[
            "size_definition"
        ][0]
        for drawn_by in (boxes, mixed, mixed[2:])
    }
    assert types == {
        2: "recursive mean of readers' diameters",
        3: "recursive mean of volume_equivalent and readers' diameters",
        1: "recursive mean of volume_equivalent",
    }


def test_cases_that_are_not_listed_are_left_out_and_repeats_refused() -> None:
    tables = findings_of("panel", CASES.head(1), [reading("r1", "b", BOX), reading("r1", "a")])
    assert (tables.sessions.height, tables.findings.height) == (1, 0)
    with pytest.raises(InputError, match="case_id 'a', reader_id 'r1' was given before"):
        findings_of("panel", CASES, [reading("r1", "a"), reading("r1", "a", BOX)])


def test_no_readings_make_empty_tables() -> None:
    tables = findings_of("panel", CASES, [])
    assert tables.findings.height == tables.slices.height == tables.sessions.height == 0
    assert tables.findings.schema["diameter_mm"] == pl.Float64
