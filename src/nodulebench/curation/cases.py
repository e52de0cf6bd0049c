"""Curation -> CASES of the admitted series: what headers say, and what follows from it."""

from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.tables import CASES
from nodulebench.curation.admission.examine import Examined
from nodulebench.curation.composition import header_facts as dose
from nodulebench.curation.composition import kernels, scan_kinds
from nodulebench.curation.composition.header_facts import Dose, dose_of
from nodulebench.curation.composition.kernels import kernel_class_of
from nodulebench.curation.composition.vendors import VENDORS, vendor_of
from nodulebench.curation.curate import Curation
from nodulebench.io.dicom.dose_report import ReportedDose, dose_events

NUMBERS = {
    "tube_voltage_kv": "kvp",
    "tube_current_ma": "tube_current_ma",
    "exposure_mas": "exposure_mas",
}
TEXTS = {
    "manufacturer": "manufacturer",
    "model": "model",
    "hospital": "institution",
    "kernel": "kernel",
    "contrast_agent": "contrast_agent",
    "body_part": "body_part",
    "sex": "sex",
    "study_date": "study_date",
}
"""Column of the cases, as designs name it -> what a header says."""
DERIVED_BY = {
    "vendor": VENDORS,
    "kernel_class": kernels.TABLE,
    "dose": dose.TABLE,
    "scan_kind": scan_kinds.TABLE,
}
"""Column -> the table by which it follows from headers; curation.json has it."""
_DERIVED_TEXTS = ("study_uid", "vendor", "scan_kind", "kernel_class", "dlp_source", "dose_class")


def cases_table(curation: Curation) -> pl.DataFrame:
    """The admitted series as CASES, with what their headers say of scanner and patient."""
    reported = _reported(curation)
    rows = [_case_row(one, reported) for one in curation.admitted]
    if not rows:
        return CASES.empty()
    kinds: dict[str, type[pl.DataType]] = {
        **{column.name: column.dtype for column in CASES.columns},
        **dict.fromkeys((*_DERIVED_TEXTS, *TEXTS, "pixel_sha256"), pl.String),
        **dict.fromkeys(("slice_thickness_mm", *NUMBERS), pl.Float64),
        **{name: pl.Float64 for name in Dose._fields if name not in _DERIVED_TEXTS},
        "age": pl.Int64,
    }
    cases = pl.DataFrame(rows, schema=kinds, strict=False)
    said = [
        " ".join(str(one.facts.get(name, "")) for name in ("study_description", "description"))
        for one in curation.admitted
    ]
    found = scan_kinds.scan_kinds(
        cases["patient_id"].to_list(), cases["study_date"].to_list(), said
    )
    kinds_of_scan = pl.Series("scan_kind", found, dtype=pl.String)
    return CASES.conform(cases.with_columns(kinds_of_scan), "curated cases")


def _reported(curation: Curation) -> dict[str, ReportedDose]:
    """The dose of every irradiation that a report in the folder tells."""
    reports = (one for one in curation.series if one.modality == "SR")
    return {
        event: told
        for one in reports
        for path in one.files
        for event, told in dose_events(Path(path)).items()
    }


def _case_row(one: Examined, reported: dict[str, ReportedDose]) -> dict[str, Any]:
    facts = dict(one.facts)
    vendor = vendor_of(facts["manufacturer"]) if "manufacturer" in facts else None
    age = _years(str(facts.get("age", "")))
    return {
        "case_id": one.uid,
        "patient_id": facts.get("patient_id"),
        **one.geometry,
        "study_uid": facts.get("study_uid"),
        "vendor": vendor,
        "kernel_class": kernel_class_of(facts.get("kernel"), vendor),
        **{name: facts.get(said) for name, said in TEXTS.items()},
        "slice_thickness_mm": facts.get("slice_thickness_mm"),
        **{name: _number(facts.get(said)) for name, said in NUMBERS.items()},
        **_dose(one, age, reported)._asdict(),
        "age": None if age is None else int(age),
        "pixel_sha256": one.pixel_sha256,
    }


def _dose(one: Examined, age: float | None, reported: dict[str, ReportedDose]) -> Dose:
    """The dose of a series: of its irradiations as reported, else as its own header says."""
    events = str(one.facts.get("irradiation_events", "")).split("\\")
    told = [reported[event] for event in events if event in reported]
    products = [known for known in (each.dlp_mgy_cm for each in told) if known is not None]
    is_whole = len(products) == len(events)
    ctdi = _number(one.facts.get("ctdi_vol_mgy"))
    if ctdi is None and len(told) == 1:
        ctdi = told[0].ctdi_vol_mgy
    spacing = one.geometry.get("spacing_z_mm")
    length = None if spacing is None else one.slices * float(spacing)
    return dose_of(ctdi, length, age, sum(products) if is_whole else None)


def _years(age: str) -> float | None:
    """A DICOM age in years; None where it is none."""
    of_year = {"Y": 1.0, "M": 12.0, "W": 52.18, "D": 365.25}
    number, unit = age[:-1], age[-1:]
    return int(number) / of_year[unit] if number.isdigit() and unit in of_year else None


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
