"""Document -> how the test was done: everything that another lab needs to get the same numbers.

With measurement uncertainty and traceability, as ISO/IEC 17025 asks of a laboratory.
"""

from collections.abc import Sequence
from math import isinf

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import ReferenceSummary
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocol import IntervalChoice
from nodulebench.i18n.numbers import decimals, percent, rate, significant, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Row, Side, Table, code, count, head, words
from nodulebench.report.charts import (
    SKETCH_SIZE,
    SKETCHES,
    Bars,
    Chart,
    Step,
    Value,
    flow_chart,
    row_chart,
)
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.svg import Axis, drawing
from nodulebench.report.pages.templates import Block
from nodulebench.report.result_tables import key_names
from nodulebench.report.verdict import remarks_table


def method_blocks(document: Document, translate: Translator) -> list[Block | None]:
    """Course of the test, rules, protocol, terms, remarks and facts about the algorithms."""
    rules: list[Row] = []
    for rule in document.protocol.rules:
        changed = [f"{translate.word(name)} = {value}" for name, value in rule.parameters.items()]
        parameters = translate.listed(changed) or translate("rules.as_published")
        rules.append(
            {
                "head.rule": head(translate.word(rule.name)),
                "rules.hit": words(translate.rule(rule.name)),
                "rules.parameters": words(parameters),
            }
        )
    sketches = rule_sketches(document, translate)
    facts = [
        [head(algorithm.name), words(translate.word(name)), words(_listed(fact, translate))]
        for algorithm in document.algorithms
        for name, fact in algorithm.facts.items()
    ]
    identities = {"NoduleBench": document.version}
    identities |= {translate.heading(name): digest for name, digest in document.digests.items()}
    used = [[head(name), code(identity)] for name, identity in identities.items()]
    for algorithm in document.algorithms:
        name = translate("identity.submission", name=algorithm.name)
        used.append([head(name), code(algorithm.digest or translate("identity.no_file"))])
    return [
        course_chart(document, translate),
        Table.of(translate("rules.caption"), rules, translate),
        Side(sketches, remark=translate("sketch.remark")) if sketches else None,
        matching_chart(document, translate),
        protocol_table(document, translate),
        terms_table(document, translate),
        remarks_table(document, translate),
        Table(translate("facts.caption"), [], facts) if facts else None,
        Table(translate("identity.caption"), [], used),
    ]


def reference_rule(reference: ReferenceSummary, translate: Translator) -> str:
    """How the reference standard was made, as it states itself."""
    return (
        translate.word(reference.rule) if reference.rule else translate("protocol.rule_not_stated")
    )


def protocol_table(document: Document, translate: Translator) -> Table:
    protocol, reference, limit = (
        document.protocol,
        document.reference,
        document.protocol.size_limit,
    )
    counted = translate.listed(
        f"{whole(value)} {translate.word(name)}"
        for name in ("cases", "patients", "findings", "ignored_findings")
        if (value := getattr(reference, name)) is not None
    )
    types, narrows = protocol.scope.types, protocol.scope.uses_declaration
    scope = translate("scope.every_type")
    if types:
        scope = translate("scope.types", types=_listed(types, translate))
    scope += translate("scope.narrowed") if narrows else ""
    scope += translate("scope.others_ignored") if types or narrows else ""
    smallest = limit and translate(
        "protocol.limit",
        minimum=f"{limit.minimum_mm:g}",
        tolerance="∞" if isinf(limit.tolerance_mm) else f"{limit.tolerance_mm:g}",
        reading=translate.word(limit.reading),
    )
    ties = translate(f"ties.{protocol.ties}")
    best = translate("cap.best", count=protocol.mark_cap, ties=ties)
    threshold, point = protocol.score_threshold, protocol.operating_point
    points = translate.listed(rate(point) for point in protocol.operating_points)
    bins = ", ".join(f"{cut:g}" for cut in protocol.size_bins_mm)
    facts = {
        "name": protocol.name + (f": {protocol.title}" if protocol.title else ""),
        "source": protocol.citation,
        "test_set": f"{reference.name}: {counted}",
        "reference_rule": reference_rule(reference, translate),
        "intended_use": scope,
        "size_limit": smallest,
        "assignment": translate.word(protocol.assignment),
        "duplicates": translate.word(protocol.duplicates),
        "scored_marks": translate("cap.all") if protocol.mark_cap is None else best,
        "score_threshold": translate.word("none") if threshold is None else significant(threshold),
        "operating_point": "" if point is None else translate("protocol.point", rate=rate(point)),
        "operating_points": translate("protocol.points", points=points),
        "reading": translate(f"interpolation.{protocol.interpolation}"),
        "size_bins": translate("protocol.half_open", bins=bins),
        "smallest_stratum": translate("protocol.nodules", count=protocol.minimum_stratum),
        "intervals": interval_words(protocol.interval, translate),
        "seed": str(protocol.seed),
    }
    rows = [
        [head(translate(f"protocol.{name}")), words(text)] for name, text in facts.items() if text
    ]
    return Table(translate("protocol.caption"), [], rows)


