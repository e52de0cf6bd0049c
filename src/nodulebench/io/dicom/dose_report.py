"""DICOM dose report (X-Ray Radiation Dose SR, TID 10011) -> CTDIvol and DLP by irradiation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nodulebench.core.errors import InputError
from nodulebench.io.dicom.files import read_header
from nodulebench.io.dicom.values import number_of, text_of

DOSE_REPORT_STORAGE = "1.2.840.10008.5.1.4.1.1.88.67"
ACQUISITION, EVENT, DOSE = "113819", "113769", "113829"
CTDI_VOL, DLP = "113830", "113838"
"""DICOM codes: CT acquisition, irradiation event UID, CT dose, mean CTDIvol, DLP."""


class ReportedDose(NamedTuple):
    """What a report says of one irradiation; None: nothing."""

    ctdi_vol_mgy: float | None
    dlp_mgy_cm: float | None


def dose_events(path: Path) -> dict[str, ReportedDose]:
    """For every irradiation event by its UID its dose; nothing where the file is no dose report."""
    try:
        data = read_header(path)
    except InputError:
        return {}  # a damaged report tells nothing; curation lists the file
    return dict(_events(data)) if text_of(data, "SOPClassUID") == DOSE_REPORT_STORAGE else {}


def _events(data: Any) -> Iterator[tuple[str, ReportedDose]]:
    for acquisition in _items(data, ACQUISITION):
        event = next((text_of(one, "UID") for one in _items(acquisition, EVENT)), "")
        dose = next(iter(_items(acquisition, DOSE)), None)
        if event and dose is not None:
            yield event, ReportedDose(_number(dose, CTDI_VOL), _number(dose, DLP))


def _items(item: Any, code: str) -> list[Any]:
    """The children of an item that have a concept."""
    return [one for one in item.get("ContentSequence") or () if _concept(one) == code]


def _concept(item: Any) -> str:
    for name in item.get("ConceptNameCodeSequence") or ():
        return text_of(name, "CodeValue")
    return ""


def _number(item: Any, code: str) -> float | None:
    for one in _items(item, code):
        for value in one.get("MeasuredValueSequence") or ():
            return number_of(value, "NumericValue")
    return None
