"""Images and an evaluation -> patches around nodules and marks, for the gallery of a report."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.imaging.png import png
from nodulebench.imaging.volume import AIR_HU, Volume
from nodulebench.model.arrays import FloatArray
from nodulebench.report.sections.results.gallery import SIDE_MM, Patch
from nodulebench.workflows.evaluate.recompute import Evaluated

STEP_MM = 0.5
WINDOW_HU = (-1000.0, 400.0)
"""From black to white."""
MOST_FALSE_POSITIVES = 4

Pixels = npt.NDArray[np.uint8]


def cut_patches(
    evaluated: Evaluated, rule: str, read_image: Callable[[str], Volume]
) -> list[Patch]:
    """Examples for every algorithm under a rule.

    Of each type the largest nodule missed and the one hit with the best score, and the false
    positives with the best scores. Images are read once each.
    """
    wanted = [
        place
        for algorithm in evaluated.submissions
        for place in _examples(evaluated, rule, algorithm)
    ]
    found: dict[int, Patch] = {}
    for case_id in dict.fromkeys(place["case_id"] for place in wanted):
        volume = read_image(case_id)
        for number, place in enumerate(wanted):
            if place["case_id"] == case_id:
                center = np.array([place[axis] for axis in ("x_mm", "y_mm", "z_mm")])
                views = tuple(png(view) for view in cut_views(volume, center))
                found[number] = Patch(
                    algorithm=place["algorithm"],
                    kind=place["kind"],
                    case_id=case_id,
                    name=place["name"],
                    views=(views[0], views[1], views[2]),
                    type=place["type"] or "",
                    diameter_mm=place["diameter_mm"],
                )
    return [found[number] for number in sorted(found)]


def _examples(evaluated: Evaluated, rule: str, algorithm: str) -> Iterator[dict[str, Any]]:
    cohort = evaluated.cohorts[rule].get(algorithm)
    if cohort is None:
        return
    nodules = evaluated.reference.nodules[cohort.nodule_row].with_columns(
        is_hit=pl.Series(cohort.is_hit),
        score=pl.Series(cohort.hit_score).fill_nan(None),
        algorithm=pl.lit(algorithm),
        name="nodule_id",
    )
    largest = pl.col("diameter_mm").fill_null(0.0)  # what was not measured comes last
    for kind, table in (
        ("missed", nodules.filter(~pl.col("is_hit")).sort(largest, descending=True)),
        ("hit", nodules.filter("is_hit").sort("score", largest, descending=True)),
    ):
        of_each_type = table.unique("type", keep="first", maintain_order=True).sort("type")
        for row in of_each_type.iter_rows(named=True):
            yield {**row, "kind": kind}
    marks = evaluated.submissions[algorithm].marks
    labels = evaluated.labels.filter(
        (pl.col("rule") == rule)
        & (pl.col("algorithm") == algorithm)
        & (pl.col("label") == "false_positive")
    )
    falses = marks.join(labels.select("case_id", "mark_id"), on=["case_id", "mark_id"])
    for row in (
        falses.sort("score", descending=True).head(MOST_FALSE_POSITIVES).iter_rows(named=True)
    ):
        yield {**row, "kind": "false_positive", "algorithm": algorithm, "name": row["mark_id"]}


def cut_views(volume: Volume, center_mm: FloatArray) -> tuple[Pixels, Pixels, Pixels]:
    """Axial, coronal and sagittal cuts through a place, in the patient's axes.

    The patient's right is on the left of axial and coronal cuts, the front on the left of sagittal
    ones and at the top of axial ones, the head at the top of the others.
    """
    from scipy import ndimage

    reach = SIDE_MM / 2 - STEP_MM / 2
    steps = np.arange(-reach, reach + STEP_MM / 2, STEP_MM)
    right, down = (one.ravel() for one in np.meshgrid(steps, steps))
    none = np.zeros_like(right)
    views = []
    for offset in ((right, down, none), (right, none, -down), (none, right, -down)):
        places = center_mm + np.stack(offset, axis=1)
        index = volume.geometry.to_index(places)[:, ::-1].T
        hu = ndimage.map_coordinates(
            volume.hu, index, order=1, mode="constant", cval=AIR_HU, output=np.float64
        )
        low, high = WINDOW_HU
        grey = np.clip((hu - low) / (high - low), 0, 1) * 255
        views.append(np.rint(grey).astype(np.uint8).reshape(len(steps), len(steps)))
    return views[0], views[1], views[2]
