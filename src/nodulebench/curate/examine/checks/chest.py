"""Series -> whether the image shows a whole chest; the header's body part is not asked."""

from nodulebench.curate.examine.reason import Reason, Subject


def not_chest(subject: Subject) -> Reason | None:
    """The image shows too little lung to be a chest."""
    seen, limits = subject.anatomy, subject.limits
    if seen is None or seen.lung_ml >= limits.smallest_lung_ml or seen.cut_mm > 0:
        return None
    return Reason(
        f"it shows {seen.lung_ml:.0f} ml of lung; the limit is {limits.smallest_lung_ml:g}"
    )


def cut_lungs(subject: Subject) -> Reason | None:
    """The field of view cuts the lungs: at its edge, or at the first or last slice."""
    seen, limits = subject.anatomy, subject.limits
    if seen is None:
        return None
    if seen.cut_mm > limits.largest_cut_mm:
        return Reason(f"its edge runs through lung along {seen.cut_mm:.0f} mm of the body")
    if seen.lung_ml < limits.smallest_lung_ml:
        return None
    for end, area in (("feet", seen.lowest_cm2), ("head", seen.highest_cm2)):
        if area > limits.largest_end_share * seen.widest_cm2:
            return Reason(f"it ends towards the {end} where lung still covers {area:.0f} cm²")
    return None
