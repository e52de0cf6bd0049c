"""Curation -> curation.html: the flow of series, and every series with its picture and reasons."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from markupsafe import Markup

from nodulebench import __version__
from nodulebench.curate.examine.admission import Examined
from nodulebench.curate.examine.checks import CODES_OF_MODULE
from nodulebench.curate.examine.limits import Limits
from nodulebench.curate.known.duplicates import DUPLICATE_CODES
from nodulebench.language import english
from nodulebench.pages.frame import framed
from nodulebench.pages.svg import stand_alone
from nodulebench.pages.templates import Block
from nodulebench.report.blocks.blocks import Section
from nodulebench.report.blocks.cells import count, words
from nodulebench.report.blocks.tables import Table
from nodulebench.report.drawing.pictures.flow_chart import Step, flow_chart
from nodulebench.workflows.curate.curate import Curation

STEPS = {
    "kind": "CT scans",
    "pixels": "readable",
    "grid": "of one patient, on one grid",
    "orientation": "axial, not tilted",
    "places": "without gaps or repeats",
    "resolution": "fine enough",
    "values": "in Hounsfield units",
    "chest": "whole chests",
    "duplicates": "each scan once",
}
"""What is left after a group of checks, in words."""


def curation_page(curation: Curation) -> str:
    """The page, complete in itself."""
    admitted, series = len(curation.admitted), len(curation.series)
    return framed(
        title=curation.folder.resolve().name or "folder",
        kind="Curation of DICOM series",
        lead=f"{admitted} of {series} series are admitted as cases.",
        facts=_facts(curation),
        sections=[
            Section("flow", "Where series fell out", [_flow(curation), *_codes(curation)]),
            Section("series", "All series", [_browser(curation)]),
            *_other_files(curation),
            Section("limits", "Limits", [_limits(curation)]),
        ],
        footer=[
            f"NoduleBench {__version__}. Every reason stands with its files in exclusions.csv."
        ],
        version=__version__,
        style="curation.css",
        script="curation.js",
    )


def flow_svg(curation: Curation) -> str:
    """The flow as a file of its own, with its colours."""
    return stand_alone(_flow(curation))


def _facts(curation: Curation) -> list[tuple[str, str]]:
    damaged = sum(one.is_damaged for one in curation.other_files)
    slices = sum(one.slices for one in curation.series)
    return [
        ("Series found", str(len(curation.series))),
        ("Admitted", str(len(curation.admitted))),
        ("Excluded", str(len(curation.series) - len(curation.admitted))),
        ("Slices", f"{slices:,}"),
        ("Unreadable files", str(damaged)),
        ("Files of other kinds", str(len(curation.other_files) - damaged)),
        *((f"Scans in the list {name}", f"{scans:,}") for name, scans in curation.against),
    ]


def _flow(curation: Curation) -> Markup:
    """Series that are left after each group of checks, and what fell out there."""
    fell = Counter(one.reasons[0].code for one in curation.series if one.reasons)
    left = len(curation.series)
    steps = [Step(f"{left} series found"), Step("")]
    for group, name in STEPS.items():
        codes = CODES_OF_MODULE.get(group, tuple(DUPLICATE_CODES))
        lost = sum(fell[code] for code in codes)
        if not lost:
            continue
        left -= lost
        told = "; ".join(f"{fell[code]} {_spoken(code)}" for code in codes if fell[code])
        steps[-2] = Step(steps[-2].text, exit=told, otherwise=f"−{lost}")
        steps[-1:] = [Step(f"{left} {name}"), Step("")]
    steps[-1] = Step(f"{left} admitted as cases")
    return flow_chart(steps, f"{len(curation.series)} series found, {left} admitted")


def _codes(curation: Curation) -> list[Table]:
    """Every code that was met: where it decided, and where it applied beside others."""
    first = Counter(one.reasons[0].code for one in curation.series if one.reasons)
    all_told = Counter(
        code for one in curation.series for code in {reason.code for reason in one.reasons}
    )
    order = [code for codes in CODES_OF_MODULE.values() for code in codes] + list(DUPLICATE_CODES)
    heads = [words("reason"), words("code"), words("decided"), words("applied")]
    rows = [
        [words(_spoken(code)), words(code), count(first[code]), count(all_told[code])]
        for code in order
        if all_told[code]
    ]
    remark = "A series falls out where its first reason lies; all that apply are kept."
    return [Table("Reasons", heads, rows, remark=remark)] if rows else []


@dataclass(frozen=True, slots=True)
class Card:
    """What is shown of one series."""

    name: str
    code: str
    """The first reason's; empty for an admitted series."""
    state: str
    reasons: Sequence[tuple[str, str]]
    """In words, and by their code."""
    waived: Sequence[tuple[str, str]]
    pictures: Sequence[tuple[str, str]]
    """What each cut is called, and its PNG file in base64."""
    patient: str
    modality: str
    size: str
    scanner: str
    folder: str


