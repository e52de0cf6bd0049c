"""Random cases that say everything a metric may ask for, with ties, misses and empty cases."""

from dataclasses import replace

import numpy as np

from builders.tables import Case, Mark, Slice, case, false_mark, mark, nodule, run
from nodulebench.core.tables import DENSITIES, NODULE_TYPES

SCORES = (0.1, 0.2, 0.5, 0.5, 0.7, 0.9)
"""Few values, so that many marks tie."""


def random_cases(seed: int, *, abnormal: int = 6, normal: int = 4) -> tuple[Case, ...]:
    """Cases with one to three nodules, most of them found, then cases without nodules."""
    random = np.random.default_rng(seed)
    return tuple(
        _random_case(f"case{number}", random, nodules=int(random.integers(1, 4)))
        if number < abnormal
        else _random_case(f"case{number}", random, nodules=0)
        for number in range(abnormal + normal)
    )


def duplicated(cases: tuple[Case, ...], times: list[int]) -> tuple[Case, ...]:
    """Every case as often as asked for, each copy under its own name."""
    return tuple(
        replace(case, name=f"{case.name}-{copy}")
        for case, count in zip(cases, times, strict=True)
        for copy in range(count)
    )


def _random_case(name: str, random: np.random.Generator, nodules: int) -> Case:
    content = []
    for number in range(nodules):
        at = (100.0 * number, 0.0, 0.0)
        content.append(nodule(10, at, _square(random, at), **_character(random, is_truth=True)))
        if random.random() < 0.75:
            score = float(random.choice(SCORES))
            character = _character(random, is_truth=False)
            content.append(mark(score, at, _square(random, at), **character))
    for number in range(int(random.integers(0, 4))):
        content.append(false_mark(float(random.choice(SCORES)), number))
    state = "ok" if random.random() < 0.8 else "failed"
    content.append(run(float(random.integers(1, 6)), state))
    return case(name, *content)


def _character(random: np.random.Generator, *, is_truth: bool) -> dict[str, object]:
    probability = float(random.integers(0, 2) if is_truth else random.choice(SCORES))
    columns: dict[str, object] = {
        "long_mm": float(random.integers(3, 20)),
        "short_mm": float(random.integers(3, 20)),
        "type": str(random.choice(NODULE_TYPES)),
        "density": str(random.choice(DENSITIES)),
        "malignancy": probability,
    }
    if not is_truth:
        columns["diameter_mm"] = float(random.integers(3, 20))
    return columns


def _square(random: np.random.Generator, at: tuple[float, float, float]) -> Slice:
    x, y = at[0] + float(random.integers(-2, 3)), at[1]
    return Slice(0, x, y, 8.0, 6.0)


def with_scores(cases: tuple[Case, ...], change: dict[float, float]) -> tuple[Case, ...]:
    """The same cases with every score replaced by another."""

    def rescored(item: Mark) -> Mark:
        return item if item.score is None else replace(item, score=change[item.score])

    return tuple(replace(case, marks=tuple(map(rescored, case.marks))) for case in cases)
