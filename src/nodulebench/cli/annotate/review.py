"""nodulebench annotate review: take a batch from blind readings to release."""

from pathlib import Path
from typing import Any

import click

from nodulebench.language import english

FOLDER = click.Path(path_type=Path)
BY = click.option("--by", "actor", required=True, help="Who takes the step.")


@click.group("review")
def command() -> None:
    """Take batches of cases from blind readings to release, step by step."""


@command.command("start")
@click.argument("folder", type=FOLDER)
@click.option("--roster", type=FOLDER, required=True, help="TOML of people and teams.")
@click.option("--cases", type=FOLDER, required=True, help="Table of cases with geometry.")
@click.option("--workflow", default="nifdc-2022", show_default=True, help="nifdc-2022 or fg-ai4h.")
@click.option("--draw-teams", "seed", type=int, metavar="SEED", help="Draw the teams at random.")
@click.option(
    "--repeat-share",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the cases that readers are shown again under another name.",
)
@click.option("--exam", type=FOLDER, help="exam.json: only who passed it can read.")
def start(
    folder: Path,
    roster: Path,
    cases: Path,
    workflow: str,
    seed: int | None,
    repeat_share: float,
    exam: Path | None,
) -> None:
    """Make the FOLDER of an annotation project."""
    from nodulebench.workflows.annotate.desk import start_project

    desk = start_project(
        folder, roster, cases, workflow=workflow, seed=seed, repeat_share=repeat_share, exam=exam
    )
    for team in desk.workflow.roster.teams:
        click.echo(f"{team.team_id}: {', '.join(team.reader_ids)}; leader {team.leader_id or '–'}")
    click.echo(f"wrote {folder}: {desk.workflow.cases.height} cases, {desk.workflow.rules.name}")


@command.command("open")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@click.argument("cases", metavar="CASE...", nargs=-1, required=True)
@click.option("--team", required=True, help="The team that reads.")
@click.option("--reviewer", help="Leader of another team; else drawn.")
@BY
def open_cases(
    folder: Path, batch: str, cases: tuple[str, ...], team: str, reviewer: str | None, actor: str
) -> None:
    """Give CASEs to a team."""
    from nodulebench.workflows.annotate.desk import open_batch, open_project

    desk = open_project(folder)
    open_batch(desk, actor, batch, team, cases, reviewer_id=reviewer)
    _tell(desk, batch)


@command.command("read")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@click.argument("reading", type=FOLDER)
@BY
def read(folder: Path, batch: str, reading: Path, actor: str) -> None:
    """Hand in a reader's file for all cases of a BATCH; the last one starts the check."""
    from nodulebench.workflows.annotate.desk import hand_in, open_project

    desk = open_project(folder)
    hand_in(desk, batch, actor, reading)
    _tell(desk, batch)


@command.command("type")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@click.argument("case")
@click.argument("candidate")
@click.argument("nodule_type", metavar="TYPE")
@BY
def say_type(
    folder: Path, batch: str, case: str, candidate: str, nodule_type: str, actor: str
) -> None:
    """Say the TYPE of a nodule that one drew."""
    _step(
        folder,
        actor,
        step="type",
        batch_id=batch,
        case_id=case,
        candidate_id=candidate,
        type=nodule_type,
    )


@command.command("judge")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@click.argument("case")
@click.argument("candidate")
@click.option("--agree/--object", "agrees", required=True, help="Accept it, or dispute it.")
@click.option("--comment", default="", help="Why.")
@BY
def judge(
    folder: Path, batch: str, case: str, candidate: str, agrees: bool, comment: str, actor: str
) -> None:
    """Review a candidate, as the leader of another team."""
    _step(
        folder,
        actor,
        step="review",
        batch_id=batch,
        case_id=case,
        candidate_id=candidate,
        agrees=agrees,
        comment=comment,
    )


@command.command("add")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@click.argument("nodules", metavar="FILE", type=FOLDER)
@click.option("--comment", default="", help="Why.")
@BY
def add(folder: Path, batch: str, nodules: Path, comment: str, actor: str) -> None:
    """Add nodules that every reader missed, as the leader of another team.

    FILE holds their boxes or outlines and types, like a reader's file. An arbitrator decides.
    """
    from nodulebench.workflows.annotate.desk import add_nodules, open_project

    desk = open_project(folder)
    add_nodules(desk, batch, actor, nodules, comment=comment)
    _tell(desk, batch)


@command.command("finish")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@click.argument("cases", metavar="CASE...", nargs=-1, required=True)
@BY
def finish(folder: Path, batch: str, cases: tuple[str, ...], actor: str) -> None:
    """Finish the review of CASEs: all candidates are judged, and nothing is missing."""
    from nodulebench.workflows.annotate.desk import finish_cases, open_project

    desk = open_project(folder)
    finish_cases(desk, batch, actor, cases)
    _tell(desk, batch)


@command.command("settle")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@click.argument("case")
@click.argument("candidate")
@click.option("--nodule/--no-nodule", "is_nodule", required=True, help="The ruling.")
@click.option("--type", "nodule_type", help="The type of the nodule.")
@click.option("--with", "discussed_with", multiple=True, help="Who took part in the discussion.")
@click.option("--comment", default="", help="Why.")
@BY
def settle(
    folder: Path,
    batch: str,
    case: str,
    candidate: str,
    is_nodule: bool,
    nodule_type: str | None,
    discussed_with: tuple[str, ...],
    comment: str,
    actor: str,
) -> None:
    """Settle a dispute, as arbitrator."""
    _step(
        folder,
        actor,
        step="arbitrate",
        batch_id=batch,
        case_id=case,
        candidate_id=candidate,
        is_nodule=is_nodule,
        type=nodule_type,
        discussed_with=discussed_with,
        comment=comment,
    )


