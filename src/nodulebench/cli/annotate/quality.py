"""nodulebench annotate review quality: readers of a project compared, also with themselves."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.annotate.options import FOLDER
from nodulebench.cli.options import FILE, option, print_written


@click.command("quality")
@FOLDER
@option("--periods", click.IntRange(min=2), 4, "Parts of a reader's time, to look for drift.")
@click.option("--out", type=FILE, help="JSON file for all numbers.")
def quality(folder: Path, periods: int, out: Path | None) -> None:
    r"""Say how readers agree with each other, with themselves and over time.

    \b
    nodulebench annotate review quality panel/ --out quality.json
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.annotation.reader_quality import reader_quality, write_quality

    found = reader_quality(open_project(folder), periods=periods)
    for one in found["pairs"]:
        click.echo(f"{one['first']} and {one['second']}: agreement {_shown(one['agreement'])}")
    for one in found["readers"]:
        trend = one["drift"].get("p_value")
        click.echo(
            f"{one['reader_id']}: sensitivity against the others {_shown(one['sensitivity'])}, "
            f"{one['lone_per_case']:.2f} lone marks per case, p of drift {_shown(trend)}"
        )
    for one in found["repeats"]:
        _tell_repeats(one)
    if out is not None:
        write_quality(found, out)
    print_written(out)


def _tell_repeats(one: dict[str, Any]) -> None:
    """What a reader made of cases that came back."""
    click.echo(
        f"{one['first']} and the own repeats: agreement {_shown(one['agreement'])} in "
        f"{one['cases']} case(s), at least {one['least_between']} other(s) between"
    )
    pair = f"{one['first']}, {one['second']}"
    for row in one["figures"]:
        if row["name"] in (f"type: {pair}", f"diameter: {pair}") and row["value"] is not None:
            click.echo(f"  {row['name']}: {row['value']:.3f}")
    for row in one["limits"]:
        if row["bias_mm"] is not None:
            limits = f"{row['lower_mm']:+.2f} to {row['upper_mm']:+.2f} mm"
            click.echo(f"  diameter, first - again: {row['bias_mm']:+.2f} mm, limits {limits}")


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
