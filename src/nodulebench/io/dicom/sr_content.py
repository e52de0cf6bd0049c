"""A DICOM structured report -> its content tree, with references followed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nodulebench.core.errors import InputError, Problems, refuse_any
from nodulebench.core.optional_packages import needs
from nodulebench.io.dicom.codes import Concept
from nodulebench.io.dicom.values import item_of, items_of, numbers_of, text_of

_OLD_SNOMED = ("SRT", "SNM3", "99SDM")
MOST_LEVELS = 50


@dataclass(frozen=True, slots=True)
class Item:
    """One content item: a concept and its value."""

    where: str
    """The file, and the item's number in its tree."""
    kind: str
    """Value type: CODE, NUM, SCOORD, ..."""
    name: str
    """Key of the concept; empty: none."""
    data: Any
    children: list["Item"] = field(default_factory=list)
    """What it contains, by value or by reference."""

    def named(self, concept: Concept) -> list["Item"]:
        """Those of its children that are about a concept."""
        return [child for child in self.children if child.name == concept.key]

    def of_kind(self, *kinds: str) -> list["Item"]:
        """Those of its children that have one of these value types."""
        return [child for child in self.children if child.kind in kinds]

    def text_of(self, concept: Concept) -> str:
        """What a child about a concept says as text, name or UID; empty: nothing."""
        for child in self.named(concept):
            for keyword in ("TextValue", "PersonName", "UID"):
                told = text_of(child.data, keyword).strip()
                if told:
                    return told
        return ""

    @property
    def code(self) -> str:
        """Key of the coded value; empty: none."""
        return code_key(self.data, "ConceptCodeSequence")

    @property
    def meaning(self) -> str:
        """The coded value in words."""
        return text_of(item_of(self.data, "ConceptCodeSequence"), "CodeMeaning")


def code_key(data: Any, keyword: str) -> str:
    """What identifies the first code of a sequence: 'SCT:27925004'; older SNOMED is translated."""
    code = item_of(data, keyword)
    if code is None:
        return ""
    names = ("CodeValue", "LongCodeValue", "URNCodeValue")
    value = next(filter(None, (text_of(code, name) for name in names)), "")
    scheme = text_of(code, "CodingSchemeDesignator").upper()
    if scheme in _OLD_SNOMED:
        with needs("images", "DICOM"):
            from pydicom.sr._snomed_dict import mapping
        scheme, value = "SCT", mapping["SRT"].get(value, value)
    return f"{scheme}:{value}"


def content_tree(report: Any, name: str) -> Item:
    """The tree of a report.

    Raises:
        InputError: if it has none, or a reference leads nowhere.
    """
    if not items_of(report, "ContentSequence"):
        raise InputError.at(name, "has no content: its tree is empty.", "Export the report anew.")
    by_path: dict[tuple[int, ...], Item] = {}
    references: list[tuple[Item, tuple[int, ...]]] = []
    root = _item(report, name, (1,), by_path, references)
    problems = Problems()
    for owner, path in references:
        if path in by_path:
            owner.children.append(by_path[path])
        else:
            number = ".".join(map(str, path))
            problems.add(owner.where, f"refers to item {number}, which is not there.")
    refuse_any(problems)
    return root


def _item(
    data: Any,
    name: str,
    path: tuple[int, ...],
    by_path: dict[tuple[int, ...], Item],
    references: list[tuple[Item, tuple[int, ...]]],
) -> Item:
    where = f"{name} item {'.'.join(map(str, path))}"
    if len(path) > MOST_LEVELS:
        raise InputError.at(where, f"lies more than {MOST_LEVELS} levels deep.")
    concept = code_key(data, "ConceptNameCodeSequence")
    item = Item(where, text_of(data, "ValueType"), concept, data)
    by_path[path] = item
    for number, child in enumerate(items_of(data, "ContentSequence"), start=1):
        if "ReferencedContentItemIdentifier" not in child:
            item.children.append(_item(child, name, (*path, number), by_path, references))
        else:
            steps = numbers_of(child, "ReferencedContentItemIdentifier") or ()
            references.append((item, tuple(int(step) for step in steps)))
    return item


def descendants(item: Item) -> Iterator[Item]:
    """All items below one, each once, in the order of the tree."""
    seen = {id(item)}
    waiting = list(reversed(item.children))
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting.extend(reversed(one.children))


def referenced_series(report: Any) -> dict[str, dict[str, str]]:
    """The images that a report lists as its evidence: series -> SOP Instance UID -> SOP class."""
    found: dict[str, dict[str, str]] = {}
    for keyword in ("CurrentRequestedProcedureEvidenceSequence", "PertinentOtherEvidenceSequence"):
        for study in items_of(report, keyword):
            for series in items_of(study, "ReferencedSeriesSequence"):
                held = found.setdefault(text_of(series, "SeriesInstanceUID"), {})
                for one in items_of(series, "ReferencedSOPSequence"):
                    uid = text_of(one, "ReferencedSOPInstanceUID")
                    held[uid] = text_of(one, "ReferencedSOPClassUID")
    return found
