"""Read Chest CAD reports (TID 4100), as products write them, as marks of an algorithm."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nodulebench.core.errors import (
    InputError,
    Problems,
    collect_problems,
    map_collecting_problems,
    raise_problems,
)
from nodulebench.core.notices import Notice
from nodulebench.core.tables import RUNS, Submission
from nodulebench.io.dicom import codes
from nodulebench.io.dicom.files import item_of, lacks_dicom, objects_of, text_of
from nodulebench.io.dicom.findings import (
    CaseMatcher,
    Report,
    ReportedFinding,
    match_cases,
    passed_over,
    submission_of_reports,
)
from nodulebench.io.dicom.sr_content import Item, Surroundings, content_tree, descendants, region
from nodulebench.io.dicom.sr_measurements import (
    TYPE_OF_CODE,
    ct_series_of,
    measured_number,
    numbers_of,
    observer_of,
    stated_type,
    surroundings,
)
from nodulebench.io.format import Format

if TYPE_CHECKING:
    from pydicom import Dataset

CHEST_CAD_SR = ("1.2.840.10008.5.1.4.1.1.88.65",)
_TITLE = "DCM:112000"
_NO_ALGORITHM_SUCCEEDED, _NOT_ALL = "DCM:111245", ("DCM:111243", "DCM:111244")
_TYPES = TYPE_OF_CODE | {"DCM:112120": "pure_ground_glass"}
_SMALL_NODULE = codes.KINDS["small_nodule"].key


@dataclass(frozen=True, slots=True)
class _CadReport:
    """A report with the facts that its findings do not hold."""

    report: Report
    has_failed: bool
    hidden: int
    """Number of findings that are not meant to be presented, read or not."""
    optional: int
    """Number of findings that are presented only if the user asks for them; all are read."""
    operating_points: tuple[float | None, ...]
    """Per finding: the CAD operating point from which it is presented."""


def read_marks(
    path: Path, cases: pl.DataFrame | None = None, *, includes_hidden: bool = False
) -> Submission:
    """Read a submission: a report, or a folder of them.

    A composite feature is one mark with all images that show it. A single image finding
    outside any composite feature is a mark on one image. Findings with rendering intent "Not for
    Presentation" are left out, because users never see them, and counted in a notice. The score
    is the certainty, in percent / 100; if no finding has one, but all have an operating point, it
    is the operating point with a minus sign. The images must be next to the reports, or in
    the folders that the column ``images`` of the cases names. A report in which no algorithm
    succeeded is a failed run.
    """
    held = list(objects_of(path, *CHEST_CAD_SR))
    if not held:
        raise InputError.at(path, "holds no Chest CAD report.", "Export one.")
    at_hand = match_cases(path, cases, ct_series_of(data for _, data in held))
    reports_read = map_collecting_problems(
        held, partial(_cad_report, at_hand=at_hand, includes_hidden=includes_hidden)
    )
    reports, notices = _scored(reports_read)
    notices = [*_intent_notices(reports_read, includes_hidden=includes_hidden), *notices]
    all_notices = [*(notice for report in reports for notice in report.notices), *notices]
    submission = submission_of_reports(path, reports, at_hand, all_notices)
    return replace(submission, runs=_runs(reports_read, at_hand))


def _cad_report(
    held: "tuple[Path, Dataset]", at_hand: CaseMatcher, *, includes_hidden: bool
) -> _CadReport:
    name, data = held[0].name, held[1]
    tree = content_tree(data, name)
    if tree.name != _TITLE:
        what = f"is not a Chest CAD report (TID 4100): its title is {tree.name or 'missing'}."
        raise InputError.at(name, what, "Is it the right file?")
    series_uid, around = surroundings(name, data, at_hand)
    summaries = tree.named(codes.SUMMARY)
    others: Counter[str] = Counter()
    findings: list[ReportedFinding] = []
    points: list[float | None] = []
    problems = Problems()
    intents: Counter[str] = Counter()
    for item in _top_findings(summaries):
        if not _is_nodule(item):
            others[item.meaning or item.code] += 1
            continue
        intents[_intent(item)] += 1
        if _intent(item) == "hidden" and not includes_hidden:
            continue
        with collect_problems(problems):
            findings.append(_finding(item, around))
            points.append(_operating_point(item))
    raise_problems(problems)
    states = [item.code for item in summaries]
    notices = passed_over(name, others)
    if set(states) & set(_NOT_ALL):
        notices = (*notices, Notice("cad_partly_failed", {"file": name}))
    report = Report(name, series_uid, _observer(tree, data), tuple(findings), notices)
    has_failed = _NO_ALGORITHM_SUCCEEDED in states
    return _CadReport(report, has_failed, intents["hidden"], intents["optional"], tuple(points))


def _top_findings(summaries: list[Item]) -> list[Item]:
    """Findings that a summary names, each once, without the parts of a composite feature."""
    named = [
        item
        for summary in summaries
        for item in summary.children
        if item.name in (codes.COMPOSITE_FEATURE.key, codes.IMAGE_FINDING.key)
    ]
    wholes = [item for item in named if item.name == codes.COMPOSITE_FEATURE.key]
    parts = {id(part) for whole in wholes for part in descendants(whole)}
    return [
        item
        for item in {id(finding): finding for finding in named}.values()
        if id(item) not in parts
    ]


def _is_nodule(item: Item) -> bool:
    modifiers = {child.code for child in _modifiers(item)}
    known = codes.NODULE_KEYS | {_SMALL_NODULE}
    if item.code in known:
        return True
    return item.code in codes.OPACITY_KEYS and (not modifiers or bool(known & modifiers))


def _modifiers(item: Item) -> list[Item]:
    return [*item.named(codes.FINDING_MODIFIER), *item.named(codes.FEATURE_MODIFIER)]


def _intent(item: Item) -> str:
    """How a display must treat a finding: required, optional or hidden."""
    intents = (codes.INTENTS.get(intent.code) for intent in item.named(codes.RENDERING_INTENT))
    return next(filter(None, intents), "required")


def _operating_point(item: Item) -> float | None:
    holders = [*item.named(codes.RENDERING_INTENT), item]
    for number in (child for holder in holders for child in holder.named(codes.OPERATING_POINT)):
        measured = item_of(number.data, "MeasuredValueSequence")
        if measured is not None:
            point = measured_number(measured)
            return point if math.isfinite(point) else None
    return None


def _finding(item: Item, around: Surroundings) -> ReportedFinding:
    parts = [item]
    if item.name == codes.COMPOSITE_FEATURE.key:
        within = [part for part in descendants(item) if part.name == codes.IMAGE_FINDING.key]
        parts += [part for part in within if _intent(part) != "hidden"] or within
    regions = [
        region(place, place.name, around)
        for part in parts
        for place in part.of_kind("SCOORD", "SCOORD3D")
    ]
    if not regions:
        remedy = "Let the CAD system export the geometry of its findings."
        raise InputError.at(item.where, "has no position: neither a centre nor an outline.", remedy)
    numbers: dict[str, float] = {}
    labels: dict[str, str | int] = {}
    for part in reversed(parts):
        own = numbers_of(part)
        certain = [values["score"] for values in (numbers, own) if "score" in values]
        numbers |= own
        if certain and part is not item:
            numbers["score"] = max(certain)
        labels |= stated_type(part) | _type_of(part)
    names = [part.text_of(codes.TRACKING_ID) or part.text_of(codes.TRACKING_UID) for part in parts]
    return ReportedFinding(
        item.where, next(filter(None, names), ""), tuple(regions), "nodule", numbers, labels
    )


def _type_of(item: Item) -> dict[str, str | int]:
    types = [
        _TYPES[modifier.code] for modifier in (item, *_modifiers(item)) if modifier.code in _TYPES
    ]
    return {"type": types[-1]} if types else {}


def _observer(tree: Item, data: "Dataset") -> str:
    """The CAD system: its algorithm's name, else the device name in the report."""
    algorithms = [item.text_of(codes.ALGORITHM_NAME) for item in descendants(tree)]
    made_by = f"{text_of(data, 'Manufacturer')} {text_of(data, 'ManufacturerModelName')}".strip()
    return next(filter(None, algorithms), "") or observer_of(tree) or made_by


