"""Where a test set keeps the images of its cases, whatever form it has."""

from pathlib import Path

import pytest

from builders.sealed import make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody.bundle import BundleOptions, write_bundle
from nodulebench.io.images.case_images import images_folder, images_of_set

pytest.importorskip("cryptography")


def test_bundle_bag_and_sealed_set_show_the_same_images(tmp_path: Path) -> None:
    lab = make_lab(tmp_path, cases=2)
    write_bundle(
        BundleOptions(reference=lab.bundle, out=tmp_path / "bag", images=lab.bundle / "images")
    )
    lab.seal()
    for folder in (lab.bundle, tmp_path / "bag", lab.sealed):
        images = images_of_set(folder)
        assert [case_id for case_id, _ in images] == ["scan0", "scan1"]
        assert (images[0][1] / "0001.dcm").read_bytes() == b"scan0" * 50


def test_a_case_without_an_image_is_reported(tmp_path: Path) -> None:
    lab = make_lab(tmp_path, cases=3)
    with pytest.raises(InputError, match="has no image of case 'scan2'"):
        images_of_set(lab.bundle)
    assert images_folder(tmp_path) is None
