"""Coded terms are those of the standard, under its own names."""

import pytest
from pydicom.dataset import Dataset

from nodulebench.curation.deidentify.profile import meaning_of


@pytest.mark.parametrize(
    ("scheme", "value", "meaning"),
    [
        ("DCM", "121311", "Localizer"),
        ("SCT", "51185008", "Thoracic structure"),
        ("SRT", "T-D3000", "Thoracic structure"),
        ("DCM", "778213", ""),
        ("SCT", "778213", ""),
        ("99HOSPITAL", "121311", ""),
        ("", "", ""),
    ],
)
def test_terms_are_called_as_the_standard_calls_them(scheme: str, value: str, meaning: str) -> None:
    item = Dataset()
    item.CodingSchemeDesignator, item.CodeValue, item.CodeMeaning = scheme, value, "Zacharias"
    assert meaning_of(item).startswith(meaning)
    assert bool(meaning_of(item)) == bool(meaning)
