"""A seed -> a made-up test set and algorithms whose strengths are known by construction."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import (
    CASES,
    DENSITY_OF_TYPE,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULE_TYPES,
    NODULES,
    Reference,
    Submission,
)
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import write_evaluation

TYPE_SHARES = (0.4266, 0.0506, 0.1958, 0.0740, 0.2306, 0.0224)
"""Shares of the six types in the NIFDC 2022 test set."""

SIZE_BINS_MM = ((2.0, 4.0), (4.0, 6.0), (6.0, 10.0), (10.0, 28.0))
SIZE_SHARES = (0.6991, 0.1963, 0.0728, 0.0318)
"""Shares of the size bins in the NIFDC 2022 test set."""

SLICE_SPACING_MM = 1.0
OUTLINE_POINTS = 16


@dataclass(frozen=True, slots=True)
class Skill:
    """What a made-up algorithm is good at."""

    name: str
    detection: float
    """Chance to find an average nodule of 6 mm."""
    shift_mm: float
    """Standard deviation of its marks' distance from the true centre, along each axis."""
    box_scale: float
    """Size of its boxes relative to the true ones."""
    fp_per_case: float
    weak_types: tuple[str, ...] = ("pure_ground_glass", "pleural")


SKILLS = (
    Skill("careful", detection=0.82, shift_mm=0.7, box_scale=1.0, fp_per_case=3.0),
    Skill("eager", detection=0.90, shift_mm=1.1, box_scale=1.25, fp_per_case=9.0),
    Skill("small boxes", detection=0.80, shift_mm=0.6, box_scale=0.74, fp_per_case=4.0),
)


def made_up_reference(case_count: int, nodule_count: int, seed: int) -> Reference:
    """Cases of several vendors and thicknesses, nodules of the six types and four size bins."""
    random = np.random.default_rng(seed)
    case_ids = pl.Series([f"case{number:04d}" for number in range(case_count)])
    # a tenth of the cases stay without nodules; the others share them unevenly
    chance = random.gamma(1.5, size=case_count) * (random.random(case_count) > 0.1)
    case = np.sort(random.choice(case_count, nodule_count, p=chance / chance.sum()))
    size = _exact_shares(random, nodule_count, SIZE_SHARES)
    low, high = np.array(SIZE_BINS_MM)[size].T
    short = random.uniform(low, high)
    nodules = pl.DataFrame(
        {
            "case_id": case_ids[case],
            "nodule_id": [f"n{number}" for number in range(nodule_count)],
            **_places(random, nodule_count),
            "diameter_mm": short,
            "long_mm": short * random.uniform(1.0, 1.2, nodule_count),
            "short_mm": short / random.uniform(1.0, 1.2, nodule_count),
            "type": np.array(NODULE_TYPES)[_exact_shares(random, nodule_count, TYPE_SHARES)],
            "malignancy": (random.random(nodule_count) < np.clip(short / 40, 0, 0.6)).astype(float),
        }
    ).with_columns(
        is_ignored=pl.lit(False),
        diameter_mm=(pl.col("long_mm") + pl.col("short_mm")) / 2,
        density=pl.col("type").replace_strict(DENSITY_OF_TYPE),
    )
    cases = pl.DataFrame(
        {
            "case_id": case_ids,
            "patient_id": [f"patient{number // 2:04d}" for number in range(case_count)],
            "vendor": random.choice(["A", "B", "C", "D"], case_count, p=[0.38, 0.36, 0.14, 0.12]),
            "thickness_mm": random.choice([0.625, 1.0, 1.25, 2.0], case_count),
            "sex": random.choice(["F", "M"], case_count),
        }
    )
    return Reference(
        "made-up test set",
        CASES.conform(cases, "cases"),
        NODULES.conform(nodules, "nodules"),
        NODULE_SLICES.conform(_with_outlines(_ball_slices(nodules, "nodule_id")), "slices"),
    )


def made_up_submission(reference: Reference, skill: Skill, seed: int) -> Submission:
    """What an algorithm of the given skill says of the test set: hits near nodules, and noise."""
    random = np.random.default_rng([seed, *skill.name.encode()])
    truth = reference.nodules
    conspicuity = _conspicuity(truth, skill)
    is_detected = random.random(truth.height) < conspicuity
    detected = truth.filter(pl.Series(is_detected))
    hit_score = random.beta(1 + 5 * conspicuity[is_detected], 1.5)
    shift = random.normal(0, skill.shift_mm, (detected.height, 2))
    stretch = skill.box_scale * random.lognormal(0, 0.12, detected.height)
    hits = detected.select(
        "case_id",
        x_mm=pl.col("x_mm") + pl.Series(shift[:, 0]),
        y_mm=pl.col("y_mm") + pl.Series(shift[:, 1]),
        z_mm="z_mm",
        diameter_mm=pl.col("diameter_mm") * pl.Series(stretch),
        long_mm=pl.col("long_mm") * pl.Series(stretch),
        short_mm=pl.col("short_mm") * pl.Series(stretch),
        density=pl.when(pl.Series(random.random(detected.height) < 0.85))
        .then("density")
        .otherwise(pl.lit("solid")),
        malignancy=(
            0.25 + 0.5 * pl.col("malignancy") + pl.Series(random.normal(0, 0.2, detected.height))
        ).clip(0, 1),
        score=pl.Series(hit_score),
    )
    falses = int(random.poisson(skill.fp_per_case * reference.cases.height))
    size = random.uniform(2, 12, falses)
    noise = pl.DataFrame(
        {
            "case_id": reference.cases["case_id"][
                random.integers(0, reference.cases.height, falses)
            ],
            **_places(random, falses),
            "diameter_mm": size,
            "long_mm": size,
            "short_mm": size,
            "density": ["solid"] * falses,
            "malignancy": random.random(falses),
            "score": random.beta(1.2, 3, falses),
        }
    )
    marks = pl.concat([hits, noise]).with_columns(mark_id=pl.int_range(pl.len()).cast(pl.String))
    return Submission(
        skill.name,
        MARKS.conform(marks, "marks"),
        MARK_SLICES.conform(_ball_slices(marks, "mark_id"), "slices"),
    )


