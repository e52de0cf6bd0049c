"""What was handed in is read by everything else as it was drawn."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.reading import BALL_MM, RADIUS_MM, write_scans
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.readings import read_findings
from nodulebench.io.table_files import read_cases
from nodulebench.web.viewer.drafts import Drafts, Edit
from nodulebench.web.viewer.export import write_readings
from nodulebench.web.viewer.findings import Finding, measured, proposed
from nodulebench.web.viewer.session import ReadingSession, open_session

PLACE = (float(BALL_MM[0]), float(BALL_MM[1]), float(BALL_MM[2]))


def drafts_of(room: ReadingSession) -> Drafts:
    assert room.drafts is not None
    return room.drafts


def put(room: ReadingSession, case_id: str, name: str, finding: Finding) -> None:
    number = sum(drafts_of(room).of(case_id).seen.values()) + 1
    edit = Edit(client="tab", number=number, finding_id=name, finding=finding)
    drafts_of(room).edit(case_id, edit)


def test_outlines_sizes_and_words_come_back(tmp_path: Path) -> None:
    with open_session(write_scans(tmp_path / "scans", "a", "b", "c"), "anna") as room:
        tiles = room.tiles(0, waits_s=30)
        assert tiles is not None
        nodule = Finding(
            position_mm=PLACE,
            slices=proposed(tiles, PLACE, 0),
            type="part_solid",
            density="part_solid",
            malignancy=4,
            subtlety=2,
            is_near_vessel=True,
            comment='said "so", and more',
        )
        put(room, "a", "n1", nodule)
        put(room, "a", "p1", Finding(position_mm=PLACE, kind="small_nodule"))
        put(room, "c", "n1", nodule)
        drafts_of(room).hand_in("a")
        drafts_of(room).hand_in("b")
        write_readings(room, drafts_of(room))
        sizes = measured(nodule, tiles)
    folder = tmp_path / "scans-reading"
    cases = read_cases(folder / "cases.csv")
    assert cases["case_id"].to_list() == ["a", "b"]  # c was not handed in
    marks = read_submission(folder / "nodules.csv", cases=cases)
    assert marks.marks.select("case_id", "mark_id", "type").rows() == [("a", "n1", "part_solid")]
    assert marks.marks["long_mm"][0] == pytest.approx(sizes["long_mm"])
    assert marks.slices is not None
    assert marks.slices.height == len(nodule.slices)
    place = marks.marks.select("x_mm", "y_mm", "z_mm").to_numpy()[0]
    assert np.abs(place - BALL_MM).max() < 1.1
    assert marks.slices["long_mm"].max() == pytest.approx(2 * RADIUS_MM, abs=1.2)
    reference = read_reference(folder / "nodules.csv", cases=cases)
    assert reference.nodules.height == 1
    readings = read_findings(folder / "readings")
    said = readings.findings.sort("finding_id")
    assert said["kind"].to_list() == ["nodule", "small_nodule"]
    assert said["malignancy_rating"].to_list() == [4, None]
    assert said["comment"].to_list() == ['said "so", and more', None]
    assert said["is_near_vessel"].to_list() == [True, None]
    assert readings.sessions.rows()[0][:2] == ("a", "anna")
    assert readings.slices.filter(pl.col("case_id") == "a").height == len(nodule.slices)


def test_nothing_found_is_a_reading_too(tmp_path: Path) -> None:
    with open_session(write_scans(tmp_path / "scans", "a"), "anna") as room:
        drafts_of(room).hand_in("a")
        write_readings(room, drafts_of(room))
    readings = read_findings(tmp_path / "scans-reading" / "readings")
    assert readings.sessions["case_id"].to_list() == ["a"]
    assert readings.findings.height == 0
