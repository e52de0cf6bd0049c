"""No identity that the red team plants survives de-identification."""

import warnings
from collections import Counter

import pytest
from benchmarks.red_team import GONE, LEFT_OUT, SURVIVED, AttackResult, all_places, print_table, run

pytest.importorskip("openjpeg")


def test_nothing_that_was_planted_survives(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydicom tells of values that no attribute may have
        attacks = list(run(7, side=256))
    assert [attack for attack in attacks if attack.outcome == SURVIVED] == []
    assert len({(attack.group, attack.name) for attack in attacks}) == len(attacks) > 200
    count = Counter(attack.outcome for attack in attacks)
    assert count[GONE] > 150  # what can be taken out does not cost the slice
    assert count[LEFT_OUT] > 40
    print_table(attacks)
    assert (
        f"| all | {len(attacks)} | {count[GONE]} | {count[LEFT_OUT]} | 0 |"
        in capsys.readouterr().out
    )


def test_a_survivor_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(
        [AttackResult("nested", "3 items deep", SURVIVED), AttackResult("nested", "other", GONE)]
    )
    out = capsys.readouterr().out
    assert "| nested | 2 | 1 | 0 | 1 |" in out
    assert "survived: nested: 3 items deep" in out


def test_at_least_a_hundred_places_and_forty_styles() -> None:
    groups = Counter(place.group for place in all_places(64))
    assert sum(groups.values()) >= 200
    assert groups["burned into the picture"] >= 40
