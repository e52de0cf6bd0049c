"""policy.toml -> CustodyPolicy: who has which role, how often a set may be used, what is told."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from nodulebench.core.config_model import ConfigModel, parse_config
from nodulebench.core.errors import InputError
from nodulebench.core.plans import Digest
from nodulebench.core.protocols import NAMES
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
    "results": "what is kept of evaluations",
}
"""Parts of a sealed set that have a key each."""

ROLES: tuple[Role, ...] = get_args(Role)
ACTIONS: dict[Action, str] = {
    "collect": "add images and their origin, before the set is sealed",
    "curate": "admit, exclude and describe cases, before the set is sealed",
    "read": "see images and draw findings, before the set is sealed",
    "seal": "seal the set: from then on the reference is encrypted",
    "run": "let an algorithm read the images, apart from everything else; nothing is scored",
    "evaluate": "score a submission; the policy says what feedback it gets",
    "export": "take the reference out of the sealed set in plain form",
    "inspect": "open the kept results of evaluations, and read the log",
    "manage": "admit people, replace lost keys and revoke keys",
    "retire": "end the use of the set",
    "withdraw": "take a patient out of the set",
    "report": "compare algorithms and make reports from kept results",
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
"""Who runs tests cannot take the reference out, and who checks them can do neither."""

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
"""What has to be opened to do something; who may do it gets the keys of it, and no others."""

APART: tuple[tuple[Role, Role, str], ...] = (
    ("operator", "auditor", "nobody checks their own work"),
    ("curator", "auditor", "nobody checks their own work"),
    ("operator", "curator", "who runs tests must not be able to take the reference out"),
    ("operator", "reader", "who drew the reference must not run the tests on it"),
    ("key_custodian", "operator", "the key custodian's key opens everything and belongs in a safe"),
    ("key_custodian", "curator", "the key custodian's key opens everything and belongs in a safe"),
    ("operator", "reporter", "who runs tests must not see more than developers are told"),
    ("auditor", "reporter", "nobody checks their own work"),
    ("key_custodian", "reporter", "the key custodian's key opens everything and belongs in a safe"),
    ("key_custodian", "auditor", "the key custodian's key opens everything and belongs in a safe"),
)
"""Two roles that nobody may have together, and why."""


def role_for(roles: tuple[Role, ...], action: Action) -> Role | None:
    """The role by which a person may do something; None: none of theirs allows it."""
    return next((role for role in roles if action in MAY[role]), None)


def compartments_of(roles: Iterable[Role]) -> tuple[Compartment, ...]:
    """The rooms whose keys somebody with these roles gets."""
    needed = {room for role in roles for action in MAY[role] for room in NEEDS.get(action, ())}
    return tuple(room for room in COMPARTMENTS if room in needed)


def roles_that_may(action: Action) -> tuple[Role, ...]:
    """Every role that allows an action."""
    return tuple(role for role in ROLES if action in MAY[role])


FeedbackLevel = Literal["verdict", "rounded", "metrics", "cases"]
FEEDBACK: dict[FeedbackLevel, str] = {
    "verdict": "passed, failed or undecided under the frozen plan, nothing else",
    "rounded": "the metrics that the policy names, rounded",
    "metrics": "every aggregated metric of the developer's report",
    "cases": "everything, the reference standard and case-level results included",
}

ProtocolName = Annotated[
    str, StringConstraints(pattern=rf"^(sha256:[0-9a-f]{{64}}|{'|'.join(NAMES)})$")
]
"""A published protocol by its name, or any by its digest."""
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]


def _key_line(text: str) -> str:
    return parse_public_key(text).line if text else ""


class Person(ConfigModel):
    """Somebody who works with the test set."""

    name: Name
    """Who it is, as ``--as`` names them."""
    roles: tuple[Role, ...] = Field(min_length=1)
    """What they may do; some roles exclude each other."""
    key: Annotated[str, AfterValidator(_key_line)] = ""
    """Public OpenSSH Ed25519 key, as it stands in a ``.pub`` file, without its comment."""


class Reuse(ConfigModel):
    """How often the set may be used, and what a use tells."""

    evaluations_per_developer: Annotated[int, Field(ge=1)] = 1
    """Submissions that one developer may have scored, whatever the algorithms are called."""
    evaluations_in_total: Annotated[int, Field(ge=1)] | None = None
    """Submissions of all developers together, after which the set is to be retired."""
    feedback: FeedbackLevel = "verdict"
    """How much a developer is told."""
    metrics: tuple[str, ...] = ()
    """For ``rounded``: what is told, written ``rule.metric`` or ``rule.metric@point``."""
    step: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """For ``rounded``: metrics are multiples of it."""
    plans: tuple[Digest, ...] = ()
    """Frozen plans that may be used, by their digests; empty: any, each of them a further look."""
    protocols: tuple[ProtocolName, ...] = ()
    """Protocols that may be used without such a plan: names of published ones, or digests. Empty:
    any, each a further look; where plans are named, none. At the level ``metrics`` own protocols
    have to be named here."""
    developers: tuple[Name, ...] = ()
    """Whose algorithms may be scored; empty: anybody's."""
    minimum_stratum: Annotated[int, Field(ge=1)] = 10
    """The fewest nodules of which anything is told or judged, whatever a protocol or plan says."""

    @model_validator(mode="after")
    def _metrics_go_with_rounding(self) -> Self:
        if (self.feedback == "rounded") != bool(self.metrics):
            raise ValueError("feedback 'rounded' needs metrics, and only it has them")
        return self


