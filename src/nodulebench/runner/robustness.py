"""Test the robustness of an algorithm on one case: relations that its marks must satisfy.

No reference is needed: the same scan stored differently must have the same marks, and inserted
nodules are known.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from nodulebench.core.algorithm import InputFormat
from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.lungs import Lungs, lung_density, segment_lungs
from nodulebench.imaging.volume import Volume, to_patient_axes
from nodulebench.io.atomic import staged_file
from nodulebench.io.csv_files import marked
from nodulebench.io.images.case_images import read_case
from nodulebench.runner.command import Algorithm, Marks, open_algorithm
from nodulebench.runner.scan_variants import (
    InsertedNodule,
    Variant,
    cropped,
    flipped,
    insert_nodules,
    mirrored,
    place_nodules,
    sharper,
    shifted,
    smoother,
    thicker,
    with_dose,
    with_median,
    with_noise,
)


@dataclass(frozen=True, slots=True)
class RelationVerdict:
    """Whether a relation held, and what was measured."""

    is_passed: bool | None
    """None: not testable, see ``measured``."""
    measured: Notice


def partners(
    points: FloatArray, others: FloatArray, tolerance_mm: float
) -> tuple[IntArray, IntArray]:
    """Return pairs of points that are each other's nearest and at most ``tolerance_mm`` apart."""
    from scipy.spatial import cKDTree

    if not len(points) or not len(others):
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    distance, nearest = cKDTree(others).query(points)
    there, back = np.asarray(nearest), np.asarray(cKDTree(points).query(others)[1])
    first = np.arange(len(points))
    is_pair = (back[there] == first) & (np.asarray(distance) <= tolerance_mm)
    return first[is_pair], there[is_pair].astype(np.int64)


def same_marks(
    expected: Marks,
    observed: Marks,
    *,
    tolerance_mm: float,
    least: float,
    score_tolerance: float | None = None,
) -> RelationVerdict:
    """Check that the variant has the marks of the scan, at their positions in the variant.

    ``least`` is the minimum share of marks with a partner, of both lists together;
    ``score_tolerance`` a share of the range of all scores (None: scores are not compared).
    """
    if not len(expected) and not len(observed):
        return RelationVerdict(None, Notice("no_marks_at_all"))
    first, second = partners(expected.center_mm, observed.center_mm, tolerance_mm)
    if score_tolerance is not None and len(first):
        spread = float(np.ptp(np.concatenate([expected.score, observed.score])))
        apart = np.abs(expected.score[first] - observed.score[second])
        first = first[apart <= score_tolerance * spread + 1e-9]
    share = 2 * len(first) / (len(expected) + len(observed))
    counts = {"agreeing": len(first), "before": len(expected), "after": len(observed)}
    measured = Notice("marks_agree", {**counts, "share": share, "least": least})
    return RelationVerdict(share >= least, measured)


def unchanged_marks(
    expected: Marks, observed: Marks, *, tolerance_mm: float, count: int, least: float
) -> RelationVerdict:
    """Check that the highest-scored marks of the scan are among those of the variant.

    The agreement of all marks is reported in addition, but not tested.
    """
    top = expected.chosen(np.argsort(-expected.score, kind="stable")[:count])
    if not len(top):
        return RelationVerdict(None, Notice("no_marks_before"))
    first, _ = partners(top.center_mm, observed.center_mm, tolerance_mm)
    share = len(first) / len(top)
    every, _ = partners(expected.center_mm, observed.center_mm, tolerance_mm)
    among_all = 2 * len(every) / (len(expected) + len(observed))
    values = {"remaining": len(first), "top": len(top), "share": share, "least": least}
    return RelationVerdict(share >= least, Notice("highest_stay", {**values, "all": among_all}))


