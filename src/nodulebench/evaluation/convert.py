"""Convert marks, a reference or readings from one format to another, and report every loss."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.readings import Readings
from nodulebench.core.tables import Reference, Submission, without_images
from nodulebench.io.format import Format, probe_file
from nodulebench.io.formats import FORMATS, fitting, read_cases, read_reference, read_submission
from nodulebench.io.marks.luna16 import parse_columns
from nodulebench.io.readings import read_case_geometry, read_findings, read_readings, write_findings

What = Literal["marks", "reference", "readings", "result"]
Tables = Submission | Reference | Readings
ITEMS: dict[What, str] = {"marks": "marks", "reference": "nodules", "readings": "findings"}
"""The table whose rows are counted."""
FINDINGS_TABLES = "findings_tables"
"""Readings as NoduleBench tables: not a format of marks, but readings can be written as these."""
LARGEST_CHANGE = 1e-4
"""Smaller differences count as equal: formats in voxels round."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of a conversion, with everything that the new file lacks."""

    what: What
    from_format: str
    to_format: str
    cases: int
    """Cases with marks, or of the test set."""
    items: int
    """Marks, nodules and ignored findings, or findings."""
    losses: tuple[Notice, ...]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvertOptions:
    """What is converted to what."""

    source: Path
    target: Path
    to_format: str
    from_format: str | None = None
    """The name of the format to read; None: it is recognised."""
    what: What | None = None
    """What the source holds; None: it is recognised as marks or a reference. If it could be both,
    it is marks if they have scores, else a reference."""
    cases: pl.DataFrame | Path | None = None
    """CASES or a file of them, for formats that need the geometry of the cases; a folder of CT
    series for formats that refer to images."""
    rule: str | None = None
    """For a result: the rule whose labels are written; None: the first of its protocol."""
    readers: Path | None = None
    """For a result whose submissions are readers: the table READERS."""
    columns: str | None = None
    """For marks in a CSV file with other column names: these names."""


def convert(options: ConvertOptions) -> Conversion:
    """Read a file or folder in one format and write it in another.

    The new file is read again and compared, so that every loss is reported: columns that the format
    cannot store, slices, changed positions.
    """
    source, target, cases = options.source, options.target, options.cases
    if options.what == "readings":
        return _convert_readings(source, target, options.to_format, cases)
    writer = FORMATS[options.to_format]
    if writer.write_cohorts is not None:
        return _convert_result(source, target, writer, options.rule, options.readers)
    known = read_cases(cases) if isinstance(cases, Path) else cases
    if options.columns is not None:
        before = read_submission(source, known, columns=parse_columns(options.columns))
        return _written_marks(before, target, "own columns", writer, known)
    reader = FORMATS[options.from_format] if options.from_format else None
    what = options.what or _what(source, reader, writer, known)
    if what == "marks":
        return _convert_marks(source, target, reader, writer, known)
    return _convert_reference(source, target, reader, writer, known)


def _convert_marks(
    source: Path, target: Path, reader: Format | None, writer: Format, cases: pl.DataFrame | None
) -> Conversion:
    reader = reader or fitting(source, "marks")
    before = read_submission(source, cases, reader.name)
    return _written_marks(before, target, reader.name, writer, cases)


def _written_marks(
    before: Submission, target: Path, source: str, writer: Format, cases: pl.DataFrame | None
) -> Conversion:
    if writer.write_marks is None:
        raise _cannot_write(writer, "marks")
    writer.write_marks(before, target, cases)
    after = read_submission(target, cases, writer.name)
    return _conversion("marks", source, writer.name, before, after)


def _convert_reference(
    source: Path, target: Path, reader: Format | None, writer: Format, cases: pl.DataFrame | None
) -> Conversion:
    reader = reader or fitting(source, "reference")
    before = read_reference(source, cases, reader.name)
    if writer.write_reference is None:
        raise _cannot_write(writer, "a reference")
    if not writer.needs_images:
        before = replace(before, cases=without_images(before.cases))
    writer.write_reference(before, target)
    after = read_reference(target, before.cases if writer.needs_images else None, writer.name)
    return _conversion("reference", reader.name, writer.name, before, after)


def _convert_readings(
    source: Path, target: Path, to_format: str, cases: pl.DataFrame | Path | None
) -> Conversion:
    given = cases if isinstance(cases, Path) else None
    before = read_readings(source, cases=given)
    known = read_case_geometry(given) if given is not None else before.cases
    if to_format == FINDINGS_TABLES:
        before = replace(before, cases=without_images(before.cases))
        write_findings(before, target)
        after = read_findings(target)
    else:
        writer = FORMATS[to_format]
        if writer.write_readings is None or writer.read_readings is None:
            raise _cannot_write(writer, "readings")
        writer.write_readings(before, target, known)
        after = writer.read_readings(target, known)
    return _conversion("readings", "readings", to_format, before, after)


