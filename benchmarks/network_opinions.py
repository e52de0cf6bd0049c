"""What the package's networks say of a case, kept: for tables of systems, and to choose one.

The places that detectors propose are those of :mod:`benchmarks.proposals`. Networks judge all of
them, merged or not, and find places of their own; every case by weights that never saw its fold, in
the bits in which they ship and with one patch of a candidate, as ``detect`` does it. From both
follows what every system says of the case, without a network looking again.
"""

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.candidate_findings import FIVE, Case
from benchmarks.proposals import Proposals, said
from nodulebench.core.arrays import FloatArray
from nodulebench.detection.detectors import merge_detectors
from nodulebench.detection.network_scores import candidates_by, read_panel
from nodulebench.detection.scan import Candidates
from nodulebench.detection.systems import LIKELY, read_system

FINDER, JUDGE = "heatmap", "twoscale"


@dataclass(frozen=True, eq=False)
class Opinions:
    """What networks say of one case."""

    places: Candidates
    """What the finding network found near the lungs."""
    judged_mm: FloatArray
    """n x 3: what the judging network was asked about, places of detectors and likely ones of the
    finding network."""
    likely: FloatArray
    """What it said of each."""

    def of(self, candidates: Candidates) -> FloatArray:
        """What the judging network says of candidates, each of which lies where it was asked."""
        apart = np.linalg.norm(candidates.center_mm[:, None] - self.judged_mm[None], axis=2)
        nearest = apart.argmin(axis=1)
        if (apart[np.arange(len(candidates)), nearest] > 1e-6).any():
            raise ValueError("the network was not asked about a candidate")
        found: FloatArray = self.likely[nearest]
        return found


def ask(case: Case, proposed: Proposals, series: str) -> Opinions:
    """Let networks look at a case."""
    chest, names = case.chest, (series,)
    places, _ = candidates_by(FINDER, chest, chest.volume, read_system(FINDER).weights, names)
    asked = [proposed.described[name].candidates.center_mm for name in FIVE]
    asked.append(places.center_mm[places.score >= LIKELY])
    judged_mm = np.unique(np.concatenate(asked), axis=0)
    judged = read_panel(JUDGE, ()).score(chest.volume, case.case_id, judged_mm, names)
    return Opinions(places, judged_mm, judged.score)


def kept_opinions(
    make_cases: Callable[[], Iterable[Case]],
    proposed: Sequence[Proposals],
    folder: Path,
    series_of: Callable[[str], str] = str,
) -> list[Opinions]:
    """Opinions of some cases; those kept in a folder are not asked for again.

    Args:
        make_cases: the same cases, in the same order, as those of ``proposed``.
        proposed: what detectors proposed in them.
        folder: where opinions are kept.
        series_of: the series of a case's name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:04d}.networks" for number in range(len(proposed))]
    if not all(path.is_file() for path in paths):
        for path, case, one in zip(paths, make_cases(), proposed, strict=True):
            if not path.is_file():
                path.write_bytes(pickle.dumps(ask(case, one, series_of(case.case_id))))
    return [pickle.loads(path.read_bytes()) for path in paths]  # noqa: S301 - written above


def five_together(proposed: Proposals) -> Candidates:
    """The candidates of all five detectors by the second look, merged."""
    return merge_detectors({name: said(proposed, name) for name in FIVE})
