"""Lists of candidates, as people have them -> places by case."""

from pathlib import Path

import polars as pl

from nodulebench.core.tables import PLACE
from nodulebench.io.csv_files import read_header
from nodulebench.io.formats import read_submission
from nodulebench.io.marks.luna16_candidates import read_candidates

_LISTED = {"seriesuid", "coordX", "coordY", "coordZ"}


def read_places(path: Path) -> pl.DataFrame:
    """Candidates with case_id, x_mm, y_mm, z_mm, score and diameter_mm (null: not given).

    Args:
        path: LUNA16's candidates.csv or candidates_V2.csv, or marks in any format.

    Raises:
        InputError: with every problem of the file.
    """
    is_table = path.is_file() and path.name.endswith((".csv", ".csv.gz"))
    header = set(read_header(path)) if is_table else set()
    if header >= _LISTED and "probability" not in header:
        none = pl.lit(None, dtype=pl.Float64)
        return read_candidates(path).select("case_id", *PLACE, score=none, diameter_mm=none)
    return read_submission(path).marks.select("case_id", *PLACE, "score", "diameter_mm")
