"""Of a description known words and measures stay; of dates, only the right ones are shifted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.curation.deidentify.allowed_values import clean_description, is_clean_description
from nodulebench.curation.deidentify.identity import plain_time, shifted_date, shifted_date_time
from nodulebench.curation.deidentify.profile import capped_age


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("CT CHEST W/O CONTRAST", "CT CHEST CONTRAST"),
        ("Thorax 1.25 mm lung", "THORAX 1.25MM LUNG"),
        ("Lung 1.0 B60f", "LUNG B60F"),
        ("0,OPA,TO,AQUL4,FC51,276.6,2,120,40,na,na", "FC51"),
        ("Smith, John 12/05/1948", ""),
        ("CHEST 555-123-4567", "CHEST"),
        ("chest\\lung_LOW-DOSE", "CHEST LUNG LOW DOSE"),
        ("", ""),
    ],
)
def test_known_words_stay_and_all_else_goes(given_text: str, expected: str) -> None:
    assert clean_description(given_text) == expected


@given(st.text())
def test_a_cleaned_description_is_clean(text: str) -> None:
    assert is_clean_description(clean_description(text))


@pytest.mark.parametrize(
    ("age", "expected"),
    [("061Y", "061Y"), ("090Y", "090Y"), ("091Y", "090Y"), ("010M", "010M"), ("old", ""), ("", "")],
)
def test_ages_end_at_ninety(age: str, expected: str) -> None:
    assert capped_age(age) == expected


def test_dates_are_shifted_over_years_and_leap_days() -> None:
    assert shifted_date("20200301", 1) == "20200229"
    assert shifted_date("20210101", 366) == "20200101"
    assert shifted_date_time("20200301101500.5+0100", 1) == "20200229101500.5"
    assert shifted_date_time("20200301", 1) == "20200229"


@pytest.mark.parametrize("text", ["", "2020", "20201301", "2020.03.01", "JOHN1948", "00010101"])
def test_an_invalid_date_becomes_empty(text: str) -> None:
    assert shifted_date(text, 10) == ""
    assert shifted_date_time(text, 10) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [("101500", "101500"), ("1015", "1015"), ("235959.999999", "235959.999"), ("SMITH", "")],
)
def test_an_invalid_time_becomes_empty(text: str, expected: str) -> None:
    assert plain_time(text) == expected
