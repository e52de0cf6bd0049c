"""The proposals of every detector in a case, stored: for training and for tables.

They give the package's weights (``fold_weights``), and the candidates of detectors in a case
with weights that never saw its fold, without running a detector again.
"""

import pickle
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.candidate_findings import Case, Findings, as_marks, mark_centre, nodule_shares
from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.detection.candidates import DETECTORS, NAMES
from nodulebench.detection.classifiers.false_positive_reduction import (
    describe_candidates,
    with_scores,
)
from nodulebench.detection.classifiers.weights import TRAINED, Measured, classifier_of
from nodulebench.detection.scan import Candidates
from nodulebench.matching.combine import is_near_lungs

CENTRE = "centre"
"""A control: the middle of the image, which knows nothing."""


@dataclass(frozen=True, eq=False)
class Proposals:
    """What all detectors propose near the lungs of one case, before any classifier."""

    case_id: str
    fold: int
    """Of LUNA16; -1: of none."""
    is_whole: bool
    nodules: pl.DataFrame
    """NODULES with ``share``, how much of the searched region each fills."""
    litres: float
    proposed: dict[str, Measured]
    """By detector, with the features of its own classifier if it has one."""
    described: dict[str, Measured]
    """The same with the features of the false-positive reduction."""
    cpu_seconds: dict[str, float]


def propose(case: Case, names: Sequence[str] = NAMES) -> Proposals:
    """Run detectors on a case."""
    measured, seconds = {}, {}
    for name in names:
        start = time.process_time()
        measured[name] = _near(_raw(name, case), case)
        seconds[name] = time.process_time() - start
    mask, spacing = case.chest.lungs.mask, case.chest.spacing_mm
    start = time.process_time()
    described = {
        name: describe_candidates(own.candidates, case.chest) for name, own in measured.items()
    }
    seconds["reduction"] = time.process_time() - start
    measured[CENTRE] = Measured(mark_centre(case.chest), np.empty((1, 0)), ())
    return Proposals(
        case.case_id,
        case.fold,
        case.is_whole,
        case.nodules.with_columns(share=pl.Series(nodule_shares(case), dtype=pl.Float64)),
        float(np.count_nonzero(mask)) * float(np.prod(spacing)) / 1e6,
        measured,
        described,
        seconds,
    )


def stored_proposals(
    make_cases: Callable[[], Iterable[Case]], folder: Path | None
) -> list[Proposals]:
    """Proposals of some cases; those stored in a folder are not computed again."""
    if folder is None:
        return [propose(case) for case in make_cases()]
    done = folder / "done"
    if not done.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        for number, case in enumerate(make_cases()):
            (folder / f"{number:04d}.pickle").write_bytes(pickle.dumps(propose(case)))
        done.touch()
    return read_proposals(folder)


def read_proposals(folder: Path) -> list[Proposals]:
    """What ``stored_proposals`` stored in a folder."""
    return [
        pickle.loads(path.read_bytes())  # noqa: S301 - written above
        for path in sorted(folder.glob("*.pickle"))
    ]


def findings_of(proposals: Sequence[Proposals], names: Sequence[str]) -> Findings:
    """The candidates of detectors, scored by packaged weights that never saw the case's fold."""
    marks: dict[str, list[pl.DataFrame]] = {name: [MARKS.empty()] for name in names}
    nodules = [NODULES.empty().with_columns(share=pl.lit(0.0))]
    for case in proposals:
        nodules.append(case.nodules)
        for name in names:
            marks[name].append(as_marks(case.case_id, scored(case, name)))
    cases = pl.DataFrame(
        {
            "case_id": [case.case_id for case in proposals],
            "lung_litres": [case.litres for case in proposals],
        }
    )
    return Findings(
        Reference(
            "cases", CASES.conform(cases, "cases"), pl.concat(nodules, how="diagonal_relaxed")
        ),
        {name: Submission(name, pl.concat(parts)) for name, parts in marks.items()},
        {name: sum(case.cpu_seconds.get(name, 0.0) for case in proposals) for name in names},
    )


def scored(case: Proposals, name: str) -> Candidates:
    """What one detector says of a case, the most likely first."""
    if name == CENTRE:
        return case.proposed[name].candidates
    fold = case.fold if case.fold >= 0 else None
    is_reported = reported(case.proposed[name], name, fold)
    described_ = case.described[name]
    return with_scores(
        described_.candidates.chosen(is_reported), described_.features[is_reported], fold
    )


def reported(measured: Measured, name: str, fold: int | None) -> BoolArray:
    """Which proposals the detector's own classifier lets pass."""
    drops = name in TRAINED and TRAINED[name].least_score > 0
    if not drops or not len(measured.candidates):
        return np.ones(len(measured.candidates), dtype=np.bool_)
    own = classifier_of(name, None, measured.names, fold)
    passes: BoolArray = own.score(measured.features) >= TRAINED[name].least_score
    return passes


def _raw(name: str, case: Case) -> Measured:
    if name in TRAINED:
        return TRAINED[name].find(case.chest)
    candidates = DETECTORS[name](case.chest)
    return Measured(candidates, np.empty((len(candidates), 0)), ())


def _near(measured: Measured, case: Case) -> Measured:
    place = measured.candidates.center_mm
    near = is_near_lungs(place, case.chest.lungs.mask, case.chest.volume.geometry)
    features: FloatArray = measured.features[near]
    return Measured(measured.candidates.chosen(near), features, measured.names)
