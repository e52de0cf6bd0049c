"""Scanner: a canvas in HU -> the slices that a CT scanner would make of it.

A slice is the mean over its thickness, blurred and sharpened by the reconstruction kernel, with
noise as filtered back-projection leaves it: correlated by the kernel, stronger along the body's
widest direction, weaker in the lungs and with more dose.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.core.errors import Problem, raise_problems
from nodulebench.io.dicom.header import SeriesHeader, uid_from
from nodulebench.phantom.canvas import Canvas, Field

LOWEST_HU, HIGHEST_HU = -1024, 3071
FINEST_STEP_MM = 1.3
"""Slices further apart than this are drawn as several and averaged."""
REFERENCE_NOISE_HU = 21.0
"""In soft tissue at 100 mAs, 1 mm and the standard kernel."""
REFERENCE_PATH_MM = 200.0
"""How much water the beam passes in the body that this noise holds for."""
WATER_PER_MM = 0.0195
CURRENT_MODULATION = 0.4
"""How much of the difference in absorption the tube current leaves: 1 nothing is compensated."""
LOCAL_NOISE = 0.9
"""How much lower noise is where there is little tissue around."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A reconstruction kernel by its modulation transfer: (1 + boost t) exp(-b t), t = (f/f50)²."""

    half_per_mm: float
    """Spatial frequency at which half of the contrast is left."""
    boost: float
    """Above 1 edges are overshot."""

    def transfer(self, square_per_mm2: Field) -> Field:
        relative = square_per_mm2 * np.float32(1 / self.half_per_mm**2)
        decay = np.float32(np.log(2 * (1 + self.boost)))
        left: Field = (1 + np.float32(self.boost) * relative) * np.exp(-decay * relative)
        return left


KERNELS = {
    "smooth": Kernel(0.27, 0.0),
    "standard": Kernel(0.35, 0.4),
    "sharp": Kernel(0.52, 2.2),
    "edge": Kernel(0.66, 3.6),
}
"""From soft-tissue to bone kernels."""


@dataclass(frozen=True, slots=True)
class Scanner:
    """How a scan is made. Vendors' names for kernels are in ``vendors``."""

    slice_thickness_mm: float = 1.0
    slice_spacing_mm: float = 1.0
    pixel_mm: float = 0.7
    matrix: int = 512
    kernel: str = "standard"
    exposure_mas: float = 100.0
    padding_hu: int | None = None
    """Outside the round field of view, where the vendor marks it."""

    def __post_init__(self) -> None:
        problems = [
            Problem(
                f"scanner {name}", f"{value:g} {unit} is not between {low:g} and {high:g} {unit}."
            )
            for name, value, low, high, unit in (
                ("slice_thickness_mm", self.slice_thickness_mm, 0.5, 7.0, "mm"),
                ("slice_spacing_mm", self.slice_spacing_mm, 0.3, 10.0, "mm"),
                ("pixel_mm", self.pixel_mm, 0.3, 8.0, "mm"),
                ("matrix", self.matrix, 32, 1024, "pixels"),
                ("exposure_mas", self.exposure_mas, 1.0, 1000.0, "mAs"),
            )
            if not low <= value <= high
        ]
        if self.kernel not in KERNELS:
            problems.append(
                Problem("scanner kernel", f"'{self.kernel}' is not one of {', '.join(KERNELS)}.")
            )
        raise_problems(problems)

    @property
    def parts_per_slice(self) -> int:
        return int(np.ceil(self.slice_spacing_mm / FINEST_STEP_MM))


def slice_weights(scanner: Scanner) -> Field:
    """Weights of the planes around a slice's middle: a trapezoid as wide as the slice is thick."""
    step = scanner.slice_spacing_mm / scanner.parts_per_slice
    thickness = scanner.slice_thickness_mm
    reach = int(np.ceil(0.65 * thickness / step))
    finer = (np.arange(-(2 * reach + 1) * 10, (2 * reach + 1) * 10 + 1)) * step / 20
    profile = np.clip((0.65 * thickness - np.abs(finer)) / (0.3 * thickness), 0, 1)
    plane = np.clip(np.rint(finer / step).astype(int) + reach, 0, 2 * reach)
    weights = np.bincount(plane, weights=profile, minlength=2 * reach + 1)
    shares: Field = (weights / weights.sum()).astype(np.float32)
    return shares