def is_found(nodules: Sequence[InsertedNodule], marks: Marks, tolerance_mm: float) -> BoolArray:
    """Return which nodules have a mark within their radius, or the tolerance if larger."""
    is_hit = np.zeros(len(nodules), dtype=np.bool_)
    for number, nodule in enumerate(nodules if len(marks) else ()):
        nearest = float(np.linalg.norm(marks.center_mm - nodule.center_mm, axis=1).min())
        is_hit[number] = nearest <= max(nodule.diameter_mm / 2, tolerance_mm)
    return is_hit


def _is_large(nodules: Sequence[InsertedNodule], large_mm: float) -> BoolArray:
    return np.array([nodule.diameter_mm >= large_mm for nodule in nodules], dtype=np.bool_)


def found_and_nothing_else(
    nodules: Sequence[InsertedNodule],
    before: Marks,
    after: Marks,
    *,
    large_mm: float,
    tolerance_mm: float,
    margin_mm: float,
    least: float,
) -> RelationVerdict:
    """Check that large inserted nodules are found, and that marks elsewhere do not change."""
    is_hit = is_found(nodules, after, tolerance_mm)
    is_large, away = _is_large(nodules, large_mm), []
    for marks in (before, after):
        is_away = np.ones(len(marks), dtype=np.bool_)
        for nodule in nodules:
            apart = np.linalg.norm(marks.center_mm - nodule.center_mm, axis=1)
            is_away &= apart > nodule.diameter_mm / 2 + margin_mm
        away.append(marks.chosen(is_away))
    rest = same_marks(*away, tolerance_mm=tolerance_mm, least=least)
    large = {"large_found": int(is_hit[is_large].sum()), "large": int(is_large.sum())}
    values = {**large, "found": int(is_hit.sum()), "total": len(is_hit), "elsewhere": rest.measured}
    is_passed = bool(is_hit[is_large].all()) and rest.is_passed is not False
    return RelationVerdict(is_passed, Notice("inserted_found", values))


def never_rising(
    names: Sequence[Notice], counts: Sequence[int], total: int, chance: int
) -> RelationVerdict:
    """Check that worse variants do not have more nodules found, apart from chance."""
    if not any(counts):
        return RelationVerdict(None, Notice("never_found", {"total": total}))
    rises = [later - earlier for earlier, later in pairwise(counts)]
    measured = Notice("found_by_step", {"total": total, "steps": _counted(names, counts)})
    return RelationVerdict(max(rises, default=0) <= chance, measured)


def still_found(
    nodules: Sequence[InsertedNodule], before: BoolArray, after: BoolArray, large_mm: float
) -> RelationVerdict:
    """Check that large nodules found before are still found."""
    known = _is_large(nodules, large_mm) & before
    if not known.any():
        return RelationVerdict(None, Notice("no_large_found_before"))
    still, total = int((known & after).sum()), int(known.sum())
    return RelationVerdict(
        still == total, Notice("large_stay", {"remaining": still, "total": total})
    )


def as_many(
    nodules: Sequence[InsertedNodule],
    runs: Sequence[tuple[Notice, Marks]],
    *,
    large_mm: float,
    tolerance_mm: float,
    factor: float,
    few: int,
) -> RelationVerdict:
    """Check that large nodules are still found, and that the number of marks is similar.

    ``runs``: name and marks of the scan, then those of its variants; ``factor``: maximum ratio of
    the numbers of marks, unless they differ by at most ``few``.
    """
    names, marks = zip(*runs, strict=True)
    if not len(marks[0]):
        return RelationVerdict(None, Notice("no_marks_before"))
    is_large = _is_large(nodules, large_mm)
    first, *others = (is_found(nodules, mark, tolerance_mm) & is_large for mark in marks)
    in_all = first & np.logical_and.reduce(others)
    counts = [len(mark) for mark in marks]
    is_alike = [
        abs(count - counts[0]) <= few or max(count, counts[0]) <= factor * min(count, counts[0])
        for count in counts[1:]
    ]
    values = {"remaining": int(in_all.sum()), "total": int(first.sum()), "factor": factor}
    measured = Notice("about_as_many", {**values, "counts": _counted(names, counts)})
    return RelationVerdict(bool(np.array_equal(in_all, first)) and all(is_alike), measured)


