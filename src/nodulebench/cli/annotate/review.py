"""nodulebench annotate review: take a batch from blind readings to release."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.annotate.options import (
    BATCH,
    BY,
    CASES,
    COMMENT,
    FOLDER,
    one_candidate,
    signed,
    tell_batch,
)
from nodulebench.cli.options import (
    FILE,
    KEY,
    OPENS_KEY,
    PATH,
    SHARE,
    call_with,
    checkpoints_option,
    option,
    print_next,
    print_written,
    series_option,
)
from nodulebench.cli.options import FOLDER as FOLDER_PATH
from nodulebench.cli.terminal import json_option, print_done, print_json
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.text import counted
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.annotation.project import ProjectHandle


@click.command("open")
@FOLDER
@BATCH
@CASES
@click.option("--team", "team_id", required=True, help="Name of the team that reads.")
@click.option(
    "--reviewer", "reviewer_id", help="Leader of another team.  [default: drawn at random]"
)
@click.option("--commitment", type=FILE, help="File with your part of the draw.")
@signed
def open_cases(
    handle: "ProjectHandle", batch_id: str, case_ids: tuple[str, ...], **given: object
) -> None:
    r"""Open a BATCH of CASEs, by default of all new ones.

    The reviewer is drawn when all have read, from the commitment that you make now: see
    'reveal-reviewer'.

    \b
    nodulebench annotate review open panel/ b1 ct-1 ct-2 --team one --by office
    """
    from nodulebench.annotation.reviewer_draw import commitment_file, open_batch
    from nodulebench.annotation.tasks import unread_cases

    cases = case_ids or unread_cases(handle)
    call_with(open_batch, given, handle, batch_id=batch_id, case_ids=cases)
    order = handle.batch(batch_id).order
    if order.sealed:
        click.echo("committed to the draw of the reviewer; the commitment is sealed in the log")
    elif order.commitment:
        file = given["commitment"] or commitment_file(handle.folder, batch_id)
        print_done(f"wrote {file}: your part of the draw; keep it secret until 'reveal-reviewer'")
    tell_batch(handle, batch_id)


@click.command("reveal-reviewer")
@FOLDER
@BATCH
@click.option("--commitment", type=FILE, help="File with your part of the draw.")
@click.option(
    "--old-key", type=KEY, help="Your former private key, if it was replaced since 'open'."
)
@click.option("--old-key-passphrase-file", type=FILE, help="File with the former key's passphrase.")
@click.option(
    "--redraw", metavar="REASON", help="Draw again as arbitrator, because the commitment is lost."
)
@signed
def draw(
    handle: "ProjectHandle", batch_id: str, actor_id: str, redraw: str | None, **given: Path | None
) -> None:
    r"""Draw the reviewer of a BATCH that all readers have read.

    The draw uses the commitment that 'open' made.

    \b
    nodulebench annotate review reveal-reviewer panel/ b1 --by office
    """
    from nodulebench.annotation.reviewer_draw import draw_again, draw_reviewer

    if redraw is None:
        try:
            draw_reviewer(handle, actor_id, batch_id, **_opening(**given))
        except InputError:
            click.echo("options for a draw: --key, --commitment, --old-key, --redraw", err=True)
            raise
    elif any(given.values()):
        raise click.UsageError("--redraw draws without the commitment: give only one of them.")
    else:
        draw_again(handle, actor_id, batch_id, redraw)
    tell_batch(handle, batch_id)


def _opening(
    commitment: Path | None, old_key: Path | None, old_key_passphrase_file: Path | None
) -> JsonObject:
    from nodulebench.cli.options import first_line

    file = old_key_passphrase_file
    return {
        "commitment": commitment,
        "old_key": old_key,
        "passphrase": "" if file is None else first_line(file),
    }


@click.command("key")
@FOLDER
@click.argument("person_id", metavar="PERSON")
@click.option("--new-key", type=KEY, help="Public file of the new key (.pub).  [default: no key]")
@click.option("--reason", required=True, help="Reason for the log.")
@signed
def key(
    handle: "ProjectHandle", actor_id: str, person_id: str, new_key: Path | None, reason: str
) -> None:
    r"""Replace or revoke the key of PERSON.

    Organisers can do this for others. All can replace their own key, signed with the old one.

    \b
    nodulebench annotate review key panel/ r2 --new-key r2-new.pub \\
        --reason "laptop stolen" --by office --key office
    """
    from nodulebench.annotation.project import change_key

    event = change_key(handle, actor_id, person_id, new_key, reason=reason)
    click.echo(f"event {event.number}: {event.change}")


@click.command("log")
@FOLDER
@json_option
def log(folder: Path) -> None:
    r"""Show every step with time, person and change.

    \b
    nodulebench annotate review log panel/
    """
    from nodulebench.annotation.actions import steps_of
    from nodulebench.annotation.project import open_project

    events = open_project(folder).log.read()
    print_json(
        [
            {"number": event.number, "at": event.at.isoformat(), "step": step}
            for event in events
            for step in steps_of(event)
        ]
    )
    for event in events:
        at = event.at.isoformat(timespec="seconds")
        for step in steps_of(event):
            case = f" {step.case_id}" if step.case_id else ""
            subject = f"{step.actor_id} {step.step} {event.batch_id}{case}"
            click.echo(f"{event.number} {at} {subject}: {step.change}")


@click.command("audit")
@FOLDER
@checkpoints_option
@click.option("--public-key", type=KEY, help="Expected signer's public key.")
@json_option
def audit(folder: Path, checkpoints: tuple[Path, ...], public_key: Path | None) -> int:
    r"""Check the whole log.

    Nothing may be changed or cut off, and every step must have been allowed when it was taken.

    \b
    nodulebench annotate review audit panel/ --checkpoint notary/panel.checkpoint
    """
    from nodulebench.annotation.project import audit_project, open_project

    report = audit_project(open_project(folder), checkpoints, public_key)
    print_json(
        {"events": len(report.events), "problems": report.problems, "notices": report.notices}
    )
    for problem in report.problems:
        click.echo(f"error: {problem}", err=True)
    for notice in report.notices:
        click.echo(f"warning: {in_english(notice)}", err=True)
    click.echo(f"events      {len(report.events)}")
    click.echo(f"signatures  {'checked' if report.signers else 'none'}")
    click.echo(f"checkpoints     {len(checkpoints)} compared")
    count = counted(len(report.problems), "problem") if report.problems else "no problems"
    click.echo(f"{folder}: {count}")
    return 1 if report.problems else 0


@click.command("checkpoint")
@FOLDER
@click.argument("path", metavar="OUT", type=FILE)
@click.option("--key", type=KEY, help="Your private key (PEM or OpenSSH); it signs the checkpoint.")
@click.option("--key-passphrase-file", type=FILE, help=OPENS_KEY)
@click.option("--by", default="", help="Your name, as the signer.")
def checkpoint(
    folder: Path, path: Path, key: Path | None, key_passphrase_file: Path | None, by: str
) -> None:
    r"""Save a checkpoint of the log to the file OUT.

    Give it to another person for safekeeping.

    \b
    nodulebench annotate review checkpoint panel/ notary/panel.checkpoint --key auditor.pem
    """
    from nodulebench.annotation.project import checkpoint_project, open_project
    from nodulebench.cli.options import signing_passphrase

    passphrase = signing_passphrase(key, key_passphrase_file)
    made = checkpoint_project(open_project(folder), path, key=key, passphrase=passphrase, by=by)
    print_done(f"wrote {path}: {made.events} events, {made.digest}")


@click.command("quality")
@FOLDER
@option("--periods", click.IntRange(min=2), 4, "Number of periods, between which drift is tested.")
@click.option("--out", type=FILE, help="JSON file for all numbers.")
@json_option
def quality(folder: Path, periods: int, out: Path | None) -> None:
    r"""Report how well readers agree, and whether they drift.

    \b
    nodulebench annotate review quality panel/ --out quality.json
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.annotation.reader_quality import reader_quality, write_quality

    report = reader_quality(open_project(folder), periods=periods)
    print_json(report)
    for pair in report["pairs"]:
        click.echo(f"{pair['first']} and {pair['second']}: agreement {_shown(pair['agreement'])}")
    for reader in report["readers"]:
        trend = reader["drift"].get("p_value")
        click.echo(
            f"{reader['reader_id']}: "
            f"sensitivity against the others {_shown(reader['sensitivity'])}, "
            f"{reader['lone_per_case']:.2f} lone marks per case, p of drift {_shown(trend)}"
        )
    for repeat in report["repeats"]:
        _tell_repeats(repeat)
    if out is not None:
        write_quality(report, out)
    print_written(out)


