"""What a header calls the reconstruction kernel -> its class, by the names that designs use.

Siemens' operating instructions (SOMATOM Sensation: body tissue B10 to B41, thorax and lung B50 to
B80, osteo S80, bone U70 to U90) and, for Canon, Korean J Radiol 19 (2018) 888 (lung FC55, soft
tissue FC13) say the same. Nothing else was found on Philips' letters and Canon's FC30 and FC80.
"""

import re

WORDS = {
    "lung": ("lung",),
    "bone": ("bone", "boneplus", "edge", "osteo", "inner ear"),
    "standard": ("standard", "stnd", "std", "soft", "smooth", "detail", "chst", "body", "brain"),
}
"""Class -> words among those of the kernel, of any vendor; the first class that has one counts."""
FAMILIES: dict[str, tuple[tuple[str, int, int, str], ...]] = {
    "Siemens": (
        ("bl", 0, 99, "lung"),
        ("b|i|br|qr|bf|bv|q|d|t|sa", 0, 49, "standard"),
        ("b|i|br|qr|bf|bv|q|d|t|sa", 50, 99, "lung"),
        ("s", 80, 99, "bone"),
        ("h|j|hr|hc|hv|hp|c|u|ur", 0, 59, "standard"),
        ("h|j|hr|hc|hv|hp|c|u|ur", 60, 99, "bone"),
    ),
    "Canon": (
        ("fc", 1, 29, "standard"),
        ("fc", 30, 39, "bone"),
        ("fc", 40, 49, "standard"),
        ("fc", 50, 59, "lung"),
        ("fc", 80, 82, "bone"),
        ("fc", 83, 89, "lung"),
    ),
}
"""Vendor -> kernels by their letters and the number after them, from and to."""
LETTERS = {
    "Philips": {
        "lung": ("l", "ya", "yb"),
        "bone": ("d", "e", "yc", "yd"),
        "standard": ("a", "b", "c", "ua", "ub", "uc"),
    },
}
"""Vendor -> class -> kernels that are letters alone."""
TABLE = {"words": WORDS, "families": FAMILIES, "letters": LETTERS}
"""All that decides, as curation writes it down."""


def kernel_class_of(kernel: str | None, vendor: str | None) -> str | None:
    """The class of a kernel: lung, bone or standard; None where nothing is known of it.

    Args:
        kernel: as the header calls it; of several values the first counts.
        vendor: as ``vendor_of`` calls it.
    """
    name = (kernel or "").split("\\")[0].strip().casefold()
    words = set(re.findall("[a-z]+", name))
    for kind, known in WORDS.items():
        if any(word in words or (" " in word and word in name) for word in known):
            return kind
    for kind, letters in LETTERS.get(vendor or "", {}).items():
        if name in letters:
            return kind
    parts = re.match(r"([a-z]+)(\d+)", name)
    for prefixes, low, high, kind in FAMILIES.get(vendor or "", ()) if parts else ():
        if parts and parts[1] in prefixes.split("|") and low <= int(parts[2]) <= high:
            return kind
    return None
