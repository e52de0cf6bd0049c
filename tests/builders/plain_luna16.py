"""A second, slow and plain implementation of the official LUNA16 evaluation, as an oracle.

Written from the description of the program, mark by mark and replicate by replicate, with
scikit-learn's ROC routine; it shares no code with the package.
"""

import math
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_curve

RATES = (0.125, 0.25, 0.5, 1, 2, 4, 8)
GRID = np.linspace(0.125, 8, 10000)

Row = tuple[str, float, float, float, float]


@dataclass
class PlainResult:
    counts: dict[str, int]
    entries: dict[str, list[tuple[int, float, bool]]]
    """For each scan: (is nodule, score, is missed)."""


def label(
    series: list[str],
    included: list[Row],
    excluded: list[Row],
    marks: list[Row],
    cap: int | None = 100,
) -> PlainResult:
    counts = dict.fromkeys(["hit", "missed", "false_positive", "duplicate", "ignored"], 0)
    entries: dict[str, list[tuple[int, float, bool]]] = {}
    for scan in series:
        mine = [mark for mark in marks if mark[0] == scan]
        if cap and len(mine) > cap:
            cut = sorted((mark[4] for mark in mine), reverse=True)[cap]
            mine = [mark for mark in mine if mark[4] > cut]
        free = set(range(len(mine)))
        entries[scan] = []
        for finding in (row for row in included if row[0] == scan):
            inside = [number for number in range(len(mine)) if _is_inside(mine[number], finding)]
            if inside:
                counts["hit"] += 1
                counts["duplicate"] += len(inside) - 1
                entries[scan].append((1, max(mine[number][4] for number in inside), False))
                free -= set(inside)
            else:
                counts["missed"] += 1
                entries[scan].append((1, -1e9, True))
        for finding in (row for row in excluded if row[0] == scan):
            for number in sorted(free):
                if _is_inside(mine[number], finding):
                    free.remove(number)
                    counts["ignored"] += 1
        counts["false_positive"] += len(free)
        entries[scan].extend((0, mine[number][4], False) for number in free)
    return PlainResult(counts, entries)


def _is_inside(mark: Row, finding: Row) -> bool:
    diameter = 10.0 if finding[4] < 0 else finding[4]
    squared = sum((a - b) ** 2 for a, b in zip(mark[1:4], finding[1:4], strict=True))
    return squared < (diameter / 2.0) ** 2


def sensitivity_at(
    entries: list[tuple[int, float, bool]], scans: int, rates: np.ndarray
) -> np.ndarray:
    truth = np.array([entry[0] for entry in entries if not entry[2]])
    score = np.array([entry[1] for entry in entries if not entry[2]])
    missed = sum(entry[2] for entry in entries)
    hits, falses = int(truth.sum()), int(len(truth) - truth.sum())
    if not hits:
        return np.full(len(rates), math.nan)
    if not falses:
        fp_per_scan, tpr = np.zeros(2), np.array([0.0, 1.0])
    else:
        fpr, tpr, _ = roc_curve(truth, score)
        fp_per_scan = fpr * falses / scans
    return np.interp(rates, fp_per_scan, tpr * hits / (hits + missed))


def bootstrap(result: PlainResult, replicates: int, seed: int) -> np.ndarray:
    """Replicate curves on the grid of 10,000 rates, single precision."""
    state = np.random.RandomState(seed)
    scans = list(result.entries)
    curves = np.empty((replicates, len(GRID)), dtype=np.float32)
    for replicate in range(replicates):
        drawn = state.randint(0, len(scans), len(scans))
        pooled = [entry for number in drawn for entry in result.entries[scans[number]]]
        curves[replicate] = sensitivity_at(pooled, len(scans), GRID)
    return curves