def _counted(names: Sequence[Notice], counts: Sequence[int]) -> list[Notice]:
    pairs = zip(names, counts, strict=True)
    return [Notice("variant_counted", {"variant": name, "count": count}) for name, count in pairs]


@dataclass(frozen=True, slots=True)
class RobustnessChoice:
    """Inserted nodules, and the strictness of the relations."""

    tolerance_mm: float = 3.0
    """Maximum distance of the same mark."""
    noise_hu: float = 10.0
    diameters_mm: tuple[float, ...] = (4, 4, 6, 6, 8, 8, 12, 12)
    nodule_hu: float = 20.0
    large_mm: float = 10.0
    """Inserted nodules of at least this diameter must be found."""
    exact_share: float = 0.99
    """Minimum agreement if no voxel value changes."""
    near_share: float = 0.9
    """Minimum agreement if the surroundings change."""
    highest_share: float = 0.8
    """Minimum share of the highest-scored marks that remain under noise and on another grid."""
    chance: int = 1
    """Number of additional nodules that may be found at a lower dose or in thicker slices."""
    most_times: float = 2.0
    """Maximum ratio of the numbers of marks in denser or noisier lungs."""
    few: int = 10
    """Numbers of marks that differ by at most this are similar."""
    seed: int = 0


DEFAULT_CHOICE = RobustnessChoice()
AS_IT_IS, WITH_NODULES = Notice("variant_none"), Notice("variant_nodules")


class Bench:
    """One algorithm and one case; each variant is run once, when a relation needs it."""

    def __init__(self, algorithm: Algorithm, volume: Volume, choice: RobustnessChoice) -> None:
        self.choice = choice
        self.volume = to_patient_axes(volume, "case")
        self.lungs: Lungs = segment_lungs(self.volume, "case")
        self.marks: dict[Notice, Marks] = {}
        self._algorithm = algorithm

    @property
    def before(self) -> Marks:
        return self.run(AS_IT_IS, self.volume)

    @cached_property
    def nodules(self) -> tuple[InsertedNodule, ...]:
        """Inserted nodules, at positions in the lungs without marks."""
        marks, sizes = self.before.center_mm, self.choice.diameters_mm
        return place_nodules(self.volume, self.lungs.mask, sizes, marks, self.random(0))

    @cached_property
    def with_nodules(self) -> Volume:
        return insert_nodules(self.volume, self.nodules, self.choice.nodule_hu)

    @property
    def is_found(self) -> BoolArray:
        """Which inserted nodules are found at full dose."""
        return self.is_found_in(WITH_NODULES, self.with_nodules)

    def run(self, name: Notice, volume: Volume) -> Marks:
        if name not in self.marks:
            self.marks[name] = self._algorithm(volume)
        return self.marks[name]

    def moved(self, variant: Variant) -> tuple[Marks, Marks]:
        before = self.before
        expected = Marks(variant.move(before.center_mm.copy()), before.score)
        return expected, self.run(variant.name, variant.volume)

    def is_found_in(self, name: Notice, volume: Volume) -> BoolArray:
        return is_found(self.nodules, self.run(name, volume), self.choice.tolerance_mm)

    def random(self, purpose: int) -> np.random.Generator:
        """Return a random generator that does not depend on the selection of tests."""
        return np.random.default_rng([self.choice.seed, purpose])


SHIFT_MM = (37.0, -21.0, 143.0)
CROP_LOW_MM, CROP_HIGH_MM = 15.0, 25.0
"""Margins around the lungs; unequal, so that the centre of the image moves too."""
SCORE_TOLERANCE = 0.05
TOP_MARKS = 10
DOSE_SHARES = (1 / 2, 1 / 4, 1 / 8)
BLUR_MM, SHARPENING = 0.8, 0.8
MEDIANS_HU = (-900.0, -750.0)
"""From well-aerated lungs to dense ones."""
NOISY_SHARE = 1 / 4
"""The dose at which noise is twice as strong."""


