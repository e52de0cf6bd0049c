"""nodulebench platform: this scorer on grand-challenge.org, Codabench and MedPerf."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    FILE,
    FOLDER,
    PATH,
    option,
    print_next,
    print_written,
    reference_option,
)
from nodulebench.cli.terminal import ProgressLine
from nodulebench.evaluation.platforms import PLATFORMS

NAMES = click.Choice(list(PLATFORMS))


@click.group("platform")
def command() -> None:
    """Score on grand-challenge.org, Codabench or MedPerf."""


@command.command("pack")
@click.argument("platform", type=NAMES)
@reference_option
@click.option("--protocol", default="luna16", show_default=True, help="Test protocol.")
@option(
    "--image-name", str, "nodulebench-scorer:latest", "Name of the container image.", to="image"
)
@click.option("--out", required=True, type=FOLDER, help="New folder for the upload.")
def pack(platform: str, reference: Path, protocol: str, image: str, out: Path) -> None:
    r"""Write the folder that an organiser uploads to PLATFORM.

    It contains a README with instructions, the reference without images, the protocol, and a
    Dockerfile with this version of the scorer. A submission without marks is scored as a test.

    \b
    nodulebench platform pack codabench --reference luna16/ --out bundle/
    """
    from nodulebench.evaluation.platform_scoring import pack_for

    chosen = PLATFORMS[platform]
    with ProgressLine("packing"):
        written, columns = pack_for(chosen, reference, protocol, out, image)
    print_written(*written)
    click.echo(f"the leaderboard is sorted by {columns[0].key}")
    print_next(
        f"nodulebench platform score {platform} --marks … --reference {out / chosen.packed} "
        f"--protocol {out / chosen.packed_protocol} --out {chosen.answer.name}"
    )


@command.command("score")
@click.argument("platform", type=NAMES)
@click.option("--marks", type=PATH, help="Submission.  [default: the platform's path]")
@click.option("--reference", type=PATH, help="Test set.  [default: the platform's path]")
@click.option("--protocol", type=FILE, help="Test protocol.  [default: the one in the image]")
@click.option(
    "--out", "answer", type=FILE, help="File for the metrics.  [default: the platform's path]"
)
def score(
    platform: str,
    marks: Path | None,
    reference: Path | None,
    protocol: Path | None,
    answer: Path | None,
) -> None:
    r"""Score a submission as PLATFORM does.

    The platform calls this inside its container; the options allow it anywhere else. Messages
    describe only the marks, because participants read them.

    \b
    nodulebench platform score codabench --marks marks.zip/ --reference bundle/reference_data \
        --protocol bundle/scoring_program/protocol.toml --out scores.json
    """
    from nodulebench.evaluation.platform_scoring import score_as

    with ProgressLine("scoring"):
        written = score_as(
            PLATFORMS[platform], marks=marks, reference=reference, protocol=protocol, answer=answer
        )
    print_written(written)