def _tell_repeats(repeat: JsonObject) -> None:
    """Print how a reader agrees with the same reader on repeated cases."""
    click.echo(
        f"{repeat['first']} and the own repeats: agreement {_shown(repeat['agreement'])} in "
        f"{counted(repeat['cases'], 'case')}, at least "
        f"{counted(repeat['least_between'], 'other')} between"
    )
    pair = f"{repeat['first']}, {repeat['second']}"
    for row in repeat["metrics"]:
        if row["name"] in (f"type: {pair}", f"diameter: {pair}") and row["value"] is not None:
            click.echo(f"  {row['name']}: {row['value']:.3f}")
    for row in repeat["limits"]:
        if row["bias_mm"] is not None:
            limits = f"{row['lower_mm']:+.2f} to {row['upper_mm']:+.2f} mm"
            click.echo(f"  diameter, first - again: {row['bias_mm']:+.2f} mm, limits {limits}")


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


@click.command("export-tasks")
@FOLDER
@BATCH
@click.argument("file", type=FILE)
@signed
def ask(handle: "ProjectHandle", batch_id: str, file: Path, actor_id: str) -> None:
    r"""Write a person's open tasks in a BATCH to a CSV FILE.

    Readers are asked for types, the reviewer whether to agree, arbitrators for a ruling.

    \b
    nodulebench annotate review export-tasks panel/ b1 questions.csv --by dee
    """
    from nodulebench.annotation.answers import export_tasks

    count = export_tasks(handle, batch_id, actor_id, file)
    if not count:
        click.echo(f"{batch_id}: nothing waits for {actor_id}")
        return
    print_done(f"wrote {file}: {counted(count, 'question')} to {actor_id}")
    print_next(
        f"nodulebench annotate review import-answers {handle.folder} {batch_id} {file} "
        f"--by {actor_id}"
    )


