"""Document -> how the test was done: everything that another lab needs to get the same numbers."""

from collections.abc import Sequence
from math import isinf
from typing import Any

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import ReferenceSummary
from nodulebench.core.protocol import IntervalChoice, SizeLimit, TestProtocol
from nodulebench.i18n.numbers import UNDEFINED, decimals, percent, rate, significant, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Table, code, count, head, words
from nodulebench.report.charts.diagrams import Step, flow_chart, scheme
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.pages.cells import Cell


def rules_table(document: Document, translate: Translator) -> Table:
    """The rules in words, with the parameters that differ from the published ones."""
    rows = [
        [
            head(translate.word(rule.name)),
            words(translate.rule(rule.name)),
            words(
                translate.listed(
                    f"{translate.word(name)} = {value}" for name, value in rule.parameters.items()
                )
                or translate("rules.as_published")
            ),
        ]
        for rule in document.protocol.rules
    ]
    heads = [words(translate(key)) for key in ("head.rule", "rules.hit", "rules.parameters")]
    return Table(translate("rules.caption"), heads, rows)


def reference_rule(reference: ReferenceSummary, translate: Translator) -> str:
    """How the reference standard was made, as it states itself."""
    return (
        translate.word(reference.rule) if reference.rule else translate("protocol.rule_not_stated")
    )


def protocol_table(document: Document, translate: Translator) -> Table:
    """The protocol's effective values."""
    protocol, reference = document.protocol, document.reference
    points = translate.listed(rate(point) for point in protocol.operating_points)
    threshold, point = protocol.score_threshold, protocol.operating_point
    bins = ", ".join(f"{cut:g}" for cut in protocol.size_bins_mm)
    facts = [
        ("name", protocol.name + (f": {protocol.title}" if protocol.title else "")),
        ("source", protocol.citation),
        ("test_set", _reference(reference, translate)),
        ("reference_rule", reference_rule(reference, translate)),
        ("intended_use", _scope(protocol, translate)),
        ("size_limit", _size_limit(protocol.size_limit, translate)),
        ("assignment", translate.word(protocol.assignment)),
        ("duplicates", translate.word(protocol.duplicates)),
        ("scored_marks", _cap(protocol, translate)),
        (
            "score_threshold",
            translate.word("none") if threshold is None else significant(threshold),
        ),
        ("operating_point", "" if point is None else translate("protocol.point", rate=rate(point))),
        ("operating_points", translate("protocol.points", points=points)),
        ("reading", translate(f"interpolation.{protocol.interpolation}")),
        ("size_bins", translate("protocol.half_open", bins=bins)),
        ("smallest_stratum", translate("protocol.nodules", count=protocol.minimum_stratum)),
        ("intervals", interval_words(protocol.interval, translate)),
        ("seed", str(protocol.seed)),
    ]  # fmt: skip
    rows = [[head(translate(f"protocol.{name}")), words(fact)] for name, fact in facts if fact]
    return Table(translate("protocol.caption"), [], rows)


def identity_table(document: Document, translate: Translator) -> Table:
    """Version and digests that tie the numbers to their inputs."""
    rows = [[head("NoduleBench"), code(document.version)]]
    rows += [
        [head(translate.heading(name)), code(digest)] for name, digest in document.digests.items()
    ]
    no_file = translate("identity.no_file")
    rows += [
        [
            head(translate("identity.submission", name=algorithm.name)),
            code(algorithm.digest or no_file),
        ]
        for algorithm in document.algorithms
    ]
    return Table(translate("identity.caption"), [], rows)


def terms_table(document: Document, translate: Translator) -> Table | None:
    """The metrics of this report that have a term in IEEE 2802."""
    names = dict.fromkeys(name for _, _, result in document.results for name in result.metrics)
    rows = [
        [head(metric.title), words(metric.term), words(metric.meaning)]
        for name in names
        if (metric := translate.metric(name)).term
    ]
    if not rows:
        return None
    heads = [words(translate(key)) for key in ("terms.here", "terms.term", "metrics.meaning")]
    return Table(translate("terms.caption"), heads, rows)


def facts_table(document: Document, translate: Translator) -> Table | None:
    """The facts that are known about the algorithms."""
    rows: list[list[Cell]] = [
        [head(algorithm.name), words(translate.word(name)), words(_listed(fact, translate))]
        for algorithm in document.algorithms
        for name, fact in algorithm.facts.items()
    ]
    if not rows:
        return None
    return Table(translate("facts.caption"), [], rows)


def interval_words(choice: IntervalChoice, translate: Translator) -> str:
    """The method of the intervals as text."""
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


def _listed(fact: Any, translate: Translator) -> str:
    return (
        translate.listed(translate.word(str(item)) for item in fact)
        if isinstance(fact, list | tuple)
        else str(fact)
    )


