"""Readings and, where given, their images -> what a second look should be taken at."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.annotation.project import Desk
from nodulebench.annotation.readings.reading import Reading
from nodulebench.annotation.readings.warnings import ReadingWarning, WarningLimits, warn
from nodulebench.annotation.workflow.batch import State
from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problem, adding_to, refuse_any
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.volume import Volume, to_patient_axes
from nodulebench.io.images.case_images import image_reader

BLIND_STATES: tuple[State, ...] = ("reading", "checking", "typing")
SPACING_TOLERANCE = 1e-3
"""How far the voxel size of a table may be from that of the image: tables round it."""

_LIMITS = WarningLimits()


def warn_of(
    readings: Sequence[Reading],
    cases: pl.DataFrame,
    images: Path | None = None,
    *,
    limits: WarningLimits = _LIMITS,
) -> list[ReadingWarning]:
    """What is unusual about readings, case by case.

    With images, each is read once, its lungs are found, and what readers drew is held against
    both.

    Args:
        readings: what was drawn.
        cases: CASES, with geometry where it is known.
        images: folder of the images, named after their cases.
        limits: where the usual ends.

    Raises:
        InputError: for each case whose image is missing, cannot be read, shows no lung or is not
            the one that the table describes.
    """
    places = geometries(cases)
    found: list[ReadingWarning] = []
    problems: list[Problem] = []
    for case_id in cases["case_id"]:
        own = [one for one in readings if one.case_id == case_id and one.findings]
        if images is None or not own:
            found += [told for one in own for told in warn(one, places.get(case_id), limits=limits)]
            continue
        with adding_to(problems):
            found += _warn_with_image(own, case_id, places.get(case_id), images, limits)
    refuse_any(problems)
    return found


def warn_of_batch(desk: Desk, batch_id: str, images: Path | None = None) -> list[ReadingWarning]:
    """What is unusual about the readings of a batch, with the types that readers and reviewer gave.

    Raises:
        InputError: if the batch is not yet in review, since readings are blind until then, or with
            the problems of its images.
    """
    batch = desk.batch(batch_id)
    if batch.state in BLIND_STATES:
        raise InputError.at(
            f"batch '{batch_id}'",
            f"is in the state '{batch.state}'; its readings are blind until the review.",
        )
    order = batch.order.case_ids
    cases = desk.workflow.cases.filter(pl.col("case_id").is_in(order))
    return warn_of(batch.typed, cases, images)


def _warn_with_image(
    readings: Sequence[Reading],
    case_id: str,
    place: Geometry | None,
    images: Path,
    limits: WarningLimits,
) -> list[ReadingWarning]:
    from nodulebench.imaging.lungs.segmentation import segment_lungs

    where = f"image of case '{case_id}'"
    volume = to_patient_axes(image_reader(images)(case_id), where)
    if place is not None:
        _refuse_other_image(volume, place, where)
    lungs = segment_lungs(volume, where)
    return [
        told
        for one in readings
        for told in warn(
            one,
            volume.geometry,
            hu=volume.hu,
            lung=lungs.mask,
            near_lung=lungs.with_slack(),
            limits=limits,
        )
    ]


def _refuse_other_image(volume: Volume, place: Geometry, where: str) -> None:
    """Refuse an image on another grid than the table of cases says."""
    found, said = _grid(volume.geometry), _grid(place)
    is_same = np.allclose(found[0], said[0], rtol=SPACING_TOLERANCE, atol=0)
    if is_same and place.size is not None:
        is_near = (np.abs(found[2] - said[2]) <= found[0] / 2).all()
        is_same = bool(is_near) and np.array_equal(found[1], said[1])
    if not is_same:
        raise InputError.at(
            where,
            f"has {_shown(volume.geometry)}; the table of cases says {_shown(place)}.",
            "Is it the image of another series?",
        )


def _grid(place: Geometry) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Voxel size, number and middle along x, y, z; an unknown number is 0."""
    size = np.zeros((1, 3)) if place.size is None else place.size[None].astype(np.float64)
    step = place.extent_to_world(np.ones((1, 3)))[0]
    number = np.rint(place.extent_to_world(size)[0] / step)
    return step, number, place.to_world((size - 1) / 2)[0]


def _shown(place: Geometry) -> str:
    step, number, middle = _grid(place)
    voxels = " x ".join(f"{value:.4g}" for value in step)
    if place.size is None:
        return f"voxels of {voxels} mm"
    count = " x ".join(f"{value:.0f}" for value in number)
    around = ", ".join(f"{value:.1f}" for value in middle)
    return f"{count} voxels of {voxels} mm around ({around})"
