"""A slice's header + pseudonyms -> the same header without identities, after PS3.15 table E.1-1."""

from typing import Any

from nodulebench.deidentify.actions import ACTIONS
from nodulebench.deidentify.identity import Identity, texts_of, word_in
from nodulebench.deidentify.keep import (
    CHARACTERISTICS,
    CODES,
    DESCRIPTORS,
    DUMMY,
    KEPT_DATES,
    METHOD,
    METHOD_CODES,
    REQUIRED_TEXT,
    STANDARD_SCHEMES,
    TECHNICAL_TEXT,
    capped_age,
    clean_description,
)
from nodulebench.deidentify.numbers import is_plain_number
from nodulebench.deidentify.pseudonyms import (
    Pseudonyms,
    plain_time,
    shifted_date,
    shifted_date_time,
)

TEXT = frozenset({"AE", "LO", "LT", "PN", "SH", "ST", "UC", "UR", "UT"})
BYTES = frozenset({"OB", "OD", "OF", "OL", "OV", "OW", "UN"})
PIXELS = frozenset({"PixelData", "FloatPixelData", "DoubleFloatPixelData"})


def clean_dataset(dataset: Any, identity: Identity, pseudonyms: Pseudonyms) -> None:
    """Remove, empty or replace everything that identifies, in place."""
    _Cleaner(identity, pseudonyms, str(dataset.get("SOPClassUID", ""))).clean(dataset)
    name = pseudonyms.patient(identity.patient)
    dataset.PatientID = name
    dataset.PatientName = name
    dataset.PatientIdentityRemoved = "YES"
    dataset.DeidentificationMethod = METHOD
    dataset.LongitudinalTemporalInformationModified = "MODIFIED"
    dataset.DeidentificationMethodCodeSequence = _method_codes()


def _method_codes() -> list[Any]:
    from pydicom.dataset import Dataset

    items = []
    for value, meaning in METHOD_CODES:
        item = Dataset()
        item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, "DCM", meaning
        items.append(item)
    return items


class _Cleaner:
    """What is needed to decide on an element; holds no state of its own."""

    def __init__(self, identity: Identity, pseudonyms: Pseudonyms, sop_class: str) -> None:
        self.identity = identity
        self.pseudonyms = pseudonyms
        self.sop_class = sop_class
        self.days = pseudonyms.days(identity.patient)

    def clean(self, dataset: Any) -> None:
        for tag in list(dataset.keys()):
            if _is_removed_group(tag):
                del dataset[tag]
                continue
            if tag not in ACTIONS and is_plain_number(dataset.get_item(tag)) and _is_known(tag):
                continue
            element = dataset[tag]
            if not self._stays(dataset, element):
                del dataset[tag]

    def _stays(self, dataset: Any, element: Any) -> bool:
        """Change an element as is right; whether it stays at all."""
        keyword, kind = element.keyword, element.VR
        if not keyword or (kind in BYTES and keyword not in PIXELS):
            return False
        if kind == "UI":
            element.value = self._new_uids(element)
            return ACTIONS.get(int(element.tag), "U") != "X"
        if keyword in KEPT_DATES or (kind in ("DA", "DT", "TM") and element.tag not in ACTIONS):
            return self._keep_dates(element)
        if keyword in DESCRIPTORS:
            element.value = self._clean_description(" ".join(texts_of(element)))
            return bool(element.value) or keyword == "ContrastBolusAgent"
        if keyword in CHARACTERISTICS:
            return self._keep_characteristic(element)
        action = ACTIONS.get(int(element.tag))
        if action is not None:
            return self._act(element, action)
        if kind == "SQ":
            return self._keep_items(element)
        return self._keep_unlisted(dataset, element)

    def _clean_description(self, text: str) -> str:
        """Known words of a description, but for those that are the name of somebody here."""
        words = clean_description(text).split()
        return " ".join(word for word in words if not word_in(word, self.identity.words))

    def _act(self, element: Any, action: str) -> bool:
        if element.keyword in REQUIRED_TEXT and REQUIRED_TEXT[element.keyword] == self.sop_class:
            element.value = DUMMY
            return True
        if action == "X/Z/U*":
            return self._keep_items(element)
        if action == "D":
            return self._dummy(element)
        if action not in ("Z", "Z/D"):
            return False  # X comes first wherever a CT image need not have the attribute
        element.value = [] if element.VR == "SQ" else None
        return True

    def _dummy(self, element: Any) -> bool:
        """Put a dummy where the profile asks for one; what has no harmless dummy goes."""
        if element.VR in ("DA", "DT"):
            return self._keep_dates(element)
        if element.VR == "TM":
            element.value = "000000"
        elif element.VR in TEXT or element.VR == "CS":
            element.value = DUMMY
        else:
            return False
        return True

    def _new_uids(self, element: Any) -> Any:
        new = [self.pseudonyms.uid(text) for text in texts_of(element)]
        return new[0] if len(new) == 1 else new

    def _keep_dates(self, element: Any) -> bool:
        change = {
            "DA": lambda text: shifted_date(text, self.days),
            "DT": lambda text: shifted_date_time(text, self.days),
            "TM": plain_time,
        }.get(element.VR)
        if change is None:
            return False
        values = [change(text) for text in texts_of(element)]
        element.value = values[0] if len(values) == 1 else (values or None)
        return True

    def _keep_characteristic(self, element: Any) -> bool:
        if element.keyword == "PatientAge":
            element.value = capped_age("".join(texts_of(element)))
        elif element.keyword == "PatientSex" and element.value not in ("M", "F", "O", "", None):
            element.value = ""
        return True

    def _keep_items(self, element: Any) -> bool:
        for item in element.value:
            self.clean(item)
        kept = [item for item in element.value if len(item)]
        element.value = kept
        return bool(kept)

    def _keep_unlisted(self, dataset: Any, element: Any) -> bool:
        """Numbers, codes and technical text stay, if they hold no word that names somebody."""
        if element.VR in TEXT and not (
            element.keyword in TECHNICAL_TEXT
            or (
                element.keyword in CODES
                and dataset.get("CodingSchemeDesignator") in STANDARD_SCHEMES
            )
        ):
            return False
        if element.VR in TEXT or element.VR == "CS":
            return not word_in(" ".join(texts_of(element)), self.identity.words)
        return True


def _is_known(tag: Any) -> bool:
    from pydicom.datadict import dictionary_has_tag

    return bool(dictionary_has_tag(tag))


def _is_removed_group(tag: Any) -> bool:
    """Private attributes, curves, overlays, and group lengths."""
    group = int(tag) >> 16
    return bool(group % 2) or group & 0xFF00 in (0x5000, 0x6000) or int(tag) & 0xFFFF == 0
