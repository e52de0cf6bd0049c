"""Ten algorithms on 888 scans, 10,000 replicates: bootstrap of all pairs, one permutation test."""

from dataclasses import replace

import numpy as np

from benchmarks.measure import DATA, cpu_of_call
from nodulebench.core.cohort import LabelledCohort, labelled_cohort
from nodulebench.core.protocol import load_protocol
from nodulebench.io.marks.luna16 import read_marks, read_reference
from nodulebench.matching import label_marks, targets
from nodulebench.metrics.froc import cpm_exact
from nodulebench.statistics.bootstrap import Bootstrap
from nodulebench.statistics.paired import replicate_metric
from nodulebench.statistics.permutation import permutation_test
from nodulebench.statistics.ranking import rank_algorithms

REPLICATES = 10_000


def main() -> None:
    """Print CPU seconds."""
    cohorts = {f"algorithm {number}": cohort for number, cohort in enumerate(_ten_algorithms())}
    units = np.arange(888)
    bootstrap = Bootstrap(units, REPLICATES, seed=0)
    first, second = list(cohorts.values())[:2]

    drawing = cpu_of_call(lambda: replicate_metric(cpm_exact, cohorts, bootstrap), repeats=1)
    replicates = replicate_metric(cpm_exact, cohorts, replace(bootstrap, replicates=2000))
    ranking = cpu_of_call(lambda: rank_algorithms(replicates), repeats=3)
    swapping = cpu_of_call(
        lambda: permutation_test(
            cpm_exact, first, second, unit_of_case=units, permutations=REPLICATES, seed=0
        ),
        repeats=1,
    )
    print("| what | CPU s |")
    print("|---|---|")
    print(f"| CPM of 10 algorithms on {REPLICATES} resamples of 888 scans | {drawing:.1f} |")
    print(f"| 45 paired comparisons, Holm, ranks, groups (2,000 resamples) | {ranking:.2f} |")
    print(f"| permutation test of one pair, {REPLICATES} swaps | {swapping:.1f} |")


def _ten_algorithms() -> list[LabelledCohort]:
    """A real submission, and nine more with ever noisier scores."""
    folder = DATA / "luna16"
    reference = read_reference(folder)
    submission = read_marks(folder / "submissions" / "deeplung_dpn26_888.csv.gz", reference.cases)
    protocol = load_protocol("luna16")
    labels = label_marks(reference, submission, protocol, protocol.rules[0])
    is_target = targets(reference, submission, protocol)
    real = labelled_cohort(reference, submission, labels, is_target)
    random = np.random.default_rng(0)
    spread = real.false_score.std()
    return [
        replace(
            real,
            hit_score=real.hit_score + random.normal(scale=noise * spread, size=real.nodule_count),
            false_score=real.false_score
            + random.normal(scale=noise * spread, size=len(real.false_score)),
        )
        for noise in np.linspace(0, 0.5, 10)
    ]


if __name__ == "__main__":
    main()
