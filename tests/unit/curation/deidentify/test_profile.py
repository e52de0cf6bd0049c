"""Every row of PS3.15 table E.1-1 is done as it says, or as an option says that is claimed."""

from typing import Any

import pydicom
import pytest
from pydicom.datadict import dictionary_has_tag, dictionary_VR, keyword_for_tag
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

from builders.identified_slice import identified_slice, write_slice
from nodulebench.curation.deidentify.identity import Pseudonyms
from nodulebench.curation.deidentify.profile import (
    ACTIONS,
    CHARACTERISTICS,
    DESCRIPTORS,
    DUMMY,
    METHOD_CODES,
    OPTIONS,
    SHIFTED_DATES,
)
from nodulebench.curation.deidentify.service import deidentify_file

KEYED = Pseudonyms(bytes(range(32)))
ROWS = {
    tag: action
    for tag, action in ACTIONS.items()
    if 0x0008 <= tag >> 16 < 0x7FE0 and dictionary_has_tag(tag)
}
"""Those that can stand in the data set of a slice before its picture."""
OWN = {"SOPInstanceUID", "SeriesInstanceUID", "StudyInstanceUID"}
VALUES: dict[str, Any] = {
    "AS": "047Y",
    "DA": "19480229",
    "DT": "19480229101112",
    "TM": "101112",
    "DS": "5512907",
    "IS": "5512907",
    "UI": "1.2.3.4.5512907",
    "CS": "ZACHARIAS",
    "OB": b"Zacharias ",
    "OW": b"Zacharias ",
    "UN": b"Zacharias ",
    "US": 7,
    "UL": 5512907,
    "FD": 5512907.0,
    "FL": 5512907.0,
    "AT": 0x00100010,
}


def value_for(kind: str) -> Any:
    if kind == "SQ":
        item = Dataset()
        item.PatientName = "Zacharias"
        return Sequence([item])
    return VALUES.get(kind, "Zacharias")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Dataset]:
    """A slice that has every attribute of the table, on top and in an item, made clean."""
    folder = tmp_path_factory.mktemp("rows")
    data = identified_slice()
    inner = Dataset()
    for tag in ROWS:
        kind = dictionary_VR(tag).split()[0]
        if keyword_for_tag(tag) not in OWN | {"PatientID"}:
            inner.add_new(tag, kind, value_for(kind))
            if keyword_for_tag(tag) != "ReferencedImageSequence":
                data.add_new(tag, kind, value_for(kind))
    del inner.ReferencedImageSequence
    data.ReferencedImageSequence = [inner]
    outcome = deidentify_file(write_slice(data, folder / "in.dcm"), folder / "out", KEYED)
    assert outcome.refused is None
    clean = pydicom.dcmread(folder / "out" / outcome.written)
    return clean, clean.ReferencedImageSequence[0]


def wrong_with(action: str, element: Any, kind: str) -> str:
    """Why the replacement of an attribute is not what the table requires."""
    value = None if element is None else element.value
    is_empty = value is None or value == "" or value == []
    if element is None or action == "X":
        return "" if element is None else "it is not removed"
    if action == "U" or kind == "UI":
        return "" if str(value).startswith("2.25.") else "it has no new UID"
    if action == "D":
        if kind in ("DA", "DT", "TM"):
            return "" if not is_empty and str(value) != VALUES[kind] else "it has its own date"
        return "" if str(value) == DUMMY else "it has no dummy"
    return "" if is_empty or str(value) == DUMMY else f"it is {value!r}"


@pytest.mark.parametrize("floor", [0, 1], ids=["top", "item"])
def test_every_row_is_done_as_the_table_says(made: tuple[Dataset, Dataset], floor: int) -> None:
    assert len(ROWS) > 620
    wrong = {}
    for tag, action in ROWS.items():
        keyword, kind = keyword_for_tag(tag), dictionary_VR(tag).split()[0]
        if tag in OPTIONS or keyword in OWN | {"PatientID", "PatientName"} or action == "X/Z/U*":
            continue
        message = wrong_with(action, made[floor].get(tag), kind)
        if message:
            wrong[f"{keyword} {action}"] = message
    assert wrong == {}


def test_dummies_are_put_where_the_table_asks_for_them(made: tuple[Dataset, Dataset]) -> None:
    """Removing is not a dummy: an attribute with action D is still present."""
    asked = [tag for tag, action in ROWS.items() if action == "D"]
    texts = [tag for tag in asked if dictionary_VR(tag) in ("CS", "LO", "PN", "SH", "ST", "UT")]
    assert len(texts) > 30
    assert [keyword_for_tag(tag) for tag in texts if made[0].get(tag) is None] == []


def test_only_attributes_of_claimed_options_are_treated_otherwise() -> None:
    """Exceptions to the basic profile are those that an option of table E.1-1 allows."""
    codes = {code for code, _ in METHOD_CODES}
    assert set(OPTIONS.values()) <= codes
    by_option = {
        "113105": DESCRIPTORS,
        "113107": SHIFTED_DATES,
        "113108": CHARACTERISTICS,
    }
    for code, keywords in by_option.items():
        assert {keyword_for_tag(tag) for tag, option in OPTIONS.items() if option == code} == set(
            keywords
        )
    assert set(OPTIONS) <= set(ACTIONS)


def test_options_are_done_as_they_say(made: tuple[Dataset, Dataset]) -> None:
    clean = made[0]
    assert clean.PatientAge == "047Y"
    assert "PatientWeight" not in clean  # 5,512,907 kg is a number of a person
    assert clean.SeriesDate != "19480229"
    assert clean.SeriesDate < "19480229"
    assert clean.get("StudyDescription", "") == ""
    codes = [item.CodeValue for item in clean.DeidentificationMethodCodeSequence]
    assert codes == [code for code, _ in METHOD_CODES]