def _conversion(
    what: What, from_format: str, to_format: str, before: Tables, after: Tables
) -> Conversion:
    tables, new_tables = _tables(before), _tables(after)
    items = tables[ITEMS[what]]
    cases = items["case_id"].n_unique() if isinstance(before, Submission) else before.cases.height
    losses = _losses(tables, new_tables, items, new_tables[ITEMS[what]])
    return Conversion(
        what, from_format, to_format, cases, items.height, tuple(losses), before.notices
    )


def _convert_result(
    source: Path, target: Path, writer: Format, rule: str | None, readers: Path | None
) -> Conversion:
    from nodulebench.evaluation.recompute import cohorts_of_readers

    if not source.is_dir() or writer.write_cohorts is None:
        raise InputError.at(
            str(source),
            f"is not the folder of an evaluation, which {writer.name} needs.",
            "Give the folder that 'nodulebench evaluate --out' wrote.",
        )
    _, cohorts = cohorts_of_readers(source, readers, rule)
    writer.write_cohorts(cohorts, target)
    first = next(iter(cohorts.values()))
    return Conversion(
        what="result",
        from_format="evaluation",
        to_format=writer.name,
        cases=first.case_count,
        items=first.nodule_count,
        losses=(),
        notices=(),
    )


def _what(source: Path, reader: Format | None, writer: Format, cases: pl.DataFrame | None) -> What:
    seen = probe_file(source)
    possible: set[What] = set()
    for form in FORMATS.values() if reader is None else (reader,):
        if form.refuse_marks and writer.write_marks and not form.refuse_marks(seen):
            possible.add("marks")
        if form.refuse_reference and writer.write_reference and not form.refuse_reference(seen):
            possible.add("reference")
    if not possible:
        raise seen.error or InputError.at(
            str(source),
            f"cannot be converted to {writer.name}: it holds nothing that the format can store.",
            "Name the format of the file, or choose another format to write.",
        )
    if len(possible) == 1:
        return possible.pop()
    marks = read_submission(source, cases, reader.name if reader else None).marks
    return "marks" if marks["score"].null_count() < marks.height else "reference"


def _cannot_write(writer: Format, what: str) -> InputError:
    where = f"format '{writer.name}'"
    return InputError.at(where, f"cannot hold {what}.", "Choose another to write.")


def _tables(held: Tables) -> dict[str, pl.DataFrame]:
    of_readings = isinstance(held, Readings)
    names = "findings slices sessions" if of_readings else "slices marks runs cases nodules"
    tables = {name: getattr(held, name, None) for name in names.split()}
    return {name: table for name, table in tables.items() if table is not None}


def _losses(
    before: dict[str, pl.DataFrame],
    after: dict[str, pl.DataFrame],
    places: pl.DataFrame,
    new_places: pl.DataFrame,
) -> list[Notice]:
    if new_places.height != places.height:
        return [Notice("rows_changed", {"before": places.height, "after": new_places.height})]
    losses = []
    for name, table in before.items():
        if name not in after:
            losses.append(Notice("table_lost", {"table": name, "rows": table.height}))
            continue
        for column in table.columns:
            held = table.height - table[column].null_count()
            new_table = after[name]
            left = (
                new_table.height - new_table[column].null_count()
                if column in new_table.columns
                else 0
            )
            if left < held:
                values = {"table": name, "lost": held - left, "held": held, "column": column}
                losses.append(Notice("values_lost", values))
    return [*losses, *_changes(places, new_places)]


def _changes(places: pl.DataFrame, new_places: pl.DataFrame) -> list[Notice]:
    """Names and numbers that changed in the same rows; formats preserve the order within a case."""
    old, new = (table.sort("case_id", maintain_order=True) for table in (places, new_places))
    name = old.columns[1]
    changes = [] if old[name].equals(new[name]) else [Notice("names_lost", {"column": name})]
    for column, dtype in old.schema.items():
        if not dtype.is_float() or column not in new.columns:
            continue
        change = (old[column] - new[column]).abs().max()
        if isinstance(change, float) and change > LARGEST_CHANGE:
            changes.append(Notice("values_changed", {"column": column, "change": change}))
    return changes


ABILITIES = {
    "read_marks": "reads marks",
    "read_reference": "reads a reference",
    "write_marks": "writes marks",
    "write_reference": "writes a reference",
    "write_cohorts": "writes labelled results",
    "read_readings": "reads readings",
    "write_readings": "writes readings",
}


def known_formats(names: Sequence[str] = ()) -> list[Format]:
    return [FORMATS[name] for name in names or FORMATS]


def abilities(form: Format) -> list[str]:
    return [words for name, words in ABILITIES.items() if getattr(form, name) is not None]
