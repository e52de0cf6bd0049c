"""Read and write NoduleBench tables in Parquet or CSV files, checked against their schemas."""

import math
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from nodulebench.core.arrays import StoredArray
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import CASES
from nodulebench.io.atomic import staged_file
from nodulebench.io.csv_files import CsvFile, write_csv

TABLE_SUFFIXES = (".parquet", ".csv", ".csv.gz")
_PARQUET_MARKS = {b"PAR1", b"PARE"}
LARGEST_ARRAY_BYTES = 1 << 30
"""Of one array in an archive; a larger one is probably an attack on the memory."""


def read_table(source: Path | CsvFile, schema: TableSchema) -> pl.DataFrame:
    file = CsvFile.of(source)
    path = file.path
    if path.suffix == ".parquet":
        return schema.conform(read_parquet(path), path.name)
    listed = [column.name for column in (*schema.columns, *schema.further)]
    needed = [column.name for column in schema.columns if column.is_required]
    header = file.header(listed, needed=needed)
    raw = file.read_strings(header)
    rows = raw.with_row_index("_line", offset=2).filter(
        ~pl.all_horizontal(pl.col(raw.columns).is_null())
    )
    further = [name for name in raw.columns if name not in listed]
    table = rows.drop("_line").with_columns(_as_number(rows[name]) for name in further)
    return schema.conform(table, path.name, rows["_line"])


def write_table(table: pl.DataFrame, path: Path) -> None:
    if path.suffix != ".parquet":
        write_csv(table, path)
        return
    with staged_file(path) as stage:
        write_parquet(table, stage)


def write_parquet(
    table: pl.DataFrame,
    path: Path,
    compression: Literal["lz4", "zstd", "uncompressed"] = "zstd",
    *,
    statistics: bool = True,
) -> None:
    """Write a Parquet file in place; use ``staged_file`` to make it appear whole."""
    buffer = BytesIO()  # on a full disk polars itself would report a file out of specification
    table.write_parquet(buffer, compression=compression, statistics=statistics)
    path.write_bytes(buffer.getbuffer())


def read_arrays(source: Path | BytesIO) -> dict[str, StoredArray]:
    """The arrays of a numpy archive; an array that claims more than its bytes is rejected.

    ValueError also for other content than numbers and text, and for a pipe or a device, which may
    never end.
    """
    import zipfile  # takes 5 ms, which would slow every evaluation

    if isinstance(source, Path) and source.exists() and not source.is_file():
        raise ValueError("it is not a plain file")
    arrays = {}
    with zipfile.ZipFile(source) as archive:
        for part in archive.infolist():
            if part.file_size > LARGEST_ARRAY_BYTES:
                raise ValueError(f"{part.filename} would unpack to {part.file_size:,} bytes")
            with archive.open(part) as file:
                version = np.lib.format.read_magic(file)
                header = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }.get(version)
                if header is None:
                    raise ValueError(f"{part.filename} is of version {version}")
                shape, _, kind = header(file)
                if math.prod(shape) * kind.itemsize != part.file_size - file.tell():
                    raise ValueError(f"{part.filename} states {shape}, but its bytes do not fit")
            with archive.open(part) as file:
                arrays[part.filename.removesuffix(".npy")] = np.lib.format.read_array(
                    file, allow_pickle=False
                )
    return arrays


def read_cases(source: Path | CsvFile) -> pl.DataFrame:
    """CASES from a Parquet or CSV file, with any further columns as strata."""
    return read_table(source, CASES)


def read_parquet(path: Path, content: bytes | None = None) -> pl.DataFrame:
    """Read a Parquet file with any columns, or its content that is already in memory."""
    try:
        return pl.read_parquet(path if content is None else BytesIO(content), glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError.at(
            path, f"is not a readable Parquet file: {reason}.", "Write it again."
        ) from error


def require_no_parquet(path: Path) -> None:
    """Reject a Parquet file, or a folder that holds one, by name or content.

    polars reads Parquet in native code, where a damaged file of 2 kB ends the process. Call this
    before reading files from untrusted sources: participants, and algorithms under test.
    """
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    raise_problems(
        Problem(
            file.name if file == path else file.relative_to(path).as_posix(),
            "is a Parquet file, which is not accepted here.",
            f"Use CSV with the same columns ({file.stem}.csv), or JSON, XLSX or DICOM.",
        )
        for file in files
        if file.is_file() and _is_parquet(file)
    )


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(0, file.seek(0, SEEK_END) - 4))
        return path.suffix.lower() == ".parquet" or bool({start, file.read(4)} & _PARQUET_MARKS)


def _as_number(values: pl.Series) -> pl.Series:
    numbers = values.str.strip_chars().cast(pl.Float64, strict=False)
    return values if numbers.null_count() > values.null_count() else numbers
