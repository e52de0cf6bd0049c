"""Detectors by name and a CT case, or a test set with images -> a submission: marks and runs."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from nodulebench import __version__
from nodulebench.core.errors import InputError, NoduleBenchError, UnknownNameError
from nodulebench.core.executor import Executor, FailedTask, Progress, TaskLimits, no_progress
from nodulebench.core.executors.local import DEFAULT_EXECUTOR
from nodulebench.core.notices import Notice
from nodulebench.core.tables import MARK_SLICES, MARKS, RUNS, Submission
from nodulebench.detection.classifiers.false_positive_reduction import NAME as REDUCTION
from nodulebench.detection.classifiers.false_positive_reduction import is_used
from nodulebench.detection.classifiers.weights import TRAINED
from nodulebench.detection.held_out import Fold, left_out
from nodulebench.detection.marks import measure_marks
from nodulebench.detection.networks.cards import is_packaged
from nodulebench.detection.scan import prepare_scan
from nodulebench.detection.systems import System, candidates_in, read_system
from nodulebench.detection.trained_networks import trained_network
from nodulebench.detection.weights import held_out_fold, own_classifiers
from nodulebench.i18n.translator import in_english
from nodulebench.io.bundle import require_local_workers
from nodulebench.io.formats import case_table_of
from nodulebench.io.images.case_images import images_folder, images_of_set, read_case_image
from nodulebench.io.json_files import write_json
from nodulebench.io.lidc_blocks import FOLDS
from nodulebench.io.marks.submission_folder import write_marks
from nodulebench.matching.combine import MergedPosition

LUNA16 = "blocks and scans of LUNA16"
"""The training data of the package's weights."""


@dataclass(frozen=True, slots=True)
class TrainingProvenance:
    """The training data of some of the weights that scored a scan."""

    data: str
    """A description, with the network or detector of the weights unless they are the package's."""
    without: tuple[int, ...]
    """Folds of the data that they left out."""
    includes_scan: bool = False
    """Whether the scan itself was among the data."""


def require_known_fold(system: System, fold: Fold) -> None:
    """Refuse a fold that given or packaged weights did not leave out, before any scan is read."""
    for name in (*system.detection_networks, *system.scoring_networks):
        trained_network(name, system.weights).choose(("",), fold)
    for file in own_classifiers(system.classifiers, fold).values() if isinstance(fold, int) else ():
        if fold in file.folds:
            what = f"the classifier of {file.part} was trained on fold {fold}."
            remedy = f"Train it with --without-fold {fold}, or let --fold be auto."
            raise InputError.at(file.path, what, remedy)


def training_provenance(
    system: System, fold: Fold, series: Sequence[str]
) -> tuple[TrainingProvenance, ...]:
    provenance = [*_provenance_of_classifiers(system, held_out_fold(fold, series))]
    for name in (*system.detection_networks, *system.scoring_networks):
        network = trained_network(name, system.weights)
        choice = network.choose(series, fold)
        card, path = network.cards[choice.number], network.paths[choice.number]
        data = LUNA16 if is_packaged(path) else f"{name} ({card.data or path.name})"
        provenance.append(TrainingProvenance(data, left_out(card), not choice.is_unseen))
    return tuple(dict.fromkeys(provenance))


def _provenance_of_classifiers(system: System, fold: int | None) -> Iterator[TrainingProvenance]:
    own = own_classifiers(system.classifiers, fold)
    asked = [name for name in system.detectors if name in TRAINED and is_used(name)]
    if any(name not in own for name in (*asked, *((REDUCTION,) if system.detectors else ()))):
        yield TrainingProvenance(LUNA16, () if fold is None else (fold,))
    for file in own.values():
        without = tuple(number for number in FOLDS if file.folds and number not in file.folds)
        yield TrainingProvenance(f"{file.part} ({file.path.name})", without, fold in file.folds)


WARNINGS = "warnings.json"
STATE_OF_FAILURE = {"died": "failed", "timed_out": "timed_out", "gone": "infrastructure"}
SLOWEST_S = 1800.0
"""A case that takes longer counts as timed out."""


@dataclass(frozen=True, kw_only=True)
class DetectOptions:
    """How cases are read."""

    case_id: str = ""
    """Of a single case; empty: the name of its file, or its series UID."""
    most: int | None = None
    """Marks of a case at most."""
    place: MergedPosition = "best"
    weights: tuple[Path, ...] = ()
    """Of networks and classifiers; none: those of the package."""
    fold: str = "auto"


