"""What a header calls the manufacturer -> the vendor, by the name that designs use."""

import re

VENDORS = {
    "GE": ("ge", "gehc", "general electric"),
    "Siemens": ("siemens",),
    "Philips": ("philips",),
    "Canon": ("canon", "toshiba"),
    "United Imaging": ("united imaging", "uih"),
}
"""Vendor -> words of its own among those that headers hold; Toshiba's scanners became Canon's."""


def vendor_of(manufacturer: str) -> str:
    """The vendor; a manufacturer that is not known keeps its name."""
    text = f" {' '.join(re.findall('[a-z]+', manufacturer.casefold()))} "
    known = (
        vendor for vendor, words in VENDORS.items() if any(f" {word} " in text for word in words)
    )
    return next(known, manufacturer)
