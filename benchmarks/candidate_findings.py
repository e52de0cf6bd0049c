"""Cases with known nodules, through candidate detectors -> the candidates of each detector."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.detection.detectors import candidates_of, near_lungs
from nodulebench.detection.scan import Candidates, Chest

FIVE = ("isicad", "subsolidcad", "largecad", "m5l", "etrocad")
"""The detectors of the LUNA16 study, in the order of its table 1."""
PLACE = ["x_mm", "y_mm", "z_mm"]

Detect = Callable[[Chest], Candidates]


@dataclass(frozen=True, eq=False)
class Case:
    """An image as detectors see it, and the nodules and ignored findings in it."""

    case_id: str
    chest: Chest
    nodules: pl.DataFrame
    fold: int = -1
    """Of LUNA16; -1: of none."""
    is_whole: bool = True
    """Whether it is a scan, not a block around a nodule."""


@dataclass(frozen=True, eq=False)
class Findings:
    """The candidates of detectors in some cases."""

    reference: Reference
    """CASES with ``lung_litres``; NODULES with ``share``, how much of the searched region a
    nodule fills."""
    submissions: dict[str, Submission]
    cpu_seconds: dict[str, float]

    @property
    def lung_litres(self) -> float:
        """Of all cases together."""
        return float(self.reference.cases["lung_litres"].sum())


def mark_centre(chest: Chest) -> Candidates:
    """A control: the middle of the image, which knows nothing."""
    middle = (np.array([chest.hu.shape], dtype=np.float64) - 1) / 2
    return Candidates(chest.to_world(middle), np.ones(1), np.full(1, 10.0))


def detectors(names: Sequence[str]) -> dict[str, Detect]:
    """Detectors by name; ``centre`` is the control."""
    return {
        name: mark_centre if name == "centre" else partial(candidates_of, name) for name in names
    }


def find_candidates(cases: Iterable[Case], chosen: Mapping[str, Detect]) -> Findings:
    """Run every detector on every case; candidates far from the lungs are dropped."""
    marks: dict[str, list[pl.DataFrame]] = {name: [MARKS.empty()] for name in chosen}
    cpu = dict.fromkeys(chosen, 0.0)
    names, nodules, litres = [], [NODULES.empty().with_columns(share=pl.lit(0.0))], []
    for case in cases:
        mask, spacing = case.chest.lungs.mask, case.chest.spacing_mm
        litres.append(float(np.count_nonzero(mask)) * float(np.prod(spacing)) / 1e6)
        names.append(case.case_id)
        nodules.append(
            case.nodules.with_columns(share=pl.Series(nodule_shares(case), dtype=pl.Float64))
        )
        for name, detect in chosen.items():
            start = time.process_time()
            candidates = detect(case.chest)
            cpu[name] += time.process_time() - start
            marks[name].append(as_marks(case.case_id, near_lungs(candidates, case.chest)))
    reference = Reference(
        "cases",
        CASES.conform(pl.DataFrame({"case_id": names, "lung_litres": litres}), "cases"),
        pl.concat(nodules, how="diagonal_relaxed"),
    )
    submissions = {name: Submission(name, pl.concat(parts)) for name, parts in marks.items()}
    return Findings(reference, submissions, cpu)


def as_marks(case_id: str, near: Candidates) -> pl.DataFrame:
    """Candidates of a case as a table."""
    place = near.center_mm
    table = pl.DataFrame(
        {
            **{axis: place[:, column] for column, axis in enumerate(PLACE)},
            "score": near.score,
            "diameter_mm": near.diameter_mm,
        }
    ).with_columns(case_id=pl.lit(case_id), mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String))
    return MARKS.conform(table, case_id)


def nodule_shares(case: Case) -> FloatArray:
    """For each nodule the share of the lungs and their slack in which a mark would hit it."""
    region = case.chest.lungs.with_slack()
    total = int(np.count_nonzero(region))
    center = case.chest.to_index(case.nodules.select(PLACE).to_numpy())
    radius_mm = case.nodules["diameter_mm"].fill_null(0.0).to_numpy() / 2
    shares = []
    for place, radius in zip(center, radius_mm, strict=True):
        low = np.clip(np.floor(place - radius / case.chest.spacing_mm), 0, region.shape)
        high = np.clip(np.ceil(place + radius / case.chest.spacing_mm) + 1, 0, region.shape)
        box = tuple(slice(int(first), int(last)) for first, last in zip(low, high, strict=True))
        voxel = np.argwhere(region[box]) + low
        apart = ((voxel - place) * case.chest.spacing_mm) ** 2
        shares.append(np.count_nonzero(apart.sum(axis=1) < radius**2) / total)
    return np.array(shares, dtype=np.float64)


def write_findings(findings: Findings, folder: Path) -> None:
    """Keep findings, so that tables and pictures can be made again without the detectors."""
    folder.mkdir(parents=True, exist_ok=True)
    findings.reference.cases.write_parquet(folder / "cases.parquet")
    findings.reference.nodules.write_parquet(folder / "nodules.parquet")
    for name, submission in findings.submissions.items():
        submission.marks.write_parquet(folder / f"{name}.marks.parquet")
        (folder / f"{name}.json").write_text(json.dumps(findings.cpu_seconds[name]))


def read_findings(folder: Path) -> Findings | None:
    """Stored findings; None if there are none."""
    if not (folder / "cases.parquet").is_file():
        return None
    names = [path.name.removesuffix(".marks.parquet") for path in folder.glob("*.marks.parquet")]
    return Findings(
        Reference(
            "cases",
            pl.read_parquet(folder / "cases.parquet"),
            pl.read_parquet(folder / "nodules.parquet"),
        ),
        {
            name: Submission(name, pl.read_parquet(folder / f"{name}.marks.parquet"))
            for name in names
        },
        {name: json.loads((folder / f"{name}.json").read_text()) for name in names},
    )


def stored_findings(
    make_cases: Callable[[], Iterable[Case]], chosen: Mapping[str, Detect], folder: Path | None
) -> Findings:
    """Findings of some detectors; those stored in a folder are not computed again."""
    stored = None if folder is None else read_findings(folder)
    known = {} if stored is None else stored.submissions
    missing = {name: detect for name, detect in chosen.items() if name not in known}
    if missing:
        fresh = find_candidates(make_cases(), missing)
        if folder is not None:
            write_findings(fresh, folder)
        stored = fresh if stored is None else _with_detectors(stored, fresh)
    if stored is None:
        raise ValueError("no detector was chosen")
    return replace(
        stored,
        submissions={name: stored.submissions[name] for name in chosen},
        cpu_seconds={name: stored.cpu_seconds[name] for name in chosen},
    )


def _with_detectors(first: Findings, other: Findings) -> Findings:
    return replace(
        first,
        submissions=first.submissions | other.submissions,
        cpu_seconds=first.cpu_seconds | other.cpu_seconds,
    )


def joined_findings(parts: Sequence[Findings]) -> Findings:
    """The same detectors on all cases of several parts."""
    names = list(parts[0].submissions)
    return Findings(
        Reference(
            "cases",
            pl.concat([part.reference.cases for part in parts]),
            pl.concat([part.reference.nodules for part in parts], how="diagonal_relaxed"),
        ),
        {
            name: Submission(name, pl.concat([part.submissions[name].marks for part in parts]))
            for name in names
        },
        {name: sum(part.cpu_seconds[name] for part in parts) for name in names},
    )


def restricted(findings: Findings, case_ids: pl.Series) -> Findings:
    """The same on some cases only; CPU seconds stay those of all."""
    return replace(
        findings,
        reference=findings.reference.restricted(case_ids, "cases"),
        submissions={
            name: replace(
                submission,
                marks=submission.marks.filter(pl.col("case_id").is_in(case_ids.implode())),
            )
            for name, submission in findings.submissions.items()
        },
    )
