"""Curation -> curation.html: the flow of series, and every series with its picture and reasons."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from markupsafe import Markup

from nodulebench import __version__
from nodulebench.curation.admission_checks import CODES_OF_GROUP, Limits
from nodulebench.curation.curate import Curation
from nodulebench.curation.duplicates import DUPLICATE_CODES
from nodulebench.curation.examine import ExaminedSeries
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.report.blocks import Section, Table, count, words
from nodulebench.report.charts import Step, flow_chart
from nodulebench.report.pages.svg import standalone
from nodulebench.report.pages.templates import Block, PageFrame, framed_page

STEPS = {**CODES_OF_GROUP, "duplicates": tuple(DUPLICATE_CODES)}
"""Groups of checks in the order in which they decide, each with its codes."""


def curation_page(curation: Curation, name: LanguageName = "en") -> str:
    translate = translator(name)
    admitted, series = len(curation.admitted), len(curation.series)
    flow: list[Block | Markup] = [_flow(curation, translate), *_codes(curation, translate)]
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
            language=translate("language.code"),
            contents=translate("page.contents"),
            find=translate("curated.find"),
            style="curation.css",
            script="curation.js",
        )
    )


def flow_svg(curation: Curation, name: LanguageName = "en") -> str:
    return standalone(_flow(curation, translator(name)))


def _facts(curation: Curation, translate: Translator) -> list[tuple[str, str]]:
    total, admitted = len(curation.series), len(curation.admitted)
    damaged = sum(other_file.is_damaged for other_file in curation.other_files)
    counts = {
        "series": str(total),
        "admitted": str(admitted),
        "excluded": str(total - admitted),
        "slices": f"{sum(series.slices for series in curation.series):,}",
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
    fell = Counter(series.reasons[0].code for series in curation.series if series.reasons)
    left = len(curation.series)
    steps = [Step(translate("curated.found", count=left)), Step("")]
    for group, codes in STEPS.items():
        lost = sum(fell[code] for code in codes)
        if not lost:
            continue
        left -= lost
        reasons = [f"{fell[code]} {translate.word(code)}" for code in codes if fell[code]]
        out = translate("list.then").join(reasons)
        steps[-2] = Step(steps[-2].text, exit=out, otherwise=f"−{lost}")
        steps[-1:] = [Step(translate(f"curated.left_{group}", left=left)), Step("")]
    steps[-1] = Step(translate("curated.cases", count=left))
    return flow_chart(steps, translate("curated.flow_text", found=len(curation.series), left=left))


def _codes(curation: Curation, translate: Translator) -> list[Table]:
    """Every code that occurred: how often it decided, and how often it applied."""
    first = Counter(series.reasons[0].code for series in curation.series if series.reasons)
    applied = Counter(
        code for series in curation.series for code in {reason.code for reason in series.reasons}
    )
    heads = [
        words(translate(f"curated.head_{key}")) for key in ("reason", "code", "decided", "applied")
    ]
    rows = [
        [words(translate.word(code)), words(code), count(first[code]), count(applied[code])]
        for codes in STEPS.values()
        for code in codes
        if applied[code]
    ]
    remark = translate("curated.first_decides")
    return [Table(translate("curated.reasons"), heads, rows, remark=remark)] if rows else []


@dataclass(frozen=True, slots=True)
class Card:
    """The data of one series on the page."""

    name: str
    code: str
    """The first reason's; empty for an admitted series."""
    state: str
    reasons: Sequence[tuple[str, str]]
    """Text and code of each reason."""
    waived: Sequence[tuple[str, str]]
    pictures: Sequence[tuple[str, str]]
    """Name of each cut, and its PNG file in base64."""
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
    """Code, name and number of series of each choice."""
    cards: Sequence[Card]
    translate: Translator


def _browser(curation: Curation, translate: Translator) -> SeriesBrowser:
    codes = Counter(series.reasons[0].code if series.reasons else "" for series in curation.series)
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
        [_card(curation, series, translate) for series in curation.series],
        translate,
    )


def _card(curation: Curation, series: ExaminedSeries, translate: Translator) -> Card:
    facts, geometry = dict(series.facts), dict(series.geometry)
    size = (
        f"{geometry['size_x']} × {geometry['size_y']} × {geometry['size_z']}, "
        f"{geometry['spacing_x_mm']:.3g} × {geometry['spacing_z_mm']:.3g} mm"
        if geometry
        else translate("curated.slices", count=series.slices)
    )
    root = curation.folder.resolve()
    parents = (PurePath(path).parent.relative_to(root).as_posix() for path in series.files)
    places = list(dict.fromkeys(parents))
    # a folder with the name of the series adds no information
    folder, more = places[0].removesuffix(series.uid).rstrip("/"), len(places) - 1
    code = series.reasons[0].code if series.reasons else ""
    cuts = translate("curated.axial"), translate("curated.coronal")
    return Card(
        name=series.name,
        code=code,
        state=translate.word(code),
        reasons=[(translate.message(reason.notice), reason.code) for reason in series.reasons],
        waived=[(translate.message(reason.notice), reason.code) for reason in series.waived],
        pictures=[*zip(cuts, series.pictures, strict=False)],
        patient=str(facts.get("patient_id") or ""),
        modality=series.modality,
        size=size,
        scanner=" ".join(
            str(facts[name]) for name in ("manufacturer", "model", "kernel") if name in facts
        ),
        folder=translate("curated.more_folders", folder=folder, more=more) if more else folder,
    )


def _other_files(curation: Curation, translate: Translator) -> list[Section]:
    if not curation.other_files:
        return []
    root = curation.folder.resolve()
    shown = sorted(curation.other_files, key=lambda other_file: not other_file.is_damaged)[:200]
    rows = [
        [
            words(translate("curated.damaged" if other_file.is_damaged else "curated.other_kind")),
            words(PurePath(other_file.path).relative_to(root).as_posix()),
            words(translate.message(other_file.notice)),
        ]
        for other_file in shown
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
