from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from builders.small_network import RECIPE, SMALL, Small, weights
from nodulebench.core.errors import InputError
from nodulebench.detection.networks import training
from nodulebench.detection.networks.examples import (
    Examples,
)
from nodulebench.detection.networks.inference import (
    area_under_roc,
    patches_around,
    score_candidates,
)
from nodulebench.detection.networks.network import scaled
from nodulebench.detection.networks.recipe import Augment
from nodulebench.detection.networks.training import (
    Learner,
    LearningOptions,
    TrainingBatch,
    batches,
    patches_a_second,
    rate_at,
    train,
    training_batch,
)


def test_a_network_learns_to_tell_balls_from_tubes(examples: Examples) -> None:
    how = replace(RECIPE, steps=150, check_every=50)
    module = train(SMALL, examples, [0, 1, 2], LearningOptions(recipe=how))
    unseen = examples.scored_candidates([3])

    scores = score_candidates(module, SMALL, examples, unseen, tries=2)

    assert area_under_roc(scores, examples.is_nodule[unseen]) > 0.8


def test_a_run_that_was_interrupted_goes_on_as_it_would_have_gone(
    examples: Examples, tmp_path: Path
) -> None:
    keep = tmp_path / "state.safetensors"

    def stop(check: training.Check) -> None:
        if check.step >= 21:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SMALL, examples, [0, 1], LearningOptions(held_back=(2,), state_file=keep), stop)
    seen: list[training.Check] = []
    resumed = train(
        SMALL, examples, [0, 1], LearningOptions(held_back=(2,), state_file=keep), seen.append
    )
    whole = train(SMALL, examples, [0, 1], LearningOptions(held_back=(2,)))

    assert seen[0].step in (14, 21)  # step 7 or 14 was saved, and later steps were repeated
    assert all(map(torch.equal, weights(resumed), weights(whole)))


def test_the_same_seed_gives_the_same_weights_and_another_gives_others(examples: Examples) -> None:
    how = replace(RECIPE, steps=5)
    first, second, third = (
        weights(train(SMALL, examples, [0], LearningOptions(recipe=how, seed=seed)))
        for seed in (1, 1, 2)
    )

    assert all(map(torch.equal, first, second))
    assert not all(map(torch.equal, first, third))


