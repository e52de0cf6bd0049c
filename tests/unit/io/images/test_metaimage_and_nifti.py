"""MetaImage and NIfTI: what is written is read, by us and by SimpleITK."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import make_volume
from nodulebench.io.images import metaimage, nifti

sitk = pytest.importorskip("SimpleITK")

WRITERS = [(metaimage, "a.mhd"), (metaimage, "a.mha"), (nifti, "a.nii"), (nifti, "a.nii.gz")]


def rotation(x, y, z):
    cx, cy, cz = np.cos([x, y, z])
    sx, sy, sz = np.sin([x, y, z])
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def a_volume(direction=None, dtype=np.int16):
    voxels = np.random.default_rng(3).integers(-1024, 3072, (4, 5, 6)).astype(dtype)
    return make_volume(
        voxels, spacing_mm=(0.7, 0.8, 2.5), origin_mm=(-101.5, 33.25, -340), direction=direction
    )


@pytest.mark.parametrize(("module", "name"), WRITERS)
@given(turn=st.tuples(*[st.floats(-3, 3)] * 3), is_float=st.booleans())
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_turned_anisotropic_volume_comes_back_as_it_was(tmp_path, module, name, turn, is_float):
    volume = a_volume(rotation(*turn), np.float32 if is_float else np.int16)
    module.write_volume(volume, tmp_path / name)
    again = module.read_volume(tmp_path / name)
    assert again.hu.dtype == volume.hu.dtype
    assert np.array_equal(again.hu, volume.hu)
    assert np.allclose(again.geometry.spacing_mm, volume.geometry.spacing_mm, atol=1e-6)
    assert np.allclose(again.geometry.origin_mm, volume.geometry.origin_mm, atol=1e-4)
    assert np.allclose(again.geometry.direction, volume.geometry.direction, atol=1e-6)


@pytest.mark.parametrize(("module", "name"), WRITERS)
def test_simpleitk_sees_the_same_voxels_at_the_same_places(tmp_path, module, name):
    volume = a_volume(rotation(0.2, -0.1, 0.4))
    module.write_volume(volume, tmp_path / name)
    image = sitk.ReadImage(str(tmp_path / name))
    assert np.array_equal(sitk.GetArrayFromImage(image), volume.hu)
    corner = np.array([[5.0, 4.0, 3.0]])
    assert np.allclose(
        image.TransformContinuousIndexToPhysicalPoint(corner[0]),
        volume.geometry.to_world(corner)[0],
        atol=1e-4,
    )


def test_a_metaimage_of_simpleitk_is_read(tmp_path):
    image = sitk.GetImageFromArray(np.arange(24, dtype=np.float64).reshape(2, 3, 4))
    image.SetSpacing((1.5, 1.0, 3.0))
    image.SetOrigin((1.0, 2.0, 3.0))
    image.SetDirection(rotation(0.1, 0.2, 0.3).ravel())
    for is_compressed in (True, False):
        sitk.WriteImage(image, str(tmp_path / "b.mhd"), useCompression=is_compressed)
        volume = metaimage.read_volume(tmp_path / "b.mhd")
        assert volume.hu.tolist() == sitk.GetArrayFromImage(image).tolist()
        assert np.allclose(volume.geometry.direction, rotation(0.1, 0.2, 0.3))
        assert volume.geometry.origin_mm.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("module", "name"), WRITERS)
def test_an_8_bit_image_is_refused(tmp_path, module, name):
    image = sitk.GetImageFromArray(np.full((2, 3, 4), 9, dtype=np.uint8))
    sitk.WriteImage(image, str(tmp_path / name))
    with pytest.raises(InputError, match=r"has 8-bit voxels \(9 to 9\)"):
        module.read_volume(tmp_path / name)


@pytest.mark.parametrize(("module", "name"), WRITERS)
def test_an_image_with_nan_is_refused(tmp_path, module, name):
    voxels = np.zeros((2, 3, 4), dtype=np.float32)
    voxels[1, 2, 3] = np.nan
    sitk.WriteImage(sitk.GetImageFromArray(voxels), str(tmp_path / name))
    with pytest.raises(InputError, match="1 of 24 voxels are not finite numbers"):
        module.read_volume(tmp_path / name)


def test_a_metaimage_that_lost_voxels_says_how_many_bytes(tmp_path):
    metaimage.write_volume(a_volume(), tmp_path / "a.mhd")
    text = (tmp_path / "a.mhd").read_text()
    (tmp_path / "a.mhd").write_text(text.replace("DimSize = 6 5 4", "DimSize = 6 5 9"))
    with pytest.raises(InputError, match=r"holds 240 bytes of voxels, but its header asks for 540"):
        metaimage.read_volume(tmp_path / "a.mhd")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("a.zraw", "b.zraw"), "its voxels in 'b.zraw' cannot be read: No such file"),
        (("a.zraw", "LIST"), "has its slices in several files. Export it as one raw file."),
        (("MET_SHORT", "MET_LONG"), "has DimSize '6 5 4' and ElementType 'MET_LONG'."),
        (("DimSize", "Size"), "is not a MetaImage: its header has no DimSize."),
        (("0.7 0.8 2.5", "wide"), "its ElementSpacing is 'wide', not numbers."),
        (("Data = True", "Data = False"), "but its header asks for 240."),
    ],
)
def test_a_damaged_metaimage_header_is_reported(tmp_path, change, message):
    metaimage.write_volume(a_volume(), tmp_path / "a.mhd")
    text = (tmp_path / "a.mhd").read_text()
    (tmp_path / "a.mhd").write_text(text.replace(*change))
    with pytest.raises(InputError) as error:
        metaimage.read_volume(tmp_path / "a.mhd")
    assert message in str(error.value)


def test_damaged_compression_is_reported(tmp_path):
    metaimage.write_volume(a_volume(), tmp_path / "a.mhd")
    (tmp_path / "a.zraw").write_bytes(b"not zlib")
    with pytest.raises(InputError, match="its compressed voxels are damaged"):
        metaimage.read_volume(tmp_path / "a.mhd")


@pytest.mark.parametrize("turn", [(0.3, -0.2, 1.0), (3.1, 0.1, -2.0), (0.0, 3.14159265, 0.0)])
def test_a_nifti_image_of_simpleitk_is_read_with_either_form(tmp_path, turn):
    image = sitk.GetImageFromArray(np.arange(24, dtype=np.int16).reshape(2, 3, 4))
    image.SetSpacing((1.5, 1.0, 3.0))
    image.SetOrigin((1.0, -2.0, 3.0))
    image.SetDirection(rotation(*turn).ravel())
    sitk.WriteImage(image, str(tmp_path / "a.nii"))
    content = bytearray((tmp_path / "a.nii").read_bytes())
    for codes in (b"\x01\x00\x00\x00", b"\x00\x00\x01\x00"):
        content[252:256] = codes
        (tmp_path / "a.nii").write_bytes(content)
        volume = nifti.read_volume(tmp_path / "a.nii")
        assert np.allclose(volume.geometry.direction, rotation(*turn), atol=1e-6)
        assert np.allclose(volume.geometry.origin_mm, [1.0, -2.0, 3.0])
        assert np.allclose(volume.geometry.spacing_mm, [1.5, 1.0, 3.0])


def test_nifti_voxels_are_rescaled_where_the_header_asks_for_it(tmp_path):
    volume = a_volume()
    nifti.write_volume(volume, tmp_path / "a.nii")
    content = bytearray((tmp_path / "a.nii").read_bytes())
    content[112:120] = np.array([0.5, -1024], "<f4").tobytes()
    (tmp_path / "a.nii").write_bytes(content)
    again = nifti.read_volume(tmp_path / "a.nii")
    assert np.array_equal(again.hu, volume.hu.astype(np.float32) * 0.5 - 1024)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, b"\x00\x00\x00\x00", "is not a NIfTI-1 image."),
        (344, b"ni1\x00", "has its voxels in another file. Save it as one .nii file."),
        (40, b"\x02\x00", "has the size 6 x 5 and the data type 4."),
        (70, b"\x80\x00", "has the size 6 x 5 x 4 and the data type 128."),
        (46, b"\x09\x00", "holds 240 bytes of voxels, but its header asks for 540."),
        (252, b"\x00\x00\x00\x00", "has no position in the patient"),
        (284, b"\x00\x00\x80\x3f", "its direction is not nine orthonormal cosines."),
    ],
)
def test_a_damaged_nifti_header_is_reported(tmp_path, place, value, message):
    nifti.write_volume(a_volume(), tmp_path / "a.nii")
    content = bytearray((tmp_path / "a.nii").read_bytes())
    content[place : place + len(value)] = value
    (tmp_path / "a.nii").write_bytes(content)
    with pytest.raises(InputError) as error:
        nifti.read_volume(tmp_path / "a.nii")
    assert message in str(error.value)


def test_what_is_not_nifti_is_reported(tmp_path):
    (tmp_path / "a.nii").write_text("no image")
    with pytest.raises(InputError, match="is not a NIfTI-1 image"):
        nifti.read_volume(tmp_path / "a.nii")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        nifti.read_volume(tmp_path / "b.nii")
