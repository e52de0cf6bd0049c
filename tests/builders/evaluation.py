"""A small Evaluation made by hand: two algorithms, three rules, every kind of result once."""

from typing import Any

import numpy as np
import polars as pl

from builders.sentences import sentence
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import IntervalChoice, RuleChoice, SizeLimit, TestProtocol
from nodulebench.core.results import (
    AlgorithmResult,
    Curve,
    Estimate,
    Evaluation,
    RuleResult,
    Stratum,
)

HOSTILE = '<script>alert("x")</script> & Co'
RATES = ("0.125", "0.25", "0.5", "1", "2", "4", "8")
METHOD = Notice("percentile_bootstrap", {"unit": "patient", "replicates": 2000})
NO_BOXES = Notice("no_boxes_in_submission", {"rule": "center_distance"})


def shown(value: float, half: float = 0.03, **more: Any) -> Estimate:
    """A metric with a symmetric interval."""
    return Estimate(value, value - half, value + half, 0.95, METHOD, mean=value, **more)


def stratum(nodules: int, missed: int, *, is_too_few: bool = False) -> Stratum:
    """A stratum with its miss rate."""
    rate = Estimate(None, reason=Notice("empty_stratum"))
    return Stratum(nodules, missed, shown(missed / nodules) if nodules else rate, is_too_few)


def froc(height: float) -> tuple[Curve, ...]:
    """A rising step curve with a band: 0 at the start, ``height`` at the end, 10 FP per case."""
    hits, falses = np.divmod(np.arange(2001), 2)
    x, y = 10.0 * (hits + falses) / 1000, height * (hits / 1000) ** 0.2
    axes = ("false positives per case", "sensitivity")
    grid = 2.0 ** np.linspace(-3, 3, 31)
    middle = np.interp(grid, x, y)
    none = np.full(31, np.nan)
    score = np.append(np.inf, np.linspace(0.99, 0.01, 2000))
    return (
        Curve("froc", *axes, x, y, score),
        Curve("froc_low", *axes, grid, middle - 0.04, none),
        Curve("froc_high", *axes, grid, np.minimum(middle + 0.04, 1), none),
    )


def rule_result(rule: str, hit: int, false_positive: int, *, has_scores: bool = True) -> RuleResult:
    """120 nodules in 40 cases, ``hit`` of them found."""
    height = hit / 120
    no_curve = Estimate(None, reason=Notice("no_scores"))
    curve = froc(height)[0]
    readings = {
        rate: shown(float(np.interp(float(rate), curve.x, curve.y))) if has_scores else no_curve
        for rate in RATES
    }
    return RuleResult(
        rule=rule,
        parameters={"minimum_overlap": 0.5} if rule == "area_overlap" else {},
        counts={
            "cases": 40,
            "nodules": 120,
            "hit": hit,
            "missed": 120 - hit,
            "marks": hit + false_positive + 3,
            "false_positive": false_positive,
            "duplicate": 2,
            "ignored": 1,
            "over_cap": 0,
            "uncounted": 0,
        },
        metrics={
            "cpm": shown(height * 0.9) if has_scores else no_curve,
            "sensitivity_at_fp_rate": readings,
            "recall": shown(height, others={"wilson": (height - 0.05, height + 0.04)}),
            "precision": shown(hit / (hit + false_positive)),
            "f1": shown(2 * hit / (120 + hit + false_positive)),
            "fp_per_case": shown(false_positive / 40),
            "density_accuracy": Estimate(None, reason=Notice("density_unknown")),
        },
        strata={
            "type": {
                "solid": stratum(70, 20),
                "pure_ground_glass": stratum(46, 40),
                "calcified": stratum(4, 1, is_too_few=True),
                "pleural": stratum(0, 0, is_too_few=True),
            },
            "scanner": {
                "A": Stratum(90, 30, shown(1 / 3), False, 30, {"recall": shown(2 / 3)}),
                "B": Stratum(30, 12, shown(0.4), False, 10, {"recall": shown(0.6)}),
            },
        },
        curves=froc(height) if has_scores else (),
        extras={
            "size_tolerance": {
                "sweep": [
                    {"tolerance_mm": 0.0, "hit": 70, "missed": 50, "false_positive": 90},
                    {"tolerance_mm": 0.5, "hit": 76, "missed": 44, "false_positive": 84},
                    {"tolerance_mm": float("inf"), "hit": 80, "missed": 40, "false_positive": 80},
                ],
                "hits_settle_mm": 0.8,
            },
            "density_confusion": pl.DataFrame(
                {
                    "truth": ["solid", "solid", "part_solid", "part_solid"],
                    "stated": ["solid", "part_solid", "solid", "part_solid"],
                    "nodules": [40, 3, 5, 21],
                }
            ),
        }
        if rule == "center_hit"
        else {},
        notices=(Notice("marks_in_two_nodules", {"count": 2}),) if rule == "center_hit" else (),
        remarks=(Notice("nodule_regions", {"contours": 90, "boxes": 4}),)
        if rule == "center_hit"
        else (),
    )