def system_named(text: str, weights: Sequence[Path] = ()) -> System:
    """What ``a+b`` names; an algorithm of others is refused, with the command that takes it."""
    try:
        return read_system(text, weights)
    except UnknownNameError as error:
        if "{" not in text and not Path(text).exists():
            raise
        what = "is not one of the detectors of `detect`."
        remedy = "Use: nodulebench run, with a folder that has an algorithm.toml, or robustness."
        raise InputError.at(f"'{text}'", what, remedy) from error


@dataclass(frozen=True, slots=True)
class DetectionTask:
    """One case for one detector or for several together."""

    system: System
    case: Path
    case_id: str = ""
    """Empty: the name of the file, or the series UID of DICOM."""
    most_marks: int | None = None
    """Only the highest scores become marks."""
    place: MergedPosition = "best"
    fold: Fold = "auto"
    """Weights are those that never saw this fold of LUNA16; ``auto``: the fold of the case."""


class ImageSource(Protocol):
    """Images that exist only while a case is read, such as those of a sealed set."""

    @property
    def case_ids(self) -> list[str]: ...

    def take(self, case_id: str) -> Path: ...

    def give_back(self, case_id: str) -> None: ...


@dataclass(frozen=True)
class _SealedTasks(Sequence[DetectionTask]):
    """Tasks whose images are made available when a worker gets the task."""

    source: ImageSource
    common: DetectionTask

    def __len__(self) -> int:
        return len(self.source.case_ids)

    def __getitem__(self, number: Any) -> Any:
        case_id = self.source.case_ids[number]
        return replace(self.common, case=self.source.take(case_id), case_id=case_id)


@dataclass(frozen=True, eq=False)
class Detection:
    """The result of one case."""

    case_id: str
    marks: pl.DataFrame = field(default_factory=MARKS.empty)
    slices: pl.DataFrame = field(default_factory=MARK_SLICES.empty)
    stages: tuple[tuple[str, float], ...] = ()
    """Each step with its wall time in seconds; detectors run at the same time."""
    seconds: float = 0.0
    peak_memory_mb: float = 0.0
    problem: str = ""
    """Why the case could not be read; empty: it was."""
    state: str = "ok"
    lung_warnings: tuple[Notice, ...] = ()
    remarks: tuple[Notice, ...] = ()
    fold: int | None = None
    """The packaged classifiers never saw this fold of LUNA16."""
    provenance: tuple[TrainingProvenance, ...] = ()
    """The training data of the weights that scored it."""

    @property
    def is_parallel(self) -> bool:
        return sum(seconds for _, seconds in self.stages) > self.seconds


def fold_named(text: str) -> Fold:
    if text == "auto":
        return "auto"
    return None if text == "none" else int(text)


def is_test_set(path: Path) -> bool:
    return path.is_dir() and images_folder(path) is not None


def detect_case(task: DetectionTask) -> Detection:
    """Read one case, find its lungs, detect, and measure the candidates."""
    began = time.perf_counter()
    stages: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        start = time.perf_counter()
        stages[name] = 0.0  # in the order in which they begin
        yield
        stages[name] = time.perf_counter() - start

    with stage("reading"):
        image = read_case_image(task.case)
        is_named = task.case.is_dir() and case_table_of(task.case.parent.parent) is not None
        volume, own_id = image.volume, task.case.name if is_named else image.name
    case_id = task.case_id or own_id
    series = (own_id, case_id)
    with stage("lungs"):
        chest = prepare_scan(volume, str(task.case))
    candidates, notices = candidates_in(
        task.system, chest, volume, fold=task.fold, place=task.place, series=series, stage=stage
    )
    if task.most_marks is not None:
        candidates = candidates.best(task.most_marks)
    with stage("describing"):
        marks, slices = measure_marks(chest, candidates, case_id)
    return Detection(
        case_id,
        marks,
        slices,
        tuple(stages.items()),
        time.perf_counter() - began,
        _peak_memory_mb(),
        state="ok" if chest.lungs.is_plausible else "lungs_implausible",
        lung_warnings=chest.lungs.warnings,
        remarks=notices,
        fold=held_out_fold(task.fold, series),
        provenance=training_provenance(task.system, task.fold, series),
    )


