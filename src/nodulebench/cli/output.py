"""Results as lines and tables on a terminal: evaluations, comparisons, plans, sample sizes."""

from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import print_notices
from nodulebench.cli.terminal import print_json
from nodulebench.core.json_types import JsonObject
from nodulebench.core.results import Estimate, Evaluation, RuleResult
from nodulebench.i18n.translator import in_english, translator

if TYPE_CHECKING:
    from nodulebench.core.documents.comparison import (
        DetectionSummary,
        MissedNodule,
        RuleEffectsSummary,
    )
    from nodulebench.core.documents.records import CriterionSummary
    from nodulebench.core.plans import PlanOutcome
    from nodulebench.custody.verify import SealedCheck
    from nodulebench.evaluation.combine import CandidateRow, ScoreRow
    from nodulebench.evaluation.comparison.compare import AlgorithmComparison, MetricDifference
    from nodulebench.evaluation.comparison.replicates import Reading
    from nodulebench.evaluation.comparison.service import Gate
    from nodulebench.evaluation.sample_size import Plan
    from nodulebench.evaluation.verify import Verification
    from nodulebench.statistics.ranking import Ranking


MOST_SHOWN = 10
"""The number of algorithms in one line."""
OWNER_UNKNOWN = "; its owner was not checked: give --public-key"
_COLOURS = {"passed": "green", "failed": "red", "undecided": "yellow"}


def print_evaluation(evaluation: Evaluation) -> None:
    """Print counts and key metrics of every algorithm under every rule."""
    for notice in evaluation.notices:
        click.echo(f"warning: {in_english(notice)}", err=True)
    for algorithm in evaluation.algorithms:
        for notice in algorithm.notices:
            click.echo(f"warning: {algorithm.name}: {in_english(notice)}", err=True)
        for result in algorithm.rules.values():
            for notice in result.notices:
                click.echo(
                    f"warning: {algorithm.name}, {result.rule}: {in_english(notice)}", err=True
                )
    for algorithm in evaluation.algorithms:
        for result in algorithm.rules.values():
            click.echo()
            click.secho(f"{algorithm.name}  ·  rule {result.rule}", bold=True)
            for line in _result_lines(result):
                click.echo(f"  {line}")
    if evaluation.plan is not None:
        print_verdict(evaluation.plan)


def print_missed(evaluation: Evaluation, folder: "Path") -> None:
    """Print the numbers of missed nodules under the first rule, and the file that lists them."""
    first = [
        (algorithm.name, next(iter(algorithm.rules.values())))
        for algorithm in evaluation.algorithms
    ]
    counts = [f"{name} {rule.counts['missed']}" for name, rule in first if rule.counts]
    if counts:
        shown = ", ".join(counts[:MOST_SHOWN]) + (", …" if len(counts) > MOST_SHOWN else "")
        click.echo(f"nodules missed: {shown}; listed in {folder / 'misses.csv'}")


def print_verdict(outcome: "PlanOutcome") -> None:
    """Print the verdict under a plan and the outcome of each criterion."""
    click.echo()
    click.secho(f"plan {outcome.plan.name}  ·  {outcome.plan.digest}", bold=True)
    for difference in outcome.differences:
        click.secho(f"  NOT THE PLANNED TEST: {in_english(difference)}", fg="yellow", bold=True)
    for criterion in outcome.criteria:
        click.echo(f"  {_criterion_line(criterion)}")
    for algorithm, verdict in outcome.verdicts.items():
        click.echo(f"  {algorithm}: {click.style(verdict, fg=_COLOURS[verdict], bold=True)}")


def _criterion_line(outcome: "CriterionSummary") -> str:
    from nodulebench.core.plans import criterion_text

    word = {True: "met", False: "NOT MET", None: "undecided"}[outcome.met]
    shown = "–"
    if outcome.value is not None:
        shown = with_interval(Estimate(outcome.value, outcome.low, outcome.high))
    if outcome.adjusted_p_value is not None:
        shown += f"  P {outcome.p_value:.2g}, adjusted {outcome.adjusted_p_value:.2g}"
    because = f"  ({in_english(outcome.reason)})" if outcome.reason else ""
    return f"{word:<9}  {outcome.algorithm}: {criterion_text(outcome)}: {shown}{because}"


