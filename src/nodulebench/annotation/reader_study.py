"""Ratings of readers, or an evaluation of their marks -> a multi-reader multi-case analysis.

Obuchowski and Rockette's method: readers under treatments (such as with and without CAD), all on
the same cases. One of the readers may be an algorithm; the others are then compared with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from nodulebench.core.documents.comparison import Significance
from nodulebench.core.errors import InputError, Problem, UndefinedError, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import reason_of
from nodulebench.core.results import Estimate
from nodulebench.core.schema import Column, TableSchema
from nodulebench.evaluation.estimates import bind_parameters, replicate_metrics, units_of
from nodulebench.evaluation.recompute import READER_COLUMNS, Cell, cohorts_of_readers
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import read_table
from nodulebench.metrics import METRICS
from nodulebench.statistics.bootstrap import leave_one_out
from nodulebench.statistics.delong import auc_estimate, compare_auc
from nodulebench.statistics.mrmc import (
    ReaderMetrics,
    TreatmentTest,
    metrics_from_jackknife,
    metrics_from_ratings,
    obuchowski_rockette,
    readers_against_algorithm,
    treatment_means,
)

SCHEMA = "nodulebench/reader-study@1"
AREA = "case_roc_area"

RATINGS = TableSchema(
    "RATINGS",
    "One row per treatment, reader and case: how abnormal the reader called the case.",
    (
        *READER_COLUMNS,
        Column("case_id", pl.String, "the CT series"),
        Column("rating", pl.Float64, "higher: more abnormal"),
        Column("is_abnormal", pl.Boolean, "the truth of the case"),
        Column("patient_id", pl.String, "whose case; else its own", is_required=False),
    ),
    key=("treatment", "reader_id", "case_id"),
)

Covariance = Literal["jackknife", "delong"]


@dataclass(frozen=True, slots=True)
class StudyReadings:
    """The readings of a study, and how the metrics of some of them are measured."""

    cells: tuple[Cell, ...]
    measure: Callable[[Sequence[Sequence[Cell]]], ReaderMetrics]
    metric: str
    cases: int
    of_reader: Callable[[Sequence[Cell]], JsonObject] | None = None
    """One reader's own areas (one cell), or their difference (two), where cases were rated."""


@dataclass(frozen=True, slots=True)
class StudyChoice:
    """What is analysed in a study."""

    readers: Path | None = None
    """READERS, for an evaluation; None: the readings are RATINGS."""
    metric: str = AREA
    rule: str | None = None
    """None: the first of the protocol."""
    algorithm: str | None = None
    covariance: Covariance = "jackknife"
    level: float = 0.95


def analyse_readers(readings: Path, choice: StudyChoice, *, out: Path | None = None) -> JsonObject:
    """Analyse ratings, or an evaluation's folder; every reader reads all cases each time.

    ``readings`` is a table of RATINGS, or the folder of an evaluation whose submissions are
    readers.
    """
    read = (
        _of_ratings(readings, choice)
        if choice.readers is None
        else _of_folder(readings, choice.readers, choice)
    )
    analysis = {"schema": SCHEMA, "level": choice.level, **_analysis(read, choice)}
    if out is not None:
        write_json(analysis, out)
    return analysis


def _of_ratings(path: Path, choice: StudyChoice) -> StudyReadings:
    if choice.metric != AREA:
        raise InputError.at(
            str(path),
            f"holds ratings of cases, which give {AREA} and not '{choice.metric}'.",
            "For other metrics give an evaluation of the readers' marks, and a table of readers.",
        )
    table = read_table(path, RATINGS).sort("case_id")
    groups = table.partition_by("treatment", "reader_id", as_dict=True, maintain_order=True)
    cells = tuple(sorted((str(treatment), str(reader)) for treatment, reader in groups))
    first = groups[cells[0]] if cells else table
    same = first.select("case_id", "is_abnormal")
    raise_problems(
        Problem(
            str(path),
            f"reader '{reader}' under '{treatment}' has other cases, or another truth of them, "
            f"than '{cells[0][1]}' under '{cells[0][0]}'.",
            "Every reader has to rate every case under every treatment.",
        )
        for treatment, reader in cells
        if not groups[treatment, reader].select("case_id", "is_abnormal").equals(same)
    )
    is_abnormal = first["is_abnormal"].to_numpy()

    def measure(design: Sequence[Sequence[Cell]]) -> ReaderMetrics:
        rating = [[groups[cell]["rating"].to_numpy() for cell in row] for row in design]
        return metrics_from_ratings(np.array(rating), is_abnormal, choice.covariance)

    patient = first["patient_id"].fill_null(first["case_id"]).rank("dense").to_numpy()
    units = None if first["patient_id"].null_count() == first.height else patient.astype(np.int64)

    def of_reader(row: Sequence[Cell]) -> JsonObject:
        rating = np.array([groups[cell]["rating"].to_numpy() for cell in row])
        given: JsonObject = {"level": choice.level}
        if units is not None:
            given |= {"positive_unit": units[is_abnormal], "negative_unit": units[~is_abnormal]}
        scores = rating[:, is_abnormal], rating[:, ~is_abnormal]
        if len(row) == 1:
            return auc_estimate(*scores, **given).to_json()
        try:
            comparison = compare_auc(*scores, **given)
        except UndefinedError as error:
            return Estimate(None, reason=reason_of(error)).to_json()
        return {**comparison.difference.to_json(), "p_value": comparison.significance.p_value}

    return StudyReadings(cells, measure, AREA, first.height, of_reader)


