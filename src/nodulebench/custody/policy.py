"""policy.toml -> CustodyPolicy: who has which role, how often a set may be used, what is told."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from nodulebench.core.config_model import Written, parse_written
from nodulebench.core.errors import InputError
from nodulebench.core.plans import Digest
from nodulebench.core.protocols import NAMES
from nodulebench.custody.roles import APART, Action, Role, role_for, roles_that_may
from nodulebench.security.keys import parse_public_key

FeedbackLevel = Literal["verdict", "rounded", "figures", "cases"]
FEEDBACK: dict[FeedbackLevel, str] = {
    "verdict": "passed, failed or undecided under the frozen plan, nothing else",
    "rounded": "the figures that the policy names, rounded",
    "figures": "every aggregated figure of the developer's report",
    "cases": "everything, the reference standard and case-level results included",
}

ProtocolName = Annotated[
    str, StringConstraints(pattern=rf"^(sha256:[0-9a-f]{{64}}|{'|'.join(NAMES)})$")
]
"""A published protocol by its name, or any by its digest."""
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]


def _key_line(text: str) -> str:
    return parse_public_key(text).line if text else ""


class Person(Written):
    """Somebody who works with the test set."""

    name: Name
    """Who it is, as ``--as`` names them."""
    roles: tuple[Role, ...] = Field(min_length=1)
    """What they may do; some roles exclude each other."""
    key: Annotated[str, AfterValidator(_key_line)] = ""
    """Public OpenSSH Ed25519 key, as it stands in a ``.pub`` file, without its comment."""


class Reuse(Written):
    """How often the set may be used, and what a use tells."""

    looks_per_developer: Annotated[int, Field(ge=1)] = 1
    """Submissions that one developer may have scored, whatever the algorithms are called."""
    looks_in_all: Annotated[int, Field(ge=1)] | None = None
    """Submissions of all developers together, after which the set is to be retired."""
    feedback: FeedbackLevel = "verdict"
    """How much a developer is told."""
    figures: tuple[str, ...] = ()
    """For ``rounded``: what is told, written ``rule.figure`` or ``rule.figure@point``."""
    step: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """For ``rounded``: figures are multiples of it."""
    plans: tuple[Digest, ...] = ()
    """Frozen plans that may be used, by their digests; empty: any, each of them a further look."""
    protocols: tuple[ProtocolName, ...] = ()
    """Protocols that may be used without such a plan: names of published ones, or digests. Empty:
    any, each a further look; where plans are named, none. At the level ``figures`` own protocols
    have to be named here."""
    developers: tuple[Name, ...] = ()
    """Whose algorithms may be scored; empty: anybody's."""
    minimum_stratum: Annotated[int, Field(ge=1)] = 10
    """The fewest nodules of which anything is told or judged, whatever a protocol or plan says."""

    @model_validator(mode="after")
    def _figures_go_with_rounding(self) -> Self:
        if (self.feedback == "rounded") != bool(self.figures):
            raise ValueError("feedback 'rounded' needs figures, and only it has them")
        return self


class RosterPolicy(Written):
    """Under which names algorithms stand in what goes out, and who sees whose."""

    aliases: tuple[Name, ...] = ()
    """The aliases that a roster may give; empty: any."""
    shows_others: bool = False
    """Whether a developer's report shows the other algorithms too, under their aliases."""


class CustodyPolicy(Written):
    """The rules under which a test set is kept; they are signed with it."""

    keeper: Name
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
        return any(one.key for one in self.people)

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
    return parse_written(CustodyPolicy, text, source)


def _repeated(people: tuple[Person, ...]) -> Iterator[str]:
    names = [one.name for one in people]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"'{name}' is listed more than once"


def _wrong_keys(people: tuple[Person, ...]) -> Iterator[str]:
    keys = [one.key for one in people if one.key]
    for one in people:
        if one.key and keys.count(one.key) > 1:
            yield f"the key of '{one.name}' is somebody else's too"
    if keys and not any(one.key and "keeper" in one.roles for one in people):
        yield (
            "people have keys, but no keeper has one: a lost key could never be replaced; add "
            "somebody with the role keeper, whose key lies in a safe"
        )


def _telling(policy: CustodyPolicy) -> Iterator[str]:
    if policy.roster.shows_others and policy.reuse.feedback not in ("figures", "cases"):
        yield "roster.shows_others needs feedback 'figures' or 'cases': less shows no figures"


def _mixed(people: tuple[Person, ...]) -> Iterator[str]:
    for one in people:
        for first, second, why in APART:
            if first in one.roles and second in one.roles:
                yield f"'{one.name}' cannot be {first} and {second}: {why}"
