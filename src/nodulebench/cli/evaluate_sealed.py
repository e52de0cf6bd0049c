"""What ``nodulebench evaluate`` does on a sealed test set: order looks, and print the feedback."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodulebench.cli.help import DONE, PROBLEM, VERDICT_STATUS
from nodulebench.cli.options import print_next, print_written
from nodulebench.cli.progress import ProgressLine
from nodulebench.cli.vault_options import Opening
from nodulebench.i18n.translator import english

if TYPE_CHECKING:
    from nodulebench.custody.evaluate import LookOrder


def evaluate_on_sealed(
    marks: tuple[Path, ...],
    sealed: Path,
    *,
    roster: Path | None,
    developer: str | None,
    opening: Opening,
    **order: Any,
) -> int:
    """Score submissions on a sealed set, and say what their developers may be told.

    The exit status follows from what is told alone: nobody learns more from it.
    """
    from nodulebench.custody.evaluate import LookOrder, evaluate_sealed

    secret, order["person"] = opening.required(), opening.person
    if roster is not None:
        blank = LookOrder(Path(), sealed, secret, developer="", **order)
        return _evaluate_roster(roster, blank, marks)
    one = LookOrder(marks[0], sealed, secret, developer=developer or "", **order)
    with ProgressLine("evaluating"):
        told, written = evaluate_sealed(one)
    _print(told)
    print_written(*written)
    return _status(told)


def _evaluate_roster(roster: Path, order: "LookOrder", files: tuple[Path, ...]) -> int:
    """Score the submissions of a roster; where one cannot be scored, the others go on."""
    from nodulebench.custody.evaluate_roster import evaluate_roster

    has_failed = False
    with ProgressLine("evaluating") as line:
        found = list(evaluate_roster(roster, order, files, line.tell))
    for one in found:
        if one.told is None:
            has_failed = True
            click.echo(f"error: {one.entry.alias}: {one.problem}", err=True)
            continue
        click.echo(f"{one.entry.alias}: ", nl=False)
        _print(one.told)
        if one.was_done:
            click.echo("done before, and charged once")
        print_written(*one.written)
    print_next(f"nodulebench report {order.sealed} --baseline … --out STUDY")
    return PROBLEM if has_failed else _status(*(result.told or {} for result in found))


def _status(*feedback: dict[str, Any]) -> int:
    """The exit status after the verdicts that developers may know; the worst one counts."""
    verdicts = {answer.get("verdict") for answer in feedback}
    return next((code for verdict, code in VERDICT_STATUS.items() if verdict in verdicts), DONE)


def _print(told: dict[str, Any]) -> None:
    from nodulebench.custody.audit_log import in_a_line

    click.echo(in_a_line(f"{told['algorithm']} on {told['test_set']}"))
    if "verdict" in told:
        reason = f" ({english(told['verdict_reason'])})" if "verdict_reason" in told else ""
        click.echo(f"plan {told['plan']}: {told['verdict']}{reason}")
    for name, one in told.get("figures", {}).items():
        value = english(one["reason"]) if one["value"] is None else f"{one['value']:g}"
        word = "at most" if one.get("side") == "upper" else "at least"
        bound = f", {word} {one['bound']:g}" if "bound" in one else ""
        click.echo(f"{name} {value}{bound}")
    looks = told["looks"]
    click.echo(f"look {looks['look']} of {looks['allowed']}")
    if "warning" in looks:
        click.echo(f"warning: {english(looks['warning'])}", err=True)
