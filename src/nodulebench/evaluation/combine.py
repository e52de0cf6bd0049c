"""Submission files + reference -> one combined file, and a table of all combinations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.cohort import DUPLICATE, HIT, Labels
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.tables import MARKS, Reference, Submission
from nodulebench.evaluation.check import keep_listed
from nodulebench.io.cases import algorithm_name
from nodulebench.io.csv_files import CsvFile, write_csv
from nodulebench.io.format import probe_file
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.images.metaimage import read_mask
from nodulebench.io.marks.luna16_candidates import read_candidates
from nodulebench.matching import label_cohort
from nodulebench.matching.combine import (
    LINKAGE,
    MERGE_MM,
    SLACK_MM,
    Linkage,
    MergedPosition,
    average_scores,
    is_near_lungs,
    merge_candidates,
    require_combinable,
)
from nodulebench.metrics.froc import sensitivity_at_fp_rate

Members = tuple[str, ...]
"""The algorithms of a combination, in the given order; a single algorithm is one, too."""


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """The merged candidate lists of some algorithms."""

    members: Members
    hits: int
    sensitivity: float
    best_single: float | None
    """The highest sensitivity of a single member; None for a single algorithm."""
    difference: float | None
    """Sensitivity minus that of the best member."""
    candidates: int
    candidates_per_case: float


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """The averaged scores of some algorithms."""

    members: Members
    sensitivities: tuple[float, ...]
    cpm: float
    best_single: float | None
    """The highest CPM of a single member; None for a single algorithm."""
    difference: float | None
    """CPM minus that of the best member."""


def all_members(names: Sequence[str]) -> Iterator[Members]:
    """Each single algorithm, then all 2^n - n - 1 combinations, small ones first."""
    for size in range(1, len(names) + 1):
        yield from combinations(names, size)


def candidate_table(
    counts: Mapping[Members, tuple[int, int]], *, nodules: int, cases: int
) -> list[CandidateRow]:
    """Table 1: sensitivity and candidates of combinations, from nodules hit and candidates."""
    rows = []
    for members, (hits, candidates) in counts.items():
        best = _best(members, {name: counts[(name,)][0] / nodules for name in members})
        sensitivity = hits / nodules
        rows.append(
            CandidateRow(
                members=members,
                hits=hits,
                sensitivity=sensitivity,
                best_single=best,
                difference=None if best is None else sensitivity - best,
                candidates=candidates,
                candidates_per_case=candidates / cases,
            )
        )
    return rows


def score_table(sensitivities_of: Mapping[Members, Sequence[float]]) -> list[ScoreRow]:
    """Table 2: sensitivities and CPM of combinations, from those at the operating points."""
    rows = []
    for members, sensitivities in sensitivities_of.items():
        best = _best(members, {name: float(np.mean(sensitivities_of[(name,)])) for name in members})
        cpm = float(np.mean(sensitivities))
        rows.append(
            ScoreRow(
                members=members,
                sensitivities=tuple(sensitivities),
                cpm=cpm,
                best_single=best,
                difference=None if best is None else cpm - best,
            )
        )
    return rows


def _best(members: Members, singles: Mapping[str, float]) -> float | None:
    return max(singles.values()) if len(members) > 1 else None


MOST_TABULATED = 10
"""With more algorithms there are over a thousand combinations."""


@dataclass(frozen=True, slots=True)
class CombinationChoice:
    """How submissions are combined."""

    distance_mm: float = MERGE_MM
    linkage: Linkage = LINKAGE
    place: MergedPosition = "best"
    lung_masks: Path | None = None
    """Folder with ``<case_id>.mhd`` or ``.mha``: candidates far from the lungs are dropped."""
    slack_mm: float = SLACK_MM


DEFAULT_CHOICE = CombinationChoice()


@dataclass(frozen=True, eq=False)
class Combination:
    """All submissions combined, and the results of every combination."""

    marks: pl.DataFrame
    """seriesuid, coordX, coordY, coordZ, probability (where there are scores), class, sources."""
    rows: Sequence[CandidateRow | ScoreRow]
    operating_points: tuple[float, ...] = ()
    """Where the sensitivities of averaged scores are read."""
    notices: tuple[Notice, ...] = ()


def combine_files(
    paths: Sequence[Path],
    reference: Path,
    *,
    is_by_scores: bool = False,
    choice: CombinationChoice = DEFAULT_CHOICE,
    candidates: Path | None = None,
    series: Path | None = None,
    protocol: str = "luna16",
    out: Path | None = None,
) -> Combination:
    """Read submissions or candidate lists, combine them, and tabulate all combinations.

    ``is_by_scores`` averages scores on a common candidate list (None: the marks of the first), else
    candidate lists are merged and evaluated without the protocol's cap. ``out`` is for the
    combination of all; its class tells whether a candidate hits a nodule.
    """
    truth = read_reference(reference, series=series)
    chosen = load_protocol(protocol)
    given = [keep_listed(truth, _read(path, truth.cases), chosen) for path in paths]
    submissions = [submission for submission, _ in given]
    notices = tuple(notice for _, of_submission in given for notice in of_submission)
    if len(submissions) > MOST_TABULATED:
        what = f"of {len(submissions)} submissions has {2 ** len(submissions) - 1} parts."
        raise InputError.at("combination", what, f"Give at most {MOST_TABULATED}.")
    if is_by_scores:
        common = (
            submissions[0].marks if candidates is None else read_candidates(candidates, truth.cases)
        )
        combination = combine_scores(truth, submissions, common, chosen)
    else:
        combination = combine_candidates(truth, submissions, choice, chosen)
    if out is not None:
        write_csv(combination.marks, out)
    return replace(combination, notices=notices)


def combine_candidates(
    reference: Reference,
    submissions: Sequence[Submission],
    choice: CombinationChoice,
    protocol: TestProtocol,
) -> Combination:
    require_combinable(submissions)
    uncapped = protocol.model_copy(update={"mark_cap": None, "score_threshold": None})
    by_name = {submission.name: submission for submission in submissions}
    if choice.lung_masks is not None:
        by_name = _near_lungs(by_name, choice.lung_masks, choice.slack_mm)
    counts: dict[Members, tuple[int, int]] = {}
    everyone = tuple(by_name)
    nodules, marks = 0, MARKS.empty()
    for members in all_members(everyone):
        parts = [by_name[name] for name in members]
        if len(parts) == 1:
            merged, sources = parts[0], None
        else:
            combined = merge_candidates(
                parts, distance_mm=choice.distance_mm, linkage=choice.linkage, place=choice.place
            )
            merged, sources = combined.submission, combined.sources
        labels, cohort = label_cohort(reference, merged, uncapped, uncapped.rules[0])
        nodules = cohort.nodule_count
        counts[members] = (nodules - cohort.missed_count, merged.marks.height)
        if sources is not None and members == everyone:
            marks = _candidate_list(merged, labels, sources)
    if not nodules:
        raise InputError.at("reference", "has no nodules to find.")
    return Combination(
        marks, candidate_table(counts, nodules=nodules, cases=reference.cases.height)
    )


def combine_scores(
    reference: Reference,
    submissions: Sequence[Submission],
    candidates: pl.DataFrame,
    protocol: TestProtocol,
) -> Combination:
    """Average scores on a common list: of all submissions, and of every combination."""
    require_combinable(submissions)
    by_name = {submission.name: submission for submission in submissions}
    sensitivities: dict[Members, Sequence[float]] = {}
    everyone, marks = tuple(by_name), MARKS.empty()
    for members in all_members(everyone):
        parts = [by_name[name] for name in members]
        mean = parts[0] if len(parts) == 1 else average_scores(parts, candidates)
        labels, cohort = label_cohort(reference, mean, protocol, protocol.rules[0])
        whole = np.ones((1, cohort.case_count), dtype=np.int32)
        sensitivities[members] = sensitivity_at_fp_rate(
            cohort,
            whole,
            operating_points=protocol.operating_points,
            interpolation=protocol.interpolation,
        )[0].tolist()
        if len(members) > 1 and members == everyone:
            marks = _candidate_list(mean, labels, None)
    return Combination(marks, score_table(sensitivities), protocol.operating_points)


def write_rows(combination: Combination, path: Path) -> None:
    records = []
    for row in combination.rows:
        record = {field.name: getattr(row, field.name) for field in fields(row)}
        record["members"] = "+".join(row.members)
        if isinstance(row, ScoreRow):
            del record["sensitivities"]
            for rate, value in zip(combination.operating_points, row.sensitivities, strict=True):
                record[f"sensitivity_at_{rate:g}"] = value
        records.append(record)
    write_csv(pl.DataFrame(records, infer_schema_length=None), path)


def _candidate_list(
    submission: Submission, labels: Labels, sources: pl.DataFrame | None
) -> pl.DataFrame:
    """Marks as LUNA16 lists candidates: the class is 1 for a mark on a nodule."""
    is_on_nodule = np.zeros(submission.marks.height, dtype=np.int64)
    is_on_nodule[labels.mark[np.isin(labels.label, (HIT, DUPLICATE))]] = 1
    marks = submission.marks.with_columns(is_on_nodule=pl.Series(is_on_nodule))
    if sources is None:
        marks = marks.with_columns(sources=pl.lit(submission.name))
    else:
        joined = sources.group_by("case_id", "mark_id").agg(
            sources=pl.col("algorithm").unique(maintain_order=True).str.join("+")
        )
        marks = marks.join(joined, on=["case_id", "mark_id"], how="left", maintain_order="left")
    table = marks.select(
        "score",
        "is_on_nodule",
        "sources",
        seriesuid="case_id",
        coordX="x_mm",
        coordY="y_mm",
        coordZ="z_mm",
    )
    columns = ["seriesuid", "coordX", "coordY", "coordZ"]
    has_scores = not table["score"].null_count()
    return table.select(
        *columns,
        *([pl.col("score").alias("probability")] if has_scores else []),
        pl.col("is_on_nodule").alias("class"),
        "sources",
    )


def _near_lungs(
    submissions: Mapping[str, Submission], folder: Path, slack_mm: float
) -> dict[str, Submission]:
    """The submissions without candidates that are too far from the lungs."""
    case_ids = (
        pl.concat([submission.marks["case_id"] for submission in submissions.values()])
        .unique()
        .sort()
    )
    near = {name: [submission.marks.clear()] for name, submission in submissions.items()}
    for case_id in case_ids:
        mask, geometry = read_mask(_mask_file(folder, case_id))
        for name, submission in submissions.items():
            marks = submission.marks.filter(case_id=case_id)
            position = marks.select("x_mm", "y_mm", "z_mm").to_numpy()
            is_near = is_near_lungs(position, mask, geometry, slack_mm=slack_mm)
            near[name].append(marks.filter(pl.Series(is_near, dtype=pl.Boolean)))
    return {
        name: replace(submission, marks=pl.concat(near[name]))
        for name, submission in submissions.items()
    }


def _mask_file(folder: Path, case_id: str) -> Path:
    for suffix in (".mhd", ".mha"):
        if (folder / f"{case_id}{suffix}").is_file():
            return folder / f"{case_id}{suffix}"
    raise InputError.at(
        str(folder),
        f"has no lung mask of case '{case_id}'.",
        f"Put {case_id}.mhd or {case_id}.mha there.",
    )


def _read(path: Path, cases: pl.DataFrame) -> Submission:
    """Marks of any format, or a LUNA16 candidate list, which has no scores."""
    file = CsvFile(path)
    probe = probe_file(file)
    is_list = probe.kind == "csv" and not probe.lacks("seriesuid", "coordX", "class")
    if not is_list or not probe.lacks("probability"):
        return read_submission(file, cases)
    listed = read_candidates(file, cases)
    marks = listed.select("case_id", "x_mm", "y_mm", "z_mm", mark_id=pl.col("line").cast(pl.String))
    return Submission(algorithm_name(path), MARKS.arrange(marks), digest=file.digest)
