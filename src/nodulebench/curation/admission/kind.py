"""Series -> whether it is a CT scan at all."""

from nodulebench.core.notices import Notice
from nodulebench.curation.admission.reasons import Reason, Subject
from nodulebench.io.dicom.series import is_localizer
from nodulebench.io.dicom.slices import CT_CLASSES

SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
PROJECTION_WORDS = frozenset(
    {"MIP", "MINIP", "MAX_IP", "MIN_IP", "PROJECTION", "SSD", "VRT", "VOLREN"}
)
"""In an image type: values are maxima, minima or surfaces of many slices."""


def not_ct(subject: Subject) -> Reason | None:
    """The modality is not CT, or the object is no CT image: another scanner, a report, a mask."""
    first = subject.series.slices[0]
    if first.modality != "CT":
        return Reason(Notice("other_modality", {"modality": first.modality}))
    if first.sop_class not in CT_CLASSES and not first.sop_class.startswith(SECONDARY_CAPTURE):
        return Reason(Notice("other_sop_class", {"sop_class": first.sop_class}))
    return None


def localizer(subject: Subject) -> Reason | None:
    """An overview image (scout, topogram) taken to plan the scan."""
    first = subject.series.slices[0]
    if not is_localizer(first):
        return None
    return Reason(Notice("localizer_type", {"type": "/".join(first.image_type)}))


def secondary_capture(subject: Subject) -> Reason | None:
    """A picture of images, not a scan: a screen, a dose report, a projection, colours, 8 bits."""
    first = subject.series.slices[0]
    pixels = first.pixels
    if first.modality != "CT" or not pixels.rows:
        return None
    if first.sop_class.startswith(SECONDARY_CAPTURE) or first.has_conversion_type:
        return Reason(Notice("secondary_capture"))
    if not PROJECTION_WORDS.isdisjoint(" ".join(first.image_type).upper().split()):
        return Reason(Notice("projection", {"type": "/".join(first.image_type)}))
    if pixels.samples != 1 or not pixels.photometric.startswith("MONOCHROME"):
        values = {"photometric": pixels.photometric, "samples": pixels.samples}
        return Reason(Notice("colours", values))
    if pixels.bits_allocated < 16:
        return Reason(Notice("few_bits", {"bits": pixels.bits_allocated}))
    return None
