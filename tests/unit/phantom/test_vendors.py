"""Every vendor's header is valid DICOM, and readers see the same scan behind it."""

import shutil
import subprocess

import numpy as np
import pytest

from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom.volumes import write_volume
from nodulebench.phantom.scanner import VENDORS, Scanner, StudyFacts, series_header

pydicom = pytest.importorskip("pydicom")
sitk = pytest.importorskip("SimpleITK")

TURNED = np.array([[0.96, 0.0, 0.28], [0.0, 1.0, 0.0], [-0.28, 0.0, 0.96]])
"""A scan whose slices lean 16 degrees."""
by_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)


def a_scan(vendor, direction=None):
    """Anisotropic voxels with the lowest and the highest value that the vendor stores."""
    hu = np.random.default_rng(3).integers(-1024, 3072, (5, 8, 6)).astype(np.int16)
    hu[:, 0, 0], hu[:, 0, 1] = vendor.padding_hu or -1024, 3071
    return make_volume(
        hu, spacing_mm=(0.6, 0.6, 2.3), origin_mm=(-150.25, -140.5, -321.7), direction=direction
    )


def written(folder, vendor, *, direction=None, kernel="standard", is_enhanced=False):
    header = series_header(
        vendor,
        Scanner(2.5, 2.3, 0.6, kernel=kernel, exposure_mas=37.0),
        StudyFacts(
            case_id="phantom-0001",
            patient_id="P0001",
            seed=1,
            is_female=is_enhanced,
            age=63,
            study_date="20240111",
            is_enhanced=is_enhanced,
        ),
    )
    write_volume(a_scan(vendor, direction), folder, header)
    return folder


@pytest.mark.skipif(shutil.which("dciodvfy") is None, reason="dciodvfy is not installed")
@by_vendor
@pytest.mark.parametrize("is_enhanced", [False, True])
@pytest.mark.parametrize("direction", [None, TURNED], ids=["upright", "turned"])
def test_dciodvfy_finds_nothing_wrong_with_any_vendor(tmp_path, vendor, is_enhanced, direction):
    folder = written(tmp_path / "s", vendor, direction=direction, is_enhanced=is_enhanced)
    for path in sorted(folder.iterdir()):
        checked = subprocess.run(["dciodvfy", "-new", str(path)], capture_output=True, text=True)
        assert "CTImage" in checked.stderr
        assert "Error" not in checked.stderr, checked.stderr
        assert "Warning" not in checked.stderr, checked.stderr


@by_vendor
@pytest.mark.parametrize("direction", [None, TURNED], ids=["upright", "turned"])
def test_pydicom_reads_the_same_hu_at_the_same_places(tmp_path, vendor, direction):
    expected = a_scan(vendor, direction)
    folder = written(tmp_path / "s", vendor, direction=direction)
    for number, path in enumerate(sorted(folder.iterdir())):
        data = pydicom.dcmread(path)
        hu = data.pixel_array.astype(int) * int(data.RescaleSlope) + int(data.RescaleIntercept)
        assert np.array_equal(hu, expected.hu[number])
        place = expected.geometry.to_world(np.array([[0.0, 0.0, number]]))[0]
        assert np.allclose(data.ImagePositionPatient, place, atol=1e-9)
        across_and_down = expected.geometry.direction[:, :2].T.ravel()
        assert np.allclose(data.ImageOrientationPatient, across_and_down, atol=1e-9)
        assert [float(width) for width in data.PixelSpacing] == [0.6, 0.6]


@by_vendor
@pytest.mark.parametrize("direction", [None, TURNED], ids=["upright", "turned"])
def test_simpleitk_reads_the_same_hu_at_the_same_places(tmp_path, vendor, direction):
    expected = a_scan(vendor, direction)
    reader = sitk.ImageSeriesReader()
    folder = written(tmp_path / "s", vendor, direction=direction)
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    image = reader.Execute()
    assert np.array_equal(sitk.GetArrayFromImage(image), expected.hu)
    for corner in ((0.0, 0.0, 0.0), (5.0, 7.0, 4.0), (5.0, 0.0, 2.0)):
        assert np.allclose(
            image.TransformContinuousIndexToPhysicalPoint(corner),
            expected.geometry.to_world(np.array([corner]))[0],
            atol=1e-6,
        )


@by_vendor
def test_a_header_names_the_vendors_kernel_and_says_that_it_is_a_phantom(tmp_path, vendor):
    for kernel, name in vendor.kernels.items():
        folder = written(tmp_path / kernel, vendor, kernel=kernel)
        data = pydicom.dcmread(folder / "0001.dcm")
        assert (data.Manufacturer, data.ConvolutionKernel) == (vendor.manufacturer, name)
        assert (data.Exposure, data.XRayTubeCurrent, data.ExposureTime) == (37, 74, 500)
        assert str(data.PatientName) == "PHANTOM^P0001"
        assert data.ImageComments == "Synthetic phantom, not a patient"


def test_pixels_outside_the_field_of_view_are_declared(tmp_path):
    for vendor in VENDORS:
        data = pydicom.dcmread(written(tmp_path / vendor.name, vendor) / "0001.dcm")
        if vendor.padding_hu is None:
            assert "PixelPaddingValue" not in data
        else:
            assert data.PixelPaddingValue == data.pixel_array[0, 0] == -2000
