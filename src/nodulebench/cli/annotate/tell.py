"""How far a batch has come, what it waits for, and which command comes next."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from nodulebench.cli.options import print_next
from nodulebench.i18n.translator import english

MOST_LINES = 40


def tell_batch(desk: Any, batch_id: str, batch: Any = None) -> None:
    """Say the state of a batch, the first of what is open, and what comes next."""
    batch = batch or desk.batch(batch_id)
    click.echo(f"{batch_id}: {batch.state}")
    lines = _open_things(batch)
    for line in islice(lines, MOST_LINES):
        click.echo(f"  {line}")
    more = sum(1 for _ in lines)
    if more:
        click.echo(f"  and {more} more")
    print_next(f"nodulebench annotate review {_next(batch, desk.folder, batch_id)}")


def _open_things(batch: Any) -> Iterator[str]:
    reviewer = batch.order.reviewer_id
    for case_id, reader in batch.missing_readings:
        yield f"{case_id}: waits for the reading of {reader}"
    for case_id, reader in batch.unrevised:
        if batch.is_unblinded(case_id):
            yield f"{case_id}: waits for the second reading of {reader}"
    for case_id, name in batch.untyped:
        yield f"{case_id} {name}: waits for its type"
    if batch.waits_for_draw:
        yield "waits for the draw of its reviewer"
    elif batch.state == "review":
        for case_id, name in batch.unreviewed:
            yield f"{case_id} {name}: waits for {reviewer}"
        for case_id in batch.unfinished:
            yield f"{case_id}: waits for {reviewer} to finish its review"
    if batch.state in ("review", "arbitration"):
        for key in batch.open_disputes:
            reasons = ", ".join(map(english, batch.dispute(key)))
            yield f"{key[0]} {key[1]}: in dispute, {reasons}"
    if batch.state == "arbitration" and not batch.is_approved:
        yield "waits for the approval of the commission"


def _next(batch: Any, folder: Any, batch_id: str) -> str:
    """The step that a batch waits for."""
    place = f"{folder} {batch_id}"
    if batch.state == "reading":
        reader = next((one for _, one in batch.missing_readings), "READER")
        return f"read {place} FILE --by {reader}"
    if batch.state == "revision":
        return f"revise {place} FILE --by {batch.unrevised[0][1]}"
    if batch.waits_for_draw:
        return f"draw {place} --by ORGANISER"
    if batch.state == "review" and not batch.unreviewed:
        return f"finish {place} --by {batch.order.reviewer_id}"
    if batch.state == "arbitration" and not batch.open_disputes and not batch.is_approved:
        return f"approve {place} --inspected sufficiency ... --by COMMISSION"
    if batch.state == "arbitration" and not batch.open_disputes:
        who = "ARBITRATOR" if batch.rules.has_arbitration else "ORGANISER"
        return f"release {place} --by {who}"
    if batch.state == "released":
        return f"export {folder} REFERENCE"
    who = {"typing": "READER", "review": batch.order.reviewer_id}.get(batch.state, "ARBITRATOR")
    return f"ask {place} FILE --by {who}"
