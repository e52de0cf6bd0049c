"""Images, a reference and candidates -> a folder of examples that networks learn from.

The folder holds what ``detection/networks/examples.py`` reads, and next to it the candidates to be
scored (``candidates.csv``), the folds (``folds.csv``) and, for blocks, their own reference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.core.executor import (
    Executor,
    FailedTask,
    Progress,
    TaskLimits,
    in_order,
    no_progress,
)
from nodulebench.core.executors.local import DEFAULT_EXECUTOR
from nodulebench.core.optional_packages import needs
from nodulebench.core.tables import CASES, NODULES, PLACE, Reference
from nodulebench.detection.block_grid import BlockVoxels, block_voxels
from nodulebench.detection.classifiers.weights import fold_of_series
from nodulebench.detection.detectors import merge_detectors
from nodulebench.detection.held_out import NO_FOLD, series_digest
from nodulebench.detection.rescore import read_positions
from nodulebench.detection.scan import Candidates, Chest, prepare_scan
from nodulebench.detection.systems import detect_each, detector_names
from nodulebench.detection.train_classifier import diameters, hits
from nodulebench.evaluation.folds import read_folds
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.lungs import segment_part_of_lung
from nodulebench.imaging.volume import Volume
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import read_reference
from nodulebench.io.images.case_images import NoImageError, image_reader
from nodulebench.io.lidc_blocks import FOLDS as BLOCK_FOLDS
from nodulebench.io.lidc_blocks import (
    HU_PER_STEP,
    LOWEST_HU,
    Block,
    findings_inside,
    random_part,
    read_blocks,
)
from nodulebench.io.marks import luna16 as luna16_csv


@dataclass(frozen=True, eq=False)
class LabelledCandidates:
    """Candidates of one case."""

    place_mm: FloatArray
    score: FloatArray
    is_scored: BoolArray
    """Those of the merged list; the others are for training only."""


@dataclass(frozen=True, eq=False)
class CaseExamples:
    """One scan or block as networks see it, and its candidates."""

    case_id: str
    series: str
    fold: int
    seen: BlockVoxels
    part: IntArray
    """2 x 3: the first and last voxel that may be seen when it is scored."""
    candidates: LabelledCandidates
    is_nodule: BoolArray
    is_trained_on: BoolArray
    findings: FloatArray
    """findings x 5: voxel index slice, row, column, diameter in mm, whether it is a nodule."""


@dataclass(frozen=True, eq=False)
class BlockTask:
    """A block in which detectors or networks find candidates."""

    names: tuple[str, ...]
    block: Block
    findings: pl.DataFrame
    seed: int
    known: LabelledCandidates | None = None
    """Its candidates, if they are known already."""


def examples_of_block(task: BlockTask) -> CaseExamples:
    block = task.block
    first, last = random_part(block, task.findings, task.seed)
    whole = BlockVoxels(
        ((block.volume.hu.astype(np.int32) - LOWEST_HU) // HU_PER_STEP).astype(np.uint8),
        block.volume.geometry,
    )
    candidates = task.known
    if candidates is None:
        box = tuple(slice(*ends) for ends in zip(first, last + 1, strict=True))
        volume = block.volume.part(box)
        lungs = segment_part_of_lung(volume, block.block_id)
        chest = prepare_scan(volume, block.block_id, lungs)
        candidates = detect_for_training(task.names, chest, block.series)
    part = np.stack([first, last])
    return _labelled(
        block.block_id, block.series, block.fold, whole, part, candidates, task.findings
    )


def examples_of_scan(
    case_id: str, fold: int, volume: Volume, findings: pl.DataFrame, candidates: LabelledCandidates
) -> CaseExamples:
    nodules = findings.filter(~pl.col("is_ignored")).select(PLACE).to_numpy().reshape(-1, 3)
    seen = block_voxels(volume, case_id, np.concatenate([candidates.place_mm, nodules]))
    last = np.array(seen.voxels.shape, dtype=np.int64) - 1
    part = np.stack([np.zeros(3, dtype=np.int64), last])
    return _labelled(case_id, case_id, fold, seen, part, candidates, findings)


def detect_for_training(names: Sequence[str], chest: Chest, series: str) -> LabelledCandidates:
    """The merged list and further candidates, by weights that never saw the series."""
    each = detect_each(names, chest, fold_of_series(series), series)
    merged = merge_detectors(each)
    return _with_others(merged, [candidates.center_mm for candidates in each.values()])


def _with_others(scored: Candidates, further_mm: Sequence[FloatArray]) -> LabelledCandidates:
    known = {tuple(row) for row in scored.center_mm.round(3).tolist()}
    others = [row for part in further_mm for row in part.tolist()]
    fresh = [row for row in others if tuple(np.round(row, 3).tolist()) not in known]
    others_mm = np.array(fresh, dtype=np.float64).reshape(-1, 3)
    return LabelledCandidates(
        np.concatenate([scored.center_mm, others_mm]),
        np.concatenate([scored.score, np.zeros(len(others_mm))]),
        np.arange(len(scored) + len(others_mm)) < len(scored),
    )


def listed_candidates(lists: Sequence[pl.DataFrame], case_id: str) -> LabelledCandidates:
    """The candidates of a case in lists: those of the first are scored, all are for training."""
    own, *others = (list_.filter(case_id=case_id) for list_ in lists)
    place = own.select(PLACE).to_numpy().reshape(-1, 3)
    score = own["score"].fill_null(0.0).to_numpy()
    scored = Candidates(place, score, np.full(len(place), np.nan))
    more = [other.select(PLACE).to_numpy().reshape(-1, 3) for other in others]
    return _with_others(scored, more)


def _labelled(
    case_id: str,
    series: str,
    fold: int,
    seen: BlockVoxels,
    part: IntArray,
    candidates: LabelledCandidates,
    findings: pl.DataFrame,
) -> CaseExamples:
    nodules = findings.filter(~pl.col("is_ignored")).select(PLACE).to_numpy().reshape(-1, 3)
    with_nodules = LabelledCandidates(
        np.concatenate([candidates.place_mm, nodules]),
        np.concatenate([candidates.score, np.zeros(len(nodules))]),
        np.concatenate([candidates.is_scored, np.zeros(len(nodules), dtype=np.bool_)]),
    )
    on_nodule, on_ignored = hits(with_nodules.place_mm, findings)
    is_trained_on = on_nodule | ~on_ignored
    index = seen.to_index(findings.select(PLACE).to_numpy().reshape(-1, 3))
    columns = (diameters(findings), ~findings["is_ignored"].to_numpy())
    located = np.column_stack([index, *columns])
    return CaseExamples(
        case_id, series, fold, seen, part, with_nodules, on_nodule, is_trained_on, located
    )


SEED = 16
"""Of the moved faces of blocks."""
SLOWEST_S = 1800.0
CANDIDATES, FOLDS, REFERENCE = "candidates.csv", "folds.csv", "reference"


@dataclass(frozen=True)
class ExamplesSummary:
    """The contents of a folder of examples."""

    cases: int
    candidates: int
    nodules: int
    """Candidates that hit nodules."""
    scored: int
    megabytes: float


@dataclass(frozen=True, kw_only=True)
class CandidateSource:
    """Where candidates come from: detectors or lists."""

    detectors: str | None = None
    """Names, joined by ``+``; their merged list is scored, all that they find is trained on."""
    candidates: Sequence[Path] = ()
    """Lists, as LUNA16's or as marks in any format; the first is scored, all are trained on."""

    def names(self) -> tuple[str, ...]:
        return detector_names(self.detectors) if self.detectors else ()

    def lists(self) -> list[pl.DataFrame]:
        return [read_positions(path) for path in self.candidates]

    @property
    def title(self) -> str:
        return ", ".join(self.names() or [path.name for path in self.candidates])


