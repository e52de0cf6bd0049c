"""Cases with geometry."""

from pathlib import Path

import polars as pl
import pytest

from builders.dicom import MIRRORED, TURNED, write_series
from nodulebench.core.tables import CASES
from nodulebench.io.formats import read_cases


@pytest.fixture
def cases() -> pl.DataFrame:
    """Cases a and b: 100 voxels each way, from (-50, -50, -100) in steps of 1, 1 and 2 mm."""
    rows = pl.DataFrame({"case_id": ["a", "b"]}).with_columns(
        **{f"size_{axis}": pl.lit(100) for axis in "xyz"},
        spacing_x_mm=1.0,
        spacing_y_mm=1.0,
        spacing_z_mm=2.0,
        origin_x_mm=-50.0,
        origin_y_mm=-50.0,
        origin_z_mm=-100.0,
    )
    return CASES.conform(rows, "cases")


@pytest.fixture
def axial(tmp_path: Path) -> pl.DataFrame:
    """A case of 12 axial DICOM images in the folder ``ct``."""
    write_series(tmp_path / "ct")
    return read_cases(tmp_path / "ct")


@pytest.fixture(params=[None, TURNED, MIRRORED], ids=["axial", "oblique", "half turn"])
def scanned(request: pytest.FixtureRequest, tmp_path: Path) -> pl.DataFrame:
    """The same, also with slices that lie oblique, and with rows and columns turned."""
    write_series(tmp_path / "ct", direction=request.param)
    return read_cases(tmp_path / "ct")
