import hashlib
from collections import Counter

import pytest

from builders.annotation import two_teams
from nodulebench.annotation.people import (
    Person,
    Roster,
    Team,
    check_roster,
    is_eligible,
    new_seed,
    random_reviewer,
    random_teams,
)
from nodulebench.core.errors import InputError


@pytest.mark.parametrize(
    ("title", "years", "role", "may"),
    [
        ("resident", 5, "junior", False),
        ("resident", 5.5, "junior", True),
        ("scientist", 20, "junior", False),
        ("deputy_chief", 10, "leader", False),
        ("deputy_chief", 11, "leader", True),
        ("attending", 20, "leader", False),
        ("deputy_chief", 15, "arbitrator", False),
        ("chief", 16, "arbitrator", True),
        ("scientist", 0, "scientist", True),
    ],
)
def test_years_must_be_exceeded_and_the_title_reached(title, years, role, may) -> None:
    person = Person(person_id="p", title=title, years_reading=years)
    assert is_eligible(person, role) is may


def test_all_problems_of_a_roster_are_reported_together() -> None:
    roster = Roster(
        people=(
            Person(person_id="a", years_reading=2, roles=("junior",)),
            Person(person_id="b", roles=("candidate",)),
            Person(person_id="b"),
            Person(person_id="program"),
        ),
        teams=(Team(team_id="t", reader_ids=("a", "b", "x")),),
    )
    with pytest.raises(InputError) as caught:
        check_roster(roster)
    assert str(caught.value).splitlines() == [
        "person 'b': is listed more than once. List each once.",
        "person 'program': has the name of the program itself.",
        "person 'a': is resident with 2 years of reading and cannot be junior. "
        "A junior is resident or above with more than 5 years.",
        "team 't': person 'b' does not have the role junior or leader or arbitrator or panel.",
        "team 't': person 'x' is not known.",
    ]


def test_a_reader_belongs_to_one_team() -> None:
    roster = two_teams()
    twice = roster.model_copy(
        update={"teams": (*roster.teams, Team(team_id="three", reader_ids=("r1", "r4", "lead1")))}
    )
    with pytest.raises(InputError, match=r"reader of teams 'r1': is listed more than once"):
        check_roster(twice)


def test_twenty_four_readers_form_eight_teams_of_three() -> None:
    readers = [f"r{number:02}" for number in range(24)]
    teams = random_teams(readers, [f"l{number}" for number in range(8)], seed=3)
    assert len(teams) == 8
    assert Counter(name for team in teams for name in team.reader_ids) == Counter(readers)
    assert len({team.leader_id for team in teams}) == 8
    assert teams == random_teams(readers[::-1], [f"l{number}" for number in range(8)], seed=3)
    assert teams != random_teams(readers, [f"l{number}" for number in range(8)], seed=4)


def test_grouping_is_random_over_seeds() -> None:
    together = Counter(
        frozenset(("a", "b")) <= set(team.reader_ids)
        for seed in range(400)
        for team in random_teams("abcdef", seed=seed)
    )
    # 'b' is one of the two others of 'a' among five: chance 2/5 per draw
    assert together[True] / 400 == pytest.approx(0.4, abs=0.1)


def test_readers_that_do_not_divide_are_refused() -> None:
    with pytest.raises(InputError, match=r"4 readers cannot form teams of 3. Add 2 or leave out 1"):
        random_teams("abcd")
    with pytest.raises(InputError, match="2 teams need as many leaders; there are 1"):
        random_teams("abcdef", ["x"])


def test_the_reviewer_never_belongs_to_the_team() -> None:
    teams = two_teams().teams
    assert {random_reviewer(teams, "one", "b1", [new_seed()]) for _ in range(20)} == {"lead2"}
    own = (teams[0], teams[1].model_copy(update={"leader_id": "r1"}))
    with pytest.raises(InputError, match="no other team has a leader who could review it"):
        random_reviewer(own, "one", "b1", [new_seed()])


THREE = (*two_teams().teams, Team(team_id="three", reader_ids=("x", "y", "z"), leader_id="l3"))


def test_everybody_can_draw_the_reviewer_again_from_the_seeds_in_the_log() -> None:
    seeds = ["0" * 64, "1" * 64]
    drawn = {name: random_reviewer(THREE, "one", name, seeds) for name in ("b1", "b2", "b3", "b4")}
    for name, reviewer in drawn.items():
        number = int(hashlib.sha256(f"{name} {seeds[0]} {seeds[1]}".encode()).hexdigest(), 16)
        assert reviewer == ["l3", "lead2"][number % 2]
    assert set(drawn.values()) == {"l3", "lead2"}


@pytest.mark.parametrize("mine", [0, 1, 2, 3])
def test_no_one_can_choose_the_reviewer(mine: int) -> None:
    """For any seed of one of four people, the others' seeds draw either with equal odds."""
    drawn = []
    for _ in range(2000):
        seeds = [new_seed() for _ in range(4)]
        seeds[mine] = "0" * 64
        drawn.append(random_reviewer(THREE, "one", "b1", seeds))
    assert 880 < drawn.count("l3") < 1120  # 1000 +- 5.4 standard deviations
