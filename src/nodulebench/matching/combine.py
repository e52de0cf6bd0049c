"""Submissions of several algorithms -> one: candidate lists merged, or scores averaged.

Both are the combinations of the LUNA16 study (Setio et al. 2017), with one difference: merged
candidates get the position of their best one, because a mean may be outside the nodule that its
parts hit. The study's own mean is a choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.tables import MARKS, Submission
from nodulebench.core.text import counted
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.linking import merged_within
from nodulebench.io.marks.luna16_candidates import check_candidate_track, match_candidates

MERGE_MM = 5.0
"""Candidates closer than this are merged."""
SLACK_MM = 10.0
"""How far outside the lungs a candidate may lie."""
BETWEEN_CASES_MM = 1e8
"""Farther apart than any two places in patients, so that cases never link."""

Linkage = Literal["single", "greedy", "nearest"]
LINKAGE: Linkage = "nearest"
MergedPosition = Literal["best", "mean"]
Score = Literal["own", "agreed"]
_POSITION = ["x_mm", "y_mm", "z_mm"]


@dataclass(frozen=True, eq=False)
class Combined:
    """A combination, and where its marks come from."""

    submission: Submission
    sources: pl.DataFrame
    """case_id, mark_id of the combination; algorithm and source_mark_id that went into it."""


def merge_candidates(
    submissions: Sequence[Submission],
    *,
    distance_mm: float = MERGE_MM,
    linkage: Linkage = LINKAGE,
    place: MergedPosition = "best",
    score: Score = "own",
) -> Combined:
    """Concatenate candidate lists and merge candidates of a case that are close.

    Args:
        submissions: candidate lists, or marks with scores.
        distance_mm: candidates closer than this (strictly) are linked.
        linkage: ``nearest``: the two nearest become one at their mean, again and again, until all
            are at least ``distance_mm`` apart, so that chains end; ``single``: everything that is
            linked through others is one, in any order of the lists; ``greedy``: the candidates in
            their order take those close to them that are still free.
        place: ``best``: a merged candidate is that of its parts which has the highest score, of
            equals and without scores the one nearest to their mean; ``mean`` (LUNA16): it is at
            the mean of its parts, its score and diameter are the means of theirs, empty where a
            part has none.
        score: ``own``: as its place says; ``agreed``, for probabilities: the mean of the highest
            that each algorithm says there, 0 of one that says nothing.
    """
    require_combinable(submissions)
    parts = pl.concat(
        [
            submission.marks.with_columns(algorithm=pl.lit(submission.name))
            for submission in submissions
        ]
    ).sort("case_id", maintain_order=True)
    grouped = parts.with_columns(group=_groups(parts, distance_mm, linkage))
    merged = _best(grouped) if place == "best" else _mean(grouped)
    if score == "agreed":
        merged = merged.update(_agreed(grouped, len(submissions)), on="group")
    merged = merged.with_columns(
        mark_id=pl.int_range(1, pl.len() + 1).over("case_id").cast(pl.String)
    )
    sources = grouped.select("group", "algorithm", source_mark_id="mark_id").join(
        merged.select("group", "case_id", "mark_id"), on="group", maintain_order="left"
    )
    return Combined(
        Submission(combined_name(submissions), MARKS.conform(merged, "combination")),
        sources.select("case_id", "mark_id", "algorithm", "source_mark_id"),
    )


def _best(grouped: pl.DataFrame) -> pl.DataFrame:
    """Of each group the row with the highest score; of equals the one nearest to their mean."""
    squares = ((pl.col(axis) - pl.col(axis).mean().over("group")) ** 2 for axis in _POSITION)
    # rounding must not decide between parts that are as good, or as near
    order = (pl.col("score").round_sig_figs(9), pl.sum_horizontal(squares).round(6).alias("away"))
    ranked = grouped.sort(*order, descending=[True, False], nulls_last=True, maintain_order=True)
    in_order = grouped.select(pl.col("group").unique(maintain_order=True))
    best = ranked.unique("group", keep="first", maintain_order=True)
    return in_order.join(best, on="group", maintain_order="left")


def _mean(grouped: pl.DataFrame) -> pl.DataFrame:
    return grouped.group_by("group", maintain_order=True).agg(
        pl.col("case_id").first(),
        pl.col(_POSITION).mean(),
        *(
            pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).alias(name)
            for name in ("score", "diameter_mm")
        ),
    )


def _agreed(grouped: pl.DataFrame, algorithms: int) -> pl.DataFrame:
    """Of each group the mean over all algorithms of the highest score that each gives."""
    each = grouped.group_by("group", "algorithm", maintain_order=True).agg(pl.col("score").max())
    return each.group_by("group", maintain_order=True).agg(pl.col("score").sum() / algorithms)


def average_scores(submissions: Sequence[Submission], candidates: pl.DataFrame) -> Submission:
    """The mean of the algorithms' scores on a list of candidates that all of them scored.

    Each mark is a candidate of the common list, once (up to a micrometre).
    """
    require_combinable(submissions)
    problems: list[Problem] = []
    total = np.zeros(candidates.height)
    for submission in submissions:
        without = submission.marks["score"].null_count()
        if without:
            where = f"submission '{submission.name}'"
            problems.append(Problem(where, f"has {without} marks without a score."))
        problems.extend(check_candidate_track(submission, candidates).problems)
        if not problems:
            total[match_candidates(submission.marks, candidates)] += submission.marks[
                "score"
            ].to_numpy()
    raise_problems(problems)
    marks = candidates.select("case_id", *_POSITION).with_columns(
        mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String),
        score=pl.Series(total / len(submissions)),
    )
    return Submission(combined_name(submissions), MARKS.conform(marks, "combination"))


def combined_name(submissions: Sequence[Submission]) -> str:
    return "+".join(submission.name for submission in submissions)


def is_near_lungs(
    point_mm: FloatArray, mask: BoolArray, geometry: Geometry, *, slack_mm: float = SLACK_MM
) -> BoolArray:
    """Which points lie in the lungs or at most ``slack_mm`` from the centre of a voxel of theirs.

    Args:
        point_mm: n x 3, millimetres, LPS.
        mask: which voxels belong to the lungs; axes slice, row, column.
        geometry: where the mask's voxels are.
        slack_mm: width of the border that still counts.
    """
    size = np.array(mask.shape[::-1])
    index = geometry.to_index(point_mm)
    reach = slack_mm / geometry.spacing_mm
    nearest = np.rint(index).astype(np.int64)
    is_near: BoolArray = np.all((nearest >= 0) & (nearest < size), axis=1)
    is_near[is_near] = mask[tuple(nearest[is_near].T[::-1])]
    for row in np.flatnonzero(~is_near):
        low = np.clip(np.floor(index[row] - reach), 0, size).astype(int)
        high = np.clip(np.ceil(index[row] + reach) + 1, 0, size).astype(int)
        box = mask[tuple(slice(*bounds) for bounds in zip(low[::-1], high[::-1], strict=True))]
        voxel = np.argwhere(box)[:, ::-1] + low
        squared = ((geometry.to_world(voxel.astype(np.float64)) - point_mm[row]) ** 2).sum(axis=1)
        is_near[row] = (squared <= slack_mm**2).any()
    return is_near


def _linked(parts: pl.DataFrame, distance_mm: float) -> IntArray:
    """Pairs of rows (first < second) of one case that are closer than a distance."""
    from scipy.spatial import cKDTree

    place = parts.select(_POSITION).to_numpy()
    tree = cKDTree(_apart_by_case(parts))
    pairs = tree.query_pairs(distance_mm, output_type="ndarray").astype(np.int64)
    apart = place[pairs[:, 0]] - place[pairs[:, 1]]
    closer: IntArray = pairs[(apart**2).sum(axis=1) < distance_mm**2]
    return closer


def _apart_by_case(parts: pl.DataFrame) -> FloatArray:
    """Places with a fourth coordinate that keeps cases apart."""
    case = parts["case_id"].rank("dense").to_numpy() * BETWEEN_CASES_MM
    return np.column_stack([parts.select(_POSITION).to_numpy(), case])


def _groups(parts: pl.DataFrame, distance_mm: float, linkage: Linkage) -> pl.Series:
    if linkage == "nearest":
        closer = float(np.nextafter(distance_mm, 0.0))
        return pl.Series(merged_within(_apart_by_case(parts), np.ones(parts.height), closer))
    pairs = _linked(parts, distance_mm)
    if linkage == "single":
        return pl.Series(_components(pairs, parts.height))
    return pl.Series(_taken(pairs, parts.height))


def _components(pairs: IntArray, count: int) -> IntArray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs), dtype=np.int8), pairs.T), shape=(count, count))
    _, component = connected_components(links, directed=False)
    first = np.full(count, count, dtype=np.int64)
    np.minimum.at(first, component, np.arange(count))
    return first[component]


def _taken(pairs: IntArray, count: int) -> IntArray:
    """Row after row takes the free rows after it that it is linked to."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    group = np.full(count, -1, dtype=np.int64)
    starts = np.searchsorted(pairs[:, 0], np.arange(count + 1))
    for row in range(count):
        if group[row] >= 0:
            continue
        group[row] = row
        others = pairs[starts[row] : starts[row + 1], 1]
        group[others[group[others] < 0]] = row
    return group


def require_combinable(submissions: Sequence[Submission]) -> None:
    names = [submission.name for submission in submissions]
    problems = [
        Problem(
            f"submission '{name}'",
            "has the name of another submission.",
            "Rename a file, or name the algorithm in its algorithm.toml.",
        )
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    if len(names) < 2:
        problems.append(
            Problem("combination", f"of {counted(len(names), 'submission')}.", "Give two or more.")
        )
    raise_problems(problems)
