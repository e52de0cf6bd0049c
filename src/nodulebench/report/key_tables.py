"""Document -> the tables of results: key metrics, readings, counts, every metric."""

from dataclasses import replace

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import AlgorithmSummary
from nodulebench.i18n.numbers import decimals, rate, significant, whole
from nodulebench.i18n.translator import COUNTS, FP_RATE, Translator
from nodulebench.report.blocks import (
    Head,
    Notes,
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
