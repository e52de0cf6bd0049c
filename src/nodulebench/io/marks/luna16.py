"""Read and write LUNA16 files: annotations, excluded findings, list of series, submissions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problems, did_you_mean, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.io.atomic import staged_folder
from nodulebench.io.cases import algorithm_name, unread_columns
from nodulebench.io.csv_files import CsvFile, simple_name, write_csv
from nodulebench.io.format import FileProbe, Format

COLUMN_OPTIONS = {
    "case": "seriesuid",
    "x": "coordX",
    "y": "coordY",
    "z": "coordZ",
    "score": "probability",
    "diameter": "diameter_mm",
}
"""Content of a column of marks -> its LUNA16 name."""
NEEDED = ("case", "x", "y", "z")
_USUAL = {
    "case": (
        *("case", "caseid", "series", "seriesid", "seriesinstanceuid", "scan", "scanid"),
        *("study", "patient", "patientid", "image", "imageid", "filename", "file", "name", "id"),
    ),
    **{
        axis: (axis, f"{axis}mm", f"center{axis}", f"centre{axis}", f"pos{axis}", f"world{axis}")
        for axis in "xyz"
    },
    "score": ("score", "prob", "confidence", "conf", "p"),
}
"""Common names of columns, without punctuation and capitals."""


def parse_columns(text: str) -> dict[str, str]:
    """Parse the column names of a file: ``x=px,y=py,...`` or a TOML file of such pairs."""
    source = "--columns"
    if text.endswith(".toml"):
        source, pairs = text, _pairs_of_file(Path(text))
    else:
        pairs = [
            tuple(part.strip() for part in pair_text.split("=", 1)) for pair_text in text.split(",")
        ]
    problems, columns = Problems(), {}
    for pair in pairs:
        if len(pair) != 2 or not all(pair):
            problems.add(source, f"'{'='.join(pair)}' is not a pair.", "Write x=NAME,y=NAME,...")
        elif pair[0] not in COLUMN_OPTIONS:
            known = ", ".join(COLUMN_OPTIONS)
            hint = did_you_mean(pair[0], COLUMN_OPTIONS)
            problems.add(source, f"'{pair[0]}' is not a column of marks.{hint}", f"Known: {known}.")
        else:
            columns[pair[0]] = pair[1]
    for name in NEEDED if not problems else ():
        if name not in columns:
            problems.add(source, f"does not say which column is {name}.", f"Add {name}=NAME.")
    raise_problems(problems)
    return columns


def guessed_columns(header: Sequence[str]) -> str:
    """A proposal for ``--columns`` from a header, with dots where no name fits."""
    simple = {simple_name(name): name for name in header}
    parts = []
    for ours, theirs in COLUMN_OPTIONS.items():
        usual = (simple_name(theirs), *_USUAL.get(ours, ()))
        name = next((simple[spelling] for spelling in usual if spelling in simple), "")
        if name or ours in (*NEEDED, "score"):
            parts.append(f"{ours}={name or '...'}")
    return ",".join(parts)


def _pairs_of_file(path: Path) -> list[tuple[str, ...]]:
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError.at(path, f"cannot be read as TOML: {error}.") from error
    return [(name, value if isinstance(value, str) else "") for name, value in content.items()]


_COORDINATES = {"coordX": "x_mm", "coordY": "y_mm", "coordZ": "z_mm"}
_PLACE = {theirs: pl.col(ours) for theirs, ours in _COORDINATES.items()}
COLUMNS = {"seriesuid": "case_id", **_COORDINATES, "probability": "score"}
"""Column names of these files -> ours."""
_MARKS = tuple(COLUMNS)
_MANY_ROWS = 200_000
_NOT_MEASURED = -1.0
"""The value of these files for a diameter that was not measured; negative ones are null in ours."""
_FINDING = ("seriesuid", *_COORDINATES, "diameter_mm")
_OPTIONAL = tuple(
    column.name
    for column in (*NODULES.columns, *NODULES.further)
    if not column.is_required and column.name not in _FINDING
)
_SERIES, _INCLUDED, _EXCLUDED = "seriesuids.csv", "annotations.csv", "annotations_excluded.csv"


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """Read a submission: one row per mark, ``seriesuid,coordX,coordY,coordZ,probability``.

    A column ``diameter_mm`` is read if it exists (the official program does not use it).
    Rows of series that are not in ``cases`` may hold anything, as for the official program. The id
    of a mark is its line number.
    """
    return read_named_columns(CsvFile(path), cases)


def read_named_columns(
    file: CsvFile, cases: pl.DataFrame | None = None, columns: Mapping[str, str] | None = None
) -> Submission:
    """As ``read_marks``, with our names (``COLUMN_OPTIONS``) -> those of the file."""
    given = (
        None
        if columns is None
        else {COLUMN_OPTIONS[ours]: column for ours, column in columns.items()}
    )
    scores = ("probability",) if given is None or "probability" in given else ()
    rows = file.read_columns(
        text=("seriesuid",),
        numbers=(*_COORDINATES, *scores),
        optional_numbers=("diameter_mm",),
        known_cases=None if cases is None else cases["case_id"],
        given=given,
    )
    diameter = pl.col("diameter_mm") if "diameter_mm" in rows.columns else pl.lit(None)
    names = rows["seriesuid"]
    names = names.fill_null("") if names.null_count() else names
    marks = rows.select(
        case_id=_sparing(names, None if cases is None else cases["case_id"]),
        mark_id=pl.col("line").cast(pl.String),
        **{ours: pl.col(theirs) for theirs, ours in _COORDINATES.items()},
        score=pl.col("probability") if scores else pl.lit(None),
        diameter_mm=pl.when(diameter >= 0).then(diameter),
    )
    return Submission(
        name=algorithm_name(file.path), marks=MARKS.arrange(marks), digest=file.digest
    )


def read_series(source: Path | CsvFile) -> pl.Series:
    file = CsvFile.of(source)
    first = file.first_line.split(",")[0]
    if first.strip('"') in ("seriesuid", "case_id"):
        what = f"'{first}' is a header, but a series list has none."
        remedy = "Remove the line (the official program would count it as one more scan)."
        raise InputError.at(f"{file.path.name} line 1", what, remedy)
    return file.read_list().rename("case_id")


def read_reference(folder: Path, cases: pl.DataFrame | None = None) -> Reference:
    """Read a LUNA16 folder: annotations, excluded findings and the list of series, each also .gz.

    Patients, geometry and strata of the series are taken from ``cases``. Further
    columns of NODULES (type, malignancy, truth ...) are read if the annotations have them.
    """
    present: dict[str, Path] = {}
    for name in (_SERIES, _INCLUDED, _EXCLUDED):
        for path in (folder / f"{name}.gz", folder / name):  # unpacked where both are there
            if path.is_file():
                present[name] = path
        if name != _EXCLUDED and name not in present:
            what = f"holds neither {name} nor {name}.gz."
            raise InputError.at(folder, what, "Is it a LUNA16 folder?")
    series_file = present[_SERIES]
    series = read_series(series_file)
    included_file = CsvFile(present[_INCLUDED])
    notices = unread_columns(included_file, (*_FINDING, *_OPTIONAL))
    parts = [_read_findings(included_file, series, is_ignored=False)]
    if _EXCLUDED not in present:
        notices += (Notice("no_excluded_findings", {"folder": str(folder)}),)
    else:
        excluded_file = CsvFile(present[_EXCLUDED])
        notices += unread_columns(excluded_file, (*_FINDING, *_OPTIONAL))
        parts.append(_read_findings(excluded_file, series, is_ignored=True))
    findings = pl.concat(parts, how="diagonal")
    listed = series.unique(maintain_order=True).to_frame()
    known = (
        listed
        if cases is None
        else listed.join(cases, on="case_id", how="left", maintain_order="left")
    )
    reference = Reference(
        name=folder.resolve().name,
        cases=CASES.arrange(known),
        nodules=NODULES.arrange(
            findings.filter(findings["case_id"].is_in(series.implode()).fill_null(False))
        ),
        notices=notices,
        rule="luna16",
    )
    # a series listed twice is rejected there, with the same message as in a fold
    return (
        reference
        if len(series) == listed.height
        else reference.restricted(series, series_file.name)
    )


def write_marks(submission: Submission, path: Path, cases: pl.DataFrame | None = None) -> None:  # noqa: ARG001
    """Write a submission as the official program reads it."""
    marks = submission.marks
    if marks["score"].null_count():
        what = f"has {marks['score'].null_count()} marks without a score."
        remedy = "LUNA16 files need a probability for every mark."
        raise InputError.at(f"submission '{submission.name}'", what, remedy)
    table = marks.select(seriesuid="case_id", **_PLACE, probability="score")
    if marks["diameter_mm"].null_count() < marks.height:
        table = table.with_columns(marks["diameter_mm"])
    write_csv(table, path)


def write_reference(reference: Reference, folder: Path) -> None:
    findings = reference.nodules.select(
        "is_ignored",
        seriesuid="case_id",
        **_PLACE,
        diameter_mm=pl.col("diameter_mm").fill_null(_NOT_MEASURED),
    )
    with staged_folder(folder) as stage:
        for name, is_ignored in ((_INCLUDED, False), (_EXCLUDED, True)):
            part = findings.filter(pl.col("is_ignored") == is_ignored).drop("is_ignored")
            write_csv(part, stage / name)
        write_csv(reference.cases.select("case_id"), stage / _SERIES, has_header=False)


def null_unmeasured(table: pl.DataFrame) -> pl.DataFrame:
    """LUNA16's rows under our names, with null for diameters that were not measured."""
    if "diameter_mm" not in table.columns:
        return table
    diameter = pl.col("diameter_mm")
    is_absent = (diameter.cast(pl.Float64, strict=False) < 0).fill_null(False)
    return table.with_columns(diameter_mm=pl.when(~is_absent).then(diameter))


