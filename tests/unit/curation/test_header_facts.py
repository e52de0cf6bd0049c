import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.curation.design import load_design
from nodulebench.curation.header_facts import (
    DERIVED_BY,
    chest_factor,
    dose_class,
    dose_of,
)


def test_the_dose_of_a_scan_follows_from_ctdi_and_length() -> None:
    # 5 mGy along 30 cm: 150 mGy cm, times 0.014 mSv
    dose = dose_of(5.0, 300.0, 60)
    assert dose.dlp_mgy_cm == pytest.approx(150.0)
    assert (dose.dlp_source, dose.dose_factor) == ("header", 0.014)
    assert dose.dose_msv == pytest.approx(2.1)
    assert dose.dose_class == "low"


def test_a_report_counts_more_than_the_header() -> None:
    dose = dose_of(5.0, 300.0, 60, 250.0)
    assert (dose.dlp_mgy_cm, dose.dlp_source) == (250.0, "report")
    assert dose.dose_msv == pytest.approx(3.5)
    assert dose.dose_class == "normal"


@pytest.mark.parametrize(
    ("age", "factor"),
    [(0.1, 0.039), (1, 0.026), (5, 0.018), (10, 0.013), (15, 0.014), (80, 0.014), (None, 0.014)],
)
def test_children_have_different_factors(age: float | None, factor: float) -> None:
    assert chest_factor(age) == factor


@pytest.mark.parametrize(("ctdi", "length"), [(None, 300.0), (5.0, None), (None, None)])
def test_missing_values_give_no_dose(ctdi: float | None, length: float | None) -> None:
    dose = dose_of(ctdi, length, 60)
    assert dose == (ctdi, None, None, None, None, None)


@given(st.floats(0.01, 20))
def test_classes_are_those_of_the_design(dose_msv: float) -> None:
    (rule,) = [rule for rule in load_design("fg-ai4h").rules if rule.name == "dose"]
    spans = {bin_.name: (bin_.at_least or 0, bin_.below or 99) for bin_ in rule.bins}
    named = [name for name, (low, high) in spans.items() if low <= dose_msv < high]
    assert dose_class(dose_msv) == (named[0] if named else "other")


def test_an_adult_is_taken_for_one() -> None:
    assert chest_factor(30) == DERIVED_BY["dose"]["adult_factor"]
