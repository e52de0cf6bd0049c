"""Custody policy (policy.toml): people's roles, permitted use of a set, and disclosure."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from nodulebench.core.config_model import ConfigModel, parse_config
from nodulebench.core.errors import InputError
from nodulebench.core.plans import Digest
from nodulebench.core.protocol import PROTOCOL_NAMES
from nodulebench.security.keys import parse_public_key

Role = Literal["collector", "curator", "reader", "operator", "auditor", "key_custodian", "reporter"]
Action = Literal[
    "collect",
    "curate",
    "read",
    "seal",
    "run",
    "evaluate",
    "export",
    "inspect",
    "manage",
    "retire",
    "withdraw",
    "report",
]
Compartment = Literal["reference", "archive", "images", "results"]
COMPARTMENTS: dict[Compartment, str] = {
    "reference": "the tables that scoring needs",
    "archive": "everything else of the plain set: readings, lists, provenance",
    "images": "the images, where they are encrypted",
    "results": "the stored results of evaluations",
}
"""Parts of a sealed set, each with its own key."""

ROLES: tuple[Role, ...] = get_args(Role)
ACTIONS: dict[Action, str] = {
    "collect": "add images and their origin, before the set is sealed",
    "curate": "admit, exclude and describe cases, before the set is sealed",
    "read": "see images and draw findings, before the set is sealed",
    "seal": "seal the set: from then on the reference is encrypted",
    "run": "let an isolated algorithm read the images; nothing is scored",
    "evaluate": "score a submission; the policy limits the feedback",
    "export": "take the reference out of the sealed set in plain form",
    "inspect": "open the stored results of evaluations, and read the log",
    "manage": "admit people, replace lost keys and revoke keys",
    "retire": "end the use of the set",
    "withdraw": "remove a patient from the set",
    "report": "compare algorithms and make reports from stored results",
}

MAY: dict[Role, tuple[Action, ...]] = {
    "collector": ("collect",),
    "curator": ("curate", "seal", "export", "retire", "withdraw"),
    "reader": ("read",),
    "operator": ("run", "evaluate"),
    "auditor": ("inspect",),
    "key_custodian": ("manage",),
    "reporter": ("report",),
}
"""Those who run tests cannot export the reference, and those who check them can do neither."""

NEEDS: dict[Action, tuple[Compartment, ...]] = {
    "seal": ("reference", "archive", "images"),
    "run": ("images",),
    "evaluate": ("reference", "images", "results"),
    "export": ("reference", "archive", "images"),
    "inspect": ("results",),
    "report": ("results",),
    "manage": tuple(COMPARTMENTS),
    "withdraw": ("reference", "archive", "images"),
}
"""The compartments that an action opens; a person receives only the keys that their roles need."""

APART: tuple[tuple[Role, Role, str], ...] = (
    ("operator", "auditor", "no one may check their own work"),
    ("curator", "auditor", "no one may check their own work"),
    ("operator", "curator", "a person who runs tests must not be able to export the reference"),
    ("operator", "reader", "a person who drew the reference must not run tests on it"),
    ("key_custodian", "operator", "the key custodian's key opens everything and belongs in a safe"),
    ("key_custodian", "curator", "the key custodian's key opens everything and belongs in a safe"),
    ("operator", "reporter", "a person who runs tests must not see more than developers do"),
    ("auditor", "reporter", "no one may check their own work"),
    ("key_custodian", "reporter", "the key custodian's key opens everything and belongs in a safe"),
    ("key_custodian", "auditor", "the key custodian's key opens everything and belongs in a safe"),
)
"""Pairs of roles that exclude each other, and why."""


def role_for(roles: tuple[Role, ...], action: Action) -> Role | None:
    return next((role for role in roles if action in MAY[role]), None)


def compartments_of(roles: Iterable[Role]) -> tuple[Compartment, ...]:
    needed = {
        compartment
        for role in roles
        for action in MAY[role]
        for compartment in NEEDS.get(action, ())
    }
    return tuple(compartment for compartment in COMPARTMENTS if compartment in needed)


def roles_that_may(action: Action) -> tuple[Role, ...]:
    return tuple(role for role in ROLES if action in MAY[role])


FeedbackLevel = Literal["verdict", "rounded", "metrics", "cases"]
FEEDBACK: dict[FeedbackLevel, str] = {
    "verdict": "passed, failed or undecided under the frozen plan, nothing else",
    "rounded": "the metrics that the policy names, rounded",
    "metrics": "every aggregated metric of the developer's report",
    "cases": "everything, the reference standard and case-level results included",
}

ProtocolName = Annotated[
    str, StringConstraints(pattern=rf"^(sha256:[0-9a-f]{{64}}|{'|'.join(PROTOCOL_NAMES)})$")
]
"""A published protocol by its name, or any by its digest."""
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]


def _key_line(text: str) -> str:
    return parse_public_key(text).line if text else ""


class Person(ConfigModel):
    """A person who works with the test set."""

    name: Name
    """The name that the log shows."""
    roles: tuple[Role, ...] = Field(min_length=1)
    """What they may do; some roles exclude each other."""
    key: Annotated[str, AfterValidator(_key_line)] = ""
    """Public OpenSSH Ed25519 key, as in a ``.pub`` file, without the comment; empty: no key."""


class Reuse(ConfigModel):
    """How often the set may be used, and what each use discloses."""

    evaluations_per_developer: Annotated[int, Field(ge=1)] = 1
    """Submissions that one developer may have scored, under any algorithm names."""
    evaluations_in_total: Annotated[int, Field(ge=1)] | None = None
    """Submissions of all developers together, after which the set is to be retired."""
    feedback: FeedbackLevel = "verdict"
    """What a developer receives."""
    metrics: tuple[str, ...] = ()
    """For ``rounded``: the disclosed metrics, as ``rule.metric`` or ``rule.metric@point``."""
    step: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """For ``rounded``: metrics are multiples of it."""
    plans: tuple[Digest, ...] = ()
    """Digests of permitted frozen plans; empty: any, each a separate charged evaluation."""
    protocols: tuple[ProtocolName, ...] = ()
    """Protocols permitted without such a plan: names of published ones, or digests. Empty: any,
    each a separate charged evaluation; none if plans are named. At the level ``metrics``, custom
    protocols must be named here."""
    developers: tuple[Name, ...] = ()
    """Developers whose algorithms may be scored; empty: any."""
    minimum_stratum: Annotated[int, Field(ge=1)] = 10
    """The fewest nodules for any metric or verdict, regardless of protocol and plan."""

    @model_validator(mode="after")
    def _metrics_go_with_rounding(self) -> Self:
        if (self.feedback == "rounded") != bool(self.metrics):
            raise ValueError("feedback 'rounded' needs metrics, and only it has them")
        return self


class RosterPolicy(ConfigModel):
    """Names of algorithms in reports, and whether developers see other algorithms."""

    aliases: tuple[Name, ...] = ()
    """Aliases that a roster may use; empty: any."""
    shows_others: bool = False
    """Whether a developer's report shows the other algorithms too, under their aliases."""


