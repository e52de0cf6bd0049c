"""nodulebench train: the classifier of a detector, from blocks of CT with known nodules."""

from pathlib import Path

import click

from nodulebench.cli.options import WHOLE, option
from nodulebench.cli.progress import ProgressLine

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command("train")
@click.argument("name")
@click.option("--blocks", required=True, type=FOLDER, help="blocks.csv and foldN.npz.xz.")
@click.option(
    "--reference", required=True, type=FOLDER, help="LUNA16 folder with the scans' nodules."
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="Weights."
)
@click.option(
    "--without-fold", type=click.IntRange(0, 9), help="Leave this fold out, to test on it."
)
@option("--seed", WHOLE, 0)
def command(
    name: str, blocks: Path, reference: Path, out: Path, without_fold: int | None, seed: int
) -> None:
    r"""Train the classifier of the detector NAME (etrocad, m5l or mot_m5lv1).

    The same blocks and seed give the same weights. Needs scikit-learn
    (pip install 'nodulebench[algorithms]').

    \b
    nodulebench train mot_m5lv1 --blocks nodule_blocks/ --reference luna16/ --out mot.npz
    """
    from nodulebench.workflows.detect.train import train_classifier

    with ProgressLine("training") as line:
        given = (name, blocks, reference, out)
        examples = train_classifier(
            *given, without_fold=without_fold, seed=seed, progress=line.tell
        )
    click.echo(
        f"trained on {len(examples.fold)} candidates, {int(examples.is_nodule.sum())} of them "
        f"nodules, of {examples.blocks} blocks; wrote {out}"
    )
