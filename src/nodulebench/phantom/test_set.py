"""Number of patients and a seed -> a test set on disk: images, masks, truth in three formats.

The folder is a bundle (tables, manifest, ``images/``) and holds ``nifdc.csv`` and ``luna16/`` too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.executor import (
    IN_PROCESS,
    Executor,
    FailedTask,
    Progress,
    TaskLimits,
    in_order,
    no_progress,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import CASES, Reference
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.imaging.volume import Volume
from nodulebench.io import bundle
from nodulebench.io.atomic import staged_folder
from nodulebench.io.dicom import volumes as dicom_volume
from nodulebench.io.dicom.header import SeriesHeader
from nodulebench.io.images import metaimage, nifti
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.io.marks import nifdc as nifdc_csv
from nodulebench.phantom.patient import (
    SCANNER,
    Growth,
    NodulePlan,
    Patient,
    People,
    follow_up,
    make_patient,
    stream,
)
from nodulebench.phantom.scan import PhantomScan, scan_patient
from nodulebench.phantom.scanner import Scanner, StudyFacts, Vendor, random_scanner, series_header
from nodulebench.phantom.truth import nodule_mask, nodule_rows, nodule_tables, slice_rows

IMAGE_FORMATS = ("metaimage", "dicom", "nifti")
FIRST_DAY = date(2024, 1, 8)
FOLLOW_UP_DAYS = (90, 400)


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """How all patients shall be scanned; what is None is left to chance."""

    slice_thickness_mm: float | None = None
    kernel: str | None = None
    exposure_mas: float | None = None

    def applied(self, scanner: Scanner) -> Scanner:
        thickness = self.slice_thickness_mm
        return replace(
            scanner,
            slice_thickness_mm=thickness or scanner.slice_thickness_mm,
            slice_spacing_mm=thickness or scanner.slice_spacing_mm,
            kernel=self.kernel or scanner.kernel,
            exposure_mas=self.exposure_mas or scanner.exposure_mas,
        )


@dataclass(frozen=True)
class PhantomCase:
    """One scan with all that is known of it."""

    case_id: str
    patient: Patient
    scanner: Scanner
    vendor: Vendor
    scan: PhantomScan
    header: SeriesHeader
    days: int
    """Since the patient's first scan."""
    growth: tuple[Growth, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PhantomOptions:
    """What a test set of phantoms contains; None: left to chance, scan by scan."""

    cases: int = 3
    """Patients."""
    seed: int = 0
    people: People = "healthy"
    matrix: int = 512
    """Pixels along a side of a slice."""
    thickness: float | None = None
    """Slice thickness and spacing in mm."""
    kernel: str | None = None
    dose: float | None = None
    """In mAs."""
    has_follow_up: bool = False
    """Whether every patient is scanned again, months later."""
    image_formats: tuple[str, ...] = ("metaimage",)
    """Any of ``IMAGE_FORMATS``."""
    has_masks: bool = True
    """Whether nodules and lungs are also written as label volumes."""

    def scans_of(self, number: int) -> Iterator[PhantomCase]:
        """The scan of a patient, and the one of months later where there is one."""
        plan = ScanPlan(self.thickness, self.kernel, self.dose)
        patient = make_patient(self.seed, number, people=self.people)
        yield _make_case(patient, 0, 0, (), self.matrix, plan)
        if self.has_follow_up:
            days = int(stream(self.seed, number * 1000 + 1, SCANNER).integers(*FOLLOW_UP_DAYS))
            later, growth = follow_up(patient, days)
            yield _make_case(later, 1, days, growth, self.matrix, plan)


def make_cases(
    count: int,
    seed: int,
    *,
    matrix: int = 512,
    has_follow_up: bool = False,
    scan_plan: ScanPlan | None = None,
    people: People = "healthy",
) -> Iterator[PhantomCase]:
    """The scans of ``count`` patients, and of the same patients months later if asked for."""
    plan = scan_plan or ScanPlan()
    options = PhantomOptions(
        seed=seed,
        people=people,
        matrix=matrix,
        thickness=plan.slice_thickness_mm,
        kernel=plan.kernel,
        dose=plan.exposure_mas,
        has_follow_up=has_follow_up,
    )
    for number in range(1, count + 1):
        yield from options.scans_of(number)


def make_case(
    seed: int,
    number: int,
    *,
    matrix: int = 512,
    plans: Sequence[NodulePlan] | None = None,
    scan_plan: ScanPlan = ScanPlan(),
) -> PhantomCase:
    return _make_case(make_patient(seed, number, plans), 0, 0, (), matrix, scan_plan)


def _make_case(
    patient: Patient,
    repeat: int,
    days: int,
    growth: tuple[Growth, ...],
    matrix: int,
    plan: ScanPlan = ScanPlan(),
) -> PhantomCase:
    random = stream(patient.seed, patient.number * 1000 + repeat, SCANNER)
    chest = patient.chest
    half_width = chest.half_width + chest.wall_mm + chest.fat_mm
    vendor, scanner = random_scanner(random, matrix=matrix, half_width_mm=half_width)
    scanner = plan.applied(scanner)
    position = np.round(random.uniform((-12, -12, -400), (12, 12, 200)), 1)
    case_id = f"phantom-{patient.number:04d}" + ("-follow-up" if repeat else "")
    day = FIRST_DAY + timedelta(days=days + 3 * patient.number)
    study = StudyFacts(
        case_id=case_id,
        patient_id=patient.patient_id,
        seed=patient.seed,
        is_female=chest.is_female,
        age=patient.age,
        study_date=f"{day:%Y%m%d}",
        is_enhanced=chest.is_enhanced,
    )
    header = series_header(vendor, scanner, study)
    scan = scan_patient(patient, scanner, position_mm=position, repeat=repeat)
    return PhantomCase(case_id, patient, scanner, vendor, scan, header, days, growth)


def write_test_set(
    folder: Path,
    cases: Iterable[PhantomCase],
    *,
    image_formats: Sequence[str] = ("metaimage",),
    has_masks: bool = True,
    progress: Progress = no_progress,
) -> Reference:
    """Write scans as they are made, then their truth; the folder gets all of it at once.

    ``cases``: made one by one, so that only one is in memory.
    """
    options = PhantomOptions(image_formats=tuple(image_formats), has_masks=has_masks)

    def write(stage: Path) -> Iterator[WrittenScan]:
        return (write_scan(case, stage, options) for case in cases)

    return write_truth(folder, options, write, progress)


@dataclass(frozen=True, slots=True)
class WrittenScan:
    """What is known of a scan whose images are written."""

    case: JsonObject
    nodules: list[JsonObject]
    slices: list[JsonObject]
    summary: str


def write_scan(case: PhantomCase, stage: Path, options: PhantomOptions) -> WrittenScan:
    name, volume, images = case.case_id, case.scan.volume, stage / "images"
    if "metaimage" in options.image_formats:
        metaimage.write_volume(volume, images / f"{name}.mhd")
    if "dicom" in options.image_formats:
        dicom_volume.write_volume(volume, images / name, case.header)
    if "nifti" in options.image_formats:
        nifti.write_volume(volume, images / f"{name}.nii.gz")
    if options.has_masks:
        _write_masks(case, stage / "masks")
    rows = nodule_rows(name, case.scan.nodules)
    known = {change.nodule_id: change for change in case.growth}
    for row in rows:
        change = known.get(row["nodule_id"])
        row["volume_ratio"] = None if change is None else change.volume_ratio
        row["doubling_days"] = None if change is None else change.doubling_days
    sections = slice_rows(name, case.scan.nodules, volume.geometry)
    slices, height, columns = volume.shape
    kinds = [f"{nodule.type} {nodule.shape.diameter_mm:.1f} mm" for nodule in case.scan.nodules]
    summary = (
        f"{name}: {columns} x {height} x {slices}, {case.vendor.manufacturer} "
        f"{case.header.kernel}, {', '.join(kinds) or 'no nodule'}"
    )
    return WrittenScan(_case_row(case), rows, sections, summary)


def write_truth(
    folder: Path,
    options: PhantomOptions,
    write: Callable[[Path], Iterable[WrittenScan]],
    progress: Progress = no_progress,
) -> Reference:
    raise_problems(
        Problem("image format", f"'{name}' is not one of {', '.join(IMAGE_FORMATS)}.")
        for name in options.image_formats
        if name not in IMAGE_FORMATS
    )
    with staged_folder(folder, last=bundle.MANIFEST) as stage:
        scans: list[WrittenScan] = []
        for scan in write(stage):
            scans.append(scan)
            progress(scan.summary, len(scans), 0)
        nodules = [row for scan in scans for row in scan.nodules]
        tables = nodule_tables(nodules, [row for scan in scans for row in scan.slices])
        rows = pl.DataFrame([scan.case for scan in scans], infer_schema_length=None)
        table = CASES.conform(rows, "phantom cases")
        reference = Reference(folder.resolve().name, table, *tables, rule="phantom")
        luna16_csv.write_reference(reference, stage / "luna16")
        nifdc_csv.write_reference(reference, stage / "nifdc.csv")
        bundle.write_reference(reference, stage)
    return reference


def _write_masks(case: PhantomCase, folder: Path) -> None:
    """Lungs (1 right, 2 left) and nodules (1 for the first nodule, 2 for the second, ...)."""
    geometry = case.scan.volume.geometry
    labels = np.zeros(case.scan.volume.shape, dtype=np.int16)
    for number, nodule in enumerate(case.scan.nodules, start=1):
        box, inside = nodule_mask(nodule, geometry)
        labels[box][inside] = number
    lungs = case.scan.lungs.astype(np.int16)
    metaimage.write_volume(Volume(labels, geometry), folder / f"{case.case_id}_nodules.mhd")
    metaimage.write_volume(Volume(lungs, geometry), folder / f"{case.case_id}_lungs.mhd")


def _case_row(case: PhantomCase) -> JsonObject:
    scanner, condition = case.scanner, case.patient.condition
    return {
        "case_id": case.case_id,
        "patient_id": case.patient.patient_id,
        **geometry_columns(case.scan.volume.geometry),
        "series_uid": case.header.series_uid,
        "sex": case.header.patient_sex,
        "age": case.patient.age,
        "vendor": case.vendor.name,
        "kernel": case.header.kernel,
        "slice_thickness_mm": scanner.slice_thickness_mm,
        "exposure_mas": scanner.exposure_mas,
        "is_contrast_enhanced": bool(case.header.contrast_agent),
        "days": case.days,
        **({} if condition is None else condition.columns()),
    }


TERMS = TaskLimits(seconds=3600.0, memory_bytes=None, preload=("nodulebench.phantom.test_set",))


def make_phantoms(
    out: Path,
    options: PhantomOptions,
    *,
    executor: Executor = IN_PROCESS,
    progress: Progress = no_progress,
) -> Reference:
    """Write the scans of synthetic patients and their truth; return the truth.

    A patient depends only on seed and number, so that every executor makes the same one.

    Raises:
        InputError: if the folder cannot be written to, or a worker was lost.
    """

    def write(stage: Path) -> Iterator[WrittenScan]:
        task = partial(write_patient, options=options, stage=stage.resolve())
        numbers = range(1, options.cases + 1)
        for number, written in in_order(executor.map(task, numbers, TERMS)):
            if isinstance(written, FailedTask):
                what = f"was not made: {in_english(written.why)}."
                raise InputError.at(f"patient {number + 1}", what, "Make them again.")
            yield from written

    return write_truth(out, options, write, progress)


def write_patient(number: int, options: PhantomOptions, stage: Path) -> list[WrittenScan]:
    return [write_scan(scan, stage, options) for scan in options.scans_of(number)]