class CustodyPolicy(ConfigModel):
    """The rules for a sequestered test set; they are signed with it."""

    key_custodian: Name
    """The person responsible for the test set."""
    people: tuple[Person, ...] = Field(min_length=1)
    """All people who work with it."""
    reuse: Reuse = Reuse()
    """How often it may be used, permitted tests, and disclosure."""
    roster: RosterPolicy = RosterPolicy()
    """Names of algorithms in reports."""
    notes: str = ""
    """Other information for readers of the policy."""

    @model_validator(mode="after")
    def _roles_are_apart(self) -> Self:
        problems = [
            *_repeated(self.people),
            *_mixed(self.people),
            *_wrong_keys(self.people),
            *_telling(self),
        ]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def role_of(self, person: str, action: Action) -> Role:
        known = {listed.name: listed.roles for listed in self.people}
        if person not in known:
            raise InputError.at(
                "policy", f"does not know '{person}'.", f"It knows: {', '.join(sorted(known))}."
            )
        role = role_for(known[person], action)
        if role is None:
            has = " and ".join(known[person])
            remedy = f"These roles may: {', '.join(roles_that_may(action))}."
            raise InputError.at("policy", f"'{person}' is {has} and may not {action}.", remedy)
        return role


def parse_policy(text: str, source: str) -> CustodyPolicy:
    return parse_config(CustodyPolicy, text, source)


def _repeated(people: tuple[Person, ...]) -> Iterator[str]:
    names = [person.name for person in people]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"'{name}' is listed more than once"


def _wrong_keys(people: tuple[Person, ...]) -> Iterator[str]:
    keys = [person.key for person in people if person.key]
    for person in people:
        if person.key and keys.count(person.key) > 1:
            yield f"the key of '{person.name}' is also another person's"
    if not any(person.key and "key_custodian" in person.roles for person in people):
        yield (
            "no key custodian has a key: a lost key could never be replaced; add a person with the "
            "role key_custodian, whose key is stored in a safe; make keys with: nodulebench "
            "keys new"
        )


def _telling(policy: CustodyPolicy) -> Iterator[str]:
    if policy.roster.shows_others and policy.reuse.feedback not in ("metrics", "cases"):
        yield "roster.shows_others needs feedback 'metrics' or 'cases': less shows no metrics"


def _mixed(people: tuple[Person, ...]) -> Iterator[str]:
    for person in people:
        for first, second, why in APART:
            if first in person.roles and second in person.roles:
                yield f"'{person.name}' cannot be {first} and {second}: {why}"
