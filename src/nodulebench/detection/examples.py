"""Images, a reference and candidates -> a folder of examples that networks learn from.

The folder holds what ``algorithms/networks/examples.py`` reads, and beside it the candidates that
are judged (``candidates.csv``), the folds (``folds.csv``) and, of blocks, their own reference.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.core.executor import Engine, Lost, Terms, in_order
from nodulebench.core.executors.local import USUAL_ENGINE
from nodulebench.core.optional_packages import needs
from nodulebench.core.progress import Progress, untold
from nodulebench.core.tables import CASES, NODULES, Reference
from nodulebench.detection.candidate_lists import read_places
from nodulebench.detection.example_cases import (
    BlockTask,
    CaseExamples,
    detected,
    given,
    of_block,
    of_scan,
)
from nodulebench.detection.held_out import NO_FOLD, series_digest
from nodulebench.detection.scan import see_chest
from nodulebench.detection.systems import finding_names
from nodulebench.evaluation.comparison.folds import read_folds
from nodulebench.i18n.translator import english
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import read_reference
from nodulebench.io.images.case_images import NoImageError, image_reader
from nodulebench.io.lidc.blocks import (
    FOLDS as BLOCK_FOLDS,
)
from nodulebench.io.lidc.blocks import (
    HU_PER_STEP,
    LOWEST_HU,
    findings_inside,
    read_blocks,
)
from nodulebench.io.marks import luna16 as luna16_csv

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
    engine: Engine = USUAL_ENGINE,
    progress: Progress = untold,
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
        engine: what does the blocks.
        progress: told how far the work is.

    Raises:
        InputError: if a block cannot be read or shows no lung.
    """
    names = finding_names(detectors) if detectors else ()
    truth, listed = read_reference(reference), [read_places(one) for one in candidates]
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
        made += _worked(tasks, engine)
        progress(f"fold {fold}", number + 1, len(folds))
    if not made:
        raise InputError.at(str(blocks), "holds no block of these folds.")
    own = Reference(
        "blocks",
        CASES.conform(pl.DataFrame({"case_id": [one.case_id for one in made]}), "blocks"),
        NODULES.arrange(pl.concat(nodules, how="diagonal_relaxed")),
    )
    source = ", ".join(names or [one.name for one in candidates])
    return _write(out, made, f"{len(made)} blocks of CT scans, candidates of {source}", own)


def scan_examples(
    out: Path,
    images: Path,
    reference: Path,
    *,
    detectors: str | None = None,
    candidates: Sequence[Path] = (),
    folds: Path | None = None,
    progress: Progress = untold,
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
    listed = [read_places(one) for one in candidates]
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
    source = ", ".join(names or [one.name for one in candidates])
    return _write(out, made, f"{len(made)} whole scans, candidates of {source}")


def _worked(tasks: Sequence[BlockTask], engine: Engine) -> Iterator[CaseExamples]:
    """Blocks, in their order, whoever does them."""
    terms = Terms(SLOWEST_S, preload=(__name__,))
    for number, answer in in_order(engine.map(_of_block_or_problem, tasks, terms)):
        if isinstance(answer, Lost):
            raise InputError.at(f"block '{tasks[number].block.block_id}'", english(answer.why))
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
