"""A DICOM file -> its dataset as pydicom reads it, in less time where a slice is plainly written.

Plainly written are explicit elements, little end first, of told lengths, in their order, the
picture last and uncompressed. Everything else is left to pydicom.
"""

import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

from nodulebench.core.optional_packages import needs
from nodulebench.curation.deidentify.codec import KINDS, LONG_KINDS, PIXEL_DATA
from nodulebench.curation.deidentify.memory import CHARACTER_SET
from nodulebench.curation.deidentify.refusal import RefusedError
from nodulebench.io.dicom.slices import EXPLICIT_LITTLE

HEAD_BYTES = 1 << 15
"""Longer headers are left to pydicom."""
_KINDS = {kind.encode("ascii"): kind for kind in KINDS}
_EXPLICIT = EXPLICIT_LITTLE.encode("ascii")
_PREAMBLE = 128
_FIRST, _SYNTAX, _FIRST_OF_BODY = 0x00020000, 0x00020010, 0x00030000


def read_dataset(path: Path) -> Any:
    """The dataset of a file, its elements as they were read.

    Raises:
        RefusedError: if it is no DICOM file.
    """
    with needs("images", "DICOM"):
        import pydicom
    try:
        dataset = _plainly_written(path)
        return pydicom.dcmread(path) if dataset is None else dataset
    except (pydicom.errors.InvalidDicomError, EOFError) as error:
        raise RefusedError("not_dicom") from error


def _plainly_written(path: Path) -> Any | None:
    """The dataset of a file that is plainly written; None: it is not."""
    from pydicom.dataset import Dataset, FileMetaDataset

    with path.open("rb", buffering=0) as file:
        head = file.read(HEAD_BYTES)
        raw = _elements(head)
        picture, syntax = raw.pop(PIXEL_DATA, None), raw.get(_SYNTAX)
        if picture is None or syntax is None or syntax.value.rstrip(b"\0") != _EXPLICIT:
            return None
        file.seek(picture.value_tell)
        content = file.read()
    if not len(content) == picture.length > 0:
        return None
    meta = {tag: one for tag, one in raw.items() if tag < _FIRST_OF_BODY}
    body = {tag: one for tag, one in raw.items() if tag >= _FIRST_OF_BODY}
    body[picture.tag] = picture._replace(value=content)
    dataset = Dataset(body)
    dataset.preamble = head[:_PREAMBLE]
    dataset.file_meta = FileMetaDataset(meta)
    dataset.file_meta.set_original_encoding(False, True, _encodings(None))
    dataset.set_original_encoding(False, True, _encodings(body.get(CHARACTER_SET)))
    return dataset


def _elements(head: bytes) -> dict[Any, Any]:
    """Elements by their tags, the picture last, without its value; none: not plainly written.

    Args:
        head: the beginning of a file.
    """
    from pydicom.dataelem import RawDataElement, empty_value_for_VR
    from pydicom.tag import BaseTag

    short, long = struct.Struct("<HH2sH").unpack_from, struct.Struct("<L").unpack_from
    found: dict[Any, Any] = {}
    place, last, end = _PREAMBLE + 4, _FIRST - 1, len(head) - 12
    while head[_PREAMBLE : _PREAMBLE + 4] == b"DICM" and place <= end:
        group, number, letters, length = short(head, place)
        kind, tag, start = _KINDS.get(letters), BaseTag(group << 16 | number), place + 8
        if kind is None or tag <= last:
            break
        if kind in LONG_KINDS:
            (length,), start = long(head, start), place + 12
        place, last = start + length, tag
        if tag == PIXEL_DATA:
            found[tag] = RawDataElement(tag, kind, length, None, start, False, True)
            return found
        value: Any = head[start:place] if length else empty_value_for_VR(kind, raw=True)
        found[tag] = RawDataElement(tag, kind, length, value, start, False, True)
    return {}


@lru_cache(maxsize=16)
def _encodings(element: Any | None) -> Any:
    """How texts are written, as the element with the character set says."""
    from pydicom.charset import convert_encodings, default_encoding
    from pydicom.dataelem import convert_raw_data_element

    if element is None:
        return default_encoding
    return convert_encodings(convert_raw_data_element(element).value)