def block_examples(
    out: Path,
    blocks: Path,
    reference: Path,
    source: CandidateSource,
    *,
    folds: Sequence[int] = BLOCK_FOLDS,
    seed: int = SEED,
    executor: Executor = DEFAULT_EXECUTOR,
    progress: Progress = no_progress,
) -> ExamplesSummary:
    """Write examples of blocks; ``seed`` moves their faces in, so that the middle gives no hint."""
    names, lists = source.names(), source.lists()
    truth = read_reference(reference)
    cases: list[CaseExamples] = []
    nodules = []
    for number, fold in enumerate(folds):
        tasks = [
            BlockTask(
                names,
                block,
                findings_inside(block, truth),
                seed,
                listed_candidates(lists, block.block_id) if lists else None,
            )
            for block in read_blocks(blocks, [fold])
        ]
        nodules += [task.findings for task in tasks]
        terms = TaskLimits(SLOWEST_S, preload=(__name__,))
        for at, result in in_order(executor.map(_of_block_or_problem, tasks, terms)):
            if isinstance(result, FailedTask):
                raise InputError.at(f"block '{tasks[at].block.block_id}'", in_english(result.why))
            if isinstance(result, NoduleBenchError):
                raise result
            cases.append(result)
        progress(f"fold {fold}", number + 1, len(folds))
    if not cases:
        raise InputError.at(str(blocks), "holds no block of these folds.")
    own = Reference(
        "blocks",
        CASES.conform(pl.DataFrame({"case_id": [case.case_id for case in cases]}), "blocks"),
        NODULES.arrange(pl.concat(nodules, how="diagonal_relaxed")),
    )
    return _write(out, cases, f"{len(cases)} blocks of CT scans, candidates of {source.title}", own)