def terms_table(document: Document, translate: Translator) -> Table | None:
    """The metrics of this report that have a term in IEEE 2802."""
    names = dict.fromkeys(name for _, _, result in document.results for name in result.metrics)
    rows: list[Row] = [
        {
            "terms.here": head(metric.title),
            "terms.term": words(metric.term),
            "metrics.meaning": words(metric.meaning),
        }
        for name in names
        if (metric := translate.metric(name)).term
    ]
    return Table.of(translate("terms.caption"), rows, translate)


def interval_words(choice: IntervalChoice, translate: Translator) -> str:
    method, unit = translate(f"interval.{choice.method}"), translate.word(choice.unit)
    sentence = translate("interval.over", level=percent(choice.level), method=method, unit=unit)
    if choice.method != "jackknife":
        if not choice.bootstraps:
            return translate("interval.none")
        sentence += translate("interval.replicates", count=whole(choice.bootstraps))
    others = translate.listed(translate.word(other) for other in choice.others)
    sentence += translate("interval.further", others=others) if others else ""
    if choice.method == "guarded":
        return sentence
    return sentence + translate(
        "interval.official" if choice.method == "luna16" else "interval.sound"
    )


def _listed(fact: object, translate: Translator) -> str:
    if isinstance(fact, list | tuple):
        return translate.listed(translate.word(str(item)) for item in fact)
    return str(fact)


ONE_TO_ONE = ("center_hit", "center_distance", "area_overlap")
"""The rules that match one mark with one nodule, nodule by nodule."""


def rule_sketches(document: Document, translate: Translator) -> list[Chart]:
    """A sketch of every rule that the protocol applies, but for rules of others."""
    charts = []
    for rule in document.protocol.rules:
        if rule.name in SKETCHES:
            name = rule.name if rule.name in ONE_TO_ONE else "luna16"
            text = translate(f"sketch.{name}")
            drawn = drawing("picture", *SKETCH_SIZE, SKETCHES[rule.name], text)
            charts.append(Chart(translate.word(rule.name), drawn, remarks=(text,), is_narrow=True))
    return charts


def matching_chart(document: Document, translate: Translator) -> Chart | None:
    """The way of one nodule through matching (NIFDC 2022, figure 2); None for other rules."""
    shown = [rule.name for rule in document.protocol.rules if rule.name in ONE_TO_ONE]
    if not shown:
        return None
    yes, no = translate.word("yes"), translate.word("no")
    steps = [
        Step(translate("flow.next")),
        Step(translate("flow.qualifies"), yes, translate("flow.missed"), no),
        Step(translate("flow.best")),
        Step(translate("flow.hit")),
        Step(translate("flow.more"), no, translate("flow.again"), yes),
        Step(translate("flow.rest")),
    ]
    remarks = tuple(translate(f"flow.best_{rule}", rule=translate.word(rule)) for rule in shown)
    title = translate("flow.title")
    return Chart(title, flow_chart(steps, title), remarks=remarks)


