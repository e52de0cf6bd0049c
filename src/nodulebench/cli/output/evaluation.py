"""Evaluation -> lines on the terminal."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import print_notices
from nodulebench.core.results import Estimate, Evaluation, RuleResult
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.core.documents.records import CriterionSummary
    from nodulebench.core.plans import PlanOutcome
    from nodulebench.custody.verify import SealedCheck
    from nodulebench.evaluation.verify import Verification


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
        lines.append(
            "sensitivity  " + "".join(f"{_number(reading):>8}" for reading in readings.values())
        )
    metrics, notes = dict(_single_metrics(result)), _Notes()
    width = max(map(len, metrics), default=0)
    lines.extend(
        f"{name:<{width}}  {with_interval(metric)}{notes.letter(metric)}{_official(metric)}"
        for name, metric in metrics.items()
    )
    return lines + notes.lines


def _single_metrics(result: RuleResult) -> Iterator[tuple[str, Estimate]]:
    """Metrics that are one number, and each reading of those at fixed specificity."""
    for name, metric in result.metrics.items():
        if isinstance(metric, Estimate):
            yield name, metric
        elif name.endswith("fpf"):
            yield from ((f"{name}@{point}", reading) for point, reading in metric.items())


def with_interval(estimate: Estimate) -> str:
    """An estimate as 0.842 (0.813–0.869), or a dash with the reason."""
    shown = estimate.soundly
    has_reason = shown.value is None and shown.reason is not None
    return f"{shown}  ({in_english(shown.reason)})" if has_reason else str(shown)


def _official(estimate: Estimate) -> str:
    """The interval by another method than the guarded one, with its name."""
    if estimate.sound is None or estimate.method is None or estimate.low is None:
        return ""
    name = {"luna16_bootstrap": "official"}.get(estimate.method.code, "classical")
    return f"  {name} {estimate.low:.3f}–{estimate.high:.3f}"


class _Notes:
    """Reasons why intervals are missing or must be read with care, each printed once."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def letter(self, estimate: Estimate) -> str:
        """The letter of an estimate's note; empty if it has none."""
        reason = estimate.soundly.reason
        if reason is None or estimate.value is None:
            return ""
        return " " + self._letters.setdefault(
            in_english(reason), chr(ord("a") + len(self._letters))
        )

    @property
    def lines(self) -> list[str]:
        return [f"{letter}: {note}" for note, letter in self._letters.items()]


def _number(estimate: Estimate) -> str:
    return "–" if estimate.value is None else f"{estimate.value:.3f}"


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
