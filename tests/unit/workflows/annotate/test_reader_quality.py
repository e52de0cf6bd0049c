from pathlib import Path

import pytest

from builders.annotation import small_cases, two_teams
from builders.tables import Slice, case, mark, submission
from nodulebench.annotate.process.rules import NIFDC
from nodulebench.formats.marks.nifdc_csv import write_marks
from nodulebench.storage.json_text import write_json
from nodulebench.workflows.annotate.desk import (
    CASES,
    PROJECT,
    Project,
    hand_in,
    open_project,
)
from nodulebench.workflows.annotate.reader_quality import reader_quality
from nodulebench.workflows.annotate.reviewer_draw import open_batch

BOX = Slice(3, 50, 50, 8, 8)


@pytest.fixture
def desk(tmp_path: Path):
    """Four cases and a repeat of the first, read by a team of three."""
    small_cases("a", "b", "c", "d", "case-x").write_csv(tmp_path / CASES)
    project = Project(roster=two_teams(), rules=NIFDC, repeats={"case-x": "a"})
    write_json(project.model_dump(mode="json"), tmp_path / PROJECT)
    desk = open_project(tmp_path)
    cases = ("a", "b", "c", "d", "case-x")
    open_batch(desk, "office", "b1", "one", cases, reviewer_id="lead2")
    found = {"r1": "abcdx", "r2": "abcd", "r3": "ab"}
    for reader, names in found.items():
        cases = [
            case("case-x" if name == "x" else name, mark(None, (50, 50, 3), BOX)) for name in names
        ]
        write_marks(submission(*cases), tmp_path / f"{reader}.csv")
        hand_in(desk, "b1", reader, tmp_path / f"{reader}.csv")
    return desk


def test_a_project_tells_how_its_readers_agree(desk) -> None:
    found = reader_quality(desk, periods=2)
    assert found["cases"] == 4
    assert found["group"]["by_readers"] == (0, 2, 2)
    assert [one["agreement"] for one in found["pairs"]] == [1.0, 2 / 3, 2 / 3]
    third = found["readers"][2]
    assert (third["backed"], third["found"], third["sensitivity"]) == (4, 2, 0.5)
    assert third["drift"]["found"] == (2, 0)
    assert third["drift"]["z"] == pytest.approx(-2.0)  # 2 of 2, then 0 of 2
    assert found["readers"][0]["drift"]["value"] is None


def test_readers_are_compared_with_themselves_on_repeated_cases(desk) -> None:
    repeats = {one["first"]: one["agreement"] for one in reader_quality(desk)["repeats"]}
    assert repeats == {"r1": 1.0, "r2": 0.0, "r3": 0.0}
