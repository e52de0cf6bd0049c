"""The people of a project: seniority, roles, teams, and who is eligible for a role."""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Annotated, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, Field

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.security.keys import PublicKey, parse_public_key

Known = TypeVar("Known")
Title = Literal["scientist", "resident", "attending", "deputy_chief", "chief"]
Role = Literal[
    "candidate", "junior", "leader", "arbitrator", "panel", "scientist", "organiser", "commission"
]
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.@-]+$")]


def _line(text: str) -> str:
    return parse_public_key(text).line if text else text


PublicLine = Annotated[str, AfterValidator(_line)]
"""A public key, ``ssh-ed25519 AAAA…``; empty: none."""

_RANK: dict[Title, int] = {
    "scientist": 0,
    "resident": 1,
    "attending": 2,
    "deputy_chief": 3,
    "chief": 4,
}
REQUIRED: dict[Role, tuple[Title, float]] = {
    "junior": ("resident", 5),
    "leader": ("deputy_chief", 10),
    "arbitrator": ("deputy_chief", 15),
}
"""Lowest title, and the years of reading that must be exceeded (Wang et al. 2022)."""

READING_ROLES: tuple[Role, ...] = ("junior", "leader", "arbitrator", "panel")
IDLE_ROLES: frozenset[Role] = frozenset(("candidate", "scientist"))
"""Roles that take no step in a batch."""
PROGRAM = "program"
"""The actor of steps that the program takes itself; no person has this name."""


class Training(ConfigModel):
    """A person's training to annotate."""

    on: date
    subject: str = Field(min_length=1)
    """What it was about: to annotate, to delineate, to measure the long axis."""
    by: str = ""


class Person(ConfigModel):
    """Someone who takes part in making a reference standard."""

    person_id: Name
    hospital: str = ""
    province: str = ""
    title: Title = "resident"
    years_reading: float = Field(default=0, ge=0)
    roles: tuple[Role, ...] = ("candidate",)
    trainings: tuple[Training, ...] = ()
    key: PublicLine = ""
    """The person's public key at the start; the log may change it."""


class Team(ConfigModel):
    """Readers who read the same batches without seeing each other's marks."""

    team_id: Name
    reader_ids: tuple[Name, ...]
    leader_id: Name | None = None
    """Reviews other teams' batches; may be one of the readers."""

    @property
    def member_ids(self) -> frozenset[str]:
        return frozenset((*self.reader_ids, *((self.leader_id,) if self.leader_id else ())))


class Roster(ConfigModel):
    """All people of a project, and the teams they form."""

    people: tuple[Person, ...]
    teams: tuple[Team, ...] = ()

    def person(self, person_id: str) -> Person:
        return _named({person.person_id: person for person in self.people}, "person", person_id)

    def team(self, team_id: str) -> Team:
        return _named({team.team_id: team for team in self.teams}, "team", team_id)

    @property
    def keys(self) -> dict[str, PublicKey]:
        return {
            person.person_id: parse_public_key(person.key) for person in self.people if person.key
        }

    def has_role(self, person_id: str, role: Role) -> bool:
        return role in self.person(person_id).roles


def _named(known: Mapping[str, Known], kind: str, name: str) -> Known:
    if name not in known:
        names = ", ".join(known) or "none"
        raise InputError.at(f"{kind} '{name}'", "is not known.", f"Known: {names}.")
    return known[name]


def is_eligible(person: Person, role: Role) -> bool:
    """Whether title and years of reading suffice for a role; strictly more years are needed."""
    if role not in REQUIRED:
        return True
    title, years = REQUIRED[role]
    return _RANK[person.title] >= _RANK[title] and person.years_reading > years


def check_roster(
    roster: Roster,
    *,
    requires_seniority: bool = True,
    least_years: float = 0,
    requires_training: bool = False,
) -> None:
    """Refuse a roster that contradicts itself or gives roles to people who may not have them."""
    problems = [
        *_repeats([person.person_id for person in roster.people], "person"),
        *_repeats([team.team_id for team in roster.teams], "team"),
    ]
    if any(person.person_id == PROGRAM for person in roster.people):
        problems.append(Problem(f"person '{PROGRAM}'", "has the name of the program itself."))
    if requires_seniority:
        problems += _unmet(roster.people)
    problems += _inexperienced(roster.people, least_years, requires_training)
    known = {person.person_id: person for person in roster.people}
    for team in roster.teams:
        problems += _team_problems(team, known)
    readers = [reader for team in roster.teams for reader in team.reader_ids]
    problems += _repeats(readers, "reader of teams")
    problems += _key_problems(roster)
    raise_problems(problems)


