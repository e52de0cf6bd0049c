"""Series -> whether the image shows a whole chest; the header's body part is told, not asked."""

from nodulebench.core.notices import Notice
from nodulebench.curation.admission.reasons import Reason, Subject


def not_chest(subject: Subject) -> Reason | None:
    """The image shows too little lung to be a chest: tissue of its density, with vessels, in it."""
    seen, limits = subject.anatomy, subject.limits
    if seen is None or seen.lung_ml >= limits.smallest_lung_ml:
        return None
    if seen.cut_mm > limits.largest_cut_mm:  # a chest whose lungs are cut, and excluded for that
        return None
    said = subject.series.slices[len(subject.series.slices) // 2].facts.get("body_part")
    values = {"lung_ml": seen.lung_ml, "limit_ml": limits.smallest_lung_ml, "body_part": said}
    return Reason(Notice("little_lung", values))


def cut_lungs(subject: Subject) -> Reason | None:
    """The field of view cuts the lungs: at its edge, or at the first or last slice."""
    seen, limits = subject.anatomy, subject.limits
    if seen is None:
        return None
    if seen.cut_mm > limits.largest_cut_mm:
        return Reason(Notice("edge_through_lung", {"cut_mm": seen.cut_mm}))
    if seen.lung_ml < limits.smallest_lung_ml:
        return None
    for end, area in (("feet", seen.lowest_cm2), ("head", seen.highest_cm2)):
        if area > limits.largest_end_share * seen.widest_cm2:
            return Reason(Notice("ends_within_lung", {"end": end, "area_cm2": area}))
    return None
