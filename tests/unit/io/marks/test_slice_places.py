"""slice_index and z_mm that contradict each other are refused, with geometry and without."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from nodulebench import read_reference, read_submission
from nodulebench.core.errors import InputError
from nodulebench.io.marks.boxes import require_no_contradictions

HEADER = "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\n"
OTHERS = "slice_index and z_mm do not agree with the other boxes of the case."


def read(folder: Path, *rows: str) -> None:
    file = folder / "truth.csv"
    file.write_text(HEADER + "".join(f"{row},1,1,1,1\n" for row in rows))
    read_reference(file)


def refused(folder: Path, *rows: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, *rows)
    return str(caught.value).splitlines()


def test_slices_that_rise_evenly_are_taken(tmp_path: Path) -> None:
    read(tmp_path, "a,n,3,-100", "a,n,4,-98.8", "a,m,9,-92.5", "b,n,1,7", "b,m,1,7.2")


def test_slices_counted_from_the_head_are_refused(tmp_path: Path) -> None:
    remedy = "Count slices from 0 at the feet, and give z_mm in LPS."
    assert refused(tmp_path, "a,n,3,-100", "a,n,4,-101.25") == [
        f"truth.csv line 2: {OTHERS} {remedy}",
        f"truth.csv line 3: {OTHERS} {remedy}",
    ]


def test_one_slice_has_one_height(tmp_path: Path) -> None:
    assert OTHERS in refused(tmp_path, "a,n,3,-100", "a,m,3,-97")[0]
    assert OTHERS in refused(tmp_path, "a,n,3,-100", "a,m,8,-100")[0]


def test_a_box_off_the_line_of_the_others_is_found(tmp_path: Path) -> None:
    rows = [f"a,n{index},{index},{index * 2.5 - 300}" for index in range(0, 60, 3)]
    lines = refused(tmp_path, *rows, "a,late,30,-180")
    assert lines[-1].startswith("truth.csv line 22")


@example(spacing=0.40625, start=0.0, numbers=[0, 1, 33], seed=1)
@given(
    spacing=some.floats(0.4, 5),
    start=some.floats(-1000, 1000),
    numbers=some.lists(some.integers(0, 600), min_size=1, max_size=30),
    seed=some.integers(0, 99),
)
def test_any_grid_is_taken_with_heights_rounded_to_a_tenth(
    spacing: float, start: float, numbers: list[int], seed: int
) -> None:
    rounding = np.random.default_rng(seed).uniform(-0.05, 0.05, len(numbers))
    slices = pl.DataFrame(
        {
            "case_id": ["a"] * len(numbers),
            "slice_index": numbers,
            "z_mm": start + spacing * np.array(numbers) + rounding,
        }
    )
    require_no_contradictions(slices, {}, "slices")


def test_the_slices_of_a_folder_are_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "marks.csv").write_text("case_id,mark_id,x_mm,y_mm,z_mm,score\na,m,1,1,1,1\n")
    (tmp_path / "mark_slices.csv").write_text(
        "case_id,mark_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\n"
        "a,m,3,1,1,1,1,1\na,m,4,0,1,1,1,1\n"
    )
    with pytest.raises(InputError, match=r"mark_slices\.csv row 1: slice_index and z_mm do not"):
        read_submission(tmp_path)
