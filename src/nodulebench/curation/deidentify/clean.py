"""A slice's header + pseudonyms -> its elements without identities, by PS3.15 table E.1-1."""

from functools import lru_cache
from typing import TYPE_CHECKING

from nodulebench.curation.deidentify import profile
from nodulebench.curation.deidentify.allowed_values import (
    NEEDED,
    NUMBER_KINDS,
    clean_description,
    is_allowed_number,
    is_known_code,
    is_known_text,
    written,
)
from nodulebench.curation.deidentify.codec import (
    MOMENTS,
    HeaderElement,
    Memory,
    NotCleanableError,
    encoded,
    encoding_of,
    keyword_of,
    plain_moment,
    plain_numbers,
    plain_uids,
    reading_of,
    with_text,
)
from nodulebench.curation.deidentify.identity import (
    Identity,
    Pseudonyms,
    plain_time,
    shifted_date,
    shifted_date_time,
    texts_of,
    word_in,
)
from nodulebench.curation.deidentify.profile import ACTIONS, CODE_PARTS, meaning_of
from nodulebench.io.dicom.files import text_of

if TYPE_CHECKING:
    from pydicom.dataelem import DataElement
    from pydicom.dataset import Dataset


TEXT = frozenset({"AE", "LO", "LT", "PN", "SH", "ST", "UC", "UR", "UT"})


def cleaned_elements(
    dataset: "Dataset",
    elements: list[tuple[int, HeaderElement]],
    identity: Identity,
    pseudonyms: Pseudonyms,
    memory: Memory,
) -> dict[int, bytes]:
    """The elements that stay in a header or are added to it, by tag, each as bytes of a file."""
    encoding = encoding_of(dataset)
    sop_class = text_of(dataset, "SOPClassUID")
    cleaner = _Cleaner(identity, pseudonyms, sop_class)

    def clean(tag: int, element: HeaderElement) -> bytes:
        read = element if dataset.original_encoding == encoding else dataset[tag]
        cleaned = cleaner.cleaned(dataset, tag, read)
        return b"" if cleaned is None else encoded(cleaned, encoding)

    whole = memory.each(
        elements,
        clean,
        "clean",
        reading_of(dataset),
        encoding,
        sop_class,
        pseudonyms,
        identity.patient,
        identity.words,
    )
    cleaned = {tag: part for tag, part in whole if part}
    return cleaned | _added(pseudonyms.patient(identity.patient), encoding)


@lru_cache(maxsize=16)
def _added(name: str, encoding: tuple[bool, bool]) -> dict[int, bytes]:
    """The elements that declare the de-identification, and the pseudonym of the patient."""
    from pydicom.dataset import Dataset

    added = Dataset()
    added.PatientID = added.PatientName = name
    added.PatientIdentityRemoved = "YES"
    added.DeidentificationMethod = profile.METHOD
    added.LongitudinalTemporalInformationModified = "MODIFIED"
    items = []
    for value, meaning in profile.METHOD_CODES:
        item = Dataset()
        item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, "DCM", meaning
        items.append(item)
    added.DeidentificationMethodCodeSequence = items
    return {int(element.tag): encoded(element, encoding) for element in added}


