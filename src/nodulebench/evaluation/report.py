"""Folder of an evaluation -> its report for another audience, in another language, or as PDF."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.errors import InputError, Problem, UnknownNameError, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.evaluation.recompute import load_evaluated, sweep_folder
from nodulebench.evaluation.result_folder import (
    CURVE_FILE,
    EVALUATION,
    FALSE_FILE,
    FLIP_FILE,
    MISS_FILE,
    read_attachments,
    read_document,
)
from nodulebench.i18n.translator import LanguageName, Translator
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import CsvFile, write_csv
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import MANIFEST, file_digest, files_in, read_manifest, record_files
from nodulebench.io.table_files import read_parquet
from nodulebench.report.content import Audience, ReportAttachments
from nodulebench.report.developer_copy import developers_document, only_algorithm
from nodulebench.report.excerpts import Excerpt, excerpt
from nodulebench.report.html import render_html
from nodulebench.report.verdict import Issued

if TYPE_CHECKING:
    from nodulebench.report.errors import Patch

SPREAD_COLUMNS = ("algorithm", "metric", "reference", "nodules", "hit", "value")
CAUSE_COLUMNS = ("algorithm", "cause")
_MARK = ["algorithm", "case_id", "mark_id"]


@dataclass(frozen=True, slots=True)
class ReportChoice:
    """The audience and language of a report, and what it includes."""

    audience: Audience = "lab"
    language: LanguageName = "en"
    is_pdf: bool = False
    algorithm: str | None = None
    """The only algorithm that is reported; None: all."""
    causes: Path | None = None
    """CSV with readers' causes of false positives: algorithm, cause; also case_id, mark_id."""
    images: Path | None = None
    """Folder of images, bundle or archive of DICOM, for a gallery."""
    combinations: tuple[Path, ...] = ()
    """CSV tables of ``nodulebench combine --table``."""
    agreement: Path | None = None
    """JSON with the readers' agreement: a list of name, value, low, high."""
    sweeps: tuple[str, ...] = ()
    """Parameters of rules to vary: ``RULE.PARAMETER=VALUE,VALUE,...``."""
    spreads: tuple[Path, ...] = ()
    """CSV tables of ``nodulebench reference spread --out``."""
    font: Path | None = None
    laboratory: str = ""
    """The issuer of the report; empty: the laboratory of the plan, if it names one."""
    number: str = ""
    operator: str = ""
    date: str = ""
    """The day of issue, as YYYY-MM-DD."""

    @property
    def name(self) -> str:
        return self._named("report") + ("" if self.language == "en" else f"-{self.language}")

    @property
    def tables(self) -> str:
        """The folder of its tables, which are the same in every language."""
        return self._named("tables")

    def _named(self, first: str) -> str:
        parts = [first] + ([] if self.audience == "lab" else [self.audience])
        if self.algorithm:
            letters = (c if c.isalnum() or c in "._" else "_" for c in self.algorithm)
            parts.append("".join(letters))
        return "-".join(parts)


DEFAULT_CHOICE = ReportChoice()


def write_report(
    folder: Path, choice: ReportChoice = DEFAULT_CHOICE, out: Path | None = None
) -> list[Path]:
    """Write the report of an unchanged evaluation's folder, from its tables only."""
    document = read_document(folder)
    _require_unchanged(folder)
    curves, tables = read_parquet(folder / CURVE_FILE), read_attachments(folder)
    if choice.algorithm is not None:
        names = [algorithm.name for algorithm in document.algorithms]
        if choice.algorithm not in names:
            known = ", ".join(names)
            raise UnknownNameError(f"there is no algorithm '{choice.algorithm}'. Known: {known}.")
        document = only_algorithm(document, choice.algorithm)
        curves = curves.filter(pl.col("algorithm") == choice.algorithm)
        tables = tables.only(choice.algorithm)
    attachments = _attachments(folder, document, choice, tables)
    target = folder if out is None else out
    with staged_folder(target) as stage:
        page = render_html(
            document,
            curves,
            audience=choice.audience,
            language=choice.language,
            attachments=attachments,
        )
        (stage / f"{choice.name}.html").write_text(page, encoding="utf-8")
        if choice.is_pdf:
            from nodulebench.report.pdf import render_pdf

            render_pdf(
                stage / f"{choice.name}.pdf",
                document,
                curves,
                audience=choice.audience,
                language=choice.language,
                attachments=attachments,
                font=choice.font,
            )
        _write_tables(stage / choice.tables, document, attachments, choice)
        names = files_in(stage) if target != folder else record_files(folder, stage)
    return [target / name for name in names]


def read_excerpt(
    folder: Path, audience: Audience, translate: Translator, *, name: str, rule: str
) -> Excerpt:
    document = read_document(folder)
    _require_unchanged(folder)
    curves, attachments = read_parquet(folder / CURVE_FILE), read_attachments(folder)
    return excerpt(
        document, curves, attachments, audience=audience, translate=translate, name=name, rule=rule
    )


