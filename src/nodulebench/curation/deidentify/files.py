"""A DICOM file -> the same slice without identities in a new file, checked before it is written."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodulebench.core.errors import first_line
from nodulebench.core.notices import Notice
from nodulebench.core.optional_packages import needs
from nodulebench.curation.deidentify.burned_in import check_header, find_text, scales_of
from nodulebench.curation.deidentify.check import (
    elements_in,
    is_known_clean,
    leftovers,
    remember_clean,
    words_in,
)
from nodulebench.curation.deidentify.clean import cleaned_elements
from nodulebench.curation.deidentify.codec import (
    PIXEL_DATA,
    Memory,
    NotCleanableError,
    elements_of,
    encoding_of,
    file_of,
    picture_of,
    read_dataset,
)
from nodulebench.curation.deidentify.identity import (
    Identity,
    Pseudonyms,
    identity_of,
    is_registered,
)
from nodulebench.curation.deidentify.pixels import Picture, picture_in
from nodulebench.io.atomic import staged_file
from nodulebench.io.dicom.files import text_of
from nodulebench.io.dicom.slices import CT_CLASSES

if TYPE_CHECKING:
    from pydicom.dataset import Dataset


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome for one file."""

    source: str
    written: str = ""
    """Path below the target folder; empty: the file was refused."""
    refused: Notice | None = None
    """Why it was refused."""
    patient: str = ""
    """The patient in the original."""
    pseudonym: str = ""
    study: tuple[str, str] = ("", "")
    """Study UID before and after."""
    series: tuple[str, str] = ("", "")
    """Series UID before and after."""
    days: int = 0
    bytes_read: int = 0


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress warnings of the parser: the checks of the result cover odd headers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@_quietly()
def deidentify_file(
    path: Path,
    out: Path,
    pseudonyms: Pseudonyms,
    *,
    has_pixel_check: bool = True,
    memory: Memory | None = None,
    within: Path | None = None,
) -> FileOutcome:
    """Write a slice without identities below ``out``, if it can be shown that none are left.

    Args:
        path: the original.
        out: where the slice goes, by patient and series.
        pseudonyms: replace the identities.
        has_pixel_check: whether text is searched for in the image.
        memory: results of earlier slices; the output does not depend on them.
        within: a folder on the same disk for incomplete files; None: next to the target.

    Raises:
        InputError: if the slice cannot be written.
    """
    source, memory, size = str(path), memory or Memory(0), 0
    try:
        dataset = read_dataset(path)
        size = path.stat().st_size
        elements = elements_of(dataset)
        _quarantine(dataset)
        picture = picture_in(dataset, dict(elements)[PIXEL_DATA], path)
        if has_pixel_check:
            quarantine_text(dataset, picture)
        identity = identity_of(dataset, elements, memory)
        own, series, study = _uids_of(dataset)  # before they are changed
        content = _cleaned(dataset, elements, picture, identity, pseudonyms, memory)
        quarantine_identities(content[0], identity, memory)
    except NotCleanableError as error:
        return FileOutcome(source, refused=error.notice, bytes_read=size)
    except Exception as error:  # a damaged header may break any part of the parser
        why = Notice("slice_unreadable", {"told": first_line(error)})
        return FileOutcome(source, refused=why, bytes_read=size)
    name, new_series = pseudonyms.patient(identity.patient), pseudonyms.uid(series)
    written = f"{name}/{new_series}/{pseudonyms.uid(own)}.dcm"
    with staged_file(out / written, within=within) as stage, stage.open("wb") as file:
        file.writelines(content)
    return FileOutcome(
        source,
        written,
        None,
        identity.patient,
        name,
        (study, pseudonyms.uid(study)),
        (series, new_series),
        pseudonyms.days(identity.patient),
        size,
    )


def _uids_of(dataset: "Dataset") -> list[str]:
    return [text_of(dataset, f"{name}InstanceUID") for name in ("SOP", "Series", "Study")]