def test_training_stops_when_nothing_gets_better_and_returns_the_best_check(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    areas = iter([0.6, 0.9, 0.8, 0.7, 0.95])
    monkeypatch.setattr(training, "area_under_roc", lambda *_: next(areas))
    seen: list[training.Check] = []
    how = replace(RECIPE, check_every=4, patience=2)

    stopped = train(SMALL, examples, [0], LearningOptions(held_back=(1,), recipe=how), seen.append)
    monkeypatch.undo()
    best = train(SMALL, examples, [0], LearningOptions(recipe=replace(how, steps=8, patience=0)))

    assert [check.area for check in seen] == [0.6, 0.9, 0.8, 0.7]
    assert all(map(torch.equal, weights(stopped), weights(best)))


@pytest.mark.parametrize("optimizer", ["sgd", "rmsprop", "adam", "adamw"])
def test_every_optimiser_can_be_taken_up_again(
    optimizer: str, examples: Examples, tmp_path: Path
) -> None:
    how = replace(RECIPE, optimizer=optimizer, steps=4, check_every=2, average=0.0)  # type: ignore[arg-type]
    keep = tmp_path / "state"
    train(SMALL, examples, [0], LearningOptions(recipe=replace(how, steps=2), state_file=keep))

    resumed = train(SMALL, examples, [0], LearningOptions(recipe=how, state_file=keep))

    whole = train(SMALL, examples, [0], LearningOptions(recipe=how))
    assert all(map(torch.equal, weights(resumed), weights(whole)))


@pytest.mark.parametrize("content", [b"", b"no tensors", b"\x10" + b"\0" * 7 + b"{" * 16])
def test_a_damaged_state_is_refused(content: bytes, examples: Examples, tmp_path: Path) -> None:
    keep = tmp_path / "state"
    keep.write_bytes(content)

    with pytest.raises(InputError, match="is not a checkpoint of this network"):
        train(SMALL, examples, [0], LearningOptions(state_file=keep))


def test_rates_follow_their_schedule() -> None:
    steps = replace(RECIPE, rate=1.0, steps=100, schedule=((0.0, 0.5), (0.2, 1.0), (0.6, 0.1)))
    smooth = replace(steps, schedule=((0.0, 0.0), (0.2, 1.0), (1.0, 0.0)), is_smooth=True)

    assert [rate_at(steps, at) for at in (0, 19, 20, 60, 99)] == [0.5, 0.5, 1.0, 0.1, 0.1]
    assert [round(rate_at(smooth, at), 6) for at in (0, 10, 20, 60)] == [0.0, 0.5, 1.0, 0.5]


def test_a_network_begins_with_the_weights_of_another(examples: Examples) -> None:
    torch.manual_seed(1)
    start = Small()
    still = replace(RECIPE, steps=1, rate=0.0, decay=0.0, average=0.0)

    module = train(SMALL, examples, [0], LearningOptions(recipe=still, start=start))

    parameters = dict(module.named_parameters())
    assert all(
        torch.equal(parameters[name], parameter) for name, parameter in start.named_parameters()
    )


def test_folds_without_a_nodule_cannot_be_trained_on(examples: Examples) -> None:
    none = replace(examples, is_nodule=torch.zeros_like(examples.is_nodule))

    with pytest.raises(InputError, match="0 candidates are nodules and 12 are not"):
        train(SMALL, none, [0])


def test_folds_without_a_nodule_cannot_decide(examples: Examples) -> None:
    none = replace(examples, is_nodule=examples.is_nodule & (examples.which != 1))

    with pytest.raises(InputError, match=r"0 candidates are nodules .* that decide when it stops"):
        train(SMALL, none, [0], LearningOptions(held_back=(1,)))


def test_a_loss_that_is_not_finite_is_reported(examples: Examples) -> None:
    how = replace(RECIPE, optimizer="sgd", rate=1e30, steps=14)

    with pytest.raises(InputError, match="'small': the loss is not finite before step 7"):
        train(SMALL, examples, [0, 1], LearningOptions(recipe=how))


def test_no_batch_moves_the_weights_farther_than_its_shortened_gradient(examples: Examples) -> None:
    once = replace(RECIPE, optimizer="sgd", momentum=0.0, decay=0.0, average=0.0, steps=1)
    how = replace(once, longest_gradient=0.01, rate=1.0)
    before = weights(
        train(SMALL, examples, [0], LearningOptions(recipe=replace(how, rate=0.0), seed=5))
    )
    after = weights(train(SMALL, examples, [0], LearningOptions(recipe=how, seed=5)))
    free = weights(
        train(
            SMALL, examples, [0], LearningOptions(recipe=replace(how, longest_gradient=0.0), seed=5)
        )
    )

    def moved(ones: list["torch.Tensor"]) -> float:
        return float(sum((a - b).square().sum() for a, b in zip(ones, before, strict=True)) ** 0.5)

    assert moved(after) == pytest.approx(0.01, rel=1e-3)
    assert moved(free) > 0.05


def test_a_state_that_takes_long_to_save_is_saved_seldom_but_at_first_and_last(
    examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, clock = [], [0.0]

    def slowly(path: Path, learner: Learner, run: object) -> None:
        del path, run
        saved.append(learner.step)
        clock[0] += 0.2

    monkeypatch.setattr(training, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(training, "write_checkpoint", slowly)
    how = replace(RECIPE, steps=6, check_every=1)
    train(SMALL, examples, [0, 1], LearningOptions(recipe=how, state_file=tmp_path / "state"))
    assert saved == [1, 6], "0.2 s may be spent on it every 4 s"


def test_batches_that_are_drawn_together_are_the_same_wherever_a_run_begins(
    examples: Examples,
) -> None:
    lesson = replace(training_batch(SMALL, examples, [0, 1], RECIPE), at_once=4)
    device = torch.device("cpu")
    whole = list(islice(batches(lesson, 3, 0, device), 10))
    later = list(islice(batches(lesson, 3, 6, device), 4))
    for parameter, other in zip(whole[6:], later, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(parameter, other, strict=True))
    for patches, is_nodule in whole:
        assert patches.shape == (RECIPE.batch, 5, 5, 5)
        assert int(is_nodule.sum()) == RECIPE.batch // 2
    assert len({float(patches.sum()) for patches, _ in whole}) == len(whole)


def test_patches_drawn_together_keep_their_labels(examples: Examples) -> None:
    lesson = training_batch(SMALL, examples, [0, 1], replace(RECIPE, augment=Augment()))
    every, offset_mm = torch.arange(len(examples.which)), torch.from_numpy(SMALL.grid.offset_mm)
    random = torch.Generator()
    known = patches_around(examples, every, offset_mm, Augment(), random, is_learning=False)
    for patches, is_nodule in lesson.draw(random.manual_seed(1), 3):
        apart = (patches[:, None] - scaled(known)[None]).abs().flatten(2).amax(dim=2)
        nearest, which = apart.min(dim=1)  # faces are moved no nearer than all that is seen
        assert nearest.max() < 1e-5
        assert torch.equal(examples.is_nodule[which], is_nodule.bool())


@pytest.mark.parametrize("ends", [14, 16, 21])
def test_a_run_of_batches_drawn_together_goes_on_as_it_would_have_gone(
    ends: int, examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        training, "training_batch", lambda *how: replace(training_batch(*how), at_once=4)
    )
    keep = tmp_path / "state.safetensors"
    how = replace(RECIPE, steps=30, check_every=1)

    def stop(check: training.Check) -> None:
        if check.step > ends:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SMALL, examples, [0, 1], LearningOptions(recipe=how, state_file=keep), stop)
    resumed = train(SMALL, examples, [0, 1], LearningOptions(recipe=how, state_file=keep))

    whole = train(SMALL, examples, [0, 1], LearningOptions(recipe=how))
    assert all(map(torch.equal, weights(resumed), weights(whole)))


def test_speed_is_measured_with_and_without_patches_to_cut(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    def counted(*given: Any) -> TrainingBatch:
        lesson = training_batch(*given)
        return replace(
            lesson, draw=lambda random, steps: drawn.append(steps) or lesson.draw(random, steps)
        )

    monkeypatch.setattr(training, "training_batch", counted)
    monkeypatch.setattr(training, "MEASURED_STEPS", 5)
    assert patches_a_second(SMALL, examples, RECIPE, is_cut=False) > 0
    assert drawn == [1]
    assert patches_a_second(SMALL, examples, RECIPE, is_cut=True) > 0
    assert drawn == [1] * 7
