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


def test_sizes_are_counted_up_to_each_limit() -> None:
    sizes = (2.5, 3, 5.9, 6, 9.9, 10, 19.5, 20, 29.5, 30)
    found = [nodule(size, (60.0 * number, 0, 0)) for number, size in enumerate(sizes)]
    told = make_datasheet(reference(case("a", *found)), {}).answers["sizes"]
    assert told == (
        "Diameters 2.5 to 30.0 mm; 0 to 3 mm: 1; 3 to 6 mm: 2; 6 to 10 mm: 2; 10 to 20 mm: 2; "
        "20 to 30 mm: 2; 30 mm and more: 1."
    )
