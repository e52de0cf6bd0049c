"""Reason: why a series is excluded; Subject: what a check looks at."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from nodulebench.core.notices import Notice
from nodulebench.curation.admission.anatomy import Anatomy, see_anatomy
from nodulebench.curation.admission.image import SeriesImage
from nodulebench.curation.admission.limits import Limits
from nodulebench.io.dicom.series import Series


@dataclass(frozen=True, slots=True)
class Reason:
    """What a check found, and the files it is about (none: the whole series)."""

    notice: Notice | str
    """A code with values; a check of another package may give a sentence."""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A series with its image; None where it has none that can be read."""

    series: Series
    image: SeriesImage | None
    limits: Limits

    @cached_property
    def anatomy(self) -> Anatomy | None:
        """What the image shows; None where there is none, or too little."""
        image = self.image
        if image is None or len(image.hu) < 2 or min(image.hu.shape) < 2 or not image.is_read.all():
            return None
        return see_anatomy(image.hu, image.step_mm)


Check = Callable[[Subject], Reason | None]
"""``check(subject)``: why the series has to be excluded, or None."""
