"""Do guarded intervals hold the truth, and do verdicts err, where hardly anything goes wrong?

The populations here are made otherwise than those that the method's constants were chosen on:
nodules are found by a probit model with effects of patient and nodule, patients who have more
nodules are harder (informative cluster size), counts are negative binomial around lognormal
patients, some patients have two scans, scores are rounded so that many tie, and false positives
may be rare. The truth is what the metrics are on very many patients. Percentile intervals
are next to the guarded ones.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.evaluation.guarded_rows import GuardedCohort, guarded_rows
from nodulebench.metrics import METRICS
from nodulebench.metrics.metric import CaseSums
from nodulebench.metrics.pseudo_patient import SINGLE_ICC, paired_icc, pseudo_size
from nodulebench.statistics.bootstrap import (
    Bootstrap,
    GuardedBootstrap,
    guarded_interval,
    proportion_of,
    ratio_rows,
)
from nodulebench.statistics.intervals import all_or_none_interval, percentile_interval

LEVEL, REPLICATES = 0.95, 1000
POPULATION = 200_000
READ = ("recall", "precision", "f_beta", "fp_per_case", "cpm", "wafroc_area", "average_precision")


@dataclass(frozen=True, slots=True)
class People:
    """A population of patients, and how well an algorithm does on them."""

    recall: float
    """Share of nodules found."""
    falses: float = 1.0
    """False positives per scan."""
    patient_spread: float = 0.8
    """How much patients differ in the difficulty of their nodules; nodules differ by 1."""
    nodules: float = 1.2
    """Nodules per patient, on average; a third or so have none."""
    informative: float = 0.5
    """How much more nodules hard patients have (on the logarithm, per standard deviation)."""
    own_effect: float = 0.0
    """Patient effects of each algorithm's own."""


@dataclass(frozen=True, slots=True)
class Patients:
    """Some patients of a population: nodules, and how hard they are."""

    people: People
    unit_of_scan: IntArray
    nodule_scan: IntArray
    hardness: FloatArray
    """Of each nodule: patient and nodule together."""
    effect: FloatArray
    """Of each patient."""
    random: np.random.Generator = field(repr=False)


def draw(people: People, patients: int, random: np.random.Generator) -> Patients:
    """Patients with their scans and nodules."""
    effect = random.normal(size=patients)
    scans = 1 + (random.random(patients) < 0.2)
    unit_of_scan = np.repeat(np.arange(patients), scans)
    mean = people.nodules * np.exp(people.informative * effect - people.informative**2 / 2)
    rate = random.gamma(0.8, mean[unit_of_scan] / 0.8 / scans[unit_of_scan])
    nodule_scan = np.repeat(np.arange(len(unit_of_scan)), random.poisson(rate))
    spread = people.patient_spread
    hardness = spread * effect[unit_of_scan[nodule_scan]] + random.normal(size=len(nodule_scan))
    return Patients(people, unit_of_scan, nodule_scan, hardness, effect, random)


@cache
def skill(people: People) -> float:
    """The skill that gives the population its recall, found on very many nodules."""
    many = draw(people, POPULATION, np.random.default_rng(2**31))
    noise = _noise(many)
    return float(np.quantile(many.hardness + noise, people.recall))


def _noise(patients: Patients) -> FloatArray:
    """What an algorithm itself adds to the difficulty of nodules."""
    people, count = patients.people, len(patients.hardness)
    own = people.own_effect * patients.random.normal(size=len(patients.effect))
    noise: FloatArray = own[patients.unit_of_scan[patients.nodule_scan]]
    return noise + 0.5 * patients.random.normal(size=count)


def hits(patients: Patients, recall: float) -> FloatArray:
    """By how much each nodule is found; not above 0: missed."""
    people = patients.people
    wanted = skill(People(**{**_fields(people), "recall": recall}))
    return wanted - patients.hardness - _noise(patients)


def _fields(people: People) -> dict[str, float]:
    return {name: getattr(people, name) for name in People.__dataclass_fields__}


def marked(patients: Patients) -> LabelledCohort:
    """One algorithm on the patients, with scores that tie and false positives that crowd."""
    people, random = patients.people, patients.random
    hit = hits(patients, people.recall)
    scans = len(patients.unit_of_scan)
    crowd = np.exp(0.8 * random.normal(size=scans) - 0.32) * people.falses
    false_scan = np.repeat(np.arange(scans), random.poisson(crowd))
    is_hit = hit > 0
    score = hit + 0.3 * random.normal(size=len(hit))
    return LabelledCohort(
        case_count=scans,
        nodule_case=patients.nodule_scan,
        is_hit=is_hit,
        hit_score=np.where(is_hit, np.round(score, 1), np.nan),
        false_case=false_scan,
        false_score=np.round(random.normal(size=len(false_scan)) * 0.9, 1),
        has_scores=True,
        nodule_row=np.arange(len(hit)),
        hit_mark=np.where(is_hit, 0, -1),
        reference=_reference(scans, len(hit)),
        submission=Submission("simulated", MARKS.empty()),
    )


