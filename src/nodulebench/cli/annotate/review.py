"""nodulebench annotate review: take a batch from blind readings to release."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.annotate.draw import draw, open_cases
from nodulebench.cli.annotate.keys import key
from nodulebench.cli.annotate.log import anchor, audit, log
from nodulebench.cli.annotate.options import (
    BATCH,
    BY,
    CASES,
    COMMENT,
    FOLDER,
    one_candidate,
    signed,
)
from nodulebench.cli.annotate.quality import quality
from nodulebench.cli.annotate.questions import answer, ask
from nodulebench.cli.annotate.revise import revise
from nodulebench.cli.annotate.tell import tell_batch
from nodulebench.cli.options import FILE, SHARE, option, print_next, print_written
from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import english


@click.group("review")
def command() -> None:
    """Take batches of cases from blind readings to release, step by step."""


for part in (log, audit, anchor, key, open_cases, draw, revise, ask, answer, quality):
    command.add_command(part)


@command.command("start")
@FOLDER
@click.option("--roster", type=FILE, required=True, help="TOML of people and teams.")
@click.option("--cases", type=FILE, required=True, help="Cases: a table, or what 'curate' wrote.")
@click.option("--series", type=FILE, help="List of cases, as 'draw' writes it: restricts them.")
@option("--workflow", str, "nifdc-2022", "nifdc-2022, fg-ai4h or lidc-idri.")
@click.option("--draw-teams", "seed", type=int, metavar="SEED", help="Draw the teams at random.")
@option(
    "--repeat-share",
    SHARE,
    0.0,
    "Share of the cases that readers are shown again under another name.",
)
@click.option("--repeat-seed", type=int, help="Draws these cases; default: a number nobody knows.")
@click.option("--exam", type=FILE, help="exam.json: only who passed takes part.")
def start(folder: Path, roster: Path, cases: Path, **chosen: Any) -> None:
    r"""Make the FOLDER of an annotation project.

    \b
    nodulebench annotate review start panel/ --roster people.toml --cases cases.csv
    """
    from nodulebench.annotation.start_project import start_project

    desk = start_project(folder, roster, cases, **chosen)
    for team in desk.workflow.roster.teams:
        click.echo(f"{team.team_id}: {', '.join(team.reader_ids)}; leader {team.leader_id or '–'}")
    click.echo(f"wrote {folder}: {desk.workflow.cases.height} cases, {desk.workflow.rules.name}")
    if not desk.workflow.roster.keys:
        click.echo(f"warning: {english(Notice('log_unsigned'))}", err=True)
    print_next(f"nodulebench annotate review open {folder} BATCH --team … --by …")


@command.command("read")
@FOLDER
@BATCH
@click.argument("reading", type=FILE)
@signed
def read(desk: Any, batch_id: str, reading: Path, actor_id: str) -> None:
    r"""Hand in a reader's file for all cases of a BATCH; the last one starts the check.

    \b
    nodulebench annotate review read panel/ b1 ann.csv --by ann
    """
    from nodulebench.annotation.project import hand_in

    hand_in(desk, batch_id, actor_id, reading)
    tell_batch(desk, batch_id)


@command.command("type")
@one_candidate
@click.argument("type", metavar="TYPE")
@signed
def say_type(**fields: Any) -> None:
    r"""Say the TYPE of a nodule that one drew.

    \b
    nodulebench annotate review type panel/ b1 ct-1 candidate-1 solid --by bo
    """
    _step("type", **fields)


@command.command("judge")
@one_candidate
@click.option("--agree/--object", "agrees", required=True, help="Accept it, or dispute it.")
@COMMENT
@signed
def judge(**fields: Any) -> None:
    r"""Review a candidate, as the leader of another team.

    \b
    nodulebench annotate review judge panel/ b1 ct-1 candidate-1 --agree --by dee
    """
    _step("review", **fields)


@command.command("add")
@FOLDER
@BATCH
@click.argument("nodules", metavar="FILE", type=FILE)
@COMMENT
@signed
def add(desk: Any, batch_id: str, nodules: Path, comment: str, actor_id: str) -> None:
    r"""Add nodules that every reader missed, as the leader of another team.

    FILE holds their boxes or outlines and types, like a reader's file. An arbitrator decides.

    \b
    nodulebench annotate review add panel/ b1 missed.csv --by dee
    """
    from nodulebench.annotation.project import add_nodules

    add_nodules(desk, batch_id, actor_id, nodules, comment=comment)
    tell_batch(desk, batch_id)


@command.command("correct")
@one_candidate
@click.argument("nodule", metavar="FILE", type=FILE)
@COMMENT
@signed
def correct(
    desk: Any,
    batch_id: str,
    case_id: str,
    candidate_id: str,
    nodule: Path,
    comment: str,
    actor_id: str,
) -> None:
    r"""Draw a CANDIDATE anew whose outline is wrong, as reviewer, or as arbitrator of a dispute.

    FILE holds the whole nodule on its slices, like a reader's file. What was drawn before is kept.

    \b
    nodulebench annotate review correct panel/ b1 ct-1 candidate-1 anew.csv --by dee
    """
    from nodulebench.annotation.project import correct_outline

    key = (case_id, candidate_id)
    correct_outline(desk, batch_id, actor_id, key, nodule, comment=comment)
    tell_batch(desk, batch_id)


@command.command("finish")
@FOLDER
@BATCH
@CASES
@signed
def finish(desk: Any, batch_id: str, case_ids: tuple[str, ...], actor_id: str) -> None:
    r"""Finish the review of CASEs, or of all: candidates are judged, and nothing is missing.

    \b
    nodulebench annotate review finish panel/ b1 ct-1 ct-2 --by dee
    """
    from nodulebench.annotation.project import finish_cases

    finish_cases(desk, batch_id, actor_id, case_ids or desk.batch(batch_id).unfinished)
    tell_batch(desk, batch_id)


@command.command("settle")
@one_candidate
@click.option("--nodule/--no-nodule", "is_nodule", required=True, help="The ruling.")
@click.option("--type", "type", help="The type of the nodule.")
@click.option("--with", "discussed_with", multiple=True, help="Who took part in the discussion.")
@COMMENT
@signed
def settle(**fields: Any) -> None:
    r"""Settle a dispute, as arbitrator.

    \b
    nodulebench annotate review settle panel/ b1 ct-1 candidate-2 --no-nodule --by eve
    """
    _step("arbitrate", **fields)


@command.command("show")
@FOLDER
@BATCH
@BY
def show(folder: Path, batch_id: str, actor_id: str) -> None:
    r"""Show who asks the readings and candidates of a BATCH that they may see now.

    \b
    nodulebench annotate review show panel/ b1 --by dee
    """
    from nodulebench.annotation.project import open_project

    readings, candidates = open_project(folder).visible(actor_id, batch_id)
    for one in readings:
        click.echo(f"{one.case_id}: {one.reader_id} drew {len(one.findings)}")
    for seen in candidates:
        slices = ", ".join(str(box.slice_index) for box in seen.boxes)
        open_slices = ", ".join(str(number) for number in seen.inconsistent_slices)
        told = f"; not drawn by all on {open_slices}" if open_slices else ""
        click.echo(f"{seen.case_id} {seen.candidate_id}: slices {slices}{told}")


@command.command("approve")
@FOLDER
@BATCH
@click.option("--approve/--reject", "approves", default=True, help="What the commission says.")
@click.option(
    "--inspected",
    multiple=True,
    type=click.Choice(["sufficiency", "heterogeneity", "labels", "ethics"]),
    help="What was inspected; to approve, all four.",
)
@COMMENT
@signed
def approve(**fields: Any) -> None:
    r"""Approve a BATCH for release, as commission, or say why not.

    \b
    nodulebench annotate review approve panel/ b1 --inspected sufficiency \
        --inspected heterogeneity --inspected labels --inspected ethics --by zoe
    """
    _step("approve", **fields)


@command.command("release")
@FOLDER
@BATCH
@signed
def release(**fields: Any) -> None:
    r"""Release a BATCH in which no dispute is open.

    \b
    nodulebench annotate review release panel/ b1 --by eve
    """
    _step("release", **fields)


@command.command("warnings")
@FOLDER
@BATCH
@click.option(
    "--images", type=FILE, help="Folder of <case>.mhd, .nii.gz or DICOM: looks at the outlines."
)
def warnings(folder: Path, batch_id: str, images: Path | None) -> None:
    r"""Tell the reviewer what is unusual about the readings of a BATCH; types are those given.

    \b
    nodulebench annotate review warnings panel/ b1 --images images/
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.annotation.readings.reading_warnings import warn_of_batch

    found = warn_of_batch(open_project(folder), batch_id, images)
    for told in found:
        click.echo(f"{told.where}: {english(told.notice)}")
    click.echo(f"{len(found)} warning(s)")


