"""Numbers stay where a scanner can mean them; a patient's number is found among others."""

import pytest

from nodulebench.curation.deidentify.allowed_values import (
    LIMITS,
    NEEDED,
    digits_of,
    is_allowed_number,
    written,
)


@pytest.mark.parametrize(
    ("keyword", "texts", "is_allowed"),
    [
        ("SeriesNumber", ["3"], True),
        ("SeriesNumber", ["9999"], True),
        ("SeriesNumber", ["10000"], False),
        ("SeriesNumber", ["3", "4"], False),
        ("SeriesNumber", [], True),
        ("SeriesNumber", ["3 "], True),
        ("SeriesNumber", ["three"], False),
        ("KVP", ["120"], True),
        ("KVP", ["778213"], False),
        ("ImagePositionPatient", ["-166", "-171.7", "-340.5"], True),
        ("ImagePositionPatient", ["0", "0", "0", "0"], False),
        ("RescaleIntercept", ["-1024"], True),
        ("PatientWeight", ["71"], True),
        ("PatientWeight", ["nan"], False),
        ("ImagesInAcquisition", ["-1"], False),
        ("RadiationMachineName", ["1"], False),
    ],
)
def test_numbers_stay_within_their_limits(keyword: str, texts: list[str], is_allowed: bool) -> None:
    assert is_allowed_number(keyword, texts) == is_allowed


@pytest.mark.parametrize("text", ["-166.778213", "778.213", "0.7782130", "0.00778213"])
def test_a_patient_s_number_is_found_within_others(text: str) -> None:
    assert is_allowed_number("SliceLocation", [text])
    assert not is_allowed_number("SliceLocation", [text], digits_of(["kx778213", "12"]))
    assert is_allowed_number("SliceLocation", ["166.7782"], digits_of(["kx778213"]))


def test_short_numbers_are_there_by_chance() -> None:
    assert digits_of(["512", "12345", "123456a"]) == {"123456"}


def test_what_a_picture_needs_has_limits() -> None:
    assert set(LIMITS) >= NEEDED


def test_numbers_as_written() -> None:
    assert written(None) == written("") == []
    assert written(3) == ["3"]
    assert written([1.5, 2]) == ["1.5", "2"]