@dataclass(frozen=True, slots=True)
class SeriesBrowser(Block):
    """Cards of all series, with a choice of what to show."""

    macro: ClassVar[str] = "series_browser"
    choices: Sequence[tuple[str, str, int]]
    """Code, name and number of series of everything that can be chosen."""
    cards: Sequence[Card]


def _browser(curation: Curation) -> SeriesBrowser:
    codes = Counter(one.reasons[0].code if one.reasons else "" for one in curation.series)
    return SeriesBrowser(
        [
            ("all", "all", len(curation.series)),
            ("", "admitted", codes[""]),
            *((code, _spoken(code), number) for code, number in sorted(codes.items()) if code),
        ],
        [_card(curation, one) for one in curation.series],
    )


def _card(curation: Curation, one: Examined) -> Card:
    facts, geometry = dict(one.facts), dict(one.geometry)
    size = (
        f"{geometry['size_x']} × {geometry['size_y']} × {geometry['size_z']}, "
        f"{geometry['spacing_x_mm']:.3g} × {geometry['spacing_z_mm']:.3g} mm"
        if geometry
        else f"{one.slices} slices"
    )
    code = one.reasons[0].code if one.reasons else ""
    return Card(
        name=one.name,
        code=code,
        state=_spoken(code),
        reasons=[(english(told.notice), told.code) for told in one.reasons],
        waived=[(english(told.notice), told.code) for told in one.waived],
        pictures=[*zip(("axial cut", "coronal cut"), one.pictures, strict=False)],
        patient=str(facts.get("patient_id") or ""),
        modality=one.modality,
        size=size,
        scanner=" ".join(
            str(facts[name]) for name in ("manufacturer", "model", "kernel") if name in facts
        ),
        folder=_folder(curation, one),
    )


def _folder(curation: Curation, one: Examined) -> str:
    root = curation.folder.resolve()
    places = dict.fromkeys(PurePath(path).parent.relative_to(root).as_posix() for path in one.files)
    first = next(iter(places))
    more = f" and {len(places) - 1} more folders" if len(places) > 1 else ""
    return f"{'.' if first == '.' else first}{more}"


def _other_files(curation: Curation) -> list[Section]:
    if not curation.other_files:
        return []
    root = curation.folder.resolve()
    shown = sorted(curation.other_files, key=lambda one: not one.is_damaged)[:200]
    rows = [
        [
            words("unreadable" if one.is_damaged else "other kind"),
            words(PurePath(one.path).relative_to(root).as_posix()),
            words(one.what),
        ]
        for one in shown
    ]
    more = len(curation.other_files) - len(shown)
    remark = f"{more} more are in exclusions.csv." if more else ""
    table = Table("", [words(""), words("file"), words("what it is")], rows, remark=remark)
    return [Section("files", "Files without slices", [table])]


def _limits(curation: Curation) -> Table:
    """What a series had to keep; those that the design changed are marked."""
    usual = Limits().model_dump()
    rows = [
        [
            words(name.replace("_", " ")),
            words(", ".join(value) if isinstance(value, tuple) else f"{value:g}"),
            words("" if value == usual[name] else "set by the design"),
        ]
        for name, value in curation.limits.model_dump().items()
        if value != ()
    ]
    return Table("", [words("limit"), words("value"), words("")], rows)


def _spoken(code: str) -> str:
    """A code as words."""
    return {
        "not_ct": "not CT",
        "listed_uid": "in another set's list (UID)",
        "listed_pixels": "in another set's list (pixels)",
        "listed_near_duplicate": "near duplicate of another set's scan",
        "duplicate_uid": "second copy (same UID)",
        "duplicate_pixels": "second copy (same pixels)",
        "not_chest": "not a chest",
    }.get(code, code.replace("_", " "))