@command.command("export")
@FOLDER
@click.argument("target", metavar="OUT", type=FILE)
@click.option("--batch", "batches", multiple=True, help="A batch; else all that are released.")
@click.option(
    "--findings", type=FILE, help="Folder for what each reader drew, for 'reference build'."
)
@click.option("--blind-findings", type=FILE, help="Folder for what each drew before a second look.")
def export(folder: Path, target: Path, batches: tuple[str, ...], **parts: Path | None) -> None:
    r"""Write the nodules of released batches as a reference bundle, with its provenance.

    \b
    nodulebench annotate review export panel/ reference/ --findings findings/
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.annotation.release import export_released

    reference = export_released(open_project(folder), target, batches, **parts)
    click.echo(
        f"wrote {target}: {reference.nodules.height} nodules in {reference.cases.height} cases"
    )
    print_written(*parts.values())
    print_next(f"nodulebench bundle {target} --curated … --out BUNDLE")


@command.command("status")
@FOLDER
@click.argument("batch_ids", metavar="[BATCH...]", nargs=-1)
def status(folder: Path, batch_ids: tuple[str, ...]) -> None:
    r"""Say how far each batch has come, and what is still open.

    \b
    nodulebench annotate review status panel/
    """
    from nodulebench.annotation.project import known_batch, open_project

    desk = open_project(folder)
    batches = desk.batches()
    for name in batch_ids or batches:
        tell_batch(desk, name, known_batch(batches, name))


def _step(step: str, desk: Any, actor_id: str, **fields: Any) -> None:
    from nodulebench.annotation.project import step_of

    desk.does(actor_id, step_of({"step": step, **fields}))
    tell_batch(desk, fields["batch_id"])
