"""Panel -> how far its readers differ in size, and how well the reference knows it."""

from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from nodulebench.reference.agreement import merged_nodules
from nodulebench.reference.panel import Panel


@dataclass(frozen=True, slots=True)
class SizeError:
    """How far diameters of one nodule differ between readers; lengths in mm."""

    nodules: int
    """Drawn by two readers or more."""
    readings: int
    """Diameters of these nodules, one of each reader."""
    difference_mm: float
    """Mean difference of two readers, whichever is larger."""
    relative_difference: float
    """The same, as a share of their mean."""
    reader_sd_mm: float
    """Standard deviation of a single reader's diameter around the nodule's mean."""
    reference_error_mm: float
    """Standard error of the mean of a nodule's readers: what the reference itself leaves open."""


def size_error(
    panel: Panel, *, grouping: str = "recursive", same_reader: bool = False
) -> SizeError | None:
    """How far readers differ on the nodules that at least two of them drew; None without any.

    Several findings of one reader on a nodule count with their mean. Variances are pooled over
    nodules, those with more readers counting for more.

    Args:
        panel: the findings of all readers, measured.
        grouping: how findings are found to be the same nodule.
        same_reader: whether two findings of one reader can be one nodule by themselves.
    """
    sizes = []
    for one in merged_nodules(panel, grouping=grouping, same_reader=same_reader):
        reader = panel.reader[one.members]
        diameter = panel.diameter_mm[one.members]
        of_reader = [float(diameter[reader == name].mean()) for name in np.unique(reader)]
        if len(of_reader) > 1:
            sizes.append(np.array(of_reader))
    if not sizes:
        return None
    pairs = [
        (abs(first - second), (first + second) / 2)
        for of_reader in sizes
        for first, second in combinations(of_reader.tolist(), 2)
    ]
    freedom = sum(len(one) - 1 for one in sizes)
    variance = sum(float(((one - one.mean()) ** 2).sum()) for one in sizes) / freedom
    share_of_mean = float(np.mean([1 / len(one) for one in sizes]))
    return SizeError(
        nodules=len(sizes),
        readings=sum(map(len, sizes)),
        difference_mm=float(np.mean([apart for apart, _ in pairs])),
        relative_difference=float(np.mean([apart / mean for apart, mean in pairs])),
        reader_sd_mm=sqrt(variance),
        reference_error_mm=sqrt(variance * share_of_mean),
    )
