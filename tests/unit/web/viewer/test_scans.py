"""Finding the scans of a folder in all their formats."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from builders.dicom import series_header, write_series
from builders.reading import ball, write_scans
from nodulebench.core.errors import InputError
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.volume import Volume
from nodulebench.io.dicom.volumes import write_volume
from nodulebench.io.images.case_images import read_case
from nodulebench.web.viewer.scans import scans_in


def test_images_and_dicom_series_of_a_folder_are_scans(tmp_path: Path) -> None:
    folder = write_scans(tmp_path / "scans", "b", "a")
    uid = write_series(folder / "dicom")
    scans = scans_in(folder)
    assert [scan.case_id for scan in scans] == ["a", "b", uid]
    assert [file.name for file in scans[0].files] == ["a.mhd", "a.zraw"]
    assert len(scans[2].files) == 12
    assert scans[2].images == folder / "dicom"
    assert [scan.read().shape for scan in scans] == [(24, 60, 64)] * 2 + [(12, 40, 50)]


def test_a_single_file_or_series_can_be_read(tmp_path: Path) -> None:
    folder = write_scans(tmp_path, "a", "b")
    uid = write_series(tmp_path / "dicom")
    assert [scan.case_id for scan in scans_in(folder / "a.mhd")] == ["a"]
    assert [scan.case_id for scan in scans_in(tmp_path / "dicom")] == [uid]


def test_a_test_set_lists_its_scans(tmp_path: Path) -> None:
    write_scans(tmp_path / "images", "b", "a")
    assert [scan.case_id for scan in scans_in(tmp_path)] == ["a", "b"]


def test_empty_folders_and_duplicate_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no DICOM CT images"):
        scans_in(tmp_path)
    write_scans(tmp_path / "one", "a")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with pytest.raises(InputError, match="holds two scans named 'a'"):
        scans_in(tmp_path)


def test_slices_of_a_tilted_gantry_keep_their_grid(tmp_path: Path) -> None:
    lean = np.array([[1.0, 0, 0], [0, 1, np.sin(0.2)], [0, 0, np.cos(0.2)]])
    straight = ball(size=(20, 20, 8))
    grid = straight.geometry
    tilted = Geometry(grid.spacing_mm, grid.origin_mm, lean, grid.size)
    write_volume(Volume(straight.hu, tilted), tmp_path / "tilted", series_header("tilted"))
    (scan,) = scans_in(tmp_path)
    assert np.allclose(scan.read().geometry.direction, lean, atol=1e-4)
    with pytest.raises(InputError, match="tilted gantry"):
        read_case(tmp_path / "tilted")
