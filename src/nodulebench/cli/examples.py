"""nodulebench examples: the training data of networks."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    EXISTING_FOLDER,
    FILE,
    NEW_FOLDER,
    call_with,
    executor_options,
    reference_option,
)
from nodulebench.cli.terminal import ProgressLine, print_done
from nodulebench.core.executor import ExecutorChoice


@click.command("examples")
@click.argument("out", type=NEW_FOLDER)
@reference_option
@click.option(
    "--blocks", type=EXISTING_FOLDER, help="Folder of image blocks: blocks.csv and foldN.npz.xz."
)
@click.option("--images", type=EXISTING_FOLDER, help="Folder of scans, instead of --blocks.")
@click.option("--detectors", help="Detectors whose candidates are used, joined by '+'.")
@click.option(
    "--candidates",
    multiple=True,
    type=FILE,
    help="List of candidates, instead of --detectors; may be repeated, the first is scored.",
)
@click.option("--folds", type=FILE, metavar="FILE", help="Table of series and folds, for scans.")
@click.option("--block-folds", help="Folds of blocks to use, such as 0,1.")
@executor_options("2")
def command(
    out: Path,
    reference: Path,
    blocks: Path | None,
    images: Path | None,
    folds: Path | None,
    block_folds: str | None,
    executor: ExecutorChoice,
    **candidates: object,
) -> None:
    r"""Cut training examples from images into the folder OUT.

    `nodulebench train` reads them. A candidate within the radius of a nodule counts as a nodule; on
    an excluded finding it is not used. Several detectors give one merged list, which is scored; all
    their candidates are trained on. OUT holds the arrays, the candidates to be scored, the folds
    and, for blocks, a reference. The faces of blocks are moved in at random, because each block has
    a nodule in its middle. A scan that the table of folds lacks is scored and never trained on.

    \b
    nodulebench examples blocks/ --blocks nodule_blocks/ --reference luna16/ --detectors etrocad+m5l
    nodulebench examples scans/ --images scans/ --reference luna16/ --candidates candidates.csv \
      --folds folds.csv
    """
    from nodulebench.core.executor import open_executor
    from nodulebench.detection.examples import CandidateSource, block_examples, scan_examples

    if (blocks is None) == (images is None):
        raise click.UsageError("Give --blocks or --images.")
    if folds is not None and blocks is not None:
        raise click.UsageError("--folds goes with --images; choose --block-folds with --blocks.")
    if block_folds is not None and blocks is None:
        raise click.UsageError("--block-folds goes with --blocks; choose --folds with --images.")
    source = call_with(CandidateSource, candidates)
    if (source.detectors is None) == (not source.candidates):
        raise click.UsageError("Give --detectors or --candidates.")
    with ProgressLine("making examples") as line, open_executor(executor, 2) as workers:
        if blocks is not None:
            summary = block_examples(
                out,
                blocks,
                reference,
                source,
                folds=_numbers(block_folds),
                executor=workers,
                progress=line.tell,
            )
        elif images is not None:
            summary = scan_examples(out, images, reference, source, folds=folds, progress=line.tell)
    print_done(
        f"wrote {out}: {summary.candidates} candidates in {summary.cases} images, "
        f"{summary.nodules} of them on nodules, {summary.scored} to be scored; "
        f"{summary.megabytes:.1f} MiB"
    )


def _numbers(text: str | None) -> list[int]:
    try:
        return [int(number) for number in text.split(",")] if text else list(range(10))
    except ValueError as error:
        raise click.UsageError(f"--block-folds are numbers, not '{text}'.") from error
