import io
import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.tables import case, nodule, reference
from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import make_volume
from nodulebench.io.lidc_blocks import (
    MARGIN_MM,
    Block,
    findings_inside,
    read_blocks,
    trimmed,
)
from nodulebench.io.marks.luna16 import read_reference

HEADER = (
    "block_id,seriesuid,fold,origin_x_mm,origin_y_mm,origin_z_mm,"
    "spacing_x_mm,spacing_y_mm,spacing_z_mm,size_x,size_y,size_z\n"
)
ROWS = "b1,scan,0,10,20,-30,1,1,2.5,4,3,2\nb2,other,1,0,0,0,1,1,1,2,2,2\n"


def write_blocks(folder: Path, **arrays: np.ndarray) -> Path:
    (folder / "blocks.csv").write_text(HEADER + ROWS)
    held = io.BytesIO()
    np.savez(held, **arrays)
    with lzma.open(folder / "fold0.npz.xz", "wb") as file:
        file.write(held.getvalue())
    return folder


def voxels() -> np.ndarray:
    values = np.zeros((2, 3, 4), dtype=np.uint8)
    values[1, 2, 3] = 127
    values[0, 0, 1] = 64
    return values


def test_bytes_become_hounsfield_units_at_their_place_in_the_patient(tmp_path):
    (block,) = read_blocks(write_blocks(tmp_path, b1=voxels()), [0])
    assert (block.block_id, block.series, block.fold) == ("b1", "scan", 0)
    assert block.volume.hu.dtype == np.int16
    assert block.volume.hu[1, 2, 3] == 16 * 127 - 1024 == 1008
    assert block.volume.hu[0, 0, 1] == 0
    assert block.volume.hu[0, 0, 0] == -1024
    # the voxel in column 3, row 2, slice 1
    assert np.allclose(block.volume.geometry.to_world(np.array([[3.0, 2.0, 1.0]])), [13, 22, -27.5])


def test_only_findings_of_the_scan_inside_the_block_are_its_own(tmp_path):
    (block,) = read_blocks(write_blocks(tmp_path, b1=voxels()), [0])
    truth = reference(
        case(
            "scan",
            nodule(6, at=(12, 21, -29)),
            nodule(6, at=(15, 21, -29)),
            nodule(None, at=(11, 20, -28), is_ignored=True),
        ),
        case("other", nodule(6, at=(12, 21, -29))),
    )
    inside = findings_inside(block, truth)
    assert inside["case_id"].to_list() == ["b1", "b1"]
    assert inside["x_mm"].to_list() == [12, 11]
    assert inside["is_ignored"].to_list() == [False, True]


def message_of(folder: Path) -> str:
    with pytest.raises(InputError) as raised:
        list(read_blocks(folder, [0]))
    return str(raised.value)


def test_a_block_that_the_archive_lacks_is_named(tmp_path):
    assert "lacks the block 'b1' of blocks.csv" in message_of(write_blocks(tmp_path, b3=voxels()))


def test_a_block_of_another_shape_or_type_is_refused(tmp_path):
    assert "has (2, 3) voxels of type uint8, not (2, 3, 4) bytes" in message_of(
        write_blocks(tmp_path, b1=voxels()[:, :, 0])
    )
    assert "voxels of type float64, not (2, 3, 4) bytes" in message_of(
        write_blocks(tmp_path, b1=voxels() * 1.0)
    )


def test_a_damaged_or_missing_archive_is_reported_in_a_line(tmp_path):
    folder = write_blocks(tmp_path, b1=voxels())
    whole = (folder / "fold0.npz.xz").read_bytes()
    for damaged in (whole[:-30], b"text", lzma.compress(b"no archive"), lzma.compress(b"PK\x03")):
        (folder / "fold0.npz.xz").write_bytes(damaged)
        assert "is not an xz-packed numpy archive" in message_of(folder)
    (folder / "fold0.npz.xz").unlink()
    assert "fold0.npz.xz: cannot be read: No such file" in message_of(folder)


@pytest.mark.slow
def test_the_published_blocks_hold_the_nodules_that_their_table_counts(luna16_data):
    folder = luna16_data.parent / "nodule_blocks"
    if not folder.is_dir():
        pytest.skip(f"no nodule blocks at {folder}; set NODULEBENCH_TEST_DATA")
    truth = read_reference(luna16_data)
    counted = pl.read_csv(folder / "blocks.csv").filter(pl.col("fold") == 3)
    blocks = list(read_blocks(folder, [3]))
    assert [block.block_id for block in blocks] == counted["block_id"].to_list()
    result = [
        findings_inside(block, truth).filter(~pl.col("is_ignored")).height for block in blocks
    ]
    assert result == counted["luna16_nodules_inside"].to_list()


@pytest.mark.parametrize("seed", range(5))
def test_a_block_is_cut_next_to_its_nodules_never_into_them(seed):
    volume = make_volume(
        np.arange(64 * 64 * 26).reshape(26, 64, 64) % 1000,
        spacing_mm=(1, 1, 2.5),
        origin_mm=(-20, 5, 300),
    )
    block = Block("b", "scan", 0, volume)
    truth = reference(case("scan", nodule(8, at=(10, 36, 330)), nodule(5, at=(-18, 50, 320))))
    inside = findings_inside(block, truth)
    cut = trimmed(block, inside, seed)
    assert findings_inside(cut, truth).height == 2
    assert trimmed(block, inside, seed).volume.shape == cut.volume.shape
    geometry = cut.volume.geometry
    # the second nodule is nearer than the margin to the left face, which therefore stays
    assert geometry.origin_mm[0] == -20
    last = geometry.to_world((np.array(cut.volume.hu.shape[::-1]) - 1.0)[None])[0]
    assert (last - [10, 50, 330] >= np.array([4, 2.5, 4]) + MARGIN_MM).all()
    # voxels stay at their places
    index = np.array([[3.0, 4.0, 2.0]])
    column, row, number = volume.geometry.to_index(geometry.to_world(index))[0].round().astype(int)
    assert cut.volume.hu[2, 4, 3] == volume.hu[number, row, column]


def test_cuts_differ_between_blocks_and_seeds():
    volume = make_volume(np.zeros((64, 64, 64), np.int16), spacing_mm=(1, 1, 1))
    truth = reference(case("scan", nodule(6, at=(32, 32, 32))))
    block = Block("b", "scan", 0, volume)
    inside = findings_inside(block, truth)
    shapes = {
        trimmed(replace(block, block_id=name), inside, seed).volume.shape
        for name in ("b", "c")
        for seed in (1, 2)
    }
    assert len(shapes) == 4
    assert all(24 <= length <= 64 for shape in shapes for length in shape)
