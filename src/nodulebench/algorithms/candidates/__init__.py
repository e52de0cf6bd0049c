"""Candidate detectors, one file each: a chest -> candidates. One line here adds a detector."""

from typing import TYPE_CHECKING

from nodulebench.registry import Registry

if TYPE_CHECKING:
    from nodulebench.algorithms.candidate import Detector

DETECTORS: "Registry[Detector]" = Registry(
    "candidate detector",
    "detectors",
    {
        "isicad": "nodulebench.algorithms.candidates.isicad:detect",
        "subsolidcad": "nodulebench.algorithms.candidates.subsolidcad:detect",
        "largecad": "nodulebench.algorithms.candidates.largecad:detect",
        "etrocad": "nodulebench.algorithms.candidates.etrocad:detect",
        "m5l": "nodulebench.algorithms.candidates.m5l:detect",
        "mot_m5lv1": "nodulebench.algorithms.candidates.mot_m5lv1:detect",
    },
)
