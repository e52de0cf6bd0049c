"""Reference + table of earlier scans -> the same with change, growth and Lung-RADS category."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.tables import DENSITIES, DENSITY_OF_TYPE, NODULES, Reference
from nodulebench.io.bundle import write_reference
from nodulebench.io.formats import read_reference
from nodulebench.io.table_files import read_table
from nodulebench.metrics.classes import SILENT
from nodulebench.metrics.guidelines import LUNG_RADS, mean_diameter_mm
from nodulebench.metrics.lung_rads_follow_up import follow_up_class
from nodulebench.reference.priors import PRIORS, changes

_ADDED = ("change", "growth_mm", "prior_days")


def judge_priors(source: Path, priors: Path, out: Path, cases: Path | None = None) -> Reference:
    """Read both, judge and write a bundle.

    Raises:
        InputError: if something cannot be read, or the table contradicts the reference.
    """
    judged = with_priors(read_reference(source, cases=cases), read_table(priors, PRIORS))
    write_reference(judged, out)
    return judged


def with_priors(reference: Reference, priors: pl.DataFrame) -> Reference:
    """The reference whose NODULES say how they changed.

    They get ``change``, ``growth_mm`` and ``prior_days``, and where they state none the Lung-RADS
    2022 ``category`` that follows. Nodules that PRIORS do not name keep what they had.
    """
    known = reference.nodules.drop(*_ADDED, strict=False)
    joined = known.join(
        changes(reference, priors), on=["case_id", "nodule_id"], how="left", maintain_order="left"
    )
    found = pl.Series("category", _categories(joined), dtype=pl.String)
    nodules = joined.with_columns(category=pl.coalesce("category", found))
    return replace(reference, nodules=NODULES.arrange(nodules))


def _categories(nodules: pl.DataFrame) -> list[str | None]:
    density = nodules["density"].fill_null(
        nodules["type"].replace_strict(DENSITY_OF_TYPE, default=None, return_dtype=pl.String)
    )
    number = {name: at for at, name in enumerate(DENSITIES)}
    long_mm, short_mm = (
        np.floor(nodules[name].to_numpy().astype(np.float64) * 10 + 0.5 + 1e-9) / 10
        for name in ("long_mm", "short_mm")
    )
    diameter = nodules["diameter_mm"].to_numpy().astype(np.float64)
    has_part = "solid_part_mm" in nodules.columns
    classes = follow_up_class(
        mean_diameter_mm(long_mm, short_mm, diameter),
        density.replace_strict(number, default=SILENT, return_dtype=pl.Int64).to_numpy(),
        nodules["solid_part_mm"].to_numpy().astype(np.float64)
        if has_part
        else np.full(nodules.height, np.nan),
        nodules["change"].to_list(),
        nodules["prior_days"].fill_null(0).to_numpy(),
    )
    return [None if one == SILENT else LUNG_RADS[one] for one in classes.tolist()]
