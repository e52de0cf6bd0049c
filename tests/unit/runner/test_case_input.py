"""What an algorithm finds of a case: its voxels and where they lie, and nothing of its name."""

import json
from pathlib import Path

import numpy as np
import pytest

from builders.algorithms import small_volume
from nodulebench.core.algorithm import RunContract, RunInput
from nodulebench.io.images.case_images import read_case
from nodulebench.runner.case_input import write_case


@pytest.mark.parametrize(
    ("kind", "image"), [("metaimage", "ct.mhd"), ("nifti", "ct.nii.gz"), ("dicom", "ct")]
)
def test_the_native_layout_has_the_image_and_its_geometry(
    tmp_path: Path, kind: str, image: str
) -> None:
    volume = small_volume(7)
    run = RunContract.model_validate({"command": ["x"], "input": kind})
    write_case(volume, "case-1", tmp_path, run)
    case = json.loads((tmp_path / "case.json").read_text())
    assert (case["case_id"], case["image"]) == ("case-1", image)
    assert (case["size"], case["spacing_mm"]) == ([16, 16, 8], [1.0, 1.0, 1.0])
    assert len(case["direction"]) == 9
    read_back = read_case(tmp_path / image)
    assert np.array_equal(read_back.hu, volume.hu)
    assert read_back.geometry.origin_mm.tolist() == case["origin_mm"]


def test_the_layout_of_grand_challenge_lists_its_sockets(tmp_path: Path) -> None:
    socket = RunInput.model_validate({"slug": "chest-ct", "path": "images/chest-ct", "from": "ct"})
    run = RunContract(command=("x",), profile="grand-challenge", inputs=(socket,))
    write_case(small_volume(7), "case-1", tmp_path, run)
    (image,) = (tmp_path / "images" / "chest-ct").glob("*.mha")
    assert read_case(image).hu.max() == 7
    (listed,) = json.loads((tmp_path / "inputs.json").read_text())
    assert listed["interface"]["slug"] == "chest-ct"
    assert listed["interface"]["relative_path"] == "images/chest-ct"
    assert listed["image"]["name"] == image.name
    assert not (tmp_path / "case.json").exists()


def test_all_users_can_read_it_under_any_umask(tmp_path: Path) -> None:
    import os

    before = os.umask(0o077)
    try:
        write_case(small_volume(), "case-1", tmp_path, RunContract(command=("x",)))
    finally:
        os.umask(before)
    assert all(path.stat().st_mode & 0o004 for path in tmp_path.rglob("*"))


def test_what_others_lay_out_has_only_the_image(tmp_path: Path) -> None:
    write_case(small_volume(), "case-1", tmp_path, RunContract(command=("x",), profile="medperf"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ct.mhd", "ct.raw"]
