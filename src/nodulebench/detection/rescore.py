"""Candidates, images, weights -> candidates with probabilities: LUNA16's second track."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench import __version__
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.notices import Notice
from nodulebench.core.tables import MARKS, PLACE, Submission
from nodulebench.detection.trained_networks import ClassifierPanel
from nodulebench.imaging.volume import Volume
from nodulebench.io.csv_files import CsvFile
from nodulebench.io.formats import read_submission
from nodulebench.io.images.case_images import NoImageError, image_lookup
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.io.marks import submission_folder
from nodulebench.io.marks.luna16_candidates import read_candidates

_LISTED = {"seriesuid", "coordX", "coordY", "coordZ"}


def read_positions(path: Path) -> pl.DataFrame:
    """Candidates with case_id, x_mm, y_mm, z_mm, score and diameter_mm (null: not given)."""
    is_table = path.is_file() and path.name.endswith((".csv", ".csv.gz"))
    header = set(CsvFile(path).header()) if is_table else set()
    if header >= _LISTED and "probability" not in header:
        none = pl.lit(None, dtype=pl.Float64)
        return read_candidates(path).select("case_id", *PLACE, score=none, diameter_mm=none)
    return read_submission(path).marks.select("case_id", *PLACE, "score", "diameter_mm")


MOST_NAMED = 5


def rescore(
    panel: ClassifierPanel, candidates: Path, images: Path, progress: Progress = no_progress
) -> Submission:
    """Score every candidate with networks; the order of rows stays."""
    places = read_positions(candidates).with_row_index("row")
    cases = places["case_id"].unique(maintain_order=True).to_list()
    images_of = _images_of(cases, images)
    score = np.zeros(places.height)
    seen: list[str] = []
    problems: list[Problem] = []
    for number, case_id in enumerate(cases):
        own = places.filter(case_id=case_id)
        volume = images_of[case_id]()
        place_mm = own.select(PLACE).to_numpy()
        inside = volume.geometry.contains(place_mm)
        if not inside.all():
            for row in own.filter(~inside).head(MOST_NAMED).iter_rows(named=True):
                where = f"candidate {row['row'] + 1} of case '{case_id}'"
                place = ", ".join(f"{row[axis]:g}" for axis in PLACE)
                remedy = "Places are LPS millimetres; is it the right image?"
                problems.append(Problem(where, f"({place}) is outside the image.", remedy))
        if problems:  # no further case is scored in vain
            continue
        scores = panel.score(volume, case_id, place_mm, [case_id])
        score[own["row"].to_numpy()] = scores.score
        seen += [] if scores.is_unseen else [case_id]
        progress(case_id, number + 1, len(cases))
    raise_problems(problems)
    marks = places.select(
        "case_id",
        *PLACE,
        "diameter_mm",
        mark_id=(pl.col("row") + 1).cast(pl.String),
        score=pl.Series(score),
    )
    trained_on = {"count": len(seen), "cases": len(cases), "names": seen[:MOST_NAMED]}
    return Submission(
        panel.name,
        MARKS.conform(marks, candidates.name),
        notices=(Notice("weights_saw_scans", trained_on),) if seen else (),
        facts={
            "version": __version__,
            "developer": "NoduleBench",
            "kind": "3-D",
            "description": f"candidates of {candidates.name}, scored by {panel.name}",
        },
    )


def _images_of(cases: Sequence[str], images: Path) -> dict[str, Callable[[], Volume]]:
    """Functions that read the image of each case; all images are found before one is read."""
    find = image_lookup(images, cases)
    readers: dict[str, Callable[[], Volume]] = {}
    missing: list[Problem] = []
    for case_id in cases:
        try:
            readers[case_id] = find(case_id)
        except NoImageError as error:
            missing += error.problems
    if missing:
        raise NoImageError(missing)
    return readers


def write_rescored(submission: Submission, out: Path) -> None:
    """Write marks as LUNA16's file, where the name ends in .csv, or as a submission folder."""
    form = luna16_csv if out.name.endswith(".csv") else submission_folder
    form.write_marks(submission, out)
