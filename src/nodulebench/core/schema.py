"""TableSchema: what a table must hold; checks a polars table and reports every problem at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from nodulebench.core.errors import Problem, raise_problems

MOST_ROWS_NAMED = 5
LONGEST_SHOWN = 60
_AS_GIVEN = "given: "
"""Before the name of a column: its values before they were typed."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type, unit and meaning, and what its values may be."""

    name: str
    dtype: type[pl.DataType]
    meaning: str
    unit: str = ""
    is_required: bool = True
    """The column must be there and every row must have a value."""
    allowed: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


optional = partial(Column, is_required=False)
"""A column that may be left out; where it is there, values may be empty."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A named table: its columns in order, and the columns that make a row unique."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    is_open: bool = False
    """Whether columns beyond the listed ones are retained."""
    further: tuple[Column, ...] = ()
    """Known columns of an open table: typed and checked where they are, never added."""

    def empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema={column.name: column.dtype for column in self.columns})

    def conform(
        self, table: pl.DataFrame, source: str, lines: pl.Series | None = None
    ) -> pl.DataFrame:
        """The table with typed columns in order, optional ones filled with null.

        Args:
            table: what was given.
            source: the file's name, for messages.
            lines: the line of the file that each row is on; messages then name lines.

        Raises:
            InputError: with one problem per missing column, unreadable value, empty required
                value, value out of range, and repeated key.
        """
        problems = [
            Problem(source, f"column '{column.name}' is missing.", self._columns_remedy())
            for column in self.columns
            if column.is_required and column.name not in table.columns
        ]
        raise_problems(problems)
        typed = self.arrange(table)
        places = _RowNumbers(source, lines)
        problems.extend(self._value_problems(table, typed, places))
        problems.extend(self._key_problems(typed, places))
        raise_problems(problems)
        return typed

    def is_sound(self, table: pl.DataFrame) -> bool:
        """Whether a table has these columns, types and values; its keys are not looked at."""
        present = (column for column in self.further if column.name in table.columns)
        columns = [*self.columns, *present]
        return all(table.schema.get(column.name) == column.dtype for column in columns) and not any(
            _failed_checks(columns, table, table)
        )

    def arrange(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with typed columns in order, unchecked: what cannot be read is null."""
        types = table.schema
        if list(types) == [column.name for column in self.columns] and all(
            types.get(column.name) == column.dtype for column in self.columns
        ):
            return table
        typed = table.select(
            _typed(column, table.schema[column.name])
            if column.name in table.columns
            else pl.lit(None, dtype=column.dtype()).alias(column.name)
            for column in self.columns
        )
        if self.is_open:
            listed = {column.name for column in self.columns}
            extra = [name for name in table.columns if name not in listed]
            typed = typed.with_columns(table.select(extra)) if extra else typed
        present = [
            _typed(column, types[column.name]) for column in self.further if column.name in types
        ]
        return typed.with_columns(present) if present else typed

    def _columns_remedy(self) -> str:
        required = ", ".join(column.name for column in self.columns if column.is_required)
        return f"The {self.name} table needs: {required}."

    def _value_problems(
        self, given: pl.DataFrame, typed: pl.DataFrame, places: "_RowNumbers"
    ) -> Iterator[Problem]:
        columns = [
            column for column in (*self.columns, *self.further) if column.name in given.columns
        ]
        for name, complaint, is_bad in _failed_checks(columns, typed, given):
            yield from places.problems(is_bad, given[name], name, complaint)

    def _key_problems(self, typed: pl.DataFrame, places: "_RowNumbers") -> Iterator[Problem]:
        if not self.key:
            return
        keys = typed.select(self.key)
        repeated = keys.select((~pl.struct(self.key).is_first_distinct()).arg_true()).to_series()
        for row in repeated.head(MOST_ROWS_NAMED).to_list():
            named = ", ".join(f"{name} '{keys[name][row]}'" for name in self.key)
            yield Problem(
                places.name(row),
                f"{named} was given before.",
                f"{' and '.join(self.key)} must be unique; remove or renumber the row.",
            )
        if len(repeated) > MOST_ROWS_NAMED:
            yield Problem(
                places.source, f"{len(repeated) - MOST_ROWS_NAMED} more rows were given before."
            )