def made_up_protocol() -> TestProtocol:
    """The NIFDC protocol with three rules, and a FROC in addition because marks have scores."""
    published = load_protocol("nifdc-2022")
    return published.model_copy(
        update={
            "name": "demo",
            "title": "Three made-up algorithms under three rules, and their FROC",
            "metrics": (*published.metrics, "sensitivity_at_fp_rate", "cpm", "wafroc1_area"),
            "strata": ("type", "size", "vendor"),
        }
    )


def write_made_up_result(
    out: Path, *, cases: int = 120, nodules: int = 700, seed: int = 1, **changed: Any
) -> Evaluation:
    """Make the test set, let the algorithms read it, evaluate them, and write the report.

    ``changed`` are fields of the protocol.
    """
    reference = made_up_reference(cases, nodules, seed)
    submissions = [made_up_submission(reference, skill, seed) for skill in SKILLS]
    chosen = made_up_protocol().model_copy(update=changed)
    evaluation = evaluate(reference, submissions, chosen)
    write_evaluation(evaluation, out)
    return evaluation


def _conspicuity(nodules: pl.DataFrame, skill: Skill) -> FloatArray:
    """The chance to find each nodule: it rises with size and falls for the weak types."""
    size = nodules["diameter_mm"].to_numpy()
    is_weak = nodules["type"].is_in(skill.weak_types).to_numpy()
    return np.clip(skill.detection + 0.12 * np.log2(size / 6) - 0.22 * is_weak, 0.03, 0.98)


def _exact_shares(
    random: np.random.Generator, count: int, shares: tuple[float, ...]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Class numbers in random order, as many of each class as its share of the whole says."""
    edges = np.round(np.cumsum(shares) / np.sum(shares) * count).astype(np.int64)
    return random.permutation(np.searchsorted(edges, np.arange(count), "right"))


def _places(random: np.random.Generator, count: int) -> dict[str, FloatArray]:
    return {
        "x_mm": random.uniform(-150, 150, count),
        "y_mm": random.uniform(-120, 120, count),
        "z_mm": random.integers(20, 280, count).astype(np.float64) * SLICE_SPACING_MM,
    }


def _ball_slices(table: pl.DataFrame, key: str) -> pl.DataFrame:
    """The boxes of a ball of each row's diameter on every slice that it meets."""
    reach = (table["diameter_mm"].to_numpy() / 2 // SLICE_SPACING_MM).astype(np.int64)
    row = np.repeat(np.arange(table.height), 2 * reach + 1)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(2 * reach + 1) - reach - 1, 2 * reach + 1)
    radius = table["diameter_mm"].to_numpy()[row] / 2
    share = np.sqrt(np.maximum(1 - (offset * SLICE_SPACING_MM / radius) ** 2, 0.01))
    return table[row].select(
        "case_id",
        key,
        slice_index=(pl.col("z_mm") / SLICE_SPACING_MM).cast(pl.Int64) + pl.Series(offset),
        z_mm=pl.col("z_mm") + pl.Series(offset * SLICE_SPACING_MM),
        center_x_mm="x_mm",
        center_y_mm="y_mm",
        length_mm=pl.col("long_mm") * pl.Series(share),
        width_mm=pl.col("short_mm") * pl.Series(share),
        long_mm=pl.col("long_mm") * pl.Series(share),
        short_mm=pl.col("short_mm") * pl.Series(share),
    )


def _with_outlines(slices: pl.DataFrame) -> pl.DataFrame:
    """Add the ellipse that fills each box, as readers outline what they see."""
    points = [
        pl.format(
            "{} {}",
            (pl.col("center_x_mm") + pl.col("length_mm") / 2 * np.cos(angle)).round(2),
            (pl.col("center_y_mm") + pl.col("width_mm") / 2 * np.sin(angle)).round(2),
        )
        for angle in np.linspace(0, 2 * np.pi, OUTLINE_POINTS, endpoint=False)
    ]
    return slices.with_columns(contour=pl.concat_str(points, separator=";"))
