"""Do 95 % intervals hold the truth in 95 % of test sets? Do tests of equal algorithms err in 5 %?

Test sets are drawn from a population whose truth is known: scans with and without nodules, nodules
of one patient alike, false positives crowded in some scans, two algorithms that find much the same.
The truth is what the metrics are on a set of 300,000 scans.
"""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.comparison import Significance
from nodulebench.core.errors import UndefinedError
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.metrics.froc import cpm_exact
from nodulebench.metrics.operating_point import recall
from nodulebench.statistics.bootstrap import Bootstrap, leave_one_out
from nodulebench.statistics.intervals import (
    bca_interval,
    cluster_ratio_interval,
    percentile_interval,
    wilson_interval,
)
from nodulebench.statistics.mcnemar import (
    PairedHits,
    durkalski,
    eliasziw_donner,
    mcnemar_exact,
    obuchowski,
    paired_hits,
)
from nodulebench.statistics.paired import paired_difference, replicate_metric
from nodulebench.statistics.permutation import permutation_test

SIZES, COHORTS = (50, 100, 300), 1000
BOOTSTRAPS, PERMUTATIONS, LEVEL, ALPHA = 1000, 500, 0.95, 0.05
NORMAL_SHARE, NODULES_IF_ANY = 0.32, 1.97
"""A third of LUNA16's scans have no nodule; the others have about two."""
BETTER, WORSE = 1.5, 1.2
"""Skills whose sensitivities are about 0.92 and 0.87."""
FALSE_PER_SCAN = 40.0
"""Places that may look like nodules; about a sixth of them are marked."""
WHOLE_POPULATION = 300_000

Outcome = dict[str, bool]


def main() -> None:
    """Print coverage of intervals and type I error of tests, in per cent."""
    rows: dict[str, list[str]] = {}
    # polars has threads, so workers must not be forked
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as workers:
        truth = population()
        for size in SIZES:
            outcomes = list(
                workers.map(partial(one_test_set, size, truth), range(COHORTS), chunksize=10)
            )
            for name in outcomes[0]:
                share = float(np.mean([outcome[name] for outcome in outcomes]))
                rows.setdefault(name, []).append(f"{100 * share:.1f}")
    print(f"| of {COHORTS} test sets, % | " + " | ".join(f"{n} scans" for n in SIZES) + " |")
    print("|---" * (1 + len(SIZES)) + "|")
    for name, shares in rows.items():
        print(f"| {name} | " + " | ".join(shares) + " |")


@dataclass(frozen=True, slots=True)
class Truth:
    """Metrics of the worse and the better algorithm on the whole population."""

    recall: tuple[float, float]
    cpm: tuple[float, float]


@cache
def population() -> Truth:
    """The metrics on a set so large that chance hardly matters."""
    metrics = draw(WHOLE_POPULATION, np.random.default_rng(2**32), (WORSE, BETTER))
    once = np.ones((1, WHOLE_POPULATION), dtype=np.int32)
    return Truth(
        (float(recall(metrics[0], once)[0]), float(recall(metrics[1], once)[0])),
        (float(cpm_exact(metrics[0], once)[0]), float(cpm_exact(metrics[1], once)[0])),
    )


def one_test_set(size: int, truth: Truth, seed: int) -> Outcome:
    """Whether each interval holds the truth, and whether each test rejects equal algorithms."""
    random = np.random.default_rng([size, seed])
    unequal = draw(size, random, (WORSE, BETTER))
    equal = draw(size, random, (BETTER, BETTER))
    return {**_coverage(unequal, truth, seed), **_type_one_error(equal, seed)}


def _coverage(pair: list[LabelledCohort], truth: Truth, seed: int) -> Outcome:
    worse = pair[0]
    units = np.arange(worse.case_count)
    bootstrap = Bootstrap(units, BOOTSTRAPS, seed)
    cohorts = dict(zip(("worse", "better"), pair, strict=True))
    drawn = {
        name: replicate_metric(metric, cohorts, bootstrap)
        for name, metric in (("recall", recall), ("CPM", cpm_exact))
    }
    known = {"recall": truth.recall, "CPM": truth.cpm}
    outcome = {}
    for name, replicates in drawn.items():
        finite = replicates.replicate[0][np.isfinite(replicates.replicate[0])]
        without = _leave_one_out({"recall": recall, "CPM": cpm_exact}[name], worse)
        value = float(replicates.value[0])
        bounds = {
            "percentile bootstrap": percentile_interval(finite, LEVEL),
            "BCa bootstrap": bca_interval(value, finite, without, LEVEL),
        }
        if name == "recall":
            nodules = np.bincount(worse.nodule_case, minlength=worse.case_count).astype(float)
            hits = np.bincount(worse.nodule_case, weights=worse.is_hit, minlength=worse.case_count)
            bounds["ratio over scans"] = cluster_ratio_interval(hits, nodules, LEVEL)
            bounds["Wilson, nodules as independent"] = wilson_interval(
                hits.sum(), nodules.sum(), LEVEL
            )
        for method, (low, high) in bounds.items():
            outcome[f"{name}: {method} covers"] = low <= known[name][0] <= high
    for name, replicates in drawn.items():
        difference = paired_difference(replicates, "better", "worse", level=LEVEL).difference
        true = known[name][1] - known[name][0]
        low, high = difference.low or 0.0, difference.high or 0.0
        outcome[f"difference in {name}: paired bootstrap covers"] = low <= true <= high
    return outcome


