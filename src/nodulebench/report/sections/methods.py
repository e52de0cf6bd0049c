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


def rules_table(document: Document, say: Translator) -> Table:
    """The rules in words, with the parameters that differ from the published ones."""
    rows = [
        [
            head(say.word(rule.name)),
            words(say.rule(rule.name)),
            words(
                say.listed(f"{say.word(name)} = {value}" for name, value in rule.parameters.items())
                or say("rules.as_published")
            ),
        ]
        for rule in document.protocol.rules
    ]
    heads = [words(say(key)) for key in ("head.rule", "rules.hit", "rules.parameters")]
    return Table(say("rules.caption"), heads, rows)


def reference_rule(reference: ReferenceSummary, say: Translator) -> str:
    """How the reference standard was made, by what it says itself."""
    return say.word(reference.rule) if reference.rule else say("protocol.rule_not_stated")


def protocol_table(document: Document, say: Translator) -> Table:
    """The protocol's effective values."""
    protocol, reference = document.protocol, document.reference
    points = say.listed(rate(point) for point in protocol.operating_points)
    threshold, point = protocol.score_threshold, protocol.operating_point
    bins = ", ".join(f"{cut:g}" for cut in protocol.size_bins_mm)
    facts = [
        ("name", protocol.name + (f": {protocol.title}" if protocol.title else "")),
        ("source", protocol.citation),
        ("test_set", _reference(reference, say)),
        ("reference_rule", reference_rule(reference, say)),
        ("intended_use", _scope(protocol, say)),
        ("size_limit", _size_limit(protocol.size_limit, say)),
        ("assignment", say.word(protocol.assignment)),
        ("duplicates", say.word(protocol.duplicates)),
        ("scored_marks", _cap(protocol, say)),
        ("score_threshold", say.word("none") if threshold is None else significant(threshold)),
        ("operating_point", "" if point is None else say("protocol.point", rate=rate(point))),
        ("operating_points", say("protocol.points", points=points)),
        ("reading", say(f"interpolation.{protocol.interpolation}")),
        ("size_bins", say("protocol.half_open", bins=bins)),
        ("smallest_stratum", say("protocol.nodules", count=protocol.minimum_stratum)),
        ("intervals", interval_words(protocol.interval, say)),
        ("seed", str(protocol.seed)),
    ]  # fmt: skip
    rows = [[head(say(f"protocol.{name}")), words(fact)] for name, fact in facts if fact]
    return Table(say("protocol.caption"), [], rows)


def identity_table(document: Document, say: Translator) -> Table:
    """Version and digests that tie the numbers to their inputs."""
    rows = [[head("NoduleBench"), code(document.version)]]
    rows += [[head(say.heading(name)), code(digest)] for name, digest in document.digests.items()]
    no_file = say("identity.no_file")
    rows += [
        [head(say("identity.submission", name=algorithm.name)), code(algorithm.digest or no_file)]
        for algorithm in document.algorithms
    ]
    return Table(say("identity.caption"), [], rows)


def terms_table(document: Document, say: Translator) -> Table | None:
    """The metrics of this report that have a term in IEEE 2802."""
    names = dict.fromkeys(name for _, _, one in document.results for name in one.metrics)
    rows = [
        [head(found.title), words(found.term), words(found.meaning)]
        for name in names
        if (found := say.metric(name)).term
    ]
    if not rows:
        return None
    heads = [words(say(key)) for key in ("terms.here", "terms.term", "metrics.meaning")]
    return Table(say("terms.caption"), heads, rows)


def facts_table(document: Document, say: Translator) -> Table | None:
    """What is known of the algorithms beyond their marks."""
    rows: list[list[Cell]] = [
        [head(algorithm.name), words(say.word(name)), words(_listed(fact, say))]
        for algorithm in document.algorithms
        for name, fact in algorithm.facts.items()
    ]
    if not rows:
        return None
    return Table(say("facts.caption"), [], rows)


def interval_words(choice: IntervalChoice, say: Translator) -> str:
    """How intervals were made."""
    method, unit = say(f"interval.{choice.method}"), say.word(choice.unit)
    told = say("interval.over", level=percent(choice.level), method=method, unit=unit)
    if choice.method != "jackknife":
        if not choice.bootstraps:
            return say("interval.none")
        told += say("interval.replicates", count=whole(choice.bootstraps))
    others = say.listed(say.word(other) for other in choice.others)
    told += say("interval.further", others=others) if others else ""
    if choice.method == "guarded":
        return told
    return told + say("interval.official" if choice.method == "luna16" else "interval.sound")


def _listed(fact: Any, say: Translator) -> str:
    return (
        say.listed(say.word(str(item)) for item in fact)
        if isinstance(fact, list | tuple)
        else str(fact)
    )


