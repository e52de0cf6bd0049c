"""Read and write comma-separated text as tables, with clear messages for malformed files."""

import csv
import gzip
import hashlib
import io
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl

from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.io.atomic import staged_file

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""The characters that may separate columns, and their names."""
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*", re.ASCII)
FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
"""Text that a spreadsheet would run as a formula, or that an apostrophe already protects."""
MARKED = r"^'('*[=+\-@\t\r\n＝＋－＠])"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_FORMULA, _MARKED, _NUMBER = map(re.compile, (FORMULA, MARKED, NUMBER))
_NO_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file separates columns and writes fractions."""

    separator: str = ","
    has_decimal_comma: bool = False

    @property
    def word(self) -> str:
        return SEPARATORS[self.separator]


def marked(cell: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would take it for a formula.

    Numbers stay. A text that already looks marked gets one more apostrophe, so that ``unmarked``
    restores every text.
    """
    is_formula = _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def unmarked(cell: str) -> str:
    """A text as it was before ``marked``."""
    return _MARKED.sub(r"\1", cell)


def simple_name(name: str) -> str:
    """A column's name without case, spaces, dashes and underscores."""
    return _NO_LETTERS.sub("", name).lower()


def spelt(
    header: Sequence[str], wanted: Iterable[str], given: Mapping[str, str] | None = None
) -> list[str]:
    """The header, in our spelling where it has wanted names in another spelling.

    Args:
        header: the names in the file.
        wanted: our names.
        given: our name -> its name in the file, where the user named them.
    """
    if given is not None:
        renamed = {theirs: ours for ours, theirs in given.items()}
        # a column that has one of our names but is not the named one must not be read as ours
        return [renamed.get(name, f"{name}?" if name in given else name) for name in header]
    missing = {simple_name(name): name for name in wanted if name not in header}
    if not missing:
        return list(header)
    simple = [simple_name(name) for name in header]
    return [
        missing.get(plain, name) if simple.count(plain) == 1 else name
        for name, plain in zip(header, simple, strict=True)
    ]


def plain_csv(text: str, dialect: Dialect, header: Sequence[str]) -> bytes:
    """Rewrite a text with commas between columns, decimal points and another header.

    The lines stay.

    Raises:
        csv.Error: if it is not separated text.
    """
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    rows = csv.reader(io.StringIO(text), delimiter=dialect.separator, strict=True)
    next(rows, None)
    write(header)
    for row in rows:
        write([_with_point(cell) for cell in row] if dialect.has_decimal_comma else row)
    return out.getvalue().encode()


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


_LONGEST_LINE_BYTES = 1 << 20
_MOST_NAMED = 10
_CSV_PROBLEMS_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_is_plain_number = re.compile(r"[+-]?\d{1,300}(\.\d*)?", re.ASCII).fullmatch


class _UnusableLineError(ValueError):
    """A line after which nothing more can be read."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


def is_table(header: Sequence[str]) -> bool:
    """Whether a header may be quoted: the first line of another file may be a secret."""
    return len(header) > 1


def _found(header: Sequence[str]) -> str:
    return f"; found: {', '.join(header[:12])}" if is_table(header) else ""


def row_problems(
    file: BinaryIO,
    name: str,
    header: Sequence[str],
    case_column: str,
    required: Sequence[str],
    numbers: Sequence[str],
    known_cases: pl.Series | None,
) -> list[Problem]:
    """Read a file of any size line by line and list the rows that cannot be used.

    Args:
        file: the bytes of the file, from its header line on.
        name: its name, for messages.
        header: its column names.
        case_column: the column that names the case.
        required: the columns of numbers that may not be empty.
        numbers: all columns of numbers.
        known_cases: rows of other cases are skipped; None: every row counts.
    """
    known = None if known_cases is None else frozenset(known_cases)
    place = {column: header.index(column) for column in (case_column, *numbers)}
    case, width = place[case_column], len(header)
    number_places = [place[column] for column in numbers]
    problems = Problems()
    counts: Counter[str] = Counter()
    try:
        for line, row in _rows(file):
            if (
                len(row) == width
                and row[case]
                and all(_is_plain_number(row[index]) for index in number_places)
            ):
                continue  # nearly every row of a large file: a quick check pays
            if not row or (known is not None and unmarked(_cell(row, case)) not in known):
                continue
            for group, what, remedy in _row_complaints(row, width, case_column, required, place):
                counts[group] += 1
                if counts[group] <= _MOST_NAMED:
                    problems.add(f"{name} line {line}", what, remedy)
    except _UnusableLineError as error:
        problems.add(f"{name} line {error.line}", str(error))
    for group, number in counts.items():
        if number > _MOST_NAMED:
            where = f" in {group}" if group else ""
            problems.add(name, f"{number - _MOST_NAMED} more rows like this{where}.")
    return problems


def _rows(file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    """The rows under the header, each with the line it starts on."""
    reader = csv.reader(_lines(file), strict=True)
    line = 1
    try:
        for row in reader:
            if line > 1:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise _UnusableLineError(line, f"is not comma-separated text ({error}).") from error


def _lines(file: BinaryIO) -> Iterator[str]:
    for number in count(1):
        line = file.readline(_LONGEST_LINE_BYTES)
        if not line:
            return
        if len(line) == _LONGEST_LINE_BYTES and not line.endswith(b"\n"):
            raise _UnusableLineError(number, f"is longer than {_LONGEST_LINE_BYTES >> 20} MB.")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise _UnusableLineError(number, "is not UTF-8 text.") from error


def _row_complaints(
    row: list[str], width: int, case_column: str, required: Sequence[str], place: dict[str, int]
) -> Iterator[tuple[str, str, str]]:
    if any(row[width:]):
        what = f"has {len(row)} values, but the header names {width} columns."
        yield "", what, "Is there a comma inside a value? Quote the value, and write 1.5, not 1,5."
        return
    if not _cell(row, place[case_column]):
        yield case_column, f"{case_column} is empty.", "Fill it in for every row."
    for column, index in place.items():
        if column == case_column:
            continue
        value = _cell(row, index).strip()
        if not value and column in required:
            what = f"{column} is missing; the row is cut short or empty there."
            yield column, what, "Complete the row or remove it."
        elif value and not (_CSV_PROBLEMS_NUMBER.fullmatch(value) and math.isfinite(float(value))):
            what = f"{column} '{value[:60]}' is not a finite number."
            yield column, what, "Correct the value or remove the row."


def _cell(row: list[str], index: int) -> str:
    return row[index] if index < len(row) else ""


_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 1 << 16
_MOST_UNPACKED_BYTES = 1 << 33
_HIGHEST_GZIP_RATIO = 1032  # deflate cannot pack better
_OTHER_KINDS = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it is gzipped."""
    with _reading(path), path.open("rb") as plain:
        is_gzip = plain.read(2) == _GZIP
        plain.seek(0)
        yield cast("BinaryIO", gzip.GzipFile(fileobj=plain)) if is_gzip else plain


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Report what goes wrong while a file is read or unpacked."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError.at(
            path, f"is a damaged gzip file ({error}).", "Compress it again."
        ) from error
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror}.") from error


