from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nodulebench.core.errors import InputError
from nodulebench.detection.held_out import choose_held_out, series_digest
from nodulebench.detection.networks import NETWORKS, cross_validation, training
from nodulebench.detection.networks.cross_validation import (
    Course,
    Trained,
    train_without,
)
from nodulebench.detection.networks.examples import ExampleArrays, Examples, make_examples
from nodulebench.detection.networks.patches import scans_of
from nodulebench.detection.networks.training import Check
from nodulebench.detection.networks.weights import read_weights, write_weights

NAME = "m5lcad"
RECIPE = replace(NETWORKS[NAME].recipe, steps=6, batch=8, check_every=2, tries=1)


@pytest.fixture(scope="module")
def examples() -> Examples:
    """Three folds and a scan of none, each with three bright and three dark places."""
    random = np.random.default_rng(1)
    images, places, is_nodule = [], [], []
    for scan in range(4):
        image = random.normal(40, 2, (12, 24, 24))
        for number in range(6):
            at = (6, 4 + 3 * number, 4 + 3 * (number % 3) * 2)
            image[at] = 120 if number < 3 else 20
            places.append((scan, *at))
            is_nodule.append(number < 3)
        images.append(image.astype(np.uint8))
    at = np.array(places)
    return make_examples(
        scans_of(images, [[1.0, 1.0, 1.0]] * 4, step_hu=16.0, lowest_hu=-1024.0),
        ExampleArrays(
            fold=[0, 1, 2, -1],
            which=at[:, 0],
            place=at[:, 1:],
            is_nodule=is_nodule,
            series=[series_digest(f"s{scan}") for scan in range(4)],
            about={"data": "dots"},
        ),
    )


@pytest.mark.slow
def test_each_fold_is_scored_by_weights_that_never_saw_it(
    examples: Examples, tmp_path: Path
) -> None:
    course = Course(examples, tmp_path, RECIPE)
    folds: tuple[int | None, ...] = (0, 1, None)
    done = [train_without(NAME, fold, course) for fold in folds]

    assert [trained.path.name for trained in done] == [
        "m5lcad-0.safetensors",
        "m5lcad-1.safetensors",
        "m5lcad-all.safetensors",
    ]
    assert [trained.card.folds for trained in done] == [(1, 2), (0, 2), (0, 1, 2)]
    cards = [trained.card for trained in done]
    # s3 is of no fold, so that the weights of all folds never saw it either
    assert [choose_held_out(f"s{scan}", cards).number for scan in range(4)] == [0, 1, 2, 2]
    assert not choose_held_out("s2", cards).is_unseen
    with np.load(tmp_path / "m5lcad-0.npz") as stored:
        assert stored["chosen"].tolist() == [*range(6), *range(18, 24)]
        assert stored["score"].shape == (12,)
    assert [trained.step for trained in done[0].curve] == [2, 4, 6]
    assert "area" in done[0].card.metrics
    assert not list(tmp_path.glob("*.state"))


def test_a_killed_fold_is_continued_and_a_finished_one_is_not_repeated(
    examples: Examples, tmp_path: Path
) -> None:
    def kill(check: Check) -> None:
        if check.step == 4:
            raise KeyboardInterrupt

    whole = train_without(NAME, 0, Course(examples, tmp_path / "whole", RECIPE))
    course = Course(examples, tmp_path / "killed", RECIPE)
    with pytest.raises(KeyboardInterrupt):
        train_without(NAME, 0, course, kill)
    resumed = train_without(NAME, 0, course)

    assert resumed.path.read_bytes() == whole.path.read_bytes()
    assert resumed.curve == whole.curve
    again = train_without(NAME, 0, course)
    assert again.was_done
    assert (again.seconds, again.card, again.curve) == (0.0, whole.card, whole.curve)


def test_weights_of_another_run_are_not_taken_for_this_one(
    examples: Examples, tmp_path: Path
) -> None:
    train_without(NAME, 0, Course(examples, tmp_path, RECIPE))

    with pytest.raises(InputError, match="was trained in another way"):
        train_without(NAME, 0, Course(examples, tmp_path, RECIPE, seed=1))


def test_stored_weights_of_another_recipe_are_not_taken_for_these(
    examples: Examples, tmp_path: Path
) -> None:
    train_without(NAME, 0, Course(examples, tmp_path, RECIPE))

    with pytest.raises(InputError, match=r"in another way \(rate 0\.1, not 0\.5; batch 8, not 4\)"):
        train_without(NAME, 0, Course(examples, tmp_path, replace(RECIPE, rate=0.5, batch=4)))


def test_weights_whose_card_has_no_recipe_are_not_changed(
    examples: Examples, tmp_path: Path
) -> None:
    done = train_without(NAME, 0, Course(examples, tmp_path, RECIPE))
    module, card = read_weights(done.path)
    write_weights(done.path, module, replace(card, recipe={}, steps_taken=None))

    assert train_without(NAME, 0, Course(examples, tmp_path, replace(RECIPE, rate=0.5))).was_done
    with pytest.raises(InputError, match=r"in another way \(seed 0, not 1\)"):
        train_without(NAME, 0, Course(examples, tmp_path, RECIPE, seed=1))