def _reference(reference: ReferenceSummary, say: Translator) -> str:
    counted = say.listed(
        f"{whole(value)} {say.word(name)}"
        for name in ("cases", "patients", "findings", "ignored_findings")
        if (value := getattr(reference, name)) is not None
    )
    return f"{reference.name}: {counted}"


def _scope(protocol: TestProtocol, say: Translator) -> str:
    types, narrows = protocol.scope.types, protocol.scope.uses_declaration
    told = say("scope.types", types=_listed(types, say)) if types else say("scope.every_type")
    if narrows:
        told += say("scope.narrowed")
    return told + say("scope.others_ignored") if types or narrows else told


def _size_limit(limit: SizeLimit | None, say: Translator) -> str:
    if limit is None:
        return ""
    tolerance = "∞" if isinf(limit.tolerance_mm) else f"{limit.tolerance_mm:g}"
    minimum, reading = f"{limit.minimum_mm:g}", say.word(limit.reading)
    return say("protocol.limit", minimum=minimum, tolerance=tolerance, reading=reading)


def _cap(protocol: TestProtocol, say: Translator) -> str:
    if protocol.mark_cap is None:
        return say("cap.all")
    return say("cap.best", count=protocol.mark_cap, ties=say(f"ties.{protocol.ties}"))


ONE_TO_ONE = ("center_hit", "center_distance", "area_overlap")
"""The rules that match one mark with one nodule, nodule by nodule."""


def rule_sketches(document: Document, say: Translator) -> list[Chart]:
    """A sketch of every rule that the protocol applies."""
    charts = []
    for rule in document.protocol.rules:
        name = rule.name
        told = say(f"sketch.{name}" if name in ONE_TO_ONE else "sketch.luna16")
        drawn = scheme(name, told)
        if drawn is not None:
            charts.append(Chart(say.word(name), drawn, remarks=(told,), is_narrow=True))
    return charts


def matching_chart(document: Document, say: Translator) -> Chart | None:
    """The way of one nodule through matching (NIFDC 2022, figure 2); None for other rules."""
    named = [rule.name for rule in document.protocol.rules]
    shown = [rule for rule in named if rule in ONE_TO_ONE]
    if not shown:
        return None
    steps = [
        Step(say("flow.next")),
        Step(say("flow.qualifies"), say.word("yes"), say("flow.missed"), say.word("no")),
        Step(say("flow.best")),
        Step(say("flow.hit")),
        Step(say("flow.more"), say.word("no"), say("flow.again"), say.word("yes")),
        Step(say("flow.rest")),
    ]
    remarks = tuple(say(f"flow.best_{rule}", rule=say.word(rule)) for rule in shown)
    title = say("flow.title")
    return Chart(title, flow_chart(steps, title), remarks=remarks)


SHOWN = 12
"""So many signs of a digest are shown."""


def course_chart(document: Document, say: Translator) -> Chart:
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
            say("course.design", protocol=protocol.title or protocol.name),
            exit="" if plan is None else say("course.plan"),
        ),
        Step(say("course.collection", name=reference.name)),
        Step(
            say("course.cleaning", cases=whole(reference.cases), patients=patients)
            if patients
            else say("course.cleaning_cases", cases=whole(reference.cases)),
        ),
        Step(
            say("course.annotation", nodules=whole(nodules), rule=reference_rule(reference, say)),
            exit=say("course.ignored", count=whole(ignored)) if ignored else "",
        ),
        Step(say("course.release", digest=digest.removeprefix("sha256:")[:SHOWN])),
        Step(
            say(
                "course.test",
                algorithms=whole(len(document.algorithms)),
                rules=say.listed(say.word(rule.name) for rule in protocol.rules),
            ),
            exit="" if plan is None else say(f"verdict.{plan.verdict}"),
        ),
    ]
    title = say("course.title")
    return Chart(title, flow_chart(steps, title))


def spread_tables(tables: Sequence[pl.DataFrame], say: Translator) -> list[Table]:
    """A table for each algorithm and metric: its value under every reference."""
    return [
        _table(part, say)
        for table in tables
        for part in table.partition_by("algorithm", "metric", maintain_order=True)
    ]


def _table(part: pl.DataFrame, say: Translator) -> Table:
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
    title = say.metric(metric).title
    heads = [
        *(Cell(say(f"spread.{name}")) for name in ("reference", "nodules", "hit")),
        Cell(title),
    ]
    values = part["value"].drop_nulls().to_list()
    remark = (
        say("spread.remark", low=decimals(min(values)), high=decimals(max(values)))
        if values
        else say("spread.undefined")
    )
    return Table(say("spread.caption", metric=title, name=algorithm), heads, rows, remark=remark)
