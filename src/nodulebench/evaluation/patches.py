"""Images and an evaluation -> patches around nodules and marks, for the gallery of a report."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import PLACE
from nodulebench.evaluation.errors import false_positive_table, miss_table
from nodulebench.evaluation.recompute import Evaluated
from nodulebench.imaging.rasters import png
from nodulebench.imaging.volume import AIR_HU, Volume
from nodulebench.io.images.case_images import NoImageError
from nodulebench.report.errors import SIDE_MM, Patch, hardest_first

STEP_MM = 0.5
WINDOW_HU = (-1000.0, 400.0)
MOST_MISSES, MOST_FALSE_POSITIVES = 100, 40
"""The largest number of patches over all algorithms: the page is one file and must stay small."""
FEWEST = 10
"""Each algorithm may show at least so many misses and so many false positives."""
TICK_MM = 7.0

Pixels = npt.NDArray[np.uint8]


def cut_patches(
    evaluated: Evaluated, rule: str, algorithms: Sequence[str], read_image: Callable[[str], Volume]
) -> list[Patch]:
    """Patches of missed nodules, false positives and, as examples, hits, under a rule.

    For each algorithm: the missed nodules, the hardest first; the false positives with the best
    scores; and for each type the hit nodule with the best score. Each image is read once. Cases
    without an image are skipped, but one must have one.
    """
    wanted = [
        place
        for algorithm in algorithms
        for place in _places(evaluated, rule, algorithm, len(algorithms))
    ]
    views: dict[int, tuple[bytes, bytes, bytes]] = {}
    missing: NoImageError | None = None
    for case_id in dict.fromkeys(place["case_id"] for place in wanted):
        try:
            volume = read_image(case_id)
        except NoImageError as error:
            missing = missing or error
            continue
        for number, place in enumerate(wanted):
            if place["case_id"] == case_id:
                center = np.array([place[axis] for axis in PLACE])
                axial, coronal, sagittal = (
                    png(cross_hair(view)) for view in cut_views(volume, center)
                )
                views[number] = axial, coronal, sagittal
    if missing is not None and not views:
        raise missing
    return [
        Patch(
            algorithm=place["algorithm"],
            kind=place["kind"],
            case_id=place["case_id"],
            name=place["name"],
            views=views[number],
            type=place["type"] or "",
            diameter_mm=place["diameter_mm"],
            facts=place,
        )
        for number, place in enumerate(wanted)
        if number in views
    ]


def _places(evaluated: Evaluated, rule: str, algorithm: str, count: int) -> Iterator[JsonObject]:
    cohorts = evaluated.cohorts[rule]
    if algorithm not in cohorts:
        return
    cohort = cohorts[algorithm]
    misses = miss_table({rule: cohorts}, evaluated.protocol)
    falses = false_positive_table({rule: {algorithm: cohort}})
    kinds = (
        ("missed", misses.filter("is_missed", algorithm=algorithm), "nodule_id", MOST_MISSES),
        ("false_positive", falses, "mark_id", MOST_FALSE_POSITIVES),
    )
    for kind, table, name, most in kinds:
        ordered = hardest_first(table) if kind == "missed" else table
        for row in ordered.head(max(FEWEST, most // count)).iter_rows(named=True):
            yield {**row, "kind": kind, "name": row[name]}
    hits = evaluated.reference.nodules[cohort.nodule_row].with_columns(
        score=pl.Series(cohort.hit_score).fill_nan(None)
    )
    best = hits.filter(pl.Series(cohort.is_hit)).sort(
        "score", pl.col("diameter_mm").fill_null(0.0), descending=True, maintain_order=True
    )
    for row in best.unique("type", keep="first", maintain_order=True).sort("type").to_dicts():
        yield {**row, "kind": "hit", "algorithm": algorithm, "name": row["nodule_id"]}


def cross_hair(pixels: Pixels) -> Pixels:
    """The image with four short lines from its edges, which point to its middle."""
    drawn, length = pixels.copy(), round(TICK_MM / STEP_MM)
    for middle in (len(pixels) // 2 - 1, len(pixels) // 2):
        for line in (drawn[:length, middle], drawn[-length:, middle]):
            line[:] = np.where(line < 128, 255, 0)
        for line in (drawn[middle, :length], drawn[middle, -length:]):
            line[:] = np.where(line < 128, 255, 0)
    return drawn


def cut_views(volume: Volume, center_mm: FloatArray) -> tuple[Pixels, Pixels, Pixels]:
    """Axial, coronal and sagittal cuts through a position, in the patient's axes.

    The patient's right is on the left of axial and coronal cuts. The front is on the left of
    sagittal cuts and at the top of axial ones. The head is at the top of the other two.
    """
    from scipy import ndimage

    reach = SIDE_MM / 2 - STEP_MM / 2
    steps = np.arange(-reach, reach + STEP_MM / 2, STEP_MM)
    right, down = (axis.ravel() for axis in np.meshgrid(steps, steps))
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