def difference(base_rule: str, rule: str, base_hit: int, hit: int) -> dict[str, Any]:
    """How many hits one rule gives against another."""
    return {
        "base_rule": base_rule,
        "rule": rule,
        "base_hit": base_hit,
        "hit": hit,
        "gained": max(0, hit - base_hit),
        "lost": max(0, base_hit - hit),
        "base_false_positive": 100,
        "false_positive": 100 + base_hit - hit,
        "marks_changed": abs(hit - base_hit),
        "relative_difference": (hit - base_hit) / base_hit if base_hit else None,
        **({} if base_hit else {"reason": Notice("no_hit_to_compare")}),
    }


def flips(algorithm: str, count: int) -> pl.DataFrame:
    """Nodules that one rule finds and another does not."""
    return pl.DataFrame(
        {
            "algorithm": [algorithm] * count,
            "base_rule": ["center_hit"] * count,
            "rule": ["area_overlap"] * count,
            "kind": ["nodule"] * count,
            "case_id": [f"case-{number:03d}" for number in range(count)],
            "nodule_id": ["n0"] * count,
            "mark_id": ["m1"] * count,
            "base_label": ["hit"] * count,
            "label": ["missed"] * count,
            "score": [0.75] * count,
            "diameter_mm": [6.25] * count,
            "type": ["solid"] * count,
            "distance_mm": [1.5] * count,
            "threshold_mm": [3.0] * count,
            "overlap": [0.4] * count,
            "iou": [0.3] * count,
        }
    )


def algorithm_result(
    name: str, hits: tuple[int, int], *, has_scores: bool = True
) -> AlgorithmResult:
    """An algorithm under center hit and area overlap; center distance cannot be applied."""
    return AlgorithmResult(
        name=name,
        digest="sha256:" + "ab" * 32,
        rules={
            "center_hit": rule_result("center_hit", hits[0], 100, has_scores=has_scores),
            "center_distance": RuleResult("center_distance", {}, {}, {}, undefined=NO_BOXES),
            "area_overlap": rule_result("area_overlap", hits[1], 130, has_scores=has_scores),
        },
        labels=pl.DataFrame(),
        flips=flips(name, 25),
        rule_differences=[difference("center_hit", "area_overlap", *hits)],
        facts={"version": "2.1", "intended_types": ("solid", "part_solid")},
        notices=(Notice("headers_dropped", {"count": 3}),),
    )


def protocol(**fields: Any) -> TestProtocol:
    """A protocol with three rules; keyword arguments are its fields."""
    chosen: dict[str, Any] = {
        "name": "test-2026",
        "title": "A test under three rules",
        "rules": tuple(
            RuleChoice(name=name) for name in ("center_hit", "center_distance", "area_overlap")
        ),
        "metrics": ("recall", "precision", "f_beta", "fp_per_case", "cpm", "density_accuracy"),
        "strata": ("type", "scanner"),
        "interval": IntervalChoice(others=("wilson",)),
        "size_limit": SizeLimit(minimum_mm=4.0, sweep_mm=(0.0, 0.5, float("inf"))),
        "seed": 7,
    }
    return TestProtocol(**(chosen | fields))


def evaluation(*algorithms: AlgorithmResult, **fields: Any) -> Evaluation:
    """An evaluation of these algorithms; without any, of two, one with a hostile name."""
    chosen = protocol(**fields)
    return Evaluation(
        version="0.1.0",
        protocol=chosen,
        digests={"protocol": chosen.digest, "reference": "sha256:01", "cohort": "sha256:02"},
        reference={"name": "phantoms", "cases": 40, "patients": 38, "findings": 130},
        algorithms=algorithms
        or (algorithm_result("Alpha", (90, 66)), algorithm_result(HOSTILE, (84, 70))),
        notices=(sentence("case-007 has two series; the first was taken."),),
    )


def curves_of(evaluation: Evaluation) -> pl.DataFrame:
    """The curves table of an evaluation."""
    return pl.concat(
        [
            pl.DataFrame(
                schema={
                    "algorithm": pl.String,
                    "rule": pl.String,
                    "curve": pl.String,
                    "x": pl.Float64,
                    "y": pl.Float64,
                    "threshold": pl.Float64,
                }
            )
        ]
        + [
            curve.table(algorithm.name, rule)
            for algorithm in evaluation.algorithms
            for rule, result in algorithm.rules.items()
            for curve in result.curves
        ]
    )


def flips_of(evaluation: Evaluation) -> pl.DataFrame:
    """The flips table of an evaluation."""
    return pl.concat([result.flips for result in evaluation.algorithms if result.flips is not None])