@dataclass(frozen=True, slots=True)
class RobustnessOutcome:
    """One line of the table."""

    name: str
    relation: Notice
    verdict: RelationVerdict

    @property
    def word(self) -> str:
        return {True: "pass", False: "FAIL", None: "not tested"}[self.verdict.is_passed]


def _same(
    bench: Bench, variant: Variant, least: float, *, score_tolerance: float | None = None
) -> RelationVerdict:
    return same_marks(
        *bench.moved(variant),
        tolerance_mm=bench.choice.tolerance_mm,
        least=least,
        score_tolerance=score_tolerance,
    )


def _exact(bench: Bench, variant: Variant) -> RelationVerdict:
    return _same(bench, variant, bench.choice.exact_share, score_tolerance=SCORE_TOLERANCE)


def _highest(bench: Bench, variant: Variant) -> RelationVerdict:
    tolerance_mm, least = bench.choice.tolerance_mm, bench.choice.highest_share
    return unchanged_marks(
        *bench.moved(variant), tolerance_mm=tolerance_mm, count=TOP_MARKS, least=least
    )


def _crop(bench: Bench) -> RelationVerdict:
    box = []
    for axis, spacing in enumerate(bench.volume.spacing_mm.tolist()):
        others = tuple(other for other in range(3) if other != axis)
        inside = np.flatnonzero(bench.lungs.mask.any(axis=others))
        low = int(inside[0]) - round(CROP_LOW_MM / spacing)
        high = int(inside[-1]) + round(CROP_HIGH_MM / spacing) + 1
        box.append(slice(max(0, low), min(bench.volume.hu.shape[axis], high)))
    return _same(bench, cropped(bench.volume, tuple(box)), bench.choice.near_share)


def _insert(bench: Bench) -> RelationVerdict:
    choice = bench.choice
    after = bench.run(WITH_NODULES, bench.with_nodules)
    return found_and_nothing_else(
        bench.nodules,
        bench.before,
        after,
        large_mm=choice.large_mm,
        tolerance_mm=choice.tolerance_mm,
        margin_mm=10.0,
        least=choice.near_share,
    )


def _at_dose(bench: Bench, share: float) -> Variant:
    noise = lung_density(bench.volume.hu, bench.lungs).noise_sd_hu
    random = bench.random(2 + DOSE_SHARES.index(share))
    return with_dose(bench.with_nodules, share, noise, random)


def _as_many(bench: Bench, variants: Iterable[Variant]) -> RelationVerdict:
    choice = bench.choice
    runs = [(WITH_NODULES, bench.run(WITH_NODULES, bench.with_nodules))]
    runs += [(variant.name, bench.run(variant.name, variant.volume)) for variant in variants]
    return as_many(
        bench.nodules,
        runs,
        large_mm=choice.large_mm,
        tolerance_mm=choice.tolerance_mm,
        factor=choice.most_times,
        few=choice.few,
    )


def _falling(bench: Bench, worse: Iterable[Variant]) -> RelationVerdict:
    names, counts = [AS_IT_IS], [int(bench.is_found.sum())]
    for variant in worse:
        names.append(variant.name)
        counts.append(int(bench.is_found_in(variant.name, variant.volume).sum()))
    return never_rising(names, counts, len(bench.nodules), bench.choice.chance)


def _kernel(bench: Bench, variant: Variant) -> RelationVerdict:
    after = bench.is_found_in(variant.name, variant.volume)
    return still_found(bench.nodules, bench.is_found, after, bench.choice.large_mm)


