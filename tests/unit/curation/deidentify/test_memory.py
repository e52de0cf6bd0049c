"""What is remembered of an element holds for that element in that context, and nowhere else."""

from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pydicom
import pytest
from pydicom.dataelem import DataElement, RawDataElement
from pydicom.dataset import Dataset
from pydicom.tag import Tag

from builders.identified_slice import DATE, PATIENT, ROOT, identified_slice, write_slice
from nodulebench.curation.deidentify import codec as remembering
from nodulebench.curation.deidentify.check import leftovers
from nodulebench.curation.deidentify.codec import Memory, key_of
from nodulebench.curation.deidentify.identity import Identity, Pseudonyms, shifted_date
from nodulebench.curation.deidentify.service import deidentify_file
from nodulebench.i18n.translator import in_english

KEYED = Pseudonyms(bytes(range(32)))
KERNEL = 0x00181210


def raw(tag: int, value: bytes | None, kind: str | None = "SH", length: int = 0) -> RawDataElement:
    size = length or len(value or b"")
    return RawDataElement(Tag(tag), kind, size, value, 0, False, True)


class Asked:
    """Looks at elements, and keeps count."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, tag: int, element: Any) -> tuple[int, Any]:
        self.times += 1
        return tag, element.value


def inspections(memory: Memory, *elements: RawDataElement, context: Hashable = "c") -> int:
    asked = Asked()
    results = dict(
        memory.each([(int(element.tag), element) for element in elements], asked, context)
    )
    assert results == {int(element.tag): (int(element.tag), element.value) for element in elements}
    return asked.times


def test_an_element_is_looked_at_once() -> None:
    memory = Memory()
    assert inspections(memory, raw(KERNEL, b"B30f")) == 1
    assert inspections(memory, raw(KERNEL, b"B30f")) == 0


@pytest.mark.parametrize(
    "other",
    [raw(KERNEL, b"B31f"), raw(KERNEL, b"B30f", "LO"), raw(KERNEL + 1, b"B30f"), raw(KERNEL, None)],
    ids=["bytes", "kind", "tag", "nothing"],
)
def test_an_element_that_differs_in_anything_is_looked_at(other: RawDataElement) -> None:
    memory = Memory()
    inspections(memory, raw(KERNEL, b"B30f"))
    assert inspections(memory, other) == 1


def test_another_context_knows_nothing() -> None:
    memory = Memory()
    inspections(memory, raw(KERNEL, b"B30f"), context="one patient")
    assert inspections(memory, raw(KERNEL, b"B30f"), context="another") == 1


def test_without_contexts_nothing_is_remembered() -> None:
    memory = Memory(0)
    inspections(memory, raw(KERNEL, b"B30f"))
    assert inspections(memory, raw(KERNEL, b"B30f")) == 1


def test_large_converted_and_endless_elements_and_pixels_are_not_remembered() -> None:
    assert key_of(KERNEL, raw(KERNEL, bytes(4096))) is not None
    assert key_of(KERNEL, raw(KERNEL, bytes(4097))) is None
    assert key_of(KERNEL, DataElement(KERNEL, "SH", "B30f")) is None
    assert key_of(KERNEL, raw(KERNEL, b"B30f", length=0xFFFFFFFF)) is None
    assert key_of(0x7FE00010, raw(0x7FE00010, b"ab", "OW")) is None


def test_memory_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "MOST_ELEMENTS", 3)
    memory = Memory(2)
    values = [raw(KERNEL, str(number).encode()) for number in range(5)]
    for value in values:
        inspections(memory, value)
    assert inspections(memory, values[0]) == 1  # cleared
    for context in ("a", "b"):
        inspections(memory, raw(KERNEL, b"B30f"), context=context)
    assert inspections(memory, values[0]) == 1  # the oldest context went
    assert inspections(memory, raw(KERNEL, b"B30f"), context="b") == 0


class Careless(Memory):
    """A memory that takes all patients for one."""

    def each(
        self, elements: Iterable[tuple[int, Any]], inspect: Any, *context: Hashable
    ) -> Iterator[tuple[int, Any]]:
        return super().each(elements, inspect, context[0])


def written(folder: Path, slices: list[Dataset], memory: Memory | None) -> list[bytes | str]:
    """What is written of each slice, or why nothing is."""
    results: list[bytes | str] = []
    for number, data in enumerate(slices):
        path = write_slice(data, folder / "in" / f"{number}.dcm")
        outcome = deidentify_file(path, folder / "out", KEYED, memory=memory)
        place = folder / "out" / outcome.written
        results.append(place.read_bytes() if outcome.written else str(outcome.refused))
    return results


def two_patients() -> list[Dataset]:
    """Slices of two patients in turn, the same in everything but the patient's number."""
    return [
        identified_slice(number, patient=PATIENT if number % 2 else "OTHER-1")
        for number in range(1, 7)
    ]


