import io
import lzma
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.tables import case, nodule, reference
from nodulebench.errors import InputError
from nodulebench.formats.lidc.nodule_blocks import findings_inside, read_blocks
from nodulebench.formats.marks.luna16_csv import read_reference

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


def test_a_damaged_or_missing_archive_is_told_in_a_line(tmp_path):
    folder = write_blocks(tmp_path, b1=voxels())
    whole = (folder / "fold0.npz.xz").read_bytes()
    for damaged in (whole[:-30], b"text", lzma.compress(b"no archive"), lzma.compress(b"PK\x03")):
        (folder / "fold0.npz.xz").write_bytes(damaged)
        assert "is no xz-packed numpy archive" in message_of(folder)
    (folder / "fold0.npz.xz").unlink()
    assert "fold0.npz.xz: cannot be read: No such file" in message_of(folder)


def test_the_published_blocks_hold_the_nodules_that_their_table_counts(luna16_data):
    folder = luna16_data.parent / "nodule_blocks"
    if not folder.is_dir():
        pytest.skip(f"no nodule blocks at {folder}; set NODULEBENCH_TEST_DATA")
    truth = read_reference(luna16_data)
    counted = pl.read_csv(folder / "blocks.csv").filter(pl.col("fold") == 3)
    blocks = list(read_blocks(folder, [3]))
    assert [block.block_id for block in blocks] == counted["block_id"].to_list()
    found = [findings_inside(block, truth).filter(~pl.col("is_ignored")).height for block in blocks]
    assert found == counted["luna16_nodules_inside"].to_list()
