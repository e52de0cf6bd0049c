"""Labelled cohorts -> a JAFROC workbook (sheets Truth, TP, FP) that RJafroc reads."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.errors import InputError, Problem, refuse_any
from nodulebench.formats.format import Format
from nodulebench.model.arrays import IntArray
from nodulebench.model.cohort import LabelledCohort
from nodulebench.optional_package import needs
from nodulebench.storage.csv_text import write_csv
from nodulebench.storage.staging import staged_file

READER = "1"
TRUTH = ("CaseID", "LesionID", "Weight", "ReaderID", "ModalityID", "Paradigm")
HITS = ("ReaderID", "ModalityID", "CaseID", "LesionID", "TP_Rating")
FALSE_POSITIVES = ("ReaderID", "ModalityID", "CaseID", "FP_Rating")


def write_cohorts(cohorts: Sequence[LabelledCohort], path: Path) -> None:
    """Write algorithms under one rule as modalities of one reader (newExcelFileFormat = TRUE).

    Cases and lesions are numbered from 1 as RJafroc wants them; ``<name>.key.csv`` beside the
    workbook says which is which. A case without nodules has lesion 0; weight 0 stands for equal
    weights of the lesions of a case. Marks that a rule leaves out (duplicates, ignored) are not
    in the workbook.

    Raises:
        InputError: if there is nothing to write, the algorithms were not tested on the same
            nodules, or marks have no scores.
    """
    cohorts = [one.at_every_score for one in cohorts]
    first = _same_nodules(cohorts)
    lesion = _lesion_numbers(first.nodule_case)
    with needs("xlsx", "jafroc_xlsx"):
        from openpyxl import Workbook
    workbook = Workbook(write_only=True)
    for name, header, rows in (
        ("Truth", TRUTH, _truth(first, lesion, len(cohorts))),
        ("TP", HITS, _hits(cohorts, lesion)),
        ("FP", FALSE_POSITIVES, _false_positives(cohorts)),
    ):
        sheet = workbook.create_sheet(name)
        sheet.append(header)
        for row in rows:
            sheet.append(row)
    with staged_file(path) as stage:
        workbook.save(stage)
        write_csv(_key(cohorts, lesion), path.with_suffix(".key.csv"))


def _same_nodules(cohorts: Sequence[LabelledCohort]) -> LabelledCohort:
    """The first cohort, once it is clear that all can stand in one workbook."""
    if not cohorts:
        raise InputError.at("jafroc_xlsx", "was given no algorithm.")
    first = cohorts[0]
    problems = [
        Problem(
            f"submission '{cohort.submission.name}'",
            "has marks without a score.",
            "JAFROC analyses ratings; give every mark a score.",
        )
        for cohort in cohorts
        if not cohort.has_scores
    ]
    problems.extend(
        Problem(
            f"submission '{cohort.submission.name}'",
            "was not tested on the same cases and nodules as the first.",
            "Write a workbook of its own for it.",
        )
        for cohort in cohorts[1:]
        if cohort.case_count != first.case_count
        or not np.array_equal(cohort.nodule_row, first.nodule_row)
    )
    if max(first.case_count, first.nodule_count) < 2:
        problems.append(Problem("jafroc_xlsx", "needs at least two cases or nodules."))
    refuse_any(problems)
    return first


def _lesion_numbers(nodule_case: IntArray) -> IntArray:
    """Number the nodules of each case from 1, in the order of the reference."""
    numbers = pl.DataFrame({"case": nodule_case}).select(
        (pl.int_range(pl.len()).over("case") + 1).alias("number")
    )
    return numbers["number"].cast(pl.Int64).to_numpy()


def _truth(
    cohort: LabelledCohort, lesion: IntArray, modalities: int
) -> Iterator[tuple[int | str | None, ...]]:
    everyone = ",".join(str(number) for number in range(1, modalities + 1))
    nodules = np.bincount(cohort.nodule_case, minlength=cohort.case_count)
    normal = np.flatnonzero(nodules == 0)
    case = np.concatenate([normal, cohort.nodule_case])
    number = np.concatenate([np.zeros(len(normal), dtype=np.int64), lesion])
    paradigm = iter(("FROC", "FCTRL"))
    for row in np.lexsort((number, case)):
        yield int(case[row]) + 1, int(number[row]), 0, READER, everyone, next(paradigm, None)


def _hits(
    cohorts: Sequence[LabelledCohort], lesion: IntArray
) -> Iterator[tuple[int | str | float, ...]]:
    for modality, cohort in enumerate(cohorts, 1):
        for row in np.flatnonzero(cohort.is_hit):
            case = int(cohort.nodule_case[row]) + 1
            yield READER, str(modality), case, int(lesion[row]), float(cohort.hit_score[row])


def _false_positives(cohorts: Sequence[LabelledCohort]) -> Iterator[tuple[int | str | float, ...]]:
    for modality, cohort in enumerate(cohorts, 1):
        for case, score in zip(cohort.false_case, cohort.false_score, strict=True):
            yield READER, str(modality), int(case) + 1, float(score)


def _key(cohorts: Sequence[LabelledCohort], lesion: IntArray) -> pl.DataFrame:
    """Which number stands for which algorithm, case and nodule."""
    first = cohorts[0]
    names = first.reference.nodules["nodule_id"][first.nodule_row].to_list()
    rows: list[tuple[str, int | None, int | None, str]] = [
        ("modality", number, None, cohort.submission.name)
        for number, cohort in enumerate(cohorts, 1)
    ]
    rows.extend(
        ("case", number, None, case_id)
        for number, case_id in enumerate(first.reference.cases["case_id"], 1)
    )
    rows.extend(
        ("lesion", int(case) + 1, int(number), name)
        for case, number, name in zip(first.nodule_case, lesion, names, strict=True)
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
    write_cohorts=write_cohorts,
)
