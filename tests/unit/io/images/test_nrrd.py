"""NRRD files: as another program reads and writes them, and what is wrong with them is told."""

import zlib
from pathlib import Path

import numpy as np
import pytest

from builders.drawn import GRIDS, grid
from nodulebench.core.errors import InputError
from nodulebench.io.images.nrrd import Nrrd, read_nrrd, write_nrrd

HEADER = """NRRD0005
# a comment: nothing
type: short
dimension: 3
space: right-anterior-superior
sizes: 2 3 1
space directions: (0.5,0,0) (0,1,0) (0,0,2)
kinds: domain domain domain
endian: big
encoding: raw
space origin: (1,-2,3)
Segment0_Name:=a: b := c

"""


def written(path: Path, header: str = HEADER, content: bytes | None = None) -> Path:
    voxels = np.arange(6, dtype=">i2").tobytes() if content is None else content
    path.write_bytes(header.encode() + voxels)
    return path


def test_a_file_by_hand_in_other_axes_and_byte_order(tmp_path: Path) -> None:
    nrrd = read_nrrd(written(tmp_path / "a.nrrd"))
    assert nrrd.labels.tolist() == [[[[0, 1], [2, 3], [4, 5]]]]
    assert nrrd.geometry.origin_mm.tolist() == [-1, 2, 3]
    assert nrrd.geometry.spacing_mm.tolist() == [0.5, 1, 2]
    assert nrrd.geometry.direction.tolist() == np.diag([-1.0, -1.0, 1.0]).tolist()
    assert nrrd.pairs == {"Segment0_Name": "a: b := c"}


@pytest.mark.parametrize("direction", list(GRIDS))
def test_another_program_reads_the_same_places(direction: str, tmp_path: Path) -> None:
    simpleitk = pytest.importorskip("SimpleITK")
    where = grid(GRIDS[direction])
    labels = np.random.default_rng(2).integers(0, 3, (1, 9, 20, 24)).astype(np.uint8)
    write_nrrd(Nrrd(labels, where, {"Segment0_Name": "x"}), tmp_path / "a.seg.nrrd")
    image = simpleitk.ReadImage(str(tmp_path / "a.seg.nrrd"))
    assert np.array_equal(simpleitk.GetArrayFromImage(image), labels[0])
    place = image.TransformIndexToPhysicalPoint((3, 5, 7))
    assert place == pytest.approx(where.to_world(np.array([[3.0, 5.0, 7.0]]))[0].tolist())
    simpleitk.WriteImage(image, str(tmp_path / "b.nrrd"), True)
    again = read_nrrd(tmp_path / "b.nrrd")
    assert np.array_equal(again.labels, labels)
    assert again.geometry.origin_mm == pytest.approx(where.origin_mm)
    assert again.geometry.direction == pytest.approx(where.direction)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("NRRD0005", "NIFTI", "not an NRRD file"),
        ("type: short", "type: float", "whole numbers"),
        ("sizes: 2 3 1", "sizes: 2 3", "three dimensions"),
        ("sizes: 2 3 1", "sizes: 2 3 x", "three dimensions"),
        ("sizes: 2 3 1", "sizes: 99999 99999 99999", "no CT is so large"),
        ("encoding: raw", "encoding: bzip2", "gzip"),
        ("encoding: raw", "encoding: gzip", "damaged"),
        ("space: right-anterior-superior", "space: scanner-xyz", "LPS, RAS or LAS"),
        ("(0,1,0)", "(0,1)", "where its voxels are"),
        ("(0,1,0)", "(0.5,1,0)", "right angles"),
        ("(1,-2,3)", "(1,nan,3)", "where its voxels are"),
        ("kinds:", "data file: /etc/passwd\nkinds:", "another file"),
    ],
)
def test_what_is_wrong_is_reported(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.nrrd", HEADER.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_nrrd(path)


def test_no_more_is_unpacked_than_the_header_asks_for(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(bytes(50_000_000)) + packer.flush()
    header = HEADER.replace("encoding: raw", "encoding: gzip")
    with pytest.raises(InputError, match="13 bytes of voxels"):
        read_nrrd(written(tmp_path / "a.nrrd", header, bomb))
