"""Texts that scanners write stay; names and numbers of people do not, in any context."""

import pytest

from nodulebench.curation.deidentify.allowed_values import is_known_code, is_known_text
from nodulebench.phantom.scanner import VENDORS

HARMLESS = {
    "Manufacturer": ("SIEMENS", "GE MEDICAL SYSTEMS", "Philips", "TOSHIBA", "UIH", "NMS", ""),
    "ManufacturerModelName": (
        "Sensation 16",
        "LightSpeed VCT",
        "LightSpeed QX/i",
        "Aquilion ONE",
        "Brilliance 64",
        "uCT 760",
        "SOMATOM Definition AS+",
    ),
    "ConvolutionKernel": ("B30f", "Br40d", "STANDARD", "LUNG", "FC51", "YB", "B_SHARP_C", "3"),
    "SoftwareVersions": (
        "VA70C",
        "syngo CT 2012B",
        "06MW03.5",
        "V2.02ER003",
        "4.1.6",
        "LightSpeedApps10.5_2.8.2I_H1.3M4",
        "gmp_vct.42",
    ),
    "PositionReferenceIndicator": ("SN",),
    "RescaleType": ("HU",),
    "WindowCenterWidthExplanation": ("WINDOW1", "LUNG"),
    "FilterType": ("BODY FILTER", "0"),
}
NAMES = (
    "Lee",
    "Zacharias",
    "Dr. Ott",
    "778213",
    "1948-02-29",
    "19480229",
    "KX-778213",
    "小明",
    "A\0B",
)


@pytest.mark.parametrize("keyword", HARMLESS)
def test_what_scanners_write_stays(keyword: str) -> None:
    assert [text for text in HARMLESS[keyword] if not is_known_text(keyword, text)] == []


@pytest.mark.parametrize("keyword", HARMLESS)
@pytest.mark.parametrize("name", NAMES)
def test_names_and_numbers_go(keyword: str, name: str) -> None:
    assert not is_known_text(keyword, name)
    assert not is_known_text(keyword, f"{HARMLESS[keyword][0]} {name}")


def test_what_phantoms_write_stays() -> None:
    for vendor in VENDORS:
        assert is_known_text("Manufacturer", vendor.manufacturer)
        assert is_known_text("ManufacturerModelName", vendor.model)
        assert is_known_text("SoftwareVersions", vendor.software)
        assert all(is_known_text("ConvolutionKernel", kernel) for kernel in vendor.kernels.values())


def test_texts_of_other_attributes_go() -> None:
    assert not is_known_text("ImageComments", "LUNG")


@pytest.mark.parametrize(
    ("keyword", "text", "is_known"),
    [
        ("ImageType", "ORIGINAL", True),
        ("ImageType", "CT_SOM5 SPI", True),
        ("ImageType", "ZACHARIAS", False),
        ("ScanOptions", "HELICAL MODE", True),
        ("PatientPosition", "FFS", True),
        ("BodyPartExamined", "CHEST", True),
        ("BodyPartExamined", "778213", False),
        ("Modality", "CT", True),
        ("Modality", "HELICAL", False),
        ("PatientSex", "M", True),
        ("PatientSex", "MRS", False),
        ("PatientOrientation", "LP", True),
        ("SpecificCharacterSet", "ISO_IR 192", True),
        ("SpecificCharacterSet", "ZACHARIAS", False),
    ],
)
def test_code_strings(keyword: str, text: str, is_known: bool) -> None:
    assert is_known_code(keyword, text) == is_known
