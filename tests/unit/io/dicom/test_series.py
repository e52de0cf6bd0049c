from dataclasses import replace

import numpy as np
import pytest

from builders.slice_headers import even_series, series_of, slice_header
from nodulebench.io.dicom.series import group_series, upward_normal


def test_slices_are_ordered_by_place_not_by_name_or_number():
    slices = even_series(5)
    shuffled = [replace(slices[at], instance_number=9 - at) for at in (3, 0, 4, 2, 1)]
    assert [slice_.sop_uid for slice_ in group_series(shuffled)[0].slices] == [
        f"1.2.3.{number}" for number in range(5)
    ]


def test_slices_without_position_are_ordered_by_number():
    slices = [slice_header(n, position_mm=None, instance_number=9 - n) for n in range(3)]
    (series,) = group_series(slices)
    assert [slice_.instance_number for slice_ in series.slices] == [7, 8, 9]
    assert series.places_mm is None
    assert series.spacing_mm is None


def test_feet_come_first_even_where_the_slice_normal_points_to_them():
    flipped = even_series(4, orientation=(-1.0, 0.0, 0.0, 0.0, 1.0, 0.0))
    (series,) = group_series(flipped)
    assert [slice_.position_mm[2] for slice_ in series.slices] == [0.0, 2.5, 5.0, 7.5]


@pytest.mark.parametrize(
    ("cosines", "normal"),
    [
        ((1, 0, 0, 0, 1, 0), (0, 0, 1)),
        ((1, 0, 0, 0, -1, 0), (0, 0, 1)),
        ((1, 0, 0, 0, 0, -1), (0, 1, 0)),
        ((0, 1, 0, 0, 0, -1), (1, 0, 0)),
        ((1, 0, 0, 1, 0, 0), (0, 0, 1)),
    ],
)
def test_normals_point_to_the_head_the_back_or_the_left(cosines, normal):
    assert upward_normal(np.array(cosines, dtype=float)).tolist() == list(normal)


def test_series_are_reported_apart_by_uid_kind_modality_and_localizer():
    mixed = [
        *even_series(3),
        slice_header(7, series_uid="9.9", path="/archive/b"),
        slice_header(8, modality="MR", path="/archive/c"),
        slice_header(9, image_type=("ORIGINAL", "PRIMARY", "LOCALIZER"), path="/archive/d"),
    ]
    assert [len(series.slices) for series in group_series(mixed)] == [1, 1, 1, 3]


def test_a_second_copy_is_a_series_of_its_own():
    slices = even_series(4)
    again = [replace(slice_, path=slice_.path.replace("scan", "again")) for slice_ in slices]
    first, second = group_series([*slices, *again])
    assert (first.copy, second.copy) == (0, 1)
    assert second.name == "1.2.3 (copy 2)"
    assert {slice_.path.split("/")[2] for slice_ in first.slices} == {"again"}


def test_a_single_repeated_file_stays_in_its_series():
    slices = even_series(6)
    (series,) = group_series([*slices, replace(slices[2], path="/archive/scan/copy.dcm")])
    assert len(series.slices) == 7


def test_spacing_is_the_usual_distance():
    slices = [header for number, header in enumerate(even_series(10)) if number != 4]
    assert series_of(*slices).spacing_mm == pytest.approx(2.5)
