"""A roster with similar aliases or developers is refused: they could be confused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.sealed import POLICY
from nodulebench.core.errors import InputError
from nodulebench.custody.developers import similar_names
from nodulebench.custody.events import Event, Step
from nodulebench.custody.policy import RosterPolicy, parse_policy
from nodulebench.custody.roster import (
    Entry,
    alias_owners,
    alias_problems,
    chosen_entries,
    read_roster,
)


def roster(folder: Path, *rows: str) -> Path:
    path = folder / "roster.csv"
    path.write_text("\n".join(["file,developer,alias", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("A1", "\u04101"),  # Cyrillic A
        ("A1", "\u03911"),  # Greek Alpha
        ("A1", "Al"),
        ("A10", "A1O"),
        ("Team C", "Team \u0421"),
        ("OXO", "\u041e\u0425\u041e"),
    ],
)
def test_aliases_that_are_similar_are_reported(tmp_path: Path, first: str, other: str) -> None:
    path = roster(tmp_path, f"first.csv,Alpha Ltd,{first}", f"two.csv,Beta Ltd,{other}")
    with pytest.raises(InputError, match=f"roster.csv: aliases '{first}' and '{other}' look alike"):
        read_roster(path)


def test_developers_that_are_similar_are_reported(tmp_path: Path) -> None:
    path = roster(tmp_path, "first.csv,ACME,A1", "two.csv,\u0410\u0421\u041c\u0415,A2")
    with pytest.raises(InputError, match=r"developers 'ACME' and '.{4}' look alike"):
        read_roster(path)


def test_one_developer_may_be_in_several_lines(tmp_path: Path) -> None:
    path = roster(tmp_path, "first.csv,Acme Ltd,A1", "two.csv,ACME  ltd,A2")
    assert [entry.alias for entry in read_roster(path)] == ["A1", "A2"]


def test_usual_aliases_are_not_similar() -> None:
    letters = [chr(ord("A") + place) for place in range(26) if place not in (8, 11)]  # I and L
    assert similar_names(f"{letter}{number}" for letter in letters for number in range(1, 31)) == []
    assert similar_names(["one", "two", "ONE"]) == []
    assert similar_names(["I1", "x", "L1", "l1"]) == [("I1", "L1"), ("I1", "l1")]


def test_an_alias_similar_to_its_developer_gives_it_away(tmp_path: Path) -> None:
    path = roster(tmp_path, "first.csv,Acme,\u0410\u0421\u041c\u0415 2")
    with pytest.raises(InputError, match="reveals its developer"):
        read_roster(path)


def test_a_roster_that_lists_no_algorithm_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_roster(roster(tmp_path))
    assert str(error.value) == "roster.csv: lists no algorithm."
    with pytest.raises(InputError) as error:
        read_roster(roster(tmp_path, "first.csv,,A1", "two.csv,Acme,"))
    assert str(error.value) == (
        "roster.csv line 2: has no developer.\nroster.csv line 3: has no alias."
    )


def test_one_letter_reveals_no_one_and_two_do(tmp_path: Path) -> None:
    assert len(read_roster(roster(tmp_path, "first.csv,A,A1"))) == 1
    with pytest.raises(InputError, match=r"alias 'AB1' reveals its developer \('ab'\)"):
        read_roster(roster(tmp_path, "first.csv,AB,AB1"))


def test_the_developer_is_named_before_the_algorithm(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("file,developer,alias,name\nfirst.csv,Acme,AcmeLung,Lung\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"reveals its developer \('acme'\)"):
        read_roster(path)


def log_event(number: int, step: Step, developer: str, alias: object) -> Event:
    return Event(
        number=number,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        person="Bo",
        role="operator",
        step=step,
        facts={"developer": developer, "alias": alias},  # type: ignore[dict-item]
        previous="",
    )


LOG = (
    log_event(1, "failed", "Zoe", "A0"),
    log_event(2, "evaluation_charged", "Acme", "A1"),
    log_event(3, "evaluation_charged", "Beta", "a1"),
    log_event(4, "evaluation_charged", "Beta", None),
    log_event(5, "evaluation_charged", "Beta", "B2"),
)


def test_an_alias_is_that_of_the_developer_who_had_it_first() -> None:
    assert alias_owners(LOG) == {"a1": "acme", "b2": "beta"}


def problems(alias: str, developer: str, *allowed: str) -> list[str]:
    policy = parse_policy(POLICY, "policy.toml")
    policy = policy.model_copy(update={"roster": RosterPolicy(aliases=allowed)})
    entries = [Entry(Path("a.csv"), developer, alias)]
    return [str(problem) for problem in alias_problems(entries, policy, LOG)]


def test_aliases_of_others_and_similar_ones_are_refused() -> None:
    assert problems("A1", "ACME") == []
    assert problems("C3", "Beta") == []
    assert problems("a1", "Beta") == [
        "alias 'a1': was another developer's algorithm in this set. Give another alias."
    ]
    assert problems("AI", "Acme") == [
        "alias 'AI': looks like 'a1', which this set has used. Give another alias."
    ]
    assert problems("C3", "Beta", "A1", "B2") == [
        "alias 'C3': is not in the policy. The policy names: A1, B2."
    ]
    assert problems("B2", "Beta", "A1", "B2") == []


def test_entries_are_chosen_by_their_files(tmp_path: Path) -> None:
    entries = read_roster(roster(tmp_path, "first.csv,Acme,A1", "two.csv,Beta,B2"))
    assert chosen_entries(entries, []) == entries
    assert chosen_entries(entries, [tmp_path / "two.csv"]) == entries[1:]
    with pytest.raises(InputError, match=r"three\.csv: is not in the roster\."):
        chosen_entries(entries, [tmp_path / "three.csv"])


def test_plain_letters_and_digits_are_not_taken_for_each_other(tmp_path: Path) -> None:
    assert len(read_roster(roster(tmp_path, "first.csv,Al,A1"))) == 1


def test_every_line_is_looked_at(tmp_path: Path) -> None:
    rows = ("first.csv,Acme,A1", "two.csv,Beta,B/2", "three.csv,Gamma,7", "four.csv,Gamma,A1")
    with pytest.raises(InputError) as error:
        read_roster(roster(tmp_path, *rows))
    assert [line.partition(": ")[0] for line in str(error.value).splitlines()] == [
        "roster.csv line 3",
        "roster.csv line 4",
        "roster.csv",
    ]
    assert "alias 'a1' is in several lines" in str(error.value)


def test_a_row_without_a_file_is_reported_in_words_of_a_roster(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_roster(roster(tmp_path, "first.csv,Acme,A1", ",Beta,B2"))
    assert str(error.value) == "roster.csv line 3: file is empty. Fill it in for every row."


def test_what_is_repeated_is_reported_and_once_is_not(tmp_path: Path) -> None:
    rows = ("first.csv,Acme,A1", "two.csv,Acme,a1", "two.csv,Acme,A2", "three.csv,Acme,A3")
    with pytest.raises(InputError) as error:
        read_roster(roster(tmp_path, *rows))
    assert str(error.value) == (
        "roster.csv: alias 'a1' is in several lines.\n"
        f"roster.csv: file '{(tmp_path / 'two.csv').resolve()}' is in several lines."
    )
