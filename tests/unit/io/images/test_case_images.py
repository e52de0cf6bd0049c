from pathlib import Path

import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom import volumes as dicom_volume
from nodulebench.io.dicom.header import SeriesHeader
from nodulebench.io.images import metaimage, nifti
from nodulebench.io.images.case_images import NoImageError, image_reader

HEADER = SeriesHeader("1.2.3", "1.2.4", "1.2.5", "patient")
VOLUME = make_volume(
    np.arange(3 * 4 * 5, dtype=np.int16).reshape(3, 4, 5), spacing_mm=(1.0, 1.0, 2.0)
)


def test_images_are_read_by_the_name_of_their_case(tmp_path: Path) -> None:
    metaimage.write_volume(VOLUME, tmp_path / "a.mhd")
    nifti.write_volume(VOLUME, tmp_path / "b.nii.gz")
    dicom_volume.write_volume(VOLUME, tmp_path / "c", HEADER)
    read = image_reader(tmp_path)
    for case_id in ("a", "b", "c"):
        assert np.array_equal(read(case_id).hu, VOLUME.hu)
        np.testing.assert_allclose(read(case_id).geometry.spacing_mm, (1, 1, 2))


def test_a_case_without_an_image_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        image_reader(tmp_path)("b")
    assert str(caught.value) == (
        f"{tmp_path}: has no image of case 'b'. "
        "Put b.mhd, .mha, .nii or .nii.gz there, or a folder b of DICOM."
    )


@pytest.mark.parametrize("place", ["images", "data/images", "subset3", "deep/er"])
def test_images_of_a_bundle_or_an_archive_are_found_by_name(tmp_path: Path, place: str) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    metaimage.write_volume(VOLUME, folder / "1.2.840.mhd")
    dicom_volume.write_volume(VOLUME, folder / "c", HEADER)
    read = image_reader(tmp_path)
    for case_id in ("1.2.840", "c"):
        assert np.array_equal(read(case_id).hu, VOLUME.hu)


def test_a_series_is_found_by_its_uid_in_any_archive(tmp_path: Path) -> None:
    """As curation names cases, whatever the folders of the archive are called."""
    dicom_volume.write_volume(VOLUME, tmp_path / "PAT0001" / "ST01" / "SE07", HEADER)
    (tmp_path / "PAT0001" / "DICOMDIR").write_bytes(b"no DICOM at all")
    read = image_reader(tmp_path, wanted=[HEADER.series_uid])
    assert np.array_equal(read(HEADER.series_uid).hu, VOLUME.hu)
    with pytest.raises(NoImageError):
        read("1.2.3.999")