def print_table(evaluation: Evaluation) -> None:
    """Print one line per algorithm and rule: counts and three main metrics."""
    width = max(len(algorithm.name) for algorithm in evaluation.algorithms)
    click.secho(
        f"{'algorithm':<{width}}  {'rule':<16} {'hit':>5} {'missed':>7} {'FP':>6}  "
        f"{'recall':<22} {'precision':<22} CPM",
        bold=True,
    )
    for algorithm in evaluation.algorithms:
        for result in algorithm.rules.values():
            shown = [
                with_interval(metric) if isinstance(metric, Estimate) else ""
                for metric in map(result.metrics.get, ("recall", "precision", "cpm"))
            ]
            click.echo(
                f"{algorithm.name:<{width}}  {result.rule:<16} {result.counts['hit']:>5} "
                f"{result.counts['missed']:>7} {result.counts['false_positive']:>6}  "
                f"{shown[0]:<22} {shown[1]:<22} {shown[2]}"
            )


def _result_lines(result: RuleResult) -> list[str]:
    if result.undefined:
        return [f"not applicable: {in_english(result.undefined)}"]
    counts = result.counts
    lines = [
        f"{counts['cases']} cases, {counts['nodules']} nodules: {counts['hit']} hit, "
        f"{counts['missed']} missed",
        f"{counts['marks']} marks: {counts['false_positive']} false positives, "
        f"{counts['duplicate']} duplicates, {counts['ignored']} on ignored findings, "
        f"{counts['over_cap']} over the cap"
        + (f", {counts['uncounted']} not counted" if counts["uncounted"] else ""),
    ]
    if result.operating_point is not None:
        point = result.operating_point
        over = "no mark" if point.threshold is None else f"marks with a score ≥ {point.threshold:g}"
        rate = point.fp_per_case
        where = "the declared threshold" if rate is None else f"{rate:g} FP per case"
        lines.insert(0, f"read at {where}: {over}")
    readings = result.metrics.get("sensitivity_at_fp_rate")
    if isinstance(readings, dict):
        lines.append("FP/case      " + "".join(f"{rate:>8}" for rate in readings))
        shown = (
            "–" if reading.value is None else f"{reading.value:.3f}"
            for reading in readings.values()
        )
        lines.append("sensitivity  " + "".join(f"{text:>8}" for text in shown))
    metrics = {}
    for name, metric in result.metrics.items():
        if isinstance(metric, Estimate):
            metrics[name] = metric
        elif name.endswith("fpf"):
            metrics |= {f"{name}@{point}": reading for point, reading in metric.items()}
    width = max(map(len, metrics), default=0)
    letters: dict[str, str] = {}
    for name, metric in metrics.items():
        reason, note, other = metric.soundly.reason, "", ""
        if reason is not None and metric.value is not None:  # each reason is printed once
            letter = chr(ord("a") + len(letters))
            note = f" {letters.setdefault(in_english(reason), letter)}"
        if metric.sound is not None and metric.method is not None and metric.low is not None:
            kind = "official" if metric.method.code == "luna16_bootstrap" else "classical"
            other = f"  {kind} {metric.low:.3f}–{metric.high:.3f}"
        lines.append(f"{name:<{width}}  {with_interval(metric)}{note}{other}")
    return lines + [f"{letter}: {text}" for text, letter in letters.items()]


def with_interval(estimate: Estimate) -> str:
    """An estimate as 0.842 (0.813–0.869), or a dash with the reason."""
    shown = estimate.soundly
    has_reason = shown.value is None and shown.reason is not None
    return f"{shown}  ({in_english(shown.reason)})" if has_reason else str(shown)


