"""A set that is withdrawn from, sealed anew or retired while somebody scores on it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from builders.keyed import KeyedDesk, make_keyed_desk
from nodulebench.core.errors import InputError
from nodulebench.custody import keys as key_changes
from nodulebench.custody import layout
from nodulebench.custody.evaluate import evaluate_sealed
from nodulebench.custody.evaluate_roster import evaluate_roster
from nodulebench.custody.keys import rekey
from nodulebench.custody.lifecycle import retire
from nodulebench.custody.sealed_set import open_sealed
from nodulebench.custody.stored_results import open_stored_result
from nodulebench.custody.verify import read_audit, verify_sealed
from nodulebench.custody.withdrawal import withdraw

pytest.importorskip("pyrage")
Change = Callable[[KeyedDesk], object]


def _withdraw(desk: KeyedDesk) -> object:
    return withdraw(desk.sealed, desk.secret("Ada"), "", cases=["scan1"], reason="consent ended")


def _retire(desk: KeyedDesk) -> object:
    return retire(desk.sealed, desk.secret("Ada"), "", reason="known")


def _rekey(desk: KeyedDesk) -> object:
    return rekey(desk.sealed, desk.secret("Safe"), "")


@pytest.fixture
def desk(tmp_path: Path) -> KeyedDesk:
    desk = make_keyed_desk(tmp_path)
    desk.seal()
    return desk


def is_good(desk: KeyedDesk) -> bool:
    return verify_sealed(desk.sealed, secret=desk.secret("Safe")).is_good


def steps(desk: KeyedDesk) -> list[str]:
    return [event.step for event in read_audit(desk.sealed).events]


@pytest.mark.parametrize(
    ("change", "word"),
    [(_withdraw, "changed by somebody"), (_rekey, "changed by somebody"), (_retire, "retired on")],
)
def test_no_look_goes_on_with_what_was_opened_before(
    desk: KeyedDesk, change: Change, word: str
) -> None:
    roster = desk.folder / "roster.csv"
    roster.write_text("file,developer,alias\none.csv,Alpha Ltd,A1\ntwo.csv,Beta Ltd,A2\n")
    desk.marks("one.csv", "scan0")
    order = replace(desk.look("two.csv", "scan0", "scan1"), marks=Path(), developer="")
    looks = evaluate_roster(roster, order)
    assert next(looks).told
    change(desk)
    second = next(looks)
    assert second.told is None
    assert word in str(second.problem)
    assert steps(desk).count("look") == 1
    assert is_good(desk)


@pytest.mark.parametrize("change", [_withdraw, _rekey])
def test_a_look_that_is_overtaken_gives_no_result_and_is_free_again(
    desk: KeyedDesk, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    from nodulebench.custody import evaluate as module

    order, keep = desk.look("one.csv", "scan0"), module.stored_result

    def overtaken(*given: object) -> AbstractContextManager[str]:
        change(desk)
        return keep(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(module, "stored_result", overtaken)
        with pytest.raises(InputError, match="was changed by somebody else meanwhile"):
            evaluate_sealed(order)
    assert is_good(desk)
    assert not list((desk.sealed / layout.RESULTS).iterdir())
    told, _ = evaluate_sealed(order)
    assert told["looks"]["look"] == 1
    _rekey(desk)
    assert is_good(desk)


def test_results_of_looks_that_come_while_all_is_sealed_anew_are_not_lost(
    desk: KeyedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = key_changes.put_json

    def overtaken(files: Path, name: str, content: object) -> None:
        evaluate_sealed(desk.look("one.csv", "scan0"))
        put(files, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(key_changes, "put_json", overtaken)
        with pytest.raises(InputError, match="was looked at by somebody else meanwhile"):
            _rekey(desk)
    assert "rekeyed" not in steps(desk)
    _rekey(desk)
    opened = open_sealed(desk.sealed, desk.secret("Cem"), "", "inspect")
    (look,) = [event for event in opened.events if event.step == "evaluated"]
    assert open_stored_result(opened, look).about["developer"] == "example"
    assert is_good(desk)


def test_what_a_killed_look_kept_goes_when_all_is_sealed_anew(desk: KeyedDesk) -> None:
    evaluate_sealed(desk.look("one.csv", "scan0"))
    look = max(event.number for event in read_audit(desk.sealed).events if event.step == "look")
    left = desk.sealed / layout.result_file(look + 100)
    left.write_bytes(b"sealed under a data key of before")
    _rekey(desk)
    assert not left.exists()
    assert is_good(desk)
