"""nodulebench examples: the training data of networks."""

from pathlib import Path

import click

from nodulebench.cli.options import FILE, executor_options
from nodulebench.cli.terminal import ProgressLine
from nodulebench.core.executor import ExecutorChoice

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command("examples")
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("--reference", required=True, type=FILE, help="The nodules of the scans.")
@click.option("--blocks", type=FOLDER, help="blocks.csv and foldN.npz.xz; or")
@click.option("--images", type=FOLDER, help="whole scans: a folder of images, a test set.")
@click.option("--detectors", help="Detectors and detection networks, joined by '+'; or")
@click.option(
    "--candidates", multiple=True, type=FILE, help="lists of candidates; the first is scored."
)
@click.option("--folds", help="Of scans a table of series and folds; of blocks such as 0,1.")
@executor_options("2", "Blocks at the same time.", before="--processes")
def command(
    out: Path,
    reference: Path,
    blocks: Path | None,
    images: Path | None,
    detectors: str | None,
    candidates: tuple[Path, ...],
    folds: str | None,
    executor: ExecutorChoice,
) -> None:
    r"""Write candidates with their images to the folder OUT, for `nodulebench train`.

    A candidate within the radius of a nodule counts as a nodule; on an excluded finding it is
    neither. Several detectors give one merged list, which is scored; all their candidates are
    trained on. OUT holds the arrays, the candidates to be scored, the folds and, for blocks, a
    reference. The faces of blocks are moved in at random, because each block has a nodule in its
    middle. A scan that the table of folds lacks is scored and never trained on.

    \b
    nodulebench examples blocks/ --blocks nodule_blocks/ --reference luna16/ --detectors etrocad+m5l
    nodulebench examples scans/ --images scans/ --reference luna16/ --candidates candidates.csv \
      --folds folds.csv
    """
    from nodulebench.core.executor import open_executor
    from nodulebench.detection.examples import CandidateSource, block_examples, scan_examples

    if (blocks is None) == (images is None):
        raise click.UsageError("Give --blocks or --images.")
    if (detectors is None) == (not candidates):
        raise click.UsageError("Give --detectors or --candidates.")
    source = CandidateSource(detectors=detectors, candidates=candidates)
    with ProgressLine("making examples") as line, open_executor(executor, 2) as workers:
        if blocks is not None:
            summary = block_examples(
                out,
                blocks,
                reference,
                source,
                folds=_numbers(folds),
                executor=workers,
                progress=line.tell,
            )
        elif images is not None:
            summary = scan_examples(
                out,
                images,
                reference,
                source,
                folds=Path(folds) if folds else None,
                progress=line.tell,
            )
    click.echo(
        f"wrote {out}: {summary.candidates} candidates in {summary.cases} images, "
        f"{summary.nodules} of them on nodules, {summary.scored} to be scored; "
        f"{summary.megabytes:.1f} MiB"
    )


def _numbers(text: str | None) -> list[int]:
    try:
        return [int(number) for number in text.split(",")] if text else list(range(10))
    except ValueError as error:
        raise click.UsageError(f"--folds of blocks are numbers, not '{text}'.") from error
