"""An evaluation over the scans: nodules and marks with the labels that a rule gave them.

Nodules and marks have the form of findings, so that the viewer draws them like those of readers: as
outlines, as boxes, or as the circles of a ball if only a diameter is known.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.annotation.readings import DrawnSlice, drawn_slice
from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import PLACE
from nodulebench.evaluation.recompute import Evaluated
from nodulebench.metrics.score_order import threshold_at
from nodulebench.web.viewer.findings import DIGITS
from nodulebench.web.viewer.scans import Scan, Tiles, scans_in
from nodulebench.web.viewer.session import ReadingSession, Voxels, readings_folder

FOUND, MISSED, IGNORED = "found", "missed", "ignored_finding"
"""Labels of the nodules and ignored findings of the reference."""
ERRORS = (MISSED, "false_positive")
"""The labels that the list of errors holds."""
CORNERS = 48


@dataclass(frozen=True, eq=False)
class EvaluationLayer:
    """The results of one evaluation, by rule, algorithm and case."""

    evaluated: Evaluated

    @property
    def case_ids(self) -> list[str]:
        return list(self.evaluated.reference.cases["case_id"])

    def choices(self) -> dict[str, list[str]]:
        return {rule: list(of_rule) for rule, of_rule in self.evaluated.cohorts.items() if of_rule}

    def cohort(self, rule: str, algorithm: str) -> LabelledCohort | None:
        return self.evaluated.cohorts.get(rule, {}).get(algorithm)

    def points(self, rule: str, algorithm: str) -> list[dict[str, float | str]]:
        """Thresholds to choose from, first the evaluated one; empty without scores."""
        cohort = self.evaluated.cohorts[rule][algorithm]
        scores = cohort.submission.marks["score"]
        if not cohort.has_scores or not len(scores):
            return []
        thresholds: list[dict[str, float | str]] = [
            {"name": "evaluated"},
            {"name": "every", "threshold": float(scores.to_numpy().min())},
        ]
        for rate in self.evaluated.protocol.operating_points if cohort.nodule_count else ():
            threshold = threshold_at(cohort, rate)
            if np.isfinite(threshold):
                thresholds.append({"name": "rate", "rate": rate, "threshold": threshold})
        return thresholds

    def summary(self, rule: str, algorithm: str, threshold: float | None = None) -> JsonObject:
        """Misses and false positives; ``flips``: not an error under another rule."""
        cohort = self.evaluated.cohorts[rule][algorithm]
        if threshold is not None and cohort.has_scores:
            cohort = cohort.over(threshold)
        others = [
            name for name, names in self.choices().items() if name != rule and algorithm in names
        ]
        elsewhere = {
            (row["case_id"], row["id"])
            for other in others
            for row in self._table(other, algorithm, threshold).iter_rows(named=True)
            if row["label"] not in ERRORS
        }
        order = {case_id: number for number, case_id in enumerate(self.case_ids)}
        table = self._table(rule, algorithm, threshold)
        errors = [
            {
                "case_id": row["case_id"],
                "id": row["id"],
                "label": row["label"],
                "flips": (row["case_id"], row["id"]) in elsewhere,
            }
            for row in table.filter(pl.col("label").is_in(ERRORS)).iter_rows(named=True)
        ]
        return {
            "threshold": _finite(cohort.threshold),
            "nodules": cohort.nodule_count,
            "found": cohort.nodule_count - cohort.missed_count,
            "false_positives": len(cohort.false_mark),
            "cases": cohort.case_count,
            "errors": sorted(
                errors, key=lambda error: (order[error["case_id"]], ERRORS.index(error["label"]))
            ),
        }

    def case_findings(
        self, case_id: str, rule: str, algorithm: str, tiles: Tiles, threshold: float | None = None
    ) -> list[JsonObject]:
        rows = self._table(rule, algorithm, threshold).filter(case_id=case_id)
        slices = {
            "nodule": _by_owner(self.evaluated.reference.slices, case_id, "nodule_id"),
            "mark": _by_owner(self.evaluated.submissions[algorithm].slices, case_id, "mark_id"),
        }
        return [
            {
                "id": row["id"],
                "label": row["label"],
                "is_mark": row["what"] == "mark",
                "score": row["score"],
                "version": 0,
                "measured": {"diameter_mm": row["diameter_mm"]},
                "finding": {
                    "position_mm": [row[axis] for axis in PLACE],
                    "slices": list(_drawn(row, slices[row["what"]].get(row["name"]), tiles)),
                },
            }
            for row in rows.iter_rows(named=True)
        ]

    def _table(self, rule: str, algorithm: str, threshold: float | None) -> pl.DataFrame:
        """Nodules and marks with their labels at a threshold, without the marks below it."""
        if threshold is None:
            threshold = self.evaluated.cohorts[rule][algorithm].threshold
        table = self._tables[rule, algorithm]
        if threshold is None or not self.evaluated.cohorts[rule][algorithm].has_scores:
            return table
        is_missed = (pl.col("label") == FOUND) & (pl.col("hit_score") < threshold)
        label = pl.when(is_missed).then(pl.lit(MISSED)).otherwise("label")
        is_shown = (pl.col("what") == "nodule") | (pl.col("score") >= threshold)
        return table.filter(is_shown).with_columns(label=label)

    @cached_property
    def _tables(self) -> dict[tuple[str, str], pl.DataFrame]:
        labels = self.evaluated.labels.with_columns(pl.col("label").cast(pl.String))
        return {
            (rule, name): _table_of(cohort.at_every_score, labels.filter(rule=rule, algorithm=name))
            for rule, of_rule in self.evaluated.cohorts.items()
            for name, cohort in of_rule.items()
        }


def _finite(threshold: float | None) -> float | None:
    """A finite threshold for JSON; None: every mark counts, or no mark counts."""
    return threshold if threshold is not None and np.isfinite(threshold) else None


def _table_of(cohort: LabelledCohort, labels: pl.DataFrame) -> pl.DataFrame:
    """Nodules and marks; at a threshold above its ``hit_score`` a nodule is missed."""
    nodules, marks = cohort.reference.nodules, cohort.submission.marks
    of_nodule = np.full(nodules.height, IGNORED, dtype=object)
    of_nodule[cohort.nodule_row] = np.where(cohort.is_hit, FOUND, MISSED)
    hit_score = np.full(nodules.height, np.nan)
    hit_score[cohort.nodule_row] = cohort.hit_score
    of_mark = _other_labels(marks, labels)
    of_mark[cohort.hit_mark[cohort.is_hit]] = "hit"
    of_mark[cohort.false_mark] = "false_positive"
    parts = [
        nodules.select("case_id", *PLACE, "diameter_mm", name="nodule_id").with_columns(
            score=pl.lit(None, pl.Float64),
            hit_score=pl.Series(hit_score).fill_nan(None),
            label=pl.Series(of_nodule.tolist(), dtype=pl.String),
            what=pl.lit("nodule"),
        ),
        marks.select("case_id", *PLACE, "diameter_mm", "score", name="mark_id").with_columns(
            hit_score=pl.lit(None, pl.Float64),
            label=pl.Series(of_mark.tolist(), dtype=pl.String),
            what=pl.lit("mark"),
        ),
    ]
    columns = ["case_id", *PLACE, "diameter_mm", "name", "score", "hit_score", "label", "what"]
    both = pl.concat([part.select(columns) for part in parts]).filter(pl.col("label") != "")
    return both.with_columns(id=pl.col("what") + ":" + pl.col("name"))


def _other_labels(marks: pl.DataFrame, labels: pl.DataFrame) -> npt.NDArray[np.object_]:
    """The labels of marks that are neither hits nor false positives; empty for the others."""
    key = ["case_id", "mark_id"]
    first = labels.filter(~pl.col("label").is_in(["hit", "false_positive"])).unique(key)
    joined = marks.select(key).join(
        first.select(*key, "label"), on=key, how="left", maintain_order="left"
    )
    label: npt.NDArray[np.object_] = joined["label"].fill_null("").to_numpy().astype(object)
    return label


def _by_owner(slices: pl.DataFrame | None, case_id: str, key: str) -> dict[str, list[DrawnSlice]]:
    by_owner: dict[str, list[DrawnSlice]] = {}
    for row in () if slices is None else slices.filter(case_id=case_id).iter_rows(named=True):
        by_owner.setdefault(row[key], []).append(drawn_slice(row))
    return by_owner


def _drawn(row: JsonObject, slices: list[DrawnSlice] | None, tiles: Tiles) -> Iterator[JsonObject]:
    if slices is None:
        yield from _circles(row, tiles)
        return
    yield from shown_outlines(slices, tiles)


def shown_outlines(slices: Iterable[DrawnSlice], tiles: Tiles) -> Iterator[JsonObject]:
    """Outlines, or else boxes, on the slices shown; the first if two fall on the same slice."""
    seen: set[int] = set()
    for drawn in slices:
        number = shown_slice(drawn, tiles)
        if number not in seen and 0 <= number < tiles.volume.shape[0]:
            seen.add(number)
            yield {"slice_index": number, "outline": drawn.corners.round(DIGITS).tolist()}


def shown_slice(drawn: DrawnSlice, tiles: Tiles) -> int:
    return round(float(shown_position(drawn, tiles)[2]))


def shown_position(drawn: DrawnSlice, tiles: Tiles) -> FloatArray:
    """The centre of a box in voxels of the grid shown: column, row, slice."""
    middle = np.array([[drawn.center_x_mm, drawn.center_y_mm]])
    height = drawn.z_mm
    if height is None:
        height = tiles.original.height_on(np.array([float(drawn.slice_index)]), middle)[0]
    position: FloatArray = tiles.grid.to_index(np.array([[*middle[0], height]]))[0]
    return position


def _circles(row: JsonObject, tiles: Tiles) -> Iterator[JsonObject]:
    if not row["diameter_mm"]:
        return
    middle = np.array([row[axis] for axis in PLACE], dtype=np.float64)
    radius, spacing = row["diameter_mm"] / 2, float(tiles.grid.spacing_mm[2])
    at = float(tiles.grid.to_index(middle[None])[0, 2])
    turn = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    ring = np.column_stack([np.cos(turn), np.sin(turn)])
    first, last = (round(at + way * radius / spacing) for way in (-1, 1))
    for number in range(max(0, first), min(tiles.volume.shape[0] - 1, last) + 1):
        left = radius**2 - ((number - at) * spacing) ** 2
        if left > 0:
            outline = middle[:2] + np.sqrt(left) * ring
            yield {"slice_index": number, "outline": outline.round(DIGITS).tolist()}


class EvaluationSession(ReadingSession):
    """The cases of an evaluation that have a scan."""

    def __init__(
        self,
        folder: Path,
        scans: list[Scan],
        evaluation: EvaluationLayer,
        voxels: Voxels | None = None,
    ) -> None:
        super().__init__(folder, scans, None, "", voxels)
        self._evaluation = evaluation

    def evaluation(self) -> EvaluationLayer:
        return self._evaluation


@contextmanager
def open_evaluation_session(
    images: Path, evaluation: EvaluationLayer, folder: Path | None = None
) -> Iterator[EvaluationSession]:
    scans = evaluated_scans(images, evaluation)
    with closing(
        EvaluationSession(folder or readings_folder(images), scans, evaluation)
    ) as session:
        yield session


def evaluated_scans(images: Path, evaluation: EvaluationLayer) -> list[Scan]:
    by_case = {scan.case_id: scan for scan in scans_in(images)}
    scans = [by_case[case_id] for case_id in evaluation.case_ids if case_id in by_case]
    if not scans:
        shown = ", ".join(list(by_case)[:3])
        what = f"holds no scan of the {len(evaluation.case_ids)} cases, only {shown} and the like."
        raise InputError.at(images, what, "Give the folder of the images that were evaluated.")
    return scans
