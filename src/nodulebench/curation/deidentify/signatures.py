"""Screens of scanners that are stored as CT pictures and hold the patient's name: by their headers.

Pages of dose and protocol, and pictures with the scanner's own writing, have CT as their class.
One line adds a device: what it makes, an attribute, and a form of the attribute's value.
"""

import re
from typing import Any

from nodulebench.io.dicom.values import text_of

_SIGNATURES: tuple[tuple[str, str, str], ...] = (
    ("dose_page", "ImageType", r".*\b(?:DOSE|DOSE_INFO|DOSEREPORT|DOSE_REPORT)\b.*"),
    ("protocol_page", "ImageType", r".*(?:\bPROT\b|SOM\d PROT|PROTOCOL).*"),
    ("captured_screen", "ImageType", r".*(?:SCREEN|CAPTURE|PRINTSCREEN|SNAPSHOT_WS|HARDCOPY).*"),
    ("dose_page", "SeriesDescription", r".*(?:dose (?:report|info|record|summary)).*"),
    ("protocol_page", "SeriesDescription", r".*(?:patient protocol|exam(?:ination)? summary).*"),
    ("captured_screen", "SeriesDescription", r".*(?:screen ?(?:save|shot|capture)).*"),
    ("captured_screen", "ConversionType", r".+"),
    ("dose_page", "SeriesNumber", r"(?:999|9999)"),
)
"""What a picture is, the attribute that says so, and the form that it then has."""
SIGNATURES = tuple((what, name, re.compile(form, re.I | re.S)) for what, name, form in _SIGNATURES)


def screen_of(dataset: Any) -> str:
    """Which screen of a scanner a picture is; empty: none that is known.

    Args:
        dataset: the header of a slice.
    """
    for what, keyword, form in SIGNATURES:
        text = text_of(dataset, keyword).replace("\\", " ")
        if text and form.fullmatch(text):
            return what
    return ""
