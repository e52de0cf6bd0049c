"""TableSchema: what a table must hold; checks a polars table and reports every problem at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from nodulebench.errors import InputError, Problem

MOST_ROWS_NAMED = 5


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


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A named table: its columns in order, and the columns that make a row unique."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    is_open: bool = False
    """Whether columns beyond the listed ones are kept."""

    def empty(self) -> pl.DataFrame:
        """The table with no rows."""
        return pl.DataFrame(schema={column.name: column.dtype for column in self.columns})

    def conform(self, table: pl.DataFrame, source: str) -> pl.DataFrame:
        """The table with typed columns in order, optional ones filled with null.

        Raises:
            InputError: with one problem per missing column, unreadable value, empty required
                value, value out of range, and repeated key.
        """
        problems = [
            Problem(source, f"column '{column.name}' is missing.", self._columns_remedy())
            for column in self.columns
            if column.is_required and column.name not in table.columns
        ]
        if problems:
            raise InputError(problems)
        typed = self.arrange(table)
        problems.extend(self._value_problems(table, typed, source))
        problems.extend(self._key_problems(typed, source))
        if problems:
            raise InputError(problems)
        return typed

    def arrange(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with typed columns in order, unchecked: what cannot be read is null."""
        typed = table.select(
            pl.col(column.name).cast(column.dtype, strict=False)
            if column.name in table.columns
            else pl.lit(None, dtype=column.dtype()).alias(column.name)
            for column in self.columns
        )
        if self.is_open:
            listed = {column.name for column in self.columns}
            extra = [name for name in table.columns if name not in listed]
            typed = typed.with_columns(table.select(extra)) if extra else typed
        return typed

    def _columns_remedy(self) -> str:
        required = ", ".join(column.name for column in self.columns if column.is_required)
        return f"The {self.name} table needs: {required}."

    def _value_problems(
        self, given: pl.DataFrame, typed: pl.DataFrame, source: str
    ) -> Iterator[Problem]:
        for column in self.columns:
            if column.name not in given.columns:
                continue
            values, before = typed[column.name], given[column.name]
            unreadable = values.is_null() & before.is_not_null()
            yield from _problems_at(
                unreadable,
                before,
                source,
                column,
                f"is not {'a number' if column.dtype.is_numeric() else 'readable'}.",
            )
            if column.is_required:
                yield from _problems_at(
                    before.is_null(), before, source, column, "is empty; every row needs a value."
                )
            if column.dtype.is_float():
                yield from _problems_at(
                    ~values.is_finite(), before, source, column, "is not a finite number."
                )
            if column.allowed:
                yield from _problems_at(
                    values.is_not_null() & ~values.is_in(column.allowed),
                    before,
                    source,
                    column,
                    f"is not one of: {', '.join(column.allowed)}.",
                )
            if column.minimum is not None:
                yield from _problems_at(
                    values < column.minimum,
                    before,
                    source,
                    column,
                    f"is below {column.minimum:g}.",
                )
            if column.maximum is not None:
                yield from _problems_at(
                    values > column.maximum,
                    before,
                    source,
                    column,
                    f"is above {column.maximum:g}.",
                )

    def _key_problems(self, typed: pl.DataFrame, source: str) -> Iterator[Problem]:
        keys = typed.select(self.key)
        repeated = ~keys.select(pl.struct(self.key).is_first_distinct()).to_series()
        for row in repeated.arg_true().head(MOST_ROWS_NAMED).to_list():
            named = ", ".join(f"{name} '{keys[name][row]}'" for name in self.key)
            yield Problem(
                f"{source} row {row + 1}",
                f"{named} was given before.",
                f"{' and '.join(self.key)} must be unique; remove or renumber the row.",
            )


def _problems_at(
    is_bad: pl.Series, given: pl.Series, source: str, column: Column, complaint: str
) -> Iterator[Problem]:
    """One problem for each of the first bad rows, and one that counts the rest."""
    bad = is_bad.fill_null(False).arg_true()
    for row in bad.head(MOST_ROWS_NAMED).to_list():
        value = "" if given[row] is None else f" '{given[row]}'"
        yield Problem(f"{source} row {row + 1}", f"{column.name}{value} {complaint}")
    if len(bad) > MOST_ROWS_NAMED:
        yield Problem(
            source, f"{len(bad) - MOST_ROWS_NAMED} more rows whose {column.name} {complaint}"
        )
