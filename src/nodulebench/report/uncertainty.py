"""Document -> measurement uncertainty and traceability, as ISO/IEC 17025 asks of a laboratory."""

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import decimals, percent, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Row, Table, code, head, words
from nodulebench.report.key_tables import key_names
from nodulebench.report.methods import interval_words, reference_rule
from nodulebench.report.pages.cells import Cell


def uncertainty_table(document: Document, translate: Translator) -> Table | None:
    """Half-widths of the intervals of the leading metrics: the expanded uncertainty of sampling."""
    rows: list[Row] = []
    for algorithm, rule, result in document.results:
        for name in key_names(document):
            metric = result.metric(name)
            if metric is None or None in (metric.value, metric.low, metric.high):
                continue
            value, low, high = metric.value or 0.0, metric.low or 0.0, metric.high or 0.0
            below, above = (decimals(max(0.0, width)) for width in (value - low, high - value))
            rows.append(
                {
                    "head.algorithm": head(algorithm.name),
                    "head.rule": words(translate.word(rule)),
                    "metrics.metric": words(translate.metric(name).title),
                    "uncertainty.value": Cell(decimals(value)),
                    "uncertainty.half_width": Cell(f"± {decimals((high - low) / 2)}"),
                    "uncertainty.sides": Cell(f"−{below} / +{above}"),
                }
            )
    remark = translate("uncertainty.remark", level=percent(document.protocol.interval.level))
    return Table.of(translate("uncertainty.caption"), rows, translate, remark=remark)


def sources_table(document: Document, translate: Translator) -> Table | None:
    """The sources of uncertainty, and whether the intervals contain them."""
    protocol, results = document.protocol, [result for _, _, result in document.results]
    by_rule, by_order = [], []
    for algorithm in document.algorithms:
        recall = [result.value("recall") for result in algorithm.rules.values()]
        known = [value for value in recall if value is not None]
        by_rule += [max(known) - min(known)] if len(known) > 1 else []
    for result in results:
        if order := result.extras.get("order_sensitivity"):
            by_order.append(max(order.values()) - min(order.values()))
    is_swept = any(result.extras.get("size_tolerance") for result in results)
    replicates = whole(protocol.interval.bootstraps)
    reference = reference_rule(document.reference, translate)
    how = interval_words(protocol.interval, translate)
    treated = {
        "sampling": translate("source.sampling_text", how=how),
        "rule": translate("source.rule_text", largest=decimals(max(by_rule)))
        if by_rule
        else translate("source.rule_single"),
        "order": by_order and translate("source.order_text", largest=whole(max(by_order))),
        "reference": translate("source.reference_text", rule=reference),
        "size": translate("source.size_swept" if is_swept else "source.size_text"),
        "replicates": translate("source.replicates_text", count=replicates, seed=protocol.seed),
        "algorithm": translate("source.algorithm_text"),
        "computing": translate("source.computing_text"),
    }
    rows: list[Row] = [
        {
            "sources.source": head(translate(f"source.{name}")),
            "sources.treated": words(text),
            "sources.in_interval": words(translate(f"source.{name}_in")),
        }
        for name, text in treated.items()
        if text
    ]
    return Table.of(translate("sources.caption"), rows, translate)


def traceability_table(document: Document, translate: Translator) -> Table | None:
    """The origin of each number, step by step, with the digest of each step."""
    digests = document.digests
    withheld, no_file = translate("trace.withheld"), translate("identity.no_file")
    steps = {
        translate("trace.report"): "evaluation.json",
        translate("trace.metrics"): f"NoduleBench {document.version}",
        translate("trace.protocol"): digests["protocol"],
        translate("trace.labels"): "labels.parquet",
    }
    for algorithm in document.algorithms:
        steps[translate("trace.marks", name=algorithm.name)] = algorithm.digest or no_file
    steps |= {
        translate(f"trace.{key}"): digests.get(key, withheld) for key in ("reference", "cohort")
    }
    if "plan" in digests:
        steps[translate("trace.plan")] = digests["plan"]
    rows: list[Row] = [
        {"trace.step": head(step), "trace.identity": code(identity)}
        for step, identity in steps.items()
    ]
    remark = translate("trace.remark")
    return Table.of(translate("trace.caption"), rows, translate, remark=remark)