def _sparing(names: pl.Series, known: pl.Series | None) -> pl.Series:
    """The same names; in a long table each known name is stored once, not once per row."""
    if known is None or len(names) < _MANY_ROWS:
        return names
    listed = known.unique(maintain_order=True).rename("name").to_frame().with_row_index("row")
    row = names.rename("name").to_frame().join(listed, on="name", how="left", maintain_order="left")
    if row["row"].null_count():
        return names
    return listed["name"].gather(row["row"])


def _read_findings(file: CsvFile, series: pl.Series, *, is_ignored: bool) -> pl.DataFrame:
    rows = file.read_columns(
        text=("seriesuid",),
        numbers=(*_COORDINATES, "diameter_mm"),
        optional_text=_OPTIONAL,
        known_cases=series,
    )
    given = [name for name in rows.columns if name in _OPTIONAL]
    findings = rows.select(
        case_id=_sparing(rows["seriesuid"], series),
        nodule_id=pl.lit("excluded-" if is_ignored else "nodule-") + pl.col("line").cast(pl.String),
        **{ours: pl.col(theirs) for theirs, ours in _COORDINATES.items()},
        diameter_mm=pl.when(pl.col("diameter_mm") >= 0).then(pl.col("diameter_mm")),
        is_ignored=pl.lit(is_ignored),
        **{name: pl.col(name) for name in given},
    )
    if not given:
        return findings
    is_listed = findings["case_id"].is_in(series.implode()).fill_null(False)
    lines = rows["line"].filter(is_listed)
    return NODULES.conform(findings.filter(is_listed), file.path.name, lines)


def _reject_reference(probe: FileProbe) -> str:
    if probe.kind != "folder":
        return probe.is_not("folder")
    needed = (_SERIES, _INCLUDED)
    return probe.lacks(*(name for name in needed if f"{name}.gz" not in probe.names))


FORMAT = Format(
    name="luna16_csv",
    meaning="LUNA16: a CSV file of marks, or a folder with annotations and a list of series",
    suffixes=(".csv", ".csv.gz", "/"),
    columns=tuple(COLUMN_OPTIONS.values()),
    example=(
        "seriesuid,coordX,coordY,coordZ,probability\n"
        "scan-1,-61.2,48.7,-240.5,0.93\n"
        "scan-2,75.0,12.1,-118.0,0.41"
    ),
    refuse_marks=lambda probe: probe.is_not("csv") or probe.lacks(*_MARKS),
    refuse_reference=_reject_reference,
    read_marks=read_marks,
    read_csv_marks=read_named_columns,
    read_reference=read_reference,
    write_marks=write_marks,
    write_reference=write_reference,
)
