"""Slice headers and series as tests need them: twenty-four even axial slices, with changes."""

from dataclasses import replace
from typing import Any

from nodulebench.io.dicom.header import CT_IMAGE_STORAGE
from nodulebench.io.dicom.series import Series, in_order
from nodulebench.io.dicom.slices import EXPLICIT_LITTLE, PixelLayout, SliceHeader

PIXELS = PixelLayout(
    EXPLICIT_LITTLE, 512, 512, 1, 1, 16, 16, True, "MONOCHROME2", 1000, 524288, 524288
)


def slice_header(number: int = 0, **changes: Any) -> SliceHeader:
    """Slice ``number`` of a series of 2.5 mm, counted from the feet."""
    pixels = replace(PIXELS, **changes.pop("pixels", {}))
    header = SliceHeader(
        path=f"/archive/scan/{number:04d}.dcm",
        frame=0,
        size_bytes=525288,
        series_uid="1.2.3",
        sop_uid=f"1.2.3.{number}",
        sop_class=CT_IMAGE_STORAGE,
        modality="CT",
        study_uid="1.2",
        patient_id="P1",
        image_type=("ORIGINAL", "PRIMARY", "AXIAL"),
        pixels=pixels,
        instance_number=number + 1,
        position_mm=(-180.0, -180.0, 2.5 * number),
        orientation=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0),
        pixel_spacing_mm=(0.7, 0.7),
        thickness_mm=2.5,
        slope=1.0,
        intercept=-1024.0,
    )
    return replace(header, **changes)


def series_of(*slices: SliceHeader) -> Series:
    """Slices in order."""
    return Series(in_order(slices))


def even_series(count: int = 24, **changes: Any) -> list[SliceHeader]:
    """Slices without any defect, or with the same change in all."""
    return [slice_header(number, **changes) for number in range(count)]
