"""A DICOM file -> the same slice without identities in a new file, checked before it is written."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from nodulebench.deidentify.burned_in import find_text, header_says_so
from nodulebench.deidentify.check import leftovers, words_in
from nodulebench.deidentify.clean import cleaned_elements
from nodulebench.deidentify.encode import PIXEL_DATA, encoding_of, file_of, picture_of
from nodulebench.deidentify.identity import Identity, identity_of
from nodulebench.deidentify.memory import UNDEFINED_LENGTH, Memory, elements_of
from nodulebench.deidentify.pseudonyms import Pseudonyms
from nodulebench.deidentify.read_back import elements_in, is_known_clean, remember_clean
from nodulebench.errors import first_line
from nodulebench.formats.dicom.slices import CT_CLASSES
from nodulebench.optional_package import needs
from nodulebench.storage.staging import staged_file


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file."""

    source: str
    written: str = ""
    """Path below the target folder; empty: the file was left out."""
    refused: str = ""
    """Why it was left out."""
    patient: str = ""
    """The patient as the original names them."""
    pseudonym: str = ""
    study: tuple[str, str] = ("", "")
    """Study UID before and after."""
    series: tuple[str, str] = ("", "")
    """Series UID before and after."""
    days: int = 0
    bytes_read: int = 0


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
        path: of the original.
        out: where the slice goes, by patient and series.
        pseudonyms: what stands in the place of identities.
        has_pixel_check: whether text is searched for in the picture.
        memory: of slices before; what is written is the same without.
        within: a folder on the same disk for what is not yet whole; None: beside its place.
    """
    with needs("images", "DICOM"):
        import pydicom
    source, memory = str(path), memory or Memory(0)
    try:
        dataset = pydicom.dcmread(path)
        elements = elements_of(dataset)
        size = path.stat().st_size
        refused = _refusal(dataset) or (_text_in(dataset) if has_pixel_check else "")
        if refused:
            return FileOutcome(source, refused=refused, bytes_read=size)
        identity = identity_of(dataset, elements, memory)
        study = str(dataset.get("StudyInstanceUID", ""))
        series = str(dataset.get("SeriesInstanceUID", ""))
        instance = pseudonyms.uid(str(dataset.SOPInstanceUID))
        header, picture = _cleaned(dataset, elements, identity, pseudonyms, memory)
        problems = _problems(header, identity, memory)
    except (pydicom.errors.InvalidDicomError, EOFError):
        return FileOutcome(source, refused="is no DICOM file")
    except Exception as error:  # a damaged header may break any part of the parser
        return FileOutcome(source, refused=f"cannot be read ({first_line(error)})")
    if problems:
        return FileOutcome(source, refused="; ".join(problems), bytes_read=size)
    name, new_series = pseudonyms.patient(identity.patient), pseudonyms.uid(series)
    written = f"{name}/{new_series}/{instance}.dcm"
    with staged_file(out / written, within=within) as stage, stage.open("wb") as file:
        file.writelines([header, *picture])
    return FileOutcome(
        source,
        written,
        "",
        identity.patient,
        name,
        (study, pseudonyms.uid(study)),
        (series, new_series),
        pseudonyms.days(identity.patient),
        size,
    )


def check_file(path: Path, memory: Memory | None = None) -> list[str]:
    """What in a file could still identify, without knowing what stood there before."""
    with needs("images", "DICOM"):
        import pydicom
    try:
        dataset = pydicom.dcmread(path, stop_before_pixels=True)
        return leftovers(dataset, memory=memory)
    except Exception as error:  # as above
        return [f"cannot be read ({first_line(error)})"]


def _refusal(dataset: Any) -> str:
    kind = str(dataset.get("SOPClassUID", ""))
    if kind not in CT_CLASSES:  # reports and documents hold text that no rule can clean
        return f"is no CT picture (class {kind or 'unknown'})"
    if not dataset.get("SOPInstanceUID") or not dataset.get("SeriesInstanceUID"):
        return "has no UIDs of its own"
    return header_says_so(dataset)


def _text_in(dataset: Any) -> str:
    """Whether text is drawn outside of the body; pictures that cannot be decoded are left out."""
    if "PixelData" not in dataset:
        return "has no picture"
    slope, intercept = (
        float(dataset.get(f"Rescale{name}", default))
        for name, default in (("Slope", 1), ("Intercept", 0))
    )
    with needs("images", "DICOM"):
        from pydicom.pixels.utils import pixel_array
    pixels = pixel_array(dataset)
    for number, picture in enumerate(pixels if pixels.ndim == 3 else [pixels], start=1):
        found = find_text(picture, slope, intercept)
        if found is not None:
            frame = f" on frame {number}" if pixels.ndim == 3 else ""
            return f"text seems to be burned in: {found}{frame}"
    return ""


def _cleaned(
    dataset: Any,
    elements: list[tuple[int, Any]],
    identity: Identity,
    pseudonyms: Pseudonyms,
    memory: Memory,
) -> tuple[bytes, list[bytes]]:
    """The bytes of a file without identities, and of its picture."""
    sop_class, instance = str(dataset.SOPClassUID), pseudonyms.uid(str(dataset.SOPInstanceUID))
    syntax = dataset.file_meta.TransferSyntaxUID
    others = [(tag, element) for tag, element in elements if tag != PIXEL_DATA]
    kept = cleaned_elements(dataset, others, identity, pseudonyms, memory)
    pixels = dict(elements).get(PIXEL_DATA)
    picture = []
    if pixels is not None:
        has_own_rules = syntax.is_private and not syntax.is_transfer_syntax
        is_encapsulated = (
            pixels.length == UNDEFINED_LENGTH if has_own_rules else syntax.is_encapsulated
        )
        picture = picture_of(pixels, encoding_of(dataset), is_encapsulated=is_encapsulated)
    return file_of(kept, picture, sop_class, instance, str(syntax))


def _problems(header: bytes, identity: Identity, memory: Memory) -> list[str]:
    """What is left in a file as it would be written, read back from its bytes."""
    with needs("images", "DICOM"):
        import pydicom
    elements = elements_in(header)
    found: list[str] = []
    if not is_known_clean(elements, identity, memory):
        dataset = pydicom.dcmread(BytesIO(header))
        found = leftovers(dataset, identity, memory)
        if not found:
            remember_clean(elements, dataset, identity, memory)
    return [*found, *words_in(header, identity)]