def _of_folder(folder: Path, readers: Path, choice: StudyChoice) -> StudyReadings:
    protocol, cohorts = cohorts_of_readers(folder, readers, choice.rule)
    metric = {choice.metric: bind_parameters(METRICS[choice.metric], protocol)}
    unit = units_of(next(iter(cohorts.values())), protocol.interval)
    weights = [np.ones((1, len(unit)), dtype=np.int32), *leave_one_out(unit)]

    def measure(design: Sequence[Sequence[Cell]]) -> ReaderMetrics:
        values = np.array(
            [
                [replicate_metrics(cohorts[cell], metric, weights)[choice.metric] for cell in row]
                for row in design
            ]
        )
        if values.ndim != 3:
            raise UndefinedError("read_at_several", metric=choice.metric)
        return metrics_from_jackknife(values[..., 0], values[..., 1:])

    return StudyReadings(tuple(sorted(cohorts)), measure, choice.metric, int(unit.max()) + 1)


def _analysis(read: StudyReadings, choice: StudyChoice) -> JsonObject:
    treatments = sorted({cell[0] for cell in read.cells if cell[1] != choice.algorithm})
    readers = sorted({cell[1] for cell in read.cells} - {choice.algorithm or ""})
    raise_problems(
        Problem(
            f"reader '{reader}'",
            f"did not read under '{treatment}'.",
            "Every reader has to read under every treatment.",
        )
        for treatment in treatments
        for reader in readers
        if (treatment, reader) not in read.cells
    )
    design = [[(treatment, reader) for reader in readers] for treatment in treatments]
    metrics = read.measure(design)
    means = treatment_means(metrics, choice.level)
    return {
        "metric": read.metric,
        "cases": read.cases,
        "covariance": metrics.method,
        "readers": [
            {"treatment": treatment, "reader_id": reader, "value": float(value)}
            | ({} if read.of_reader is None else read.of_reader([(treatment, reader)]))
            for row, values in zip(design, metrics.value, strict=True)
            for (treatment, reader), value in zip(row, values, strict=True)
        ],
        "reader_differences": [
            {"reader_id": reader, "first": first, "second": second}
            | {"difference": read.of_reader([(first, reader), (second, reader)])}
            for first, second in combinations(treatments, 2)
            for reader in readers
            if read.of_reader is not None
        ],
        "treatments": [
            {"treatment": treatment, "mean": asdict(mean)}
            for treatment, mean in zip(treatments, means, strict=True)
        ],
        **(_study(metrics, treatments, choice.level) if len(treatments) > 1 else {}),
        "against_algorithm": _against(read, treatments, readers, choice),
    }


def _study(metrics: ReaderMetrics, treatments: Sequence[str], level: float) -> JsonObject:
    try:
        analysis = obuchowski_rockette(metrics, level=level)
    except UndefinedError as error:
        return {"tests": [], "reason": reason_of(error).to_json()}
    tests = {
        "random readers, random cases": analysis.random_readers_random_cases,
        "fixed readers, random cases": analysis.fixed_readers,
        "random readers, fixed cases": analysis.fixed_cases,
    }
    return {
        "components": asdict(analysis.components),
        "tests": [{"analysis": name, **_test(test, treatments)} for name, test in tests.items()],
    }


def _test(test: TreatmentTest, treatments: Sequence[str]) -> JsonObject:
    return {
        **_significance(test.significance),
        "differences": [
            {
                "first": treatments[first],
                "second": treatments[second],
                "difference": asdict(difference),
            }
            for (first, second), difference in test.differences.items()
        ],
    }


def _against(
    read: StudyReadings, treatments: Sequence[str], readers: Sequence[str], choice: StudyChoice
) -> list[JsonObject]:
    if choice.algorithm is None:
        return []
    own = [cell for cell in read.cells if cell[1] == choice.algorithm]
    if len(own) != 1:
        what = f"is an algorithm and has {len(own)} readings."
        remedy = "An algorithm reads once, under any treatment."
        raise InputError.at(f"reader '{choice.algorithm}'", what, remedy)
    rows = []
    for treatment in treatments:
        metrics = read.measure([[*((treatment, reader) for reader in readers), own[0]]])
        row: JsonObject = {
            "treatment": treatment,
            "algorithm": choice.algorithm,
            "value": float(metrics.value[0, -1]),
        }
        try:
            comparison = readers_against_algorithm(metrics, level=choice.level)
        except UndefinedError as error:
            undefined = Estimate(None, reason=reason_of(error))
            rows.append(row | {"difference": asdict(undefined)})
            continue
        tested = _significance(comparison.significance)
        fixed = {"fixed_cases": _significance(comparison.fixed_cases)}
        rows.append(row | {"difference": asdict(comparison.difference)} | tested | fixed)
    return rows


def _significance(test: Significance) -> JsonObject:
    """A test as JSON; infinite degrees of freedom are null, because JSON has no number for them."""
    degrees = [None if np.isinf(each) else each for each in test.degrees_of_freedom]
    return {"statistic": test.statistic, "degrees_of_freedom": degrees, "p_value": test.p_value}