@command.command("show")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@BY
def show(folder: Path, batch: str, actor: str) -> None:
    """Show who asks the readings and candidates of a BATCH that they may see now."""
    from nodulebench.workflows.annotate.desk import open_project

    readings, candidates = open_project(folder).visible(actor, batch)
    for one in readings:
        click.echo(f"{one.case_id}: {one.reader_id} drew {len(one.findings)}")
    for seen in candidates:
        slices = ", ".join(str(box.slice_index) for box in seen.boxes)
        open_slices = ", ".join(str(number) for number in seen.inconsistent_slices)
        told = f"; not drawn by all on {open_slices}" if open_slices else ""
        click.echo(f"{seen.case_id} {seen.candidate_id}: slices {slices}{told}")


@command.command("release")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@BY
def release(folder: Path, batch: str, actor: str) -> None:
    """Release a BATCH in which no dispute is open."""
    _step(folder, actor, step="release", batch_id=batch)


@command.command("warnings")
@click.argument("folder", type=FOLDER)
@click.argument("batch")
@click.option(
    "--images", type=FOLDER, help="Folder of <case>.mhd, .nii.gz or DICOM: looks at the outlines."
)
def warnings(folder: Path, batch: str, images: Path | None) -> None:
    """Tell the reviewer what is unusual about the readings of a BATCH; types are those given."""
    from nodulebench.workflows.annotate.desk import open_project
    from nodulebench.workflows.annotate.reading_warnings import warn_of_batch

    found = warn_of_batch(open_project(folder), batch, images)
    for told in found:
        click.echo(f"{told.where}: {english(told.notice)}")
    click.echo(f"{len(found)} warning(s)")


@command.command("export")
@click.argument("folder", type=FOLDER)
@click.argument("target", metavar="OUT", type=FOLDER)
@click.option("--batch", "batches", multiple=True, help="A batch; else all that are released.")
@click.option(
    "--findings", type=FOLDER, help="Folder for what each reader drew, for 'reference build'."
)
def export(folder: Path, target: Path, batches: tuple[str, ...], findings: Path | None) -> None:
    """Write the nodules of released batches as a reference bundle, with its provenance."""
    from nodulebench.workflows.annotate.desk import open_project
    from nodulebench.workflows.annotate.released_batches import export_released

    reference = export_released(open_project(folder), target, batches, findings=findings)
    click.echo(
        f"wrote {target}: {reference.nodules.height} nodules in {reference.cases.height} cases"
    )
    if findings is not None:
        click.echo(f"wrote {findings}")


@command.command("status")
@click.argument("folder", type=FOLDER)
def status(folder: Path) -> None:
    """Say how far each batch has come, and what is still open."""
    from nodulebench.workflows.annotate.desk import open_project

    desk = open_project(folder)
    for batch in desk.batches():
        _tell(desk, batch)


@command.command("quality")
@click.argument("folder", type=FOLDER)
@click.option(
    "--periods",
    type=click.IntRange(min=2),
    default=4,
    show_default=True,
    help="Parts into which a reader's time is divided to look for drift.",
)
@click.option("--out", type=FOLDER, help="JSON file for all numbers.")
def quality(folder: Path, periods: int, out: Path | None) -> None:
    """Say how readers agree with each other, with themselves and over time."""
    from nodulebench.workflows.annotate.desk import open_project
    from nodulebench.workflows.annotate.reader_quality import reader_quality, write_quality

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
        click.echo(f"{one['first']} and the own repeats: agreement {_shown(one['agreement'])}")
    if out is not None:
        write_quality(found, out)
        click.echo(f"wrote {out}")


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


@command.command("log")
@click.argument("folder", type=FOLDER)
def log(folder: Path) -> None:
    """Show every step: who, when, what changed."""
    from nodulebench.workflows.annotate.desk import open_project

    for event in open_project(folder).store.read():
        case = f" {event.case_id}" if event.case_id else ""
        at = event.at.isoformat(timespec="seconds")
        click.echo(
            f"{event.number} {at} {event.actor_id} {event.step} {event.batch_id}{case}: "
            f"{event.change}"
        )


def _step(folder: Path, actor: str, **fields: Any) -> None:
    from nodulebench.workflows.annotate.desk import open_project, step_of

    desk = open_project(folder)
    desk.does(actor, step_of(fields))
    _tell(desk, fields["batch_id"])


def _tell(desk: Any, batch_id: str) -> None:
    batch = desk.batch(batch_id)
    click.echo(f"{batch_id}: {batch.state}")
    for case_id, reader in batch.missing_readings:
        click.echo(f"  {case_id}: waits for the reading of {reader}")
    for case_id, name in batch.untyped:
        click.echo(f"  {case_id} {name}: waits for its type")
    if batch.state == "review":
        for case_id, name in batch.unreviewed:
            click.echo(f"  {case_id} {name}: waits for {batch.order.reviewer_id}")
        for case_id in batch.unfinished:
            click.echo(f"  {case_id}: waits for {batch.order.reviewer_id} to finish its review")
    if batch.state in ("review", "arbitration"):
        for key in batch.open_disputes:
            click.echo(
                f"  {key[0]} {key[1]}: in dispute, {', '.join(map(english, batch.dispute(key)))}"
            )