def detect_set(
    system: System,
    folder: Path,
    *,
    executor: Executor = DEFAULT_EXECUTOR,
    most_marks: int | None = None,
    place: MergedPosition = "best",
    fold: Fold = "auto",
    source: ImageSource | None = None,
    progress: Progress = no_progress,
) -> list[Detection]:
    """Read every case of a test set; a case that fails is reported and the others go on.

    ``folder``: a bundle, a bag, a sealed set, or any folder with ``images/``.
    ``source``: of the images, if they cannot be read in the folder itself.

    Raises:
        InputError: if images that must not leave this machine would have to.
    """
    if source is not None:
        require_local_workers(folder, is_ours=executor.is_here)
    common = DetectionTask(system, folder, "", most_marks, place, fold)
    tasks: Sequence[DetectionTask] = (
        _SealedTasks(source, common)
        if source is not None
        else [
            replace(common, case=image, case_id=case_id) for case_id, image in images_of_set(folder)
        ]
    )
    done: list[Detection | None] = [None] * len(tasks)
    terms = TaskLimits(SLOWEST_S, preload=(__name__,))
    for number, result in executor.map(_detect_or_report, tasks, terms):
        case_id = tasks[number].case_id if source is None else source.case_ids[number]
        if source is not None:
            source.give_back(case_id)
        if isinstance(result, FailedTask):
            state = STATE_OF_FAILURE[result.cause]
            result = Detection(case_id, problem=in_english(result.why), state=state)
        done[number] = result
        count = result.marks.height
        status = result.state if result.problem else f"{count} marks in {result.seconds:.1f} s"
        status += ", lungs implausible" if result.state == "lungs_implausible" else ""
        ready = sum(detection is not None for detection in done)
        progress(f"{result.case_id}: {status}", ready, len(tasks))
    return [detection for detection in done if detection is not None]


def submission_of(system: System, detections: Sequence[Detection]) -> Submission:
    sources = ", ".join((*system.detectors, *system.detection_networks))
    scoring = ", ".join(system.scoring_networks)
    columns = ("case_id", "state", "seconds", "peak_memory_mb")
    runs = pl.DataFrame(
        {name: [getattr(detection, name) for detection in detections] for name in columns}
    )
    return Submission(
        system.name,
        pl.concat([detection.marks for detection in detections]),
        pl.concat([detection.slices for detection in detections]),
        RUNS.conform(runs, "runs"),
        facts={
            "version": __version__,
            "developer": "NoduleBench",
            "kind": "3-D",
            "description": f"candidates of {sources}{f', scored by {scoring}' if scoring else ''}",
            "training_data": training_data(detections),
        },
    )


def training_data(detections: Sequence[Detection]) -> str:
    """The training data of the weights that scored the cases, from their cards."""
    scan_counts = Counter(
        provenance for case in detections for provenance in case.provenance if not case.problem
    )
    parts_by_data: dict[str, list[str]] = {}
    for provenance in sorted(
        scan_counts, key=lambda source: (source.includes_scan, source.without)
    ):
        scans = f"{scan_counts[provenance]} scan{'s' if scan_counts[provenance] > 1 else ''}"
        parts_by_data.setdefault(provenance.data, []).append(f"{_folds_of(provenance)} for {scans}")
    # those of the package first
    ordered = sorted(parts_by_data.items(), key=lambda pair: pair[0] != LUNA16)
    return ". ".join(f"{data}: {'; '.join(parts)}" for data, parts in ordered)


def _folds_of(provenance: TrainingProvenance) -> str:
    whole = "all ten folds" if provenance.data == LUNA16 else "all folds"
    without = ", ".join(map(str, provenance.without))
    but = f"all folds but {without}" if without else whole
    return f"{but}, the scan's own among them," if provenance.includes_scan else but


def write_detections(system: System, detections: Sequence[Detection], out: Path) -> None:
    """Write a submission folder that ``evaluate`` takes, with warnings about its marks."""
    write_marks(submission_of(system, detections), out)
    rows = [{"case_id": case_id, **notice.to_json()} for case_id, notice in warnings_of(detections)]
    if rows:
        write_json(rows, out / WARNINGS)
    else:
        (out / WARNINGS).unlink(missing_ok=True)  # of older marks in the same folder


def warnings_of(detections: Sequence[Detection]) -> list[tuple[str, Notice]]:
    """Warnings about cases: implausible lungs, scans that networks were trained on."""
    about_lungs = []
    for detection in detections:
        if detection.lung_warnings:
            is_odd = detection.state == "lungs_implausible"
            doubts = [warning.to_json() for warning in detection.lung_warnings]
            notice = Notice("lungs_implausible" if is_odd else "lungs_unusual", {"doubts": doubts})
            about_lungs.append((detection.case_id, notice))
    return about_lungs + [
        (detection.case_id, remark) for detection in detections for remark in detection.remarks
    ]


def _detect_or_report(task: DetectionTask) -> Detection:
    try:
        return detect_case(task)
    except NoduleBenchError as error:
        return Detection(task.case_id, problem=str(error), state="failed")


def _peak_memory_mb() -> float:
    """The most memory that this process has used, 0 if the system does not report it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    # Linux counts in kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
