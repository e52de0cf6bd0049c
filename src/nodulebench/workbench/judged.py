"""An evaluation -> what of it lies in a scan: nodules and marks, as a rule judged them.

Everything has the form of a finding, so that the viewer draws it like what readers draw: outlines
where there are some, boxes as they are, else circles of the ball that a diameter stands for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.imaging.outlines import box_outline, read_outline
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.tables import PLACE
from nodulebench.workbench.drawn import DIGITS
from nodulebench.workbench.tiles import Tiles
from nodulebench.workflows.evaluate.recompute import Evaluated

FOUND, MISSED, IGNORED = "found", "missed", "ignored_finding"
"""What a nodule or an ignored finding of the reference is."""
ERRORS = (MISSED, "false_positive")
"""What one steps through."""
CORNERS = 48


@dataclass(frozen=True, eq=False)
class Judged:
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

    def errors(self, rule: str, algorithm: str) -> list[dict[str, str | bool]]:
        """Every miss and false positive: case, name and label, case by case.

        ``flips`` says of each whether another rule judges it differently.
        """
        table = self._table(rule, algorithm)
        others = [one for one in self.choices() if one != rule]
        elsewhere = {
            (row["case_id"], row["id"]): row["label"]
            for other in others
            if self.cohort(other, algorithm) is not None
            for row in self._table(other, algorithm).iter_rows(named=True)
            if row["label"] not in ERRORS
        }
        order = {case_id: number for number, case_id in enumerate(self.case_ids)}
        rows = table.filter(pl.col("label").is_in(ERRORS)).iter_rows(named=True)
        told: list[dict[str, str | bool]] = [
            {
                "case_id": row["case_id"],
                "id": row["id"],
                "label": row["label"],
                "flips": (row["case_id"], row["id"]) in elsewhere,
            }
            for row in rows
        ]
        return sorted(
            told, key=lambda one: (order[str(one["case_id"])], ERRORS.index(str(one["label"])))
        )

    def shown(self, case_id: str, rule: str, algorithm: str, tiles: Tiles) -> list[dict[str, Any]]:
        """Every nodule and mark of a case, as findings with their labels and scores."""
        rows = self._table(rule, algorithm).filter(case_id=case_id)
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
                    "place_mm": [row[axis] for axis in PLACE],
                    "slices": list(_drawn(row, slices[row["what"]].get(row["name"]), tiles)),
                },
            }
            for row in rows.iter_rows(named=True)
        ]

    def _table(self, rule: str, algorithm: str) -> pl.DataFrame:
        return self._tables[rule, algorithm]

    @cached_property
    def _tables(self) -> dict[tuple[str, str], pl.DataFrame]:
        labels = self.evaluated.labels.with_columns(pl.col("label").cast(pl.String))
        return {
            (rule, name): _table_of(cohort, labels.filter(rule=rule, algorithm=name))
            for rule, of_rule in self.evaluated.cohorts.items()
            for name, cohort in of_rule.items()
        }


def _table_of(cohort: LabelledCohort, labels: pl.DataFrame) -> pl.DataFrame:
    """Nodules and marks of a cohort: what, name, id, case_id, place, diameter_mm, score, label.

    Marks below the operating point are left out.
    """
    nodules, marks = cohort.reference.nodules, cohort.submission.marks
    of_nodule = np.full(nodules.height, IGNORED, dtype=object)
    of_nodule[cohort.nodule_row] = np.where(cohort.is_hit, FOUND, MISSED)
    of_mark = _aside(cohort, labels)
    of_mark[cohort.hit_mark[cohort.is_hit]] = "hit"
    of_mark[cohort.false_mark] = "false_positive"
    parts = [
        nodules.select("case_id", *PLACE, "diameter_mm", name="nodule_id").with_columns(
            score=pl.lit(None, pl.Float64),
            label=pl.Series(of_nodule.tolist(), dtype=pl.String),
            what=pl.lit("nodule"),
        ),
        marks.select("case_id", *PLACE, "diameter_mm", "score", name="mark_id").with_columns(
            label=pl.Series(of_mark.tolist(), dtype=pl.String), what=pl.lit("mark")
        ),
    ]
    columns = ["case_id", *PLACE, "diameter_mm", "name", "score", "label", "what"]
    both = pl.concat([part.select(columns) for part in parts]).filter(pl.col("label") != "")
    return both.with_columns(id=pl.col("what") + ":" + pl.col("name"))


def _aside(cohort: LabelledCohort, labels: pl.DataFrame) -> npt.NDArray[np.object_]:
    """The labels of marks that are neither hits nor false positives; nothing for all others."""
    marks = cohort.submission.marks
    key = ["case_id", "mark_id"]
    first = labels.filter(~pl.col("label").is_in(["hit", "false_positive"])).unique(key)
    joined = marks.select(key).join(
        first.select(*key, "label"), on=key, how="left", maintain_order="left"
    )
    told: npt.NDArray[np.object_] = joined["label"].fill_null("").to_numpy().astype(object)
    if cohort.threshold is not None:
        told[~(marks["score"].to_numpy() >= cohort.threshold)] = ""
    return told


def _by_owner(
    slices: pl.DataFrame | None, case_id: str, key: str
) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in () if slices is None else slices.filter(case_id=case_id).iter_rows(named=True):
        found.setdefault(row[key], []).append(row)
    return found


def _drawn(
    row: dict[str, Any], slices: list[dict[str, Any]] | None, tiles: Tiles
) -> Iterator[dict[str, Any]]:
    """Outlines on the slices that are shown; none where nothing but a place is known."""
    if slices is None:
        yield from _circles(row, tiles)
        return
    yield from outlined(slices, tiles)


def outlined(slices: Iterable[dict[str, Any]], tiles: Tiles) -> Iterator[dict[str, Any]]:
    """Rows of slices with boxes, and contours where there are some -> outlines where shown.

    Of two on one slice the first is taken.
    """
    seen: set[int] = set()
    for one in slices:
        outline = (
            read_outline(one["contour"], "contour")
            if one["contour"]
            else box_outline(*(one[name] for name in _BOX))
        )
        number = shown_number(one, tiles)
        if number not in seen and 0 <= number < tiles.volume.shape[0]:
            seen.add(number)
            yield {"slice_index": number, "outline": outline.round(DIGITS).tolist()}


_BOX = ("center_x_mm", "center_y_mm", "length_mm", "width_mm")


def shown_number(one: dict[str, Any], tiles: Tiles) -> int:
    """The slice shown that is nearest to the middle of a box."""
    middle = np.array([[one["center_x_mm"], one["center_y_mm"]]])
    height = one["z_mm"]
    if height is None:
        height = tiles.original.height_on(np.array([float(one["slice_index"])]), middle)[0]
    place = np.array([[*middle[0], height]])
    return round(float(tiles.grid.to_index(place)[0, 2]))


def _circles(row: dict[str, Any], tiles: Tiles) -> Iterator[dict[str, Any]]:
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
