"""An annotation project -> whether its log can be believed, and an anchor for somebody else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.annotation.project import Desk
from nodulebench.annotation.workflow.events import Event
from nodulebench.annotation.workflow.reviewer_draw import draw_notices
from nodulebench.core.errors import InputError, Problem
from nodulebench.core.notices import Notice
from nodulebench.security.event_log.checkpoints import anchor_file_problems, write_anchor
from nodulebench.security.event_log.statements import Anchor


@dataclass(frozen=True, slots=True)
class ProjectAudit:
    """What the log of a project holds, and what is wrong or cannot be told."""

    events: tuple[Event, ...]
    signers: int
    """People whose keys the project names; none: steps are not signed."""
    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]


def audit_project(
    desk: Desk, anchors: Sequence[Path] = (), public_key: Path | None = None
) -> ProjectAudit:
    """Read and check the whole log, and judge anew whether every step was allowed.

    Args:
        desk: the project.
        anchors: statements on the log that were kept elsewhere.
        public_key: of whoever shall have signed the anchors.
    """
    log = desk.log.log
    found = log.check()
    problems = [*found.problems, *found.dates]
    problems += [
        Problem(one, "does not belong among the events: it was added.", "Move it elsewhere.")
        for one in log.store.strangers()
    ]
    for path in anchors:
        problems += anchor_file_problems(log, found.links, path, public_key)
    if not found.problems:
        problems += step_problems(desk, found.events)
        if not desk.log.index_is_true(found.events):
            what = "does not say what the events say: it was changed."
            problems.append(Problem(str(desk.log.file), what, "Remove it; it is made anew."))
    signers = len(desk.workflow.roster.keys)
    notices = tuple(_notices(found.events, signers, len(anchors)))
    return ProjectAudit(tuple(found.events), signers, tuple(problems), notices)


def step_problems(desk: Desk, events: Sequence[Event]) -> Iterator[Problem]:
    """Steps that were not allowed when they were taken, whoever wrote them."""
    for event, why in desk.workflow.replayed(events):
        yield Problem(desk.log.log.store.where(event.number), f"{why.rstrip('.')}.")


def anchor_project(
    desk: Desk, path: Path, *, key: Path | None = None, passphrase: str = "", by: str = ""
) -> Anchor:
    """Write down how far the log goes; see ``write_anchor``.

    Raises:
        InputError: if the file lies in the project itself, or the log cannot be believed.
    """
    if path.resolve().is_relative_to(desk.folder.resolve()):
        raise InputError.at(str(path), "lies in the project itself.", RESTORE_ELSEWHERE)
    log = desk.log.log
    return write_anchor(log, log.check(), path, key=key, passphrase=passphrase, by=by)


RESTORE_ELSEWHERE = "Keep it somewhere else: it is to find a project that was put back."


def _notices(events: Sequence[Event], signers: int, anchors: int) -> Iterator[Notice]:
    if not signers:
        yield Notice("log_unsigned")
    if not anchors:
        yield Notice("log_unanchored")
    yield from draw_notices(events)