@click.command("import-answers")
@FOLDER
@BATCH
@click.argument("file", type=FILE)
@signed
def answer(handle: "ProjectHandle", batch_id: str, file: Path, actor_id: str) -> None:
    r"""Submit the answers from a CSV FILE.

    'export-tasks' writes the file; rows without an answer stay open.

    \b
    nodulebench annotate review import-answers panel/ b1 questions.csv --by dee
    """
    from nodulebench.annotation.answers import import_answers

    import_answers(handle, batch_id, actor_id, file)
    tell_batch(handle, batch_id)


@click.command("revise")
@FOLDER
@BATCH
@click.argument("reading", type=FILE, required=False)
@signed
def revise(handle: "ProjectHandle", batch_id: str, reading: Path | None, actor_id: str) -> None:
    r"""Submit your second reading of a BATCH.

    You have seen the findings of others. READING contains all your nodules in the cases that all
    have read, not only your changes. Without READING they stay unchanged. The last submission
    starts the check.

    \b
    nodulebench annotate review candidates panel/ b1 --by ann
    nodulebench annotate review revise panel/ b1 ann-again.csv --by ann
    """
    from nodulebench.annotation import steps

    steps.revise(handle, batch_id, actor_id, reading)
    tell_batch(handle, batch_id)


@click.group("review")
def command() -> None:
    """Take batches of cases from blind readings to release."""


for part in (log, audit, checkpoint, key, open_cases, draw, revise, ask, answer, quality):
    command.add_command(part)


@command.command("start")
@FOLDER
@click.option("--roster", type=FILE, required=True, help="People and teams of the project (TOML).")
@click.option(
    "--cases", type=PATH, required=True, help="Table of cases, or a folder that 'curate' wrote."
)
@series_option
@option("--workflow", str, "nifdc-2022", "Workflow: nifdc-2022, fg-ai4h or lidc-idri.")
@click.option(
    "--draw-teams",
    "seed",
    type=int,
    metavar="SEED",
    help="Draw the teams at random, with this seed.",
)
@option("--repeat-share", SHARE, 0.0, "Share of cases that readers see twice, under another name.")
@click.option("--repeat-seed", type=int, help="Random seed of these cases.  [default: secret]")
@click.option("--exam", type=FILE, help="Result of the exam (exam.json); others cannot take part.")
def start(**options: object) -> None:
    r"""Start an annotation project in FOLDER.

    \b
    nodulebench annotate review start panel/ --roster people.toml --cases cases.csv
    """
    from nodulebench.annotation.project import StartProjectOptions, start_project

    handle = start_project(call_with(StartProjectOptions, options))
    for team in handle.workflow.roster.teams:
        click.echo(f"{team.team_id}: {', '.join(team.reader_ids)}; leader {team.leader_id or '–'}")
    folder = handle.folder
    print_done(
        f"wrote {folder}: {handle.workflow.cases.height} cases, {handle.workflow.rules.name}"
    )
    if not handle.workflow.roster.keys:
        click.echo(f"warning: {in_english(Notice('log_unsigned'))}", err=True)
    print_next(f"nodulebench annotate review open {folder} BATCH --team … --by …")


