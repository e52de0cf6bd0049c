"""An order for a look at a sealed set -> the look that it is, allowed, charged and written down.

Nothing is decrypted here, and what is refused here says nothing of the set.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nodulebench.core.errors import refuse_any
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocol import TestProtocol
from nodulebench.custody import audit
from nodulebench.custody.budget import (
    Look,
    SpentError,
    admit,
    answers_of,
    before,
)
from nodulebench.custody.developers import same_developer
from nodulebench.custody.feedback import Standing
from nodulebench.custody.permitted_tests import (
    UnaskedError,
    refuse_unasked,
    refuse_unknown,
    require_same_cases,
)
from nodulebench.custody.roster import Entry, alias_problems
from nodulebench.custody.sealed_set import (
    SealedSet,
    open_sealed,
    read_note,
    refuse_retired,
)
from nodulebench.custody.submissions import submission_digest
from nodulebench.custody.withdrawal import withdrawn_since
from nodulebench.evaluation.service import choose_protocol
from nodulebench.security.event_log.checkpoints import anchor_file_problems
from nodulebench.security.keys import parse_public_key
from nodulebench.security.vault import Secret


@dataclass(frozen=True, slots=True)
class LookOrder:
    """What shall be scored on a sealed set, for whom."""

    marks: Path
    sealed: Path
    secret: Secret
    person: str
    developer: str
    protocol: str | None = None
    plan: Path | None = None
    bootstraps: int | None = None
    seed: int | None = None
    out: Path | None = None
    at: datetime | None = None
    force: bool = False
    """Whether feedback that lies in ``out`` may be replaced."""
    at_fp: float | None = None
    entry: Entry | None = None
    """What the roster says of the algorithm, where there is one."""
    anchors: tuple[Path, ...] = ()
    """Statements on the log that were kept elsewhere, which it has to hold."""


Chosen = tuple[TestProtocol, TestPlan | None]
"""Under which protocol a look is taken, and under which plan."""


def open_for_looks(order: LookOrder) -> SealedSet:
    """The set, opened by who may score on it, if its log holds what the anchors say.

    Raises:
        InputError: if it cannot be opened, or its log was put back to an older state.
    """
    opened = open_sealed(order.sealed, order.secret, order.person, "evaluate")
    links = opened.log.check().links if order.anchors else ()
    people = [parse_public_key(one.key) for one in opened.policy.people if one.key]
    for anchor in order.anchors:
        refuse_any(anchor_file_problems(opened.log, links, anchor, people=people))
    return opened


def chosen_test(opened: SealedSet, order: LookOrder) -> Chosen:
    """The protocol and the plan of a look, if the policy permits them and the plan fits the set.

    Raises:
        UnaskedError: if not; nothing is charged, and the refusal is in the log.
    """
    protocol, plan = choose_protocol(
        order.protocol,
        order.plan,
        bootstraps=order.bootstraps,
        seed=order.seed,
        at_fp=order.at_fp,
    )
    try:
        refuse_unasked(protocol, plan, opened.policy.reuse)
        if plan is not None:
            withdrawn = len(withdrawn_since(opened.events, 0))
            cases = read_note(opened.folder)["cases"]
            require_same_cases(plan, cases, withdrawn, opened.policy.reuse)
    except UnaskedError as error:
        asked = {"protocol": protocol.digest, "plan": "" if plan is None else plan.digest}
        facts = look_facts(ordered_look(order, (protocol, plan))) if order.developer else asked
        opened.record("refused", {**facts, "reason": short(error)}, order.at)
        raise
    return protocol, plan


def ordered_look(order: LookOrder, chosen: Chosen) -> Look:
    """What identifies a look."""
    protocol, plan = chosen
    return Look(
        same_developer(order.developer),
        submission_digest(order.marks),
        protocol.digest,
        "" if plan is None else plan.digest,
    )


def refuse_unknown_developer(opened: SealedSet, order: LookOrder, look: Look) -> None:
    """Refuse a developer whom the policy does not list; it stands in the log."""
    try:
        refuse_unknown(order.developer, opened.policy.reuse)
    except UnaskedError as error:
        opened.record("refused", {**look_facts(look), "reason": short(error)}, order.at)
        raise


def charge(opened: SealedSet, order: LookOrder, look: Look) -> tuple[int, Standing]:
    """Admit a look and write it down: its event, and which of the developer's it is."""
    reuse = opened.policy.reuse
    place = 0

    def facts(events: list[audit.Event]) -> dict[str, audit.Fact]:
        nonlocal place
        refuse_retired(events, "evaluate")
        place = admit(look, events, reuse)
        entries = () if order.entry is None else (order.entry,)
        refuse_any(alias_problems(entries, opened.policy, events))
        named = {**alias_facts(order), "algorithm": order.marks.stem}
        return {**look_facts(look), **named, "of": reuse.looks_per_developer}

    try:
        event = opened.record("look", facts, order.at)
    except SpentError as error:
        opened.record("refused", {**look_facts(look), "reason": short(error)}, order.at)
        raise
    known = before(look, opened.events)
    answers = answers_of(reuse, look.developer, known)
    return event.number, Standing(place, reuse.looks_per_developer, answers)


def look_facts(look: Look) -> dict[str, audit.Fact]:
    """What the log says of every event of a look."""
    return {
        "developer": look.developer,
        "submission": look.submission,
        "protocol": look.protocol,
        "plan": look.plan or None,
    }


def alias_facts(order: LookOrder) -> dict[str, audit.Fact]:
    """The alias of an algorithm, where a roster gives one."""
    return {} if order.entry is None else {"alias": order.entry.alias}


def short(error: BaseException) -> str:
    """The first line of an error, as the log keeps it."""
    return str(error).partition("\n")[0][:300]