def _write_tables(
    folder: Path, document: Document, attachments: ReportAttachments, choice: ReportChoice
) -> None:
    from nodulebench.report.csv_tables import csv_tables

    is_lab = choice.audience == "lab"
    shown = document if is_lab else developers_document(document)
    folder.mkdir()
    for name, table in csv_tables(shown, attachments.flips if is_lab else None).items():
        write_csv(table, folder / f"{name}.csv")
    if attachments.sweeps:
        write_csv(pl.concat(attachments.sweeps), folder / "sweeps.csv")


def _require_unchanged(folder: Path) -> None:
    if not (folder / MANIFEST).is_file():
        return
    listed = read_manifest(folder).files
    changed = [
        name
        for name in (EVALUATION, CURVE_FILE, FLIP_FILE, MISS_FILE, FALSE_FILE)
        if (folder / name).is_file() and listed.get(name) != file_digest(folder / name)
    ]
    if changed:
        raise InputError(
            Problem(
                str(folder / name),
                "was changed after it was written.",
                "Evaluate again; 'nodulebench verify' shows the differences.",
            )
            for name in changed
        )


def _attachments(
    folder: Path, document: Document, choice: ReportChoice, tables: ReportAttachments
) -> ReportAttachments:
    causes = None if choice.causes is None else read_causes(choice.causes)
    if causes is not None and choice.causes is not None:
        tables = replace(
            tables, false_positives=with_causes(tables.false_positives, causes, choice.causes)
        )
    sweeps: tuple[pl.DataFrame, ...] = ()
    if choice.audience == "lab":  # fine steps of a parameter would reveal single marks
        names = [algorithm.name for algorithm in document.algorithms]
        sweeps = tuple(sweep_folder(folder, sweep, names) for sweep in choice.sweeps)
    return replace(
        tables,
        causes=causes,
        patches=() if choice.images is None else tuple(_patches(folder, document, choice)),
        combinations=tuple(CsvFile(path).read_table() for path in choice.combinations),
        agreement=() if choice.agreement is None else _agreement(choice.agreement),
        sweeps=sweeps,
        spreads=tuple(read_spread(path) for path in choice.spreads),
        issued=Issued(choice.laboratory, choice.number, choice.operator, choice.date),
    )


def read_causes(path: Path) -> pl.DataFrame:
    """The causes of false positives that readers gave, one row each: algorithm, cause.

    If the file names them also case_id and mark_id. A filled-in worklist can be read, too: misses
    and empty rows are skipped.
    """
    file = CsvFile(path)
    table = file.read_strings(file.header(needed=CAUSE_COLUMNS))
    if "kind" in table.columns:
        table = table.filter(pl.col("kind") == "false_positive").rename({"name": "mark_id"})
    is_tied = {"case_id", "mark_id"} <= set(table.columns)
    columns = [*CAUSE_COLUMNS, *(("case_id", "mark_id") if is_tied else ())]
    return table.select(pl.col(columns).str.strip_chars()).drop_nulls(CAUSE_COLUMNS)


def with_causes(
    falses: pl.DataFrame | None, causes: pl.DataFrame, source: Path
) -> pl.DataFrame | None:
    """FALSE_POSITIVES with the cause of each mark; unchanged if causes do not name marks."""
    if falses is None or "mark_id" not in causes.columns:
        return falses
    tied = causes.drop_nulls(["case_id", "mark_id"]).unique(maintain_order=True)
    twice = tied.filter(pl.struct(_MARK).is_duplicated()).unique(_MARK, maintain_order=True)
    raise_problems(
        Problem(
            str(source),
            f"gives mark '{row['mark_id']}' of '{row['algorithm']}' in case '{row['case_id']}' "
            "two causes.",
            "Remove one of them.",
        )
        for row in twice.iter_rows(named=True)
    )
    if tied.height and falses.height and not tied.join(falses, on=_MARK, how="semi").height:
        what = f"does not name any mark of {FALSE_FILE}."
        raise InputError.at(source, what, "Give the causes of this result.")
    return falses.join(tied, on=_MARK, how="left", maintain_order="left")


def read_spread(path: Path) -> pl.DataFrame:
    """A metric under other references, as ``nodulebench reference spread --out`` wrote it."""
    file = CsvFile(path)
    return file.read_table(file.header(needed=SPREAD_COLUMNS), {"value": pl.Float64})


def _patches(folder: Path, document: Document, choice: ReportChoice) -> Iterator["Patch"]:
    from nodulebench.evaluation.patches import cut_patches
    from nodulebench.io.images.case_images import image_reader

    if choice.images is None or choice.audience != "lab":
        return
    names = [algorithm.name for algorithm in document.algorithms]
    evaluated = load_evaluated(folder)
    read = image_reader(choice.images, wanted=evaluated.reference.cases["case_id"].to_list())
    yield from cut_patches(evaluated, document.baseline_rule, names, read)


def _agreement(path: Path) -> tuple[JsonObject, ...]:
    rows = read_json(path)
    is_fit = isinstance(rows, list) and all(
        isinstance(row, dict) and "name" in row and "value" in row for row in rows
    )
    if not is_fit:
        raise InputError.at(
            str(path),
            "is not a list of objects with name and value.",
            'Write [{"name": "reader 1, reader 2", "value": 0.71, "low": 0.62, "high": 0.8}].',
        )
    return tuple(rows)
