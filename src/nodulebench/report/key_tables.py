"""Document -> the tables of results: key metrics, readings, counts, every metric."""

from dataclasses import replace

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import AlgorithmSummary
from nodulebench.core.results import Estimate
from nodulebench.i18n.numbers import decimals, rate, significant, whole
from nodulebench.i18n.translator import COUNTS, FP_RATE, Translator
from nodulebench.report.blocks import Notes, Table, count, estimate, head, short, undefined, words
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


def key_table(document: Document, translate: Translator) -> Table:
    """The leading metrics of every algorithm under every rule."""
    names, notes = key_names(document), Notes(translate)
    rows = []
    for algorithm, rule, result in document.results:
        lead = lead_cells(document, algorithm, rule, translate)
        if result.undefined:
            rows.append([*lead, undefined(result.undefined, notes, columns=len(names) + 1)])
            continue
        counts = result.counts
        rows.append(
            [
                *lead,
                Cell(f"{whole(counts['hit'])} / {whole(counts['nodules'])}"),
                *(estimate(result.metric(name), notes) for name in names),
            ]
        )
    titles = [translate.metric(name) for name in names]
    heads = [
        *lead_heads(document, translate),
        Cell(translate.count("hit")[0]),
        *(Cell(title.title, hint=title.meaning) for title in titles),
    ]
    point = document.protocol.operating_point
    remark = translate("key.remark_declared" if document.has_declared_points else "key.remark")
    if point is not None:
        remark = translate("key.remark_at", rate=rate(point))
    caption = translate("key.caption_one" if len(document.rules) == 1 else "key.caption")
    return Table(caption, heads, rows, notes.all(), remark)


def readings_table(document: Document, metric: str, translate: Translator) -> Table | None:
    """A metric read at several points, one column each; None where no result has it."""
    notes = Notes(translate)
    rows, keys = [], []
    for algorithm, rule, result in document.results:
        readings = result.readings(metric)
        if not readings:
            continue
        keys = list(readings)
        show = _threshold if metric == "threshold_at_fp_rate" else estimate
        cells = [show(readings[key], notes) for key in keys]
        rows.append([*lead_cells(document, algorithm, rule, translate, spans=False), *cells])
    if not rows:
        return None
    title = translate.metric(metric)
    by = "rate" if metric.endswith(FP_RATE) else "fraction" if metric.endswith("fpf") else "point"
    heads = [
        *lead_heads(document, translate),
        *(Cell(translate.point(metric, key)) for key in keys),
    ]
    meaning = title.meaning[:1].upper() + title.meaning[1:]
    return Table(
        translate(f"readings.by_{by}", metric=title.title),
        heads,
        rows,
        notes.all(),
        translate("readings.remark", meaning=meaning) if meaning else "",
        is_tight=True,
    )


def _threshold(value: Estimate, notes: Notes) -> Cell:
    """A score on the scale of the algorithm."""
    if value.value is None:
        return undefined(value.reason, notes)
    return Cell(significant(value.value, keeps_zeros=True))


def lead_heads(document: Document, translate: Translator) -> list[Cell]:
    """The heads above algorithm and rule; one algorithm is named by the page's title."""
    heads = [words(translate("head.algorithm")), words(translate("head.rule"))]
    return heads[len(document.algorithms) == 1 :]


def lead_cells(
    document: Document,
    algorithm: AlgorithmSummary,
    rule: str,
    translate: Translator,
    *,
    spans: bool = True,
) -> list[Cell]:
    """The cells that name algorithm and rule; with ``spans`` an algorithm is named only once."""
    if len(document.algorithms) == 1:
        return [head(translate.word(rule))]
    is_first = rule == next(iter(algorithm.rules))
    named = head(algorithm.name, rows=len(algorithm.rules) if spans else 1)
    return (
        [named, short(translate.word(rule))]
        if is_first or not spans
        else [short(translate.word(rule))]
    )


def counts_table(document: Document, translate: Translator) -> Table:
    """The counts of nodules and marks by outcome."""
    notes = Notes(translate)
    results = [result for _, _, result in document.results if not result.undefined]
    shown = [
        name
        for name in COUNTS
        if name in ALWAYS_COUNTED or any(result.counts.get(name) for result in results)
    ]
    rows = []
    for algorithm, rule, result in document.results:
        cells = (
            [undefined(result.undefined, notes, columns=len(shown))]
            if result.undefined
            else [count(result.counts.get(name)) for name in shown]
        )
        rows.append([*lead_cells(document, algorithm, rule, translate), *cells])
    heads = [
        *lead_heads(document, translate),
        *(Cell(translate.count(name)[0], hint=translate.count(name)[1]) for name in shown),
    ]
    return Table(translate("counts.caption"), heads, rows, notes.all())


def metrics_table(algorithm: AlgorithmSummary, translate: Translator) -> Table | None:
    """Every single metric of an algorithm, rules side by side, with all its intervals."""
    notes = Notes(translate)
    results = {rule: result for rule, result in algorithm.rules.items() if not result.undefined}
    names = list(
        dict.fromkeys(name for result in results.values() for name in result.single_metrics)
    )
    if not names:
        return None
    rows = []
    for name in names:
        title = translate.metric(name)
        cells = [head(title.title), words(title.meaning)]
        for result in results.values():
            metric = result.metric(name)
            cells += [estimate(metric, notes), words(_other_intervals(metric, translate))]
        rows.append(cells)
    heads = [words(translate("metrics.metric")), words(translate("metrics.meaning"))]
    heads += [
        cell
        for _ in results
        for cell in (Cell(translate("metrics.value")), words(translate("metrics.further")))
    ]
    groups = [("", 2), *((translate.word(rule), 2) for rule in results)] if len(results) > 1 else []
    return Table("", heads, rows, notes.all(), groups=groups)


def _other_intervals(metric: Estimate | None, translate: Translator) -> str:
    """Bounds by other methods, and the mean of the replicates."""
    if metric is None or metric.value is None:
        return ""
    shown = [
        f"{translate.word(method)} {decimals(low)}–{decimals(high)}"
        for method, (low, high) in metric.others.items()
    ]
    if metric.mean is not None:
        shown.append(translate("metrics.bootstrap_mean", mean=decimals(metric.mean)))
    return "; ".join(shown)
