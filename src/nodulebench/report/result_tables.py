"""Document -> the tables of results: key metrics, readings, counts, strata, published detectors."""

from dataclasses import dataclass, replace

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import AlgorithmSummary, RuleSummary
from nodulebench.core.results import Stratum
from nodulebench.i18n.numbers import UNDEFINED, decimals, rate, significant, whole
from nodulebench.i18n.translator import COUNTS, FP_RATE, Translator
from nodulebench.report.blocks import (
    Head,
    Notes,
    Row,
    Table,
    count,
    estimate,
    head,
    short,
    undefined,
    words,
)
from nodulebench.report.pages.cells import Cell

SCORED_METRICS = ("cpm", "sensitivity_at_fp_rate/1", "recall", "precision", "fp_per_case")
PLAIN_METRICS = ("recall", "precision", "f1", "fp_per_case")
"""The metrics that lead a report, with and without a FROC."""
MOST_LEADING = 12
"""With more results those under the baseline rule lead the report."""
ALWAYS_COUNTED = ("hit", "missed", "false_positive")


def key_names(document: Document) -> list[str]:
    """The metrics that lead the report, of those that the protocol asks for."""
    results = [result for _, _, result in document.results]
    has_curve = any(result.value("cpm") is not None for result in results)
    beta = f"f{document.protocol.beta:g}"
    usual = SCORED_METRICS if has_curve else PLAIN_METRICS
    wanted = [beta if name == "f1" else name for name in usual]
    chosen = [name for name in wanted if any(result.metric(name) for result in results)]
    single = [name for result in results for name in result.single_metrics]
    return chosen or list(dict.fromkeys(single))[: len(PLAIN_METRICS)]


def leading_rules(document: Document) -> Document:
    """The document; with too many results for the first table, only its baseline rule."""
    base = document.baseline_rule
    if len(list(document.results)) <= MOST_LEADING or base not in document.rules:
        return document
    return replace(
        document,
        algorithms=tuple(
            replace(
                algorithm,
                rules={rule: result for rule, result in algorithm.rules.items() if rule == base},
            )
            for algorithm in document.algorithms
        ),
    )


def key_table(document: Document, translate: Translator) -> Table | None:
    notes = Notes(translate)
    titles = {name: translate.metric(name) for name in key_names(document)}
    shown = {name: Cell(title.title, hint=title.meaning) for name, title in titles.items()}
    hits = Cell(translate.count("hit")[0])
    rows: list[dict[Head, Cell]] = []
    for algorithm, rule, result in document.results:
        lead = lead_cells(document, algorithm, rule, translate)
        if result.undefined:
            rows.append(lead | {hits: undefined(result.undefined, notes, len(titles) + 1)})
            continue
        counted = Cell(f"{whole(result.counts['hit'])} / {whole(result.counts['nodules'])}")
        rows.append(lead | {hits: counted})
        rows[-1] |= {head: estimate(result.metric(name), notes) for name, head in shown.items()}
    point = document.protocol.operating_point
    remark = translate("key.remark_declared" if document.has_declared_points else "key.remark")
    if point is not None:
        remark = translate("key.remark_at", rate=rate(point))
    caption = translate("key.caption_one" if len(document.rules) == 1 else "key.caption")
    heads = [*lead_heads(document), hits, *shown.values()]
    return Table.of(caption, rows, translate, notes, columns=heads, remark=remark)


def readings_table(document: Document, metric: str, translate: Translator) -> Table | None:
    """A metric read at several points, one column each; None where no result has it."""
    notes = Notes(translate)
    rows: list[dict[Head, Cell]] = []
    for algorithm, rule, result in document.results:
        if readings := result.readings(metric):
            is_score = metric == "threshold_at_fp_rate"
            rows.append(lead_cells(document, algorithm, rule, translate, spans=False))
            for key, value in readings.items():
                rows[-1][Cell(translate.point(metric, key))] = (
                    Cell(significant(value.value, keeps_zeros=True))
                    if is_score and value.value is not None
                    else estimate(value, notes)
                )
    title = translate.metric(metric)
    by = "rate" if metric.endswith(FP_RATE) else "fraction" if metric.endswith("fpf") else "point"
    meaning = title.meaning[:1].upper() + title.meaning[1:]
    remark = translate("readings.remark", meaning=meaning) if meaning else ""
    caption = translate(f"readings.by_{by}", metric=title.title)
    return Table.of(caption, rows, translate, notes, remark=remark, is_tight=True)


