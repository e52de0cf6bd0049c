"""nodulebench phantom: CT scans of synthetic chests whose nodules are known exactly."""

from pathlib import Path

import click


@click.command("phantom")
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("--cases", type=click.IntRange(min=1), default=3, show_default=True, help="Patients.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--image",
    "images",
    multiple=True,
    type=click.Choice(["metaimage", "dicom", "nifti"]),
    default=("metaimage",),
    show_default=True,
    help="Format of the images; may be given several times.",
)
@click.option(
    "--matrix",
    type=click.IntRange(64, 1024),
    default=512,
    show_default=True,
    help="Pixels along a side of a slice.",
)
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
@click.option("--follow-up", is_flag=True, help="Scan every patient again, months later.")
@click.option("--masks/--no-masks", default=True, help="Write nodules and lungs as label volumes.")
def command(
    out: Path,
    cases: int,
    seed: int,
    images: tuple[str, ...],
    matrix: int,
    thickness: float | None,
    kernel: str | None,
    dose: float | None,
    follow_up: bool,
    masks: bool,
) -> None:
    r"""Make a test set of synthetic chest CT in the folder OUT.

    The same number and seed give the same scans. OUT is a bundle for `evaluate --reference`, and
    holds the truth as nifdc.csv and luna16/ too.

    \b
    nodulebench phantom phantoms/ --cases 5 --seed 1 --image dicom
    """
    from nodulebench.workflows.phantom import make_phantoms

    reference = make_phantoms(
        out,
        cases,
        seed,
        matrix=matrix,
        thickness=thickness,
        kernel=kernel,
        dose=dose,
        has_follow_up=follow_up,
        image_formats=images,
        has_masks=masks,
        progress=click.echo,
    )
    click.echo(
        f"wrote {reference.cases.height} scans with {reference.nodules.height} nodules to {out}"
    )
