"""nodulebench phantom: CT scans of synthetic chests whose nodules are known exactly."""

from pathlib import Path

import click

from nodulebench.cli.options import COUNT, WHOLE, call_with, executor_options, option
from nodulebench.cli.terminal import tell_line
from nodulebench.core.executor import ExecutorChoice


@click.command("phantom")
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@option("--cases", COUNT, 3, "Patients.")
@option("--seed", WHOLE, 0)
@option(
    "--people",
    ["healthy", "clinical"],
    "healthy",
    "Healthy lungs at rest; or as clinics see them: denser or airier, diseased, bulging, moving.",
)
@option(
    "--image",
    ["metaimage", "dicom", "nifti"],
    ("metaimage",),
    "Format of the images; may be given several times.",
    to="image_formats",
    multiple=True,
)
@option("--matrix", click.IntRange(64, 1024), 512, "Pixels along a side of a slice.")
@click.option(
    "--thickness",
    type=click.FloatRange(0.6, 7.0),
    help="Slice thickness and spacing in mm of all scans; otherwise left to chance.",
)
@click.option(
    "--kernel",
    type=click.Choice(["smooth", "standard", "sharp", "edge"]),
    help="Kernel of all scans; otherwise left to chance.",
)
@click.option(
    "--dose",
    type=click.FloatRange(1.0, 1000.0),
    help="Dose in mAs of all scans; otherwise left to chance.",
)
@click.option(
    "--follow-up", "has_follow_up", is_flag=True, help="Scan every patient again, months later."
)
@option(
    "--masks/--no-masks", bool, True, "Write nodules and lungs as label volumes.", to="has_masks"
)
@executor_options("1", "Patients at the same time.")
def command(out: Path, executor: ExecutorChoice, **given: object) -> None:
    r"""Make a test set of synthetic chest CT in the folder OUT.

    The same number and seed give the same scans. OUT is a bundle for `evaluate --reference`, and
    also holds the truth as nifdc.csv and luna16/.

    \b
    nodulebench phantom phantoms/ --cases 5 --seed 1 --image dicom
    """
    from nodulebench.core.executor import open_executor
    from nodulebench.phantom.test_set import PhantomOptions, make_phantoms

    with open_executor(executor, 1) as workers:
        options = call_with(PhantomOptions, given)
        reference = make_phantoms(out, options, executor=workers, progress=tell_line)
    click.echo(
        f"wrote {reference.cases.height} scans with {reference.nodules.height} nodules to {out}"
    )
