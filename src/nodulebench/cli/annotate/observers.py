"""Readers of an observer study: who they are, what they have still to judge, what they call it."""

from pathlib import Path

import click

from nodulebench.cli.annotate.options import BY
from nodulebench.cli.options import FILE, option, print_next

STUDY = click.argument("study", type=FILE)


@click.command("open")
@STUDY
@click.option("--reader", "reader_ids", multiple=True, required=True, help="A reader, by name.")
@option("--seed", int, 0, "Of the order of the places, another one for each reader.")
@option("--patch-mm", click.FloatRange(20, 400), 80.0, "Width of what is shown around a place.")
def open_for(study: Path, reader_ids: tuple[str, ...], seed: int, patch_mm: float) -> None:
    r"""Give a STUDY to its readers: each judges every place, blind to the others.

    \b
    nodulebench annotate observer open study/ --reader ann --reader bo --reader cy --reader di
    """
    from nodulebench.annotation.observer_study.study import begin_study

    opened = begin_study(study, reader_ids, seed=seed, patch_mm=patch_mm)
    click.echo(f"{opened.suspects.height} places for each of {len(reader_ids)} readers")
    print_next(
        f"nodulebench read {study} --images SCANS --as {reader_ids[0]}",
        f"nodulebench annotate observer ask {study} FILE --by {reader_ids[0]}",
    )


@click.command("ask")
@STUDY
@click.argument("file", type=FILE)
@BY
def ask(study: Path, file: Path, actor_id: str) -> None:
    r"""Write the places that a reader has still to judge to a CSV FILE, in their order.

    Fill in 'call' (nodule, small_nodule or non_nodule) and, for a nodule, 'diameter_mm'.

    \b
    nodulebench annotate observer ask study/ ann.csv --by ann
    """
    from nodulebench.annotation.observer_study.study import ask_into, open_study

    count = ask_into(open_study(study), actor_id, file)
    if not count:
        click.echo(f"nothing waits for {actor_id}")
        return
    click.echo(f"wrote {file}: {count} place(s) for {actor_id} to judge")
    print_next(f"nodulebench annotate observer answer {study} {file} --by {actor_id}")


@click.command("answer")
@STUDY
@click.argument("file", type=FILE)
@BY
def answer(study: Path, file: Path, actor_id: str) -> None:
    r"""Hand in what a reader calls places, in a CSV FILE of 'ask'; rows without a call stay open.

    \b
    nodulebench annotate observer answer study/ ann.csv --by ann
    """
    from nodulebench.annotation.observer_study import study as studies

    opened = studies.open_study(study)
    count = studies.answer(opened, actor_id, file)
    click.echo(f"{actor_id}: {count} place(s) judged")
    _tell(study)


@click.command("status")
@STUDY
def status(study: Path) -> None:
    r"""Say how many places each reader has judged, and what comes next; nobody's calls are told.

    \b
    nodulebench annotate observer status study/
    """
    _tell(study)


def _tell(study: Path) -> None:
    from nodulebench.annotation.observer_study.study import open_study, told_of

    opened = open_study(study)
    logs, total = told_of(opened)["logs"], opened.suspects.height
    for reader_id, told in logs.items():
        click.echo(f"  {reader_id}: {told['calls']} of {total}")
    waits = [name for name, told in logs.items() if told["calls"] < total]
    print_next(
        f"nodulebench read {study} --images SCANS --as {waits[0]}"
        if waits
        else f"nodulebench annotate observer conclude {study} --reference … --out …"
    )
