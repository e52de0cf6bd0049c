"""Documents made by hand for the report's tests: a group study, comparisons, a verdict."""

from typing import Any

from builders.evaluation import algorithm_result, evaluation
from builders.sentences import sentence_json
from nodulebench.core.config_model import checked
from nodulebench.core.documents.comparison import ComparisonDocument
from nodulebench.core.documents.evaluation import Document, evaluation_document, read_evaluation

RULES = ("center_hit", "center_distance", "area_overlap")
TYPES = ("solid", "pure_ground_glass", "calcified")
SIZES = ("<4 mm", "≥4 mm")


def typed(content: dict[str, Any]) -> Document:
    """What evaluation.json holds, read."""
    return read_evaluation(content, "evaluation.json")


def group_document(**changes: Any) -> Document:
    """Three algorithms under two rules, with misses by type and size."""
    return typed(group_content(**changes))


def group_content(**changes: Any) -> dict[str, Any]:
    """The same as JSON."""
    hits = {"One": (90, 66), "Two": (84, 70), "Three": (60, 60)}
    document = evaluation_document(
        evaluation(*(algorithm_result(name, counts) for name, counts in hits.items()))
    ).to_json()
    missed = {"One": (3, 8, 0, 1, 1, 0), "Two": (3, 6, 0, 2, 1, 0), "Three": (6, 6, 0, 0, 0, 0)}
    for algorithm in document["algorithms"]:
        cells = [(kind, size) for size in SIZES for kind in TYPES]
        algorithm["rules"]["center_hit"]["extras"]["misses_by_type_and_size"] = [
            {
                "type": kind,
                "size": size,
                "nodules": 0 if kind == "calcified" and size == SIZES[0] else 12,
                "missed": count,
            }
            for (kind, size), count in zip(cells, missed[algorithm["name"]], strict=True)
        ]
        algorithm["rules"]["center_hit"]["extras"]["worst_cases"] = {
            "missed": [case_row("case-013", 6, 5, 2), case_row("case-007", 4, 4, 0)],
            "false_positive": [case_row("case-031", 0, 0, 17)],
        }
    document["reference"]["diameters"] = {
        "from_mm": 0.0,
        "width_mm": 1.0,
        "counts": [0, 0, 4, 40, 30, 22, 14, 6, 4],
        "peak_mm": 4.0,
        "expected": [120.0, 90.0, 66.0, 50.0, 36.0, 26.0, 18.0, 12.0, 8.0],
    }
    return document | changes


def case_row(case_id: str, nodules: int, missed: int, false_positive: int) -> dict[str, Any]:
    """A case among the worst."""
    return {
        "case_id": case_id,
        "nodules": nodules,
        "missed": missed,
        "false_positive": false_positive,
    }


