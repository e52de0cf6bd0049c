"""Detectors by name and a CT case, or a test set with images -> a submission: marks and runs."""

import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from nodulebench import __version__
from nodulebench.algorithms.candidate import Candidates
from nodulebench.algorithms.candidates import DETECTORS
from nodulebench.algorithms.chest import Chest, see_chest
from nodulebench.algorithms.combine import is_near_lungs, merge_candidates
from nodulebench.algorithms.describe import describe
from nodulebench.errors import InputError, NoduleBenchError, Problem
from nodulebench.formats.case_names import IMAGE_SUFFIXES, case_of_image
from nodulebench.formats.dicom import series as dicom_series
from nodulebench.formats.images.case_images import image_reader
from nodulebench.formats.marks.submission_folder import write_marks
from nodulebench.imaging.volume import Volume, to_patient_axes
from nodulebench.model.tables import MARK_SLICES, MARKS, RUNS, Submission
from nodulebench.run.local import Lost, work
from nodulebench.storage.table_file import read_cases
from nodulebench.workflows.detect.any_algorithm import read_case

SLOWEST_S = 1800.0
"""A case that takes longer counts as timed out."""
LARGEST_UNPACKED_BYTES = 8 << 30
"""A zip that says it holds more is refused before anything is written."""
RANK_SCALE = 10.0
"""In a combination, a detector's candidate of rank r (from 0) counts RANK_SCALE / (RANK_SCALE + r):
scores of different detectors cannot be compared, ranks can."""


@dataclass(frozen=True, slots=True)
class DetectionTask:
    """One case to be read by one detector or by several together."""

    names: tuple[str, ...]
    case: Path
    case_id: str = ""
    """Empty: the name of the file, or the series UID of DICOM."""
    most_marks: int | None = None
    """Only the highest scores are kept."""


@dataclass(frozen=True, eq=False)
class Detection:
    """What came of one case."""

    case_id: str
    marks: pl.DataFrame = field(default_factory=MARKS.empty)
    slices: pl.DataFrame = field(default_factory=MARK_SLICES.empty)
    stages: tuple[tuple[str, float], ...] = ()
    """What was done, with the wall time of each in seconds."""
    peak_memory_mb: float = 0.0
    problem: str = ""
    """Why there are no marks."""
    state: str = "ok"

    @property
    def seconds(self) -> float:
        """Wall time of the whole case."""
        return sum(seconds for _, seconds in self.stages)


def detector_names(text: str) -> tuple[str, ...]:
    """The detectors that ``a+b+c`` names.

    Raises:
        UnknownNameError: if there is no such detector.
        InputError: if one is named twice.
    """
    names = tuple(name.strip() for name in text.split("+"))
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            Problem(f"detector '{text}'", f"names {', '.join(repeated)} twice.", "Name it once.")
        )
    for name in names:
        DETECTORS[name]
    return names


def is_test_set(path: Path) -> bool:
    """Whether a folder keeps the images of many cases."""
    return (path / "images").is_dir()


def detect_case(task: DetectionTask) -> Detection:
    """Read one case, find its lungs, detect, and measure what was found.

    Raises:
        InputError: with everything that keeps the case from being read as a chest CT.
    """
    stages: list[tuple[str, float]] = []

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        stages.append((name, time.perf_counter() - start))

    with stage("reading"):
        volume, own_id = _read(task.case)
    case_id = task.case_id or own_id
    with stage("lungs"):
        upright = to_patient_axes(volume, str(task.case))
        chest = see_chest(upright, str(task.case))
    found = {}
    for name in task.names:
        with stage(name):
            found[name] = DETECTORS[name](chest)
    with stage("combining" if len(found) > 1 else "lung slack"):
        candidates = _together(found, chest)
    if task.most_marks is not None:
        candidates = candidates.best(task.most_marks)
    with stage("describing"):
        marks, slices = describe(chest, candidates, case_id, upright.geometry)
    return Detection(case_id, marks, slices, tuple(stages), _peak_memory_mb())


def detect_set(
    names: tuple[str, ...],
    folder: Path,
    *,
    processes: int = 2,
    most_marks: int | None = None,
    progress: Callable[[Detection, int], object] = lambda _one, _of: None,
) -> list[Detection]:
    """Read every case of a test set; a case that fails is told and the others go on.

    Args:
        names: detectors.
        folder: a bundle, or any folder with ``images/``.
        processes: cases read at once.
        most_marks: per case.
        progress: told each case when it is done, and how many there are.
    """
    tasks = [
        DetectionTask(names, image, case_id, most_marks) for case_id, image in _set_cases(folder)
    ]
    done: list[Detection | None] = [None] * len(tasks)
    results = work(
        _detect_or_tell,
        tasks,
        processes=min(processes, len(tasks)),
        seconds=SLOWEST_S,
        preload=(__name__,),
    )
    for number, result in results:
        if isinstance(result, Lost):
            state = "timed_out" if "in time" in result.why else "failed"
            result = Detection(tasks[number].case_id, problem=result.why, state=state)
        done[number] = result
        progress(result, len(tasks))
    return [one for one in done if one is not None]