OTHERS = {
    r"seed 0, not 77": {"seed": 77},
    r"steps 6, not 4": {"recipe": replace(RECIPE, steps=4)},
    r"batch 8, not 4": {"recipe": replace(RECIPE, batch=4)},
    r"augment shift mm 0\.0, not 2\.0": {
        "recipe": replace(RECIPE, augment=replace(RECIPE.augment, shift_mm=2.0))
    },
    r"folds 1, 2, not 2; held back none, not 1": {"held_back": (1,)},
}


@pytest.mark.parametrize("message", OTHERS)
def test_a_killed_training_does_not_go_on_as_another(
    message: str, examples: Examples, tmp_path: Path
) -> None:
    course = Course(examples, tmp_path, RECIPE)
    _kill(0, course)

    with pytest.raises(
        InputError, match=rf"m5lcad-0\.state: is the state of another .*\({message}"
    ):
        train_without(NAME, 0, replace(course, **OTHERS[message]))
    assert not (tmp_path / "m5lcad-0.safetensors").exists()


def test_a_killed_training_does_not_go_on_with_other_examples(
    examples: Examples, tmp_path: Path
) -> None:
    course = Course(examples, tmp_path, RECIPE)
    _kill(0, course)
    turned = replace(examples, is_nodule=~examples.is_nodule)

    message = (
        r"another training \(examples sha256:\w{8}, not sha256:\w{8}\)\. Choose another folder"
    )
    with pytest.raises(InputError, match=message):
        train_without(NAME, 0, replace(course, examples=turned))


def test_a_killed_training_does_not_go_on_from_another_start(
    examples: Examples, tmp_path: Path
) -> None:
    first = train_without(NAME, 0, Course(examples, tmp_path / "a", RECIPE))
    course = Course(examples, tmp_path / "b", RECIPE)
    _kill(0, course)

    with pytest.raises(InputError, match=r"begun from none, not sha256:\w{8}"):
        train_without(NAME, 0, _tuned(course, first))


def test_a_state_without_a_description_is_refused(examples: Examples, tmp_path: Path) -> None:
    course = Course(examples, tmp_path, RECIPE)
    _kill(0, course)
    state = tmp_path / "m5lcad-0.state"
    older = state.read_bytes().replace(b"training-state@3", b"training-state@2")
    state.write_bytes(older)

    with pytest.raises(InputError, match=r"schema 'nodulebench/training-state@2', not '.*@3'"):
        train_without(NAME, 0, course)


def test_how_often_it_is_checked_makes_no_other_training_where_no_fold_decides(
    examples: Examples, tmp_path: Path
) -> None:
    course = Course(examples, tmp_path, RECIPE)
    _kill(0, course)
    whole = train_without(NAME, 0, Course(examples, tmp_path / "whole", RECIPE))

    often = train_without(NAME, 0, replace(course, recipe=replace(RECIPE, check_every=1)))

    assert often.path.read_bytes() == whole.path.read_bytes()
    stopped = Course(examples, tmp_path / "b", RECIPE, held_back=(1,))
    _kill(0, stopped)
    with pytest.raises(InputError, match="check every 2, not 1"):
        train_without(NAME, 0, replace(stopped, recipe=replace(RECIPE, check_every=1)))


def _kill(fold: int, course: Course) -> None:
    """A training that is killed at its second check."""

    def kill(check: Check) -> None:
        if check.step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_without(NAME, fold, course, kill)


def _tuned(course: Course, first: Trained) -> Course:
    start, card = read_weights(first.path)
    return replace(course, start=start, origin=card)


def test_no_fold_is_left_out_that_the_weights_to_begin_with_have_seen(
    examples: Examples, tmp_path: Path
) -> None:
    first = train_without(NAME, 0, Course(examples, tmp_path / "a", RECIPE))
    second = _tuned(Course(examples, tmp_path / "b", RECIPE), first)

    train_without(NAME, 0, second)
    with pytest.raises(InputError, match="begin with: have seen 1 series of fold 1, which shall"):
        train_without(NAME, 1, second)


def test_series_count_and_not_the_numbers_of_folds(examples: Examples, tmp_path: Path) -> None:
    first = train_without(NAME, 0, Course(examples, tmp_path / "a", RECIPE))
    moved = replace(examples, fold=torch.tensor([1, 0, 2, -1]))
    second = _tuned(Course(moved, tmp_path / "b", RECIPE), first)

    assert train_without(NAME, 1, second).card.folds == (0, 2)
    with pytest.raises(InputError, match="have seen 1 series of fold 0"):
        train_without(NAME, 0, second)