SHOWN = 12
"""The number of characters of a digest that are shown."""


def course_chart(document: Document, translate: Translator) -> Chart:
    """Design, collection, cleaning, annotation, release and test, with what is known of each.

    Figure 1 of NIFDC 2022 and of FG-AI4H's topic description.
    """
    reference, protocol = document.reference, document.protocol
    ignored = reference.ignored_findings or 0
    nodules = (reference.findings or 0) - ignored
    plan, digest = document.plan, document.digests.get("reference", "")
    cases = translate("course.cleaning_cases", cases=whole(reference.cases))
    if reference.patients is not None:
        patients = whole(reference.patients)
        cases = translate("course.cleaning", cases=whole(reference.cases), patients=patients)
    rule = reference_rule(reference, translate)
    rules = translate.listed(translate.word(rule.name) for rule in protocol.rules)
    count, digest = len(document.algorithms), digest.removeprefix("sha256:")[:SHOWN]
    left_out = translate("course.ignored", count=ignored) if ignored else ""
    frozen = "" if plan is None else translate("course.plan")
    verdict = "" if plan is None else translate(f"verdict.{plan.verdict}")
    steps = [
        Step(translate("course.design", protocol=protocol.title or protocol.name), exit=frozen),
        Step(translate("course.collection", name=reference.name)),
        Step(cases),
        Step(translate("course.annotation", nodules=whole(nodules), rule=rule), exit=left_out),
        Step(translate("course.release", digest=digest)),
        Step(translate("course.test", algorithms=count, rules=rules), exit=verdict),
    ]
    title = translate("course.title")
    return Chart(title, flow_chart(steps, title))


def spread_tables(tables: Sequence[pl.DataFrame], translate: Translator) -> list[Table | None]:
    """A table for each algorithm and metric: its value under every reference."""
    drawn = []
    for table in tables:
        for part in table.partition_by("algorithm", "metric", maintain_order=True):
            algorithm, title = part["algorithm"][0], translate.metric(part["metric"][0]).title
            rows: list[Row] = [
                {
                    Cell(translate("spread.reference")): head(row["reference"]),
                    "spread.nodules": count(row["nodules"]),
                    "spread.hit": count(row["hit"]),
                    Cell(title): Cell(decimals(row["value"])),
                }
                for row in part.iter_rows(named=True)
            ]
            values, remark = part["value"].drop_nulls().to_list(), translate("spread.undefined")
            if values:
                low, high = decimals(min(values)), decimals(max(values))
                remark = translate("spread.remark", low=low, high=high)
            caption = translate("spread.caption", metric=title, name=algorithm)
            drawn.append(Table.of(caption, rows, translate, remark=remark))
    return drawn


AGREEMENT_TICKS = tuple((n / 5, decimals(n / 5, 1)) for n in range(-5, 6))


def agreement_chart(rows: Sequence[JsonObject], translate: Translator) -> Chart | None:
    """Every pair or group of readers with its agreement: name, value, low, high."""
    shown = [row for row in rows if row.get("value") is not None]
    if not shown:
        return None
    ends = [end for row in shown for end in (row.get("low"), row["value"]) if end is not None]
    low, title = min(0.0, *ends), translate("agreement.chart")
    ticks = tuple(tick for tick in AGREEMENT_TICKS if tick[0] >= low)
    axis = Axis(translate("axis.agreement"), low, 1.0, ticks)
    drawn = []
    for row in shown:
        value = Value(row["value"], row.get("low"), row.get("high"), decimals(row["value"]))
        drawn.append(Bars(str(row["name"]), (value,)))
    remarks = (translate("agreement.remark"),)
    return Chart(title, row_chart(drawn, axis, title, base=0.0), remarks=remarks)


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