class RosterPolicy(ConfigModel):
    """Under which names algorithms stand in what goes out, and who sees whose."""

    aliases: tuple[Name, ...] = ()
    """The aliases that a roster may give; empty: any."""
    shows_others: bool = False
    """Whether a developer's report shows the other algorithms too, under their aliases."""


class CustodyPolicy(ConfigModel):
    """The rules under which a test set is kept; they are signed with it."""

    key_custodian: Name
    """Who answers for the test set."""
    people: tuple[Person, ...] = Field(min_length=1)
    """Everybody who works with it."""
    reuse: Reuse = Reuse()
    """How often it may be used, what may be asked, and what is told."""
    roster: RosterPolicy = RosterPolicy()
    """Names of algorithms in what goes out."""
    notes: str = ""
    """Anything else that readers of the policy should know."""

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

    @property
    def has_keys(self) -> bool:
        """Whether people have keys of their own, so that nobody can pass for somebody else."""
        return any(person.key for person in self.people)

    def role_of(self, person: str, action: Action) -> Role:
        """The role by which a person may do something.

        Raises:
            InputError: if the person is unknown, or has no role that allows it.
        """
        known = {one.name: one.roles for one in self.people}
        if person not in known:
            raise InputError.at(
                "policy", f"does not know '{person}'.", f"It knows: {', '.join(sorted(known))}."
            )
        role = role_for(known[person], action)
        if role is None:
            has = " and ".join(known[person])
            raise InputError.at(
                "policy",
                f"'{person}' is {has}, and may not {action}.",
                f"That is for: {', '.join(roles_that_may(action))}.",
            )
        return role


def parse_policy(text: str, source: str) -> CustodyPolicy:
    """The policy that a TOML text describes.

    Raises:
        InputError: with one problem per wrong field.
    """
    return parse_config(CustodyPolicy, text, source)


def _repeated(people: tuple[Person, ...]) -> Iterator[str]:
    names = [person.name for person in people]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"'{name}' is listed more than once"


def _wrong_keys(people: tuple[Person, ...]) -> Iterator[str]:
    keys = [person.key for person in people if person.key]
    for person in people:
        if person.key and keys.count(person.key) > 1:
            yield f"the key of '{person.name}' is somebody else's too"
    if keys and not any(person.key and "key_custodian" in person.roles for person in people):
        yield (
            "people have keys, but no key custodian has one: a lost key could never be replaced; "
            "add a person with the role key_custodian, whose key is stored in a safe"
        )


def _telling(policy: CustodyPolicy) -> Iterator[str]:
    if policy.roster.shows_others and policy.reuse.feedback not in ("metrics", "cases"):
        yield "roster.shows_others needs feedback 'metrics' or 'cases': less shows no metrics"


def _mixed(people: tuple[Person, ...]) -> Iterator[str]:
    for person in people:
        for first, second, why in APART:
            if first in person.roles and second in person.roles:
                yield f"'{person.name}' cannot be {first} and {second}: {why}"