def lead_heads(document: Document) -> list[Head]:
    """The heads above algorithm and rule; one algorithm is named by the page's title."""
    return ["head.rule"] if len(document.algorithms) == 1 else ["head.algorithm", "head.rule"]


def lead_cells(
    document: Document,
    algorithm: AlgorithmSummary,
    rule: str,
    translate: Translator,
    *,
    spans: bool = True,
) -> dict[Head, Cell]:
    """The cells that name algorithm and rule; with ``spans`` an algorithm is named only once."""
    if len(document.algorithms) == 1:
        return {"head.rule": head(translate.word(rule))}
    named: dict[Head, Cell] = {}
    if not spans or rule == next(iter(algorithm.rules)):
        named["head.algorithm"] = head(algorithm.name, len(algorithm.rules) if spans else 1)
    return {**named, "head.rule": short(translate.word(rule))}


def counts_table(document: Document, translate: Translator) -> Table | None:
    notes = Notes(translate)
    results = [result for _, _, result in document.results if not result.undefined]
    shown = {
        name: Cell(translate.count(name)[0], hint=translate.count(name)[1])
        for name in COUNTS
        if name in ALWAYS_COUNTED or any(result.counts.get(name) for result in results)
    }
    rows: list[dict[Head, Cell]] = []
    for algorithm, rule, result in document.results:
        rows.append(lead_cells(document, algorithm, rule, translate))
        if result.undefined:
            rows[-1][next(iter(shown.values()))] = undefined(result.undefined, notes, len(shown))
        else:
            rows[-1] |= {title: count(result.counts.get(name)) for name, title in shown.items()}
    columns = [*lead_heads(document), *shown.values()]
    return Table.of(translate("counts.caption"), rows, translate, notes, columns=columns)


def metrics_table(algorithm: AlgorithmSummary, translate: Translator) -> Table | None:
    """Every single metric of an algorithm, rules side by side, with all its intervals."""
    notes = Notes(translate)
    results = {rule: result for rule, result in algorithm.rules.items() if not result.undefined}
    names = dict.fromkeys(name for result in results.values() for name in result.single_metrics)
    rows = []
    for name in names:
        title = translate.metric(name)
        cells = [head(title.title), words(title.meaning)]
        for result in results.values():
            metric, others = result.metric(name), []
            if metric is not None and metric.value is not None:
                others = [
                    f"{translate.word(method)} {decimals(low)}–{decimals(high)}"
                    for method, (low, high) in metric.others.items()
                ]
                if metric.mean is not None:
                    others.append(translate("metrics.bootstrap_mean", mean=decimals(metric.mean)))
            cells += [estimate(metric, notes), words("; ".join(others))]
        rows.append(cells)
    heads = [words(translate("metrics.metric")), words(translate("metrics.meaning"))]
    heads += [Cell(translate("metrics.value")), words(translate("metrics.further"))] * len(results)
    groups = [("", 2), *((translate.word(rule), 2) for rule in results)] if len(results) > 1 else []
    return Table("", heads, rows, notes.all(), groups=groups) if rows else None


BAR_ENDS = (0.1, 0.2, 0.5, 1.0)