def scan_examples(
    out: Path,
    images: Path,
    reference: Path,
    source: CandidateSource,
    *,
    folds: Path | None = None,
    progress: Progress = no_progress,
) -> ExamplesSummary:
    """Write examples of whole scans; those without a fold are never trained on.

    Without ``folds``, a table of series and folds, all scans are of fold 0.
    """
    names, lists = source.names(), source.lists()
    truth, fold_of = read_reference(reference), _fold_of(folds)
    wanted = truth.cases["case_id"].to_list()
    read = image_reader(images, wanted)
    cases: list[CaseExamples] = []
    missing: NoImageError | None = None
    for number, case_id in enumerate(wanted):
        try:
            volume = read(case_id)
        except NoImageError as error:
            missing = error
            continue
        findings = truth.nodules.filter(case_id=case_id)
        if lists:
            candidates = listed_candidates(lists, case_id)
        else:
            candidates = detect_for_training(names, prepare_scan(volume, case_id), case_id)
        fold = fold_of.get(case_id, NO_FOLD) if folds else 0
        cases.append(examples_of_scan(case_id, fold, volume, findings, candidates))
        progress(case_id, number + 1, len(wanted))
    if missing is not None and not cases:
        raise missing
    return _write(out, cases, f"{len(cases)} whole scans, candidates of {source.title}")


def _of_block_or_problem(task: BlockTask) -> CaseExamples | NoduleBenchError:
    try:
        return examples_of_block(task)
    except NoduleBenchError as error:
        return error


def _fold_of(folds: Path | None) -> Mapping[str, int]:
    if folds is None:
        return {}
    table = read_folds([folds])
    tested = table.filter((pl.col("part") == "test") | pl.col("part").is_null())
    numbers = tested.with_columns(pl.col("fold").cast(pl.Int64, strict=False))
    wrong = tested.filter(numbers["fold"].is_null() | (numbers["fold"] < 0))
    if wrong.height:
        what = f"fold '{wrong['fold'][0]}' is not a number."
        raise InputError.at(folds.name, what, "Number the folds 0, 1, 2 ...")
    return dict(numbers.select("case_id", "fold").iter_rows())


def _write(
    out: Path, cases: Sequence[CaseExamples], data: str, own: Reference | None = None
) -> ExamplesSummary:
    with needs("networks", "examples for networks"):
        from nodulebench.detection.networks.examples import (
            ExampleArrays,
            make_examples,
            write_examples,
        )
        from nodulebench.detection.networks.patches import scans_of

    voxels: list[npt.NDArray[np.uint8]] = [case.seen.voxels for case in cases]
    spacing_mm = [case.seen.spacing_mm for case in cases]
    arrays = ExampleArrays(
        fold=[case.fold for case in cases],
        which=np.repeat(np.arange(len(cases)), [len(case.is_nodule) for case in cases]),
        place=np.concatenate([case.seen.to_index(case.candidates.place_mm) for case in cases]),
        is_nodule=np.concatenate([case.is_nodule for case in cases]),
        is_trained_on=np.concatenate([case.is_trained_on for case in cases]),
        is_scored=np.concatenate([case.candidates.is_scored for case in cases]),
        seen=np.stack([case.part for case in cases]),
        findings=np.concatenate(
            [np.insert(case.findings, 0, number, axis=1) for number, case in enumerate(cases)]
        ),
        series=[series_digest(case.series) for case in cases],
        about={"data": data},
    )
    scans = scans_of([*voxels], spacing_mm, step_hu=HU_PER_STEP, lowest_hu=LOWEST_HU)
    examples = make_examples(scans, arrays)
    with staged_folder(out) as stage:
        write_examples(stage, examples)
        write_csv(_candidate_table(cases), stage / CANDIDATES)
        named = [(case.case_id, case.fold) for case in cases if case.fold >= 0]
        schema = {"seriesuid": pl.String, "fold": pl.Int64}
        write_csv(pl.DataFrame(named, schema=schema, orient="row"), stage / FOLDS)
        if own is not None:
            luna16_csv.write_reference(own, stage / REFERENCE)
        size = sum(file.stat().st_size for file in stage.rglob("*") if file.is_file())
    return ExamplesSummary(
        len(cases),
        len(examples.which),
        int(examples.is_nodule.sum()),
        int(examples.is_scored.sum()),
        size / 2**20,
    )


def _candidate_table(cases: Sequence[CaseExamples]) -> pl.DataFrame:
    lists = [case.candidates for case in cases]
    place = np.concatenate([each.place_mm[each.is_scored] for each in lists])
    counts = [int(np.count_nonzero(each.is_scored)) for each in lists]
    names = np.repeat(np.array([case.case_id for case in cases]), counts)
    return pl.DataFrame(
        {
            "seriesuid": pl.Series(names.tolist(), dtype=pl.String),
            **{f"coord{axis}": place[:, at] for at, axis in enumerate("XYZ")},
            "probability": np.concatenate([each.score[each.is_scored] for each in lists]),
        }
    )
