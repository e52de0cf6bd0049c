"""Label maps in NIfTI: as another program reads them; 8-bit ones, and those without a table."""

from pathlib import Path

import numpy as np
import pytest

from builders.drawn import GRIDS, drawn, grid, held
from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import Volume
from nodulebench.io.images.nifti import read_labels, write_volume
from nodulebench.io.images.nifti_labels import read_readings, write_readings

BOTH = {("a", "anna", "x"): {(5, 5, 2), (6, 5, 2)}, ("a", "anna", "y"): {(9, 5, 2)}}


@pytest.mark.parametrize("direction", list(GRIDS))
def test_another_program_sees_the_numbers_at_the_same_places(
    direction: str, tmp_path: Path
) -> None:
    simpleitk = pytest.importorskip("SimpleITK")
    where = grid(GRIDS[direction])
    write_readings(drawn({"a": where}, BOTH), tmp_path / "out")
    image = simpleitk.ReadImage(str(tmp_path / "out" / "anna" / "a.nii.gz"))
    place = where.to_world(np.array([[9.0, 5.0, 2.0]]))[0].tolist()
    assert image.GetPixel(image.TransformPhysicalPointToIndex(place)) == 2


def test_the_table_names_the_numbers(tmp_path: Path) -> None:
    write_readings(drawn({"a": grid(GRIDS["plain"])}, BOTH, subtlety=3), tmp_path / "out")
    lines = (tmp_path / "out" / "labels.csv").read_text().splitlines()
    assert lines[0].startswith("reader_id,case_id,label,finding_id,kind")
    assert lines[1].startswith("anna,a,1,x,nodule")


def test_a_bare_8_bit_map_has_a_finding_for_each_number(tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel")
    labels = np.zeros((4, 5, 6), dtype=np.uint8)
    labels[1, 2, 3], labels[2, 2, 3] = 1, 200
    nibabel.save(nibabel.Nifti1Image(labels, np.eye(4)), tmp_path / "a.nii.gz")
    assert held(read_readings(tmp_path)) == {("a", "1"): {(1, 2, 3)}, ("a", "200"): {(2, 2, 3)}}


def test_what_is_not_a_label_map_and_what_overlaps_is_refused(tmp_path: Path) -> None:
    where = grid(GRIDS["plain"])
    parts = np.full((9, 20, 24), 0.5, dtype=np.float32)
    write_volume(Volume(parts, where), tmp_path / "a.nii.gz")
    with pytest.raises(InputError, match="not whole numbers"):
        read_labels(tmp_path / "a.nii.gz")
    twice = {("a", "anna", "x"): {(5, 5, 2)}, ("a", "anna", "y"): {(5, 5, 2)}}
    with pytest.raises(InputError, match="overlaps another"):
        write_readings(drawn({"a": where}, twice), tmp_path / "out")
    assert not (tmp_path / "out").exists()
