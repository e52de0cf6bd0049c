"""Cases from folders of CT images, and what keeps images from being a series."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.dicom import TURNED, write_series
from nodulebench.core.errors import InputError
from nodulebench.core.tables import without_images
from nodulebench.imaging.geometry import geometries
from nodulebench.io.dicom.volumes import images_of_cases, read_image_series, read_volume
from nodulebench.io.formats import read_cases

pydicom = pytest.importorskip("pydicom")


def change(path: Path, **elements: Any) -> None:
    data = pydicom.dcmread(path)
    for name, value in elements.items():
        if value is None:
            delattr(data, name)
        else:
            setattr(data, name, value)
    data.save_as(path)


@pytest.mark.parametrize("direction", [None, TURNED])
def test_cases_have_the_geometry_of_their_volume(tmp_path: Path, direction: Any) -> None:
    uid = write_series(tmp_path / "ct", direction=direction)
    cases = read_cases(tmp_path / "ct")
    assert cases.select("case_id", "patient_id", "size_x", "size_y", "size_z").rows() == [
        (uid, "P1", 50, 40, 12)
    ]
    grid, volume = geometries(cases)[uid], read_volume(tmp_path / "ct").geometry
    for name in ("spacing_mm", "origin_mm", "direction"):
        assert np.allclose(getattr(grid, name), getattr(volume, name), atol=1e-8)
    assert without_images(cases).columns == cases.columns[:-1]


def test_every_series_of_a_folder_is_a_case(tmp_path: Path) -> None:
    uids = {write_series(tmp_path / "ct" / name, name) for name in ("one", "two")}
    cases = read_cases(tmp_path / "ct")
    assert set(cases["case_id"]) == uids
    assert {case: series.uid for case, series in images_of_cases(cases).items()} == {
        uid: uid for uid in uids
    }


def test_a_case_of_another_name_is_the_only_series_of_its_folder(tmp_path: Path) -> None:
    uid = write_series(tmp_path / "ct" / "one", "one")
    table = pl.DataFrame({"case_id": ["mine"], "images": [str(tmp_path / "ct")]})
    assert images_of_cases(table)["mine"].uid == uid
    write_series(tmp_path / "ct" / "two", "two")
    with pytest.raises(InputError, match=r"its folder .* holds 2 series, but none of that"):
        images_of_cases(table)
    assert images_of_cases(table, ["other"]) == {}


def test_a_folder_without_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ct").mkdir()
    (tmp_path / "ct" / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match=r"holds no DICOM CT images\. Give the folder of a CT"):
        read_cases(tmp_path / "ct")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda folder: (folder / "0005.dcm").unlink(),
            "a slice is missing between 0004.dcm and 0006.dcm: 3.60 mm apart",
        ),
        (
            lambda folder: change(folder / "0005.dcm", ImagePositionPatient=[-160, -107.2, 702.1]),
            "0005.dcm is shifted sideways by 4.7 mm",
        ),
        (
            lambda folder: change(folder / "0005.dcm", PixelSpacing=[0.9, 0.7]),
            "differ in pixel size",
        ),
        (
            lambda folder: change(folder / "0005.dcm", Rows=None),
            "0005.dcm: has no usable rows",
        ),
        (
            lambda folder: change(folder / "0005.dcm", ImagePositionPatient=[1, 2]),
            "0005.dcm: has no usable position",
        ),
        (
            lambda folder: change(folder / "0005.dcm", FrameOfReferenceUID="1.2"),
            "differ in frame of reference",
        ),
    ],
)
def test_images_that_are_not_stack_are_refused(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    write_series(tmp_path)
    spoil(tmp_path)
    with pytest.raises(InputError, match=message):
        read_image_series(tmp_path)


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ({"PixelSpacing": [0, 0]}, "has an impossible voxel size: 0 0 1.8"),
        ({"PixelSpacing": [-1, 1]}, "has an impossible voxel size"),
        ({"PixelSpacing": ["1e8", "1e8"]}, "has an impossible voxel size"),
        ({"ImageOrientationPatient": [1, 0, 0, 1, 0, 0]}, "are not at right angles"),
    ],
)
def test_numbers_that_no_image_has_are_refused(
    tmp_path: Path, elements: dict[str, Any], message: str
) -> None:
    write_series(tmp_path)
    for path in tmp_path.iterdir():
        change(path, **elements)
    for read in (read_cases, read_volume):
        with pytest.raises(InputError, match=message):
            read(tmp_path)
