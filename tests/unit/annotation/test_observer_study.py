"""Readers of an observer study classify blindly, each in a different order; no call is lost."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodulebench.annotation.observer_study import (
    SUSPECTS,
    OpenStudy,
    Study,
    begin_study,
    calls_table,
    export_places,
    import_calls,
    open_study,
    shuffled,
    status_of,
)
from nodulebench.core.errors import InputError

NAMES = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "7")]


def selected(folder: Path, names: list[tuple[str, str]] = NAMES) -> Path:
    """What ``select`` writes of some places."""
    folder.mkdir(exist_ok=True)
    rows = [(*name, 10.0 * at, 5.0, -3.0, 0.5) for at, name in enumerate(names)]
    columns = [column.name for column in SUSPECTS.columns]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(folder / "to_read.csv")
    return folder


@pytest.fixture
def study(tmp_path: Path) -> OpenStudy:
    return begin_study(selected(tmp_path / "study"), ["ann", "bo", "cy"], seed=7)


def test_every_reader_gets_every_place_in_a_different_order(study: OpenStudy) -> None:
    orders = [study.places(name) for name in study.study.reader_ids]
    assert all(sorted(order) == NAMES for order in orders)
    many = [("case", str(number)) for number in range(50)]
    ann, bo, other = (
        shuffled(Study(reader_ids=("ann", "bo"), seed=seed), name, many)
        for name, seed in (("ann", 7), ("bo", 7), ("ann", 8))
    )
    assert len({tuple(ann), tuple(bo), tuple(other), tuple(many)}) == 4


@given(st.sets(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=20), st.integers())
@settings(max_examples=60, deadline=None)
def test_an_order_depends_only_on_names(places: set[tuple[str, str]], seed: int) -> None:
    study = Study(reader_ids=("ann",), seed=seed)
    there, back = sorted(places), sorted(places, reverse=True)
    assert shuffled(study, "ann", there) == shuffled(study, "ann", back)
    left = there[1:]  # of those that stay, none changes its place among the others
    remaining = [place for place in shuffled(study, "ann", there) if place in left]
    assert remaining == shuffled(study, "ann", left)


def test_a_call_is_there_when_the_study_is_opened_again(study: OpenStudy) -> None:
    study.call("ann", ("a", "2"), "nodule", 4.5, 12.34)
    study.call("ann", ("b", "7"), "non_nodule")
    again = open_study(study.folder)
    first, second = again.calls("ann").values()
    assert (first.place, first.call, first.diameter_mm) == (("a", "2"), "nodule", 4.5)
    assert first.seconds == 12.3
    assert (second.call, second.diameter_mm, second.previous) == ("non_nodule", None, first.digest)
    assert again.calls("bo") == {}
    assert calls_table(again).rows() == [
        ("a", "2", "ann", "nodule", 4.5),
        ("b", "7", "ann", "non_nodule", None),
    ]
    assert status_of(again)["logs"]["ann"] == {"calls": 2, "digest": second.digest}


@pytest.mark.parametrize(
    ("call", "diameter", "message"),
    [
        ("nodule", None, "is called 'nodule' and is not measured"),
        ("nodule", 2.99, "is called 'nodule' and measures 2.99 mm"),
        ("small_nodule", 3.0, "is called 'small_nodule' and measures 3 mm"),
    ],
)
def test_a_size_that_contradicts_the_call_is_refused(
    study: OpenStudy, call, diameter: float | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        study.call("ann", ("a", "1"), call, diameter)
    assert study.calls("ann") == {}


def test_a_nodule_of_exactly_three_millimetres_is_one(study: OpenStudy) -> None:
    assert study.call("ann", ("a", "1"), "nodule", 3.0).diameter_mm == 3.0
    assert study.call("ann", ("a", "2"), "small_nodule").diameter_mm is None


def test_a_call_is_final_and_only_for_readers_of_the_study(study: OpenStudy) -> None:
    study.call("ann", ("a", "1"), "non_nodule")
    with pytest.raises(InputError, match="was called by 'ann' before"):
        study.call("ann", ("a", "1"), "nodule", 5.0)
    with pytest.raises(InputError, match="has no part in it"):
        study.call("eve", ("a", "1"), "non_nodule")
    with pytest.raises(InputError, match="is not among the places"):
        study.call("bo", ("a", "9"), "non_nodule")


def test_a_changed_call_is_reported(study: OpenStudy) -> None:
    study.call("ann", ("a", "1"), "non_nodule")
    study.call("ann", ("a", "2"), "non_nodule")
    file = study.folder / "calls" / "ann" / "00000001.json"
    file.write_bytes(file.read_bytes().replace(b"non_nodule", b"small_nodule"))
    with pytest.raises(InputError, match="00000002"):
        study.calls("ann")


@pytest.mark.parametrize("name", ["study.json", "to_read.csv"])
def test_calls_belong_to_the_study_that_they_were_made_in(study: OpenStudy, name: str) -> None:
    study.call("ann", ("a", "1"), "non_nodule")
    file = study.folder / name
    file.write_text(file.read_text().replace("80", "90").replace("-3", "-4"))
    with pytest.raises(InputError, match="another log than that of the study"):
        open_study(study.folder).calls("ann")


def test_calls_of_one_reader_are_not_those_of_another(study: OpenStudy) -> None:
    study.call("ann", ("a", "1"), "non_nodule")
    (study.folder / "calls" / "ann").rename(study.folder / "calls" / "bo")
    with pytest.raises(InputError, match="another log"):
        study.calls("bo")


def test_a_table_is_exported_filled_in_and_submitted_twice(
    study: OpenStudy, tmp_path: Path
) -> None:
    file = tmp_path / "ann.csv"
    assert export_places(study, "ann", file) == 4
    asked = pl.read_csv(file, schema_overrides={"mark_id": pl.String})
    assert asked.select("case_id", "mark_id").rows() == study.places("ann")
    assert asked.columns == ["case_id", "mark_id", "x_mm", "y_mm", "z_mm", "call", "diameter_mm"]
    answers = asked.with_columns(
        call=pl.Series(["nodule", None, "small_nodule", "non_nodule"]),
        diameter_mm=pl.Series([5.25, None, 2.0, None]),
    )
    answers.write_csv(file)
    assert import_calls(study, "ann", file) == 3
    assert import_calls(study, "ann", file) == 0
    assert [call.diameter_mm for call in study.calls("ann").values()] == [5.25, 2.0, None]
    with pytest.raises(InputError, match="already exists"):
        export_places(study, "ann", file)
    assert export_places(study, "ann", tmp_path / "rest.csv") == 1


def test_nothing_of_a_table_with_wrong_rows_is_stored(study: OpenStudy, tmp_path: Path) -> None:
    file = tmp_path / "ann.csv"
    file.write_text(
        "case_id,mark_id,call,diameter_mm\na,1,non_nodule,\na,2,nodule,\nz,1,nodule,4\n"
    )
    with pytest.raises(InputError) as error:
        import_calls(study, "ann", file)
    assert [str(problem.where) for problem in error.value.problems] == [
        "case 'a' mark '2'",
        "ann.csv case 'z' mark '1'",
    ]
    assert study.calls("ann") == {}


def test_a_study_needs_places_and_keeps_its_readers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no places"):
        begin_study(tmp_path, ["ann"])
    with pytest.raises(InputError, match="holds no place to classify"):
        begin_study(selected(tmp_path / "none", []), ["ann"])
    folder = selected(tmp_path / "study")
    with pytest.raises(InputError, match="Open it for its readers"):
        open_study(folder)
    with pytest.raises(InputError, match="named twice"):
        begin_study(folder, ["ann", "ann"])
    begin_study(folder, ["ann"])
    with pytest.raises(InputError, match="cannot be changed"):
        begin_study(folder, ["bo"])
    assert json.loads((folder / "study.json").read_text())["reader_ids"] == ["ann"]
