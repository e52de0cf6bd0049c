"""A datasheet answers from the tables what they tell, and leaves the rest as gaps."""

import polars as pl

from builders.tables import case, ignored, nodule, reference
from nodulebench.custody.datasheet import make_datasheet

CASES = {
    "a": {"hospital": "North", "country": "NL", "study_date": "20190302", "is_public": False},
    "b": {"hospital": "South", "country": "NL", "study_date": "20211230", "is_public": False},
    "c": {"hospital": " ", "country": "NL", "study_date": None, "is_public": True},
}


def test_tables_tell_sources_period_ethics_and_pathology() -> None:
    approvals = {"a": "2026-17", "b": "2026-17", "c": None}
    test_set = reference(
        *(
            case(name, nodule(5), ignored(3, (50, 0, 0)), ethics_approval=approvals[name], **more)
            for name, more in CASES.items()
        )
    )
    truth = pl.Series("truth", ["pathology", None, "readers", None, "readers", "readers"])
    sheet = make_datasheet(
        type(test_set)(test_set.name, test_set.cases, test_set.nodules.with_columns(truth)), {}
    )
    assert sheet.answers["sources"] == "2 hospitals, 1 countries."
    assert sheet.answers["period"] == "2019 to 2021."
    assert sheet.answers["ethics"] == "2 of 3 cases: 2026-17 2."
    assert sheet.answers["public_share"] == "3 of 3 cases: false 2, true 1."
    assert sheet.answers["pathology"] == "3 of 3 nodules: readers 2, pathology 1."
    assert {"sources", "period", "ethics", "public_share", "pathology"} <= sheet.computed
    assert "North" not in sheet.to_markdown()


def test_what_people_state_stands_before_what_tables_tell() -> None:
    test_set = reference(case("a", nodule(5), ethics_approval="2026-17"))
    sheet = make_datasheet(test_set, {"ethics": "Waived by the committee."})
    assert sheet.answers["ethics"] == "Waived by the committee."
    assert "ethics" not in sheet.computed


def test_tables_that_do_not_tell_leave_gaps() -> None:
    sheet = make_datasheet(reference(case("a", nodule(5), hospital=None)), {})
    assert {"sources", "period", "ethics", "public_share", "pathology"} <= set(sheet.gaps)


def test_values_that_are_left_out_are_counted() -> None:
    test_set = reference(*(case(f"c{n:02d}", kernel=f"B{n:02d}") for n in range(14)))
    assert make_datasheet(test_set, {}).answers["equipment"].endswith("B11 1, and 2 more.")
