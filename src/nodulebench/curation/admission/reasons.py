"""Reason: why a series is excluded; Subject: what a check examines."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field, field_validator

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import did_you_mean
from nodulebench.core.notices import Notice
from nodulebench.curation.admission.image import Anatomy, SeriesImage, see_anatomy
from nodulebench.io.dicom.series import Series


class Limits(ConfigModel):
    """The limits of admission; lengths in mm, areas and volumes of lung in the image."""

    smallest_matrix: int = Field(512, ge=1)
    """Rows and columns that a slice must have at least (ITU FG-AI4H)."""
    largest_thickness_mm: float = Field(3.0, gt=0)
    """Slices may be this thick (LUNA16 leaves out scans above 3 mm)."""
    fewest_slices: int = Field(20, ge=2)
    """Fewest slices of a scan of a chest."""
    spacing_tolerance_mm: float = Field(0.05, ge=0)
    """How far a slice may be from its regular position: headers round to about a hundredth."""
    largest_tilt_degrees: float = Field(1.0, ge=0)
    """How far slices may be tilted against the table."""
    largest_obliquity_degrees: float = Field(20.0, ge=0)
    """How far slices may be rotated from axial."""
    smallest_lung_ml: float = Field(500.0, ge=0)
    """Least lung volume of a chest; one lung is enough."""
    largest_end_share: float = Field(0.1, ge=0, le=1)
    """Largest area of lung on the first or last slice, as a share of its widest cross-section."""
    largest_cut_mm: float = Field(10.0, ge=0)
    """Length of the body along which the field of view may cut the lungs."""
    near_duplicate_similarity: float = Field(0.84, gt=0.5, le=1)
    """Share of equal bits from which two perceptual hashes are those of one scan."""
    waived: tuple[str, ...] = ()
    """Codes that do not exclude a series; they are still reported."""

    @field_validator("waived")
    @classmethod
    def _codes_are_known(cls, waived: tuple[str, ...]) -> tuple[str, ...]:
        from nodulebench.curation.admission.checks import (
            CHECKS,  # imported here because the checks import limits
        )
        from nodulebench.curation.duplicates import DUPLICATE_CODES

        known = [*CHECKS, *DUPLICATE_CODES]
        strange = [code for code in waived if code not in known]
        hints = {code: did_you_mean(code, known) for code in strange}
        wrong = [f"'{code}' is not a code{hint and '.'}{hint}" for code, hint in hints.items()]
        if wrong:
            raise ValueError("; ".join(wrong))
        return waived


@dataclass(frozen=True, slots=True)
class Reason:
    """The finding of a check, and the files that it concerns (none: the whole series)."""

    notice: Notice | str
    """A code with values; a check of another package may give a sentence."""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A series with its image; None where the image cannot be read."""

    series: Series
    image: SeriesImage | None
    limits: Limits

    @cached_property
    def anatomy(self) -> Anatomy | None:
        """What the image shows; None without an image, or where it is too small."""
        image = self.image
        if image is None or len(image.hu) < 2 or min(image.hu.shape) < 2 or not image.is_read.all():
            return None
        return see_anatomy(image.hu, image.step_mm)


Check = Callable[[Subject], Reason | None]
"""``check(subject)``: why the series must be excluded, or None."""
