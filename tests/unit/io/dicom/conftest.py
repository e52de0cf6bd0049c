import polars as pl
import pytest


@pytest.fixture
def cases(scanned: pl.DataFrame) -> pl.DataFrame:
    """CT series whose slices are axial, oblique, or turned."""
    return scanned
