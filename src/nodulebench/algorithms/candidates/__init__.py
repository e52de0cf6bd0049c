"""Candidate detectors, one file each: a chest -> candidates. One line here adds a detector."""

from typing import TYPE_CHECKING

from nodulebench.registry import Registry

if TYPE_CHECKING:
    from nodulebench.algorithms.candidate import Detector

NAMES = ("isicad", "subsolidcad", "largecad", "etrocad", "m5l", "mot_m5lv1")

DETECTORS: "Registry[Detector]" = Registry(
    "candidate detector", "detectors", {name: f"{__name__}.{name}:detect" for name in NAMES}
)
