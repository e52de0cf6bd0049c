"""Count the evaluations of each developer in the audit log and enforce the evaluation budget.

An evaluation is a submission scored under a protocol and, optionally, a plan. The same evaluation
gives the same answer again, so repeating it is free; an interrupted one is repeated this way. An
evaluation is charged when it is admitted, whether or not it is completed.

A submission that cannot be read is not charged, because that discloses nothing about the set. A
failure because of the set's content (other cases, too few nodules) is an answer. The first is free,
since a developer may have confused two sets; further failures are charged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from nodulebench.core.documents.records import Verdict
from nodulebench.core.errors import InputError
from nodulebench.custody.adaptive_reuse import Answers
from nodulebench.custody.developers import Names, same_developer
from nodulebench.custody.events import Event
from nodulebench.custody.policy import Reuse
from nodulebench.security.events import Fact

VERDICTS = len(get_args(Verdict))
"""Different verdicts that an evaluation under a plan can give; each is an answer."""


class SpentError(InputError):
    """The evaluation budget is spent."""


@dataclass(frozen=True, slots=True)
class ChargedEvaluation:
    """What identifies an evaluation on a sealed set."""

    developer: str
    submission: str
    """Digest of the submission as received."""
    protocol: str
    plan: str = ""
    """Digest of the plan; empty: no plan."""


@dataclass(frozen=True, slots=True)
class Use:
    """How much of the evaluation budget a developer has used."""

    developer: str
    evaluations: tuple[ChargedEvaluation, ...]
    allowed: int

    @property
    def left(self) -> int:
        return max(0, self.allowed - len(self.evaluations))


def names_in(events: Sequence[Event]) -> Names:
    named = (event.facts.get("developer") for event in events)
    return Names(str(name) for name in named if name)


def evaluation_of(facts: Mapping[str, Fact], names: Names | None = None) -> ChargedEvaluation:
    """Return the evaluation of an event; with ``names``, under its developer's first name."""
    name = str(facts.get("developer"))
    return ChargedEvaluation(
        same_developer(name) if names is None else names.first(name),
        str(facts.get("submission")),
        str(facts.get("protocol")),
        str(facts.get("plan") or ""),
    )


def evaluations_of(events: Sequence[Event]) -> tuple[ChargedEvaluation, ...]:
    """Return all charged evaluations, each once, in the order of admission.

    An evaluation that was answered stays charged, even if a later event says that it failed.
    """
    charged: dict[ChargedEvaluation, int] = {}
    answered: set[ChargedEvaluation] = set()
    names = names_in(events)
    for event in events:
        facts = event.facts
        if event.step not in ("evaluation_charged", "evaluated", "failed"):
            continue
        evaluation = evaluation_of(facts, names)
        if event.step == "evaluation_charged":
            charged.setdefault(evaluation, event.number)
        elif event.step == "evaluated":
            answered.add(evaluation)
        elif evaluation in charged and evaluation not in answered and not facts.get("counts"):
            charged = {
                other: at
                for other, at in charged.items()
                if (other, at) != (evaluation, facts.get("evaluation"))
            }
    return tuple(charged)


def uses(events: Sequence[Event], reuse: Reuse) -> tuple[Use, ...]:
    evaluations = evaluations_of(events)
    developers = dict.fromkeys(evaluation.developer for evaluation in evaluations)
    return tuple(
        Use(
            name,
            tuple(evaluation for evaluation in evaluations if evaluation.developer == name),
            reuse.evaluations_per_developer,
        )
        for name in developers
    )


def admit(evaluation: ChargedEvaluation, events: Sequence[Event], reuse: Reuse) -> int:
    """Return the number of this evaluation of its developer; SpentError if a budget is spent."""
    evaluations = evaluations_of(events)
    evaluation = replace(evaluation, developer=names_in(events).first(evaluation.developer))
    own = [charged for charged in evaluations if charged.developer == evaluation.developer]
    if evaluation in own:
        return own.index(evaluation) + 1
    if len(own) >= reuse.evaluations_per_developer:
        raise SpentError.at(
            f"developer '{evaluation.developer}'",
            f"has used {len(own)} of {reuse.evaluations_per_developer} evaluations on this test "
            "set.",
            "Use another test set; the policy was signed with this one and cannot change.",
        )
    if reuse.evaluations_in_total is not None and len(evaluations) >= reuse.evaluations_in_total:
        what = f"has been evaluated {len(evaluations)} times, which is all its policy allows."
        raise SpentError.at("test set", what, "Retire it and make a new one.")
    return len(own) + 1


def before(evaluation: ChargedEvaluation, events: Sequence[Event]) -> Sequence[Event]:
    names = names_in(events)
    evaluation = replace(evaluation, developer=names.first(evaluation.developer))
    for number, event in enumerate(events):
        if event.step == "evaluation_charged" and evaluation_of(event.facts, names) == evaluation:
            return events[:number]
    return events


def has_passed(developer: str, events: Sequence[Event]) -> bool:
    names = names_in(events)
    name = names.first(developer)
    return any(
        event.step == "evaluated"
        and event.facts.get("verdict") == "passed"
        and names.first(str(event.facts.get("developer"))) == name
        for event in events
    )


def had_verdict(developer: str, events: Sequence[Event]) -> bool:
    """Whether this developer was evaluated under a plan, so that a verdict was disclosed."""
    name = names_in(events).first(developer)
    return any(
        evaluation.plan for evaluation in evaluations_of(events) if evaluation.developer == name
    )


def failures_of(developer: str, events: Sequence[Event]) -> tuple[int, int]:
    """Return how many evaluations failed because of the set's content: free, and charged."""
    names = names_in(events)
    name = names.first(developer)
    failed = [event.facts for event in events if event.step == "failed"]
    failures = {
        (evaluation, bool(facts["counts"]))
        for facts in failed
        if facts.get("counts") is not None
        if (evaluation := evaluation_of(facts, names)).developer == name
    }
    counted = sum(counts for _, counts in failures)
    return len(failures) - counted, counted


def answers_of(reuse: Reuse, developer: str = "", events: Sequence[Event] = ()) -> Answers:
    """Return how much each evaluation of a developer discloses under a policy.

    ``events`` is the log before. A developer who passed and continues no longer stops when passed.
    A verdict in addition to rounded metrics, and a charged failure, are further answers.
    """
    free, counted = failures_of(developer, events)
    more, has_failed = int(counted > 0), free > 0
    if reuse.feedback == "verdict":
        stops = not (more or has_passed(developer, events))
        return Answers(VERDICTS + more, stops_when_passed=stops, has_failed=has_failed)
    if reuse.feedback == "rounded":
        # every multiple from 0 to 1, undefined, and outside; for a value and for its bound
        values = int(1 / reuse.step + 0.5) + 3
        verdicts = VERDICTS if had_verdict(developer, events) else 1
        count = values ** (2 * len(reuse.metrics)) * verdicts + more
        return Answers(count, has_failed=has_failed)
    return Answers(None, has_failed=has_failed)