def print_check(check: "SealedCheck", folder: Path) -> None:
    """Print the check of a sealed set with all its problems."""
    for problem in check.problems:
        click.echo(f"error: {problem}", err=True)
    print_notices("notice", check.notices)
    click.echo(f"files       {check.files} listed")
    click.echo(f"signature   {signature_text(check)}")
    click.echo(f"log         {len(check.events)} events, chain and all signatures")
    click.echo(f"checkpoints     {check.checkpoints} compared")
    print_sealed_verdict(folder, len(check.problems))


def signature_text(check: "SealedCheck | Verification") -> str:
    """Signer, time and key of a signature; or that it is not valid."""
    if check.signature is None:
        return "not valid"
    signed = check.signature.signed
    by = f" by {signed.by}" if signed.by else ""
    known = "" if check.signature.is_known else OWNER_UNKNOWN
    return f"valid: {signed.at}{by}, key {signed.key}{known}"


def print_sealed_verdict(folder: Path, problems: int) -> None:
    """Print the last line: whether a folder is verified."""
    word, colour = (
        (f"NOT verified: {problems} problems", "red") if problems else ("verified", "green")
    )
    click.echo(f"{folder}: {click.style(word, fg=colour)}")


def print_columns(heads: list[str], rows: list[list[str]]) -> None:
    """Print a table with columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for is_head, row in [(True, heads), *((False, row) for row in rows)]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.secho(("  " + "  ".join(cells)).rstrip(), bold=is_head or None)


def p_text(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def verdict_text(difference: "MetricDifference") -> str:
    """The verdict of a margin on a difference, in few words."""
    test = None if difference.comparison is None else difference.comparison.margin
    if test is None:
        return ""
    if test.reason is not None:
        needed, unit = test.reason.values.get("needed"), test.reason.values.get("unit")
        return "not assessable" + (f": {needed} {unit}s needed" if needed else "")
    if test.is_superior:
        return "superior"
    if test.is_equivalent:
        return "equivalent"
    return "not inferior" if test.is_non_inferior else "not shown"


def print_rows(
    rows: "Sequence[CandidateRow | ScoreRow]", operating_points: Sequence[float]
) -> None:
    """Print one line for each algorithm and combination."""
    rates = [f"{rate:g}" for rate in operating_points]
    heads = (
        ["algorithms", *rates, "CPM", "best single", "difference"]
        if rates
        else ["algorithms", "sensitivity", "best single", "difference", "candidates", "per case"]
    )
    print_columns(heads, [_combination_cells(row) for row in rows])


def _combination_cells(row: "CandidateRow | ScoreRow") -> list[str]:
    from nodulebench.evaluation.combine import ScoreRow

    best = ["", ""]
    if row.best_single is not None and row.difference is not None:
        best = [f"{row.best_single:.3f}", f"{row.difference:+.3f}"]
    named = "+".join(row.members)
    if isinstance(row, ScoreRow):
        return [named, *(f"{value:.3f}" for value in row.sensitivities), f"{row.cpm:.3f}", *best]
    counts = [str(row.candidates), f"{row.candidates_per_case:.1f}"]
    return [named, f"{row.sensitivity:.3f}", *best, *counts]


BAR_WIDTH = 40


def print_sample_size(plan: "Plan", wanted: float | None = None) -> None:
    """Print a plan; sizes that reach the wanted value of the curve are marked."""
    word = translator().word
    click.echo(in_english(plan.question))
    if plan.answer is None:
        click.secho("None of the sizes is sufficient.", bold=True)
    else:
        click.secho(f"{plan.answer} {word(plan.unit)}", bold=True)
    for name, value in plan.details.items():
        click.echo(f"  {word(name)}: {value:.6g}")
    click.echo()
    click.secho("assumptions", bold=True)
    for assumption in plan.assumptions:
        click.echo(f"  {in_english(assumption)}")
    click.echo(f"  Method: {in_english(plan.method)}.")
    click.echo()
    for line in curve_lines(plan, wanted):
        click.echo(line)
    print_json(plan)


def curve_lines(plan: "Plan", wanted: float | None) -> list[str]:
    """The curve as a table with a bar for each size; ``*`` marks sufficient sizes."""
    is_power = plan.curve_name == "power"
    top = 1.0 if is_power else max(point.value for point in plan.curve)
    unit, shows = translator().word(plan.unit), translator().word(plan.curve_name)
    width = max(len(unit), *(len(str(point.size)) for point in plan.curve))
    lines = [click.style(f"{unit:>{width}}  {shows}", bold=True)]
    for point in plan.curve:
        reached = wanted is not None and (
            point.value >= wanted if is_power else point.value <= wanted
        )
        bar = "█" * round(BAR_WIDTH * point.value / top) if top > 0 else ""
        shown = f"{point.size:>{width}}  {point.value:<{len(shows)}.3f}"
        lines.append(f"{shown} {'*' if reached else ' '} {bar}".rstrip())
    if wanted is not None:
        lines.append(f"*: {shows} {'at least' if is_power else 'at most'} {wanted:g}")
    return lines


LAST = "every difference, rank and nodule: --all"


def print_leaderboards(comparison: "AlgorithmComparison") -> bool:
    """Print the rankings with differences and P values; False if nothing can be ranked."""
    from nodulebench.evaluation.comparison.service import deciding_readings

    boards = [
        (reading, by_rule)
        for reading in deciding_readings(comparison)
        if (
            by_rule := {
                rule: ranking
                for (rule, ranked), ranking in comparison.rankings.items()
                if ranked == reading
            }
        )
    ]
    for number, (reading, by_rule) in enumerate(boards):
        if number:
            click.echo()
        _print_board(comparison, reading, by_rule)
    if boards:
        click.echo(
            f"  {comparison.level:.0%} intervals from {comparison.bootstraps} paired resamples of "
            f"{comparison.unit}s; P adjusted (Holm)"
        )
        click.echo(f"  {LAST}")
    return bool(boards)


def _print_board(
    comparison: "AlgorithmComparison", reading: "Reading", by_rule: "dict[str, Ranking]"
) -> None:
    first, baseline = next(iter(by_rule)), comparison.choice.baseline
    differences = {
        difference.algorithm: difference
        for difference in comparison.differences
        if (difference.rule, difference.reading) == (first, reading)
    }
    ranking = by_rule[first]
    best = ranking.lines[0].name
    names = [line.name for line in ranking.lines]
    unranked = [name for name in differences if name not in names]
    columns = {
        "rank": {line.name: str(line.rank) for line in ranking.lines},
        "algorithm": {name: name for name in [*names, *unranked]},
        str(reading): {line.name: f"{line.value:.3f}" for line in ranking.lines},
    }
    pairs = {}
    if best != baseline:
        pairs[f"from {best} (best)"] = {
            name: (gap.difference, gap.adjusted_p_value) for name, gap in ranking.from_best.items()
        }
    pairs[f"from {baseline} (baseline)"] = {
        name: (compared.difference, compared.adjusted_p_value)
        for name, difference in differences.items()
        if (compared := difference.comparison) is not None
    }
    heads = [*columns]
    cells = [*columns.values()]
    for head, of_pair in pairs.items():
        heads += [head, "P adj."]
        cells.append({name: difference.signed for name, (difference, _) in of_pair.items()})
        cells.append({name: p_text(p_value) for name, (_, p_value) in of_pair.items()})
    if comparison.choice.margin is not None:
        heads.append(f"margin {comparison.choice.margin:g}")
        cells.append({name: verdict_text(difference) for name, difference in differences.items()})
    for rule, of_rule in list(by_rule.items())[1:]:
        heads.append(rule)
        cells.append({line.name: f"{line.value:.3f} ({line.rank})" for line in of_rule.lines})
    click.secho(f"{reading} under {first}, best first", bold=True)
    print_columns(
        heads, [[column.get(name, "") for column in cells] for name in [*names, *unranked]]
    )
    for name in unranked:
        click.echo(f"  {name}: {in_english(differences[name].reason)}")


MOST_NODULES = 3
"""The number of nodules missed by only one of two algorithms that are named."""


def print_comparison(comparison: "AlgorithmComparison", *, is_all: bool) -> None:
    """Print the rankings; for two algorithms, or with ``is_all``, also every difference."""
    print_notices("warning", comparison.notices)
    if len({difference.algorithm for difference in comparison.differences}) > 1:
        if print_leaderboards(comparison) and not is_all:
            return
        click.echo()
    choice = comparison.choice
    click.secho(f"differences from {choice.baseline}", bold=True)
    click.echo(
        f"  {comparison.level:.0%} intervals from {comparison.bootstraps} paired resamples of "
        f"{comparison.unit}s; P adjusted (Holm) over algorithms and rules"
    )
    _print_differences(comparison)
    _print_detection(comparison)
    for (rule, reading), ranking in comparison.rankings.items():
        if len(ranking.lines) > 2 and not reading.point:
            _print_ranking(f"ranks by {reading}, rule {rule}", ranking)
    if comparison.effects is not None:
        _print_effects(comparison.effects)


def comparison_json(comparison: "AlgorithmComparison") -> JsonObject:
    """Differences and rankings as a JSON document."""
    return {
        "baseline": comparison.choice.baseline,
        "margin": comparison.choice.margin,
        "level": comparison.level,
        "bootstraps": comparison.bootstraps,
        "unit": comparison.unit,
        "differences": comparison.differences,
        "detection": comparison.detection,
        "rankings": [
            {"rule": rule, "metric": str(reading), "lines": ranking.lines}
            for (rule, reading), ranking in comparison.rankings.items()
        ],
        "notices": comparison.notices,
    }


def _print_differences(comparison: "AlgorithmComparison") -> None:
    rows = [_difference_cells(difference) for difference in comparison.differences]
    has_margin = comparison.choice.margin is not None
    heads = ["rule", "algorithm", "metric", "value", "difference", "P", "P adj.", "P perm."]
    heads += ["P DeLong", f"margin {comparison.choice.margin or 0:g}"]
    has_delong = any(difference.delong is not None for difference in comparison.differences)
    shown = [True] * 8 + [has_delong, has_margin]
    print_columns(list(compress(heads, shown)), [list(compress(row, shown)) for row in rows])


def _difference_cells(difference: "MetricDifference") -> list[str]:
    named = [difference.rule, difference.algorithm, str(difference.reading)]
    comparison = difference.comparison
    if comparison is None or difference.value is None:
        return [*named, "–", f"–  ({in_english(difference.reason)})", "", "", "", "", ""]
    permutation, delong = difference.permutation, difference.delong
    reason = comparison.difference.reason
    because = f"  ({in_english(reason)})" if reason else ""
    return [
        *named,
        f"{difference.value:.3f}",
        f"{comparison.difference.signed}{because}",
        p_text(comparison.p_value),
        p_text(comparison.adjusted_p_value),
        "" if permutation is None else p_text(permutation.p_value),
        "" if delong is None else p_text(delong.p_value),
        verdict_text(difference),
    ]


def print_gate(gate: "Gate", margin: float) -> None:
    """Print the deciding differences of the gate and whether it is met."""
    from nodulebench.evaluation.comparison.service import is_shown

    click.echo()
    click.secho(f"no worse than {margin:g}", bold=True)
    for difference in gate.differences:
        word = "shown" if is_shown(difference) else "NOT SHOWN"
        comparison = difference.comparison
        shown = "–" if comparison is None else comparison.difference.signed
        test = None if comparison is None else comparison.margin
        because = "" if test is None or test.reason is None else f"  ({in_english(test.reason)})"
        click.echo(
            f"  {word:<9}  {difference.algorithm}, {difference.rule}, "
            f"{difference.reading}: {shown}{because}"
        )
    colour, word = ("green", "met") if gate.is_met else ("red", "not met")
    click.echo(f"  {click.style(word, fg=colour, bold=True)}")


def _print_detection(comparison: "AlgorithmComparison") -> None:
    click.echo()
    click.secho("nodules found by only one of the two (McNemar)", bold=True)
    counts = ["both", "only this", "only baseline", "neither"]
    print_columns(
        ["rule", "algorithm", *counts, "P clustered", "P adj.", "P exact"],
        [_detection_cells(difference) for difference in comparison.detection],
    )
    baseline = comparison.choice.baseline
    for difference in comparison.detection:
        if difference.missed_by_one is None:
            continue
        for name, missed in (
            (difference.algorithm, difference.missed_by_one.algorithm),
            (baseline, difference.missed_by_one.baseline),
        ):
            if missed:
                click.echo(f"  {difference.rule}: missed only by {name}: {_nodules(missed)}")


def _nodules(missed: "Sequence[MissedNodule]") -> str:
    """The names of the largest nodules, and the number of the others."""
    named = [
        f"{nodule.case_id} {nodule.nodule_id}"
        + ("" if nodule.diameter_mm is None else f" ({nodule.diameter_mm:.1f} mm)")
        for nodule in missed[:MOST_NODULES]
    ]
    more = len(missed) - len(named)
    return ", ".join(named) + (f", and {more} more" if more > 0 else "")


def _detection_cells(difference: "DetectionSummary") -> list[str]:
    found, tests = difference.nodules, difference.tests
    counts = (found.both, found.algorithm_only, found.baseline_only, found.neither)
    counted = [difference.rule, difference.algorithm, *map(str, counts)]
    if not tests:
        return [*counted, f"–  ({in_english(difference.difference.reason)})", "", ""]
    adjusted = difference.adjusted_p_value["holm"]
    p_values = (tests["obuchowski"].p_value, adjusted, tests["exact"].p_value)
    return [*counted, *map(p_text, p_values)]


def _print_ranking(title: str, ranking: "Ranking") -> None:
    click.echo()
    click.secho(title, bold=True)
    print_columns(
        ["rank", "algorithm", "value", "rank interval", "first in", "tie group"],
        [
            [
                str(line.rank),
                line.name,
                f"{line.value:.3f}",
                f"{line.best_rank}–{line.worst_rank}",
                f"{line.share_first:.0%}",
                str(line.group),
            ]
            for line in ranking.lines
        ],
    )


def _print_effects(effects: "RuleEffectsSummary") -> None:
    click.echo()
    click.secho(f"effect of the rule on {len(effects.algorithms)} algorithms", bold=True)
    rows = []
    for effect in effects.metrics:
        if not effect.groups:
            continue
        name = f"{effect.metric} at {effect.point}" if effect.point else effect.metric
        groups = "  ".join(
            f"{rule} {group.mean:.3f} ± {group.sd:.3f}" for rule, group in effect.groups.items()
        )
        published = "–" if effect.one_way is None else p_text(effect.one_way.p_value)
        sound = "–" if effect.repeated is None else p_text(effect.repeated.corrected.p_value)
        rank = "–" if effect.friedman is None else p_text(effect.friedman.p_value)
        rows.append([name, groups, published, sound, rank])
    print_columns(["metric", "mean ± SD", "P one-way", "P repeated", "P Friedman"], rows)
    click.echo()
    shares = effects.relative_differences.values()
    print_columns(
        ["algorithm", *(f"hits, {rule}" for rule in effects.relative_differences)],
        [
            [name, *("–" if (share := of[name]) is None else f"{share:+.2%}" for of in shares)]
            for name in effects.algorithms
        ],
    )
    click.echo(f"  relative to {effects.baseline_rule}")