def strata_tables(algorithm: AlgorithmSummary, minimum: int, translate: Translator) -> list[Table]:
    """Misses by stratum: rules side by side for nodules, one table a rule for whole cases."""
    results = {rule: each for rule, each in algorithm.rules.items() if each.strata}
    tables: list[Table | None] = []
    for name in dict.fromkeys(name for each in results.values() for name in each.strata):
        having = {rule: each.strata[name] for rule, each in results.items() if name in each.strata}
        is_of_cases = any(row.cases is not None for row in next(iter(having.values())).values())
        if not is_of_cases:
            notes = Notes(translate)
            scale = _bar_scale([one for strata in having.values() for one in strata.values()])
            rows = []
            for stratum, first in next(iter(having.values())).items():
                cells = [head(translate.word(stratum)), count(first.nodules)]
                for strata in having.values():
                    result = strata[stratum]
                    cells += [count(result.missed), _miss_rate(result, notes, minimum, scale)]
                rows.append(cells)
            rates = [Cell(translate("strata.missed")), Cell(translate("strata.miss_rate"))]
            heads = [words(""), Cell(translate("strata.nodules")), *rates * len(having)]
            of_rules = [("", 2), *((translate.word(rule), 2) for rule in having)]
            groups = of_rules if len(having) > 1 else []
            remark = translate("strata.bars", end=f"{scale:g}")
            caption = translate.stratum(name)
            tables.append(Table(caption, heads, rows, notes.all(), groups=groups, remark=remark))
        tables += [
            _strata_metrics(name, rule, strata, minimum, translate, is_of_cases=is_of_cases)
            for rule, strata in having.items()
            if is_of_cases or any(stratum.metrics for stratum in strata.values())
        ]
    return [table for table in tables if table is not None]


def _strata_metrics(
    name: str,
    rule: str,
    strata: dict[str, Stratum],
    minimum: int,
    translate: Translator,
    *,
    is_of_cases: bool,
) -> Table | None:
    """Metrics of each stratum: of its cases, or of its nodules with all false positives."""
    notes, scale = Notes(translate), _bar_scale(list(strata.values()))
    keys = dict.fromkeys(key for stratum in strata.values() for key in stratum.metrics)
    titles = {key: translate.metric(key if is_of_cases else key.replace("@", "/")) for key in keys}
    rows: list[Row] = []
    for stratum, result in strata.items():
        if not is_of_cases and not result.nodules:
            continue
        row: dict[Head, Cell] = {"": head(translate.word(stratum))}
        if is_of_cases:
            row["strata.cases"] = count(result.cases)
        row["strata.nodules"] = count(result.nodules)
        if is_of_cases:
            row["strata.missed"] = count(result.missed)
            row["strata.miss_rate"] = _miss_rate(result, notes, minimum, scale)
        for key, title in titles.items():
            row[Cell(title.title, hint=title.meaning)] = (
                _too_few(notes, minimum)
                if result.is_too_few
                else estimate(result.metrics.get(key), notes)
            )
        rows.append(row)
    division, ruled = translate.stratum(name), translate.word(rule)
    caption = translate("strata.under_rule", division=division, rule=ruled)
    bars, of_nodules = translate("strata.bars", end=f"{scale:g}"), translate("strata.of_nodules")
    remark = bars if is_of_cases else of_nodules
    return Table.of(caption, rows, translate, notes, remark=remark)


def _bar_scale(strata: list[Stratum]) -> float:
    """Where bars end: the smallest round number that holds every rate and its interval."""
    shown = [stratum.miss_rate for stratum in strata if not stratum.is_too_few]
    largest = max((rate.high or rate.value or 0.0 for rate in shown), default=0.0)
    return next((end for end in BAR_ENDS if largest <= end), BAR_ENDS[-1])


def _miss_rate(stratum: Stratum, notes: Notes, minimum: int, scale: float) -> Cell:
    """The miss rate with a bar; no rate where the stratum has too few nodules for one."""
    if stratum.is_too_few and stratum.nodules:
        return _too_few(notes, minimum)
    return estimate(stratum.miss_rate, notes, bar_scale=scale)


def _too_few(notes: Notes, minimum: int) -> Cell:
    reason = notes.translate("strata.too_few_reason", minimum=minimum)
    return Cell(notes.translate("strata.too_few"), note=notes.letter(reason))


LISTED_RATES = ("4", "1")
"""Rates of false positives at which our results are shown."""
NOT_SCORED = RuleSummary()


@dataclass(frozen=True, slots=True)
class Published:
    """A detector as the LUNA16 paper (Setio et al. 2017) lists it."""

    system: str
    """Its first author."""
    year: int | None
    scans: int
    nodules: int | None
    readings: tuple[tuple[float, float], ...] = ()
    """Sensitivity in percent and false positives per scan."""
    agreement: str = ""
    """How many of four readers had to agree on a nodule."""
    size_mm: str = ""
    thickness_mm: str = ""