def _reference(reference: ReferenceSummary, translate: Translator) -> str:
    counted = translate.listed(
        f"{whole(value)} {translate.word(name)}"
        for name in ("cases", "patients", "findings", "ignored_findings")
        if (value := getattr(reference, name)) is not None
    )
    return f"{reference.name}: {counted}"


def _scope(protocol: TestProtocol, translate: Translator) -> str:
    types, narrows = protocol.scope.types, protocol.scope.uses_declaration
    sentence = (
        translate("scope.types", types=_listed(types, translate))
        if types
        else translate("scope.every_type")
    )
    if narrows:
        sentence += translate("scope.narrowed")
    return sentence + translate("scope.others_ignored") if types or narrows else sentence


def _size_limit(limit: SizeLimit | None, translate: Translator) -> str:
    if limit is None:
        return ""
    tolerance = "∞" if isinf(limit.tolerance_mm) else f"{limit.tolerance_mm:g}"
    minimum, reading = f"{limit.minimum_mm:g}", translate.word(limit.reading)
    return translate("protocol.limit", minimum=minimum, tolerance=tolerance, reading=reading)


def _cap(protocol: TestProtocol, translate: Translator) -> str:
    if protocol.mark_cap is None:
        return translate("cap.all")
    return translate("cap.best", count=protocol.mark_cap, ties=translate(f"ties.{protocol.ties}"))


ONE_TO_ONE = ("center_hit", "center_distance", "area_overlap")
"""The rules that match one mark with one nodule, nodule by nodule."""


def rule_sketches(document: Document, translate: Translator) -> list[Chart]:
    """A sketch of every rule that the protocol applies."""
    charts = []
    for rule in document.protocol.rules:
        name = rule.name
        description = translate(f"sketch.{name}" if name in ONE_TO_ONE else "sketch.luna16")
        drawn = scheme(name, description)
        if drawn is not None:
            charts.append(
                Chart(translate.word(name), drawn, remarks=(description,), is_narrow=True)
            )
    return charts


def matching_chart(document: Document, translate: Translator) -> Chart | None:
    """The way of one nodule through matching (NIFDC 2022, figure 2); None for other rules."""
    named = [rule.name for rule in document.protocol.rules]
    shown = [rule for rule in named if rule in ONE_TO_ONE]
    if not shown:
        return None
    steps = [
        Step(translate("flow.next")),
        Step(
            translate("flow.qualifies"),
            translate.word("yes"),
            translate("flow.missed"),
            translate.word("no"),
        ),
        Step(translate("flow.best")),
        Step(translate("flow.hit")),
        Step(
            translate("flow.more"),
            translate.word("no"),
            translate("flow.again"),
            translate.word("yes"),
        ),
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
    patients = "" if reference.patients is None else whole(reference.patients)
    steps = [
        Step(
            translate("course.design", protocol=protocol.title or protocol.name),
            exit="" if plan is None else translate("course.plan"),
        ),
        Step(translate("course.collection", name=reference.name)),
        Step(
            translate("course.cleaning", cases=whole(reference.cases), patients=patients)
            if patients
            else translate("course.cleaning_cases", cases=whole(reference.cases)),
        ),
        Step(
            translate(
                "course.annotation",
                nodules=whole(nodules),
                rule=reference_rule(reference, translate),
            ),
            exit=translate("course.ignored", count=whole(ignored)) if ignored else "",
        ),
        Step(translate("course.release", digest=digest.removeprefix("sha256:")[:SHOWN])),
        Step(
            translate(
                "course.test",
                algorithms=whole(len(document.algorithms)),
                rules=translate.listed(translate.word(rule.name) for rule in protocol.rules),
            ),
            exit="" if plan is None else translate(f"verdict.{plan.verdict}"),
        ),
    ]
    title = translate("course.title")
    return Chart(title, flow_chart(steps, title))


def spread_tables(tables: Sequence[pl.DataFrame], translate: Translator) -> list[Table]:
    """A table for each algorithm and metric: its value under every reference."""
    return [
        _table(part, translate)
        for table in tables
        for part in table.partition_by("algorithm", "metric", maintain_order=True)
    ]


def _table(part: pl.DataFrame, translate: Translator) -> Table:
    algorithm, metric = part.row(0, named=True)["algorithm"], part["metric"][0]
    rows = [
        [
            head(row["reference"]),
            count(row["nodules"]),
            count(row["hit"]),
            Cell(UNDEFINED if row["value"] is None else decimals(row["value"])),
        ]
        for row in part.iter_rows(named=True)
    ]
    title = translate.metric(metric).title
    heads = [
        *(Cell(translate(f"spread.{name}")) for name in ("reference", "nodules", "hit")),
        Cell(title),
    ]
    values = part["value"].drop_nulls().to_list()
    remark = (
        translate("spread.remark", low=decimals(min(values)), high=decimals(max(values)))
        if values
        else translate("spread.undefined")
    )
    return Table(
        translate("spread.caption", metric=title, name=algorithm), heads, rows, remark=remark
    )
