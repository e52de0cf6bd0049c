"""Readers and leaders -> teams drawn at random; a batch -> the leader of another team."""

import hashlib
import secrets
from collections.abc import Iterable, Sequence

import numpy as np

from nodulebench.annotation.people import Team
from nodulebench.core.errors import InputError


def random_teams(
    reader_ids: Iterable[str], leader_ids: Iterable[str] = (), *, size: int = 3, seed: int = 0
) -> tuple[Team, ...]:
    """Draw teams of equal size; the same people and seed give the same teams in any order.

    Args:
        reader_ids: everyone who reads.
        leader_ids: those who can lead; none, or at least one per team.
        size: readers in a team.
        seed: of the draw.

    Raises:
        InputError: if the readers cannot be divided evenly, or leaders are too few.
    """
    readers, leaders = sorted(set(reader_ids)), sorted(set(leader_ids))
    if not readers or len(readers) % size:
        raise InputError.at(
            "teams",
            f"{len(readers)} readers cannot form teams of {size}.",
            f"Add {size - len(readers) % size} or leave out {len(readers) % size}.",
        )
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
    """The leader of another team who shall review a team's batch, as several seeds draw.

    The office and every reader add a seed of the system's randomness, each in an event of their
    own, and everybody can draw again as it was done. The office's is promised first and told when
    all have read, so that nobody can choose alone: who reads does not know it, and it cannot be
    another any more. If it were known at once, the last reader could try seeds.

    Args:
        teams: all teams.
        team_id: the team that reads.
        batch_id: the batch.
        seeds: of the office and the readers, in the order of the log.

    Raises:
        InputError: if no other team has a leader outside this team.
    """
    others = possible_reviewers(teams, team_id)
    drawn = hashlib.sha256(" ".join((batch_id, *seeds)).encode()).digest()
    return others[int.from_bytes(drawn) % len(others)]


def possible_reviewers(teams: Sequence[Team], team_id: str) -> list[str]:
    """The leaders of other teams who can review a team's batches, by name.

    Raises:
        InputError: if no other team has a leader outside this team.
    """
    own = frozenset[str]().union(*(team.member_ids for team in teams if team.team_id == team_id))
    others = sorted(
        team.leader_id
        for team in teams
        if team.team_id != team_id and team.leader_id is not None and team.leader_id not in own
    )
    if not others:
        raise InputError.at(
            f"team '{team_id}'",
            "no other team has a leader who could review it.",
            "Form a second team with a leader of its own.",
        )
    return others


def promise_of(seed: str) -> str:
    """What is told of a seed before the seed itself."""
    return hashlib.sha256(seed.encode()).hexdigest()


def new_seed() -> str:
    """256 bits of the system's randomness."""
    return secrets.token_hex(32)
