"""Content of a file of a test set + names of cases and patients -> the content without them."""

import csv
import io
import json
import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.io.csv_dialect import unmarked

_DELIMITERS = ",;\t"


def without_cases(name: str, content: bytes, ids: Collection[str]) -> bytes | None:
    """A file without whatever it says of some cases.

    Rows of tables go where a cell is one of the names, entries of JSON where they are named by one
    or hold it as a value.

    Args:
        name: of the file, whose suffix says what it is.
        content: of the file.
        ids: names of cases, and of their patients.

    Returns:
        The content, the very same where it does not speak of them; None: it does, in a form that
        cannot be taken apart, so that the file has to go as a whole.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".parquet":
        return _parquet(name, content, ids)
    if not _is_named(content, ids):
        return content
    kept: bytes | None = None
    if suffix == ".csv":
        kept = _csv(content, set(ids))
    elif suffix == ".json":
        kept = _json(content, set(ids))
    return None if kept is None or _is_named(kept, ids) else kept


def _is_named(content: bytes, ids: Collection[str]) -> bool:
    """Whether a text has one of the names as a word: '1.2.3' is none in '1.2.34' or '1.2.3.4'."""
    words = b"|".join(re.escape(one.encode()) for one in ids)
    return re.search(rb"(?<![\w-])(?<!\d\.)(?:" + words + rb")(?![\w-]|\.\d)", content) is not None


def _parquet(name: str, content: bytes, ids: Collection[str]) -> bytes:
    try:
        table = pl.read_parquet(io.BytesIO(content), glob=False)
    except pl.exceptions.PolarsError as error:
        raise InputError.at(name, f"cannot be read as a table: {error}.") from error
    texts = [column for column, kind in table.schema.items() if kind == pl.String]
    if not texts:
        return content
    named = pl.any_horizontal(pl.col(column).is_in(list(ids)).fill_null(False) for column in texts)
    kept = table.filter(~named)
    if kept.height == table.height:
        return content
    buffer = io.BytesIO()
    kept.write_parquet(buffer)
    return buffer.getvalue()


def _csv(content: bytes, ids: set[str]) -> bytes | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    out = io.StringIO()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows(row for row in rows if not any(unmarked(one.strip()) in ids for one in row))
    return out.getvalue().encode()


def _json(content: bytes, ids: set[str]) -> bytes | None:
    try:
        found = json.loads(content)
    except ValueError:
        return None
    return (json.dumps(_without(found, ids), indent=1, ensure_ascii=False) + "\n").encode()


def _without(value: Any, ids: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(one, ids) for name, one in value.items() if name not in ids}
    if isinstance(value, list):
        return [_without(one, ids) for one in value if not _names(one, ids)]
    return value


def _names(value: Any, ids: set[str]) -> bool:
    if isinstance(value, dict):
        return any(isinstance(one, str) and one in ids for one in value.values())
    return isinstance(value, str) and value in ids
