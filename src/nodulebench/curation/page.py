"""Curation -> curation.html: the flow of series, and every series with its picture and reasons."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from markupsafe import Markup

from nodulebench import __version__
from nodulebench.curation.admission.checks import CODES_OF_MODULE
from nodulebench.curation.admission.examine import Examined
from nodulebench.curation.admission.reasons import Limits
from nodulebench.curation.curate import Curation
from nodulebench.curation.duplicates import DUPLICATE_CODES
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.report.blocks import Section, Table, count, words
from nodulebench.report.charts.diagrams import Step, flow_chart
from nodulebench.report.pages.svg import standalone
from nodulebench.report.pages.templates import Block, PageFrame, framed_page

STEPS = {**CODES_OF_MODULE, "duplicates": tuple(DUPLICATE_CODES)}
"""Groups of checks in the order in which they decide, each with its codes."""


def curation_page(curation: Curation, name: LanguageName = "en") -> str:
    """The page in a language, complete in itself."""
    translate = translator(name)
    admitted, series = len(curation.admitted), len(curation.series)
    flow = [_flow(curation, translate), *_codes(curation, translate)]
    return framed_page(
        PageFrame(
            title=curation.folder.resolve().name or translate("curated.folder"),
            kind=translate("curated.kind"),
            lead=translate("curated.lead", admitted=admitted, series=series),
            facts=_facts(curation, translate),
            sections=[
                Section("flow", translate("curated.flow"), flow),
                Section("series", translate("curated.series"), [_browser(curation, translate)]),
                *_other_files(curation, translate),
                Section("limits", translate("curated.limits"), [_limits(curation, translate)]),
            ],
            footer=[translate("curated.footer", version=__version__)],
            version=__version__,
            language=translate.code,
            contents=translate("page.contents"),
            find=translate("curated.find"),
            style="curation.css",
            script="curation.js",
        ),
    )


def flow_svg(curation: Curation, name: LanguageName = "en") -> str:
    """The flow as a file of its own, with its colours."""
    return standalone(_flow(curation, translator(name)))


def _facts(curation: Curation, translate: Translator) -> list[tuple[str, str]]:
    found, admitted = len(curation.series), len(curation.admitted)
    damaged = sum(other_file.is_damaged for other_file in curation.other_files)
    counts = {
        "series": str(found),
        "admitted": str(admitted),
        "excluded": str(found - admitted),
        "slices": f"{sum(one.slices for one in curation.series):,}",
        "unreadable": str(damaged),
        "others": str(len(curation.other_files) - damaged),
    }
    return [
        *((translate(f"curated.fact_{key}"), shown) for key, shown in counts.items()),
        *(
            (translate("curated.fact_list", name=name), f"{scans:,}")
            for name, scans in curation.against
        ),
    ]


def _flow(curation: Curation, translate: Translator) -> Markup:
    """Series that are left after each group of checks, and what fell out there."""
    fell = Counter(one.reasons[0].code for one in curation.series if one.reasons)
    left = len(curation.series)
    steps = [Step(translate("curated.found", count=left)), Step("")]
    for group, codes in STEPS.items():
        lost = sum(fell[code] for code in codes)
        if not lost:
            continue
        left -= lost
        told = [f"{fell[code]} {translate.word(code)}" for code in codes if fell[code]]
        out = translate("list.then").join(told)
        steps[-2] = Step(steps[-2].text, exit=out, otherwise=f"−{lost}")
        steps[-1:] = [Step(translate(f"curated.left_{group}", left=left)), Step("")]
    steps[-1] = Step(translate("curated.cases", count=left))
    return flow_chart(steps, translate("curated.flow_told", found=len(curation.series), left=left))


def _codes(curation: Curation, translate: Translator) -> list[Table]:
    """Every code that was met: where it decided, and where it applied beside others."""
    first = Counter(one.reasons[0].code for one in curation.series if one.reasons)
    all_told = Counter(
        code for one in curation.series for code in {reason.code for reason in one.reasons}
    )
    heads = [
        words(translate(f"curated.head_{key}")) for key in ("reason", "code", "decided", "applied")
    ]
    rows = [
        [words(translate.word(code)), words(code), count(first[code]), count(all_told[code])]
        for codes in STEPS.values()
        for code in codes
        if all_told[code]
    ]
    remark = translate("curated.first_decides")
    return [Table(translate("curated.reasons"), heads, rows, remark=remark)] if rows else []


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
    translate: Translator


def _browser(curation: Curation, translate: Translator) -> SeriesBrowser:
    codes = Counter(one.reasons[0].code if one.reasons else "" for one in curation.series)
    return SeriesBrowser(
        [
            ("all", translate("curated.all"), len(curation.series)),
            ("", translate("curated.admitted"), codes[""]),
            *(
                (code, translate.word(code), number)
                for code, number in sorted(codes.items())
                if code
            ),
        ],
        [_card(curation, one, translate) for one in curation.series],
        translate,
    )


def _card(curation: Curation, one: Examined, translate: Translator) -> Card:
    facts, geometry = dict(one.facts), dict(one.geometry)
    size = (
        f"{geometry['size_x']} × {geometry['size_y']} × {geometry['size_z']}, "
        f"{geometry['spacing_x_mm']:.3g} × {geometry['spacing_z_mm']:.3g} mm"
        if geometry
        else translate("curated.slices", count=one.slices)
    )
    code = one.reasons[0].code if one.reasons else ""
    cuts = translate("curated.axial"), translate("curated.coronal")
    return Card(
        name=one.name,
        code=code,
        state=translate.word(code),
        reasons=[(translate.message(told.notice), told.code) for told in one.reasons],
        waived=[(translate.message(told.notice), told.code) for told in one.waived],
        pictures=[*zip(cuts, one.pictures, strict=False)],
        patient=str(facts.get("patient_id") or ""),
        modality=one.modality,
        size=size,
        scanner=" ".join(
            str(facts[name]) for name in ("manufacturer", "model", "kernel") if name in facts
        ),
        folder=_folder(curation, one, translate),
    )


def _folder(curation: Curation, one: Examined, translate: Translator) -> str:
    root = curation.folder.resolve()
    places = dict.fromkeys(PurePath(path).parent.relative_to(root).as_posix() for path in one.files)
    # a folder that is called as the series says nothing more
    first, more = next(iter(places)).removesuffix(one.uid).rstrip("/"), len(places) - 1
    return translate("curated.more_folders", folder=first, more=more) if more else first


def _other_files(curation: Curation, translate: Translator) -> list[Section]:
    if not curation.other_files:
        return []
    root = curation.folder.resolve()
    shown = sorted(curation.other_files, key=lambda other_file: not other_file.is_damaged)[:200]
    rows = [
        [
            words(translate("curated.damaged" if one.is_damaged else "curated.other_kind")),
            words(PurePath(one.path).relative_to(root).as_posix()),
            words(translate.message(one.notice)),
        ]
        for one in shown
    ]
    more = len(curation.other_files) - len(shown)
    remark = translate("curated.more_files", more=more) if more else ""
    heads = [
        words(""),
        words(translate("curated.head_file")),
        words(translate("curated.head_what")),
    ]
    return [Section("files", translate("curated.files"), [Table("", heads, rows, remark=remark)])]


def _limits(curation: Curation, translate: Translator) -> Table:
    """What a series had to keep; those that the design changed are marked."""
    usual = Limits().model_dump()
    rows = [
        [
            words(translate.word(name)),
            words(", ".join(value) if isinstance(value, tuple) else f"{value:g}"),
            words("" if value == usual[name] else translate("curated.by_design")),
        ]
        for name, value in curation.limits.model_dump().items()
        if value != ()
    ]
    heads = [
        words(translate("curated.head_limit")),
        words(translate("curated.head_value")),
        words(""),
    ]
    return Table("", heads, rows)
