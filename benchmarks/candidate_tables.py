"""The candidates of detectors in some cases -> tables like LUNA16's table 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from benchmarks.candidate_findings import FIVE, Findings
from nodulebench.core.arrays import BoolArray
from nodulebench.core.cohort import DUPLICATE, HIT
from nodulebench.core.protocol import load_protocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.combine import (
    Members,
    all_members,
    candidate_table,
)
from nodulebench.matching import label_marks
from nodulebench.matching.combine import Linkage, MergedPosition, merge_candidates
from nodulebench.statistics.intervals import wilson_interval

LEVEL = 0.95
LINKAGES: tuple[Linkage, ...] = ("single", "greedy", "nearest")
PLACES: tuple[MergedPosition, ...] = ("mean", "best")


@dataclass(frozen=True, eq=False)
class MemberScore:
    """What some detectors together reach on the nodules of a test set."""

    members: Members
    is_hit: BoolArray
    """One entry per nodule to find."""
    candidates: int
    off_nodules: int
    """Candidates that lie on no nodule and on no ignored finding."""
    chance: float
    """Sensitivity if as many candidates lay anywhere in the lungs and their slack."""


def nodules_to_find(reference: Reference) -> pl.DataFrame:
    """The nodules that count, in the order of :attr:`MemberScore.is_hit`."""
    return reference.nodules.filter(~pl.col("is_ignored"))


def score_members(reference: Reference, submission: Submission, members: Members) -> MemberScore:
    """Which nodules candidates hit: LUNA16's rule, without a cap on their number."""
    protocol = load_protocol("luna16").model_copy(update={"mark_cap": None})
    labels = label_marks(reference, submission, protocol, protocol.rules[0])
    is_hit = np.zeros(reference.nodules.height, dtype=np.bool_)
    on_nodule = np.isin(labels.label, (HIT, DUPLICATE))
    is_hit[labels.nodule[on_nodule]] = True
    is_target = ~reference.nodules["is_ignored"].to_numpy()
    counts = np.bincount(
        reference.rows_of(submission.marks["case_id"]), minlength=reference.cases.height
    )
    nodules = reference.nodules.filter(pl.Series(is_target))
    count = counts[reference.rows_of(nodules["case_id"])]
    chance = 1 - (1 - nodules["share"].to_numpy()) ** count
    return MemberScore(
        members,
        is_hit[is_target],
        submission.marks.height,
        len(np.unique(labels.mark[labels.nodule < 0])),
        float(chance.mean()),
    )


def score_all_members(findings: Findings, five: Sequence[str] = FIVE) -> list[MemberScore]:
    """Every single detector, and every combination of those of the five that were run."""
    combinable = [name for name in five if name in findings.submissions]
    single = [(name,) for name in findings.submissions if name not in combinable]
    return [
        score_members(findings.reference, combined(findings, members), members)
        for members in (*single, *all_members(combinable))
    ]


def combined(findings: Findings, members: Members) -> Submission:
    """What some detectors together say."""
    parts = [findings.submissions[name] for name in members]
    return parts[0] if len(parts) == 1 else merge_candidates(parts, score="agreed").submission


def print_table(findings: Findings, scores: Sequence[MemberScore], unit: str = "block") -> None:
    """Print sensitivity with its interval, the best member, candidates and the chance control."""
    nodules = nodules_to_find(findings.reference).height
    cases = findings.reference.cases.height
    counts = {score.members: (int(score.is_hit.sum()), score.candidates) for score in scores}
    rows = candidate_table(counts, nodules=nodules, cases=cases)
    print(
        f"| detectors | found of {nodules} | sensitivity (95 % interval) | best member | "
        f"difference | candidates per {unit} | off nodules per {unit} | per litre of lung | "
        "by chance |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for score, row in zip(scores, rows, strict=True):
        best = "" if row.best_single is None else f"{row.best_single:.3f}"
        difference = "" if row.difference is None else f"{row.difference:+.3f}"
        print(
            f"| {'+'.join(row.members)} | {row.hits} | {with_interval(row.hits, nodules)} | {best} "
            f"| {difference} | {row.candidates_per_case:.1f} | {score.off_nodules / cases:.1f} | "
            f"{row.candidates / findings.lung_litres:.0f} | {score.chance:.3f} |"
        )


def print_linkages(findings: Findings, five: Sequence[str] = FIVE) -> None:
    """Print what all detectors together find by each way of merging, and without any."""
    parts = [findings.submissions[name] for name in five]
    ways = {"none": union_of(parts)}
    for linkage, place in product(LINKAGES, PLACES):
        merged = merge_candidates(parts, linkage=linkage, place=place)
        ways[f"{linkage}, {place}"] = merged.submission
    nodules = nodules_to_find(findings.reference).height
    print("| merging | sensitivity (95 % interval) | candidates per case |")
    print("|---|---|---|")
    for name, merged in ways.items():
        score = score_members(findings.reference, merged, tuple(five))
        share = with_interval(int(score.is_hit.sum()), nodules)
        print(f"| {name} | {share} | {score.candidates / findings.reference.cases.height:.1f} |")


def print_losses(findings: Findings, five: Sequence[str] = FIVE) -> None:
    """Print by how many nodules merging falls short of all candidates, none merged."""
    print("| detectors | any of them | merged | lost | candidates | merged |")
    print("|---|---|---|---|---|---|")
    cases = findings.reference.cases.height
    for members in all_members(five):
        if len(members) > 1:
            parts = [findings.submissions[name] for name in members]
            whole = score_members(findings.reference, union_of(parts), members)
            merged = score_members(findings.reference, combined(findings, members), members)
            lost = int(whole.is_hit.sum()) - int(merged.is_hit.sum())
            print(
                f"| {'+'.join(members)} | {whole.is_hit.sum()} | {merged.is_hit.sum()} | {lost} | "
                f"{whole.candidates / cases:.1f} | {merged.candidates / cases:.1f} |"
            )


def union_of(parts: Sequence[Submission]) -> Submission:
    """All candidates of several detectors, none merged."""
    return Submission("all", pl.concat([_named_apart(part) for part in parts]))


def _named_apart(submission: Submission) -> pl.DataFrame:
    name = pl.lit(f"{submission.name} ")
    return submission.marks.with_columns(mark_id=name + pl.col("mark_id"))


def with_interval(hits: int, nodules: int) -> str:
    """Sensitivity and Wilson's interval."""
    if not nodules:
        return "no nodules"
    low, high = wilson_interval(hits, nodules, LEVEL)
    return f"{hits / nodules:.3f} ({low:.3f}–{high:.3f})"


def print_groups(scores: Sequence[MemberScore], groups: Mapping[str, BoolArray]) -> None:
    """Print sensitivity in groups of nodules: a row per group, a column per detector."""
    print("| nodules | number | " + " | ".join("+".join(score.members) for score in scores) + " |")
    print("|---|---|" + "---|" * len(scores))
    for name, inside in groups.items():
        count = int(inside.sum())
        cells = [with_interval(int(score.is_hit[inside].sum()), count) for score in scores]
        print(f"| {name} | {count} | " + " | ".join(cells) + " |")


def print_cpu(findings: Findings) -> None:
    """Print CPU seconds per case and per litre of lung."""
    print("| detector | CPU s | per case | per litre of lung |")
    print("|---|---|---|---|")
    for name, seconds in findings.cpu_seconds.items():
        cases = findings.reference.cases.height
        print(
            f"| {name} | {seconds:.1f} | {seconds / cases:.2f} | "
            f"{seconds / findings.lung_litres:.1f} |"
        )
