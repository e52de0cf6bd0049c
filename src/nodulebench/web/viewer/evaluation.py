"""An evaluation -> what of it lies in a scan: nodules and marks, as a rule judged them.

Everything has the form of a finding, so that the viewer draws it like what readers draw: outlines
where there are some, boxes as they are, else circles of the ball that a diameter stands for.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import PLACE
from nodulebench.evaluation.recompute import Evaluated
from nodulebench.imaging.outlines import box_outline, read_outline
from nodulebench.metrics.score_order import threshold_at
from nodulebench.web.viewer.findings import DIGITS
from nodulebench.web.viewer.scans import Scan, Tiles, scans_in
from nodulebench.web.viewer.session import ReadingSession, Voxels, scan_context

FOUND, MISSED, IGNORED = "found", "missed", "ignored_finding"
"""What a nodule or an ignored finding of the reference is."""
ERRORS = (MISSED, "false_positive")
"""What one steps through."""
CORNERS = 48


@dataclass(frozen=True, eq=False)
class EvaluationLayer:
    """The results of one evaluation, by rule, algorithm and case."""

    evaluated: Evaluated

    @property
    def case_ids(self) -> list[str]:
        """The cases of the evaluation, in order."""
        return list(self.evaluated.reference.cases["case_id"])

    def choices(self) -> dict[str, list[str]]:
        """For each rule the algorithms that it could judge."""
        return {rule: list(of_rule) for rule, of_rule in self.evaluated.cohorts.items() if of_rule}

    def cohort(self, rule: str, algorithm: str) -> LabelledCohort | None:
        """What one algorithm did under one rule, at its operating point; None: there is no such."""
        return self.evaluated.cohorts.get(rule, {}).get(algorithm)

    def points(self, rule: str, algorithm: str) -> list[dict[str, float | str]]:
        """Thresholds to choose from beside the one that was evaluated; none without scores."""
        cohort = self.evaluated.cohorts[rule][algorithm]
        scores = cohort.submission.marks["score"]
        if not cohort.has_scores or not len(scores):
            return []
        told: list[dict[str, float | str]] = [
            {"name": "evaluated"},
            {"name": "every", "threshold": float(scores.to_numpy().min())},
        ]
        for rate in self.evaluated.protocol.operating_points if cohort.nodule_count else ():
            threshold = threshold_at(cohort, rate)
            if np.isfinite(threshold):
                told.append({"name": "rate", "rate": rate, "threshold": threshold})
        return told

    def stands(self, rule: str, algorithm: str, threshold: float | None = None) -> JsonObject:
        """Every miss and false positive at a threshold, case by case, and how many there are.

        ``flips`` says of each error whether another rule judges it differently. None: the
        operating point, which every rule has for itself.
        """
        cohort = self.evaluated.cohorts[rule][algorithm]
        if threshold is not None and cohort.has_scores:
            cohort = cohort.over(threshold)
        others = [
            one for one, names in self.choices().items() if one != rule and algorithm in names
        ]
        elsewhere = {
            (row["case_id"], row["id"])
            for other in others
            for row in self._table(other, algorithm, threshold).iter_rows(named=True)
            if row["label"] not in ERRORS
        }
        order = {case_id: number for number, case_id in enumerate(self.case_ids)}
        table = self._table(rule, algorithm, threshold)
        told = [
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
                told, key=lambda one: (order[one["case_id"]], ERRORS.index(one["label"]))
            ),
        }

    def shown(
        self,
        case_id: str,
        rule: str,
        algorithm: str,
        tiles: Tiles,
        threshold: float | None = None,
    ) -> list[JsonObject]:
        """Every nodule and mark of a case at a threshold, as findings with labels and scores."""
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
        """Nodules and marks as they are at a threshold; marks below it are left out."""
        if threshold is None:
            threshold = self.evaluated.cohorts[rule][algorithm].threshold
        every = self._tables[rule, algorithm]
        if threshold is None or not self.evaluated.cohorts[rule][algorithm].has_scores:
            return every
        is_missed = (pl.col("label") == FOUND) & (pl.col("hit_score") < threshold)
        label = pl.when(is_missed).then(pl.lit(MISSED)).otherwise("label")
        is_shown = (pl.col("what") == "nodule") | (pl.col("score") >= threshold)
        return every.filter(is_shown).with_columns(label=label)

    @cached_property
    def _tables(self) -> dict[tuple[str, str], pl.DataFrame]:
        labels = self.evaluated.labels.with_columns(pl.col("label").cast(pl.String))
        return {
            (rule, name): _table_of(cohort.at_every_score, labels.filter(rule=rule, algorithm=name))
            for rule, of_rule in self.evaluated.cohorts.items()
            for name, cohort in of_rule.items()
        }


def _finite(threshold: float | None) -> float | None:
    """A threshold as JSON can have it; None: every mark counts, or none does."""
    return threshold if threshold is not None and np.isfinite(threshold) else None


def _table_of(cohort: LabelledCohort, labels: pl.DataFrame) -> pl.DataFrame:
    """Nodules and marks: what, name, id, case_id, place, diameter_mm, score, hit_score, label.

    ``hit_score`` is that of the mark which found a nodule: above it the nodule is missed.
    """
    nodules, marks = cohort.reference.nodules, cohort.submission.marks
    of_nodule = np.full(nodules.height, IGNORED, dtype=object)
    of_nodule[cohort.nodule_row] = np.where(cohort.is_hit, FOUND, MISSED)
    hit_score = np.full(nodules.height, np.nan)
    hit_score[cohort.nodule_row] = cohort.hit_score
    of_mark = _aside(marks, labels)
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


def _aside(marks: pl.DataFrame, labels: pl.DataFrame) -> npt.NDArray[np.object_]:
    """The labels of marks that are neither hits nor false positives; nothing for all others."""
    key = ["case_id", "mark_id"]
    first = labels.filter(~pl.col("label").is_in(["hit", "false_positive"])).unique(key)
    joined = marks.select(key).join(
        first.select(*key, "label"), on=key, how="left", maintain_order="left"
    )
    told: npt.NDArray[np.object_] = joined["label"].fill_null("").to_numpy().astype(object)
    return told


def _by_owner(slices: pl.DataFrame | None, case_id: str, key: str) -> dict[str, list[JsonObject]]:
    found: dict[str, list[JsonObject]] = {}
    for row in () if slices is None else slices.filter(case_id=case_id).iter_rows(named=True):
        found.setdefault(row[key], []).append(row)
    return found


def _drawn(row: JsonObject, slices: list[JsonObject] | None, tiles: Tiles) -> Iterator[JsonObject]:
    """Outlines on the slices that are shown; none where nothing but a place is known."""
    if slices is None:
        yield from _circles(row, tiles)
        return
    yield from outlined(slices, tiles)


def outlined(slices: Iterable[JsonObject], tiles: Tiles) -> Iterator[JsonObject]:
    """Rows of slices with boxes, and contours where there are some -> outlines where shown.

    Of two on one slice the first is taken.
    """
    seen: set[int] = set()
    for slice_ in slices:
        outline = (
            read_outline(slice_["contour"], "contour")
            if slice_["contour"]
            else box_outline(*(slice_[name] for name in _BOX))
        )
        number = shown_number(slice_, tiles)
        if number not in seen and 0 <= number < tiles.volume.shape[0]:
            seen.add(number)
            yield {"slice_index": number, "outline": outline.round(DIGITS).tolist()}


_BOX = ("center_x_mm", "center_y_mm", "length_mm", "width_mm")


def shown_number(one: JsonObject, tiles: Tiles) -> int:
    """The slice shown that is nearest to the middle of a box."""
    return round(float(shown_place(one, tiles)[2]))


def shown_place(one: JsonObject, tiles: Tiles) -> FloatArray:
    """The middle of a box in voxels of what is shown: column, row, slice."""
    middle = np.array([[one["center_x_mm"], one["center_y_mm"]]])
    height = one["z_mm"]
    if height is None:
        height = tiles.original.height_on(np.array([float(one["slice_index"])]), middle)[0]
    place: FloatArray = tiles.grid.to_index(np.array([[*middle[0], height]]))[0]
    return place


def _circles(row: JsonObject, tiles: Tiles) -> Iterator[JsonObject]:
    """A ball of a diameter on every slice that it touches."""
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


class Gallery(ReadingSession):
    """The cases of an evaluation that have a scan."""

    def __init__(
        self, folder: Path, scans: list[Scan], judged: EvaluationLayer, voxels: Voxels | None = None
    ) -> None:
        super().__init__(folder, scans, None, "", voxels)
        self._judged = judged

    def judged(self) -> EvaluationLayer:
        """The evaluation."""
        return self._judged


@contextmanager
def open_gallery(
    place: Path, judged: EvaluationLayer, folder: Path | None = None
) -> Iterator[Gallery]:
    """A room to look at the scans of an evaluation.

    Args:
        place: where the scans are.
        judged: the evaluation.
        folder: where voxels are kept; None: beside the scans.
    """
    scans = evaluated_scans(place, judged)
    with closing(Gallery(folder or scan_context(place), scans, judged)) as gallery:
        yield gallery


def evaluated_scans(place: Path, judged: EvaluationLayer) -> list[Scan]:
    """The scans of the cases of an evaluation, in their order; cases without one are left out.

    Raises:
        InputError: if there is no scan of any of the cases.
    """
    by_case = {scan.case_id: scan for scan in scans_in(place)}
    scans = [by_case[case_id] for case_id in judged.case_ids if case_id in by_case]
    if not scans:
        shown = ", ".join(list(by_case)[:3])
        what = f"holds no scan of the {len(judged.case_ids)} cases, only {shown} and the like."
        raise InputError.at(place, what, "Give the folder of the images that were evaluated.")
    return scans