class CsvFile:
    """A CSV file, also gzipped, which is opened once: every method works on the same bytes.

    Columns may be separated by semicolons or tabs (numbers may then have decimal commas), and names
    may differ in case and punctuation. Every method raises InputError if the file is missing,
    empty, not text, or its first line has no end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._content: bytes | None = None

    @classmethod
    def of(cls, source: "Path | CsvFile") -> "CsvFile":
        """The file itself, or that of a path."""
        return source if isinstance(source, CsvFile) else cls(source)

    @property
    def content(self) -> bytes:
        """Its bytes as they are stored, so packed if it is gzipped."""
        if self._content is None:
            with _reading(self.path):
                self._content = self.path.read_bytes()
        return self._content

    @property
    def digest(self) -> str:
        """The digest of its bytes, as ``file_digest`` gives it."""
        return "sha256:" + hashlib.sha256(self.content).hexdigest()

    @contextmanager
    def unpacked(self) -> Iterator[BinaryIO]:
        """A stream of its bytes, unpacked where it is gzipped."""
        content = self.content
        with _reading(self.path), BytesIO(content) as plain:
            is_gzip = content.startswith(_GZIP)
            yield cast("BinaryIO", gzip.GzipFile(fileobj=plain)) if is_gzip else plain

    @cached_property
    def start(self) -> bytes:
        """Its first bytes, unpacked; of a file of another kind no more is read."""
        start = self._content
        if start is None:
            with _reading(self.path), self.path.open("rb") as file:
                start = file.read(_HEAD_BYTES)
                is_text = b"\x00" not in start and not start.lstrip().startswith((b"{", b"["))
                if is_text or start.startswith(_GZIP):
                    self._content = start + file.read()
        if not start.startswith(_GZIP):
            return start[:_HEAD_BYTES]
        with self.unpacked() as file:
            return file.read(_HEAD_BYTES)

    @cached_property
    def first_line(self) -> str:
        """Its first line, without the line end."""
        path, start = self.path, self.start
        if not start:
            remedy = "A submission without marks still needs its header."
            raise InputError.at(path, "is empty.", remedy)
        for first, kind in _OTHER_KINDS.items():
            if start.startswith(first):
                what = f"is {kind}, not comma-separated text."
                raise InputError.at(path, what, "Save it as UTF-8 CSV.")
        if b"\x00" in start:
            raise InputError.at(path, "is a binary file, not comma-separated text.")
        line, end, _ = start.partition(b"\n")
        if not end and len(start) == _HEAD_BYTES:
            raise InputError.at(path, f"has no line break in its first {_HEAD_BYTES >> 10} kB.")
        try:
            return line.decode("utf-8-sig").rstrip("\r")
        except UnicodeDecodeError as error:
            where = f"{path.name} line 1"
            raise InputError.at(where, "is not UTF-8 text.", "Save it as UTF-8.") from error

    @cached_property
    def dialect(self) -> Dialect:
        """The separator that its header has most often, and how its first bytes write fractions."""
        separator = max(SEPARATORS, key=self.first_line.count)
        if separator == ",":
            return Dialect()
        _, *rows = self.start.decode("utf-8", "replace").splitlines() or [""]
        cells = (cell for row in rows for cell in row.split(separator))
        return Dialect(separator, any(map(_DECIMAL_COMMA.fullmatch, cells)))

    @cached_property
    def _names(self) -> list[str]:
        try:
            reader = csv.reader([self.first_line], delimiter=self.dialect.separator)
            header = next(reader, [])
        except csv.Error as error:
            what = f"is not comma-separated text ({error})."
            remedy = "End lines with a line feed."
            raise InputError.at(f"{self.path.name} line 1", what, remedy) from error
        repeated = [name for name, count in Counter(header).items() if count > 1]
        raise_problems(
            Problem(str(self.path), f"column '{name}' occurs twice in the header.")
            for name in repeated
        )
        return header

    def header(
        self,
        wanted: Iterable[str] = (),
        given: Mapping[str, str] | None = None,
        *,
        needed: Sequence[str] = (),
    ) -> list[str]:
        """Its column names, wanted and needed names in our spelling.

        Args:
            wanted: names that may have another spelling (case, spaces, underscores).
            given: our name -> its name in this file, which must exist.
            needed: our names that must exist.
        """
        written = [unmarked(name) for name in self._names]
        header = spelt(written, (*needed, *wanted), given)
        required = (written, tuple((given or {}).values())), (header, tuple(needed))
        for names, requirement in required:
            raise_problems(
                Problem(
                    str(self.path),
                    f"column '{name}' is missing{_found(names)}.",
                    f"Needed: {', '.join(requirement)}.",
                )
                for name in requirement
                if name not in names
            )
        return header

    def _plain(self, header: Sequence[str]) -> bytes:
        """Its content with commas, points and this header, perhaps packed."""
        self._require_unpackable()
        if self.dialect == Dialect() and self._names == list(header):
            return self.content
        try:
            with self.unpacked() as file:
                return plain_csv(file.read().decode("utf-8-sig"), self.dialect, header)
        except (UnicodeDecodeError, csv.Error) as error:
            what = f"cannot be read as text with {self.dialect.word} between columns: {error}."
            raise InputError.at(self.path, what) from error

    def _require_unpackable(self) -> None:
        """Reject a gzip file that would unpack to more than memory can be expected to hold."""
        if len(self.content) * _HIGHEST_GZIP_RATIO <= _MOST_UNPACKED_BYTES:
            return
        with self.unpacked() as file:
            unpacked = 0
            while isinstance(file, gzip.GzipFile) and (chunk := file.read(1 << 24)):
                unpacked += len(chunk)
                if unpacked > _MOST_UNPACKED_BYTES:
                    most = f"{_MOST_UNPACKED_BYTES / 2**30:g} GB"
                    remedy = "Split it, or unpack it first."
                    raise InputError.at(self.path, f"unpacks to more than {most}.", remedy)

    def read_columns(
        self,
        *,
        text: tuple[str, ...],
        numbers: tuple[str, ...] = (),
        optional_text: tuple[str, ...] = (),
        optional_numbers: tuple[str, ...] = (),
        known_cases: pl.Series | None = None,
        given: Mapping[str, str] | None = None,
    ) -> pl.DataFrame:
        """Read named columns; the first column of ``text`` names the case.

        Column order and further columns do not matter, blank lines are skipped. The table has one
        more column ``line``, the line number in the file.

        Args:
            text: required columns of strings.
            numbers: required columns of finite numbers.
            optional_text: columns of strings that are read if present.
            optional_numbers: columns of numbers that are read if present; cells may be empty.
            known_cases: rows of other cases may hold anything: their unreadable numbers become
                null.
            given: our name -> its name in this file; None: the names are ours.

        Raises:
            InputError: with one problem per missing column, unreadable number and truncated row.
        """
        optional = (*optional_text, *optional_numbers)
        header = self.header(optional, given, needed=(*text, *numbers))
        source = self._plain(header)
        strings = [name for name in (*text, *optional_text) if name in header]
        floats = [name for name in (*numbers, *optional_numbers) if name in header]
        try:
            types = dict.fromkeys(strings, pl.String) | dict.fromkeys(floats, pl.Float64)
            table = pl.read_csv(source, glob=False, columns=list(types), schema_overrides=types)
            table = _without_marks(table).with_row_index("line", offset=2)
        except (pl.exceptions.PolarsError, OSError):
            table = None
        if table is None or _is_ambiguous(table, (text[0], *numbers), floats, known_cases):
            with self.unpacked() if source is self.content else BytesIO(source) as file:
                raise_problems(
                    row_problems(
                        file, self.path.name, header, text[0], numbers, floats, known_cases
                    )
                )
            # what remains cannot be read in rows of other cases only
            raw = self.read_strings(header, [*strings, *floats], has_long_rows=True)
            table = (
                raw.with_row_index("line", offset=2)
                .filter(~pl.all_horizontal(pl.col(*strings, *floats).is_null()))
                .with_columns(pl.col(floats).str.strip_chars().cast(pl.Float64, strict=False))
            )
        return table

    def read_strings(
        self,
        header: Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        has_long_rows: bool = False,
    ) -> pl.DataFrame:
        """Read it as text under this header.

        Args:
            header: its column names, as ``header`` gives them.
            columns: the columns to read; None: all.
            has_long_rows: whether rows may have more cells than the header, which are ignored.
        """
        source = self._plain(header)
        with self._parsing():
            table = pl.read_csv(
                source,
                glob=False,
                columns=columns,
                infer_schema=False,
                truncate_ragged_lines=has_long_rows,
            )
        return _without_marks(table)

    def read_table(
        self,
        header: Sequence[str] | None = None,
        types: Mapping[str, type[pl.DataType]] | None = None,
    ) -> pl.DataFrame:
        """Read all columns under this header; each is of numbers where all of its cells are.

        Args:
            header: its column names; None: as in the file.
            types: types of columns that do not depend on the cells.
        """
        source = self._plain(self.header() if header is None else header)
        with self._parsing():
            return _without_marks(pl.read_csv(source, glob=False, schema_overrides=types))

    @contextmanager
    def _parsing(self) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = str(error).splitlines()[0]
            what = f"is not comma-separated text: {reason}."
            raise InputError.at(self.path, what) from error

    def read_list(self) -> pl.Series:
        """The first column of a file without a header, without empty lines."""
        self._require_unpackable()
        try:
            table = pl.read_csv(
                self.content,
                glob=False,
                has_header=False,
                infer_schema=False,
                truncate_ragged_lines=True,
            )
        except (pl.exceptions.PolarsError, OSError) as error:
            what = "is not a list of series, one per line."
            raise InputError.at(self.path, what) from error
        return _without_marks(table).to_series(0).drop_nulls()


def _is_ambiguous(
    table: pl.DataFrame, required: tuple[str, ...], floats: list[str], known_cases: pl.Series | None
) -> bool:
    """Whether any row that counts lacks a value or holds one that is not finite."""
    finite = table.select(pl.col(floats).is_finite().all()).row(0) if floats else ()
    if all(finite) and not any(table[name].null_count() for name in required):
        return False
    if known_cases is None:
        return True
    is_bad = pl.any_horizontal(
        *(pl.col(name).is_null() for name in required),
        *(pl.col(name).is_finite().not_().fill_null(False) for name in floats),
    )
    counts = pl.col(required[0]).is_in(known_cases.implode()) | pl.col(required[0]).is_null()
    return table.filter(is_bad & counts).height > 0


def csv_content(table: pl.DataFrame, *, has_header: bool = True) -> str:
    """A table as CSV that no spreadsheet runs as formulas: an apostrophe precedes such text.

    Our own readers remove the apostrophe.
    """
    risky = [
        name
        for name, kind in table.schema.items()
        if kind == pl.String and table[name].str.contains(FORMULA).any()
    ]
    text = pl.col(risky)
    is_number = text.str.contains(NUMBER)
    harmless = pl.when(is_number).then(text).otherwise(text.str.replace(FORMULA, "'${0}"))
    safe = table.with_columns(harmless) if risky else table
    return safe.rename(marked).write_csv(include_header=has_header)


def _without_marks(table: pl.DataFrame) -> pl.DataFrame:
    """A table that was read from CSV, without the apostrophes of ``csv_content``."""
    marked = [
        column.name
        for column in table
        if column.dtype == pl.String and column.str.starts_with("'").any()
    ]
    return table.with_columns(pl.col(marked).str.replace(MARKED, "${1}")) if marked else table


def write_csv(table: pl.DataFrame, path: Path, *, has_header: bool = True) -> None:
    """Write a table as CSV, gzipped where the name ends in .gz, whole or not at all."""
    content = csv_content(table, has_header=has_header).encode()
    with staged_file(path) as stage:
        # without a time stamp, the same table gives the same bytes
        stage.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
