"""nodulebench protocols, rules, metrics, formats: everything that is registered, by name."""

from typing import TYPE_CHECKING

import click

from nodulebench.cli.terminal import json_option, print_json

if TYPE_CHECKING:
    from nodulebench.io.format import Format


@click.command("protocols")
@json_option
def protocols() -> None:
    r"""List the published protocols.

    \b
    nodulebench protocols
    """
    from nodulebench.core.protocol import PROTOCOL_NAMES, load_protocol

    _print_list({name: load_protocol(name).title for name in PROTOCOL_NAMES})


@click.command("rules")
@json_option
def rules() -> None:
    r"""List the rules that label marks as hits or false positives.

    \b
    nodulebench rules
    """
    from nodulebench.evaluation.registries import rule_meanings

    _print_list(rule_meanings())


@click.command("metrics")
@json_option
def metrics() -> None:
    r"""List the metrics that a protocol can name.

    \b
    nodulebench metrics
    """
    from nodulebench.evaluation.registries import metric_meanings

    _print_list(metric_meanings())


@click.command("formats")
@click.argument("names", metavar="[FORMAT]...", nargs=-1)
@json_option
def formats(names: tuple[str, ...]) -> None:
    r"""List the file formats, each with an example.

    Formats of other installed packages are included.

    \b
    nodulebench formats
    nodulebench formats luna16_csv
    """
    from nodulebench.evaluation.convert import abilities, known_formats

    known = known_formats(names)
    for number, form in enumerate(known):
        if number:
            click.echo()
        _print_format(form)
    print_json(
        [
            {"name": form.name, "meaning": form.meaning, "suffixes": form.suffixes}
            | {"abilities": abilities(form), "example": form.example}
            for form in known
        ]
    )


COMMANDS: dict[str, click.Command] = {
    "protocols": protocols,
    "rules": rules,
    "metrics": metrics,
    "formats": formats,
}


def _print_list(meanings: dict[str, str]) -> None:
    width = max(map(len, meanings))
    for name, meaning in meanings.items():
        click.echo(f"{name:<{width}}  {meaning.rstrip('.')}")
    print_json([{"name": name, "meaning": meaning} for name, meaning in meanings.items()])


def _print_format(form: "Format") -> None:
    from nodulebench.evaluation.convert import abilities

    endings = ", ".join("a folder" if suffix == "/" else suffix for suffix in form.suffixes)
    click.secho(form.name, bold=True, nl=False)
    click.echo(f": {form.meaning} ({endings})")
    click.echo(f"  {'; '.join(abilities(form))}")
    for line in form.example.splitlines():
        click.echo(f"    {line}")
