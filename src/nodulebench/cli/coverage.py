"""nodulebench coverage: the composition of a test set, checked against a design."""

from pathlib import Path

import click

from nodulebench.cli.options import FILE, FOLDER, PATH, nodules_option, option, print_written
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import LanguageName, translator

COLOURS = {"met": "green", "not met": "red", "preferred, not met": "yellow"}


@click.command("coverage")
@click.argument("test_set", type=FILE)
@click.option("--design", help="Design of a test set: fg-ai4h, luna16, nifdc-2022 or a TOML file.")
@click.option("--cases", type=PATH, help="Table of cases (hospitals, scanners, doses, approvals).")
@nodules_option
@click.option("--compare-with", "against", type=PATH, help="Another test set to compare with.")
@click.option("--out", type=FOLDER, help="Folder for coverage.json and coverage.html.")
@option("--language", ["en", "zh"], "en", "Language of the page or report.", to="name")
@json_option
def command(
    test_set: Path,
    design: str | None,
    cases: Path | None,
    nodules: Path | None,
    against: Path | None,
    out: Path | None,
    name: LanguageName,
) -> None:
    r"""Describe TEST_SET, and check it against a design.

    TEST_SET is a bundle or reference. The exit status is 1 if a mandatory rule is not met.

    \b
    nodulebench coverage testset/ --design fg-ai4h --out composition/
    nodulebench coverage testset/ --compare-with luna16/
    """
    from nodulebench.curation.coverage import cover_files, write_coverage

    with ProgressLine("counting"):
        translate, document = (
            translator("en"),
            cover_files(test_set, cases, design, nodules, against),
        )
    totals = ", ".join(f"{count:,} {name}" for name, count in document["totals"].items())
    print_json(document)
    click.echo(f"{document['name']}: {totals}")
    width = max((len(outcome["name"]) for outcome in document["outcomes"]), default=0)
    for outcome in document["outcomes"]:
        answer = click.style(f"{outcome['answer']:<18}", fg=COLOURS[outcome["answer"]])
        remark = "missing: " * bool(outcome["missing"]) + translate.messages(
            outcome["missing"] or outcome["found"]
        )
        click.echo(f"  {outcome['name']:<{width}}  {answer}  {remark}")
    for stratum in document["thin"]:
        click.echo(
            f"  thin: {stratum['column']} {stratum['value']}, {stratum['nodules']} nodules "
            f"(± {stratum['half_width']:.2f})"
        )
    for column in document["unknown_strata"]:
        click.echo(f"  strata: neither cases nor nodules have the column '{column}'")
    if against is not None:
        _print_against(document["against"])
    if out is not None:
        print_written(*write_coverage(document, out, name))
    if any(outcome["answer"] == "not met" for outcome in document["outcomes"]):
        raise click.exceptions.Exit(1)


def _print_against(comparison: JsonObject) -> None:
    """Print the differences from another test set, and which of the two is harder."""
    translate = translator("en")
    click.echo(f"compared with {comparison['name']}")
    for difference in comparison["differences"]:
        click.echo(
            f"  {translate.word(difference['column']):<24}{difference['distance']:>6.0%} differs"
        )
    for row in comparison["difficulty"]:
        values = (row["first"], row["second"])
        if values != (None, None):
            first, second = ("–" if value is None else f"{value:.2f}" for value in values)
            name = translate(f"coverage.hard_{row['name']}")
            click.echo(f"  {name:<44}{first:>8}{second:>8}")