@command.command("read")
@FOLDER
@BATCH
@click.argument("reading", type=FILE)
@signed
def read(handle: "ProjectHandle", batch_id: str, reading: Path, actor_id: str) -> None:
    r"""Submit a reader's file for all cases of a BATCH.

    The last submission starts the check.

    \b
    nodulebench annotate review read panel/ b1 ann.csv --by ann
    """
    from nodulebench.annotation.steps import submit_case

    submit_case(handle, batch_id, actor_id, reading)
    tell_batch(handle, batch_id)


@command.command("type")
@one_candidate
@click.argument("type", metavar="TYPE")
@signed
def state_type(handle: "ProjectHandle", **fields: object) -> None:
    r"""Set the TYPE of a nodule that you drew.

    \b
    nodulebench annotate review type panel/ b1 ct-1 candidate-1 solid --by bo
    """
    _step("type", handle, fields)


@command.command("decide")
@one_candidate
@click.option(
    "--agree/--object", "agrees", required=True, help="Accept the candidate, or dispute it."
)
@COMMENT
@signed
def decide(handle: "ProjectHandle", **fields: object) -> None:
    r"""Accept or dispute a CANDIDATE, as the reviewer.

    \b
    nodulebench annotate review decide panel/ b1 ct-1 candidate-1 --agree --by dee
    """
    _step("review", handle, fields)


@command.command("add")
@FOLDER
@BATCH
@click.argument("nodules", metavar="FILE", type=FILE)
@COMMENT
@signed
def add(handle: "ProjectHandle", batch_id: str, nodules: Path, comment: str, actor_id: str) -> None:
    r"""Add nodules that every reader missed, as the reviewer.

    FILE contains their boxes or outlines and types, like a reader's file. An arbitrator decides.

    \b
    nodulebench annotate review add panel/ b1 missed.csv --by dee
    """
    from nodulebench.annotation.steps import add_nodules

    add_nodules(handle, batch_id, actor_id, nodules, comment=comment)
    tell_batch(handle, batch_id)


@command.command("correct")
@one_candidate
@click.argument("nodule", metavar="FILE", type=FILE)
@COMMENT
@signed
def correct(
    handle: "ProjectHandle",
    batch_id: str,
    case_id: str,
    candidate_id: str,
    nodule: Path,
    comment: str,
    actor_id: str,
) -> None:
    r"""Replace an outline, as reviewer or arbitrator.

    FILE contains the whole nodule on its slices, like a reader's file. The old outline stays
    stored.

    \b
    nodulebench annotate review correct panel/ b1 ct-1 candidate-1 new.csv --by dee
    """
    from nodulebench.annotation.steps import correct_outline

    key = (case_id, candidate_id)
    correct_outline(handle, batch_id, actor_id, key, nodule, comment=comment)
    tell_batch(handle, batch_id)


@command.command("finish")
@FOLDER
@BATCH
@CASES
@signed
def finish(
    handle: "ProjectHandle", batch_id: str, case_ids: tuple[str, ...], actor_id: str
) -> None:
    r"""Finish the review of CASEs, by default of all.

    Every candidate is then decided, and no nodule is missing.

    \b
    nodulebench annotate review finish panel/ b1 ct-1 ct-2 --by dee
    """
    from nodulebench.annotation.steps import finish_cases

    finish_cases(handle, batch_id, actor_id, case_ids or handle.batch(batch_id).unfinished)
    tell_batch(handle, batch_id)


@command.command("arbitrate")
@one_candidate
@click.option("--nodule/--no-nodule", "is_nodule", required=True, help="Ruling on the candidate.")
@click.option("--type", "type", help="Type of the nodule.")
@click.option(
    "--with",
    "discussed_with",
    multiple=True,
    help="Participant of the discussion; may be repeated.",
)
@COMMENT
@signed
def arbitrate(handle: "ProjectHandle", **fields: object) -> None:
    r"""Decide a dispute about a CANDIDATE, as arbitrator.

    \b
    nodulebench annotate review arbitrate panel/ b1 ct-1 candidate-2 --no-nodule --by eve
    """
    _step("arbitrate", handle, fields)


