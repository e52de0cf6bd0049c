"""Readers compared -> how far they agree on types and diameters: coefficients with intervals.

A nodule's diameter is a reader's largest mean of a box's length and width.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.annotation.reader_agreement import ReadingComparison, or_reason
from nodulebench.annotation.readings.reading import box_diameter_mm, type_number
from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import UndefinedError
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate
from nodulebench.core.tables import NODULE_TYPES
from nodulebench.io.atomic import staged_folder
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import write_table
from nodulebench.statistics.agreement import (
    class_table,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
)
from nodulebench.statistics.measurement_agreement import (
    bland_altman,
    concordance_correlation,
    intraclass_correlation,
)

AGREEMENT, LIMITS = "agreement.json", "limits_of_agreement.csv"
ESTIMATED = ("bias", "lower", "upper")


@dataclass(frozen=True, eq=False)
class ReaderAgreement:
    """How far readers agree."""

    rows: list[dict[str, Any]]
    """Coefficients up to 1, as the report's chart wants them: name, value, low, high."""
    limits: pl.DataFrame
    """Bland and Altman's limits, in mm, for each two readers."""


def reader_agreement(found: ReadingComparison) -> ReaderAgreement:
    """Agreement of each two readers and of all: nodules drawn, their types, their diameters."""
    kinds, sizes = found.by_reader(type_number), found.by_reader(box_diameter_mm)
    readers = {name: column for column, name in enumerate(found.reader_ids)}
    everyone = f"{len(readers)} readers"
    rows = [
        {"name": f"drawn: {one.first}, {one.second}", "value": one.agreement}
        | {"method": Notice("positive_agreement").to_json()}
        for one in found.pairs
    ]
    rows += [
        _row(f"type: {first}, {second}", _kappa, *pair)
        for first, second, pair in _pairs(kinds, readers)
    ]
    rows += [
        _row(f"type: {everyone}, {name}", coefficient, kinds)
        for name, coefficient in (
            ("Fleiss", fleiss_kappa),
            ("Gwet", gwet_ac1),
            ("Krippendorff", krippendorff_alpha),
        )
    ]
    rows += [
        _row(f"diameter: {first}, {second}", concordance_correlation, *pair)
        for first, second, pair in _pairs(sizes, readers)
    ]
    of_all = sizes[np.isfinite(sizes).all(axis=1)]
    rows.append(_row(f"diameter: {everyone}", intraclass_correlation, of_all))
    return ReaderAgreement(rows, _limits(sizes, readers))


def write_agreement(found: ReaderAgreement, folder: Path) -> None:
    """Write the coefficients for ``report --agreement``, and the limits as a table."""
    with staged_folder(folder, last=AGREEMENT) as stage:
        write_table(found.limits, stage / LIMITS)
        write_json(found.rows, stage / AGREEMENT)


def _kappa(first: FloatArray, second: FloatArray) -> Estimate:
    return cohen_kappa(class_table(first, second, len(NODULE_TYPES)))


def _pairs(
    said: FloatArray, readers: dict[str, int]
) -> Iterator[tuple[str, str, tuple[FloatArray, FloatArray]]]:
    """Each two readers, and what both said."""
    for first, second in combinations(readers, 2):
        pair = said[:, [readers[first], readers[second]]]
        both = pair[np.isfinite(pair).all(axis=1)]
        yield first, second, (both[:, 0], both[:, 1])


def _limits(sizes: FloatArray, readers: dict[str, int]) -> pl.DataFrame:
    rows = []
    for first, second, pair in _pairs(sizes, readers):
        row: dict[str, Any] = {"first": first, "second": second, "nodules": len(pair[0])}
        try:
            found = bland_altman(*pair)
        except UndefinedError:
            rows.append(row)
            continue
        row["sd_mm"] = found.standard_deviation
        for name in ESTIMATED:
            one: Estimate = getattr(found, name)
            row |= {f"{name}_mm": one.value, f"{name}_low_mm": one.low, f"{name}_high_mm": one.high}
        rows.append(row)
    names = ["sd_mm", *(f"{of}{end}_mm" for of in ESTIMATED for end in ("", "_low", "_high"))]
    return pl.DataFrame(
        rows,
        schema={"first": pl.String, "second": pl.String, "nodules": pl.Int64}
        | dict.fromkeys(names, pl.Float64),
    )


def _row(name: str, coefficient: Callable[..., Estimate], *given: FloatArray) -> dict[str, Any]:
    return {"name": name, **or_reason(lambda: coefficient(*given).to_json())}