@dataclass(frozen=True, slots=True)
class _RowNumbers:
    """How messages name a row: by its line in the file where that is known."""

    source: str
    lines: pl.Series | None

    def name(self, row: int) -> str:
        if self.lines is None:
            return f"{self.source} row {row + 1}"
        return f"{self.source} line {self.lines[row]}"

    def problems(
        self, is_bad: pl.Series, given: pl.Series, column: str, complaint: str
    ) -> Iterator[Problem]:
        """One problem for each of the first bad rows, and one that counts the rest."""
        bad = is_bad.fill_null(False).arg_true()
        for row in bad.head(MOST_ROWS_NAMED).to_list():
            yield Problem(self.name(row), f"{column}{_shown(given[row])} {complaint}")
        if len(bad) > MOST_ROWS_NAMED:
            more = len(bad) - MOST_ROWS_NAMED
            yield Problem(self.source, f"{more} more rows whose {column} {complaint}")


def _shown(value: object) -> str:
    """A value as a message quotes it: on one line, and not too long."""
    if value is None:
        return ""
    text = " ".join(str(value).split())
    return f" '{text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + '...'}'"


_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _typed(column: Column, given: pl.DataType) -> pl.Expr:
    """A column in the schema's type; what does not fit is null."""
    values = pl.col(column.name)
    if column.dtype == pl.Boolean and given == pl.String:
        return values.str.to_lowercase().replace_strict(
            _TRUTHS, default=None, return_dtype=pl.Boolean
        )
    if given.is_nested() or (column.dtype == pl.Boolean and given != pl.Boolean):
        return pl.lit(None, dtype=column.dtype()).alias(column.name)
    if column.dtype == pl.Date and given == pl.String:
        return values.str.strip_chars().str.to_date("%Y-%m-%d", strict=False)
    if column.dtype.is_integer() and given == pl.String:
        values = values.str.strip_chars().cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric() and given == pl.String:
        values = values.str.strip_chars()
    if column.dtype.is_integer() and (given == pl.String or given.is_float()):
        values = pl.when(values == values.round()).then(values)
    return values.cast(column.dtype, strict=False)


def _failed_checks(
    columns: Sequence[Column], typed: pl.DataFrame, given: pl.DataFrame
) -> Iterator[tuple[str, str, pl.Series]]:
    """What is wrong with which column, and in which rows; all checks run in one query."""
    filled = [
        column
        for column in columns
        if column.is_required or given[column.name].null_count() < len(given)
    ]
    names = [column.name for column in filled]
    before = [given[name].alias(f"{_AS_GIVEN}{name}") for name in names]
    both = typed.select(names).hstack(before)
    checks: list[tuple[str, str, pl.Expr]] = []
    for column in filled:
        name, values, raw = column.name, pl.col(column.name), pl.col(f"{_AS_GIVEN}{column.name}")
        kind = "a day as YYYY-MM-DD" if column.dtype == pl.Date else "readable"
        if column.dtype.is_numeric():
            kind = "a whole number" if column.dtype.is_integer() else "a number"
        checks.append((name, f"is not {kind}.", values.is_null() & raw.is_not_null()))
        if column.is_required:
            checks.append((name, "is empty; every row needs a value.", raw.is_null()))
        if column.dtype.is_float():
            checks.append((name, "is not a finite number.", ~values.is_finite()))
        if column.allowed:
            is_other = values.is_not_null() & ~values.is_in(column.allowed)
            checks.append((name, f"is not one of: {', '.join(column.allowed)}.", is_other))
        if column.minimum is not None:
            checks.append((name, f"is below {column.minimum:g}.", values < column.minimum))
        if column.maximum is not None:
            checks.append((name, f"is above {column.maximum:g}.", values > column.maximum))
    has_failed = both.select(
        is_bad.any().alias(str(number)) for number, (_, _, is_bad) in enumerate(checks)
    )
    for (name, complaint, is_bad), (failed,) in zip(checks, has_failed.iter_columns(), strict=True):
        if failed:
            yield name, complaint, both.select(is_bad).to_series()
