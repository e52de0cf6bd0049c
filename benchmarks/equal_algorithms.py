"""How often are equal algorithms declared different? At most 5 % of P values may be 0.05 or less.

Four algorithms of equal skill read test sets of 20, 50 and 200 scans (the population is that of
``interval_coverage``). The first two are compared with each other, and the leaderboard of all four
is checked for groups that separate them.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np

from benchmarks.interval_coverage import BETTER, draw
from nodulebench.core.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.evaluation.comparison.compare import ComparisonChoice, compare_algorithms

SIZES, TEST_SETS, REPLICATES, ALPHA = (20, 50, 200), 1000, 1000, 0.05
METRICS = (
    "recall",
    "miss_rate",
    "precision",
    "f_beta",
    "fp_per_case",
    "fp_per_normal_case",
    "cpm",
    "wafroc_area",
    "case_roc_area",
    "case_sensitivity",
    "case_specificity",
)
NAMES = ("first", "second", "third", "fourth")


def main() -> None:
    """Print the share of test sets, in per cent, in which equal algorithms differ significantly."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as workers:
        shares = {
            size: np.mean(
                list(workers.map(partial(rejections, size), range(TEST_SETS), chunksize=10)), axis=0
            )
            for size in SIZES
        }
    print(f"| of {TEST_SETS} test sets, % | {' | '.join(f'{size} scans' for size in SIZES)} |")
    print("|---" * (1 + len(SIZES)) + "|")
    titles = ("P <= 0.05", "leaderboard has several groups")
    for metric, name in enumerate(METRICS):
        for kind, title in enumerate(titles):
            row = " | ".join(f"{100 * shares[size][metric, kind]:.1f}" for size in SIZES)
            print(f"| {name}: {title} | {row} |")


def rejections(size: int, seed: int) -> list[tuple[bool, bool]]:
    """For each metric whether P is small, and whether the leaderboard has more than one group."""
    random = np.random.default_rng([size, seed, 7])
    cohorts = dict(zip(NAMES, draw(size, random, (BETTER,) * len(NAMES)), strict=True))
    protocol = TestProtocol(
        name="equal",
        rules=(RuleChoice(name="luna16"),),
        metrics=METRICS,
        interval=IntervalChoice(bootstraps=REPLICATES),
        seed=seed,
    )
    choice = ComparisonChoice(NAMES[1], METRICS, permutations=0)
    comparison = compare_algorithms({"luna16": cohorts}, protocol, choice)
    p_values = {
        difference.reading.metric: difference.comparison.p_value
        for difference in comparison.differences
        if difference.algorithm == NAMES[0] and difference.comparison is not None
    }
    groups = {
        reading.metric: max(line.group for line in ranking.lines)
        for (_, reading), ranking in comparison.rankings.items()
    }
    return [(p_values.get(name, 1.0) <= ALPHA, groups.get(name, 1) > 1) for name in METRICS]


if __name__ == "__main__":
    main()