def test_nothing_of_one_patient_gets_to_another(tmp_path: Path) -> None:
    slices = two_patients()
    together = written(tmp_path / "together", slices, Memory())
    assert together == written(tmp_path / "apart", slices, None)
    for original, content in zip(slices, together, strict=True):
        assert isinstance(content, bytes)
        made = pydicom.dcmread(pydicom.filebase.DicomBytesIO(content))
        patient = f"{original.PatientID}\n"
        assert made.PatientID == made.PatientName == KEYED.patient(patient)
        assert made.StudyDate == shifted_date(DATE, KEYED.days(patient))
        assert made.SOPInstanceUID == KEYED.uid(str(original.SOPInstanceUID))


def test_a_memory_that_mixes_patients_would_be_seen(tmp_path: Path) -> None:
    slices = two_patients()
    careful = written(tmp_path / "careful", slices, Memory())
    careless = written(tmp_path / "careless", slices, Careless())
    assert careless[0] == careful[0]
    assert careless[1] != careful[1]


def test_another_key_shares_nothing(tmp_path: Path) -> None:
    path = write_slice(identified_slice(), tmp_path / "in.dcm")
    memory = Memory()
    names = {
        deidentify_file(
            path, tmp_path / "out", Pseudonyms(bytes([key] * 32)), memory=memory
        ).written
        for key in range(3)
    }
    dates = {pydicom.dcmread(tmp_path / "out" / name).StudyDate for name in names}
    assert len(names) == len(dates) == 3


def test_a_slice_that_reveals_more_than_its_neighbours_is_cleaned_too(tmp_path: Path) -> None:
    slices = [identified_slice(number) for number in range(1, 6)]
    slices[2].OperatorsName = "Siemens^Hans"
    slices[3].ConvolutionKernel = "Quentin"
    slices[4].ImageComments = "call Ottilie"
    contents = written(tmp_path, slices, Memory())
    made = [pydicom.dcmread(pydicom.filebase.DicomBytesIO(content)) for content in contents]
    # a name elsewhere in the same slice removes that too, only in this slice
    assert ["Manufacturer" in dataset for dataset in made] == [True, True, False, True, True]
    assert ["ConvolutionKernel" in dataset for dataset in made] == [True, True, True, False, True]
    assert not any("ImageComments" in dataset for dataset in made)


def cleaned(tmp_path: Path) -> Dataset:
    path = write_slice(identified_slice(), tmp_path / "in.dcm")
    outcome = deidentify_file(path, tmp_path / "out", KEYED)
    return pydicom.dcmread(tmp_path / "out" / outcome.written, stop_before_pixels=True)


def identity(**more: Any) -> Identity:
    nothing: frozenset[Any] = frozenset()
    return Identity(**{"patient": "x", "words": nothing, "uids": nothing, "dates": nothing} | more)


def messages_of(*given: Any) -> list[str]:
    return [in_english(leftover) for leftover in leftovers(*given)]


def test_what_was_clean_for_one_patient_is_checked_for_another(tmp_path: Path) -> None:
    memory, made = Memory(), cleaned(tmp_path)
    assert leftovers(made, identity(), memory) == []
    made = cleaned(tmp_path)
    date = str(made.StudyDate)
    made = cleaned(tmp_path)
    assert messages_of(made, identity(words=frozenset({"siemens"})), memory) == [
        "(0008,0070) Manufacturer contains the word 'siemens'"
    ]
    assert messages_of(
        cleaned(tmp_path), identity(dates=frozenset({("StudyDate", date)})), memory
    ) == ["(0008,0020) StudyDate contains the date of the original"]


def test_a_uid_that_was_clean_is_found_where_it_is_the_original_one(tmp_path: Path) -> None:
    memory, made = Memory(), cleaned(tmp_path)
    assert leftovers(made, identity(), memory) == []
    inner = KEYED.uid(f"{ROOT}3.77")
    instance = KEYED.uid(f"{ROOT}3.1")
    messages = messages_of(cleaned(tmp_path), identity(uids=frozenset({inner, instance})), memory)
    assert messages == [
        "(0008,0018) contains a UID of the original",
        "(0008,1140) contains a UID of the original",
        "file meta information MediaStorageSOPInstanceUID is the UID of the original",
    ]


def test_a_uid_that_only_begins_like_the_standard_s_is_replaced_and_found(tmp_path: Path) -> None:
    own = "1.2.840.10008.5.ZACHARIAS"
    assert KEYED.uid(own).startswith("2.25.")
    made = cleaned(tmp_path)
    made.add_new(0x00200052, "UI", "")
    made[0x00200052]._value = own
    assert messages_of(made) == ["(0020,0052) FrameOfReferenceUID is a UID of the manufacturer"]