def _key_problems(roster: Roster) -> Iterator[Problem]:
    """Where some have keys, all who take steps have one, and each their own."""
    keys = roster.keys
    if not keys:
        return
    owners: dict[PublicKey, str] = {}
    for person in roster.people:
        where = f"person '{person.person_id}'"
        if person.person_id not in keys:
            if set(person.roles) - IDLE_ROLES:
                yield Problem(
                    where, "has no key, though others have.", "Give everyone who acts a key."
                )
            continue
        other = owners.setdefault(keys[person.person_id], person.person_id)
        if other != person.person_id:
            yield Problem(where, f"has the key of '{other}'.", "Give each person a separate key.")


def _repeats(names: list[str], kind: str) -> Iterator[Problem]:
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield Problem(f"{kind} '{name}'", "is listed more than once.", "List each once.")


def _unmet(people: Iterable[Person]) -> Iterator[Problem]:
    for person in people:
        for role in person.roles:
            if not is_eligible(person, role):
                title, years = REQUIRED[role]
                yield Problem(
                    f"person '{person.person_id}'",
                    f"is {person.title} with {person.years_reading:g} years of reading and cannot "
                    f"be {role}.",
                    f"A {role} is {title} or above with more than {years:g} years.",
                )


def _inexperienced(
    people: Iterable[Person], least_years: float, requires_training: bool
) -> Iterator[Problem]:
    for person in people:
        where = f"person '{person.person_id}'"
        if not set(person.roles) & set(READING_ROLES):
            continue
        if person.years_reading < least_years:
            what = f"has {person.years_reading:g} years of reading."
            yield Problem(where, what, f"The workflow asks for at least {least_years:g}.")
        if requires_training and not person.trainings:
            remedy = "Add when, about what and by whom: [[people.trainings]] on, subject, by."
            yield Problem(where, "has no training on record.", remedy)


def _team_problems(team: Team, known: dict[str, Person]) -> Iterator[Problem]:
    where = f"team '{team.team_id}'"
    wanted = [(reader, READING_ROLES) for reader in team.reader_ids]
    if team.leader_id is not None:
        wanted.append((team.leader_id, ("leader",)))
    for name, roles in wanted:
        if name not in known:
            yield Problem(where, f"person '{name}' is not known.")
        elif not set(roles) & set(known[name].roles):
            yield Problem(where, f"person '{name}' does not have the role {' or '.join(roles)}.")


def random_teams(
    reader_ids: Iterable[str], leader_ids: Iterable[str] = (), *, size: int = 3, seed: int = 0
) -> tuple[Team, ...]:
    """Draw equal teams, with no leaders or some each; people and seed decide, not their order."""
    readers, leaders = sorted(set(reader_ids)), sorted(set(leader_ids))
    if not readers or len(readers) % size:
        what = f"{len(readers)} readers cannot form teams of {size}."
        remedy = f"Add {size - len(readers) % size} or leave out {len(readers) % size}."
        raise InputError.at("teams", what, remedy)
    count = len(readers) // size
    if leaders and len(leaders) < count:
        raise InputError.at(
            "teams", f"{count} teams need as many leaders; there are {len(leaders)}."
        )
    draw = np.random.default_rng(seed)
    drawn = [readers[place] for place in draw.permutation(len(readers))]
    led = [leaders[place] for place in draw.permutation(len(leaders))]
    return tuple(
        Team(
            team_id=f"team-{number + 1}",
            reader_ids=tuple(drawn[number * size : (number + 1) * size]),
            leader_id=led[number] if led else None,
        )
        for number in range(count)
    )


def random_reviewer(
    teams: Sequence[Team], team_id: str, batch_id: str, seeds: Sequence[str]
) -> str:
    """Draw the leader of another team who reviews a team's batch, from several seeds.

    The office and every reader contribute a random seed, each in a separate event, and anyone can
    repeat the draw. The office commits to its seed first and reveals it when all have read, so that
    no one can choose the outcome: the readers do not know the seed, and the office cannot change
    it. If the seed were known at once, the last reader could try seeds of their own.
    """
    others = possible_reviewers(teams, team_id)
    drawn = hashlib.sha256(" ".join((batch_id, *seeds)).encode()).digest()
    return others[int.from_bytes(drawn) % len(others)]


def possible_reviewers(teams: Sequence[Team], team_id: str) -> list[str]:
    own = frozenset[str]().union(*(team.member_ids for team in teams if team.team_id == team_id))
    others = sorted(
        team.leader_id
        for team in teams
        if team.team_id != team_id and team.leader_id is not None and team.leader_id not in own
    )
    if not others:
        what = "no other team has a leader who could review it."
        remedy = "Form a second team with a different leader."
        raise InputError.at(f"team '{team_id}'", what, remedy)
    return others


def commitment_of(seed: str) -> str:
    return hashlib.sha256(seed.encode()).hexdigest()


def new_seed() -> str:
    return secrets.token_hex(32)
