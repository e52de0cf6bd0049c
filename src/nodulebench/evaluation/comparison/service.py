"""Folders of evaluations -> comparison.json, rankings, and whether a new result is no worse."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from nodulebench import __version__
from nodulebench.core.documents.comparison import (
    ComparisonDocument,
    DifferenceSummary,
    RankingSummary,
)
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.results import Estimate
from nodulebench.evaluation.comparison.compare import (
    AlgorithmComparison,
    ComparisonChoice,
    MetricDifference,
    better_of,
    compare_algorithms,
    use_groups,
)
from nodulebench.evaluation.comparison.replicates import Reading
from nodulebench.evaluation.recompute import (
    Evaluated,
    joined_results,
    load_unchanged,
    renamed_result,
)
from nodulebench.evaluation.result_folder import add_comparison
from nodulebench.io.manifests import SIGNATURE
from nodulebench.statistics.ranking import Ranking


def compare_folder(
    folder: Path, choice: ComparisonChoice
) -> tuple[AlgorithmComparison, list[Path]]:
    """Compare the algorithms of an unchanged evaluation; return what was written into its folder.

    ``comparison.json`` holds this comparison; ``evaluation.json`` lists it with those against other
    baselines, and the report is written again.
    """
    evaluated = load_unchanged(folder)
    comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, choice)
    document = comparison_document(comparison, evaluated)
    return comparison, add_comparison(folder, evaluated.document, document)


def compare_folders(new: Path, old: Path, choice: ComparisonChoice) -> AlgorithmComparison:
    """Compare the algorithm of one folder with that of another; nothing is written."""
    both, _, baseline = side_by_side(load_unchanged(new), load_unchanged(old))
    return compare_algorithms(both.cohorts, both.protocol, replace(choice, baseline=baseline))


def rank_folders(folders: Mapping[str, Path]) -> list[dict[tuple[str, Reading], Ranking]]:
    """Rankings by rule and reading for each intended use of several folders' algorithms."""
    all_of_them = merge_results({name: load_unchanged(path) for name, path in folders.items()})
    metric = deciding_metric(all_of_them.protocol.metrics)
    metrics = () if metric is None else (metric,)
    return [
        compare_algorithms(
            all_of_them.cohorts,
            all_of_them.protocol,
            ComparisonChoice(group.algorithms[0], metrics, permutations=0),
        ).rankings
        for group in use_groups(all_of_them.cohorts)
        if len(group.algorithms) > 1
    ]


def is_signed(folder: Path) -> bool:
    return (folder / SIGNATURE).exists()


def recompute_comparisons(evaluated: Evaluated) -> list[ComparisonDocument]:
    return [
        comparison_document(
            compare_algorithms(evaluated.cohorts, evaluated.protocol, choice_of(written)), evaluated
        )
        for written in evaluated.document.comparisons
    ]


def choice_of(written: ComparisonDocument) -> ComparisonChoice:
    return ComparisonChoice(
        baseline=written.baseline,
        metrics=written.metrics,
        margin=written.margin,
        bootstraps=written.bootstraps,
        permutations=written.permutations,
        method=written.method,
        is_within_use=bool(written.groups),
    )


def comparison_document(
    comparison: AlgorithmComparison, evaluated: Evaluated
) -> ComparisonDocument:
    """A comparison as comparison.json holds it: an undefined value is null with the reason."""
    choice = comparison.choice
    return ComparisonDocument(
        version=__version__,
        digests=evaluated.document.digests,
        baseline=choice.baseline,
        metrics=choice.metrics,
        margin=choice.margin,
        level=comparison.level,
        bootstraps=comparison.bootstraps,
        permutations=choice.permutations,
        seed=comparison.seed,
        unit=comparison.unit,
        method=choice.method,
        notices=comparison.notices,
        groups=comparison.groups,
        differences=tuple(_difference(difference) for difference in comparison.differences),
        detection=comparison.detection,
        rankings=tuple(
            RankingSummary(
                rule, *_named(reading), ranking.lines, ranking.kendall_tau, ranking.tie_rule
            )
            for (rule, reading), ranking in comparison.rankings.items()
        ),
        rule_effects=comparison.effects,
    )


