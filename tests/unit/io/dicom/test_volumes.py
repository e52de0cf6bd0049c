"""DICOM series: written validly, read back exactly, refused with a reason."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom.header import SeriesHeader, uid_from
from nodulebench.io.dicom.volumes import read_volume, write_volume

pydicom = pytest.importorskip("pydicom")
sitk = pytest.importorskip("SimpleITK")

HEADER = SeriesHeader(
    series_uid=uid_from("series"),
    study_uid=uid_from("study"),
    frame_of_reference_uid=uid_from("frame"),
    patient_id="P1",
    patient_name="PHANTOM^P1",
    patient_sex="F",
    patient_age="061Y",
    manufacturer="SIEMENS",
    model="Sensation 16",
    kernel="B30f",
    slice_thickness_mm=2.0,
)
TURNED = np.array([[0.0, -0.96, 0.28], [1.0, 0.0, 0.0], [0.0, 0.28, 0.96]])


def a_volume(direction=None, slices=6):
    voxels = np.random.default_rng(5).integers(-1024, 3072, (slices, 7, 9)).astype(np.int16)
    return make_volume(
        voxels,
        spacing_mm=(0.6640625, 0.7, 1.8),
        origin_mm=(-164.66797, -307.2, 694.9),
        direction=direction,
    )


@pytest.fixture
def series(tmp_path):
    folder = tmp_path / "series"
    write_volume(a_volume(), folder, HEADER)
    return folder


def change(path, **elements):
    data = pydicom.dcmread(path)
    for name, value in elements.items():
        if value is None:
            delattr(data, name)
        else:
            setattr(data, name, value)
    data.save_as(path)


@pytest.mark.parametrize("direction", [None, TURNED])
@pytest.mark.parametrize(("is_signed", "intercept"), [(True, 0), (True, -1024), (False, -1024)])
def test_voxels_and_geometry_come_back_as_they_were(tmp_path, direction, is_signed, intercept):
    volume = a_volume(direction)
    header = replace(HEADER, is_signed=is_signed, rescale_intercept=intercept)
    write_volume(volume, tmp_path / "out", header)
    again = read_volume(tmp_path / "out")
    assert np.array_equal(again.hu, volume.hu)
    assert again.hu.dtype == np.int16
    for name in ("spacing_mm", "origin_mm", "direction"):
        assert np.allclose(getattr(again.geometry, name), getattr(volume.geometry, name), atol=1e-9)


@pytest.mark.parametrize("direction", [None, TURNED])
def test_simpleitk_reads_the_same_volume(tmp_path, direction):
    volume = a_volume(direction)
    write_volume(volume, tmp_path / "out", HEADER)
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(tmp_path / "out")))
    image = reader.Execute()
    assert np.array_equal(sitk.GetArrayFromImage(image), volume.hu)
    corner = np.array([[8.0, 6.0, 5.0]])
    assert np.allclose(
        image.TransformContinuousIndexToPhysicalPoint(corner[0]),
        volume.geometry.to_world(corner)[0],
        atol=1e-6,
    )


@pytest.mark.skipif(shutil.which("dciodvfy") is None, reason="dciodvfy is not installed")
@pytest.mark.parametrize("agent", ["", "IODINE"])
def test_dciodvfy_finds_nothing_wrong(tmp_path, agent):
    write_volume(a_volume(TURNED), tmp_path / "out", replace(HEADER, contrast_agent=agent))
    checked = subprocess.run(
        ["dciodvfy", "-new", str(tmp_path / "out" / "0003.dcm")], capture_output=True, text=True
    )
    assert "Error" not in checked.stderr
    assert "Warning" not in checked.stderr
    assert "CTImage" in checked.stderr


def test_a_uid_depends_on_its_words_only():
    assert uid_from("a", 1) == uid_from("a", 1) != uid_from("a", 2)
    assert uid_from("a").startswith("2.25.")
    assert len(uid_from("a")) <= 64


def test_slices_are_ordered_by_place_not_by_name(series):
    (series / "0001.dcm").rename(series / "z.dcm")
    (series / "0006.dcm").rename(series / "a.dcm")
    assert np.array_equal(read_volume(series).hu, a_volume().hu)


def test_other_files_are_passed_over(series):
    (series / "notes.txt").write_text("hello")
    assert read_volume(series).shape == (6, 7, 9)


def test_a_missing_slice_is_named_by_its_neighbours(series):
    (series / "0003.dcm").unlink()
    with pytest.raises(InputError) as error:
        read_volume(series)
    assert str(error.value) == (
        f"{series}: a slice is missing between 0002.dcm and 0004.dcm: 3.60 mm apart, "
        "elsewhere 1.80 mm. Export the whole series."
    )


def test_several_missing_slices_are_counted(tmp_path):
    write_volume(a_volume(slices=9), tmp_path / "out", HEADER)
    for name in ("0003.dcm", "0004.dcm"):
        (tmp_path / "out" / name).unlink()
    with pytest.raises(InputError, match=r"2 slices are missing between 0002.dcm and 0005.dcm"):
        read_volume(tmp_path / "out")


def test_uneven_spacing_is_reported(series):
    change(series / "0006.dcm", ImagePositionPatient=[-164.66797, -307.2, 704.5])
    with pytest.raises(InputError, match=r"the spacing is uneven between 0005.dcm and 0006.dcm"):
        read_volume(series)


def test_a_slice_given_twice_is_reported(series):
    shutil.copy(series / "0002.dcm", series / "0002 copy.dcm")
    with pytest.raises(InputError, match=r"have the same position \(696.70 mm\)"):
        read_volume(series)


def test_several_series_are_listed_and_one_can_be_chosen(series):
    other = replace(HEADER, series_uid=uid_from("other"))
    write_volume(a_volume(slices=3), series / "more", other)
    with pytest.raises(InputError) as error:
        read_volume(series)
    assert f"holds 2 series: {HEADER.series_uid} (6 slices); {other.series_uid} (3" in str(
        error.value
    )
    assert read_volume(series, other.series_uid).shape == (3, 7, 9)
    with pytest.raises(InputError, match=r"does not hold the series 1\.2\.3"):
        read_volume(series, "1.2.3")


def test_slices_of_different_kind_are_reported_all_at_once(series):
    change(series / "0004.dcm", PixelSpacing=[0.5, 0.5], Rows=6)
    with pytest.raises(InputError) as error:
        read_volume(series)
    assert [problem.what for problem in error.value.problems] == [
        "its slices differ in rows and columns: 7 x 9 (5) and 6 x 9 (1).",
        "its slices differ in pixel size: 0.7 x 0.66406 (5) and 0.5 x 0.5 (1).",
    ]


def test_8_bit_slices_are_refused(series):
    for path in series.iterdir():
        change(path, BitsAllocated=8, BitsStored=8, HighBit=7)
    with pytest.raises(InputError, match="its voxels have 8 bits, which cannot hold Hounsfield"):
        read_volume(series)


def test_slices_without_rescaling_are_refused(series):
    for path in series.iterdir():
        change(path, RescaleSlope=None)
    with pytest.raises(InputError, match="HU are unknown"):
        read_volume(series)


def test_a_tilted_gantry_is_refused(series):
    for number, path in enumerate(sorted(series.iterdir())):
        position = [-164.66797, -307.2 + 0.5 * number, 694.9 + 1.8 * number]
        change(path, ImagePositionPatient=position)
    with pytest.raises(InputError, match=r"shift sideways by 15.5 degrees"):
        read_volume(series)


def test_a_slice_without_position_is_refused(series):
    change(series / "0001.dcm", ImagePositionPatient=None)
    with pytest.raises(InputError, match=r"0001.dcm: has no usable position"):
        read_volume(series)


def test_truncated_voxels_are_reported(series):
    change(series / "0002.dcm", PixelData=b"\x00\x00")
    with pytest.raises(InputError, match=r"0002.dcm: holds 2 bytes of pixels where 7 x 9 need 126"):
        read_volume(series)


def test_an_empty_folder_and_no_folder_are_reported(tmp_path):
    with pytest.raises(InputError, match="holds no DICOM CT images"):
        read_volume(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        read_volume(tmp_path / "nothing")


def test_voxels_that_do_not_fit_are_refused(tmp_path):
    volume = make_volume(np.full((2, 3, 3), -2000, np.int16), spacing_mm=(1, 1, 1))
    with pytest.raises(InputError, match=r"do not fit into the stored range -1024 to 3071 HU"):
        write_volume(volume, tmp_path / "out", replace(HEADER, is_signed=False))
    assert not (tmp_path / "out").exists()


def test_compressed_slices_are_read_too(series):
    for path in series.iterdir():
        data = pydicom.dcmread(path)
        data.compress(pydicom.uid.RLELossless)
        data.save_as(path)
    assert np.array_equal(read_volume(series).hu, a_volume().hu)


def test_damaged_compression_is_reported(series):
    for path in series.iterdir():
        data = pydicom.dcmread(path)
        data.compress(pydicom.uid.RLELossless)
        data.PixelData = pydicom.encaps.encapsulate([b"\x00\x01"])
        data.save_as(path)
    with pytest.raises(InputError, match=r"0001.dcm: has pixels that cannot be decoded"):
        read_volume(series)
