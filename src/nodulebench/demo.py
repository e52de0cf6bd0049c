"""The demonstration: phantoms, three detectors and their combination, evaluated and reported.

The detectors really process the images, and the nodules are known; a seed determines everything.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.executor import (
    IN_PROCESS,
    Executor,
    FailedTask,
    Progress,
    TaskLimits,
    in_order,
    no_progress,
)
from nodulebench.core.executors.local import LocalExecutor
from nodulebench.core.protocol import RuleChoice, TestProtocol, load_protocol
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import MARK_SLICES, NODULE_TYPES, Reference, Submission
from nodulebench.detection.detectors import candidates_of, merge_detectors
from nodulebench.detection.marks import measure_marks
from nodulebench.detection.scan import prepare_scan
from nodulebench.evaluation.combine import CombinationChoice, combine_candidates, write_rows
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.report import ReportChoice, write_report
from nodulebench.evaluation.result_folder import write_evaluation
from nodulebench.i18n.translator import in_english
from nodulebench.io.images.case_images import image_reader
from nodulebench.phantom.patient import NodulePlan
from nodulebench.phantom.test_set import PhantomCase, ScanPlan, make_case, write_test_set

DETECTORS = ("isicad", "subsolidcad", "largecad")
COMBINATION = "combination"
MOST_PER_SCAN = 40
"""A detector's marks on a scan, the best ones; a candidate detector proposes hundreds."""
TEST_SET, IMAGES, RESULT, TABLE = "test-set", "images", "result", "combinations.csv"
"""The files of a demonstration; the result is a separate folder, because it has a manifest."""


MERGING = CombinationChoice(linkage="nearest")


@dataclass(frozen=True, slots=True)
class DemoChoice:
    """The size of the demonstration."""

    phantoms: int = 6
    matrix: int = 256
    """Pixels along a side of a slice."""
    slice_mm: float | None = None
    """Thickness and distance of slices; None: random."""
    seed: int = 5
    bootstraps: int = 1000
    processes: int = 2
    types: tuple[str, ...] = NODULE_TYPES
    """Every phantom has a nodule of each."""


DEFAULT_CHOICE = DemoChoice()


def demo_protocol(bootstraps: int) -> TestProtocol:
    """The NIFDC protocol under all rules; also with a FROC, because the marks have scores."""
    published = load_protocol("nifdc-2022")
    rules = ("center_hit", "center_distance", "area_overlap", "luna16", "luna16_clean")
    return published.model_copy(
        update={
            "name": "demo",
            "title": "Three candidate detectors and their combination under five rules",
            "rules": tuple(RuleChoice(name=name) for name in rules),
            "metrics": (*published.metrics, "sensitivity_at_fp_rate", "cpm"),
            "interval": published.interval.model_copy(update={"bootstraps": bootstraps}),
            "strata": ("type", "size", "vendor"),
        }
    )


def run_demo(
    out: Path, choice: DemoChoice = DEFAULT_CHOICE, progress: Progress = no_progress
) -> Evaluation:
    """Make the test set, run the detectors, evaluate them, and write the full report.

    Returns:
        The evaluation. The folder ``result`` has its tables, the comparison with the combination
        and the report with images; ``test-set`` has the images and the truth.
    """
    reference, submissions = make_and_read(out / TEST_SET, choice, progress)
    evaluation = evaluate(reference, submissions, demo_protocol(choice.bootstraps))
    result, table = out / RESULT, out / TABLE
    write_evaluation(evaluation, result)
    write_rows(
        combine_candidates(reference, submissions[:-1], MERGING, load_protocol("luna16")), table
    )
    compare_folder(result, ComparisonChoice(COMBINATION, bootstraps=choice.bootstraps))
    images = out / TEST_SET / IMAGES
    write_report(result, ReportChoice(images=images, combinations=(table,)))
    return evaluation


def make_and_read(
    folder: Path, choice: DemoChoice, progress: Progress = no_progress
) -> tuple[Reference, list[Submission]]:
    """Make phantoms in a folder and run the detectors on them.

    Returns:
        The reference of the phantoms; the submission of each detector, and last of all together.
    """
    made = _each(partial(_make, choice), range(1, choice.phantoms + 1), choice.processes)
    reference = write_test_set(folder, made, has_masks=False, progress=progress)
    progress(f"{', '.join(DETECTORS)} read {reference.cases.height} scans", 0, 0)
    cases = reference.cases["case_id"].to_list()
    return reference, _joined(list(_each(partial(_read, folder / IMAGES), cases, choice.processes)))


def _each(function: Callable[[Any], Any], tasks: Sequence[Any], processes: int) -> Iterator[Any]:
    """The results of a function for tasks, in their order, by several processes.

    Raises:
        InputError: if a process died.
    """
    executor: Executor = IN_PROCESS if processes == 1 else LocalExecutor(processes)
    terms = TaskLimits(preload=(__name__,))
    for number, made in in_order(executor.map(function, tasks, terms)):
        if isinstance(made, FailedTask):
            why = in_english(made.why)
            raise InputError.at(f"scan {number + 1}", f"was not made or read: {why}.")
        yield made


def _make(choice: DemoChoice, number: int) -> PhantomCase:
    plans = tuple(NodulePlan(kind) for kind in choice.types)
    scans = ScanPlan(choice.slice_mm)
    return make_case(choice.seed, number, matrix=choice.matrix, plans=plans, scan_plan=scans)


def _read(images: Path, case_id: str) -> dict[str, Submission]:
    """The marks of the detectors, and of all together, on one scan."""
    chest = prepare_scan(image_reader(images)(case_id), case_id)
    by_detector = {name: candidates_of(name, chest).best(MOST_PER_SCAN) for name in DETECTORS}
    return {
        name: Submission(name, *measure_marks(chest, candidates, case_id))
        for name, candidates in {**by_detector, COMBINATION: merge_detectors(by_detector)}.items()
    }


def _joined(by_scan: Sequence[dict[str, Submission]]) -> list[Submission]:
    """The submissions of single scans, joined to one for each algorithm."""
    joined = []
    for name in (*DETECTORS, COMBINATION):
        parts = [scan[name] for scan in by_scan]
        slices = [MARK_SLICES.empty(), *(part.slices for part in parts if part.slices is not None)]
        joined.append(
            Submission(name, pl.concat([part.marks for part in parts]), pl.concat(slices))
        )
    return joined
