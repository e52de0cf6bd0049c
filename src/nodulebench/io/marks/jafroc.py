"""Write labelled cohorts as a JAFROC workbook (sheets Truth, TP, FP) that RJafroc reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import IntArray
from nodulebench.core.cohort import WEIGHT, LabelledCohort, nodule_shares
from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.core.optional_packages import needs
from nodulebench.io.atomic import staged_file
from nodulebench.io.csv_files import write_csv
from nodulebench.io.format import Format

TRUTH = ("CaseID", "LesionID", "Weight", "ReaderID", "ModalityID", "Paradigm")
HITS = ("ReaderID", "ModalityID", "CaseID", "LesionID", "TP_Rating")
FALSE_POSITIVES = ("ReaderID", "ModalityID", "CaseID", "FP_Rating")

Cells = Mapping[tuple[str, str], LabelledCohort]
"""Labelled cohorts by treatment (or algorithm) and reader."""
Row = tuple[int | str | float | None, ...]


def write_cohorts(cells: Cells, path: Path) -> None:
    """Write readers under treatments, by one rule, as RJafroc reads (newExcelFileFormat = TRUE).

    Treatments, readers, cases and lesions are numbered from 1; ``<name>.key.csv`` next to the
    workbook gives their names. A case without nodules has lesion 0. Weights are the shares of
    the lesions of a case if the reference has a column ``weight``; 0 means equal weights.
    Marks that a rule leaves out (duplicates, ignored) are not in the workbook.
    """
    cells = {cell: cohort.at_every_score for cell, cohort in cells.items()}
    first = _same_nodules(cells)
    numbers = pl.DataFrame({"case": first.nodule_case}).select(
        (pl.int_range(pl.len()).over("case") + 1).alias("number")
    )
    lesion = numbers["number"].cast(pl.Int64).to_numpy()
    treatments, readers = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    numbered = [
        (str(readers.index(reader) + 1), str(treatments.index(treatment) + 1), cohort)
        for (treatment, reader), cohort in cells.items()
    ]
    everyone = (",".join(map(str, range(1, len(all_) + 1))) for all_ in (readers, treatments))
    with needs("xlsx", "jafroc_xlsx"):
        from openpyxl import Workbook
    workbook = Workbook(write_only=True)
    for name, header, rows in (
        ("Truth", TRUTH, _truth(first, lesion, *everyone)),
        ("TP", HITS, _hits(numbered, lesion)),
        ("FP", FALSE_POSITIVES, _false_positives(numbered)),
    ):
        sheet = workbook.create_sheet(name)
        sheet.append(header)
        for row in rows:
            sheet.append(row)
    with staged_file(path) as stage:
        workbook.save(stage)
        write_csv(_key(first, lesion, treatments, readers), path.with_suffix(".key.csv"))


def _same_nodules(cells: Cells) -> LabelledCohort:
    """The first cohort, after checking that all cohorts fit into one workbook."""
    if not cells:
        raise InputError.at("jafroc_xlsx", "needs at least one algorithm.")
    first = next(iter(cells.values()))
    problems = Problems(
        Problem(
            f"submission '{cohort.submission.name}'",
            "has marks without a score.",
            "JAFROC analyses ratings; give every mark a score.",
        )
        for cohort in cells.values()
        if not cohort.has_scores
    )
    problems.extend(
        Problem(
            f"submission '{cohort.submission.name}'",
            "was not tested on the same cases and nodules as the first.",
            "Write a separate workbook for it.",
        )
        for cohort in cells.values()
        if cohort.case_count != first.case_count
        or not np.array_equal(cohort.nodule_row, first.nodule_row)
    )
    problems.extend(
        Problem(
            f"reader '{reader}'",
            f"did not read under '{treatment}'.",
            "Every reader has to read under every treatment.",
        )
        for treatment in dict.fromkeys(treatment for treatment, _ in cells)
        for reader in dict.fromkeys(reader for _, reader in cells)
        if (treatment, reader) not in cells
    )
    if max(first.case_count, first.nodule_count) < 2:
        problems.add("jafroc_xlsx", "needs at least two cases or nodules.")
    raise_problems(problems)
    return first


def _truth(
    cohort: LabelledCohort, lesion: IntArray, readers: str, treatments: str
) -> Iterator[Row]:
    nodules = np.bincount(cohort.nodule_case, minlength=cohort.case_count)
    normal = np.flatnonzero(nodules == 0)
    case = np.concatenate([normal, cohort.nodule_case])
    number = np.concatenate([np.zeros(len(normal), dtype=np.int64), lesion])
    is_weighted = WEIGHT in cohort.reference.nodules.columns
    own = nodule_shares(cohort) if is_weighted else np.zeros(cohort.nodule_count)
    weight = np.concatenate([np.zeros(len(normal)), own])
    paradigm = iter(("FROC", "FCTRL"))
    for row in np.lexsort((number, case)):
        place = int(case[row]) + 1, int(number[row]), float(weight[row])
        yield *place, readers, treatments, next(paradigm, None)


def _hits(numbered: Iterable[tuple[str, str, LabelledCohort]], lesion: IntArray) -> Iterator[Row]:
    for reader, treatment, cohort in numbered:
        for row in np.flatnonzero(cohort.is_hit):
            case = int(cohort.nodule_case[row]) + 1
            yield reader, treatment, case, int(lesion[row]), float(cohort.hit_score[row])


def _false_positives(numbered: Iterable[tuple[str, str, LabelledCohort]]) -> Iterator[Row]:
    """Case by case, because RJafroc takes the further marks of a case from the next rows."""
    for reader, treatment, cohort in numbered:
        for row in np.argsort(cohort.false_case, kind="stable"):
            case, score = int(cohort.false_case[row]) + 1, float(cohort.false_score[row])
            yield reader, treatment, case, score


def _key(
    cohort: LabelledCohort, lesion: IntArray, treatments: Sequence[str], readers: Sequence[str]
) -> pl.DataFrame:
    named = {
        "modality": treatments,
        "reader": readers,
        "case": cohort.reference.cases["case_id"].to_list(),
    }
    rows: list[tuple[str, int | None, int | None, str]] = [
        (kind, number, None, name)
        for kind, names in named.items()
        for number, name in enumerate(names, 1)
    ]
    nodules = cohort.reference.nodules["nodule_id"][cohort.nodule_row].to_list()
    rows.extend(
        ("lesion", int(case) + 1, int(number), name)
        for case, number, name in zip(cohort.nodule_case, lesion, nodules, strict=True)
    )
    return pl.DataFrame(
        rows,
        schema={"kind": pl.String, "number": pl.Int64, "lesion": pl.Int64, "name": pl.String},
        orient="row",
    )


FORMAT = Format(
    name="jafroc_xlsx",
    meaning="a JAFROC workbook for RJafroc: sheets Truth, TP, FP",
    suffixes=(".xlsx",),
    example="sheets Truth, TP and FP, one row for each nodule, hit and false positive",
    write_cohorts=write_cohorts,
)
