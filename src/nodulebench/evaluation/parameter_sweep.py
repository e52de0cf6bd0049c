"""Folder of an evaluation -> how the counts depend on a parameter of a rule, for the report."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.protocol import RuleChoice
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.matching.sweep import sweep_parameter


def sweep_folder(folder: Path, sweep: str, algorithms: Sequence[str]) -> pl.DataFrame:
    """Judge the kept marks again with each value of a parameter.

    Args:
        folder: what ``evaluate`` wrote.
        sweep: ``RULE.PARAMETER=VALUE,VALUE,...``; other parameters are the protocol's.
        algorithms: which of its algorithms.

    Returns:
        One row per algorithm and value: algorithm, rule, parameter, value, cases, and the counts
        hit, missed, false_positive, duplicate, ignored.

    Raises:
        InputError: if the sweep cannot be read, or the folder is not as the evaluation left it.
    """
    rule, parameter, values = _read(sweep)
    evaluated = load_evaluated(folder)
    if evaluated.problems:
        raise InputError(evaluated.problems)
    applied = {one.name: one for one in evaluated.protocol.rules}
    choice = applied.get(rule, RuleChoice(name=rule))
    parts = []
    for name in algorithms:
        submission = evaluated.submissions[name]
        cohort = evaluated.cohorts.get(rule, {}).get(name)
        protocol = evaluated.protocol
        if cohort is not None and cohort.threshold is not None:
            protocol = protocol.model_copy(update={"score_threshold": cohort.threshold})
        found = sweep_parameter(
            evaluated.reference, submission, protocol, choice, parameter, values
        )
        parts.append(
            found.select(
                pl.lit(name).alias("algorithm"),
                pl.lit(rule).alias("rule"),
                pl.lit(parameter).alias("parameter"),
                pl.col(parameter).alias("value"),
                pl.lit(evaluated.reference.cases.height).alias("cases"),
                pl.exclude(parameter),
            )
        )
    return pl.concat(parts)


def _read(sweep: str) -> tuple[str, str, list[float]]:
    name, _, listed = sweep.partition("=")
    rule, _, parameter = name.partition(".")
    try:
        values = sorted({float(one) for one in listed.split(",")})
    except ValueError:
        values = []
    if not (rule and parameter and values):
        raise InputError.at(
            f"sweep '{sweep}'",
            "cannot be read.",
            "Write a rule, its parameter and values: area_overlap.threshold=0.1,0.3,0.5.",
        )
    return rule, parameter, values
