"""Vendors of CT scanners -> how they name kernels, store voxels and fill DICOM headers."""

from dataclasses import dataclass

import numpy as np

from nodulebench.io.dicom.header import SeriesHeader, uid_from
from nodulebench.phantom.scanner import Scanner


@dataclass(frozen=True, slots=True)
class Vendor:
    """One maker's habits."""

    name: str
    """As tables of cases and designs name it, whatever headers say."""
    manufacturer: str
    model: str
    software: str
    kernels: dict[str, str]
    """Our kernels -> the vendor's names."""
    is_signed: bool = True
    rescale_intercept: int = -1024
    padding_hu: int | None = None


VENDORS = (
    Vendor(
        "GE",
        "GE MEDICAL SYSTEMS",
        "LightSpeed VCT",
        "gmp_vct.42",
        {"smooth": "SOFT", "standard": "STANDARD", "sharp": "LUNG", "edge": "BONE"},
        padding_hu=-3024,
    ),
    Vendor(
        "Siemens",
        "SIEMENS",
        "SOMATOM Definition AS",
        "syngo CT 2012B",
        {"smooth": "B20f", "standard": "B31f", "sharp": "B50f", "edge": "B70f"},
        is_signed=False,
    ),
    Vendor(
        "Philips",
        "Philips",
        "Brilliance 64",
        "4.1.6",
        {"smooth": "A", "standard": "B", "sharp": "L", "edge": "YD"},
        is_signed=False,
    ),
    Vendor(
        "Canon",
        "TOSHIBA",
        "Aquilion",
        "V4.86ER003",
        {"smooth": "FC07", "standard": "FC13", "sharp": "FC51", "edge": "FC86"},
        rescale_intercept=0,
    ),
    Vendor(
        "United Imaging",
        "UIH",
        "uCT 760",
        "R004",
        {"smooth": "B_SOFT_A", "standard": "B_SOFT_B", "sharp": "B_SHARP_C", "edge": "B_VSHARP_C"},
    ),
)


def random_scanner(
    random: np.random.Generator, *, matrix: int = 512, half_width_mm: float = 175.0
) -> tuple[Vendor, Scanner]:
    """A vendor and a protocol as they are met in practice: low and normal dose, thin and thick.

    Args:
        random: where chance comes from.
        matrix: pixels along a side.
        half_width_mm: half of the body's width, which the field of view has to hold.
    """
    vendor = VENDORS[int(random.integers(len(VENDORS)))]
    thickness, spacing = (
        (0.625, 0.625),
        (1.0, 0.7),
        (1.0, 1.0),
        (1.25, 1.25),
        (1.5, 1.0),
        (2.0, 1.8),
        (2.5, 2.5),
    )[int(random.choice(7, p=(0.08, 0.12, 0.25, 0.2, 0.1, 0.1, 0.15)))]
    kernel = ("smooth", "standard", "sharp", "edge")[
        int(random.choice(4, p=(0.15, 0.45, 0.3, 0.1)))
    ]
    exposure = float(np.exp(random.uniform(np.log(20), np.log(160))))
    field_mm = float(np.clip(2 * half_width_mm * random.uniform(0.96, 1.06), 280, 500))
    scanner = Scanner(
        slice_thickness_mm=thickness,
        slice_spacing_mm=spacing,
        pixel_mm=round(field_mm / matrix, 6),
        matrix=matrix,
        kernel=kernel,
        exposure_mas=round(exposure),
        padding_hu=vendor.padding_hu,
    )
    return vendor, scanner


def series_header(
    vendor: Vendor,
    scanner: Scanner,
    *,
    case_id: str,
    patient_id: str,
    seed: int,
    is_female: bool,
    age: int,
    study_date: str,
    is_enhanced: bool,
) -> SeriesHeader:
    """The DICOM header of a scan; it says that the patient is a phantom."""
    time_ms = 500
    return SeriesHeader(
        series_uid=uid_from("nodulebench phantom series", seed, case_id),
        study_uid=uid_from("nodulebench phantom study", seed, case_id),
        frame_of_reference_uid=uid_from("nodulebench phantom frame", seed, case_id),
        patient_id=patient_id,
        patient_name=f"PHANTOM^{patient_id}",
        patient_sex="F" if is_female else "M",
        patient_age=f"{age:03d}Y",
        study_date=study_date,
        manufacturer=vendor.manufacturer,
        model=vendor.model,
        software=vendor.software,
        station="CT01",
        kernel=vendor.kernels[scanner.kernel],
        kvp=120.0,
        tube_current_ma=round(scanner.exposure_mas / time_ms * 1000),
        exposure_time_ms=time_ms,
        exposure_mas=round(scanner.exposure_mas),
        slice_thickness_mm=scanner.slice_thickness_mm,
        contrast_agent="IODINE" if is_enhanced else "",
        is_signed=vendor.is_signed,
        rescale_intercept=vendor.rescale_intercept,
        padding_hu=vendor.padding_hu,
        series_description=f"CHEST {scanner.slice_thickness_mm:g} {vendor.kernels[scanner.kernel]}",
        comment="Synthetic phantom, not a patient",
    )