TESTS: dict[str, tuple[Notice, Callable[[Bench], RelationVerdict]]] = {
    "shift": (
        Notice("relation_shift"),
        lambda bench: _exact(bench, shifted(bench.volume, np.array(SHIFT_MM))),
    ),
    "flip-columns": (
        Notice("relation_flip_columns"),
        lambda bench: _exact(bench, flipped(bench.volume, 0)),
    ),
    "flip-slices": (
        Notice("relation_flip_slices"),
        lambda bench: _exact(bench, flipped(bench.volume, 2)),
    ),
    "mirror": (Notice("relation_mirror"), lambda bench: _highest(bench, mirrored(bench.volume))),
    "crop": (Notice("relation_crop"), _crop),
    "noise": (
        Notice("relation_noise"),
        lambda bench: _highest(
            bench, with_noise(bench.volume, bench.choice.noise_hu, bench.random(1))
        ),
    ),
    "insert": (Notice("relation_insert"), _insert),
    "density": (
        Notice("relation_density"),
        lambda bench: _as_many(
            bench, (with_median(bench.with_nodules, bench.lungs.mask, hu) for hu in MEDIANS_HU)
        ),
    ),
    "more-noise": (
        Notice("relation_more_noise"),
        lambda bench: _as_many(bench, (_at_dose(bench, NOISY_SHARE),)),
    ),
    "dose": (
        Notice("relation_dose"),
        lambda bench: _falling(bench, (_at_dose(bench, share) for share in DOSE_SHARES)),
    ),
    "thickness": (
        Notice("relation_thickness"),
        lambda bench: _falling(bench, (thicker(bench.with_nodules, n) for n in (2, 4))),
    ),
    "smooth-kernel": (
        Notice("relation_smooth_kernel"),
        lambda bench: _kernel(bench, smoother(bench.with_nodules, BLUR_MM)),
    ),
    "sharp-kernel": (
        Notice("relation_sharp_kernel"),
        lambda bench: _kernel(bench, sharper(bench.with_nodules, BLUR_MM, SHARPENING)),
    ),
}
"""Name -> the relation and its test. A new test needs one entry here and one text."""


def check_case(
    name_or_command: str,
    case: Path,
    choice: RobustnessChoice = DEFAULT_CHOICE,
    names: Sequence[str] = tuple(TESTS),
    image_format: InputFormat = "metaimage",
    weights: Sequence[Path] = (),
) -> Iterator[tuple[RobustnessOutcome, Bench]]:
    """Test an algorithm, by its name or command, on the image of a case in any format."""
    with open_algorithm(name_or_command, image_format, weights) as algorithm:
        yield from check_robustness(algorithm, read_case(case), choice, names)


def check_robustness(
    algorithm: Algorithm,
    volume: Volume,
    choice: RobustnessChoice = DEFAULT_CHOICE,
    names: Sequence[str] = tuple(TESTS),
) -> Iterator[tuple[RobustnessOutcome, Bench]]:
    raise_problems(
        Problem("robustness test", f"'{name}' is not one of {', '.join(TESTS)}.")
        for name in names
        if name not in TESTS
    )
    bench = Bench(algorithm, volume, choice)
    for name in names:
        relation, test = TESTS[name]
        yield RobustnessOutcome(name, relation, test(bench)), bench


def write_outcomes(folder: Path, outcomes: Sequence[RobustnessOutcome], bench: Bench) -> None:
    """Write ``robustness.csv``, the marks of every variant, and the inserted nodules."""
    rows = [
        (row.name, row.word.lower(), in_english(row.relation), in_english(row.verdict.measured))
        for row in outcomes
    ]
    _write_csv(folder / "robustness.csv", ("test", "verdict", "relation", "measured"), rows)
    marks = [
        (in_english(name), *center, score)
        for name, own in bench.marks.items()
        for center, score in zip(own.center_mm.tolist(), own.score.tolist(), strict=True)
    ]
    _write_csv(folder / "marks.csv", ("variant", "x_mm", "y_mm", "z_mm", "score"), marks)
    if WITH_NODULES in bench.marks:
        nodules = [
            (nodule.x_mm, nodule.y_mm, nodule.z_mm, nodule.diameter_mm) for nodule in bench.nodules
        ]
        _write_csv(folder / "inserted.csv", ("x_mm", "y_mm", "z_mm", "diameter_mm"), nodules)


def _write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with staged_file(path) as staged, staged.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(
            [marked(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
        )
