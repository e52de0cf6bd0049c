"""A DICOM structured report -> its content tree, with references followed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nodulebench.errors import InputError, Problem
from nodulebench.formats.dicom.codes import Concept
from nodulebench.optional_package import needs

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
                if child.data.get(keyword):
                    return str(child.data.get(keyword)).strip()
        return ""

    @property
    def code(self) -> str:
        """Key of the coded value; empty: none."""
        return code_key(self.data.get("ConceptCodeSequence"))

    @property
    def meaning(self) -> str:
        """The coded value in words."""
        held = self.data.get("ConceptCodeSequence")
        return str(held[0].get("CodeMeaning", "")) if held else ""


def code_key(sequence: Any) -> str:
    """What identifies the first code of a sequence: 'SCT:27925004'; older SNOMED is translated."""
    if not sequence:
        return ""
    code = sequence[0]
    names = ("CodeValue", "LongCodeValue", "URNCodeValue")
    value = next((str(code.get(name)) for name in names if code.get(name)), "")
    scheme = str(code.get("CodingSchemeDesignator", "")).upper()
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
    if not report.get("ContentSequence"):
        raise InputError(
            Problem(name, "has no content: its tree is empty.", "Export the report anew.")
        )
    by_path: dict[tuple[int, ...], Item] = {}
    references: list[tuple[Item, tuple[int, ...]]] = []
    root = _item(report, name, (1,), by_path, references)
    problems = []
    for owner, path in references:
        if path in by_path:
            owner.children.append(by_path[path])
        else:
            number = ".".join(map(str, path))
            problems.append(Problem(owner.where, f"refers to item {number}, which is not there."))
    if problems:
        raise InputError(problems)
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
        raise InputError(Problem(where, f"lies more than {MOST_LEVELS} levels deep."))
    concept = code_key(data.get("ConceptNameCodeSequence"))
    item = Item(where, str(data.get("ValueType", "")), concept, data)
    by_path[path] = item
    for number, child in enumerate(data.get("ContentSequence") or (), start=1):
        target = child.get("ReferencedContentItemIdentifier")
        if target is None:
            item.children.append(_item(child, name, (*path, number), by_path, references))
        else:
            steps = [target] if isinstance(target, int) else list(target)
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
    for keyword in (
        "CurrentRequestedProcedureEvidenceSequence",
        "PertinentOtherEvidenceSequence",
    ):
        for study in report.get(keyword) or ():
            for series in study.get("ReferencedSeriesSequence") or ():
                held = found.setdefault(str(series.get("SeriesInstanceUID", "")), {})
                for one in series.get("ReferencedSOPSequence") or ():
                    uid = str(one.get("ReferencedSOPInstanceUID", ""))
                    held[uid] = str(one.get("ReferencedSOPClassUID", ""))
    return found


def is_report_of(report: Any, sop_class: str) -> bool:
    """Whether a dataset is a report of one storage class."""
    return str(report.get("SOPClassUID", "")) == sop_class


def class_name(uid: str) -> str:
    """A SOP class in words."""
    with needs("images", "DICOM"):
        import pydicom
    return str(pydicom.uid.UID(uid).name)
