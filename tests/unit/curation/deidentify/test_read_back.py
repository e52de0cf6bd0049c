"""A header read back from its bytes holds what pydicom sees; what is not known is looked at."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pydicom
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydicom.dataset import Dataset

from builders.identified_slice import identified_slice, write_slice
from nodulebench.curation.deidentify import service as files
from nodulebench.curation.deidentify.check import elements_in, is_known_clean, remember_clean
from nodulebench.curation.deidentify.codec import Memory, encoded, file_of
from nodulebench.curation.deidentify.identity import Identity, Pseudonyms
from nodulebench.curation.deidentify.service import deidentify_file
from nodulebench.i18n.translator import in_english

KEYED = Pseudonyms(bytes(range(32)))
CT = "1.2.840.10008.5.1.4.1.1.2"
UIDS = {number: f"2.25.{str(number) * 38}" for number in (7, 8, 9)}
EXPLICIT, IMPLICIT = "1.2.840.10008.1.2.1", "1.2.840.10008.1.2"


def header_of(syntax: str = EXPLICIT, **values: Any) -> bytes:
    """A clean header, with some more elements."""
    data = Dataset()
    data.SOPClassUID, data.SOPInstanceUID = CT, UIDS[7]
    data.PatientIdentityRemoved, data.Manufacturer = "YES", "SIEMENS"
    data.ReferencedImageSequence = [Dataset()]
    data.ReferencedImageSequence[0].ReferencedSOPInstanceUID = UIDS[8]
    data.StudyDate, data.AcquisitionTime, data.InstanceNumber = "20010101", "101500.5", 3
    for keyword, value in values.items():
        setattr(data, keyword, value)
    elements = {int(element.tag): encoded(element, (syntax == IMPLICIT, True)) for element in data}
    return file_of(elements, [], CT, UIDS[7], syntax)[0]


def identity(**more: Any) -> Identity:
    nothing: frozenset[Any] = frozenset()
    return Identity(**{"patient": "x", "words": nothing, "uids": nothing, "dates": nothing} | more)


def taught(header: bytes, known: Identity) -> Memory:
    memory = Memory()
    assert not is_known_clean(elements_in(header), known, memory)
    remember_clean(elements_in(header), pydicom.dcmread(BytesIO(header)), known, memory)
    assert is_known_clean(elements_in(header), known, memory)
    return memory


@pytest.mark.parametrize("syntax", [EXPLICIT, IMPLICIT])
def test_the_elements_are_those_that_pydicom_reads(syntax: str) -> None:
    header = header_of(syntax)
    data = pydicom.dcmread(BytesIO(header))
    expected = [
        (int(tag), element.VR, element.value) for tag, element in data.items() if element.is_raw
    ]
    elements = elements_in(header)
    assert elements is not None
    assert [element[:3] for element in elements if element.tag > 0x0002FFFF] == expected
    assert [element.tag for element in elements if element.tag <= 0x0002FFFF] == sorted(
        data.file_meta.keys()
    )


@given(place=st.integers(0, 700), value=st.integers(0, 255))
def test_a_changed_byte_is_never_known_to_be_clean_unless_it_is_plain(
    place: int, value: int
) -> None:
    header = header_of()
    memory = taught(header, identity())
    changed = bytearray(header)
    changed[place % len(header)] = value
    if is_known_clean(elements_in(bytes(changed)), identity(), memory):
        data = pydicom.dcmread(BytesIO(bytes(changed)))
        assert files.leftovers(data, identity()) == []


@pytest.mark.parametrize("cut", [10, 131, 143, 150, -1])
def test_a_header_that_ends_too_early_is_not_read(cut: int) -> None:
    assert elements_in(header_of()[:cut]) is None


def test_a_header_in_another_order_is_not_read() -> None:
    header = header_of()
    assert elements_in(header + header[-12:]) is None


@pytest.mark.parametrize(
    ("change", "is_clean"),
    [
        ({"InstanceNumber": 4}, True),
        ({"AcquisitionTime": "101501"}, True),
        ({"SOPInstanceUID": UIDS[9]}, True),
        ({"StudyDate": "20010102"}, True),
        ({"SOPInstanceUID": "1.2.3"}, False),
        ({"Manufacturer": "SIEMENS2"}, False),
        ({"PatientIdentityRemoved": "NO"}, False),
        ({"ImageComments": "x"}, False),
        ({"PatientBirthDate": "19480229"}, False),
        ({"PatientWeight": "71"}, False),
    ],
)
def test_only_what_is_plain_may_be_new(change: dict[str, Any], is_clean: bool) -> None:
    memory = taught(header_of(), identity())
    assert is_known_clean(elements_in(header_of(**change)), identity(), memory) == is_clean


def test_what_is_clean_for_one_patient_is_checked_for_another() -> None:
    header = header_of()
    memory = taught(header, identity())
    for other in (
        identity(words=frozenset({"siemens"})),
        identity(dates=frozenset({("StudyDate", "20010101")})),
        identity(uids=frozenset({UIDS[7]})),
        identity(uids=frozenset({UIDS[8]})),
    ):
        assert not is_known_clean(elements_in(header), other, memory)


def test_a_date_of_the_original_is_looked_at_even_where_it_is_new() -> None:
    memory = Memory()
    known = identity(dates=frozenset({("StudyDate", "20010102")}))
    header = header_of()
    remember_clean(elements_in(header), pydicom.dcmread(BytesIO(header)), known, memory)
    assert is_known_clean(elements_in(header_of(StudyDate="20010103")), known, memory)
    assert not is_known_clean(elements_in(header_of(StudyDate="20010102")), known, memory)


def test_slices_that_repeat_each_other_are_converted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    real = files.leftovers
    monkeypatch.setattr(files, "leftovers", lambda *given: asked.append(1) or real(*given))
    memory = Memory()
    for number in range(1, 6):
        path = write_slice(identified_slice(number), tmp_path / f"{number}.dcm")
        assert deidentify_file(path, tmp_path / "out", KEYED, memory=memory).written
    assert len(asked) == 1


def test_what_a_broken_cleaner_would_leave_is_found_in_every_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = files.cleaned_elements
    leak = Dataset()
    leak.InstitutionName = "Mercyfield General"

    def broken(dataset: Any, *given: Any) -> dict[int, bytes]:
        more = {int(element.tag): encoded(element, (False, True)) for element in leak}
        return real(dataset, *given) | (more if dataset.InstanceNumber >= 3 else {})

    monkeypatch.setattr(files, "cleaned_elements", broken)
    memory = Memory()
    refused = []
    for number in range(1, 6):
        path = write_slice(identified_slice(number), tmp_path / f"{number}.dcm")
        outcome = deidentify_file(path, tmp_path / "out", KEYED, memory=memory)
        message = in_english(outcome.refused) if outcome.refused else ""
        refused.append("(0008,0080) InstitutionName must be removed" in message)
    assert refused == [False, False, True, True, True]