def difference(
    algorithm: str,
    value: float,
    p_value: float,
    *,
    metric: str = "cpm",
    rule: str = "center_hit",
    margin: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """An algorithm against the baseline, whose metric is 0.675."""
    return {
        "rule": rule,
        "metric": metric,
        "point": None,
        "algorithm": algorithm,
        "better": "higher",
        "value": 0.675 + value,
        "baseline_value": 0.675,
        "difference": {
            "value": value,
            "low": value - 0.02,
            "high": value + 0.02,
            "level": 0.95,
            "method": sentence_json("paired bootstrap, percentile"),
        },
        "standard_error": 0.01,
        "p_value": p_value,
        "normal_p_value": p_value,
        "adjusted_p_value": {
            "holm": min(1.0, 2 * p_value),
            "bonferroni": min(1.0, 2 * p_value),
            "benjamini_hochberg": p_value,
        },
        "permutation": {
            "difference": value,
            "p_value": 0.0021,
            "swaps": 2000,
            "is_exact": False,
            "method": sentence_json("permutation"),
        },
        "margin": margin,
        "undefined_replicates": 0,
        "reason": None,
    }


def margin_test(**answers: bool) -> dict[str, Any]:
    """The test against a margin of 0.05 with these answers."""
    plain = {"is_non_inferior": False, "is_equivalent": False, "is_superior": False}
    p_values = dict.fromkeys(
        (
            "non_inferiority_p",
            "non_inferiority_normal_p",
            "equivalence_p",
            "equivalence_normal_p",
        ),
        0.5,
    )
    return {
        "margin": 0.05,
        **plain,
        **answers,
        **p_values,
        "method": sentence_json("paired bootstrap"),
    }


def comparison(**changes: Any) -> dict[str, Any]:
    """Two and Three against One."""
    significance = {"statistic": 1.0, "degrees_of_freedom": []}
    return {
        "baseline": "One",
        "method": "guarded",
        "metrics": [],
        "margin": 0.05,
        "level": 0.95,
        "bootstraps": 2000,
        "permutations": 2000,
        "seed": 7,
        "unit": "patient",
        "notices": [],
        "differences": [
            difference("Two", -0.045, 0.0004, margin=margin_test()),
            difference("Three", -0.012, 0.3, margin=margin_test(is_non_inferior=True)),
            {
                "rule": "area_overlap",
                "metric": "cpm",
                "point": None,
                "algorithm": "Two",
                "difference": {"value": None, "reason": {"code": "no_scores", "values": {}}},
            },
        ],
        "detection": [
            {
                "rule": "center_hit",
                "algorithm": "Two",
                "nodules": {"both": 80, "algorithm_only": 4, "baseline_only": 10, "neither": 26},
                "difference": {"value": -0.05, "low": -0.11, "high": 0.01},
                "tests": {
                    name: {"method": sentence_json(name), "p_value": p, **significance}
                    for name, p in (("exact", 0.1796), ("obuchowski", 0.14), ("durkalski", 0.15))
                },
                "adjusted_p_value": {"holm": 0.28},
                "missed_by_one": {
                    "algorithm": [
                        {"case_id": "case-077", "nodule_id": "only-1", "diameter_mm": 9.5}
                    ],
                    "baseline": [
                        {"case_id": "case-078", "nodule_id": "only-2", "diameter_mm": None}
                    ],
                },
            }
        ],
        "rankings": [
            {
                "rule": "center_hit",
                "metric": "cpm",
                "point": None,
                "lines": [
                    rank("One", 0.675, 1, (1, 1), 0.97, 1),
                    rank("Three", 0.663, 2, (1, 2), 0.03, 1),
                    rank("Two", 0.63, 3, (3, 3), 0.0, 2),
                ],
                "kendall_tau": {"value": 0.91, "low": 0.33, "high": 1.0, "level": 0.95},
                "tie_rule": sentence_json("tied"),
            }
        ],
        "rule_effects": None,
        **changes,
    }


def compared(**changes: Any) -> ComparisonDocument:
    """The comparison, read."""
    return checked(ComparisonDocument, comparison(**changes), "comparison.json")


def rank(
    name: str, value: float, place: int, interval: tuple[int, int], first: float, group: int
) -> dict[str, Any]:
    """A line of a leaderboard."""
    return {
        "name": name,
        "value": value,
        "rank": place,
        "best_rank": interval[0],
        "worst_rank": interval[1],
        "share_first": first,
        "group": group,
    }


def answer(p_value: float) -> dict[str, Any]:
    """The answer of a test."""
    return {
        "method": sentence_json("test"),
        "statistic": 1.0,
        "p_value": p_value,
        "degrees_of_freedom": [],
    }


def rule_effects() -> dict[str, Any]:
    """Recall under two rules, with the published P values of hit against overlap."""
    tests = {name: answer(p) for name, p in (("unpaired_t", 0.0075), ("paired_t", 0.0012))}
    return {
        "algorithms": ["One", "Two", "Three"],
        "baseline_rule": "center_hit",
        "relative_differences": {},
        "metrics": [
            {
                "metric": "recall",
                "point": None,
                "groups": {
                    "center_hit": {"mean": 0.5468, "sd": 0.0873, "count": 10},
                    "area_overlap": {"mean": 0.4036, "sd": 0.1226, "count": 10},
                },
                "one_way": answer(0.0033),
                "repeated": {
                    "corrected": answer(0.0021),
                    "uncorrected": answer(0.001),
                    "epsilon": 0.9,
                },
                "friedman": None,
                "pairs": [
                    {
                        "first": "center_hit",
                        "second": "area_overlap",
                        "mean_difference": 0.1433,
                        **tests,
                        "paired_t_holm": 0.0024,
                        "wilcoxon": None,
                        "wilcoxon_holm": None,
                    }
                ],
                "reasons": [sentence_json("Friedman: needs at least three conditions")],
            }
        ],
    }


def plan(verdict: str = "failed", **changes: Any) -> dict[str, Any]:
    """A plan with three criteria, of which two are met."""
    return {
        "digest": "sha256:" + "cd" * 32,
        "name": "pivotal test",
        "author": "Test laboratory",
        "frozen_at": "2026-01-31T12:00:00Z",
        "matches": True,
        "differences": [],
        "criteria": [
            criterion("recall", "low", ">=", 0.7, met=True),
            criterion("fp_per_case", "high", "<=", 2.0, met=False),
            criterion("miss_rate", "value", "<=", 0.5, stratum="type=solid", met=True),
        ],
        "verdict": verdict,
        "verdicts": {"Alpha": verdict},
        **changes,
    }


def criterion(
    metric: str, bound: str, comparison: str, limit: float, *, met: bool | None, **changes: Any
) -> dict[str, Any]:
    """A criterion, and the result of Alpha."""
    return {
        "algorithm": "Alpha",
        "metric": metric,
        "rule": "center_hit",
        "stratum": "",
        "bound": bound,
        "comparison": comparison,
        "limit": limit,
        "value": 0.75,
        "low": 0.72,
        "high": 0.78,
        "met": met,
        "reason": None,
        **changes,
    }
