"""What every detector proposes in a case, measured once and kept: for training and for tables.

From what is kept follow the package's weights (``fold_weights``), and what detectors say of a case
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
from nodulebench.detection.classifiers.false_positive_reduction import described, with_scores
from nodulebench.detection.classifiers.scoring import TRAINED, Measured
from nodulebench.detection.classifiers.weights import classifier_of
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
    found: dict[str, Measured]
    """By detector, with the features of its own classifier where it has one."""
    described: dict[str, Measured]
    """The same with the features of the second look."""
    cpu_seconds: dict[str, float]


def propose(case: Case, names: Sequence[str] = NAMES) -> Proposals:
    """Run detectors on a case."""
    found, seconds = {}, {}
    for name in names:
        start = time.process_time()
        found[name] = _near(_raw(name, case), case)
        seconds[name] = time.process_time() - start
    mask, spacing = case.chest.lungs.mask, case.chest.spacing_mm
    start = time.process_time()
    looks = {name: described(one.candidates, case.chest) for name, one in found.items()}
    seconds["second look"] = time.process_time() - start
    found[CENTRE] = Measured(mark_centre(case.chest), np.empty((1, 0)), ())
    return Proposals(
        case.case_id,
        case.fold,
        case.is_whole,
        case.nodules.with_columns(share=pl.Series(nodule_shares(case), dtype=pl.Float64)),
        float(np.count_nonzero(mask)) * float(np.prod(spacing)) / 1e6,
        found,
        looks,
        seconds,
    )


def kept_proposals(
    make_cases: Callable[[], Iterable[Case]], folder: Path | None
) -> list[Proposals]:
    """Proposals of some cases; those kept in a folder are not made again."""
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
    """What ``kept_proposals`` kept in a folder."""
    return [
        pickle.loads(path.read_bytes())  # noqa: S301 - written above
        for path in sorted(folder.glob("*.pickle"))
    ]


def findings_of(kept: Sequence[Proposals], names: Sequence[str]) -> Findings:
    """What detectors say of cases, judged by the package's weights that never saw their folds."""
    marks: dict[str, list[pl.DataFrame]] = {name: [MARKS.empty()] for name in names}
    nodules = [NODULES.empty().with_columns(share=pl.lit(0.0))]
    for one in kept:
        nodules.append(one.nodules)
        for name in names:
            marks[name].append(as_marks(one.case_id, said(one, name)))
    cases = pl.DataFrame(
        {"case_id": [one.case_id for one in kept], "lung_litres": [one.litres for one in kept]}
    )
    return Findings(
        Reference(
            "cases", CASES.conform(cases, "cases"), pl.concat(nodules, how="diagonal_relaxed")
        ),
        {name: Submission(name, pl.concat(parts)) for name, parts in marks.items()},
        {name: sum(one.cpu_seconds.get(name, 0.0) for one in kept) for name in names},
    )


def said(kept: Proposals, name: str) -> Candidates:
    """What one detector says of a case, the most likely first."""
    if name == CENTRE:
        return kept.found[name].candidates
    fold = kept.fold if kept.fold >= 0 else None
    is_reported = reported(kept.found[name], name, fold)
    look = kept.described[name]
    return with_scores(look.candidates.chosen(is_reported), look.features[is_reported], fold)


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
