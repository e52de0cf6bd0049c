"""nodulebench formats: the formats that are known, each with an example."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from nodulebench.io.format import Format


@click.command("formats")
@click.argument("names", metavar="[FORMAT]...", nargs=-1)
def command(names: tuple[str, ...]) -> None:
    r"""List the formats of marks and references, those of other packages too, with an example.

    \b
    nodulebench formats
    nodulebench formats luna16_csv
    """
    from nodulebench.evaluation.convert import known_formats

    for number, form in enumerate(known_formats(names)):
        if number:
            click.echo()
        _print(form)


def _print(form: "Format") -> None:
    from nodulebench.evaluation.convert import abilities

    endings = ", ".join("a folder" if suffix == "/" else suffix for suffix in form.suffixes)
    click.secho(form.name, bold=True, nl=False)
    click.echo(f": {form.meaning} ({endings})")
    click.echo(f"  {'; '.join(abilities(form))}")
    for line in form.example.splitlines():
        click.echo(f"    {line}")
