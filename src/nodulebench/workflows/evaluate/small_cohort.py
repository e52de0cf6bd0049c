"""Test set x protocol -> a word of warning where intervals are known to be too short."""

import numpy as np

from nodulebench.model.notice import Notice
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.tables import Reference

FEWEST_UNITS = 100
"""In simulations (benchmarks/interval_coverage.py) 95 % intervals hold the truth in 94 to 95 % of
test sets of 300 scans, in 93 to 95 % of those of 100, and in 92 to 94 % of those of 50."""
FEWEST_WITH_NODULES = 65
"""About as many of those 100 had nodules; the others say nothing of sensitivity."""


def small_cohort_notices(reference: Reference, protocol: TestProtocol) -> tuple[Notice, ...]:
    """What a reader must know of the intervals of a small test set; nothing if it is large."""
    interval = protocol.interval
    if interval.bootstraps == 0 and interval.method != "jackknife":
        return ()
    unit_of_case = (
        reference.unit_of_case
        if interval.unit == "patient"
        else np.arange(reference.cases.height, dtype=np.int64)
    )
    is_target = ~reference.nodules["is_ignored"].to_numpy()
    units = int(unit_of_case.max(initial=-1)) + 1
    with_nodules = len(np.unique(unit_of_case[reference.nodule_case[is_target]]))
    if units >= FEWEST_UNITS and with_nodules >= FEWEST_WITH_NODULES:
        return ()
    values = {
        "units": units,
        "unit": interval.unit,
        "with_nodules": with_nodules,
        "fewest": FEWEST_UNITS,
        "fewest_with_nodules": FEWEST_WITH_NODULES,
    }
    return (Notice("small_test_set", values),)
