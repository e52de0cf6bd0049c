"""A roster whose aliases or developers look alike is told: nobody could tell them apart."""

from pathlib import Path

import pytest

from nodulebench.custody.developers import look_alikes
from nodulebench.custody.roster import read_roster
from nodulebench.errors import InputError


def roster(folder: Path, *rows: str) -> Path:
    path = folder / "roster.csv"
    path.write_text("\n".join(["file,developer,alias", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A1", "\u04101"),  # Cyrillic A
        ("A1", "\u03911"),  # Greek Alpha
        ("A1", "Al"),
        ("A10", "A1O"),
        ("Team C", "Team \u0421"),
        ("OXO", "\u041e\u0425\u041e"),
    ],
)
def test_aliases_that_look_alike_are_told(tmp_path: Path, one: str, other: str) -> None:
    path = roster(tmp_path, f"one.csv,Alpha Ltd,{one}", f"two.csv,Beta Ltd,{other}")
    with pytest.raises(InputError, match=f"roster.csv: aliases '{one}' and '{other}' look alike"):
        read_roster(path)


def test_developers_that_look_alike_are_told(tmp_path: Path) -> None:
    path = roster(tmp_path, "one.csv,ACME,A1", "two.csv,\u0410\u0421\u041c\u0415,A2")
    with pytest.raises(InputError, match=r"developers 'ACME' and '.{4}' look alike"):
        read_roster(path)


def test_one_developer_may_stand_in_several_lines(tmp_path: Path) -> None:
    path = roster(tmp_path, "one.csv,Acme Ltd,A1", "two.csv,ACME  ltd,A2")
    assert [one.alias for one in read_roster(path)] == ["A1", "A2"]


def test_usual_aliases_do_not_look_alike() -> None:
    letters = [chr(ord("A") + place) for place in range(26) if place not in (8, 11)]  # I and L
    assert look_alikes(f"{letter}{number}" for letter in letters for number in range(1, 31)) == []
    assert look_alikes(["one", "two", "ONE"]) == []
    assert look_alikes(["I1", "x", "L1", "l1"]) == [("I1", "L1"), ("I1", "l1")]


def test_an_alias_that_looks_like_its_developer_gives_it_away(tmp_path: Path) -> None:
    path = roster(tmp_path, "one.csv,Acme,\u0410\u0421\u041c\u0415 2")
    with pytest.raises(InputError, match="gives its developer away"):
        read_roster(path)
