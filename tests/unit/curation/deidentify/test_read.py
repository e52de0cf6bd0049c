"""A file that is plainly written is read as pydicom reads it; all others are left to pydicom."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydicom
import pytest

from builders.identified_slice import identified_slice, write_slice
from nodulebench.curation.deidentify import codec as read
from nodulebench.curation.deidentify.codec import NotCleanableError, read_dataset

NOT_DICOM = (NotCleanableError, pydicom.errors.InvalidDicomError)
CHARACTER_SET = 0x00080005


def identifiers_of(data: Any) -> list[Any]:
    """All that is taken from a dataset: raw elements with their places, and how to read them."""
    raw = [(int(tag), element) for tag, element in data.items() if tag != CHARACTER_SET]
    meta = [(element.tag, element.VR, element.value) for element in data.file_meta]
    characters = data.original_character_set, data.get("SpecificCharacterSet")
    return [raw, meta, data.original_encoding, characters, data.preamble]


def plain_slice(folder: Path, **changes: Any) -> Path:
    """A slice that is plainly written, but for some changes."""
    data = identified_slice()
    del data[0xFFFCFFFC]
    for name, value in changes.items():
        setattr(data, name, value)
    return write_slice(data, folder / "1.dcm")


@pytest.mark.parametrize("character_set", ["ISO_IR 192", "", ["", "ISO 2022 IR 87"], None])
def test_a_plain_slice_is_read_as_pydicom_reads_it(tmp_path: Path, character_set: Any) -> None:
    path = plain_slice(tmp_path, SpecificCharacterSet=character_set)
    assert read._plainly_written(path) is not None
    assert identifiers_of(read_dataset(path)) == identifiers_of(pydicom.dcmread(path))


def implicit(path: Path) -> None:
    data = pydicom.dcmread(path)
    data.file_meta.TransferSyntaxUID = "1.2.840.10008.1.2"
    data.save_as(path, implicit_vr=True, little_endian=True)


def packed(path: Path) -> None:
    data = pydicom.dcmread(path)
    data.compress("1.2.840.10008.1.2.5")
    data.save_as(path)


def of_undefined_length(path: Path) -> None:
    data = pydicom.dcmread(path)
    data["RequestAttributesSequence"].is_undefined_length = True
    data.save_as(path)


def added(data: bytes) -> Any:
    return lambda path: path.write_bytes(path.read_bytes() + data)


def cut(length: int) -> Any:
    return lambda path: path.write_bytes(path.read_bytes()[:length])


def with_padding(path: Path) -> None:
    data = pydicom.dcmread(path)
    data.add_new(0xFFFCFFFC, "OB", b"Zacharias ")
    data.save_as(path)


def with_a_long_header(path: Path) -> None:
    data = pydicom.dcmread(path)
    data.ImageComments = "x" * 10_000
    data.add_new(0x00290110, "UN", bytes(read.HEAD_BYTES))
    data.save_as(path)


def out_of_order(path: Path) -> None:
    content = path.read_bytes()
    place = content.index(b"\x28\0\x10\0US")  # rows, before columns
    rows, columns = content[place : place + 10], content[place + 10 : place + 20]
    path.write_bytes(content.replace(rows + columns, columns + rows))


ODD = {
    "implicit": implicit,
    "packed": packed,
    "a sequence of undefined length": of_undefined_length,
    "bytes behind the picture": added(b"778213"),
    "an element behind the picture": with_padding,
    "a long header": with_a_long_header,
    "out of order": out_of_order,
    "a short picture": cut(-100),
    "no picture": cut(1500),
    "no kind of element that is known": lambda path: path.write_bytes(
        path.read_bytes().replace(b"\x08\0\x60\0CS", b"\x08\0\x60\0QQ")
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_written_otherwise_is_left_to_pydicom(tmp_path: Path, name: str) -> None:
    path = plain_slice(tmp_path)
    ODD[name](path)
    assert read._plainly_written(path) is None
    assert identifiers_of(read_dataset(path)) == identifiers_of(pydicom.dcmread(path))


def test_a_file_that_is_not_dicom_is_refused(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"DICM", bytes(4000), b"x" * 128 + b"DICN" + bytes(99))):
        path = tmp_path / str(number)
        path.write_bytes(content)
        with pytest.raises(NotCleanableError) as caught:
            read_dataset(path)
        assert caught.value.notice.code == "not_dicom"


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_no_changed_byte_makes_it_read_otherwise(tmp_path: Path) -> None:
    path = plain_slice(tmp_path)
    content = path.read_bytes()
    end = content.index(b"\xe0\x7f\x10\0OW") + 12
    for place in range(128, end, 11):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        assert tried(read_dataset, path) == tried(pydicom.dcmread, path), place


def tried(work: Callable[[Path], Any], path: Path) -> Any:
    """What identifies the patient of a file; the kind of error, where there is one."""
    try:
        return identifiers_of(work(path))
    except Exception as error:
        return "not DICOM" if isinstance(error, NOT_DICOM) else type(error)