PUBLISHED = (
    Published("LUNA16, combined", 2017, 888, 1186, ((98.2, 4), (96.9, 1)), "≥ 3", "≥ 3", "≤ 2.5"),
    Published("Dou", 2016, 888, 1186, ((90.7, 4), (84.8, 1)), "≥ 3", "≥ 3", "≤ 2.5"),
    Published("Setio", 2016, 888, 1186, ((90.1, 4), (85.4, 1)), "≥ 3", "≥ 3", "≤ 2.5"),
    Published("Bergtholdt", 2016, 243, 690, ((85.9, 2.5),), "≥ 1", "≥ 3"),
    Published("Torres", 2015, 949, 1749, ((80, 8),), "≥ 2", "≥ 3"),
    Published("van Ginneken", 2015, 865, 1147, ((76, 4), (73, 1)), "≥ 3", "≥ 3", "≤ 2.5"),
    Published("Brown", 2014, 108, 68, ((75, 2),), "≥ 3", "≥ 4", "0.5–3"),
    Published("Choi", 2013, 58, 151, ((95.3, 2.3),), "≥ 1", "3–30", "0.5–3"),
    Published("Tan", 2013, 360, None, ((83, 4),), "4", "≥ 3"),
    Published("Teramoto", 2013, 84, 103, ((80, 4.2),), "≥ 1", "5–20", "0.5–3"),
    Published("Cascio", 2012, 84, 148, ((97, 6.1), (88, 2.5)), "≥ 1", "≥ 3", "1.25–3"),
    Published("Guo", 2012, 85, 111, ((80, 7.4), (75, 2.8)), "≥ 3", "≥ 3", "1.25–3"),
    Published("Camarlinghi", 2011, 69, 114, ((80, 3),), "≥ 2", "> 3", "0.5–2"),
    Published("Riccardi", 2011, 154, 117, ((71, 6.5), (60, 2.5)), "4", "≥ 3", "0.5–3"),
    Published("Tan", 2011, 125, 80, ((87.5, 4),), "4", "≥ 3", "0.75–3"),
    Published("Messay", 2010, 84, 143, ((82.7, 3),), "≥ 1", "≥ 3", "1.3–3"),
)


def literature_table(document: Document, translate: Translator) -> Table | None:
    """Our algorithms, then those of LUNA16's table 4; None for other protocols than LUNA16."""
    if document.protocol.name != "luna16":
        return None
    shown = []
    for algorithm in document.algorithms:
        result = algorithm.rules.get("luna16", NOT_SCORED)
        readings = {rate: result.value(f"sensitivity_at_fp_rate/{rate}") for rate in LISTED_RATES}
        known = {rate: value for rate, value in readings.items() if value is not None}
        if known:
            name = translate("literature.this", name=algorithm.name)
            pairs = [f"{decimals(100 * value, 1)} / {rate}" for rate, value in known.items()]
            scans, nodules = result.counts["cases"], result.counts["nodules"]
            shown.append((Published(name, None, scans, nodules), head(name), pairs))
    if not shown:
        return None
    for published in PUBLISHED:
        pairs = [f"{sensitivity:g} / {rate:g}" for sensitivity, rate in published.readings]
        shown.append((published, words(published.system), pairs))
    rows: list[Row] = [
        {
            "literature.system": named,
            "literature.year": Cell(UNDEFINED if system.year is None else str(system.year)),
            "literature.scans": count(system.scans),
            "literature.nodules": count(system.nodules),
            "literature.thickness": words(system.thickness_mm or UNDEFINED),
            "literature.size": words(system.size_mm or UNDEFINED),
            "literature.agreement": words(system.agreement or UNDEFINED),
            "literature.readings": Cell("; ".join(pairs)),
        }
        for system, named, pairs in shown
    ]
    remark = translate("literature.remark")
    return Table.of(translate("literature.caption"), rows, translate, remark=remark)
