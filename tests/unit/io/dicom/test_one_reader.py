"""One and the same series is read alike by curation, as cases, as a volume and by a gallery."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.dicom import MIRRORED, TURNED, as_enhanced, series_header
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES, without_images
from nodulebench.curation.examine import case_geometry
from nodulebench.imaging.geometry import geometries, geometry_columns
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom.series import group_series
from nodulebench.io.dicom.slices import read_slices
from nodulebench.io.dicom.volumes import images_of_cases, read_volume, write_volume
from nodulebench.io.formats import read_cases
from nodulebench.io.images.case_images import image_reader, read_case_image
from nodulebench.io.manifests import table_digest

pydicom = pytest.importorskip("pydicom")

SLIGHTLY_OFF = np.linalg.qr(np.eye(3) + 1e-4 * np.arange(9).reshape(3, 3))[0] * [-1, -1, -1]
DIRECTIONS = {
    "axial": np.eye(3),
    "turned": TURNED,
    "mirrored": MIRRORED,
    "upside down": np.diag([1.0, -1.0, -1.0]),
    "odd handed": np.diag([1.0, -1.0, 1.0]),
    "slightly off": SLIGHTLY_OFF,
    "coronal": np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]]),
}


def scan(direction: Any = None) -> Any:
    voxels = np.random.default_rng(5).integers(-1024, 2000, (12, 14, 16)).astype(np.int16)
    return make_volume(
        voxels,
        spacing_mm=(0.6640625, 0.6640625, 1 / 0.7),
        origin_mm=(-164.66797, -107.2, 694.9),
        direction=direction,
    )


def curated(folder: Path) -> dict[str, Any]:
    """The geometry that curation writes down."""
    slices = [slice_ for path in sorted(folder.rglob("*.dcm")) for slice_ in read_slices(path)]
    (series,) = group_series(slices)
    return case_geometry(series)


@pytest.mark.parametrize("is_enhanced", [False, True], ids=["classic", "enhanced"])
@pytest.mark.parametrize("name", DIRECTIONS)
def test_every_way_gives_the_same_texts_and_digests(
    tmp_path: Path, name: str, is_enhanced: bool
) -> None:
    folder = tmp_path / "ct"
    write_volume(scan(DIRECTIONS[name]), folder, series_header())
    if is_enhanced:
        folder = as_enhanced(folder, tmp_path / "one file")
    cases = without_images(read_cases(folder))
    row = {"case_id": series_header().series_uid, "patient_id": "P1", **curated(folder)}
    by_curation = CASES.conform(pl.DataFrame([row]), "curation").select(cases.columns)
    assert cases.row(0) == by_curation.row(0)
    assert table_digest(cases) == table_digest(by_curation)
    volume = read_volume(folder)
    assert geometry_columns(volume.geometry) == curated(folder)
    (grid,) = geometries(cases).values()
    corner = np.array([[15.0, 13.0, 11.0]])
    assert np.allclose(grid.to_world(corner), volume.geometry.to_world(corner), atol=1e-3)
    (series,) = images_of_cases(read_cases(folder)).values()
    assert np.array_equal(series.geometry.to_world(corner), volume.geometry.to_world(corner))


@pytest.mark.parametrize("name", DIRECTIONS)
def test_an_enhanced_file_is_the_same_scan_as_single_files(tmp_path: Path, name: str) -> None:
    write_volume(scan(DIRECTIONS[name]), tmp_path / "case", series_header())
    mixed = [5, 0, 11, 3, 1, 2, 10, 4, 9, 6, 8, 7]
    as_enhanced(tmp_path / "case", tmp_path / "again" / "case", mixed)
    single, many = (image_reader(tmp_path / name)("case") for name in ("", "again"))
    assert np.array_equal(single.hu, many.hu)
    assert geometry_columns(single.geometry) == geometry_columns(many.geometry)
    for at in [(0, 0, 0), (3, 4, 5)]:  # and it is the one that was written
        place = single.geometry.to_world(np.array([at[::-1]], dtype=np.float64))
        written = scan(DIRECTIONS[name])
        back = np.rint(written.geometry.to_index(place))[0].astype(int)
        assert single.hu[at] == written.hu[tuple(back[::-1])]


def test_two_series_in_a_folder_are_two_cases_whatever_their_kind(tmp_path: Path) -> None:
    write_volume(scan(), tmp_path / "a", series_header("a"))
    write_volume(scan(), tmp_path / "b", series_header("b"))
    as_enhanced(tmp_path / "a", tmp_path / "both" / "a")
    (tmp_path / "b").rename(tmp_path / "both" / "b")
    cases = read_cases(tmp_path / "both")
    assert cases["size_z"].to_list() == [12, 12]
    assert set(images_of_cases(cases)) == set(cases["case_id"])
    with pytest.raises(InputError, match="holds 2 series"):
        read_volume(tmp_path / "both")


def test_a_series_that_is_there_twice_is_reported(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_volume(scan(), tmp_path / name, series_header())
    with pytest.raises(InputError, match="more than once"):
        read_cases(tmp_path)


def test_an_overview_in_the_series_is_left_out(tmp_path: Path) -> None:
    write_volume(scan(), tmp_path, series_header())
    data = pydicom.dcmread(tmp_path / "0001.dcm")
    data.ImageType, data.SOPInstanceUID = ["ORIGINAL", "PRIMARY", "LOCALIZER"], "1.2.3"
    data.ImageOrientationPatient = [0, 1, 0, 0, 0, -1]
    data.save_as(tmp_path / "scout.dcm")
    assert np.array_equal(read_volume(tmp_path).hu, scan().hu)
    assert read_cases(tmp_path)["size_z"].to_list() == [12]


def test_frames_without_places_are_reported(tmp_path: Path) -> None:
    write_volume(scan(), tmp_path, series_header())
    for path in list(tmp_path.iterdir())[1:]:
        path.unlink()
    (path,) = tmp_path.iterdir()
    data = pydicom.dcmread(path)
    data.NumberOfFrames, data.PixelData = 2, data.PixelData * 2
    data.save_as(path)
    with pytest.raises(InputError, match="has 2 frames, but not the position of each"):
        read_volume(tmp_path)


def test_a_tilt_that_curation_admits_is_read_with_its_slices_in_place(tmp_path: Path) -> None:
    write_volume(scan(), tmp_path, series_header())
    for number, path in enumerate(sorted(tmp_path.iterdir())):
        data = pydicom.dcmread(path)
        x, y, z = data.ImagePositionPatient
        data.ImagePositionPatient = [x, f"{float(y) + 0.02 * number:.6f}", z]
        data.save_as(path)
    (grid,) = geometries(read_cases(tmp_path)).values()
    assert grid.to_world(np.array([[0.0, 0.0, 11.0]]))[0, 1] == pytest.approx(-107.2 + 0.22)
    assert geometry_columns(read_volume(tmp_path).geometry) == curated(tmp_path)


def test_a_zipped_enhanced_file_is_read_as_the_image_of_a_case(tmp_path: Path) -> None:
    write_volume(scan(), tmp_path / "ct", series_header())
    as_enhanced(tmp_path / "ct", tmp_path / "one")
    with zipfile.ZipFile(tmp_path / "scan.zip", "w") as archive:
        archive.write(tmp_path / "one" / "enhanced.dcm", "a/b/enhanced.dcm")
    image = read_case_image(tmp_path / "scan.zip")
    assert image.name == series_header().series_uid
    assert np.array_equal(image.volume.hu, scan().hu)
