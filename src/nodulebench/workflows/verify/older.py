"""Evaluation -> the same as an older version would have written it, so that its results verify."""

from dataclasses import replace

from nodulebench.model.results import AlgorithmResult, Estimate, Evaluation, RuleResult, Stratum

FIRST_WITH_SOUND = (0, 2)
"""The version from which sound intervals stand beside classical ones, and verdicts rest on them."""


def is_before_sound(version: str) -> bool:
    """Whether a version of NoduleBench knew classical intervals only."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return len(numbers) == 2 and tuple(numbers) < FIRST_WITH_SOUND


def without_sound(evaluation: Evaluation) -> Evaluation:
    """The evaluation with the intervals of its protocol's method alone."""
    return replace(evaluation, algorithms=tuple(map(_algorithm, evaluation.algorithms)))


def _algorithm(result: AlgorithmResult) -> AlgorithmResult:
    return replace(result, rules={name: _rule(one) for name, one in result.rules.items()})


def _rule(result: RuleResult) -> RuleResult:
    figures: dict[str, Estimate | dict[str, Estimate]] = {
        name: _plain(one)
        if isinstance(one, Estimate)
        else {point: _plain(reading) for point, reading in one.items()}
        for name, one in result.figures.items()
    }
    strata = {
        division: {name: _stratum(one) for name, one in found.items()}
        for division, found in result.strata.items()
    }
    return replace(result, figures=figures, strata=strata)


def _stratum(stratum: Stratum) -> Stratum:
    figures = {name: _plain(one) for name, one in stratum.figures.items()}
    return replace(stratum, miss_rate=_plain(stratum.miss_rate), figures=figures)


def _plain(estimate: Estimate) -> Estimate:
    return replace(estimate, sound=None)
