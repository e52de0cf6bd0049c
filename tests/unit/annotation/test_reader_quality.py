from pathlib import Path

import pytest

from builders.annotation import drawn, reading, small_cases, two_teams
from builders.tables import Slice, case, mark, submission
from nodulebench.annotation.actions import NIFDC
from nodulebench.annotation.project import CASES, PROJECT, Project, open_project
from nodulebench.annotation.reader_quality import reader_quality
from nodulebench.annotation.reviewer_draw import open_batch
from nodulebench.annotation.steps import submit_case, submit_readings
from nodulebench.io.json_files import write_json
from nodulebench.io.marks.nifdc import write_marks

BOX = Slice(3, 50, 50, 8, 8)


@pytest.fixture
def handle(tmp_path: Path):
    """Four cases and a repeat of the first, read by a team of three."""
    small_cases("a", "b", "c", "d", "case-x").write_csv(tmp_path / CASES)
    project = Project(roster=two_teams(), rules=NIFDC, repeats={"case-x": "a"})
    write_json(project.model_dump(mode="json"), tmp_path / PROJECT)
    handle = open_project(tmp_path)
    cases = ("a", "b", "c", "d", "case-x")
    open_batch(handle, "office", "b1", "one", cases, reviewer_id="lead2")
    drawn_by = {"r1": "abcdx", "r2": "abcd", "r3": "ab"}
    for reader, names in drawn_by.items():
        cases = [
            case("case-x" if name == "x" else name, mark(None, (50, 50, 3), BOX)) for name in names
        ]
        write_marks(submission(*cases), tmp_path / f"{reader}.csv")
        submit_case(handle, "b1", reader, tmp_path / f"{reader}.csv")
    return handle


def test_a_project_tells_how_its_readers_agree(handle) -> None:
    quality = reader_quality(handle, periods=2)
    assert quality["cases"] == 4
    assert quality["group"]["by_readers"] == (0, 2, 2)
    assert [pair["agreement"] for pair in quality["pairs"]] == [1.0, 2 / 3, 2 / 3]
    third = quality["readers"][2]
    assert (third["backed"], third["found"], third["sensitivity"]) == (4, 2, 0.5)
    assert third["drift"]["found"] == (2, 0)
    assert third["drift"]["z"] == pytest.approx(-2.0)  # 2 of 2, then 0 of 2
    assert quality["readers"][0]["drift"]["value"] is None


def test_readers_are_compared_with_themselves_on_repeated_cases(handle) -> None:
    repeats = {repeat["first"]: repeat["agreement"] for repeat in reader_quality(handle)["repeats"]}
    assert repeats == {"r1": 1.0, "r2": 0.0, "r3": 0.0}


def test_a_reader_agrees_with_the_own_repeats_on_types_and_sizes(tmp_path: Path) -> None:
    """By hand: of four nodules three keep their type, and each is a millimetre larger again."""
    names = ("a", "b", "c", "d")
    repeats = {f"again-{name}": name for name in names}
    small_cases(*names, *repeats).write_csv(tmp_path / CASES)
    project = Project(roster=two_teams(), rules=NIFDC, repeats=repeats)
    write_json(project.model_dump(mode="json"), tmp_path / PROJECT)
    handle = open_project(tmp_path)
    every = (*names, *repeats)
    open_batch(handle, "office", "b1", "one", every, reviewer_id="lead2")
    types = {
        **dict(zip(names, ("solid", "solid", "part_solid", "part_solid"), strict=True)),
        **dict(zip(repeats, ("solid", "part_solid", "part_solid", "part_solid"), strict=True)),
    }
    sizes = {**dict(zip(names, (4, 6, 8, 10), strict=True))}
    sizes |= {again: sizes[name] + 1 for again, name in repeats.items()}
    for reader in ("r1", "r2", "r3"):
        drawn_cases = [
            reading(reader, pair, drawn("f", (3, 50, 50, sizes[pair]), type=types[pair]))
            if reader == "r1"
            else reading(reader, pair)
            for pair in every
        ]
        submit_readings(handle, "b1", reader, drawn_cases)
    ann, *others = reader_quality(handle)["repeats"]
    assert (ann["agreement"], ann["cases"], ann["least_between"]) == (1.0, 4, 3)
    metrics = {row["name"]: row["value"] for row in ann["metrics"]}
    # kappa: 3 of 4 agree, by chance (2 x 1 + 2 x 3) / 16 = 1/2
    assert metrics["type: r1, r1 again"] == pytest.approx(0.5)
    # Lin: means 7 and 8, variances and covariance of n 5, so 2 x 5 / (5 + 5 + 1)
    assert metrics["diameter: r1, r1 again"] == pytest.approx(10 / 11)
    (limits,) = ann["limits"]
    assert (limits["bias_mm"], limits["sd_mm"]) == (-1.0, 0.0)
    assert [(other["metrics"], other["limits"]) for other in others] == [([], []), ([], [])]