def _named(reading: Reading) -> tuple[str, str | None]:
    return reading.shown, reading.point or None


def _difference(difference: MetricDifference) -> DifferenceSummary:
    comparison = difference.comparison
    named = (difference.rule, *_named(difference.reading), difference.algorithm)
    if comparison is None:
        return DifferenceSummary(*named, Estimate(None, reason=difference.reason))
    return DifferenceSummary(
        *named,
        comparison.difference,
        better=better_of(difference.reading.metric),
        value=difference.value,
        baseline_value=difference.baseline_value,
        standard_error=comparison.standard_error,
        p_value=comparison.p_value,
        normal_p_value=comparison.normal_p_value,
        adjusted_p_value=difference.adjusted,
        permutation=difference.permutation,
        delong=difference.delong,
        margin=comparison.margin,
        undefined_replicates=comparison.undefined_replicates,
        reason=difference.reason,
    )


@dataclass(frozen=True, slots=True)
class Gate:
    """The differences that decide, and whether the gate is met."""

    differences: tuple[MetricDifference, ...]

    @property
    def is_met(self) -> bool:
        """Whether every difference is shown to be within the margin; an undefined one is not."""
        return bool(self.differences) and all(map(is_shown, self.differences))


def gate_of(comparison: AlgorithmComparison) -> Gate:
    """The gate of a comparison with a margin: by the named metrics, else by one."""
    readings = deciding_readings(comparison)
    if not readings:
        what = "has no metric that is better when higher."
        raise InputError.at("protocol", what, "Name a metric.")
    return Gate(
        tuple(difference for difference in comparison.differences if difference.reading in readings)
    )


def deciding_readings(comparison: AlgorithmComparison) -> tuple[Reading, ...]:
    """The named metrics; else the CPM, or the first metric that is better when higher."""
    compared = dict.fromkeys(difference.reading for difference in comparison.differences)
    named = comparison.choice.metrics or (
        deciding_metric([reading.metric for reading in compared]),
    )
    return tuple(reading for reading in compared if reading.metric in named)


def deciding_metric(metrics: Sequence[str]) -> str | None:
    """The CPM, or the first metric that is better when higher; None if there is no such metric."""
    higher = [metric for metric in metrics if better_of(metric) == "higher"]
    return "cpm" if "cpm" in higher else next(iter(higher), None)


def is_shown(difference: MetricDifference) -> bool:
    comparison = difference.comparison
    return (
        comparison is not None
        and comparison.margin is not None
        and comparison.margin.is_non_inferior
    )


class Pair(NamedTuple):
    """Two results as one, and the names of the two algorithms in it."""

    evaluated: Evaluated
    new: str
    old: str


def side_by_side(new: Evaluated, old: Evaluated) -> Pair:
    """Two results of one algorithm each, on the same test set under the same protocol, as one."""
    raise_problems(_unlike(new, old))
    names = [result.document.algorithms[0].name for result in (new, old)]
    if names[0] == names[1]:
        names = [f"{names[0]} ({age})" for age in ("new", "old")]
    return Pair(merge_results(dict(zip(names, (new, old), strict=True))), *names)


def merge_results(results: Mapping[str, Evaluated]) -> Evaluated:
    """Results of one algorithm each, as one in which the algorithms have these names."""
    first, *others = results.values()
    for other in others:
        raise_problems(_unlike(other, first))
    return joined_results([renamed_result(result, name) for name, result in results.items()])


def _unlike(new: Evaluated, old: Evaluated) -> Iterator[Problem]:
    for age, evaluated in (("new", new), ("old", old)):
        count = len(evaluated.document.algorithms)
        if count != 1:
            yield Problem(age, f"has {count} algorithms.", "Give a result of one algorithm.")
    for part in ("protocol", "reference", "cohort"):
        if new.document.digests[part] != old.document.digests[part]:
            remedy = "Evaluate both on the same test set under the same protocol."
            yield Problem("new", f"was made with another {part} than old.", remedy)
