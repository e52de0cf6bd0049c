"""CASES of a curation say what follows from headers and dose reports."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nodulebench.curation import cases as case_table
from nodulebench.curation.admission_checks import Limits
from nodulebench.curation.cases import cases_table
from nodulebench.curation.curate import Curation
from nodulebench.curation.examine import ExaminedSeries
from nodulebench.curation.service import summary


def scan(uid: str, **facts: object) -> ExaminedSeries:
    return ExaminedSeries(
        uid=uid, name=uid, modality="CT", slices=120, files=(f"{uid}.dcm",), frames=(),
        reasons=(), waived=(), pixel_sha256="", perceptual_hash="", pictures=(),
        geometry={"spacing_z_mm": 2.5}, facts=facts,
    )  # fmt: skip


def curated(*series: ExaminedSeries) -> Curation:
    return Curation(Path("archive"), Limits(), series, ())


def test_columns_hold_what_follows_from_headers() -> None:
    first = scan(
        "1.1",
        patient_id="p",
        study_date="20240101",
        manufacturer="SIEMENS",
        kernel="B70f",
        ctdi_vol_mgy=5.0,
        age="061Y",
    )
    later = replace(first, uid="1.2", facts={**first.facts, "study_date": "20250101", "age": "6M"})
    cases = cases_table(curated(first, later, scan("1.3")))
    names = ("vendor", "kernel_class", "scan_kind", "dlp_mgy_cm", "dose_msv", "dose_class", "age")
    # 5 mGy along 120 slices of 2.5 mm: 150 mGy cm
    assert cases.select(names).rows() == [
        ("Siemens", "lung", "first", 150.0, pytest.approx(2.1), "low", 61),
        ("Siemens", "lung", "follow_up", 150.0, pytest.approx(3.9), "normal", 0),
        (None,) * 7,
    ]


def test_the_dose_report_of_its_irradiation_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    doses = {"1.9": case_table.ReportedDose(4.0, 100.0), "1.8": case_table.ReportedDose(4.0, 50.0)}
    monkeypatch.setattr(case_table, "dose_events", lambda path: doses if path.name == "sr" else {})
    report = replace(scan("1.5"), modality="SR", files=("archive/sr",), reasons=(object(),))
    both = scan("1.1", irradiation_events="1.9\\1.8")
    half = scan("1.2", irradiation_events="1.9\\1.7", ctdi_vol_mgy=2.0)
    cases = cases_table(curated(both, half, report))
    # of the second one irradiation is not in the report: 2 mGy along 30 cm
    assert cases.select("dlp_mgy_cm", "dlp_source").rows() == [(150.0, "report"), (60.0, "header")]


def test_the_tables_that_were_used_are_written_down() -> None:
    tables = json.loads(json.dumps(summary(curated())))["derived_by"]
    assert tables["dose"]["adult_factor"] == 0.014
    assert tables["kernel_class"]["families"]["Canon"][0] == ["fc", 1, 29, "standard"]
    assert set(tables) == {"vendor", "kernel_class", "dose", "scan_kind"}
