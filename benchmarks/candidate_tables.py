"""Cases with known nodules, through candidate detectors -> tables like LUNA16's table 1."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from nodulebench.algorithms.candidate import Candidates
from nodulebench.algorithms.candidates import DETECTORS
from nodulebench.algorithms.chest import Chest
from nodulebench.algorithms.combine import is_near_lungs, merge_candidates
from nodulebench.match import label_marks
from nodulebench.model.arrays import BoolArray, FloatArray
from nodulebench.model.labels import DUPLICATE, HIT
from nodulebench.model.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.protocols import load_protocol
from nodulebench.statistics.intervals import wilson_interval
from nodulebench.workflows.combination_tables import Members, all_members, candidate_table

FIVE = ("isicad", "subsolidcad", "largecad", "m5l", "etrocad")
"""The detectors of the LUNA16 study, in the order of its table 1."""
LEVEL = 0.95
PLACE = ["x_mm", "y_mm", "z_mm"]

Detect = Callable[[Chest], Candidates]


@dataclass(frozen=True, eq=False)
class Case:
    """An image as detectors see it, and the nodules and ignored findings in it."""

    case_id: str
    chest: Chest
    nodules: pl.DataFrame


@dataclass(frozen=True, eq=False)
class Findings:
    """What detectors said of some cases."""

    reference: Reference
    """Its nodules have the column ``share``: how much of the searched region each fills."""
    submissions: dict[str, Submission]
    cpu_seconds: dict[str, float]
    lung_litres: float


def mark_centre(chest: Chest) -> Candidates:
    """A control: the middle of the image, which knows nothing."""
    middle = (np.array([chest.hu.shape], dtype=np.float64) - 1) / 2
    return Candidates(chest.to_world(middle), np.ones(1), np.full(1, 10.0))


def detectors(names: Sequence[str]) -> dict[str, Detect]:
    """Detectors by name; ``centre`` is the control."""
    return {name: mark_centre if name == "centre" else DETECTORS[name] for name in names}


def find_candidates(cases: Iterable[Case], chosen: Mapping[str, Detect]) -> Findings:
    """Run every detector on every case; candidates far from the lungs are dropped."""
    marks: dict[str, list[pl.DataFrame]] = {name: [MARKS.empty()] for name in chosen}
    cpu = dict.fromkeys(chosen, 0.0)
    names, nodules, litres = [], [NODULES.empty().with_columns(share=pl.lit(0.0))], 0.0
    for case in cases:
        mask, spacing = case.chest.lungs.mask, case.chest.spacing_mm
        litres += float(np.count_nonzero(mask)) * float(np.prod(spacing)) / 1e6
        names.append(case.case_id)
        nodules.append(case.nodules.with_columns(share=pl.Series(_shares(case), dtype=pl.Float64)))
        for name, detect in chosen.items():
            start = time.process_time()
            found = detect(case.chest)
            cpu[name] += time.process_time() - start
            marks[name].append(_as_marks(case, found))
    reference = Reference(
        "cases",
        CASES.conform(pl.DataFrame({"case_id": names}), "cases"),
        pl.concat(nodules, how="diagonal_relaxed"),
    )
    submissions = {name: Submission(name, pl.concat(parts)) for name, parts in marks.items()}
    return Findings(reference, submissions, cpu, litres)


def _as_marks(case: Case, found: Candidates) -> pl.DataFrame:
    lungs = case.chest.lungs
    near = is_near_lungs(found.center_mm, lungs.mask, lungs.geometry)
    place = found.center_mm[near]
    table = pl.DataFrame(
        {
            **{axis: place[:, column] for column, axis in enumerate(PLACE)},
            "score": found.score[near],
            "diameter_mm": found.diameter_mm[near],
        }
    ).with_columns(
        case_id=pl.lit(case.case_id), mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String)
    )
    return MARKS.conform(table, case.case_id)


def _shares(case: Case) -> FloatArray:
    """For each nodule the share of the lungs and their slack in which a mark would hit it."""
    region = case.chest.to_world(np.argwhere(case.chest.lungs.with_slack()).astype(np.float64))
    shares = []
    for row in case.nodules.iter_rows(named=True):
        apart = region - np.array([row[axis] for axis in PLACE])
        is_hit = (apart**2).sum(axis=1) < (row["diameter_mm"] / 2) ** 2
        shares.append(float(is_hit.mean()) if row["diameter_mm"] > 0 else 0.0)
    return np.array(shares)


@dataclass(frozen=True, eq=False)
class Judged:
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
    """The nodules that count, in the order of :attr:`Judged.is_hit`."""
    return reference.nodules.filter(~pl.col("is_ignored"))


def judge(reference: Reference, submission: Submission, members: Members) -> Judged:
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
    return Judged(
        members,
        is_hit[is_target],
        submission.marks.height,
        len(np.unique(labels.mark[labels.nodule < 0])),
        float(chance.mean()),
    )


def judge_all(findings: Findings, five: Sequence[str] = FIVE) -> list[Judged]:
    """Every detector alone, and every combination of those of the five that were run."""
    submissions = findings.submissions
    combinable = [name for name in five if name in submissions]
    alone = [(name,) for name in submissions if name not in combinable]
    judged = []
    for members in (*alone, *all_members(combinable)):
        parts = [submissions[name] for name in members]
        merged = parts[0] if len(parts) == 1 else merge_candidates(parts).submission
        judged.append(judge(findings.reference, merged, members))
    return judged


def print_table(findings: Findings, judged: Sequence[Judged], unit: str = "block") -> None:
    """Print sensitivity with its interval, the best member, candidates and the chance control."""
    nodules = nodules_to_find(findings.reference).height
    cases = findings.reference.cases.height
    found = {one.members: (int(one.is_hit.sum()), one.candidates) for one in judged}
    rows = candidate_table(found, nodules=nodules, cases=cases)
    print(
        f"| detectors | found of {nodules} | sensitivity (95 % interval) | best member | "
        f"difference | candidates per {unit} | off nodules per {unit} | per litre of lung | "
        "by chance |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for one, row in zip(judged, rows, strict=True):
        best = "" if row.best_single is None else f"{row.best_single:.3f}"
        difference = "" if row.difference is None else f"{row.difference:+.3f}"
        print(
            f"| {'+'.join(row.members)} | {row.hits} | {with_interval(row.hits, nodules)} | {best} "
            f"| {difference} | {row.candidates_per_case:.1f} | {one.off_nodules / cases:.1f} | "
            f"{row.candidates / findings.lung_litres:.0f} | {one.chance:.3f} |"
        )


def with_interval(hits: int, nodules: int) -> str:
    """Sensitivity and Wilson's interval."""
    if not nodules:
        return "no nodules"
    low, high = wilson_interval(hits, nodules, LEVEL)
    return f"{hits / nodules:.3f} ({low:.3f}–{high:.3f})"


def print_groups(judged: Sequence[Judged], groups: Mapping[str, BoolArray]) -> None:
    """Print sensitivity in groups of nodules: a row per group, a column per detector."""
    print("| nodules | number | " + " | ".join("+".join(one.members) for one in judged) + " |")
    print("|---|---|" + "---|" * len(judged))
    for name, inside in groups.items():
        count = int(inside.sum())
        cells = [with_interval(int(one.is_hit[inside].sum()), count) for one in judged]
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


def restricted(findings: Findings, case_ids: pl.Series, lung_litres: float) -> Findings:
    """The same on some cases only."""
    reference = findings.reference.restricted(case_ids, "cases")
    submissions = {
        name: replace(one, marks=one.marks.filter(pl.col("case_id").is_in(case_ids.implode())))
        for name, one in findings.submissions.items()
    }
    return replace(findings, reference=reference, submissions=submissions, lung_litres=lung_litres)
