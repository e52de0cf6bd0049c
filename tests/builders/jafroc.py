"""A JAFROC workbook -> its wAFROC area, from the sheets only: an independent reader."""

from pathlib import Path

import numpy as np
from openpyxl import load_workbook


def wafroc_of_workbook(path: Path, treatment: str = "1", reader: str = "1") -> float:
    """The area of one reading as RJafroc reads and computes it, by its definition.

    Reading: ReadJAFROCNewFormat and checkTruthTable (weights of a case add up to 1, or are all 0
    and then equal); a missing mark rates -infinity.
    """
    book = load_workbook(path)
    rows = {
        sheet.title.upper(): list(sheet.iter_rows(min_row=2, values_only=True)) for sheet in book
    }
    weights: dict[int, dict[int, float]] = {}
    for case_id, lesion, weight, *_ in rows["TRUTH"]:
        weights.setdefault(case_id, {})
        if lesion > 0:
            weights[case_id][lesion] = weight
    highest: dict[int, float] = {}
    is_own = (reader, treatment)
    for _, _, case_id, score in (row for row in rows["FP"] if row[:2] == is_own):
        highest[case_id] = max(score, highest.get(case_id, -np.inf))
    areas = {
        (case_id, lesion): score
        for *who, case_id, lesion, score in rows["TP"]
        if tuple(who) == is_own
    }
    normal = [case_id for case_id, lesions in weights.items() if not lesions]
    abnormal = {case_id: lesions for case_id, lesions in weights.items() if lesions}
    area = 0.0
    for case_id, lesions in abnormal.items():
        total = sum(lesions.values())
        assert total == 0 or 0.99 <= total <= 1.01
        for lesion, weight in lesions.items():
            share = weight / total if total else 1 / len(lesions)
            hit = areas.get((case_id, lesion), -np.inf)
            noise = [highest.get(case, -np.inf) for case in normal]
            area += share * sum((hit > rating) + 0.5 * (hit == rating) for rating in noise)
    return area / (len(normal) * len(abnormal))
