"""Texts and numbers of a header -> whether each is known to be harmless.

Free text can name a person. So a text stays only if its attribute is listed here and every part of
it is known: a word of ``allowed_values.toml``, or a form that numbers and names of people do not
have. One line there adds a word.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterable
from functools import cache
from importlib.resources import files
from typing import Any

SEPARATORS = re.compile(r"[\s,;:_/\\()\[\]+&-]+")

_ALLOWED = tomllib.loads(files(__package__).joinpath("allowed_values.toml").read_text("utf-8"))
_WORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in _ALLOWED["words"].items()
}
_KERNEL = re.compile(
    r"(?:a|b|bf|bl|br|bv|bz|c|d|f|fc|fl|h|hc|hf|hk|hp|hr|hv|i|ib|il|j|k|q|qr|sa|sb|t|u|ub|uf|ur|uv)"
    r"\d{2}[a-z]?"
)
_DESCRIBED_KERNEL = re.compile(r"(?:b|bf|bl|br|d|fc|hr|i|qr|t|ub)\d{2}[a-z]?")
_STRENGTH = re.compile(r"\d{1,2}(?:%)?")
_MEASURE = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)(mm|cm|ma|mas|kv|kvp)")
_SHORT_NUMBER = re.compile(r"[a-z]?\d{1,3}(?:\.\d)?[a-z]{0,2}")
_VERSION = re.compile(
    r"[vr]?\d{1,2}(?:\.\d{1,3}){0,3}[a-z]?(?:er\d{1,3})?|r\d{3}|v[a-z]\d{2}[a-z]?|20[0-3]\d[a-z]"
    r"|\d{2}mw\d{2}(?:\.\d{1,2})?|h\d\.\d{1,2}m\d{1,2}|sl\d{1,2}p\d{1,3}|sp\d{1,2}|vct\.\d{1,3}"
    r"|(?:lightspeed)?apps\d{1,2}(?:\.\d{1,2}){1,3}"
)


def _all_known(words: frozenset[str], *forms: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether every part of a text is a word of a list or matches one of some patterns."""

    def is_known(text: str) -> bool:
        parts = [part for part in SEPARATORS.split(text.casefold()) if part]
        return all(part in words or any(form.fullmatch(part) for form in forms) for part in parts)

    return is_known


def _one_of(*texts: str) -> Callable[[str], bool]:
    return lambda text: text in texts


def _matches(form: str) -> Callable[[str], bool]:
    pattern = re.compile(form)
    return lambda text: pattern.fullmatch(text) is not None


@cache
def _character_sets() -> frozenset[str]:
    from pydicom.charset import python_encoding

    return frozenset(python_encoding)


TEXTS: dict[str, Callable[[str], bool]] = {
    "Manufacturer": _all_known(_WORDS["makers"]),
    "ManufacturerModelName": _all_known(_WORDS["models"] | _WORDS["makers"], _SHORT_NUMBER),
    "ConvolutionKernel": _all_known(_WORDS["kernels"], _KERNEL, _STRENGTH),
    "SoftwareVersions": _all_known(_WORDS["software"], _VERSION),
    "FilterType": _all_known(_WORDS["code"] | {"bowtie", "small", "large", "body", "flat"}),
    "PositionReferenceIndicator": _one_of("SN", "XY", "OM", "IC", "BB", "NA", "SM", "XP", "LM"),
    "RescaleType": _one_of("HU", "US", "HU_MOD", "PCT", "Z_EFF", "ED", "EDW", "MGML", "OD"),
    "WindowCenterWidthExplanation": _all_known(
        _WORDS["description"] | {"window", "abdomen", "brain", "default"}, re.compile(r"window\d")
    ),
    "LossyImageCompressionMethod": _matches(r"ISO_\d{4,5}_\d"),
    "StackID": _matches(r"\d{1,4}"),
}
"""Keyword -> whether a text of this attribute may stay."""

_CODE = _all_known(_WORDS["code"])
CODES: dict[str, Callable[[str], bool]] = {
    "SpecificCharacterSet": lambda text: text in _character_sets(),
    "Modality": _one_of("CT"),
    "PatientSex": _one_of("M", "F", "O"),
    "PatientOrientation": _matches(r"[AFHLPR]{1,3}"),
}
"""Keyword -> whether a code string may stay; all others must consist of known words."""


def is_known_text(keyword: str, text: str) -> bool:
    return keyword in TEXTS and TEXTS[keyword](text)


def is_known_code(keyword: str, text: str) -> bool:
    return len(text) <= 32 and CODES.get(keyword, _CODE)(text)


def clean_description(text: str) -> str:
    """The known words and measures of a description; everything else is removed.

    A number stays only with its unit: ``12/05/99`` and ``555-123`` consist of short numbers too.
    """
    words = []
    joined = re.sub(r"(?<=\d)\s+(?=(?:mm|cm|mas?|kvp?)\b)", "", text.casefold())
    for part in SEPARATORS.split(joined):
        is_known = part in _WORDS["description"] or _DESCRIBED_KERNEL.fullmatch(part)
        if is_known or _MEASURE.fullmatch(part):
            words.append(part.upper())
    return " ".join(words)


def is_clean_description(text: str) -> bool:
    return clean_description(text) == text


NUMBER_KINDS = frozenset({"DS", "FD", "FL", "IS", "SL", "SS", "SV", "UL", "US", "UV"})
"""Value representations of numbers."""

LIMITS: dict[str, tuple[float, float]] = {
    keyword: (limit["range"][0], limit["range"][1])
    for limit in _ALLOWED["numbers"]["limits"]
    for keyword in limit["attributes"].split()
}
"""Keyword -> lowest and highest allowed value."""
NEEDED = frozenset(_ALLOWED["numbers"]["needed"].split())
"""An image needs these: a slice in which one of them is not allowed is refused."""
_MOST_VALUES: dict[str, int] = _ALLOWED["numbers"]["most_values"]
FEWEST_DIGITS = 6
"""Numbers of a patient with this many digits are searched for; shorter ones occur by chance."""
_DIGITS = re.compile(r"\d+")


def is_allowed_number(keyword: str, texts: Iterable[str], numbers: Collection[str] = ()) -> bool:
    """Whether the values of a numeric attribute are plausible and do not identify the patient.

    ``numbers`` are digits that identify the patient; no value may contain them.
    """
    if keyword not in LIMITS:
        return False
    low, high = LIMITS[keyword]
    values = [text.strip(" \0") for text in texts]
    values = [text for text in values if text]
    if len(values) > _MOST_VALUES.get(keyword, 1):
        return False
    try:
        is_within = all(low <= float(text) <= high for text in values)
    except ValueError:
        return False
    if not is_within:
        return False
    if not numbers:
        return True
    return not any(number in parts for parts in map(_parts, values) for number in numbers)


def _parts(text: str) -> set[str]:
    """The digits before and after the point of a number, and all digits together."""
    runs = _DIGITS.findall(text)
    return {part.strip("0") for part in (*runs, "".join(runs))} | set(runs)


def digits_of(words: Iterable[str]) -> frozenset[str]:
    """The long numbers among words that identify."""
    runs = (digits for word in words for digits in _DIGITS.findall(word))
    return frozenset(digits for digits in runs if len(digits) >= FEWEST_DIGITS)


def written(value: Any) -> list[str]:
    """The values of a converted numeric element, as text."""
    if value is None or value == "":
        return []
    many = value if hasattr(value, "__iter__") and not isinstance(value, str) else [value]
    return [str(number) for number in many]
