"""Results by stratum -> tables of misses, with bars, and "too few" where a rate would mislead."""

from collections.abc import Sequence

from nodulebench.core.documents.records import AlgorithmSummary
from nodulebench.core.json_types import JsonObject
from nodulebench.core.results import Stratum
from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Notes, Table, count, estimate, head, words
from nodulebench.report.charts.bars import Row, Value, row_chart
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.charts.svg import Axis
from nodulebench.report.pages.cells import Cell

BAR_ENDS = (0.1, 0.2, 0.5, 1.0)


def strata_tables(algorithm: AlgorithmSummary, minimum: int, translate: Translator) -> list[Table]:
    """Misses by stratum: rules side by side for nodules, one table a rule for whole cases."""
    results = {rule: result for rule, result in algorithm.rules.items() if result.strata}
    tables = []
    for name in dict.fromkeys(name for result in results.values() for name in result.strata):
        having = {
            rule: result.strata[name] for rule, result in results.items() if name in result.strata
        }
        first = next(iter(having.values()))
        if any(stratum.cases is not None for stratum in first.values()):
            tables += [
                _case_strata(name, rule, strata, Notes(translate), minimum)
                for rule, strata in having.items()
            ]
        else:
            tables.append(_nodule_strata(name, having, Notes(translate), minimum))
            tables += [
                _nodule_metrics(name, rule, strata, Notes(translate), minimum)
                for rule, strata in having.items()
                if any(stratum.metrics for stratum in strata.values())
            ]
    return tables


def _nodule_strata(
    name: str, by_rule: dict[str, dict[str, Stratum]], notes: Notes, minimum: int
) -> Table:
    translate = notes.translate
    scale = _bar_scale([stratum for strata in by_rule.values() for stratum in strata.values()])
    rows = []
    for stratum, first in next(iter(by_rule.values())).items():
        cells = [head(translate.word(stratum)), count(first.nodules)]
        for strata in by_rule.values():
            result = strata[stratum]
            cells += [count(result.missed), _miss_rate(result, notes, minimum, scale)]
        rows.append(cells)
    heads = [words(""), Cell(translate("strata.nodules"))]
    heads += [
        cell
        for _ in by_rule
        for cell in (Cell(translate("strata.missed")), Cell(translate("strata.miss_rate")))
    ]
    groups = [("", 2), *((translate.word(rule), 2) for rule in by_rule)] if len(by_rule) > 1 else []
    remark = translate("strata.bars", end=f"{scale:g}")
    return Table(translate.stratum(name), heads, rows, notes.all(), groups=groups, remark=remark)


def _nodule_metrics(
    name: str, rule: str, strata: dict[str, Stratum], notes: Notes, minimum: int
) -> Table:
    """Metrics of the nodules of each stratum, with the false positives of all cases."""
    translate = notes.translate
    keys = list(dict.fromkeys(key for stratum in strata.values() for key in stratum.metrics))
    rows = [
        [
            head(translate.word(stratum)),
            count(result.nodules),
            *(
                _too_few(notes, minimum)
                if result.is_too_few
                else estimate(result.metrics.get(key), notes)
                for key in keys
            ),
        ]
        for stratum, result in strata.items()
        if result.nodules
    ]
    titles = [translate.metric(key.replace("@", "/")) for key in keys]
    heads = [
        words(""),
        Cell(translate("strata.nodules")),
        *(Cell(title.title, hint=title.meaning) for title in titles),
    ]
    title = translate(
        "strata.under_rule", division=translate.stratum(name), rule=translate.word(rule)
    )
    return Table(title, heads, rows, notes.all(), remark=translate("strata.of_nodules"))


def _case_strata(
    name: str, rule: str, strata: dict[str, Stratum], notes: Notes, minimum: int
) -> Table:
    translate, scale = notes.translate, _bar_scale(list(strata.values()))
    metrics = list(dict.fromkeys(key for stratum in strata.values() for key in stratum.metrics))
    rows = []
    for stratum, result in strata.items():
        shown = (
            [_too_few(notes, minimum) for _ in metrics]
            if result.is_too_few
            else [estimate(result.metrics.get(key), notes) for key in metrics]
        )
        rows.append(
            [
                head(translate.word(stratum)),
                count(result.cases),
                count(result.nodules),
                count(result.missed),
                _miss_rate(result, notes, minimum, scale),
                *shown,
            ]
        )
    heads = [
        words(""),
        *(Cell(translate(f"strata.{key}")) for key in ("cases", "nodules", "missed", "miss_rate")),
        *(Cell(translate.metric(key).title, hint=translate.metric(key).meaning) for key in metrics),
    ]
    title = translate(
        "strata.under_rule", division=translate.stratum(name), rule=translate.word(rule)
    )
    return Table(title, heads, rows, notes.all(), remark=translate("strata.bars", end=f"{scale:g}"))


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


TICKS = tuple((n / 5, decimals(n / 5, 1)) for n in range(-5, 6))


def agreement_chart(rows: Sequence[JsonObject], translate: Translator) -> Chart | None:
    """Every pair or group of readers with its agreement: name, value, low, high."""
    shown = [row for row in rows if row.get("value") is not None]
    if not shown:
        return None
    ends = [end for row in shown for end in (row.get("low"), row["value"]) if end is not None]
    low = min(0.0, *ends)
    axis = Axis(
        translate("axis.agreement"), low, 1.0, tuple(tick for tick in TICKS if tick[0] >= low)
    )
    drawn = [
        Row(
            str(row["name"]),
            (Value(row["value"], row.get("low"), row.get("high"), decimals(row["value"])),),
        )
        for row in shown
    ]
    title = translate("agreement.chart")
    return Chart(
        title, row_chart(drawn, axis, title, base=0.0), remarks=(translate("agreement.remark"),)
    )
