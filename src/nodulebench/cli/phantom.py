"""nodulebench phantom: CT scans of synthetic chests whose nodules are known exactly."""

from pathlib import Path

import click

from nodulebench.cli.options import COUNT, NEW_FOLDER, WHOLE, call_with, executor_options, option
from nodulebench.cli.terminal import print_done, tell_line
from nodulebench.core.executor import ExecutorChoice


@click.command("phantom")
@click.argument("out", type=NEW_FOLDER)
@option("--count", COUNT, 3, "Number of patients.", to="cases")
@option("--seed", WHOLE, 0, "Random seed.")
@option(
    "--people",
    ["healthy", "clinical"],
    "healthy",
    "Healthy lungs at rest, or lungs as in clinical practice.",
)
@option(
    "--image-format",
    ["metaimage", "dicom", "nifti"],
    ("metaimage",),
    "Format of the images; may be repeated.",
    to="image_formats",
    multiple=True,
)
@option("--matrix", click.IntRange(64, 1024), 512, "Pixels along each side of a slice.")
@click.option(
    "--thickness",
    type=click.FloatRange(0.6, 7.0),
    help="Slice thickness and spacing.  [default: random]",
)
@click.option(
    "--kernel",
    type=click.Choice(["smooth", "standard", "sharp", "edge"]),
    help="Reconstruction kernel.  [default: random]",
)
@click.option("--dose", type=click.FloatRange(1.0, 1000.0), help="Dose in mAs.  [default: random]")
@click.option(
    "--follow-up", "has_follow_up", is_flag=True, help="Add a follow-up scan of every patient."
)
@option(
    "--masks/--no-masks", bool, True, "Write label volumes of nodules and lungs.", to="has_masks"
)
@executor_options("1")
def command(out: Path, executor: ExecutorChoice, **given: object) -> None:
    r"""Make synthetic chest CT scans with known nodules in OUT.

    The same number and seed give the same scans. OUT is a bundle for `evaluate --reference`, and
    also holds the truth as nifdc.csv and luna16/.

    \b
    nodulebench phantom phantoms/ --count 5 --seed 1 --image-format dicom
    """
    from nodulebench.core.executor import open_executor
    from nodulebench.phantom.test_set import PhantomOptions, make_phantoms

    with open_executor(executor, 1) as workers:
        options = call_with(PhantomOptions, given)
        reference = make_phantoms(out, options, executor=workers, progress=tell_line)
    print_done(
        f"wrote {reference.cases.height} scans with {reference.nodules.height} nodules to {out}"
    )