def submission_of(names: Sequence[str], detections: Sequence[Detection]) -> Submission:
    """The marks of all cases, and how each run ended."""
    runs = pl.DataFrame(
        {
            "case_id": [one.case_id for one in detections],
            "state": [one.state for one in detections],
            "seconds": [one.seconds for one in detections],
            "peak_memory_mb": [one.peak_memory_mb for one in detections],
        }
    )
    return Submission(
        "+".join(names),
        pl.concat([one.marks for one in detections]),
        pl.concat([one.slices for one in detections]),
        RUNS.conform(runs, "runs"),
        facts={
            "version": __version__,
            "developer": "NoduleBench",
            "kind": "3-D",
            "description": f"candidate detectors of LUNA16: {', '.join(names)}",
        },
    )


def write_detections(names: Sequence[str], detections: Sequence[Detection], out: Path) -> None:
    """Write a submission folder that ``evaluate`` takes."""
    write_marks(submission_of(names, detections), out)


def _detect_or_tell(task: DetectionTask) -> Detection:
    try:
        return detect_case(task)
    except NoduleBenchError as error:
        return Detection(task.case_id, problem=str(error), state="failed")


def _together(found: dict[str, Candidates], chest: Chest) -> Candidates:
    """Candidates merged as in LUNA16's combination; none further from the lungs than the slack."""
    candidates = next(iter(found.values())) if len(found) == 1 else _merged(found)
    mask, geometry = chest.lungs.mask, chest.volume.geometry
    is_near = is_near_lungs(candidates.center_mm, mask, geometry)
    kept = Candidates(*(values[is_near] for values in vars(candidates).values()))
    return kept.best(len(kept))


def _merged(found: dict[str, Candidates]) -> Candidates:
    """Candidates closer than 5 mm are one; its score is the mean over all detectors."""
    parts = [
        Submission(name, _as_marks(candidates.best(len(candidates))))
        for name, candidates in found.items()
    ]
    merged = merge_candidates(parts)
    votes = merged.sources.group_by("mark_id").agg(votes=pl.col("algorithm").n_unique())
    marks = merged.submission.marks.join(votes, on="mark_id", maintain_order="left")
    return Candidates(
        marks.select("x_mm", "y_mm", "z_mm").to_numpy().reshape(-1, 3),
        (marks["score"] * marks["votes"] / len(found)).to_numpy(),
        marks["diameter_mm"].to_numpy(),
    )


def _as_marks(ranked: Candidates) -> pl.DataFrame:
    rank = np.arange(len(ranked))
    marks = pl.DataFrame(
        {
            **{f"{axis}_mm": ranked.center_mm[:, at] for at, axis in enumerate("xyz")},
            "score": RANK_SCALE / (RANK_SCALE + rank),
            "diameter_mm": ranked.diameter_mm,
        }
    )
    named = marks.with_columns(
        case_id=pl.lit("case"), mark_id=pl.int_range(1, pl.len() + 1).cast(pl.String)
    )
    return MARKS.conform(named, "candidates")


def _read(path: Path) -> tuple[Volume, str]:
    """A case in any form, and the name it has by itself."""
    if path.suffix == ".zip" and path.is_file():
        return _read_zip(path)
    volume = read_case(path)
    is_named = path.is_file() or (path.parent.parent / "cases.parquet").is_file()
    name = case_of_image(path.name) if is_named else dicom_series.series_of(path)
    return volume, name


def _read_zip(path: Path) -> tuple[Volume, str]:
    """A zipped DICOM series."""
    with TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                size = sum(part.file_size for part in archive.infolist())
                if size > LARGEST_UNPACKED_BYTES:
                    raise InputError(
                        Problem(
                            str(path),
                            f"would unpack to {size / 2**30:.1f} GiB; no CT series is so large.",
                            "Unpack it yourself and give the folder of one series.",
                        )
                    )
                archive.extractall(folder)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
            raise InputError(
                Problem(str(path), f"cannot be unpacked ({error}).", "Copy it anew.")
            ) from error
        try:
            return read_case(Path(folder)), dicom_series.series_of(Path(folder))
        except InputError as error:
            named = [
                replace(problem, where=problem.where.replace(folder, str(path)))
                for problem in error.problems
            ]
            raise InputError(named) from error


def _set_cases(folder: Path) -> list[tuple[str, Path]]:
    """The cases of a test set with their images; the table of cases drives where there is one."""
    images = folder / "images"
    by_name: dict[str, Path] = {}
    for path in sorted(images.iterdir()):
        if path.is_dir() or path.name.endswith(IMAGE_SUFFIXES):
            by_name.setdefault(case_of_image(path.name), path)
    table = folder / "cases.parquet"
    wanted = read_cases(table)["case_id"].to_list() if table.is_file() else list(by_name)
    missing = [case_id for case_id in wanted if case_id not in by_name]
    if missing:
        for case_id in missing[:1]:
            image_reader(images)(case_id)  # says what was looked for
    if not wanted:
        raise InputError(Problem(str(images), "holds no image.", "Put one image per case there."))
    return [(case_id, by_name[case_id]) for case_id in wanted]


def _peak_memory_mb() -> float:
    """The most memory that this process has held, 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    # Linux counts in kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
