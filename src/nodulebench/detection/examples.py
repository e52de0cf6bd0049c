"""Images, a reference and candidates -> a folder of examples that networks learn from.

The folder holds what ``detection/networks/examples.py`` reads, and beside it the candidates that
are judged (``candidates.csv``), the folds (``folds.csv``) and, of blocks, their own reference.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from nodulebench.detection.detectors import together
from nodulebench.detection.held_out import NO_FOLD, series_digest
from nodulebench.detection.rescore import read_positions
from nodulebench.detection.scan import Candidates, Chest, see_chest
from nodulebench.detection.systems import finding_names, found_by_each
from nodulebench.detection.train_classifier import diameters, hits
from nodulebench.evaluation.comparison.folds import read_folds
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.lungs.segmentation import segment_part_of_lung
from nodulebench.imaging.volume import Volume
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import read_reference
from nodulebench.io.images.case_images import NoImageError, image_reader
from nodulebench.io.lidc.blocks import FOLDS as BLOCK_FOLDS
from nodulebench.io.lidc.blocks import (
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
    is_judged: BoolArray
    """Those of the merged list; the others are learnt from only."""


@dataclass(frozen=True, eq=False)
class CaseExamples:
    """One scan or block as networks see it, and its candidates."""

    case_id: str
    series: str
    fold: int
    seen: BlockVoxels
    part: IntArray
    """2 x 3: the first and last voxel that may be seen when it is judged."""
    found: LabelledCandidates
    is_nodule: BoolArray
    is_learnt: BoolArray
    findings: FloatArray
    """findings x 5: voxel index slice, row, column, diameter in mm, whether it is a nodule."""


@dataclass(frozen=True, eq=False)
class BlockTask:
    """A block in which detectors or networks look for candidates."""

    names: tuple[str, ...]
    block: Block
    findings: pl.DataFrame
    seed: int
    given: LabelledCandidates | None = None
    """Its candidates, where nobody has to look for any."""


def of_block(task: BlockTask) -> CaseExamples:
    """What becomes of a block."""
    block = task.block
    first, last = random_part(block, task.findings, task.seed)
    whole = BlockVoxels(
        ((block.volume.hu.astype(np.int32) - LOWEST_HU) // HU_PER_STEP).astype(np.uint8),
        block.volume.geometry,
    )
    found = task.given
    if found is None:
        box = tuple(slice(*ends) for ends in zip(first, last + 1, strict=True))
        volume = block.volume.part(box)
        lungs = segment_part_of_lung(volume, block.block_id)
        chest = see_chest(volume, block.block_id, lungs)
        found = detected(task.names, chest, block.series)
    part = np.stack([first, last])
    return _labelled(block.block_id, block.series, block.fold, whole, part, found, task.findings)


def of_scan(
    case_id: str, fold: int, volume: Volume, findings: pl.DataFrame, found: LabelledCandidates
) -> CaseExamples:
    """What becomes of a scan."""
    nodules = findings.filter(~pl.col("is_ignored")).select(PLACE).to_numpy().reshape(-1, 3)
    seen = block_voxels(volume, case_id, np.concatenate([found.place_mm, nodules]))
    last = np.array(seen.voxels.shape, dtype=np.int64) - 1
    part = np.stack([np.zeros(3, dtype=np.int64), last])
    return _labelled(case_id, case_id, fold, seen, part, found, findings)


def detected(names: Sequence[str], chest: Chest, series: str) -> LabelledCandidates:
    """The merged list, by weights that never saw the series, and what else its members propose."""
    each = found_by_each(names, chest, fold_of_series(series), series)
    merged = together(each)
    return _with_others(merged, [one.center_mm for one in each.values()])


def _with_others(judged: Candidates, others_mm: Sequence[FloatArray]) -> LabelledCandidates:
    """Candidates that are judged, and others that do not lie at the same places."""
    known = {tuple(row) for row in judged.center_mm.round(3).tolist()}
    others = [row for part in others_mm for row in part.tolist()]
    fresh = [row for row in others if tuple(np.round(row, 3).tolist()) not in known]
    return _joined(judged, np.array(fresh, dtype=np.float64).reshape(-1, 3))


def _joined(judged: Candidates, others_mm: FloatArray) -> LabelledCandidates:
    count = len(judged)
    return LabelledCandidates(
        np.concatenate([judged.center_mm, others_mm]),
        np.concatenate([judged.score, np.zeros(len(others_mm))]),
        np.arange(count + len(others_mm)) < count,
    )


def given(lists: Sequence[pl.DataFrame], case_id: str) -> LabelledCandidates:
    """The candidates of a case in lists: those of the first are judged, all are learnt from."""
    own, *others = (list_.filter(case_id=case_id) for list_ in lists)
    place = own.select(PLACE).to_numpy().reshape(-1, 3)
    score = own["score"].fill_null(0.0).to_numpy()
    judged = Candidates(place, score, np.full(len(place), np.nan))
    more = [other.select(PLACE).to_numpy().reshape(-1, 3) for other in others]
    return _with_others(judged, more)


def _labelled(
    case_id: str,
    series: str,
    fold: int,
    seen: BlockVoxels,
    part: IntArray,
    found: LabelledCandidates,
    findings: pl.DataFrame,
) -> CaseExamples:
    """Candidates and the nodules themselves, told apart as LUNA16 does."""
    nodules = findings.filter(~pl.col("is_ignored")).select(PLACE).to_numpy().reshape(-1, 3)
    with_nodules = LabelledCandidates(
        np.concatenate([found.place_mm, nodules]),
        np.concatenate([found.score, np.zeros(len(nodules))]),
        np.concatenate([found.is_judged, np.zeros(len(nodules), dtype=np.bool_)]),
    )
    on_nodule, on_ignored = hits(with_nodules.place_mm, findings)
    is_learnt = on_nodule | ~on_ignored
    index = seen.to_index(findings.select(PLACE).to_numpy().reshape(-1, 3))
    columns = (diameters(findings), ~findings["is_ignored"].to_numpy())
    told = np.column_stack([index, *columns])
    return CaseExamples(case_id, series, fold, seen, part, with_nodules, on_nodule, is_learnt, told)


SEED = 16
"""Of the faces of blocks that are moved in."""
SLOWEST_S = 1800.0
CANDIDATES, FOLDS, REFERENCE = "candidates.csv", "folds.csv", "reference"


@dataclass(frozen=True)
class Made:
    """What a folder of examples holds."""

    cases: int
    candidates: int
    nodules: int
    """Candidates that lie on nodules."""
    judged: int
    megabytes: float


def block_examples(
    out: Path,
    blocks: Path,
    reference: Path,
    *,
    detectors: str | None = None,
    candidates: Sequence[Path] = (),
    folds: Sequence[int] = BLOCK_FOLDS,
    seed: int = SEED,
    executor: Executor = DEFAULT_EXECUTOR,
    progress: Progress = no_progress,
) -> Made:
    """Examples of blocks; what detectors find in each, its faces moved in at random.

    Args:
        out: the folder to write.
        blocks: folder with blocks.csv and the folds.
        reference: the nodules of the scans.
        detectors: names, joined by ``+``; their merged list is judged, all of it is learnt from; or
        candidates: lists of candidates, whose cases are the blocks; the first is judged.
        folds: of the blocks.
        seed: of the moved faces, so that the middle of a block tells nothing.
        executor: what does the blocks.
        progress: told how far the work is.

    Raises:
        InputError: if a block cannot be read or shows no lung.
    """
    names = finding_names(detectors) if detectors else ()
    truth, listed = (
        read_reference(reference),
        [read_positions(candidate) for candidate in candidates],
    )
    made: list[CaseExamples] = []
    nodules = []
    for number, fold in enumerate(folds):
        tasks = [
            BlockTask(
                names,
                block,
                findings_inside(block, truth),
                seed,
                given(listed, block.block_id) if listed else None,
            )
            for block in read_blocks(blocks, [fold])
        ]
        nodules += [task.findings for task in tasks]
        made += _worked(tasks, executor)
        progress(f"fold {fold}", number + 1, len(folds))
    if not made:
        raise InputError.at(str(blocks), "holds no block of these folds.")
    own = Reference(
        "blocks",
        CASES.conform(pl.DataFrame({"case_id": [one.case_id for one in made]}), "blocks"),
        NODULES.arrange(pl.concat(nodules, how="diagonal_relaxed")),
    )
    source = ", ".join(names or [candidate.name for candidate in candidates])
    return _write(out, made, f"{len(made)} blocks of CT scans, candidates of {source}", own)


def scan_examples(
    out: Path,
    images: Path,
    reference: Path,
    *,
    detectors: str | None = None,
    candidates: Sequence[Path] = (),
    folds: Path | None = None,
    progress: Progress = no_progress,
) -> Made:
    """Examples of whole scans.

    Args:
        out: the folder to write.
        images: a folder of images or a test set.
        reference: the nodules of the scans.
        detectors: names, joined by ``+``, that look for candidates; or
        candidates: lists of candidates, as LUNA16's or as marks in any format; the first is
            judged, and what others have besides is learnt from.
        folds: a table of series and folds; a scan that it lacks is never learnt from. None: all
            scans are of fold 0.
        progress: told how far the work is.

    Raises:
        InputError: if an image cannot be read or is no chest CT, or no case has an image.
    """
    names = finding_names(detectors) if detectors else ()
    truth, fold_of = read_reference(reference), _fold_of(folds)
    listed = [read_positions(candidate) for candidate in candidates]
    wanted = truth.cases["case_id"].to_list()
    read = image_reader(images, wanted)
    made: list[CaseExamples] = []
    missing: NoImageError | None = None
    for number, case_id in enumerate(wanted):
        try:
            volume = read(case_id)
        except NoImageError as error:
            missing = error
            continue
        findings = truth.nodules.filter(case_id=case_id)
        if listed:
            found = given(listed, case_id)
        else:
            found = detected(names, see_chest(volume, case_id), case_id)
        fold = fold_of.get(case_id, NO_FOLD) if folds else 0
        made.append(of_scan(case_id, fold, volume, findings, found))
        progress(case_id, number + 1, len(wanted))
    if missing is not None and not made:
        raise missing
    source = ", ".join(names or [candidate.name for candidate in candidates])
    return _write(out, made, f"{len(made)} whole scans, candidates of {source}")


def _worked(tasks: Sequence[BlockTask], executor: Executor) -> Iterator[CaseExamples]:
    """Blocks, in their order, whoever does them."""
    terms = TaskLimits(SLOWEST_S, preload=(__name__,))
    for number, answer in in_order(executor.map(_of_block_or_problem, tasks, terms)):
        if isinstance(answer, FailedTask):
            raise InputError.at(f"block '{tasks[number].block.block_id}'", in_english(answer.why))
        if isinstance(answer, NoduleBenchError):
            raise answer
        yield answer


def _of_block_or_problem(task: BlockTask) -> CaseExamples | NoduleBenchError:
    try:
        return of_block(task)
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
        raise InputError.at(
            folds.name, f"fold '{wrong['fold'][0]}' is no number.", "Number the folds 0, 1, 2 ..."
        )
    return dict(numbers.select("case_id", "fold").iter_rows())


def _write(
    out: Path, made: Sequence[CaseExamples], data: str, own: Reference | None = None
) -> Made:
    with needs("networks", "examples for networks"):
        from nodulebench.detection.networks.examples import make_examples, write_examples
        from nodulebench.detection.networks.patches import scans_of

    voxels: list[npt.NDArray[np.uint8]] = [one.seen.voxels for one in made]
    count = [len(one.is_nodule) for one in made]
    examples = make_examples(
        scans_of(
            [*voxels],
            [one.seen.spacing_mm for one in made],
            step_hu=HU_PER_STEP,
            lowest_hu=LOWEST_HU,
        ),
        [one.fold for one in made],
        np.repeat(np.arange(len(made)), count),
        np.concatenate([one.seen.to_index(one.found.place_mm) for one in made]),
        np.concatenate([one.is_nodule for one in made]),
        is_learnt=np.concatenate([one.is_learnt for one in made]),
        is_judged=np.concatenate([one.found.is_judged for one in made]),
        seen=np.stack([one.part for one in made]),
        findings=np.concatenate(
            [np.insert(one.findings, 0, number, axis=1) for number, one in enumerate(made)]
        ),
        series=[series_digest(one.series) for one in made],
        about={"data": data},
    )
    with staged_folder(out) as stage:
        write_examples(stage, examples)
        write_csv(_candidate_table(made), stage / CANDIDATES)
        folds = {"seriesuid": [one.case_id for one in made], "fold": [one.fold for one in made]}
        write_csv(pl.DataFrame(folds).filter(pl.col("fold") >= 0), stage / FOLDS)
        if own is not None:
            luna16_csv.write_reference(own, stage / REFERENCE)
        size = sum(file.stat().st_size for file in stage.rglob("*") if file.is_file())
    return Made(
        len(made),
        len(examples.which),
        int(examples.is_nodule.sum()),
        int(examples.is_judged.sum()),
        size / 2**20,
    )


def _candidate_table(made: Sequence[CaseExamples]) -> pl.DataFrame:
    """The candidates that are judged, as LUNA16 lists them, with the detectors' score."""
    parts = []
    for one in made:
        place = one.found.place_mm[one.found.is_judged]
        parts.append(
            pl.DataFrame(
                {
                    "seriesuid": [one.case_id] * len(place),
                    "coordX": place[:, 0],
                    "coordY": place[:, 1],
                    "coordZ": place[:, 2],
                    "probability": one.found.score[one.found.is_judged],
                },
                schema_overrides={"seriesuid": pl.String},
            )
        )
    return pl.concat(parts)
