"""The page on detectors names the parameters that they have."""

import re

import pytest

from builders.places import ROOT
from nodulebench.detection.candidates import (
    etrocad,
    isicad,
    largecad,
    lungcam,
    m5l,
    mot_m5lv1,
    subsolidcad,
    vbna,
)

PAGE = ROOT / "docs" / "explanation" / "candidate-detectors.md"
MODULES = {
    "ISICAD": (isicad,),
    "SubsolidCAD": (subsolidcad,),
    "LargeCAD": (largecad,),
    "ETROCAD": (etrocad,),
    "M5L": (m5l, lungcam, vbna),
    "MOT_M5Lv1": (mot_m5lv1,),
}


def numbers(value):
    """Every number of a setting."""
    if isinstance(value, tuple):
        return [number for part in value for number in numbers(part)]
    return [float(value)]


@pytest.mark.parametrize("detector", MODULES)
def test_values_on_the_page_are_those_of_the_program(detector):
    section = re.search(rf"^## {detector}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    checked = 0
    for row in re.findall(r"^\| (`.*?`) \| (.*?) \|", section[1], re.M):
        stated = re.findall(r"-?\d+(?:\.\d+)?", row[1].replace("−", "-"))
        written = {float(number) for number in stated}
        for name in re.findall(r"`(\w+)`", row[0]):
            settings = [
                module.DEFAULT for module in MODULES[detector] if hasattr(module.DEFAULT, name)
            ]
            wanted = [set(numbers(getattr(setting, name))) for setting in settings]
            assert not wanted or any(each <= written for each in wanted), (name, row[1])
            checked += bool(wanted)
    assert checked >= 4
