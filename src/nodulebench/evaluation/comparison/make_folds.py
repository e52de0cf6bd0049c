"""A test set -> folds of a cross-validation: equal in size, the cases of a patient together."""

from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.tables import Reference
from nodulebench.evaluation.comparison.folds import FOLDS, FoldSize, fold_sizes
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import read_reference


def make_folds(
    reference: Path, out: Path, *, count: int = 10, seed: int = 0, cases: Path | None = None
) -> list[FoldSize]:
    """Draw folds and write them as a table of series and folds.

    Args:
        reference: the test set; all its cases are drawn.
        out: the table to write.
        count: how many folds.
        seed: of the draw.
        cases: a table of cases that names their patients.

    Raises:
        InputError: if there are fewer patients than folds.
    """
    truth = read_reference(reference, cases=cases)
    folds = drawn_folds(truth, count, seed)
    write_csv(folds.select(seriesuid="case_id", fold="fold"), out)
    return fold_sizes(folds, truth)


def drawn_folds(reference: Reference, count: int, seed: int) -> pl.DataFrame:
    """FOLDS: patients with most cases, then nodules, go first, each to the emptiest fold.

    Patients alike in both come in an order that the seed draws.
    """
    nodules = (
        reference.nodules.filter(~pl.col("is_ignored")).group_by("case_id").agg(nodules=pl.len())
    )
    named = reference.cases.select(
        "case_id", patient=pl.col("patient_id").fill_null("case:" + pl.col("case_id"))
    ).join(nodules, on="case_id", how="left")
    patients = named.group_by("patient", maintain_order=True).agg(
        cases=pl.len(), nodules=pl.col("nodules").fill_null(0).sum()
    )
    if patients.height < count:
        raise InputError.at(
            f"test set '{reference.name}'",
            f"has {patients.height} patients, too few for {count} folds.",
            "Make fewer folds.",
        )
    order = np.random.default_rng(seed).permutation(patients.height)
    sorted_ = patients[order].sort("cases", "nodules", descending=True, maintain_order=True)
    held = [(0, 0)] * count
    fold_of: dict[str, int] = {}
    for patient, own_cases, own_nodules in sorted_.iter_rows():
        fold = min(range(count), key=lambda one: (*held[one], one))
        held[fold] = (held[fold][0] + own_cases, held[fold][1] + own_nodules)
        fold_of[patient] = fold
    of_case = named["patient"].replace_strict(fold_of, return_dtype=pl.Int64).cast(pl.String)
    return FOLDS.arrange(named.select("case_id", fold=of_case))
