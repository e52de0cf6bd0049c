"""Document -> measurement uncertainty and traceability, as ISO/IEC 17025 asks of a laboratory."""

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import decimals, percent, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Table, code, head, words
from nodulebench.report.key_tables import key_names
from nodulebench.report.methods import interval_words, reference_rule
from nodulebench.report.pages.cells import Cell


def uncertainty_table(document: Document, translate: Translator) -> Table | None:
    """Half-widths of the intervals of the leading metrics: the expanded uncertainty of sampling."""
    rows = []
    for algorithm, rule, result in document.results:
        for name in key_names(document):
            metric = result.metric(name)
            if metric is None or None in (metric.value, metric.low, metric.high):
                continue
            value, low, high = metric.value or 0.0, metric.low or 0.0, metric.high or 0.0
            rows.append(
                [
                    head(algorithm.name),
                    words(translate.word(rule)),
                    words(translate.metric(name).title),
                    Cell(decimals(value)),
                    Cell(f"± {decimals((high - low) / 2)}"),
                    Cell(f"−{_side(value - low)} / +{_side(high - value)}"),
                ]
            )
    if not rows:
        return None
    level = percent(document.protocol.interval.level)
    keys = ("head.algorithm", "head.rule", "metrics.metric")
    heads = [
        *(words(translate(key)) for key in keys),
        *(Cell(translate(f"uncertainty.{key}")) for key in ("value", "half_width", "sides")),
    ]
    remark = translate("uncertainty.remark", level=level)
    return Table(translate("uncertainty.caption"), heads, rows, remark=remark)


def _side(width: float) -> str:
    return decimals(max(0.0, width))


def sources_table(document: Document, translate: Translator) -> Table:
    """The sources of uncertainty, and whether the intervals contain them."""
    protocol = document.protocol
    choice = protocol.interval
    replicates = whole(choice.bootstraps)
    known = {
        "sampling": translate("source.sampling_text", how=interval_words(choice, translate)),
        "rule": _rule_spread(document, translate),
        "order": _order_spread(document, translate),
        "reference": translate(
            "source.reference_text", rule=reference_rule(document.reference, translate)
        ),
        "size": translate("source.size_swept" if _has_sweep(document) else "source.size_text"),
        "replicates": translate("source.replicates_text", count=replicates, seed=protocol.seed),
        "algorithm": translate("source.algorithm_text"),
        "computing": translate("source.computing_text"),
    }
    rows = [
        [head(translate(f"source.{name}")), words(treatment), words(translate(f"source.{name}_in"))]
        for name, treatment in known.items()
        if treatment
    ]
    heads = [words(translate(f"sources.{key}")) for key in ("source", "treated", "in_interval")]
    return Table(translate("sources.caption"), heads, rows)


def _rule_spread(document: Document, translate: Translator) -> str:
    """How far recall moves with the rule, over all algorithms."""
    spreads = []
    for algorithm in document.algorithms:
        recall = [
            value
            for result in algorithm.rules.values()
            if (value := result.value("recall")) is not None
        ]
        if len(recall) > 1:
            spreads.append(max(recall) - min(recall))
    if not spreads:
        return translate("source.rule_single")
    return translate("source.rule_text", largest=decimals(max(spreads)))


def _order_spread(document: Document, translate: Translator) -> str:
    """How many hits depend on the order of assignment, over all results."""
    spreads = [
        max(order.values()) - min(order.values())
        for _, _, result in document.results
        if (order := result.extras.get("order_sensitivity"))
    ]
    return translate("source.order_text", largest=whole(max(spreads))) if spreads else ""


def _has_sweep(document: Document) -> bool:
    return any(result.extras.get("size_tolerance") for _, _, result in document.results)


def traceability_table(document: Document, translate: Translator) -> Table:
    """The origin of each number, step by step, with the digest of each step."""
    digests = document.digests
    withheld, no_file = translate("trace.withheld"), translate("identity.no_file")
    steps = [
        ("report", "evaluation.json"),
        ("metrics", f"NoduleBench {document.version}"),
        ("protocol", digests["protocol"]),
        ("labels", "labels.parquet"),
        *(
            (("marks", algorithm.name), algorithm.digest or no_file)
            for algorithm in document.algorithms
        ),
        ("reference", digests.get("reference", withheld)),
        ("cohort", digests.get("cohort", withheld)),
        *([("plan", digests["plan"])] if "plan" in digests else []),
    ]
    rows = [
        [
            head(translate(f"trace.{step}"))
            if isinstance(step, str)
            else head(translate(f"trace.{step[0]}", name=step[1])),
            code(identity),
        ]
        for step, identity in steps
    ]
    heads = [words(translate("trace.step")), words(translate("trace.identity"))]
    return Table(translate("trace.caption"), heads, rows, remark=translate("trace.remark"))