def _quarantine(dataset: "Dataset") -> None:
    kind = text_of(dataset, "SOPClassUID")
    if kind not in CT_CLASSES:  # reports and documents hold text that no rule can clean
        raise NotCleanableError("no_ct_picture", sop_class=kind if is_registered(kind) else "")
    own, series, _ = _uids_of(dataset)
    if not all((own, series)) or any(is_registered(uid) for uid in (own, series)):
        raise NotCleanableError("no_own_uids")
    if "PixelData" not in dataset:
        raise NotCleanableError("pixels_absent")
    check_header(dataset)


def quarantine_text(dataset: "Dataset", picture: Picture) -> None:
    """Refuse an image into which text is drawn.

    Raises:
        NotCleanableError: if text was found.
    """
    scales = scales_of(dataset, len(picture.frames))
    for number, (frame, scale) in enumerate(zip(picture.frames, scales, strict=True), start=1):
        text = find_text(frame, *scale)
        if text is not None:
            which = number if len(picture.frames) > 1 else None
            raise NotCleanableError(
                "burned_in_seen",
                letters=text.letters,
                row=text.row,
                column=text.column,
                frame=which,
            )


def _cleaned(
    dataset: "Dataset",
    elements: list[tuple[int, Any]],
    picture: Picture,
    identity: Identity,
    pseudonyms: Pseudonyms,
    memory: Memory,
) -> list[bytes]:
    """The bytes of a file without identities, its pixels last."""
    sop_class, own = (text_of(dataset, f"SOP{name}UID") for name in ("Class", "Instance"))
    others = [(tag, element) for tag, element in elements if tag != PIXEL_DATA]
    cleaned = cleaned_elements(dataset, others, identity, pseudonyms, memory)
    pixels = picture_of(picture.content, picture.kind, encoding_of(dataset))
    header, pixels = file_of(cleaned, pixels, sop_class, pseudonyms.uid(own), picture.syntax)
    return [header, *pixels]


def quarantine_identities(header: bytes, identity: Identity, memory: Memory) -> None:
    """Read back the bytes of a file before it is written; refuse it if it still identifies.

    Raises:
        NotCleanableError: if something still identifies.
    """
    with needs("images", "DICOM"):
        import pydicom
    elements = elements_in(header)
    notices: list[Notice] = []
    if not is_known_clean(elements, identity, memory):
        dataset = pydicom.dcmread(BytesIO(header))
        notices = leftovers(dataset, identity, memory)
        if not notices:
            remember_clean(elements, dataset, identity, memory)
    notices += words_in(header, identity)
    if notices:
        raise NotCleanableError("identities_left", what=notices)


@_quietly()
def check_file(
    path: Path, memory: Memory | None = None, *, has_pixel_check: bool = True
) -> list[Notice]:
    """What in a file could still identify, without knowledge of the original.

    Args:
        path: the file.
        memory: results of earlier files.
        has_pixel_check: whether text is searched for in the image.
    """
    notices: list[Notice] = []
    try:
        dataset = read_dataset(path)
        pixels = dict(elements_of(dataset)).get(PIXEL_DATA)
        notices = leftovers(dataset, memory=memory)
        _quarantine(dataset)
        picture = picture_in(dataset, pixels, path)
        if picture.syntax != str(dataset.file_meta.TransferSyntaxUID):
            notices.append(Notice("left_compressed"))
        elif not _has_only_pixels(path, pixels, picture):
            notices.append(Notice("left_in_pixels"))
        if has_pixel_check:
            quarantine_text(dataset, picture)
    except NotCleanableError as error:
        return [*notices, error.notice]
    except Exception as error:  # as above
        return [*notices, Notice("slice_unreadable", {"told": first_line(error)})]
    return notices


def _has_only_pixels(path: Path, pixels: Any, picture: Picture) -> bool:
    """Whether Pixel Data holds only the image and a padding byte, and the file ends there."""
    value = pixels.value or b""
    is_only_picture = value == picture.content + bytes(len(picture.content) % 2)
    return bool(is_only_picture and pixels.value_tell + len(value) == path.stat().st_size)