def make_slices(
    canvas: Canvas, scanner: Scanner, random: np.random.Generator
) -> npt.NDArray[np.int16]:
    """The scan: one slice for every ``parts_per_slice`` planes of the canvas."""
    from scipy import fft

    weights = slice_weights(scanner)
    parts, reach = scanner.parts_per_slice, len(weights) // 2
    middles = range(parts // 2, len(canvas.z_mm), parts)
    size = scanner.matrix
    # spatial frequencies along x (half of them, as for real images) and y, in 1/mm
    across = np.fft.rfftfreq(size, scanner.pixel_mm).astype(np.float32)[None, :]
    down = np.fft.fftfreq(size, scanner.pixel_mm).astype(np.float32)[:, None]
    square = across**2 + down**2
    transfer = KERNELS[scanner.kernel].transfer(square)
    noise_filter = np.sqrt(np.sqrt(square)) * transfer
    correlation = max(0.0, 1 - scanner.slice_spacing_mm / scanner.slice_thickness_mm)
    spectrum = np.zeros(transfer.shape, dtype=np.complex64)
    scan = np.empty((len(middles), size, size), dtype=np.int16)
    level = _noise_level(scanner)
    for number, middle in enumerate(middles):
        planes = np.clip(np.arange(middle - reach, middle + reach + 1), 0, len(canvas.z_mm) - 1)
        plain = np.zeros((size, size), dtype=np.float32)
        for weight, plane in zip(weights, planes.tolist(), strict=True):
            if weight > 0:
                plain += weight * canvas.hu[plane]
        shown = fft.irfft2(fft.rfft2(plain) * transfer, s=plain.shape)
        fresh = random.standard_normal((*transfer.shape, 2), dtype=np.float32)
        keep = 0.0 if number == 0 else correlation
        spectrum = keep * spectrum + np.sqrt(1 - keep**2) * fresh.view(np.complex64)[..., 0]
        lean = _directional(down, square, plain, scanner.pixel_mm)
        noise = fft.irfft2(spectrum * (noise_filter * lean), s=plain.shape)
        shown += noise * (np.float32(level) * _local_share(plain))
        np.rint(shown, out=shown)
        scan[number] = np.clip(shown, LOWEST_HU, HIGHEST_HU)
    if scanner.padding_hu is not None:
        offset = np.arange(size) - (size - 1) / 2
        is_outside = offset[:, None] ** 2 + offset[None, :] ** 2 > (size / 2) ** 2
        scan[:, is_outside] = scanner.padding_hu
    return scan


def _noise_level(scanner: Scanner) -> float:
    """Factor that turns white unit noise in the frequency domain into HU."""
    size, pixel = scanner.matrix, scanner.pixel_mm
    reference = KERNELS["standard"]
    frequency = np.linspace(0, 2.0, 2001)
    square = (frequency**2).astype(np.float32)
    # noise power per area of the frequency plane is the frequency times the squared transfer
    power = np.trapezoid(2 * np.pi * frequency**2 * reference.transfer(square) ** 2, frequency)
    dose = scanner.exposure_mas / 100.0 * scanner.slice_thickness_mm
    per_power = REFERENCE_NOISE_HU / np.sqrt(power * dose)
    # the sum over the frequencies of an image approximates the integral over their plane
    return float(per_power * size / np.sqrt(2.0) / pixel)


def _directional(down: Field, square: Field, plain: Field, pixel_mm: float) -> Field:
    """Noise by direction: beams through the wide body make streaks along it."""
    # how much water the beam passes across and from front to back, through the body's middle
    water = np.clip(plain[::4, ::4] * 0.001 + 1, 0, 2)
    step = 4 * pixel_mm
    wide_mm, deep_mm = (float(np.percentile(water.sum(axis=at), 80) * step) for at in (1, 0))
    share = down * down / np.maximum(square, np.float32(1e-12))
    rate = 0.5 * WATER_PER_MM * CURRENT_MODULATION
    exponent = rate * ((wide_mm - deep_mm) * share + (deep_mm - REFERENCE_PATH_MM))
    return np.exp(exponent.astype(np.float32))


def _local_share(plain: Field) -> Field:
    """How strong noise is at each pixel: less where there is little tissue around."""
    from scipy import ndimage

    step = max(1, len(plain) // 32)
    water = np.clip(plain[::step, ::step] * 0.001 + 1, 0, 1)
    smooth = ndimage.gaussian_filter(water, 3.0, mode="constant")
    coarse = np.exp(LOCAL_NOISE * (smooth - 0.85)).astype(np.float32)
    rows = _stretched(coarse, len(plain))
    return np.ascontiguousarray(_stretched(np.ascontiguousarray(rows.T), len(plain)).T)


def _stretched(values: Field, length: int) -> Field:
    place = np.linspace(0, len(values) - 1, length)
    low = np.minimum(place.astype(int), len(values) - 2)
    share = (place - low).astype(np.float32)[:, None]
    between: Field = values[low] + share * (values[low + 1] - values[low])
    return between


@dataclass(frozen=True, slots=True)
class Vendor:
    """One maker's habits."""

    name: str
    """As tables of cases and designs name it; headers may differ."""
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
    """A vendor and a protocol as met in practice; the field of view holds a body of this width."""
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
    kernel = list(KERNELS)[int(random.choice(4, p=(0.15, 0.45, 0.3, 0.1)))]
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


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyFacts:
    """What a header states about the patient and the study of a scan."""

    case_id: str
    patient_id: str
    seed: int
    is_female: bool
    age: int
    study_date: str
    """As DICOM writes it: '20240108'."""
    is_enhanced: bool
    """Whether contrast medium was given."""


def series_header(vendor: Vendor, scanner: Scanner, study: StudyFacts) -> SeriesHeader:
    """The DICOM header of a scan; it states that the patient is a phantom."""
    time_ms = 500
    uid_parts = study.seed, study.case_id
    return SeriesHeader(
        series_uid=uid_from("nodulebench phantom series", *uid_parts),
        study_uid=uid_from("nodulebench phantom study", *uid_parts),
        frame_of_reference_uid=uid_from("nodulebench phantom frame", *uid_parts),
        patient_id=study.patient_id,
        patient_name=f"PHANTOM^{study.patient_id}",
        patient_sex="F" if study.is_female else "M",
        patient_age=f"{study.age:03d}Y",
        study_date=study.study_date,
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
        contrast_agent="IODINE" if study.is_enhanced else "",
        is_signed=vendor.is_signed,
        rescale_intercept=vendor.rescale_intercept,
        padding_hu=vendor.padding_hu,
        series_description=f"CHEST {scanner.slice_thickness_mm:g} {vendor.kernels[scanner.kernel]}",
        comment="Synthetic phantom, not a patient",
    )