def test_what_grandparents_have_seen_counts_too(examples: Examples, tmp_path: Path) -> None:
    def only(scan: int) -> Examples:
        named = tuple(
            series_digest(f"s{scan}") if index == scan else f"{index}" for index in range(4)
        )
        return replace(examples, series=named)

    first = train_without(NAME, 1, Course(only(0), tmp_path / "a", RECIPE))
    second = train_without(NAME, None, _tuned(Course(only(1), tmp_path / "b", RECIPE), first))
    third = train_without(NAME, 1, _tuned(Course(only(2), tmp_path / "c", RECIPE), second))

    seen = [choose_held_out(f"s{scan}", [third.card]).is_unseen for scan in range(4)]
    assert seen == [False, False, False, True]
    with pytest.raises(InputError, match="have seen 1 series of fold 0"):
        train_without(NAME, 0, _tuned(Course(examples, tmp_path / "d", RECIPE), third))


def test_weights_that_do_not_tell_what_they_have_seen_leave_nothing_out(
    examples: Examples, tmp_path: Path
) -> None:
    first = train_without(NAME, 0, Course(examples, tmp_path / "a", RECIPE))
    module, card = read_weights(first.path)
    write_weights(first.path, module, replace(card, series={}))

    second = _tuned(Course(examples, tmp_path / "b", RECIPE), first)
    with pytest.raises(
        InputError, match="do not tell all series that they have seen, so that fold"
    ):
        train_without(NAME, 0, second)
    of_folds = replace(examples, fold=torch.tensor([0, 1, 2, 2]))
    tuned = train_without(NAME, None, replace(second, examples=of_folds))
    third = _tuned(Course(examples, tmp_path / "c", RECIPE), tuned)
    with pytest.raises(InputError, match="have seen 1 series of fold 0"):
        train_without(NAME, 0, third)


def test_a_series_in_two_folds_cannot_be_left_out(examples: Examples, tmp_path: Path) -> None:
    twice = replace(examples, series=(examples.series[1], *examples.series[1:]))

    with pytest.raises(InputError, match="1 series of fold 0 are in a fold that is trained on"):
        train_without(NAME, 0, Course(twice, tmp_path, RECIPE))


def test_a_fold_that_decides_is_not_left_out(examples: Examples, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fold 1: is left out, and decides when training stops"):
        train_without(NAME, 1, Course(examples, tmp_path, RECIPE, held_back=(1,)))


def test_a_training_that_was_killed_after_it_stopped_is_not_taken_up_again(
    examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    areas = iter([0.9, 0.8, 0.99])
    monkeypatch.setattr(training, "area_under_roc", lambda *_: next(areas))
    course = Course(examples, tmp_path, replace(RECIPE, patience=1), held_back=(1,))

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cross_validation, "_score_held_out", kill)
    with pytest.raises(KeyboardInterrupt):
        train_without(NAME, 0, course)
    monkeypatch.setattr(cross_validation, "_score_held_out", lambda *_: {})
    done = train_without(NAME, 0, course)

    assert (done.card.steps, done.card.steps_taken, done.card.best_step) == (6, 4, 2)


def test_an_unknown_fold_is_refused(examples: Examples, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="examples: have no fold 7"):
        train_without(NAME, 7, Course(examples, tmp_path, RECIPE))


def test_folds_that_decide_when_it_stops_are_not_trained_on(
    examples: Examples, tmp_path: Path
) -> None:
    done = train_without(NAME, 0, Course(examples, tmp_path, RECIPE, held_back=(1,)))

    assert (done.card.folds, done.card.held_back) == ((2,), (1,))
    assert all(check.area is not None for check in done.curve)
    seen = [choose_held_out(f"s{scan}", [done.card]).is_unseen for scan in range(4)]
    assert seen == [True, False, False, True]


def test_tuned_weights_say_what_they_began_with(examples: Examples, tmp_path: Path) -> None:
    first = train_without(NAME, 0, Course(examples, tmp_path / "a", RECIPE))
    start, card = read_weights(first.path)
    still = replace(RECIPE, rate=0.0, decay=0.0)
    tuned = train_without(
        NAME, 0, Course(examples, tmp_path / "b", still, start=start, origin=card)
    )

    assert tuned.card.begun_from == first.card.parameters
    assert tuned.card.seen_before == tuple(sorted(map(series_digest, ("s1", "s2"))))
    module, _ = read_weights(tuned.path)
    assert all(map(torch.equal, module.parameters(), start.parameters()))


def test_a_stuck_network_is_recognised(examples: Examples, tmp_path: Path) -> None:
    done = train_without(NAME, 0, Course(examples, tmp_path, RECIPE))

    def with_losses(*losses: float, begun_from: str = "") -> Trained:
        curve = tuple(Check(step, loss, None) for step, loss in enumerate(losses))
        return replace(done, curve=curve, card=replace(done.card, begun_from=begun_from))

    coin = (0.694, 0.693, 0.6932, 0.6931, 0.6931)
    assert with_losses(*coin).is_stuck
    assert not with_losses(*coin[:4]).is_stuck  # too early to tell
    assert not with_losses(*coin, 0.6).is_stuck
    assert not with_losses(0.2, 0.21, 0.2, 0.2, 0.2, begun_from="sha256:0").is_stuck
