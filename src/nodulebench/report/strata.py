"""Results by stratum -> tables of misses, with bars, and "too few" where a rate would mislead."""

from collections.abc import Sequence

from nodulebench.core.documents.records import AlgorithmSummary
from nodulebench.core.json_types import JsonObject
from nodulebench.core.results import Stratum
from nodulebench.i18n.numbers import decimals
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Head, Notes, Row, Table, count, estimate, head, words
from nodulebench.report.charts import Bars, Chart, Value, row_chart
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.svg import Axis

BAR_ENDS = (0.1, 0.2, 0.5, 1.0)


def strata_tables(algorithm: AlgorithmSummary, minimum: int, translate: Translator) -> list[Table]:
    """Misses by stratum: rules side by side for nodules, one table a rule for whole cases."""
    results = {rule: result for rule, result in algorithm.rules.items() if result.strata}
    tables: list[Table | None] = []
    for name in dict.fromkeys(name for result in results.values() for name in result.strata):
        having = {
            rule: result.strata[name] for rule, result in results.items() if name in result.strata
        }
        is_of_cases = any(row.cases is not None for row in next(iter(having.values())).values())
        if not is_of_cases:
            tables.append(_misses_by_rule(name, having, minimum, translate))
        tables += [
            _metrics(name, rule, strata, minimum, translate, is_of_cases=is_of_cases)
            for rule, strata in having.items()
            if is_of_cases or any(stratum.metrics for stratum in strata.values())
        ]
    return [table for table in tables if table is not None]


def _misses_by_rule(
    name: str, by_rule: dict[str, dict[str, Stratum]], minimum: int, translate: Translator
) -> Table:
    notes = Notes(translate)
    scale = _bar_scale([stratum for strata in by_rule.values() for stratum in strata.values()])
    rows = []
    for stratum, first in next(iter(by_rule.values())).items():
        cells = [head(translate.word(stratum)), count(first.nodules)]
        for strata in by_rule.values():
            result = strata[stratum]
            cells += [count(result.missed), _miss_rate(result, notes, minimum, scale)]
        rows.append(cells)
    rates = [Cell(translate("strata.missed")), Cell(translate("strata.miss_rate"))]
    heads = [words(""), Cell(translate("strata.nodules")), *rates * len(by_rule)]
    groups = [("", 2), *((translate.word(rule), 2) for rule in by_rule)] if len(by_rule) > 1 else []
    remark = translate("strata.bars", end=f"{scale:g}")
    return Table(translate.stratum(name), heads, rows, notes.all(), groups=groups, remark=remark)


def _metrics(
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


TICKS = tuple((n / 5, decimals(n / 5, 1)) for n in range(-5, 6))


def agreement_chart(rows: Sequence[JsonObject], translate: Translator) -> Chart | None:
    """Every pair or group of readers with its agreement: name, value, low, high."""
    shown = [row for row in rows if row.get("value") is not None]
    if not shown:
        return None
    ends = [end for row in shown for end in (row.get("low"), row["value"]) if end is not None]
    low, title = min(0.0, *ends), translate("agreement.chart")
    ticks = tuple(tick for tick in TICKS if tick[0] >= low)
    axis = Axis(translate("axis.agreement"), low, 1.0, ticks)
    drawn = []
    for row in shown:
        value = Value(row["value"], row.get("low"), row.get("high"), decimals(row["value"]))
        drawn.append(Bars(str(row["name"]), (value,)))
    remarks = (translate("agreement.remark"),)
    return Chart(title, row_chart(drawn, axis, title, base=0.0), remarks=remarks)