@command.command("candidates")
@FOLDER
@BATCH
@BY
@json_option
def show(folder: Path, batch_id: str, actor_id: str) -> None:
    r"""Show what a person may see of a BATCH now.

    \b
    nodulebench annotate review candidates panel/ b1 --by dee
    """
    from nodulebench.annotation.project import open_project

    readings, candidates = open_project(folder).visible(actor_id, batch_id)
    print_json({"readings": readings, "candidates": candidates})
    for reading in readings:
        click.echo(f"{reading.case_id}: {reading.reader_id} drew {len(reading.findings)}")
    for seen in candidates:
        slices = ", ".join(str(box.slice_index) for box in seen.boxes)
        open_slices = ", ".join(str(number) for number in seen.inconsistent_slices)
        remark = f"; not drawn by all on {open_slices}" if open_slices else ""
        click.echo(f"{seen.case_id} {seen.candidate_id}: slices {slices}{remark}")


@command.command("approve")
@FOLDER
@BATCH
@click.option("--approve/--reject", "approves", default=True, help="Decision of the commission.")
@click.option(
    "--inspected",
    multiple=True,
    type=click.Choice(["sufficiency", "heterogeneity", "labels", "ethics"]),
    help="Inspected aspect; an approval needs all four.",
)
@COMMENT
@signed
def approve(handle: "ProjectHandle", **fields: object) -> None:
    r"""Approve or reject a BATCH, as the commission.

    \b
    nodulebench annotate review approve panel/ b1 --inspected sufficiency \
        --inspected heterogeneity --inspected labels --inspected ethics --by zoe
    """
    _step("approve", handle, fields)


@command.command("release")
@FOLDER
@BATCH
@signed
def release(handle: "ProjectHandle", **fields: object) -> None:
    r"""Release a BATCH that has no open dispute.

    \b
    nodulebench annotate review release panel/ b1 --by eve
    """
    _step("release", handle, fields)


@command.command("warnings")
@FOLDER
@BATCH
@click.option(
    "--images", type=FOLDER_PATH, help="Folder of scans, on which the outlines are checked."
)
@json_option
def warnings(folder: Path, batch_id: str, images: Path | None) -> None:
    r"""List unusual readings of a BATCH for the reviewer.

    \b
    nodulebench annotate review warnings panel/ b1 --images images/
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.annotation.reading_warnings import warn_of_batch

    reported = warn_of_batch(open_project(folder), batch_id, images)
    print_json(reported)
    for warning in reported:
        click.echo(f"{warning.where}: {in_english(warning.notice)}")
    click.echo(counted(len(reported), "warning"))


@command.command("export")
@FOLDER
@click.argument("target", metavar="OUT", type=FILE)
@click.option(
    "--batch",
    "batches",
    multiple=True,
    help="Name of a batch; may be repeated.  [default: all released ones]",
)
@click.option(
    "--findings", type=FOLDER_PATH, help="Folder for the findings as tables, for 'reference build'."
)
@click.option("--blind-findings", type=FOLDER_PATH, help="Folder for the findings before revision.")
def export(folder: Path, target: Path, batches: tuple[str, ...], **parts: Path | None) -> None:
    r"""Write the released nodules as a reference.

    \b
    nodulebench annotate review export panel/ reference/ --findings findings/
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.annotation.release import export_released

    reference = export_released(open_project(folder), target, batches, **parts)
    print_done(
        f"wrote {target}: {reference.nodules.height} nodules in {reference.cases.height} cases"
    )
    print_written(*parts.values())
    print_next(f"nodulebench bundle {target} --curated … --out BUNDLE")


@command.command("status")
@FOLDER
@click.argument("batch_ids", metavar="[BATCH...]", nargs=-1)
@json_option
def status(folder: Path, batch_ids: tuple[str, ...]) -> None:
    r"""Show the state of each BATCH, and its open tasks.

    \b
    nodulebench annotate review status panel/
    """
    from nodulebench.annotation.permissions import known_batch
    from nodulebench.annotation.project import open_project

    handle = open_project(folder)
    batches = handle.batches()
    print_json({name: batches[name].state for name in batch_ids or batches if name in batches})
    for name in batch_ids or batches:
        tell_batch(handle, name, known_batch(batches, name))


def _step(step: str, handle: "ProjectHandle", fields: dict[str, object]) -> None:
    from nodulebench.annotation.steps import step_of

    handle.act(str(fields.pop("actor_id")), step_of({"step": step, **fields}))
    tell_batch(handle, str(fields["batch_id"]))
