"""Values of a header: what is asked for, or nothing; whatever stands there."""

from typing import Any

import pytest

from nodulebench.io.dicom.files import (
    floats_of,
    item_of,
    items_of,
    many_of,
    number_of,
    numbers_of,
    text_of,
    whole_of,
)

pydicom = pytest.importorskip("pydicom")


def header(keyword: str, value: Any, kind: str = "") -> Any:
    data = pydicom.Dataset()
    if kind:
        data.add(pydicom.DataElement(keyword, kind, value))
    else:
        setattr(data, keyword, value)
    return data


def test_texts_are_those_of_one_value_or_of_several():
    assert text_of(header("Manufacturer", "Other "), "Manufacturer") == "Other"
    assert text_of(header("ImageType", ["A", "B"]), "ImageType") == "A\\B"
    assert text_of(header("PatientName", "Li^Bo"), "PatientName") == "Li^Bo"
    assert text_of(pydicom.Dataset(), "Manufacturer") == ""
    assert text_of(None, "Manufacturer") == ""


def test_numbers_are_finite_and_as_many_as_asked_for():
    place = header("ImagePositionPatient", [1, 2.5, -3])
    assert numbers_of(place, "ImagePositionPatient", 3) == (1.0, 2.5, -3.0)
    assert numbers_of(place, "ImagePositionPatient") == (1.0, 2.5, -3.0)
    assert numbers_of(place, "ImagePositionPatient", 2) is None
    assert number_of(place, "ImagePositionPatient") is None
    assert whole_of(header("Rows", 7), "Rows") == 7
    lost = header("GraphicData", [1.0, float("nan")])
    assert numbers_of(lost, "GraphicData") is None
    assert len(floats_of(lost, "GraphicData") or ()) == 2


@pytest.mark.parametrize(
    ("kind", "value"), [("OB", b"\x01\x02"), ("LO", "seven"), ("SQ", [pydicom.Dataset()])]
)
def test_a_value_of_another_kind_is_not_an_error(kind: str, value: Any) -> None:
    data = header("GraphicData", value, kind)
    assert kind == "OB" or floats_of(data, "GraphicData") is None
    assert isinstance(text_of(data, "GraphicData"), str)
    assert len(many_of(data, "GraphicData")) > 0
    content = header("ContentSequence", value, kind)
    assert len(items_of(content, "ContentSequence")) == (1 if kind == "SQ" else 0)


def test_items_are_those_of_a_sequence_and_nothing_else():
    inner = header("Rows", 3)
    data = header("ContentSequence", [inner, pydicom.Dataset()])
    assert [len(item) for item in items_of(data, "ContentSequence")] == [1, 0]
    assert item_of(data, "ContentSequence") == inner
    assert items_of(data, "ReferencedSOPSequence") == []
    assert items_of(None, "ContentSequence") == []
    assert item_of(pydicom.Dataset(), "ContentSequence") is None