def _leave_one_out(
    metric: Callable[[LabelledCohort, np.ndarray], FloatArray], cohort: LabelledCohort
) -> FloatArray:
    blocks = [metric(cohort, block) for block in leave_one_out(np.arange(cohort.case_count))]
    values = np.concatenate(blocks)
    return values[np.isfinite(values)]


def _type_one_error(pair: list[LabelledCohort], seed: int) -> Outcome:
    first, second = pair
    units = np.arange(first.case_count)
    cohorts = {"one": first, "other": second}
    outcome = {}
    for name, metric in (("recall", recall), ("CPM", cpm_exact)):
        replicates = replicate_metric(metric, cohorts, Bootstrap(units, BOOTSTRAPS, seed))
        difference = paired_difference(replicates, "one", "other", level=LEVEL)
        swapped = permutation_test(
            metric, first, second, unit_of_case=units, permutations=PERMUTATIONS, seed=seed
        )
        outcome[f"difference in {name}: paired bootstrap rejects"] = difference.p_value < ALPHA
        outcome[f"difference in {name}: permutation rejects"] = swapped.p_value < ALPHA
    hits = paired_hits(first, second, units)
    for name, test in (
        ("McNemar, exact, nodules as independent", mcnemar_exact),
        ("McNemar, Durkalski", durkalski),
        ("McNemar, Obuchowski", obuchowski),
        ("McNemar, Eliasziw and Donner", eliasziw_donner),
    ):
        outcome[f"{name} rejects"] = _is_rejected(test, hits)
    return outcome


def _is_rejected(test: Callable[[PairedHits], Significance], hits: PairedHits) -> bool:
    try:
        return test(hits).p_value < ALPHA
    except UndefinedError:  # nothing tells the algorithms apart
        return False


def draw(
    size: int, random: np.random.Generator, skills: tuple[float, float]
) -> list[LabelledCohort]:
    """Two algorithms on the same scans.

    A nodule's score is skill + 0.6 patient + 0.7 nodule + 0.5 chance (all standard normal, only
    the last differs between algorithms); it is found above 0. Places that are not nodules score
    -1 + 0.4 patient + 0.92 chance, and there are more of them in some scans than in others.
    """
    is_abnormal = random.random(size) >= NORMAL_SHARE
    nodules = np.where(is_abnormal, random.geometric(1 / NODULES_IF_ANY, size), 0)
    nodule_case = np.repeat(np.arange(size), nodules)
    patient, conspicuity = random.normal(size=size), random.normal(size=len(nodule_case))
    shared = 0.6 * patient[nodule_case] + 0.7 * conspicuity
    crowd = FALSE_PER_SCAN * random.gamma(2.0, 0.5, size)
    reference = _reference(size, len(nodule_case))
    cohorts = []
    for skill in skills:
        score = skill + shared + 0.5 * random.normal(size=len(nodule_case))
        place_case = np.repeat(np.arange(size), random.poisson(crowd))
        noise = -1 + 0.4 * patient[place_case] + 0.92 * random.normal(size=len(place_case))
        is_marked = noise > 0
        cohorts.append(
            LabelledCohort(
                case_count=size,
                nodule_case=nodule_case,
                is_hit=score > 0,
                hit_score=np.where(score > 0, score, np.nan),
                false_case=place_case[is_marked],
                false_score=noise[is_marked],
                has_scores=True,
                nodule_row=np.arange(len(nodule_case)),
                hit_mark=np.where(score > 0, 0, -1),
                reference=reference,
                submission=Submission("simulated", MARKS.empty()),
            )
        )
    return cohorts


def _reference(cases: int, nodules: int) -> Reference:
    """Tables of the right length; the metrics here look at the arrays only."""
    names = pl.Series([f"case{number}" for number in range(cases)])
    table = pl.DataFrame({"case_id": names})
    rows = pl.DataFrame({"case_id": pl.Series(["case0"] * nodules, dtype=pl.String)})
    return Reference("simulated", CASES.arrange(table), NODULES.arrange(rows))


if __name__ == "__main__":
    main()
