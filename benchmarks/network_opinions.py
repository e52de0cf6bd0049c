"""Scores of the package's networks in a case, stored: for tables of systems, and to choose one.

The places that detectors propose are those of :mod:`benchmarks.proposals`. Networks score all of
them, merged or not, and find their own places; every case by weights that never saw its fold, in
the precision in which they ship and with one patch of a candidate, as in ``detect``. Both give
the scores of every system, without running a network again.
"""

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.candidate_findings import FIVE, Case
from benchmarks.proposals import Proposals, scored
from nodulebench.core.arrays import FloatArray
from nodulebench.detection.detectors import merge_detectors
from nodulebench.detection.scan import Candidates
from nodulebench.detection.systems import LIKELY, read_system
from nodulebench.detection.trained_networks import network_candidates, read_panel

DETECTOR, CLASSIFIER = "heatmap", "twoscale"


@dataclass(frozen=True, eq=False)
class Opinions:
    """What networks say of one case."""

    places: Candidates
    """What the finding network found near the lungs."""
    scored_mm: FloatArray
    """n x 3: the positions that the scoring network scored, of detectors and likely ones of the
    finding network."""
    likely: FloatArray
    """Its score of each."""

    def of(self, candidates: Candidates) -> FloatArray:
        """The network's scores of candidates, each at a position that it scored."""
        apart = np.linalg.norm(candidates.center_mm[:, None] - self.scored_mm[None], axis=2)
        nearest = apart.argmin(axis=1)
        if (apart[np.arange(len(candidates)), nearest] > 1e-6).any():
            raise ValueError("the network was not asked about a candidate")
        likely: FloatArray = self.likely[nearest]
        return likely


def ask(case: Case, proposed: Proposals, series: str) -> Opinions:
    """Let networks look at a case."""
    chest, names = case.chest, (series,)
    places, _ = network_candidates(
        DETECTOR, chest, chest.volume, read_system(DETECTOR).weights, names
    )
    asked = [proposed.described[name].candidates.center_mm for name in FIVE]
    asked.append(places.center_mm[places.score >= LIKELY])
    scored_mm = np.unique(np.concatenate(asked), axis=0)
    scores = read_panel(CLASSIFIER, ()).score(chest.volume, case.case_id, scored_mm, names)
    return Opinions(places, scored_mm, scores.score)


def stored_opinions(
    make_cases: Callable[[], Iterable[Case]],
    proposed: Sequence[Proposals],
    folder: Path,
    series_of: Callable[[str], str] = str,
) -> list[Opinions]:
    """Opinions of some cases; those stored in a folder are not computed again.

    Args:
        make_cases: the same cases, in the same order, as those of ``proposed``.
        proposed: what detectors proposed in them.
        folder: where opinions are stored.
        series_of: the series of a case's name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:04d}.networks" for number in range(len(proposed))]
    if not all(path.is_file() for path in paths):
        for path, case, proposals in zip(paths, make_cases(), proposed, strict=True):
            if not path.is_file():
                path.write_bytes(pickle.dumps(ask(case, proposals, series_of(case.case_id))))
    return [pickle.loads(path.read_bytes()) for path in paths]  # noqa: S301 - written above


def five_together(proposed: Proposals) -> Candidates:
    """The candidates of all five detectors by the false-positive reduction, merged."""
    return merge_detectors({name: scored(proposed, name) for name in FIVE})
