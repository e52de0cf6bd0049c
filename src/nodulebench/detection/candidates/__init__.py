"""Candidate detectors, one file each: a chest -> candidates. One line here adds a detector."""

from typing import TYPE_CHECKING

from nodulebench.core.registry import Registry

if TYPE_CHECKING:
    from nodulebench.detection.scan import Detector

NAMES = ("isicad", "subsolidcad", "largecad", "etrocad", "m5l", "mot_m5lv1")

LONGEST_FIRST = ("m5l", "isicad", "etrocad", "mot_m5lv1", "subsolidcad", "largecad")
"""Two detectors started in this order end soonest: ISICAD's voxels are computed next to M5L's,
and ETROCAD takes the dots for M5L while its ants walk."""

DETECTORS: "Registry[Detector]" = Registry(
    "candidate detector", "detectors", {name: f"{__name__}.{name}:detect" for name in NAMES}
)