class _Cleaner:
    """Decides on elements of one header; it holds no state."""

    def __init__(self, identity: Identity, pseudonyms: Pseudonyms, sop_class: str) -> None:
        self.identity = identity
        self.pseudonyms = pseudonyms
        self.sop_class = sop_class
        self.days = pseudonyms.days(identity.patient)

    def cleaned(self, dataset: "Dataset", tag: int, read: HeaderElement) -> HeaderElement | None:
        """An element without identities; None: it is removed. Numbers and UIDs stay as read."""
        keyword = "" if _is_removed_group(tag) else keyword_of(tag)
        if not keyword:
            return None
        values = plain_numbers(read)
        if values is not None and (tag not in ACTIONS or keyword in profile.CHARACTERISTICS):
            return read if self._number_stays(keyword, values) else None
        uids = plain_uids(read)
        if uids:
            new = [self.pseudonyms.uid(uid) for uid in uids]
            return None if ACTIONS.get(tag) == "X" else with_text(read, "\\".join(new))
        moment = plain_moment(read)
        if moment and keyword in profile.SHIFTED_DATES:
            return with_text(read, self._moved(str(read.VR), moment))
        element = dataset[tag]
        return element if self._stays(dataset, element) else None

    def _stays(self, dataset: "Dataset", element: "DataElement") -> bool:
        """Change an element by the profile; returns whether it stays."""
        keyword, kind = element.keyword, element.VR
        if kind == "UI":
            new = [self.pseudonyms.uid(text) for text in texts_of(element)]
            element.value = new[0] if len(new) == 1 else new
            return ACTIONS.get(int(element.tag), "U") != "X"
        if keyword in profile.SHIFTED_DATES:
            return self._keep_dates(element)
        if keyword in profile.DESCRIPTORS:
            element.value = self._clean_description(" ".join(texts_of(element)))
            return bool(element.value) or keyword == "ContrastBolusAgent"
        if keyword in profile.CHARACTERISTICS:
            return self._keep_characteristic(element)
        action = ACTIONS.get(int(element.tag))
        if action is not None:
            return self._act(element, action)
        if kind == "SQ":
            return self._keep_items(element)
        return self._keep_unlisted(dataset, element) or self._required(element)

    def _clean_description(self, text: str) -> str:
        """Known words of a description, except words that identify the patient."""
        words = clean_description(text).split()
        return " ".join(word for word in words if not word_in(word, self.identity.words))

    def _required(self, element: "DataElement") -> bool:
        """Put a dummy where an object must have a text; returns whether it must."""
        is_required = self.sop_class in profile.REQUIRED_TEXT.get(element.keyword, ())
        if is_required:
            element.value = profile.DUMMY
        return is_required

    def _act(self, element: "DataElement", action: str) -> bool:
        if self._required(element):
            return True
        if action == "X/Z/U*":
            return self._keep_items(element)
        if action == "D":
            return self._dummy(element)
        if action not in ("Z", "Z/D"):
            return False  # X applies wherever a CT image need not have the attribute
        element.value = [] if element.VR == "SQ" else None
        return True

    def _dummy(self, element: "DataElement") -> bool:
        """Put a dummy where the profile requires one; an element without a harmless dummy goes."""
        if element.VR in ("DA", "DT"):
            return self._keep_dates(element)
        if element.VR == "TM":
            element.value = "000000"
        elif element.VR in TEXT or element.VR == "CS":
            element.value = profile.DUMMY
        else:
            return False
        return True

    def _keep_dates(self, element: "DataElement") -> bool:
        texts = texts_of(element)
        if element.VR not in MOMENTS or len(texts) > 1:
            return False
        element.value = self._moved(element.VR, texts[0]) if texts else None
        return True

    def _moved(self, kind: str, text: str) -> str:
        """A date, or date and time, shifted to the past; a time unchanged; empty: not valid."""
        if kind == "TM":
            return plain_time(text)
        return (shifted_date if kind == "DA" else shifted_date_time)(text, self.days)

    def _keep_characteristic(self, element: "DataElement") -> bool:
        texts = texts_of(element)
        if element.VR in NUMBER_KINDS:
            return self._number_stays(element.keyword, written(element.value))
        if element.keyword == "PatientAge":
            element.value = profile.capped_age("".join(texts))
        elif not all(is_known_code(element.keyword, text) for text in texts):
            element.value = ""
        return len(texts) <= 1

    def _keep_items(self, element: "DataElement") -> bool:
        if element.VR != "SQ":
            return False
        for item in element.value:
            for tag in list(item.keys()):
                cleaned = self.cleaned(item, int(tag), item.get_item(tag))
                if cleaned is None:
                    del item[tag]
                else:
                    item[tag] = cleaned
        left = [item for item in element.value if len(item)]
        element.value = left
        return bool(left)

    def _number_stays(self, keyword: str, values: list[str]) -> bool:
        stays = is_allowed_number(keyword, values, self.identity.numbers)
        if not stays and keyword in NEEDED:
            raise NotCleanableError("number_unlike", keyword=keyword)
        return stays

    def _keep_unlisted(self, dataset: "Dataset", element: "DataElement") -> bool:
        """Whether an element is known to be harmless, without an identifying word."""
        keyword, kind, texts = element.keyword, element.VR, texts_of(element)
        if kind in NUMBER_KINDS:
            return self._number_stays(keyword, written(element.value))
        if kind == "AT":
            return are_known_tags(element)
        if keyword in CODE_PARTS:
            meaning = meaning_of(dataset)
            if keyword == "CodeMeaning":
                element.value = meaning
            return bool(meaning)
        if kind == "CS":
            is_known = all(is_known_code(keyword, text) for text in texts)
        else:
            is_known = kind in TEXT and all(is_known_text(keyword, text) for text in texts)
        return is_known and not word_in(" ".join(texts), self.identity.words)


def are_known_tags(element: "DataElement") -> bool:
    """Whether the attributes that an element points to are attributes of the standard."""
    value = element.value
    pointed = [value] if isinstance(value, int) else list(value or [])
    return all(keyword_of(tag) for tag in pointed)


def _is_removed_group(tag: int) -> bool:
    """Private attributes, curves, overlays, and group lengths."""
    group = tag >> 16
    return bool(group % 2) or group & 0xFF00 in (0x5000, 0x6000) or tag & 0xFFFF == 0
