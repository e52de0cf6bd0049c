"""A set that is withdrawn from, sealed again or retired during an evaluation."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from builders.sealed import SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody import keys as key_changes
from nodulebench.custody import layout
from nodulebench.custody.evaluate import evaluate_roster, evaluate_sealed
from nodulebench.custody.keys import rekey
from nodulebench.custody.sealed_set import open_sealed, retire
from nodulebench.custody.stored_results import open_stored_result
from nodulebench.custody.verify import read_audit, verify_sealed
from nodulebench.custody.withdrawal import withdraw

pytest.importorskip("pyrage")
Change = Callable[[SealedLab], object]


def _withdraw(lab: SealedLab) -> object:
    return withdraw(lab.sealed, lab.key("Ada"), cases=["scan1"], reason="consent ended")


def _retire(lab: SealedLab) -> object:
    return retire(lab.sealed, lab.key("Ada"), reason="known")


def _rekey(lab: SealedLab) -> object:
    return rekey(lab.sealed, lab.key("Safe"))


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    lab = make_lab(tmp_path)
    lab.seal()
    return lab


def is_good(lab: SealedLab) -> bool:
    return verify_sealed(lab.sealed, own_key=lab.key("Safe")).is_good


def steps(lab: SealedLab) -> list[str]:
    return [event.step for event in read_audit(lab.sealed).events]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (_withdraw, "changed by another process"),
        (_rekey, "changed by another process"),
        (_retire, "retired on"),
    ],
)
def test_no_evaluation_goes_on_with_what_was_opened_before(
    lab: SealedLab, change: Change, word: str
) -> None:
    roster = lab.folder / "roster.csv"
    roster.write_text("file,developer,alias\nfirst.csv,Alpha Ltd,A1\ntwo.csv,Beta Ltd,A2\n")
    lab.marks("first.csv", "scan0")
    order = replace(lab.evaluate_options("two.csv", "scan0", "scan1"), marks=Path(), developer="")
    results = evaluate_roster(roster, order)
    assert next(results).feedback
    change(lab)
    second = next(results)
    assert second.feedback is None
    assert word in str(second.problem)
    assert steps(lab).count("evaluation_charged") == 1
    assert is_good(lab)


@pytest.mark.parametrize("change", [_withdraw, _rekey])
def test_an_evaluation_that_is_overtaken_gives_no_result_and_is_free_again(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    from nodulebench.custody import evaluate as module

    order, keep = lab.evaluate_options("first.csv", "scan0"), module.stored_result

    def overtaken(*given: object) -> AbstractContextManager[str]:
        change(lab)
        return keep(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(module, "stored_result", overtaken)
        with pytest.raises(InputError, match="was changed by another process meanwhile"):
            evaluate_sealed(order)
    assert is_good(lab)
    assert not list((lab.sealed / layout.RESULTS).iterdir())
    answer, _ = evaluate_sealed(order)
    assert answer["budget"]["used"] == 1
    _rekey(lab)
    assert is_good(lab)


def test_results_of_evaluations_that_come_while_all_is_sealed_again_are_not_lost(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = key_changes.put_json

    def overtaken(files: Path, name: str, content: object) -> None:
        evaluate_sealed(lab.evaluate_options("first.csv", "scan0"))
        put(files, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(key_changes, "put_json", overtaken)
        with pytest.raises(InputError, match="has a new evaluation by another process"):
            _rekey(lab)
    assert "rekeyed" not in steps(lab)
    _rekey(lab)
    opened = open_sealed(lab.sealed, lab.key("Cem"), "inspect")
    (charged,) = [event for event in opened.events if event.step == "evaluated"]
    assert open_stored_result(opened, charged).about["developer"] == "example"
    assert is_good(lab)


def test_the_result_of_a_killed_evaluation_is_removed_when_all_is_sealed_again(
    lab: SealedLab,
) -> None:
    evaluate_sealed(lab.evaluate_options("first.csv", "scan0"))
    charged = max(
        event.number
        for event in read_audit(lab.sealed).events
        if event.step == "evaluation_charged"
    )
    left = lab.sealed / layout.result_file(charged + 100)
    left.write_bytes(b"sealed under a data key of before")
    _rekey(lab)
    assert not left.exists()
    assert is_good(lab)