def _scored(reports_read: list[_CadReport]) -> tuple[list[Report], list[Notice]]:
    """The reports; operating points become scores if no finding has a certainty."""
    reports = [read.report for read in reports_read]
    findings = [finding for report in reports for finding in report.findings]
    points = [point for read in reports_read for point in read.operating_points]
    if any("score" in finding.numbers for finding in findings) or not points or None in points:
        lacking = sum("score" not in finding.numbers for finding in findings)
        notice = Notice("no_certainty", {"count": lacking, "findings": len(findings)})
        return reports, [notice] if lacking else []
    scored = [
        replace(
            read.report,
            findings=tuple(
                replace(finding, numbers=finding.numbers | {"score": -float(point or 0)})
                for finding, point in zip(read.report.findings, read.operating_points, strict=True)
            ),
        )
        for read in reports_read
    ]
    return scored, [Notice("operating_points_as_scores")]


def _intent_notices(reports_read: list[_CadReport], *, includes_hidden: bool) -> list[Notice]:
    """Notices of findings that a display would not show, or only on demand."""
    hidden, optional = (
        sum(read.hidden for read in reports_read),
        sum(read.optional for read in reports_read),
    )
    done = "included" if includes_hidden else "left_out"
    notices = [
        Notice("hidden_findings", {"count": hidden, "done": done}),
        Notice("optional_findings", {"count": optional}),
    ]
    return [notice for notice in notices if notice.values["count"]]


def _runs(reports_read: list[_CadReport], at_hand: CaseMatcher) -> pl.DataFrame:
    """One run per case; it has failed if any report says that no algorithm succeeded."""
    states: dict[str, str] = {}
    for read in reports_read:
        case_id = at_hand.case_id(read.report.series_uid)
        if read.has_failed or case_id not in states:
            states[case_id] = "failed" if read.has_failed else "ok"
    return RUNS.arrange(pl.DataFrame({"case_id": list(states), "state": list(states.values())}))


FORMAT = Format(
    name="chest_cad_sr",
    meaning="DICOM Chest CAD reports (TID 4100) of products, one or more for each case",
    suffixes=("/", ".dcm"),
    example="reports/\n  scan-1.dcm  Chest CAD SR with a single image finding for each nodule",
    refuse_marks=partial(lacks_dicom, sop_classes=CHEST_CAD_SR, words="Chest CAD report"),
    read_marks=read_marks,
)