def _reference(cases: int, nodules: int) -> Reference:
    """Tables of the right length; the metrics here look at the arrays only."""
    table = pl.DataFrame({"case_id": pl.Series(np.arange(cases).astype(str))})
    rows = pl.DataFrame({"case_id": pl.Series(["0"] * nodules, dtype=pl.String)})
    return Reference("simulated", CASES.arrange(table), NODULES.arrange(rows))


@cache
def truth(people: People) -> dict[str, float]:
    """The metrics on the whole population."""
    cohort = marked(draw(people, POPULATION // 4, np.random.default_rng(2**32)))
    once = np.ones((1, cohort.case_count))
    return {name: float(np.mean(METRICS[name](cohort, once)[0])) for name in READ}


@dataclass(slots=True)
class Tally:
    """How often intervals held the truth, were without width, and how wide they were."""

    held: int = 0
    above: int = 0
    """Intervals that lie above the truth."""
    without_width: int = 0
    width: float = 0.0
    all: int = 0

    def add(self, low: float, high: float, true: float) -> None:
        """Count one interval."""
        self.all += 1
        self.held += low <= true <= high
        self.above += low > true
        self.without_width += high == low
        self.width += high - low

    def __str__(self) -> str:
        none = f" z{100 * self.without_width / self.all:.0f}" if self.without_width else ""
        shares = f"{100 * self.held / self.all:.1f} ({100 * self.above / self.all:.1f})"
        return f"{shares} {self.width / self.all:.3f}{none}"


def coverage(people: People, patients: int, sets: int) -> dict[str, tuple[Tally, Tally]]:
    """Of whole metrics: percentile and guarded intervals on many test sets."""
    tallies = {name: (Tally(), Tally()) for name in READ}
    metrics = {name: partial(METRICS[name]) for name in READ}
    for number in range(sets):
        study = draw(people, patients, np.random.default_rng([patients, number]))
        cohort = marked(study)
        if not (cohort.nodule_count and cohort.is_hit.any()):
            continue
        units = study.unit_of_scan
        once = np.ones((1, cohort.case_count))
        (drawn,) = Bootstrap(units, REPLICATES, number).blocks()
        guarded = GuardedCohort(cohort, GuardedBootstrap(units, REPLICATES, number))
        rows = guarded_rows(guarded, metrics)
        for name, metric in metrics.items():
            value = float(metric(cohort, once)[0])
            replicates = metric(cohort, drawn)
            low, high = percentile_interval(replicates[np.isfinite(replicates)], LEVEL)
            if name in ("recall", "precision") and low == high == value == 1:
                low, high = all_or_none_interval(1.0, rows[name].units, LEVEL)
            bounds = guarded_interval(value, rows[name].worst, rows[name].best, LEVEL)
            tallies[name][0].add(low, high, truth(people)[name])
            tallies[name][1].add(*bounds, truth(people)[name])
    return tallies


def _sums(patients: Patients, is_hit: FloatArray) -> CaseSums:
    units = len(patients.effect)
    of_nodule = patients.unit_of_scan[patients.nodule_scan]
    return CaseSums(
        np.bincount(of_nodule, is_hit, minlength=units),
        np.bincount(of_nodule, minlength=units).astype(np.float64),
    )


def recall_coverage(
    people: People, patients: int, sets: int, icc: float = SINGLE_ICC
) -> tuple[Tally, Tally]:
    """Of recall only, on many more test sets: percentile and guarded intervals."""
    tallies = (Tally(), Tally())
    for number in range(sets):
        study = draw(people, patients, np.random.default_rng([patients, number, 1]))
        sums = _sums(study, (hits(study, people.recall) > 0).astype(float))
        total = sums.denominator.sum()
        if not total:
            continue
        value = float(sums.numerator.sum() / total)
        everyone = np.arange(patients)
        (drawn,) = Bootstrap(everyone, REPLICATES, number).blocks()
        with np.errstate(invalid="ignore"):
            replicates = (drawn @ sums.numerator) / (drawn @ sums.denominator)
        low, high = percentile_interval(replicates[np.isfinite(replicates)], LEVEL)
        if low == high == value == 1:
            low, high = all_or_none_interval(1.0, int((sums.denominator > 0).sum()), LEVEL)
        tallies[0].add(low, high, people.recall)
        (block,) = GuardedBootstrap(everyone, REPLICATES, number).blocks()
        ratio = proportion_of(sums.numerator, sums.denominator, pseudo_size(sums.denominator, icc))
        worst, best = ratio_rows([ratio], block)
        tallies[1].add(*guarded_interval(value, worst[:, 0], best[:, 0], LEVEL), people.recall)
    return tallies


def declared(
    people: People, other: float, margin: float, patients: int, sets: int
) -> tuple[float, float]:
    """How often an algorithm of another recall is called non-inferior: percentile and guarded."""
    called = np.zeros(2)
    for number in range(sets):
        study = draw(people, patients, np.random.default_rng([patients, number, 2]))
        recalls = (other, people.recall)
        pair = [_sums(study, (hits(study, recall) > 0).astype(float)) for recall in recalls]
        if not pair[0].denominator.any():
            continue
        everyone = np.arange(patients)
        (drawn,) = Bootstrap(everyone, REPLICATES, number).blocks()
        with np.errstate(invalid="ignore"):
            first, second = ((drawn @ arm.numerator) / (drawn @ arm.denominator) for arm in pair)
        gained = first - second
        called[0] += np.quantile(gained[np.isfinite(gained)], 0.025) > -margin
        (block,) = GuardedBootstrap(everyone, REPLICATES, number).blocks()
        nodules = pair[0].denominator
        size = pseudo_size(nodules, paired_icc(int(np.count_nonzero(nodules))))
        ratios = [proportion_of(arm.numerator, arm.denominator, size) for arm in pair]
        worst, best = ratio_rows(ratios, block)
        called[1] += np.quantile(worst[:, 0] - best[:, 1], 0.025) > -margin
    return float(called[0] / sets), float(called[1] / sets)


SPREADS = {"patients alike": 0.3, "patients differ": 0.8, "patients differ much": 1.6}


def recall_table(sets: int) -> Iterator[str]:
    """Coverage of recall."""
    yield "| patients | kind | recall | percentile: covers (above) width | guarded |"
    yield "|---|---|---|---|---|"
    for patients in (20, 50, 100, 300):
        for kind, spread in SPREADS.items():
            for recall in (0.85, 0.95, 0.99, 0.997):
                people = People(recall, patient_spread=spread)
                before, after = recall_coverage(people, patients, sets)
                yield f"| {patients} | {kind} | {recall:g} | {before} | {after} |"


def metric_table(sets: int) -> Iterator[str]:
    """Coverage of other metrics."""
    yield "| patients | recall, FP per scan | metric | truth | percentile | guarded |"
    yield "|---|---|---|---|---|---|"
    for patients in (20, 50, 100):
        for recall, falses in ((0.9, 2.0), (0.99, 1.0), (0.99, 0.05)):
            people = People(recall, falses)
            for name, (before, after) in coverage(people, patients, sets).items():
                named = f"{patients} | {recall:g}, {falses:g} | {name}"
                yield f"| {named} | {truth(people)[name]:.3f} | {before} | {after} |"


def verdict_table(sets: int) -> Iterator[str]:
    """Errors and power of non-inferiority in recall."""
    yield "| patients | kind | " + " | ".join(f"{a:g} v {b:g}, {m:g}" for a, b, m in PAIRS) + " |"
    yield "|---" * (2 + len(PAIRS)) + "|"
    kinds = {
        "patients differ": People(0.9),
        "differ much, own effects": People(0.9, patient_spread=1.2, own_effect=0.8),
    }
    for patients in (20, 50, 100, 300):
        for kind, people in kinds.items():
            cells = []
            for baseline, other, margin in PAIRS:
                of = People(**{**_fields(people), "recall": baseline})
                before, after = declared(of, other, margin, patients, sets)
                cells.append(f"{100 * before:.1f} / {100 * after:.1f}")
            yield f"| {patients} | {kind} | " + " | ".join(cells) + " |"


PAIRS = (
    (0.99, 0.97, 0.02),
    (0.99, 0.94, 0.05),
    (0.95, 0.90, 0.05),
    (0.90, 0.85, 0.05),
    (0.95, 0.95, 0.05),
    (0.99, 0.99, 0.05),
)
"""Recall of the baseline and of the other, and the margin: four errors, then power twice."""


def main() -> None:
    """Print the tables; a number scales how many test sets there are of each kind."""
    times = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    for table, sets in ((recall_table, 600), (verdict_table, 600), (metric_table, 150)):
        print(f"\n{(table.__doc__ or '').strip()} {round(sets * times)} test sets each.\n")
        for line in table(round(sets * times)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
