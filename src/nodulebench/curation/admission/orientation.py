"""Series -> whether its slices are axial and at right angles to the table."""

import numpy as np

from nodulebench.core.notices import Notice
from nodulebench.curation.admission.reasons import Reason, Subject
from nodulebench.io.dicom.series import upward_normal
from nodulebench.io.dicom.stack import tilt_degrees


def not_axial(subject: Subject) -> Reason | None:
    """Slices are coronal, sagittal or oblique."""
    cosines = subject.series.orientation
    if cosines is None:
        return None
    normal = upward_normal(cosines)
    off = float(np.degrees(np.arccos(np.clip(abs(normal[2]), 0.0, 1.0))))
    if off <= subject.limits.largest_obliquity_degrees:
        return None
    name = ("sagittal", "coronal", "oblique_axial")[int(np.argmax(np.abs(normal)))]
    return Reason(Notice("slices_off_axial", {"plane": name, "degrees": off}))


def gantry_tilt(subject: Subject) -> Reason | None:
    """The gantry was tilted: slices shift sideways from one to the next."""
    limit = subject.limits.largest_tilt_degrees
    said = [one.tilt_degrees or 0.0 for one in subject.series.slices]
    worst = max(said, key=abs)
    if abs(worst) > limit:
        return Reason(Notice("gantry_tilted", {"degrees": worst}))
    if len(subject.series.slices) < 3:
        return None
    angle = tilt_degrees(subject.series)
    return Reason(Notice("slices_shift", {"degrees": angle})) if angle > limit else None
