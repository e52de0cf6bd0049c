"""Folder of an evaluation -> comparison.json: what ``nodulebench compare`` does."""

from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from nodulebench import __version__
from nodulebench.errors import InputError
from nodulebench.model.results import Estimate
from nodulebench.report.document import plain
from nodulebench.report.html_page.html import render_html
from nodulebench.statistics.ranking import Ranking
from nodulebench.storage.manifest import SIGNATURE, record_files
from nodulebench.storage.staging import staged_folder
from nodulebench.storage.table_file import read_parquet
from nodulebench.workflows.compare.compare import (
    AlgorithmComparison,
    ComparisonChoice,
    FigureDifference,
    better_of,
    compare_algorithms,
)
from nodulebench.workflows.compare.nodules import DetectionDifference
from nodulebench.workflows.compare.replicate import Reading
from nodulebench.workflows.compare.rule_effects import RuleEffects
from nodulebench.workflows.evaluate.files import CURVE_FILE, FLIP_FILE
from nodulebench.workflows.evaluate.result_folder import (
    EVALUATION,
    Evaluated,
    load_evaluated,
    write_document,
)

SCHEMA = "nodulebench/comparison@1"
COMPARISON = "comparison.json"


def compare_folder(
    folder: Path, choice: ComparisonChoice
) -> tuple[AlgorithmComparison, list[Path]]:
    """Compare the algorithms of an evaluation, and write what was found beside it.

    ``comparison.json`` has this comparison; ``evaluation.json`` lists it with those against other
    baselines, and the report is written anew.

    Returns:
        The comparison and the files written.

    Raises:
        InputError: if the folder is not as the evaluation left it.
    """
    evaluated = load_evaluated(folder)
    if evaluated.problems:
        raise InputError(evaluated.problems)
    comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, choice)
    found = comparison_document(comparison, evaluated)
    document = with_comparison(evaluated.document, found)
    flips = folder / FLIP_FILE
    page = render_html(
        document,
        read_parquet(folder / CURVE_FILE),
        read_parquet(flips) if flips.is_file() else None,
    )
    with staged_folder(folder, last=EVALUATION) as stage:
        write_document(found, stage / COMPARISON)
        write_document(document, stage / EVALUATION)
        (stage / "report.html").write_text(page, encoding="utf-8")
        names = sorted(path.name for path in stage.iterdir())
    record_files(folder, names)
    return comparison, [folder / name for name in names]


def is_signed(folder: Path) -> bool:
    """Whether a folder bears a signature, which comparing would remove."""
    return (folder / SIGNATURE).exists()


def with_comparison(document: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """evaluation.json with a comparison; an older one against the same baseline is replaced."""
    others = [one for one in document["comparisons"] if one["baseline"] != found["baseline"]]
    return {**document, "comparisons": [*others, found]}


def recompute_comparisons(evaluated: Evaluated) -> list[dict[str, Any]]:
    """Every comparison that evaluation.json lists, computed again with its own settings."""
    return [
        comparison_document(
            compare_algorithms(evaluated.cohorts, evaluated.protocol, choice_of(written)), evaluated
        )
        for written in evaluated.document["comparisons"]
    ]


def choice_of(written: dict[str, Any]) -> ComparisonChoice:
    """The settings of a comparison as it was written."""
    return ComparisonChoice(
        baseline=written["baseline"],
        figures=tuple(written["figures"]),
        margin=written["margin"],
        bootstraps=written["bootstraps"],
        permutations=written["permutations"],
    )


def comparison_document(comparison: AlgorithmComparison, evaluated: Evaluated) -> dict[str, Any]:
    """A comparison as it stands in comparison.json: what is undefined is null with the reason."""
    document: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "version": __version__,
            "digests": evaluated.document["digests"],
            "baseline": comparison.choice.baseline,
            "figures": comparison.choice.figures,
            "margin": comparison.choice.margin,
            "level": comparison.level,
            "bootstraps": comparison.bootstraps,
            "permutations": comparison.choice.permutations,
            "seed": comparison.seed,
            "unit": comparison.unit,
            "notices": comparison.notices,
            "differences": [_difference(one) for one in comparison.differences],
            "detection": [_detection(one) for one in comparison.detection],
            "rankings": [
                {"rule": rule, **_named(reading), **_ranking(ranking)}
                for (rule, reading), ranking in comparison.rankings.items()
            ],
            "rule_effects": None if comparison.effects is None else _effects(comparison.effects),
        }
    )
    return document


def _named(reading: Reading) -> dict[str, Any]:
    return {"figure": reading.shown, "point": reading.point or None}


def _difference(one: FigureDifference) -> dict[str, Any]:
    comparison, permutation = one.comparison, one.permutation
    named = {"rule": one.rule, **_named(one.reading), "algorithm": one.algorithm}
    if comparison is None:
        return {**named, "difference": Estimate(None, reason=one.reason)}
    return {
        **named,
        "better": better_of(one.reading.figure),
        "value": one.value,
        "baseline_value": one.baseline_value,
        "difference": comparison.difference,
        "standard_error": comparison.standard_error,
        "p_value": comparison.p_value,
        "normal_p_value": comparison.normal_p_value,
        "adjusted_p_value": one.adjusted,
        "permutation": None if permutation is None else asdict(permutation),
        "margin": None if comparison.margin is None else asdict(comparison.margin),
        "undefined_replicates": comparison.undefined_replicates,
        "reason": one.reason,
    }


def _detection(one: DetectionDifference) -> dict[str, Any]:
    counted = {
        "rule": one.rule,
        "algorithm": one.algorithm,
        "nodules": {
            "both": one.both,
            "algorithm_only": one.algorithm_only,
            "baseline_only": one.baseline_only,
            "neither": one.neither,
        },
    }
    if one.tests is None:
        return {**counted, "difference": Estimate(None, reason=one.reason)}
    return {
        **counted,
        "difference": one.tests.difference,
        "tests": {
            name: asdict(getattr(one.tests, name))
            for name in ("exact", "durkalski", "obuchowski", "eliasziw_donner")
        },
        "adjusted_p_value": one.adjusted,
    }


def _ranking(ranking: Ranking) -> dict[str, Any]:
    return {
        "lines": [asdict(line) for line in ranking.lines],
        "kendall_tau": ranking.kendall_tau,
        "tie_rule": ranking.tie_rule,
    }


def _effects(effects: RuleEffects) -> dict[str, Any]:
    return {
        "algorithms": effects.algorithms,
        "baseline_rule": effects.baseline_rule,
        "relative_differences": effects.relative_differences,
        "figures": [
            *({**_named(reading), **_record(one)} for reading, one in effects.effects.items()),
            *(
                {**_named(reading), "reasons": [reason]}
                for reading, reason in effects.undefined.items()
            ),
        ],
    }


def _record(value: Any) -> Any:
    """Results as dictionaries, all the way down."""
    if is_dataclass(value) and not isinstance(value, type | Estimate):
        return {field.name: _record(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: _record(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_record(item) for item in value]
    return value
