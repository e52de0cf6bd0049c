"""Submitted readings are read by other commands as they were drawn."""

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
from nodulebench.web.viewer.findings import Finding, measure_finding, propose_outlines
from nodulebench.web.viewer.session import ReadingSession, open_session

PLACE = (float(BALL_MM[0]), float(BALL_MM[1]), float(BALL_MM[2]))


def drafts_of(session: ReadingSession) -> Drafts:
    assert session.drafts is not None
    return session.drafts


def put(session: ReadingSession, case_id: str, name: str, finding: Finding) -> None:
    number = sum(drafts_of(session).of(case_id).seen.values()) + 1
    edit = Edit(client="tab", number=number, finding_id=name, finding=finding)
    drafts_of(session).edit(case_id, edit)


def test_submitted_findings_are_read_back_unchanged(tmp_path: Path) -> None:
    with open_session(write_scans(tmp_path / "scans", "a", "b", "c"), "anna") as session:
        tiles = session.tiles(0, waits_s=30)
        assert tiles is not None
        nodule = Finding(
            position_mm=PLACE,
            slices=propose_outlines(tiles, PLACE, 0),
            type="part_solid",
            density="part_solid",
            malignancy=4,
            subtlety=2,
            is_near_vessel=True,
            comment='with "quotes", and more',
        )
        put(session, "a", "n1", nodule)
        put(session, "a", "p1", Finding(position_mm=PLACE, kind="small_nodule"))
        put(session, "c", "n1", nodule)
        drafts_of(session).submit("a")
        drafts_of(session).submit("b")
        write_readings(session, drafts_of(session))
        sizes = measure_finding(nodule, tiles)
    folder = tmp_path / "scans-reading"
    cases = read_cases(folder / "cases.csv")
    assert cases["case_id"].to_list() == ["a", "b"]  # c was not submitted
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
    findings = readings.findings.sort("finding_id")
    assert findings["kind"].to_list() == ["nodule", "small_nodule"]
    assert findings["malignancy_rating"].to_list() == [4, None]
    assert findings["comment"].to_list() == ['with "quotes", and more', None]
    assert findings["is_near_vessel"].to_list() == [True, None]
    assert readings.sessions.rows()[0][:2] == ("a", "anna")
    assert readings.slices.filter(pl.col("case_id") == "a").height == len(nodule.slices)


def test_an_empty_reading_is_a_reading(tmp_path: Path) -> None:
    with open_session(write_scans(tmp_path / "scans", "a"), "anna") as session:
        drafts_of(session).submit("a")
        write_readings(session, drafts_of(session))
    readings = read_findings(tmp_path / "scans-reading" / "readings")
    assert readings.sessions["case_id"].to_list() == ["a"]
    assert readings.findings.height == 0
